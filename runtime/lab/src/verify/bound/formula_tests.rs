//! The formula's reference, asked to sum as a kernel's instructions do, gives for `d = acc` the
//! rule of this module, element by element.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::DType;
use tilewright_formula::interpret::{
    Bounded, Evaluator, Inputs, Output, SumSite, Sums, Tensor, Terms,
};
use tilewright_formula::{Operand, Signature, check, identity};

use super::super::data::Data;
use super::super::reference::{Shape, on_cpu};
use super::super::steps::Steps;
use super::{Expected, Rule};

/// Sums by a rule: step by step where their order is known, else by size.
struct BySteps {
    steps: Steps,
    data: Data,
}

impl Sums for BySteps {
    fn sum(&self, site: &SumSite, terms: &Terms<'_>) -> Bounded {
        let ([a, b], Some(inputs)) = (terms.factors.unwrap(), site.factors) else {
            return Bounded {
                value: 0.0,
                error: f64::INFINITY,
            };
        };
        let k = a.len();
        let rule = Rule {
            steps: self.steps,
            inputs,
            output: DType::F32,
            k,
            data: self.data,
        };
        let shape = Shape { m: 1, n: 1, k };
        let Expected { value, error } = if self.steps.ordered {
            rule.follow(a, b, shape)[0]
        } else {
            rule.at(&on_cpu(a, b, shape, inputs), 0)
        };
        Bounded { value, error }
    }
}

/// Numbers of many sizes, and integers.
fn rows(count: usize, seed: u64, data: Data, dtype: DType) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f64
    };
    let mut number = || match data {
        Data::Integers => (next() % 7.0) - 3.0,
        _ => (next() / 1e5 - 80.0) * 2f64.powi((next() % 16.0) as i32 - 8),
    };
    let values = (0..count).map(|_| number());
    values.map(|value| super::round(dtype, value)).collect()
}

/// What the formula of a gemm gives.
fn reference(
    [input, accumulator]: [DType; 2],
    shape: Shape,
    [a, b]: [&[f64]; 2],
    sums: &BySteps,
) -> Output {
    let signature = Signature {
        operands: vec![
            Operand::new("a", input, &["m", "k"]),
            Operand::new("b", input, &["n", "k"]),
            Operand::new("d", accumulator, &["m", "n"]),
        ],
        ..Signature::default()
    };
    let text = identity::default_text("gemm", Some(accumulator)).unwrap();
    let formula = check(&text, &signature).unwrap();
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as i64);
    let inputs = Inputs::default().size("m", m).size("n", n).size("k", k);
    let inputs = inputs.tensor("a", Tensor::floats(a, &[k, 1]));
    let inputs = inputs.tensor("b", Tensor::floats(b, &[k, 1]));
    let evaluator = Evaluator::new(&formula, &inputs, sums).unwrap();
    evaluator.outputs().unwrap().remove(0)
}

#[test]
fn the_formula_of_a_gemm_has_this_rule() {
    let shape = Shape { m: 3, n: 5, k: 70 };
    let Shape { m, n, k } = shape;
    let fma = Steps::of_types([DType::F32; 2], DType::F32);
    let tensor = Steps::of_types([DType::BF16; 2], DType::F32);
    let ordered = |steps| Steps {
        ordered: true,
        ..steps
    };
    let wgmma = Steps {
        products: 16,
        ..ordered(tensor)
    };
    let half = Steps {
        products: 8,
        ..ordered(Steps::of_types([DType::F16; 2], DType::F16))
    };
    let double = ordered(Steps::of_types([DType::F64; 2], DType::F64));
    for (input, accumulator, steps) in [
        (DType::F32, DType::F32, fma),
        (DType::F32, DType::F32, ordered(fma)),
        (DType::BF16, DType::F32, tensor),
        (DType::BF16, DType::F32, wgmma),
        (DType::F16, DType::F16, half),
        (DType::F64, DType::F64, double),
    ] {
        for data in [Data::Integers, Data::Normals] {
            let (a, b) = (rows(m * k, 1, data, input), rows(n * k, 2, data, input));
            let output = reference(
                [input, accumulator],
                shape,
                [&a, &b],
                &BySteps { steps, data },
            );
            let rule = Rule {
                steps,
                inputs: [input; 2],
                output: accumulator,
                k,
                data,
            };
            let expected: Vec<Expected> = match steps.ordered {
                true => rule.follow(&a, &b, shape),
                false => {
                    let reference = on_cpu(&a, &b, shape, [input; 2]);
                    (0..m * n)
                        .map(|at| peaked(&rule, &reference, &a, &b, at, shape))
                        .collect()
                }
            };
            for (at, want) in expected.iter().enumerate() {
                let got = output.at(at);
                let ends = [got.stored(accumulator), want.outputs(accumulator)];
                assert_eq!(
                    ends[0], ends[1],
                    "{input} in {accumulator} at {at}: {got:?}, {want:?}"
                );
                if accumulator != DType::F16 {
                    assert_eq!(
                        (got.value, got.error),
                        (want.value, want.error),
                        "{input} at {at}"
                    );
                }
            }
        }
    }
}

/// The rule of an element by size, with the weights of its own two rows.
fn peaked(
    rule: &Rule,
    reference: &super::Reference,
    a: &[f64],
    b: &[f64],
    at: usize,
    shape: Shape,
) -> Expected {
    let (i, j, k) = (at / shape.n, at % shape.n, shape.k);
    let (a, b) = (&a[i * k..][..k], &b[j * k..][..k]);
    let own = on_cpu(a, b, Shape { m: 1, n: 1, k }, rule.inputs);
    assert_eq!(own.product[0], reference.product[at]);
    rule.at(reference, at)
}
