//! The kernel in tiles, run with data: what it stores is what the formula gives.
//!
//! The machine that runs the pipes runs here over a small ragged problem, and beside it stand the
//! numbers: tiles in shared memory and registers hold f64, or poison where nothing was written.
//! The machine refuses what is not ordered, so data is moved when an operation is issued. Inputs
//! are integers, of which every sum is exact; every element of the output must be stored once, with
//! the value that the formula's own interpreter gives.
//!
//! Operations are taken at the tiles' coordinates. That each thread finds these coordinates in its
//! registers and at its addresses is for the lowering, the certificate's other parts and the
//! emulator; so is the order in which work tiles come to CTAs.

mod grid;
mod sizes;
mod output;
mod draw;
mod tables;
mod terms;
mod problem;
mod regions;
mod work;
mod memory;

use std::collections::BTreeMap;

use serde::Serialize;

use super::pipeline::{Machine, Outcome, Step};
use crate::ir::tile::{Full, Kernel, Op, Sync};
use crate::plan::data::model::Plan;
use memory::Memory;
use problem::Problem;
use regions::Regions;
use terms::Terms;
use work::Course;

/// A problem on which a kernel stored what its formula gives.
#[derive(Clone, Debug, Serialize)]
pub struct Computed {
    /// Extents by mode.
    pub extents: BTreeMap<String, i64>,
    /// Elements of the output, all compared.
    pub elements: u64,
}

/// Runs the kernel on ragged problems. Those that were run.
pub(super) fn check(plan: &Plan, kernel: &Kernel) -> Result<Vec<Computed>, String> {
    let terms = Terms::of(plan);
    let extents = sizes::extents(plan, kernel);
    let mut regions = Regions::new(plan, kernel)?;
    let computed = extents.into_iter().map(|extents| {
        let problem = Problem::new(plan, &terms, extents)?;
        let course = Course::of(plan, kernel, &problem.extents);
        let computed = Computed {
            extents: problem.by_mode(),
            elements: problem.elements(),
        };
        let what = problem.to_string();
        let machine = Machine::new(plan, kernel, course.tiles)?;
        let places = machine.agents.iter().map(|agent| (agent.cta, agent.number));
        let members = memory::members(plan, places);
        let memory = Memory::new(
            plan,
            kernel,
            problem,
            &mut regions,
            (members, course.portions),
        );
        let run = Interpreter {
            kernel,
            machine,
            memory,
        };
        run.run().map_err(|error| format!("{error} ({what})"))?;
        Ok(computed)
    });
    computed.collect()
}

/// The machine of the pipes, and the data beside it.
struct Interpreter<'k, 'r> {
    kernel: &'k Kernel,
    machine: Machine<'k>,
    memory: Memory<'k, 'r>,
}

impl Interpreter<'_, '_> {
    /// Runs all teams to their end, each as far as it goes.
    fn run(mut self) -> Result<(), String> {
        loop {
            let mut moved = false;
            for at in 0..self.machine.agents.len() {
                while self.advance(at)? {
                    moved = true;
                }
            }
            if self
                .machine
                .agents
                .iter()
                .all(|agent| agent.steps.is_empty())
            {
                self.machine.at_end()?;
                return self.memory.at_end();
            }
            if !moved {
                let agents = &self.machine.agents;
                let flags = (0..agents.len()).filter_map(|at| Some((at, self.awaits(at)?)));
                let waits = flags
                    .map(|(at, cta)| format!("{} waits for partial sums of CTA {cta}", agents[at]));
                let waits: Vec<String> = waits.collect();
                return Err(match waits.is_empty() {
                    true => self.machine.deadlock(),
                    false => format!("deadlock: {}", waits.join("; ")),
                });
            }
        }
    }

    /// Takes one step of a member, if it is not held up.
    fn advance(&mut self, at: usize) -> Result<bool, String> {
        let Some(step) = self.machine.agents[at].steps.front().copied() else {
            return Ok(false);
        };
        // The machine takes every flag to be raised.
        if self.awaits(at).is_some() {
            return Ok(false);
        }
        if let Outcome::Blocked(_) = self.machine.step(at, step)? {
            return Ok(false);
        }
        self.machine.agents[at].steps.pop_front();
        let done = self.memory.step(&self.machine, at, step);
        done.map_err(|error| match step {
            Step::Op(op) => format!("{}: `{}`: {error}", self.machine.agents[at], self.line(op)),
            _ => error,
        })?;
        Ok(true)
    }

    /// The CTA whose flag a member waits for next, where it is not raised.
    fn awaits(&self, at: usize) -> Option<usize> {
        let step = self.machine.agents[at].steps.front()?;
        let Step::Op(Op::Sync(Sync::Await(id, _))) = step else {
            return None;
        };
        let flag = self
            .kernel
            .pipe(*id)
            .is_some_and(|pipe| pipe.full == Full::Flag);
        self.memory.missing(at).filter(|_| flag)
    }

    /// An operation as the kernel's text has it.
    fn line(&self, op: &Op) -> String {
        let lines = self.kernel.lines().into_iter();
        let mut lines = lines.filter(|(_, other)| std::ptr::eq(*other, op));
        lines.next().map_or(String::new(), |(line, _)| line)
    }
}
