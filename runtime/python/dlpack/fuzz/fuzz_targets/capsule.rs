//! Hostile capsules.
//!
//! In: any numbers in the structs of the header. Out: no panic and no read outside them; what is
//! taken has every element at an address of 64 bits, and each struct is given back once.
#![no_main]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tilewright_dlpack::header::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use tilewright_dlpack::{Managed, Tensor};

#[derive(Debug, Arbitrary)]
enum Array {
    Null,
    Odd(u8),
    There([i64; 8]),
    Small([i8; 8]),
}

#[derive(Debug, Arbitrary)]
struct Input {
    version: Option<(u8, u32)>,
    data: u64,
    byte_offset: u64,
    is_near: bool,
    device: (i8, i32),
    ndim: i8,
    code: u8,
    bits: u8,
    lanes: u8,
    shape: Array,
    strides: Array,
    flags: u64,
    is_kept: bool,
}

impl Array {
    fn placed(&self, held: &mut [i64; 8]) -> *mut i64 {
        match self {
            Array::Null => null_mut(),
            Array::Odd(at) => without_provenance_mut(8 * usize::from(*at) + 1),
            Array::There(all) => {
                *held = *all;
                held.as_mut_ptr()
            }
            Array::Small(all) => {
                *held = all.map(i64::from);
                held.as_mut_ptr()
            }
        }
    }
}

unsafe extern "C" fn legacy_back(lent: *mut DLManagedTensor) {
    let lent = unsafe { Box::from_raw(lent) };
    count(lent.manager_ctx);
}

unsafe extern "C" fn versioned_back(lent: *mut DLManagedTensorVersioned) {
    let lent = unsafe { Box::from_raw(lent) };
    count(lent.manager_ctx);
}

fn count(context: *mut c_void) {
    unsafe { &*context.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

/// Wants the first byte of the first and the last byte of the last element to have addresses.
fn check(tensor: &Tensor) {
    if tensor.shape.contains(&0) {
        return;
    }
    assert!(tensor.shape.iter().all(|extent| *extent > 0));
    assert_eq!(tensor.address % u64::from(tensor.dtype.bytes()), 0);
    let axes = || tensor.shape.iter().zip(&tensor.stride);
    let ends = axes().map(|(extent, stride)| i128::from(extent - 1) * i128::from(*stride));
    let (mut first, mut last) = (0i128, 0i128);
    for end in ends {
        first += end.min(0);
        last += end.max(0);
    }
    let bits = i128::from(tensor.dtype.bits());
    let address = i128::from(tensor.address) * 8;
    assert!(address + first * bits >= 0);
    assert!(address + (last + 1) * bits <= (i128::from(u64::MAX) + 1) * 8);
}

fuzz_target!(|input: Input| {
    let given_back = AtomicUsize::new(0);
    let context = (&raw const given_back).cast_mut().cast::<c_void>();
    let (mut shape, mut strides) = ([0; 8], [0; 8]);
    let data = if input.is_near { input.data & 0xffff_ffff } else { input.data };
    let offset = if input.is_near { input.byte_offset & 0xff } else { input.byte_offset };
    let dl_tensor = DLTensor {
        data: without_provenance_mut(data as usize),
        device: DLDevice {
            device_type: i32::from(input.device.0),
            device_id: input.device.1,
        },
        ndim: i32::from(input.ndim),
        dtype: DLDataType {
            code: input.code,
            bits: input.bits,
            lanes: u16::from(input.lanes),
        },
        shape: input.shape.placed(&mut shape),
        strides: input.strides.placed(&mut strides),
        byte_offset: offset,
    };
    let lent = match input.version {
        None => {
            let lent = Box::new(DLManagedTensor {
                dl_tensor,
                manager_ctx: context,
                deleter: Some(legacy_back),
            });
            unsafe { Managed::legacy(NonNull::from(Box::leak(lent))) }
        }
        Some((major, minor)) => {
            let lent = Box::new(DLManagedTensorVersioned {
                version: DLPackVersion {
                    major: u32::from(major % 3),
                    minor,
                },
                manager_ctx: context,
                deleter: Some(versioned_back),
                flags: input.flags,
                dl_tensor,
            });
            unsafe { Managed::versioned(NonNull::from(Box::leak(lent))) }
        }
    };
    match lent.judged() {
        Ok(tensor) => {
            check(&tensor);
            if input.is_kept {
                assert_eq!(lent.judged().as_ref(), Ok(&tensor));
            }
        }
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
    assert_eq!(given_back.load(Ordering::SeqCst), 0);
    drop(lent);
    assert_eq!(given_back.load(Ordering::SeqCst), 1);
});
