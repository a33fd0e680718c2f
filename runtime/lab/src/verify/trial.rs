//! One kernel on one problem: memory in, a launch, and everything that can be wrong with it.

use tilewright_bundle::{Kernel, Operand, Role};

use super::Outcome;
use super::data::Data;
use super::elements::Elements;
use super::form::{Factor, GemmForm};
use super::formula::{Dense, FormulaReference};
use super::judge::Judge;
use super::model::Samples;
use super::numbers::decode;
use super::placement::Placement;
use super::problems::Case;
use super::trace::{Trace, Tracer};
use crate::rules::RulesRecord;
use tilewright_runtime::Error;
use tilewright_runtime::LaunchReport;
use tilewright_runtime::cuda::BlasLt;
use tilewright_runtime::{Arg, Buffer, Device, LoadedKernel};

/// One launch to be judged.
pub(super) struct Trial<'a> {
    pub device: &'a Device,
    pub loaded: &'a LoadedKernel,
    pub case: &'a Case,
    pub data: Data,
    pub seed: u64,
    /// Whether the outcome is to have the hashes of what was read and written.
    pub traced: bool,
    /// Whether what was traced is known to be right already.
    pub is_known: Option<&'a dyn Fn(&Trace) -> bool>,
}

/// An operand in device memory, with the image it started from.
struct Loaded<'a> {
    operand: &'a Operand,
    place: Placement<'a>,
    /// Its memory; none of an output that takes the place of an input.
    buffer: Option<Buffer>,
    /// That input.
    over: Option<usize>,
    /// What an input must still be afterwards; none of an output.
    image: Option<Vec<u8>>,
}

impl Loaded<'_> {
    /// Its memory, its own or that of another of those operands.
    fn buffer_among<'l>(&'l self, operands: &'l [Loaded<'_>]) -> Option<&'l Buffer> {
        let own = self.buffer.as_ref();
        own.or_else(|| operands.get(self.over?)?.buffer.as_ref())
    }
}

impl<'a> Trial<'a> {
    pub fn kernel(&self) -> &'a Kernel {
        self.loaded.kernel()
    }

    /// Whether elements of an input lie at one address.
    pub fn shares_addresses(&self) -> bool {
        let operands = self.kernel().semantics.operands.iter();
        let mut inputs = operands
            .zip(&self.case.fit.operands)
            .filter(|(o, _)| o.role.is_read());
        inputs.any(|(_, extents)| !extents.is_injective())
    }

    fn place(&self, at: usize) -> Result<Placement<'a>, Error> {
        let operand = &self.kernel().semantics.operands[at];
        let extents = self.case.fit.operands[at];
        Placement::new(self.device, operand, extents, self.case.offsets[at])
    }

    /// Dense elements of an operand as they are read: those that lie at one address are the last
    /// of them.
    fn as_read(&self, at: usize, dense: Vec<u8>) -> Result<Vec<u8>, Error> {
        if self.case.fit.operands[at].is_injective() {
            return Ok(dense);
        }
        let place = self.place(at)?;
        Ok(place.gather(&place.image(&dense)))
    }

    /// The input whose place an output takes in this problem: it lies alike there, and starts where
    /// that one does.
    fn over(&self, at: usize) -> Option<usize> {
        let over = self.kernel().semantics.over(at)?;
        let (fit, offsets) = (&self.case.fit.operands, &self.case.offsets);
        (fit[at] == fit[over] && offsets[at] == offsets[over]).then_some(over)
    }

    /// Whether an output takes the place of an operand.
    fn is_replaced(&self, at: usize) -> bool {
        (0..self.case.fit.operands.len()).any(|output| self.over(output) == Some(at))
    }

    /// Puts an operand into memory; without elements it is poisoned.
    fn load(&self, at: usize, dense: Option<&[u8]>) -> Result<Loaded<'a>, Error> {
        let operand = &self.kernel().semantics.operands[at];
        let place = self.place(at)?;
        let over = self.over(at);
        if over.is_some() {
            return Ok(Loaded {
                operand,
                place,
                buffer: None,
                over,
                image: None,
            });
        }
        let buffer = self.device.alloc(place.bytes)?;
        let image = match (dense, operand.role) {
            (Some(dense), Role::In) if self.is_replaced(at) => Some(place.image_before(dense)),
            (Some(dense), Role::In) => Some(place.image(dense)),
            (Some(dense), _) => Some(place.image_before(dense)),
            (None, _) => None,
        };
        if let Some(image) = &image {
            self.device.upload(&buffer, 0, image)?;
        }
        Ok(Loaded {
            operand,
            place,
            buffer: Some(buffer),
            over,
            image: image.filter(|_| !operand.role.is_written()),
        })
    }

    /// What warnings come to: kernels that are made here have none by the document's words.
    fn doubts(&self, warnings: &[String]) -> Option<String> {
        let is_strict = matches!(self.device, Device::Emulator(device) if device.is_strict());
        let told = || format!("the emulator found {}", warnings.join("; "));
        (is_strict && !warnings.is_empty()).then(told)
    }

    /// Launches, and checks everything but the outputs' values. Returns the elements of each output
    /// by operand, or what is wrong.
    fn launch(
        &self,
        operands: &[Loaded<'a>],
        outcome: &mut Outcome,
    ) -> Result<Result<Dense, String>, Error> {
        let args: Vec<Arg<'_>> = operands
            .iter()
            .filter_map(|l| {
                let buffer = l.buffer_among(operands)?;
                Some(Arg::at(&l.operand.name, buffer, l.place.offset_bytes))
            })
            .collect();
        let mut report = LaunchReport::default();
        let mut run = || {
            report = self.device.launch(self.loaded, &self.case.problem, &args)?;
            Ok(())
        };
        match self.device {
            Device::Cuda(device) => outcome.launch_us = Some(device.time_us(run, || ())?),
            Device::Emulator(_) => run()?,
        }
        outcome.thread_instructions = report.thread_instructions;
        outcome.tensor_cores = report.tensor_cores.map(RulesRecord::from);
        outcome.profile = report.profile;
        if let Some(found) = self.doubts(&report.warnings) {
            return Ok(Err(found));
        }
        let mut outputs = Vec::new();
        let mut trace = self.traced.then(Tracer::default);
        for (at, loaded) in operands.iter().enumerate() {
            let Some(buffer) = loaded.buffer_among(operands) else {
                outputs.push(None);
                continue;
            };
            let found = self.device.download(buffer)?;
            let name = &loaded.operand.name;
            match &loaded.image {
                Some(image) if *image != found && !self.is_replaced(at) => {
                    let at = image
                        .iter()
                        .zip(&found)
                        .position(|(a, b)| a != b)
                        .unwrap_or(0);
                    return Ok(Err(format!("input `{name}` was changed at byte {at}")));
                }
                Some(image) => {
                    outputs.push(None);
                    if let Some(trace) = &mut trace {
                        trace.read(loaded.place.window(image));
                    }
                }
                None => {
                    let elements = loaded.place.gather(&found);
                    if let Some(trace) = &mut trace {
                        trace.written(name, loaded.place.window(&found), &elements);
                    }
                    outputs.push(Some(elements));
                    if let Some(at) = loaded.place.first_touched(&found) {
                        let start = loaded.place.offset_bytes;
                        return Ok(Err(format!(
                            "byte {at} of the buffer of `{name}` was written; \
                             it belongs to no element ({name} starts at byte {start})"
                        )));
                    }
                }
            }
        }
        outcome.trace = trace.map(Tracer::finish);
        Ok(Ok(outputs))
    }

    /// Whether what a launch left is known to be right.
    fn is_known(&self, outcome: &Outcome) -> bool {
        let known = self.is_known.zip(outcome.trace.as_ref());
        known.is_some_and(|(is_known, trace)| is_known(trace))
    }

    /// What any kernel writes must be what its formula says.
    pub fn formula(&self, outcome: &mut Outcome) -> Result<Option<String>, Error> {
        let fit = &self.case.fit;
        let reference = FormulaReference::of(self.kernel(), &self.case.problem, fit)?;
        let reference = reference.on(self.device);
        let mut given = reference.draw(self.data, self.seed)?;
        let mut operands = Vec::new();
        for (at, dense) in given.iter_mut().enumerate() {
            *dense = dense.take().map(|d| self.as_read(at, d)).transpose()?;
            operands.push(self.load(at, dense.as_deref())?);
        }
        let found = match self.launch(&operands, outcome)? {
            Ok(found) => found,
            Err(failure) => return Ok(Some(failure)),
        };
        if self.is_known(outcome) {
            return Ok(None);
        }
        let verdict = reference.judge(&given, &found, self.data)?;
        outcome.rel_err = verdict.rel_err;
        outcome.max_err = verdict.max_err;
        Ok(verdict.failure)
    }

    /// The product of two dense factors as the kernel makes it, row by row, or what else is wrong.
    pub fn multiply(
        &self,
        form: &GemmForm,
        [a, b]: [Vec<u8>; 2],
        outcome: &mut Outcome,
    ) -> Result<Result<Vec<u8>, String>, Error> {
        let [m, n, k] = [form.shape.m, form.shape.n, form.shape.k].map(|extent| extent as i64);
        // A layout (k,m) or (k,n) wants its elements the other way round.
        let a = form.a.arrange(a, m, k);
        let b = form.b.arrange(b, n, k);
        let mut operands = Vec::new();
        for at in 0..self.kernel().semantics.operands.len() {
            let dense = match at {
                _ if at == form.a.at => Some(a.as_slice()),
                _ if at == form.b.at => Some(b.as_slice()),
                _ => None,
            };
            operands.push(self.load(at, dense)?);
        }
        let found = self.launch(&operands, outcome)?;
        Ok(found.map(|mut found| {
            let d = found.get_mut(form.d.at).and_then(Option::take);
            form.d.arrange(d.unwrap_or_default(), n, m)
        }))
    }

    /// A factor as the kernel reads it.
    fn factor(&self, factor: &Factor, elements: Elements) -> Result<Elements, Error> {
        let extents = self.case.fit.operands[factor.at];
        if extents.is_injective() {
            return Ok(elements);
        }
        let oriented = factor.orient(&self.case.fit.operands);
        let (rows, k) = (oriented.rows, oriented.cols);
        let dense = self.as_read(factor.at, factor.arrange(elements.bytes, rows, k))?;
        let bytes = factor.arrange(dense, k, rows);
        let values = decode(factor.dtype, &bytes)?;
        Ok(Elements { bytes, values })
    }

    /// A product must satisfy the rule of `compare`.
    pub fn product(
        &self,
        blas: Option<&BlasLt>,
        outcome: &mut Outcome,
    ) -> Result<Option<String>, Error> {
        let form = GemmForm::of(self.kernel(), &self.case.fit.operands)?;
        let fit = &self.case.fit;
        let judge = Judge::of(self.kernel(), &form, fit, self.device, self.data);
        let [a, b] = form
            .recipes(self.data, self.seed)
            .map(|recipe| recipe.elements());
        let (a, b) = (self.factor(&form.a, a?)?, self.factor(&form.b, b?)?);
        let found = match self.multiply(&form, [a.bytes.clone(), b.bytes.clone()], outcome)? {
            Ok(found) => found,
            Err(failure) => return Ok(Some(failure)),
        };
        if self.is_known(outcome) {
            return Ok(None);
        }
        let truth = judge.truth(&form, self.device, blas, [&a, &b])?;
        let shape = form.shape;
        let bytes = [a.bytes.as_slice(), &b.bytes];
        let samples = Samples::pick(shape, judge.rule.inputs, bytes, truth.in_question());
        let comparison = judge.judge(&found, |at| truth.at(&judge.rule, at), &samples)?;
        outcome.replayed = comparison.replayed;
        outcome.rel_err = comparison.rel_err;
        outcome.max_err = comparison.max_err;
        Ok(comparison.worst.map(|worst| {
            let (i, j) = (worst.at / shape.n, worst.at % shape.n);
            format!(
                "{} of {} elements are wrong; d({i},{j}) is {} and should be {}",
                comparison.wrong,
                shape.m * shape.n,
                worst.got,
                worst.want
            )
        }))
    }
}
