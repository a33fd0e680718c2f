//! What every shipped kernel costs: its counters on whole tiles are recorded, the same under every
//! schedule, and they are what its certificate predicts.
//!
//! `ci/data/counters.txt` has them; instruction counts depend on LLVM, so that they are compared at
//! the version that its first line names.

use tilewright_bundle::{Kernel, ParamValue, TensorSwizzle};
use tilewright_ci::golden;
use tilewright_ci::subject::{DistinguishingProblems, Subject};
use tilewright_emulator::{
    Counters, GlobalTraffic, InstClass, Module, Options, Report, SharedTraffic,
};
use tilewright_lab::launch_file::{Prepared, Schedule};
use tilewright_runtime::DeviceInfo;

use crate::kept::{Kept, Step, kept};
use crate::locks::{differences, llvm};
use crate::shipped;

/// Four whole tiles, with as many k-tiles as the pipeline has stages and one more.
fn whole_tiles(kernel: &Kernel, device: &DeviceInfo) -> DistinguishingProblems {
    let DistinguishingProblems { edges, .. } = DistinguishingProblems::of(kernel, device);
    DistinguishingProblems {
        main: edges.into_iter().take(1).collect(),
        edges: Vec::new(),
        rounds: Vec::new(),
        rasters: Vec::new(),
    }
}

fn options(schedule: Schedule) -> Options {
    Options {
        profile: true,
        ..schedule.options(tilewright_emulator::Sanitize::Strict)
    }
}

/// A kernel of the shipped bundle with its launch on whole tiles, and its certificate.
struct Counted {
    subject: Subject,
    steps: Vec<Step>,
    /// Those that are listed as in conflict.
    listed: Vec<String>,
}

impl Counted {
    fn launch(&self) -> (&Prepared, Module) {
        let module = Module::parse(&self.subject.ptx).unwrap();
        (&self.subject.launches[0].prepared, module)
    }
}

fn counted() -> Vec<Counted> {
    let runtime = shipped::runtime();
    let device = runtime.device().info();
    let points = shipped::made();
    let found = shipped::on_each(&points, |point| {
        let kernel = runtime.kernels().iter().find(|one| one.id == point.id);
        let kernel = kernel.unwrap();
        shipped::is_exact(kernel).then(|| {
            let problems = whole_tiles(kernel, device);
            let steps = kept(point).unwrap().steps;
            Counted {
                subject: Subject::of_kernel(&runtime, kernel, &problems).unwrap(),
                listed: listed(kernel, &steps),
                steps,
            }
        })
    });
    found.into_iter().flatten().collect()
}

/// The lines of the record: the name of the kernel, then one kind of traffic or work.
fn lines(name: &str, counters: &Counters) -> Vec<String> {
    let mut lines = Vec::new();
    for class in InstClass::ALL {
        let count = counters.class(class);
        if count.executions > 0 {
            let (word, executions) = (class.as_str(), count.executions);
            lines.push(format!(
                "{name} {word} executions {executions} lanes {}",
                count.lanes
            ));
        }
    }
    for (word, t) in global(counters) {
        if t.requests > 0 {
            let GlobalTraffic {
                requests,
                bytes,
                sectors,
                lines: touched,
            } = t;
            lines.push(format!(
                "{name} {word} requests {requests} bytes {bytes} sectors {sectors} lines {touched}"
            ));
        }
    }
    for (word, t) in shared(counters) {
        if t.requests > 0 {
            let SharedTraffic {
                requests,
                bytes,
                wavefronts,
                excess,
            } = t;
            lines.push(format!(
                "{name} {word} requests {requests} bytes {bytes} wavefronts {wavefronts} \
                 excess {excess}"
            ));
        }
    }
    let rest = [
        ("local_bytes", counters.local_bytes),
        ("mma_flop", counters.mma_flop),
        ("bulk_bytes", counters.bulk_bytes),
        ("tensor_bytes", counters.tensor_bytes),
        ("barrier_waits", counters.barrier_waits),
    ];
    let rest = rest.into_iter().filter(|(_, count)| *count > 0);
    lines.extend(rest.map(|(word, count)| format!("{name} {word} {count}")));
    lines
}

fn global(c: &Counters) -> [(&'static str, GlobalTraffic); 4] {
    [
        ("global_load", c.global_load),
        ("global_store", c.global_store),
        ("global_atomic", c.global_atomic),
        ("async_copy_global", c.async_copy),
    ]
}

fn shared(c: &Counters) -> [(&'static str, SharedTraffic); 6] {
    [
        ("shared_load", c.shared_load),
        ("shared_store", c.shared_store),
        ("async_copy_shared", c.shared_async),
        ("ldmatrix", c.shared_ldmatrix),
        ("stmatrix", c.shared_stmatrix),
        ("shared_atomic", c.shared_atomic),
    ]
}

/// Shipped kernels whose accesses to shared memory take more wavefronts than the fewest, and why.
const IN_CONFLICT: &[(&str, &str, &str)] = &[
    ("gemm_sm90_s8_", "d.r2s", PAIRS_OF_WORDS),
    ("gemm_sm90_u8_", "d.r2s", PAIRS_OF_WORDS),
    ("gemm_sm90_tf32_", "d.r2s", PAIRS_OF_WORDS),
    ("gemm_sm90_tf32_", "a.s2r", ROWS_OF_BOXES),
    ("gemm_sm90_tf32_", "b.s2r", ROWS_OF_BOXES),
    ("transpose_f64@", "s.r2s", FEW_ELEMENTS),
];
/// Accumulators of 32 bits lie in pairs: 16 lanes store 4 rows of 32 bytes, and swizzles of 64 and
/// 128 bytes put those of two rows into the same banks. Rows of 32 bytes are free, in boxes of
/// which a tile has 4 times as many: some have them, as no wider ones fit their columns.
const PAIRS_OF_WORDS: &str = "pairs of 32-bit accumulators in boxes of 128 bytes";

/// Lanes load 8 rows of 4 columns, each column a row of 128 bytes of a box: the swizzle puts two of
/// the columns into the same banks.
const ROWS_OF_BOXES: &str = "rows of an MMA's A out of boxes that lie along them";

/// A tile of which each thread has few vectors leaves warps no lanes in other rows to write to
/// other banks: of the widths, lanes in a row, pitches and swizzles that are tried none is free.
const FEW_ELEMENTS: &str = "elements of 8 bytes, whose lanes lie in few rows";

/// Wavefronts of a step or of what ran, and the fewest possible.
fn ratio([taken, least]: [u64; 2]) -> f64 {
    taken as f64 / least.max(1) as f64
}

/// Wavefronts of one kind of traffic, and the fewest that its accesses need.
fn counted_wavefronts(line: &SharedTraffic) -> [u64; 2] {
    [line.wavefronts, line.wavefronts - line.excess]
}

/// The traffic that a step of the certificate speaks of: shared, global.
fn traffic(step: &Step, c: &Counters) -> (SharedTraffic, GlobalTraffic) {
    let hop = step.step.rsplit('.').next().unwrap_or_default();
    let none = (SharedTraffic::default(), GlobalTraffic::default());
    match hop {
        "g2s" if step.atom.contains("cp_async") => (c.shared_async, c.async_copy),
        "g2s" => (c.shared_store, c.global_load),
        "g2r" => (none.0, c.global_load),
        "r2g" | "s2g" => (none.0, c.global_store),
        "s2r" if step.atom.contains("ldmatrix") => (c.shared_ldmatrix, none.1),
        "s2r" => (c.shared_load, none.1),
        "r2s" if step.atom.contains("stmatrix") => (c.shared_stmatrix, none.1),
        "r2s" => (c.shared_store, none.1),
        _ => none,
    }
}

/// Whether what ran conflicts as the certificate says. Rows are loaded right behind a wait, from
/// which lanes of a warp may come one after the other: fewer at a time conflict less.
fn agree(one: &Counted, step: &Step, found: f64, predicted: f64) -> bool {
    match reason(&one.subject.name, step) == Some(ROWS_OF_BOXES) {
        true => found > 1.0 && found <= predicted,
        false => found == predicted,
    }
}

/// Why a step of a kernel is in conflict, where one is listed.
fn reason(kernel: &str, step: &Step) -> Option<&'static str> {
    let mut rows = IN_CONFLICT.iter();
    let row = rows.find(|(name, of, _)| kernel.starts_with(name) && step.step == *of);
    row.map(|(.., why)| *why)
}

/// What a run counts that the kernel's certificate does not say.
fn uncertified(one: &Counted, report: &Report) -> Vec<String> {
    let mut complaints = Vec::from_iter(unlisted(one, &report.counters));
    let mut compared = 0;
    // The engine of tensor copies has no lanes whose accesses could be counted.
    let counted = one.steps.iter().filter(|step| !step.atom.contains("tma"));
    for step in counted {
        let lines: Vec<_> = report
            .profile
            .iter()
            .map(|line| traffic(step, &line.counters))
            .collect();
        // Steps of one kind share their counters: the worst of them is what must agree.
        let alike =
            |other: &&Step| traffic(other, &report.counters) == traffic(step, &report.counters);
        let alike: Vec<&Step> = one.steps.iter().filter(alike).collect();
        let name = format!("{} {} ({})", one.subject.name, step.step, step.atom);
        let all = alike.iter().filter_map(|step| step.wavefronts);
        let all = all.reduce(|all, one| [all[0] + one[0], all[1] + one[1]]);
        if let Some(predicted) = all {
            let (found, _) = traffic(step, &report.counters);
            // Whole tiles may leave out a step that edges need.
            compared += usize::from(found.requests > 0);
            let found = counted_wavefronts(&found);
            if found[1] > 0 && !agree(one, step, ratio(found), ratio(predicted)) {
                complaints.push(format!("{name}: wavefronts {predicted:?} became {found:?}"));
            }
        }
        if let Some(predicted) = worst(alike.iter().map(|s| s.conflict_degree)) {
            let found = lines.iter().filter(|(shared, _)| shared.requests > 0);
            let found = found.map(|(shared, _)| Some(ratio(counted_wavefronts(shared))));
            if let Some(found) = worst(found)
                && !agree(one, step, found, predicted)
            {
                complaints.push(format!("{name}: degree {predicted} became {found}"));
            }
        }
        let sectors = |s: &&Step| s.sectors_per_request.map(f64::from);
        if let Some(predicted) = worst(alike.iter().map(sectors)) {
            let found = lines.iter().filter(|(_, global)| global.requests > 0);
            let per = |t: &GlobalTraffic| t.sectors as f64 / t.requests as f64;
            let found = worst(found.map(|(_, global)| Some(per(global))));
            compared += usize::from(found.is_some());
            if found.is_some_and(|found| found != predicted) {
                complaints.push(format!("{name}: {predicted} sectors became {found:?}"));
            }
        }
    }
    let tensor = one.steps.iter().any(|step| step.atom.contains("tma"));
    if compared == 0 && !tensor {
        complaints.push(format!("{}: nothing was compared", one.subject.name));
    }
    complaints
}

/// What lanes did: whether the parts of a warp that went apart wait for a barrier, and load rows
/// that are behind it, one after the other or together is the schedule's.
fn of_lanes(one: &Counted, counters: &Counters) -> Counters {
    let mut counters = counters.clone();
    counters
        .classes
        .iter_mut()
        .for_each(|class| class.executions = 0);
    let is_behind_a_wait = |step: &Step| reason(&one.subject.name, step) == Some(ROWS_OF_BOXES);
    if one.steps.iter().any(is_behind_a_wait) {
        let loads = &mut counters.shared_load;
        (loads.requests, loads.wavefronts) = (0, 0);
    }
    counters
}

#[test]
fn counters_are_as_recorded_under_every_schedule_and_as_certified() {
    let all = shipped::on_each(&counted(), |one| {
        let (launch, module) = one.launch();
        let runs = Schedule::first(2).into_iter().map(options);
        let mut reports = runs.map(|options| launch.run(&module, &options).unwrap().report);
        let first = reports.next().unwrap();
        for report in reports {
            let [found, before] = [&report, &first].map(|run| of_lanes(one, &run.counters));
            assert_eq!(found, before, "{}", one.subject.name);
        }
        let lines = lines(&one.subject.name, &first.counters);
        (lines, uncertified(one, &first))
    });
    let (lines, complaints): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let found = differences("ci/data/counters.txt", &llvm(), &lines.concat());
    golden::assert_none(&found, "generator");
    let complaints = complaints.concat();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Whether a kernel stores d in boxes with rows of 32 bytes.
fn has_narrow_boxes(kernel: &Kernel) -> bool {
    let mut params = kernel.launches.iter().flat_map(|launch| &launch.params);
    params.any(|param| match &param.value {
        ParamValue::TensorMap(map) => map.operand == "d" && map.swizzle == TensorSwizzle::Bytes32,
        _ => false,
    })
}

/// The steps of a kernel that are listed as in conflict.
fn listed(kernel: &Kernel, steps: &[Step]) -> Vec<String> {
    let is_listed = |step: &&Step| {
        let why = reason(&kernel.id, step);
        why.is_some_and(|why| why != PAIRS_OF_WORDS || !has_narrow_boxes(kernel))
    };
    let listed = steps.iter().filter(is_listed);
    listed.map(|step| step.step.clone()).collect()
}

/// Of every shipped kernel, what its certificate says is in conflict is listed with its reason, and
/// what is listed is in conflict.
#[test]
fn conflicts_in_shared_memory_are_listed() {
    let points = shipped::made();
    let found = shipped::on_each(&points, |point| {
        let Kept {
            artifact, steps, ..
        } = kept(point).unwrap();
        let conflicts = steps.iter().filter(|step| {
            let wavefronts = step.wavefronts;
            wavefronts.is_some_and(|[taken, least]| taken > least)
        });
        let conflicts: Vec<_> = conflicts.map(|step| step.step.clone()).collect();
        let expected = listed(&artifact.kernel, &steps);
        (conflicts != expected).then(|| {
            let id = &point.id;
            format!("{id}: {conflicts:?} in conflict, listed are {expected:?}")
        })
    });
    let complaints: Vec<String> = found.into_iter().flatten().collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    for (name, of, why) in IN_CONFLICT {
        let known = points.iter().any(|point| point.id.starts_with(name));
        assert!(known, "{name} {of}: no kernel is called so: {why}");
    }
}

/// All that ran is free of conflicts where nothing is listed, exchanges of folds through shared
/// memory, which are no steps of a plan, among it; else what is not.
fn unlisted(one: &Counted, counters: &Counters) -> Option<String> {
    let excess = shared(counters).map(|(_, traffic)| traffic.excess);
    let name = &one.subject.name;
    let unlisted = one.listed.is_empty() && excess.iter().sum::<u64>() > 0;
    unlisted.then(|| format!("{name}: {excess:?} wavefronts more than the fewest"))
}

fn worst(all: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    all.flatten().reduce(f64::max)
}
