//! Planning: from a point of a spec to every decision about its kernel.
//!
//! A plan names the atoms, who holds what, the shared-memory map with its swizzles, and what the
//! launch must guarantee. It decides; it emits nothing. All limits a point violates are reported
//! together.

pub mod descriptor;
pub mod work;
pub mod roles;
pub mod fold;
pub mod passes;
pub mod cast;
pub mod assumption;
pub mod choice;
pub mod sums;
pub mod combine;
pub mod flow;
pub mod model;
pub mod packed;
pub mod part;
pub mod smem;
pub mod partition;
mod choose;
mod ways;
mod blame;
mod limits;
mod overlap;
mod tiled;
mod placed;
mod storage;
mod moves;
pub(crate) mod code;
mod whole;
mod rows;
mod gemm;
mod sync;
mod print;
mod formula;
mod over;
pub(crate) mod changes;
mod instead;
pub mod alternatives;
mod doubts;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::atoms::{self, Catalogue};
use crate::error::{Error, Result};
use crate::spec::Keys;
use crate::spec::model::{FormKind, LaunchKind, Point, SchedulerKind, Spec};
pub use alternatives::Plans;
use choose::Chooser;
pub use doubts::doubts;
pub use formula::limit::{LIMITS, Limit};
use model::{Plan, Rows};
use ways::Way;
use work::Work;

/// Plans a point: the first of its plans.
///
/// # Errors
/// [`Error::Plan`] with every violated limit.
pub fn plan(point: &Point) -> Result<Plan> {
    plans(point).map(|(plan, _)| plan)
}

/// Plans a point, with the plans that are tried in the place of the first where its kernel is
/// refused.
///
/// # Errors
/// As [`plan`].
pub fn plans(point: &Point) -> Result<(Plan, Plans<'static>)> {
    alternatives::plans(point, atoms::catalogue()?)
}

/// What a point's atoms are chosen by.
fn chooser<'c>(point: &Point, catalogue: &'c Catalogue) -> Chooser<'c> {
    Chooser {
        catalogue,
        arch: point.spec.arch,
        keys: Keys::of(&point.spec),
        violations: Vec::new(),
        choices: Vec::new(),
    }
}

/// Plans a point as it stands, with the atoms of that catalogue.
fn attempt(point: &Point, catalogue: &Catalogue) -> Result<Plan> {
    let mut chooser = chooser(point, catalogue);
    formula::check(&point.spec, &mut chooser);
    storage::check(&point.spec, &mut chooser);
    if !chooser.violations.is_empty() {
        return Err(Error::plan(&point.id, chooser.violations));
    }
    let planned = match point.spec.form() {
        FormKind::Rows => rows::plan(point, &mut chooser),
        FormKind::Contraction => gemm::plan(point, &mut chooser),
        FormKind::Chain => Ok(None),
    };
    let mut plan = match planned {
        Ok(plan) => plan,
        // Layouts are made of the point's own values, so these do not go together.
        Err(Error::Algebra(error)) => {
            let message = format!(
                "the point's tiles, atoms and permutations do not go together: {error}: choose \
                 auto for mma.atoms, mma.permutation and the atoms of copy, or another cta_tile"
            );
            chooser.violate("layouts", message);
            None
        }
        Err(error) => return Err(error),
    };
    // What is not planned to its end may lack the tile that says which way it takes.
    if let (Some(plan), FormKind::Rows, true) =
        (&plan, point.spec.form(), chooser.violations.is_empty())
    {
        ways::check(&point.spec, &mut chooser, Way::of_rows(plan));
        ways::check_swizzles(&point.spec, &mut chooser, plan);
    }
    if let Some(plan) = &plan {
        check(&point.spec, &mut chooser, plan)?;
    }
    if let Some(plan) = &mut plan {
        sums::assume(plan);
    }
    // What a kernel waits for and tells follows from all other decisions.
    if let (Some(plan), true) = (&mut plan, chooser.violations.is_empty()) {
        plan.sync = sync::choose(&mut chooser, plan);
    }
    match plan {
        None if chooser.violations.is_empty() => {
            let dump = format!("{:#?}", point.spec);
            Err(Error::bug(
                "plan",
                &point.id,
                "refused without a reason",
                dump,
            ))
        }
        Some(plan) if chooser.violations.is_empty() => Ok(Plan {
            choices: chooser.choices,
            ..plan
        }),
        _ => {
            let mut violations = chooser.violations;
            blame::complete(&mut violations, &point.spec, &chooser.keys);
            Err(Error::plan(&point.id, violations))
        }
    }
}

/// What is asked of a plan whose kernel is known, but for what it waits for.
fn check(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) -> Result<()> {
    limits::check_residency(chooser, plan);
    overlap::check_tiles(chooser, plan);
    over::check(spec, chooser, plan)?;
    if chooser.violations.is_empty() {
        ways::check_hops(spec, chooser, plan);
    }
    Ok(())
}

/// A plan with the point's own values and nothing decided.
fn start(point: &Point, threads: u32) -> Plan {
    let spec = &point.spec;
    Plan {
        id: point.id.clone(),
        name: spec.name.clone(),
        entry: entry_name(&point.id),
        computes: Arc::clone(&spec.compute),
        arch: spec.arch,
        operands: spec.operands.clone(),
        accumulator: spec.accumulator,
        modes: spec.modes().to_vec(),
        cta_tile: spec.cta_tile.clone(),
        threads,
        min_ctas_per_sm: match spec.min_ctas_per_sm {
            crate::spec::model::Auto::Given(ctas) => Some(ctas),
            crate::spec::model::Auto::Auto => None,
        },
        launch: (spec.scheduler.launch).unwrap_or_else(|| match spec.arch.overlaps_launches() {
            true => LaunchKind::Programmatic,
            false => LaunchKind::Plain,
        }),
        stages: 0,
        work: one_tile_each(spec),
        smem: Vec::new(),
        stage_bytes: 0,
        smem_bytes: 0,
        steps: Vec::new(),
        rows: Rows::Held,
        roles: None,
        sync: BTreeMap::new(),
        mma: None,
        epilogue: None,
        flow: None,
        assumptions: Vec::new(),
        choices: Vec::new(),
        taken: Vec::new(),
    }
}

/// One output tile for each CTA, which stands alone.
fn one_tile_each(spec: &Spec) -> Work {
    let modes = spec.modes().iter().cloned();
    Work {
        tile: modes.zip(spec.cta_tile.iter().copied()).collect(),
        outer: spec.compute.outer_modes(),
        in_blocks: spec.compute.blocks().is_some(),
        raster: (spec.scheduler.raster).unwrap_or_else(|| spec.form().facts().raster),
        kind: SchedulerKind::Single,
        ctas: None,
        held: [false; 2],
        shared_by: 1,
        cluster: None,
    }
}

/// The point's name as a PTX identifier.
fn entry_name(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
