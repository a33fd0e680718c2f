//! Whether a device runs a kernel's code at all, and whether code is what its manifest says.

use tilewright_bundle::{Kernel, LaunchAbi, Route};

use crate::error::Refusal;
use crate::launch::info::{Backend, DeviceInfo};

/// First driver with `cuTensorMapEncodeTiled`, in CUDA's own count of versions.
const TENSOR_MAP_DRIVER: u32 = 12_000;
/// First driver with `cuLaunchKernelEx` and `cuOccupancyMaxActiveClusters`.
const CLUSTER_DRIVER: u32 = 11_080;

/// Whether `kernel` runs on the device at all.
pub(crate) fn runs_on(kernel: &Kernel, device: &DeviceInfo) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let capability = kernel.capability;
    if let Some(sm) = device.sm
        && !capability.allows(sm)
    {
        refusals.push(Refusal::Capability {
            needs: capability.min_sm,
            exact: capability.exact,
            has: sm,
        });
    }
    if (kernel.route == Route::CubinOnly || device.cubin_only)
        && device.backend == Backend::Cuda
        && !cubin_fits(kernel, device.sm)
    {
        refusals.push(Refusal::CubinOnly {
            target: match &kernel.cubin {
                Some(cubin) => cubin.target.clone(),
                None => "no device, as it has none".to_owned(),
            },
        });
    }
    let needs = kernel.min_driver.max(launching_driver(kernel));
    if let Some(has) = device.driver
        && has < needs
    {
        refusals.push(Refusal::Driver { needs, has });
    }
    refusals.extend(beyond_memory(kernel, device.max_smem_bytes));
    refusals
}

/// That a launch of every problem wants more shared memory than a CTA may use.
fn beyond_memory(kernel: &Kernel, has: u32) -> Option<Refusal> {
    let dynamic = kernel.launches.iter();
    let dynamic = dynamic.filter_map(|launch| launch.dynamic_smem_bytes.constant_value());
    // Nothing is told of a number that is none: the launch tells it.
    let most = u64::try_from(dynamic.max()?).ok()?;
    let needs = most.checked_add(u64::from(kernel.resources.static_smem_bytes))?;
    (needs > u64::from(has)).then_some(Refusal::SharedMemory { needs, has })
}

/// Whether a kernel's machine code was made for a device of this compute capability.
pub(crate) fn cubin_fits(kernel: &Kernel, sm: Option<u32>) -> bool {
    let target = kernel.cubin.as_ref().map(|cubin| cubin.target.as_str());
    let target = target.and_then(|target| target.trim_end_matches('a').strip_prefix("sm_"));
    sm.is_some() && target.and_then(|target| target.parse().ok()) == sm
}

/// The first driver that has the calls which a launch of the kernel needs.
fn launching_driver(kernel: &Kernel) -> u32 {
    let extended = |launch: &LaunchAbi| launch.cluster.is_some() || launch.programmatic;
    if kernel.has_tensor_maps() {
        TENSOR_MAP_DRIVER
    } else if kernel.launches.iter().any(extended) {
        CLUSTER_DRIVER
    } else {
        0
    }
}

/// What is wrong when loaded code has other parameters than the manifest says; `found` are offset
/// and size of each.
pub(crate) fn other_params(abi: &LaunchAbi, found: &[(u32, u32)]) -> Option<Refusal> {
    let params = abi.params.iter();
    let stated: Vec<(u32, u32)> = params.map(|p| (p.offset, p.size)).collect();
    let problem =
        || format!("parameters are (offset, size) {found:?}; the manifest says {stated:?}");
    (found != stated).then(|| Refusal::Abi { problem: problem() })
}
