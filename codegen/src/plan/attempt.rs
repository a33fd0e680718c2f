//! The straight line of a plan: refuse, decide, limit, synchronize.

use crate::atoms::Catalogue;
use crate::error::{Error, Result, message};
use crate::plan::data::model::Plan;
use crate::plan::instructions::choose::Chooser;
use crate::plan::instructions::synchronization;
use crate::plan::limits::{keys_at_fault, overlapping_outputs, registers_and_smem};
use crate::plan::supported::main_loops::{self, MainLoop};
use crate::plan::supported::{self, element_types};
use crate::plan::values::{deterministic_sums, in_place};
use crate::plan::{elementwise, gemm, realigned};
use crate::spec::keys::model::{FormKind, Point, Spec};
use crate::spec::keys::paths;

/// Plans a point with the atoms of that catalogue, and the copies that come before it.
pub(super) fn attempt(point: &Point, catalogue: &Catalogue) -> Result<Plan> {
    let planned = |point: &Point| as_it_stands(point, catalogue);
    match realigned::split(point)? {
        Some((aligned, copied)) => {
            let own = planned(&aligned).map_err(|error| realigned::blamed(error, &copied))?;
            realigned::joined(own, copied, planned)
        }
        None => planned(point),
    }
}

/// Plans a point of which nothing is copied first.
fn as_it_stands(point: &Point, catalogue: &Catalogue) -> Result<Plan> {
    let mut chooser = Chooser::of(point, catalogue);
    supported::check(&point.spec, &mut chooser);
    element_types::check(&point.spec, &mut chooser);
    if !chooser.violations.is_empty() {
        return Err(Error::plan(&point.id, chooser.violations));
    }
    let planned = match point.spec.problem.form() {
        FormKind::Rows => elementwise::plan(point, &mut chooser),
        FormKind::Contraction => gemm::plan(point, &mut chooser),
        FormKind::Chain => Ok(None),
    };
    let mut plan = match planned {
        Ok(plan) => plan,
        // Layouts are made of the point's own values, so these do not go together.
        Err(Error::Algebra(error)) => {
            let message = message!(
                "the point's tiles, atoms and permutations do not go together: {error}: choose \
                 auto for {}, {} and the atoms of copy, or another {}",
                paths::MMA_ATOMS,
                paths::PERMUTATION,
                paths::CTA_TILE
            );
            chooser.violate("layouts", message);
            None
        }
        Err(error) => return Err(error),
    };
    // What is not planned to its end may lack the tile that says which way it takes.
    if let (Some(plan), FormKind::Rows, true) = (
        &plan,
        point.spec.problem.form(),
        chooser.violations.is_empty(),
    ) {
        main_loops::check(&point.spec, &mut chooser, MainLoop::of_rows(plan));
        main_loops::check_swizzles(&point.spec, &mut chooser, plan);
    }
    if let Some(plan) = &plan {
        check(&point.spec, &mut chooser, plan)?;
    }
    if let Some(plan) = &mut plan {
        deterministic_sums::assume(plan);
    }
    // What a kernel waits for and tells follows from all other decisions.
    if let (Some(plan), true) = (&mut plan, chooser.violations.is_empty()) {
        plan.sync = synchronization::choose(&mut chooser, plan);
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
            keys_at_fault::complete(&mut violations, &point.spec, &chooser.names);
            Err(Error::plan(&point.id, violations))
        }
    }
}

/// What is asked of a plan whose kernel is known, but for what it waits for.
fn check(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) -> Result<()> {
    registers_and_smem::check_residency(chooser, plan);
    overlapping_outputs::check_tiles(chooser, plan);
    in_place::check(spec, chooser, plan)?;
    if chooser.violations.is_empty() {
        main_loops::check_hops(spec, chooser, plan);
    }
    Ok(())
}
