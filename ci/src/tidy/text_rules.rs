//! Rules about single files: names, heads, lengths, words.
//!
//! In: a [`SourceFile`]. Out: its complaints.

use super::Complaint;
use super::allowed::{LongFile, LongFunction};
use crate::source_tree::SourceFile;
use crate::tokens;

/// The widest line, in characters.
pub const MOST_COLUMNS: usize = 100;

/// The longest file, in lines.
pub const MOST_FILE_LINES: usize = 700;

/// The longest function, in lines.
pub const MOST_FUNCTION_LINES: usize = 70;

/// The longest section of the change log, in lines that are not blank.
pub const MOST_SECTION_LINES: usize = 15;

/// The widest line of the change log, in characters: no line is several.
pub const MOST_SECTION_COLUMNS: usize = 150;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["utils", "util", "common", "helpers", "helper", "misc"];

/// Words that mark unfinished work. Put together here, so that this file does not hold them.
const UNFINISHED: [&str; 7] = [
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
    concat!("#[ig", "nore"),
];

/// What a test never does: wait for time to pass.
const SLEEPING: &str = concat!("thread::", "sleep");

/// A file or folder is named for what is in it.
pub fn names(file: &SourceFile) -> Vec<Complaint> {
    let parts = file
        .path
        .split('/')
        .map(|part| part.split_once('.').map_or(part, |(stem, _)| stem));
    parts
        .filter(|part| EMPTY_NAMES.contains(part))
        .map(|part| {
            Complaint::new(
                file,
                1,
                format!("`{part}` names nothing: say what is inside"),
            )
        })
        .collect()
}

/// A Rust file opens with what comes in, what goes out and what always holds; a template with its
/// inputs; a script with its interpreter, and stops at the first failure.
pub fn heads(file: &SourceFile) -> Vec<Complaint> {
    let starts = |head: &str| file.text.trim_start().starts_with(head);
    let wanted = match () {
        () if file.ends_in("rs") && !starts("//!") => "open the file with a `//!` comment",
        () if file.ends_in("tera") && !starts("{#") => "open the template with a `{# … #}` comment",
        () if file.ends_in("sh") && !starts("#!/usr/bin/env bash\n#") => {
            "open the script with `#!/usr/bin/env bash` and a comment"
        }
        () if file.ends_in("sh") && !file.text.contains("\nset -euo pipefail\n") => {
            "let the script stop at its first failure: `set -euo pipefail`"
        }
        () => return Vec::new(),
    };
    vec![Complaint::new(file, 1, wanted)]
}

/// Lines fit on a screen. YAML and Markdown may hold what cannot be broken.
pub fn columns(file: &SourceFile) -> Vec<Complaint> {
    if !["rs", "tera", "sh", "py"]
        .iter()
        .any(|ending| file.ends_in(ending))
    {
        return Vec::new();
    }
    let long = file.text.lines().enumerate().filter_map(|(index, line)| {
        let columns = line.chars().count();
        (columns > MOST_COLUMNS).then_some((index + 1, columns))
    });
    long.map(|(line, columns)| {
        Complaint::new(
            file,
            line,
            format!("{columns} columns; at most {MOST_COLUMNS}"),
        )
    })
    .collect()
}

/// Files end with exactly one newline and no line ends with spaces.
pub fn endings(file: &SourceFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let one_newline = file.text.ends_with('\n') && !file.text.ends_with("\n\n");
    if !one_newline && !file.text.is_empty() {
        complaints.push(Complaint::new(
            file,
            file.text.lines().count(),
            "end with one newline",
        ));
    }
    for (index, line) in file.text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            complaints.push(Complaint::new(
                file,
                index + 1,
                "the line ends with a space",
            ));
        }
    }
    complaints
}

/// Nothing is left for later, and no test sleeps.
pub fn words(file: &SourceFile) -> Vec<Complaint> {
    let sleeping = file.is_test().then_some(SLEEPING);
    let words: Vec<&str> = UNFINISHED.into_iter().chain(sleeping).collect();
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            complaints.push(Complaint::new(
                file,
                index + 1,
                format!("`{word}` stands here"),
            ));
        }
    }
    complaints
}

/// Each release of the change log is told in few lines, for who uses it.
pub fn change_log(file: &SourceFile) -> Vec<Complaint> {
    if file.path != "CHANGELOG.md" {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    // Its heading's line, and how many lines it has.
    let mut section: Option<(usize, usize)> = None;
    for (index, line) in file.text.lines().enumerate() {
        if line.starts_with("## ") {
            section = Some((index + 1, 0));
        } else if let Some((heading, lines)) = &mut section
            && !line.trim().is_empty()
        {
            *lines += 1;
            let columns = line.chars().count();
            if columns > MOST_SECTION_COLUMNS {
                let message = format!("{columns} columns; at most {MOST_SECTION_COLUMNS}");
                complaints.push(Complaint::new(file, index + 1, message));
            }
            if *lines == MOST_SECTION_LINES + 1 {
                let message = format!(
                    "the release has more than {MOST_SECTION_LINES} lines: say what users have to \
                     know, and no more"
                );
                complaints.push(Complaint::new(file, *heading, message));
            }
        }
    }
    complaints
}

/// A file is short enough to hold in mind, or is on the list with its reason.
pub fn file_lengths(file: &SourceFile, allowed: &[LongFile]) -> Vec<Complaint> {
    if !file.ends_in("rs") {
        return Vec::new();
    }
    let lines = file.text.lines().count();
    let entry = allowed.iter().find(|entry| entry.path == file.path);
    let most = entry.map_or(MOST_FILE_LINES, |entry| entry.lines);
    let message = match entry {
        _ if lines > most => format!("{lines} lines; at most {most}: split it by concern"),
        Some(_) if lines <= MOST_FILE_LINES => "no longer long: take it off the list".to_owned(),
        _ => return Vec::new(),
    };
    vec![Complaint::new(file, 1, message)]
}

/// A function fits on a screen, unless it is one flat match or on the list with its reason.
pub fn function_lengths(file: &SourceFile, allowed: &[LongFunction]) -> Vec<Complaint> {
    if !file.ends_in("rs") {
        return Vec::new();
    }
    let tokens = match tokens::parse(&file.text) {
        Ok(tokens) => tokens,
        Err(error) => return vec![Complaint::new(file, 1, format!("not Rust: {error}"))],
    };
    let too_long = tokens::functions(&tokens).into_iter().filter(|function| {
        let besides_match = function.lines - function.longest_match_lines;
        let is_flat_match = besides_match * 5 <= function.lines;
        function.lines > MOST_FUNCTION_LINES && !is_flat_match
    });
    too_long
        .filter(|function| {
            !allowed
                .iter()
                .any(|entry| entry.path == file.path && entry.name == function.name)
        })
        .map(|function| {
            let (name, lines) = (function.name, function.lines);
            let message = format!("`{name}` has {lines} lines; at most {MOST_FUNCTION_LINES}");
            Complaint::new(file, function.line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests;
