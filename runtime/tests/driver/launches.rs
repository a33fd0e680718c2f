//! Launches from any thread on any device, and what they cost the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tilewright_runtime::{Device, Error};
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

#[test]
fn what_is_of_one_gpu_is_not_used_on_another() {
    let _driver = driver();
    let runtimes = [runtime(0), runtime(1)];
    let copy = Copy::new(&runtimes[0], 0.0);
    let error = copy.enqueue(cuda(&runtimes[1])).unwrap_err();
    assert!(
        matches!(&error, Error::Request(text) if text.contains("another device")),
        "{error}"
    );
    let error = cuda(&runtimes[1]).download(&copy.to).unwrap_err();
    assert!(matches!(error, Error::ForeignBuffer), "{error}");
}
