//! The model of a spec: what the rest of the compiler reads. Plain data, built by `super::build`.

use std::collections::BTreeMap;
use std::fmt;

use tilewright_layout::Swizzle;

use crate::arch::Arch;
use crate::dtype::Dtype;

/// A value given by the user, or `auto`: the plan computes a good one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Auto<T> {
    /// Computed by the plan.
    #[default]
    Auto,
    /// As written.
    Given(T),
}

impl<T: Clone> Auto<T> {
    /// The given value, or that of `default`.
    pub fn unwrap_or_else(&self, default: impl FnOnce() -> T) -> T {
        match self {
            Auto::Auto => default(),
            Auto::Given(value) => value.clone(),
        }
    }
}

/// The kind of kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `d = s`, two-dimensional. Operands `s`, `d`; extents `m`, `n`.
    Copy,
    /// `d = a · bᵀ`, with `a: (m,k)`, `b: (n,k)`, `d: (m,n)`.
    Gemm,
}

/// What an operand is to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The factor with the output's first mode: the rows of the MMA.
    A,
    /// The factor with the output's second mode: the columns of the MMA.
    B,
    /// What is copied.
    Source,
    /// What is written.
    Output,
}

/// One tensor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Name in the spec and in the launch ABI.
    pub name: String,
    /// What it is to the kernel.
    pub role: Role,
    /// Element type in memory.
    pub dtype: Dtype,
    /// Its axes, in the order of its layout.
    pub axes: Vec<Axis>,
}

/// One axis of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The mode that runs along it, whose name is that of the extent.
    pub mode: String,
    /// Its stride.
    pub stride: Stride,
}

/// An axis of one element, which every operand has behind its own.
static UNIT_AXIS: Axis = Axis {
    mode: String::new(),
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

    /// Whether the kernel writes it.
    pub fn is_written(&self) -> bool {
        self.role == Role::Output
    }

    /// The axis of stride 1.
    pub fn contiguous_axis(&self) -> Option<usize> {
        let one = |axis: &Axis| axis.stride == Stride::Const(1);
        self.axes.iter().position(one)
    }

    /// Its modes and strides: `(m,k):(lda,1)`.
    pub fn layout(&self) -> String {
        let modes: Vec<&str> = self.axes.iter().map(|axis| axis.mode.as_str()).collect();
        let strides: Vec<String> = self
            .axes
            .iter()
            .map(|axis| axis.stride.to_string())
            .collect();
        format!("({}):({})", modes.join(","), strides.join(","))
    }
}

/// A stride of an operand in global memory, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stride {
    /// A constant. `1` for the contiguous mode.
    Const(i64),
    /// A run-time value of that name (`lda`, `rsa`), 64-bit.
    Named(String),
}

impl fmt::Display for Stride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stride::Const(value) => write!(f, "{value}"),
            Stride::Named(name) => f.write_str(name),
        }
    }
}

/// The way of one operand's data, atom by atom. Keys are `<from>2<to>` with g, s, r for the memory
/// spaces.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CopyPath {
    /// Global to shared memory. `None` when the operand does not pass through it.
    pub g2s: Option<Auto<String>>,
    /// Shared memory to registers.
    pub s2r: Option<Auto<String>>,
    /// Registers to shared memory.
    pub r2s: Option<Auto<String>>,
    /// Shared to global memory.
    pub s2g: Option<Auto<String>>,
    /// Global memory to registers.
    pub g2r: Option<Auto<String>>,
    /// Registers to global memory.
    pub r2g: Option<Auto<String>>,
}

impl CopyPath {
    /// Whether results are to leave registers for global memory at once.
    pub fn is_direct(&self) -> bool {
        self.r2g.is_some() && self.r2s.is_none() && self.s2g.is_none()
    }
}

/// The tiled MMA of a gemm.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mma {
    /// Id of the MMA atom.
    pub atom: Auto<String>,
    /// AtomLayoutMNK: how many atoms side by side in m, n and k.
    pub atoms: Auto<[i64; 3]>,
    /// PermutationMNK: extents of the tile the atoms cover with their values, in m, n and k.
    pub permutation: Auto<[i64; 3]>,
}

/// What becomes of sums that the tensor cores cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulation {
    /// They stay as they are.
    Fast,
    /// Every few instructions they are added to others that keep all bits of the accumulator's
    /// type. Not generated yet.
    Promoted,
}

/// How loads run ahead of the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Every warp loads and computes; `stages` cp.async groups in flight. `stages: 1` is
    /// synchronous.
    Multistage,
    /// One warpgroup loads, the others compute parts of one tile.
    Cooperative,
    /// One warpgroup loads, two others compute a tile each, taking turns at the tensor cores.
    Pingpong,
}

/// Stages and schedule of the main loop.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Pipeline {
    /// Buffers of the shared-memory ring.
    pub stages: Auto<u32>,
    /// The schedule.
    pub schedule: Auto<Schedule>,
    /// Groups of asynchronous MMAs that may run on while the next are issued.
    pub in_flight: Auto<u32>,
    /// Registers that a producer's thread keeps.
    pub producer_registers: Auto<u32>,
}

/// Order in which CTAs visit output tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Raster {
    /// Along n first.
    Row,
    /// Along m first.
    Column,
    /// Bands of that many m tiles, along m inside a band: friendly to the L2 cache.
    Grouped(u32),
    /// Bands of that many m tiles, a power of two, there and back; inside a band squares along n,
    /// each filled by a Hilbert curve, so that successive tiles are neighbours.
    Hilbert(u32),
}

/// How output tiles come to CTAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchedulerKind {
    /// One tile for each CTA of the grid.
    Single,
    /// As many CTAs as run at a time; each takes every so-manieth tile.
    Persistent,
    /// The same, but where the last tiles would leave CTAs idle, theirs and those of a wave before
    /// are cut along k into spans of equal length (stream-k); who begins a tile adds their partial
    /// sums.
    StreamK,
}

/// How the start of a kernel relates to the one before it in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaunchKind {
    /// It starts when the one before has ended.
    Plain,
    /// It is set up while the one before ends, and waits for its memory before touching any
    /// (programmatic dependent launch).
    Programmatic,
}

/// Tile scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Scheduler {
    /// Whether a CTA makes one tile or many.
    pub kind: Auto<SchedulerKind>,
    /// Order of the output tiles.
    pub raster: Auto<Raster>,
    /// Most CTAs of a persistent grid.
    pub ctas: Auto<u32>,
    /// Whether the kernel's start overlaps the end of the one before.
    pub launch: Auto<LaunchKind>,
}

/// A checked spec, or one point of its tuning space (then every tuned field holds its value).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Kind of kernel.
    pub family: Family,
    /// Name, equal to the file's place: `specs/<family>/<rest>.yaml` is `<family>_<rest>`.
    pub name: String,
    /// Target architecture.
    pub arch: Arch,
    /// Operands in the order of the family (`s d`, `a b d`).
    pub operands: Vec<Operand>,
    /// Accumulator type (gemm; for copy the operand's type).
    pub accumulator: Dtype,
    /// What becomes of sums that are cut short; there where they are, and nowhere else.
    pub accumulation: Option<Accumulation>,
    /// Names of the modes that a CTA's tile cuts, those of the output first.
    pub modes: Vec<String>,
    /// Extents of one CTA's tile along them.
    pub cta_tile: Vec<i64>,
    /// Threads of a CTA.
    pub threads: Auto<u32>,
    /// Lower bound of resident CTAs per SM handed to ptxas (`.minnctapersm`).
    pub min_ctas_per_sm: Auto<u32>,
    /// CTAs of a cluster along m, n and k.
    pub cluster: [i64; 3],
    /// Tiled MMA (gemm).
    pub mma: Mma,
    /// Data paths by operand name.
    pub copy: BTreeMap<String, CopyPath>,
    /// Swizzle of each operand's shared-memory tile, in elements.
    pub swizzle: BTreeMap<String, Auto<Swizzle>>,
    /// Main loop pipeline.
    pub pipeline: Pipeline,
    /// Tile order.
    pub scheduler: Scheduler,
    /// Epilogue expression. `d = acc` for gemm, `d = s` for copy.
    pub epilogue: String,
}

impl Spec {
    /// The operand of that name.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|operand| operand.name == name)
    }

    /// The operand of that role.
    pub fn operand_as(&self, role: Role) -> Option<&Operand> {
        self.operands.iter().find(|operand| operand.role == role)
    }
}

/// One point of a spec's tuning space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// `name@` plus a readable suffix and a hash: `gemm_bf16_tn@128x256x64_s3-1f3a9c`.
    pub id: String,
    /// The spec with the point's values in place.
    pub spec: Spec,
}
