//! The structs of `manifest.json`, one field for one key; unknown keys are refused.
//!
//! The structs say what is well-typed; `check` says what is consistent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::abi::{LaunchAbi, ParamValue, Scalar, Workspace};
use crate::certificate::Certificate;
use crate::code::{Capability, CubinFile, PtxFile, Resources, Route};
use crate::computed::{AccumulationWord, Computed};
use crate::expr::{Condition, Expr, Name, Names};
use crate::hash::Sha256Hex;
use crate::layout::OperandLayout;
use crate::lines::LineTable;
use crate::packed::PackedOrder;
use crate::sums::Sums;
use crate::traits::Traits;
use tilewright_formula::DType;

/// The manifest format this crate writes, and the newest it opens. It is the first that a release
/// writes; later versions open it as well, as *Compatibility* in the crate's documentation says.
pub const FORMAT_VERSION: u32 = 2;

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

/// Whether a kernel reads or writes an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read only.
    In,
    /// Written only: every element once, or those that entries of a table name.
    Out,
    /// Read and written.
    InOut,
}

impl Role {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            Role::In => "in",
            Role::Out => "out",
            Role::InOut => "inout",
        }
    }

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
    /// Its name in the formula.
    pub name: String,
    /// Read or written.
    pub role: Role,
    /// Element type.
    pub dtype: DType,
    /// Shape and strides, in elements: `(m,k):(lda,1)`.
    pub layout: OperandLayout,
    /// The input whose place an output may take: same start, layout and type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The order in memory of an operand that lies as its kernel likes; its layout is then that of
    /// the elements without gaps, `(n,k):(k,1)`, of which that order is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<PackedOrder>,
}

impl Operand {
    /// An operand.
    pub fn new(name: &str, role: Role, dtype: DType, layout: OperandLayout) -> Operand {
        Operand {
            name: name.to_owned(),
            role,
            dtype,
            layout,
            over: None,
            packed: None,
        }
    }
}

/// What a kernel computes, apart from how.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Semantics {
    /// The tensors, in the order of the spec.
    pub operands: Vec<Operand>,
    /// Numbers by value, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scalars: Vec<Scalar>,
    /// Modes whose extent is the same in every launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<String, i64>,
    /// The formula: `d[m,n] = s[m,n]`.
    pub compute: String,
    /// How exactly its sums are kept.
    #[serde(default, skip_serializing_if = "AccumulationWord::is_full")]
    pub accumulation: AccumulationWord,
    /// SHA-256 of the function: kernels of the same one may stand for one another. Set by the
    /// writer where it is empty.
    pub function: Sha256Hex,
    /// How the products of an element are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<Sums>,
}

impl Semantics {
    /// The operand named `name`.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        self.operands.iter().find(|o| o.name == name)
    }

    /// The number of the input whose place the operand of that number may take.
    pub fn over(&self, at: usize) -> Option<usize> {
        let over = self.operands.get(at)?.over.as_ref()?;
        self.operands.iter().position(|o| o.name == *over)
    }
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
    /// Something of the contents of operands, which the caller confirms: `rows are distinct`.
    Promise {
        /// What the caller says holds.
        promise: String,
        /// What needs it.
        reason: String,
    },
}

impl Assumption {
    /// The promise that no two entries of a table are one, of those that lie inside what it looks
    /// into.
    pub fn distinct_entries(table: &str) -> String {
        format!("entries of {table} are distinct")
    }

    /// The assumption as one line: `lda % 8 == 0`, `align(a) >= 16 bytes`.
    pub fn text(&self) -> String {
        match self {
            Assumption::Expr { expr, .. } => expr.text().to_owned(),
            Assumption::Align { operand, bytes, .. } => {
                format!("align({operand}) >= {bytes} bytes")
            }
            Assumption::Promise { promise, .. } => promise.clone(),
        }
    }

    /// Why the kernel needs it.
    pub fn reason(&self) -> &str {
        match self {
            Assumption::Expr { reason, .. }
            | Assumption::Align { reason, .. }
            | Assumption::Promise { reason, .. } => reason,
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
    /// The spec's word for it, `gemm`: for reports, no part of what it computes.
    pub kernel: String,
    /// What it computes.
    pub semantics: Semantics,
    /// Its PTX.
    pub ptx: PtxFile,
    /// Its machine code, if shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cubin: Option<CubinFile>,
    /// Which of the two a GPU may run.
    #[serde(default, skip_serializing_if = "Route::is_ptx")]
    pub route: Route,
    /// Oldest driver that takes the PTX, or the machine code where that alone is run, as
    /// `cuDriverGetVersion` counts: 11000 for CUDA 11.0.
    pub min_driver: u32,
    /// Devices that run it.
    pub capability: Capability,
    /// The launches that it is, one after the other on one stream.
    pub launches: Vec<LaunchAbi>,
    /// The scratch memory of all launches.
    #[serde(default, skip_serializing_if = "Workspace::is_none")]
    pub workspace: Workspace,
    /// What it uses.
    pub resources: Resources,
    /// How it cuts its problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traits: Option<Traits>,
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
    /// The checked formula; see [`Kernel::formula`].
    #[serde(skip)]
    pub computed: Computed,
    /// The names of its expressions, declared by its layouts; see [`Kernel::resolve`].
    #[serde(skip)]
    pub names: Names,
}

impl Kernel {
    /// A kernel without operands or launches, to be filled with `..`; see the crate's example. The
    /// part of `id` before `@` becomes `spec`.
    pub fn new(id: &str, kernel: &str) -> Kernel {
        Kernel {
            id: id.to_owned(),
            spec: id.split('@').next().unwrap_or(id).to_owned(),
            kernel: kernel.to_owned(),
            semantics: Semantics::default(),
            ptx: PtxFile::default(),
            cubin: None,
            route: Route::default(),
            min_driver: 11_000,
            capability: Capability {
                min_sm: 80,
                exact: false,
            },
            launches: Vec::new(),
            workspace: Workspace::default(),
            resources: Resources::default(),
            traits: None,
            lines: None,
            assumptions: Vec::new(),
            certificate: Certificate::default(),
            content_hash: Sha256Hex::default(),
            computed: Computed::default(),
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
        let launches = self.launches.iter().enumerate().flat_map(|(at, launch)| {
            let place = self.launch_place(at);
            launch
                .exprs()
                .map(move |(key, expr)| (format!("{place}{key}"), expr))
        });
        let workspace = ("workspace.bytes".to_owned(), &self.workspace.bytes);
        launches.chain([workspace]).chain(splits)
    }

    /// The launch whose clusters `max_clusters` counts in every expression of the entry, so that
    /// all launches agree where things lie in the scratch memory: the one whose grid names it, of
    /// which there is one at most; the first where none does.
    pub fn counted_launch(&self) -> usize {
        let counted = |launch: &LaunchAbi| launch.counts_clusters();
        self.launches.iter().position(counted).unwrap_or(0)
    }

    /// What stands before the keys of a launch in messages: nothing where it is the only one.
    pub fn launch_place(&self, at: usize) -> String {
        match self.launches.len() {
            0 | 1 => String::new(),
            _ => format!("launches.{at}."),
        }
    }

    /// The extents that a caller gives, with their spelling, in the order in which layouts mention
    /// them: all but the modes of constant extent.
    pub fn free_extents(&self) -> impl Iterator<Item = (Name, &str)> {
        let modes = &self.semantics.modes;
        let all = self.names.extents();
        all.filter(|(_, text)| !modes.contains_key(*text))
    }

    /// Whether the bits of a row are the same whichever rows stand beside it, as far as sums of
    /// products go: see [`Sums::is_batch_invariant`].
    pub fn is_batch_invariant(&self) -> bool {
        let sums = self.semantics.sums.as_ref();
        sums.is_none_or(Sums::is_batch_invariant)
    }

    /// Whether one of its launches passes a tensor map.
    pub fn has_tensor_maps(&self) -> bool {
        self.launches.iter().any(LaunchAbi::has_tensor_maps)
    }

    /// Whether one of its launches passes a tensor map of an operand as the caller has it, not of a
    /// copy.
    pub fn maps_operands(&self) -> bool {
        let mut params = self.launches.iter().flat_map(|launch| &launch.params);
        params.any(|param| match &param.value {
            ParamValue::TensorMap(map) => map.in_workspace.is_none(),
            _ => false,
        })
    }
}
