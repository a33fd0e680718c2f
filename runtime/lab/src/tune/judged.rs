//! Whether a line is a record that a tuner wrote: every key, every value, all problems at once.
//!
//! In: a line, and the kernels of the bundle that is tuned. Out: the record, or what is wrong with
//! the line: each key with its value and what is allowed. Records of kernels that are in the bundle
//! are compared with those; of others, that came and went, the names are not known.

mod keys;

use std::collections::HashMap;
use std::fmt::Display;

use serde_json::Value;
use tilewright_bundle::{DType, Kernel, MAX_TUNED_STRIDE};

use super::record::{Outcome, Record};
use crate::bench::Letters;
use tilewright_runtime::MAX_EXTENT;

/// What times of the emulator are.
const INSTRUCTIONS: &str = "thread instructions";
/// Longest value that is told.
const VALUE_CHARS: usize = 60;
/// Longest text of a record, but for the detail.
const MOST_TEXT: usize = 1000;
/// Longest time of a launch, in microseconds or instructions.
const MOST_TIME: f64 = 1e15;
/// Largest ratio, rate, spread and clock.
const MOST: f64 = 1e9;
/// Most axes of an operand.
const MOST_AXES: usize = tilewright_bundle::MAX_AXES;

/// What is wrong with a line, one text for each key.
pub(super) type Faults = Vec<String>;

/// A number of a record, with the least and the most that is allowed.
type Number = (&'static str, fn(&Record) -> Option<f64>, f64, f64);

/// The numbers; the time of the kernel has rules of its own.
const NUMBERS: [Number; 18] = [
    ("sm", |r| r.sm.map(f64::from), 10.0, 999.0),
    ("sms", |r| Some(f64::from(r.sms)), 1.0, 1e5),
    (
        "sm_clock_mhz",
        |r| r.row.sm_clock_mhz.map(f64::from),
        0.0,
        1e6,
    ),
    ("power_w", |r| r.row.power_w, 0.0, 1e6),
    ("default_us", |r| r.row.default_us, 0.0, MOST_TIME),
    ("best_us", |r| Some(r.row.best_us), 0.0, MOST_TIME),
    ("ratio_default", |r| r.row.ratio_default, 0.0, MOST),
    ("ratio_best", |r| Some(r.row.ratio_best), 0.0, MOST),
    ("aa_ratio", |r| r.row.aa_ratio, 0.0, MOST),
    ("tflops", |r| Some(r.row.tflops), 0.0, MOST),
    ("tbps", |r| Some(r.row.tbps), 0.0, MOST),
    // An error that has no end is written as the largest number.
    ("rel_err", |r| Some(r.row.rel_err), 0.0, f64::MAX),
    ("max_err", |r| Some(r.row.max_err), 0.0, f64::MAX),
    ("rounds", |r| Some(r.row.rounds as f64), 0.0, MOST),
    ("spread", |r| Some(r.row.spread), 0.0, MOST),
    ("ratio_spread", |r| Some(r.row.ratio_spread), 0.0, MOST),
    ("aa_spread", |r| r.row.aa_spread, 0.0, MOST),
    ("candidates", |r| Some(r.row.candidates as f64), 0.0, MOST),
];

/// What records are judged by.
#[derive(Debug, Default)]
pub(super) struct Judge<'b> {
    /// The kernels of the bundle, by content hash.
    kernels: HashMap<&'b str, &'b Kernel>,
}

impl<'b> Judge<'b> {
    pub(super) fn of(kernels: &'b [Kernel]) -> Judge<'b> {
        let kernels = kernels.iter();
        Judge {
            kernels: kernels.map(|k| (k.content_hash.as_str(), k)).collect(),
        }
    }

    /// The record that a line is, or all that is wrong with it.
    pub(super) fn record(&self, line: &[u8]) -> Result<Record, Faults> {
        let value: Value = serde_json::from_slice(line).map_err(|e| vec![e.to_string()])?;
        let Value::Object(object) = &value else {
            return Err(vec![format!("{} is no object", shown(&value))]);
        };
        let mut faults = keys::unknown(object);
        match serde_json::from_slice::<Record>(line) {
            Err(error) => {
                let mistyped = keys::mistyped(object);
                if mistyped.is_empty() {
                    faults.push(error.to_string());
                }
                faults.extend(mistyped);
                // The values of all other keys are told with it.
                let (record, taken) = keys::mended(object);
                let mut others = Vec::new();
                if let Some(record) = record {
                    self.judge(&record, &mut others);
                }
                faults.extend(others.into_iter().filter(|text| taken.can_tell(text)));
            }
            Ok(record) => {
                self.judge(&record, &mut faults);
                if faults.is_empty() {
                    return Ok(record);
                }
            }
        }
        Err(faults)
    }

    fn judge(&self, record: &Record, faults: &mut Faults) {
        outcome(record, faults);
        texts(record, faults);
        device(record, faults);
        for (key, value, least, most) in NUMBERS {
            if let Some(value) = value(record).filter(|v| !(least..=most).contains(v)) {
                faults.push(fault(
                    key,
                    value,
                    &format!("{least:e} to {most:e} is allowed"),
                ));
            }
        }
        problem(record, faults);
        if let Some(kernel) = self.kernels.get(record.content_hash.as_str()) {
            of_kernel(record, kernel, faults);
        }
    }
}

/// One thing that is wrong.
fn fault(key: &str, value: impl Display, allowed: &str) -> String {
    format!("`{key}` is {value}: {allowed}")
}

/// A value as JSON, as much of it as is read.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.chars().nth(VALUE_CHARS) {
        None => text,
        Some(_) => text.chars().take(VALUE_CHARS).chain(['…']).collect(),
    }
}

fn quoted(text: &str) -> String {
    shown(&Value::from(text))
}

/// What an outcome asks for, and what it excludes.
fn outcome(record: &Record, faults: &mut Faults) {
    let dropped = record.outcome == Outcome::Dropped;
    let said = [
        (
            "reason",
            record.reason.map(|reason| reason.text().to_owned()),
        ),
        ("detail", record.detail.clone()),
    ];
    for (key, value) in said {
        match value {
            None if dropped => {
                faults.push(format!("`{key}` is missing: what was dropped has one"));
            }
            Some(text) if !dropped => {
                faults.push(fault(key, quoted(&text), "what was not dropped has none"))
            }
            _ => {}
        }
    }
    let us = record.row.ours_us;
    let is_timed = us > 0.0 || dropped && us == 0.0;
    if !is_timed || us > MOST_TIME {
        let least = if dropped { "0" } else { "more than 0" };
        faults.push(fault(
            "ours_us",
            us,
            &format!("{least} and at most {MOST_TIME:e} is allowed"),
        ));
    }
}

/// The texts that have one of some spellings, and the lengths of all.
fn texts(record: &Record, faults: &mut Faults) {
    let row = &record.row;
    let is_hash = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    let hash = record.content_hash.as_bytes();
    if hash.len() != 64 || !hash.iter().all(is_hash) {
        let allowed = "64 lower-case hexadecimal digits are allowed";
        faults.push(fault("content_hash", quoted(&record.content_hash), allowed));
    }
    let layout = row.layout.as_str();
    if !["", "row"].contains(&layout) && layout.parse::<Letters>().is_err() {
        faults.push(fault(
            "layout",
            quoted(layout),
            "TN, NN, NT, TT and row are allowed",
        ));
    }
    let types = &row.dtype;
    let types = [
        ("dtype.a", &types.a),
        ("dtype.b", &types.b),
        ("dtype.c", &types.c),
        ("dtype.d", &types.d),
        ("dtype.acc", &types.acc),
    ];
    for (key, word) in types {
        if let Some(word) = word
            .as_ref()
            .filter(|word| DType::from_text(word).is_none())
        {
            faults.push(fault(
                key,
                quoted(word),
                "an element type such as bf16 is allowed",
            ));
        }
    }
    let some = |text: &Option<String>| text.clone().unwrap_or_default();
    let lines = [
        ("date", row.date.clone(), false),
        ("commit", row.commit.clone(), false),
        ("gpu", row.gpu.clone(), true),
        ("driver", row.driver.clone(), false),
        ("cublaslt", some(&row.cublaslt), false),
        ("ptxas", row.ptxas.clone(), false),
        ("family", row.family.clone(), true),
        ("kernel", row.kernel.clone(), true),
        ("peer", row.peer.clone(), false),
        ("peer_version", some(&row.peer_version), false),
        ("bound", some(&row.bound), false),
    ];
    for (key, text, is_needed) in lines {
        let is_line = text.len() <= MOST_TEXT && !text.chars().any(char::is_control);
        if !is_line || is_needed && text.is_empty() {
            let least = if is_needed { "1" } else { "0" };
            let allowed = format!("one line of {least} to {MOST_TEXT} bytes is allowed");
            faults.push(fault(key, quoted(&text), &allowed));
        }
    }
}

/// Whether backend, capability and unit are those of one device.
fn device(record: &Record, faults: &mut Faults) {
    let backend = record.backend.as_str();
    if !["cuda", "emulator"].contains(&backend) {
        faults.push(fault(
            "backend",
            quoted(backend),
            "cuda and emulator are allowed",
        ));
    }
    if backend == "cuda" && record.sm.is_none() {
        faults.push(fault(
            "sm",
            "null",
            "a GPU has a compute capability such as 90",
        ));
    }
    if let Some(unit) = &record.unit {
        let allowed = match backend {
            "emulator" => format!("{INSTRUCTIONS} is allowed"),
            _ => "times of a GPU have none, and are microseconds".to_owned(),
        };
        if backend != "emulator" || unit != INSTRUCTIONS {
            faults.push(fault("unit", quoted(unit), &allowed));
        }
    }
}

/// Extents, strides and scalars, as far as they can be judged without the kernel.
fn problem(record: &Record, faults: &mut Faults) {
    let problem = &record.row.problem;
    let [m, n, k, batch] = [problem.m, problem.n, problem.k, problem.batch];
    let named = [("m", m), ("n", n), ("k", k), ("batch", batch)];
    let more = problem
        .more
        .iter()
        .map(|(name, extent)| (name.as_str(), *extent));
    for (name, extent) in named.into_iter().chain(more) {
        if !(1..=MAX_EXTENT).contains(&extent) {
            let key = format!("problem.{name}");
            faults.push(fault(
                &key,
                extent,
                &format!("1 to {MAX_EXTENT} is allowed"),
            ));
        }
    }
    for (operand, strides) in &problem.strides {
        let far = strides
            .iter()
            .find(|s| !(0..=MAX_TUNED_STRIDE).contains(*s));
        let key = format!("problem.strides.{operand}");
        if let Some(far) = far {
            let allowed = format!("0 to {MAX_TUNED_STRIDE} is allowed");
            faults.push(fault(&key, far, &allowed));
        }
        if strides.len() > MOST_AXES {
            let allowed = format!("at most {MOST_AXES} strides are allowed");
            faults.push(fault(&key, format!("{} strides", strides.len()), &allowed));
        }
    }
    for (scalar, text) in &problem.scalars {
        if !text.parse::<f64>().is_ok_and(f64::is_finite) {
            let key = format!("problem.scalars.{scalar}");
            faults.push(fault(&key, quoted(text), "a number as text is allowed"));
        }
    }
}

/// Whether a record names what the kernel has that it is of.
fn of_kernel(record: &Record, kernel: &Kernel, faults: &mut Faults) {
    let (row, semantics) = (&record.row, &kernel.semantics);
    let same = [
        ("kernel", &row.kernel, &kernel.id),
        ("family", &row.family, &kernel.kernel),
    ];
    for (key, said, own) in same {
        if said != own {
            let allowed = format!("the kernel of this content hash has {}", quoted(own));
            faults.push(fault(key, quoted(said), &allowed));
        }
    }
    let list = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let extents: Vec<&str> = kernel.names.extents().map(|(_, name)| name).collect();
    for (name, extent) in &row.problem.more {
        if !extents.contains(&name.as_str()) {
            let allowed = format!("extents of {} are {}", kernel.id, list(extents.clone()));
            faults.push(fault(&format!("problem.{name}"), extent, &allowed));
        }
    }
    let operands = semantics
        .operands
        .iter()
        .filter(|operand| operand.packed.is_none());
    let ranks: Vec<(&str, usize)> = operands
        .map(|operand| (operand.name.as_str(), operand.layout.stride.len()))
        .collect();
    for (name, strides) in &row.problem.strides {
        let rank = ranks.iter().find(|(operand, _)| operand == name);
        if rank.is_none_or(|(_, rank)| strides.len() != *rank) {
            let each = ranks
                .iter()
                .map(|(operand, rank)| format!("{operand} ({rank})"));
            let each: Vec<String> = each.collect();
            let allowed = format!(
                "operands of {} have strides: {}",
                kernel.id,
                each.join(", ")
            );
            let value = shown(&Value::from(strides.clone()));
            faults.push(fault(&format!("problem.strides.{name}"), value, &allowed));
        }
    }
    let scalars: Vec<&str> = semantics
        .scalars
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    for (name, value) in &row.problem.scalars {
        if !scalars.contains(&name.as_str()) {
            let allowed = format!("scalars of {} are {}", kernel.id, list(scalars.clone()));
            faults.push(fault(
                &format!("problem.scalars.{name}"),
                quoted(value),
                &allowed,
            ));
        }
    }
}
