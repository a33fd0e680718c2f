//! A tensor argument as the model holds it: its element type, and its axes with their strides.

use std::fmt;

use tilewright_bundle::Expr;

use super::forms::Role;
use crate::dtype::DType;
use crate::spec::words::notation::PACKED;

/// The number of an operand: among those of its spec, of that spec's formula, and of its plans,
/// which are the same. The reader of specs gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperandId(pub(crate) usize);

impl OperandId {
    /// The operand of that number, of all that its spec or its plan has.
    pub(crate) fn of(self, operands: &[Operand]) -> &Operand {
        &operands[self.0]
    }
}

/// One tensor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its number.
    pub id: OperandId,
    /// Name in the spec and in the launch ABI.
    pub name: String,
    /// What it is to the kernel.
    pub role: Role,
    /// Element type in memory.
    pub dtype: DType,
    /// Its axes, in the order that the kernel has them in, but those apart.
    pub axes: Vec<Axis>,
    /// Whether its order in memory is the plan's. Its axes then have the strides of rows one after
    /// another, which a plan may replace by tiles.
    pub packed: bool,
    /// Whether its formula has its two axes the other way round.
    pub transposed: bool,
    /// The input that it may take the place of, where it is an output.
    pub over: Option<String>,
    /// The axes of a product that its tile's elements do not lie along, and where its formula has
    /// them: that of planes, then batches, blocks of columns and parts of its sum.
    pub apart: Vec<(usize, Axis)>,
}

/// One axis of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The mode whose extent it has, and which runs along it unless a table looks into it.
    pub mode: String,
    /// The operand whose entries are the coordinates along it, where it is looked into.
    pub table: Option<OperandId>,
    /// Its stride.
    pub stride: Stride,
}

/// An axis of one element, which every operand has behind its own.
static UNIT_AXIS: Axis = Axis {
    mode: String::new(),
    table: None,
    stride: Stride::Const(0),
};

impl Operand {
    /// The axis of that number; one of a single element behind the last.
    pub fn axis(&self, number: usize) -> &Axis {
        self.axes.get(number).unwrap_or(&UNIT_AXIS)
    }

    /// The stride of that axis.
    pub fn stride(&self, axis: usize) -> &Stride {
        &self.axis(axis).stride
    }

    /// Which factor of the kernel's product it is; none of what is no factor.
    pub fn factor(&self) -> Option<usize> {
        self.role.factor()
    }

    /// Whether the kernel writes it.
    pub fn is_written(&self) -> bool {
        self.role == Role::Output
    }

    /// The axis of stride 1.
    pub fn contiguous_axis(&self) -> Option<usize> {
        let one = |axis: &Axis| axis.stride == Stride::Const(1);
        self.axes.iter().position(one)
    }

    /// The axis that a table looks into.
    pub fn looked_into(&self) -> Option<usize> {
        self.axes.iter().position(|axis| axis.table.is_some())
    }

    /// Its axes, then those apart.
    pub fn all_axes(&self) -> impl Iterator<Item = &Axis> {
        self.axes.iter().chain(self.axes_apart())
    }

    /// The axes that the elements of a tile do not lie along.
    pub fn axes_apart(&self) -> impl Iterator<Item = &Axis> {
        self.apart.iter().map(|(_, axis)| axis)
    }

    /// Its axes in the order of its formula, those apart among them.
    pub fn formula_axes(&self) -> Vec<&Axis> {
        let mut axes: Vec<&Axis> = match self.transposed {
            true => self.axes.iter().rev().collect(),
            false => self.axes.iter().collect(),
        };
        let mut apart: Vec<&(usize, Axis)> = self.apart.iter().collect();
        apart.sort_by_key(|(at, _)| *at);
        for (at, axis) in apart {
            axes.insert((*at).min(axes.len()), axis);
        }
        axes
    }

    /// A layout of it whose elements lie side by side along that axis: `(h,p,k):(s1b,s2b,1)`.
    pub fn layout_along(&self, along: usize) -> String {
        let axes = self.formula_axes();
        let name = &self.name;
        let named = |axis: &Axis| match &axis.stride {
            Stride::Named(name) => Some(name.clone()),
            Stride::Const(_) | Stride::Product { .. } => None,
        };
        let left = named(self.axis(along));
        let stride = |(at, axis): (usize, &&Axis)| match (axes.len(), named(axis)) {
            _ if axis.mode == self.axis(along).mode => "1".to_owned(),
            (_, Some(own)) => own,
            // The axis that was contiguous has the name that the other one leaves.
            (_, None) if axis.stride == Stride::Const(1) && left.is_some() => {
                left.clone().unwrap_or_default()
            }
            (2, None) => format!("ld{name}"),
            (_, None) => format!("s{}{name}", at + 1),
        };
        let modes: Vec<&str> = axes.iter().map(|axis| axis.mode.as_str()).collect();
        let strides: Vec<String> = axes.iter().enumerate().map(stride).collect();
        format!("({}):({})", modes.join(","), strides.join(","))
    }

    /// Its modes and strides, in the order of its formula: `(m,k):(lda,1)`, `(n,k):packed`.
    pub fn layout(&self) -> String {
        let axes = self.formula_axes();
        let modes: Vec<&str> = axes.iter().map(|axis| axis.mode.as_str()).collect();
        if self.packed {
            return format!("({}):{PACKED}", modes.join(","));
        }
        let strides: Vec<String> = axes.iter().map(|axis| axis.stride.to_string()).collect();
        format!("({}):({})", modes.join(","), strides.join(","))
    }
}

/// The operand of that role: of the outputs of a product the first that has an element for each
/// result, whatever stands before it.
pub fn with_role(operands: &[Operand], role: Role) -> Option<&Operand> {
    const MATRIX: usize = 2;
    let is_product = operands.iter().any(|one| one.factor().is_some());
    let mut all = operands.iter().filter(|one| one.role == role);
    let whole = |one: &&Operand| !is_product || role != Role::Output || one.axes.len() == MATRIX;
    let first = all.clone().next();
    all.find(whole).or(first)
}

/// A stride of an operand in global memory, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stride {
    /// A constant. `1` for the contiguous mode.
    Const(i64),
    /// A run-time value of that name (`lda`, `rsa`), 64-bit.
    Named(String),
    /// A product of extents, which a launch computes: `n` of `(m,n):(n,1)`.
    Product {
        /// Name of the value in the kernel.
        name: String,
        /// The product.
        value: Expr,
    },
}

impl Stride {
    /// The name of the run-time value in the kernel; none of a constant.
    pub fn name(&self) -> Option<&str> {
        match self {
            Stride::Const(_) => None,
            Stride::Named(name) | Stride::Product { name, .. } => Some(name),
        }
    }
}

impl fmt::Display for Stride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stride::Const(value) => write!(f, "{value}"),
            Stride::Named(name) => f.write_str(name),
            Stride::Product { value, .. } => value.fmt(f),
        }
    }
}
