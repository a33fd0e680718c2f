//! `plan`: the decisions taken for the points of a spec.

use tilewright_codegen::plan;

use crate::args;
use crate::outcome::{Outcome, Verdict};
use crate::specs;
use crate::terminal;

/// Prints the plan of each chosen point.
pub fn run(args: &args::Show) -> Outcome {
    let file = specs::load(&args.spec)?;
    for point in specs::points(&file, &args.points)? {
        let plan = plan::plan(point).map_err(specs::failure)?;
        terminal::print(&plan.to_string())?;
    }
    Ok(Verdict::Good)
}
