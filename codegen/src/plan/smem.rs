//! Shared-memory tiles: their layouts, swizzles, and what a warp's access costs in bank conflicts.
//!
//! Banks: 32 of 4 bytes. A warp's access is served in phases of 32, 16 or 8 lanes for 4, 8 or 16
//! bytes a lane (8 lanes for ldmatrix); a phase takes as many cycles as the most distinct words
//! asked of one bank.

use tilewright_layout::{ComposedLayout, Layout, Swizzle};

use crate::error::Result;
use crate::plan::part::Part;

/// How one warp-wide instruction touches shared memory: byte offsets by lane.
fn phase_cycles(offsets_bytes: &[i64], access_bytes: i64, lanes_per_phase: usize) -> u32 {
    let mut cycles = 0;
    for phase in offsets_bytes.chunks(lanes_per_phase) {
        let mut words: Vec<i64> = phase
            .iter()
            .flat_map(|offset| {
                let first = offset / 4;
                let last = (offset + access_bytes - 1) / 4;
                first..=last
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u32; 32];
        for word in words {
            banks[word.rem_euclid(32) as usize] += 1;
        }
        cycles += banks.into_iter().max().unwrap_or(0);
    }
    cycles
}

/// Cycles of all phases of one access by warp 0, and the fewest any layout could take.
pub fn warp_cycles(
    part: &Part<1>,
    swizzle: &Swizzle,
    value: usize,
    element_bytes: i64,
    access_bytes: i64,
    threads: i64,
) -> (u32, u32) {
    let offset = |thread: i64| {
        let element = part.base(thread)[0] + part.values[value][0];
        swizzle.apply(element) * element_bytes
    };
    let offsets: Vec<i64> = (0..threads.min(32)).map(offset).collect();
    let lanes = (128 / access_bytes).clamp(1, 32) as usize;
    let cycles = phase_cycles(&offsets, access_bytes, lanes);
    let mut distinct = offsets.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let bytes = distinct.len() as i64 * access_bytes;
    (cycles, ((bytes + 127) / 128).max(1) as u32)
}

/// A tile of that shape whose `contiguous` mode has stride 1, swizzled.
pub(super) fn tile_layout(
    shape: [i64; 2],
    contiguous: usize,
    pitch: i64,
    swizzle: Swizzle,
) -> Result<ComposedLayout> {
    let stride = if contiguous == 1 {
        [pitch, 1]
    } else {
        [1, pitch]
    };
    let layout = Layout::flat(&shape, &stride)?;
    Ok(ComposedLayout::new(swizzle, layout))
}
