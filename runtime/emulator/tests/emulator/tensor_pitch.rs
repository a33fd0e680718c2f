//! Boxes narrower than the span of their swizzle: their rows lie a span apart.

use super::kernel::sorted_ids;
use super::tensor_box::{BEFORE, Copy};
use tilewright_emulator::{TensorMap, TensorSwizzle, TensorType};

const ROWS: usize = 12;
/// Bytes of a row of the tensor, and of the box.
const PITCH: usize = 64;
const ROW: usize = 32;

/// Rows that count their bytes.
fn tensor() -> Vec<u8> {
    (0..ROWS * PITCH).map(|at| (at % 251) as u8).collect()
}

/// Boxes of all rows and 16 of 32 columns.
fn map(swizzle: TensorSwizzle) -> TensorMap {
    let tiled = TensorMap::tiled(
        TensorType::Bfloat16,
        0,
        &[32, ROWS as u64],
        &[PITCH as u64],
        &[16, ROWS as u16],
    );
    TensorMap { swizzle, ..tiled }
}

fn copy(tensor: &[u8], swizzle: TensorSwizzle, declared: usize) -> Copy<'_> {
    Copy {
        tensor,
        map: map(swizzle),
        coords: &[0, 0],
        offsets: &[],
        declared,
        dynamic: false,
        shared: None,
        stores: false,
        bytes: ROWS * ROW,
    }
}

/// Where the 16 bytes `half` of a row lie, and the bytes that a tile takes.
fn place(swizzle: TensorSwizzle, row: usize, half: usize) -> usize {
    match swizzle {
        TensorSwizzle::Bytes64 => 64 * row + 16 * (half ^ ((row / 2) % 4)),
        TensorSwizzle::Bytes128 => 128 * row + 16 * (half ^ (row % 8)),
        _ => unreachable!("wider spans only"),
    }
}

const WIDER: [(TensorSwizzle, usize); 2] =
    [(TensorSwizzle::Bytes64, 64), (TensorSwizzle::Bytes128, 128)];

#[test]
fn loaded_rows_lie_a_span_apart() {
    let tensor = tensor();
    for (swizzle, span) in WIDER {
        let (shared, _, report) = copy(&tensor, swizzle, ROWS * span).run();
        assert_eq!(sorted_ids(&report.findings), [""; 0], "{swizzle:?}");
        let mut want = vec![BEFORE; ROWS * span];
        for row in 0..ROWS {
            for half in 0..2 {
                let (from, to) = (PITCH * row + 16 * half, place(swizzle, row, half));
                want[to..to + 16].copy_from_slice(&tensor[from..from + 16]);
            }
        }
        assert_eq!(shared, want, "{swizzle:?}");
    }
}

#[test]
fn stored_rows_are_read_a_span_apart() {
    let before = vec![1; ROWS * PITCH];
    for (swizzle, span) in WIDER {
        let shared: Vec<u8> = (0..ROWS * span).map(|at| (at % 249) as u8).collect();
        let stored = Copy {
            stores: true,
            shared: Some(&shared),
            ..copy(&before, swizzle, ROWS * span)
        };
        let (_, tensor, report) = stored.run();
        assert_eq!(sorted_ids(&report.findings), [""; 0], "{swizzle:?}");
        for (at, byte) in tensor.iter().enumerate() {
            let (row, column) = (at / PITCH, at % PITCH);
            let want = match column < ROW {
                true => shared[place(swizzle, row, column / 16) + column % 16],
                false => 1,
            };
            assert_eq!(*byte, want, "{swizzle:?} row {row} byte {column}");
        }
    }
}

#[test]
fn memory_for_the_packed_box_is_too_small() {
    let tensor = tensor();
    for stores in [false, true] {
        for dynamic in [false, true] {
            let packed = Copy {
                stores,
                dynamic,
                ..copy(&tensor, TensorSwizzle::Bytes128, ROWS * ROW)
            };
            let (.., report) = packed.run();
            let found = report
                .findings
                .iter()
                .find(|one| one.id.as_str() == "oob_shared");
            let text = &found.expect("a finding").message;
            let named = "rows of 32 bytes lie 128 bytes apart, the span of swizzle Bytes128: the \
                         box takes 1536 bytes of shared memory, not 384, and 384 are there";
            assert_eq!(text, named);
        }
    }
}

#[test]
fn a_box_as_wide_as_its_span_stays_packed() {
    let tensor = tensor();
    let (.., report) = copy(&tensor, TensorSwizzle::Bytes32, ROWS * ROW).run();
    assert_eq!(sorted_ids(&report.findings), [""; 0]);
}
