//! Every primitive of every type, within the bounds of formulas.

use super::*;

/// Architectures that differ in what they have.
const ARCHES: [&str; 3] = ["sm_70", "sm_80", "sm_90a"];

fn judge(arch: &str, text: &str, inputs: &[Packing], output: Packing) {
    let case = Case::new(text, inputs, output);
    let kernel = case
        .compiled(arch)
        .unwrap_or_else(|problems| panic!("{text} on {arch}: {problems:?}"));
    let mut codes = Codes(text.len() as u64);
    let data: Vec<Vec<u64>> = inputs
        .iter()
        .map(|packing| codes.of(packing.dtype, ELEMENTS))
        .collect();
    kernel.judge(arch, &data, &[]);
}

#[test]
fn floats_are_within_their_slack() {
    for arch in ARCHES {
        for text in [
            "-x[i]",
            "abs(x[i])",
            "exp(x[i])",
            "log(x[i])",
            "sqrt(x[i])",
            "rsqrt(x[i])",
            "tanh(x[i])",
            "erf(x[i])",
            "sin(x[i])",
            "cos(x[i])",
            "floor(x[i])",
            "round(x[i])",
            "1 / x[i]",
            "x[i] / 3",
            "x[i] / 8",
            "x[i] / 0.0",
            "x[i] / 1e-40",
            "x[i] / 3e38",
            "x[i] / (-inf)",
            "x[i] / nan",
            "relu(x[i])",
            "silu(x[i])",
            "sigmoid(x[i])",
            "gelu(x[i])",
            "gelu_tanh(x[i])",
            "softcap(x[i], 30)",
            "exp(-2.0 * x[i])",
        ] {
            judge(arch, text, &[F32], F32);
        }
        for text in TWO {
            judge(arch, text, &[F32, F32], F32);
        }
        // What is no number stays none on its way through functions.
        for text in [
            "log(x[i] / y[i])",
            "log((x[i] - x[i]) / (y[i] - y[i]))",
            "max(log(x[i] / y[i]), y[i])",
            "clamp(log(x[i] - y[i]), -inf, 4.0)",
            "gelu(x[i] / (y[i] - y[i]))",
            "silu(sqrt(x[i]) - y[i])",
            "softcap(x[i] - x[i] / y[i], 30)",
        ] {
            judge(arch, text, &[F32, F32], F32);
        }
        for text in [
            "sigmoid(log(x[i]))",
            "erf(x[i] * nan)",
            "relu(rsqrt(x[i]))",
            "tanh(sin(x[i] * inf))",
        ] {
            judge(arch, text, &[F32], F32);
        }
    }
}

const TWO: [&str; 17] = [
    "x[i] + y[i]",
    "x[i] - y[i]",
    "x[i] * y[i]",
    "x[i] / y[i]",
    "max(x[i], y[i])",
    "min(x[i], y[i])",
    "where(x[i] < y[i], x[i], 1.0)",
    "where(x[i] <= y[i], x[i], 1.0)",
    "where(x[i] == y[i], x[i], 1.0)",
    "where(x[i] != y[i], x[i], 1.0)",
    "where(x[i] > y[i] and y[i] > 0, x[i], 1.0)",
    "where(x[i] >= y[i] or y[i] > 0, x[i], 1.0)",
    "where(not (x[i] == y[i]), x[i], y[i])",
    "x[i] * y[i] + x[i]",
    "x[i] - x[i] * y[i]",
    "x[i] * y[i] - 0.5",
    "clamp(x[i], -1.0, y[i])",
];

#[test]
fn doubles_are_within_their_slack() {
    for text in TWO {
        judge("sm_90a", text, &[F64, F64], F64);
        judge("sm_70", text, &[F64, F64], F64);
    }
    let words = packing(DType::F64, RegType::B32);
    for text in [
        "-x[i]",
        "abs(x[i])",
        "sqrt(x[i])",
        "rsqrt(x[i])",
        "floor(x[i])",
        "round(x[i])",
        "1 / x[i]",
        "x[i] / 8",
        "relu(x[i])",
    ] {
        judge("sm_80", text, &[words], words);
    }
}

#[test]
fn integers_are_exact() {
    for text in [
        "x[i] + y[i]",
        "x[i] - y[i]",
        "x[i] * y[i]",
        "max(x[i], y[i])",
        "min(x[i], y[i])",
        "x[i] % 7",
        "x[i] % 8",
        "abs(x[i])",
        "-x[i]",
        "where(x[i] < y[i], x[i], 3)",
        "where(x[i] == y[i] or x[i] != 2, x[i], y[i])",
        "x[i] * y[i] + 3",
        "i + x[i]",
        "x[i] * size(i)",
        "x[i] + i % 5",
    ] {
        let inputs = if text.contains('y') {
            &[S32, S32][..]
        } else {
            &[S32]
        };
        judge("sm_80", text, inputs, S32);
    }
}

#[test]
fn elements_of_several_inputs_stand_in_their_registers() {
    let bf16 = packing(DType::BF16, RegType::B32);
    let e4m3 = packing(DType::E4M3, RegType::B32);
    let s8 = packing(DType::S8, RegType::B32);
    judge("sm_90a", "silu(x[i]) * y[i]", &[bf16, F32], bf16);
    judge("sm_90a", "x[i] * y[i] + i", &[e4m3, bf16], e4m3);
    judge("sm_80", "x[i] * 0.25 + y[i]", &[s8, F32], s8);
    judge("sm_70", "x[i] * 0.25 + y[i]", &[s8, bf16], s8);
    judge("sm_80", "bf16(x[i] * y[i]) + 1.0", &[F32, F32], bf16);
    judge("sm_80", "3.0 + 0 * x[i]", &[bf16], bf16);
}

#[test]
fn scalars_are_read_as_they_are_given() {
    let case = Case {
        scalars: &[
            ("alpha", DType::F32),
            ("beta", DType::F64),
            ("n", DType::S32),
        ],
        ..Case::new("alpha * x[i] + beta * n", &[F32], F32)
    };
    let kernel = case.compiled("sm_80").unwrap();
    let data = [Codes(3).of(DType::F32, ELEMENTS)];
    kernel.judge("sm_80", &data, &[0.3, 1e-3, 17.0]);
    let fill = Case {
        scalars: &[("alpha", DType::F32)],
        ..Case::new("alpha", &[], packing(DType::BF16, RegType::B32))
    };
    let kernel = fill.compiled("sm_80").unwrap();
    let got = kernel.emulated("sm_80", &[], &[0.3]);
    let wanted = Format::of(DType::BF16).unwrap().encode(f64::from(0.3f32));
    assert_eq!(got, vec![wanted; ELEMENTS]);
}

#[test]
fn what_no_atom_does_is_named() {
    let of = |text: &str, arch: &str, input, output| {
        Case::new(text, &[input], output)
            .compiled(arch)
            .map(drop)
            .unwrap_err()
    };
    assert_eq!(
        of("exp(x[i]) + erf(x[i]) + exp(x[i] + 1)", "sm_90a", F64, F64),
        [
            "exp of f64 is not generated for sm_90a",
            "erf of f64 is not generated for sm_90a",
            "exp of f64 is not generated for sm_90a"
        ]
    );
    let e4m3 = packing(DType::E4M3, RegType::B32);
    assert_eq!(
        of("x[i] + 1", "sm_80", e4m3, F32),
        ["f32 of e4m3 is not generated for sm_80"]
    );
    assert_eq!(
        of("x[i] + 1", "sm_80", F32, e4m3),
        ["e4m3 of f32 is not generated for sm_80"]
    );
}
