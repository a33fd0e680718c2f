//! The plan of a point of which nothing is decided yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::data::arena::Arena;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Rows;
use crate::plan::work_tiles::{COLUMNS, Dim, Fate, ModeFate, SUMMED, Source, Work};
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
    let compute = &spec.problem.compute;
    let outer = compute.outer_modes();
    let mut apart: Vec<ModeFate> = outer.iter().map(|mode| ModeFate::one(mode)).collect();
    // Tiles stand along blocks of columns where they would along columns.
    let blocks = compute.blocks().and_then(|_| apart.pop());
    let planes = compute.planes();
    let planes = planes.map(|one| ModeFate::new(&one.mode, Fate::Unrolled(one.count)));
    let part = compute.part();
    let part = part.map(|mode| ModeFate::new(&mode, Fate::Looped(1)));
    let modes = spec.problem.modes().iter().enumerate();
    let dims = modes.zip(&spec.schedule.cta_tile);
    let mut dims: Vec<Dim> = dims
        .map(|((at, mode), extent)| match at {
            SUMMED if part.is_some() => Dim::new(mode, Fate::Whole(*extent)),
            SUMMED => Dim::new(mode, Fate::Looped(*extent)),
            COLUMNS if blocks.is_some() => Dim::new(mode, Fate::Whole(*extent)),
            _ => Dim::new(mode, Fate::Tiled(*extent)),
        })
        .collect();
    if let Some(columns) = dims.get_mut(COLUMNS) {
        columns.modes.extend(blocks.into_iter().chain(planes));
    }
    if let Some(summed) = dims.get_mut(SUMMED) {
        summed.modes.extend(part);
    }
    Work {
        dims,
        apart,
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
