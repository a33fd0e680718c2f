//! The gate: NVIDIA's assembler takes every point of every shipped spec, as far as they are made,
//! without spills, local memory or a warning about matrix instructions.
//!
//! Where there is no assembler the test fails and says how to get one.

use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::Point;

use crate::kept::kept;
use crate::shipped;

/// What the gate has against a point.
fn complaints(point: &Point) -> Vec<String> {
    let assembled = kept(point).and_then(|made| made.assembled);
    let found = match assembled {
        Ok(assembled) => assembled.violations,
        Err(report) => vec![report],
    };
    let named = found.iter().map(|one| format!("{}: {one}", point.id));
    named.collect()
}

#[test]
fn every_shipped_point_assembles_well() {
    let complaints = shipped::on_each(&shipped::made(), complaints).concat();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_rung_of_the_ladder_assembles_well() {
    let complaints = shipped::on_each(&shipped::ladder(), complaints).concat();
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
