//! Where the lines of a kernel's PTX come from: tile operations, and the keys of the spec that say
//! so.
//!
//! The table counts lines of the text as it is packed. [`directives`] writes it into the text as
//! well, for tools that read `.loc`.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use tilewright_bundle::{LineTable, Origin};

use crate::error::KeyPath;
use crate::ir::tile::{CopyId, Engine, Kernel, Op, Place, Sync, TileId};
use crate::plan::data::model::Plan;
use crate::spec::SpecFile;
use crate::spec::keys::paths;

/// The table of a kernel whose PTX has those lines, as its spec file stands.
pub fn table(file: &SpecFile, plan: &Plan, kernel: &Kernel, lines: &[(u32, u32)]) -> LineTable {
    let places = file.places(&plan.id);
    let mut origins: Vec<Origin> = Vec::new();
    let mut known: HashMap<Origin, u32> = HashMap::new();
    let mut numbers = Vec::new();
    for (text, op) in kernel.lines() {
        let origin = Origin {
            op: text,
            spec: places.line(&keys(plan, kernel, op)),
        };
        let number = *known.entry(origin.clone()).or_insert_with(|| {
            origins.push(origin);
            origins.len() as u32
        });
        numbers.push(number);
    }
    let mut starts: Vec<(u32, u32)> = Vec::new();
    for (line, op) in lines {
        let number = (*op as usize).checked_sub(1).and_then(|op| numbers.get(op));
        let number = number.copied().unwrap_or(0);
        if starts.last().map_or(0, |(_, last)| *last) != number {
            starts.push((*line, number));
        }
    }
    let name = Path::new(&file.path).file_name();
    let table = LineTable {
        file: name.and_then(|name| name.to_str()).map(str::to_owned),
        origins,
        starts,
    };
    table.fitted()
}

/// The keys of a spec that an operation follows from, the most telling first.
fn keys(plan: &Plan, kernel: &Kernel, op: &Op) -> Vec<String> {
    let operand = |tile: TileId| {
        let place = kernel.tiles.get(tile.0).map(|tile| &tile.place);
        let operand = match place {
            Some(Place::Gmem(operand, _)) => Some(*operand),
            Some(Place::Smem(number)) => plan.smem.get(*number).map(|tile| tile.operand),
            Some(Place::Rmem(_)) | None => None,
        };
        operand.map(|operand| &plan.operand(operand).name)
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let told = |keys: &[KeyPath]| keys.iter().map(|key| key.path().to_owned()).collect();
    match op {
        Op::Copy { by, .. } => {
            let step = match by {
                CopyId::Tiled(number) => plan.steps.get(*number).map(|s| (s.operand, s.hop)),
                CopyId::Boxes(_) => by.boxes(plan).map(|copy| (copy.operand, copy.hop)),
            };
            step.map_or(Vec::new(), |(operand, hop)| {
                let name = &plan.operand(operand).name;
                let hop = paths::copy(name, hop.name());
                told(&[hop, paths::way(name), paths::operand(name)])
            })
        }
        Op::Mma { .. } => words(&["mma.atom", "mma", "accumulator", "cta_tile"]),
        Op::Map { from, .. } if from.is_empty() => words(&["accumulator", "cta_tile"]),
        Op::Fold { .. } => words(&["compute", "cta_tile"]),
        Op::Map { to, .. } => {
            let stored = kernel.tiles.get(to.tile().0);
            let named = stored.and_then(|tile| plan.named_operand(&tile.name));
            let name = named.or(plan.output()).map_or("", |one| &one.name);
            told(&[paths::of_operand(name, "dtype"), paths::operand(name)])
        }
        Op::Sync(Sync::Follow) => words(&["scheduler.launch", "scheduler", "cta_tile"]),
        Op::Sync(sync) => {
            let staged = sync
                .pipe()
                .filter(|id| kernel.engine(*id) == Some(Engine::Stores));
            let tile = staged.and_then(|id| kernel.pipe(id)?.tiles.first().copied());
            match tile.and_then(operand) {
                Some(name) => told(&[paths::way(name), paths::operand(name)]),
                None => words(&["pipeline.stages", "pipeline", "cta_tile"]),
            }
        }
        _ => words(&[
            "scheduler.raster",
            "scheduler",
            "pipeline.schedule",
            "cta_tile",
        ]),
    }
}

/// The text with directives that name the spec's lines (`.file`, `.loc`), and the table of its
/// lines.
pub fn directives(text: &str, table: &LineTable) -> (String, LineTable) {
    let mut out = String::with_capacity(text.len());
    let mut starts = Vec::new();
    let mut written = 0;
    let mut put = |out: &mut String, line: std::fmt::Arguments<'_>| {
        let _ = writeln!(out, "{line}");
        written += 1;
        written
    };
    let file = table.file.as_deref().unwrap_or("spec");
    let mut begins = table.starts.iter().peekable();
    let (mut inside, mut last) = (false, None);
    for (at, line) in (1..).zip(text.lines()) {
        let start = begins.next_if(|(start, _)| *start == at);
        if inside {
            let spec = table.origin(at).and_then(|origin| origin.spec);
            if spec != last && !line.starts_with(['}', '$']) {
                put(&mut out, format_args!("\t.loc\t1 {} 0", spec.unwrap_or(0)));
                last = spec;
            }
        }
        let here = put(&mut out, format_args!("{line}"));
        starts.extend(start.map(|(_, number)| (here, *number)));
        match line.trim() {
            "{" => inside = true,
            "}" => inside = false,
            _ if line.starts_with(".address_size") => {
                put(&mut out, format_args!("\t.file\t1 \"{file}\""));
            }
            _ => {}
        }
    }
    let table = LineTable {
        starts,
        ..table.clone()
    };
    (out, table)
}
