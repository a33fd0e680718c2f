//! Findings as SARIF 2.1.0, which code scanning services show beside the text.
//!
//! A finding is a result of the rule with its id, at its line of the PTX file, with the other side
//! of a race as a related location. Its fingerprint does not change when other lines do. A wrong
//! buffer is a result of the rule `wrong_bytes`; a launch file that could not be run is a
//! notification.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, Message, MultiformatMessageString, Notification,
    PhysicalLocation, PropertyBag, Region, ReportingConfiguration, ReportingDescriptor, Result,
    ResultLevel, Run, SCHEMA_URL, Sarif, Tool, ToolComponent,
};
use tilewright_emulator::FindingId;
use tilewright_lab::launch_file::{Outcome, Summary};

use super::Case;

const WRONG_BYTES: &str = "wrong_bytes";

/// The log of all cases as indented JSON.
pub fn log(cases: &[Case]) -> serde_json::Result<String> {
    let mut results = Vec::new();
    let mut notifications = Vec::new();
    for case in cases {
        match &case.result {
            Ok(outcome) => results.extend(of_case(case, outcome)),
            Err(reason) => notifications.push(could_not_run(case, reason)),
        }
    }
    let invocation = Invocation::builder()
        .execution_successful(notifications.is_empty())
        .tool_execution_notifications(notifications)
        .build();
    let driver = ToolComponent::builder()
        .name("tilewright")
        .version(env!("CARGO_PKG_VERSION"))
        .information_uri(env!("CARGO_PKG_REPOSITORY"))
        .rules(rules())
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .invocations(vec![invocation])
        .results(results)
        .build();
    let log = Sarif::builder()
        .schema(SCHEMA_URL)
        .version(json!("2.1.0"))
        .runs(vec![run])
        .build();
    let mut text = serde_json::to_string_pretty(&log)?;
    text.push('\n');
    Ok(text)
}

fn rules() -> Vec<ReportingDescriptor> {
    let rule = |id: &str, level: &str, summary: &str| {
        let text = MultiformatMessageString::builder().text(summary).build();
        let configuration = ReportingConfiguration::builder()
            .level(json!(level))
            .build();
        ReportingDescriptor::builder()
            .id(id)
            .short_description(text)
            .default_configuration(configuration)
            .build()
    };
    let found = FindingId::ALL
        .iter()
        .map(|id| rule(id.as_str(), sarif_level(id.level().as_str()), id.summary()));
    let wrong = "A buffer does not hold what the launch file expects.";
    found.chain([rule(WRONG_BYTES, "error", wrong)]).collect()
}

/// SARIF's word for a level.
fn sarif_level(level: &str) -> &'static str {
    match level {
        "error" => "error",
        "warning" => "warning",
        _ => "note",
    }
}

fn of_case(case: &Case, outcome: &Outcome) -> Vec<Result> {
    let found = outcome.findings();
    let mut results: Vec<Result> = found.iter().map(|one| of_finding(case, one)).collect();
    for buffer in outcome.buffers.iter().filter(|buffer| !buffer.passed) {
        let result = Result::builder()
            .rule_id(WRONG_BYTES)
            .level(ResultLevel::Error)
            .message(Message::builder().text(buffer.to_string()).build())
            .locations(vec![location(case, 1, None)])
            .partial_fingerprints(fingerprint(&[WRONG_BYTES, &case.id, &buffer.name]))
            .build();
        results.push(result);
    }
    results
}

fn of_finding(case: &Case, summary: &Summary<'_>) -> Result {
    let one = summary.finding;
    let level = match one.level {
        "error" => ResultLevel::Error,
        "warning" => ResultLevel::Warning,
        _ => ResultLevel::Note,
    };
    let related = one.other.as_ref().map(|other| {
        let text = match (other.cta, other.warp, other.lanes) {
            (Some([x, y, z]), Some(warp), Some(lanes)) => {
                format!("the other access: cta ({x},{y},{z}), warp {warp}, lanes {lanes:#010x}")
            }
            _ => "the other access: an asynchronous operation issued here".to_owned(),
        };
        location(case, other.line, Some(text))
    });
    let text = case.line(one.line);
    let other = one.other.as_ref().map(|other| case.line(other.line));
    let other = other.unwrap_or_default();
    Result::builder()
        .rule_id(one.id.as_str())
        .level(level)
        .message(Message::builder().text(one.message.as_str()).build())
        .locations(vec![location(case, one.line, None)])
        .related_locations(related.into_iter().collect::<Vec<Location>>())
        .partial_fingerprints(fingerprint(&[&one.id, &case.id, &text, &other]))
        .properties(properties(
            json!({"case": case.id, "kernel": one.kernel, "cta": one.cta,
            "warp": one.warp, "lanes": one.lanes, "space": one.space, "buffer": one.buffer,
            "offset_bytes": one.offset_bytes, "count": one.count,
            "schedules": summary.schedules}),
        ))
        .build()
}

fn properties(value: Value) -> PropertyBag {
    let pairs = value.as_object().cloned().unwrap_or_default();
    let kept = pairs.into_iter().filter(|(_, value)| !value.is_null());
    PropertyBag::builder()
        .additional_properties(kept.collect::<BTreeMap<String, Value>>())
        .build()
}

/// What stays the same when lines are added elsewhere.
fn fingerprint(parts: &[&str]) -> BTreeMap<String, String> {
    BTreeMap::from([("tilewright/v1".to_owned(), parts.join(":"))])
}

fn location(case: &Case, line: u32, message: Option<String>) -> Location {
    let file = case
        .manifest
        .parent()
        .map(|folder| folder.join("../..").join(&case.ptx));
    let path = file.and_then(|file| file.canonicalize().ok());
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let uri = match (path, here) {
        (Some(path), Ok(here)) => path
            .strip_prefix(here)
            .unwrap_or(&path)
            .display()
            .to_string(),
        _ => case.ptx.clone(),
    };
    let artifact = ArtifactLocation::builder().uri(uri).build();
    let region = Region::builder().start_line(i64::from(line.max(1))).build();
    let physical = PhysicalLocation::builder()
        .artifact_location(artifact)
        .region(region)
        .build();
    let mut location = Location::builder().physical_location(physical).build();
    location.message = message.map(|text| Message::builder().text(text).build());
    location
}

fn could_not_run(case: &Case, reason: &str) -> Notification {
    Notification::builder()
        .level(json!("error"))
        .message(
            Message::builder()
                .text(format!("{}: {reason}", case.id))
                .build(),
        )
        .build()
}
