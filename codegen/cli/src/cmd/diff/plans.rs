//! The plans of two specs: their points in their order, each decision a line.

use std::path::Path;

use super::lines;
use crate::outcome::Failure;
use crate::specs;

/// What moved of the plans.
pub fn moved(before: &Path, after: &Path) -> Result<Vec<String>, Failure> {
    let [old, new] = [plans(before)?, plans(after)?];
    let mut moved = Vec::new();
    for (was, is) in old.iter().zip(&new) {
        moved.extend(lines::moved(was, is));
    }
    let both = old.len().min(new.len());
    let first = |plan: &String| plan.lines().next().unwrap_or_default().to_owned();
    moved.extend(
        old.iter()
            .skip(both)
            .map(|plan| format!("- {}", first(plan))),
    );
    moved.extend(
        new.iter()
            .skip(both)
            .map(|plan| format!("+ {}", first(plan))),
    );
    Ok(moved)
}

fn plans(path: &Path) -> Result<Vec<String>, Failure> {
    let file = specs::load(path)?;
    let points = file.points.iter();
    points
        .map(|point| specs::planned(&file, point).map(|plan| plan.to_string()))
        .collect()
}
