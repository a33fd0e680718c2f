//! The command line as clap parses it: names, types and help texts, and nothing about what they do.
//!
//! Each subcommand's file under `cmd` turns its struct here into the request it works on.

#[cfg(feature = "codegen")]
mod compile;
#[cfg(feature = "codegen")]
pub mod init;
pub mod bundle;
pub mod emulate;
pub mod layout;
pub mod select;
pub mod tune;
pub mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use tilewright_lab::bench::Extent;

#[cfg(feature = "codegen")]
pub use self::compile::{
    Build, Check, Explain, Ir, Limit, LineInfo, Pass, Plan, Points, Ptx, View,
};
use crate::quantity::{Bytes, Scalar, Size};

/// The last lines of `--help`.
const EXIT_CODES: &str = "Exit codes: 0 good, 1 a negative verdict (your spec, a failed check),\n\
                          2 it could not run (usage, file, missing tool), 3 our bug.";

/// The last lines of `help --help`.
const HELPS: &str = "Such as `tilewright help build`, which is `tilewright build --help`; \
                     `tilewright help spec`, every\nkey of a spec; and `tilewright help \
                     smem-capacity`: what raises that diagnostic, and what mends it.";

/// Turns YAML kernel specs into PTX, checks the PTX on the CPU, and ships it as bundles.
#[derive(Debug, Parser)]
#[command(name = "tilewright", version, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
#[command(
after_help = EXIT_CODES
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One subcommand per artefact.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a first spec, with comments
    #[cfg(feature = "codegen")]
    Init(init::Init),
    /// Check specs and print every problem in them
    #[cfg(feature = "codegen")]
    Check(Check),
    /// Print the decisions taken for a spec
    #[cfg(feature = "codegen")]
    Plan(Plan),
    /// Print the tile IR of a spec
    #[cfg(feature = "codegen")]
    Ir(Ir),
    /// Print the PTX of a spec
    #[cfg(feature = "codegen")]
    Ptx(Ptx),
    /// Explain a kernel: its run by the clock, its memory, its occupancy, who has which elements
    #[cfg(feature = "codegen")]
    Explain(Explain),
    /// Compile specs into a bundle
    #[cfg(feature = "codegen")]
    Build(Build),
    /// Print the JSON Schema of specs, for editors
    #[cfg(feature = "codegen")]
    Schema,
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Init(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Check(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Plan(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Ir(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Ptx(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Explain(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Build(NeedsLlvm),
    /// Needs LLVM, which this build has not
    #[cfg(not(feature = "codegen"))]
    #[command(hide = true)]
    Schema(NeedsLlvm),
    /// Verify the kernels of a bundle on random problems against f64
    Verify(verify::Verify),
    /// Launch one kernel of a bundle, checked and timed
    Run(Run),
    /// Tell which kernel of a bundle a problem gets, and why no other
    Select(select::Select),
    /// Execute launch files on the CPU and compare what they write
    Emulate(emulate::Emulate),
    /// Measure the kernels of a bundle beside their peers
    Bench(Bench),
    /// Find the fastest kernel of a bundle for each problem and write the bundle's selection table
    Tune(tune::Tune),
    /// Put a packed operand into the order that its kernel takes
    Pack(Pack),
    /// Look into bundles, sign, zip, merge, split and edit them
    #[command(subcommand)]
    Bundle(bundle::Bundle),
    /// Tell what moved between two bundles, two locks or two specs
    Diff(Diff),
    /// Evaluate, draw, explain and check layouts
    #[command(subcommand)]
    Layout(layout::Layout),
    /// Report what is installed, what is missing and how to get it
    Doctor(Doctor),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Tell about a subcommand, a diagnostic or a finding by its code, or the keys of a spec
    #[command(after_help = HELPS)]
    Help(Help),
    /// Compile jobs from stdin, one JSON object a line
    #[cfg(feature = "codegen")]
    #[command(name = crate::worker::SUBCOMMAND, hide = true)]
    CompileWorker,
}

/// What a subcommand of the generator is asked where there is none: anything.
#[cfg(not(feature = "codegen"))]
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct NeedsLlvm {
    /// Whatever else was typed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub rest: Vec<std::ffi::OsString>,
}

/// Where kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Device {
    /// The first NVIDIA GPU
    Cuda,
    /// The CPU
    Emulator,
}

/// `run`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct Run {
    /// The bundle.
    #[command(flatten)]
    pub source: bundle::Source,
    /// The kernel's id, its spec's name or a beginning of an id; of several, the first that takes
    /// the problem
    pub kernel: String,
    /// The problem to run.
    #[command(flatten)]
    pub problem: Problem,
    /// Where to run [default: cuda where there is a GPU, else emulator]
    #[arg(long)]
    pub device: Option<Device>,
    /// The seed of the inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print what each line of PTX, each line of the spec and each tile operation cost; runs on the
    /// emulator
    #[arg(long)]
    pub profile: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The extents and leading dimensions of one problem; what is left out is packed.
#[derive(Debug, Args)]
pub struct Problem {
    /// Extents and strides by the kernel's names: `m=4096,n=512,ldd=520`
    #[arg(long, value_name = "NAME=SIZE", value_delimiter = ',')]
    pub size: Vec<Size>,
    /// As `bench` and `tune` call it: refused with the name that it has here.
    #[arg(long = "problem", hide = true, value_parser = named_size)]
    pub other_name: Option<String>,
    /// Values of the formula's scalars: `alpha=0.5,beta=1`
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    pub scalar: Vec<Scalar>,
    /// Confirms what the kernel cannot check, in its own words
    #[arg(long, value_name = "TEXT")]
    pub promise: Vec<String>,
    /// Rows of the output
    #[arg(long, value_parser = extent())]
    pub m: Option<i64>,
    /// Columns of the output
    #[arg(long, value_parser = extent())]
    pub n: Option<i64>,
    /// Length of the summed extent of a gemm
    #[arg(long, value_parser = extent())]
    pub k: Option<i64>,
    /// Leading dimension of A, in elements
    #[arg(long, value_parser = stride())]
    pub lda: Option<i64>,
    /// Leading dimension of B, in elements
    #[arg(long, value_parser = stride())]
    pub ldb: Option<i64>,
    /// Leading dimension of D, in elements
    #[arg(long, value_parser = stride())]
    pub ldd: Option<i64>,
    /// Leading dimension of a copy's source, in elements
    #[arg(long, value_parser = stride())]
    pub lds: Option<i64>,
}

/// Refuses `--problem` where a problem is one kernel's, whose extents and strides have names.
fn named_size(_: &str) -> Result<String, String> {
    Err("here the problem is given by the kernel's names: --size m=4096,n=512,k=64".to_owned())
}

/// Refuses `--size` where problems are measured, of which there may be several.
fn named_problem(_: &str) -> Result<String, String> {
    let way_out =
        "here a problem is one word: --problem 4096x512x64, or --problem m=4096,n=512,k=64";
    Err(way_out.to_owned())
}

/// Extents are from 0, where nothing is computed; kernels count in 32 bits.
fn extent() -> clap::builder::RangedI64ValueParser {
    clap::value_parser!(i64).range(0..=i64::from(i32::MAX))
}

/// Strides are from 1, of 64 bits.
fn stride() -> clap::builder::RangedI64ValueParser {
    clap::value_parser!(i64).range(1..)
}

/// How the GPU is kept while measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Short bursts after a rest, at full clocks
    Rested,
    /// Back to back, at the clocks the power limit allows
    Sustained,
    /// Each launch with an empty second-level cache
    Cold,
    /// The host's part of a launch alone
    Launch,
}

/// `bench`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct Bench {
    /// The bundle.
    #[command(flatten)]
    pub source: bundle::Source,
    /// Only the kernel of this id, else those of this spec, else those whose id starts so
    #[arg(long, value_name = "K")]
    pub kernel: Vec<String>,
    /// Problems to measure, m by n by k or by name, `l=16,m=1024,n=1024,k=64`, rows without gaps;
    /// behind a colon an order, `:TN`, `:NN`, `:NT` or `:TT`, and leading dimensions, `:lda=4104`
    /// or `:pad=8` for multiples of so many elements, which the peer gets as well
    #[arg(long, value_name = "MxNxK[:HOW]")]
    #[arg(default_values = ["4096x4096x4096", "8192x8192x8192"])]
    pub problem: Vec<Extent>,
    /// As `run` and `select` call it: refused with the name that it has here.
    #[arg(long = "size", hide = true, value_parser = named_problem)]
    pub other_name: Option<String>,
    /// How much a copy moves
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    #[arg(default_values = ["64MiB", "256MiB", "1GiB"])]
    pub sizes: Vec<Bytes>,
    /// How the GPU is kept [default: rested and sustained; with --quick, sustained]
    #[arg(long)]
    pub mode: Vec<Mode>,
    /// Rounds, each a slice of every kernel and peer [default: 41, rested 11; with --quick, 9]
    #[arg(long, value_name = "N")]
    pub rounds: Option<std::num::NonZeroUsize>,
    /// The seed of the inputs and of the order of the slices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Fewer rounds and no noise floor, for a first look
    #[arg(long)]
    pub quick: bool,
    /// The commit to write into the rows [default: that of the working folder]
    #[arg(long, value_name = "HASH")]
    pub commit: Option<String>,
    /// Append the rows to this file, one JSON object a line
    #[arg(short, long, value_name = "ROWS.jsonl", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Print the rows as JSON lines in place of the table
    #[arg(long)]
    pub json: bool,
}

/// `pack`.
#[derive(Debug, Args)]
pub struct Pack {
    /// The bundle.
    #[command(flatten)]
    pub source: bundle::Source,
    /// The kernel's id, its spec's name or a beginning of an id; several must agree on the order
    pub kernel: String,
    /// The operand: `b`
    pub operand: String,
    /// Its elements without gaps, the last extent innermost, little-endian and nothing else
    #[arg(value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// The file to write, which is not there yet: what launches take
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The operand's extents by the kernel's names: `n=4096,k=512`
    #[arg(long, value_name = "NAME=SIZE", value_delimiter = ',', required = true)]
    pub size: Vec<Size>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// A bundle, a lock (*.lock) or a spec (*.yaml)
    #[arg(value_hint = ValueHint::AnyPath)]
    pub before: PathBuf,
    /// Another one of the same kind
    #[arg(value_hint = ValueHint::AnyPath)]
    pub after: PathBuf,
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell to complete in
    pub shell: clap_complete::Shell,
}

/// `help`.
#[derive(Debug, Args)]
pub struct Help {
    /// A subcommand (`bundle show`), the code of a diagnostic (`unknown-key`), a finding of the
    /// emulator (`race_shared`), a function of formulas (`gelu`), `formula` for all of their
    /// notation, or `spec` for every key of a spec [default: the overview]
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

/// `help` below another subcommand.
#[derive(Debug, Args)]
pub struct HelpBelow {
    /// Print the help of this subcommand [default: of all of them]
    #[arg(value_name = "COMMAND")]
    pub words: Vec<String>,
}
