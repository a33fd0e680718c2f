//! Tensor maps: what tensor copies know about an operand, and how the launch makes them.
//!
//! The manifest has a map without its address, with extents and strides as expressions; the
//! runtime fills in both for a problem and lets the backend encode the 128 bytes. All maps are
//! tiled ones without interleaving.

use serde::{Deserialize, Serialize};

use crate::expr::Expr;
use tilewright_formula::DType;

/// Size of a tensor map in the parameter block (driver API, `CUtensorMap`).
pub const TENSOR_MAP_BYTES: u32 = 128;

/// A tensor map over an operand.
///
/// For a row-major operand `(m,k):(lda,1)` of `bf16` in boxes of 64 rows and 64 columns:
///
/// ```
/// use tilewright_bundle::{DType, TensorMapAbi, TensorSwizzle};
/// let map = TensorMapAbi {
///     swizzle: TensorSwizzle::Bytes128,
///     ..TensorMapAbi::new(
///         "a",
///         DType::BF16,
///         ["k".parse()?, "m".parse()?],
///         ["lda".parse()?],
///         [64, 64],
///     )
/// };
/// assert_eq!(map.rank(), 2);
/// assert_eq!(map.inner_box_bytes(), 128);
/// # Ok::<(), tilewright_bundle::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorMapAbi {
    /// The operand whose first element is the map's address, unless a copy's is.
    pub operand: String,
    /// Where in the workspace the copy of the operand lies that the map is over, in bytes, a
    /// multiple of 16: a launch before this one makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_workspace: Option<Expr>,
    /// Type of the elements, as wide as the operand's.
    pub dtype: DType,
    /// Extents in elements, the contiguous dimension first; one to five of them.
    pub dims: Vec<Expr>,
    /// Distance between neighbours along each dimension after the first, in elements: `lda`. The
    /// launch multiplies by the size of an element.
    pub strides: Vec<Expr>,
    /// Extents of the box that one copy moves, in elements.
    pub box_dims: Vec<u32>,
    /// Every how manieth element along each dimension a copy takes; empty for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub element_strides: Vec<u32>,
    /// How the box is permuted in shared memory.
    pub swizzle: TensorSwizzle,
    /// How much the second-level cache fetches at once, at most: a launch asks for 128 bytes in
    /// place of 256 where a stride is no multiple of 128.
    pub l2_promotion: L2Promotion,
    /// What a box holds outside of the tensor.
    pub oob_fill: OobFill,
}

impl TensorMapAbi {
    /// A map without swizzle and promotion, filled with zeros outside; dimensions innermost first.
    pub fn new(
        operand: &str,
        dtype: DType,
        dims: impl Into<Vec<Expr>>,
        strides: impl Into<Vec<Expr>>,
        box_dims: impl Into<Vec<u32>>,
    ) -> TensorMapAbi {
        TensorMapAbi {
            operand: operand.to_owned(),
            in_workspace: None,
            dtype,
            dims: dims.into(),
            strides: strides.into(),
            box_dims: box_dims.into(),
            element_strides: Vec::new(),
            swizzle: TensorSwizzle::None,
            l2_promotion: L2Promotion::None,
            oob_fill: OobFill::Zeros,
        }
    }

    /// Whether it is over that operand as the caller has it.
    pub fn is_over(&self, operand: &str) -> bool {
        self.in_workspace.is_none() && self.operand == operand
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Bytes of the box along the contiguous dimension.
    pub fn inner_box_bytes(&self) -> u64 {
        let elems = self.box_dims.first().copied().unwrap_or(0);
        u64::from(elems) * u64::from(self.dtype.bytes())
    }
}

/// How 16-byte pieces of a box are permuted in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TensorSwizzle {
    /// Not at all.
    #[default]
    #[serde(rename = "none")]
    None,
    /// Inside rows of 32 bytes.
    #[serde(rename = "32B")]
    Bytes32,
    /// Inside rows of 64 bytes.
    #[serde(rename = "64B")]
    Bytes64,
    /// Inside rows of 128 bytes.
    #[serde(rename = "128B")]
    Bytes128,
}

impl TensorSwizzle {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            TensorSwizzle::None => "none",
            TensorSwizzle::Bytes32 => "32B",
            TensorSwizzle::Bytes64 => "64B",
            TensorSwizzle::Bytes128 => "128B",
        }
    }

    /// Most bytes of a box along the contiguous dimension; `None` is no limit.
    pub const fn span_bytes(self) -> Option<u64> {
        match self {
            TensorSwizzle::None => None,
            TensorSwizzle::Bytes32 => Some(32),
            TensorSwizzle::Bytes64 => Some(64),
            TensorSwizzle::Bytes128 => Some(128),
        }
    }
}

/// How much the second-level cache fetches for a copy at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum L2Promotion {
    /// What was asked for.
    #[default]
    #[serde(rename = "none")]
    None,
    /// 64 bytes.
    #[serde(rename = "64B")]
    Bytes64,
    /// 128 bytes.
    #[serde(rename = "128B")]
    Bytes128,
    /// 256 bytes.
    #[serde(rename = "256B")]
    Bytes256,
}

impl L2Promotion {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            L2Promotion::None => "none",
            L2Promotion::Bytes64 => "64B",
            L2Promotion::Bytes128 => "128B",
            L2Promotion::Bytes256 => "256B",
        }
    }
}

/// What the elements of a box outside of the tensor read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OobFill {
    /// Zero.
    #[default]
    Zeros,
    /// A NaN, for floating-point types.
    Nan,
}

impl OobFill {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            OobFill::Zeros => "zeros",
            OobFill::Nan => "nan",
        }
    }
}
