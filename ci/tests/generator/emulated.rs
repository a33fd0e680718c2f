//! Every point of every shipped spec computes the right thing: its bundle runs on the emulator over
//! edge sizes, padded rows and the least alignment it takes, against f64, by the rule of
//! `tilewright_lab::verify`, and is clean in strict mode. The problems of a kernel run in turn
//! under asynchronous copies that land as early and as late as they may, and under several orders
//! of warps. How many problems a kernel has depends on what there is time for; `ci/verify.sh` runs
//! 24 of each.

use tilewright_bundle::Kernel;
use tilewright_codegen::plan;
use tilewright_lab::verify::{Data, Draw, Inputs, Options, Outcome, chain, verify, verify_one};
use tilewright_runtime::{Problem, Query, Runtime};

use crate::{probes, refused_plans, sample, shipped};

/// Problems of a kernel in one go: half of the schedules, one with each kind of data. A further
/// round has the others.
const ROUND: Options = Options {
    problems: 2,
    seed: 2026,
    inputs: Inputs::Mixed,
    volume: Some(1 << 21),
    further: 0,
};
/// Most rounds of a kernel.
const ROUNDS: u64 = 6;
/// Instructions of all threads until which there are further rounds: of the whole catalogue, and of
/// the ladder and the taken plans each.
const CATALOGUE: u64 = 15_000_000;
const FEW: u64 = 5_000_000;
/// Kernels that are chained: more than the specs of kernels that start early.
const CHAINED: u64 = 130;

#[test]
fn every_shipped_point_computes_the_right_thing() {
    let runtime = shipped::runtime();
    assert_eq!(runtime.kernels().len(), shipped::made().len());
    assert_right(&runtime, CATALOGUE);
}

#[test]
fn every_rung_of_the_ladder_computes_the_right_thing() {
    let rungs = shipped::ladder();
    let numbered = rungs.iter().enumerate().all(|(index, point)| {
        let rung = format!("ladder_{:02}_", index + 1);
        point.id.starts_with(&rung)
    });
    assert!(numbered, "rungs count from 1: {rungs:#?}");
    assert_right(&shipped::runtime_of(&rungs), FEW);
}

/// What users write first and what few kernels are shipped of: all keys auto, other architectures,
/// transposed, repeated and oddly strided operands.
#[test]
fn every_taken_plan_computes_the_right_thing() {
    let points = refused_plans::taken();
    assert_right(&shipped::runtime_of(&points), FEW);
}

/// One output tile, in more steps along k than one CTA adds up the sums of, and multiprocessors for
/// a part a step: by consumers that share tiles and that take turns, by clusters, and by threads
/// that are all alike.
#[test]
fn sums_of_many_parts_are_added_up_in_groups() {
    const STEPS: i64 = 52;
    let mut points = probes::points();
    points.extend(shipped::points());
    let of = [
        "gemm_probe_bf16_stream_k@",
        "gemm_sm90_bf16_tn@128x128x64_c2x2_coop_sk_",
        "gemm_bf16_tn_split@64x128x64_",
    ];
    points.retain(|point| of.iter().any(|start| point.id.starts_with(start)));
    assert_eq!(points.len(), 8);
    let [m, n, k] = [40, 48, 64 * STEPS - 24];
    for point in &points {
        let work = plan::plan(point).unwrap().work;
        let extent = |mode: &str| match mode {
            "m" => m,
            "n" => n,
            _ => k,
        };
        let sizes = work.known_sizes(extent);
        let mut pieces = (0..STEPS).flat_map(|at| work.pieces(&sizes, [at, STEPS]));
        let leads = pieces.any(|piece| piece.from > 0 && !piece.givers.is_empty());
        assert!(leads, "{}: no part leads a group", point.id);
    }
    let runtime = shipped::runtime_on(&points, 4 * STEPS as u32);
    let problem = Problem::of([("m", m), ("n", n), ("k", k)]);
    let problem = problem.row_major("a", k).row_major("b", k);
    let problem = problem.row_major("d", n);
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let outcomes = shipped::on_each(&kernels, |kernel| {
        verify_one(&runtime, kernel, &problem, Data::Integers, sample::seed()).unwrap()
    });
    for outcome in outcomes {
        assert!(
            outcome.passed(),
            "{}: {:?}",
            outcome.kernel,
            outcome.failure
        );
    }
}

/// Runs the kernel of that number until it has taken its share of instructions. Each round has its
/// own seed, an odd one after an even one: schedules come to the other kind of data. The next
/// kernel begins with the other schedules.
fn rounds(runtime: &Runtime, (number, kernel): (u64, &Kernel), share: u64) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for round in 0..ROUNDS {
        let taken = outcomes.iter().map(|one: &Outcome| one.thread_instructions);
        if round > 0 && taken.sum::<u64>() >= share {
            break;
        }
        let options = Options {
            seed: sample::seed() + 2 * number + 5 * round,
            ..ROUND
        };
        let summary = verify(runtime, &[kernel], options, |_| {}).unwrap();
        assert_eq!(summary.outcomes.len(), options.problems, "{}", kernel.id);
        outcomes.extend(summary.outcomes);
    }
    outcomes
}

fn assert_right(runtime: &Runtime, instructions: u64) {
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let share = instructions / kernels.len() as u64;
    let numbered: Vec<(u64, &Kernel)> = (0..).zip(kernels.iter().copied()).collect();
    let outcomes = shipped::on_each(&numbered, |one| rounds(runtime, *one, share)).concat();
    let failures: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| {
            let reason = outcome.failure.as_ref()?;
            Some(format!(
                "{} on {}: {reason}",
                outcome.kernel, outcome.problem
            ))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(outcomes.len() >= kernels.len() * ROUND.problems);
    let counts = outcomes.iter().map(|outcome| outcome.thread_instructions);
    assert!(counts.clone().all(|count| count > 0));
    eprintln!(
        "{} problems of {} kernels, {} instructions",
        outcomes.len(),
        kernels.len(),
        counts.sum::<u64>()
    );
}

/// Kernels that take rows of any length come behind those that hold theirs, and run on several
/// chunks.
#[test]
fn rows_of_any_length_are_picked_last_and_verified_at_length() {
    let mut points = shipped::points();
    points.retain(|point| point.id.starts_with("softmax_bf16"));
    let runtime = shipped::runtime_of(&points);
    let kernel = |start: &str| {
        let mut kernels = runtime.kernels().iter();
        kernels.find(|kernel| kernel.id.starts_with(start)).unwrap()
    };
    let [held, long] = ["softmax_bf16@2x1024", "softmax_bf16_long@"].map(kernel);
    for (n, wanted) in [
        (8192, "softmax_bf16@1x8192"),
        (32_768, "softmax_bf16_wide@"),
        (65_536, "softmax_bf16_widest@"),
        (262_144, "softmax_bf16_long@"),
    ] {
        let problem = Problem::of([("m", 2), ("n", n)]);
        let problem = problem.row_major("x", n).row_major("d", n);
        let picked = runtime.pick(&Query::like(long), &problem, &[]).unwrap();
        assert!(picked.kernel.id.starts_with(wanted), "{}", picked.kernel.id);
    }
    let longest = |kernel: &Kernel| {
        let mut draw = Draw::new(kernel, runtime.device().info(), 2026);
        let cases = (0..16).map(|_| draw.next_case().unwrap());
        cases.filter_map(|case| case.problem.extent("n")).max()
    };
    assert!(longest(long) > Some(2 * 8192), "{:?}", longest(long));
    assert!(longest(held) <= Some(1024), "{:?}", longest(held));
}

/// What may take the place of an input is drawn there, and apart from it.
#[test]
fn outputs_that_lie_over_inputs_are_drawn_in_place_and_apart() {
    let runtime = shipped::runtime();
    let over = |kernel: &Kernel| {
        let semantics = &kernel.semantics;
        let mut outputs = 0..semantics.operands.len();
        outputs.find_map(|at| Some([at, semantics.over(at)?]))
    };
    let mut tried = 0;
    for kernel in runtime.kernels() {
        let Some([output, input]) = over(kernel) else {
            continue;
        };
        let mut draw = Draw::new(kernel, runtime.device().info(), 2026);
        let cases: Vec<_> = (0..24).map(|_| draw.next_case().unwrap()).collect();
        let in_place = cases.iter().filter(|case| {
            let alike = case.fit.operands[output] == case.fit.operands[input];
            alike && case.offsets[output] == case.offsets[input]
        });
        let in_place = in_place.count();
        assert!((6..24).contains(&in_place), "{}: {in_place}", kernel.id);
        tried += 1;
    }
    assert!(tried >= 3);
}

/// On a GPU `verify` runs such chains with launches that overlap; here they show that the chain
/// itself fits every order of memory that can be chained, of each spec by one kernel at least.
#[test]
fn launches_read_what_the_launch_before_them_wrote() {
    let runtime = shipped::runtime();
    let early: Vec<&Kernel> = (runtime.kernels().iter())
        .filter(|kernel| kernel.launches.iter().any(|launch| launch.programmatic))
        .collect();
    let name = |kernel: &&Kernel| kernel.id.clone();
    let spec = |kernel: &&Kernel| kernel.spec.clone();
    let sampled = sample::within(early, name, spec, (|_: &&Kernel| 1, CHAINED));
    let chained = shipped::on_each(&sampled, |kernel| {
        let outcome = chain(&runtime, kernel, 256, 3, 2026).unwrap();
        (*kernel, outcome.map(|outcome| outcome.failure))
    });
    for (kernel, failure) in &chained {
        let dtype = |name| kernel.semantics.operand(name).map(|one| one.dtype);
        let orders = ["_tn", "_tt", "_packed"];
        let by_rows = orders.iter().any(|order| kernel.id.contains(order));
        let is_product = kernel.product().is_some();
        let fits = is_product && by_rows && dtype("d") == dtype("a");
        assert_eq!(failure, &fits.then_some(None), "{}", kernel.id);
    }
    assert!(chained.iter().any(|(_, failure)| failure.is_some()));
}

/// The arithmetic of Hopper's tensor cores is compared with an H200's, that of others is a model:
/// `verify` tells which one a verdict rests on.
#[test]
fn verdicts_say_whose_tensor_cores_are_models() {
    let runtime = shipped::runtime();
    let unproved = |start: &str| {
        let mut kernels = runtime.kernels().iter();
        let kernel = kernels.find(|kernel| kernel.id.starts_with(start)).unwrap();
        let options = Options {
            problems: 1,
            ..ROUND
        };
        let summary = verify(&runtime, &[kernel], options, |_| {}).unwrap();
        let rules = summary.unproved().into_iter();
        rules.map(|rules| rules.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(unproved("gemm_sm90_f16_"), [""; 0]);
    let ampere = unproved("gemm_f16_tn@");
    assert_eq!(ampere, ["tensor cores of sm_80: unproved"]);
}
