//! Judges any kernel by its own formula: the reference that travels in the manifest.
//!
//! In: a kernel on a problem, and the elements of its operands. Out: what its outputs should be,
//! and how far they may be from it. Kernels that only move elements are asked where each goes, so
//! that bits without a meaning count as well; all others are computed in f64 with a bound.

mod kept;

mod sampled;

use tilewright_bundle::{DType, Kernel};
use tilewright_formula::interpret::{Bounded, Evaluator, Inputs, Output, Tensor};
use tilewright_formula::{Formula, check};

use super::bound::Expected;
use super::compare::{Comparison, Worst, compare};
use super::data::Data;
use super::form::{Factor, GemmForm};
use super::judge::sums_of;
use super::numbers::{decode, encode};
use super::reference::{Shape, on_cpu};
use kept::Kept;
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Fit;
use tilewright_runtime::Problem;

/// Dense elements by operand, as bytes, last axis innermost; none of those that hold nothing.
pub type Dense = Vec<Option<Vec<u8>>>;

/// A kernel's formula on one problem.
#[derive(Debug, Clone, Copy)]
pub struct FormulaReference<'a> {
    pub(super) kernel: &'a Kernel,
    problem: &'a Problem,
    pub(super) fit: &'a Fit,
    pub(super) formula: &'a Formula,
    /// The compute capability by whose rules sums are judged; by those of any where there is none.
    sm: Option<u32>,
}

/// What an output should hold.
#[derive(Debug, Clone)]
pub enum Expect {
    /// These elements, last axis innermost.
    Bytes(Vec<u8>),
    /// What the formula allows in its order of evaluation, or in any other.
    Allowed(Output),
}

/// What outputs should be.
#[derive(Debug)]
enum Truth {
    /// For each element of an output, in order, the element of an input.
    Moved([usize; 2], Vec<i64>),
    /// Values with bounds.
    Computed(Vec<Output>),
}

impl<'a> FormulaReference<'a> {
    /// The reference of a kernel on a problem that it takes so. Sums are judged as any kernel of
    /// their types keeps them.
    ///
    /// # Errors
    /// When the kernel's names were never looked up.
    pub fn of(
        kernel: &'a Kernel,
        problem: &'a Problem,
        fit: &'a Fit,
    ) -> Result<FormulaReference<'a>, Error> {
        let unresolved = || Error::Request(format!("{} is not of an opened bundle", kernel.id));
        let formula = kernel.formula().ok_or_else(unresolved)?;
        Ok(FormulaReference {
            kernel,
            problem,
            fit,
            formula,
            sm: None,
        })
    }

    /// The same, with sums as the kernel's instruction keeps them on that device.
    #[must_use]
    pub fn on(self, device: &Device) -> FormulaReference<'a> {
        FormulaReference {
            sm: Some(sums_of(device, self.kernel)),
            ..self
        }
    }

    /// Input and output of a kernel that moves elements as they are.
    pub(super) fn moved(&self) -> Option<[usize; 2]> {
        let operands = &self.kernel.semantics.operands;
        let ends = self.kernel.copied()?;
        let [s, d] = ends.map(|end| operands.iter().position(|o| o.name == end.name));
        let [from, to] = ends;
        (from.dtype == to.dtype).then_some([s?, d?])
    }

    /// The extents and scalars that the formula names.
    fn inputs<'b>(&self) -> Inputs<'b> {
        let mut inputs = Inputs::default();
        for (name, extent) in self.problem.extents() {
            inputs = inputs.size(name, extent);
        }
        for (name, value) in self.problem.scalars() {
            inputs = inputs.scalar(name, value);
        }
        inputs
    }

    /// Strides of dense elements of an operand, last axis innermost.
    fn strides(&self, at: usize) -> Vec<i64> {
        let mut strides = Vec::new();
        let mut inner = 1;
        let axes: Vec<(i64, i64)> = self.fit.operands[at].axes().collect();
        for (extent, _) in axes.iter().rev() {
            strides.insert(0, inner);
            inner *= extent;
        }
        strides
    }

    fn sums(&self, data: Data) -> Kept<'a> {
        Kept {
            data,
            reference: *self,
        }
    }

    fn truth(&self, given: &[Option<Vec<u8>>], data: Data) -> Result<Truth, Error> {
        let failed = |error: tilewright_formula::interpret::Error| {
            Error::Request(format!("{}: {error}", self.kernel.id))
        };
        let operands = &self.kernel.semantics.operands;
        if let Some(ends) = self.moved() {
            let numbers: Vec<i64> = (0..self.fit.operands[ends[0]].elems()).collect();
            let formula = self.as_bits()?;
            let name = &operands[ends[0]].name;
            let strides = self.strides(ends[0]);
            let inputs = self.inputs();
            let inputs = inputs.tensor(name, Tensor::integers(&numbers, &strides));
            let sums = self.sums(data);
            let evaluator = Evaluator::new(&formula, &inputs, &sums).map_err(failed)?;
            let output = evaluator.outputs().map_err(failed)?.pop();
            return Ok(Truth::Moved(
                ends,
                output.map(|output| output.integers).unwrap_or_default(),
            ));
        }
        self.evaluated(given, data, |evaluator| evaluator.outputs())
            .map(Truth::Computed)
    }

    /// What an evaluator of the formula gives on these elements.
    fn evaluated<T>(
        &self,
        given: &[Option<Vec<u8>>],
        data: Data,
        ask: impl FnOnce(&Evaluator<'_>) -> Result<T, tilewright_formula::interpret::Error>,
    ) -> Result<T, Error> {
        let operands = &self.kernel.semantics.operands;
        let decoded = operands.iter().zip(given).map(|(operand, bytes)| {
            let bytes = bytes.as_deref();
            bytes.map(|bytes| decode(operand.dtype, bytes)).transpose()
        });
        let decoded: Vec<Option<Vec<f64>>> = decoded.collect::<Result<_, _>>()?;
        let mut inputs = self.inputs();
        for (at, (operand, values)) in operands.iter().zip(&decoded).enumerate() {
            if let Some(values) = values {
                let strides = self.strides(at);
                inputs = inputs.tensor(&operand.name, Tensor::floats(values, &strides));
            }
        }
        let sums = self.sums(data);
        let evaluator = Evaluator::new(self.formula, &inputs, &sums);
        let answer = evaluator.and_then(|evaluator| ask(&evaluator));
        answer.map_err(|error| Error::Request(format!("{}: {error}", self.kernel.id)))
    }

    /// The formula on elements that are numbers of 64 bits.
    fn as_bits(&self) -> Result<Formula, Error> {
        let mut signature = self.formula.signature.clone();
        for operand in &mut signature.operands {
            operand.dtype = DType::B64;
        }
        check(&self.formula.text, &signature).map_err(|problems| {
            let problems = tilewright_formula::report(&self.formula.text, &problems);
            Error::Request(format!("{}: {problems}", self.kernel.id))
        })
    }

    /// What every output should hold, given what is in the operands; none of the others.
    ///
    /// # Errors
    /// When the formula cannot be evaluated, or a product depends on how its sums are rounded.
    pub fn expected(
        &self,
        given: &[Option<Vec<u8>>],
        data: Data,
    ) -> Result<Vec<Option<Expect>>, Error> {
        let operands = &self.kernel.semantics.operands;
        let mut all = vec![None; operands.len()];
        if self.kernel.product().is_some() {
            let form = GemmForm::of(self.kernel, &self.fit.operands)?;
            let product = self.product(&form, given)?;
            if let Some(place) = all.get_mut(form.d.at) {
                *place = Some(Expect::Bytes(product));
            }
            return Ok(all);
        }
        match self.truth(given, data)? {
            Truth::Moved([s, d], numbers) => {
                let source = given.get(s).and_then(Option::as_deref).unwrap_or_default();
                all[d] = Some(Expect::Bytes(gathered(source, &numbers, operands[s].dtype)));
            }
            Truth::Computed(outputs) => {
                for output in outputs {
                    let at = operands.iter().position(|o| o.name == output.name);
                    let Some(at) = at else { continue };
                    let exact = output.errors.iter().all(|error| *error == 0.0);
                    all[at] = Some(match exact && output.is_plain() {
                        true => Expect::Bytes(encode(output.dtype, &output.values)?),
                        false => Expect::Allowed(output),
                    });
                }
            }
        }
        Ok(all)
    }

    /// The bytes of a product, by the fast routine that the formula's interpreter agrees with.
    fn product(&self, form: &GemmForm, given: &[Option<Vec<u8>>]) -> Result<Vec<u8>, Error> {
        let Shape { m, n, k } = form.shape;
        let rows = |factor: &Factor, rows: usize| {
            let dense = given.get(factor.at).cloned().flatten().unwrap_or_default();
            let dense = factor.arrange(dense, k as i64, rows as i64);
            decode(factor.dtype, &dense)
        };
        let (a, b) = (rows(&form.a, m)?, rows(&form.b, n)?);
        let inputs = [form.a.dtype, form.b.dtype];
        let reference = on_cpu(&a, &b, form.shape, inputs);
        let ends = [form.accumulator, form.d.dtype];
        let rule = self.sums(Data::Integers).rule(inputs, ends, k);
        if (0..m * n).any(|at| rule.at(&reference, at).error != 0.0) {
            return Err(self.rounded());
        }
        let product = encode(form.d.dtype, &reference.product)?;
        Ok(form.d.arrange(product, m as i64, n as i64))
    }

    fn rounded(&self) -> Error {
        let kernel = &self.kernel.id;
        Error::Request(format!("{kernel}: outputs depend on how sums are rounded"))
    }

    /// Judges the elements of every output by what was given.
    ///
    /// # Errors
    /// When the formula cannot be evaluated, or the host has no memory for it.
    pub fn judge(
        &self,
        given: &[Option<Vec<u8>>],
        found: &[Option<Vec<u8>>],
        data: Data,
    ) -> Result<Verdict, Error> {
        let operands = &self.kernel.semantics.operands;
        let of = |at: usize| found.get(at).and_then(Option::as_deref).unwrap_or_default();
        match self.truth(given, data)? {
            Truth::Moved([s, d], numbers) => {
                let source = given.get(s).and_then(Option::as_deref).unwrap_or_default();
                let wanted = gathered(source, &numbers, operands[s].dtype);
                let size = operands[d].dtype.bytes().max(1) as usize;
                let pairs = of(d).chunks(size).zip(wanted.chunks(size)).enumerate();
                let mut wrong = pairs.filter(|(_, (got, want))| got != want);
                let whole = of(d).len() == wanted.len();
                let first = wrong.next().map(|(at, _)| at);
                let count = wrong.count() + usize::from(first.is_some());
                let place = |at: usize| self.fit.operands[d].coordinate(at as i64);
                let failure = first.or((!whole).then_some(0)).map(|at| {
                    let (name, elems) = (&operands[d].name, self.fit.operands[d].elems());
                    format!(
                        "{count} of {elems} elements of `{name}` differ, first at {}",
                        place(at)
                    )
                });
                Ok(Verdict::all_or_nothing(failure))
            }
            Truth::Computed(outputs) => {
                let mut verdict = Verdict::default();
                for output in &outputs {
                    let at = operands.iter().position(|o| o.name == output.name);
                    let Some(at) = at else { continue };
                    let values = decode(output.dtype, of(at))?;
                    let before = given.get(at).and_then(Option::as_deref);
                    let before = before
                        .map(|bytes| decode(output.dtype, bytes))
                        .transpose()?;
                    let compared = compared(output, &values, before.as_deref());
                    let extents = &self.fit.operands[at];
                    verdict.add(output, compared, |at| extents.coordinate(at as i64));
                }
                Ok(verdict)
            }
        }
    }
}

/// How outputs compare with what they should be.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// `‖out − ref‖ / ‖ref‖`, in the Frobenius norm, over numbers.
    pub rel_err: f64,
    /// Largest error over allowed error; at most 1 is right.
    pub max_err: f64,
    /// What is wrong.
    pub failure: Option<String>,
}

impl Verdict {
    /// That of what is right to the bit, or wrong.
    pub(crate) fn all_or_nothing(failure: Option<String>) -> Verdict {
        let wrong = failure.is_some();
        Verdict {
            rel_err: if wrong { 1.0 } else { 0.0 },
            max_err: if wrong { f64::INFINITY } else { 0.0 },
            failure,
        }
    }

    /// The largest error over allowed error, as a number that JSON has; above 1 where anything is
    /// wrong.
    pub(crate) fn worst(&self) -> f64 {
        match &self.failure {
            Some(_) => self.max_err.clamp(1.0f64.next_up(), f64::MAX),
            None => self.max_err.min(f64::MAX),
        }
    }

    /// Adds the comparison of some elements of an output; `place` tells where one of them is.
    fn add(&mut self, output: &Output, compared: Comparison, place: impl Fn(usize) -> String) {
        self.rel_err = self.rel_err.max(compared.rel_err);
        self.max_err = self.max_err.max(compared.max_err);
        if let (None, Some(worst)) = (&self.failure, compared.worst) {
            let Worst { at, got, want, .. } = worst;
            self.failure = Some(format!(
                "{} of {} elements of `{}` are wrong; {} is {got} and should be {want}",
                compared.wrong,
                output.values.len(),
                output.name,
                place(at),
            ));
        }
    }
}

/// An output beside what it should be. Elements that may be one of some integers, and such that
/// nobody writes, are right or wrong.
fn compared(output: &Output, values: &[f64], before: Option<&[f64]>) -> Comparison {
    let whole = values.len() == output.values.len();
    if output.is_plain() && whole {
        let expected = |at: usize| {
            let Bounded { value, error } = output.at(at);
            Expected { value, error }
        };
        return compare(values, expected, output.dtype);
    }
    let mut comparison = Comparison::default();
    for at in 0..output.values.len() {
        let before = before.and_then(|before| before.get(at).copied());
        let got = values.get(at).copied().unwrap_or(f64::NAN);
        let right = at < values.len() && output.allows(at, got, before);
        comparison.add(Worst {
            at,
            got,
            want: output.at(at).value,
            ratio: if right { 0.0 } else { f64::INFINITY },
        });
    }
    comparison
}

/// Elements of `source` by their numbers.
fn gathered(source: &[u8], numbers: &[i64], dtype: DType) -> Vec<u8> {
    let size = dtype.bytes() as usize;
    let mut bytes = Vec::with_capacity(numbers.len() * size);
    for number in numbers {
        let start = usize::try_from(*number).unwrap_or(0).saturating_mul(size);
        bytes.extend_from_slice(source.get(start..start + size).unwrap_or_default());
    }
    bytes
}
