//! What the runtime knows of a GPU that is not here is what the generator plans for.

use tilewright_codegen::arch::ARCHES;
use tilewright_runtime::DeviceInfo;

#[test]
fn a_gpu_that_is_not_here_has_the_memory_that_plans_are_made_for() {
    assert!(ARCHES.len() > 5);
    for arch in ARCHES {
        let device = DeviceInfo::of_capability(arch.sm);
        let known = (device.sm, device.max_smem_bytes);
        assert_eq!(known, (Some(arch.sm), arch.smem_max_bytes), "{arch}");
    }
}
