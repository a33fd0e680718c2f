//! `ldmatrix`, `stmatrix`, `movmatrix`: 8x8 matrices of 16-bit elements.
//!
//! With g = lane/4 and t = lane%4, lane holds elements (g, 2t) and (g, 2t+1), or (2t, g) and
//! (2t+1, g) transposed. Row r of matrix i is the 16 bytes at the address of lane 8i+r (ISA
//! 9.7.14.5.15).

use crate::exec::memory::space_of;
use crate::exec::state::{AccessKind, Flow, State, Warp};
use crate::finding::Space;
use crate::inst::{AccessSpace, Lanes, MatrixMove, Reg, Src};
use crate::module::window;

/// The place of half `half` of a lane's register.
fn element(lane: usize, half: usize, trans: bool) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    if trans {
        (2 * t + half, g)
    } else {
        (g, 2 * t + half)
    }
}

impl Warp {
    /// The shared addresses of all rows, and the lanes that give one.
    fn rows(
        &mut self,
        st: &mut State<'_>,
        op: &MatrixMove,
        kind: AccessKind,
        mask: u32,
    ) -> (Lanes, u32) {
        let count = op.dst.len().max(op.src.len());
        let givers = if count >= 4 {
            u32::MAX
        } else {
            (1 << (8 * count)) - 1
        };
        let mut rows = self.addresses(st, &op.address, mask & givers);
        if op.space == AccessSpace::Generic {
            for row in &mut rows {
                if space_of(*row) == Space::Shared {
                    *row -= window(Space::Shared);
                }
            }
        }
        st.observe(Space::Shared, kind, self.site(givers), &rows, 16);
        let lanes = self.aligned_lanes(st, Space::Shared, &rows, 16, givers);
        (rows, lanes)
    }

    pub(crate) fn load_matrix(&mut self, st: &mut State<'_>, op: &MatrixMove, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let (rows, lanes) = self.rows(st, op, AccessKind::LoadMatrix, mask);
        for (index, dst) in op.dst.iter().enumerate() {
            let mut matrix = [[0u16; 8]; 8];
            for (row, elements) in matrix.iter_mut().enumerate() {
                let lane = 8 * index + row;
                if lanes >> lane & 1 == 0 {
                    continue;
                }
                for half in 0..2u64 {
                    let at = rows[lane] + 8 * half;
                    let Some(value) = self.load_near(st, Space::Shared, at, 8, lane) else {
                        self.out_of_bounds(st, Space::Shared, rows[lane], 16, lane);
                        break;
                    };
                    for column in 0..4 {
                        elements[4 * half as usize + column] = (value >> (16 * column)) as u16;
                    }
                }
            }
            let pick = |lane: usize, half: usize| {
                let (row, column) = element(lane, half, op.trans);
                u64::from(matrix[row][column])
            };
            let values = std::array::from_fn(|lane| pick(lane, 0) | pick(lane, 1) << 16);
            if let Some(dst) = dst {
                self.write(*dst, mask, &values);
            }
        }
        Flow::Next
    }

    pub(crate) fn store_matrix(&mut self, st: &mut State<'_>, op: &MatrixMove, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let (rows, lanes) = self.rows(st, op, AccessKind::StoreMatrix, mask);
        for (index, src) in op.src.iter().enumerate() {
            let values = self.values(st, src, mask);
            let matrix = gather(&values, op.trans);
            for (row, elements) in matrix.iter().enumerate() {
                let lane = 8 * index + row;
                if lanes >> lane & 1 == 0 {
                    continue;
                }
                for half in 0..2usize {
                    let pack = |all: u64, column: usize| {
                        all | u64::from(elements[4 * half + column]) << (16 * column)
                    };
                    let (value, at) = ((0..4).fold(0, pack), rows[lane] + 8 * half as u64);
                    if !self.store_near(st, Space::Shared, at, 8, value, lane) {
                        self.out_of_bounds(st, Space::Shared, rows[lane], 16, lane);
                        break;
                    }
                }
            }
        }
        // Rows that lie over one another are taken to differ.
        st.settle_rewrites(|_, lane, _| (lanes >> lane & 1 == 1).then_some(false));
        Flow::Next
    }

    /// The transpose of one matrix held in registers.
    pub(crate) fn move_matrix(
        &mut self,
        st: &mut State<'_>,
        dst: Reg,
        src: &Src,
        mask: u32,
    ) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let matrix = gather(&self.values(st, src, mask), false);
        let pick = |lane: usize, half: usize| {
            let (row, column) = element(lane, half, true);
            u64::from(matrix[row][column])
        };
        self.write(
            dst,
            mask,
            &std::array::from_fn(|lane| pick(lane, 0) | pick(lane, 1) << 16),
        );
        Flow::Next
    }
}

/// The matrix that lanes hold.
fn gather(values: &Lanes, trans: bool) -> [[u16; 8]; 8] {
    let mut matrix = [[0u16; 8]; 8];
    for (lane, value) in values.iter().enumerate() {
        for half in 0..2 {
            let (row, column) = element(lane, half, trans);
            matrix[row][column] = (value >> (16 * half)) as u16;
        }
    }
    matrix
}
