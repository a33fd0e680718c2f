//! Warpgroup products against f64 arithmetic, for every type, layout and way of operands.
//!
//! The host lays operands out by the canonical layouts of the PTX ISA (9.7.15.5.1) with strides
//! of its own choice, so a wrong descriptor field cannot go unseen. Elements are small integers:
//! every sum is exact, in every order and type, and results are compared bit for bit.

mod bases;
mod kernel;
mod layouts;
mod order;

use kernel::{Case, Major, products};

const K: Major = Major::K;
const MN: Major = Major::MN;
const NS: [usize; 14] = [8, 16, 24, 40, 64, 72, 96, 112, 128, 176, 192, 224, 248, 256];
const SWIZZLES: [u32; 4] = [0, 32, 64, 128];

#[test]
fn every_width_of_16_bit_products() {
    for (index, n) in NS.into_iter().enumerate() {
        let ab = ["f16", "bf16"][index % 2];
        let swizzles = (SWIZZLES[index % 4], SWIZZLES[(index / 2) % 4]);
        products(&Case {
            n,
            ab,
            swizzles,
            ..Case::default()
        });
    }
}

#[test]
fn every_major_and_swizzle_of_16_bit_products() {
    for majors in [(K, K), (K, MN), (MN, K), (MN, MN)] {
        for (index, swizzle) in SWIZZLES.into_iter().enumerate() {
            for n in [8, 96, 128, 256] {
                products(&Case {
                    n,
                    ab: ["bf16", "f16"][index % 2],
                    majors,
                    swizzles: (swizzle, SWIZZLES[(index + n / 8) % 4]),
                    steps: 4,
                    ..Case::default()
                });
            }
        }
    }
}

#[test]
fn a_comes_from_registers() {
    for (ab, d) in [
        ("bf16", "f32"),
        ("f16", "f32"),
        ("f16", "f16"),
        ("tf32", "f32"),
        ("e4m3", "f32"),
        ("e5m2", "f16"),
        ("s8", "s32"),
        ("u8", "s32"),
    ] {
        products(&Case {
            n: 64,
            ab,
            d,
            a_registers: true,
            steps: 2,
            ..Case::default()
        });
    }
    products(&Case {
        n: 112,
        a_registers: true,
        majors: (K, MN),
        ..Case::default()
    });
}

#[test]
fn operands_are_negated_and_accumulators_dropped() {
    for negate in [(false, true), (true, false), (true, true)] {
        for ab in ["bf16", "tf32", "e4m3"] {
            products(&Case {
                n: 24,
                ab,
                negate,
                steps: 2,
                ..Case::default()
            });
        }
    }
    for ab in ["f16", "s8", "tf32"] {
        products(&Case {
            n: 16,
            ab,
            d: if ab == "s8" { "s32" } else { "f32" },
            accumulates: false,
            steps: 3,
            ..Case::default()
        });
    }
}

#[test]
fn wide_elements_bytes_and_half_accumulators() {
    let types = [
        ("tf32", "f32"),
        ("e4m3", "f32"),
        ("e5m2", "f32"),
        ("e4m3", "f16"),
        ("f16", "f16"),
        ("s8", "s32"),
        ("u8", "s32"),
    ];
    for (index, (ab, d)) in types.into_iter().enumerate() {
        for (at, n) in [8, 96, 112, 256].into_iter().enumerate() {
            products(&Case {
                n,
                ab,
                d,
                swizzles: (SWIZZLES[(index + at) % 4], SWIZZLES[at]),
                steps: 2,
                ..Case::default()
            });
        }
    }
}

#[test]
fn element_types_of_a_and_b_may_differ() {
    for (a, b, d) in [
        ("e4m3", "e5m2", "f32"),
        ("e5m2", "e4m3", "f16"),
        ("s8", "u8", "s32"),
        ("u8", "s8", "s32"),
    ] {
        products(&Case {
            n: 32,
            ab: a,
            b: Some(b),
            d,
            swizzles: (128, 64),
            ..Case::default()
        });
    }
}
