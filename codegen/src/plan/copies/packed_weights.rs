//! The order in memory of packed operands, which a plan chooses.
//!
//! Where tensor cores read the operand's tile in shared memory by themselves, memory has one
//! pattern of its swizzle after another, those of more rows side by side: the patterns of a CTA's
//! tile lie in a row there as they do in a slot, and one bulk copy brings them. Which tile it is
//! does not show, so that kernels of many tiles take the same packed operand. Everywhere else
//! memory has rows, padded so that each begins at a whole vector.

use tilewright_bundle::{Expr, PackedOrder};

use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, Hop};
use crate::spec::keys::model::{Axis, Operand, OperandId, Stride};

/// Bytes that padded rows are a multiple of: a line of the second-level cache, and more than every
/// vector.
const ROW_BYTES: u32 = 128;

/// Rows of a swizzle's pattern (PTX ISA, swizzling modes).
pub const PATTERN_ROWS: i64 = 8;
/// Rows that tiles of a packed operand divide, of patterns: its rows are padded to a multiple.
pub const PADDED_ROWS: i64 = 256;
/// Patterns side by side that columns are padded to a multiple of, unless a tile has more.
const PADDED_PATTERNS: i64 = 2;

/// Patterns of a packed operand: how its memory is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patterns {
    /// Columns of one.
    pub columns: i64,
    /// Bytes of one.
    pub bytes: i64,
    /// How many along the columns there is a multiple of.
    pub multiple: i64,
}

impl Patterns {
    /// Those of the tile that boxes bring; along the rows there are [`PADDED_ROWS`] of them, or a
    /// multiple.
    pub fn of(copy: &BoxCopy) -> Patterns {
        let columns = copy.box_extents[1];
        let side_by_side = copy.places.iter().map(|place| place.coord[1] / columns + 1);
        Patterns {
            columns,
            bytes: PATTERN_ROWS * columns * i64::from(copy.dtype.bytes()),
            multiple: side_by_side.max().unwrap_or(1).max(PADDED_PATTERNS),
        }
    }
}

/// Elements that the rows of a packed operand are padded to a multiple of.
pub fn row_unit(operand: &Operand) -> i64 {
    i64::from(ROW_BYTES / operand.dtype.bytes())
}

impl Plan {
    /// The copy that brings tiles of a packed operand as they lie in memory.
    pub fn bulk(&self, operand: OperandId) -> Option<&BoxCopy> {
        self.boxes(operand, Hop::G2s).filter(|copy| copy.packed)
    }

    /// The packed operand whose rows are that stride apart.
    pub fn packed_by(&self, stride: &str) -> Option<&Operand> {
        let packed = self.operands.iter().filter(|operand| operand.packed);
        let named = |axis: &Stride| axis.name() == Some(stride);
        packed.into_iter().find(|operand| {
            let mut axes = operand.axes.iter();
            axes.any(|axis| named(&axis.stride))
        })
    }

    /// A stride as a launch has it: its own name, the product of extents that it is, or of a packed
    /// operand the elements of a padded row.
    pub fn stride_value(&self, stride: &str) -> Expr {
        match self.packed_by(stride) {
            Some(operand) => {
                let (mode, unit) = (&operand.axis(1).mode, row_unit(operand));
                Expr::named(mode).ceil_div(unit) * unit
            }
            None => {
                let mut axes = self.operands.iter().flat_map(Operand::all_axes);
                let is_it = |axis: &&Axis| axis.stride.name() == Some(stride);
                match axes.find(is_it).map(|axis| &axis.stride) {
                    Some(Stride::Product { value, .. }) => value.clone(),
                    _ => Expr::named(stride),
                }
            }
        }
    }

    /// A stride of an operand as a launch has it.
    pub fn launch_stride(&self, stride: &Stride) -> Expr {
        match stride {
            Stride::Const(value) => Expr::constant(*value),
            Stride::Named(name) | Stride::Product { name, .. } => self.stride_value(name),
        }
    }

    /// The order of a packed operand's elements, its axes as its formula has them.
    ///
    /// # Errors
    /// A layout of its tile that a manifest has no words for.
    pub fn order(&self, operand: &Operand) -> Result<Option<PackedOrder>, String> {
        if !operand.packed {
            return Ok(None);
        }
        let mut order = match self.bulk(operand.id) {
            Some(copy) => self.patterns(operand, copy)?,
            None => rows(operand)?,
        };
        if operand.transposed {
            order.shape.reverse();
            order.stride.reverse();
            order.multiple.reverse();
            order.order.iter_mut().for_each(|axis| *axis = 1 - *axis);
        }
        Ok(Some(order))
    }

    /// Patterns as they lie in shared memory, those along the first axis side by side.
    fn patterns(&self, operand: &Operand, copy: &BoxCopy) -> Result<PackedOrder, String> {
        let missing = || format!("{} has no tile in shared memory", operand.name);
        let tile = self.smem_tile(operand.id).ok_or_else(missing)?;
        let Patterns {
            columns, multiple, ..
        } = Patterns::of(copy);
        let number = |value: i64| u32::try_from(value).map_err(|e| format!("{value}: {e}"));
        let swizzle = &tile.layout.swizzle;
        let shift = number(i64::from(swizzle.shift()))?;
        Ok(PackedOrder {
            shape: vec![vec![number(PATTERN_ROWS)?], vec![number(columns)?]],
            stride: vec![vec![number(columns)?], vec![1]],
            swizzle: (!swizzle.is_none()).then_some([swizzle.bits(), swizzle.base(), shift]),
            order: vec![0, 1],
            multiple: vec![number(PADDED_ROWS / PATTERN_ROWS)?, number(multiple)?],
        })
    }
}

/// Rows one after another, padded.
fn rows(operand: &Operand) -> Result<PackedOrder, String> {
    let unit = u32::try_from(row_unit(operand)).map_err(|error| error.to_string())?;
    Ok(match operand.axes.len() {
        1 => PackedOrder {
            shape: vec![vec![unit]],
            stride: vec![vec![1]],
            swizzle: None,
            order: vec![0],
            multiple: vec![1],
        },
        _ => PackedOrder {
            shape: vec![vec![1], vec![unit]],
            stride: vec![vec![unit], vec![1]],
            swizzle: None,
            order: vec![1, 0],
            multiple: vec![1; 2],
        },
    })
}
