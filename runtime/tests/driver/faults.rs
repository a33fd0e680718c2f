//! A kernel that faults: who may have done it, and how work goes on.

use tilewright_runtime::{Device, Error, Fault, FoundBy};

use crate::harness::*;

fn fault_of(error: &Error) -> &Fault {
    match error {
        Error::Fault(fault) => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_wait_names_the_launches_that_may_have_faulted() {
    let driver = driver();
    let runtime = runtime(0);
    let (device, other) = (cuda(&runtime), cuda(&runtime).aside().unwrap());
    let copy = Copy::new(&runtime, 0.0);
    copy.enqueue(device).unwrap();
    device.synchronize().unwrap();
    copy.enqueue(&other).unwrap();
    copy.enqueue(device).unwrap();
    driver.fault(0);
    let error = device.synchronize().unwrap_err();
    let fault = fault_of(&error);
    assert!(matches!(&fault.by, FoundBy::Driver { call, .. } if call == "cuStreamSynchronize"));
    // The first launch was waited for.
    assert_eq!((fault.suspects.len(), fault.earlier), (2, 0));
    let work = fault.suspects[0].to_string();
    assert_eq!(work, "copy_f32@plain-1 on m=3 n=5 lds=5 ldd=5");
    let text = error.to_string();
    assert!(
        text.contains("CUDA_ERROR_ILLEGAL_ADDRESS") && text.contains(&work),
        "{text}"
    );
    assert!(error.is_lost());
}

#[test]
fn what_is_lost_refuses_everything_until_a_fresh_process() {
    let driver = driver();
    let lost = runtime(0);
    let copy = Copy::new(&lost, 0.0);
    copy.enqueue(cuda(&lost)).unwrap();
    let event = cuda(&lost).event();
    driver.fault(0);
    // The first call to meet it is no wait.
    let error = lost.device().alloc(16).unwrap_err();
    assert_eq!(fault_of(&error).suspects.len(), 1);
    assert!(lost.device().is_lost() && lost.counters().is_lost);
    let again = [
        copy.enqueue(cuda(&lost)).unwrap_err(),
        lost.device().alloc(16).unwrap_err(),
        lost.device().synchronize().unwrap_err(),
        lost.load(&lost.kernels()[1]).unwrap_err(),
        cuda(&lost).aside().unwrap_err(),
        cuda(&lost).download(&copy.to).unwrap_err(),
    ];
    for error in again {
        let text = error.to_string();
        assert!(matches!(error, Error::ContextLost { .. }), "{text}");
        assert!(text.starts_with("this runtime's context is lost"), "{text}");
    }
    let error = Device::cuda(0).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::ProcessLost { ordinal: 0, .. }) && error.is_lost());
    // Who may have done it is not forgotten.
    assert!(text.contains("copy_f32@plain-1 on m=3 n=5"), "{text}");
    driver.fresh_process();
    let fresh = runtime(0);
    // Nothing of the lost one reaches the driver, which would end the process; nor does it take
    // the context of the fresh one with it.
    drop((copy, event, lost));
    let copy = Copy::new(&fresh, 7.0);
    copy.enqueue(cuda(&fresh)).unwrap();
    assert_eq!(cuda(&fresh).download(&copy.to).unwrap(), Copy::content(7.0));
    assert!(!fresh.device().is_lost());
}

#[test]
fn runtimes_of_one_device_know_each_others_launches() {
    let driver = driver();
    let (one, other, elsewhere) = (runtime(0), runtime(0), runtime(1));
    let copy = Copy::new(&one, 0.0);
    copy.enqueue(cuda(&one)).unwrap();
    driver.fault(0);
    let error = other.device().synchronize().unwrap_err();
    assert_eq!(fault_of(&error).suspects[0].kernel, "copy_f32@plain-1");
    assert!(one.device().is_lost());
    // The other GPU is not concerned.
    let copy = Copy::new(&elsewhere, 1.0);
    copy.enqueue(cuda(&elsewhere)).unwrap();
    elsewhere.device().synchronize().unwrap();
}

#[test]
fn a_fault_that_nobody_has_met_is_met_by_the_next_to_open() {
    let driver = driver();
    let lost = runtime(0);
    let copy = Copy::new(&lost, 0.0);
    copy.enqueue(cuda(&lost)).unwrap();
    driver.fault(0);
    let text = Device::cuda(0).unwrap_err().to_string();
    assert!(lost.device().is_lost());
    assert!(
        text.starts_with("this process has lost GPU 0") && text.contains("copy_f32@plain-1"),
        "{text}"
    );
    drop((copy, lost));
    // When nobody knows of it any more, there is what the driver says.
    let text = Device::cuda(0).unwrap_err().to_string();
    assert!(
        text.contains("cuDevicePrimaryCtxRetain failed: CUDA_ERROR"),
        "{text}"
    );
    // The other GPU is not concerned.
    Device::cuda(1).unwrap().alloc(64).unwrap();
}
