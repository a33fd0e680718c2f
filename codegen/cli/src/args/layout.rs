//! The arguments of `layout`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// `layout`.
#[derive(Debug, Subcommand)]
pub enum Layout {
    /// Evaluate an expression: layouts, tilers, swizzles, and every operation as a function
    Eval(Eval),
    /// Run a conformance file, one JSON object a line
    Vectors(Vectors),
}

/// `layout eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// Such as "composition((36,18):(1,72), (9,4):(4,9))" or "Sw<3,3,3> o 0 o (8,64):(64,1)"
    #[arg(value_name = "EXPRESSION", required_unless_present = "list")]
    #[arg(allow_hyphen_values = true)]
    pub expression: Option<String>,
    /// List every function with its signature
    #[arg(long, conflicts_with = "expression")]
    pub list: bool,
    /// Print the value as JSON
    #[arg(long)]
    pub json: bool,
}

/// `layout vectors`.
#[derive(Debug, Args)]
pub struct Vectors {
    /// The rows, one JSON object a line
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Print the failures as JSON
    #[arg(long)]
    pub json: bool,
}
