//! What was lent is read within bounds and given back once.
#![allow(clippy::unwrap_used)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::header::{DLDataType, DLDevice, DLPackVersion};

/// A producer's context: counts how often its tensor was given back.
static NOTHING: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn versioned_back(lent: *mut DLManagedTensorVersioned) {
    // SAFETY: the tests' tensors come from a box and have a counter as their context.
    unsafe {
        let lent = Box::from_raw(lent);
        (*lent.manager_ctx.cast::<AtomicUsize>()).fetch_add(1, Ordering::SeqCst);
    }
}

unsafe extern "C" fn legacy_back(lent: *mut DLManagedTensor) {
    // SAFETY: as above.
    unsafe {
        let lent = Box::from_raw(lent);
        (*lent.manager_ctx.cast::<AtomicUsize>()).fetch_add(1, Ordering::SeqCst);
    }
}

fn tensor(ndim: i32, shape: *mut i64, strides: *mut i64) -> DLTensor {
    DLTensor {
        data: std::ptr::without_provenance_mut(0x2000),
        device: DLDevice {
            device_type: 1,
            device_id: 0,
        },
        ndim,
        dtype: DLDataType {
            code: 2,
            bits: 32,
            lanes: 1,
        },
        shape,
        strides,
        byte_offset: 0,
    }
}

fn context(count: &AtomicUsize) -> *mut c_void {
    std::ptr::from_ref(count).cast_mut().cast()
}

fn versioned(dl_tensor: DLTensor, major: u32, count: &AtomicUsize) -> Managed {
    let lent = Box::new(DLManagedTensorVersioned {
        version: DLPackVersion { major, minor: 0 },
        manager_ctx: context(count),
        deleter: Some(versioned_back),
        flags: 1,
        dl_tensor,
    });
    // SAFETY: the tests' arrays are live and have as many entries as are told.
    unsafe { Managed::versioned(NonNull::from(Box::leak(lent))) }
}

fn legacy(dl_tensor: DLTensor, count: &AtomicUsize) -> Managed {
    let lent = Box::new(DLManagedTensor {
        dl_tensor,
        manager_ctx: context(count),
        deleter: Some(legacy_back),
    });
    // SAFETY: as above.
    unsafe { Managed::legacy(NonNull::from(Box::leak(lent))) }
}

#[test]
fn tensors_are_read_and_given_back_once() {
    let (mut shape, mut strides) = ([4, 8], [16, 1]);
    let count = AtomicUsize::new(0);
    let lent = versioned(
        tensor(2, shape.as_mut_ptr(), strides.as_mut_ptr()),
        1,
        &count,
    );
    let told = lent.judged().unwrap();
    assert_eq!((told.address, told.stride), (0x2000, vec![16, 1]));
    assert_eq!(told.hold, crate::Hold::ReadOnly);
    assert_eq!(count.load(Ordering::SeqCst), 0);
    drop(lent);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let lent = legacy(tensor(2, shape.as_mut_ptr(), std::ptr::null_mut()), &count);
    assert_eq!(lent.judged().unwrap().stride, [8, 1]);
    drop(lent);
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[test]
fn nothing_is_read_that_is_not_there() {
    let null = std::ptr::null_mut();
    let odd = std::ptr::without_provenance_mut(0x1001);
    let mut shape = [4i64; MAX_AXES];
    for (tensor, part) in [
        (tensor(-1, null, null), "it has -1 axes"),
        (tensor(i32::MAX, odd, odd), "axes; 0 to 8"),
        (
            tensor(2, null, null),
            "its shape of 2 axes is at address 0x0",
        ),
        (
            tensor(2, odd, null),
            "its shape of 2 axes is at address 0x1001",
        ),
        (
            tensor(2, shape.as_mut_ptr(), odd),
            "its strides of 2 axes is at",
        ),
    ] {
        let count = AtomicUsize::new(0);
        let text = legacy(tensor, &count).judged().unwrap_err().to_string();
        assert!(text.contains(part), "{part} is not in {text}");
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
    let none = legacy(tensor(0, null, null), &NOTHING);
    assert!(none.judged().unwrap().shape.is_empty());
}

#[test]
fn another_major_version_is_given_back_unread() {
    let count = AtomicUsize::new(0);
    let odd = std::ptr::without_provenance_mut(0x1001);
    let text = versioned(tensor(2, odd, odd), 2, &count).judged();
    assert!(text.unwrap_err().to_string().contains("DLPack 2.0"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
