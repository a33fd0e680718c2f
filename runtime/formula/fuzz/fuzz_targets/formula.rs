//! Hostile signatures and formulas.
//!
//! In: any bytes, as files of `ci/data/formulas` are: a signature, a line for each name, then
//! `compute:` and a formula. Out: no panic; a refusal has places in the text; what is accepted is
//! printed, read again and the same, and at small extents every element has the value that it has
//! by itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_formula::form::recognize;
use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::number::Kind;
use tilewright_formula::{
    Accumulation, Axis, DType, Extent, Formula, Mode, ModeExtent, Operand, Ragged, RaggedBy,
    Scalar, Signature, check, identity, print, report,
};

/// Most points of all modes that a formula is evaluated at.
const MOST_POINTS: i64 = 1 << 12;
/// What operands hold, one after another.
const VALUES: [f64; 7] = [1.0, 0.0, 2.0, -3.0, 0.5, f64::INFINITY, f64::NAN];
/// What those hold whose elements are integers.
const INTEGERS: [f64; 5] = [0.0, 1.0, 2.0, -1.0, 3.0];

/// Adds what a line says; one that says nothing is left out.
fn read_line(line: &str, signature: &mut Signature) -> Option<()> {
    if line == "accumulation: fast" {
        signature.accumulation = Accumulation::Fast;
        return None;
    }
    if let Some((name, rest)) = line.split_once(": ") {
        let (dtype, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let dtype = DType::from_text(dtype)?;
        let name = name.to_owned();
        let Some((axes, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'))
        else {
            signature.scalars.push(Scalar { name, dtype });
            return None;
        };
        let axes: Vec<&str> = axes.split(',').filter(|axis| !axis.is_empty()).collect();
        let after = after.trim();
        let packed = after
            .strip_prefix("packed")
            .map(|order| order.trim().to_owned());
        let over = after.strip_prefix("over ").map(str::to_owned);
        let operand = Operand::new(&name, dtype, &axes);
        signature.operands.push(Operand {
            packed,
            over,
            ..operand
        });
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, extent) = match words[..] {
        [name, "=", extent] => (name, ModeExtent::Constant(extent.parse().ok()?)),
        [name, "in", group, "by", by, table] => {
            let by = RaggedBy::ALL.into_iter().find(|one| one.text() == by)?;
            let (group, table) = (group.to_owned(), table.to_owned());
            (name, ModeExtent::Ragged(Ragged { group, by, table }))
        }
        _ => return None,
    };
    let name = name.to_owned();
    signature.modes.push(Mode { name, extent });
    None
}

/// What the formula says again when it is printed.
fn check_print(formula: &Formula, signature: &Signature) {
    let spelled = print::print(&formula.tree);
    let again = match check(&spelled, signature) {
        Ok(again) => again,
        Err(problems) => panic!("{spelled}\n{}", report(&spelled, &problems)),
    };
    assert_eq!(print::print(&again.tree), spelled);
    assert_eq!(identity::function(&again), identity::function(formula));
    match recognize(formula) {
        Ok(found) => assert!(!found.form.name().is_empty()),
        Err(problems) => {
            assert!(!problems.is_empty() && !report(&formula.text, &problems).is_empty())
        }
    }
}

/// The extents of modes, of each of those that have none of their own 1 to 3; none where there are
/// too many points.
fn extents(formula: &Formula) -> Option<Vec<i64>> {
    let extent = |(at, mode): (usize, &tilewright_formula::ModeFacts)| match mode.extent {
        Extent::Constant(extent) => extent,
        _ => 1 + (at as i64 + 1) % 3,
    };
    let extents: Vec<i64> = formula.modes.iter().enumerate().map(extent).collect();
    let points = extents
        .iter()
        .try_fold(1i64, |all, extent| all.checked_mul(*extent))?;
    (points <= MOST_POINTS).then_some(extents)
}

/// The extents of an operand, and how many elements it has.
fn shape(formula: &Formula, operand: &Operand, extents: &[i64]) -> (Vec<i64>, i64) {
    let of = |mode: &str| formula.mode(mode).map_or(0, |mode| extents[mode]);
    let extent = |axis: &Axis| match axis {
        Axis::Mode(mode) => of(mode),
        Axis::Quotient(mode, by) => of(mode).div_euclid(*by) + 1,
        Axis::After(mode) => of(mode) + 1,
        Axis::Constant(extent) => *extent,
    };
    let shape: Vec<i64> = operand.axes.iter().map(extent).collect();
    let elements = shape
        .iter()
        .fold(1i64, |all, extent| all.saturating_mul(*extent));
    (shape, elements)
}

/// The elements of an operand.
enum Held {
    Floats(Vec<f64>),
    Bits(Vec<i64>),
}

impl Held {
    fn of(dtype: DType, first: usize, count: usize) -> Held {
        let all = |values: &[f64]| {
            (first..first + count)
                .map(|at| values[at % values.len()])
                .collect()
        };
        match Kind::of(dtype) {
            Kind::Raw => Held::Bits((first as i64..(first + count) as i64).collect()),
            Kind::Integer(_) => Held::Floats(all(&INTEGERS)),
            Kind::Float(_) | Kind::Scale => Held::Floats(all(&VALUES)),
        }
    }
}

/// Evaluates a formula whole, and each element by itself.
fn evaluate(formula: &Formula) -> Option<()> {
    let extents = extents(formula)?;
    let operands = &formula.signature.operands;
    let shapes: Vec<(Vec<i64>, i64)> = operands
        .iter()
        .map(|operand| shape(formula, operand, &extents))
        .collect();
    if shapes.iter().any(|(_, elements)| *elements > MOST_POINTS) {
        return None;
    }
    let held: Vec<Held> = operands
        .iter()
        .zip(&shapes)
        .enumerate()
        .map(|(at, (operand, (_, count)))| Held::of(operand.dtype, at, *count as usize))
        .collect();
    let mut inputs = Inputs::default();
    for (mode, extent) in formula.modes.iter().zip(&extents) {
        inputs = inputs.size(&mode.name, *extent);
    }
    for (at, scalar) in formula.signature.scalars.iter().enumerate() {
        inputs = inputs.scalar(&scalar.name, VALUES[at % VALUES.len()]);
    }
    for ((operand, (shape, _)), values) in operands.iter().zip(&shapes).zip(&held) {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let tensor = match values {
            Held::Floats(values) => Tensor::floats(values, &strides),
            Held::Bits(values) => Tensor::integers(values, &strides),
        };
        inputs = inputs.tensor(&operand.name, tensor);
    }
    let evaluator = Evaluator::new(formula, &inputs, &Fma).ok()?;
    for output in evaluator.outputs().ok()? {
        let mut index = vec![0; output.extents.len()];
        for (at, value) in output.values.iter().enumerate() {
            let mut rest = at as i64;
            for (place, extent) in index.iter_mut().zip(&output.extents).rev() {
                (*place, rest) = (rest % extent, rest / extent);
            }
            let element = evaluator
                .element(&output.name, &index)
                .expect("an element of the output");
            let written = output.written.get(at).copied().unwrap_or(true);
            assert_eq!(element.written, written, "{}{index:?}", output.name);
            let same = element.value == *value || element.value.is_nan() && value.is_nan();
            assert!(
                same || !written,
                "{}{index:?}: {} {value}",
                output.name,
                element.value
            );
        }
    }
    Some(())
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (head, text) = text.split_once("compute:\n").unwrap_or(("", text));
    let mut signature = Signature::default();
    for line in head.lines() {
        read_line(line, &mut signature);
    }
    match check(text, &signature) {
        Ok(formula) => {
            check_print(&formula, &signature);
            evaluate(&formula);
        }
        Err(problems) => {
            assert!(!problems.is_empty() && !report(text, &problems).is_empty());
            for problem in &problems {
                assert!(
                    text.get(problem.span().unwrap_or_default()).is_some(),
                    "{problem:?}"
                );
            }
        }
    }
});
