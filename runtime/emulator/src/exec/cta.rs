//! One CTA: its warps in some order, until all have exited or none can go on.

use super::env::Env;
use super::state::{Site, State};
use super::warp::{Status, Warp};
use crate::counters::Counters;
use crate::finding::{FindingId, FindingLog};
use crate::options::WarpOrder;

/// Instructions a warp may run before the next one has its turn.
const SLICE: u64 = 10_000;

/// What a CTA leaves behind.
pub(crate) struct Outcome {
    pub(crate) findings: FindingLog,
    pub(crate) counters: Counters,
    pub(crate) executed: u64,
}

/// Small generator for the random order; quality does not matter, repeatability does (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Runs one CTA; `budget` is what is left of the launch's instructions.
pub(crate) fn run(env: &Env<'_>, cta: [u32; 3], linear: u64, budget: u64) -> Outcome {
    let mut st = State::new(env, cta);
    let mut warps: Vec<Warp> = (0..st.live.len() as u32)
        .map(|id| Warp::new(&st, id))
        .collect();
    let seed = match env.options.warp_order {
        WarpOrder::Random(seed) => seed ^ linear.wrapping_mul(0xd134_2543_de82_ef95),
        _ => 0,
    };
    let mut random = Random(seed);
    while !st.stopped && warps.iter().any(|warp| !warp.done()) {
        let before = st.executed;
        turn(&mut warps, &mut st, &mut random);
        if st.executed > budget {
            let site = Site {
                pc: 0,
                warp: 0,
                lanes: 0,
            };
            let total = env.options.instructions_total;
            st.report(FindingId::NoProgress, site, None, || {
                format!("the launch executed {total} warp instructions without coming to its end")
            });
            break;
        }
        let stuck = st.executed == before && !st.stopped && warps.iter().any(|warp| !warp.done());
        if stuck && !warps.iter_mut().any(Warp::force) {
            report_deadlock(&warps, &mut st);
            break;
        }
    }
    for warp in &mut warps {
        warp.report_unwaited(&mut st);
    }
    Outcome {
        findings: st.findings,
        counters: st.counters,
        executed: st.executed,
    }
}

/// Gives every warp one turn.
fn turn(warps: &mut [Warp], st: &mut State<'_>, random: &mut Random) {
    let count = warps.len();
    for index in 0..count {
        let (index, slice) = match st.env.options.warp_order {
            WarpOrder::RoundRobin => (index, SLICE),
            WarpOrder::Reverse => (count - 1 - index, SLICE),
            WarpOrder::Random(_) => (
                (random.next() % count as u64) as usize,
                1 + random.next() % 64,
            ),
        };
        if let Some(warp) = warps.get_mut(index) {
            st.executed += warp.run(st, slice);
        }
    }
    if matches!(st.env.options.warp_order, WarpOrder::Random(_)) {
        // Chance may have passed over the only warp that can run.
        for warp in warps {
            st.executed += warp.run(st, 1);
        }
    }
}

/// Names every waiting group and what it waits for.
fn report_deadlock(warps: &[Warp], st: &mut State<'_>) {
    let live = st.live_threads();
    let mut waits = Vec::new();
    let mut site = None;
    for warp in warps {
        for group in &warp.groups {
            let line = st
                .env
                .code
                .get(group.pc as usize)
                .map_or(0, |inst| inst.line);
            let what = match group.status {
                Status::Barrier { id, .. } => {
                    let bar = st.barriers.get(id as usize);
                    let progress = bar.map_or(String::new(), |bar| bar.describe(live));
                    format!("barrier {id} ({progress})")
                }
                Status::Converge => "other lanes of the warp".to_owned(),
                Status::Ready => "its turn".to_owned(),
            };
            site.get_or_insert(Site {
                pc: group.pc,
                warp: warp.id,
                lanes: group.mask,
            });
            waits.push(format!(
                "warp {} lanes {:#010x} at line {line}: {what}",
                warp.id, group.mask
            ));
        }
    }
    let shown = waits.len().min(8);
    let more = waits.len() - shown;
    waits.truncate(shown);
    let site = site.unwrap_or(Site {
        pc: 0,
        warp: 0,
        lanes: 0,
    });
    st.report(FindingId::Deadlock, site, None, || {
        let rest = if more == 0 {
            String::new()
        } else {
            format!("; and {more} more")
        };
        format!("nothing can go on: {}{rest}", waits.join("; "))
    });
}
