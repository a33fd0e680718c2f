//! The arguments of `bundle`, and how every command names the bundle it opens.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use crate::quantity::Arch;

/// A bundle that is opened, and who must have signed it.
#[derive(Debug, Args)]
pub struct Source {
    /// The bundle: a folder, or the same as one zip file
    #[arg(value_hint = ValueHint::AnyPath)]
    pub bundle: PathBuf,
    /// Refuse the bundle unless a public key of this file (PEM) signed it; of several keys any
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub require_key: Vec<PathBuf>,
}

/// `bundle`.
#[derive(Debug, Subcommand)]
pub enum Bundle {
    /// List the kernels of a bundle, or show some of them in full
    Show(Show),
    /// Check every hash and every rule of a bundle, and with --require-key its signature
    Verify(Verify),
    /// Write a bundle as one zip file, the same bytes for the same bundle
    Zip(Zip),
    /// Write a bundle as a folder
    Unzip(Unzip),
    /// Put several bundles together
    Merge(Merge),
    /// Write parts of a bundle as bundles
    Split(Split),
    /// Put edited PTX into a bundle, with the hashes that follow from it
    Edit(Edit),
    /// Make a key that signs bundles
    Keygen(Keygen),
    /// Sign a bundle
    Sign(Sign),
    /// Print this message or the help of the given subcommand(s)
    Help(super::HelpBelow),
}

/// `bundle show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The bundle, and how to print
    #[command(flatten)]
    pub shown: Shown,
    /// Only the kernel of this id, else those of this spec, else those whose id starts so; in full:
    /// operands, launch, parameters, assumptions
    #[arg(long, value_name = "K")]
    pub kernel: Vec<String>,
}

/// `bundle verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The bundle, and how to print
    #[command(flatten)]
    pub shown: Shown,
    /// Compare its kernels, and the texts of the specs, with the hashes of a lock that `build`
    /// wrote; nothing is generated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lock: Option<PathBuf>,
}

/// A bundle and how to print what is found in it.
#[derive(Debug, Args)]
pub struct Shown {
    /// The bundle.
    #[command(flatten)]
    pub source: Source,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `bundle zip`.
#[derive(Debug, Args)]
pub struct Zip {
    /// The bundle.
    #[command(flatten)]
    pub source: Source,
    /// The file to write, which ends in .zip
    #[arg(short, long, value_name = "FILE.zip", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// `bundle unzip`.
#[derive(Debug, Args)]
pub struct Unzip {
    /// The bundle.
    #[command(flatten)]
    pub source: Source,
    /// The folder to write the bundle into
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}

/// `bundle merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "A kernel of several bundles is taken once; kernels of one name that differ, \
                        and problems measured with different results, are refused."
)]
pub struct Merge {
    /// The bundles: folders, or the same as zip files
    #[arg(value_name = "BUNDLE", required = true, num_args = 2.., value_hint = ValueHint::AnyPath)]
    pub bundles: Vec<PathBuf>,
    /// Refuse bundles unless a public key of this file (PEM) signed each; of several keys any
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub require_key: Vec<PathBuf>,
    /// The bundle to write: one file if it ends in .zip, else a folder
    #[arg(short, long, value_name = "BUNDLE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// Leave selection tables out
    #[arg(long)]
    pub drop_tables: bool,
}

/// What the parts of a bundle have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Kernels made for one architecture: sm_80, sm_90a
    Arch,
    /// Kernels that compute the same
    Function,
}

/// `bundle split`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("part").required(true).args(["by", "arch", "kernel"])))]
pub struct Split {
    /// The bundle.
    #[command(flatten)]
    pub source: Source,
    /// Write a bundle for each, into a folder of them
    #[arg(long, value_enum)]
    pub by: Option<Part>,
    /// Write the kernels that a GPU of this architecture runs: sm_90
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<Arch>,
    /// Write the kernel of this id, else those of this spec, else those whose id starts so
    #[arg(long, value_name = "K")]
    pub kernel: Vec<String>,
    /// With --by the folder of the parts, else the bundle to write: one file if it ends in .zip
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// Write each part as one zip file
    #[arg(long, requires = "by")]
    pub zip: bool,
}

/// `bundle edit`.
#[derive(Debug, Args)]
#[command(
    after_help = "`bundle unzip` writes the PTX of every kernel into its folder ptx, under the \
                        kernel's id. What followed from the text before is left out: the \
                        certificate, machine code, registers, lines, measured times. `verify` \
                        tells whether the kernel still computes what its bundle says."
)]
pub struct Edit {
    /// The bundle.
    #[command(flatten)]
    pub source: Source,
    /// PTX to take, as files named by the kernel's id: gemm@128x128-1f3a9c.ptx
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    #[arg(value_hint = ValueHint::FilePath)]
    pub ptx: Vec<PathBuf>,
    /// The bundle to write: one file if it ends in .zip, else a folder
    #[arg(short, long, value_name = "BUNDLE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
}

/// `bundle keygen`.
#[derive(Debug, Args)]
pub struct Keygen {
    /// The file of the private key, as `openssl genpkey -algorithm ed25519` makes it; the public
    /// key goes into FILE.pub
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// `bundle sign`.
#[derive(Debug, Args)]
pub struct Sign {
    /// The bundle.
    #[command(flatten)]
    pub source: Source,
    /// The private key (PEM, PKCS #8, ed25519)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: PathBuf,
    /// The signed bundle to write: one file if it ends in .zip, else a folder [default: the bundle]
    #[arg(short, long, value_name = "BUNDLE", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
}
