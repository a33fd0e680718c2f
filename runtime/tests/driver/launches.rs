//! Launches from any thread on any device, and what they cost the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tilewright_fixture::{COPY, SCALED, bundle_of, copy_kernel, expr, opened, scaled_kernel};
use tilewright_runtime::bundle::{BundleWriter, Kernel, Provenance, Route};
use tilewright_runtime::typed::{Array, Call, In, Out};
use tilewright_runtime::{Device, Error, Runtime};
use tracing::Event;

use crate::counting::{Counting, allocations};
use crate::harness::*;
use crate::listening::Listening;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of so many launches.
fn of_launches(launches: usize, launch: impl Fn()) -> usize {
    allocations(|| (0..launches).for_each(|_| launch())).0
}

#[test]
fn a_launch_allocates_nothing_whoever_listens() {
    let driver = driver();
    let runtime = runtime(0);
    let copy = Copy::new(&runtime, 0.0);
    let device = cuda(&runtime);
    let stream = device.raw_stream();
    // SAFETY: the memory lives as long as the test.
    let launch = || unsafe { device.enqueue_on(stream, &copy.prepared, None) }.unwrap();
    launch();
    let before = driver.count(Count::Launches);
    assert_eq!(of_launches(200, launch), 0);
    // By their number of fields.
    let counts: Arc<[AtomicU64; 8]> = Arc::default();
    let heard = || -> u64 { counts.iter().map(|n| n.load(Ordering::Relaxed)).sum() };
    let counted = counts.clone();
    let listening = Listening(move |event: &Event<'_>| {
        let fields = event.fields().count();
        counted[fields.min(7)].fetch_add(1, Ordering::Relaxed);
    });
    tracing::subscriber::with_default(listening, || {
        launch();
        let heard_before = heard();
        assert_eq!(of_launches(200, launch), 0);
        assert_eq!(heard() - heard_before, 200);
    });
    assert_eq!(driver.count(Count::Launches), before + 401);
    assert_eq!(runtime.counters().kernels["copy_f32@plain-1"].launches, 402);
}

#[test]
fn any_thread_launches_on_any_device() {
    let _driver = driver();
    let runtimes = [runtime(0), runtime(1)];
    assert_eq!(runtimes.each_ref().map(|r| cuda(r).ordinal()), [0, 1]);
    let copies: Vec<Copy> = (0..2)
        .map(|at| Copy::new(&runtimes[at], at as f32))
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (runtimes, copies) = (&runtimes, &copies);
            scope.spawn(move || {
                for turn in 0..100 {
                    let at = (thread + turn) % 2;
                    copies[at].enqueue(cuda(&runtimes[at])).unwrap();
                    cuda(&runtimes[at]).synchronize().unwrap();
                }
            });
        }
    });
    for at in 0..2 {
        let content = cuda(&runtimes[at]).download(&copies[at].to).unwrap();
        assert_eq!(content, Copy::content(at as f32));
        assert_eq!(runtimes[at].counters().launches(), 200);
    }
}

#[test]
fn a_runtime_attaches_to_the_context_that_is_current() {
    let _driver = driver();
    let none = std::thread::spawn(|| Device::current().unwrap_err().to_string());
    let none = none.join().unwrap();
    assert!(none.contains("no context is current"), "{none}");
    let runtimes = [runtime(0), runtime(1)];
    for (ordinal, runtime) in runtimes.iter().enumerate() {
        // A call of its own makes its context current.
        runtime.device().alloc(16).unwrap();
        let Device::Cuda(found) = Device::current().unwrap() else {
            panic!("it is a GPU");
        };
        assert_eq!(found.ordinal(), ordinal);
    }
}

/// A copy whose machine code the driver refuses and whose PTX nobody may compile, before one that
/// runs.
fn refused_first() -> (Runtime, String) {
    let mut writer = BundleWriter::new(Provenance::new("fixture"));
    let alone = Kernel {
        route: Route::CubinOnly,
        ..copy_kernel("copy_f32@alone-0")
    };
    let code = Some(("sm_90", b"FAKECODE of a newer assembler".as_slice()));
    writer.add(alone, COPY, code).unwrap();
    writer
        .add(copy_kernel("copy_f32@plain-1"), COPY, None)
        .unwrap();
    let runtime = Runtime::new(opened(&writer), Device::cuda(0).unwrap());
    let function = runtime.kernels()[0].semantics.function.to_string();
    (runtime, function)
}

#[test]
fn launchers_move_on_from_code_that_the_driver_refuses() {
    let _driver = driver();
    type Ways = [fn(Call<'_>, &Runtime); 4];
    let ways: Ways = [
        |call, runtime| {
            let chosen = call.select(runtime).unwrap();
            assert_eq!(chosen.kernel.id, "copy_f32@plain-1");
            call.launch(runtime).unwrap();
        },
        |call, runtime| {
            let (kernel, _) = call.launch(runtime).unwrap();
            assert_eq!(kernel.id, "copy_f32@plain-1");
        },
        |call, runtime| {
            let prepared = call.prepare(runtime).unwrap();
            // SAFETY: the arrays live as long as the test, and the driver copies at once.
            unsafe { cuda(runtime).enqueue(&prepared, None) }.unwrap();
        },
        |call, runtime| {
            let stream = cuda(runtime).raw_stream();
            // SAFETY: as above; the stream is the device's own.
            unsafe { call.enqueue_on(runtime, stream) }.unwrap();
        },
    ];
    for way in ways {
        // The first to ask is answered as the second one is.
        let (runtime, function) = refused_first();
        let numbers: Vec<f32> = (0..15).map(|at| at as f32).collect();
        let from = Array::from_slice(runtime.device(), &numbers).unwrap();
        let mut to = Array::<f32>::zeros(runtime.device(), 15).unwrap();
        let call = Call::new(&function).extent("m", 3).extent("n", 5);
        let call = call.input("s", In::<f32, 2>::from(&from));
        way(call.output("d", Out::<f32, 2>::from(&mut to)), &runtime);
        assert_eq!(to.to_vec().unwrap(), numbers);
    }
}

/// Of a kernel that wants workspace for each CTA that runs at once an estimate chooses until its
/// code is loaded: one on each of the 4 multiprocessors, where the driver says two.
#[test]
fn a_limit_of_workspace_holds_for_what_a_launch_wants() {
    let _driver = driver();
    let mut resident = scaled_kernel("scaled_f32@a-1");
    resident.workspace.bytes = expr("max_clusters * 256");
    let bundle = bundle_of([
        (resident, SCALED),
        (scaled_kernel("scaled_f32@b-2"), SCALED),
    ]);
    let runtime = Runtime::new(bundle, Device::cuda(0).unwrap());
    let function = runtime.kernels()[0].semantics.function.to_string();
    let device = runtime.device();
    let from = Array::<f32>::zeros(device, 8).unwrap();
    let mut to = Array::<f32>::zeros(device, 8).unwrap();
    let mut call = |limit| {
        let call = Call::new(&function).extent("m", 2).scalar("alpha", 2.0);
        let call = call.input("s", In::<f32, 2>::from(&from));
        let call = call.output("d", Out::<f32, 2>::from(&mut to));
        let call = call.workspace_limit(limit);
        let explained = call.explain(&runtime).unwrap().chosen.unwrap().kernel;
        let chosen = call.select(&runtime).unwrap().kernel.id.clone();
        assert_eq!(explained, chosen);
        (chosen, call.prepare(&runtime).unwrap())
    };
    let (all, prepared) = call(2048);
    assert_eq!(
        (all.as_str(), prepared.workspace_bytes()),
        ("scaled_f32@a-1", 2048)
    );
    let (less, prepared) = call(2047);
    assert_eq!(
        (less.as_str(), prepared.workspace_bytes()),
        ("scaled_f32@b-2", 32)
    );
    let stream = cuda(&runtime).raw_stream();
    let [short, lent] = [31, 32].map(|bytes| Array::<u8>::zeros(device, bytes).unwrap());
    // SAFETY: the arrays live as long as the test, and the driver copies at once.
    let enqueue =
        |lent: &Array<u8>| unsafe { device.enqueue_on(stream, &prepared, Some(lent.buffer())) };
    assert!(enqueue(&lent).is_ok());
    let refused = enqueue(&short).unwrap_err().to_string();
    assert!(refused.contains("has 31 bytes; 32 are needed"), "{refused}");
}

#[test]
fn what_is_of_one_gpu_is_not_used_on_another() {
    let _driver = driver();
    let runtimes = [runtime(0), runtime(1)];
    let copy = Copy::new(&runtimes[0], 0.0);
    let error = copy.enqueue(cuda(&runtimes[1])).unwrap_err();
    assert!(
        matches!(&error, Error::Program(text) if text.contains("another device")),
        "{error}"
    );
    let error = cuda(&runtimes[1]).download(&copy.to).unwrap_err();
    assert!(matches!(error, Error::ForeignBuffer), "{error}");
}
