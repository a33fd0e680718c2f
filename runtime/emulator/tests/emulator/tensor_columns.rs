//! im2col copies, against a list of all positions in the order in which they are taken.

use super::kernel::sorted_ids;
use super::tensor_box::Copy;
use tilewright_emulator::{Im2col, TensorMap, TensorSwizzle, TensorType};

/// Channels of the tensor and of a column.
const CHANNELS: usize = 16;
const TAKEN: usize = 8;
const ROW: usize = 2 * TAKEN;

/// A tensor of `spatial` extents (W first) and `images`, its map, and where columns start.
struct Case {
    spatial: Vec<i64>,
    images: i64,
    lower: Vec<i64>,
    upper: Vec<i64>,
    pixels: usize,
    /// Channel, W, H, D, N.
    start: Vec<i32>,
    offsets: Vec<u16>,
}

impl Case {
    fn dims(&self) -> Vec<i64> {
        let mut dims = vec![CHANNELS as i64];
        dims.extend(&self.spatial);
        dims.push(self.images);
        dims
    }

    /// Elements that count themselves from 1, as bytes.
    fn tensor(&self) -> Vec<u8> {
        let count = self.dims().iter().product::<i64>() as u16;
        (1..=count).flat_map(u16::to_le_bytes).collect()
    }

    fn map(&self) -> TensorMap {
        let dims: Vec<u64> = self.dims().iter().map(|extent| *extent as u64).collect();
        let strides: Vec<u64> = (1..dims.len())
            .map(|d| 2 * dims[..d].iter().product::<u64>())
            .collect();
        let corner = |values: &[i64]| std::array::from_fn(|d| *values.get(d).unwrap_or(&0) as i16);
        let im2col = Im2col {
            lower: corner(&self.lower),
            upper: corner(&self.upper),
            channels: TAKEN as u16,
            pixels: self.pixels as u16,
        };
        TensorMap {
            im2col: Some(im2col),
            swizzle: TensorSwizzle::None,
            ..TensorMap::tiled(TensorType::Uint16, 0, &dims, &strides, &[])
        }
    }

    /// The positions (W, H, D and N) of all images and of some behind the last, in their order.
    fn positions(&self) -> Vec<Vec<i64>> {
        let mut list = vec![vec![]];
        // From the slowest to the fastest: each earlier position with each of the next ones.
        let mut axes = vec![(0, self.images + 3)];
        for d in (0..self.spatial.len()).rev() {
            axes.push((self.lower[d], self.spatial[d] + self.upper[d]));
        }
        for (from, to) in axes {
            let extended = list.iter().flat_map(|position: &Vec<i64>| {
                (from..to).map(move |place| [&[place], position.as_slice()].concat())
            });
            list = extended.collect();
        }
        list
    }

    /// The positions that a copy takes.
    fn taken(&self) -> Vec<Vec<i64>> {
        let start: Vec<i64> = self.start[1..]
            .iter()
            .map(|place| i64::from(*place))
            .collect();
        let all = self.positions();
        let first = all.iter().position(|position| *position == start).unwrap();
        all[first..first + self.pixels].to_vec()
    }

    /// The index of the first element taken at a position, if it lies in the tensor.
    fn element(&self, position: &[i64], offsets: &[u16]) -> Option<usize> {
        let mut index = 0;
        for (d, extent) in self.dims()[1..].iter().enumerate().rev() {
            let place = position[d] + offsets.get(d).map_or(0, |offset| i64::from(*offset));
            if !(0..*extent).contains(&place) {
                return None;
            }
            index = index * extent + place;
        }
        Some(index as usize * CHANNELS + self.start[0] as usize)
    }

    fn copy<'c>(&'c self, tensor: &'c [u8]) -> Copy<'c> {
        Copy {
            tensor,
            map: self.map(),
            coords: &self.start,
            offsets: &self.offsets,
            declared: self.pixels * ROW,
            dynamic: false,
            shared: None,
            stores: false,
            bytes: self.pixels * ROW,
        }
    }
}

/// Rank 3, 4 and 5, with positions before, in and behind the tensor.
fn cases() -> [Case; 3] {
    [
        Case {
            spatial: vec![9],
            images: 2,
            lower: vec![-2],
            upper: vec![1],
            pixels: 25,
            start: vec![8, -1, 0],
            offsets: vec![1],
        },
        Case {
            spatial: vec![6, 5],
            images: 3,
            lower: vec![-1, -1],
            upper: vec![-1, -1],
            pixels: 40,
            start: vec![0, 2, 1, 0],
            offsets: vec![2, 1],
        },
        Case {
            spatial: vec![4, 3, 3],
            images: 2,
            lower: vec![0, -1, -1],
            upper: vec![-1, 0, -1],
            pixels: 50,
            start: vec![8, 1, 0, -1, 0],
            offsets: vec![1, 0, 2],
        },
    ]
}

#[test]
fn loads_gather_positions_moved_by_their_offsets() {
    for case in cases() {
        let tensor = case.tensor();
        let (shared, _, report) = case.copy(&tensor).run();
        assert_eq!(sorted_ids(&report.findings), [""; 0]);
        let mut outside = 0;
        for (pixel, position) in case.taken().iter().enumerate() {
            let want = match case.element(position, &case.offsets) {
                Some(element) => tensor[2 * element..][..ROW].to_vec(),
                None => vec![0; ROW],
            };
            outside += usize::from(want[0] == 0 && want[1] == 0);
            assert_eq!(
                shared[ROW * pixel..][..ROW],
                want,
                "pixel {pixel} at {position:?}"
            );
        }
        // What lies outside is met, and not alone.
        assert!((1..case.pixels / 2).contains(&outside), "{outside}");
    }
}

#[test]
fn stores_scatter_to_positions_without_offsets() {
    for case in cases() {
        let before = case.tensor();
        let shared: Vec<u8> = (0..case.pixels * ROW)
            .map(|at| 128 + (at % 97) as u8)
            .collect();
        let stored = Copy {
            stores: true,
            shared: Some(&shared),
            ..case.copy(&before)
        };
        let (_, tensor, report) = stored.run();
        assert_eq!(sorted_ids(&report.findings), [""; 0]);
        let mut want = before.clone();
        for (pixel, position) in case.taken().iter().enumerate() {
            if let Some(element) = case.element(position, &[]) {
                want[2 * element..][..ROW].copy_from_slice(&shared[ROW * pixel..][..ROW]);
            }
        }
        assert!(tensor == want && want != before);
    }
}

#[test]
fn corners_and_offsets_have_the_bits_that_the_rank_leaves() {
    let [_, mut four, mut five] = cases();
    four.offsets = vec![256, 0];
    let tensor = four.tensor();
    let (.., report) = four.copy(&tensor).run();
    let messages: Vec<&str> = report
        .findings
        .iter()
        .map(|one| one.message.as_str())
        .collect();
    assert!(
        messages.contains(&"im2col offset 256; 0 to 255 with rank 4"),
        "{messages:?}"
    );
    five.lower = vec![-17, 0, 0];
    five.upper = vec![0, -3, 16];
    let problems = five.map().check().unwrap_err().problems;
    assert_eq!(
        problems,
        [
            "lower corner 0 is -17; -16 to 15 with rank 5",
            "positions 0 to -1 along dimension 2; the first must not be behind the last",
            "upper corner 2 is 16; -16 to 15 with rank 5",
        ]
    );
}
