//! Kernels whose elements lie where tables say: what is drawn for them, and what is noticed.
#![allow(clippy::unwrap_used)]

use tilewright_fixture::{LOOKED_UP, bundle_of, looked_up_kernel};
use tilewright_lab::verify;
use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::{Device, Problem, Refusal, Runtime, fit};

const ID: &str = "looked_up_f32@rows-1";

fn verified(ptx: &str) -> verify::Summary {
    let kernel = looked_up_kernel(ID);
    let runtime = Runtime::new(bundle_of([(kernel, ptx)]), Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = verify::Options {
        problems: 12,
        seed: 5,
        ..verify::Options::default()
    };
    verify::verify(&runtime, &kernels, options, |_| ()).unwrap()
}

#[test]
fn rows_come_from_and_go_where_tables_say() {
    let summary = verified(LOOKED_UP);
    let failures: Vec<_> = summary.outcomes.iter().filter(|o| !o.passed()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Each is noticed by what the drawn entries are: on either side, distinct, with rows that none of
/// them names.
#[test]
fn wrong_kernels_are_noticed() {
    const TEST: &str = "setp.ge.u32 %outside, %entry, %extent;";
    let [load, store] = [0, 1].map(|at| LOOKED_UP.match_indices(TEST).nth(at).unwrap().0);
    let at = |place: usize, from: &str, to: &str| {
        let (before, behind) = LOOKED_UP.split_at(place);
        assert!(behind.contains(from), "{from}");
        format!("{before}{}", behind.replacen(from, to, 1))
    };
    for (broken, part) in [
        (at(load, TEST, &TEST.replace("ge.u32", "ge.s32")), ""),
        (at(load, TEST, &TEST.replace("ge.u32", "gt.u32")), ""),
        (at(store, TEST, &TEST.replace("ge.u32", "ge.s32")), ""),
        (at(store, TEST, &TEST.replace("ge.u32", "gt.u32")), ""),
        (
            at(0, "mov.b32 %value, 0;", "mov.b32 %value, 1065353216;"),
            "elements of `d` are wrong",
        ),
        (
            at(
                store,
                "cvt.s64.s32 %wide_entry, %entry;",
                "mov.b64 %wide_entry, 0;",
            ),
            "",
        ),
        // A row that no entry names is not as it was.
        (
            at(
                store,
                "@%outside bra DONE;",
                "@%outside mov.b32 %entry, 0; @%outside mov.b32 %value, 0;",
            ),
            "",
        ),
    ] {
        let summary = verified(&broken);
        let mut failures = summary.outcomes.iter().filter_map(|o| o.failure.as_deref());
        assert!(failures.any(|text| text.contains(part)), "{summary:#?}");
    }
}

#[test]
fn distinct_entries_are_promised_by_the_caller() {
    let runtime = Runtime::new(
        bundle_of([(looked_up_kernel(ID), LOOKED_UP)]),
        Device::emulator(),
    );
    let (kernel, info) = (&runtime.kernels()[0], runtime.device().info());
    let problem = Problem::of([("m", 3), ("q", 5), ("r", 7)])
        .with_strides("s", [4, 1])
        .with_strides("from", [1])
        .with_strides("to", [1])
        .with_strides("d", [4, 1]);
    let refusals = fit(kernel, &problem, info).unwrap_err();
    let reasons: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    let reason = "the promise that entries of to are distinct";
    assert!(
        reasons.iter().any(|one| one.contains(reason)),
        "{reasons:?}"
    );
    let promised = verify::promised(kernel, problem);
    assert!(fit(kernel, &promised, info).is_ok());
}
