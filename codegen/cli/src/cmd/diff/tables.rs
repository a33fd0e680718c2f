//! What measured tables choose, problem by problem.

use std::collections::BTreeMap;

use tilewright_bundle::Tuning;

/// A problem of a table, as it is told.
type Problem = (String, String, Vec<i64>, Vec<Vec<i64>>);
/// The fastest kernel of a problem, and its time in microseconds.
type Fastest = (String, f64);

/// What moved of the choices: kernel and time, and the ratio of the times.
pub fn moved(before: Option<&Tuning>, after: Option<&Tuning>) -> Vec<String> {
    let (old, new) = (choices(before), choices(after));
    let mut lines = Vec::new();
    for (problem, was) in &old {
        let (device, function, extents, strides) = problem;
        let extents: Vec<String> = extents.iter().map(i64::to_string).collect();
        let strides: Vec<String> = strides.iter().map(|of| told(of)).collect();
        let place = format!(
            "{device}, {function:.12}, {}{}",
            extents.join("x"),
            strides.concat()
        );
        match new.get(problem) {
            None => lines.push(format!(
                "{place}: {} {:.2} us -> not measured",
                was.0, was.1
            )),
            Some(is) if is != was => lines.push(format!(
                "{place}: {} {:.2} us -> {} {:.2} us ({:.3})",
                was.0,
                was.1,
                is.0,
                is.1,
                was.1 / is.1
            )),
            Some(_) => {}
        }
    }
    let come = new
        .keys()
        .filter(|problem| !old.contains_key(*problem))
        .count();
    if come > 0 {
        lines.push(format!(
            "{come} problems were measured that were not before"
        ));
    }
    lines
}

/// An operand's strides, as they stand behind the extents.
fn told(strides: &[i64]) -> String {
    let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
    format!(" ({})", strides.join(","))
}

fn choices(tuning: Option<&Tuning>) -> BTreeMap<Problem, Fastest> {
    let mut found = BTreeMap::new();
    for table in tuning.iter().flat_map(|tuning| &tuning.tables) {
        for point in &table.points {
            if let Some(first) = point.choices.first() {
                let function = table.function.to_string();
                let (extents, strides) = (point.extents.clone(), point.strides.clone());
                let problem = (table.device.name.clone(), function, extents, strides);
                found.insert(problem, (first.kernel.clone(), first.us));
            }
        }
    }
    found
}
