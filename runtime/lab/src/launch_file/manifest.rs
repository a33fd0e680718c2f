//! The manifest of a launch file as it is written.

use serde::Deserialize;

/// A manifest; one with a key that means nothing is refused.
#[derive(Clone, Debug, Deserialize)]
pub struct LaunchFile {
    /// The name of the case.
    pub id: String,
    /// The PTX file, relative to the folder above `cases/`.
    pub ptx: String,
    /// The architecture it is for.
    pub arch: String,
    /// The kernel.
    pub entry: String,
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// CTAs of a cluster along x, y, z.
    #[serde(default = "one")]
    pub cluster: [u32; 3],
    /// Whether the launch may start before the one before it has ended.
    #[serde(default)]
    pub programmatic: bool,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub dynamic_shared: u32,
    /// The arguments, and memory that no argument points to.
    pub args: Vec<LaunchArg>,
    /// The finding that must be made; `None` asks for a clean run.
    #[serde(default)]
    pub expect_error: Option<String>,
}

impl LaunchFile {
    /// The arguments, and the fields of structs in the place of those.
    pub fn flat(&self) -> impl Iterator<Item = &LaunchArg> {
        self.args.iter().flat_map(|arg| match arg {
            LaunchArg::Struct(of) => of.fields.iter().map(|field| &field.arg).collect(),
            other => vec![other],
        })
    }
}

impl LaunchArg {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            LaunchArg::Scalar { name, .. }
            | LaunchArg::Null { name }
            | LaunchArg::Bytes { name, .. } => name,
            LaunchArg::Buffer(arg) | LaunchArg::Memory(arg) => &arg.name,
            LaunchArg::Tensormap(arg) => &arg.name,
            LaunchArg::Struct(arg) => &arg.name,
        }
    }
}

fn one() -> [u32; 3] {
    [1; 3]
}

/// What a buffer is to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read only.
    In,
    /// Written; starts poisoned.
    Out,
    /// Read and written.
    Inout,
    /// Memory to work in: starts poisoned, and what it holds in the end is nobody's business.
    Scratch,
}

/// A device allocation.
#[derive(Clone, Debug, Deserialize)]
pub struct BufferArg {
    /// Its name.
    pub name: String,
    /// What it is to the kernel: one that it reads has an `init`.
    pub role: Role,
    /// The type of its elements.
    pub dtype: String,
    /// Its size.
    pub bytes: u64,
    /// The file with its content before the launch.
    #[serde(default)]
    pub init: Option<String>,
    /// The file with its content after the launch.
    #[serde(default)]
    pub expect: Option<String>,
    /// Relative tolerance, up to 1; of floats alone, others are compared to the bit.
    #[serde(default)]
    pub rtol: Option<f64>,
    /// Absolute tolerance, up to 1 or the largest magnitude that is expected; of floats alone.
    #[serde(default)]
    pub atol: Option<f64>,
}

/// A tensor map as the driver's function takes it.
#[derive(Clone, Debug, Deserialize)]
pub struct TensormapArg {
    /// Its name.
    pub name: String,
    /// The buffer of the same launch that holds the tensor.
    pub buffer: String,
    /// `CUtensorMapDataType` without its prefix.
    pub data_type: String,
    /// Dimensions.
    pub rank: u8,
    /// Extents, innermost first.
    pub global_dim: Vec<u64>,
    /// Byte strides of dimensions 1 and up.
    pub global_strides: Vec<u64>,
    /// Extents of the box.
    #[serde(default)]
    pub box_dim: Vec<u16>,
    /// Every how manieth element is taken.
    #[serde(default)]
    pub element_strides: Vec<u8>,
    /// NONE, 16B or 32B.
    pub interleave: String,
    /// NONE, 32B, 64B or 128B.
    pub swizzle: String,
    /// NONE or NAN_REQUEST_ZERO_FMA.
    pub oob_fill: String,
    /// NONE, L2_64B, L2_128B or L2_256B, which changes nothing that can be seen; NONE unless it
    /// says.
    #[serde(default)]
    pub l2_promotion: Option<String>,
    /// Set for im2col maps.
    #[serde(default)]
    pub im2col: Option<Im2colArg>,
}

/// The part of an im2col map that a tiled one does not have.
#[derive(Clone, Debug, Deserialize)]
pub struct Im2colArg {
    /// First position along each spatial dimension, innermost first.
    #[serde(alias = "pixel_box_lower_corner")]
    pub lower: Vec<i16>,
    /// Last position, counted from the tensor's last one.
    #[serde(alias = "pixel_box_upper_corner")]
    pub upper: Vec<i16>,
    /// Channels of a column.
    #[serde(alias = "channels_per_pixel")]
    pub channels: u16,
    /// Positions of a copy.
    #[serde(alias = "pixels_per_column")]
    pub pixels: u16,
}

/// One entry of `args`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LaunchArg {
    /// A number.
    Scalar {
        /// Its name.
        name: String,
        /// Its type.
        dtype: String,
        /// Its value.
        value: serde_json::Number,
    },
    /// A device allocation whose pointer is the argument.
    Buffer(BufferArg),
    /// A device allocation that no argument points to.
    Memory(BufferArg),
    /// A tensor map.
    Tensormap(TensormapArg),
    /// A null pointer.
    Null {
        /// Its name.
        name: String,
    },
    /// A parameter given as bytes.
    Bytes {
        /// Its name.
        name: String,
        /// Its size.
        size: usize,
        /// Two digits for each byte.
        hex: String,
    },
    /// A struct that is passed by value.
    Struct(StructArg),
}

/// A struct that is passed by value.
#[derive(Clone, Debug, Deserialize)]
pub struct StructArg {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: usize,
    /// What lies in it.
    pub fields: Vec<Field>,
    /// What lies under the fields: two digits for each byte; zeros where it is left out.
    #[serde(default)]
    pub hex: Option<String>,
}

/// An argument in a struct.
#[derive(Clone, Debug, Deserialize)]
pub struct Field {
    /// Bytes from the start of the struct.
    pub at: usize,
    /// What lies there: of any kind but structs and memory.
    #[serde(flatten)]
    pub arg: LaunchArg,
}
