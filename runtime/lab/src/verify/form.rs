//! A gemm's operands as `a` (m,k), `b` (n,k) and `d` (m,n), whichever way round they lie.

use tilewright_bundle::{DType, Kernel};
use tilewright_formula::Source;
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::Form;

use super::data::{Data, Recipe, Side};
use super::format::Format;
use super::reference::Shape;
use tilewright_runtime::Error;
use tilewright_runtime::{Extents, Matrix};

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
    /// The operand at a place, whose rows are these modes.
    fn of(kernel: &Kernel, at: usize, rows: &[ModeId]) -> Result<Factor, Error> {
        let modes = kernel.formula().map(|f| f.axis_modes(Source::Operand(at)));
        let operand = kernel.semantics.operands.get(at);
        let (Some([first, _]), Some(operand)) = (modes.as_deref(), operand) else {
            return Err(no_product(kernel));
        };
        let swapped = first.is_none_or(|first| !rows.contains(&first));
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
    /// Reads the operands of a product of two matrices.
    pub fn of(kernel: &Kernel, extents: &[Extents]) -> Result<GemmForm, Error> {
        let Some(Form::Contraction(form)) = kernel.form() else {
            return Err(no_product(kernel));
        };
        let Some([a, b, d]) = form.plain else {
            return Err(no_product(kernel));
        };
        let a = Factor::of(kernel, a, &form.rows)?;
        let b = Factor::of(kernel, b, &form.columns)?;
        let d = Factor::of(kernel, d, &form.rows)?;
        let (ea, ed) = (a.orient(extents), d.orient(extents));
        let shape = Shape {
            m: ed.rows as usize,
            n: ed.cols as usize,
            k: ea.cols as usize,
        };
        let accumulator = form.accumulator;
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

/// Why a kernel is not judged as a product.
fn no_product(kernel: &Kernel) -> Error {
    let id = &kernel.id;
    Error::Request(format!("{id} computes no product of two matrices alone"))
}
