//! Comparisons and conversions on whole warps.

use super::alu::NO_LANES;
use crate::exec::state::{Flow, State, Warp};
use crate::inst::{Combine, CompareFn, Exec, Lanes, Logic, PredSrc, Src};
use crate::num::convert::Conversion;
use crate::num::int::{logic3, sign_extend, truncate};
use crate::reached::Reached;

impl Warp {
    /// `lop3` with a predicate result.
    pub(crate) fn logic(&mut self, st: &State<'_>, op: &Logic, mask: u32) -> Flow {
        let [a, b, c] = [0, 1, 2].map(|index| self.values(st, &op.src[index], mask));
        let with = self.pred(&op.with, mask);
        let values: Lanes =
            std::array::from_fn(|lane| truncate(logic3(a[lane], b[lane], c[lane], op.table), 32));
        let set = |lane: usize| u32::from(values[lane] != 0) << lane;
        let set = (0..32).fold(0, |all, lane| all | set(lane));
        if let Some(dst) = op.dst {
            self.write(dst, mask, &values);
        }
        self.write_pred(op.p, mask, if op.or { set | with } else { set & with });
        Flow::Next
    }

    pub(crate) fn convert(&mut self, st: &State<'_>, exec: &Exec, mask: u32) -> Flow {
        let halves = |conversion: &Conversion, value: u64, from: u32, to: u32| {
            let low = conversion.apply(truncate(value, from));
            low | conversion.apply(truncate(value >> from, from)) << to
        };
        match exec {
            Exec::Convert {
                conversion,
                sign_from,
                dst,
                src,
            } => {
                let out = self.values(st, src, mask).map(|value| {
                    let value = conversion.apply(value);
                    if *sign_from == 0 {
                        value
                    } else {
                        sign_extend(value, *sign_from)
                    }
                });
                self.write(*dst, mask, &out);
            }
            Exec::ConvertPack {
                conversion,
                half_bits,
                dst,
                src,
            } => {
                let [high, low] = self.two(st, src, mask);
                let pack =
                    |i: usize| conversion.apply(high[i]) << half_bits | conversion.apply(low[i]);
                self.write(*dst, mask, &std::array::from_fn(pack));
            }
            Exec::ConvertEach {
                conversion,
                from_bits,
                to_bits,
                dst,
                src,
            } => {
                let values = self.values(st, src, mask);
                let out = values.map(|value| halves(conversion, value, *from_bits, *to_bits));
                self.write(*dst, mask, &out);
            }
            _ => {}
        }
        Flow::Next
    }

    /// The comparison joined with the predicate, and its complement joined with it.
    #[inline]
    pub(crate) fn compared(
        &mut self,
        st: &State<'_>,
        (compare, imm): (CompareFn, u32),
        combine: Combine,
        src: &[Src; 2],
        with: &PredSrc,
        mask: u32,
    ) -> (u32, u32) {
        let (mut a, mut b) = (NO_LANES, NO_LANES);
        let undefined = self.peek(st, &src[0], mask, &mut a) | self.peek(st, &src[1], mask, &mut b);
        self.undefined |= undefined;
        let holds = compare(self.operand(&src[0], &a), self.operand(&src[1], &b), imm);
        let with = if combine == Combine::None {
            u32::MAX
        } else {
            self.pred(with, mask)
        };
        (join(combine, holds, with), join(combine, !holds, with))
    }

    /// Notes how far apart the sides of a comparison of integers of so many bits are, in the lane
    /// in which that is least.
    #[inline(never)]
    pub(crate) fn note_compared(
        &self,
        st: &State<'_>,
        reached: &Reached,
        (line, bits): (u32, u32),
        src: &[Src; 2],
        mask: u32,
    ) {
        let (mut a, mut b) = (NO_LANES, NO_LANES);
        let undefined = self.peek(st, &src[0], mask, &mut a) | self.peek(st, &src[1], mask, &mut b);
        let (a, b) = (self.operand(&src[0], &a), self.operand(&src[1], &b));
        let known = mask & !undefined;
        let unused = 64u32.saturating_sub(bits).min(63);
        let sides = a.iter().zip(b).enumerate();
        let sides = sides.filter(|(lane, _)| known >> lane & 1 == 1);
        let apart = sides.map(|(_, (a, b))| (a.wrapping_sub(*b) << unused).cast_signed() >> unused);
        if let Some(apart) = apart.min_by_key(|apart| (apart.unsigned_abs(), *apart < 0)) {
            reached.compare(line, apart);
        }
    }

    #[inline]
    pub(crate) fn write_pair(
        &mut self,
        p: Option<u32>,
        q: Option<u32>,
        mask: u32,
        yes: u32,
        no: u32,
    ) {
        if let Some(p) = p {
            self.write_pred(p, mask, yes);
        }
        if let Some(q) = q {
            self.write_pred(q, mask, no);
        }
    }

    pub(crate) fn set_pair(&mut self, st: &State<'_>, exec: &Exec, mask: u32) -> Flow {
        let Exec::SetPair {
            compare,
            imm,
            combine,
            p,
            q,
            dst,
            src,
            with,
        } = exec
        else {
            return Flow::Next;
        };
        let [a, b] = self.two(st, src, mask);
        let with = self.pred(with, mask);
        let half = |values: &Lanes, shift: u32| values.map(|value| value >> shift & 0xffff);
        let low = join(*combine, compare(&half(&a, 0), &half(&b, 0), *imm), with);
        let high = join(*combine, compare(&half(&a, 16), &half(&b, 16), *imm), with);
        if let Some((dst, yes)) = dst {
            let bit = |mask: u32, i: usize| if mask >> i & 1 == 1 { *yes } else { 0 };
            let pack = |i: usize| bit(low, i) | bit(high, i) << 16;
            self.write(*dst, mask, &std::array::from_fn(pack));
        }
        if let Some(p) = p {
            self.write_pred(*p, mask, low);
        }
        if let Some(q) = q {
            self.write_pred(*q, mask, high);
        }
        Flow::Next
    }
}

fn join(combine: Combine, holds: u32, with: u32) -> u32 {
    match combine {
        Combine::None => holds,
        Combine::And => holds & with,
        Combine::Or => holds | with,
        Combine::Xor => holds ^ with,
    }
}
