//! What CTA 0 did, as lanes of a timeline.

use super::Phases;
use crate::certify::pipeline::Machine;
use crate::certify::timeline::{Activity, Lane, Span};
use crate::plan::data::teams::Team;

/// Spans of all roles, and of the engines of CTA 0.
#[derive(Default)]
pub(super) struct Recorded {
    pub roles: Vec<Vec<Span>>,
    pub loads: Vec<Span>,
    pub stores: Vec<Span>,
}

impl Recorded {
    pub(super) fn new(roles: usize) -> Recorded {
        Recorded {
            roles: vec![Vec::new(); roles],
            ..Recorded::default()
        }
    }

    /// The rows: producer, loads, consumers, stores, slots. Of the slots' full and empty barriers
    /// the ends of their phases are given.
    pub(super) fn lanes(
        &self,
        machine: &Machine<'_>,
        slots: u32,
        barriers: [&Vec<Phases>; 2],
    ) -> Vec<Lane> {
        let lane = |name: &str, spans: &[Span]| Lane {
            name: name.to_owned(),
            spans: spans.to_vec(),
        };
        let here = || {
            let all = machine.agents.iter().zip(&self.roles);
            all.filter(|(agent, _)| agent.cta == 0)
        };
        let mut lanes = Vec::new();
        for (_, spans) in here().filter(|(agent, _)| agent.team == Team::Producer) {
            lanes.push(lane("producer", spans));
        }
        lanes.push(lane("loads", &self.loads));
        for (agent, spans) in here().filter(|(agent, _)| agent.team == Team::Consumers) {
            lanes.push(lane(&format!("consumer {}", agent.number), spans));
        }
        lanes.push(lane("stores", &self.stores));
        let spans: Vec<Span> = here()
            .flat_map(|(_, spans)| spans.iter().copied())
            .collect();
        for slot in 0..slots {
            let phases = barriers.map(|barriers| {
                let of_slot = barriers.get(slot as usize);
                of_slot.map_or(&[] as &[u64], Vec::as_slice)
            });
            let states = states(slot, &spans, phases);
            lanes.push(lane(&format!("slot {slot}"), &states));
        }
        lanes
    }
}

/// The states of a slot: from request to full to read to given back.
fn states(slot: u32, spans: &[Span], [full, empty]: [&[u64]; 2]) -> Vec<Span> {
    let mut states = Vec::new();
    for (round, full) in full.iter().enumerate() {
        let first = |activity: Activity| {
            let here = |span: &&Span| {
                span.activity == activity
                    && span.slot == Some(slot)
                    && span.phase == Some(round as u64)
            };
            spans.iter().filter(here).min_by_key(|span| span.from)
        };
        let (Some(request), Some(read)) = (first(Activity::Request), first(Activity::Multiply))
        else {
            continue;
        };
        let given_back = empty.get(round).copied().unwrap_or(read.to);
        for (activity, from, to) in [
            (Activity::Filling, request.from, *full),
            (Activity::Full, *full, read.from),
            (Activity::Reading, read.from, given_back),
        ] {
            if to > from {
                let (slot, phase, tile) = (request.slot, request.phase, request.tile);
                let k_tile = request.k_tile;
                states.push(Span {
                    from,
                    to,
                    activity,
                    slot,
                    phase,
                    tile,
                    k_tile,
                });
            }
        }
    }
    states
}

/// Cycles in which the tensor cores multiply.
pub(super) fn multiply_cycles(lanes: &[Lane]) -> u64 {
    let spans = lanes.iter().flat_map(|lane| &lane.spans);
    let products = spans.filter(|span| span.activity == Activity::Multiply);
    products.map(|span| span.to - span.from).sum()
}
