//! Prints the tables of result rows as Markdown: `tilewright-table [--best | --ladder | --bars
//! LOCK] [--svg PLOT] FILE.jsonl…`. With `--best`, products only, and of each problem its fastest
//! kernel. With `--ladder`, the rungs of `bench/ladder` one beside another, with `--bars` how fast
//! each class of the kernels in that `ptx.lock` is beside its peers; `--svg` writes the plot of
//! either.

use std::process::ExitCode;

use tilewright_bench::{Error, bars, best, ladder, markdown};

const USAGE: &str =
    "usage: tilewright-table [--best | --ladder | --bars LOCK] [--svg PLOT] FILE.jsonl...";

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    All,
    Best,
    Ladder,
    Bars,
}

fn main() -> ExitCode {
    let (mut rows, mut table, mut plot) = (String::new(), Table::All, None);
    let mut shipped = bars::Shipped::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--best" => table = Table::Best,
            "--ladder" => table = Table::Ladder,
            "--bars" => {
                table = Table::Bars;
                let lock = args.next().unwrap_or_default();
                match std::fs::read_to_string(&lock) {
                    Ok(text) => shipped = bars::shipped(&text),
                    Err(error) => return refuse(&format!("--bars {lock}: {error}")),
                }
            }
            "--svg" => match args.next() {
                Some(path) => plot = Some(path),
                None => return refuse("--svg needs the file to write"),
            },
            path => match std::fs::read_to_string(path) {
                Ok(text) => rows.push_str(&text),
                Err(error) => return refuse(&format!("{path}: {error}")),
            },
        }
    }
    if plot.is_some() && !matches!(table, Table::Ladder | Table::Bars) {
        return refuse("--svg draws the ladder or the bars: add --ladder or --bars");
    }
    let tables = match table {
        Table::All => markdown(&rows),
        Table::Bars => bars::markdown(&rows, &shipped),
        Table::Best => best(&rows),
        Table::Ladder => ladder::markdown(&rows),
    };
    let draw = |rows: &str| -> Result<String, Error> {
        match table {
            Table::Bars => bars::plot(rows, &shipped),
            _ => ladder::plot(rows),
        }
    };
    let drawing = plot.map(|path| (path, draw(&rows)));
    match (tables, drawing) {
        (Ok(tables), None) => print!("{tables}"),
        (Ok(tables), Some((path, Ok(drawing)))) => {
            // A drawing takes the place of a drawing alone.
            let earlier = std::fs::read_to_string(&path).unwrap_or_default();
            let is_there = std::fs::metadata(&path).is_ok_and(|about| about.len() > 0);
            if is_there && !(earlier.starts_with("<svg") && earlier.contains("class=\"tw\"")) {
                return refuse(&format!(
                    "{path}: the file is there and is no drawing of this tool"
                ));
            }
            if let Err(error) = std::fs::write(&path, drawing) {
                return refuse(&format!("{path}: {error}"));
            }
            print!("{tables}");
        }
        (Err(error), _) | (_, Some((_, Err(error)))) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}\n{USAGE}");
    ExitCode::from(2)
}
