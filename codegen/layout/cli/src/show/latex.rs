//! Pictures as LaTeX, drawn by TikZ.
//!
//! In: a picture. Out: a document of the `standalone` class that needs nothing but TikZ.

use super::colour::hex;
use super::picture::{Panel, Picture};

const HEAD: &str = "\\documentclass[tikz,border=4pt]{standalone}
\\begin{document}
\\begin{tikzpicture}[x=1cm,y=-0.7cm,every node/.style={font=\\ttfamily\\scriptsize}]
";

/// Width of a character, in hundredths of a centimetre.
const CHARACTER: usize = 17;

/// The document.
pub fn render(picture: &Picture) -> String {
    let mut text = String::from(HEAD);
    let title = escaped(&picture.title);
    text.push_str(&format!(
        "\\node[anchor=west,font=\\ttfamily] at (0,-2.4) {{{title}}};\n"
    ));
    let extents = |row: usize| {
        let panels = picture.panels.iter().filter(move |p| p.place.row == row);
        panels.map(|p| p.rows.count + 3).max().unwrap_or(0)
    };
    for panel in &picture.panels {
        let above: usize = (0..panel.place.row).map(extents).sum();
        let slack = extents(panel.place.row) - 3 - panel.rows.count;
        let left = picture
            .panels
            .iter()
            .filter(|p| p.place.column < panel.place.column)
            .map(|p| cell_width(p) * p.columns.count + 150)
            .max()
            .unwrap_or(0);
        draw(&mut text, panel, left, above + slack);
    }
    let below: usize = (0..=picture
        .panels
        .iter()
        .map(|p| p.place.row)
        .max()
        .unwrap_or(0))
        .map(extents)
        .sum();
    for (index, note) in picture.notes.iter().enumerate() {
        let y = below + index;
        let note = escaped(note);
        text.push_str(&format!("\\node[anchor=west] at (0,{y}) {{{note}}};\n"));
    }
    text.push_str("\\end{tikzpicture}\n\\end{document}\n");
    text
}

/// Width of a cell, in hundredths of a centimetre.
fn cell_width(panel: &Panel) -> usize {
    (panel.widest() * CHARACTER + 20).max(70)
}

/// Hundredths as a decimal number.
fn hundredths(number: usize) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

fn draw(text: &mut String, panel: &Panel, left: usize, top: usize) {
    let width = cell_width(panel);
    if !panel.title.is_empty() {
        let (x, title) = (hundredths(left), escaped(&panel.title));
        let y = top as i64 - 2;
        text.push_str(&format!(
            "\\node[anchor=west] at ({x},{y}+0.6) {{{title}}};\n"
        ));
    }
    for column in 0..panel.columns.count {
        let x = hundredths(left + column * width + width / 2);
        text.push_str(&format!("\\node[gray] at ({x},{top}-0.3) {{{column}}};\n"));
    }
    for row in 0..panel.rows.count {
        let y = top + row;
        let x = hundredths(left);
        text.push_str(&format!(
            "\\node[gray,anchor=east] at ({x},{y}.5) {{{row}}};\n"
        ));
        for column in 0..panel.columns.count {
            let Some(cell) = panel.cell(row, column) else {
                continue;
            };
            let (x, next) = (left + column * width, left + (column + 1) * width);
            let lines = match cell.detail.as_str() {
                "" => escaped(&cell.text),
                detail => format!(
                    "{}\\\\[-3pt]\\tiny {}",
                    escaped(&cell.text),
                    escaped(detail)
                ),
            };
            let ink = if cell.shade.text_is_light() {
                ",text=white"
            } else {
                ""
            };
            text.push_str(&format!(
                "\\definecolor{{c}}{{HTML}}{{{}}}\\draw[fill=c,draw=white] ({},{y}) rectangle \
                 ({},{}) node[midway,align=center{ink}] {{{lines}}};\n",
                hex(cell.shade.fill()),
                hundredths(x),
                hundredths(next),
                y + 1,
            ));
        }
    }
    let (right, bottom) = (left + width * panel.columns.count, top + panel.rows.count);
    for row in (0..panel.rows.count).filter(|&at| panel.rows.is_cut_before(at)) {
        let (a, b, y) = (hundredths(left), hundredths(right), top + row);
        text.push_str(&format!("\\draw[thick] ({a},{y}) -- ({b},{y});\n"));
    }
    for column in (0..panel.columns.count).filter(|&at| panel.columns.is_cut_before(at)) {
        let x = hundredths(left + column * width);
        text.push_str(&format!("\\draw[thick] ({x},{top}) -- ({x},{bottom});\n"));
    }
    axis_names(text, panel, left, right, top);
    let (a, b) = (hundredths(left), hundredths(right));
    text.push_str(&format!("\\draw ({a},{top}) rectangle ({b},{bottom});\n"));
}

/// Names of the axes, as in the other formats: rows down, columns to the right.
fn axis_names(text: &mut String, panel: &Panel, left: usize, right: usize, top: usize) {
    for (axis, x, anchor, arrow) in [
        (&panel.rows, left, "east", "downarrow"),
        (&panel.columns, right, "west", "rightarrow"),
    ] {
        if !axis.name.is_empty() {
            let (x, name) = (hundredths(x), escaped(&axis.name));
            text.push_str(&format!(
                "\\node[gray,anchor={anchor}] at ({x},{top}-0.3) {{{name} $\\{arrow}$}};\n"
            ));
        }
    }
}

/// Text for a typewriter font, which has `<` and `>` where other fonts of TeX have not.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '_' | '%' | '&' | '#' | '$' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out.push_str("\\textbackslash{}"),
            _ => out.push(c),
        }
    }
    out
}
