//! Names of points: `gemm_bf16_tn@128x128x64_s3-1f3a9c`.
//!
//! Comes in: the specs of a space and the paths that are tuned. Goes out: points with ids that
//! differ from one another and depend on nothing but the point's own values. The hash covers every
//! value of the spec, so that equal ids mean equal kernels.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::model::{Auto, LaunchKind, Point, Raster, SchedulerKind, Spec};
use super::print::canonical;
use crate::error::Result;

/// Characters of the hash in an id; more where two ids of one space would be equal.
const HASH_LENGTHS: [usize; 3] = [6, 12, 64];

/// Points of these specs.
///
/// # Errors
/// [`crate::error::Error::Bug`] when a spec cannot be printed.
pub(super) fn points(specs: Vec<Spec>, tuned: &[&str]) -> Result<Vec<Point>> {
    let names: Vec<(String, String)> = specs
        .iter()
        .map(|spec| {
            Ok((
                format!("{}@{}", spec.name, suffix(spec, tuned)),
                hash(spec)?,
            ))
        })
        .collect::<Result<_>>()?;
    let ids = |length: usize| -> Vec<String> {
        names
            .iter()
            .map(|(name, hash)| format!("{name}-{}", hash.get(..length).unwrap_or(hash)))
            .collect()
    };
    let distinct = |ids: &Vec<String>| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
    let ids = HASH_LENGTHS
        .into_iter()
        .map(ids)
        .find(distinct)
        .unwrap_or_else(|| ids(64));
    Ok(ids
        .into_iter()
        .zip(specs)
        .map(|(id, spec)| Point { id, spec })
        .collect())
}

fn hash(spec: &Spec) -> Result<String> {
    let digest = Sha256::digest(canonical(spec)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The tile, cluster, accumulation and stages when given, and what is tuned and has a short form.
fn suffix(spec: &Spec, tuned: &[&str]) -> String {
    let mut out = by(&spec.cta_tile);
    let mut add = |text: String| {
        out.push('_');
        out.push_str(&text);
    };
    if let Some(accumulation) = spec.accumulation {
        add(accumulation.name().into());
    }
    let is_tuned = |path: &str| tuned.contains(&path);
    if spec.cluster != [1; 3] {
        add(format!("c{}x{}", spec.cluster[0], spec.cluster[1]));
    }
    if let Auto::Given(stages) = spec.pipeline.stages {
        add(format!("s{stages}"));
    }
    if let (Auto::Given(schedule), true) = (&spec.pipeline.schedule, is_tuned("pipeline.schedule"))
    {
        add(schedule.name().chars().take(4).collect());
    }
    if let (Auto::Given(groups), true) = (&spec.pipeline.in_flight, is_tuned("pipeline.in_flight"))
    {
        add(format!("f{groups}"));
    }
    if let (Auto::Given(registers), true) = (
        &spec.pipeline.producer_registers,
        is_tuned("pipeline.producer_registers"),
    ) {
        add(format!("r{registers}"));
    }
    if let (Auto::Given([m, n, k]), true) = (&spec.mma.atoms, is_tuned("mma.atoms")) {
        add(if *k == 1 {
            format!("w{m}x{n}")
        } else {
            format!("w{m}x{n}x{k}")
        });
    }
    if let (Auto::Given(extents), true) = (&spec.mma.permutation, is_tuned("mma.permutation")) {
        add(format!("p{}", by(extents)));
    }
    if let (Auto::Given(threads), true) = (&spec.threads, is_tuned("threads")) {
        add(format!("t{threads}"));
    }
    if let (Auto::Given(ctas), true) = (&spec.min_ctas_per_sm, is_tuned("min_ctas_per_sm")) {
        add(format!("o{ctas}"));
    }
    if let (Auto::Given(raster), true) = (&spec.scheduler.raster, is_tuned("scheduler.raster")) {
        add(short(*raster));
    }
    if let (Auto::Given(kind), true) = (&spec.scheduler.kind, is_tuned("scheduler.kind")) {
        add(match kind {
            SchedulerKind::Single => "single".into(),
            SchedulerKind::Persistent => "pers".into(),
            SchedulerKind::StreamK => "sk".into(),
        });
    }
    if let (Auto::Given(ctas), true) = (&spec.scheduler.ctas, is_tuned("scheduler.ctas")) {
        add(format!("n{ctas}"));
    }
    if let (Auto::Given(launch), true) = (&spec.scheduler.launch, is_tuned("scheduler.launch")) {
        add(match launch {
            LaunchKind::Plain => "plain".into(),
            LaunchKind::Programmatic => "pdl".into(),
        });
    }
    out
}

fn short(raster: Raster) -> String {
    match raster {
        Raster::Row => "row".into(),
        Raster::Column => "col".into(),
        Raster::Grouped(rows) => format!("g{rows}"),
        Raster::Hilbert(rows) => format!("h{rows}"),
    }
}

fn by(extents: &[i64]) -> String {
    extents
        .iter()
        .map(i64::to_string)
        .collect::<Vec<_>>()
        .join("x")
}
