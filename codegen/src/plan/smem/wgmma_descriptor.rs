//! Matrix descriptors of asynchronous warpgroup MMAs, computed from shared-memory layouts.
//!
//! The tensor cores read an operand through the canonical layouts of the PTX ISA ("Asynchronous
//! warpgroup level matrix shared memory layout"). With a swizzle of `w` bytes and elements of `e`,
//! element (r, k) of a K-major operand lies at `r/8·SBO + r%8·w + k·e`; an MN-major one at
//! `r/(w/e)·LBO + r%(w/e)·e + k/8·SBO + k%8·w`. Without a swizzle the unit is a core matrix of
//! eight rows of 16 bytes: K-major elements lie at `r/8·SBO + r%8·16 + k·e/16·LBO + k·e%16`,
//! MN-major ones at `r·e/16·SBO + r·e%16 + k/8·LBO + k%8·16`. The swizzle itself acts on address
//! bits, so a start address moves freely inside its pattern. A descriptor is derived from a few
//! offsets of the layout and then compared with it element by element.

use tilewright_layout::ComposedLayout;

use crate::error::Result;
use crate::plan::data::matrix_descriptor::{CORE_ROWS, Descriptor, FIELD_BITS, Major, UNIT_BYTES};

/// The descriptor of the MMA's operand (`rows` by `k` elements) in a tile of that layout.
///
/// # Errors
/// A message that names the first element which no canonical layout puts where the tile has it.
pub fn derive(
    layout: &ComposedLayout,
    major: Major,
    tile: [i64; 2],
    [rows, k]: [i64; 2],
    bytes: i64,
) -> Result<std::result::Result<Descriptor, String>> {
    let at = |row: i64, column: i64| -> Result<i64> {
        Ok(layout.inner.at(row + tile[0] * column)? * bytes)
    };
    let bits = layout.swizzle.bits();
    let swizzle_bytes = UNIT_BYTES << bits;
    let unit = i64::from(layout.swizzle.base()) + i64::from(bytes.ilog2());
    let is_hardware = bits == 0 || bits <= 3 && unit == 4 && layout.swizzle.shift() == 3;
    if !is_hardware {
        return Ok(Err(format!(
            "{} is none of the swizzles of 128, 64 or 32 bytes",
            layout.swizzle
        )));
    }
    // How far apart elements of the MMA are; what lies outside is never asked for.
    let far = |row: i64, column: i64| {
        if row < rows && column < k {
            at(row, column)
        } else {
            Ok(UNIT_BYTES)
        }
    };
    let span = swizzle_bytes / bytes;
    let (leading, stride) = match (major, bits) {
        (Major::K, 0) => (far(0, span)?, far(CORE_ROWS, 0)?),
        (Major::K, _) => (UNIT_BYTES, far(CORE_ROWS, 0)?),
        (Major::Mn, 0) => (far(0, CORE_ROWS)?, far(span, 0)?),
        (Major::Mn, _) => (far(span, 0)?, far(0, CORE_ROWS)?),
    };
    let steps = (0..tile[1] / k).map(|step| at(0, step * k));
    let descriptor = Descriptor {
        major,
        leading_bytes: leading,
        stride_bytes: stride,
        swizzle_bytes,
        k_steps_bytes: steps.collect::<Result<_>>()?,
        row_step_bytes: if rows < tile[0] { at(rows, 0)? } else { 0 },
    };
    let most = UNIT_BYTES << FIELD_BITS;
    if [leading, stride]
        .iter()
        .any(|field| *field % UNIT_BYTES != 0 || !(0..most).contains(field))
    {
        return Ok(Err(format!("{descriptor:?} does not fit its fields")));
    }
    for column in 0..tile[1] {
        for row in 0..tile[0] {
            let step = descriptor.k_steps_bytes.get((column / k) as usize);
            let start = row / rows * descriptor.row_step_bytes + step.copied().unwrap_or_default();
            let reads = start + descriptor.offset(row % rows, column % k, bytes);
            if at(row, column)? != reads {
                return Ok(Err(format!(
                    "element ({row},{column}) of {} is at byte {}, the descriptor reads byte \
                     {reads}",
                    layout.inner,
                    at(row, column)?,
                )));
            }
        }
    }
    Ok(Ok(descriptor))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_layout::{ComposedLayout, Layout, Swizzle};

    use super::*;

    /// The descriptor of a 64 by k MMA of that layout of a tile.
    fn derived(
        layout: &str,
        bits: i64,
        (major, k, bytes): (Major, i64, i64),
    ) -> std::result::Result<Descriptor, String> {
        let swizzle = match bits {
            0 => Swizzle::NONE,
            _ => Swizzle::new(bits, 4 - i64::from(bytes.ilog2()), 3).unwrap(),
        };
        let inner: Layout<i64> = layout.parse().unwrap();
        let extent = |mode: usize| inner.mode(mode).unwrap().size().unwrap();
        let tile = [extent(0), extent(1)];
        derive(
            &ComposedLayout::new(swizzle, inner),
            major,
            tile,
            [64, k],
            bytes,
        )
        .unwrap()
    }

    fn numbers(descriptor: &Descriptor) -> [i64; 3] {
        let Descriptor {
            leading_bytes,
            stride_bytes,
            row_step_bytes,
            ..
        } = descriptor;
        [*leading_bytes, *stride_bytes, *row_step_bytes]
    }

    #[test]
    fn steps_along_k_go_from_box_to_box() {
        let k_major = (Major::K, 16, 2);
        let wide = derived("(128,(64,2)):(64,(1,8192))", 3, k_major).unwrap();
        assert_eq!(numbers(&wide), [16, 1024, 8192]);
        let steps = [0, 32, 64, 96, 16384, 16416, 16448, 16480];
        assert_eq!(wide.k_steps_bytes, steps);
        let narrow = derived("(128,(16,4)):(16,(1,2048))", 1, k_major).unwrap();
        assert_eq!(numbers(&narrow), [16, 256, 2048]);
        assert_eq!(narrow.k_steps_bytes, [0, 4096, 8192, 12288]);
        let plain = derived("(128,(8,4)):(8,(1,1024))", 0, k_major).unwrap();
        assert_eq!(numbers(&plain), [2048, 128, 1024]);
        assert_eq!(plain.k_steps_bytes, [0, 4096]);
        let bytes = derived("(64,(32,2)):(32,(1,2048))", 1, (Major::K, 32, 1)).unwrap();
        assert_eq!(
            (numbers(&bytes), bytes.k_steps_bytes),
            ([16, 256, 0], vec![0, 2048])
        );
    }

    #[test]
    fn strides_change_places_without_a_swizzle() {
        let mn_major = (Major::Mn, 16, 2);
        let swizzled = derived("((32,4),32):((1,1024),32)", 2, mn_major).unwrap();
        assert_eq!(numbers(&swizzled), [2048, 512, 4096]);
        assert_eq!(swizzled.k_steps_bytes, [0, 1024]);
        let plain = derived("((8,16),32):((1,256),8)", 0, mn_major).unwrap();
        assert_eq!(numbers(&plain), [128, 512, 4096]);
        assert_eq!((plain.high_word() as u32) >> 30, 0);
    }

    #[test]
    fn layouts_that_no_descriptor_reads_are_refused() {
        let k_major = (Major::K, 16, 2);
        let gap = derived("(128,(64,2)):(72,(1,9216))", 3, k_major).unwrap_err();
        assert!(gap.starts_with("element (1,0)"), "{gap}");
        let uneven = derived("((64,2),(16,4)):((16,8192),(1,1024))", 1, k_major);
        assert!(uneven.is_ok());
        let torn = derived("((32,2),(16,4)):((16,8192),(1,1024))", 1, k_major).unwrap_err();
        assert!(torn.starts_with("element (32,0)"), "{torn}");
        let swizzle = Swizzle::new(3, 4, 3).unwrap();
        let layout = ComposedLayout::new(swizzle, "(64,64):(64,1)".parse().unwrap());
        let refused = derive(&layout, Major::K, [64, 64], [64, 16], 2)
            .unwrap()
            .unwrap_err();
        assert!(refused.contains("none of the swizzles"), "{refused}");
    }
}
