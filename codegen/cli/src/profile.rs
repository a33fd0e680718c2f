//! The profile of a launch on the emulator: what each line of PTX cost, what each line of its
//! source and each operation on tiles cost, and the bytes by path.
//!
//! In: counters by line, and what lines come from: the table of a bundle's manifest, or the
//! directives of the text. Out: tables, or values for a program. Where nothing is known of a line's
//! origin, it is counted under none; where nothing is known of any, there is no such table.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tilewright_bundle::LineTable;
use tilewright_emulator::{Counters, GlobalTraffic, LineProfile, SharedTraffic, SourceLines};
use tilewright_lab::launch_file;

use crate::terminal::{STRONG, Table, paint, plain};

/// What lines of PTX come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The source file, and the line in it.
    place: Option<(String, u32)>,
    /// The operation on tiles.
    op: Option<String>,
}

impl Origin {
    /// What a bundle's manifest says of a line.
    pub fn in_table(table: &LineTable, line: u32) -> Option<Origin> {
        let origin = table.origin(line)?;
        let file = table.file.as_deref().unwrap_or("spec");
        Some(Origin {
            place: origin.spec.map(|line| (file.to_owned(), line)),
            op: Some(origin.op.clone()),
        })
    }

    /// What the text's own directives say of a line.
    pub fn in_text(sources: &SourceLines, line: u32) -> Option<Origin> {
        let source = sources.at(line)?;
        Some(Origin {
            place: Some((source.file.to_owned(), source.line)),
            op: None,
        })
    }

    /// The file without its folders, and the line: `gemm.yaml:12`.
    pub fn place(&self) -> String {
        let place = self.place.as_ref().map(|(file, line)| {
            let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
            format!("{}:{line}", plain(name))
        });
        place.unwrap_or_default()
    }

    /// File, line and operation.
    pub fn json(&self) -> Value {
        let (file, line) = self.place.clone().unzip();
        json!({"file": file, "line": line, "op": self.op})
    }
}

/// The counters of a launch by line, and what is known of the lines.
pub struct Profile<'p> {
    /// By instruction, in the order of the text.
    pub lines: &'p [LineProfile],
    /// A line of the text.
    pub text: &'p dyn Fn(u32) -> String,
    /// What a line comes from.
    pub origin: &'p dyn Fn(u32) -> Option<Origin>,
}

const COUNTED: [&str; 7] = [
    "executed",
    "lanes %",
    "wavefronts",
    "excess",
    "sectors/req",
    "lines/req",
    "bytes",
];

/// What a line did to memory: its traffic on both sides, whichever path it took.
struct Cost {
    executions: u64,
    lanes: u64,
    shared: SharedTraffic,
    global: GlobalTraffic,
    /// Bytes of all paths, those of bulk and tensor copies among them.
    bytes: u64,
}

impl Cost {
    fn of(counters: &Counters) -> Cost {
        let c = counters;
        let mut cost = Cost {
            executions: c.classes.iter().map(|class| class.executions).sum(),
            lanes: c.classes.iter().map(|class| class.lanes).sum(),
            shared: SharedTraffic::default(),
            global: GlobalTraffic::default(),
            bytes: c.local_bytes + c.bulk_bytes + c.tensor_bytes,
        };
        let shared = [
            c.shared_load,
            c.shared_store,
            c.shared_async,
            c.shared_ldmatrix,
            c.shared_stmatrix,
            c.shared_atomic,
        ];
        for one in shared {
            cost.shared.requests += one.requests;
            cost.shared.bytes += one.bytes;
            cost.shared.wavefronts += one.wavefronts;
            cost.shared.excess += one.excess;
        }
        for one in [c.global_load, c.global_store, c.global_atomic, c.async_copy] {
            cost.global.requests += one.requests;
            cost.global.bytes += one.bytes;
            cost.global.sectors += one.sectors;
            cost.global.lines += one.lines;
        }
        // The two sides of cp.async are the same bytes.
        cost.bytes += cost.global.bytes + cost.shared.bytes - c.shared_async.bytes;
        cost
    }
}

impl Profile<'_> {
    /// The tables and the bytes; `when` says which launch it is.
    pub fn render(&self, when: &str) -> String {
        let head = |what: &str| paint(STRONG, format!("     {what}{when}"));
        let lines = self.lines.iter().map(|one| {
            let text = shorten(&plain(&(self.text)(one.line)), 60);
            (format!("{:>6}  {text}", one.line), &one.counters)
        });
        let mut text = format!(
            "{}\n{}",
            head("profile"),
            table("  line  instruction", lines)
        );
        let origins = self.origins();
        if origins.keys().any(Option::is_some) {
            let (title, rows) = origin_rows(&origins);
            let rows = rows.into_iter().zip(origins.values());
            text.push_str(&format!("{}\n{}", head("by source"), table(&title, rows)));
        }
        for (path, value) in self.total().as_object().into_iter().flatten() {
            if let Some(bytes) = value.get("bytes") {
                text.push_str(&format!("{path}: {bytes} bytes\n"));
            } else if path.ends_with("bytes") || path.ends_with("flop") {
                text.push_str(&format!("{path}: {value}\n"));
            }
        }
        text
    }

    /// An object for each instruction that was executed.
    pub fn json_lines(&self) -> Vec<Value> {
        let one = |one: &LineProfile| {
            let mut object = json!({"line": one.line, "text": (self.text)(one.line)});
            if let Some(origin) = (self.origin)(one.line) {
                object["source"] = origin.json();
            }
            counted(object, &one.counters)
        };
        self.lines.iter().map(one).collect()
    }

    /// An object for each origin, those of unknown origin under null; none where none is known.
    pub fn json_sources(&self) -> Vec<Value> {
        let origins = self.origins();
        if !origins.keys().any(Option::is_some) {
            return Vec::new();
        }
        let one = |(origin, counters): (&Option<Origin>, &Counters)| {
            counted(
                json!({"source": origin.as_ref().map(Origin::json)}),
                counters,
            )
        };
        origins.iter().map(one).collect()
    }

    /// Counters by origin, in the order of the sources.
    fn origins(&self) -> BTreeMap<Option<Origin>, Counters> {
        let mut origins: BTreeMap<Option<Origin>, Counters> = BTreeMap::new();
        for one in self.lines {
            let counters = origins.entry((self.origin)(one.line)).or_default();
            counters.add(&one.counters);
        }
        origins
    }

    fn total(&self) -> Value {
        let mut total = Counters::default();
        self.lines.iter().for_each(|one| total.add(&one.counters));
        launch_file::counters(&total)
    }
}

/// The title of a column and the names of its rows: place and operation.
fn origin_rows(origins: &BTreeMap<Option<Origin>, Counters>) -> (String, Vec<String>) {
    let named = |origin: &Option<Origin>| match origin {
        None => ("none".to_owned(), String::new()),
        Some(origin) => {
            let op = origin.op.as_deref().unwrap_or_default();
            (origin.place(), shorten(&plain(op), 60))
        }
    };
    let rows: Vec<(String, String)> = origins.keys().map(named).collect();
    let has_ops = rows.iter().any(|(_, op)| !op.is_empty());
    let widest = rows.iter().map(|(place, _)| place.chars().count()).max();
    let widest = widest.unwrap_or(0).max("source".len());
    let row = |place: &str, op: &str| format!("  {place:<widest$}  {op}").trim_end().to_owned();
    let title = row("source", if has_ops { "tile operation" } else { "" });
    let rows = rows.iter().map(|(place, op)| row(place, op));
    (title, rows.collect())
}

fn counted(mut object: Value, counters: &Counters) -> Value {
    let cost = Cost::of(counters);
    object["executions"] = cost.executions.into();
    object["lanes"] = cost.lanes.into();
    object["bytes"] = cost.bytes.into();
    object["counters"] = launch_file::counters(counters);
    object
}

fn table<'c>(title: &str, rows: impl Iterator<Item = (String, &'c Counters)>) -> String {
    let mut table = Table::new([title].into_iter().chain(COUNTED));
    for (name, counters) in rows {
        table.row([name].into_iter().chain(cells(counters)));
    }
    table.render()
}

fn cells(counters: &Counters) -> [String; 7] {
    let cost = Cost::of(counters);
    let some = |count: u64| {
        if count == 0 {
            String::new()
        } else {
            count.to_string()
        }
    };
    let ratio = |part: u64, whole: u64| {
        if whole == 0 {
            String::new()
        } else {
            format!("{:.1}", part as f64 / whole as f64)
        }
    };
    let requests = cost.global.requests;
    [
        cost.executions.to_string(),
        ratio(100 * cost.lanes, 32 * cost.executions),
        some(cost.shared.wavefronts),
        if cost.shared.requests == 0 {
            String::new()
        } else {
            cost.shared.excess.to_string()
        },
        ratio(cost.global.sectors, requests),
        ratio(cost.global.lines, requests),
        some(cost.bytes),
    ]
}

/// A line of a text, counted from 1, with single blanks only.
pub fn line_of(lines: &[impl AsRef<str>], line: u32) -> String {
    let index = (line as usize).checked_sub(1);
    let line = index.and_then(|index| lines.get(index));
    let words = line.map(|line| line.as_ref().split_whitespace().collect::<Vec<&str>>());
    words.unwrap_or_default().join(" ")
}

/// The first part of a long instruction.
pub fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most - 1).collect();
    format!("{head}…")
}
