//! Problems of a random kind: most are right but for one thing, some for several.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use rand::RngExt;

use super::{ARENA_BYTES, Driver};
use crate::problem::*;

/// A problem with the memory that it points to.
pub struct Named {
    names: Vec<CString>,
    pub axes: Vec<[i64; 9]>,
    pub operands: Vec<tw_operand>,
    scalars: Vec<tw_scalar>,
    extents: Vec<tw_extent>,
    promises: Vec<*const c_char>,
    pub raw: tw_problem,
}

impl Named {
    /// The bytes that a launch may write, the elements of `d`, in the arena that begins at `start`.
    pub fn written(&self, start: usize) -> Vec<usize> {
        let is_output = |name: &CString| name.as_bytes() == b"d";
        let Some(at) = self.names.iter().position(is_output) else {
            return Vec::new();
        };
        let operand = &self.operands[at];
        let rank = usize::try_from(operand.rank).unwrap();
        let (extents, strides) = (&self.axes[2 * at][..rank], &self.axes[2 * at + 1][..rank]);
        let mut elements = vec![0i64];
        for axis in 0..rank {
            let packed = extents[axis + 1..].iter().product();
            let step = if operand.strides.is_null() {
                packed
            } else {
                strides[axis]
            };
            let along = |base: i64| (0..extents[axis]).map(move |i| base + i * step);
            elements = elements.into_iter().flat_map(along).collect();
        }
        let first = operand.data.addr() - start + operand.byte_offset as usize;
        let bytes = |element: i64| (0..4).map(move |byte| first + element as usize * 4 + byte);
        elements.into_iter().flat_map(bytes).collect()
    }
}

impl Driver {
    /// A problem that is one of a kernel of the bundle, by its index, most often.
    pub(super) fn named(&mut self, kernel: usize) -> Named {
        let kinds: [&[&[u8]]; 5] = [
            &[b"s", b"d"],
            &[b"a", b"b", b"d"],
            &[b"s", b"d"],
            &[b"d"],
            &[b"x", b"s", b"\xc0"],
        ];
        let kind = match self.one_in(8) {
            true => self.random.random_range(0..kinds.len()),
            false => kernel.min(2),
        };
        let names = kinds[kind].iter().map(|name| CString::new(*name).unwrap());
        let mut names: Vec<CString> = names.collect();
        let axes = self.axes(kind, names.len());
        let operands = (0..names.len()).map(|at| self.operand(&names[at], &axes[2 * at..]));
        let operands: Vec<tw_operand> = operands.collect();
        names.push(CString::new("alpha").unwrap());
        let name = names[names.len() - 1].as_ptr();
        let mut named = Named {
            operands,
            scalars: Vec::new(),
            extents: Vec::new(),
            promises: Vec::new(),
            raw: crate::foreign::zeroed(),
            names,
            axes,
        };
        if (kind == 2) != self.one_in(12) {
            let value = f64::from_bits(self.number());
            named.scalars.push(tw_scalar { name, value });
        }
        if self.one_in(20) {
            named.extents.push(tw_extent {
                name,
                value: self.number() as i64,
            });
        }
        if self.one_in(20) {
            named.promises.extend([name, null()]);
        }
        named.raw = tw_problem {
            struct_size: if self.one_in(20) {
                self.number() as usize
            } else {
                72
            },
            operands: if self.one_in(30) {
                null()
            } else {
                named.operands.as_ptr()
            },
            operand_count: named.operands.len(),
            scalars: named.scalars.as_ptr(),
            scalar_count: named.scalars.len(),
            extents: named.extents.as_ptr(),
            extent_count: named.extents.len(),
            promises: named.promises.as_ptr(),
            promise_count: named.promises.len(),
        };
        if (73..=4096).contains(&named.raw.struct_size) {
            named.raw.struct_size = 72;
        }
        named
    }

    /// Extents and strides of each operand.
    fn axes(&mut self, kind: usize, operands: usize) -> Vec<[i64; 9]> {
        let mut axes = vec![[1i64; 9]; 2 * operands];
        let (rows, cols) = (
            self.random.random_range(1..6),
            self.random.random_range(1..8),
        );
        for pair in axes.chunks_mut(2) {
            let shape = [[rows, cols], [cols, cols], [rows, 4]][kind.min(2)];
            pair[0][..2].copy_from_slice(&shape);
            pair[1][..2].copy_from_slice(&[8, 1]);
            if self.one_in(12) {
                let (which, axis) = (
                    self.random.random_range(0..2),
                    self.random.random_range(0..2),
                );
                pair[which][axis] = self.number() as i64;
            }
        }
        axes
    }

    /// An operand somewhere in the arena, whose end it knows.
    fn operand(&mut self, name: &CString, axes: &[[i64; 9]]) -> tw_operand {
        let offset = self.random.random_range(0..32) * 512 + self.small(1) as usize % 64 * 4;
        let start = self
            .arena
            .as_mut_ptr()
            .cast::<u8>()
            .wrapping_add(offset % ARENA_BYTES);
        let pick = |hostile: bool, right: u64, wrong: u64| if hostile { wrong } else { right };
        let number = self.number();
        let mut hostile = || self.random.random_range(0..100) == 0;
        tw_operand {
            name: if hostile() { null() } else { name.as_ptr() },
            data: if hostile() { null_mut() } else { start.cast() },
            byte_offset: pick(hostile(), 0, number),
            bytes: (ARENA_BYTES - offset % ARENA_BYTES) as u64,
            extents: if hostile() { null() } else { axes[0].as_ptr() },
            strides: if hostile() { null() } else { axes[1].as_ptr() },
            dtype_code: pick(hostile(), 2, number) as u8,
            dtype_bits: pick(hostile(), 32, number) as u8,
            dtype_lanes: pick(hostile(), 1, number) as u16,
            rank: pick(hostile(), 2, number) as i32,
            device_type: pick(hostile(), 1, number) as i32,
            device_id: pick(hostile(), 0, number) as i32,
            reserved: [pick(hostile(), 0, number), 0],
        }
    }
}
