//! Elements of a product computed again as the kernel's instructions do it, to the bit.

use tilewright_bundle::{DType, Kernel, SumBasis, SumUnit};
use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};

use super::bound::Expected;
use super::compare::{Comparison, Worst};
use super::form::GemmForm;
use super::format::Format;
use super::numbers::{decode, encode};
use super::reference::Shape;
use tilewright_runtime::Backend;
use tilewright_runtime::Error;

/// Elements that are looked at, of each problem, besides those of which nothing else is known.
const SAMPLES: usize = 256;

/// A kernel's chain of instructions for one element of its output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model {
    pub step: Step,
    /// Products of a k-block, of which whole ones are added.
    pub block: usize,
    pub inputs: [DType; 2],
    pub output: DType,
}

/// Elements of an output, with the rows that make them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    rows: Vec<Sample>,
}

#[derive(Debug, Clone)]
struct Sample {
    /// Position in the row-by-row output.
    at: usize,
    a: Vec<u8>,
    b: Vec<u8>,
}

impl Samples {
    /// Some elements all over the output, and as many of those in question.
    pub fn pick(
        shape: Shape,
        inputs: [DType; 2],
        [a, b]: [&[u8]; 2],
        in_question: impl Iterator<Item = usize>,
    ) -> Samples {
        let count = shape.m * shape.n;
        // Steps of the golden ratio spread evenly, whatever the count.
        let spread = |at: usize| (at as f64 * 0.618_033_988_749_894_9).fract() * count as f64;
        let everywhere = (0..SAMPLES.min(count)).map(|at| (spread(at) as usize).min(count - 1));
        let mut places: Vec<usize> = in_question.take(SAMPLES).chain(everywhere).collect();
        places.sort_unstable();
        places.dedup();
        let row = |bytes: &[u8], dtype: DType, at: usize| {
            let size = shape.k * dtype.bytes() as usize;
            bytes.get(at * size..(at + 1) * size).map(<[u8]>::to_vec)
        };
        let sample = |at: usize| {
            Some(Sample {
                at,
                a: row(a, inputs[0], at / shape.n)?,
                b: row(b, inputs[1], at % shape.n)?,
            })
        };
        Samples {
            rows: places.into_iter().filter_map(sample).collect(),
        }
    }
}

impl Model {
    /// The model of a kernel whose steps follow one another, on a device of compute capability
    /// `sm`; `None` where it is not known to equal the device.
    pub fn of(kernel: &Kernel, form: &GemmForm, sm: u32, backend: Backend) -> Option<Model> {
        let sums = kernel.semantics.sums.as_ref()?;
        let rules = Rules::of(&format!("sm_{sm}"));
        let way = match sums.unit {
            SumUnit::Fma => Way::Fma,
            SumUnit::MmaSync => Way::Mma,
            SumUnit::Wgmma => Way::Wgmma,
        };
        let emulated = backend == Backend::Emulator;
        if !rules.proved() && !emulated && sums.on(sm)?.basis != SumBasis::Defined {
            return None;
        }
        let inputs = [form.a.dtype, form.b.dtype];
        let elements = (element(inputs[0])?, element(inputs[1])?);
        let sum = match form.accumulator {
            DType::F16 => Sum::F16,
            DType::F32 => Sum::F32,
            DType::F64 => Sum::F64,
            _ => return None,
        };
        let step = Step::new(rules, way, elements, sum, sums.k as usize).ok()?;
        Some(Model {
            step,
            block: sums.block.unwrap_or(sums.k) as usize,
            inputs,
            output: form.d.dtype,
        })
    }

    /// What the kernel writes for an element of these rows.
    fn element(&self, sample: &Sample) -> Result<Vec<u8>, Error> {
        let a = codes(&sample.a, self.inputs[0]);
        let b = codes(&sample.b, self.inputs[1]);
        self.written(self.sum(&a, &b, |_, sum| sum))
    }

    /// The sum of an element's products, with what becomes of it after each step.
    pub fn sum(&self, a: &[u64], b: &[u64], after: impl Fn(usize, u64) -> u64) -> u64 {
        let k = self.step.k().max(1);
        let steps = a.chunks(k).zip(b.chunks(k)).enumerate();
        let sum = steps.fold(0, |c, (at, (a, b))| after(at, self.step.dot(a, b, c)));
        // Zeros that fill the last k-block make +0 of -0 and change nothing else.
        match a.len().is_multiple_of(self.block.max(1)) {
            true => sum,
            false => self.step.dot(&[], &[], sum),
        }
    }

    /// A sum as the output holds it.
    pub fn written(&self, sum: u64) -> Result<Vec<u8>, Error> {
        encode(self.output, &[self.step.sum().value(sum)])
    }

    /// Whether an element of these rows is judged by its bits: where its bound says little, and of
    /// instructions that keep fewer bits than their sums have, which no bound tells from a small
    /// error.
    pub fn replays(&self, known: Expected, rows: &[Vec<f64>; 2]) -> bool {
        let held = match self.step.sum() {
            Sum::F16 => Format::of(DType::F16),
            Sum::F32 => Format::of(DType::F32),
            Sum::F64 => Format::of(DType::F64),
            Sum::S32 { .. } => None,
        };
        let kept = self.step.precision().kept_bits;
        let coarse = kept
            .zip(held)
            .is_some_and(|(kept, held)| kept < held.fraction_bits);
        !known.value.is_nan() && (coarse || is_vague(known, rows))
    }

    /// Judges elements by their bits, where [`Model::replays`] says so. `out` is the output, row by
    /// row.
    ///
    /// # Errors
    /// When a type has no numbers here.
    pub fn judge(
        &self,
        samples: &Samples,
        out: &[u8],
        expected: impl Fn(usize) -> Expected,
        found: &mut Comparison,
    ) -> Result<(), Error> {
        let size = self.output.bytes() as usize;
        for sample in &samples.rows {
            let known = expected(sample.at);
            if !self.replays(known, &values(&sample.a, &sample.b, self.inputs)?) {
                continue;
            }
            let Some(got) = out.get(sample.at * size..(sample.at + 1) * size) else {
                continue;
            };
            found.replayed += 1;
            let want = self.element(sample)?;
            let values = [got, want.as_slice()].map(|bytes| decode(self.output, bytes));
            let [got_value, want_value] = values.map(|value| Ok::<f64, Error>(value?[0]));
            let (got_value, want_value) = (got_value?, want_value?);
            if got != want && !(got_value.is_nan() && want_value.is_nan()) {
                found.add(Worst {
                    at: sample.at,
                    got: got_value,
                    want: want_value,
                    ratio: f64::INFINITY,
                });
            }
        }
        Ok(())
    }
}

/// The values of two rows.
fn values(a: &[u8], b: &[u8], inputs: [DType; 2]) -> Result<[Vec<f64>; 2], Error> {
    Ok([decode(inputs[0], a)?, decode(inputs[1], b)?])
}

/// Whether a bound says little of an element of these rows: where it passes a quarter of the root
/// of the sum of the squares of all products, which is what a sum of random signs is like.
fn is_vague(known: Expected, [a, b]: &[Vec<f64>; 2]) -> bool {
    let squares = a.iter().zip(b).map(|(x, y)| (x * y) * (x * y));
    let likely = squares
        .filter(|square| square.is_finite())
        .sum::<f64>()
        .sqrt();
    known.error > likely / 4.0
}

/// The type of an element as the emulator names it.
pub(super) fn element(dtype: DType) -> Option<Element> {
    Some(match dtype {
        DType::F16 => Element::F16,
        DType::BF16 => Element::Bf16,
        DType::TF32 => Element::Tf32,
        DType::E4M3 => Element::E4m3,
        DType::E5M2 => Element::E5m2,
        DType::F32 => Element::F32,
        DType::F64 => Element::F64,
        DType::S8 => Element::S8,
        DType::U8 => Element::U8,
        _ => return None,
    })
}

/// The bits of elements.
pub(super) fn codes(bytes: &[u8], dtype: DType) -> Vec<u64> {
    bytes
        .chunks(dtype.bytes().max(1) as usize)
        .map(code)
        .collect()
}

/// The bits of one element.
fn code(bytes: &[u8]) -> u64 {
    let mut code = [0u8; 8];
    for (to, from) in code.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(code)
}

#[cfg(test)]
mod tests;
