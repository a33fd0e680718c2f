//! Copies: kernels beside `cuMemcpyDtoDAsync`, both enqueued back to back in the stream.
//!
//! NOTE: a memcpy node of a graph is no fair peer: on an H200 a 1 GiB copy runs at 2.71 TB/s as a
//! node and at 4.27 TB/s from the stream. So nothing here is replayed from a graph.

use tilewright_bundle::Kernel;

use super::peer::{Memcpy, Peer, Set, contender};
use super::rotation::Samples;
use super::rows::{Mode, Row, RowProblem};
use super::slices::{Contender, contest};
use super::{Arms, Bench, Event, Extent};
use crate::verify::random_bytes;
use tilewright_runtime::Arg;
use tilewright_runtime::Error;
use tilewright_runtime::Launch;
use tilewright_runtime::Problem;
use tilewright_runtime::parts::{prepare_cuda, views};

/// A kernel that is loaded, checked, and ready to be timed.
struct Runner<'k> {
    kernel: &'k Kernel,
    problem: Problem,
    loaded: std::sync::Arc<tilewright_runtime::LoadedKernel>,
    launches: Vec<Launch>,
    is_right: bool,
}

impl Bench<'_> {
    /// Whether a kernel leaves bytes as they are, and where they are.
    pub(super) fn is_memcpy(&self, kernel: &Kernel, extent: &Extent) -> bool {
        let problem = extent.problem(kernel, self.device.info());
        problem.is_ok_and(|problem| as_bytes(kernel, &problem).is_some())
    }

    /// Measures copy kernels at one extent, all on the same memory.
    pub(super) fn copies(
        &mut self,
        kernels: &[&Kernel],
        extent: &Extent,
        report: &mut impl FnMut(Event<'_>),
    ) -> Result<Vec<Row>, Error> {
        let mut sizes: Vec<u64> = kernels.iter().map(|k| bytes_of(k, extent)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut rows = Vec::new();
        for bytes in sizes {
            let same: Vec<&Kernel> = kernels
                .iter()
                .copied()
                .filter(|k| bytes_of(k, extent) == bytes)
                .collect();
            let source = random_bytes(usize::try_from(bytes).unwrap_or(0), self.options.seed);
            let device = self.any_device();
            let mut sets = Vec::new();
            for _ in 0..self.sets(2 * bytes) {
                sets.push(vec![device.alloc_with(&source)?, device.alloc(bytes)?]);
            }
            for some in same.chunks(self.options.together.max(1)) {
                rows.extend(self.copy_chunk(some, &sets, &source, extent, report)?);
            }
        }
        Ok(rows)
    }

    fn copy_chunk(
        &self,
        kernels: &[&Kernel],
        sets: &[Set],
        source: &[u8],
        extent: &Extent,
        report: &mut impl FnMut(Event<'_>),
    ) -> Result<Vec<Row>, Error> {
        let mut runners = Vec::new();
        for kernel in kernels {
            report(Event::Next {
                what: "load",
                extent,
                kernel: &kernel.id,
                kernels: 1,
            });
            match self.copy_runner(kernel, sets, source, extent) {
                Ok(runner) => runners.push(runner),
                Err(error) if error.is_of_driver() => return Err(error),
                Err(error) => report(Event::Skipped {
                    kernel: &kernel.id,
                    extent,
                    error: &error,
                }),
            }
        }
        let bytes = source.len() as u64;
        let mut rows = Vec::new();
        for mode in &self.options.modes {
            report(Event::Next {
                what: mode.text(),
                extent,
                kernel: runners.first().map_or("", |runner| &runner.kernel.id),
                kernels: runners.len(),
            });
            let samples = self.time_copies(&runners, sets, bytes, *mode)?;
            for (at, runner) in runners.iter().enumerate() {
                let arms = Arms {
                    samples: &samples,
                    ours: self.memcpys() + at,
                };
                let row = self.copy_row(runner, bytes, *mode, &arms);
                report(Event::Row(&row));
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Loads a kernel, runs it once on a poisoned destination, and compares that.
    fn copy_runner<'k>(
        &self,
        kernel: &'k Kernel,
        sets: &[Set],
        source: &[u8],
        extent: &Extent,
    ) -> Result<Runner<'k>, Error> {
        let problem = extent.problem(kernel, self.device.info())?;
        let fit = self.any_device().fit(kernel, &problem)?;
        let [s, d] = as_bytes(kernel, &problem)
            .ok_or_else(|| Error::Request(format!("{} moves elements", kernel.id)))?;
        let loaded = self.runtime.load(kernel)?;
        let mut launches = Vec::new();
        for set in sets {
            let args = [s, d].into_iter().zip(set);
            let args: Vec<Arg<'_>> = args.map(|(name, buffer)| Arg::new(name, buffer)).collect();
            launches.push(prepare_cuda(&loaded, &fit, self.device, &views(&args)?)?);
        }
        let mut runner = Runner {
            kernel,
            problem,
            loaded,
            launches,
            is_right: false,
        };
        let destination = sets.first().and_then(|set| set.last());
        let destination = destination.ok_or(Error::ForeignBuffer)?;
        self.any_device().poison(destination)?;
        self.enqueue_copy(&runner, 0)?;
        runner.is_right = self.any_device().download(destination)? == source;
        Ok(runner)
    }

    fn enqueue_copy(&self, runner: &Runner<'_>, set: usize) -> Result<(), Error> {
        let code = runner.loaded.cuda().ok_or(Error::ForeignBuffer)?;
        self.device.launch(code, &runner.launches[set])
    }

    /// The rotation of memcpy (twice with noise) and of the kernels.
    fn time_copies(
        &self,
        runners: &[Runner<'_>],
        sets: &[Set],
        bytes: u64,
        mode: Mode,
    ) -> Result<Samples, Error> {
        let peer = self.memcpy(bytes);
        let arms = (0..self.memcpys()).map(|_| contender(&peer, 0, sets));
        let mut contenders: Vec<Contender<'_>> = arms.collect();
        for runner in runners {
            contenders.push(Contender::new(move |set| self.enqueue_copy(runner, set)));
        }
        let (cut, rules) = (self.cut(mode, sets.len(), false), self.rules(mode));
        contest(self.device, &self.sensors, &contenders, &cut, &rules)
    }

    /// The peer of copies of so many bytes.
    fn memcpy(&self, bytes: u64) -> Memcpy {
        Memcpy::of_copies(self.device.clone(), bytes)
    }

    /// How many arms of a rotation are memcpy.
    fn memcpys(&self) -> usize {
        if self.options.noise { 2 } else { 1 }
    }

    fn copy_row(&self, runner: &Runner<'_>, bytes: u64, mode: Mode, arms: &Arms<'_>) -> Row {
        let mut row = self.row(runner.kernel, mode, arms);
        row.problem = RowProblem::of_kernel(runner.kernel, &runner.problem);
        let peer = self.memcpy(bytes);
        row.peer = peer.name(0);
        row.default_us = Some(row.best_us);
        row.ratio_default = Some(row.ratio_best);
        row.candidates = peer.candidates();
        row.tbps = 2.0 * bytes as f64 / row.ours_us / 1e6;
        if !runner.is_right {
            row.rel_err = 1.0;
            row.max_err = f64::MAX;
        }
        row
    }
}

/// The operands of a copy that leaves the bytes of a packed problem as they are.
fn as_bytes<'k>(kernel: &'k Kernel, problem: &Problem) -> Option<[&'k str; 2]> {
    let ends = kernel.copied()?;
    let [s, d] = ends;
    let names = ends.map(|end| end.name.as_str());
    let [from, to] = names.map(|name| problem.strides(name));
    (s.dtype == d.dtype && s.layout.shape == d.layout.shape && from == to).then_some(names)
}

/// Bytes of one operand of a copy at an extent.
fn bytes_of(kernel: &Kernel, extent: &Extent) -> u64 {
    let size = |name| extent.size(name).unwrap_or(1).max(0) as u64;
    let elems = size("m") * size("n");
    let bytes = match kernel.copied() {
        Some([_, d]) => d.dtype.row_bytes(elems),
        None => Some(elems),
    };
    bytes.unwrap_or(u64::MAX)
}
