//! Prints the tables of result rows as Markdown: `tilewright-table FILE.jsonl…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut rows = String::new();
    for path in std::env::args().skip(1) {
        match std::fs::read_to_string(&path) {
            Ok(text) => rows.push_str(&text),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    match tilewright_bench::markdown(&rows) {
        Ok(tables) => {
            print!("{tables}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
