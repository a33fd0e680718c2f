//! The synchronization of a plan: for everything its kernel waits for and tells, the atom that does
//! it on the architecture.
//!
//! Comes in: a plan with everything else decided. Goes out: its table of atoms by what they do, or
//! a violated limit for each that the architecture lacks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arch::{ARCHES, Arch, WARP};
use crate::atoms::model::{Atom, Space};
use crate::atoms::sync::{Act, Scope, SyncFacts};
use crate::error::{Message, Violation, message};
use crate::plan::data::choices::{Choice, LeftOut};
use crate::plan::data::combining::InOrder;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;
use crate::plan::data::values::Every;
use crate::plan::data::warp_roles::Roles;
use crate::plan::instructions::choose::Chooser;
use crate::plan::work_tiles::parts::PartRule;
use crate::spec::Phrase;
use crate::spec::keys::model::LaunchKind;
use crate::spec::keys::paths;

#[cfg(test)]
mod tests;

/// What a part of a kernel stands on.
struct Need {
    /// The part, with the key that asks for it.
    of: Phrase,
    /// What to ask for instead.
    instead: Phrase,
    /// Whether the kernel has the part.
    when: fn(&Plan) -> bool,
    /// What it does to synchronize.
    facts: &'static [SyncFacts],
}

/// Every part of a kernel that synchronizes.
const NEEDS: &[Need] = &[
    Need {
        of: Phrase::new("a tile in shared memory", &[]),
        instead: Phrase::new("copies past shared memory", &[]),
        when: |plan| match &plan.roles {
            Some(_) => plan.work.launched_together() == 1,
            None => plan.stages > 0,
        },
        facts: &[SyncFacts::of(Act::Meet, Scope::Cta)],
    },
    Need {
        of: Phrase::new("a fold of several threads' values ({})", &["compute"]),
        instead: Phrase::new("one thread for each row", &[]),
        when: |plan| {
            let of_lanes = plan.combinings().any(|one| one.lanes != 0);
            let few = |sums: &InOrder| sums.elements(plan.tile()) <= i64::from(WARP / 2);
            let of_terms = plan.in_order().any(|(_, sums)| few(sums));
            of_lanes || of_terms || plan.folds().any(|fold| fold.spread.count > 1)
        },
        facts: &[SyncFacts::of(Act::Exchange, Scope::Warp)],
    },
    Need {
        of: Phrase::new("a sum of many values in a fixed order ({})", &["compute"]),
        instead: Phrase::new("a fold of a kernel behind this one", &[]),
        when: |plan| plan.in_order().next().is_some(),
        facts: &[
            SyncFacts::of(Act::StoreTerm, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::LoadTerm, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::TakeTicket, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::Meet, Scope::Warp),
        ],
    },
    Need {
        of: Phrase::new(
            "a sum of several warps' values in a fixed order ({})",
            &["compute"],
        ),
        instead: Phrase::new("a fold of a kernel behind this one", &[]),
        when: |plan| plan.roles.is_none() && plan.in_order().next().is_some(),
        facts: &[SyncFacts::of(Act::Meet, Scope::Cta)],
    },
    Need {
        of: Phrase::new("a fold of several warps' values ({})", &["compute"]),
        instead: Phrase::new("fewer threads", &[]),
        when: |plan| {
            let alone = plan.work.shared_by == 1;
            alone && plan.folds().any(|fold| fold.spread.crosses_warps())
        },
        facts: &[SyncFacts::of(Act::Meet, Scope::Cta)],
    },
    Need {
        of: Phrase::new("a fold of several CTAs' values ({})", &["cluster"]),
        instead: Phrase::new("{} (1,1,1)", &["cluster"]),
        when: |plan| plan.work.shared_by > 1,
        facts: &[
            SyncFacts::of(Act::Arrive, Scope::Cluster),
            SyncFacts::of(Act::Await, Scope::Cluster),
            SyncFacts::of(Act::StoreRemote, Scope::Cluster).on(Space::Smem),
        ],
    },
    Need {
        of: Phrase::new("an asynchronous copy (g2s)", &[]),
        instead: Phrase::new("copies through registers (g2r)", &[]),
        when: |plan| plan.steps.iter().any(|step| step.hop == Hop::G2s),
        facts: &[
            SyncFacts::of(Act::CommitCopies, Scope::Thread),
            SyncFacts::of(Act::AwaitCopies, Scope::Thread),
        ],
    },
    Need {
        of: Phrase::new("{} cooperative or pingpong", &["pipeline.schedule"]),
        instead: Phrase::new("{} multistage", &["pipeline.schedule"]),
        when: |plan| plan.roles.is_some(),
        facts: &[
            SyncFacts::of(Act::Elect, Scope::Warp),
            SyncFacts::of(Act::PrefetchMap, Scope::Gpu),
            SyncFacts::of(Act::MbarrierInit, Scope::Cta),
            SyncFacts::of(Act::FenceMbarrierInit, Scope::Cluster),
            SyncFacts::of(Act::MbarrierArriveExpect, Scope::Cta),
            SyncFacts::of(Act::MbarrierAwait, Scope::Cta),
            SyncFacts::of(Act::FenceProducts, Scope::Warpgroup),
            SyncFacts::of(Act::CommitProducts, Scope::Warpgroup),
            SyncFacts::of(Act::AwaitProducts, Scope::Warpgroup),
        ],
    },
    Need {
        of: Phrase::new("a ring or turns in one CTA ({})", &["pipeline.schedule"]),
        instead: Phrase::new("{} multistage", &["pipeline.schedule"]),
        when: |plan| {
            with(plan, |roles| {
                plan.work.cluster().neighbours() == 1 || roles.takes_turns()
            })
        },
        facts: &[SyncFacts::of(Act::MbarrierArrive, Scope::Cta)],
    },
    Need {
        of: Phrase::new("a {} of several CTAs", &["cluster"]),
        instead: Phrase::new("{} (1,1,1)", &["cluster"]),
        when: |plan| plan.work.cluster().neighbours() > 1,
        facts: &[
            SyncFacts::of(Act::Arrive, Scope::Cluster),
            SyncFacts::of(Act::Await, Scope::Cluster),
            SyncFacts::of(Act::MbarrierArrive, Scope::Cluster),
        ],
    },
    Need {
        of: Phrase::new(
            "a producer with fewer registers ({})",
            &["pipeline.producer_registers"],
        ),
        instead: Phrase::new("{} multistage", &["pipeline.schedule"]),
        when: |plan| with(plan, Roles::splits_registers),
        facts: &[
            SyncFacts::of(Act::IncreaseRegisters, Scope::Warpgroup),
            SyncFacts::of(Act::DecreaseRegisters, Scope::Warpgroup),
        ],
    },
    Need {
        of: Phrase::new("{} programmatic", &["scheduler.launch"]),
        instead: Phrase::new("{} plain", &["scheduler.launch"]),
        when: |plan| plan.launch == LaunchKind::Programmatic,
        facts: &[
            SyncFacts::of(Act::AwaitGrids, Scope::Gpu),
            SyncFacts::of(Act::LaunchGrids, Scope::Gpu),
        ],
    },
    Need {
        of: Phrase::new(
            "a warpgroup that meets by itself ({})",
            &["pipeline.schedule"],
        ),
        instead: Phrase::new("{} multistage", &["pipeline.schedule"]),
        when: |plan| {
            let adds = plan.in_order().next().is_some();
            // Parts of a cluster meet as it does.
            let hands_on = plan.work.spans().is_some();
            let alone = |roles: &Roles| roles.takes_turns() || hands_on || adds;
            with(plan, |roles| roles.store.is_some() || alone(roles))
        },
        facts: &[SyncFacts::of(Act::Meet, Scope::Warps)],
    },
    Need {
        of: Phrase::new("an operand of the epilogue by boxes ({})", &["copy"]),
        instead: Phrase::new("its g2r", &[]),
        when: |plan| with(plan, |roles| roles.pipe(Every::WorkTile).is_some()),
        facts: &[
            SyncFacts::of(Act::Meet, Scope::Warp),
            SyncFacts::of(Act::MbarrierArrive, Scope::Cta),
        ],
    },
    Need {
        of: Phrase::new("an operand of each trip by boxes ({})", &["copy"]),
        instead: Phrase::new("its g2r", &[]),
        when: |plan| with(plan, Roles::threads_read_slots),
        facts: &[
            SyncFacts::of(Act::FenceAsyncProxy, Scope::Cta).on(Space::Smem),
            SyncFacts::of(Act::Meet, Scope::Warp),
        ],
    },
    Need {
        of: Phrase::new("a store by boxes ({})", &["copy.{d}.s2g"]),
        instead: Phrase::new("{}", &["copy.{d}.r2g"]),
        when: |plan| with(plan, |roles| roles.store.is_some()),
        facts: &[
            SyncFacts::of(Act::FenceAsyncProxy, Scope::Cta).on(Space::Smem),
            SyncFacts::of(Act::CommitBulk, Scope::Thread),
            SyncFacts::of(Act::AwaitBulkReads, Scope::Thread),
        ],
    },
    Need {
        of: Phrase::new("tiles cut along k for a {}", &["cluster"]),
        instead: Phrase::new("{} (1,1,1)", &["cluster"]),
        when: |plan| plan.work.parts().is_some(),
        facts: &[
            SyncFacts::of(Act::Arrive, Scope::Cluster),
            SyncFacts::of(Act::Await, Scope::Cluster),
            SyncFacts::of(Act::StorePartial, Scope::Cluster).on(Space::Smem),
        ],
    },
    Need {
        of: Phrase::new("tiles cut along k for a {}", &["cluster"]),
        instead: Phrase::new("{} (1,1,1)", &["cluster"]),
        when: |plan| plan.work.parts().is_some_and(|rule| !rule.shares_sums()),
        facts: &[SyncFacts::of(Act::AddPartial, Scope::Cluster).on(Space::Smem)],
    },
    Need {
        of: Phrase::new("tiles cut along k for a {}", &["cluster"]),
        instead: Phrase::new("{} (1,1,1)", &["cluster"]),
        when: |plan| plan.work.parts().is_some_and(PartRule::shares_sums),
        facts: &[
            SyncFacts::of(Act::SumPartials, Scope::Cluster).on(Space::Smem),
            SyncFacts::of(Act::TakePartial, Scope::Cluster).on(Space::Smem),
        ],
    },
    Need {
        of: Phrase::new("{} stream_k", &["scheduler.kind"]),
        instead: Phrase::new("{} persistent", &["scheduler.kind"]),
        when: |plan| plan.work.spans().is_some(),
        facts: &[
            SyncFacts::of(Act::StorePartial, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::AddPartial, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::RaiseFlag, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::AwaitFlag, Scope::Gpu).on(Space::Gmem),
            SyncFacts::of(Act::ClearFlag, Scope::Gpu).on(Space::Gmem),
        ],
    },
    Need {
        of: Phrase::new("{} stream_k", &["scheduler.kind"]),
        instead: Phrase::new("{} persistent", &["scheduler.kind"]),
        when: |plan| plan.work.spans().is_some() && plan.adds_in_pairs(),
        facts: &[SyncFacts::of(Act::AddTwoPartials, Scope::Gpu).on(Space::Gmem)],
    },
];

fn with(plan: &Plan, part: impl Fn(&Roles) -> bool) -> bool {
    plan.roles.as_ref().is_some_and(part)
}

/// Looks up everything that the plan's kernel does to synchronize.
pub(in crate::plan) fn choose(
    chooser: &mut Chooser<'_>,
    plan: &Plan,
) -> BTreeMap<SyncFacts, Arc<Atom>> {
    let mut chosen = BTreeMap::new();
    for need in NEEDS.iter().filter(|need| (need.when)(plan)) {
        for facts in need.facts {
            let atoms = chooser.catalogue.syncs(*facts);
            let newer = atoms.iter().position(|atom| atom.runs_on(chooser.arch));
            let Some(newer) = newer else {
                let message = lacking(chooser, need, *facts);
                chooser.violate("no-sync-atom", message);
                continue;
            };
            if newer > 0 {
                let left_out = atoms.iter().take(newer);
                chooser.choices.push(Choice {
                    key: format!("what {facts}"),
                    taken: atoms[newer].id.clone(),
                    left_out: left_out.map(|atom| too_new(chooser, atom)).collect(),
                });
            }
            chosen.insert(*facts, atoms[newer].clone());
        }
    }
    chosen
}

fn too_new(chooser: &Chooser<'_>, atom: &Atom) -> LeftOut {
    let message = format!(
        "{} needs {}, the arch is {}",
        atom.id,
        atom.needs(),
        chooser.arch
    );
    LeftOut {
        candidate: atom.id.clone(),
        reasons: vec![Violation::new("atom-arch", message)],
    }
}

/// What the architecture lacks, who needs it, and who has it.
fn lacking(chooser: &Chooser<'_>, need: &Need, facts: SyncFacts) -> Message {
    let has = |arch: &&Arch| chooser.catalogue.sync(facts, **arch).is_some();
    let arches: Vec<&str> = ARCHES.iter().filter(has).map(|arch| arch.name).collect();
    let others = match arches.as_slice() {
        [] => Message::default(),
        some => message!("{}, or ", paths::ARCH.with(some.join(" or "))),
    };
    message!(
        "{} needs an instruction that {facts}, {} has none: use {}{}",
        chooser.names.said(need.of),
        paths::ARCH.with(chooser.arch),
        others,
        chooser.names.said(need.instead)
    )
}
