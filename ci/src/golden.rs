//! Golden files: a text that a test makes, beside the text recorded in the repository.
//!
//! In: a path relative to the root, and the text as it is now. Out: nothing when they agree, else
//! where they part and how to record the new one. With `BLESS=1` the file is rewritten instead.

use std::fs;
use std::io;

use crate::source_tree;

/// Whether files are to be rewritten.
pub fn blessing() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// Compares `actual` with the file at `path`, or writes it there. The answer is the first line
/// that differs, and what to do.
///
/// # Errors
///
/// When the file cannot be written.
pub fn difference(path: &str, actual: &str) -> io::Result<Option<String>> {
    let file = source_tree::root().join(path);
    if blessing() {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, actual)?;
        return Ok(None);
    }
    let recorded = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(format!("{path}: not recorded yet")));
        }
        Err(error) => return Err(error),
    };
    Ok(first_difference(&recorded, actual)
        .map(|(line, was, is)| format!("{path}:{line}\n  recorded: {was}\n  now:      {is}")))
}

/// The number, from 1, and both texts of the first line that differs.
fn first_difference<'t>(recorded: &'t str, actual: &'t str) -> Option<(usize, &'t str, &'t str)> {
    const END: &str = "the end of the file";
    if recorded == actual {
        return None;
    }
    let (mut was, mut is) = (recorded.lines(), actual.lines());
    let mut line = 1;
    loop {
        match (was.next(), is.next()) {
            (None, None) => return Some((line, "another line ending", END)),
            (a, b) if a == b => line += 1,
            (a, b) => return Some((line, a.unwrap_or(END), b.unwrap_or(END))),
        }
    }
}

/// Panics with every difference and how to record the new texts, for tests.
///
/// # Panics
///
/// When there is a difference.
#[track_caller]
pub fn assert_none(differences: &[String], test: &str) {
    assert!(
        differences.is_empty(),
        "{} differences:\n{}\nIf the change is meant, record it together with its cause:\n    \
         BLESS=1 cargo test --package tilewright-ci --test {test}",
        differences.len(),
        differences.join("\n")
    );
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\nd\n"), Some((2, "b", "c")));
        let end = "the end of the file";
        assert_eq!(first_difference("a\n", "a\nb\n"), Some((2, end, "b")));
        assert_eq!(first_difference("a\nb\n", "a\n"), Some((2, "b", end)));
        assert!(first_difference("a\n", "a").is_some());
    }
}
