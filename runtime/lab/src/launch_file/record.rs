//! What the emulator reports, in a form that can be written as JSON.

use serde::Serialize;
use tilewright_emulator::{
    Counters, Finding, GlobalTraffic, InstClass, LineProfile, OtherSide, Report, SharedTraffic,
    TraceStep,
};

use crate::rules::RulesRecord;

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRecord {
    /// Its stable id.
    pub id: String,
    /// error, warning or info.
    pub level: &'static str,
    /// The kernel.
    pub kernel: String,
    /// The function with the instruction.
    pub function: String,
    /// The line of the PTX file.
    pub line: u32,
    /// The CTA of the first occurrence.
    pub cta: [u32; 3],
    /// The warp of the first occurrence.
    pub warp: u32,
    /// The lanes of the first occurrence.
    pub lanes: u32,
    /// The state space, when an address is concerned.
    pub space: Option<&'static str>,
    /// The buffer or variable nearest to the address.
    pub buffer: Option<String>,
    /// The offset from its start.
    pub offset_bytes: Option<i64>,
    /// The address.
    pub address: Option<u64>,
    /// The earlier access, when two are in conflict.
    pub other: Option<OtherRecord>,
    /// What happened.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// The earlier access of a conflict.
#[derive(Clone, Debug, Serialize)]
pub struct OtherRecord {
    /// The line of the PTX file.
    pub line: u32,
    /// The CTA; `None` when an asynchronous operation made the access, as for the two that follow.
    pub cta: Option<[u32; 3]>,
    /// The warp.
    pub warp: Option<u32>,
    /// The lanes.
    pub lanes: Option<u32>,
}

impl From<&OtherSide> for OtherRecord {
    fn from(other: &OtherSide) -> OtherRecord {
        OtherRecord {
            line: other.line,
            cta: other.by.map(|by| by.cta),
            warp: other.by.map(|by| by.warp),
            lanes: other.by.map(|by| by.lanes),
        }
    }
}

impl From<&Finding> for FindingRecord {
    fn from(finding: &Finding) -> FindingRecord {
        let location = finding.location.as_ref();
        FindingRecord {
            id: finding.id.as_str().to_owned(),
            level: finding.level.as_str(),
            kernel: finding.kernel.clone(),
            function: finding.function.clone(),
            line: finding.line,
            cta: finding.cta,
            warp: finding.warp,
            lanes: finding.lanes,
            space: location.map(|location| location.space.as_str()),
            buffer: location.and_then(|location| location.buffer.clone()),
            offset_bytes: location.map(|location| location.offset_bytes),
            address: location.map(|location| location.address),
            other: finding.other.as_ref().map(OtherRecord::from),
            message: finding.message.clone(),
            count: finding.count,
        }
    }
}

/// What one schedule gave.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleOutcome {
    /// Its name, such as `round-robin/late`.
    pub name: String,
    /// Whether a buffer was wrong.
    pub wrong_bytes: bool,
    /// What was found.
    pub findings: Vec<FindingRecord>,
    /// The same as the emulator gives it.
    #[serde(skip)]
    pub found: Vec<Finding>,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Lanes of all warp instructions.
    pub thread_instructions: u64,
    /// The emulator's counters.
    pub counters: serde_json::Value,
    /// Whose tensor cores summed, where a sum is an architecture's own.
    pub tensor_cores: Option<RulesRecord>,
    /// What each instruction did, when the options ask for it.
    #[serde(skip)]
    pub profile: Vec<LineProfile>,
    /// The steps of the warp that the options ask for.
    #[serde(skip)]
    pub trace: Vec<TraceStep>,
}

impl ScheduleOutcome {
    pub(super) fn new(name: String, report: Report, wrong_bytes: bool) -> ScheduleOutcome {
        ScheduleOutcome {
            name,
            wrong_bytes,
            findings: report.findings.iter().map(FindingRecord::from).collect(),
            found: report.findings,
            warp_instructions: report.warp_instructions,
            thread_instructions: report.thread_instructions,
            counters: counters(&report.counters),
            tensor_cores: report.tensor_cores.map(RulesRecord::from),
            profile: report.profile,
            trace: report.trace,
        }
    }
}

/// The counters as an object; what is zero is left out.
pub fn counters(counters: &Counters) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    for class in InstClass::ALL {
        let count = counters.class(class);
        if count.executions > 0 {
            let value = serde_json::json!({"executions": count.executions, "lanes": count.lanes});
            object.insert(class.as_str().to_owned(), value);
        }
    }
    for (name, amount, value) in traffic(counters) {
        if amount > 0 {
            object.insert(name.to_owned(), value);
        }
    }
    object.into()
}

/// Name, a number that is zero when there is nothing to say, and what to say.
type Part = (&'static str, u64, serde_json::Value);

fn traffic(c: &Counters) -> [Part; 15] {
    let on_global = |name, t: &GlobalTraffic| (name, t.requests, global(t));
    let on_shared = |name, t: &SharedTraffic| (name, t.requests, shared(t));
    [
        on_global("global_load", &c.global_load),
        on_global("global_store", &c.global_store),
        on_global("global_atomic", &c.global_atomic),
        on_global("async_copy_global", &c.async_copy),
        on_shared("shared_load", &c.shared_load),
        on_shared("shared_store", &c.shared_store),
        on_shared("async_copy_shared", &c.shared_async),
        on_shared("ldmatrix", &c.shared_ldmatrix),
        on_shared("stmatrix", &c.shared_stmatrix),
        on_shared("shared_atomic", &c.shared_atomic),
        ("local_bytes", c.local_bytes, c.local_bytes.into()),
        ("mma_flop", c.mma_flop, c.mma_flop.into()),
        ("bulk_bytes", c.bulk_bytes, c.bulk_bytes.into()),
        ("tensor_bytes", c.tensor_bytes, c.tensor_bytes.into()),
        ("barrier_waits", c.barrier_waits, c.barrier_waits.into()),
    ]
}

fn global(traffic: &GlobalTraffic) -> serde_json::Value {
    serde_json::json!({"requests": traffic.requests, "bytes": traffic.bytes,
        "sectors": traffic.sectors, "lines": traffic.lines})
}

fn shared(traffic: &SharedTraffic) -> serde_json::Value {
    serde_json::json!({"requests": traffic.requests, "bytes": traffic.bytes,
        "wavefronts": traffic.wavefronts, "excess": traffic.excess})
}
