//! How a packed operand lies in memory: an order that its kernel chose.
//!
//! Tiles of the operand follow one another, each of them laid out alike and cut at no edge: what
//! lies behind the operand's elements is zeros. In CuTe's words the order is
//! `tile_to_shape(tile, extents, order)`, of extents rounded up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most modes of one axis of a tile.
const MAX_MODES: usize = 8;
/// Most tiles that an axis is padded to a multiple of.
const MAX_MULTIPLE: u32 = 1 << 10;
/// Most elements of a tile.
const MAX_TILE_ELEMS: u64 = 1 << 20;
/// Most bits of an offset that a swizzle reads.
const MAX_SWIZZLE_BITS: u32 = 20;

/// The order of a packed operand's elements in memory.
///
/// ```
/// use tilewright_bundle::PackedOrder;
/// // Tiles of 4 rows and 8 columns, each row by row, those of the same rows side by side.
/// let order = PackedOrder {
///     shape: vec![vec![4], vec![8]],
///     stride: vec![vec![8], vec![1]],
///     swizzle: None,
///     order: vec![1, 0],
///     multiple: vec![1, 1],
/// };
/// assert_eq!(order.problems(2), Vec::<String>::new());
/// assert_eq!(order.to_string(), "(4,8):(8,1) by (1,0)");
/// assert_eq!(order.elems(&[5, 17]), Some(2 * 3 * 4 * 8));
/// assert_eq!(order.offset(&[5, 17], &[4, 9]), Some(4 * 32 + 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedOrder {
    /// Extents of a tile, of each axis of the operand by modes, the fastest first.
    pub shape: Vec<Vec<u32>>,
    /// Strides of these modes, in elements.
    pub stride: Vec<Vec<u32>>,
    /// The swizzle of a tile's offsets, in elements: CuTe's bits, base and shift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swizzle: Option<[u32; 3]>,
    /// The operand's axes in the order in which tiles along them follow one another, the fastest
    /// first.
    pub order: Vec<u32>,
    /// What the number of tiles along each axis is a multiple of: those behind the operand's end
    /// are zeros.
    pub multiple: Vec<u32>,
}

impl PackedOrder {
    /// What keeps it from being an order of an operand of `rank` axes: with nothing wrong, no two
    /// elements share a place, and the elements of a tile have no gap between them.
    pub fn problems(&self, rank: usize) -> Vec<String> {
        let mut problems = self.misshapen(rank);
        if !problems.is_empty() {
            return problems;
        }
        let elems = self.modes().try_fold(1u64, |product, (extent, _)| {
            let product = product.checked_mul(extent)?;
            (product <= MAX_TILE_ELEMS).then_some(product)
        });
        let Some(elems) = elems else {
            return vec![format!(
                "a tile has more than {MAX_TILE_ELEMS} elements, the most that are allowed"
            )];
        };
        let mut modes: Vec<(u64, u64)> = self.modes().filter(|(extent, _)| *extent > 1).collect();
        modes.sort_unstable_by_key(|(_, stride)| *stride);
        let mut behind = 1;
        for (extent, stride) in modes {
            if stride != behind {
                problems.push(format!(
                    "a mode of extent {extent} has stride {stride}; {behind} leaves no gap and no \
                     overlap in a tile"
                ));
                return problems;
            }
            behind = behind.saturating_mul(extent);
        }
        if let Some([bits, base, shift]) = self.swizzle {
            let span = bits.saturating_add(base);
            let fits = bits >= 1 && shift >= bits && span.saturating_add(shift) <= MAX_SWIZZLE_BITS;
            if !fits || !elems.is_multiple_of(1 << span) {
                problems.push(format!(
                    "the swizzle {} does not keep a tile of {elems} elements: bits are at least 1, \
                     shift at least bits, all together at most {MAX_SWIZZLE_BITS}, and \
                     2^(bits + base) divides the tile",
                    swizzle_text([bits, base, shift])
                ));
            }
        }
        problems
    }

    /// What is wrong with the lengths of its lists.
    fn misshapen(&self, rank: usize) -> Vec<String> {
        let mut problems = Vec::new();
        let lists = [
            self.shape.len(),
            self.stride.len(),
            self.order.len(),
            self.multiple.len(),
        ];
        if lists != [rank; 4] {
            let [shape, stride, order, multiple] = lists;
            problems.push(format!(
                "shape, stride, order and multiple have {shape}, {stride}, {order} and {multiple} \
                 entries; the operand has {rank} axes"
            ));
            return problems;
        }
        for multiple in &self.multiple {
            if !(1..=MAX_MULTIPLE).contains(multiple) {
                problems.push(format!(
                    "a multiple of {multiple} tiles; 1 to {MAX_MULTIPLE} are allowed"
                ));
            }
        }
        for (axis, (shape, stride)) in self.shape.iter().zip(&self.stride).enumerate() {
            let (extents, strides) = (shape.len(), stride.len());
            if extents != strides || !(1..=MAX_MODES).contains(&extents) {
                problems.push(format!(
                    "axis {axis} has {extents} extents and {strides} strides; as many of both, 1 \
                     to {MAX_MODES}, are allowed"
                ));
            }
            if shape.contains(&0) {
                problems.push(format!("axis {axis} has an extent of 0"));
            }
        }
        let mut seen = self.order.clone();
        seen.sort_unstable();
        if !seen.iter().copied().eq(0..rank as u32) {
            problems.push(format!(
                "order is {:?}; each axis from 0 stands in it once",
                self.order
            ));
        }
        problems
    }

    /// Extent and stride of every mode.
    fn modes(&self) -> impl Iterator<Item = (u64, u64)> {
        let all = self.shape.iter().zip(&self.stride);
        all.flat_map(|(shape, stride)| shape.iter().zip(stride))
            .map(|(extent, stride)| (u64::from(*extent), u64::from(*stride)))
    }

    /// Extents of a tile, an axis each.
    pub fn tile(&self) -> Vec<i64> {
        let extent = |modes: &Vec<u32>| modes.iter().map(|one| i64::from(*one)).product();
        self.shape.iter().map(extent).collect()
    }

    /// Elements of a tile.
    pub fn tile_elems(&self) -> i64 {
        self.tile().iter().product()
    }

    /// Elements in memory of an operand of these extents, those behind its own included; `None`
    /// beyond 64 bits.
    pub fn elems(&self, extents: &[i64]) -> Option<i64> {
        let tiles = self.tiles(extents)?;
        let mut tiles = tiles.into_iter();
        tiles.try_fold(self.tile_elems(), i64::checked_mul)
    }

    /// Tiles along each axis of an operand of these extents; `None` beyond 64 bits.
    fn tiles(&self, extents: &[i64]) -> Option<Vec<i64>> {
        let axes = extents.iter().zip(self.tile()).zip(&self.multiple);
        let tiles = axes.map(|((extent, tile), multiple)| {
            let multiple = i64::from(*multiple);
            tiles_along(tiles_along(*extent, tile), multiple).checked_mul(multiple)
        });
        tiles.collect()
    }

    /// What the next tile along each axis adds to an offset, for an operand of these extents;
    /// `None` beyond 64 bits.
    pub fn tile_steps(&self, extents: &[i64]) -> Option<Vec<i64>> {
        let (tiles, mut step) = (self.tiles(extents)?, self.tile_elems());
        let mut steps = vec![0; tiles.len()];
        for axis in self.order.iter().map(|axis| *axis as usize) {
            *steps.get_mut(axis)? = step;
            step = step.checked_mul(*tiles.get(axis)?)?;
        }
        Some(steps)
    }

    /// Where the element at that coordinate of a tile lies in it.
    pub fn offset_in_tile(&self, at: &[i64]) -> i64 {
        let mut offset = 0;
        for ((shape, stride), at) in self.shape.iter().zip(&self.stride).zip(at) {
            let mut rest = *at;
            for (extent, stride) in shape.iter().zip(stride) {
                let extent = i64::from(*extent).max(1);
                offset += rest % extent * i64::from(*stride);
                rest /= extent;
            }
        }
        match self.swizzle {
            Some([bits, base, shift]) => {
                let taken = (offset >> (base + shift)) & ((1 << bits) - 1);
                offset ^ (taken << base)
            }
            None => offset,
        }
    }

    /// Where the element of that coordinate lies, in an operand of these extents; `None` beyond 64
    /// bits.
    pub fn offset(&self, extents: &[i64], at: &[i64]) -> Option<i64> {
        let (tile, steps) = (self.tile(), self.tile_steps(extents)?);
        let inside: Vec<i64> = at.iter().zip(&tile).map(|(at, tile)| at % tile).collect();
        let mut offset = self.offset_in_tile(&inside);
        for ((at, tile), step) in at.iter().zip(&tile).zip(steps) {
            offset = offset.checked_add((at / tile).checked_mul(step)?)?;
        }
        Some(offset)
    }
}

/// Tiles that cover an extent.
fn tiles_along(extent: i64, tile: i64) -> i64 {
    let tile = tile.max(1);
    extent / tile + i64::from(extent % tile != 0)
}

fn swizzle_text([bits, base, shift]: [u32; 3]) -> String {
    format!("Sw<{bits},{base},{shift}>")
}

/// As CuTe prints the layout of a tile, and the order of tiles: `Sw<3,3,3>o(8,64):(64,1) by (0,1)
/// in multiples of (32,2)`.
impl fmt::Display for PackedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(values: &[T]) -> String {
            let texts: Vec<String> = values.iter().map(T::to_string).collect();
            texts.join(",")
        }
        let modes = |modes: &Vec<u32>| match modes.as_slice() {
            [one] => one.to_string(),
            more => format!("({})", list(more)),
        };
        let tuple = |axes: &[Vec<u32>]| list(&axes.iter().map(modes).collect::<Vec<_>>());
        if let Some(swizzle) = self.swizzle {
            write!(f, "{}o", swizzle_text(swizzle))?;
        }
        let (shape, stride) = (tuple(&self.shape), tuple(&self.stride));
        write!(f, "({shape}):({stride}) by ({})", list(&self.order))?;
        match self.multiple.iter().all(|multiple| *multiple == 1) {
            true => Ok(()),
            false => write!(f, " in multiples of ({})", list(&self.multiple)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Rows of 128 bytes of a 16-bit type, swizzled, in two slabs.
    fn slabs() -> PackedOrder {
        PackedOrder {
            shape: vec![vec![16], vec![64, 2]],
            stride: vec![vec![64], vec![1, 1024]],
            swizzle: Some([3, 3, 3]),
            order: vec![1, 0],
            multiple: vec![1, 1],
        }
    }

    #[test]
    fn every_place_is_taken_once() {
        for (order, extents) in [
            (slabs(), [33, 129]),
            (slabs(), [16, 128]),
            (
                PackedOrder {
                    order: vec![0, 1],
                    multiple: vec![3, 2],
                    swizzle: None,
                    ..slabs()
                },
                [17, 300],
            ),
        ] {
            assert_eq!(order.problems(2), Vec::<String>::new());
            let elems = order.elems(&extents).unwrap();
            let mut seen = vec![false; elems as usize];
            let tile = order.tile();
            let tiles = order.tiles(&extents).unwrap();
            let padded: Vec<i64> = tiles.iter().zip(&tile).map(|(n, tile)| n * tile).collect();
            for row in 0..padded[0] {
                for column in 0..padded[1] {
                    let at = order.offset(&extents, &[row, column]).unwrap();
                    assert!(!std::mem::replace(&mut seen[at as usize], true));
                }
            }
            assert!(seen.iter().all(|seen| *seen));
        }
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let edited = |edit: &dyn Fn(&mut PackedOrder)| {
            let mut order = slabs();
            edit(&mut order);
            order.problems(2).join("; ")
        };
        for (found, part) in [
            (slabs().problems(3).join(""), "the operand has 3 axes"),
            (edited(&|o| o.order = vec![1, 1]), "order is [1, 1]"),
            (edited(&|o| o.order = vec![1, 7]), "order is [1, 7]"),
            (
                edited(&|o| o.multiple = vec![1, 0]),
                "a multiple of 0 tiles",
            ),
            (edited(&|o| o.multiple = vec![]), "and 0 entries"),
            (
                edited(&|o| o.shape[0] = vec![]),
                "axis 0 has 0 extents and 1",
            ),
            (edited(&|o| o.shape[1][1] = 0), "axis 1 has an extent of 0"),
            (edited(&|o| o.stride[1][1] = 512), "has stride 512; 1024"),
            (edited(&|o| o.stride[0][0] = 65), "has stride 65; 64"),
            (
                edited(&|o| (o.shape[0], o.stride[0]) = (vec![1 << 20], vec![64])),
                "more than 1048576 elements",
            ),
            (
                edited(&|o| (o.shape[1], o.stride[1]) = (vec![u32::MAX; 8], vec![1; 8])),
                "more than 1048576 elements",
            ),
            (
                edited(&|o| o.swizzle = Some([3, 3, 2])),
                "Sw<3,3,2> does not",
            ),
            (
                edited(&|o| o.swizzle = Some([0, 3, 3])),
                "Sw<0,3,3> does not",
            ),
            (
                edited(&|o| o.swizzle = Some([u32::MAX; 3])),
                "does not keep a tile",
            ),
            (edited(&|o| o.swizzle = Some([9, 9, 9])), "Sw<9,9,9> does"),
        ] {
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn sizes_beyond_64_bits_are_none() {
        let most = i64::MAX;
        assert_eq!(slabs().elems(&[most, most]), None);
        assert_eq!(slabs().offset(&[most, most], &[most, most]), None);
    }
}
