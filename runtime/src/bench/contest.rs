//! Timing contenders against each other: interleaved, in rounds, each launch on the next set of
//! buffers.

use std::time::Duration;

use super::rows::{Mode, median, spread};
use super::sensors::{Reading, Sensors};
use crate::cuda::{CudaDevice, Graph};
use crate::error::Error;

/// Most launches in one graph; longer bursts replay it.
const GRAPH_LAUNCHES: usize = 512;
/// Rest before a burst.
const REST: Duration = Duration::from_millis(300);
/// Length of a rested burst.
const BURST_US: f64 = 7e3;
/// Launches that are no longer than this are estimated from a graph.
const SHORT_US: f64 = 100.0;
/// Untimed launches before a measurement, in time: they hide the host's work for the timed ones.
const LEAD_US: f64 = 200.0;
/// Work that brings a GPU to its sustained state before the first round.
const HEAT_US: f64 = 200e3;

/// Something that enqueues one launch on a set of buffers.
pub(crate) struct Contender<'a> {
    pub enqueue: Box<dyn Fn(usize) -> Result<(), Error> + 'a>,
}

/// How a contest is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub mode: Mode,
    pub rounds: usize,
    /// Sets of buffers that launches rotate through.
    pub sets: usize,
    /// Length of a sustained measurement.
    pub sustained_us: f64,
    /// Replay launches from a graph, or enqueue them one by one.
    pub graph: bool,
}

/// One contender's times of a launch, and the device's state during the last of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timing {
    pub samples_us: Vec<f64>,
    pub reading: Reading,
}

impl Timing {
    pub fn median_us(&self) -> f64 {
        median(&self.samples_us)
    }

    pub fn spread(&self) -> f64 {
        spread(&self.samples_us)
    }
}

/// A burst of launches, ready to be timed.
struct Burst<'c, 'a> {
    contender: &'c Contender<'a>,
    graph: Option<Graph>,
    /// Launches of one replay, or of the burst without a graph.
    launches: usize,
    replays: usize,
    sets: usize,
    /// Untimed launches before the timed ones.
    lead: usize,
}

/// Times every contender in every round.
///
/// # Errors
/// When a launch fails.
pub(crate) fn contest(
    device: &CudaDevice,
    sensors: &Sensors,
    contenders: &[Contender<'_>],
    rules: &Rules,
) -> Result<Vec<Timing>, Error> {
    let mut bursts = Vec::new();
    for contender in contenders {
        bursts.push(Burst::new(device, contender, rules)?);
    }
    let mut timings = vec![Timing::default(); contenders.len()];
    if let (Mode::Sustained, Some(first)) = (rules.mode, bursts.first()) {
        let mut spent = 0.0;
        while spent < HEAT_US.min(5.0 * rules.sustained_us) {
            spent += device.time_us(|| first.enqueue(device), || ())?.max(1.0);
        }
    }
    for round in 0..rules.rounds {
        for at in 0..bursts.len() {
            // Each round starts with another contender, so that none always follows the same one.
            let at = (at + round) % bursts.len();
            if rules.mode == Mode::Rested {
                std::thread::sleep(REST);
            }
            let sample = bursts[at].sample(device, sensors, &mut timings[at].reading)?;
            timings[at].samples_us.push(sample);
        }
    }
    Ok(timings)
}

/// Microseconds of one launch, roughly: short launches from a graph, so that host time stays out.
pub(crate) fn estimate_us(
    device: &CudaDevice,
    contender: &Contender<'_>,
    sets: usize,
) -> Result<f64, Error> {
    let some = |count: usize| (0..count).try_for_each(|at| (contender.enqueue)(at % sets));
    // The first launch loads code and makes scratch memory, which a capture does not allow.
    some(1)?;
    let rough = device.time_us(|| some(3), || ())? / 3.0;
    if rough > SHORT_US {
        return Ok(rough);
    }
    let launches = 32;
    let graph = device.capture(|| some(launches))?;
    device.replay(&graph)?;
    Ok(device.time_us(|| device.replay(&graph), || ())? / launches as f64)
}

impl<'c, 'a> Burst<'c, 'a> {
    fn new(
        device: &CudaDevice,
        contender: &'c Contender<'a>,
        rules: &Rules,
    ) -> Result<Burst<'c, 'a>, Error> {
        let sets = rules.sets.max(1);
        let one_us = estimate_us(device, contender, sets)?.max(0.5);
        let total_us = match rules.mode {
            Mode::Rested => BURST_US,
            Mode::Sustained => rules.sustained_us,
        };
        let wanted = ((total_us / one_us).ceil() as usize).max(2);
        // Whole turns through the sets, so that every replay continues where the last one ended.
        let turns = |launches: usize| launches.div_ceil(sets) * sets;
        let launches = if rules.graph {
            turns(wanted.min(GRAPH_LAUNCHES))
        } else {
            turns(wanted)
        };
        let replays = wanted.div_ceil(launches);
        let lead = ((LEAD_US / one_us).ceil() as usize).clamp(1, 64);
        let graph = if rules.graph {
            let enqueue = || (0..launches).try_for_each(|at| (contender.enqueue)(at % sets));
            Some(device.capture(enqueue)?)
        } else {
            None
        };
        Ok(Burst {
            contender,
            graph,
            launches,
            replays,
            sets,
            lead,
        })
    }

    fn enqueue(&self, device: &CudaDevice) -> Result<(), Error> {
        match &self.graph {
            Some(graph) => (0..self.replays).try_for_each(|_| device.replay(graph)),
            None => (0..self.launches * self.replays)
                .try_for_each(|at| (self.contender.enqueue)(at % self.sets)),
        }
    }

    /// Times the burst once, behind the lead; reads the sensors while it runs.
    fn sample(
        &self,
        device: &CudaDevice,
        sensors: &Sensors,
        reading: &mut Reading,
    ) -> Result<f64, Error> {
        (0..self.lead).try_for_each(|at| (self.contender.enqueue)(at % self.sets))?;
        let total = device.time_us(|| self.enqueue(device), || *reading = sensors.read())?;
        Ok(total / (self.launches * self.replays) as f64)
    }
}
