//! The gate: NVIDIA's assembler takes every point of every shipped spec without spills, local
//! memory or a warning about matrix instructions.
//!
//! Where there is no assembler the test fails and says how to get one.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Mutex;
use std::thread;

use tilewright_ci::source_tree;
use tilewright_codegen::error::Error;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point};
use tilewright_codegen::{ir, lower, plan, ptx};

/// Every point of every shipped spec.
fn shipped_points() -> Vec<Point> {
    let files = source_tree::files().unwrap();
    let is_spec = |path: &str| path.starts_with("specs/") && !path.starts_with("specs/atoms/");
    let specs = files
        .iter()
        .filter(|file| is_spec(&file.path) && file.ends_in("yaml"));
    specs
        .flat_map(|file| match spec::parse(&file.path, &file.text) {
            Ok(file) => file.points,
            Err(error) => panic!("{}", error.report(false)),
        })
        .collect()
}

/// What the gate has against a point.
fn complaints(point: &Point) -> Result<Vec<String>, Error> {
    let plan = match plan::plan(point) {
        Ok(plan) => plan,
        // A point of a tuning space without a kernel is dropped by a build as well.
        Err(Error::Plan { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let program = lower::lower(&plan, &ir::build::build(&plan))?;
    let module = ptx::emit(&program, &point.spec.arch, &point.id)?;
    let report = ptxas::assemble(&module.text, &point.spec.arch)?;
    Ok(ptxas::gate(&report)
        .iter()
        .map(ToString::to_string)
        .collect())
}

#[test]
fn every_shipped_point_assembles_well() {
    let points = shipped_points();
    assert!(
        points.len() >= 9,
        "only {} points are shipped",
        points.len()
    );
    let complaints_found = Mutex::new(Vec::new());
    let left = Mutex::new(points.iter());
    let work = || {
        while let Some(point) = { left.lock().unwrap().next() } {
            let found = complaints(point).unwrap_or_else(|error| vec![error.report(false)]);
            let found = found.into_iter().map(|one| format!("{}: {one}", point.id));
            complaints_found.lock().unwrap().extend(found);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let complaints = complaints_found.into_inner().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_gate_closes_for_spills_and_local_memory() {
    let clean = ptxas::PtxasReport::default();
    assert!(ptxas::gate(&clean).is_empty());
    let spills = ptxas::PtxasReport {
        spill_store_bytes: 8,
        ..clean.clone()
    };
    let stack = ptxas::PtxasReport {
        stack_bytes: 16,
        ..clean.clone()
    };
    let serialized = ptxas::PtxasReport {
        warnings: vec!["C7510".to_owned()],
        ..clean
    };
    for bad in [spills, stack, serialized] {
        assert!(!ptxas::gate(&bad).is_empty(), "{bad:?}");
    }
}
