//! Launches in graphs, and what is put in their place.

use tilewright_runtime::{Captured, Error};

use crate::harness::*;

#[test]
fn a_captured_launch_is_given_other_memory() {
    let driver = driver();
    let runtime = runtime(0);
    let device = cuda(&runtime);
    let (first, second) = (Copy::new(&runtime, 0.0), Copy::new(&runtime, 100.0));
    let stream = device.raw_stream();
    let mut captured: Vec<Captured> = Vec::new();
    let graph = device.capture(|| {
        // SAFETY: the memory lives as long as the test.
        let one = unsafe { device.enqueue_captured(stream, &first.prepared, None) }?;
        captured.push(one);
        // SAFETY: as above.
        captured.push(unsafe { device.enqueue_captured(stream, &first.prepared, None) }?);
        Ok(())
    });
    let graph = graph.unwrap();
    let launches = driver.count(Count::Launches);
    device.replay(&graph).unwrap();
    assert_eq!(driver.count(Count::Launches), launches + 2);
    assert_eq!(device.download(&first.to).unwrap(), Copy::content(0.0));
    assert_ne!(device.download(&second.to).unwrap(), Copy::content(100.0));
    // SAFETY: as above; no replay is under way.
    let updated =
        unsafe { device.update(graph.executable(), &mut captured[1], &second.prepared, None) };
    updated.unwrap();
    device.fill(&first.to, 0).unwrap();
    device.replay(&graph).unwrap();
    assert_eq!(device.download(&first.to).unwrap(), Copy::content(0.0));
    assert_eq!(device.download(&second.to).unwrap(), Copy::content(100.0));
    driver.fault(0);
    let text = device.synchronize().unwrap_err().to_string();
    assert!(
        text.contains("no launch of this runtime was under way"),
        "{text}"
    );
}

#[test]
fn replays_are_suspects_too() {
    let driver = driver();
    let runtime = runtime(1);
    let device = cuda(&runtime);
    let copy = Copy::new(&runtime, 0.0);
    let graph = device.capture(|| copy.enqueue(device).and_then(|()| copy.enqueue(device)));
    let graph = graph.unwrap();
    device.replay(&graph).unwrap();
    driver.fault(1);
    let text = device.synchronize().unwrap_err().to_string();
    let work = "under way was a graph of copy_f32@plain-1 on m=3 n=5 lds=5 ldd=5";
    assert!(text.ends_with(work), "{text}");
}

#[test]
fn what_cannot_take_its_place_is_refused() {
    let _driver = driver();
    let (runtime, other) = (runtime(0), runtime(0));
    let device = cuda(&runtime);
    let copy = Copy::new(&runtime, 0.0);
    let stream = device.raw_stream();
    // SAFETY: the memory lives as long as the test.
    let told = unsafe { device.enqueue_captured(stream, &copy.prepared, None) };
    let told = told.unwrap_err().to_string();
    assert!(told.contains("not being captured"), "{told}");
    let mut captured = None;
    let graph = device.capture(|| {
        // SAFETY: as above.
        captured = Some(unsafe { device.enqueue_captured(stream, &copy.prepared, None) }?);
        Ok(())
    });
    let (graph, foreign) = (graph.unwrap(), Copy::new(&other, 0.0));
    let (executable, captured) = (graph.executable(), captured.as_mut().unwrap());
    // SAFETY: as above.
    let told = unsafe { device.update(executable, captured, &foreign.prepared, None) };
    let told = told.unwrap_err();
    assert!(
        matches!(&told, Error::Program(text) if text.contains("one loaded kernel")),
        "{told}"
    );
}
