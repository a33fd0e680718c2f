//! Products: kernels that compute the same problem from the same memory share inputs, reference
//! and peer.

use tilewright_bundle::Kernel;

use super::contest::{Contender, Timing, contest};
use super::peer::{Peer, Set, letters};
use super::rows::{Mode, Row, RowProblem};
use super::strided::{gather, image, span_bytes};
use super::{Bench, Event, Extent};
use crate::cuda::BlasLt;
use crate::device::{Arg, Device, LoadedKernel, prepare_cuda};
use crate::error::Error;
use crate::launch::{Fit, Launch};
use crate::packed::packed;
use crate::problem::Problem;
use crate::verify::{
    CPU_MOST, Comparison, Data, GemmForm, Reference, compare, decode, on_cpu, on_gpu,
    random_elements,
};

/// A kernel at its problem.
struct Entry<'k> {
    kernel: &'k Kernel,
    problem: Problem,
    fit: Fit,
    form: GemmForm,
}

/// What kernels of one problem share.
struct Ground {
    sets: Vec<Set>,
    reference: Reference,
    peer: Peer,
    layout: String,
}

/// A kernel that is loaded, checked, and ready to be timed.
struct Runner<'k> {
    kernel: &'k Kernel,
    loaded: std::sync::Arc<LoadedKernel>,
    launches: Vec<Launch>,
    comparison: Comparison,
}

impl Bench<'_> {
    /// Measures gemm kernels at one extent.
    pub(super) fn gemms(
        &mut self,
        kernels: &[&Kernel],
        extent: Extent,
        report: &mut impl FnMut(Event<'_>),
    ) -> Result<Vec<Row>, Error> {
        let mut groups: Vec<Vec<Entry<'_>>> = Vec::new();
        for kernel in kernels {
            match self.entry(kernel, extent) {
                Ok(entry) => match groups.iter_mut().find(|g| g[0].shares_with(&entry)) {
                    Some(group) => group.push(entry),
                    None => groups.push(vec![entry]),
                },
                Err(error) => report(Event::Skipped {
                    kernel: &kernel.id,
                    extent,
                    error: &error,
                }),
            }
        }
        let mut rows = Vec::new();
        for group in &groups {
            let ground = match self.ground(&group[0]) {
                Ok(ground) => ground,
                Err(error @ Error::NoLibrary { .. }) => return Err(error),
                Err(error) => {
                    self.device.synchronize()?;
                    for entry in group {
                        let kernel = &entry.kernel.id;
                        report(Event::Skipped {
                            kernel,
                            extent,
                            error: &error,
                        });
                    }
                    continue;
                }
            };
            for some in group.chunks(self.options.together.max(1)) {
                rows.extend(self.chunk(some, &ground, extent, report)?);
            }
        }
        Ok(rows)
    }

    fn entry<'k>(&self, kernel: &'k Kernel, extent: Extent) -> Result<Entry<'k>, Error> {
        let info = self.device.info();
        let problem = packed(kernel, extent.m, extent.n, extent.k, info)?;
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
    fn ground(&mut self, entry: &Entry<'_>) -> Result<Ground, Error> {
        let blas = match &self.blas {
            Some(blas) => blas.clone(),
            None => self.blas.insert(BlasLt::open(self.device)?).clone(),
        };
        let (form, extents) = (&entry.form, &entry.fit.operands);
        let shape = form.shape;
        let seed = self.options.seed;
        let random =
            |dtype, rows: usize, seed| random_elements(dtype, Data::Normals, rows * shape.k, seed);
        let (a_bytes, a) = random(form.a.dtype, shape.m, seed)?;
        let (b_bytes, b) = random(form.b.dtype, shape.n, seed ^ 0xB0B)?;
        let a_image = image(
            form.a.orient(extents),
            &a_bytes,
            form.a.dtype.bytes() as usize,
        )?;
        let b_image = image(
            form.b.orient(extents),
            &b_bytes,
            form.b.dtype.bytes() as usize,
        )?;
        let d_bytes = span_bytes(form.d.orient(extents), form.d.dtype.bytes() as usize)? as u64;
        let device = self.runtime.device();
        let each = a_image.len() as u64 + b_image.len() as u64 + d_bytes;
        let mut sets = Vec::new();
        for _ in 0..self.sets(each) {
            sets.push(Set {
                a: device.alloc_with(&a_image)?,
                b: device.alloc_with(&b_image)?,
                d: device.alloc(d_bytes)?,
            });
        }
        let reference = if shape.volume() > CPU_MOST {
            on_gpu(self.device, &blas, &a, &b, shape)?
        } else {
            on_cpu(&a, &b, shape)
        };
        let mut peer = Peer::new(&blas, form, extents, self.options.candidates.max(1))?;
        peer.best = peer.find_best(self.device, &self.sensors, &sets)?;
        let layout = letters(form, extents)?;
        let ground = Ground {
            sets,
            reference,
            peer,
            layout,
        };
        self.check_peer(entry, &ground)?;
        Ok(ground)
    }

    /// The peer's output must obey the rule too, or it computes something else.
    fn check_peer(&self, entry: &Entry<'_>, ground: &Ground) -> Result<(), Error> {
        let device = self.runtime.device();
        device.poison(&ground.sets[0].d)?;
        ground.peer.run(ground.peer.best, &ground.sets[0])?;
        let found = self.output(entry, ground)?;
        match found.worst {
            None => Ok(()),
            Some(worst) => Err(Error::Request(format!(
                "{} disagrees with the f64 reference at {} elements, worst {} for {}",
                ground.peer.name(),
                found.wrong,
                worst.got,
                worst.want
            ))),
        }
    }

    /// Compares the output in the first set with the reference.
    fn output(&self, entry: &Entry<'_>, ground: &Ground) -> Result<Comparison, Error> {
        let d = entry.form.d.orient(&entry.fit.operands);
        let dtype = entry.form.d.dtype;
        let found = self.runtime.device().download(&ground.sets[0].d)?;
        let dense = gather(d, &found, dtype.bytes() as usize)?;
        let rule = entry.form.rule(Data::Normals);
        Ok(compare(&decode(dtype, &dense)?, &ground.reference, &rule))
    }

    /// Measures a few kernels of a group together.
    fn chunk(
        &self,
        entries: &[Entry<'_>],
        ground: &Ground,
        extent: Extent,
        report: &mut impl FnMut(Event<'_>),
    ) -> Result<Vec<Row>, Error> {
        let mut runners = Vec::new();
        for entry in entries {
            match self.runner(entry, ground) {
                Ok(runner) => runners.push((entry, runner)),
                Err(error @ Error::Cuda { .. }) => return Err(error),
                Err(error) => {
                    let kernel = &entry.kernel.id;
                    report(Event::Skipped {
                        kernel,
                        extent,
                        error: &error,
                    });
                }
            }
        }
        let mut rows = Vec::new();
        for mode in &self.options.modes {
            let (peers, ours) = self.time(&runners, ground, *mode)?;
            for ((entry, runner), timing) in runners.iter().zip(&ours) {
                let row = self.gemm_row(entry, runner, ground, *mode, timing, &peers);
                report(Event::Row(&row));
                rows.push(row);
            }
        }
        entries
            .iter()
            .for_each(|entry| self.runtime.unload(entry.kernel));
        Ok(rows)
    }

    /// Loads a kernel, runs it once on a poisoned output, and compares that.
    fn runner<'k>(&self, entry: &Entry<'k>, ground: &Ground) -> Result<Runner<'k>, Error> {
        let loaded = self.runtime.load(entry.kernel)?;
        let mut launches = Vec::new();
        for set in &ground.sets {
            let args = [
                Arg::new("a", &set.a),
                Arg::new("b", &set.b),
                Arg::new("d", &set.d),
            ];
            launches.push(prepare_cuda(&loaded, &entry.fit, self.device, &args)?);
        }
        let mut runner = Runner {
            kernel: entry.kernel,
            loaded,
            launches,
            comparison: Comparison {
                rel_err: 0.0,
                max_err: 0.0,
                wrong: 0,
                worst: None,
            },
        };
        self.runtime.device().poison(&ground.sets[0].d)?;
        self.enqueue(&runner, 0)?;
        runner.comparison = self.output(entry, ground)?;
        Ok(runner)
    }

    fn enqueue(&self, runner: &Runner<'_>, set: usize) -> Result<(), Error> {
        let code = runner.loaded.cuda().ok_or(Error::ForeignBuffer)?;
        self.device.launch(code, &runner.launches[set])
    }

    /// Times of the peer (best, and with noise: best again and default) and of the kernels.
    fn time(
        &self,
        runners: &[(&Entry<'_>, Runner<'_>)],
        ground: &Ground,
        mode: Mode,
    ) -> Result<(Vec<Timing>, Vec<Timing>), Error> {
        let Ground { peer, sets, .. } = ground;
        let candidates: &[usize] = if self.options.noise {
            &[peer.best, peer.best, 0]
        } else {
            &[peer.best]
        };
        let mut contenders: Vec<Contender<'_>> = candidates
            .iter()
            .map(|c| peer.contender(*c, sets))
            .collect();
        for (_, runner) in runners {
            let enqueue = Box::new(move |set| self.enqueue(runner, set));
            contenders.push(Contender { enqueue });
        }
        let rules = self.rules(mode, sets.len(), true);
        let mut peers = contest(self.device, &self.sensors, &contenders, &rules)?;
        let ours = peers.split_off(candidates.len());
        Ok((peers, ours))
    }

    fn gemm_row(
        &self,
        entry: &Entry<'_>,
        runner: &Runner<'_>,
        ground: &Ground,
        mode: Mode,
        ours: &Timing,
        peers: &[Timing],
    ) -> Row {
        let mut row = self.row(runner.kernel, mode, ours);
        let Problem { m, n, k, batch, .. } = entry.problem;
        row.problem = RowProblem { m, n, k, batch };
        row.layout = ground.layout.clone();
        row.cublaslt = self.blas.as_ref().map(|blas| version(blas.version()));
        row.peer = ground.peer.name();
        row.best_us = peers.first().map_or(0.0, Timing::median_us);
        row.ratio_best = row.best_us / row.ours_us;
        row.aa_ratio = peers.get(1).map(|again| again.median_us() / row.best_us);
        row.default_us = peers.get(2).map(Timing::median_us);
        row.ratio_default = row.default_us.map(|us| us / row.ours_us);
        let volume = m as f64 * n as f64 * k as f64;
        row.tflops = 2.0 * volume / row.ours_us / 1e6;
        let bytes = |rows: i64, cols: i64, size: u32| rows as f64 * cols as f64 * f64::from(size);
        let form = &entry.form;
        let moved = bytes(m, k, form.a.dtype.bytes())
            + bytes(n, k, form.b.dtype.bytes())
            + bytes(m, n, form.d.dtype.bytes());
        row.tbps = moved / row.ours_us / 1e6;
        row.rel_err = finite(runner.comparison.rel_err);
        row.max_err = finite(runner.comparison.max_err);
        row
    }
}

impl Entry<'_> {
    /// Whether two kernels compute the same problem from the same memory.
    fn shares_with(&self, other: &Entry<'_>) -> bool {
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

/// JSON has no infinities: a number that is larger than any error.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::MAX }
}

/// `130200` as `13.2.0`.
fn version(counted: usize) -> String {
    format!(
        "{}.{}.{}",
        counted / 10_000,
        counted / 100 % 100,
        counted % 100
    )
}

impl Bench<'_> {
    /// The device as the runtime has it.
    pub(super) fn any_device(&self) -> &Device {
        self.runtime.device()
    }
}
