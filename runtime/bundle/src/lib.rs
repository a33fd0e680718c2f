//! The contract between the generator and the runtime: a folder of kernels that says what it is.
//!
//! A bundle is `manifest.json` beside PTX files and optional cubins. Per kernel the manifest
//! holds what it computes ([`Semantics`]), how it is launched ([`LaunchAbi`], with integer
//! expressions over the problem's extents), where it runs ([`Capability`]), what it needs to be
//! true ([`Assumption`]) and hashes of all of it. A tuned bundle says in [`Tuning`] tables which
//! kernels were fastest where. This crate writes bundles deterministically ([`BundleWriter`]) and
//! opens them ([`Bundle::open`]) only when every check passes.
//!
//! It knows no GPU, no driver, no compiler and no layout algebra.
//!
//! ```
//! use tilewright_bundle::*;
//! let kernel = Kernel {
//!     launches: vec![LaunchAbi {
//!         entry: "copy_f32".to_owned(),
//!         params: Param::pack([
//!             ("s", ParamValue::pointer("s")),
//!             ("d", ParamValue::pointer("d")),
//!             ("n", ParamValue::scalar(ScalarType::I32, "n".parse()?)),
//!         ]),
//!         grid: ["ceil_div(n, 256)".parse()?, 1u32.into(), 1u32.into()],
//!         block: [256, 1, 1],
//!         ..LaunchAbi::default()
//!     }],
//!     semantics: Semantics {
//!         operands: vec![
//!             Operand::new("s", Role::In, DType::F32, "(m,n):(lds,1)".parse()?),
//!             Operand::new("d", Role::Out, DType::F32, "(m,n):(ldd,1)".parse()?),
//!         ],
//!         compute: "d[m,n] = s[m,n]".to_owned(),
//!         ..Semantics::default()
//!     },
//!     ..Kernel::new("copy_f32@plain-000000", "copy")
//! };
//! let ptx = ".version 7.0\n.target sm_80\n.visible .entry copy_f32() { ret; }\n";
//! let mut writer = BundleWriter::new(Provenance::new("example 1.0"));
//! writer.add(kernel, ptx, None)?;
//! let folder = tempfile::tempdir()?;
//! let hash = writer.write(&folder.path().join("copy"))?;
//! let bundle = Bundle::open(&folder.path().join("copy"))?;
//! assert_eq!(bundle.hash(), &hash);
//! assert_eq!(bundle.kernels()[0].spec, "copy_f32");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod text;

mod error;

mod hash;

mod key;

mod expr;

mod layout;

mod packed;

mod tensor_map;

mod abi;

mod sums;

mod certificate;

mod lines;

mod computed;

mod code;

mod manifest;

mod formula;

mod resolve;

mod limits;

mod archive;

mod source;

mod signature;

mod folder;

mod tuning;

mod check;

mod ptx;

mod bundle;

mod read;

mod save;

mod write;

mod combine;

mod last_resort;

pub use abi::{LaunchAbi, MAX_PARAM_BYTES, Param, ParamValue, Scalar, ScalarType, Workspace};
pub use bundle::Bundle;
pub use certificate::{Certificate, MAX_CERTIFICATE_BYTES};
pub use code::{Capability, CubinFile, PtxFile, Resources, Route};
pub use computed::{AccumulationWord, Computed};
pub use error::{ArchiveFault, ArchiveProblem, Error, KeyError, Problem, SignatureFault};
pub use expr::{
    Condition, Env, EvalError, Expr, MAX_DEPTH, MAX_NAMES, MAX_NODES, MAX_TEXT, Name, NameKind,
    Names, Op as ExprStep, ParseError, Word as ExprWord,
};
pub use formula::MAX_COMPUTE_BYTES;
pub use hash::Sha256Hex;
pub use key::{PublicKey, SigningKey};
pub use last_resort::{NoLastResort, without_last_resort};
pub use layout::{LayoutError, MAX_AXES, OperandLayout};
pub use lines::{LineTable, Origin};
pub use manifest::{
    Assumption, FORMAT_VERSION, FileEntry, Kernel, Manifest, Operand, Provenance, Role, Semantics,
};
pub use packed::PackedOrder;
pub use save::is_zip;
pub use signature::{
    Keyring, Policy, SIGNATURES_FILE, SIGNATURES_FORMAT, Signature, Signatures, signed_text,
};
pub use sums::{SumBasis, SumRounding, SumRule, SumUnit, Sums};
pub use tensor_map::{L2Promotion, OobFill, TENSOR_MAP_BYTES, TensorMapAbi, TensorSwizzle};
pub use tilewright_formula::DType;
pub use tilewright_formula::identity::default_text as default_formula;
pub use tuning::{
    Contiguous, MAX_TUNED_EXTENTS, TUNING_FILE, TUNING_FORMAT, TunedChoice, TunedDevice,
    TunedOperand, TunedPoint, Tuning, TuningTable,
};
pub use write::BundleWriter;
