//! A gemm's operands as `a` (m,k), `b` (n,k) and `d` (m,n), whichever way round they lie.

use tilewright_bundle::{DType, Kernel};

use super::data::{Data, Recipe, Side};
use super::format::Format;
use super::reference::Shape;
use crate::error::Error;
use crate::layout::{Extents, Matrix};

/// The operands of a gemm, and which way round each lies.
#[derive(Debug, Clone)]
pub(crate) struct GemmForm {
    pub shape: Shape,
    pub a: Factor,
    pub b: Factor,
    pub d: Factor,
    pub accumulator: DType,
}

/// One operand of a gemm.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    /// Position among the kernel's operands.
    pub at: usize,
    pub dtype: DType,
    /// Whether its modes are (k,m), (k,n) or (n,m) instead of (m,k), (n,k) or (m,n).
    pub swapped: bool,
}

impl Factor {
    fn of(kernel: &Kernel, name: &str, first: &str) -> Result<Factor, Error> {
        let at = position(kernel, name)?;
        let operand = &kernel.semantics.operands[at];
        let swapped = match operand.layout.shape.as_slice() {
            [rows, _] => rows.single_word() != Some(first),
            axes => {
                let axes = axes.len();
                return Err(Error::Request(format!(
                    "`{name}` has {axes} axes; a matrix has two"
                )));
            }
        };
        Ok(Factor {
            at,
            dtype: operand.dtype,
            swapped,
        })
    }

    /// Extents as (m,k), (n,k) or (m,n).
    pub fn orient(&self, extents: &[Extents]) -> Matrix {
        // A factor has two axes: `Factor::of` has seen to it.
        let matrix = extents[self.at].matrix().unwrap_or_default();
        if self.swapped {
            matrix.turned()
        } else {
            matrix
        }
    }

    /// Dense (rows,cols) elements as the operand's own modes have them, row by row.
    pub fn arrange(&self, dense: Vec<u8>, rows: i64, cols: i64) -> Vec<u8> {
        if !self.swapped {
            return dense;
        }
        let (rows, cols, size) = (rows as usize, cols as usize, self.dtype.bytes() as usize);
        let mut turned = Vec::with_capacity(dense.len());
        for col in 0..cols {
            for row in 0..rows {
                let at = (row * cols + col) * size;
                turned.extend_from_slice(&dense[at..at + size]);
            }
        }
        turned
    }
}

impl GemmForm {
    /// Reads a gemm kernel's operands.
    pub fn of(kernel: &Kernel, extents: &[Extents]) -> Result<GemmForm, Error> {
        let epilogue = kernel.semantics.epilogue.as_deref().unwrap_or("d = acc");
        if epilogue.split_whitespace().collect::<String>() != "d=acc" {
            return Err(Error::Request(format!(
                "epilogue {epilogue:?} has no reference yet"
            )));
        }
        let a = Factor::of(kernel, "a", "m")?;
        let b = Factor::of(kernel, "b", "n")?;
        let d = Factor::of(kernel, "d", "m")?;
        let (ea, ed) = (a.orient(extents), d.orient(extents));
        let shape = Shape {
            m: ed.rows as usize,
            n: ed.cols as usize,
            k: ea.cols as usize,
        };
        let accumulator = kernel.semantics.accumulator.unwrap_or(DType::F32);
        Ok(GemmForm {
            shape,
            a,
            b,
            d,
            accumulator,
        })
    }

    /// What makes random factors.
    pub fn recipes(&self, data: Data, seed: u64) -> [Recipe; 2] {
        let Shape { m, n, k } = self.shape;
        let tops = [self.accumulator, self.d.dtype]
            .map(|dtype| Format::of(dtype).map_or(i32::MAX, Format::top_exponent));
        let depth = k.max(1).next_power_of_two().ilog2().cast_signed();
        let top = tops[0].min(tops[1]).saturating_sub(depth + 2);
        let recipe = |side, dtype, rows| Recipe {
            dtype,
            data,
            side,
            rows,
            k,
            top,
            seed,
        };
        [
            recipe(Side::A, self.a.dtype, m),
            recipe(Side::B, self.b.dtype, n),
        ]
    }
}

pub(super) fn position(kernel: &Kernel, name: &str) -> Result<usize, Error> {
    kernel
        .semantics
        .operands
        .iter()
        .position(|o| o.name == name)
        .ok_or_else(|| Error::Request(format!("{} has no operand `{name}`", kernel.id)))
}
