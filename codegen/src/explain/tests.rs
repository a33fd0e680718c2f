//! Maps cover shared memory without overlaps; occupancies are those of known kernels.
#![allow(clippy::unwrap_used)]

use super::occupancy::occupancy;
use super::smem_map::{Use, regions};
use crate::plan::data::model::Plan;
use crate::{plan, spec};

fn planned(arch: &str, more: &str) -> Plan {
    let text = format!(
        "
kernel: gemm
name: gemm_explained
arch: {arch}
operands:
  a: {{ dtype: bf16, layout: '(m,k):(lda,1)' }}
  b: {{ dtype: bf16, layout: '(n,k):(ldb,1)' }}
  d: {{ dtype: bf16, layout: '(m,n):(ldd,1)' }}
accumulator: f32
{more}
"
    );
    let file = spec::parse("-", &text).unwrap();
    plan::plan(&file.points[0]).unwrap()
}

const WIDE: &str = "cta_tile: '(128,256,64)'";
const TURNS: &str = "cta_tile: '(128,128,64)'\npipeline: { schedule: pingpong, stages: 3 }";
const DIRECT: &str =
    "cta_tile: '(128,256,64)'\ncopy: { d: { r2g: auto } }\npipeline: { schedule: cooperative }";

#[test]
fn maps_cover_shared_memory_in_order() {
    for (arch, more) in [
        ("sm_90a", WIDE),
        ("sm_90a", TURNS),
        ("sm_90a", DIRECT),
        ("sm_80", WIDE),
    ] {
        let plan = planned(arch, more);
        let map = regions(&plan);
        let mut end = 0;
        for region in &map {
            assert_eq!(region.offset_bytes, end, "{arch} {more}: {map:#?}");
            assert!(region.bytes > 0);
            end += region.bytes;
        }
        assert_eq!(end, plan.arch.smem_max_bytes);
        let used = map.iter().filter(|region| region.purpose != Use::Unused);
        assert_eq!(
            used.map(|region| region.bytes).sum::<u32>(),
            plan.arena.bytes()
        );
        assert!(map.iter().all(|region| region.purpose != Use::Gap));
    }
}

#[test]
fn a_map_names_slots_staging_and_barriers() {
    let map = regions(&planned("sm_90a", TURNS));
    let named = |name: &str| map.iter().find(|region| region.name == name).cloned();
    let slot = named("slot 2 b").unwrap();
    assert_eq!(
        (slot.offset_bytes, slot.bytes),
        (2 * 32_768 + 16_384, 16_384)
    );
    let last = named("staging of consumer 1, buffer 1").unwrap();
    assert_eq!(
        (last.offset_bytes, last.bytes),
        (3 * 32_768 + 3 * 8192, 8192)
    );
    assert_eq!(named("2 turn barriers").unwrap().bytes, 16);
}

#[test]
fn occupancy_says_what_limits() {
    let wide = occupancy(&planned("sm_90a", WIDE), Some(168));
    assert_eq!((wide.ctas_per_sm, wide.warps), (1, [12, 64]));
    let tightest: Vec<&str> = wide.limits.iter().map(|limit| limit.what).collect();
    assert_eq!(tightest[..2], ["bytes of shared memory", "registers"]);
    // Two stages of 32768 bytes and 1024 that the system keeps, of 164 KiB.
    let more = "cta_tile: '(128,128,64)'\npipeline: { stages: 2 }";
    let small = occupancy(&planned("sm_80", more), Some(96));
    let threads = small.limits.iter().find(|limit| limit.what == "threads");
    assert_eq!(small.ctas_per_sm, 2, "{small:#?}");
    assert_eq!(threads.unwrap().of_sm, 2048);
    assert_eq!(small.limits[0].what, "bytes of shared memory");
}

#[test]
fn without_an_assembler_registers_bound_nothing() {
    let unknown = occupancy(&planned("sm_90a", WIDE), None);
    assert!(unknown.limits.iter().all(|limit| limit.what != "registers"));
    assert_eq!(unknown.ctas_per_sm, 1);
}
