//! The problems of a capture run again, and every output compared with what the capture has.

use serde::Serialize;

use super::row::{Row, hex};
use crate::verify::{Attempt, Data, Outcome, Trace, turn};
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Runtime;

/// What became of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "snake_case")]
pub enum Verdict {
    /// Every output has the bytes of the capture.
    Equal,
    /// An output has other bytes: which, and how it begins.
    Differs(String),
    /// The kernel failed here, and its outputs are not to be compared or are wrong on both devices.
    Failed(String),
    /// The seed does not give the inputs that were captured.
    OtherInputs(String),
    /// The bundle has no such kernel any more.
    Gone(String),
}

/// One row, replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The kernel's id.
    pub kernel: String,
    /// The problem, as text.
    pub problem: String,
    /// What the inputs held.
    pub inputs: String,
    /// Whether the capture was made from other PTX than the bundle has.
    pub stale: bool,
    /// What became of it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// All rows of a capture, replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// In the order of the capture.
    pub rows: Vec<Replayed>,
}

impl Replay {
    fn count(&self, is_one: impl Fn(&Replayed) -> bool) -> usize {
        self.rows.iter().filter(|row| is_one(row)).count()
    }

    /// Rows that are equal and whose PTX is that of the capture.
    pub fn equal(&self) -> usize {
        self.count(|row| row.verdict == Verdict::Equal && !row.stale)
    }

    /// Rows that are equal although the capture was made from other PTX.
    pub fn stale(&self) -> usize {
        self.count(|row| row.verdict == Verdict::Equal && row.stale)
    }

    /// Rows whose kernel is no longer in the bundle.
    pub fn gone(&self) -> usize {
        self.count(|row| matches!(row.verdict, Verdict::Gone(_)))
    }

    /// Rows that differ, failed, or could not be given their inputs.
    pub fn bad(&self) -> usize {
        self.rows.len() - self.equal() - self.stale() - self.gone()
    }

    /// Whether nothing is bad, and something was compared whose PTX is that of the capture.
    pub fn is_good(&self) -> bool {
        self.bad() == 0 && self.equal() > 0
    }
}

/// Runs every row's problem on the runtime's device, reporting each row as it comes.
///
/// # Errors
/// When the device itself fails, and nothing more can be learned from it.
pub fn replay(
    runtime: &Runtime,
    rows: &[Row],
    mut report: impl FnMut(&Replayed),
) -> Result<Replay, Error> {
    let mut replay = Replay::default();
    for (at, row) in rows.iter().enumerate() {
        let replayed = one(runtime, row)?;
        report(&replayed);
        replay.rows.push(replayed);
        let next = rows.get(at + 1).map(|next| &next.kernel);
        if let Some(kernel) = runtime.bundle().kernel(&row.kernel)
            && next != Some(&row.kernel)
        {
            runtime.unload(kernel);
        }
    }
    Ok(replay)
}

fn one(runtime: &Runtime, row: &Row) -> Result<Replayed, Error> {
    let mut replayed = Replayed {
        kernel: row.kernel.clone(),
        problem: row.problem().to_string(),
        inputs: row.inputs.clone(),
        stale: false,
        verdict: Verdict::Equal,
    };
    let Some(kernel) = runtime.bundle().kernel(&row.kernel) else {
        replayed.verdict = Verdict::Gone("the bundle has no kernel of this name".to_owned());
        return Ok(replayed);
    };
    replayed.stale = kernel.ptx.sha256 != row.ptx_sha256;
    if let Err(reason) = row.same_operands(kernel) {
        replayed.verdict = Verdict::Gone(reason);
        return Ok(replayed);
    }
    let Some(data) = Data::from_text(&row.inputs) else {
        let inputs = &row.inputs;
        replayed.verdict = Verdict::OtherInputs(format!(
            "the capture has inputs {inputs:?}, which this program does not make"
        ));
        return Ok(replayed);
    };
    let (seed, device) = turn(runtime.device(), row.seed, row.index);
    // The tensor cores of the GPU that wrote the row, whatever the kernel was made for.
    let device = match (device, row.sm) {
        (Device::Emulator(emulated), Some(sm)) => Device::Emulator(emulated.with_tensor_cores(sm)),
        (device, _) => device,
    };
    // What a GPU wrote was judged when it was captured.
    let is_known =
        |trace: &Trace| trace.inputs == row.inputs_sha256 && differences(row, trace).is_empty();
    let attempt = Attempt {
        is_known: Some(&is_known),
        ..Attempt::traced(runtime, kernel, data, seed, &device)
    };
    let outcome = attempt.run(|device| row.case(kernel, device))?;
    replayed.verdict = judge(row, &outcome);
    Ok(replayed)
}

/// Compares what happened with what the row has.
fn judge(row: &Row, outcome: &Outcome) -> Verdict {
    let failure = outcome.failure.as_deref();
    let Some(trace) = &outcome.trace else {
        return Verdict::Failed(failure.unwrap_or("it left no outputs").to_owned());
    };
    if trace.inputs != row.inputs_sha256 {
        return Verdict::OtherInputs(format!(
            "seed {} gives inputs of hash {}, the capture has {}: inputs are made \
             otherwise now, capture again",
            row.seed, trace.inputs, row.inputs_sha256
        ));
    }
    let differences = differences(row, trace);
    match (differences.is_empty(), failure) {
        (true, None) => Verdict::Equal,
        (true, Some(failure)) => Verdict::Failed(failure.to_owned()),
        (false, None) => Verdict::Differs(differences.join("; ")),
        (false, Some(failure)) => {
            Verdict::Differs(format!("{}; {failure}", differences.join("; ")))
        }
    }
}

/// Every output that is not as captured.
fn differences(row: &Row, trace: &Trace) -> Vec<String> {
    let mut differences = Vec::new();
    if trace.outputs.len() != row.outputs.len() {
        differences.push(format!(
            "{} outputs are written, the capture has {}",
            trace.outputs.len(),
            row.outputs.len()
        ));
    }
    for (now, was) in trace.outputs.iter().zip(&row.outputs) {
        let same = now.operand == was.name && now.bytes == was.bytes && now.sha256 == was.sha256;
        if !same {
            differences.push(format!(
                "`{}`: {} bytes of hash {} beginning {}, captured as `{}`: {} bytes of hash {} \
                 beginning {}",
                now.operand,
                now.bytes,
                now.sha256,
                hex(&now.head),
                was.name,
                was.bytes,
                was.sha256,
                was.head
            ));
        }
    }
    differences
}
