//! Runs by the clock: what each lane does is what the pipeline's operations allow.

use super::folds::SPECIALIZED;
use super::pipeline::{KINDS, pipe, planned, right, without};
use crate::certify;
use crate::certify::timeline::{Activity, Lane, Span, Timeline};
use crate::ir::tile::{Op, Sync};
use crate::plan::data::teams::Team;
use crate::spec::keys::model::KernelSchedule;

const LENGTHS: [u32; 2] = [4, 5];

fn run(more: &str) -> (Timeline, bool) {
    let (plan, kernel) = right(more);
    let turns = plan.roles.as_ref().unwrap().schedule == KernelSchedule::Pingpong;
    let timeline = certify::timeline(&plan, &kernel, LENGTHS).unwrap();
    (timeline.unwrap(), turns)
}

fn lanes<'t>(timeline: &'t Timeline, name: &'static str) -> impl Iterator<Item = &'t Lane> {
    let lanes = timeline.lanes.iter();
    lanes.filter(move |lane| lane.name.starts_with(name))
}

fn products(lane: &Lane) -> Vec<Span> {
    let spans = lane.spans.iter().copied();
    spans
        .filter(|span| span.activity == Activity::Multiply)
        .collect()
}

#[test]
fn consumers_multiply_every_k_tile_once_in_order() {
    for more in KINDS {
        let (timeline, turns) = run(more);
        let consumers: Vec<&Lane> = lanes(&timeline, "consumer ").collect();
        assert_eq!(consumers.len(), 2);
        for (number, lane) in consumers.into_iter().enumerate() {
            let found: Vec<(u32, u32)> = products(lane)
                .iter()
                .map(|span| (span.tile, span.k_tile.unwrap()))
                .collect();
            let mine = |tile: &u32| !turns || *tile % 2 == number as u32;
            let wanted: Vec<(u32, u32)> = (0..LENGTHS[0])
                .filter(mine)
                .flat_map(|tile| (0..LENGTHS[1]).map(move |k_tile| (tile, k_tile)))
                .collect();
            assert_eq!(found, wanted, "{more}");
        }
    }
}

#[test]
fn the_tensor_cores_do_one_thing_at_a_time() {
    for more in KINDS {
        let (timeline, _) = run(more);
        let mut all: Vec<Span> = lanes(&timeline, "consumer ").flat_map(products).collect();
        all.sort_by_key(|span| span.from);
        assert!(
            all.windows(2).all(|pair| pair[0].to <= pair[1].from),
            "{more}"
        );
        let tiles = u64::from(LENGTHS[0] * LENGTHS[1]);
        assert_eq!(
            timeline.multiply_cycles,
            tiles * timeline.costs.k_tile_cycles
        );
        assert!(timeline.cycles > timeline.multiply_cycles);
    }
}

#[test]
fn products_side_by_side_take_the_tensor_cores_one_after_another() {
    let (plan, kernel) = planned(SPECIALIZED);
    let timeline = certify::timeline(&plan, &kernel, LENGTHS).unwrap().unwrap();
    assert_eq!(plan.planes(), 2);
    // Twice a tile of 128x64x64, by 4096 floating-point operations of bf16 a cycle.
    assert_eq!(timeline.costs.k_tile_cycles, 2 * 2 * 128 * 64 * 64 / 4096);
}

#[test]
fn slots_are_filled_then_read_then_filled_again() {
    for more in KINDS {
        let (timeline, _) = run(more);
        for lane in lanes(&timeline, "slot ") {
            let pairs = lane.spans.windows(2);
            assert!(pairs.clone().all(|pair| pair[0].to <= pair[1].from));
            let activities: Vec<Activity> = lane.spans.iter().map(|span| span.activity).collect();
            for pair in activities.windows(2) {
                let next = match pair[0] {
                    Activity::Filling => [Activity::Full, Activity::Reading],
                    Activity::Full => [Activity::Reading; 2],
                    _ => [Activity::Filling; 2],
                };
                assert!(
                    next.contains(&pair[1]),
                    "{more}: {} {activities:?}",
                    lane.name
                );
            }
        }
        let slots: Vec<&Lane> = lanes(&timeline, "slot ").collect();
        for span in lanes(&timeline, "consumer ").flat_map(products) {
            let slot = slots[span.slot.unwrap() as usize];
            let filling = slot.spans.iter().find(|filling| {
                filling.activity == Activity::Filling && filling.phase == span.phase
            });
            assert!(filling.unwrap().to <= span.from, "{more}");
        }
    }
}

#[test]
fn loads_of_the_next_tile_run_under_the_epilogue() {
    for more in KINDS {
        let (timeline, _) = run(more);
        let spans = |name: &'static str| lanes(&timeline, name).flat_map(|lane| &lane.spans);
        let last = |name, activity: Activity| {
            let of_first = spans(name).filter(|span| span.activity == activity && span.tile == 0);
            of_first.map(|span| span.to).max().unwrap()
        };
        let stored = last("stores", Activity::Store);
        let next =
            spans("producer").find(|span| span.activity == Activity::Request && span.tile == 1);
        assert!(next.unwrap().from < stored, "{more}");
    }
}

#[test]
fn a_pipeline_that_does_not_run_has_no_timeline() {
    let (plan, kernel) = right(KINDS[0]);
    let release = Op::Sync(Sync::Release(pipe(&kernel, "ring"), 1));
    let broken = without(&kernel, Team::Consumers, &release);
    let message = super::refusal(certify::timeline(&plan, &broken.unwrap(), LENGTHS));
    assert!(message.contains("pipeline:"), "{message}");
}
