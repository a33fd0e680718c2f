//! The command line of `tune`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tilewright_lab::bench::Extent;

use super::{Device, Mode};

/// The last part of `tune --help`.
const TUNING: &str = "\
The bundle is one that `build` made of specs with a `tune` section: every legal point is a kernel.
For each problem every kernel that takes it is looked at for a few milliseconds; the fastest run in
turns under load, because clocks move between looks. Those that lead are checked against f64, on
the problem itself and on random ones, and only those that are right go on to races that halve their
number and double their length. The last few are measured beside the peer, as `bench` does. A kernel
that is wrong, does not load, stops or never ends is dropped with its reason: tuning runs in a
process that is watched.

What became of each kernel is a line of JSON in RECORDS.jsonl: a row as of `bench`, with `format`,
`outcome` (measured, screened, dropped), `reason`, `detail`, `content_hash`, `backend`, `sm`, `sms`.
A later run with the same file goes on where it ends: what was recorded of the same kernel, problem,
mode, device and driver is not done again.

The output is the same bundle with a `tuning.json`: of each problem the fastest kernels. At run time
a problem that was measured gets its fastest, another one that of the nearest measured problem.

With `--device emulator`, to try the command on small problems, time is the number of executed
instructions, and nothing stands beside it.";

/// `tune`.
#[derive(Debug, Args)]
#[command(after_long_help = TUNING, allow_negative_numbers = true)]
pub struct Tune {
    /// The bundle.
    #[command(flatten)]
    pub source: super::bundle::Source,
    /// Only the kernel of this id, else those of this spec, else those whose id starts so
    #[arg(long, value_name = "K")]
    pub kernel: Vec<String>,
    /// Problems to tune for, m by n by k or by name, `l=16,m=1024,n=1024,k=64`, rows without gaps;
    /// behind a colon an order, `:TN`, `:NN`, `:NT` or `:TT`, and leading dimensions, `:lda=4104`
    /// or `:pad=8` for multiples of so many elements. Kernels that do not take these strides are
    /// no candidates
    #[arg(
        long,
        value_name = "MxNxK[:HOW]",
        required_unless_present = "problems_file"
    )]
    pub problem: Vec<Extent>,
    /// As `run` and `select` call it: refused with the name that it has here.
    #[arg(long = "size", hide = true, value_parser = super::named_problem)]
    pub other_name: Option<String>,
    /// More of them from a file, one a line; `#` starts a comment
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub problems_file: Option<PathBuf>,
    /// The file of records: read to go on, and added to
    #[arg(long, value_name = "RECORDS.jsonl", value_hint = ValueHint::FilePath)]
    pub records: PathBuf,
    /// Seconds for all of it, shared by the problems [default: as long as it takes]
    #[arg(long, value_name = "SECONDS", overrides_with = "budget")]
    pub budget: Option<f64>,
    /// The tuned bundle to write: one file if it ends in .zip, else a folder; it may be the bundle
    /// itself
    #[arg(short, long, value_name = "BUNDLE2", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// Where to run; the emulator counts instructions and measures no time [default: cuda]
    #[arg(long)]
    pub device: Option<Device>,
    /// How the GPU is kept in the last measurement
    #[arg(long, default_value = "sustained")]
    pub mode: Mode,
    /// Rounds of the last measurement
    #[arg(long, value_name = "N", default_value = "21")]
    pub rounds: std::num::NonZeroUsize,
    /// How many kernels of a problem are checked and raced
    #[arg(long, value_name = "N", default_value = "16")]
    pub contestants: std::num::NonZeroUsize,
    /// How many of them are measured beside the peer
    #[arg(long, value_name = "N", default_value = "4")]
    pub finalists: std::num::NonZeroUsize,
    /// The seed of the inputs and of all orders
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The commit to write into the records [default: that of the working folder]
    #[arg(long, value_name = "HASH")]
    pub commit: Option<String>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    /// Tune in this very process, and tell of it in lines; so many records are of earlier runs
    #[arg(long, hide = true, value_name = "RECORDS")]
    pub worker: Option<usize>,
}
