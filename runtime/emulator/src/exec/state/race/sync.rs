//! What orders accesses: barriers, mbarriers, fences, waits.

use std::rc::Rc;

use super::clock::Clock;
use super::{Object, Race, Signal};
use crate::exec::state::site::Site;
use crate::exec::state::site::{Place, lanes_of};
use crate::inst::Reach;

impl Race {
    /// What the lanes of a site know together, their own accesses included.
    pub(super) fn published(&self, site: Site) -> Clock {
        let warp = self.warp(site.rank, site.warp);
        let epoch = self.epoch(warp);
        let mut known: Vec<Rc<Clock>> = Vec::new();
        for lane in lanes_of(site.lanes) {
            let clock = self.clock(32 * warp + lane as u32);
            if !known.iter().any(|other| Rc::ptr_eq(other, &clock)) {
                known.push(clock);
            }
        }
        let mut clock = known
            .first()
            .map(|clock| (**clock).clone())
            .unwrap_or_default();
        for other in known.iter().skip(1) {
            clock.join(other);
        }
        for lane in lanes_of(site.lanes) {
            clock.see(32 * warp + lane as u32, epoch);
        }
        clock
    }

    /// What the warp does from here on is told apart from what it did.
    pub(crate) fn next_epoch(&mut self, site: Site) {
        let warp = self.warp(site.rank, site.warp);
        if let Some(epoch) = self.epochs.get_mut(warp as usize) {
            *epoch += 1;
        }
    }

    /// Changes the clocks of the lanes; lanes that knew the same still do.
    pub(super) fn update(&mut self, site: Site, change: impl Fn(&mut Clock)) {
        let warp = self.warp(site.rank, site.warp);
        let mut done: Vec<(Rc<Clock>, Rc<Clock>)> = Vec::new();
        for lane in lanes_of(site.lanes) {
            let index = 32 * warp as usize + lane;
            let Some(clock) = self.clocks.get_mut(index) else {
                continue;
            };
            let known = done.iter().find(|(old, _)| Rc::ptr_eq(old, clock));
            if let Some((_, new)) = known {
                *clock = Rc::clone(new);
                continue;
            }
            let mut new = (**clock).clone();
            change(&mut new);
            let new = Rc::new(new);
            done.push((Rc::clone(clock), Rc::clone(&new)));
            *clock = new;
        }
    }

    pub(super) fn acquire(&mut self, site: Site, from: &Rc<Clock>) {
        self.update(site, |clock| clock.join(from));
    }

    /// An arrival at a CTA barrier. Gives one of the generation before that it is not ordered
    /// behind: whoever is behind the end of a generation is behind all its arrivals.
    pub(crate) fn barrier_arrive(&mut self, id: u32, site: Site) -> Option<Site> {
        let published = self.published(site);
        let warp = self.warp(site.rank, site.warp);
        let here = (
            32 * warp + site.lanes.trailing_zeros(),
            self.epoch(warp),
            site,
        );
        let meeting = self.barriers.entry((site.rank, id)).or_default();
        meeting.channel.pending.join(&published);
        meeting.arrived.push(here);
        let late = |(thread, epoch, _): &&(u32, u32, Site)| published.seen(*thread) < *epoch;
        let unordered = meeting.last.iter().find(late).map(|(.., site)| *site);
        self.next_epoch(site);
        unordered
    }

    /// A generation of a CTA barrier is complete.
    pub(crate) fn barrier_complete(&mut self, rank: u32, id: u32) {
        if let Some(meeting) = self.barriers.get_mut(&(rank, id)) {
            let channel = &mut meeting.channel;
            channel.complete = Rc::new(std::mem::take(&mut channel.pending));
            meeting.last = std::mem::take(&mut meeting.arrived);
        }
    }

    /// The lanes go on behind a CTA barrier.
    pub(crate) fn barrier_pass(&mut self, id: u32, site: Site) {
        let from = self.barriers.get(&(site.rank, id));
        if let Some(from) = from.map(|meeting| Rc::clone(&meeting.channel.complete)) {
            self.acquire(site, &from);
        }
    }

    pub(crate) fn cluster_arrive(&mut self, relaxed: bool, site: Site) {
        let published = if relaxed {
            self.released(true, site)
        } else {
            self.published(site)
        };
        self.cluster.pending.join(&published);
        self.next_epoch(site);
    }

    pub(crate) fn cluster_complete(&mut self) {
        self.cluster.complete = Rc::new(std::mem::take(&mut self.cluster.pending));
    }

    pub(crate) fn cluster_pass(&mut self, site: Site) {
        let from = Rc::clone(&self.cluster.complete);
        self.acquire(site, &from);
    }

    /// `bar.warp.sync`.
    pub(crate) fn warp_join(&mut self, site: Site) {
        let joined = Rc::new(self.published(site));
        self.next_epoch(site);
        self.acquire(site, &joined);
    }

    /// `fence.proxy.async`, of shared memory and of global memory.
    pub(crate) fn proxy_fence(&mut self, spaces: (bool, bool), site: Site) {
        let warp = self.warp(site.rank, site.warp);
        let epoch = self.epoch(warp);
        self.update(site, |clock| {
            clock.fence(spaces);
            for lane in lanes_of(site.lanes) {
                clock.fence_agent(spaces, 32 * warp + lane as u32, epoch);
            }
        });
        self.next_epoch(site);
    }

    /// A new mbarrier.
    pub(crate) fn object_init(&mut self, place: Place, site: Site) {
        let warp = self.warp(site.rank, site.warp);
        let init = self.next_init(32 * warp + site.lanes.trailing_zeros(), self.epoch(warp));
        let signal = self.next_signal;
        self.next_signal += 1;
        let object = Object {
            signal,
            init,
            ..Object::default()
        };
        self.objects.insert(place, object);
    }

    /// An arrival at an mbarrier, before it may complete the phase.
    ///
    /// In strict mode one with the scope of the CTA releases nothing to other CTAs but the ends of
    /// asynchronous operations that it knows of: those are over, whoever hears of it. Compilers and
    /// libraries rely on more, so the default mode takes every scope for the cluster's.
    pub(crate) fn object_arrive(&mut self, place: Place, reach: Reach, site: Site) {
        let mut published = self.published(site);
        let far = self.strict && place.0 != site.rank;
        match reach {
            _ if !self.strict => {}
            Reach::Relaxed => {
                published.keep_from(self.threads);
                published.join(&self.released(place.0 != site.rank, site));
            }
            Reach::Cta if far => published.keep_from(self.threads),
            _ => {}
        }
        if place.0 != site.rank {
            self.remote_arrival(place.0, &mut published, site);
        }
        if let Some(object) = self.objects.get_mut(&place) {
            object.far.pending.join(&published);
            if far {
                published.keep_from(self.threads);
            }
            object.channel.pending.join(&published);
        }
        self.next_epoch(site);
    }

    /// The phase of an mbarrier is complete; what was passed on stays known.
    pub(crate) fn object_complete(&mut self, place: Place) {
        if let Some(object) = self.objects.get_mut(&place) {
            for channel in [&mut object.channel, &mut object.far] {
                channel.complete = Rc::new(channel.pending.clone());
            }
        }
    }

    /// The lanes saw that so many phases are complete.
    pub(crate) fn object_pass(&mut self, phases: (Place, u64), reach: Reach, site: Site) {
        let Some(object) = self.objects.get(&phases.0) else {
            return;
        };
        let from = match reach {
            _ if !self.strict => &object.channel,
            Reach::Relaxed => return self.object_met(phases, site),
            Reach::Cta => &object.channel,
            Reach::Cluster => &object.far,
        };
        let (from, signal) = (Rc::clone(&from.complete), object.signal);
        self.update(site, |clock| {
            clock.join(&from);
            clock.see(signal, phases.1 as u32);
        });
    }

    /// The lanes saw it by a relaxed wait: their next fences acquire what it tells.
    fn object_met(&mut self, (place, count): (Place, u64), site: Site) {
        let Some(object) = self.objects.get(&place) else {
            return;
        };
        let complete = [&object.channel, &object.far].map(|channel| Rc::clone(&channel.complete));
        let signal = object.signal;
        for thread in self.lanes_at(site) {
            for (told, far) in complete.iter().zip([false, true]) {
                let met = self.met.entry((thread, far)).or_default();
                met.join(told);
                met.see(signal, count as u32);
            }
        }
    }

    /// The lanes waited for everything of a signal up to a value.
    pub(crate) fn signal_pass(&mut self, signal: Signal, value: u32, site: Site) {
        let agent = self.signal(signal);
        self.update(site, |clock| clock.see(agent, value));
    }

    /// An mbarrier is told of the end of a warp's copies.
    pub(crate) fn object_sees_copies(&mut self, place: Place, value: u32, site: Site) {
        let thread = 32 * self.warp(site.rank, site.warp) + site.lanes.trailing_zeros();
        let agent = self.signal(Signal::Copies(thread));
        if let Some(object) = self.objects.get_mut(&place) {
            object.channel.pending.see(agent, value);
            object.far.pending.see(agent, value);
        }
    }
}
