//! A kernel explained as text, at most 100 columns wide where no name is longer.
//!
//! In: what is known. Out: lines with ANSI colours, which the terminal layer takes out where they
//! are not wanted. Invariant: without colours the text still says everything but the colours.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::{Color, RgbColor, Style};
use tilewright_codegen::certify::timeline::{Activity, Lane, Span, Timeline};
use tilewright_codegen::explain::smem_map::{Region, Use};

use super::bound::bound;
use super::cells::{Columns, Meaning, legend, model, sign};
use super::proved::proved;
use super::{Explained, formula};
use crate::terminal::{FAINT, STRONG, Table, WIDTH, indented, paint, wrapped};
use tilewright_layout_cli::show::colour::{Rgb, Shade};

/// Columns of a lane's name.
const NAME: usize = 12;
/// Columns between two marks of the ruler.
const MARK: usize = 10;
/// Rows of the table of fillings.
const FILLINGS: usize = 12;
/// Columns of the longest bar of shared memory.
const BAR: u64 = 40;

/// All of it.
pub fn render(explained: &Explained) -> String {
    let mut text = format!("{}\n", paint(STRONG, &explained.point));
    let tile: Vec<String> = explained.cta_tile.iter().map(i64::to_string).collect();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{}", wrapped(&explained.operands.join("; ")));
    if !explained.copied.is_empty() {
        let told = format!(
            "{}: all that follows is about the product of the copies alone",
            explained.copied.join("; ")
        );
        let _ = writeln!(text, "{}", wrapped(&told));
    }
    let _ = writeln!(
        text,
        "{}: a CTA of {} threads makes a tile of {}; CTAs of a launch:\n  {}",
        explained.arch,
        explained.threads,
        tile.join("x"),
        explained.grid
    );
    if let Some(shared) = &explained.shared {
        let of = match explained.timeline {
            Some(_) => "; the timeline is of tiles that one CTA makes alone",
            None => "",
        };
        let _ = writeln!(text, "{}", indented(&format!("{shared}{of}"), 2));
    }
    if explained.launch == "programmatic" {
        text.push_str(
            "  set up while the kernel before it ends; its roles begin when that one has\n",
        );
    }
    for part in &explained.roles {
        let plural = if part.warpgroups == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "  {}: {} warpgroup{plural}, {} registers a thread: {}",
            part.role, part.warpgroups, part.registers, part.does
        );
    }
    heading(&mut text, "Formula");
    text.push_str(&formula::render(&explained.computes));
    if let Some(does) = &explained.does {
        heading(&mut text, "What a CTA does");
        text.push_str(does);
    }
    if let Some(timeline) = &explained.timeline {
        heading(&mut text, "Timeline");
        text.push_str(&lanes(timeline));
        heading(&mut text, "Fillings of the slots, in cycles");
        text.push_str(&fillings(timeline));
    }
    heading(&mut text, "Shared memory");
    text.push_str(&smem(&explained.smem));
    heading(&mut text, "Occupancy");
    text.push_str(&occupancy(explained));
    heading(&mut text, "Accesses");
    text.push_str(&accesses(explained));
    heading(&mut text, "Proved");
    text.push_str(&proved(&explained.certificate));
    text
}

fn heading(text: &mut String, name: &str) {
    let _ = writeln!(text, "\n{}", paint(STRONG, name));
}

fn lanes(timeline: &Timeline) -> String {
    let columns = Columns::of(timeline, WIDTH - NAME - 1);
    let mut text = String::new();
    let busy = 100 * timeline.multiply_cycles / timeline.cycles.max(1);
    let run = format!(
        "CTA 0 makes {} tiles of {} k tiles in {} cycles; the tensor cores multiply {busy}% of \
         them. A column is {} cycles, a k tile takes the tensor cores {}.",
        timeline.tiles,
        timeline.k_tiles,
        timeline.cycles,
        columns.cycles,
        timeline.costs.k_tile_cycles
    );
    let _ = writeln!(text, "{}\n", wrapped(&run));
    let marks = (0..columns.count).step_by(MARK).map(|column| {
        let cycle = (column as u64 * columns.cycles).to_string();
        format!("{cycle:<MARK$}")
    });
    let ruler: String = marks.collect();
    let ruler = format!("{:<NAME$} {}", "cycle", ruler.trim_end());
    let _ = writeln!(text, "{}", paint(FAINT, ruler));
    for lane in &timeline.lanes {
        let _ = writeln!(text, "{:<NAME$} {}", lane.name, row(lane, &columns));
    }
    text.push('\n');
    if columns.is_cut {
        let _ = writeln!(
            text,
            "The drawing is cut after cycle {} of {}; --svg FILE draws the whole run.",
            columns.count as u64 * columns.cycles,
            timeline.cycles
        );
    }
    let _ = writeln!(text, "{}\n", wrapped(&bound(timeline)));
    if let Some(overlap) = overlap(timeline) {
        let _ = writeln!(text, "{}\n", wrapped(&overlap));
    }
    for pair in legend(timeline).chunks(2) {
        let said = pair
            .iter()
            .map(|Meaning { sign, means, .. }| format!("{sign:>4} {means:<42}"));
        let _ = writeln!(text, "{}", said.collect::<String>().trim_end());
    }
    let _ = writeln!(text, "\n{}", wrapped(&model(&timeline.costs).join(" ")));
    text
}

/// What a lane does with the first tile's results. What it computes before its last slot is given
/// back is part of the main loop.
fn epilogue(lane: &Lane) -> impl Iterator<Item = &Span> {
    let of_tile = || lane.spans.iter().filter(|span| span.tile == 0);
    let in_loop = |span: &&Span| matches!(span.activity, Activity::Multiply | Activity::Release);
    let loop_end = of_tile().filter(in_loop).map(|span| span.to).max();
    let leaves = |span: &&Span| {
        matches!(
            span.activity,
            Activity::Convert | Activity::Stage | Activity::Store
        )
    };
    let from = loop_end.unwrap_or(0);
    of_tile()
        .filter(leaves)
        .filter(move |span| span.from >= from)
}

/// What is loaded while the first tile's results leave.
fn overlap(timeline: &Timeline) -> Option<String> {
    let spans = || timeline.lanes.iter().flat_map(|lane| &lane.spans);
    let of_epilogue = || timeline.lanes.iter().flat_map(epilogue);
    let from = of_epilogue().map(|span| span.from).min()?;
    let to = of_epilogue().map(|span| span.to).max()?;
    let under = |span: &&Span| span.tile > 0 && span.from < to && span.to > from;
    let of = |activity: Activity| {
        spans()
            .filter(under)
            .filter(move |span| span.activity == activity)
    };
    let slots = of(Activity::Filling).chain(of(Activity::Full));
    let slots: BTreeSet<Option<u32>> = slots.map(|span| span.slot).collect();
    let loads: u64 = of(Activity::Load)
        .map(|span| span.to.min(to) - span.from.max(from))
        .sum();
    let products: u64 = of(Activity::Multiply)
        .map(|span| span.to.min(to) - span.from.max(from))
        .sum();
    Some(match timeline.tiles {
        1 => format!("The epilogue takes cycles {from} to {to}; the CTA has no next tile to load."),
        _ => format!(
            "The epilogue of tile 0 takes cycles {from} to {to}. Meanwhile {} slots are filled or \
             full for the next tiles, their loads run for {loads} cycles and their products for \
             {products}.",
            slots.len()
        ),
    })
}

/// A lane's signs, neighbours of one colour painted together.
fn row(lane: &Lane, columns: &Columns) -> String {
    let cells: Vec<(char, Option<Style>)> = (0..columns.count)
        .map(|column| match columns.at(lane, column) {
            None => (' ', None),
            Some(span) => (sign(span), style(span)),
        })
        .collect();
    let end = cells.iter().rposition(|(sign, _)| *sign != ' ');
    let cells = cells
        .get(..end.map_or(0, |end| end + 1))
        .unwrap_or_default();
    let mut text = String::new();
    for run in cells.chunk_by(|one, next| one.1 == next.1) {
        let signs: String = run.iter().map(|(sign, _)| *sign).collect();
        match run.first().and_then(|(_, style)| *style) {
            None => text.push_str(&signs),
            Some(style) => text.push_str(&paint(style, signs)),
        }
    }
    text
}

fn style(span: &Span) -> Option<Style> {
    let shade = match span.activity {
        Activity::Request | Activity::Load | Activity::Multiply | Activity::Reading => {
            Shade::Bank(i64::from(span.slot.unwrap_or(0)))
        }
        _ => return None,
    };
    let colour = |(r, g, b): Rgb| Some(Color::Rgb(RgbColor(r, g, b)));
    let ink = colour((31, 36, 48));
    Some(Style::new().bg_color(colour(shade.fill())).fg_color(ink))
}

/// The lanes whose names begin so.
fn named<'t>(timeline: &'t Timeline, name: &'static str) -> impl Iterator<Item = &'t Lane> {
    let lanes = timeline.lanes.iter();
    lanes.filter(move |lane| lane.name.starts_with(name))
}

/// A row for each filling of a slot, in the order of time.
fn fillings(timeline: &Timeline) -> String {
    let mut fillings: Vec<(&Span, &Lane)> = named(timeline, "slot ")
        .flat_map(|lane| lane.spans.iter().map(move |span| (span, lane)))
        .filter(|(span, _)| span.activity == Activity::Filling)
        .collect();
    fillings.sort_by_key(|(span, _)| (span.tile, span.k_tile));
    let consumers: Vec<&Lane> = named(timeline, "consumer ").collect();
    let heads = ["tile.k", "slot", "parity", "requested", "full"].map(String::from);
    let readers = consumers
        .iter()
        .map(|lane| format!("{} multiplies", lane.name));
    let last = ["given back".to_owned()];
    let mut table = Table::new(heads.into_iter().chain(readers).chain(last));
    for (filling, lane) in fillings.iter().take(FILLINGS) {
        let slot = filling.slot.unwrap_or_default();
        let same = |span: &&Span| span.slot == filling.slot && span.phase == filling.phase;
        let mut cells = vec![
            format!("{}.{}", filling.tile, filling.k_tile.unwrap_or_default()),
            slot.to_string(),
            (filling.phase.unwrap_or_default() % 2).to_string(),
            filling.from.to_string(),
            filling.to.to_string(),
        ];
        for consumer in &consumers {
            let mut spans = consumer.spans.iter().filter(same);
            let products = spans.find(|span| span.activity == Activity::Multiply);
            cells.push(products.map_or("-".into(), |span| format!("{}-{}", span.from, span.to)));
        }
        let mut spans = lane.spans.iter().filter(same);
        let reading = spans.find(|span| span.activity == Activity::Reading);
        cells.push(reading.map_or("-".into(), |span| span.to.to_string()));
        table.row(cells);
    }
    let mut text = table.render();
    if let Some(more @ 1..) = fillings.len().checked_sub(FILLINGS) {
        let _ = writeln!(
            text,
            "{more} more are not shown; --json has every span of every lane."
        );
    }
    text
}

/// Regions with bars; the slots of a ring between the first and the last in one row.
fn smem(regions: &[Region]) -> String {
    let mut table: Vec<(String, u32, u32, char)> = Vec::new();
    let last = regions.iter().filter_map(|region| region.slot).max();
    let mut between = (0, 0);
    for region in regions {
        let middle = region
            .slot
            .is_some_and(|slot| slot > 0 && Some(slot) < last);
        if middle {
            if between.1 == 0 {
                between.0 = region.offset_bytes;
            }
            between.1 += region.bytes;
            continue;
        }
        if between.1 > 0 {
            let name = match last {
                Some(last) if last > 2 => format!("… 1 to {} alike", last - 1),
                _ => "… 1 alike".to_owned(),
            };
            table.push((name, between.0, between.1, '█'));
            between = (0, 0);
        }
        let ink = match region.purpose {
            Use::Ring => '█',
            Use::EpilogueLoads => '▒',
            Use::Staging => '▓',
            Use::Scratch => '░',
            Use::Barriers => '▏',
            Use::Gap | Use::Unused => '·',
        };
        table.push((region.name.clone(), region.offset_bytes, region.bytes, ink));
    }
    let all: u64 = regions.iter().map(|region| u64::from(region.bytes)).sum();
    let mut text = String::from("    offset     bytes  what\n");
    let width = table.iter().map(|(name, ..)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    for (name, offset, bytes, ink) in table {
        let length = (u64::from(bytes) * BAR).div_ceil(all.max(1));
        let bar: String = std::iter::repeat_n(ink, length as usize).collect();
        let _ = writeln!(text, "{offset:>10}{bytes:>10}  {name:<width$}  {bar}");
    }
    text
}

fn occupancy(explained: &Explained) -> String {
    let occupancy = &explained.occupancy;
    let [warps, most] = occupancy.warps;
    let plural = if occupancy.ctas_per_sm == 1 { "" } else { "s" };
    let by = occupancy.limited_by();
    let mut text = format!(
        "{} CTA{plural} an SM, {warps} of {most} warps; limited by {by}\n",
        occupancy.ctas_per_sm
    );
    let mut table = Table::new(["", "a CTA", "an SM", "CTAs"]);
    for limit in &occupancy.limits {
        let numbers = [limit.of_cta, limit.of_sm, limit.ctas].map(|number| number.to_string());
        table.row(std::iter::once(limit.what.to_owned()).chain(numbers));
    }
    text.push_str(&table.render());
    match (&occupancy.registers, &explained.no_registers) {
        (Some(registers), _) if explained.roles.is_empty() => {
            let _ = writeln!(text, "ptxas gives a thread {registers} registers.");
        }
        (Some(registers), _) => {
            let _ = writeln!(
                text,
                "A thread starts with {registers} registers; the roles share them out anew."
            );
        }
        (None, Some(why)) => {
            let _ = writeln!(text, "Registers are not known: {why}");
        }
        (None, None) => {}
    }
    text
}

fn accesses(explained: &Explained) -> String {
    let heads = ["copy", "elements", "wavefronts", "sectors", "atom"];
    let mut table = Table::new(heads);
    for step in &explained.certificate.steps {
        let wavefronts = step.shared_memory;
        let sectors = step.sectors_per_request.zip(step.sectors_ideal);
        table.row([
            step.step.clone(),
            step.elements.to_string(),
            wavefronts.map_or("-".into(), |all| format!("{} of {}", all.taken, all.least)),
            sectors.map_or("-".into(), |(most, ideal)| format!("{most} of {ideal}")),
            step.atom.clone(),
        ]);
    }
    let note = "Wavefronts: of a tile's accesses to shared memory, of the fewest. Sectors: of a \
                warp's request.\n";
    let mut text = table.render() + note;
    for step in &explained.certificate.steps {
        let Some(all) = step.shared_memory.filter(|all| all.taken > all.least) else {
            continue;
        };
        let [taken, least] = [all.worst, all.worst_least];
        let _ = writeln!(
            text,
            "{}: words of one bank meet in a warp's access: {taken} wavefronts, {least} at best.",
            step.step
        );
    }
    text
}
