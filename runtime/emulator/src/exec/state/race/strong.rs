//! Strong accesses: what they release at their location, and what they acquire there.
//!
//! A write releases what its thread knows where it says so, and else what fences covered; a read
//! acquires where it says so, and else the thread's next fence does (PTX ISA, "Release and Acquire
//! Patterns"). Inside a cluster only the strict mode asks for either.

use std::rc::Rc;

use super::clock::Clock;
use super::{Race, StrongPlace};
use crate::exec::state::site::Site;
use crate::exec::state::view::Meeting;
use crate::inst::{Order, Scope};

/// What strong accesses left at a location for threads of the cluster.
#[derive(Debug, Default)]
pub(super) struct Location {
    left: Rc<Clock>,
    /// The thread of the last plain store.
    last: u32,
}

impl Location {
    /// As [`Meeting::leave`].
    fn leave(&mut self, told: Clock, by: u32, atomic: bool) {
        if atomic || self.last == by {
            Rc::make_mut(&mut self.left).join(&told);
        } else {
            (self.left, self.last) = (Rc::new(told), by);
        }
    }
}

impl Race {
    /// A strong access of a lane, which reads or writes, at its location in the cluster.
    pub(crate) fn strong(
        &mut self,
        place: StrongPlace,
        (order, (reads, writes)): (Order, (bool, bool)),
        site: Site,
    ) {
        if !self.strict {
            return self.strong_in_any_order(place, site);
        }
        let thread = self.first_thread(site);
        // With the scope of the CTA it meets those of its CTA alone.
        let both = [(false, Some(site.rank)), (true, None)];
        let meets = &both[..1 + usize::from(order.scope > Scope::Cta)];
        for (far, at) in meets.iter().filter(|_| reads) {
            let Some(location) = self.locations.get(&(place, *at)) else {
                continue;
            };
            let left = Rc::clone(&location.left);
            match order.acquire {
                true => self.acquire(site, &left),
                false => self.met.entry((thread, *far)).or_default().join(&left),
            }
        }
        if !writes {
            return;
        }
        let released = order.release.then(|| self.published(site));
        for (far, at) in meets {
            let told = match &released {
                Some(all) => all.clone(),
                None => self.covered(*far, site),
            };
            let location = self.locations.entry((place, *at)).or_default();
            location.leave(told, thread, reads);
        }
        self.next_epoch(site);
    }

    /// Compilers and libraries rely on more than is promised: every strong access orders itself
    /// with all others at its location.
    fn strong_in_any_order(&mut self, place: StrongPlace, site: Site) {
        let mut clock = self.published(site);
        let location = self.locations.entry((place, None)).or_default();
        clock.join(&location.left);
        let joined = Rc::new(clock);
        location.left = Rc::clone(&joined);
        self.next_epoch(site);
        self.acquire(site, &joined);
    }

    /// What fences covered for the other threads of a CTA, or for other CTAs: a fence of the lane,
    /// or one that a barrier orders before it.
    fn covered(&self, far: bool, site: Site) -> Clock {
        let mut told = self.released(far, site);
        let clock = self.clock(self.first_thread(site));
        if !clock.covered().is_empty() {
            told.join(&clock.of_covered(self.number));
        }
        told
    }

    /// A fence acquires what strong reads of a lane met.
    pub(super) fn hear_what_was_met(&mut self, scope: Scope, site: Site) {
        let thread = self.first_thread(site);
        for far in [false, true] {
            if far && scope <= Scope::Cta {
                return;
            }
            if let Some(met) = self.met.remove(&(thread, far)) {
                self.acquire(site, &Rc::new(met));
            }
        }
    }

    /// A strong access of a lane meets what clusters left at its address, and leaves there what it
    /// tells.
    pub(crate) fn meet(
        &mut self,
        (reads, writes): (bool, bool),
        order: Order,
        meeting: &mut Meeting,
        site: Site,
    ) {
        if !self.is_far(order.scope) {
            return;
        }
        let (own, acquire, left) = (self.number, order.acquire, &meeting.left);
        if reads && self.any_clock(site, |clock| clock.is_news(left, acquire)) {
            self.update(site, |clock| match acquire {
                true => clock.hear(left, own),
                false => clock.meet(left),
            });
        }
        if !writes {
            return;
        }
        let known = self.published(site);
        let told = match order.release {
            true => known.all(own),
            false => known.covered().clone(),
        };
        meeting.leave(told, (own, self.first_thread(site)), reads);
    }

    /// The first thread of a site.
    fn first_thread(&self, site: Site) -> u32 {
        32 * self.warp(site.rank, site.warp) + site.lanes.trailing_zeros()
    }
}
