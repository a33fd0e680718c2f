//! Machine code of the bundle: loaded where it fits the device and the driver takes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tilewright_fixture::{COPY, SCALED, copy_kernel, opened};
use tilewright_runtime::bundle::{BundleWriter, Provenance, Route};
use tilewright_runtime::{Device, Error, KernelCounters, Load, Options, PtxCache, Runtime};
use tracing::{Event, Level};

use crate::harness::*;
use crate::listening::Listening;

const ID: &str = "copy_f32@plain-1";

/// Text as the driver without GPUs has machine code.
fn code_of(ptx: &str) -> Vec<u8> {
    format!("FAKECODE{ptx}").into_bytes()
}

/// The copy, with machine code.
fn shipped(target: &str, code: &[u8], route: Route) -> Runtime {
    let mut writer = BundleWriter::new(Provenance::new("fixture"));
    let mut kernel = copy_kernel(ID);
    kernel.route = route;
    writer.add(kernel, COPY, Some((target, code))).unwrap();
    Runtime::new(opened(&writer), Device::cuda(0).unwrap())
}

/// Loads the kernel and has it copy.
fn launched(runtime: &Runtime) -> KernelCounters {
    let copy = Copy::new(runtime, 3.0);
    copy.enqueue(cuda(runtime)).unwrap();
    let content = cuda(runtime).download(&copy.to).unwrap();
    assert_eq!(content, Copy::content(3.0));
    runtime.counters().kernels[ID]
}

#[test]
fn code_that_fits_is_loaded_and_nothing_compiled() {
    let driver = driver();
    let home = tempfile::tempdir().unwrap();
    let home = home.path().join("ptx");
    for target in ["sm_90", "sm_90a"] {
        let counts = [Count::Compiled, Count::LoadedCode, Count::Linked];
        let before = counts.map(|which| driver.count(which));
        let runtime = shipped(target, &code_of(COPY), Route::Ptx);
        let options = Options {
            load: Load::Eager,
            ptx_cache: Some(PtxCache::open(&home).unwrap()),
            ..Options::default()
        };
        let kernel = launched(&runtime.with_options(&options).unwrap());
        assert_eq!((kernel.loads, kernel.loads_from_bundle), (1, 1), "{target}");
        let after = counts.map(|which| driver.count(which));
        assert_eq!(after, [before[0], before[1] + 1, before[2]], "{target}");
    }
    // The cache has nothing to keep.
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0);
}

#[test]
fn ptx_is_compiled_where_code_does_not_fit() {
    let driver = driver();
    for target in ["sm_80", "sm_89", "sm_100a"] {
        let [compiled, loaded] = [Count::Compiled, Count::LoadedCode].map(|n| driver.count(n));
        let kernel = launched(&shipped(target, &code_of(COPY), Route::Ptx));
        assert_eq!((kernel.loads, kernel.loads_from_bundle), (1, 0), "{target}");
        assert_eq!(driver.count(Count::Compiled), compiled + 1, "{target}");
        assert_eq!(driver.count(Count::LoadedCode), loaded, "{target}");
    }
}

#[test]
fn ptx_is_compiled_where_the_driver_refuses_the_code() {
    let driver = driver();
    let compiled = driver.count(Count::Compiled);
    let newer = b"FAKECODE of a newer assembler";
    let warnings: Arc<AtomicU64> = Arc::default();
    let counted = warnings.clone();
    let listening = Listening(move |event: &Event<'_>| {
        let is_warning = *event.metadata().level() == Level::WARN;
        counted.fetch_add(u64::from(is_warning), Ordering::Relaxed);
    });
    let kernel = tracing::subscriber::with_default(listening, || {
        launched(&shipped("sm_90", newer, Route::Ptx))
    });
    assert_eq!((kernel.loads, kernel.loads_from_bundle), (1, 0));
    assert_eq!(driver.count(Count::Compiled), compiled + 1);
    assert_eq!(warnings.load(Ordering::Relaxed), 1);
    // A kernel whose PTX must not be compiled has nothing else.
    let alone = shipped("sm_90", newer, Route::CubinOnly);
    let error = alone.load(alone.named("copy_f32").unwrap()).unwrap_err();
    assert!(matches!(error, Error::Load { .. }), "{error}");
    assert_eq!(driver.count(Count::Compiled), compiled + 1);
}

#[test]
fn code_alone_is_run_or_nothing() {
    let driver = driver();
    let compiled = driver.count(Count::Compiled);
    let kernel = launched(&shipped("sm_90a", &code_of(COPY), Route::CubinOnly));
    assert_eq!(kernel.loads_from_bundle, 1);
    let other = shipped("sm_80", &code_of(COPY), Route::CubinOnly);
    let error = other.load(other.named("copy_f32").unwrap()).unwrap_err();
    let Error::Refused { refusals, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        refusals.iter().any(|one| one.kind() == "cubin_only"),
        "{error}"
    );
    assert_eq!(driver.count(Count::Compiled), compiled);
}

#[test]
fn code_of_another_kernel_is_an_error_and_never_launched() {
    let driver = driver();
    let launches = driver.count(Count::Launches);
    let runtime = shipped("sm_90", &code_of(SCALED), Route::Ptx);
    let error = runtime
        .load(runtime.named("copy_f32").unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("cuModuleGetFunction"), "{error}");
    assert_eq!(driver.count(Count::Launches), launches);
}
