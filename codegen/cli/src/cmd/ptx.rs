//! `ptx`: the PTX of the points of a spec. LLVM runs in a worker.

use crate::args;
use crate::jobs::{self, Want};
use crate::outcome::{Outcome, Verdict};
use crate::specs;
use crate::terminal;

/// Prints the PTX of each chosen point.
pub fn run(args: &args::Ptx) -> Outcome {
    let want = Want::Ptx(jobs::line_info(args.line_info));
    let file = specs::load(&args.show.spec)?;
    for point in specs::points(&file, &args.show.points)? {
        terminal::print(&jobs::text(&file, point, &want, args.limit)?)?;
    }
    Ok(Verdict::Good)
}
