//! What came of a launch file, for a program: JSON lines, each with an `event`.
//!
//! `finding`, `schedule`, `buffer`, `step`, `line` and `source` belong to the case they name;
//! `case` closes it, and `summary` is the last line.

use std::io;

use serde_json::{Value, json};
use tilewright_emulator::TraceStep;
use tilewright_lab::launch_file::ScheduleOutcome;

use super::Case;
use crate::terminal;

/// Prints all lines of a case.
pub fn print(case: &Case) -> io::Result<()> {
    let mut reasons: &[String] = &[];
    if let Ok(outcome) = &case.result {
        for schedule in &outcome.schedules {
            print_schedule(case, schedule)?;
        }
        for buffer in &outcome.buffers {
            line("buffer", case, serde_json::to_value(buffer)?)?;
        }
        reasons = &outcome.reasons;
    }
    let manifest = case.manifest.display().to_string();
    let value = json!({"manifest": manifest, "ptx": case.ptx, "passed": case.passed(),
        "error": case.result.as_ref().err(), "reasons": reasons});
    line("case", case, value)
}

fn print_schedule(case: &Case, schedule: &ScheduleOutcome) -> io::Result<()> {
    let name = &schedule.name;
    let of_schedule = |mut value: Value| {
        if let Some(object) = value.as_object_mut() {
            object.insert("schedule".to_owned(), name.as_str().into());
        }
        value
    };
    for finding in &schedule.findings {
        let mut value = serde_json::to_value(finding)?;
        if let Some(origin) = case.origin(finding.line) {
            value["source"] = origin.json();
        }
        line("finding", case, of_schedule(value))?;
    }
    for step in &schedule.trace {
        line("step", case, of_schedule(self::step(case, step)))?;
    }
    let (lines, sources) = case.profiled(schedule, |profile| {
        (profile.json_lines(), profile.json_sources())
    });
    for one in lines {
        line("line", case, of_schedule(one))?;
    }
    for one in sources {
        line("source", case, of_schedule(one))?;
    }
    let value = json!({"wrong_bytes": schedule.wrong_bytes,
        "warp_instructions": schedule.warp_instructions,
        "thread_instructions": schedule.thread_instructions,
        "tensor_cores": schedule.tensor_cores,
        "counters": schedule.counters});
    line("schedule", case, of_schedule(value))
}

fn step(case: &Case, step: &TraceStep) -> Value {
    let operands: Vec<Value> = step
        .operands
        .iter()
        .map(|one| json!({"name": one.name, "before": one.before, "after": one.after}))
        .collect();
    json!({"line": step.line, "text": case.line(step.line), "lanes": step.lanes,
        "active": step.active, "waits": step.waits, "operands": operands})
}

/// The last line of all.
pub fn print_summary(passed: usize, failed: usize) -> io::Result<()> {
    terminal::print_line(
        &json!({"event": "summary", "passed": passed, "failed": failed}).to_string(),
    )
}

/// One line: what it is, whose it is, and the rest.
fn line(event: &str, case: &Case, value: Value) -> io::Result<()> {
    let mut object = serde_json::Map::new();
    object.insert("event".to_owned(), event.into());
    object.insert("case".to_owned(), case.id.as_str().into());
    if let Value::Object(rest) = value {
        object.extend(rest);
    }
    terminal::print_line(&Value::Object(object).to_string())
}
