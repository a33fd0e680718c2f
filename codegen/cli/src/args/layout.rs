//! The arguments of `layout`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// `layout`.
#[derive(Debug, Subcommand)]
pub enum Layout {
    /// Evaluate an expression: layouts, tilers, swizzles, and every operation as a function
    Eval(Eval),
    /// Draw a layout, a swizzle with its banks, a tiled copy or an MMA
    Show(Show),
    /// Walk through an operation step by step, with the numbers of the case
    Explain(Explain),
    /// Run a conformance file, one JSON object a line
    Vectors(Vectors),
    /// Print this message or the help of the given subcommand(s)
    Help(super::HelpBelow),
}

/// `layout eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// Such as "composition((6,2):(8,2), (4,3):(3,1))" or "Sw<3,3,3> o 0 o (8,64):(64,1)"
    #[arg(value_name = "EXPRESSION", required_unless_present = "list")]
    #[arg(allow_hyphen_values = true)]
    pub expression: Option<String>,
    /// What is known of a name, such as `m % 128 == 0` or `m >= 128`; may be said several times
    #[arg(long, value_name = "FACT")]
    pub given: Vec<String>,
    /// List every function with its signature
    #[arg(long, conflicts_with = "expression")]
    pub list: bool,
    /// Print the value as JSON
    #[arg(long)]
    pub json: bool,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table in the colours of the terminal
    Text,
    /// A drawing for documents and browsers
    Svg,
    /// A LaTeX document drawn by TikZ
    Latex,
    /// The cells, for programs
    Json,
}

/// `layout show`.
#[derive(Debug, Args)]
pub struct Show {
    /// An expression: a layout, a swizzle, a tiled copy, an MMA or the id of an atom
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub expression: String,
    /// How to write the picture
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Read the layout as (thread, value) to cell of a tile of these extents
    #[arg(long, value_name = "ROWSxCOLUMNS", value_parser = tile)]
    pub tile: Option<[i64; 2]>,
    /// Bytes of an element, for the bank map and the copy atoms of the catalogue
    #[arg(long, value_name = "BYTES", default_value_t = 2)]
    pub elem_bytes: i64,
    /// Bytes that one thread accesses at once, for the bank map
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    pub access_bytes: i64,
}

/// `layout explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// A call, such as "complement((2,2):(1,6), 24)", or a layout behind a swizzle
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub expression: String,
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

/// Two extents: `16x8`.
fn tile(text: &str) -> Result<[i64; 2], String> {
    let extents = text.split_once('x').and_then(|(rows, columns)| {
        Some([rows.trim().parse().ok()?, columns.trim().parse().ok()?])
    });
    extents.ok_or_else(|| "expected two extents, such as 16x8".to_owned())
}
