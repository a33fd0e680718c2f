//! Arithmetic with more than one result, or with findings.

use crate::exec::state::{Flow, State, Warp};
use crate::finding::FindingId;
use crate::inst::{Lanes, Reg, Src};
use crate::num::int::{divide, truncate};

/// Values before there are any.
pub(crate) const NO_LANES: Lanes = [0; 32];

impl Warp {
    pub(crate) fn divide(
        &mut self,
        st: &mut State<'_>,
        (bits, signed, remainder): (u32, bool, bool),
        dst: Reg,
        src: &[Src; 2],
        mask: u32,
    ) -> Flow {
        let [a, b] = self.two(st, src, mask);
        let zero = (0..32).fold(0, |all, i| all | u32::from(truncate(b[i], bits) == 0) << i) & mask;
        if zero != 0 && st.sanitize() {
            let site = self.site(zero);
            st.report(FindingId::DivByZero, site, None, || {
                "integer division by zero: the result is not specified".to_owned()
            });
        }
        let quotient = |i: usize| divide(a[i], b[i], bits, signed, remainder);
        self.write(dst, mask, &std::array::from_fn(quotient));
        Flow::Next
    }

    #[allow(clippy::too_many_arguments)] // One argument for each part of the sum.
    pub(crate) fn add_carry(
        &mut self,
        a: &Lanes,
        b: &Lanes,
        carries: u32,
        bits: u32,
        carry_out: bool,
        dst: Reg,
        mask: u32,
    ) {
        let mut out = NO_LANES;
        let mut carry = 0;
        for (i, out) in out.iter_mut().enumerate() {
            let wide = |value| u128::from(truncate(value, bits));
            let sum = wide(a[i]) + wide(b[i]) + u128::from(carries >> i & 1);
            *out = sum as u64;
            carry |= ((sum >> bits) as u32 & 1) << i;
        }
        self.write(dst, mask, &out);
        if carry_out {
            self.carry = self.carry & !mask | carry & mask;
        }
    }
}
