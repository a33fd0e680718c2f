//! How a kernel is launched: entries, parameters with their offsets, and sizes as expressions.
//!
//! Parameters are laid out as C would: each at the next multiple of its alignment, which is its
//! own size, and 64 for a tensor map; ptxas counts so where there is none or the first is one, and
//! a launch on a GPU refuses code that counts otherwise. The offsets stand in the manifest so that
//! a reader in any language can pack without knowing that rule.

use serde::{Deserialize, Serialize};

use tilewright_formula::DType;
use tilewright_formula::number::{Kind, stored};

use crate::expr::{Expr, Name};
use crate::tensor_map::{TENSOR_MAP_BYTES, TensorMapAbi};

/// Largest parameter block of a kernel, in bytes (PTX ISA, kernel function parameters, before 8.1).
pub const MAX_PARAM_BYTES: u32 = 4096;

/// Everything one launch needs apart from the buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchAbi {
    /// Name of the `.entry` in the PTX.
    pub entry: String,
    /// Parameters in the order of the entry.
    pub params: Vec<Param>,
    /// CTAs along x, y, z. Along x `min(tiles, max_clusters)` clusters where CTAs make one work
    /// tile after another, which one launch of a kernel may do: one of more tiles than the kernel
    /// counts in 32 bits is refused.
    pub grid: [Expr; 3],
    /// Threads along x, y, z.
    pub block: [u32; 3],
    /// CTAs of a cluster along x, y, z; absent for a launch without clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Whether the kernel waits by itself for the one before it in the stream
    /// (`griddepcontrol.wait`), so that it may be launched while that one still runs: programmatic
    /// stream serialization.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub programmatic: bool,
    /// Dynamic shared memory of a CTA.
    pub dynamic_smem_bytes: Expr,
}

/// Global scratch memory of a kernel, passed through [`ParamValue::Workspace`] parameters of its
/// launches. Kernels that may run at the same time need one each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    /// Its size.
    pub bytes: Expr,
    /// How many of its first bytes are zero before the kernel's first launch, and after its last:
    /// who launches sets them once, when the memory is new.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zero_bytes: u32,
}

impl Default for Workspace {
    /// None.
    fn default() -> Workspace {
        Workspace {
            bytes: Expr::constant(0),
            zero_bytes: 0,
        }
    }
}

impl Workspace {
    /// Whether there is none.
    pub(crate) fn is_none(&self) -> bool {
        self.bytes.constant_value() == Some(0) && self.zero_bytes == 0
    }
}

fn is_zero(bytes: &u32) -> bool {
    *bytes == 0
}

impl Default for LaunchAbi {
    /// One thread of a nameless entry, no parameters, no memory.
    fn default() -> Self {
        LaunchAbi {
            entry: String::new(),
            params: Vec::new(),
            grid: [Expr::constant(1), Expr::constant(1), Expr::constant(1)],
            block: [1, 1, 1],
            cluster: None,
            programmatic: false,
            dynamic_smem_bytes: Expr::constant(0),
        }
    }
}

impl LaunchAbi {
    /// Bytes of the parameter block.
    pub fn param_bytes(&self) -> u32 {
        self.params
            .iter()
            .map(|p| p.offset.saturating_add(p.size))
            .max()
            .unwrap_or(0)
    }

    /// CTAs of a cluster; 1 of a launch without clusters.
    pub fn cluster_ctas(&self) -> i64 {
        let cluster = self.cluster.unwrap_or([1; 3]);
        cluster.iter().map(|d| i64::from(*d)).product()
    }

    /// Whether it passes a tensor map.
    pub fn has_tensor_maps(&self) -> bool {
        let is_map = |param: &Param| matches!(param.value, ParamValue::TensorMap(_));
        self.params.iter().any(is_map)
    }

    /// Whether the grid depends on how many clusters fit at once.
    pub fn counts_clusters(&self) -> bool {
        let mut names = self.grid.iter().flat_map(Expr::names);
        names.any(|name| name == Name::MAX_CLUSTERS)
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|d| u64::from(*d)).product()
    }

    /// Every expression, with the key it stands under.
    pub fn exprs(&self) -> impl Iterator<Item = (String, &Expr)> {
        let params = self.params.iter().flat_map(Param::exprs);
        let grid = ["grid.x", "grid.y", "grid.z"]
            .into_iter()
            .map(str::to_owned)
            .zip(&self.grid);
        let smem = ("dynamic_smem_bytes".to_owned(), &self.dynamic_smem_bytes);
        params.chain(grid).chain([smem])
    }
}

/// One parameter of the entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// For readers; the PTX may name it otherwise.
    pub name: String,
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// What is passed.
    pub value: ParamValue,
}

impl Param {
    /// Lays out parameters in order, each at the next multiple of its alignment.
    pub fn pack<'a>(values: impl IntoIterator<Item = (&'a str, ParamValue)>) -> Vec<Param> {
        let mut end = 0u32;
        let place = |(name, value): (&str, ParamValue)| {
            let size = value.size();
            let offset = end
                .checked_next_multiple_of(value.align())
                .unwrap_or(u32::MAX);
            end = offset.saturating_add(size);
            Param {
                name: name.to_owned(),
                offset,
                size,
                value,
            }
        };
        values.into_iter().map(place).collect()
    }

    /// Every expression of the parameter, with the key it stands under.
    fn exprs(&self) -> Vec<(String, &Expr)> {
        let name = &self.name;
        let listed = |key: &'static str, list: &'_ [Expr]| {
            (0..list.len()).map(move |at| format!("params.{name}.{key}.{at}"))
        };
        match &self.value {
            ParamValue::Scalar { expr, .. } => vec![(format!("params.{name}"), expr)],
            ParamValue::TensorMap(map) => listed("dims", &map.dims)
                .zip(&map.dims)
                .chain(listed("strides", &map.strides).zip(&map.strides))
                .chain(
                    map.in_workspace
                        .iter()
                        .map(|at| (format!("params.{name}.in_workspace"), at)),
                )
                .collect(),
            ParamValue::InWorkspace { at } => vec![(format!("params.{name}.at"), at)],
            ParamValue::Pointer { .. } | ParamValue::Given(_) | ParamValue::Workspace => Vec::new(),
        }
    }
}

/// What a parameter passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ParamValue {
    /// The 64-bit address of an operand's first element.
    Pointer {
        /// The operand.
        operand: String,
    },
    /// An integer of the launch.
    Scalar {
        /// Its type in the parameter block.
        #[serde(rename = "type")]
        ty: ScalarType,
        /// Its value.
        expr: Expr,
    },
    /// A scalar of the formula, as the caller gives it.
    Given(Scalar),
    /// The 64-bit address of the workspace.
    Workspace,
    /// The same, so many bytes behind its start.
    InWorkspace {
        /// How many.
        at: Expr,
    },
    /// A tensor map of an operand, made at launch: a `.param .align 64 .b8 name[128]` of the PTX.
    TensorMap(TensorMapAbi),
}

impl ParamValue {
    /// The address of `operand`.
    pub fn pointer(operand: &str) -> ParamValue {
        ParamValue::Pointer {
            operand: operand.to_owned(),
        }
    }

    /// An integer of type `ty`.
    pub fn scalar(ty: ScalarType, expr: Expr) -> ParamValue {
        ParamValue::Scalar { ty, expr }
    }

    /// Size in the parameter block, in bytes.
    pub const fn size(&self) -> u32 {
        match self {
            ParamValue::Pointer { .. } | ParamValue::Workspace | ParamValue::InWorkspace { .. } => {
                8
            }
            ParamValue::Scalar { ty, .. } => ty.bytes(),
            ParamValue::Given(scalar) => scalar.dtype.bytes(),
            ParamValue::TensorMap(_) => TENSOR_MAP_BYTES,
        }
    }

    /// What its offset is a multiple of, in bytes.
    pub const fn align(&self) -> u32 {
        match self {
            // What tensor copies ask of the map's address (PTX ISA, tensor-map).
            ParamValue::TensorMap(_) => 64,
            _ => self.size(),
        }
    }
}

/// A number that a formula takes by value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalar {
    /// Its name in the formula.
    pub name: String,
    /// Its type.
    pub dtype: DType,
}

impl Scalar {
    /// Whether the type has a number for `value`: an integer type only that very one.
    pub fn holds(&self, value: f64) -> bool {
        match Kind::of(self.dtype) {
            Kind::Float(_) => true,
            Kind::Integer(_) => stored(self.dtype, value) == value,
            Kind::Scale | Kind::Raw => false,
        }
    }

    /// Little-endian bytes of the type's number nearest to `value`; `None` when an integer type
    /// does not hold it.
    pub fn encode(&self, value: f64) -> Option<Vec<u8>> {
        let bytes = self.dtype.bytes() as usize;
        if !self.holds(value) {
            return None;
        }
        let code = match Kind::of(self.dtype) {
            Kind::Float(format) => format.encode(value).to_le_bytes(),
            _ => (value as i64).to_le_bytes(),
        };
        code.get(..bytes).map(<[u8]>::to_vec)
    }
}

/// Integer types of scalar parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarType {
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
}

impl ScalarType {
    /// Size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            ScalarType::I32 | ScalarType::U32 => 4,
            ScalarType::I64 | ScalarType::U64 => 8,
        }
    }

    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            ScalarType::I32 => "i32",
            ScalarType::I64 => "i64",
            ScalarType::U32 => "u32",
            ScalarType::U64 => "u64",
        }
    }

    /// Little-endian bytes of `value` and how many of them count, or `None` when it does not fit.
    pub fn encode(self, value: i64) -> Option<([u8; 8], usize)> {
        let fits = match self {
            ScalarType::I32 => i32::try_from(value).is_ok(),
            ScalarType::U32 => u32::try_from(value).is_ok(),
            ScalarType::U64 => value >= 0,
            ScalarType::I64 => true,
        };
        fits.then(|| (value.to_le_bytes(), self.bytes() as usize))
    }
}
