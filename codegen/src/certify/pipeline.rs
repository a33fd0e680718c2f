//! The pipes of a kernel, run without data: every wait has its arrivals and its bytes, phases
//! alternate, no slot is filled before it is given back nor read before it is full, no register of
//! a product is touched before it is done, and all teams come to an end.
//!
//! All teams of all CTAs of a cluster run their operations of the tile IR against barriers that
//! count as the hardware's do, and groups that end as late as they may. A team does the same
//! whatever the others do, so a run ends the same way in any order; what an order can hide is an
//! access too early, and the two orders tried are the worst for that: producers always first,
//! consumers always first. A team's place in a pipe repeats after twice its slots, so trips along k
//! are tried up to past that.

mod barriers;
mod buffers;
mod unroll;
mod step;
mod data;
pub(super) mod clock;

pub(super) use barriers::Outcome;

use std::collections::VecDeque;
use std::fmt;

use crate::ir::tile::{Kernel, Op, Sync};
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;
use crate::plan::data::warp_roles::Roles;
use crate::spec::keys::model::LaunchKind;
use barriers::Shared;
use buffers::Own;
use unroll::Unroll;
pub(super) use unroll::{Chunks, Edge, Step, WorkTile};

/// Runs the pipes over every length that matters. How many runs were made.
pub(super) fn check(plan: &Plan, kernel: &Kernel) -> Result<u32, String> {
    follows(plan, kernel)?;
    let slots = kernel.pipes.iter().map(|pipe| pipe.slots).max();
    let slots = slots.unwrap_or(1).max(1);
    let mut lengths = vec![1, 2, slots - 1, slots, slots + 1, 2 * slots + 1];
    lengths.retain(|length| *length > 0);
    lengths.sort_unstable();
    lengths.dedup();
    let (tiles, orders) = match teams_of(kernel).as_slice() {
        [(Team::All, _)] => ([1].as_slice(), [Team::All].as_slice()),
        _ => (
            [1, 2, 5].as_slice(),
            [Team::Producer, Team::Consumers].as_slice(),
        ),
    };
    let mut runs = 0;
    for length in lengths {
        for &tiles in tiles {
            for &eager in orders {
                let trips = trips_of(kernel, length, tiles);
                let what = format!("{tiles} tiles of {trips:?} trips, {eager} first");
                let work = alike(kernel, &trips, eager == Team::Consumers);
                let mut machine = Machine::new(plan, kernel, work)?;
                (machine.run(eager)).map_err(|error| format!("{error} ({what})"))?;
                runs += 1;
            }
        }
    }
    Ok(runs)
}

/// Trips of each of so many work tiles. Parts of output tiles have any number of trips: every other
/// one has about half of them.
fn trips_of(kernel: &Kernel, trips: u32, tiles: u32) -> Vec<u32> {
    let cut = kernel.work.cuts_tiles();
    let of = |tile| match cut && tile % 2 == 1 {
        true => trips / 2 + 1,
        false => trips,
    };
    (0..tiles).map(of).collect()
}

/// One cluster, whose CTAs all have work tiles of so many trips. By turns, every other work tile
/// continues an output tile, what begins one is continued twice, and edges are met.
fn alike(kernel: &Kernel, trips: &[u32], turns: bool) -> Vec<Vec<WorkTile>> {
    let tile = |(number, trips): (usize, &u32)| WorkTile {
        trips: *trips,
        continues: turns && number % 2 == 1,
        givers: if turns { vec![0; 2] } else { Vec::new() },
        edge: if turns { Edge::Turns } else { Edge::First },
        chunks: Chunks {
            whole: *trips,
            rest: true,
        },
    };
    let tiles: Vec<_> = trips.iter().enumerate().map(tile).collect();
    vec![tiles; kernel.work.cluster().size() as usize]
}

/// A kernel that may be launched early waits for the one before it, before it touches memory that
/// one may still write or read: once its barriers are made.
fn follows(plan: &Plan, kernel: &Kernel) -> Result<(), String> {
    let follow = kernel.body.iter().position(|op| *op == FOLLOW);
    let made = |ops: &[Op]| ops.iter().all(|op| *op == Op::InitPipes);
    match (plan.launch, follow) {
        (LaunchKind::Plain, None) => Ok(()),
        (LaunchKind::Plain, Some(_)) => {
            Err("it waits for the kernel before it, which ends before it is launched".into())
        }
        (LaunchKind::Programmatic, Some(at)) if made(&kernel.body[..at]) => Ok(()),
        (LaunchKind::Programmatic, _) => {
            Err("its work begins before it has waited for the kernel before it".into())
        }
    }
}

/// What a kernel waits by for the one before it: all of its threads, once.
const FOLLOW: Op = Op::Sync(Sync::Follow);

/// The teams of a kernel with what they do; all threads where they are not told apart.
fn teams_of(kernel: &Kernel) -> Vec<(Team, &[Op])> {
    let teams = kernel.body.iter().find_map(|op| match op {
        Op::Teams(teams) => Some(teams),
        _ => None,
    });
    match teams {
        Some(teams) => (teams.iter())
            .map(|(team, body)| (*team, body.as_slice()))
            .collect(),
        // Following the kernel before is done once, and has been looked at.
        None => {
            let followed = kernel.body.strip_prefix(&[FOLLOW]);
            vec![(Team::All, followed.unwrap_or(&kernel.body))]
        }
    }
}

/// One member of a team of a CTA.
pub(super) struct Agent<'k> {
    /// Its CTA: those of a cluster stand next to one another.
    pub cta: usize,
    pub team: Team,
    /// Its number in the team.
    pub number: u32,
    /// What it has still to do.
    pub steps: VecDeque<Step<'k>>,
    /// Its place at both ends of each pipe.
    places: Vec<[u64; 2]>,
    /// The work tile that it is at, of its CTA's.
    pub tile: usize,
    /// The trip along k that it is at.
    pub trip: Option<u32>,
    /// What is its own: groups in flight, buffers, accumulators.
    own: Own,
}

impl fmt::Display for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.team {
            Team::All => write!(f, "the CTA"),
            Team::Producer => write!(f, "the producer of CTA {}", self.cta),
            Team::Consumers => write!(f, "consumer {} of CTA {}", self.number, self.cta),
        }
    }
}

/// All members of all teams of some clusters, with the pipes between them.
pub(super) struct Machine<'k> {
    plan: &'k Plan,
    kernel: &'k Kernel,
    /// Work tiles of each CTA.
    work: Vec<Vec<WorkTile>>,
    /// Every member of every team.
    pub agents: Vec<Agent<'k>>,
    pipes: Vec<Shared>,
}

impl<'k> Machine<'k> {
    /// A machine of CTAs that have those work tiles, each cluster's next to one another.
    pub fn new(
        plan: &'k Plan,
        kernel: &'k Kernel,
        work: Vec<Vec<WorkTile>>,
    ) -> Result<Machine<'k>, String> {
        let roles = plan.roles.as_ref();
        let teams = teams_of(kernel);
        let take_turns = roles.is_some_and(Roles::takes_turns);
        let mut agents = Vec::new();
        for (cta, tiles) in work.iter().enumerate() {
            for &(team, body) in &teams {
                let members = kernel.teams.iter().find(|members| members.team == team);
                let count = members.map_or(1, |members| members.count);
                for number in 0..count {
                    let turns = team == Team::Consumers && take_turns;
                    let (first, step) = if turns { (number, count) } else { (0, 1) };
                    let own = tiles.iter().enumerate().skip(first as usize);
                    let own: Vec<_> = own.step_by(step as usize).collect();
                    agents.push(Agent {
                        cta,
                        team,
                        number,
                        steps: Unroll::steps(kernel, &own, body)?,
                        places: vec![[0; 2]; kernel.pipes.len()],
                        tile: 0,
                        trip: None,
                        own: Own::new(kernel),
                    });
                }
            }
        }
        let pipes = kernel.pipes.iter().map(|pipe| Shared::of(pipe, work.len()));
        Ok(Machine {
            plan,
            kernel,
            pipes: pipes.collect(),
            work,
            agents,
        })
    }

    /// Trips of a CTA's tile, where all its tiles have as many.
    fn each(&self, cta: usize) -> u32 {
        let first = self.work.get(cta).and_then(|tiles| tiles.first());
        first.map_or(0, |tile| tile.trips)
    }

    /// The CTAs, among all, that those ranks of a CTA's cluster are.
    fn of_cluster(&self, cta: usize, ranks: impl Fn(u32) -> Vec<u32>) -> Vec<usize> {
        let size = self.kernel.work.cluster().size() as usize;
        let ranks = ranks((cta % size) as u32).into_iter();
        ranks
            .map(|rank| cta / size * size + rank as usize)
            .collect()
    }

    /// Runs all teams to their end; the eager one goes on as long as it can.
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

    /// Runs one member of a team: as far as it goes, or one step.
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

    /// Who waits for what, when nobody can go on.
    pub fn deadlock(&mut self) -> String {
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

    /// What must not be left when all have come to their end.
    pub fn at_end(&self) -> Result<(), String> {
        for agent in &self.agents {
            agent
                .own
                .at_end()
                .map_err(|what| format!("{agent} ends {what}"))?;
        }
        for (cta, slots) in self
            .pipes
            .iter()
            .flat_map(|pipe| pipe.slots.iter().enumerate())
        {
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
