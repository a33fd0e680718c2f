//! The same run with a clock.
//!
//! The checks' own machine runs the roles, in the order of their clocks; beside each barrier phase
//! stands the cycle at which it ends, beside each group of products and each store the cycle at
//! which it is done. A wait that the machine lets pass lasts until that cycle.

mod engines;
mod record;

use std::collections::VecDeque;

use record::Recorded;

use super::barriers::{Barrier, Outcome};
use super::unroll::Step;
use super::{Machine, alike};
use crate::certify::timeline::{Activity, Costs, Span, Steady, Timeline};
use crate::ir::tile::{End, Engine, Every, Full, Kernel, Op, PipeId, Slice, Sync, View};
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;
use crate::plan::data::warp_roles::Roles;

/// When each phase of a barrier ends.
type Phases = Vec<u64>;

/// What a role's clock needs besides the machine's own state of it.
#[derive(Default)]
struct AgentClock {
    now: u64,
    tile: u32,
    k_tile: u32,
    began: bool,
    /// Position and end of each group of products in flight.
    products: VecDeque<u64>,
    /// When each store has read its buffer.
    stores: VecDeque<u64>,
}

/// Phases of barriers before a step: of the role's slot and of the one before it in every CTA, and
/// of its own CTA's turns.
struct Before {
    full: Vec<u64>,
    empty: Vec<u64>,
    empty_earlier: Vec<u64>,
    turns: Vec<u64>,
}

struct Clock<'k> {
    machine: Machine<'k>,
    roles: &'k Roles,
    /// The pipe whose slots boxes fill, and that of turns.
    ring: PipeId,
    turn: Option<PipeId>,
    costs: Costs,
    clocks: Vec<AgentClock>,
    full: Vec<Vec<Phases>>,
    empty: Vec<Vec<Phases>>,
    turns: Vec<Vec<Phases>>,
    /// When the tensor cores, the loads and the stores of each CTA are free.
    tensor: Vec<u64>,
    loads: Vec<u64>,
    stores: Vec<u64>,
    recorded: Recorded,
}

/// Times that the ring goes around until what a k tile takes is measured.
const BEFORE: u32 = 2;
/// Times that it goes around while that is measured.
const MEASURED: u32 = 2;

/// The run of that many output tiles for each CTA, each of so many k tiles.
pub(in crate::certify) fn timeline<'k>(
    plan: &'k Plan,
    roles: &'k Roles,
    kernel: &'k Kernel,
    lengths: [u32; 2],
) -> Result<Timeline, String> {
    let slots = plan.stages;
    let tiles = roles.consumers() / roles.consumers_of_a_tile();
    let long = run(
        plan,
        roles,
        kernel,
        [tiles, (BEFORE + MEASURED) * slots + 1],
    )?;
    let mut timeline = run(plan, roles, kernel, lengths)?;
    timeline.steady = steady(&long, MEASURED * slots, [slots, roles.in_flight]);
    Ok(timeline)
}

/// What the last so many k tiles of a long run take, each; of a ring of so many slots, so many of
/// which products in flight read.
fn steady(long: &Timeline, k_tiles: u32, [slots, in_flight]: [u32; 2]) -> Steady {
    let lanes = long.lanes.iter();
    let consumer = lanes.filter(|lane| lane.name == "consumer 0");
    let spans = consumer.flat_map(|lane| &lane.spans);
    let own = spans.filter(|span| span.tile == 0);
    let begins = |k_tile: u32| {
        let is =
            move |span: &&Span| span.activity == Activity::Multiply && span.k_tile == Some(k_tile);
        own.clone().find(is).map_or(0, |span| span.from)
    };
    let last = long.k_tiles.saturating_sub(1);
    let [from, to] = [last.saturating_sub(k_tiles), last].map(begins);
    let waits = own.clone().filter(|span| span.activity == Activity::Await);
    let waits = waits.map(|span| span.to.min(to).saturating_sub(span.from.max(from)));
    let each = u64::from(k_tiles.max(1));
    let all = to.saturating_sub(from);
    // From the request of a slot to the next request of it, but for what products keep it longer.
    let on_its_way = (all * u64::from(slots.saturating_sub(in_flight))).div_ceil(each);
    let enough = u64::from(in_flight) + on_its_way.div_ceil(long.costs.k_tile_bound().max(1));
    Steady {
        k_tile_cycles: all / each,
        wait_cycles: waits.sum::<u64>() / each,
        enough_slots: enough,
    }
}

fn run<'k>(
    plan: &'k Plan,
    roles: &'k Roles,
    kernel: &'k Kernel,
    [tiles, k_tiles]: [u32; 2],
) -> Result<Timeline, String> {
    let trips = vec![k_tiles; tiles as usize];
    let machine = Machine::new(plan, kernel, alike(kernel, &trips, false))?;
    let find = |is: fn(&Full) -> bool| {
        let at = kernel.pipes.iter().position(|pipe| is(&pipe.full));
        at.map(PipeId)
    };
    let ring = find(|full| matches!(full, Full::Bytes(_)));
    let ring = ring.ok_or("no pipe has slots that boxes fill")?;
    let (ctas, stages) = (
        kernel.work.cluster().size() as usize,
        machine.slots(ring) as usize,
    );
    let phases = |count: usize| vec![vec![Phases::new(); count]; ctas];
    let agents = machine.agents.len();
    let mut clock = Clock {
        costs: Costs::of(plan, roles),
        clocks: (0..agents).map(|_| AgentClock::default()).collect(),
        full: phases(stages),
        empty: phases(stages),
        turns: phases(roles.consumers() as usize),
        tensor: vec![0; ctas],
        loads: vec![0; ctas],
        stores: vec![0; ctas],
        recorded: Recorded::new(agents),
        machine,
        roles,
        ring,
        turn: find(|full| matches!(full, Full::Arrivals)),
    };
    clock.run()?;
    let ends = clock.clocks.iter().map(|one| one.now);
    let cycles = ends.max().unwrap_or(0);
    let barriers = [&clock.full[0], &clock.empty[0]];
    let lanes = clock
        .recorded
        .lanes(&clock.machine, stages as u32, barriers);
    Ok(Timeline {
        costs: clock.costs,
        tiles,
        k_tiles,
        cycles,
        multiply_cycles: record::multiply_cycles(&lanes),
        steady: Steady::default(),
        lanes,
    })
}

impl Clock<'_> {
    /// Runs all roles to their end, always the earliest that can go on.
    fn run(&mut self) -> Result<(), String> {
        loop {
            let mut order: Vec<usize> = (0..self.clocks.len()).collect();
            order.retain(|at| !self.machine.agents[*at].steps.is_empty());
            if order.is_empty() {
                return self.machine.at_end();
            }
            order.sort_by_key(|at| self.clocks[*at].now);
            let mut moved = false;
            for at in order {
                if self.advance(at)? {
                    moved = true;
                    break;
                }
            }
            if !moved {
                return Err(self.machine.deadlock());
            }
        }
    }

    /// Takes one step of a role, if it is not held up.
    fn advance(&mut self, at: usize) -> Result<bool, String> {
        let Some(step) = self.machine.agents[at].steps.front().copied() else {
            return Ok(false);
        };
        let before = self.place(at);
        let phases = self.phases(at);
        if let Outcome::Blocked(_) = self.machine.step(at, step)? {
            return Ok(false);
        }
        self.machine.agents[at].steps.pop_front();
        match step {
            Step::Trip(trip) => self.trip(at, trip),
            Step::Tile(_) | Step::Giver(_) => {}
            Step::Op(op) => self.charge(at, op, before, &phases),
        }
        Ok(true)
    }

    /// Slot and round of a member's place in the ring.
    fn place(&self, at: usize) -> (usize, u64) {
        let (_, slot, round) = self.machine.place(at, self.ring, self.end(at));
        (slot, round)
    }

    /// The end of the ring that a member is at.
    fn end(&self, at: usize) -> End {
        match self.machine.agents[at].team {
            Team::Producer => End::Fill,
            Team::Consumers | Team::All => End::Empty,
        }
    }

    /// The phases of the barriers that a member's next step may arrive at.
    fn phases(&self, at: usize) -> Before {
        let ring = &self.machine.pipes[self.ring.0];
        let stages = self.machine.slots(self.ring) as usize;
        let (slot, _) = self.place(at);
        let of = |barriers: &[Vec<Barrier>], slot: usize| {
            let of_cta = |cta: &Vec<Barrier>| cta.get(slot).map_or(0, |one| one.phase);
            barriers.iter().map(of_cta).collect()
        };
        let cta = self.machine.agents[at].cta;
        let turns = self.turn.map(|turn| &self.machine.pipes[turn.0].full[cta]);
        let turns = turns.into_iter().flatten();
        Before {
            full: of(&ring.full, slot),
            empty: of(&ring.empty, slot),
            empty_earlier: of(&ring.empty, (slot + stages - 1) % stages),
            turns: turns.map(|one| one.phase).collect(),
        }
    }

    fn trip(&mut self, at: usize, trip: Option<u32>) {
        let clock = &mut self.clocks[at];
        match (trip == Some(0), clock.began) {
            (true, false) => clock.began = true,
            (true, true) => (clock.tile, clock.k_tile) = (clock.tile + 1, 0),
            (false, _) => clock.k_tile += 1,
        }
    }

    /// Elements of a share of a tile in registers that one consumer has.
    fn elements(&self, view: View, share: Slice) -> u64 {
        let tile = self.machine.kernel.tiles.get(view.tile().0);
        let extents = tile.map_or(&[][..], |tile| &tile.modes);
        let all: i64 = extents.iter().map(|(_, extent)| extent).product();
        let sharers = u64::from(self.roles.consumers_of_a_tile()) * u64::from(share.1);
        all.unsigned_abs() / sharers.max(1)
    }

    /// What a step that was taken costs, and when what it tells is heard.
    fn charge(&mut self, at: usize, op: &Op, (slot, round): (usize, u64), before: &Before) {
        let costs = self.costs;
        match op {
            Op::Sync(sync) => self.charge_sync(at, *sync, (slot, round), before),
            Op::Copy { from, to, by, .. } => match (from, to) {
                (View::Gmem(_), View::Smem(tile, ..))
                    if self.is_ahead(self.machine.kernel.pipe_of(*tile)) =>
                {
                    self.spend(at, costs.step_cycles, Activity::Request, None);
                }
                (View::Gmem(_), View::Smem(..)) => self.load(at, *by, (slot, round), &before.full),
                (View::Rmem(..), View::Smem(..)) => {
                    self.spend(at, costs.stage_cycles, Activity::Stage, None);
                }
                (View::Smem(..), View::Gmem(_)) => self.store(at, false),
                (View::Rmem(..), View::Gmem(_)) => self.store(at, true),
                // The machine has refused these.
                (_, View::Rmem(..) | View::Looked(..) | View::Next(_))
                | (View::Looked(..) | View::Next(_), _)
                | (View::Gmem(_), View::Gmem(_))
                | (View::Smem(..), View::Smem(..)) => {}
            },
            Op::Mma {
                b: View::Smem(..), ..
            } => self.multiply(at, (slot, round)),
            Op::Map {
                to,
                from,
                element,
                share,
            } if !from.is_empty() => {
                let cycles = costs.compute(element, self.elements(*to, *share));
                self.spend(at, cycles, Activity::Convert, None);
            }
            // Beside the loop along k these take next to no time, but for partial sums, which the
            // clock knows nothing of: its tiles are whole.
            Op::Map { .. }
            | Op::Fold { .. }
            | Op::Accumulate { .. }
            | Op::Combine { .. }
            | Op::AddUp(_)
            | Op::StorePartial(..)
            | Op::AddPartial(..) => {}
            // The machine unrolls these.
            Op::ForEachWorkTile(_)
            | Op::ForEachPartial(_)
            | Op::ForEachKTile(_)
            | Op::ForEachChunk(..)
            | Op::IfInside(..)
            | Op::IfVectors(..)
            | Op::IfBoxesEnd(..)
            | Op::IfContinues(..) => {}
            // The machine has refused these, and what else does not belong to a team.
            Op::Section | Op::InitPipes | Op::Teams(_) | Op::NextTile | Op::Mma { .. } => {}
        }
    }

    /// Whether it is the pipe of what is loaded for the epilogue, once for each work tile.
    fn is_ahead(&self, pipe: Option<PipeId>) -> bool {
        let pipe = pipe.and_then(|id| self.machine.kernel.pipe(id));
        pipe.is_some_and(|pipe| pipe.every == Every::WorkTile)
    }

    fn charge_sync(&mut self, at: usize, sync: Sync, place: (usize, u64), before: &Before) {
        let costs = self.costs;
        let (slot, round) = place;
        let cta = self.machine.agents[at].cta;
        let now = self.clocks[at].now;
        let ended = |phases: &Phases, phase: u64| phases.get(phase as usize).copied();
        let engine = |id: PipeId| self.machine.kernel.engine(id);
        // What is loaded ahead is there long before it is needed.
        if self.is_ahead(sync.pipe()) {
            self.clocks[at].now += costs.step_cycles;
            return;
        }
        match sync {
            Sync::Acquire(id) => match engine(id) {
                Some(Engine::Stores) => {
                    let left = self.machine.slots(id) as usize - 1;
                    self.stores_done(at, left, Activity::StagingWait);
                }
                Some(Engine::Products | Engine::Copies) => {}
                None => {
                    let earlier = round.checked_sub(1);
                    let ready = earlier.and_then(|phase| ended(&self.empty[cta][slot], phase));
                    self.wait(at, ready, Activity::Acquire, Some(place));
                }
            },
            Sync::Arm(_) => {
                let phase = before.full[cta];
                tell(&mut self.full[cta][slot], phase, now + costs.step_cycles);
                self.spend(at, costs.step_cycles, Activity::Request, Some(place));
            }
            Sync::Commit(id) => match engine(id) {
                Some(Engine::Stores) => self.spend(at, costs.barrier_cycles, Activity::Stage, None),
                Some(Engine::Products | Engine::Copies) => {}
                None => {
                    let agent = &self.machine.agents[at];
                    let next = ((agent.number + 1) % self.roles.consumers()) as usize;
                    let heard = now + costs.barrier_cycles;
                    tell(&mut self.turns[cta][next], before.turns[next], heard);
                    self.clocks[at].now += costs.step_cycles;
                }
            },
            Sync::Await(id, _) if Some(id) == self.turn => {
                let agent = &self.machine.agents[at];
                let number = agent.number as usize;
                let phases = &self.turns[cta][number];
                // The machine has counted the turn already; the first of consumer 0 is free.
                let turn = agent.places[id.0][End::Empty as usize];
                let phase = (turn - 1).checked_sub(u64::from(number == 0));
                let ready = phase.and_then(|phase| ended(phases, phase));
                self.wait(at, ready, Activity::Turn, None);
            }
            Sync::Await(id, lag) => match engine(id) {
                Some(_) => self.products_done(at, lag as usize),
                None => {
                    let ready = ended(&self.full[cta][slot], round);
                    self.wait(at, ready, Activity::Await, Some(place));
                }
            },
            Sync::Release(_, lag) => self.release(at, lag, before),
            Sync::Drain(id) => match engine(id) {
                Some(Engine::Stores) => self.stores_done(at, 0, Activity::Drain),
                Some(Engine::Products | Engine::Copies) => self.products_done(at, 0),
                None => {
                    let latest = self.empty[cta].iter().filter_map(|phases| phases.last());
                    let ready = latest.max().copied();
                    self.wait(at, ready, Activity::Drain, None);
                }
            },
            // Places take no time; the machine has refused that teams meet.
            Sync::Skip(..) | Sync::Restart(_) | Sync::Meet | Sync::Follow => {}
        }
    }

    fn span(
        &self,
        at: usize,
        [from, to]: [u64; 2],
        activity: Activity,
        slot: Option<(usize, u64)>,
    ) -> Span {
        let agent = &self.machine.agents[at];
        let clock = &self.clocks[at];
        let turns = agent.team == Team::Consumers && self.turn.is_some();
        let in_loop = clock.k_tile < self.machine.each(agent.cta);
        Span {
            from,
            to,
            activity,
            slot: slot.map(|(slot, _)| slot as u32),
            phase: slot.map(|(_, round)| round),
            tile: if turns {
                clock.tile * self.roles.consumers() + agent.number
            } else {
                clock.tile
            },
            k_tile: (slot.is_some() && in_loop).then_some(clock.k_tile),
        }
    }

    fn record(&mut self, at: usize, span: Span) {
        if span.to > span.from {
            self.recorded.roles[at].push(span);
        }
    }

    /// Time that goes by with something.
    fn spend(&mut self, at: usize, cycles: u64, activity: Activity, slot: Option<(usize, u64)>) {
        let from = self.clocks[at].now;
        let span = self.span(at, [from, from + cycles], activity, slot);
        self.record(at, span);
        self.clocks[at].now += cycles;
    }

    /// Time that goes by until then.
    fn wait(
        &mut self,
        at: usize,
        ready: Option<u64>,
        activity: Activity,
        slot: Option<(usize, u64)>,
    ) {
        let from = self.clocks[at].now;
        let cycles = ready.map_or(0, |ready| ready.saturating_sub(from));
        self.spend(at, cycles, activity, slot);
        self.clocks[at].now += self.costs.step_cycles;
    }
}

/// Something that a phase of a barrier counts is heard then.
fn tell(phases: &mut Phases, phase: u64, heard: u64) {
    let at = phase as usize;
    if phases.len() <= at {
        phases.resize(at + 1, 0);
    }
    phases[at] = phases[at].max(heard);
}
