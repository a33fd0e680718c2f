//! A `tilewright` command that was built before: found, and asked for a bundle.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// The variable that names the command.
pub(crate) const VARIABLE: &str = "TILEWRIGHT";

/// The command that the variable names.
pub(crate) fn named() -> Option<PathBuf> {
    let value = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// The first `tilewright` on the `PATH`.
#[cfg(not(feature = "llvm"))]
pub(crate) fn on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let name = format!("tilewright{}", env::consts::EXE_SUFFIX);
    let mut found = env::split_paths(&path).map(|folder| folder.join(&name));
    found.find(|file| file.is_file())
}

/// Runs `program build` with these arguments: what it said.
///
/// # Errors
/// [`Error::Command`] when it does not run, has no good end, with its report, or tells of no
/// bundle: what lies there may be of an earlier build then.
pub(crate) fn build(program: &Path, args: &[OsString]) -> Result<String, Error> {
    let failed = |report: String| Error::Command {
        program: program.to_owned(),
        report,
    };
    let output = Command::new(program).arg("build").args(args).output();
    let output = output.map_err(|error| {
        failed(format!(
            "it does not run: {error}; {VARIABLE} names a command that does"
        ))
    })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_ours = tells_of_a_bundle(&output.stdout);
    match output.status.success() {
        true if is_ours => Ok(said),
        true => Err(failed(format!(
            "it ended well and tells of no bundle: is it tilewright, which {VARIABLE} or the PATH \
             is to name?"
        ))),
        false => Err(failed(match said.trim() {
            "" => format!(
                "{}, without a word: is it tilewright, which {VARIABLE} or the PATH is to name?",
                output.status
            ),
            _ => format!("{}: {}", output.status, errors_first(&said)),
        })),
    }
}

/// Whether the output of a build ends with the bundle that it made, or that is as it was.
fn tells_of_a_bundle(stdout: &[u8]) -> bool {
    let stdout = String::from_utf8_lossy(stdout);
    let last = stdout.lines().last().unwrap_or_default();
    last.starts_with("good: ") || last.starts_with("unchanged: ")
}

/// What begins the lines of a build on what a reader should know.
const NOTES: [&str; 2] = ["note: ", "left out "];
/// What begins notes that the build step makes of the bundle itself.
const OWN: [&str; 2] = [
    "note: no last resort for ",
    "note: other problems are refused",
];

/// What a note on functions that share a word has in it, which the build step makes of the bundle.
const OF_WORDS: &str = "` is the word of ";

/// What begins the report of what is legal in a spec and may not be meant.
const DOUBT: &str = "warning[";

/// The reports and notes among what a build said: what may not be meant, what it left out, and what
/// nobody judged.
pub(crate) fn warnings(said: &str) -> Vec<String> {
    doubts_and_rest(said).0
}

/// What a build said, with what is wrong before what may not be meant.
fn errors_first(said: &str) -> String {
    let (doubts, rest) = doubts_and_rest(said.trim());
    Vec::from_iter([rest].into_iter().chain(doubts)).join("\n")
}

/// The reports and notes, and all else but what the build step says itself.
fn doubts_and_rest(said: &str) -> (Vec<String>, String) {
    let (mut found, mut rest): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut in_report = false;
    for line in said.lines() {
        let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
        // The lines of a report are a number or nothing, and a bar, behind its first.
        let goes_on = line.starts_with(' ') || line.starts_with(|c: char| c.is_ascii_digit());
        match found.last_mut().filter(|_| in_report && goes_on) {
            Some(report) => {
                report.push('\n');
                report.push_str(line);
            }
            None if line.starts_with(DOUBT) => {
                found.push(line.to_owned());
                in_report = true;
            }
            None if begins(&NOTES) && !begins(&OWN) && !line.contains(OF_WORDS) => {
                found.push(line.strip_prefix("note: ").unwrap_or(line).to_owned());
                in_report = false;
            }
            None => {
                in_report = false;
                rest.push(line);
            }
        }
    }
    (found, rest.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_ends_with_its_bundle() {
        assert!(tells_of_a_bundle(b"good: k.zip, 1 kernel, sha256 ab\n"));
        assert!(tells_of_a_bundle(b"unchanged: k.zip, 1 kernel\n"));
        assert!(!tells_of_a_bundle(b"") && !tells_of_a_bundle(b"good morning\n"));
    }

    #[test]
    fn what_is_wrong_comes_first() {
        let said = "warning[name-mismatch]: `name` is `a`\n --> b.yaml:1:1\n  |\n  = help: `b`\n\
                    error[unknown-key]: `tpye` is no key\n --> b.yaml:3:1\n  |\n3 | tpye: x\n";
        let told = errors_first(said);
        let (wrong, doubt) = said.trim().split_at(said.find("error").unwrap_or_default());
        assert_eq!(told, format!("{doubt}\n{}", wrong.trim_end()));
    }

    #[test]
    fn notes_of_a_build_are_warnings() {
        let said = "kernels.lock: the kernels were generated again\n\
                    left out copy@a (smem-capacity): 5 stages\n\
                    note: no last resort for a, b: the nearest, a@1, assumes n % 4 == 0\n\
                    note: other problems are refused at run time; a spec\n\
                    note: `map` is the word of 2 functions of the same types (a, b): a launch\n\
                    warning[repeated-term]: `eps` is summed along n too\n \
                    --> oops.yaml:5:35\n  |\n5 |   q[m] = …\n  = help: write\n\
                    note: without ptxas no kernel was judged\n";
        let left_out = "left out copy@a (smem-capacity): 5 stages";
        assert_eq!(
            warnings(said),
            [
                left_out,
                "warning[repeated-term]: `eps` is summed along n too\n --> oops.yaml:5:35\n  |\n5 \
                 |   q[m] = …\n  = help: write",
                "without ptxas no kernel was judged"
            ]
        );
    }
}
