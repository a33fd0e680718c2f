//! Bounds against the model: what the instructions give is never outside.
#![allow(clippy::unwrap_used)]

use super::super::bound::Rule;
use super::super::compare::compare;
use super::super::data::{Data, Recipe, Side};
use super::super::elements::Elements;
use super::super::format::Format;
use super::super::reference::on_cpu;
use super::super::steps::Steps;
use super::*;

/// An instruction and the type of its factors, of its sums and of an output.
type Case = (Way, DType, Sum, usize, DType);

const CASES: [Case; 13] = [
    (Way::Wgmma, DType::F16, Sum::F32, 16, DType::F16),
    (Way::Wgmma, DType::BF16, Sum::F32, 16, DType::BF16),
    (Way::Wgmma, DType::BF16, Sum::F32, 16, DType::F32),
    (Way::Wgmma, DType::TF32, Sum::F32, 8, DType::F32),
    (Way::Wgmma, DType::E4M3, Sum::F32, 32, DType::F32),
    (Way::Wgmma, DType::E5M2, Sum::F32, 32, DType::BF16),
    (Way::Wgmma, DType::E4M3, Sum::F16, 32, DType::F16),
    (Way::Mma, DType::F16, Sum::F16, 16, DType::F16),
    (Way::Mma, DType::F16, Sum::F32, 8, DType::E4M3),
    (Way::Fma, DType::F32, Sum::F32, 1, DType::F32),
    (Way::Fma, DType::BF16, Sum::F32, 1, DType::BF16),
    (Way::Fma, DType::F64, Sum::F64, 1, DType::F64),
    (Way::Mma, DType::F64, Sum::F64, 4, DType::F64),
];

fn type_of(sum: Sum) -> DType {
    match sum {
        Sum::F16 => DType::F16,
        Sum::F32 => DType::F32,
        Sum::F64 => DType::F64,
        Sum::S32 { .. } => DType::S32,
    }
}

fn model(case: Case) -> Model {
    let (way, dtype, sum, k, output) = case;
    let one = element(dtype).unwrap();
    Model {
        step: Step::new(Rules::of("sm_90a"), way, (one, one), sum, k).unwrap(),
        block: k,
        inputs: [dtype; 2],
        output,
    }
}

fn rule(case: Case, data: Data, k: usize) -> Rule {
    let (_, dtype, sum, _, output) = case;
    let steps = Steps::of_step(&model(case).step, [dtype; 2], type_of(sum));
    Rule {
        steps,
        inputs: [dtype; 2],
        output,
        k,
        data,
    }
}

fn factors(case: Case, data: Data, shape: Shape, seed: u64) -> [Elements; 2] {
    let (_, dtype, sum, _, output) = case;
    let top = |dtype| Format::of(dtype).unwrap().top_exponent();
    let depth = shape.k.next_power_of_two().ilog2().cast_signed();
    [(Side::A, shape.m), (Side::B, shape.n)].map(|(side, rows)| {
        let recipe = Recipe {
            dtype,
            data,
            side,
            rows,
            k: shape.k,
            top: top(type_of(sum)).min(top(output)) - depth - 2,
            seed,
        };
        recipe.elements().unwrap()
    })
}

/// The whole output by the model.
fn output(case: Case, [a, b]: &[Elements; 2], shape: Shape) -> Vec<f64> {
    let all = Samples::pick(
        shape,
        [case.1; 2],
        [&a.bytes, &b.bytes],
        0..shape.m * shape.n,
    );
    let rows = all.rows.iter();
    let bytes: Vec<u8> = rows
        .flat_map(|row| model(case).element(row).unwrap())
        .collect();
    decode(case.4, &bytes).unwrap()
}

#[test]
fn no_bound_is_ever_passed() {
    let mut seed = 7;
    for case in CASES {
        for data in Data::ALL {
            let mut largest = [0.0f64; 2];
            let mut finite = 0;
            for k in [1, 7, 16, 33, 64, 200, 640] {
                seed += 1;
                let shape = Shape { m: 12, n: 16, k };
                let factors = factors(case, data, shape, seed);
                let out = output(case, &factors, shape);
                finite += out.iter().filter(|out| out.is_finite()).count();
                let rule = rule(case, data, k);
                let [a, b] = &factors;
                let followed = rule.follow(&a.values, &b.values, shape);
                let reference = on_cpu(&a.values, &b.values, shape, rule.inputs);
                let close = compare(&out, |at| followed[at], case.4);
                let loose = compare(&out, |at| rule.at(&reference, at), case.4);
                for (found, largest) in [close, loose].iter().zip(&mut largest) {
                    assert_eq!(found.wrong, 0, "{case:?} {data:?} k {k}: {found:?}");
                    *largest = largest.max(found.max_err);
                }
            }
            println!("{case:?} {data:?}: {largest:.3?} of the bounds, {finite} numbers");
            assert!(
                2 * finite > 7 * 12 * 16,
                "{case:?} {data:?}: {finite} numbers"
            );
        }
    }
}

#[test]
fn what_the_bound_lets_pass_the_model_does_not() {
    let case = CASES[4];
    let shape = Shape {
        m: 8,
        n: 8,
        k: 2048,
    };
    let [a, b] = factors(case, Data::OneSigned, shape, 3);
    let rule = rule(case, Data::OneSigned, shape.k);
    let followed = rule.follow(&a.values, &b.values, shape);
    let mut out = output(case, &[a.clone(), b.clone()], shape);
    let samples = Samples::pick(shape, rule.inputs, [&a.bytes, &b.bytes], std::iter::empty());
    let judged = |out: &[f64]| {
        let mut found = compare(out, |at| followed[at], case.4);
        let bytes = encode(case.4, out).unwrap();
        model(case)
            .judge(&samples, &bytes, |at| followed[at], &mut found)
            .unwrap();
        found
    };
    let right = judged(&out);
    assert!(right.wrong == 0 && right.replayed > 32, "{right:?}");
    // A step or two of all sums is far inside the bound.
    out.iter_mut().for_each(|out| *out -= 0.5);
    let bound = compare(&out, |at| followed[at], case.4);
    assert_eq!(bound.wrong, 0);
    assert_eq!(judged(&out).wrong, right.replayed);
}

#[test]
fn zeros_that_fill_a_block_make_a_sum_positive() {
    let mut model = model(CASES[9]);
    let (a, b) = ([0x8000_0001], [1]);
    let sum = |model: &Model| model.sum(&a, &b, |_, sum| sum);
    // From +0 a sum is -0 only where products underflow.
    assert_eq!(sum(&model), 0x8000_0000);
    model.block = 16;
    assert_eq!(sum(&model), 0);
}
