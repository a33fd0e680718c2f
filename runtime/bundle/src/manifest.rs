//! The structs of `manifest.json`, one field for one key; unknown keys are refused.
//!
//! The structs say what is well-typed; `check` says what is consistent.

use serde::{Deserialize, Serialize};

use crate::abi::LaunchAbi;
use crate::certificate::Certificate;
use crate::expr::{Condition, Expr, Names};
use crate::hash::Sha256Hex;
use crate::layout::OperandLayout;
use crate::lines::LineTable;
use crate::sums::Sums;
use tilewright_formula::DType;

/// The manifest format this crate writes and the only one it opens.
pub const FORMAT_VERSION: u32 = 1;

/// Everything a bundle says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`].
    pub format: u32,
    /// Which tools made the bundle.
    pub provenance: Provenance,
    /// The kernels, ordered by id.
    pub kernels: Vec<Kernel>,
    /// Every file beside the manifest, ordered by path.
    pub files: Vec<FileEntry>,
    /// SHA-256 of every byte of the manifest before the line of this key, which is the last one.
    pub bundle_sha256: Sha256Hex,
}

/// The tools that made a bundle, as they name themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The generator and its version.
    pub generator: String,
    /// The LLVM that made the PTX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llvm: Option<String>,
    /// The `ptxas` that assembled the PTX as a check or into cubins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptxas: Option<String>,
}

impl Provenance {
    /// A provenance that names the generator alone.
    pub fn new(generator: impl Into<String>) -> Provenance {
        Provenance {
            generator: generator.into(),
            ..Provenance::default()
        }
    }
}

/// One file of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Path relative to the manifest, with `/` between components.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Hash of the content.
    pub sha256: Sha256Hex,
}

/// What a kernel of a family computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// `d = a · b` with an epilogue.
    Gemm,
    /// `d = s`, element by element.
    Copy,
}

impl Family {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            Family::Gemm => "gemm",
            Family::Copy => "copy",
        }
    }
}

/// Whether a kernel reads or writes an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read only.
    In,
    /// Written only, every element once.
    Out,
    /// Read and written.
    InOut,
}

impl Role {
    /// Whether the kernel writes the operand.
    pub const fn is_written(self) -> bool {
        matches!(self, Role::Out | Role::InOut)
    }

    /// Whether the kernel reads the operand.
    pub const fn is_read(self) -> bool {
        matches!(self, Role::In | Role::InOut)
    }
}

/// One tensor in global memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// Its name in the spec: `a b c d` of a gemm, `s d` of a copy.
    pub name: String,
    /// Read or written.
    pub role: Role,
    /// Element type.
    pub dtype: DType,
    /// Shape and strides, in elements: `(m,k):(lda,1)`.
    pub layout: OperandLayout,
}

impl Operand {
    /// An operand.
    pub fn new(name: &str, role: Role, dtype: DType, layout: OperandLayout) -> Operand {
        Operand {
            name: name.to_owned(),
            role,
            dtype,
            layout,
        }
    }
}

/// What a kernel computes, apart from how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Semantics {
    /// The tensors, in the order of the spec.
    pub operands: Vec<Operand>,
    /// Type in which a gemm accumulates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulator: Option<DType>,
    /// The epilogue's formula: `d = acc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epilogue: Option<String>,
    /// How a gemm adds up the products of an element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<Sums>,
}

impl Semantics {
    /// The operand named `name`.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|o| o.name == name)
    }
}

/// A kernel's PTX file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PtxFile {
    /// Path relative to the manifest; set by the writer.
    pub file: String,
    /// Hash of the content; set by the writer.
    pub sha256: Sha256Hex,
    /// The file's `.version`; set by the writer.
    pub version: String,
    /// The file's `.target`, the architecture alone; set by the writer.
    pub target: String,
}

/// A kernel's machine code for one architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CubinFile {
    /// Path relative to the manifest.
    pub file: String,
    /// Hash of the content.
    pub sha256: Sha256Hex,
    /// The architecture it was assembled for: `sm_90a`.
    pub target: String,
}

/// Which devices run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capability {
    /// Smallest compute capability, ten times major plus minor: 80, 90.
    pub min_sm: u32,
    /// Whether no other capability will do, as for `sm_90a`.
    pub exact: bool,
}

impl Capability {
    /// Whether a device of compute capability `sm` (80, 90) runs the kernel.
    pub const fn allows(self, sm: u32) -> bool {
        if self.exact {
            sm == self.min_sm
        } else {
            sm >= self.min_sm
        }
    }
}

/// What a kernel uses, as far as it is known; sizes in bytes per CTA or thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Registers of a thread, from `ptxas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Shared memory declared in the PTX.
    pub static_smem_bytes: u32,
    /// Shared memory asked for at launch.
    pub dynamic_smem_bytes: u32,
    /// Bytes a thread spills, stores and loads together, from `ptxas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u32>,
}

/// Something that must be true of a problem before the kernel may be launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Assumption {
    /// A comparison over extents and leading dimensions.
    Expr {
        /// The comparison: `lda % 8 == 0`.
        expr: Condition,
        /// Which access needs it.
        reason: String,
    },
    /// The address of an operand's first element is a multiple of `bytes`.
    Align {
        /// The operand.
        operand: String,
        /// A power of two, at most 4096.
        bytes: u32,
        /// Which access needs it.
        reason: String,
    },
}

impl Assumption {
    /// The assumption as one line: `lda % 8 == 0`, `align(a) == 16`.
    pub fn text(&self) -> String {
        match self {
            Assumption::Expr { expr, .. } => expr.text().to_owned(),
            Assumption::Align { operand, bytes, .. } => format!("align({operand}) == {bytes}"),
        }
    }

    /// Why the kernel needs it.
    pub fn reason(&self) -> &str {
        match self {
            Assumption::Expr { reason, .. } | Assumption::Align { reason, .. } => reason,
        }
    }
}

/// One kernel: what it computes, how to launch it, where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The point's name, unique in the bundle: `gemm_bf16_tn@128x256x64_s3-1f3a9c`.
    pub id: String,
    /// The part of the id before `@`.
    pub spec: String,
    /// Its family.
    pub family: Family,
    /// What it computes.
    pub semantics: Semantics,
    /// Name of the `.entry` in the PTX.
    pub entry: String,
    /// Its PTX.
    pub ptx: PtxFile,
    /// Its machine code, if shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cubin: Option<CubinFile>,
    /// Oldest driver that takes the PTX, as `cuDriverGetVersion` counts: 11000 for CUDA 11.0.
    pub min_driver: u32,
    /// Devices that run it.
    pub capability: Capability,
    /// How to launch it.
    pub abi: LaunchAbi,
    /// What it uses.
    pub resources: Resources,
    /// Where the lines of its PTX come from; no part of what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineTable>,
    /// What must hold before a launch.
    pub assumptions: Vec<Assumption>,
    /// The generator's proof of the kernel, an object; opaque here, covered by the hash.
    pub certificate: Certificate,
    /// SHA-256 of this entry as compact JSON with this key an empty string and without `lines`; set
    /// by the writer.
    pub content_hash: Sha256Hex,
    /// The names of its expressions, declared by its layouts; see [`Kernel::resolve`].
    #[serde(skip)]
    pub names: Names,
}

impl Kernel {
    /// A kernel without operands or parameters, to be filled with `..`; see the crate's example.
    /// The part of `id` before `@` becomes `spec`.
    pub fn new(id: &str, family: Family, entry: &str) -> Kernel {
        Kernel {
            id: id.to_owned(),
            spec: id.split('@').next().unwrap_or(id).to_owned(),
            family,
            semantics: Semantics::default(),
            entry: entry.to_owned(),
            ptx: PtxFile::default(),
            cubin: None,
            min_driver: 11_000,
            capability: Capability {
                min_sm: 80,
                exact: false,
            },
            abi: LaunchAbi::default(),
            resources: Resources::default(),
            lines: None,
            assumptions: Vec::new(),
            certificate: Certificate::default(),
            content_hash: Sha256Hex::default(),
            names: Names::default(),
        }
    }

    /// Every expression of the entry, with the key it stands under.
    pub fn exprs(&self) -> impl Iterator<Item = (String, &Expr)> {
        let splits = self
            .semantics
            .sums
            .iter()
            .filter_map(|sums| sums.splits.as_ref());
        let splits = splits.map(|expr| ("semantics.sums.splits".to_owned(), expr));
        self.abi.exprs().chain(splits)
    }
}
