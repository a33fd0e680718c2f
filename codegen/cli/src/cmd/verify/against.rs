//! `verify --against`: the problems of a capture run again and compared bit for bit.
//!
//! What is not equal is told as it comes; then a line per kernel and a line of counts. A row is
//! stale when it was captured from other PTX than the bundle has: it is compared all the same, as
//! results of integers do not depend on the PTX, and counted apart. The verdict is negative when
//! anything differs, and when nothing was compared that is not stale.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use tilewright_bundle::named;
use tilewright_lab::capture::{self, Replay, Replayed, Row, Verdict};
use tilewright_runtime::Runtime;

use crate::args::verify::Verify;
use crate::device;
use crate::outcome::{self, Failure, Outcome};
use crate::progress;
use crate::terminal::{self, Table};

/// What `verify --against --json` prints.
#[derive(Debug, Serialize)]
struct Report<'r> {
    device: String,
    captured_on: Vec<String>,
    equal: usize,
    stale: usize,
    gone: usize,
    bad: usize,
    #[serde(flatten)]
    replay: &'r Replay,
}

/// Replays the rows of a file whose kernels were asked for.
pub fn run(runtime: &Runtime, path: &Path, args: &Verify) -> Outcome {
    let rows = rows(path, &args.kernel)?;
    let bar = progress::bar("replaying", rows.len() as u64);
    let mut gone = BTreeSet::new();
    let replay = capture::replay(runtime, &rows, |row| {
        bar.set_message(row.kernel.clone());
        bar.inc(1);
        // A kernel that is gone is told once, not for each of its rows.
        let is_gone = matches!(row.verdict, Verdict::Gone(_));
        if is_gone && !gone.insert(row.kernel.clone()) {
            return;
        }
        if let Some((head, text)) = told(row) {
            bar.suspend(|| super::tell(head, &text));
        }
    });
    progress::finish(&bar);
    let replay = replay.map_err(Failure::could_not_run)?;
    let device = device::describe(runtime.device());
    let captured_on: BTreeSet<String> = rows.iter().map(origin).collect();
    let closing = closing(&replay);
    if args.json {
        terminal::print_json(&Report {
            device,
            captured_on: captured_on.into_iter().collect(),
            equal: replay.equal(),
            stale: replay.stale(),
            gone: replay.gone(),
            bad: replay.bad(),
            replay: &replay,
        })?;
        terminal::diagnose(&closing);
    } else {
        terminal::print(&table(&replay).render())?;
        terminal::print_line(&format!("\non {device}, against"))?;
        for origin in captured_on {
            terminal::print_line(&format!("  {origin}"))?;
        }
        terminal::print_line(&closing)?;
    }
    Ok(outcome::Verdict::from_good(replay.is_good()))
}

/// The rows of a file of the kernels that one of `names` means; all where none is named.
fn rows(path: &Path, names: &[String]) -> Result<Vec<Row>, Failure> {
    let mut rows = capture::read(path).map_err(Failure::could_not_run)?;
    let meant = names
        .iter()
        .map(|name| named(&rows, name, |row| &row.kernel));
    let meant = meant.flatten().map(|row| row.kernel.clone());
    let meant: BTreeSet<String> = meant.collect();
    rows.retain(|row| names.is_empty() || meant.contains(&row.kernel));
    if rows.is_empty() {
        return Err(Failure::CouldNotRun(format!(
            "{} has no row of the kernels asked for: capture some with --capture",
            path.display()
        )));
    }
    Ok(rows)
}

/// Where and when a row was captured.
fn origin(row: &Row) -> String {
    let mut text = format!("{}, {}", row.gpu, row.date);
    for (name, value) in [("driver", &row.driver), ("commit", &row.commit)] {
        if !value.is_empty() {
            text.push_str(&format!(", {name} {value}"));
        }
    }
    text
}

/// What is told of a row that is not equal, and under which head.
fn told(row: &Replayed) -> Option<(&'static str, String)> {
    let (head, reason) = match &row.verdict {
        Verdict::Equal => return None,
        Verdict::Gone(reason) => return Some(("GONE", format!("{}: {reason}", row.kernel))),
        Verdict::Differs(reason) => ("DIFFERS", reason),
        Verdict::Failed(reason) => ("FAIL", reason),
        Verdict::OtherInputs(reason) => ("INPUTS", reason),
    };
    let stale = match row.stale {
        true => " (stale: captured from other PTX)",
        false => "",
    };
    let text = format!("{} {}: {reason}{stale}", row.kernel, row.problem);
    Some((head, text))
}

/// The counts in a line.
fn closing(replay: &Replay) -> String {
    let mut text = format!("{} equal, {} not", replay.equal(), replay.bad());
    if replay.stale() > 0 {
        let stale = replay.stale();
        text.push_str(&format!(
            "; {stale} equal but stale: captured from other PTX"
        ));
    }
    if replay.gone() > 0 {
        text.push_str(&format!("; {} of kernels that are gone", replay.gone()));
    }
    if replay.bad() == 0 && replay.equal() == 0 {
        text.push_str("; nothing was compared with the PTX that was captured: capture again");
    }
    text
}

/// A row per kernel.
fn table(replay: &Replay) -> Table {
    let mut kernels: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for row in &replay.rows {
        let [equal, stale, gone, bad] = kernels.entry(&row.kernel).or_default();
        *match (&row.verdict, row.stale) {
            (Verdict::Equal, false) => equal,
            (Verdict::Equal, true) => stale,
            (Verdict::Gone(_), _) => gone,
            _ => bad,
        } += 1;
    }
    let mut table = Table::new(["kernel", "equal", "stale", "gone", "not equal"]);
    for (kernel, counts) in kernels {
        let counts = counts.map(|count| count.to_string());
        table.row(std::iter::once(kernel.to_owned()).chain(counts));
    }
    table
}
