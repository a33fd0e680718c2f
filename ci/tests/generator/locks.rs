//! `programs.lock` has one hash of the thread program for each shipped point, `ptx.lock` one of its
//! PTX, `ptxas.lock` what the assembler made of it, `ci/data/ptxas.lock` the same of the other
//! points that tests run. The heads of the last two name the versions of the tools that decide the
//! texts; other versions make other texts, so hashes and registers are compared at equal versions
//! only, the list of points always. Of the PTX of shipped points a sample is compared
//! ([`shipped::made`]): with its program as locked, a point's PTX is as the others are.
//!
//! Thread programs are hashed without names, so that a lowering written anew is checked in seconds:
//! no LLVM runs, no ptxas.
//! `cargo nextest run --package tilewright-ci --test generator programs` does it.

use std::collections::BTreeSet;
use std::fs;

use tilewright_bundle::Sha256Hex;
use tilewright_ci::{golden, source_tree};
use tilewright_codegen::ir::thread::text::Nameless;
use tilewright_codegen::ptx::llvm_version;
use tilewright_codegen::spec::Point;

use crate::kept::kept;
use crate::{judged, probes, refused_plans, shipped};

/// The versions that the PTX depends on.
pub fn llvm() -> String {
    let (major, minor, patch) = llvm_version();
    format!("llvm {major}.{minor}.{patch}")
}

/// Whether the recorded PTX was made by the LLVM that is linked in.
pub fn is_recorded_llvm() -> bool {
    let lock = fs::read_to_string(source_tree::root().join("ptx.lock")).unwrap_or_default();
    lock.starts_with(&format!("# {}\n", llvm()))
}

/// What a record of shipped points holds against the lines of today, each of which begins with its
/// point. Points without a line today keep the recorded ones, unless the record is written anew.
pub fn differences(name: &str, tools: &str, lines: &[String]) -> Vec<String> {
    let recorded = fs::read_to_string(source_tree::root().join(name)).unwrap_or_default();
    let head = recorded.lines().next().unwrap_or_default();
    let id = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let made: BTreeSet<String> = lines.iter().map(|line| id(line)).collect();
    let shipped = shipped::points().into_iter().map(|point| point.id);
    let shipped: BTreeSet<String> = shipped.collect();
    let stays = |line: &&str| shipped.contains(&id(line)) && !made.contains(&id(line));
    let others = recorded.lines().skip(1).filter(stays);
    let others = others.filter(|_| !golden::blessing()).map(str::to_owned);
    let mut all: Vec<String> = others.chain(lines.iter().cloned()).collect();
    all.sort_by_key(|line| id(line));
    if golden::blessing() || head == format!("# {tools}") {
        let text = format!("# {tools}\n{}\n", all.join("\n"));
        let difference = golden::difference(name, &text).unwrap();
        return difference.into_iter().collect();
    }
    // Another version of a tool: the points must still be the same.
    eprintln!("{name} was made with {head}, here is {tools}: only the list of points is compared");
    let was: Vec<String> = recorded.lines().skip(1).map(id).collect();
    let is: Vec<String> = all.iter().map(|line| id(line)).collect();
    let differs = was != is;
    let message = || format!("{name}: the points were {was:?} and are {is:?}");
    differs.then(message).into_iter().collect()
}

#[test]
fn programs_are_as_locked() {
    let lines = shipped::on_each(&shipped::points(), |point| {
        let text = Nameless(&shipped::program(point)).to_string();
        format!("{} {}", point.id, Sha256Hex::of(text.as_bytes()))
    });
    let head = "thread programs without names";
    golden::assert_none(&differences("programs.lock", head, &lines), "generator");
}

#[test]
fn ptx_is_as_locked() {
    let lines = shipped::on_each(&shipped::made(), |point| {
        let text = kept(point).unwrap().artifact.ptx;
        format!("{} {}", point.id, Sha256Hex::of(text.as_bytes()))
    });
    golden::assert_none(&differences("ptx.lock", &llvm(), &lines), "generator");
}

/// Compares a lock with what the assembler made of these points; what is recorded of a text
/// stands for it, but for a sample ([`judged`]).
fn assert_resources(lock: &str, points: &[Point]) {
    let mut lines = shipped::on_each(points, |point| {
        let made = kept(point).unwrap();
        let assembled = made.assembled.unwrap();
        assert_eq!(assembled.violations, [""; 0], "{}", point.id);
        judged::line(&point.id, &made.artifact.ptx, &assembled)
    });
    lines.sort();
    golden::assert_none(&differences(lock, &judged::tools(), &lines), "generator");
}

#[test]
fn resources_are_as_locked() {
    assert_resources(judged::LOCKS[0], &shipped::made());
}

#[test]
fn resources_of_the_other_points_are_as_locked() {
    let [ladder, taken, probes] = [shipped::ladder(), refused_plans::taken(), probes::points()];
    assert_resources(judged::LOCKS[1], &[ladder, taken, probes].concat());
}

/// Records are of all shipped points, whichever are compared.
#[test]
fn locks_have_a_line_of_each_point() {
    let mut points: Vec<String> = (shipped::points().into_iter())
        .map(|point| point.id)
        .collect();
    points.sort();
    for name in ["ptx.lock", judged::LOCKS[0]] {
        let text = fs::read_to_string(source_tree::root().join(name)).unwrap();
        let lines = text.lines().skip(1);
        let ids: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(ids, points, "{name}");
    }
}
