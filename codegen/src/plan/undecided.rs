//! The plan of a point of which nothing is decided yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::data::arena::Arena;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Rows;
use crate::plan::work_tiles::{COLUMNS, Fate, SUMMED, Source, Work, WorkAxis};
use crate::spec::keys::model::{Auto, LaunchKind, Point, Spec};

/// A plan with the point's own values and nothing decided.
pub(super) fn undecided(point: &Point, threads: u32) -> Plan {
    let spec = &point.spec;
    Plan {
        id: point.id.clone(),
        name: spec.problem.name.clone(),
        entry: entry_name(&point.id),
        computes: Arc::clone(&spec.problem.compute),
        arch: spec.problem.arch,
        operands: spec.problem.operands.clone(),
        accumulator: spec.problem.accumulator,
        modes: spec.problem.modes().to_vec(),
        cta_tile: spec.schedule.cta_tile.clone(),
        threads,
        min_ctas_per_sm: match spec.schedule.min_ctas_per_sm {
            Auto::Given(ctas) => Some(ctas),
            Auto::Auto => None,
        },
        launch: (spec.schedule.scheduler.launch).unwrap_or_else(|| {
            match spec.problem.arch.overlaps_launches() {
                true => LaunchKind::Programmatic,
                false => LaunchKind::Plain,
            }
        }),
        stages: 0,
        work: one_tile_each(spec),
        smem: Vec::new(),
        arena: Arena::default(),
        steps: Vec::new(),
        rows: Rows::Held,
        roles: None,
        sync: BTreeMap::new(),
        mma: None,
        flow: None,
        assumptions: Vec::new(),
        copies: Vec::new(),
        choices: Vec::new(),
        taken: Vec::new(),
    }
}

/// One output tile for each CTA, which stands alone.
fn one_tile_each(spec: &Spec) -> Work {
    let modes = spec.problem.modes().iter().cloned();
    let tile: Vec<(String, i64)> = modes.zip(spec.schedule.cta_tile.iter().copied()).collect();
    let tiled = |(mode, extent): &(String, i64)| WorkAxis {
        mode: mode.clone(),
        fate: Fate::Tiled(*extent),
    };
    let mut across = [0, 1].map(|mode| tile.get(mode).map(tiled));
    let outer = spec.problem.compute.outer_modes();
    let mut apart: Vec<WorkAxis> = outer.iter().map(|mode| WorkAxis::one(mode)).collect();
    // Tiles stand along blocks of columns where they would along columns.
    if spec.problem.compute.blocks().is_some() {
        across[COLUMNS] = apart.pop();
    }
    let k = tile.get(SUMMED).cloned();
    let looped = match spec.problem.compute.part() {
        Some(part) => Some((part, 1)),
        None => k,
    };
    Work {
        tile,
        apart,
        across,
        looped: looped.map(|(mode, each)| WorkAxis {
            mode,
            fate: Fate::Looped(each),
        }),
        raster: (spec.schedule.scheduler.raster)
            .unwrap_or_else(|| spec.problem.form().facts().raster),
        source: Source::Grid,
        ctas: None,
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
