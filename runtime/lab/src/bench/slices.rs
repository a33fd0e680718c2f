//! Slices on a GPU: launches replayed from graphs and timed by events.
//!
//! *Sustained* slices of a round follow each other without a gap; *rested* ones each follow a rest;
//! *cold* launches each follow a write to more than twice the second-level cache; of mode *launch*
//! the time is the host's, from the call to its return.

use std::time::{Duration, Instant};

use super::rotation::{Rules, Samples, Slice, SliceTimer, rotate};
use super::rows::{Mode, median};
use super::sensors::{Reading, Sensors};
use tilewright_runtime::Error;
use tilewright_runtime::cuda::{CudaDevice, DeviceMemory, Event};

/// Most launches in one graph; longer slices replay it.
const GRAPH_LAUNCHES: usize = 512;
/// Rest before a rested slice.
const REST: Duration = Duration::from_millis(300);
/// Launches that are no longer than this are estimated from a graph.
const SHORT_US: f64 = 100.0;
/// Untimed launches before a rested slice, in time: they hide the host's work for the timed ones.
const LEAD_US: f64 = 200.0;
/// An estimate of so many times the fastest contender's time is no slice's worth.
const FAR: f64 = 1.5;
/// A slice of so many times it is no second one's.
const NEAR: f64 = 1.15;
/// Cold launches of one slice.
const COLD_LAUNCHES: usize = 8;
/// Calls of one slice of mode launch: fewer than a stream takes before it makes the host wait.
const HOST_LAUNCHES: usize = 64;

/// Enqueues one launch on the set of that number.
pub type Enqueue<'a> = Box<dyn Fn(usize) -> Result<(), Error> + 'a>;
/// Enqueues one replay of what was captured.
pub type Replay<'a> = Box<dyn Fn() -> Result<(), Error> + 'a>;
/// Captures so many launches, which rotate through so many sets.
pub type Capture<'a> = Box<dyn Fn(usize, usize) -> Result<Replay<'a>, Error> + 'a>;

/// How launches of a contender become one graph.
pub enum Graphs<'a> {
    /// What it enqueues on the device's stream is captured there.
    OfStream,
    /// It has its own way of capturing, as frameworks do whose allocator has to know.
    Own(Capture<'a>),
    /// It cannot be captured: its launches are enqueued one by one.
    Never,
}

/// Something that enqueues one launch on a set of buffers.
pub struct Contender<'a> {
    pub(super) enqueue: Enqueue<'a>,
    pub(super) graphs: Graphs<'a>,
}

impl std::fmt::Debug for Contender<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contender").finish_non_exhaustive()
    }
}

impl<'a> Contender<'a> {
    /// A contender whose launches go into the device's stream.
    pub fn new(enqueue: impl Fn(usize) -> Result<(), Error> + 'a) -> Contender<'a> {
        Contender {
            enqueue: Box::new(enqueue),
            graphs: Graphs::OfStream,
        }
    }

    /// The same with another way into graphs.
    #[must_use]
    pub fn with_graphs(mut self, graphs: Graphs<'a>) -> Contender<'a> {
        self.graphs = graphs;
        self
    }

    /// Launches on one set after another, as one replay, if it can be captured.
    fn captured<'s>(
        &'s self,
        device: &'s CudaDevice,
        launches: usize,
        sets: usize,
    ) -> Result<Option<Replay<'s>>, Error> {
        match &self.graphs {
            Graphs::OfStream => {
                let each = || (0..launches).try_for_each(|at| (self.enqueue)(at % sets));
                let graph = device.capture(each)?;
                Ok(Some(Box::new(move || device.replay(&graph))))
            }
            Graphs::Own(capture) => capture(launches, sets).map(Some),
            Graphs::Never => Ok(None),
        }
    }
}

/// What slices are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Sets of buffers that launches rotate through.
    pub sets: usize,
    /// Length of a slice.
    pub slice_us: f64,
    /// Replay launches from a graph, or enqueue them one by one.
    pub graph: bool,
}

/// One arm, ready to be timed.
struct Arm<'c, 'a> {
    contender: &'c Contender<'a>,
    graph: Option<Replay<'c>>,
    /// Launches of one replay, or of the slice without a graph.
    launches: usize,
    replays: usize,
    sets: usize,
    /// Untimed launches before a rested slice.
    lead: usize,
}

/// The arms of a rotation on one GPU.
struct GpuSliceTimer<'c, 'a> {
    device: &'c CudaDevice,
    sensors: &'c Sensors,
    arms: Vec<Arm<'c, 'a>>,
    /// More than twice the second-level cache, for cold launches.
    flush: Option<DeviceMemory>,
}

/// Times contenders against each other.
///
/// # Errors
/// When a launch fails.
pub(crate) fn contest(
    device: &CudaDevice,
    sensors: &Sensors,
    contenders: &[Contender<'_>],
    cut: &Cut,
    rules: &Rules,
) -> Result<Samples, Error> {
    let graph = cut.graph && matches!(rules.mode, Mode::Sustained | Mode::Rested);
    let cut = Cut { graph, ..*cut };
    let mut arms = Vec::new();
    for contender in contenders {
        arms.push(Arm::new(device, contender, &cut)?);
    }
    let flush = match rules.mode {
        Mode::Cold => Some(device.alloc(2 * device.info().l2_bytes + (8 << 20))?),
        _ => None,
    };
    let mut timer = GpuSliceTimer {
        device,
        sensors,
        arms,
        flush,
    };
    rotate(&mut timer, rules)
}

/// Microseconds of one launch, roughly: short launches from a graph, so that host time stays out.
///
/// # Errors
/// When a launch fails.
pub(crate) fn estimate_us(
    device: &CudaDevice,
    contender: &Contender<'_>,
    sets: usize,
) -> Result<f64, Error> {
    let some = |count: usize| (0..count).try_for_each(|at| (contender.enqueue)(at % sets));
    // The first launch loads code and makes scratch memory, which a capture does not allow.
    some(1)?;
    let rough = device.time_us(|| some(2), || ())? / 2.0;
    if rough > SHORT_US {
        return Ok(rough);
    }
    let launches = 32;
    let us = match contender.captured(device, launches, sets)? {
        Some(replay) => {
            replay()?;
            device.time_us(replay, || ())?
        }
        None => device.time_us(|| some(launches), || ())?,
    };
    Ok(us / launches as f64)
}

/// Microseconds of one launch from two short slices, the shorter of them. What is far from the
/// fastest of its kind so far is looked at no longer than that takes to see.
///
/// # Errors
/// When a launch fails.
pub(crate) fn quick_us(
    device: &CudaDevice,
    contender: &Contender<'_>,
    cut: &Cut,
    fastest_us: f64,
) -> Result<f64, Error> {
    let one_us = estimate_us(device, contender, cut.sets.max(1))?;
    if one_us > FAR * fastest_us {
        return Ok(one_us);
    }
    let arm = Arm::of(device, contender, cut, one_us)?;
    let slice = || {
        let slice_us = device.time_us(|| arm.enqueue(), || ())?;
        Ok::<_, Error>(arm.slice(slice_us).launch_us)
    };
    let first = slice()?;
    if first > NEAR * fastest_us {
        return Ok(first);
    }
    Ok(first.min(slice()?))
}

impl<'c, 'a> Arm<'c, 'a> {
    fn new(
        device: &'c CudaDevice,
        contender: &'c Contender<'a>,
        cut: &Cut,
    ) -> Result<Arm<'c, 'a>, Error> {
        let one_us = estimate_us(device, contender, cut.sets.max(1))?;
        Arm::of(device, contender, cut, one_us)
    }

    /// An arm whose launches take about so long.
    fn of(
        device: &'c CudaDevice,
        contender: &'c Contender<'a>,
        cut: &Cut,
        one_us: f64,
    ) -> Result<Arm<'c, 'a>, Error> {
        let sets = cut.sets.max(1);
        let one_us = one_us.max(0.5);
        let wanted = ((cut.slice_us / one_us).ceil() as usize).max(2);
        // Whole turns through the sets, so that every replay continues where the last one ended.
        let turns = |launches: usize| launches.div_ceil(sets) * sets;
        let launches = if cut.graph {
            turns(wanted.min(GRAPH_LAUNCHES))
        } else {
            turns(wanted)
        };
        let graph = match cut.graph {
            true => contender.captured(device, launches, sets)?,
            false => None,
        };
        Ok(Arm {
            contender,
            graph,
            launches,
            replays: wanted.div_ceil(launches),
            sets,
            lead: ((LEAD_US / one_us).ceil() as usize).clamp(1, 64),
        })
    }

    fn enqueue(&self) -> Result<(), Error> {
        match &self.graph {
            Some(replay) => (0..self.replays).try_for_each(|_| replay()),
            None => self.some(self.launches * self.replays),
        }
    }

    /// Enqueues launches one by one.
    fn some(&self, count: usize) -> Result<(), Error> {
        (0..count).try_for_each(|at| (self.contender.enqueue)(at % self.sets))
    }

    fn slice(&self, slice_us: f64) -> Slice {
        Slice {
            launch_us: slice_us / (self.launches * self.replays) as f64,
            slice_us,
        }
    }
}

impl SliceTimer for GpuSliceTimer<'_, '_> {
    fn arms(&self) -> usize {
        self.arms.len()
    }

    fn round(&mut self, order: &[usize], mode: Mode) -> Result<(Vec<Slice>, Reading), Error> {
        match mode {
            Mode::Sustained => self.sustained(order),
            Mode::Rested => self.each(order, GpuSliceTimer::rested),
            Mode::Cold => self.each(order, GpuSliceTimer::cold),
            Mode::Launch => self.each(order, GpuSliceTimer::launch),
        }
    }
}

impl GpuSliceTimer<'_, '_> {
    /// Enqueues all slices before it waits for any, so that the GPU never idles between them.
    fn sustained(&self, order: &[usize]) -> Result<(Vec<Slice>, Reading), Error> {
        let arms: Vec<&Arm<'_, '_>> = order.iter().filter_map(|at| self.arms.get(*at)).collect();
        if let Some(first) = arms.first() {
            first.some(1)?;
        }
        let mut marks: Vec<Event> = vec![self.device.event()?];
        for arm in &arms {
            arm.enqueue()?;
            marks.push(self.device.event()?);
        }
        let reading = self.sensors.read();
        let mut slices = Vec::new();
        for (arm, pair) in arms.iter().zip(marks.windows(2)) {
            slices.push(arm.slice(pair[0].us_until(&pair[1])?));
        }
        Ok((slices, reading))
    }

    /// Slices that each end before the next one begins; the state is read in each.
    fn each(
        &self,
        order: &[usize],
        one: fn(&Self, &Arm<'_, '_>, &mut Reading) -> Result<Slice, Error>,
    ) -> Result<(Vec<Slice>, Reading), Error> {
        let mut reading = Reading::default();
        let mut slices = Vec::new();
        for arm in order.iter().filter_map(|at| self.arms.get(*at)) {
            slices.push(one(self, arm, &mut reading)?);
        }
        Ok((slices, reading))
    }

    fn rested(&self, arm: &Arm<'_, '_>, reading: &mut Reading) -> Result<Slice, Error> {
        std::thread::sleep(REST);
        arm.some(arm.lead)?;
        let enqueue = || arm.enqueue();
        let us = self
            .device
            .time_us(enqueue, || *reading = self.sensors.read())?;
        Ok(arm.slice(us))
    }

    /// NOTE: a pair of events around one launch holds the launch's own latency, a few microseconds
    /// that are the same for every arm.
    fn cold(&self, arm: &Arm<'_, '_>, reading: &mut Reading) -> Result<Slice, Error> {
        let mut marks = Vec::new();
        for at in 0..COLD_LAUNCHES {
            if let Some(memory) = &self.flush {
                self.device.fill(memory, at as u8)?;
            }
            let start = self.device.event()?;
            (arm.contender.enqueue)(at % arm.sets)?;
            marks.push((start, self.device.event()?));
        }
        *reading = self.sensors.read();
        let mut times = Vec::new();
        for (start, end) in &marks {
            times.push(start.us_until(end)?);
        }
        Ok(Slice {
            launch_us: median(&times),
            slice_us: times.iter().sum(),
        })
    }

    fn launch(&self, arm: &Arm<'_, '_>, reading: &mut Reading) -> Result<Slice, Error> {
        self.device.synchronize()?;
        let start = Instant::now();
        arm.some(HOST_LAUNCHES)?;
        let slice_us = start.elapsed().as_secs_f64() * 1e6;
        *reading = self.sensors.read();
        self.device.synchronize()?;
        Ok(Slice {
            launch_us: slice_us / HOST_LAUNCHES as f64,
            slice_us,
        })
    }
}
