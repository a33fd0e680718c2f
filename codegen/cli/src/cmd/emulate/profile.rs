//! The profile of a launch: what each line of PTX cost, and the bytes by path.

use tilewright_emulator::{Counters, GlobalTraffic, LineProfile, SharedTraffic};
use tilewright_runtime::launch_file;

use super::Case;
use super::text::shorten;
use crate::terminal::{STRONG, Table, paint, plain};

const HEADS: [&str; 8] = [
    "  line  instruction",
    "executed",
    "lanes %",
    "wavefronts",
    "excess",
    "sectors/req",
    "lines/req",
    "bytes",
];

/// What a line did to memory: its traffic on both sides, whichever path it took.
pub(super) struct Cost {
    pub executions: u64,
    pub lanes: u64,
    pub shared: SharedTraffic,
    pub global: GlobalTraffic,
    /// Bytes of all paths, those of bulk and tensor copies among them.
    pub bytes: u64,
}

impl Cost {
    pub fn of(counters: &Counters) -> Cost {
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

/// The profile under the first schedule as a table.
pub fn lines(case: &Case) -> String {
    let Some(schedule) = case.first_schedule() else {
        return String::new();
    };
    let mut table = Table::new(HEADS);
    for line in &schedule.profile {
        table.row(cells(case, line));
    }
    let mut total = Counters::default();
    for line in &schedule.profile {
        total.add(&line.counters);
    }
    let head = paint(STRONG, format!("     profile under {}", schedule.name));
    let mut text = format!("{head}\n{}", table.render());
    for (path, value) in launch_file::counters(&total)
        .as_object()
        .into_iter()
        .flatten()
    {
        if let Some(bytes) = value.get("bytes") {
            text.push_str(&format!("{path}: {bytes} bytes\n"));
        } else if path.ends_with("bytes") || path.ends_with("flop") {
            text.push_str(&format!("{path}: {value}\n"));
        }
    }
    text
}

fn cells(case: &Case, line: &LineProfile) -> [String; 8] {
    let cost = Cost::of(&line.counters);
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
        format!(
            "{:>6}  {}",
            line.line,
            shorten(&plain(&case.line(line.line)), 60)
        ),
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
