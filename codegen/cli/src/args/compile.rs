//! What the commands take that read specs: `check`, `plan`, `ir`, `ptx`, `explain` and `build`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// Specs, by file or by folder.
#[derive(Debug, Args)]
pub struct Specs {
    /// Spec files; a folder stands for every *.yaml and *.yml in it that is not hidden, and links
    /// are followed
    #[arg(value_name = "SPEC", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
}

/// The last lines of `check --help`.
const CODES: &str = "The word in brackets behind `error` is a diagnostic's code: `tilewright help \
                     CODE` shows what raises it,\nwith an example and, for most, how it is mended.";

/// `check`.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub struct Check {
    /// What to check.
    #[command(flatten)]
    pub specs: Specs,
    /// Print the problems as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// Compile every point as `build` does, and have ptxas judge it, without writing anything
    #[arg(long)]
    pub build: bool,
    /// How long a kernel may take.
    #[command(flatten)]
    pub limit: Limit,
    /// List every point that has no kernel, and why
    #[arg(long)]
    pub dropped: bool,
    /// List what was chosen for every point among several, and why the others were left out; and
    /// why a formula is of no other form
    #[arg(long)]
    pub choices: bool,
}

/// `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// What to show.
    #[command(flatten)]
    pub show: Show,
    /// List every point that has no kernel, and why, in place of plans
    #[arg(long, conflicts_with_all = ["point", "all"])]
    pub dropped: bool,
}

/// `ptx`.
#[derive(Debug, Args)]
pub struct Ptx {
    /// What to show.
    #[command(flatten)]
    pub show: Show,
    /// Whether the text names lines of the spec.
    #[command(flatten)]
    pub line_info: LineInfo,
    /// How long a kernel may take.
    #[command(flatten)]
    pub limit: Limit,
}

/// Where it stands which lines of the PTX come from what.
#[derive(Debug, Clone, Copy, Args)]
pub struct LineInfo {
    /// Write into the PTX which line of the spec it comes from (.file, .loc), for profilers
    #[arg(long)]
    pub line_info: bool,
}

/// How long the compiler may take.
#[derive(Debug, Clone, Copy, Args)]
pub struct Limit {
    /// Give up on a kernel that compiles longer
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    pub time_limit: std::num::NonZeroU32,
}

impl Limit {
    /// The longest time.
    pub fn time(self) -> std::time::Duration {
        std::time::Duration::from_secs(u64::from(self.time_limit.get()))
    }
}

/// A spec and its points, as several commands show them.
#[derive(Debug, Args)]
pub struct Show {
    /// The spec file
    #[arg(value_name = "SPEC", value_hint = ValueHint::FilePath)]
    pub spec: PathBuf,
    /// Which points of the tuning space
    #[command(flatten)]
    pub points: Points,
}

/// Which points of a tuning space.
#[derive(Debug, Args)]
pub struct Points {
    /// The point of this id, of the id's part after `@`, or of its hash [default: the first that
    /// has a kernel]
    #[arg(long, value_name = "ID")]
    pub point: Option<String>,
    /// Every point of the tuning space
    #[arg(long, conflicts_with = "point")]
    pub all: bool,
}

/// `ir`.
#[derive(Debug, Args)]
pub struct Ir {
    /// What to show.
    #[command(flatten)]
    pub show: Show,
    /// Print the program as it is after this pass
    #[arg(long, value_name = "PASS", default_value = "tile")]
    pub after: Pass,
    /// How long a kernel may take.
    #[command(flatten)]
    pub limit: Limit,
}

/// `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// What to explain.
    #[command(flatten)]
    pub show: Show,
    /// What is shown: the kernel with its run by the clock, or who has which elements
    #[arg(long, value_name = "VIEW", value_enum, default_value_t = View::Timeline)]
    pub view: View,
    /// The thread whose warp, lane and registers --view levels shows [default: 0]
    #[arg(long, value_name = "N")]
    pub thread: Option<u32>,
    /// Output tiles of a persistent CTA's run that are drawn [default: two of each consumer]
    #[arg(long, value_name = "N")]
    pub tiles: Option<std::num::NonZeroU16>,
    /// K tiles of each of them [default: two more than the ring has slots]
    #[arg(long, value_name = "N")]
    pub k_tiles: Option<std::num::NonZeroU16>,
    /// Write the drawing of one point into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Print all of it as JSON, every span of the run included
    #[arg(long)]
    pub json: bool,
    /// How long a kernel may take.
    #[command(flatten)]
    pub limit: Limit,
}

/// What `explain` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// What the kernel computes, its run by the clock, shared memory, occupancy, what is proved
    Timeline,
    /// Problem, CTA tile, warps, lanes and registers, operand by operand
    Levels,
}

/// The passes of a kernel's program, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pass {
    /// In tiles: what happens
    Tile,
    /// Partitioned: which thread does what, at which address
    Lower,
    /// Handed over to LLVM
    Translate,
    /// After LLVM's optimization
    Optimize,
}

/// `build`.
#[derive(Debug, Args)]
pub struct Build {
    /// What to build.
    #[command(flatten)]
    pub specs: Specs,
    /// The bundle to write: one file if it ends in .zip, else a folder
    #[arg(short, long, value_name = "BUNDLE", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// How many worker processes compile at once [default: one per core]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Keep kernels in this folder, and make those again alone whose spec or tools have changed
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub cache: Option<PathBuf>,
    /// Build the kernels alone that a GPU of this architecture runs, or of another one named so
    #[arg(long, value_name = "ARCH")]
    pub arch: Vec<String>,
    /// Whether kernels are assembled as a check: required, if-found, never, or by which ptxas
    #[arg(long, value_name = "WORD|PTXAS", default_value = "if-found")]
    pub ptxas: OsString,
    /// Ship machine code beside the PTX, so that no driver compiles there: never; own, for the
    /// architecture of each kernel's PTX; or for GPUs of this one, sm_90 (sm_90a of what runs there
    /// alone). On other GPUs, and by drivers older than ptxas, the PTX is compiled
    #[arg(long, value_name = "WORD|ARCH", default_value = "never")]
    pub cubin: String,
    /// Never have the PTX compiled, which stays in the bundle for the emulator: GPUs that the
    /// machine code is not for, and drivers older than ptxas, are refused
    #[arg(long)]
    pub cubin_only: bool,
    /// Write which specs and tools the kernels were made of into this file; with --locked, compare
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lock: Option<PathBuf>,
    /// Fail, and write no bundle, where the kernels are not those of the lock
    #[arg(long, requires = "lock")]
    pub locked: bool,
    /// Leave out and count, besides points that plan or ptxas refuse, what the compiler dies of
    #[arg(short, long)]
    pub keep_going: bool,
    /// Whether the PTX names lines of the specs.
    #[command(flatten)]
    pub line_info: LineInfo,
    /// How long a kernel may take.
    #[command(flatten)]
    pub limit: Limit,
    /// List every point that is left out, and what `auto` became at the second try, with why
    #[arg(long)]
    pub dropped: bool,
    /// Fail where a function has no kernel that takes every shape (but nothing along what is
    /// folded), address, and stride that its specs leave open: on GPUs from this architecture on
    /// [default: on those that its kernels are for]
    #[arg(long, value_name = "ARCH", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "")]
    pub require_last_resort: Option<String>,
}
