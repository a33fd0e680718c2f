//! Pictures as text for a terminal, cells coloured as in the other formats.
//!
//! In: a picture. Out: lines with ANSI colours, which the terminal layer takes out where they are
//! not wanted. Invariant: without colours the text still says everything but the colours.

use anstyle::{Color, RgbColor, Style};

use super::colour::{Rgb, Shade};
use super::picture::{Axis, Cell, Panel, Picture};
use crate::style::{FAINT, STRONG, paint};

/// The text.
pub fn render(picture: &Picture) -> String {
    let mut text = format!("{}\n", paint(STRONG, &picture.title));
    for panel in &picture.panels {
        text.push('\n');
        text.push_str(&grid(panel));
    }
    if !picture.notes.is_empty() {
        text.push('\n');
    }
    for note in &picture.notes {
        text.push_str(&format!("{note}\n"));
    }
    text
}

/// What a cell says in one line.
fn said(cell: &Cell) -> String {
    match cell.detail.as_str() {
        "" => cell.text.clone(),
        detail => format!(
            "{}{detail}",
            cell.text.split(' ').next().unwrap_or_default()
        ),
    }
}

fn grid(panel: &Panel) -> String {
    let said_most = panel
        .cells
        .iter()
        .map(|cell| said(cell).chars().count())
        .max();
    let heads = panel.columns.count.saturating_sub(1).to_string().len();
    let width = said_most.unwrap_or(0).max(heads) + 1;
    let side = panel.rows.count.saturating_sub(1).to_string().len().max(2);
    let mut text = String::new();
    let name = |axis: &Axis, arrow: &str| match axis.name.as_str() {
        "" => String::new(),
        name => format!("{name}{arrow}"),
    };
    let axes = [name(&panel.rows, " down"), name(&panel.columns, " right")];
    let title: Vec<&str> = std::iter::once(panel.title.as_str())
        .chain(axes.iter().map(String::as_str))
        .filter(|part| !part.is_empty())
        .collect();
    if !title.is_empty() {
        text.push_str(&format!("{}\n", title.join(", ")));
    }
    let mut head = " ".repeat(side + 1);
    for column in 0..panel.columns.count {
        head.push_str(gap(panel.columns.is_cut_before(column)));
        head.push_str(&format!("{column:>width$}"));
    }
    text.push_str(&format!("{}\n", paint(FAINT, head.trim_end())));
    for row in 0..panel.rows.count {
        if panel.rows.is_cut_before(row) {
            text.push('\n');
        }
        let mut line = paint(FAINT, format_args!("{row:>side$} "));
        for column in 0..panel.columns.count {
            line.push_str(gap(panel.columns.is_cut_before(column)));
            if let Some(cell) = panel.cell(row, column) {
                let said = said(cell);
                line.push_str(&paint(style(cell.shade), format_args!("{said:>width$}")));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn gap(cut: bool) -> &'static str {
    if cut { " " } else { "" }
}

fn style(shade: Shade) -> Style {
    if shade == Shade::Blank {
        return Style::new();
    }
    let colour = |(r, g, b): Rgb| Some(Color::Rgb(RgbColor(r, g, b)));
    let ink = if shade.text_is_light() {
        (255, 255, 255)
    } else {
        (31, 36, 48)
    };
    Style::new()
        .bg_color(colour(shade.fill()))
        .fg_color(colour(ink))
}
