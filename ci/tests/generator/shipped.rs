//! The shipped specs and their points, and a way to work on all points at once.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use tilewright_bundle::Kernel;
use tilewright_ci::subject::is_copy_of_matrices;
use tilewright_ci::{golden, source_tree};
use tilewright_codegen::ir::thread::program::Program;
use tilewright_codegen::ir::tile::build;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point};
use tilewright_codegen::{lower, pack, plan};
use tilewright_emulator::{Options, Sanitize};
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

use crate::kept::kept;
use crate::sample;

/// Every point of every spec below a folder, in the order of the files.
pub fn points_below(folder: &str) -> Vec<Point> {
    let files = source_tree::files().unwrap();
    let is_spec = |path: &str| path.starts_with(folder) && !path.starts_with("specs/atoms/");
    let specs = files
        .iter()
        .filter(|file| is_spec(&file.path) && file.ends_in("yaml"));
    let points: Vec<Point> = specs
        .flat_map(|file| match spec::parse(&file.path, &file.text) {
            Ok(file) => file.points,
            Err(error) => panic!("{}", error.report(false)),
        })
        .collect();
    assert!(points.len() >= 9, "only {} in {folder}", points.len());
    points
}

/// Every point of every shipped spec, in the order of the files.
pub fn points() -> Vec<Point> {
    points_below("specs/")
}

/// Points that a run makes kernels of, of all shipped ones.
const MADE: u64 = 260;

/// What a run compiles of the shipped points, in their order: of each spec one in each combination
/// of words, which have no digits, and others up to a number that does not grow with the catalogue.
/// What is recorded is recorded of all of them: all are made with `BLESS=1`, and with `ALL=1`.
pub fn made() -> Vec<Point> {
    let mut points = points();
    if golden::blessing() || std::env::var_os("ALL").is_some() {
        return points;
    }
    let id = |point: &&Point| point.id.clone();
    let words = |point: &&Point| {
        let (spec, values) = point.id.split_once('@').unwrap_or((&point.id, ""));
        let (values, _) = values.rsplit_once('-').unwrap_or((values, ""));
        let words = (values.split('_')).filter(|one| !one.contains(|c: char| c.is_ascii_digit()));
        format!("{spec} {}", words.collect::<Vec<_>>().join(" "))
    };
    let taken = sample::within(points.iter().collect(), id, words, (|_: &&Point| 1, MADE));
    let taken: BTreeSet<String> = taken.into_iter().map(|point| point.id.clone()).collect();
    points.retain(|point| taken.contains(&point.id));
    points
}

/// Whether a kernel moves and multiplies matrices alone, so that its results on small integers are
/// exact, however sums are rounded. Problems are not chosen for transposes, which have tests of
/// elements along both modes, and launch files have one launch, which copies of operands are
/// others beside.
pub fn is_exact(kernel: &Kernel) -> bool {
    let is_one = kernel.launches.len() == 1;
    is_one && (kernel.product().is_some() || is_copy_of_matrices(kernel))
}

/// The rungs of the ladder that the page of the warp-specialized gemms measures.
pub fn ladder() -> Vec<Point> {
    points_below("bench/ladder/")
}

/// The thread program of a point.
pub fn program(point: &Point) -> Program {
    let made = plan::plan(point).and_then(|plan| lower::lower(&plan, &build::build(&plan)?));
    made.unwrap_or_else(|error| panic!("{}", error.report(false)))
}

/// The bundle of the shipped points that are made, opened on the emulator.
pub fn runtime() -> Runtime {
    runtime_of(&made())
}

/// The bundle of these points, opened on the emulator, which judges strictly.
pub fn runtime_of(points: &[Point]) -> Runtime {
    runtime_on(points, EmulatorSettings::default().sms)
}

/// The same on so many multiprocessors.
pub fn runtime_on(points: &[Point], sms: u32) -> Runtime {
    let artifacts = on_each(points, |point| {
        let made = kept(point).unwrap_or_else(|report| panic!("{report}"));
        made.artifact
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    pack::write(artifacts, pack::provenance(ptxas::find().as_deref()), &path).unwrap();
    let options = Options {
        sanitize: Sanitize::Strict,
        ..Options::default()
    };
    let strict = EmulatorSettings {
        sms,
        options,
        ..EmulatorSettings::default()
    };
    Runtime::open(&path, Device::emulator_with(strict)).unwrap()
}

/// `work` on every item, on every core; the results in the order of the items.
pub fn on_each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let left = Mutex::new(items.iter().enumerate());
    let results = Mutex::new(Vec::new());
    let worker = || {
        while let Some((index, item)) = { left.lock().unwrap().next() } {
            let result = work(item);
            results.lock().unwrap().push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
