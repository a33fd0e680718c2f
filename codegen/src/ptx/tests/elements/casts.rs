//! Casts between all types: what is stored is the nearest that the type holds.

use tilewright_formula::number::stored;

use super::*;

/// How tests hold elements of each type.
const PACKINGS: &[Packing] = &[
    F32,
    F64,
    S32,
    packing(DType::F64, RegType::B32),
    packing(DType::F64, RegType::B64),
    packing(DType::F32, RegType::B32),
    packing(DType::TF32, RegType::F32),
    packing(DType::F16, RegType::B32),
    packing(DType::F16, RegType::B16),
    packing(DType::BF16, RegType::B32),
    packing(DType::BF16, RegType::B16),
    packing(DType::E4M3, RegType::B32),
    packing(DType::E4M3, RegType::B16),
    packing(DType::E4M3, RegType::B8),
    packing(DType::E5M2, RegType::B32),
    packing(DType::E5M2, RegType::B16),
    packing(DType::E5M2, RegType::B8),
    packing(DType::S8, RegType::B32),
    packing(DType::S8, RegType::B16),
    packing(DType::S8, RegType::B8),
    packing(DType::U8, RegType::B32),
    packing(DType::U8, RegType::B16),
    packing(DType::U8, RegType::B8),
    packing(DType::S16, RegType::B32),
    packing(DType::S16, RegType::B16),
    packing(DType::U16, RegType::B32),
    packing(DType::U16, RegType::B16),
    packing(DType::UE8M0, RegType::B32),
    packing(DType::UE8M0, RegType::B16),
    packing(DType::UE8M0, RegType::B8),
    packing(DType::S4, RegType::B32),
    packing(DType::S4, RegType::B16),
    packing(DType::S4, RegType::B8),
    packing(DType::U4, RegType::B32),
    packing(DType::U4, RegType::B16),
    packing(DType::U4, RegType::B8),
    packing(DType::E2M1, RegType::B32),
    packing(DType::E2M1, RegType::B16),
    packing(DType::E2M1, RegType::B8),
];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn cast(from: Packing, to: Packing, arch: &str, middle: Option<DType>) {
    let text = match middle {
        Some(dtype) => format!("{dtype}(x[i])"),
        None => "x[i]".to_owned(),
    };
    let kernel = Case::new(&text, &[from], to).compiled(arch);
    let kernel = kernel.unwrap_or_else(|problems| panic!("{from:?} {to:?}: {problems:?}"));
    let codes = Codes(7).of(from.dtype, 1024);
    let got = kernel.emulated(arch, std::slice::from_ref(&codes), &[]);
    for (&code, &result) in codes.iter().zip(&got) {
        let value = decoded(from.dtype, code);
        let held = middle.map_or(value, |dtype| stored(dtype, value));
        let result = decoded(to.dtype, result);
        let wanted = match middle {
            // What is not computed with is copied, infinities of saturating types too.
            None if from.dtype == to.dtype => value,
            _ => stored(to.dtype, held),
        };
        // Integers have one zero.
        let whole = matches!(Kind::of(to.dtype), Kind::Integer(_));
        let wanted = if whole { wanted + 0.0 } else { wanted };
        assert!(
            same(result, wanted),
            "{text} of {from:?} as {to:?} on {arch}: {value:?} gives {result:?}, not {wanted:?}"
        );
    }
}

#[test]
fn every_pair_is_rounded_once() {
    for from in PACKINGS {
        for to in PACKINGS {
            cast(*from, *to, "sm_90a", None);
        }
    }
}

#[test]
fn older_architectures_round_alike() {
    let known = |packing: &&Packing| !matches!(packing.dtype, DType::E4M3 | DType::E5M2);
    let all: Vec<&Packing> = PACKINGS.iter().filter(known).collect();
    for (at, from) in all.iter().enumerate() {
        for to in all.iter().skip(at % 3).step_by(3) {
            cast(**from, **to, "sm_70", None);
        }
    }
}

#[test]
fn casts_on_the_way_are_seen() {
    for middle in [
        DType::F16,
        DType::BF16,
        DType::TF32,
        DType::E4M3,
        DType::E5M2,
        DType::E2M1,
        DType::UE8M0,
        DType::S4,
        DType::U4,
        DType::S8,
        DType::U8,
        DType::S16,
        DType::U16,
        DType::S32,
        DType::F32,
        DType::F64,
    ] {
        for from in [F32, F64, S32, packing(DType::BF16, RegType::B32)] {
            for to in [F32, F64, S32, packing(DType::E4M3, RegType::B32)] {
                cast(from, to, "sm_90a", Some(middle));
            }
        }
    }
}
