//! `explain`: everything about the points of a spec, for a reader.

use crate::args;
use crate::explain::{self, Lengths};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{self, Kind};
use crate::specs;
use crate::terminal;

/// Explains each chosen point.
pub fn run(args: &args::Explain) -> Outcome {
    let file = specs::load(&args.show.spec)?;
    let lengths = Lengths {
        tiles: args.tiles.map(|tiles| tiles.get().into()),
        k_tiles: args.k_tiles.map(|tiles| tiles.get().into()),
        limit: args.limit.time(),
    };
    let points = specs::points(&file, &args.show.points)?;
    if args.svg.is_some() && points.len() > 1 {
        return Err(Failure::could_not_run(
            "--svg draws one point: choose it with --point",
        ));
    }
    let mut all = Vec::new();
    for point in points {
        let explained = explain::explain(&file, point, lengths)?;
        if let Some(path) = &args.svg {
            let drawing = explain::svg::render(&explained);
            output::write(path, Kind::Drawing, drawing.as_bytes())?;
        }
        all.push(explained);
    }
    if args.json {
        terminal::print_json(&all)?;
        return Ok(Verdict::Good);
    }
    let texts: Vec<String> = all.iter().map(explain::text::render).collect();
    terminal::print(&texts.join("\n\n"))?;
    Ok(Verdict::Good)
}
