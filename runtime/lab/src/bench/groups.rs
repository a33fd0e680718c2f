//! Kernels that compute the same problem from the same memory share inputs, reference and peer, and
//! are arms of one rotation.

use tilewright_bundle::Kernel;

use super::entry::Entry;
use super::peer::contender;
use super::rotation::Samples;
use super::rows::{Mode, Row, RowProblem};
use super::slices::{Contender, contest};
use super::workload::{DEFAULT, Runner, Workload};
use super::{Arms, Bench, Event, Extent};
use crate::verify::Verdict;
use tilewright_runtime::Error;

impl Bench<'_> {
    /// Measures kernels at one extent.
    pub(super) fn groups(
        &mut self,
        kernels: &[&Kernel],
        extent: &Extent,
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
            report(Event::Next {
                what: "prepare",
                extent,
                kernel: &group[0].kernel.id,
                kernels: group.len(),
            });
            let workload = match self.workload(&group[0]) {
                Ok(workload) => workload,
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
                rows.extend(self.chunk(some, &workload, extent, report)?);
            }
        }
        Ok(rows)
    }

    /// Measures a few kernels of a group together.
    fn chunk(
        &self,
        entries: &[Entry<'_>],
        workload: &Workload,
        extent: &Extent,
        report: &mut impl FnMut(Event<'_>),
    ) -> Result<Vec<Row>, Error> {
        let mut runners = Vec::new();
        for entry in entries {
            report(Event::Next {
                what: "load",
                extent,
                kernel: &entry.kernel.id,
                kernels: 1,
            });
            match self.runner(entry, workload) {
                Ok(runner) => runners.push((entry, runner)),
                Err(error) if error.is_of_driver() => return Err(error),
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
        let runners: Vec<(&Entry<'_>, &Runner<'_>)> = runners
            .iter()
            .map(|(entry, runner)| (*entry, runner))
            .collect();
        let mut rows = Vec::new();
        for mode in &self.options.modes {
            report(Event::Next {
                what: mode.text(),
                extent,
                kernel: runners.first().map_or("", |(entry, _)| &entry.kernel.id),
                kernels: runners.len(),
            });
            for row in self.group_rows(&runners, workload, *mode)? {
                report(Event::Row(&row));
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Times kernels beside the peer in one rotation; a row each, in their order.
    pub(crate) fn group_rows(
        &self,
        runners: &[(&Entry<'_>, &Runner<'_>)],
        workload: &Workload,
        mode: Mode,
    ) -> Result<Vec<Row>, Error> {
        let best = self.best(workload, mode)?;
        let samples = self.time(runners, workload, mode, best)?;
        let row = |(at, (entry, runner)): (usize, &(&Entry<'_>, &Runner<'_>))| {
            let arms = Arms {
                samples: &samples,
                ours: self.peers() + at,
            };
            let mut row = self.group_row(entry, runner, workload, mode, &arms);
            row.peer = workload.peer.name(best);
            row
        };
        Ok(runners.iter().enumerate().map(row).collect())
    }

    /// The rotation of the peer (best, and with noise: best again and default) and of the kernels.
    fn time(
        &self,
        runners: &[(&Entry<'_>, &Runner<'_>)],
        workload: &Workload,
        mode: Mode,
        best: usize,
    ) -> Result<Samples, Error> {
        let Workload { peer, sets, .. } = workload;
        let candidates = [best, best, DEFAULT];
        let mut contenders: Vec<Contender<'_>> = candidates
            .iter()
            .take(self.peers())
            .map(|c| contender(peer.as_ref(), *c, sets))
            .collect();
        contenders.extend(runners.iter().map(|(_, runner)| self.contender(runner)));
        let (cut, rules) = (self.cut(mode, sets.len(), workload.graph), self.rules(mode));
        contest(self.device, &self.sensors, &contenders, &cut, &rules)
    }

    /// How many arms of a rotation are the peer's.
    fn peers(&self) -> usize {
        if self.options.noise { 3 } else { 1 }
    }

    fn group_row(
        &self,
        entry: &Entry<'_>,
        runner: &Runner<'_>,
        workload: &Workload,
        mode: Mode,
        arms: &Arms<'_>,
    ) -> Row {
        let mut row = self.row(runner.kernel, mode, arms);
        row.problem = RowProblem::of_kernel(entry.kernel, &entry.problem);
        row.layout.clone_from(&workload.layout);
        row.cublaslt = workload.peer.cublaslt();
        row.candidates = workload.peer.candidates();
        if self.options.noise {
            row.default_us = Some(arms.samples.median_us(2));
            row.ratio_default = Some(arms.samples.ratio(2, arms.ours).median);
        }
        row.tflops = workload.peer.flops().unwrap_or(0.0) / row.ours_us / 1e6;
        row.tbps = entry.moved_bytes() / row.ours_us / 1e6;
        // An output that nobody has judged counts as wrong.
        let judged = runner.verdict.as_ref();
        row.rel_err = judged.map_or(f64::MAX, |verdict| finite(verdict.rel_err));
        row.max_err = judged.map_or(f64::MAX, Verdict::worst);
        row
    }
}

/// JSON has no infinities: a number that is larger than any error.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::MAX }
}
