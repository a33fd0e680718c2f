//! What of a level is shown: grids of cells that stand for blocks, short enough for a page, and
//! sentences.
//!
//! In: a place of a kernel with its levels. Out: cells with their heads and labels, the registers
//! of a thread, and what is said of each. Invariant: what is left out is said.

use tilewright_codegen::explain::levels::{Along, Has, Level, Levels, Station, Within};
use tilewright_codegen::explain::ownership::{Cut, Registers};

/// Most rows and columns of cells.
const MOST_ROWS: usize = 16;
const MOST_COLUMNS: usize = 16;
/// Cells of a line where a single row or column goes on in the next one.
const OF_A_LINE: usize = 8;
/// What of a level is not shown.
const AGAIN: &str = "which come again";
const LEFT_OUT: &str = "the rest is left out";
/// Most registers that are shown.
const MOST_REGISTERS: usize = 16;

/// A grid of blocks.
pub struct Grid {
    /// Where each row of cells begins.
    pub rows: Vec<String>,
    /// Where each column of cells begins.
    pub columns: Vec<String>,
    /// The cells, row by row; the last line of a strip may be short.
    pub cells: Vec<Vec<Shown>>,
    /// What a cell stands for, and what is left out.
    pub note: String,
}

/// A cell.
#[derive(Clone)]
pub struct Shown {
    /// Its owners.
    pub label: String,
    /// The first of them; none of a cell that nobody has.
    pub owner: Option<u32>,
    /// Whether the level that follows is of it.
    pub is_marked: bool,
    /// Where it is, in words.
    pub place: String,
}

/// A register, or what of memory an instruction moves.
pub struct Register {
    /// Its number and elements: `r0 0,0-1`.
    pub label: String,
    /// The number of the instruction that fills or empties it.
    pub vector: usize,
}

/// Two extents or coordinates.
pub fn by([rows, columns]: [i64; 2]) -> String {
    format!("{rows}x{columns}")
}

/// A place in a line: `a, bf16: global memory to shared memory`.
pub fn heading(station: &Station) -> String {
    let Station {
        operand,
        dtype,
        does,
        ..
    } = station;
    format!("{operand}, {dtype}: {does}")
}

/// The kernel in a line.
pub fn title(levels: &Levels) -> String {
    let name = levels.point.split('@').next().unwrap_or_default();
    format!("{name} on {}: who has which elements", levels.arch)
}

/// Who shares out tiles.
pub fn who(levels: &Levels) -> String {
    let Levels { threads, ctas, .. } = levels;
    let whose = match (&levels.who, ctas) {
        (Some(who), _) => who.clone(),
        (None, 1) => "all threads of a CTA".to_owned(),
        (None, _) => format!("the threads of {ctas} CTAs, which share a tile"),
    };
    format!(
        "Tiles are shared out among {threads} threads, {whose}. Marked is thread {}.",
        levels.thread
    )
}

/// What a tile is of.
pub fn within(station: &Station) -> String {
    match &station.within {
        Within::Problem { along, outer } => {
            let known = along.iter().filter_map(said);
            let mut text = known.collect::<Vec<_>>().join("; ");
            if text.is_empty() {
                text = "one element".to_owned();
            }
            if !outer.is_empty() {
                text = format!("{text}; at each {}", outer.join(", "));
            }
            text
        }
        Within::Shared {
            place,
            count,
            bytes,
            layout,
        } => {
            let plural = if *count == 1 { "" } else { "s" };
            let places = match place.strip_suffix(" of a warpgroup") {
                Some(place) => format!("{place}{plural} of each warpgroup"),
                None => format!("{place}{plural}"),
            };
            format!("{count} {places}, {bytes} bytes a tile, {layout}")
        }
    }
}

fn said(along: &Along) -> Option<String> {
    let (mode, tile) = (along.mode.as_ref()?, along.tile);
    Some(match along.has {
        Has::One => format!("{mode} in tiles of {tile}, one of them the CTA's"),
        Has::Each => format!("{mode} in tiles of {tile}, which the CTA takes in turn"),
        Has::All => format!("{mode} whole, a tile of {tile}"),
    })
}

/// The cells of what warps or boxes have.
pub fn warps(levels: &Levels, station: &Station) -> Result<Grid, String> {
    let cut = level(&station.warps)?;
    let marked = (cut.of == "warp").then_some(levels.thread / 32);
    let mut grid = grid(cut, marked);
    let warps = levels.threads / 32 / levels.ctas;
    if cut.of == "warp" && levels.ctas > 1 {
        grid.note = format!("{}; {warps} warps a CTA", grid.note);
    }
    if cut.of == "warp" && station.copies > 1 && level(&station.lanes).is_ok() {
        grid.note = format!(
            "{}; {} threads have each element",
            grid.note, station.copies
        );
    }
    Ok(grid)
}

/// The cells of what the lanes of the thread's warp have.
pub fn lanes(levels: &Levels, station: &Station) -> Result<Grid, String> {
    level(&station.lanes).map(|cut| grid(cut, Some(levels.thread % 32)))
}

/// The registers of the thread.
pub fn registers(station: &Station) -> Result<(Vec<Register>, String), String> {
    let registers = level(&station.registers)?;
    let Registers {
        elements,
        each,
        vector,
        bytes,
        memory,
    } = registers;
    let flat = [0, 1].map(|mode| station.extents[mode] == 1);
    let all = elements.len().div_ceil(*each);
    let name = if *memory { "" } else { "r" };
    let shown = elements.chunks(*each).take(MOST_REGISTERS).enumerate();
    let shown = shown.map(|(number, elements)| Register {
        label: format!("{name}{number}: {}", run(elements, flat)),
        vector: number * each / vector,
    });
    let shown: Vec<Register> = shown.collect();
    let count = plural(elements.len(), "element");
    let each = format!("{vector} in {bytes} bytes");
    let mut note = match memory {
        true => format!(
            "no registers, from memory to memory: {count} by {}, each {each}",
            plural(all, "instruction")
        ),
        false => format!(
            "{count} in {}; an instruction has {each}",
            plural(all, "register")
        ),
    };
    if shown.len() < all {
        note = format!("{note}; the first {} are shown", shown.len());
    }
    Ok((shown, note))
}

fn plural(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// Coordinates that go on along a mode as a range, others one after another; of a mode of one
/// element nothing.
fn run(elements: &[[i64; 2]], flat: [bool; 2]) -> String {
    let one = |element: &[i64; 2]| match flat {
        [true, true] => "the one".to_owned(),
        [true, false] => element[1].to_string(),
        [false, true] => element[0].to_string(),
        _ => format!("{},{}", element[0], element[1]),
    };
    let (Some(first), Some(last)) = (elements.first(), elements.last()) else {
        return String::new();
    };
    let goes = |mode: usize| {
        let mut pairs = elements.windows(2);
        pairs.all(|pair| {
            pair[1][mode] == pair[0][mode] + 1 && pair[1][1 - mode] == pair[0][1 - mode]
        })
    };
    match elements.len() {
        1 => one(first),
        _ if goes(1) => format!("{}-{}", one(first), last[1]),
        _ if goes(0) && flat[1] => format!("{}-{}", first[0], last[0]),
        _ if goes(0) => format!("{}-{},{}", first[0], last[0], first[1]),
        _ => elements.iter().map(one).collect::<Vec<_>>().join(" "),
    }
}

fn level<T>(level: &Level<T>) -> Result<&T, String> {
    match level {
        Level::Is(level) => Ok(level),
        Level::None(why) => Err(why.clone()),
    }
}

/// Numbers of owners, those that are equally far apart as a range.
fn numbers(owners: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = owners;
    while let [first, ..] = rest {
        let step = rest.get(1).map_or(1, |second| second - first);
        let apart = rest.windows(2).take_while(|pair| pair[1] - pair[0] == step);
        let count = match apart.count() + 1 {
            2 if step > 1 => 1,
            count => count,
        };
        let (run, behind) = rest.split_at(count);
        parts.push(match (run, step) {
            ([.., last], 1) if count > 1 => format!("{first}-{last}"),
            ([.., last], _) if count > 1 => format!("{first}-{last} by {step}"),
            _ => first.to_string(),
        });
        rest = behind;
    }
    parts.join(" ")
}

/// How many of so many rows or columns are shown: all, else what comes again, else the first.
fn window(count: usize, period: usize, most: usize) -> usize {
    match count <= most {
        true => count,
        false => period.min(most),
    }
}

fn grid(cut: &Cut, marked: Option<u32>) -> Grid {
    let [rows, columns] = [cut.rows.len(), cut.columns.len()];
    if rows == 1 && columns > OF_A_LINE || columns == 1 && rows > MOST_ROWS {
        return strip(cut, marked);
    }
    let down = window(rows, cut.period[0], MOST_ROWS);
    // Labels of several digits want room.
    let labels = cut.owners.iter().map(|owners| numbers(owners).len());
    let is_wide = labels.max().is_some_and(|longest| longest > 1);
    let right = match cut.period[1] {
        period if is_wide && period <= OF_A_LINE && columns > OF_A_LINE => period,
        period => window(columns, period, MOST_COLUMNS),
    };
    let cell = |row: usize, column: usize| shown(cut, [row, column], marked);
    let line = |row: usize| (0..right).map(|column| cell(row, column)).collect();
    let heads = |places: &[i64], count: usize| {
        let places = places.iter().take(count);
        places.map(i64::to_string).collect()
    };
    let elements = [rows as i64 * cut.block[0], columns as i64 * cut.block[1]];
    let drawn = [down as i64 * cut.block[0], right as i64 * cut.block[1]];
    let mut note = format!("a cell is {}", by(cut.block));
    if drawn != elements {
        let comes_again = down.is_multiple_of(cut.period[0]) && right.is_multiple_of(cut.period[1]);
        let rest = match comes_again {
            true => AGAIN,
            false => LEFT_OUT,
        };
        note = format!(
            "{note}; {} of {} are shown, {rest}",
            by(drawn),
            by(elements)
        );
    }
    Grid {
        rows: heads(&cut.rows, down),
        columns: heads(&cut.columns, right),
        cells: (0..down).map(line).collect(),
        note,
    }
}

/// A single row or column, line after line.
fn strip(cut: &Cut, marked: Option<u32>) -> Grid {
    let is_row = cut.rows.len() == 1;
    let places = if is_row { &cut.columns } else { &cut.rows };
    let period = cut.period[usize::from(is_row)];
    let count = window(places.len(), period, MOST_ROWS * OF_A_LINE);
    let cells: Vec<Shown> = (0..count)
        .map(|at| shown(cut, if is_row { [0, at] } else { [at, 0] }, marked))
        .collect();
    let steps = |line: &[i64]| -> Vec<i64> { line.iter().map(|at| at - line[0]).collect() };
    let first = steps(&places[..OF_A_LINE.min(count)]);
    let mut lines = places[..count].chunks(OF_A_LINE);
    let is_even = lines.all(|line| first.starts_with(&steps(line)));
    let along = if is_row { "row" } else { "column" };
    let mut note = format!("a cell is {}; one {along}, line after line", by(cut.block));
    if count < places.len() {
        let rest = if count.is_multiple_of(period) {
            AGAIN
        } else {
            LEFT_OUT
        };
        note = format!(
            "{note}; {count} of {} cells are shown, {rest}",
            places.len()
        );
    }
    Grid {
        rows: places
            .iter()
            .take(count)
            .step_by(OF_A_LINE)
            .map(i64::to_string)
            .collect(),
        columns: match is_even {
            true => first.iter().map(|step| format!("+{step}")).collect(),
            false => vec![String::new(); first.len()],
        },
        cells: cells.chunks(OF_A_LINE).map(<[Shown]>::to_vec).collect(),
        note,
    }
}

fn shown(cut: &Cut, [row, column]: [usize; 2], marked: Option<u32>) -> Shown {
    let owners = cut.at(row, column);
    let label = numbers(owners);
    let place = format!("{},{}", cut.rows[row], cut.columns[column]);
    let several = if owners.len() == 1 { "" } else { "s" };
    Shown {
        place: format!(
            "{} from {place}: {}{several} {label}",
            by(cut.block),
            cut.of
        ),
        owner: owners.first().copied(),
        is_marked: marked.is_some_and(|marked| owners.contains(&marked)),
        label,
    }
}
