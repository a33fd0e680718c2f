//! What `verify` makes of kernels with fixed strides, of every kind of inputs, and of those that it
//! could not put to the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::fixture::*;
use std::ops::ControlFlow;
use tilewright_runtime::bundle::{Kernel, Traits};

use tilewright_emulator::Stop;
use tilewright_lab::verify::{Data, Draw, Event, Inputs, Options, Outcome, Summary};
use tilewright_lab::verify::{verify, verify_while};
use tilewright_runtime::{Device, EmulatorSettings, Problem, Runtime};

fn verified(kernel: Kernel, ptx: &str, problems: usize, inputs: Inputs) -> Summary {
    let runtime = Runtime::new(bundle_of([(kernel, ptx)]), Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = Options {
        problems,
        seed: 4,
        inputs,
        volume: None,
        further: 0,
    };
    verify(&runtime, &kernels, options, |_| {}).unwrap()
}

/// The copy with rows of these operands so many elements apart.
fn copy_with_rows(strides: [i64; 2]) -> Kernel {
    let mut kernel = copy_kernel("copy_f32@fixed-1");
    for (at, stride) in strides.into_iter().enumerate() {
        kernel.semantics.operands[at].layout = layout(&format!("(m,n):({stride},1)"));
        kernel.launches[0].params[4 + at].value = i64_of(&stride.to_string());
    }
    kernel
}

fn failures(summary: &Summary) -> Vec<String> {
    let all = summary.outcomes.iter();
    all.filter_map(|o| Some(format!("{}: {}", o.problem, o.failure.as_ref()?)))
        .collect()
}

/// What nothing executed is told: here a way that no extent leads to.
#[test]
fn lines_that_no_problem_executed_are_told() {
    let end = COPY.rfind("ret;").unwrap();
    let dead = "setp.ne.s32 %right, %threads, %threads;\n@!%right bra LAST;\n\
                add.s32 %row, %row, 1;\n// Nothing.\nadd.s32 %row, %row, 2;\nLAST:\n";
    let ptx = format!("{}{dead}{}", &COPY[..end], &COPY[end..]);
    let mut lines = ptx.lines();
    let first = lines
        .position(|line| line.contains("%row, %row, 1;"))
        .unwrap() as u32
        + 1;
    let kernel = || copy_kernel("copy_f32@fixed-1");
    let found = verified(kernel(), &ptx, 3, Inputs::Mixed);
    assert_eq!(failures(&found), [""; 0]);
    let [one] = &found.unreached[..] else {
        panic!("{:?}", found.unreached)
    };
    assert_eq!((one.lines, &one.ranges[..]), (2, &[[first, first + 2]][..]));
    let all = verified(kernel(), COPY, 3, Inputs::Mixed);
    assert!(all.unreached.iter().all(|one| one.lines == 0));
}

/// A limit that no problem comes to, beside one that all come to.
#[test]
fn comparisons_that_no_problem_made_equal_are_told() {
    let end = COPY.rfind("ret;").unwrap();
    let compared =
        "setp.lt.s32 %right, %threads, 1000003;\nsetp.lt.s32 %right, %threads, %threads;\n";
    let ptx = format!("{}{compared}{}", &COPY[..end], &COPY[end..]);
    let far = ptx.lines().position(|line| line.contains("1000003"));
    let far = far.unwrap() as u32 + 1;
    let found = verified(copy_kernel("copy_f32@fixed-1"), &ptx, 3, Inputs::Mixed);
    assert_eq!(failures(&found), [""; 0]);
    let [one] = &found.unreached[..] else {
        panic!("{:?}", found.unreached)
    };
    let is_told = |line: u32| one.unequal.contains(&line);
    assert_eq!(
        (one.lines, is_told(far), is_told(far + 1)),
        (0, true, false)
    );
    assert!(one.compared > 2, "{one:?}");
}

/// A kernel that is wrong at one extent alone, which no drawn problem has: its comparison leads
/// there.
#[test]
fn further_problems_are_aimed_at_comparisons_that_were_never_equal() {
    let wrong = "setp.ne.s32 %below, %n, 777;\n@%below bra RIGHT;\n\
                 add.s32 %value, %value, 1;\nRIGHT:\n";
    let store = COPY.find("st.global.b32").unwrap();
    let ptx = format!("{}{wrong}{}", &COPY[..store], &COPY[store..]);
    let verified = |further: usize| {
        let kernel = copy_kernel("copy_f32@fixed-1");
        let runtime = Runtime::new(bundle_of([(kernel, ptx.as_str())]), Device::emulator());
        let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
        let options = Options {
            problems: 6,
            further,
            ..Options::default()
        };
        verify(&runtime, &kernels, options, |_| {}).unwrap()
    };
    let drawn = verified(0);
    assert_eq!(failures(&drawn), [""; 0]);
    assert!(!drawn.unreached[0].unequal.is_empty());
    let found = verified(6);
    // Those that were drawn are the same, and the seed alone says which are added.
    assert_eq!(found.outcomes[..6], drawn.outcomes[..]);
    assert_eq!(found, verified(6));
    let last = found.outcomes.last().unwrap();
    assert!(
        last.added && !last.passed() && last.extents["n"] == 777,
        "{last:?}"
    );
    assert!(found.outcomes[6..].iter().all(|one| one.added));
    let work = |all: &[Outcome]| all.iter().map(|one| one.thread_instructions).sum::<u64>();
    let (drawn, added) = found.outcomes.split_at(6);
    let before = added.split_last().map_or(0, |(_, before)| work(before));
    assert!(
        before < work(drawn),
        "{before} instructions of {}",
        work(drawn)
    );
}

#[test]
fn elements_that_share_an_address_are_read_as_they_lie() {
    let mut copy = copy_with_rows([3, 0]);
    copy.semantics.operands[1] = copy_kernel("x").semantics.operands[1].clone();
    copy.launches[0].params[5] = copy_kernel("x").launches[0].params[5].clone();
    let summary = verified(copy, COPY, 12, Inputs::Mixed);
    assert_eq!(failures(&summary), [""; 0]);
    let mut gemm = gemm_kernel("gemm_f32@fixed-1");
    for (operand, first, stride) in [(0, 6, "(m,k):(2,1)"), (1, 8, "(n,k):(1,5)")] {
        gemm.semantics.operands[operand].layout = layout(stride);
        let numbers = stride.split_once(":(").unwrap().1.trim_end_matches(')');
        for (at, number) in numbers.split(',').enumerate() {
            gemm.launches[0].params[first + at].value = i64_of(number);
        }
    }
    for inputs in [Inputs::Mixed, Inputs::Indices] {
        let summary = verified(gemm.clone(), GEMM, 2, inputs);
        assert_eq!(failures(&summary), [""; 0]);
    }
}

#[test]
fn outputs_with_fixed_rows_are_as_wide_as_those() {
    let summary = verified(copy_with_rows([64, 64]), COPY, 12, Inputs::Mixed);
    assert_eq!(failures(&summary), [""; 0]);
    assert_eq!(summary.outcomes.len(), 12);
}

#[test]
fn a_kernel_that_takes_single_rows_alone_is_not_verified() {
    for stride in [0, 1 << 40] {
        let summary = verified(copy_with_rows([stride; 2]), COPY, 6, Inputs::Mixed);
        let failures = failures(&summary);
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(
            failures[0].contains("nothing was checked along m"),
            "{failures:?}"
        );
        assert_eq!(summary.passed(), 6);
    }
}

#[test]
fn every_kind_of_inputs_is_judged() {
    let extents = Inputs::All;
    let summary = verified(gemm_kernel("gemm_f32@plain-1"), GEMM, 12, extents);
    assert_eq!(failures(&summary), [""; 0]);
    let groups = summary.closeness();
    let mut kinds: Vec<&str> = groups.iter().map(|group| group.data.as_str()).collect();
    kinds.sort_unstable();
    let mut all = Data::ALL.map(Data::text);
    all.sort_unstable();
    assert_eq!(kinds, all);
    for group in &groups {
        assert_eq!((group.problems, group.failed), (2, 0));
        assert!(group.max_err <= 1.0, "{group:?}");
        assert_eq!(group.max_err == 0.0, group.data == "integers", "{group:?}");
        assert_eq!(group.types, "f32·f32 → f32 → f32");
    }
}

/// A kernel that adds one product twice is right on no kind of inputs.
#[test]
fn every_kind_of_inputs_tells() {
    let add = "fma.rn.f32 %f1, %f2, %f3, %f1;";
    let wrong = GEMM.replace(add, &format!("{add} abs.f32 %f2, %f2;\n {add}"));
    assert_ne!(wrong, GEMM);
    for data in Data::ALL {
        let kernel = gemm_kernel("gemm_f32@plain-1");
        let summary = verified(kernel, &wrong, 2, Inputs::Random(data));
        assert_eq!(summary.passed(), 0, "{data:?}");
    }
}

/// Two copies, verified for as long as `go_on` says of what was told.
fn verified_while(go_on: impl Fn(&Event<'_>) -> bool) -> (Summary, usize) {
    let [one, other] = ["copy_f32@one-1", "copy_f32@other-1"].map(|id| Kernel {
        traits: Some(Traits {
            tile: [("m".to_owned(), 1), ("n".to_owned(), 64)].into(),
            ..Traits::default()
        }),
        ..copy_kernel(id)
    });
    let runtime = Runtime::new(bundle_of([(one, COPY), (other, COPY)]), Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = Options {
        problems: 3,
        further: 0,
        ..Options::default()
    };
    let mut lines = 0;
    let summary = verify_while(&runtime, &kernels, options, |event| {
        lines += usize::from(matches!(event, Event::Kernel(_)));
        match go_on(&event) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    (summary.unwrap(), lines)
}

#[test]
fn what_is_cut_short_names_the_kernels_it_left_out() {
    let (all, lines) = verified_while(|_| true);
    assert_eq!((all.passed(), lines), (6, 2));
    assert_eq!(all.left_out, Vec::<String>::new());
    let (first, lines) = verified_while(|event| !matches!(event, Event::Outcome(_)));
    assert_eq!((first.outcomes.len(), lines), (1, 0));
    assert_eq!(first.left_out, ["copy_f32@one-1", "copy_f32@other-1"]);
    let (half, lines) = verified_while(|event| !matches!(event, Event::Kernel(_)));
    assert_eq!((half.outcomes.len(), lines), (3, 1));
    assert_eq!(half.left_out, ["copy_f32@other-1"]);
}

#[test]
fn some_problems_have_several_tiles_and_a_part_of_one() {
    let (all, _) = verified_while(|_| true);
    // A CTA of the copy takes 64 columns of one row.
    for outcome in all.outcomes.iter().take(2) {
        let (m, n) = (outcome.extents["m"], outcome.extents["n"]);
        assert!(m > 1 && n > 64 && n % 64 != 0, "{}", outcome.problem);
    }
}

/// Extents of as many problems of a kernel as that, by name.
fn drawn(kernel: Kernel, volume: Option<u64>, names: [&str; 2]) -> Vec<[i64; 2]> {
    let kernel = resolved(kernel);
    let device = Device::emulator();
    let draw = Draw::new(&kernel, device.info(), 3);
    let mut draw = match volume {
        Some(most) => draw.with_volume(most),
        None => draw,
    };
    let cases = (0..30).map(|_| draw.next_case().unwrap().problem);
    let extents = |problem: Problem| names.map(|name| problem.extent(name).unwrap_or(1));
    cases.map(extents).collect()
}

/// A few elements of many threads are as much work as many elements of few.
#[test]
fn problems_are_bounded_by_the_threads_that_they_take() {
    const CTAS: i64 = 4096;
    let mut often = copy_kernel("copy_f32@often-1");
    often.launches[0].grid[2] = expr(&CTAS.to_string());
    // So many threads a CTA, of 256 instructions each where no table tells.
    let work = |[m, n]: [i64; 2]| m * ((n + 63) / 64) * 64 * 256;
    let problems = drawn(often, None, ["m", "n"]);
    for problem in &problems {
        assert!(work(*problem) * CTAS <= 1 << 29, "{problem:?}");
    }
    let seldom = drawn(copy_kernel("copy_f32@once-1"), None, ["m", "n"]);
    assert!(seldom.iter().any(|one| work(*one) * CTAS > 1 << 29));
}

/// Extents that every problem has count.
#[test]
fn constant_extents_are_a_part_of_the_volume() {
    let with_rows_of = |columns: i64| {
        let mut scaled = scaled_kernel("scale_f32@rows-1");
        scaled.semantics.modes.insert("p".to_owned(), columns);
        drawn(scaled, Some(30_000), ["m", "m"])
    };
    // Extents are rounded up to 16 at most.
    let few = with_rows_of(4096);
    assert!(few.iter().all(|[m, _]| *m <= 16), "{few:?}");
    assert!(with_rows_of(4).iter().any(|[m, _]| *m > 16));
}

/// A launch that is cut short is neither right nor wrong: its kernel is left out.
#[test]
fn an_emulator_that_is_told_to_stop_leaves_kernels_out() {
    let stop = Stop::default();
    let settings = EmulatorSettings {
        options: tilewright_emulator::Options {
            stop: Some(stop.clone()),
            ..tilewright_emulator::Options::default()
        },
        ..EmulatorSettings::default()
    };
    let bundle = bundle_of([(copy_kernel("copy_f32@stopped-1"), COPY)]);
    let runtime = Runtime::new(bundle, Device::emulator_with(settings));
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let summary = || verify(&runtime, &kernels, Options::default(), |_| {}).unwrap();
    assert!(summary().left_out.is_empty());
    stop.wish();
    let cut = summary();
    assert_eq!(cut.left_out, ["copy_f32@stopped-1"]);
    assert_eq!((cut.passed(), cut.failed()), (0, 0));
}
