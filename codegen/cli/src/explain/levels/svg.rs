//! The levels as a drawing: a row of panels for each place of a kernel, two and two, so that they
//! can be read on a narrow screen.
//!
//! In: the levels of a kernel. Out: one SVG document, light or dark as its reader has it. Each cell
//! says what it is when pointed at; title and description are what a screen reader says. Invariant:
//! words end before the next panel begins; what does not fit a cell stands in a legend.

use svg::node::element::{Group, Text, Title};
use tilewright_codegen::explain::levels::{Along, Has, Levels, Station, Within};

use super::shown::{self, Grid, Register, Shown};
use tilewright_layout_cli::page::{cut, document, lines, rectangle, wide};
use tilewright_layout_cli::show::colour::{Shade, hex};

const WIDTH: u64 = 520;
const MARGIN: u64 = 12;
const GAP: u64 = 16;
const PANEL: u64 = (WIDTH - 2 * MARGIN - GAP) / 2;
const LINE: u64 = 16;
/// Height of a cell, and the widest one.
const CELL: u64 = 18;
const WIDEST: u64 = 40;
/// Tiles of a problem that are drawn along a mode, and the one that is marked.
const TILES: u64 = 4;
const MARKED: u64 = 1;
/// Entries of a legend.
const LEGEND: usize = 12;

const STYLE: &str = "\
.tw text { font-family: 'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace; \
font-size: 11px; fill: #1f2430 }
.tw .title { font-size: 13px; font-weight: 600 }
.tw .name { font-size: 13px; font-weight: 600 }
.tw .level { font-weight: 600 }
.tw .note { fill: #4a5164 }
.tw .head { font-size: 10px; fill: #626a7d }
.tw .cell { font-size: 10px; text-anchor: middle }
.tw g rect { stroke: #ffffff; stroke-width: 1 }
.tw g .rest { fill: #e4e6ec }
.tw g .mark { fill: none; stroke: #b3261e; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
.tw > rect { fill: #161a22 }
.tw text { fill: #e6e9f0 }
.tw .cell { fill: #1f2430 }
.tw .head { fill: #a0a8ba }
.tw .note { fill: #c3c9d6 }
.tw g rect { stroke: #161a22 }
.tw g .rest { fill: #333a48 }
.tw g .mark { stroke: #d7301f }
}";

/// The document.
pub fn render(levels: &Levels) -> String {
    let mut sheet = Sheet {
        group: Group::new(),
        x: MARGIN,
        y: MARGIN,
        width: WIDTH - 2 * MARGIN,
    };
    let title = shown::title(levels);
    sheet.words("title", &title);
    sheet.words("note", &shown::who(levels));
    let mut said = vec![shown::who(levels)];
    for station in &levels.stations {
        said.push(sheet.station(levels, station));
    }
    let size = [WIDTH, sheet.y + MARGIN];
    document(size, STYLE, (&title, &said.join(" ")), sheet.group)
}

/// What is drawn so far, where the next thing goes, and how wide it may be.
struct Sheet {
    group: Group,
    x: u64,
    y: u64,
    width: u64,
}

impl Sheet {
    fn add(&mut self, node: impl Into<Box<dyn svg::Node>>) {
        let group = std::mem::take(&mut self.group);
        self.group = group.add(node);
    }

    /// Words in as many lines as they need.
    fn words(&mut self, class: &str, words: &str) {
        let pixels = if matches!(class, "title" | "name") {
            13
        } else {
            11
        };
        for line in lines(words, self.width, pixels) {
            self.y += LINE;
            self.add(text(&line, class, self.x, self.y));
        }
    }

    /// A place with its levels; gives what it says.
    fn station(&mut self, levels: &Levels, station: &Station) -> String {
        self.y += LINE;
        let heading = shown::heading(station);
        self.words("name", &heading);
        self.words("note", &format!("by {}", station.by));
        let (warp, lane) = (levels.thread / 32, levels.thread % 32);
        let within = shown::within(station);
        let grids = [shown::warps(levels, station), shown::lanes(levels, station)];
        let registers = shown::registers(station);
        let said = |level: &str, grid: &Result<Grid, String>| match grid {
            Ok(grid) => format!("{level}: {}.", grid.note),
            Err(why) => format!("{level}: {why}."),
        };
        let thread = match &registers {
            Ok((_, note)) => note.clone(),
            Err(why) => why.clone(),
        };
        let sentences = [
            format!("{heading}: {within}."),
            said("Warps", &grids[0]),
            said("Lanes", &grids[1]),
            format!("Registers: {thread}."),
        ];
        let [warps, lanes] = grids;
        let tile = match &station.within {
            Within::Problem { .. } => "Problem and the CTA's tile",
            Within::Shared { .. } => "Shared memory",
        };
        let pieces = match station.held {
            Some(_) => "Tile and its warps",
            None => "Tile and its boxes",
        };
        self.side_by_side(
            (tile, |sheet: &mut Sheet| sheet.problem(station, &within)),
            (pieces, |sheet: &mut Sheet| sheet.level(warps)),
        );
        self.side_by_side(
            (&format!("Lanes of warp {warp}"), |sheet: &mut Sheet| {
                sheet.level(lanes)
            }),
            (&format!("Registers of lane {lane}"), |sheet: &mut Sheet| {
                sheet.registers(registers, lane);
            }),
        );
        sentences.join(" ")
    }

    /// Two panels, and what follows below both.
    fn side_by_side(
        &mut self,
        (left, draw_left): (&str, impl FnOnce(&mut Sheet)),
        (right, draw_right): (&str, impl FnOnce(&mut Sheet)),
    ) {
        let top = self.y + LINE / 4;
        (self.y, self.width) = (top, PANEL);
        self.words("level", left);
        draw_left(self);
        let bottom = self.y;
        (self.x, self.y) = (MARGIN + PANEL + GAP, top);
        self.words("level", right);
        draw_right(self);
        (self.x, self.y) = (MARGIN, self.y.max(bottom));
        self.width = WIDTH - 2 * MARGIN;
    }

    /// The tiles of a problem, or the places in shared memory, with one marked.
    fn problem(&mut self, station: &Station, within: &str) {
        self.y += LINE / 2;
        match &station.within {
            Within::Problem { along, .. } => self.tiles(along),
            Within::Shared { count, .. } => {
                let count = u64::from(*count).clamp(1, 16);
                let width = WIDEST.min(self.width / count);
                for place in 0..count {
                    let [x, y] = [self.x + place * width, self.y];
                    self.tile([x, y, width], place == 0, false);
                }
                self.y += CELL;
            }
        }
        self.words("note", within);
    }

    fn tiles(&mut self, along: &[Along; 2]) {
        let counts = [0, 1].map(|at: usize| match along[at].has {
            Has::All => 1,
            _ => TILES,
        });
        let is_marked = |at: usize, tile: u64| match along[at].has {
            Has::All => true,
            _ => tile == MARKED,
        };
        let has = |at: usize, tile: u64| along[at].has == Has::Each || is_marked(at, tile);
        for row in 0..counts[0] {
            for column in 0..counts[1] {
                let marked = is_marked(0, row) && is_marked(1, column);
                let passed = has(0, row) && has(1, column);
                let [x, y] = [self.x + column * WIDEST, self.y + row * CELL];
                self.tile([x, y, WIDEST], marked, passed);
            }
        }
        self.y += counts[0] * CELL;
        let names = [(0, "down"), (1, "to the right")].map(|(at, way): (usize, &str)| {
            let mode = along[at].mode.as_ref();
            mode.map(|mode| format!("{mode} {way}"))
        });
        let names: Vec<String> = names.into_iter().flatten().collect();
        if !names.is_empty() {
            self.words("note", &names.join(", "));
        }
    }

    fn tile(&mut self, [x, y, width]: [u64; 3], is_marked: bool, is_passed: bool) {
        let tile = rectangle(x, y, width, CELL);
        self.add(match (is_marked, is_passed) {
            (true, _) => tile.set("fill", fill(1)),
            (_, true) => tile.set("fill", fill(1 + 8 * 3)),
            _ => tile.set("class", "rest"),
        });
        if is_marked {
            self.mark(x, y, width);
        }
    }

    fn mark(&mut self, x: u64, y: u64, width: u64) {
        let mark = rectangle(x + 1, y + 1, width.max(3) - 2, CELL - 2);
        self.add(mark.set("class", "mark"));
    }

    /// A level as cells, or why there is none.
    fn level(&mut self, grid: Result<Grid, String>) {
        let grid = match grid {
            Ok(grid) => grid,
            Err(why) => return self.words("note", &why),
        };
        let widest = |heads: &[String]| heads.iter().map(|head| wide(head, 10)).max().unwrap_or(0);
        let left = widest(&grid.rows) + 4;
        let columns = grid.columns.len().max(1) as u64;
        let width = WIDEST.min((self.width - left) / columns);
        let each = (widest(&grid.columns) + 4).div_ceil(width.max(1)).max(1);
        self.y += LINE;
        for (column, head) in (0..).zip(&grid.columns) {
            if u64::is_multiple_of(column, each) {
                self.add(text(
                    head,
                    "head",
                    self.x + left + column * width,
                    self.y - 3,
                ));
            }
        }
        let mut unsaid: Vec<&Shown> = Vec::new();
        for (head, cells) in grid.rows.iter().zip(&grid.cells) {
            self.add(text(head, "head", self.x, self.y + 13));
            for (column, cell) in (0..).zip(cells) {
                let x = self.x + left + column * width;
                let fits = self.cell(cell, [x, self.y, width]);
                let is_known = unsaid.iter().any(|known| known.label == cell.label);
                if !fits && !is_known {
                    unsaid.push(cell);
                }
            }
            self.y += CELL;
        }
        self.legend(&unsaid);
        self.words("note", &grid.note);
    }

    /// A cell; gives whether its label fits in.
    fn cell(&mut self, cell: &Shown, [x, y, width]: [u64; 3]) -> bool {
        let shape = rectangle(x, y, width, CELL);
        let shape = match cell.owner {
            Some(owner) => shape.set("fill", fill(owner)),
            None => shape.set("class", "rest"),
        };
        let mut group = Group::new().add(Title::new(cell.place.clone())).add(shape);
        let fits = wide(&cell.label, 10) <= width;
        if fits {
            group = group.add(text(&cell.label, "cell", x + width / 2, y + 13));
        }
        self.add(group);
        if cell.is_marked {
            self.mark(x, y, width);
        }
        fits
    }

    /// What the cells are whose labels do not fit in.
    fn legend(&mut self, cells: &[&Shown]) {
        let mut x = 0;
        if !cells.is_empty() {
            self.y += 4;
        }
        for cell in cells.iter().take(LEGEND) {
            let width = wide(&cell.label, 10) + 8;
            if x > 0 && x + width > self.width {
                (x, self.y) = (0, self.y + CELL);
            }
            self.cell(cell, [self.x + x, self.y, width]);
            x += width;
        }
        if !cells.is_empty() {
            self.y += CELL;
        }
        if cells.len() > LEGEND {
            self.words("note", &format!("and {} more", cells.len() - LEGEND));
        }
    }

    /// The registers of a lane, those of one instruction in one colour.
    fn registers(&mut self, registers: Result<(Vec<Register>, String), String>, lane: u32) {
        let (registers, note) = match registers {
            Ok(registers) => registers,
            Err(why) => return self.words("note", &why),
        };
        self.y += LINE / 2;
        let widest = registers.iter().map(|one| wide(&one.label, 10)).max();
        let width = (widest.unwrap_or(0) + 8).clamp(WIDEST, self.width);
        let fit = (self.width / width).max(1) as usize;
        let of_first = registers.iter().take_while(|one| one.vector == 0).count();
        let together = (fit / of_first.max(1)).max(1);
        for line in registers.chunk_by(|one, next| one.vector / together == next.vector / together)
        {
            // Lines of equally many, where an instruction's registers need several.
            let lines = line.len().div_ceil(fit);
            for some in line.chunks(line.len().div_ceil(lines)) {
                for (column, register) in (0..).zip(some) {
                    let tint = lane + 16 * (register.vector as u32 % 2);
                    let cell = Shown {
                        label: cut(&register.label, self.width - 4, 10),
                        owner: Some(tint),
                        is_marked: false,
                        place: register.label.clone(),
                    };
                    self.cell(&cell, [self.x + column * width, self.y, width]);
                }
                self.y += CELL;
            }
        }
        self.words("note", &note);
    }
}

fn fill(owner: u32) -> String {
    format!("#{}", hex(Shade::Thread(i64::from(owner)).fill()))
}

fn text(words: &str, class: &str, x: u64, y: u64) -> Text {
    let text = Text::new(words).set("class", class).set("x", x);
    text.set("y", y)
}
