//! `ir`: the program of a kernel after a pass, from tiles down to what LLVM makes of it.

use tilewright_codegen::spec::{Point, SpecFile};
use tilewright_codegen::{ir, lower};

use crate::args::{self, Pass};
use crate::jobs::{self, Want};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::specs;
use crate::terminal;

/// Prints the program of each chosen point after the pass that was asked for.
pub fn run(args: &args::Ir) -> Outcome {
    let file = specs::load(&args.show.spec)?;
    for point in specs::points(&file, &args.show.points)? {
        terminal::print(&after(&file, point, args)?)?;
    }
    Ok(Verdict::Good)
}

/// The program after a pass. LLVM runs in a worker.
fn after(file: &SpecFile, point: &Point, args: &args::Ir) -> Result<String, Failure> {
    let text = |optimized| jobs::text(file, point, &Want::LlvmIr { optimized }, args.limit);
    let pass = args.after;
    match pass {
        Pass::Tile | Pass::Lower => {
            let plan = specs::planned(file, point)?;
            let failure = |error| specs::failure_at(file, point, error);
            let tile = ir::tile::build::build(&plan).map_err(failure)?;
            if pass == Pass::Tile {
                return Ok(tile.to_string());
            }
            let program = lower::lower(&plan, &tile).map_err(failure)?;
            Ok(program.to_string())
        }
        Pass::Translate => text(false),
        Pass::Optimize => text(true),
    }
}
