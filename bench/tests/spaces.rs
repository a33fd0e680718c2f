//! The spaces that products were measured in are as large as the page on them says, and most of
//! their points have plans.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tilewright_codegen::plan;
use tilewright_codegen::spec;

/// The newest page that has a table of all of them.
const PAGE: &str = "results/h200/2026-12-01-long-k.md";
/// Of so many points one is planned: all of them take a minute.
const PLANNED: usize = 40;

#[test]
fn spaces_have_as_many_points_as_their_page_says() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(here.join(PAGE)).unwrap();
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| space |"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let (name, points) = (cells.next().unwrap(), cells.next().unwrap());
        let words: Vec<&str> = name.split([' ', ',']).take(2).collect();
        let name = format!("space_{}.yaml", words.join("_").to_lowercase());
        told.insert(name, points.parse().unwrap());
    }
    let (mut found, mut has_plan) = (BTreeMap::new(), Vec::new());
    for entry in fs::read_dir(here.join("space/gemm")).unwrap() {
        let path = entry.unwrap().path();
        let file = spec::load(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let sample = file.points.iter().step_by(PLANNED);
        has_plan.extend(sample.map(|point| plan::plan(point).is_ok()));
        found.insert(name, file.points.len());
    }
    assert_eq!(told, found);
    // Some of three warpgroups want more registers than there are when a kernel starts.
    let planned = has_plan.iter().filter(|has| **has).count();
    let all = has_plan.len();
    assert!(planned * 20 > all * 19, "{planned} of {all} have a plan");
}
