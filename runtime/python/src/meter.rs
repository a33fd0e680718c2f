//! The runtime's measuring for arms that Python brings: launches, and callables that enqueue.

use std::cell::RefCell;
use std::sync::Arc;

use pyo3::prelude::*;
use tilewright_lab::bench::{
    Contender, Contest, Graphs, Measured, Meter, Mode, Replay, Samples, Stamp,
};
use tilewright_runtime::cuda::{CudaDevice, Current};
use tilewright_runtime::{Device, Error as RuntimeError, Runtime};

use crate::failure::{Error, raised};
use crate::kernel::PyKernel;
use crate::launch::PyLaunch;
use crate::stream;

/// The times of a rotation.
#[pyclass(frozen, name = "Samples", module = "tilewright")]
pub(crate) struct PySamples {
    samples: Samples,
}

#[pymethods]
impl PySamples {
    /// Median time of a launch of one arm.
    fn median_us(&self, arm: usize) -> f64 {
        self.samples.median_us(arm)
    }

    /// One arm's time over another's: the median over the rounds, and the spread.
    fn ratio(&self, over: usize, under: usize) -> (f64, f64) {
        let ratio = self.samples.ratio(over, under);
        (ratio.median, ratio.spread)
    }

    /// How many rounds there are.
    #[getter]
    fn rounds(&self) -> usize {
        self.samples.rounds()
    }
}

/// A device to measure on.
#[pyclass(frozen, name = "Meter", module = "tilewright")]
pub(crate) struct PyMeter {
    runtime: Arc<Runtime>,
    /// The device whose stream the arms' work goes into.
    device: Device,
    meter: Meter,
}

/// The first exception of a callable, for which the runtime's error stands.
type Thrown = RefCell<Option<PyErr>>;

/// Calls back, and keeps the exception.
fn called<T>(thrown: &Thrown, call: impl FnOnce() -> PyResult<T>) -> Result<T, RuntimeError> {
    call().map_err(|exception| {
        let text = exception.to_string();
        thrown.borrow_mut().get_or_insert(exception);
        RuntimeError::Request(text)
    })
}

/// The mode of that name.
fn mode_of(text: &str) -> PyResult<Mode> {
    let all = [Mode::Rested, Mode::Sustained, Mode::Cold, Mode::Launch];
    all.into_iter()
        .find(|mode| mode.text() == text)
        .ok_or_else(|| {
            let all = all.map(Mode::text).join(", ");
            Error::new_err(format!("{text:?} is no mode: {all}"))
        })
}

/// An arm of Python's: launches by set, or a callable of the set's number and its way into graphs.
enum Arm<'py> {
    Launches(Vec<Bound<'py, PyLaunch>>),
    Callable(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

impl<'py> Arm<'py> {
    fn read(arm: &Bound<'py, PyAny>) -> PyResult<Arm<'py>> {
        if let Ok(launches) = arm.extract() {
            return Ok(Arm::Launches(launches));
        }
        let (enqueue, capture) = arm.extract()?;
        Ok(Arm::Callable(enqueue, capture))
    }

    /// The arm as the runtime knows it. Every call looks for signals, so that a measurement can be
    /// ended by hand.
    fn contender<'a>(
        &'a self,
        device: Option<&'a CudaDevice>,
        thrown: &'a Thrown,
    ) -> Contender<'a> {
        match self {
            Arm::Launches(launches) => Contender::new(move |set| {
                called(thrown, || {
                    let launch = launches
                        .get(set)
                        .ok_or_else(|| Error::new_err("no such set"))?;
                    launch.py().check_signals()?;
                    launch.get().enqueue_on(device)
                })
            }),
            Arm::Callable(enqueue, capture) => {
                let contender = Contender::new(move |set| {
                    called(thrown, || {
                        enqueue.py().check_signals()?;
                        enqueue.call1((set,)).map(|_| ())
                    })
                });
                if capture.is_none() {
                    return contender.with_graphs(Graphs::Never);
                }
                contender.with_graphs(Graphs::Own(Box::new(move |launches, sets| {
                    let replay = called(thrown, || capture.call1((launches, sets)))?;
                    let replay: Replay<'a> =
                        Box::new(move || called(thrown, || replay.call0().map(|_| ())));
                    Ok(replay)
                })))
            }
        }
    }
}

#[pymethods]
impl PyMeter {
    /// A meter of a kernel's device; the arms enqueue on `stream`.
    #[new]
    #[pyo3(signature = (kernel, stream=None))]
    fn new(kernel: &PyKernel, stream: Option<&Bound<'_, PyAny>>) -> PyResult<PyMeter> {
        let device = match kernel.runtime.device() {
            Device::Cuda(device) => {
                let handle = stream.map(stream::given).transpose()?.unwrap_or(0);
                Device::Cuda(stream::on(device, handle))
            }
            Device::Emulator(device) => Device::Emulator(device.clone()),
        };
        Ok(PyMeter {
            runtime: kernel.runtime.clone(),
            meter: Meter::new(&device),
            device,
        })
    }

    /// Sets of buffers to rotate through, when one has so many bytes.
    fn sets(&self, bytes: u64) -> usize {
        self.meter.sets(bytes)
    }

    /// Measures arms against each other: each a list with a launch for every set, or a pair of a
    /// callable that enqueues on the set of a number and one that captures so many launches over so
    /// many sets and returns what replays them (`None` where that is not possible).
    fn contest(
        &self,
        arms: Vec<Bound<'_, PyAny>>,
        mode: &str,
        rounds: usize,
        sets: usize,
        graph: bool,
        seed: u64,
    ) -> PyResult<PySamples> {
        let contest = Contest {
            mode: mode_of(mode)?,
            rounds,
            sets,
            graph,
            seed,
        };
        let (device, _current) = match &self.device {
            Device::Cuda(device) => (Some(device), Some(Current::kept().map_err(raised)?)),
            Device::Emulator(_) => (None, None),
        };
        let arms: Vec<Arm<'_>> = arms.iter().map(Arm::read).collect::<PyResult<_>>()?;
        let thrown = Thrown::default();
        let contenders: Vec<Contender<'_>> = arms
            .iter()
            .map(|arm| arm.contender(device, &thrown))
            .collect();
        let samples = self.meter.contest(&contenders, &contest);
        drop(contenders);
        match (samples, thrown.into_inner()) {
            (Ok(samples), _) => Ok(PySamples { samples }),
            (Err(_), Some(exception)) => Err(exception),
            (Err(error), None) => Err(raised(error)),
        }
    }

    /// The row, as JSON, of a kernel that was measured beside a peer.
    #[pyo3(signature = (launch, samples, *, mode, ours, peer, again, name, version, replayed, flops,
        bytes, rel_err, max_err, peer_max_err, bound, date, commit))]
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a field of the row, given by name"
    )]
    fn row(
        &self,
        launch: &PyLaunch,
        samples: &PySamples,
        mode: &str,
        ours: usize,
        peer: usize,
        again: Option<usize>,
        name: &str,
        version: Option<&str>,
        replayed: bool,
        flops: Option<f64>,
        bytes: Option<f64>,
        rel_err: f64,
        max_err: f64,
        peer_max_err: Option<f64>,
        bound: Option<&str>,
        date: String,
        commit: String,
    ) -> PyResult<String> {
        let ptxas = self.runtime.bundle().provenance().ptxas.clone();
        let stamp = Stamp {
            date,
            commit,
            ptxas: ptxas.unwrap_or_default(),
        };
        let row = self.meter.row(&Measured {
            kernel: launch.kernel(),
            problem: launch.problem(),
            mode: mode_of(mode)?,
            stamp: &stamp,
            samples: &samples.samples,
            ours,
            peer,
            again,
            name,
            version,
            replayed,
            flops,
            bytes,
            rel_err,
            max_err,
            peer_max_err,
            bound,
        });
        let row = row.map_err(raised)?;
        row.to_json()
            .map_err(|error| Error::new_err(error.to_string()))
    }
}
