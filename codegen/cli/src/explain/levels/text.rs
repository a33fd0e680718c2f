//! The levels as tables for a terminal.
//!
//! In: the levels of a kernel. Out: a block of lines for each place, a table for each level.

use std::fmt::Write as _;

use tilewright_codegen::explain::levels::{Levels, Station};

use super::shown::{self, Grid};
use crate::terminal::{STRONG, Table, indented, paint, wrapped};

/// All of it.
pub fn render(levels: &Levels) -> String {
    let mut text = format!("{}\n", paint(STRONG, &levels.point));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", wrapped(&shown::who(levels)));
    for station in &levels.stations {
        text.push_str(&place(levels, station));
    }
    text
}

fn place(levels: &Levels, station: &Station) -> String {
    let head = paint(STRONG, shown::heading(station));
    let mut text = format!("\n{head}\n  by {}\n", station.by);
    let modes = station.modes.iter().flatten();
    let modes: Vec<&str> = modes.map(String::as_str).collect();
    let tile = match modes.is_empty() {
        true => "one element".to_owned(),
        false => format!(
            "{} along {}",
            shown::by(station.extents),
            modes.join(" and ")
        ),
    };
    let problem = format!("Tile of {tile}: {}", shown::within(station));
    let _ = writeln!(text, "{}", indented(&problem, 2));
    let (warp, lane) = (levels.thread / 32, levels.thread % 32);
    let pieces = match station.held {
        Some(_) => "Warps of the tile",
        None => "Boxes of the tile",
    };
    text.push_str(&level(pieces, shown::warps(levels, station)));
    let lanes = format!("Lanes of warp {warp}");
    text.push_str(&level(&lanes, shown::lanes(levels, station)));
    let thread = format!("Registers of lane {lane} of warp {warp}");
    match shown::registers(station) {
        Err(why) => text.push_str(&said(&thread, &why)),
        Ok((registers, note)) => {
            text.push_str(&said(&thread, &note));
            for line in registers.chunk_by(|one, next| one.vector == next.vector) {
                let labels: Vec<&str> = line.iter().map(|one| one.label.as_str()).collect();
                let _ = writeln!(text, "{}", indented(&labels.join(" | "), 4));
            }
        }
    }
    text
}

fn said(level: &str, what: &str) -> String {
    format!("{}\n", indented(&format!("{level}: {what}"), 2))
}

fn level(name: &str, grid: Result<Grid, String>) -> String {
    let grid = match grid {
        Ok(grid) => grid,
        Err(why) => return said(name, &why),
    };
    let mut table = Table::new(std::iter::once(String::new()).chain(grid.columns));
    for (head, cells) in grid.rows.into_iter().zip(grid.cells) {
        let labels = cells.into_iter().map(|cell| match cell.is_marked {
            true => format!("[{}]", cell.label),
            false => cell.label,
        });
        table.row(std::iter::once(head).chain(labels));
    }
    let mut text = said(name, &grid.note);
    for line in table.render().lines() {
        let _ = writeln!(text, "    {line}");
    }
    text
}
