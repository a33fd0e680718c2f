//! Running the command and looking at what it left.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What one run of the command left.
#[derive(Debug)]
pub struct Run {
    /// The exit code.
    pub code: i32,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

impl Run {
    /// The JSON on stdout.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON values on stdout, one a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.stdout.lines().map(read).collect()
    }

    /// The run itself, after its exit code was found to be `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Run {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// The command with nothing of the tests' own environment that could change what it says.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command
        .env_remove("RUST_BACKTRACE")
        .env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the command with these arguments.
pub fn tilewright<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) -> Run {
    finish(command().args(args).output().unwrap())
}

/// Turns a finished process into a [`Run`].
pub fn finish(output: Output) -> Run {
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compares `text` with a golden file, or writes the file when `BLESS` is set.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    assert_kept(&golden(name), text);
}

/// The same of a file anywhere.
#[track_caller]
pub fn assert_kept(path: &Path, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        text,
        kept,
        "{} differs; rewrite it with BLESS=1",
        path.display()
    );
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}
