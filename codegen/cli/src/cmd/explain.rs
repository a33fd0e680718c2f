//! `explain`: everything about the points of a spec, for a reader.

use tilewright_codegen::explain::levels::{Levels, levels};
use tilewright_codegen::spec::{Point, SpecFile};

use crate::args;
use crate::args::View;
use crate::explain::{self, Lengths};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{self, Kind};
use crate::specs;
use crate::terminal;

/// Explains each chosen point.
pub fn run(args: &args::Explain) -> Outcome {
    let file = specs::load(&args.show.spec)?;
    let points = specs::points(&file, &args.show.points)?;
    if args.svg.is_some() && points.len() > 1 {
        return Err(Failure::could_not_run(
            "--svg draws one point: choose it with --point",
        ));
    }
    match args.view {
        View::Timeline => timeline(args, &file, &points),
        View::Levels => of_levels(args, &file, &points),
    }
}

/// What the kernels do, and when.
fn timeline(args: &args::Explain, file: &SpecFile, points: &[&Point]) -> Outcome {
    if args.thread.is_some() {
        return Err(Failure::could_not_run("--thread is of --view levels"));
    }
    let lengths = Lengths {
        tiles: args.tiles.map(|tiles| tiles.get().into()),
        k_tiles: args.k_tiles.map(|tiles| tiles.get().into()),
        limit: args.limit.time(),
    };
    let mut all = Vec::new();
    let mut left_out = Vec::new();
    for point in points {
        let explained = match explain::explain(file, point, lengths) {
            Err(Failure::Rejected(why)) if points.len() > 1 => {
                left_out.push((&point.id, why));
                continue;
            }
            explained => explained?,
        };
        if let Some(path) = &args.svg {
            let drawing = explain::svg::render(&explained);
            output::write(path, Kind::Drawing, drawing.as_bytes())?;
        }
        all.push(explained);
    }
    if let (true, Some((_, why))) = (all.is_empty(), left_out.first()) {
        return Err(Failure::Rejected(why.clone()));
    }
    for (id, why) in &left_out {
        let first = why.lines().find(|line| line.starts_with("error["));
        terminal::complain("note", &format!("left out {id}: {}", first.unwrap_or(why)));
    }
    if args.json {
        terminal::print_json(&all)?;
        return Ok(Verdict::Good);
    }
    let texts: Vec<String> = all.iter().map(explain::text::render).collect();
    terminal::print(&texts.join("\n\n"))?;
    Ok(Verdict::Good)
}

/// Who has which elements.
fn of_levels(args: &args::Explain, file: &SpecFile, points: &[&Point]) -> Outcome {
    if args.tiles.is_some() || args.k_tiles.is_some() {
        let why = "--tiles and --k-tiles are of --view timeline";
        return Err(Failure::could_not_run(why));
    }
    let mut all: Vec<Levels> = Vec::new();
    for point in points {
        let plan = specs::planned(file, point)?;
        let thread = args.thread.unwrap_or(0);
        if thread >= plan.threads {
            let last = plan.threads - 1;
            return Err(Failure::could_not_run(format!(
                "--thread {thread}: the last of those that share out a tile is thread {last}"
            )));
        }
        let levels =
            levels(&plan, thread).map_err(|error| specs::failure_at(file, point, error))?;
        if let Some(path) = &args.svg {
            let drawing = explain::levels::svg::render(&levels);
            output::write(path, Kind::Drawing, drawing.as_bytes())?;
        }
        all.push(levels);
    }
    if args.json {
        terminal::print_json(&all)?;
        return Ok(Verdict::Good);
    }
    let texts: Vec<String> = all.iter().map(explain::levels::text::render).collect();
    terminal::print(&texts.join("\n\n"))?;
    Ok(Verdict::Good)
}
