//! Pages of the guide as a terminal has them.
//!
//! In: Markdown as the pages of the guide are written: headings, paragraphs, lists, tables and
//! blocks of code. Out: text in lines of a terminal; code stays as it is, indented, and a row of a
//! table becomes what its cells say, the last of them on lines of its own.

use crate::terminal::{STRONG, indented, paint, wrapped};

/// Blanks before code and before what a row says at last.
const INDENT: usize = 4;

/// The text of a page.
pub fn of_markdown(page: &str) -> String {
    let mut text = Text::default();
    for line in page.lines() {
        text.take(line);
    }
    text.end_paragraph();
    format!("{}\n", text.out.trim_matches('\n'))
}

/// The text so far, and what its next line is part of.
#[derive(Default)]
struct Text {
    out: String,
    /// Lines of the paragraph that is not at its end.
    paragraph: Vec<String>,
    in_code: bool,
    /// Heads of the table.
    heads: Option<Vec<String>>,
}

impl Text {
    fn take(&mut self, line: &str) {
        if line.starts_with("```") {
            self.end_paragraph();
            self.in_code = !self.in_code;
        } else if self.in_code {
            let blanks = if line.is_empty() { 0 } else { INDENT };
            self.line(&format!("{}{line}", " ".repeat(blanks)));
        } else if line.starts_with("<!--") {
            self.end_paragraph();
        } else if let Some(cells) = cells(line) {
            self.end_paragraph();
            self.row(cells);
        } else if line.is_empty() {
            self.end_paragraph();
            self.heads = None;
            self.blank();
        } else if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().replace('`', "");
            self.line(&paint(STRONG, title));
        } else {
            if line.starts_with("- ") {
                self.end_paragraph();
            }
            self.paragraph.push(line.trim_start().to_owned());
        }
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// One empty line, however many the page has.
    fn blank(&mut self) {
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn end_paragraph(&mut self) {
        let lines = std::mem::take(&mut self.paragraph);
        if !lines.is_empty() {
            self.line(&wrapped(&lines.join(" ")));
        }
    }

    /// A row of a table: the first one has the heads, the second one lines.
    fn row(&mut self, cells: Vec<String>) {
        let Some(heads) = &self.heads else {
            self.heads = Some(cells);
            return;
        };
        if cells.iter().all(|cell| cell.starts_with('-')) {
            return;
        }
        let Some((last, front)) = cells.split_last() else {
            return;
        };
        let mut said = Vec::new();
        for (at, (cell, head)) in front.iter().zip(heads).enumerate() {
            match (cell.as_str(), head.as_str(), at) {
                ("", ..) => {}
                (cell, _, 0) | (cell, "" | "value", _) => said.push(cell.to_owned()),
                (cell, head, _) => said.push(format!("{head}: {cell}")),
            }
        }
        let row = indented(&said.join("; "), 0);
        let last = indented(last, INDENT);
        self.line(&format!("{row}\n{last}"));
    }
}

/// The cells of a table's row, bars that are escaped apart.
fn cells(line: &str) -> Option<Vec<String>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    let inside = inside.replace("\\|", "\u{0}");
    let cells = inside.split('|');
    Some(
        cells
            .map(|cell| cell.trim().replace('\u{0}', "|"))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_lines() {
        let page = "## `some-code`\n\nA long\nparagraph.\n\n<!-- run by: x -->\n```yaml\n\
                    # no title\n\na: b\n```\n\n- one\n- two,\n  of two lines\n";
        let text = anstream::adapter::strip_str(&of_markdown(page)).to_string();
        assert_eq!(
            text,
            "some-code\n\nA long paragraph.\n\n    # no title\n\n    a: b\n\n- one\n\
             - two, of two lines\n"
        );
    }

    #[test]
    fn a_row_says_what_its_cells_do() {
        let page = "| key | value | default | | meaning |\n|---|---|---|---|---|\n\
                    | `a` | `x\\|y` | 1 | t | What it is. |\n| `b` | | | | Another. |\n";
        assert_eq!(
            of_markdown(page),
            "`a`; `x|y`; default: 1; t\n    What it is.\n`b`\n    Another.\n"
        );
    }
}
