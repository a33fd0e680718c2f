//! `schema`: the JSON Schema of specs, for editors that complete and check YAML.

use tilewright_codegen::spec;

use crate::outcome::{Outcome, Verdict};
use crate::terminal;

/// Prints the schema.
pub fn run() -> Outcome {
    terminal::print_json(&spec::schema())?;
    Ok(Verdict::Good)
}
