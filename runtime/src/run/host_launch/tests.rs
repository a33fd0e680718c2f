//! Launches on memory of the host, which here is a vector at an address of our choice.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;

use tilewright_bundle::DType;
use tilewright_fixture::bundle;

use super::*;
use crate::launch::layout::Extents;
use crate::launch::request::Request;
use crate::launch::tensors::Described;
use crate::open::runtime::Runtime;

/// Bytes that stand at an address.
struct Bytes {
    start: u64,
    held: RefCell<Vec<u8>>,
}

impl Bytes {
    fn at(&self, address: u64) -> usize {
        usize::try_from(address.checked_sub(self.start).unwrap()).unwrap()
    }
}

impl HostMemory for Bytes {
    fn read(&self, address: u64, into: &mut [u8]) {
        let at = self.at(address);
        into.copy_from_slice(&self.held.borrow()[at..at + into.len()]);
    }

    fn write(&self, address: u64, from: &[u8]) {
        let at = self.at(address);
        self.held.borrow_mut()[at..at + from.len()].copy_from_slice(from);
    }
}

fn placed(operand: &str, address: u64, axes: [(i64, i64); 2]) -> Placed<'_> {
    let (dtype, place) = (DType::F32, Extents::new(axes));
    Placed {
        tensor: Described {
            operand,
            dtype,
            place,
        },
        address,
        bytes: None,
    }
}

/// Copies 3 rows of 4 elements out of rows of 6 into rows of 5, all in one memory.
fn copied(operands: Vec<Placed<'_>>) -> Result<(Vec<u8>, HostLaunch), Error> {
    let runtime = Runtime::new(bundle(), Device::emulator());
    let kernel = runtime.named("copy_f32").unwrap();
    let request = Request {
        operands,
        ..Request::default()
    };
    let problem = request.problem(kernel).map_err(|r| refused(kernel, r))?;
    let loaded = runtime.load(kernel)?;
    let launch = HostLaunch::new(runtime.device(), loaded, problem, &request.operands)?;
    let start = 0x1008;
    let held = RefCell::new((0..=255).collect());
    let memory = Bytes { start, held };
    launch.run(runtime.device(), &request.operands, &memory)?;
    Ok((memory.held.into_inner(), launch))
}

#[test]
fn elements_come_back_and_what_lies_between_them_stays() {
    let s = placed("s", 0x1008, [(3, 6), (4, 1)]);
    let d = placed("d", 0x1008 + 100, [(3, 5), (4, 1)]);
    let (after, launch) = copied(vec![s, d]).unwrap();
    assert_eq!(launch.workspace_bytes(), 0);
    let mut expected: Vec<u8> = (0..=255).collect();
    for row in 0..3 {
        let from = row * 24;
        expected.copy_within(from..from + 16, 100 + row * 20);
    }
    assert_eq!(after, expected);
}

#[test]
fn rows_of_an_output_may_lie_between_those_of_another_operand() {
    let s = || placed("s", 0x1008, [(3, 10), (4, 1)]);
    let d = |behind: u64| placed("d", 0x1008 + behind, [(3, 10), (4, 1)]);
    let (after, _) = copied(vec![s(), d(20)]).unwrap();
    let mut expected: Vec<u8> = (0..=255).collect();
    for row in 0..3 {
        expected.copy_within(row * 40..row * 40 + 16, row * 40 + 20);
    }
    assert_eq!(after, expected);
    let refused = copied(vec![s(), d(52)]).unwrap_err().to_string();
    assert!(refused.contains("`d` is written and shares memory with `s`"));
}

#[test]
fn overlap_alignment_and_size_are_judged_by_the_hosts_addresses() {
    let s = || placed("s", 0x1008, [(3, 6), (4, 1)]);
    let refused = |operands| copied(operands).unwrap_err().to_string();
    let over = placed("d", 0x1008 + 60, [(3, 5), (4, 1)]);
    assert!(refused(vec![s(), over]).contains("shares memory"));
    let odd = placed("d", 0x1008 + 101, [(3, 5), (4, 1)]);
    assert!(refused(vec![s(), odd]).contains("a multiple of 4 is needed"));
    let mut short = placed("d", 0x1008 + 100, [(3, 5), (4, 1)]);
    short.bytes = Some(55);
    let text = refused(vec![s(), short]);
    assert!(
        text.contains("needs 56 bytes from its offset; the buffer has 55"),
        "{text}"
    );
    // What lies behind a buffer that is too short is none of its.
    let mut before = placed("d", 0x1008 - 20, [(3, 5), (4, 1)]);
    before.bytes = Some(20);
    let text = refused(vec![s(), before]);
    assert!(
        text.contains("the buffer has 20") && !text.contains("shares memory"),
        "{text}"
    );
}
