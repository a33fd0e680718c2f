//! From accesses to global memory to the race detector, and from clusters in conflict to findings.

use crate::exec::state::{Crossing, Env, Site, State, StrongPlace, Touch, Who, ctas_of, lanes_of};
use crate::finding;
use crate::finding::{Finding, FindingId, Level, OtherSide, Space, Threads};
use crate::inst::{Lanes, Order};
use crate::options::Sanitize;

impl State<'_> {
    /// Shows accesses of a warp to the detector; `value` gives the word that a lane stores.
    pub(crate) fn watch_global(
        &mut self,
        touch: Touch,
        order: Order,
        site: Site,
        (addresses, bytes): (&[u64; 32], u32),
        value: impl Fn(usize, u32) -> u32,
    ) {
        let Some(mut race) = self.race.take() else {
            return;
        };
        let exists = |lane: &usize| {
            let hint = &mut self.region_hint;
            let region = self
                .env
                .global
                .find(addresses[*lane], u64::from(bytes), hint);
            region.is_some()
        };
        let lanes = lanes_of(site.lanes)
            .filter(exists)
            .fold(0, |all, lane| all | 1 << lane);
        let site = Site { lanes, ..site };
        if touch.way.strong {
            for lane in lanes_of(lanes) {
                let here = Site {
                    lanes: 1 << lane,
                    ..site
                };
                let (place, ways) = ((addresses[lane], bytes), (touch.reads, touch.writes));
                race.strong(StrongPlace::Global(place.0, place.1), (order, ways), here);
                if let Ok(mut meetings) = self.env.meetings.lock() {
                    let meeting = meetings.entry(place).or_default();
                    race.meet(ways, order, meeting, here);
                }
            }
        }
        race.global_access(touch, site, (addresses, bytes), value);
        if touch.way.strong && touch.writes {
            race.next_epoch(site);
        }
        self.race = Some(race);
        self.report_conflicts();
    }
}

/// The finding of two clusters that touch one word.
pub(crate) fn crossing(env: &Env<'_>, found: &Crossing) -> Finding {
    let threads = |(who, lane): (Who, u8)| {
        let ctas = ctas_of(env.launch, u64::from(who.cluster));
        let cta = ctas
            .get(who.site.rank as usize)
            .copied()
            .unwrap_or_default();
        let lanes = if who.way.asynchronous {
            who.site.lanes
        } else {
            1 << lane
        };
        Threads {
            cta,
            warp: who.site.warp,
            lanes,
        }
    };
    let (pc, other_pc) = (found.later.0.site.pc, found.earlier.0.site.pc);
    let line = |pc: u32| env.code.get(pc as usize).map_or(0, |inst| inst.line);
    let (mine, theirs) = (threads(found.later), threads(found.earlier));
    let region = env.global.nearest(found.address);
    let location = finding::Location {
        space: Space::Global,
        buffer: region.map(|(region, _)| region.name.clone()),
        offset_bytes: region.map_or(found.address as i64, |(_, offset)| offset),
        address: found.address,
    };
    let function = env.module.function_at(pc);
    // A compare-and-swap loop reads its seed without order; a lost race makes it repeat.
    let strict = env.options.sanitize == Sanitize::Strict;
    let has_seed = |who: &Who| who.way.has_seed(strict);
    let seed = found.kind == "raw" && has_seed(&found.earlier.0) && !found.later.0.way.strong;
    let seed = seed || found.kind == "war" && has_seed(&found.later.0);
    let level = match (found.id, seed) {
        (FindingId::RaceGlobal, true) => Level::Info,
        (id, _) => id.level(),
    };
    let what = what(found);
    Finding {
        id: found.id,
        level,
        kernel: env.entry.name.clone(),
        function: function.map_or(String::new(), |f| f.name.clone()),
        pc,
        line: line(pc),
        cta: mine.cta,
        warp: mine.warp,
        lanes: mine.lanes,
        location: Some(location),
        other: Some(OtherSide {
            pc: other_pc,
            line: line(other_pc),
            by: Some(theirs),
        }),
        message: format!(
            "{} with the access at line {}: {what}",
            found.kind,
            line(other_pc)
        ),
        count: 1,
    }
}

/// What is wrong between two clusters.
fn what(found: &Crossing) -> &'static str {
    match found.id {
        FindingId::ReadOnlyWritten => "the read-only cache does not see what the launch stores",
        FindingId::AtomicScope => "its scope does not reach the other CTA",
        FindingId::MissingProxyFence => {
            "fence.proxy.async is missing behind it, or before the copy"
        }
        FindingId::MixedProxyAtomic => "an atomic and a reducing copy are not atomic to each other",
        _ if found.half => {
            "a release and an acquire order the two CTAs, but not these two accesses: is a barrier \
             missing on one side?"
        }
        _ => "nothing orders the two CTAs",
    }
}

/// The 32 bits from `offset` on of what a lane stores.
pub(crate) fn word_of(values: &[Lanes], bytes: u32, lane: usize, offset: u32) -> u32 {
    let value = values.get((offset / bytes) as usize);
    let value = value.map_or(0, |value| value[lane]) >> (8 * (offset % bytes));
    match (bytes, values.get((offset / bytes) as usize + 1)) {
        // Two halves, or four bytes, make a word.
        (1 | 2, Some(_)) => {
            let parts = (0..4 / bytes).filter_map(|index| {
                let value = values.get((offset / bytes + index) as usize)?[lane];
                Some((value as u32) << (8 * bytes * index))
            });
            parts.fold(0, |all, part| all | part)
        }
        _ => value as u32,
    }
}
