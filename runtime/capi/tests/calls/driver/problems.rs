//! Problems: most are right but for one thing, some for several.

use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

use tilewright::{
    TW_DEVICE_CPU, TW_DTYPE_FLOAT, TW_DTYPE_INT, tw_extent, tw_operand, tw_problem, tw_scalar,
};

use super::laid::{Laid, zeroed};
use super::{ARENA_BYTES, Choices, Driver};

/// Bytes of an element of every operand.
const ELEMENT_BYTES: i64 = 4;

/// An operand as its kernel takes it.
struct Right {
    name: &'static str,
    dtype_code: u8,
    /// Extent and stride of each axis.
    axes: Vec<(i64, i64)>,
}

/// The operands of the bundle's kernels, by their index.
fn right(kernel: usize, rows: i64, columns: i64) -> Vec<Right> {
    let float = |name, axes: &[(i64, i64)]| Right {
        name,
        dtype_code: TW_DTYPE_FLOAT,
        axes: axes.to_vec(),
    };
    let matrix = |name, rows, columns| float(name, &[(rows, 8), (columns, 1)]);
    let table = |name| Right {
        name,
        dtype_code: TW_DTYPE_INT,
        axes: vec![(rows.min(2), 1)],
    };
    match kernel {
        0 => vec![matrix("s", rows, columns), matrix("d", rows, columns)],
        1 => {
            let packed = rows * ((columns + 3) / 4 * 4);
            vec![float("s", &[(packed, 1)]), matrix("d", rows, columns)]
        }
        2 => vec![
            matrix("a", rows, columns),
            matrix("b", columns, columns),
            matrix("d", rows, columns),
        ],
        3 => vec![
            matrix("s", 2, 4),
            table("from"),
            table("to"),
            matrix("d", 2, 4),
        ],
        _ => vec![matrix("s", rows, 4), matrix("d", rows, 4)],
    }
}

/// A problem with the memory that it points to.
pub struct Named {
    /// Never read again, but pointed to.
    _held: Vec<Laid>,
    _names: Vec<CString>,
    raw: Laid,
    written: Vec<usize>,
}

impl Named {
    pub fn at(&self) -> *const tw_problem {
        self.raw.at()
    }

    /// The bytes of the arena that a launch may write, those of elements of `d`.
    pub fn written(self) -> Vec<usize> {
        self.written
    }
}

/// The bytes of an operand's elements, from the arena's start.
fn bytes_of(first: usize, axes: &[(i64, i64)]) -> Vec<usize> {
    let mut elements = vec![0i64];
    for (extent, stride) in axes {
        if *extent < 1 || elements.len() as i64 > ARENA_BYTES as i64 / extent {
            return Vec::new();
        }
        let along =
            |base: i64| (0..*extent).map(move |i| base.wrapping_add(i.wrapping_mul(*stride)));
        elements = elements.into_iter().flat_map(along).collect();
    }
    let place = |element: i64| {
        element
            .wrapping_mul(ELEMENT_BYTES)
            .wrapping_add(first as i64)
    };
    let bytes =
        |element: i64| (0..ELEMENT_BYTES).map(move |byte| place(element).wrapping_add(byte));
    let all = elements.into_iter().flat_map(bytes);
    all.filter_map(|at| usize::try_from(at).ok()).collect()
}

/// Strides of elements without gaps, the last axis innermost.
fn pack_densely(axes: &mut [(i64, i64)]) {
    let mut stride = 1i64;
    for axis in axes.iter_mut().rev() {
        axis.1 = stride;
        stride = stride.wrapping_mul(axis.0);
    }
}

impl<C: Choices> Driver<C> {
    /// A problem that is one of a kernel of the bundle, by its index, most often.
    pub(super) fn named(&mut self, kernel: usize) -> Named {
        let kernel = if self.one_in(8) {
            self.below(5)
        } else {
            kernel.min(4)
        };
        let (rows, columns) = (1 + self.below(5) as i64, 1 + self.below(7) as i64);
        let mut rights = right(kernel, rows, columns);
        if self.one_in(30) {
            rights.remove(self.below(rights.len()));
        }
        if self.one_in(30) {
            rights.extend(right(self.below(5), rows, columns));
        }
        let (mut held, mut names, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let mut operands = Vec::new();
        for one in rights {
            names.push(match self.one_in(40) {
                true => self.text(),
                false => CString::new(one.name).unwrap(),
            });
            let is_output = names.last().is_some_and(|name| name.as_bytes() == b"d");
            let name = names.last().map_or(null(), |name| name.as_ptr());
            let (operand, may_write) = self.operand(name, one, &mut held);
            operands.push(operand);
            if is_output {
                written.extend(may_write);
            }
        }
        let raw = self.problem(kernel, &operands, &mut held, &mut names);
        Named {
            _held: held,
            _names: names,
            raw,
            written,
        }
    }

    /// The problem of these operands, with scalars, extents and promises.
    fn problem(
        &mut self,
        kernel: usize,
        operands: &[tw_operand],
        held: &mut Vec<Laid>,
        names: &mut Vec<CString>,
    ) -> Laid {
        let mut problem: tw_problem = zeroed();
        (problem.operands, problem.operand_count) = self.array(operands, held);
        let mut scalars = Vec::new();
        while (kernel == 4 && scalars.is_empty()) != self.one_in(12) {
            let name = self.named_or_not("alpha", names);
            let value = f64::from_bits(self.number());
            scalars.push(tw_scalar { name, value });
        }
        (problem.scalars, problem.scalar_count) = self.array(&scalars, held);
        let mut extents = Vec::new();
        while self.one_in(6) {
            let word = ["m", "n", "k", "p"][self.below(4)];
            let name = self.named_or_not(word, names);
            let value = self.small(9) as i64;
            extents.push(tw_extent { name, value });
        }
        (problem.extents, problem.extent_count) = self.array(&extents, held);
        let mut promises = Vec::new();
        while (kernel == 3 && promises.is_empty()) != self.one_in(12) {
            let promise = self.promise.clone();
            promises.push(self.named_or_not(&promise, names));
        }
        (problem.promises, problem.promise_count) = self.array(&promises, held);
        let known = size_of::<tw_problem>() as u64;
        let size = if self.one_in(20) {
            self.number()
        } else {
            known
        };
        let size = if self.one_in(20) {
            known + self.below(64) as u64
        } else {
            size
        };
        Laid::sized(&problem, size, self.below(2) as u8)
    }

    /// That name; now and then another, or null.
    fn named_or_not(&mut self, name: &str, names: &mut Vec<CString>) -> *const c_char {
        if self.one_in(30) {
            return null();
        }
        let other = self.one_in(20);
        names.push(if other {
            self.text()
        } else {
            CString::new(name).unwrap()
        });
        names.last().map_or(null(), |name| name.as_ptr())
    }

    /// An array and its count; now and then null, or a count that no library reads.
    fn array<T: Copy>(&mut self, values: &[T], held: &mut Vec<Laid>) -> (*const T, usize) {
        let laid = Laid::of(values, self.one_in(6));
        let at = if self.one_in(40) { null() } else { laid.at() };
        held.push(laid);
        match self.one_in(60) {
            true => (at, 65 + (self.number() >> 1) as usize),
            false => (at, values.len()),
        }
    }

    /// Whether an operand is wrong in this; one that is wrong once may be so again.
    fn slips(&mut self, is_wrong: &mut bool, many: usize) -> bool {
        let found = *is_wrong && self.one_in(many);
        *is_wrong &= !found || self.one_in(2);
        found
    }

    /// What is right; now and then any number, where an operand is wrong.
    fn pick(&mut self, is_wrong: &mut bool, right: u64) -> u64 {
        match self.slips(is_wrong, 10) {
            true => self.number(),
            false => right,
        }
    }

    /// Makes axes wrong.
    fn spoil(&mut self, is_wrong: &mut bool, axes: &mut Vec<(i64, i64)>) {
        if self.slips(is_wrong, 3) && !axes.is_empty() {
            let at = self.below(axes.len());
            let number = self.number() as i64;
            let part = &mut axes[at];
            *(if self.one_in(2) {
                &mut part.0
            } else {
                &mut part.1
            }) = number;
        }
        if self.slips(is_wrong, 6) {
            axes.resize(self.below(9), (1, 1));
        }
    }

    /// One number of each axis, as an array.
    fn part(
        &mut self,
        axes: &[(i64, i64)],
        part: fn(&(i64, i64)) -> i64,
        held: &mut Vec<Laid>,
    ) -> *const i64 {
        let values: Vec<i64> = axes.iter().map(part).collect();
        held.push(Laid::of(&values, self.one_in(6)));
        held.last().map_or(null(), Laid::at)
    }

    /// An operand somewhere in the arena, whose end it knows, and the bytes of its elements.
    fn operand(
        &mut self,
        name: *const c_char,
        right: Right,
        held: &mut Vec<Laid>,
    ) -> (tw_operand, Vec<usize>) {
        let Right {
            mut axes,
            dtype_code,
            ..
        } = right;
        let is_right = !self.one_in(6);
        let wrong = &mut !is_right;
        self.spoil(wrong, &mut axes);
        let aside = if self.slips(wrong, 8) {
            self.below(8)
        } else {
            0
        };
        let offset = self.below(32) * 512 + self.below(32) * 8 + aside;
        let start = self.arena.as_mut_ptr().cast::<u8>().wrapping_add(offset);
        let rank = axes.len() as i32;
        let extents = self.part(&axes, |axis| axis.0, held);
        let strides = self.part(&axes, |axis| axis.1, held);
        let (no_extents, no_strides) = (self.slips(wrong, 12), self.slips(wrong, 6));
        let bytes = (ARENA_BYTES - offset) as u64;
        let operand = tw_operand {
            name,
            data: if self.slips(wrong, 10) {
                null_mut()
            } else {
                start.cast::<c_void>()
            },
            byte_offset: self.pick(wrong, 0),
            // What is not known is the caller's promise, which has to be kept.
            bytes: if is_right && self.one_in(8) { 0 } else { bytes },
            extents: if no_extents { null() } else { extents },
            strides: if no_strides { null() } else { strides },
            dtype_code: self.pick(wrong, u64::from(dtype_code)) as u8,
            dtype_bits: self.pick(wrong, 32) as u8,
            dtype_lanes: self.pick(wrong, 1) as u16,
            // A rank that the library reads is no more than that of the arrays.
            rank: match self.pick(wrong, rank as u64) as i32 {
                given @ 0..=8 => given.min(rank),
                given => given,
            },
            device_type: self.pick(wrong, TW_DEVICE_CPU as u64) as i32,
            device_id: self.pick(wrong, 0) as i32,
            reserved: [self.pick(wrong, 0), 0],
        };
        axes.truncate(operand.rank.max(0) as usize);
        if no_strides {
            pack_densely(&mut axes);
        }
        (
            operand,
            bytes_of(offset.wrapping_add(operand.byte_offset as usize), &axes),
        )
    }
}
