//! `plan`: the decisions taken for the points of a spec, or why its other points have no kernel.

use tilewright_codegen::plan;

use crate::args;
use crate::outcome::{Outcome, Verdict};
use crate::specs;
use crate::terminal;

/// Prints the plan of each chosen point, or lists those that have none.
pub fn run(args: &args::Plan) -> Outcome {
    let file = specs::load(&args.show.spec)?;
    if args.dropped {
        for point in &file.points {
            if let Err(error) = plan::plan(point) {
                terminal::print_line(&specs::dropped_line(&point.id, &error))?;
            }
        }
        return Ok(Verdict::Good);
    }
    for point in specs::points(&file, &args.show.points)? {
        let plan = specs::planned(&file, point)?;
        terminal::print(&plan.to_string())?;
    }
    Ok(Verdict::Good)
}
