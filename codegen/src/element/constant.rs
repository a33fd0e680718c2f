//! What atoms give of registers whose bits are known.

use tilewright_formula::format::Format;
use tilewright_formula::number::{Kind, scale_code, scale_of, stored};

use super::emit::{bits, operands};
use super::meaning;
use crate::atoms::arithmetic::{ArithmeticFacts, NumberType};
use crate::atoms::model::{Atom, ConvertFacts, RegType};
use crate::dtype::DType;

/// Bits of the registers that an atom writes, of those that it reads, in the order of its operands;
/// none of atoms that compute no numbers, or of registers that do not fit them.
pub(crate) fn computed(atom: &Atom, registers: &[u64]) -> Option<Vec<u64>> {
    let types = |written: bool| -> Vec<RegType> {
        let operands = operands(atom, written).into_iter();
        let types = operands.flat_map(|(ty, count)| std::iter::repeat_n(ty, count as usize));
        types.collect()
    };
    let (reads, writes) = (types(false), types(true));
    if reads.len() != registers.len() {
        return None;
    }
    match (&atom.arithmetic, &atom.convert) {
        (Some(facts), _) => {
            let [written] = writes[..] else { return None };
            let numbers = reads.iter().zip(registers);
            let numbers: Vec<f64> = numbers.map(|(ty, bits)| number(*ty, *bits)).collect();
            Some(vec![operated(facts, &numbers) & mask(written.bits())])
        }
        (None, Some(facts)) => {
            let widths = |types: &[RegType]| types.iter().map(|ty| ty.bits()).collect::<Vec<_>>();
            converted(*facts, (&widths(&reads), registers), &widths(&writes))
        }
        (None, None) => None,
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// The number in a register.
fn number(ty: RegType, bits: u64) -> f64 {
    match ty {
        RegType::F32 => f64::from(f32::from_bits(bits as u32)),
        RegType::F64 => f64::from_bits(bits),
        RegType::Pred => (bits & 1) as f64,
        _ => f64::from((bits as u32).cast_signed()),
    }
}

fn operated(facts: &ArithmeticFacts, numbers: &[f64]) -> u64 {
    let value = meaning::of(facts.does, facts.ty, numbers);
    let gives = facts.does.gives(facts.ty);
    let is_small = value.abs() < f64::from(f32::MIN_POSITIVE);
    let value = match facts.flushes && gives == NumberType::F32 && is_small {
        true => 0f64.copysign(value),
        false => value,
    };
    bits(value, gives)
}

/// Elements of registers of those widths, cast.
fn converted(
    facts: ConvertFacts,
    (reads, registers): (&[u32], &[u64]),
    writes: &[u32],
) -> Option<Vec<u64>> {
    let codes = cut(reads, registers, facts.from.bits())?;
    let fits = codes.len() == facts.values as usize;
    let codes = codes.into_iter().map(|code| match facts.from == facts.to {
        true => Some(code),
        false => encoded(facts.to, decoded(facts.from, code)?),
    });
    let codes: Vec<u64> = codes.collect::<Option<_>>()?;
    let width = facts.to.bits();
    let [first, ..] = writes else { return None };
    if !fits || writes.iter().any(|other| other != first) {
        return None;
    }
    let widths = vec![width; codes.len()];
    let out = cut(&widths, &codes, *first)?;
    (out.len() == writes.len()).then_some(out)
}

/// Words of those widths, the low bits first, as words of another; none where they do not fit.
fn cut(widths: &[u32], words: &[u64], to: u32) -> Option<Vec<u64>> {
    let all: u32 = widths.iter().sum();
    if to == 0 || !all.is_multiple_of(to) {
        return None;
    }
    let mut out = vec![0; (all / to) as usize];
    let mut at = 0;
    for (width, word) in widths.iter().zip(words) {
        for bit in 0..*width {
            let place = at + bit;
            out[(place / to) as usize] |= (word >> bit & 1) << (place % to);
        }
        at += width;
    }
    Some(out)
}

fn decoded(dtype: DType, code: u64) -> Option<f64> {
    Some(match (Format::of(dtype), Kind::of(dtype)) {
        (Some(format), _) => format.decode(code),
        (None, Kind::Integer([least, _])) if least < 0 => {
            let unused = 64 - dtype.bits();
            ((code << unused).cast_signed() >> unused) as f64
        }
        (None, Kind::Integer(_)) => code as f64,
        (None, Kind::Scale) => scale_of(code),
        _ => return None,
    })
}

fn encoded(dtype: DType, value: f64) -> Option<u64> {
    let code = match (Format::of(dtype), Kind::of(dtype)) {
        (Some(format), _) => format.encode(stored(dtype, value)),
        (None, Kind::Integer(_)) => (stored(dtype, value) as i64).cast_unsigned(),
        (None, Kind::Scale) => scale_code(value),
        _ => return None,
    };
    Some(code & mask(dtype.bits()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::atoms::catalogue;

    fn of(id: &str, registers: &[u64]) -> Option<Vec<u64>> {
        computed(catalogue().unwrap().get(id).unwrap(), registers)
    }

    #[test]
    fn known_registers_are_computed() {
        let f = |value: f32| u64::from(value.to_bits());
        assert_eq!(of("sm50_ex2_f32", &[f(3.0)]), Some(vec![f(8.0)]));
        // Below the normal range it is flushed.
        assert_eq!(of("sm50_ex2_f32", &[f(-140.0)]), Some(vec![f(0.0)]));
        assert_eq!(of("sm50_mul_f32", &[f(3.0), f(-0.5)]), Some(vec![f(-1.5)]));
        assert_eq!(
            of("sm50_where_f32", &[1, f(2.0), f(5.0)]),
            Some(vec![f(2.0)])
        );
        assert_eq!(
            of("sm50_cvt_f32x2_bf16x2", &[0x4000_3f80]),
            Some(vec![f(1.0), f(2.0)])
        );
        assert_eq!(
            of("sm80_cvt_bf16x2_f32", &[f(1.0), f(2.0)]),
            Some(vec![0x4000_3f80])
        );
        assert_eq!(of("sm50_mul_f32", &[f(3.0)]), None);
        assert_eq!(of("sm50_ld_global_4", &[0]), None);
    }

    #[test]
    fn words_are_cut_low_bits_first() {
        assert_eq!(cut(&[32], &[0x0403_0201], 8), Some(vec![1, 2, 3, 4]));
        assert_eq!(cut(&[8; 4], &[1, 2, 3, 4], 16), Some(vec![0x0201, 0x0403]));
        assert_eq!(cut(&[8], &[1], 16), None);
        assert_eq!(decoded(DType::S4, 0xf), Some(-1.0));
        assert_eq!(encoded(DType::S4, -100.0), Some(8));
    }
}
