//! Prints the tables of result rows as Markdown: `tilewright-table [--best] FILE.jsonl…`. With
//! `--best`, products only, and of each problem its fastest kernel.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut rows = String::new();
    let mut is_best = false;
    for path in std::env::args().skip(1) {
        if path == "--best" {
            is_best = true;
            continue;
        }
        match std::fs::read_to_string(&path) {
            Ok(text) => rows.push_str(&text),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let tables = if is_best {
        tilewright_bench::best(&rows)
    } else {
        tilewright_bench::markdown(&rows)
    };
    match tables {
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
