//! Where code comes from: the driver's compiler, the cache of what it made; when it is loaded.

use std::fs;

use tilewright_fixture::{COPY, SCALED, copy_kernel, opened, scaled_kernel, writer_of};
use tilewright_runtime::{
    Device, Error, KernelCounters, Load, Options, Problem, PtxCache, Query, Runtime,
};

use crate::harness::*;

fn with_cache(home: &std::path::Path) -> Runtime {
    let options = Options {
        load: Load::Eager,
        ptx_cache: Some(PtxCache::open(home).unwrap()),
        ..Options::default()
    };
    let runtime = Runtime::new(kernels(), Device::cuda(0).unwrap());
    runtime.with_options(&options).unwrap()
}

fn counted(runtime: &Runtime, id: &str) -> KernelCounters {
    runtime.counters().kernels[id]
}

#[test]
fn compiled_ptx_is_kept_for_the_next_start() {
    let driver = driver();
    let home = tempfile::tempdir().unwrap();
    let home = home.path().join("ptx");
    let linked = driver.count(Count::Linked);
    let first = with_cache(&home);
    let counts = counted(&first, "copy_f32@plain-1");
    assert_eq!((counts.loads, counts.loads_from_cache), (1, 0));
    assert!(counts.load_ns > 0 && counts.first_launch_ns == 0);
    assert_eq!(driver.count(Count::Linked), linked + 2);
    let (compiled, loaded) = (
        driver.count(Count::Compiled),
        driver.count(Count::LoadedCode),
    );
    let second = with_cache(&home);
    for id in ["copy_f32@plain-1", "scaled_f32@two-1"] {
        let counts = counted(&second, id);
        assert_eq!((counts.loads, counts.loads_from_cache), (1, 1), "{id}");
    }
    assert_eq!(driver.count(Count::Linked), linked + 2);
    assert_eq!(driver.count(Count::Compiled), compiled);
    assert_eq!(driver.count(Count::LoadedCode), loaded + 2);
    let copy = Copy::new(&second, 3.0);
    copy.enqueue(cuda(&second)).unwrap();
    assert_eq!(
        cuda(&second).download(&copy.to).unwrap(),
        Copy::content(3.0)
    );
    assert!(counted(&second, "copy_f32@plain-1").first_launch_ns > 0);
}

#[test]
fn entries_that_are_damaged_or_refused_are_made_anew() {
    let driver = driver();
    let home = tempfile::tempdir().unwrap();
    let home = home.path().join("ptx");
    drop(with_cache(&home));
    let entries = || {
        fs::read_dir(&home)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let whole: Vec<Vec<u8>> = entries().map(|path| fs::read(path).unwrap()).collect();
    // One is damaged; the other is whole, and nothing that the driver takes.
    let code = b"FAKECODE of another driver";
    let hash = tilewright_runtime::bundle::Sha256Hex::of(code);
    let other = [format!("tilewright cubin 1\n{hash}\n").as_bytes(), code].concat();
    for (path, content) in entries().zip([b"damaged".to_vec(), other]) {
        fs::write(path, content).unwrap();
    }
    let linked = driver.count(Count::Linked);
    let runtime = with_cache(&home);
    assert_eq!(driver.count(Count::Linked), linked + 2);
    let counts = runtime.counters().kernels;
    assert!(counts.values().all(|kernel| kernel.loads_from_cache == 0));
    let mended: Vec<Vec<u8>> = entries().map(|path| fs::read(path).unwrap()).collect();
    let sorted = |mut all: Vec<Vec<u8>>| {
        all.sort();
        all
    };
    assert_eq!(sorted(mended), sorted(whole));
}

#[test]
fn code_that_the_linker_makes_otherwise_is_not_kept() {
    let driver = driver();
    let home = tempfile::tempdir().unwrap();
    let home = home.path().join("ptx");
    driver.link_with(8);
    let linked = driver.count(Count::Linked);
    for start in 0..2 {
        let runtime = with_cache(&home);
        let counts = runtime.counters().kernels;
        assert!(counts.values().all(|kernel| kernel.loads_from_cache == 0));
        // Nor is it tried again.
        assert_eq!(driver.count(Count::Linked), linked + 2, "start {start}");
        let copy = Copy::new(&runtime, 3.0);
        copy.enqueue(cuda(&runtime)).unwrap();
    }
    driver.link_with(0);
}

#[test]
fn machine_code_alone_is_run_where_that_is_wanted() {
    let driver = driver();
    let device = Device::cuda(0).unwrap();
    let sm = device.info().sm.unwrap();
    let code = format!("FAKECODE{COPY}\0");
    let mut writer = writer_of([(scaled_kernel("scaled_f32@two-1"), SCALED)]);
    let own = format!("sm_{sm}");
    for (id, cubin) in [
        ("copy_f32@ptx-1", None),
        ("copy_f32@ours-2", Some((own.as_str(), code.as_bytes()))),
        ("copy_f32@other-3", Some(("sm_75", code.as_bytes()))),
    ] {
        writer.add(copy_kernel(id), COPY, cubin).unwrap();
    }
    // This one the driver does not take.
    let broken = Some((own.as_str(), &b"FAKECODE of another driver"[..]));
    let kernel = copy_kernel("copy_f32@wrong-4");
    writer.add(kernel, COPY, broken).unwrap();
    let (compiled, loaded) = (
        driver.count(Count::Compiled),
        driver.count(Count::LoadedCode),
    );
    let options = Options {
        load: Load::Eager,
        cubin_only: true,
        ..Options::default()
    };
    let runtime = Runtime::new(opened(&writer), device);
    let runtime = runtime.with_options(&options).unwrap();
    assert_eq!(driver.count(Count::Compiled), compiled);
    assert_eq!(driver.count(Count::LoadedCode), loaded + 1);
    let problem = Problem::new(3, 5, 1).row_major("s", 5).row_major("d", 5);
    let query = Query::copy();
    let picked = runtime.pick(&query, &problem, &[]).unwrap();
    assert_eq!(picked.kernel.id, "copy_f32@ours-2");
    let broken = runtime.bundle().kernel("copy_f32@wrong-4").unwrap();
    let error = runtime.load(broken).unwrap_err();
    assert!(matches!(error, Error::Load { .. }), "{error}");
    for (id, told) in [
        ("copy_f32@other-3", "which is for sm_75"),
        ("copy_f32@ptx-1", "which is for no device, as it has none"),
    ] {
        let kernel = runtime.bundle().kernel(id).unwrap();
        let error = runtime.load(kernel).unwrap_err().to_string();
        assert!(error.ends_with(told), "{error}");
    }
    // Without the option the PTX is compiled again, as before.
    let runtime = runtime.with_options(&Options::default()).unwrap();
    let kernel = runtime.bundle().kernel("copy_f32@ptx-1").unwrap();
    runtime.load(kernel).unwrap();
    assert_eq!(driver.count(Count::Compiled), compiled + 1);
}

#[test]
fn code_is_loaded_when_it_is_wanted_and_given_back() {
    let driver = driver();
    let modules = driver.count(Count::Modules);
    let lazy = runtime(0);
    assert_eq!(driver.count(Count::Modules), modules);
    let copy = Copy::new(&lazy, 0.0);
    assert_eq!(driver.count(Count::Modules), modules + 1);
    drop((copy, lazy));
    let eager = Options {
        load: Load::Eager,
        ..Options::default()
    };
    let eager = runtime(0).with_options(&eager).unwrap();
    assert_eq!(driver.count(Count::Modules), modules + 2);
    drop(eager);
    assert_eq!(driver.count(Count::Modules), modules);
}

#[test]
fn everything_is_given_back() {
    let driver = driver();
    let now = || [Count::Streams, Count::Modules, Count::Memory].map(|which| driver.count(which));
    let before = now();
    for round in 0..3 {
        let runtime = runtime(round % 2);
        let copy = Copy::new(&runtime, 0.0);
        copy.enqueue(cuda(&runtime)).unwrap();
        let graph = cuda(&runtime).capture(|| copy.enqueue(cuda(&runtime)));
        cuda(&runtime).replay(&graph.unwrap()).unwrap();
    }
    assert_eq!(now(), before);
}
