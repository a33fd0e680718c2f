//! What the command writes and how it looks: text and JSON on stdout, diagnostics on stderr.
//!
//! Colour appears only where the stream is a terminal that wants it (`NO_COLOR` and `CLICOLOR` are
//! honoured by `anstream`). A reader of stdout who goes away changes nothing but that.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// Columns of a line.
pub const WIDTH: usize = 100;

/// The style of a good state.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of a bad state.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub use tilewright_layout_cli::style::{FAINT, STRONG, paint};

/// Text of a file as a terminal may show it: characters that are unseen, move the cursor or turn
/// the direction of writing are escaped.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let moves = c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{feff}');
        if moves || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Several lines of such text.
pub fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(plain).collect();
    lines.join("\n")
}

/// Writes text to stdout as it is. Where its reader has gone nothing is written, and the command
/// goes on: its exit code is a verdict that somebody still waits for.
///
/// # Errors
///
/// When stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    match anstream::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a line to stdout.
///
/// # Errors
///
/// As [`print()`].
pub fn print_line(line: &str) -> io::Result<()> {
    print(&format!("{line}\n"))
}

/// Writes a value to stdout as indented JSON with a closing newline.
///
/// # Errors
///
/// As [`print()`].
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

/// Writes a one-line complaint to stderr, headed by its kind. Its own failure has nowhere to go.
pub fn complain(kind: &str, reason: &str) {
    let head = paint(BAD, format_args!("{kind}:"));
    let _ = writeln!(anstream::stderr(), "{head} {reason}");
}

/// Writes a diagnostic to stderr as it was rendered, on lines of its own.
pub fn diagnose(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", text.trim_end());
}

/// A table of text with columns as wide as their widest cell; the first column is flush left and
/// the others flush right, as numbers read best.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads.
    pub fn new<H: Into<String>>(heads: impl IntoIterator<Item = H>) -> Table {
        Table {
            rows: vec![heads.into_iter().map(Into::into).collect()],
        }
    }

    /// Appends a row; a short row leaves its last columns empty.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as lines, each closed by a newline and without trailing spaces.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                let _ = match column {
                    0 => write!(line, "{gap}{cell:<width$}"),
                    _ => write!(line, "{gap}{cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Words in lines of a terminal.
pub fn wrapped(text: &str) -> String {
    indented(text, 0)
}

/// Words in lines of a terminal that begin with so many blanks.
pub fn indented(text: &str, blanks: usize) -> String {
    let indent = " ".repeat(blanks);
    let mut lines = vec![indent.clone()];
    for word in text.split(' ') {
        let full = |line: &String| line.chars().count() + 1 + word.chars().count() > WIDTH;
        match lines.last_mut() {
            Some(line) if *line == indent => line.push_str(word),
            Some(line) if !full(line) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_aligns_its_columns() {
        let mut table = Table::new(["kernel", "us"]);
        table.row(["copy_naive", "12.5"]);
        table.row(["gemm", "1042.0"]);
        assert_eq!(
            table.render(),
            "kernel          us\ncopy_naive    12.5\ngemm        1042.0\n"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(
            plain("a\u{1b}]0;x\u{7}b\u{202e}ü"),
            "a\\u{1b}]0;x\\u{7}b\\u{202e}ü"
        );
        assert_eq!(plain_lines("1:2: a\r\n3:4: b\tc"), "1:2: a\n3:4: b\\tc");
    }

    #[test]
    fn a_short_row_leaves_no_trailing_spaces() {
        let mut table = Table::new(["name", "note"]);
        table.row(["a"]);
        assert_eq!(table.render(), "name  note\na\n");
    }
}
