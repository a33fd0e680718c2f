//! The pipeline of a warp-specialized kernel, run without data: every wait has its arrivals and its
//! bytes, phases alternate, no slot is filled before it is given back nor read before it is full,
//! and all roles come to an end.
//!
//! All roles of all CTAs of a cluster run their operations of the tile IR against barriers that
//! count as the hardware's do. A role does the same whatever the others do, so a run ends the same
//! way in any order; what an order can hide is an access too early, and the two orders tried are
//! the worst for that: producers always first, consumers always first. A role's place in the ring
//! repeats after twice its slots, so trips along k are tried up to past that.

mod step;
pub(super) mod clock;

use std::collections::VecDeque;
use std::fmt;

use crate::ir::tile::{Kernel, Op, Role, Team};
use crate::plan::model::Plan;
use crate::plan::roles::{Roles, WARPS};
use crate::spec::model::{LaunchKind, Schedule};

/// Runs the pipeline over every length that matters. How many runs were made.
pub(super) fn check(plan: &Plan, roles: &Roles, kernel: &Kernel) -> Result<u32, String> {
    let parts = parts_of(kernel)?;
    follows(roles, kernel)?;
    let stages = roles.ring.stages;
    let mut lengths = vec![1, 2, stages - 1, stages, stages + 1, 2 * stages + 1];
    lengths.retain(|length| *length > 0);
    lengths.sort_unstable();
    lengths.dedup();
    let mut runs = 0;
    for trips in lengths {
        for tiles in [1, 2, 5] {
            for eager in [Team::Producer, Team::Consumers] {
                let trips = trips_of(roles, trips, tiles);
                let what = format!("{tiles} tiles of {trips:?} trips, {eager} first");
                let mut machine = Machine::new(plan, roles, parts, trips)?;
                (machine.run(eager)).map_err(|error| format!("{error} ({what})"))?;
                runs += 1;
            }
        }
    }
    Ok(runs)
}

/// Trips of each of so many tiles. Pieces of tiles have any number of trips: every other one has
/// about half of them.
fn trips_of(roles: &Roles, trips: u32, tiles: u32) -> Vec<u32> {
    let of = |tile| match roles.cuts_tiles() && tile % 2 == 1 {
        true => trips / 2 + 1,
        false => trips,
    };
    (0..tiles).map(of).collect()
}

/// A kernel that may be launched early waits for the one before it, before any role touches memory
/// that one may still write or read.
fn follows(roles: &Roles, kernel: &Kernel) -> Result<(), String> {
    let place = |wanted: fn(&Op) -> bool| kernel.body.iter().position(wanted);
    let follow = place(|op| matches!(op, Op::FollowGrid));
    let parts = place(|op| matches!(op, Op::Roles(_)));
    match (roles.launch, follow) {
        (LaunchKind::Plain, None) => Ok(()),
        (LaunchKind::Plain, Some(_)) => {
            Err("it waits for the kernel before it, which ends before it is launched".into())
        }
        (LaunchKind::Programmatic, follow) if follow.is_some() && follow < parts => Ok(()),
        (LaunchKind::Programmatic, _) => {
            Err("its roles begin before it has waited for the kernel before it".into())
        }
    }
}

/// The roles of a kernel.
fn parts_of(kernel: &Kernel) -> Result<&[Role], String> {
    let parts = kernel.body.iter().find_map(|op| match op {
        Op::Roles(parts) => Some(parts.as_slice()),
        _ => None,
    });
    parts.ok_or_else(|| "the kernel has no roles".to_string())
}

/// One step of a role, unrolled.
#[derive(Clone, Copy, Debug)]
enum Step<'k> {
    Op(&'k Op),
    /// A tile of that number begins, or a piece of one.
    Tile(usize),
    /// A trip along k begins; whether it is a tile's first.
    Trip(bool),
}

/// A barrier in shared memory.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    count: u32,
    pending: u32,
    bytes: i64,
    phase: u64,
}

impl Barrier {
    fn new(count: u32) -> Barrier {
        Barrier {
            count,
            pending: count,
            ..Barrier::default()
        }
    }

    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.count;
        }
    }
}

/// What a slot holds.
#[derive(Clone, Debug, Default)]
struct SlotState {
    /// Bytes of the current filling.
    filled: i64,
    /// Consumers that have the slot and not given it back.
    holders: Vec<usize>,
    /// Whether somebody has read the current filling.
    used: bool,
}

/// One role of one CTA: a producer, or a consumer warpgroup.
struct Agent<'k> {
    cta: usize,
    team: Team,
    number: u32,
    steps: VecDeque<Step<'k>>,
    position: u64,
    tile: usize,
    turn: u64,
    first_trip: bool,
    reading: VecDeque<u64>,
}

impl fmt::Display for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.team {
            Team::Producer => write!(f, "the producer of CTA {}", self.cta),
            Team::Consumers => write!(f, "consumer {} of CTA {}", self.number, self.cta),
        }
    }
}

/// What became of a step.
enum Outcome {
    Done,
    Blocked(String),
}

struct Machine<'k> {
    plan: &'k Plan,
    roles: &'k Roles,
    /// Trips along k of each tile, or of each piece of one.
    trips: Vec<u32>,
    agents: Vec<Agent<'k>>,
    full: Vec<Vec<Barrier>>,
    empty: Vec<Vec<Barrier>>,
    turns: Vec<Vec<Barrier>>,
    slots: Vec<Vec<SlotState>>,
}

impl<'k> Machine<'k> {
    fn new(
        plan: &'k Plan,
        roles: &'k Roles,
        parts: &'k [Role],
        trips: Vec<u32>,
    ) -> Result<Machine<'k>, String> {
        let ctas = roles.cluster_size() as usize;
        let stages = roles.ring.stages as usize;
        let mut agents = Vec::new();
        for cta in 0..ctas {
            for part in parts {
                let members = match part.team {
                    Team::Producer => 1,
                    Team::Consumers => roles.consumers,
                };
                for number in 0..members {
                    let turns =
                        part.team == Team::Consumers && roles.schedule == Schedule::Pingpong;
                    let (first, step) = if turns { (number, members) } else { (0, 1) };
                    let own = trips.iter().copied().enumerate();
                    let own = own.skip(first as usize).step_by(step as usize);
                    let own: Vec<_> = own.collect();
                    let mut steps = VecDeque::new();
                    unroll(&part.body, &own, 0, &mut steps)?;
                    agents.push(Agent {
                        cta,
                        team: part.team,
                        number,
                        steps,
                        position: 0,
                        tile: 0,
                        turn: 0,
                        first_trip: true,
                        reading: VecDeque::new(),
                    });
                }
            }
        }
        let ring = |count: u32| vec![vec![Barrier::new(count); stages]; ctas];
        Ok(Machine {
            plan,
            roles,
            trips,
            agents,
            full: ring(roles.ring.full_arrivals),
            empty: ring(roles.ring.empty_arrivals),
            turns: vec![vec![Barrier::new(1); roles.consumers as usize]; ctas],
            slots: vec![vec![SlotState::default(); stages]; ctas],
        })
    }

    /// Trips of a tile, where all tiles have as many.
    fn each(&self) -> u32 {
        self.trips.first().copied().unwrap_or(0)
    }

    /// Runs all roles to their end; those of the eager team go on as long as they can.
    fn run(&mut self, eager: Team) -> Result<(), String> {
        loop {
            let mut moved = false;
            for of_eager in [true, false] {
                for at in 0..self.agents.len() {
                    if (self.agents[at].team == eager) == of_eager && self.advance(at, of_eager)? {
                        moved = true;
                    }
                }
                if moved && of_eager {
                    break;
                }
            }
            if self.agents.iter().all(|agent| agent.steps.is_empty()) {
                return self.at_end();
            }
            if !moved {
                return Err(self.deadlock());
            }
        }
    }

    /// Runs one role: as far as it goes, or one step.
    fn advance(&mut self, at: usize, far: bool) -> Result<bool, String> {
        let mut moved = false;
        while let Some(step) = self.agents[at].steps.front().copied() {
            if let Outcome::Blocked(_) = self.step(at, step)? {
                break;
            }
            self.agents[at].steps.pop_front();
            moved = true;
            if !far {
                break;
            }
        }
        Ok(moved)
    }

    fn deadlock(&mut self) -> String {
        let mut waits = Vec::new();
        for at in 0..self.agents.len() {
            if let Some(step) = self.agents[at].steps.front().copied()
                && let Ok(Outcome::Blocked(what)) = self.step(at, step)
            {
                waits.push(format!("{} waits for {what}", self.agents[at]));
            }
        }
        format!("deadlock: {}", waits.join("; "))
    }

    fn at_end(&self) -> Result<(), String> {
        for (cta, slots) in self.slots.iter().enumerate() {
            for (slot, state) in slots.iter().enumerate() {
                if !state.holders.is_empty() {
                    return Err(format!("slot {slot} of CTA {cta} is never given back"));
                }
                if state.filled > 0 && !state.used {
                    return Err(format!("slot {slot} of CTA {cta} is filled and never read"));
                }
            }
        }
        Ok(())
    }
}

fn arrive(barrier: &mut Barrier, times: u32, what: impl Fn() -> String) -> Result<(), String> {
    if barrier.pending < times {
        return Err(format!(
            "the {} gets an arrival more than the {} it counts",
            what(),
            barrier.count
        ));
    }
    barrier.pending -= times;
    barrier.settle();
    Ok(())
}

fn missing(what: &str, barrier: &Barrier) -> String {
    format!(
        "{what} ({} of {} arrivals and {} bytes missing)",
        barrier.pending, barrier.count, barrier.bytes
    )
}

fn wait(barrier: &Barrier, phase: u64, what: String) -> Result<Outcome, String> {
    match barrier.phase.checked_sub(phase) {
        None | Some(0) => Ok(Outcome::Blocked(missing(&what, barrier))),
        Some(1) => Ok(Outcome::Done),
        Some(ahead) => Err(format!(
            "the wait for {what} comes {ahead} phases late, when its parity means another phase"
        )),
    }
}

/// A role's operations in the order they run, for tiles of those numbers and trips.
fn unroll<'k>(
    ops: &'k [Op],
    tiles: &[(usize, u32)],
    trips: u32,
    out: &mut VecDeque<Step<'k>>,
) -> Result<(), String> {
    for op in ops {
        match op {
            Op::ForEachTile(body) | Op::ForEachPiece(body) => {
                for (number, trips) in tiles {
                    out.push_back(Step::Tile(*number));
                    unroll(body, tiles, *trips, out)?;
                }
            }
            Op::ForEachKTile(body) => {
                for trip in 0..trips {
                    out.push_back(Step::Trip(trip == 0));
                    unroll(body, tiles, trips, out)?;
                }
                // What follows the loop comes after a tile's last trip.
                out.push_back(Step::Trip(false));
            }
            // One way stands for both, as neither touches the pipeline.
            Op::IfInside(way, other) | Op::IfBoxesEnd(way, other) | Op::IfContinues(other, way) => {
                if let Some(op) = way.iter().chain(other).find(|op| step::is_of_pipeline(op)) {
                    return Err(format!("{op:?} is done on one way of a branch only"));
                }
                unroll(way, tiles, trips, out)?;
            }
            op => out.push_back(Step::Op(op)),
        }
    }
    Ok(())
}
