//! The contract between the generator and the runtime: a folder of kernels that says what it is.
//!
//! A bundle is `manifest.json` beside PTX files and optional cubins, in a folder or in one zip
//! file, signed or not. Per kernel the manifest holds what it computes ([`Semantics`]), how it is
//! launched ([`LaunchAbi`], with integer expressions over the problem's extents), where it runs
//! ([`Capability`]), what it needs to be true ([`Assumption`]) and hashes of all of it. A tuned
//! bundle says in [`Tuning`] tables which kernels were fastest where. This crate writes bundles
//! deterministically ([`BundleWriter`]) and opens them ([`Bundle::open`]) only when every check
//! passes.
//!
//! A kernel has at most one cubin, for one architecture, and always its PTX: [`Route`] says whether
//! drivers may compile that where the cubin does not fit. Two bundles that have the same kernel
//! with different machine code, or one without, do not merge.
//!
//! It knows no GPU, no driver, no compiler and no layout algebra.
//!
//! # Files
//!
//! [`Bundle::open`] takes a folder or a zip file, [`Bundle::from_zip`] the bytes of one, as
//! `include_bytes!` has them. A path that ends in `.zip` is written as one file: the manifest
//! first, every entry of the same date, so that the same kernels give the same bytes. An archive
//! whose headers disagree, or that holds what no bundle does, is refused ([`ArchiveFault`]); bytes
//! between and behind its entries, zip64 and entries written as a stream are taken, because every
//! byte that is used is compared with the manifest's hashes. No more is inflated than a folder's
//! files may have. `signatures.json` lies beside the manifest, which does not list it:
//! [`Signatures`] of `bundle_sha256`, which covers everything else. A [`Policy`] says whose are
//! required; without one a bundle is whole, and from anybody.
//!
//! # Compatibility
//!
//! From format 2 on, every version of this crate opens every bundle that a released version wrote
//! before it, as a folder and as a zip file, with the same hashes, signatures and launches. Bundles
//! of each format are kept with the tests, opened and launched by them.
//!
//! A format's number grows when a key goes, comes to be required or changes what it means. A key
//! that may be left out can come within a format; kernels that do not need it are written without
//! it, byte for byte as before. `tuning.json` and `signatures.json` have numbers of their own under
//! the same rules.
//!
//! An older version refuses what is newer: another format by its number, an unknown key by its
//! name. It does not skip keys, because each says what must hold for a launch to be right: an
//! assumption, a role, a layout; to launch without knowing it is to compute something else. So the
//! oldest runtime in use says which version builds the bundles, or runtimes are updated first.
//!
//! Nothing is promised of the bytes of a zip file, whose compression may improve while the bundle's
//! hash stays, nor of the PTX that a later version makes of the same spec.
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

#[cfg(feature = "signatures")]
mod key;
#[cfg(not(feature = "signatures"))]
mod no_key;
#[cfg(not(feature = "signatures"))]
use no_key as key;

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

mod traits;

mod manifest;

mod formula;

mod resolve;

mod limits;

mod plain_file;

#[cfg(feature = "zip")]
mod archive;
#[cfg(not(feature = "zip"))]
mod no_archive;
#[cfg(not(feature = "zip"))]
use no_archive as archive;

mod source;

mod signature;

mod folder;

mod tuning;

mod check;

mod ptx;

mod cubin;

mod bundle;

mod read;

mod place;

mod save;

mod write;

mod combine;

mod last_resort;

mod shared_words;

pub use abi::{LaunchAbi, MAX_PARAM_BYTES, Param, ParamValue, Scalar, ScalarType, Workspace};
pub use bundle::{Bundle, named};
pub use certificate::{Certificate, MAX_CERTIFICATE_BYTES};
pub use code::{Capability, CubinFile, PtxFile, Resources, Route};
pub use computed::{AccumulationWord, Computed};
pub use error::{ArchiveFault, ArchiveProblem, Error, KeyError, Problem, SignatureFault};
pub use expr::{
    Condition, Env, EvalError, Expr, Factors as ExprFactors, MAX_DEPTH, MAX_NAMES, MAX_NODES,
    MAX_TEXT, Name, NameKind, Names, Op as ExprStep, ParseError, Part as ExprPart,
    Word as ExprWord,
};
pub use formula::MAX_COMPUTE_BYTES;
pub use hash::Sha256Hex;
pub use key::PublicKey;
#[cfg(feature = "signatures")]
pub use key::SigningKey;
pub use last_resort::{LAST_RESORT, NoLastResort, without_last_resort};
pub use layout::{LayoutError, MAX_AXES, OperandLayout};
pub use lines::{LineTable, Origin};
pub use manifest::{
    Assumption, FORMAT_VERSION, FileEntry, Kernel, Manifest, Operand, Provenance, Role, Semantics,
};
pub use packed::PackedOrder;
pub use place::{is_zip, may_write};
pub use plain_file::{read_plain_file, read_plain_text};
pub use shared_words::{SharedWord, shared_words};
pub use signature::{
    Keyring, Policy, SIGNATURES_FILE, SIGNATURES_FORMAT, Signature, Signatures, signed_text,
};
pub use sums::{SumBasis, SumRounding, SumRule, SumUnit, Sums};
pub use tensor_map::{L2Promotion, OobFill, TENSOR_MAP_BYTES, TensorMapAbi, TensorSwizzle};
pub use tilewright_formula::DType;
pub use tilewright_formula::identity::default_text as default_formula;
pub use traits::Traits;
pub use tuning::{
    Contiguous, MAX_TUNED_EXTENTS, MAX_TUNED_STRIDE, TUNING_FILE, TUNING_FORMAT, TunedChoice,
    TunedDevice, TunedOperand, TunedPoint, Tuning, TuningTable,
};
pub use write::BundleWriter;
