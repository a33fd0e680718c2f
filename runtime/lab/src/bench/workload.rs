//! What kernels of one problem share: inputs in memory, what outputs should be, the peer's best.
//!
//! A kernel enters as an [`Entry`], its problem worked out, and becomes a [`Runner`], which has run
//! once on a poisoned output and been judged. Only runners are timed. Products of two matrices are
//! judged element by element by a fast reference, copies byte by byte, everything else by its
//! formula.

use std::cell::RefCell;
use std::collections::HashMap;

use tilewright_bundle::{Kernel, Operand};

use super::contraction::Matrices;
use super::copy::Copied;
use super::entry::Entry;
use super::extent::Letters;
use super::peer::{CublasLt, Memcpy, Peer, Set, contender, fastest};
use super::slices::{Contender, contest};
use super::strided::{gather, image, span_bytes};
use super::truth::{Truth, Whose};
use super::{Bench, Extent, Mode, Rules};
use crate::verify::{
    CPU_MOST, Data, Dense, FormulaReference, GemmForm, Samples, Verdict, on_cpu, on_gpu,
    random_bytes,
};
use tilewright_runtime::Error;
use tilewright_runtime::Launch;
use tilewright_runtime::Problem;
use tilewright_runtime::cuda::{BlasLt, DeviceMemory};
use tilewright_runtime::operand_bytes;
use tilewright_runtime::parts::{prepare_cuda, views};
use tilewright_runtime::{Arg, Buffer, LoadedKernel};

/// The candidate that cuBLASLt puts first.
pub(crate) const DEFAULT: usize = 0;
/// Candidates of the peer that are compared in each mode, besides its default.
const LEADERS: usize = 3;
/// Rounds of that comparison.
const BEST_ROUNDS: usize = 3;

/// What kernels of one problem share on the device.
pub(crate) struct Workload {
    /// Operands: of a product the factor with the output's rows, the other one and the output, of
    /// anything else those of the kernel. What the peer needs besides stands behind them.
    pub sets: Vec<Set>,
    truth: Truth,
    pub peer: Box<dyn Peer>,
    /// Whether launches are replayed from graphs.
    pub graph: bool,
    /// Candidates of the peer that are right: the fastest in mode sustained, fastest first, and the
    /// default.
    leaders: Vec<usize>,
    /// Which of them is fastest in a mode, as far as it was asked.
    best: RefCell<HashMap<Mode, usize>>,
    /// The order of a product's factors in a row's words; `row` of anything else.
    pub layout: String,
}

/// A kernel that is loaded, checked, and ready to be timed.
pub(crate) struct Runner<'k> {
    pub kernel: &'k Kernel,
    loaded: std::sync::Arc<LoadedKernel>,
    launches: Vec<Launch>,
    /// Scratch memory of its launches, zero at first; `None` at rest, and where they want none.
    workspace: Option<DeviceMemory>,
    /// Operands in the kernel's own order, which its launches read.
    _packed: Vec<Buffer>,
    /// What the judge said; `None` before it was asked.
    pub verdict: Option<Verdict>,
}

impl Runner<'_> {
    /// Frees its scratch memory, until it is woken.
    pub(crate) fn rest(&mut self) {
        self.workspace = None;
    }
}

impl Bench<'_> {
    /// A kernel at an extent, if it takes it.
    pub(crate) fn entry<'k>(
        &self,
        kernel: &'k Kernel,
        extent: &Extent,
    ) -> Result<Entry<'k>, Error> {
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
        let form = match kernel.product() {
            Some(_) => Some(GemmForm::of(kernel, &fit.operands)?),
            None => None,
        };
        let copied = Copied::of(kernel, &fit);
        Ok(Entry {
            kernel,
            problem,
            fit,
            form,
            copied,
        })
    }

    /// Fills memory, finds out what outputs should be, and finds the peer's best.
    pub(crate) fn workload(&mut self, entry: &Entry<'_>) -> Result<Workload, Error> {
        let mut workload = match (&entry.form, entry.copied) {
            (Some(form), _) => self.of_product(entry, form)?,
            (None, Some(copied)) => self.of_copy(copied)?,
            (None, None) => self.of_formula(entry)?,
        };
        let (peer, sets) = (workload.peer.as_ref(), &workload.sets);
        let ranked = fastest(
            peer,
            self.device,
            &self.sensors,
            sets,
            workload.graph,
            self.options.seed,
        )?;
        workload.leaders = self.leaders(entry, &workload, &ranked)?;
        Ok(workload)
    }

    /// cuBLASLt, opened at the first product.
    fn blas(&mut self) -> Result<BlasLt, Error> {
        Ok(match &self.blas {
            Some(blas) => blas.clone(),
            None => self.blas.insert(BlasLt::open(self.device)?).clone(),
        })
    }

    /// The workload of a product of two matrices.
    fn of_product(&mut self, entry: &Entry<'_>, form: &GemmForm) -> Result<Workload, Error> {
        let blas = self.blas()?;
        let extents = &entry.fit.operands;
        let shape = form.shape;
        let [a, b] = form
            .recipes(Data::Normals, self.options.seed)
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
        let matrices = Matrices::of_product(form, extents);
        let peer = CublasLt::new(&blas, &matrices, self.candidates(), self.options.all)?;
        let layout = Letters::of_form(form, extents)?;
        let truth = Truth::of_product(reference, samples);
        let peer = Box::new(peer);
        Ok(Workload::new(sets, truth, peer, layout.text()))
    }

    /// The workload of a copy: all of its bytes are drawn, and judged.
    ///
    /// NOTE: a memcpy node of a graph is no fair peer: on an H200 a 1 GiB copy runs at 2.71 TB/s as
    /// a node and at 4.27 TB/s from the stream. So nothing here is replayed from a graph.
    fn of_copy(&self, copied: Copied) -> Result<Workload, Error> {
        let Copied { bytes, .. } = copied;
        let too_large = |_| Error::Request(format!("{bytes} bytes do not fit memory"));
        let count = usize::try_from(bytes).map_err(too_large)?;
        let source = random_bytes(count, self.options.seed);
        let device = self.any_device();
        let mut sets = Vec::new();
        for _ in 0..self.sets(bytes.saturating_mul(2)) {
            sets.push(vec![device.alloc_with(&source)?, device.alloc(bytes)?]);
        }
        let peer = Box::new(Memcpy::of_copies(self.device.clone(), bytes));
        Ok(Workload {
            graph: false,
            ..Workload::new(sets, Truth::Copied(source), peer, "row")
        })
    }

    /// The workload of anything else. Its peer is cuBLASLt where there is a product in it that the
    /// library has, else a copy of as many bytes.
    fn of_formula(&mut self, entry: &Entry<'_>) -> Result<Workload, Error> {
        let Entry {
            kernel,
            problem,
            fit,
            ..
        } = entry;
        let reference = FormulaReference::of(kernel, problem, fit)?;
        let given = reference.draw(Data::Normals, self.options.seed)?;
        let (peer, scales) = self.product_in(entry, &given)?;
        let device = self.runtime.device();
        let operands = kernel.semantics.operands.iter().zip(&fit.operands);
        let mut images = Vec::new();
        for ((operand, extents), dense) in operands.zip(&given) {
            // Those that a kernel wants in an order of its own are packed for it later.
            let plain = Operand {
                packed: None,
                ..operand.clone()
            };
            let too_large = || Error::Request(format!("{extents} does not fit memory"));
            images.push(match dense {
                Some(dense) => Ok(tilewright_runtime::image(&plain, extents, dense)),
                None => Err(operand_bytes(&plain, extents).ok_or_else(too_large)?),
            });
        }
        let copied = match peer {
            Some(_) => 0,
            None => (entry.moved_bytes() / 2.0).max(1.0) as u64,
        };
        let each = images.iter().map(|one| match one {
            Ok(image) => image.len() as u64,
            Err(bytes) => *bytes,
        });
        let of_scales = scales.iter().map(|image| image.len() as u64);
        let each = each.sum::<u64>() + 2 * copied + of_scales.sum::<u64>();
        let mut sets = Vec::new();
        for _ in 0..self.sets(each) {
            let mut set: Set = Vec::new();
            for one in &images {
                set.push(match one {
                    Ok(image) => device.alloc_with(image)?,
                    Err(bytes) => device.alloc(*bytes)?,
                });
            }
            for image in &scales {
                set.push(device.alloc_with(image)?);
            }
            if peer.is_none() {
                set.extend([device.alloc(copied)?, device.alloc(copied)?]);
            }
            sets.push(set);
        }
        let operands = kernel.semantics.operands.iter().zip(images);
        let before =
            operands.map(|(operand, image)| image.ok().filter(|_| operand.role.is_written()));
        let truth = Truth::of_formula(given, before.collect(), self.options.seed);
        Ok(match peer {
            Some(peer) => Workload::new(sets, truth, Box::new(peer), "row"),
            None => {
                let device = self.device.clone();
                let peer = Box::new(Memcpy::beside(device, copied));
                Workload {
                    graph: false,
                    ..Workload::new(sets, truth, peer, "row")
                }
            }
        })
    }

    /// The product in what a kernel computes as cuBLASLt has it, and the scales of its factors in
    /// the library's order: without them where it does not take them.
    fn product_in(
        &mut self,
        entry: &Entry<'_>,
        given: &Dense,
    ) -> Result<(Option<CublasLt>, Vec<Vec<u8>>), Error> {
        let Some(matrices) = Matrices::of_contraction(entry.kernel, &entry.fit.operands) else {
            return Ok((None, Vec::new()));
        };
        let blas = self.blas()?;
        let of = |matrices: &Matrices| {
            CublasLt::new(&blas, matrices, self.candidates(), self.options.all).ok()
        };
        let scales = matrices.scales.as_ref();
        let scales = scales.and_then(|scales| scales.images(given));
        Ok(
            match scales.and_then(|scales| Some((of(&matrices)?, scales))) {
                Some((peer, scales)) => (Some(peer), scales.to_vec()),
                None => (of(&matrices.bare()), Vec::new()),
            },
        )
    }

    /// Candidates asked of cuBLASLt at a time.
    fn candidates(&self) -> usize {
        self.options.candidates.max(1)
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
            let set = workload.set()?;
            workload.truth.reset(device, entry, set)?;
            workload.peer.run(*candidate, set)?;
            let found = workload.truth.judge(device, entry, set, Whose::Theirs)?;
            let Some(failure) = found.failure else {
                leaders.push(*candidate);
                continue;
            };
            let name = workload.peer.name(*candidate);
            last = format!("{name} disagrees with the reference: {failure}");
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
                let cut = self.cut(mode, workload.sets.len(), workload.graph);
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
        let name = |at: usize| operands.get(at).map_or("", |one| one.name.as_str());
        let places = entry.places();
        let packed = self.packed(entry, workload, &places)?;
        let mut launches = Vec::new();
        for (at, set) in workload.sets.iter().enumerate() {
            let own = packed.iter().skip(at * places.len()).take(places.len());
            let args = places.iter().zip(set.iter().zip(own));
            let args: Vec<Arg<'_>> = args
                .map(|(at, (plain, packed))| Arg::new(name(*at), packed.as_ref().unwrap_or(plain)))
                .collect();
            launches.push(prepare_cuda(
                &loaded,
                &entry.fit,
                self.device,
                &views(&args)?,
            )?);
        }
        let mut runner = Runner {
            kernel: entry.kernel,
            loaded,
            launches,
            workspace: None,
            _packed: packed.into_iter().flatten().collect(),
            verdict: None,
        };
        self.wake(&mut runner)?;
        Ok(runner)
    }

    /// Gives a runner the scratch memory that its launches want, if it has none: what it is given
    /// is its own, so that nothing of a kernel that is not timed any more stays with the runtime.
    pub(crate) fn wake(&self, runner: &mut Runner<'_>) -> Result<(), Error> {
        let bytes = runner.launches.iter().map(Launch::workspace).max();
        if let (Some(bytes @ 1..), None) = (bytes, &runner.workspace) {
            let memory = self.device.alloc(bytes)?;
            self.device.fill(&memory, 0)?;
            runner.workspace = Some(memory);
        }
        Ok(())
    }

    /// Of each set the operands that a kernel wants in an order of its own: peers read them as they
    /// are.
    fn packed(
        &self,
        entry: &Entry<'_>,
        workload: &Workload,
        places: &[usize],
    ) -> Result<Vec<Option<Buffer>>, Error> {
        let device = self.runtime.device();
        let mut packed = Vec::new();
        for set in &workload.sets {
            for (at, plain) in places.iter().zip(set) {
                let operand = entry.kernel.semantics.operands.get(*at);
                let operand = operand.filter(|operand| operand.packed.is_some());
                packed.push(match operand {
                    None => None,
                    Some(operand) => {
                        let extents = entry.fit.operands[*at];
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

    /// Runs a kernel once on a poisoned output and judges that.
    pub(crate) fn judge(
        &self,
        runner: &mut Runner<'_>,
        entry: &Entry<'_>,
        workload: &Workload,
    ) -> Result<Verdict, Error> {
        let (device, set) = (self.runtime.device(), workload.set()?);
        workload.truth.reset(device, entry, set)?;
        self.enqueue(runner, 0)?;
        let verdict = workload.truth.judge(device, entry, set, Whose::Ours)?;
        runner.verdict = Some(verdict.clone());
        Ok(verdict)
    }

    fn enqueue(&self, runner: &Runner<'_>, set: usize) -> Result<(), Error> {
        let launch = &runner.launches[set];
        (self.device).launch(&runner.loaded, launch, runner.workspace.as_ref())
    }

    /// A contender that runs a kernel.
    pub(crate) fn contender<'s>(&'s self, runner: &'s Runner<'_>) -> Contender<'s> {
        Contender::new(move |set| self.enqueue(runner, set))
    }
}

impl Workload {
    fn new(sets: Vec<Set>, truth: Truth, peer: Box<dyn Peer>, layout: &str) -> Workload {
        Workload {
            sets,
            truth,
            peer,
            graph: true,
            leaders: Vec::new(),
            best: RefCell::default(),
            layout: layout.to_owned(),
        }
    }

    /// The set that is judged.
    fn set(&self) -> Result<&Set, Error> {
        self.sets.first().ok_or(Error::ForeignBuffer)
    }
}
