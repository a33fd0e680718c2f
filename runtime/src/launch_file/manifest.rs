//! The manifest of a launch file as it is written.

use serde::Deserialize;

/// A manifest; unknown keys are ignored.
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
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub dynamic_shared: u32,
    /// The arguments, and memory that no argument points to.
    pub args: Vec<LaunchArg>,
    /// The finding that must be made; `None` asks for a clean run.
    #[serde(default)]
    pub expect_error: Option<String>,
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
}

/// A device allocation.
#[derive(Clone, Debug, Deserialize)]
pub struct BufferArg {
    /// Its name.
    pub name: String,
    /// What it is to the kernel.
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
    /// Relative tolerance.
    #[serde(default)]
    pub rtol: Option<f64>,
    /// Absolute tolerance.
    #[serde(default)]
    pub atol: Option<f64>,
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
    Tensormap {
        /// Its name.
        name: String,
    },
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
}
