//! Anybody's contenders measured as kernels and peers are, and rows made of what came out.
//!
//! In: [`Contender`]s, which enqueue whatever they like on the device's stream. Out: their
//! [`Samples`], and [`Row`]s of kernels beside peers that this crate knows nothing of. On the
//! emulator there is no time but the host's: of its modes, launch alone.

use std::time::Instant;

use tilewright_bundle::Kernel;

use super::extent::Letters;
use super::groups::finite;
use super::rotation::{Rules, Samples, Slice, SliceTimer, rotate};
use super::rows::{Mode, Row, RowProblem, Stamp};
use super::sensors::{Reading, Sensors};
use super::slices::{Contender, contest};
use super::{bytes_of, cut_of, sets_of};
use crate::verify::GemmForm;
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Problem;

/// Calls of one slice on the host.
const HOST_CALLS: usize = 4;

/// How contenders are measured against each other.
#[derive(Debug, Clone, Copy)]
pub struct Contest {
    /// How launches follow each other.
    pub mode: Mode,
    /// Rounds; medians are over them.
    pub rounds: usize,
    /// Sets of buffers that launches rotate through.
    pub sets: usize,
    /// Replay launches from graphs, where the mode and the contender allow it.
    pub graph: bool,
    /// Draws the order of every round.
    pub seed: u64,
}

/// A device to measure on, with its sensors.
#[derive(Debug)]
pub struct Meter {
    device: Device,
    sensors: Option<Sensors>,
}

/// A kernel that was measured beside a peer, and what is known of its output.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// What it computed.
    pub problem: &'a Problem,
    /// How launches followed each other.
    pub mode: Mode,
    /// What to write into the row.
    pub stamp: &'a Stamp,
    /// The rotation.
    pub samples: &'a Samples,
    /// The kernel's arm.
    pub ours: usize,
    /// The peer's arm.
    pub peer: usize,
    /// The arm of the peer's second self, for the noise.
    pub again: Option<usize>,
    /// What the peer is.
    pub name: &'a str,
    /// Which release of it.
    pub version: Option<&'a str>,
    /// Whether the peer's launches were replayed from a graph.
    pub replayed: bool,
    /// Operations of one launch, where they are not those of a product.
    pub flops: Option<f64>,
    /// Bytes read and written, where they are not those of all operands.
    pub bytes: Option<f64>,
    /// `‖out − ref‖ / ‖ref‖` of the kernel's output.
    pub rel_err: f64,
    /// Largest error over allowed error of the kernel's output.
    pub max_err: f64,
    /// The same of the peer's.
    pub peer_max_err: Option<f64>,
    /// The allowed error in words.
    pub bound: Option<&'a str>,
}

impl Meter {
    /// A meter of the device that work of the contenders goes to.
    pub fn new(device: &Device) -> Meter {
        let sensors = match device {
            Device::Cuda(cuda) => Some(Sensors::open(cuda)),
            Device::Emulator(_) => None,
        };
        Meter {
            device: device.clone(),
            sensors,
        }
    }

    /// Sets of buffers to rotate through, when one has so many bytes: together they are larger than
    /// twice the second-level cache.
    pub fn sets(&self, bytes: u64) -> usize {
        match self.device {
            Device::Cuda(_) => sets_of(self.device.info(), bytes),
            Device::Emulator(_) => 2,
        }
    }

    /// Measures contenders against each other.
    ///
    /// # Errors
    /// When a launch fails, or the device has no time of that mode.
    pub fn contest(
        &self,
        contenders: &[Contender<'_>],
        contest_of: &Contest,
    ) -> Result<Samples, Error> {
        let Contest { mode, sets, .. } = *contest_of;
        let rules = Rules::new(mode, contest_of.rounds, contest_of.seed);
        match (&self.device, &self.sensors) {
            (Device::Cuda(device), Some(sensors)) => {
                let cut = cut_of(mode, sets, contest_of.graph);
                contest(device, sensors, contenders, &cut, &rules)
            }
            _ if mode == Mode::Launch => {
                let sets = sets.max(1);
                rotate(&mut HostSliceTimer { contenders, sets }, &rules)
            }
            _ => Err(Error::Request(format!(
                "mode {} needs a GPU: the emulator has no time but the host's, which is mode {}",
                mode.text(),
                Mode::Launch.text()
            ))),
        }
    }

    /// The row of what was measured.
    ///
    /// # Errors
    /// When the kernel does not take the problem.
    pub fn row(&self, measured: &Measured<'_>) -> Result<Row, Error> {
        let Measured {
            kernel, samples, ..
        } = *measured;
        let info = self.device.info();
        let fit = self.device.fit(kernel, measured.problem)?;
        let driver = match &self.sensors {
            Some(sensors) => sensors.driver(info),
            None => String::new(),
        };
        let (reading, ratio) = (
            samples.reading(),
            samples.ratio(measured.peer, measured.ours),
        );
        let aa = measured
            .again
            .map(|again| samples.ratio(again, measured.peer));
        let mut row = Row {
            sm_clock_mhz: reading.sm_clock_mhz,
            power_w: reading.power_w,
            problem: RowProblem::of_kernel(kernel, measured.problem),
            mode: measured.mode,
            ours_us: samples.median_us(measured.ours),
            best_us: samples.median_us(measured.peer),
            peer: measured.name.to_owned(),
            ratio_best: ratio.median,
            aa_ratio: aa.map(|aa| aa.median),
            rel_err: finite(measured.rel_err),
            max_err: finite(measured.max_err),
            rounds: samples.rounds(),
            spread: samples.spread(measured.ours),
            ratio_spread: ratio.spread,
            aa_spread: aa.map(|aa| aa.spread),
            candidates: 1,
            peer_version: measured.version.map(str::to_owned),
            peer_max_err: measured.peer_max_err.map(finite),
            bound: measured.bound.map(str::to_owned),
            replayed: Some(measured.replayed),
            ..Row::blank(kernel, &info.name, driver, measured.stamp)
        };
        let product = kernel
            .product()
            .and_then(|_| GemmForm::of(kernel, &fit.operands).ok());
        if let Some(form) = &product
            && let Ok(letters) = Letters::of_form(form, &fit.operands)
        {
            row.layout = letters.text().to_owned();
        }
        let volume = product.map(|form| 2.0 * form.shape.volume() as f64);
        let flops = measured.flops.or(volume).unwrap_or(0.0);
        let operands = kernel.semantics.operands.iter().zip(&fit.operands);
        let each = operands.map(|(o, place)| bytes_of(place.elems(), o.dtype));
        let bytes = measured.bytes.unwrap_or_else(|| each.sum());
        if row.ours_us > 0.0 {
            row.tflops = flops / row.ours_us / 1e6;
            row.tbps = bytes / row.ours_us / 1e6;
        }
        Ok(row)
    }
}

/// Times calls by the host's clock: what is called returns when it is done.
struct HostSliceTimer<'c, 'a> {
    contenders: &'c [Contender<'a>],
    sets: usize,
}

impl SliceTimer for HostSliceTimer<'_, '_> {
    fn arms(&self) -> usize {
        self.contenders.len()
    }

    fn round(&mut self, order: &[usize], _: Mode) -> Result<(Vec<Slice>, Reading), Error> {
        let mut slices = Vec::new();
        for contender in order.iter().filter_map(|at| self.contenders.get(*at)) {
            let start = Instant::now();
            (0..HOST_CALLS).try_for_each(|at| (contender.enqueue)(at % self.sets))?;
            let slice_us = start.elapsed().as_secs_f64() * 1e6;
            slices.push(Slice {
                launch_us: slice_us / HOST_CALLS as f64,
                slice_us,
            });
        }
        Ok((slices, Reading::default()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;

    use tilewright_fixture::{copy_kernel, resolved};

    use super::*;

    fn contest_of(mode: Mode) -> Contest {
        Contest {
            mode,
            rounds: 3,
            sets: 2,
            graph: true,
            seed: 1,
        }
    }

    #[test]
    fn arms_on_the_emulator_take_turns_by_the_host_s_clock() {
        let calls = RefCell::new(Vec::new());
        let arm = |name: char| {
            let calls = &calls;
            Contender::new(move |set| {
                calls.borrow_mut().push((name, set));
                Ok(())
            })
        };
        let meter = Meter::new(&Device::emulator());
        let samples = meter
            .contest(&[arm('a'), arm('b')], &contest_of(Mode::Launch))
            .unwrap();
        assert_eq!(samples.rounds(), 3);
        let calls = calls.borrow();
        assert_eq!(calls.len(), 3 * 2 * HOST_CALLS);
        assert_eq!(calls[..2], [(calls[0].0, 0), (calls[0].0, 1)]);
        let firsts: usize = calls.iter().filter(|(name, _)| *name == 'a').count();
        assert_eq!(firsts, calls.len() / 2);
        let error = meter
            .contest(&[], &contest_of(Mode::Sustained))
            .unwrap_err();
        assert!(error.to_string().contains("mode sustained needs a GPU"));
    }

    #[test]
    fn a_contender_that_fails_ends_the_contest() {
        let meter = Meter::new(&Device::emulator());
        let broken = Contender::new(|_| Err(Error::ForeignBuffer));
        let error = meter
            .contest(&[broken], &contest_of(Mode::Launch))
            .unwrap_err();
        assert!(matches!(error, Error::ForeignBuffer));
    }

    #[test]
    fn rows_say_who_the_peer_was_and_what_was_moved() {
        let kernel = resolved(copy_kernel("copy@x"));
        let problem = Problem::new(4, 8, 1).row_major("s", 8).row_major("d", 8);
        let meter = Meter::new(&Device::emulator());
        let samples = Samples::of_times(vec![vec![2.0; 5], vec![4.0; 5], vec![4.4; 5]]);
        let row = meter
            .row(&Measured {
                kernel: &kernel,
                problem: &problem,
                mode: Mode::Launch,
                stamp: &Stamp::default(),
                samples: &samples,
                ours: 0,
                peer: 1,
                again: Some(2),
                name: "numpy.copyto",
                version: Some("numpy 2"),
                replayed: false,
                flops: None,
                bytes: None,
                rel_err: 0.0,
                max_err: f64::INFINITY,
                peer_max_err: Some(0.0),
                bound: Some("equal"),
            })
            .unwrap();
        assert_eq!((row.ours_us, row.best_us, row.ratio_best), (2.0, 4.0, 2.0));
        assert_eq!(row.aa_ratio, Some(1.1));
        let size = f64::from(kernel.semantics.operands[0].dtype.bytes());
        assert_eq!(row.tbps, 2.0 * 32.0 * size / 2.0 / 1e6);
        assert!(!row.is_correct());
        let text = row.to_json().unwrap();
        for part in [
            r#""peer":"numpy.copyto""#,
            r#""peer_version":"numpy 2""#,
            r#""bound":"equal""#,
            r#""replayed":false"#,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }
}
