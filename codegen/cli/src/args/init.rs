//! The arguments of `init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use tilewright_bundle::DType;

/// `init`.
#[derive(Debug, Args)]
pub struct Init {
    /// What to compute
    pub kind: Kind,
    /// Element type of the inputs: bf16, f16, f32, tf32, e4m3, e5m2, s8, u8
    #[arg(long, value_name = "TYPE", default_value = "bf16", value_parser = dtype)]
    pub a: DType,
    /// Element type of the output [default: that of the inputs, or what their products need]
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    pub d: Option<DType>,
    /// How a product's inputs lie, as BLAS says it: T first where a is row-major, N second where b
    /// is column-major
    #[arg(long, value_enum, default_value = "TN")]
    pub layout: Layout,
    /// The oldest GPU that it is for [default: sm_80, or the next one that has such products]
    #[arg(long, value_enum)]
    pub arch: Option<Arch>,
    /// What is done with the sums of a product, step by step
    #[arg(long, value_enum, value_name = "STEP", value_delimiter = ',')]
    pub epilogue: Vec<Step>,
    /// The file to write, which is not there yet; its name is the spec's [default: print it]
    #[arg(short, long, value_name = "FILE.yaml", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// What a first spec computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A product of matrices
    Gemm,
    /// A function of each element
    Map,
    /// Softmax of rows
    Softmax,
    /// LayerNorm of rows
    Layernorm,
    /// RMSNorm of rows
    Rmsnorm,
}

/// How inputs lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "verbatim")]
#[allow(clippy::upper_case_acronyms)]
pub enum Layout {
    /// Both contiguous along k
    TN,
    /// a along m, b along k
    NN,
    /// a along m, b along n
    NT,
    /// a along k, b along n
    TT,
}

impl Layout {
    /// Whether a, and b, are contiguous along k.
    pub fn along_k(self) -> [bool; 2] {
        match self {
            Layout::TN => [true, true],
            Layout::NN => [false, true],
            Layout::NT => [false, false],
            Layout::TT => [true, false],
        }
    }
}

/// GPUs that first specs are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arch {
    /// Volta and later; products without tensor cores
    #[value(name = "sm_70")]
    Sm70,
    /// Ampere and later
    #[value(name = "sm_80")]
    Sm80,
    /// Hopper alone
    #[value(name = "sm_90a")]
    Sm90a,
}

/// A step behind a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Step {
    /// A number for each column is added
    Bias,
    /// Another matrix is added
    Residual,
    /// All is multiplied by one number
    Scale,
    /// x where it is above 0
    Relu,
    /// x times the normal distribution
    Gelu,
    /// The same by tanh; x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)) is closer
    GeluTanh,
    /// x / (1 + exp(-x))
    Silu,
    /// 1 / (1 + exp(-x))
    Sigmoid,
}

fn dtype(text: &str) -> Result<DType, String> {
    DType::from_text(text).ok_or_else(|| {
        let all: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.text()).collect();
        format!("no element type: there are {}", all.join(", "))
    })
}
