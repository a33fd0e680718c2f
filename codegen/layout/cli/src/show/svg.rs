//! Pictures as SVG.
//!
//! In: a picture. Out: one SVG document with its own background and fonts. Invariant: the same
//! picture gives the same bytes; all positions are whole pixels; no element has an id, so that a
//! page can hold several pictures. A panel has one path for all cells of a colour and one group of
//! texts a row.

use svg::node::Blob;
use svg::node::element::{Group, Line, Path, Text};

use super::colour::{Shade, hex};
use super::picture::{Cell, Panel, Picture};
use crate::page::{page, rectangle};

const MARGIN: usize = 24;
const GAP: usize = 34;
const TITLE: usize = 26;
const NAME: usize = 20;
const HEADS: usize = 18;
const SIDE: usize = 30;
/// Width of a character of a head or an axis.
const CHARACTER: usize = 7;
/// How far the foot of a line lies below its middle.
const FOOT: usize = 4;
/// How far the upper of two lines lies above the middle of a cell, and the lower below the upper.
const UPPER: usize = 6;
const LOWER: usize = 13;
const NOTE: usize = 20;

const STYLE: &str = "\
.tw text { font-family: 'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace; \
text-anchor: middle }
.tw .title { font-size: 15px; font-weight: 600; fill: #1f2430; text-anchor: start }
.tw .name { font-size: 13px; font-weight: 600; fill: #1f2430; text-anchor: start }
.tw .head { font-size: 10px; fill: #7a8194 }
.tw .axis { font-size: 11px; fill: #4a5164; font-style: italic }
.tw .note { font-size: 12px; fill: #4a5164; text-anchor: start }
.tw path { stroke: #ffffff }
.tw .blank { stroke: #e4e6ec }
.tw .row { font-size: 11px; fill: #1f2430 }
.tw .row .light { fill: #ffffff }
.tw tspan { font-size: 9px }
@media (prefers-color-scheme: dark) {
.tw > rect { fill: #161a22 }
.tw .title, .tw .name { fill: #e6e9f0 }
.tw .head { fill: #a0a8ba }
.tw .axis, .tw .note { fill: #c3c9d6 }
.tw path { stroke: #161a22 }
.tw .blank { stroke: #333a48 }
}";

/// Width and height of the cells of a panel.
fn cell_size(panel: &Panel) -> (usize, usize) {
    let width = (panel.widest() * 7 + 8).max(26);
    (width, if panel.has_details() { 30 } else { 24 })
}

/// Space left of the cells, for the rows' numbers and name.
fn side(panel: &Panel) -> usize {
    SIDE.max((panel.rows.name.chars().count() + 2) * CHARACTER + 4)
}

/// Space right of the cells, for the columns' name.
fn beyond(panel: &Panel) -> usize {
    match panel.columns.name.chars().count() {
        0 => 0,
        name => (name + 2) * CHARACTER + 6,
    }
}

/// Width and height of a panel with its heads.
fn panel_size(panel: &Panel) -> (usize, usize) {
    let (width, height) = cell_size(panel);
    let titled = side(panel) + panel.title.chars().count() * 9;
    let grid = side(panel) + width * panel.columns.count + beyond(panel);
    (grid.max(titled), NAME + HEADS + height * panel.rows.count)
}

/// The extents of rows or columns of panels.
fn tracks(picture: &Picture, across: bool) -> Vec<usize> {
    let mut tracks = Vec::new();
    for panel in &picture.panels {
        let (width, height) = panel_size(panel);
        let (at, extent) = match across {
            true => (panel.place.column, width),
            false => (panel.place.row, height),
        };
        if tracks.len() <= at {
            tracks.resize(at + 1, 0);
        }
        tracks[at] = tracks[at].max(extent);
    }
    tracks
}

/// The document.
pub fn render(picture: &Picture) -> String {
    let (columns, rows) = (tracks(picture, true), tracks(picture, false));
    let total = |tracks: &[usize]| tracks.iter().sum::<usize>() + GAP * tracks.len().max(1) - GAP;
    let words = picture.notes.iter().chain([&picture.title]);
    let longest = words.map(|line| line.chars().count()).max().unwrap_or(0);
    let width = 2 * MARGIN + total(&columns).max(longest * 9);
    let notes = picture.notes.len() * NOTE;
    let height = 2 * MARGIN + TITLE + total(&rows) + notes + if notes > 0 { 12 } else { 0 };
    let mut document =
        page(width, height, STYLE).add(words_at(&picture.title, "title", MARGIN, MARGIN + 6));
    for panel in &picture.panels {
        let before = |tracks: &[usize], at: usize| tracks.iter().take(at).sum::<usize>() + GAP * at;
        // A panel is flush right and low in its track, so that A, B and C share their edges.
        let (wide, high) = panel_size(panel);
        let slack =
            |tracks: &[usize], at: usize, own: usize| tracks.get(at).map_or(0, |track| track - own);
        let x = MARGIN + before(&columns, panel.place.column);
        let y =
            MARGIN + TITLE + before(&rows, panel.place.row) + slack(&rows, panel.place.row, high);
        let x = match panel.place.row {
            0 => x,
            _ if columns.len() > 1 => x + slack(&columns, panel.place.column, wide),
            _ => x,
        };
        document = document.add(panel_at(panel, x, y));
    }
    for (index, note) in picture.notes.iter().enumerate() {
        let y = MARGIN + TITLE + total(&rows) + 20 + index * NOTE;
        document = document.add(words_at(note, "note", MARGIN, y));
    }
    format!("{document}\n")
}

fn words_at(words: &str, class: &str, x: usize, y: usize) -> Text {
    Text::new(words)
        .set("class", class)
        .set("x", x)
        .set("y", y + FOOT)
}

fn panel_at(panel: &Panel, x: usize, y: usize) -> Group {
    let (width, height) = cell_size(panel);
    let (left, top) = (x + side(panel), y + NAME + HEADS);
    let mut group = Group::new().add(words_at(&panel.title, "name", left, y + 8));
    group = axis_names(group, panel, left, y);
    for column in 0..panel.columns.count {
        let x = left + column * width + width / 2;
        group = group.add(words_at(&column.to_string(), "head", x, top - 8));
    }
    for row in 0..panel.rows.count {
        if panel.rows.count > 1 || !panel.rows.name.is_empty() {
            let y = top + row * height + height / 2;
            group = group.add(words_at(&row.to_string(), "head", left - 12, y));
        }
    }
    group = squares(group, panel, left, top);
    for row in 0..panel.rows.count {
        let foot = top + row * height + height / 2 + FOOT;
        let foot = if panel.has_details() {
            foot - UPPER
        } else {
            foot
        };
        let mut texts = String::new();
        for column in 0..panel.columns.count {
            if let Some(cell) = panel.cell(row, column).filter(|cell| !cell.text.is_empty()) {
                let x = column * width + width / 2;
                texts.push_str(&text(cell, x, panel.has_details()));
            }
        }
        if !texts.is_empty() {
            let at = format!("translate({left},{foot})");
            let row = Group::new().set("class", "row").set("transform", at);
            group = group.add(row.add(Blob::new(texts.trim_end())));
        }
    }
    cuts(group, panel, left, top)
}

/// The squares of all cells, those of one colour in one path.
fn squares(mut group: Group, panel: &Panel, left: usize, top: usize) -> Group {
    let (width, height) = cell_size(panel);
    let mut paths: Vec<(Shade, String)> = Vec::new();
    for (index, cell) in panel.cells.iter().enumerate() {
        let (row, column) = (index / panel.columns.count, index % panel.columns.count);
        let (x, y) = (left + column * width, top + row * height);
        let square = format!("M{x},{y}h{width}v{height}h-{width}z");
        let known = paths
            .iter_mut()
            .find(|(shade, _)| shade.fill() == cell.shade.fill());
        match known {
            Some((_, path)) => path.push_str(&square),
            None => paths.push((cell.shade, square)),
        }
    }
    for (shade, squares) in paths {
        let path = Path::new().set("d", squares);
        let fill = format!("#{}", hex(shade.fill()));
        let path = path.set("fill", fill);
        group = group.add(match shade {
            Shade::Blank => path.set("class", "blank"),
            _ => path,
        });
    }
    group
}

/// The one or two lines of a cell, its upper line's foot at 0 where the panel has two.
fn text(cell: &Cell, x: usize, two: bool) -> String {
    let class = if cell.shade.text_is_light() {
        " class=\"light\""
    } else {
        ""
    };
    let line = escaped(&cell.text);
    match (cell.detail.as_str(), two) {
        ("", false) => format!("<text{class} x=\"{x}\">{line}</text>\n"),
        ("", true) => format!("<text{class} x=\"{x}\" y=\"{UPPER}\">{line}</text>\n"),
        (detail, _) => format!(
            "<text{class} x=\"{x}\">{line}<tspan x=\"{x}\" dy=\"{LOWER}\">{}</tspan></text>\n",
            escaped(detail)
        ),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn axis_names(group: Group, panel: &Panel, left: usize, y: usize) -> Group {
    let (width, _) = cell_size(panel);
    let mut group = group;
    let right = left + width * panel.columns.count;
    if !panel.columns.name.is_empty() {
        let name = format!("{} \u{2192}", panel.columns.name);
        let at = words_at(&name, "axis", right + 6, y + NAME + HEADS - 8);
        let at = at.set("style", "text-anchor: start");
        group = group.add(at);
    }
    if !panel.rows.name.is_empty() {
        let name = format!("{} \u{2193}", panel.rows.name);
        let at = words_at(&name, "axis", left - 4, y + NAME + HEADS - 8);
        group = group.add(at.set("style", "text-anchor: end"));
    }
    group
}

/// Heavier lines between the blocks of nested modes, and the frame.
fn cuts(group: Group, panel: &Panel, left: usize, top: usize) -> Group {
    let (width, height) = cell_size(panel);
    let (right, bottom) = (
        left + width * panel.columns.count,
        top + height * panel.rows.count,
    );
    let mut group = group;
    let line = |x1: usize, y1: usize, x2: usize, y2: usize| {
        let line = Line::new()
            .set("x1", x1)
            .set("y1", y1)
            .set("x2", x2)
            .set("y2", y2);
        line.set("stroke", "#4a5164").set("stroke-width", 2)
    };
    for column in (0..panel.columns.count).filter(|&at| panel.columns.is_cut_before(at)) {
        let x = left + column * width;
        group = group.add(line(x, top, x, bottom));
    }
    for row in (0..panel.rows.count).filter(|&at| panel.rows.is_cut_before(at)) {
        let y = top + row * height;
        group = group.add(line(left, y, right, y));
    }
    let frame = rectangle(left, top, right - left, bottom - top);
    group.add(
        frame
            .set("fill", "none")
            .set("stroke", "#4a5164")
            .set("stroke-width", 1),
    )
}
