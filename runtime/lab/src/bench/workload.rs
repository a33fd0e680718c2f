//! What kernels of one product share: inputs in memory, the f64 reference, the peer at its best.
//!
//! A kernel enters as an [`Entry`], its problem worked out, and becomes a [`Runner`], which has run
//! once on a poisoned output and been compared. Only runners are timed.

use std::cell::RefCell;
use std::collections::HashMap;

use tilewright_bundle::Kernel;

use super::extent::Letters;
use super::peer::{CublasLt, Peer, Set, contender, fastest};
use super::slices::{Contender, contest};
use super::strided::{gather, image, span_bytes};
use super::{Bench, Extent, Mode, Rules};
use crate::verify::{
    CPU_MOST, Comparison, Data, GemmForm, Judge, Reference, Samples, Steps, on_cpu, on_gpu,
};
use tilewright_runtime::Error;
use tilewright_runtime::Problem;
use tilewright_runtime::cuda::BlasLt;
use tilewright_runtime::parts::{prepare_cuda, views};
use tilewright_runtime::{Arg, Buffer, LoadedKernel};
use tilewright_runtime::{Fit, Launch};

/// The candidate that cuBLASLt puts first.
pub(crate) const DEFAULT: usize = 0;
/// Candidates of the peer that are compared in each mode, besides its default.
const LEADERS: usize = 3;
/// Rounds of that comparison.
const BEST_ROUNDS: usize = 3;

/// A kernel at its problem.
pub(crate) struct Entry<'k> {
    pub kernel: &'k Kernel,
    pub problem: Problem,
    pub fit: Fit,
    pub form: GemmForm,
}

/// What kernels of one problem share on the device.
pub(crate) struct Workload {
    pub sets: Vec<Set>,
    pub reference: Reference,
    /// Elements that are judged by the model of a kernel's instructions.
    samples: Samples,
    pub peer: Box<dyn Peer>,
    /// Candidates of the peer that are right: the fastest in mode sustained, fastest first, and the
    /// default.
    leaders: Vec<usize>,
    /// Which of them is fastest in a mode, as far as it was asked.
    best: RefCell<HashMap<Mode, usize>>,
    pub layout: Letters,
    /// An output and its judgement by such sums: kernels that add in the same order give the same
    /// bytes.
    judged: RefCell<Option<(Vec<u8>, Steps, Comparison)>>,
}

/// A kernel that is loaded, checked, and ready to be timed.
pub(crate) struct Runner<'k> {
    pub kernel: &'k Kernel,
    loaded: std::sync::Arc<LoadedKernel>,
    launches: Vec<Launch>,
    /// Operands in the kernel's own order, which its launches read.
    _packed: Vec<Buffer>,
    /// What the judge said; `None` before it was asked.
    pub comparison: Option<Comparison>,
}

impl Bench<'_> {
    /// A kernel at an extent, if it takes it.
    pub(crate) fn entry<'k>(&self, kernel: &'k Kernel, extent: Extent) -> Result<Entry<'k>, Error> {
        let problem = extent.problem(kernel, self.device.info())?;
        self.entry_of(kernel, problem)
    }

    /// A kernel at a problem, if it takes it.
    pub(crate) fn entry_of<'k>(
        &self,
        kernel: &'k Kernel,
        problem: Problem,
    ) -> Result<Entry<'k>, Error> {
        let fit = self.runtime.device().fit(kernel, &problem)?;
        let form = GemmForm::of(kernel, &fit.operands)?;
        Ok(Entry {
            kernel,
            problem,
            fit,
            form,
        })
    }

    /// Fills memory, computes the reference and finds the peer's best.
    pub(crate) fn workload(&mut self, entry: &Entry<'_>) -> Result<Workload, Error> {
        let blas = match &self.blas {
            Some(blas) => blas.clone(),
            None => self.blas.insert(BlasLt::open(self.device)?).clone(),
        };
        let (form, extents) = (&entry.form, &entry.fit.operands);
        let shape = form.shape;
        let seed = self.options.seed;
        let [a, b] = form
            .recipes(Data::Normals, seed)
            .map(|recipe| recipe.elements());
        let (a, b) = (a?, b?);
        let a_image = image(
            form.a.orient(extents),
            &a.bytes,
            form.a.dtype.bytes() as usize,
        )?;
        let b_image = image(
            form.b.orient(extents),
            &b.bytes,
            form.b.dtype.bytes() as usize,
        )?;
        let d_bytes = span_bytes(form.d.orient(extents), form.d.dtype.bytes() as usize)? as u64;
        let device = self.runtime.device();
        let each = a_image.len() as u64 + b_image.len() as u64 + d_bytes;
        let mut sets = Vec::new();
        for _ in 0..self.sets(each) {
            sets.push(vec![
                device.alloc_with(&a_image)?,
                device.alloc_with(&b_image)?,
                device.alloc(d_bytes)?,
            ]);
        }
        let inputs = [form.a.dtype, form.b.dtype];
        let bytes = [a.bytes.as_slice(), &b.bytes];
        let samples = Samples::pick(shape, inputs, bytes, std::iter::empty());
        let reference = if shape.volume() > CPU_MOST {
            on_gpu(self.device, &blas, &a.values, &b.values, shape, inputs)?
        } else {
            on_cpu(&a.values, &b.values, shape, inputs)
        };
        let candidates = self.options.candidates.max(1);
        let peer = CublasLt::new(&blas, form, extents, candidates, self.options.all)?;
        let layout = Letters::of_form(form, extents)?;
        let ranked = fastest(&peer, self.device, &self.sensors, &sets, seed)?;
        let mut workload = Workload {
            sets,
            reference,
            samples,
            peer: Box::new(peer),
            leaders: Vec::new(),
            best: RefCell::default(),
            layout,
            judged: RefCell::default(),
        };
        workload.leaders = self.leaders(entry, &workload, &ranked)?;
        Ok(workload)
    }

    /// The fastest candidates of the peer, and its default, whose outputs obey the rule: others
    /// compute something else, as all do of a peer that stands in for one there is not.
    fn leaders(
        &self,
        entry: &Entry<'_>,
        workload: &Workload,
        ranked: &[usize],
    ) -> Result<Vec<usize>, Error> {
        let device = self.runtime.device();
        let mut last = "no candidate of cuBLASLt could run".to_owned();
        let mut leaders = Vec::new();
        for candidate in ranked.iter().chain([&DEFAULT]) {
            let enough = leaders.len() >= LEADERS && *candidate != DEFAULT;
            if enough || leaders.contains(candidate) {
                continue;
            }
            if workload.peer.is_stand_in() {
                leaders.push(*candidate);
                continue;
            }
            device.poison(workload.output()?)?;
            workload.peer.run(*candidate, &workload.sets[0])?;
            let judge = self.judge_of(entry).of_others(&entry.form);
            let found = self.output(entry, workload, &judge)?;
            let Some(worst) = found.worst else {
                leaders.push(*candidate);
                continue;
            };
            last = format!(
                "{} disagrees with the f64 reference at {} elements, worst {} for {}",
                workload.peer.name(*candidate),
                found.wrong,
                worst.got,
                worst.want
            );
        }
        if leaders.is_empty() {
            return Err(Error::Request(last));
        }
        Ok(leaders)
    }

    /// The candidate of the peer that is fastest in a mode: what is fastest at the clocks of a busy
    /// GPU need not be so at rest.
    pub(crate) fn best(&self, workload: &Workload, mode: Mode) -> Result<usize, Error> {
        let first = workload.leaders.first().copied().unwrap_or(DEFAULT);
        let known = workload.best.borrow().get(&mode).copied();
        if let Some(best) = known {
            return Ok(best);
        }
        let best = match mode {
            Mode::Sustained | Mode::Launch => first,
            Mode::Rested | Mode::Cold => {
                let contenders: Vec<_> = (workload.leaders.iter())
                    .map(|candidate| contender(workload.peer.as_ref(), *candidate, &workload.sets))
                    .collect();
                let rules = Rules::new(mode, BEST_ROUNDS, self.options.seed);
                let cut = self.cut(mode, workload.sets.len(), true);
                let samples = contest(self.device, &self.sensors, &contenders, &cut, &rules)?;
                let times = (0..contenders.len()).map(|at| samples.median_us(at));
                let timed = workload.leaders.iter().copied().zip(times);
                let fastest = timed.min_by(|a, b| a.1.total_cmp(&b.1));
                fastest.map_or(first, |(candidate, _)| candidate)
            }
        };
        workload.best.borrow_mut().insert(mode, best);
        Ok(best)
    }

    fn judge_of(&self, entry: &Entry<'_>) -> Judge {
        let device = self.runtime.device();
        Judge::of(entry.kernel, &entry.form, &entry.fit, device, Data::Normals)
    }

    /// Judges the output in the first set.
    fn output(
        &self,
        entry: &Entry<'_>,
        workload: &Workload,
        judge: &Judge,
    ) -> Result<Comparison, Error> {
        let d = entry.form.d.orient(&entry.fit.operands);
        let dtype = entry.form.d.dtype;
        let found = self.runtime.device().download(workload.output()?)?;
        let rule = &judge.rule;
        if let Some((seen, steps, comparison)) = workload.judged.borrow().as_ref()
            && (seen, steps) == (&found, &rule.steps)
        {
            return Ok(*comparison);
        }
        let dense = gather(d, &found, dtype.bytes() as usize)?;
        let reference = &workload.reference;
        let expected = |at| rule.at(reference, at);
        let comparison = judge.judge(&dense, expected, &workload.samples)?;
        *workload.judged.borrow_mut() = Some((found, rule.steps, comparison));
        Ok(comparison)
    }

    /// Loads a kernel, runs it once on a poisoned output, and compares that.
    pub(crate) fn runner<'k>(
        &self,
        entry: &Entry<'k>,
        workload: &Workload,
    ) -> Result<Runner<'k>, Error> {
        let mut runner = self.loaded(entry, workload)?;
        self.judge(&mut runner, entry, workload)?;
        Ok(runner)
    }

    /// Loads a kernel and prepares its launches; its output is not judged yet.
    pub(crate) fn loaded<'k>(
        &self,
        entry: &Entry<'k>,
        workload: &Workload,
    ) -> Result<Runner<'k>, Error> {
        let loaded = self.runtime.load(entry.kernel)?;
        let operands = &entry.kernel.semantics.operands;
        let form = &entry.form;
        let name = |at: usize| operands.get(at).map_or("", |one| one.name.as_str());
        let places = [form.a.at, form.b.at, form.d.at];
        let packed = self.packed(entry, workload, places)?;
        let mut launches = Vec::new();
        for (at, set) in workload.sets.iter().enumerate() {
            let own = packed.iter().skip(at * places.len()).take(places.len());
            let args = places.into_iter().zip(set.iter().zip(own));
            let args: Vec<Arg<'_>> = args
                .map(|(at, (plain, packed))| Arg::new(name(at), packed.as_ref().unwrap_or(plain)))
                .collect();
            launches.push(prepare_cuda(
                &loaded,
                &entry.fit,
                self.device,
                &views(&args)?,
            )?);
        }
        Ok(Runner {
            kernel: entry.kernel,
            loaded,
            launches,
            _packed: packed.into_iter().flatten().collect(),
            comparison: None,
        })
    }

    /// Of each set the operands that a kernel wants in an order of its own: peers read them as they
    /// are.
    fn packed(
        &self,
        entry: &Entry<'_>,
        workload: &Workload,
        places: [usize; 3],
    ) -> Result<Vec<Option<Buffer>>, Error> {
        let device = self.runtime.device();
        let mut packed = Vec::new();
        for set in &workload.sets {
            for (at, plain) in places.into_iter().zip(set) {
                let operand = entry.kernel.semantics.operands.get(at);
                let operand = operand.filter(|operand| operand.packed.is_some());
                packed.push(match operand {
                    None => None,
                    Some(operand) => {
                        let extents = entry.fit.operands[at];
                        let plain = device.download(plain)?;
                        let dense = gather(extents, &plain, operand.dtype.bytes() as usize)?;
                        Some(
                            device.alloc_with(&tilewright_runtime::image(
                                operand, &extents, &dense,
                            ))?,
                        )
                    }
                });
            }
        }
        Ok(packed)
    }

    /// Runs a kernel once on a poisoned output and compares that.
    pub(crate) fn judge(
        &self,
        runner: &mut Runner<'_>,
        entry: &Entry<'_>,
        workload: &Workload,
    ) -> Result<Comparison, Error> {
        self.runtime.device().poison(workload.output()?)?;
        self.enqueue(runner, 0)?;
        let comparison = self.output(entry, workload, &self.judge_of(entry))?;
        runner.comparison = Some(comparison);
        Ok(comparison)
    }

    fn enqueue(&self, runner: &Runner<'_>, set: usize) -> Result<(), Error> {
        let code = runner.loaded.cuda().ok_or(Error::ForeignBuffer)?;
        self.device.launch(code, &runner.launches[set])
    }

    /// A contender that runs a kernel.
    pub(crate) fn contender<'s>(&'s self, runner: &'s Runner<'_>) -> Contender<'s> {
        Contender::new(move |set| self.enqueue(runner, set))
    }
}

impl Workload {
    /// The output of the first set.
    fn output(&self) -> Result<&Buffer, Error> {
        let output = self.sets.first().and_then(|set| set.last());
        output.ok_or(Error::ForeignBuffer)
    }
}

impl Entry<'_> {
    /// Whether two kernels compute the same problem from the same memory.
    pub fn shares_with(&self, other: &Entry<'_>) -> bool {
        let types = |e: &Entry<'_>| {
            (
                e.form.a.dtype,
                e.form.b.dtype,
                e.form.d.dtype,
                e.form.accumulator,
            )
        };
        let places = |e: &Entry<'_>| {
            let extents = &e.fit.operands;
            [&e.form.a, &e.form.b, &e.form.d].map(|f| f.orient(extents))
        };
        types(self) == types(other) && places(self) == places(other)
    }
}
