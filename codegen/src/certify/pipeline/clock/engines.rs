//! What a role starts and what goes on beside it: loads, products, stores, and slots given back.

use super::{Before, Clock, tell};
use crate::certify::timeline::Activity;
use crate::ir::tile::{CopyId, End};

impl Clock<'_> {
    /// The boxes of an operand that this CTA asks for, for all that share them.
    pub(super) fn load(&mut self, at: usize, by: CopyId, place: (usize, u64), full: &[u64]) {
        let costs = self.costs;
        let (slot, _) = place;
        let cta = self.machine.agents[at].cta;
        // The machine has refused all else.
        let Some(load) = by.boxes(self.machine.plan) else {
            return;
        };
        let bytes = load.box_bytes() as u64 * load.places.len() as u64;
        let start = self.clocks[at].now.max(self.loads[cta]);
        let end = start + costs.l2(bytes);
        self.loads[cta] = end;
        let [from, to] = [start, end].map(|cycle| cycle + costs.load_latency_cycles);
        if cta == 0 {
            let span = self.span(at, [from, to], Activity::Load, Some(place));
            self.recorded.loads.push(span);
        }
        for other in self
            .machine
            .kernel
            .work
            .cluster()
            .sharers(load.shared_along, cta as u32)
        {
            let other = other as usize;
            let heard = to + costs.barrier_cycles;
            tell(&mut self.full[other][slot], full[other], heard);
        }
        self.spend(at, costs.step_cycles, Activity::Request, Some(place));
    }

    pub(super) fn multiply(&mut self, at: usize, place: (usize, u64)) {
        let cta = self.machine.agents[at].cta;
        self.clocks[at].now += self.costs.step_cycles;
        let now = self.clocks[at].now;
        let start = now.max(self.tensor[cta]);
        let end = start + self.costs.products_cycles;
        self.tensor[cta] = end;
        self.clocks[at].products.push_back(end);
        for (ends, activity) in [
            ([now, start], Activity::Queue),
            ([start, end], Activity::Multiply),
        ] {
            let span = self.span(at, ends, activity, Some(place));
            self.record(at, span);
        }
    }

    /// Goes on once no more than that many groups are in flight.
    pub(super) fn products_done(&mut self, at: usize, left: usize) {
        let clock = &mut self.clocks[at];
        while clock.products.len() > left {
            if let Some(end) = clock.products.pop_front() {
                clock.now = clock.now.max(end);
            }
        }
    }

    pub(super) fn release(&mut self, at: usize, lag: u32, before: &Before) {
        let agent = &self.machine.agents[at];
        if agent.trip.is_some_and(|trip| trip < lag) {
            return;
        }
        let empty = match lag {
            0 => &before.empty,
            _ => &before.empty_earlier,
        };
        let position = agent.places[self.ring.0][End::Empty as usize];
        let Some(position) = position.checked_sub(u64::from(lag)) else {
            return;
        };
        let stages = u64::from(self.machine.slots(self.ring));
        let place = ((position % stages) as usize, position / stages);
        let cta = agent.cta as u32;
        let heard = self.clocks[at].now + self.costs.step_cycles + self.costs.barrier_cycles;
        for other in self
            .roles
            .neighbourhood(self.machine.kernel.work.cluster(), cta)
        {
            let other = other as usize;
            tell(&mut self.empty[other][place.0], empty[other], heard);
        }
        self.spend(at, self.costs.step_cycles, Activity::Release, Some(place));
    }

    pub(super) fn stores_done(&mut self, at: usize, left: usize, activity: Activity) {
        let mut ready = None;
        while self.clocks[at].stores.len() > left {
            ready = self.clocks[at].stores.pop_front().max(ready);
        }
        self.wait(at, ready, activity, None);
    }

    /// One store; a thread that stores from registers is held up by it.
    pub(super) fn store(&mut self, at: usize, held_up: bool) {
        let cta = self.machine.agents[at].cta;
        let start = self.clocks[at].now.max(self.stores[cta]);
        let end = start + self.costs.l2(self.costs.store_bytes);
        self.stores[cta] = end;
        let span = self.span(at, [start, end], Activity::Store, None);
        if cta == 0 {
            self.recorded.stores.push(span);
        }
        if held_up {
            self.wait(at, Some(end), Activity::Store, None);
        } else {
            self.clocks[at].stores.push_back(end);
            self.clocks[at].now += self.costs.step_cycles;
        }
    }
}
