//! The arguments of `select`.

use clap::Args;

use crate::quantity::{Arch, OperandType};

/// `select`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(
    after_help = "Operands lie without gaps, in the order of the first kernel that the word \
                  means, but for the\nstrides that are given.\n\nExit codes: 0 a kernel was \
                  found, 1 none takes the problem, 2 it could not be asked."
)]
#[command(group(clap::ArgGroup::new("where").args(["device", "arch", "gpu"])))]
pub struct Select {
    /// The bundle.
    #[command(flatten)]
    pub source: super::bundle::Source,
    /// A spec's word (gemm), a spec's name, or the beginning of a function's hash
    #[arg(long, value_name = "WORD")]
    pub kernel: String,
    /// The problem to choose for.
    #[command(flatten)]
    pub problem: super::Problem,
    /// Element types of operands, where the word means functions of several: `a=bf16,d=f32`
    #[arg(long, value_name = "NAME=TYPE", value_delimiter = ',')]
    pub dtype: Vec<OperandType>,
    /// Where it would run [default: cuda where there is a GPU, else emulator]
    #[arg(long)]
    pub device: Option<super::Device>,
    /// A GPU of this architecture, which need not be here: sm_90; no tuning table is of it
    #[arg(long)]
    pub arch: Option<Arch>,
    /// A GPU that the bundle was tuned on, by name, which need not be here: "NVIDIA H200"
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Choose among kernels with machine code for the GPU, as a runtime that runs nothing else
    #[arg(long)]
    pub cubin_only: bool,
    /// Choose among kernels that want so much workspace at most, as 0, 4096 or 64MiB; 0 leaves
    /// those without
    #[arg(long, value_name = "BYTES", value_parser = crate::quantity::bytes)]
    pub workspace: Option<u64>,
    /// Choose among kernels whose sums do not depend on how many rows and columns there are
    #[arg(long)]
    pub batch_invariant: bool,
    /// Say by which row of a tuning table or rule, and why no other kernel was chosen
    #[arg(long)]
    pub explain: bool,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
}
