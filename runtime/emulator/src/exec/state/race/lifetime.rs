//! Order between CTAs of a cluster: initialised mbarriers, relaxed arrivals, and exits.

use std::rc::Rc;

use super::clock::Clock;
use super::{Init, Race, Signal};
use crate::exec::state::site::Site;
use crate::exec::state::site::{Place, lanes_of};
use crate::inst::{Scope, ThreadFence};

impl Race {
    /// The threads of a site.
    pub(super) fn lanes_at(&self, site: Site) -> impl Iterator<Item = u32> + use<> {
        let first = 32 * self.warp(site.rank, site.warp);
        lanes_of(site.lanes).map(move |lane| first + lane as u32)
    }

    /// The next initialisation of a thread.
    pub(super) fn next_init(&mut self, thread: u32, epoch: u32) -> Init {
        let next_signal = &mut self.next_signal;
        let (agent, count) = self.inits.entry(thread).or_insert_with(|| {
            *next_signal += 1;
            (*next_signal - 1, 0)
        });
        *count += 1;
        Init {
            thread,
            epoch,
            fence: (*agent, *count),
        }
    }

    /// `fence.mbarrier_init`: a relaxed arrival passes on the initialisations.
    pub(crate) fn init_fence(&mut self, site: Site) {
        for thread in self.lanes_at(site) {
            let Some((agent, count)) = self.inits.get(&thread).copied() else {
                continue;
            };
            self.change_released(true, thread, |clock| clock.see(agent, count));
            let lane = Site {
                lanes: 1 << (thread % 32),
                ..site
            };
            self.update(lane, |clock| clock.see(agent, count));
        }
    }

    /// `fence`, `membar`: acquires what strong reads met, and relaxed arrivals and strong writes
    /// pass on everything before it; in strict mode between clusters where its scope has both.
    pub(crate) fn thread_fence(&mut self, fence: ThreadFence, site: Site) {
        let scope = fence.scope;
        if scope > Scope::Cta && fence.releases {
            self.init_fence(site);
        }
        let is_far = self.is_far(scope);
        for thread in self.lanes_at(site) {
            let lane = Site {
                lanes: 1 << (thread % 32),
                ..site
            };
            if fence.acquires {
                self.hear_what_was_met(scope, lane);
            }
            if !fence.releases {
                continue;
            }
            let known = self.published(lane);
            let holds_others = !self.strict || scope > Scope::Cta;
            self.change_released(holds_others, thread, |clock| clock.join(&known));
        }
        let own = self.number;
        if is_far {
            if fence.acquires && self.any_clock(site, Clock::has_met) {
                self.update(site, |clock| clock.hear_what_was_met(own));
            }
            if fence.releases {
                let all = self.published(site).all(own);
                self.update(site, |clock| clock.cover(&all));
            }
        }
        self.next_epoch(site);
    }

    pub(super) fn any_clock(&self, site: Site, is: impl Fn(&Clock) -> bool) -> bool {
        let clock = |thread| self.clocks.get(thread as usize);
        self.lanes_at(site)
            .any(|thread| clock(thread).is_some_and(|clock| is(clock)))
    }

    /// Changes what a thread's fences released for its CTA, and for others where they have those.
    fn change_released(&mut self, far: bool, thread: u32, change: impl Fn(&mut Clock)) {
        let others = self.released_far.get_mut(thread as usize).filter(|_| far);
        let own = self.released.get_mut(thread as usize);
        for released in own.into_iter().chain(others) {
            change(Rc::make_mut(released));
        }
    }

    /// What fences of the lanes released, for other CTAs or for their own one.
    pub(super) fn released(&self, is_far: bool, site: Site) -> Clock {
        let mut clock = Clock::default();
        let all = if is_far {
            &self.released_far
        } else {
            &self.released
        };
        for thread in self.lanes_at(site) {
            if let Some(released) = all.get(thread as usize) {
                clock.join(released);
            }
        }
        clock
    }

    /// Whether what says that scope orders clusters: in strict mode the GPU's and wider ones do.
    pub(super) fn is_far(&self, scope: Scope) -> bool {
        !self.strict || scope >= Scope::Gpu
    }

    /// `griddepcontrol.wait`.
    pub(crate) fn grid_waited(&mut self, site: Site) {
        let agent = self.signal(Signal::Grid);
        self.update(site, |clock| clock.see(agent, 1));
    }

    /// The lanes that are not ordered behind a `griddepcontrol.wait` of their cluster.
    pub(crate) fn before_grid_wait(&mut self, site: Site) -> u32 {
        let agent = self.signal(Signal::Grid);
        let early = self.lanes_at(site).filter(|thread| {
            let clock = self.clocks.get(*thread as usize);
            clock.is_none_or(|clock| clock.seen(agent) == 0)
        });
        early.fold(0, |all, thread| all | 1 << (thread % 32))
    }

    /// Whether the lanes are ordered behind the initialisation of an mbarrier. In strict mode
    /// another CTA needs `fence.mbarrier_init` behind it.
    pub(crate) fn object_ordered(&self, place: Place, site: Site) -> bool {
        let Some(object) = self.objects.get(&place) else {
            return true;
        };
        let init = object.init;
        let foreign = self.strict && place.0 != site.rank;
        self.lanes_at(site).all(|thread| {
            let clock = self.clock(thread);
            thread == init.thread
                || clock.seen(init.fence.0) >= init.fence.1
                || !foreign && clock.seen(init.thread) >= init.epoch
        })
    }

    /// A lane touches the shared memory of another CTA.
    pub(crate) fn remote_access(&mut self, rank: u32, site: Site) {
        let epoch = self.epoch(self.warp(site.rank, site.warp));
        for thread in self.lanes_at(site) {
            self.remotes.insert((rank, thread), (epoch, site));
        }
    }

    /// Lanes arrive at an mbarrier of another CTA and publish a clock with it.
    pub(super) fn remote_arrival(&mut self, rank: u32, published: &mut Clock, site: Site) {
        let epoch = self.epoch(self.warp(site.rank, site.warp));
        for thread in self.lanes_at(site) {
            let agent = self.signal(Signal::Arrivals(thread));
            published.see(agent, epoch);
            let lanes = 1 << (thread % 32);
            let site = Site { lanes, ..site };
            self.update(site, |clock| clock.see(agent, epoch));
            self.arrivals.insert((rank, thread), (agent, epoch, site));
        }
    }

    /// Lanes exit: what they know orders the end of their CTA.
    pub(crate) fn thread_exit(&mut self, site: Site) {
        let known = self.published(site);
        self.exits.entry(site.rank).or_default().join(&known);
    }

    /// Accesses of other CTAs that the end of a CTA is not ordered behind.
    pub(crate) fn unordered_remotes(&mut self, rank: u32) -> Vec<Site> {
        let known = self.exits.remove(&rank).unwrap_or_default();
        let touched = self.remotes.range((rank, 0)..=(rank, u32::MAX));
        let late = touched.filter(|((_, thread), (epoch, _))| known.seen(*thread) < *epoch);
        let told = self.arrivals.range((rank, 0)..=(rank, u32::MAX));
        let untold = told.filter(|(_, (agent, epoch, _))| known.seen(*agent) < *epoch);
        let untold = untold.map(|(_, (_, _, site))| *site);
        late.map(|(_, (_, site))| *site).chain(untold).collect()
    }
}
