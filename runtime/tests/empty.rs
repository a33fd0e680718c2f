//! Problems without an element to write: launches that do nothing, on every way to one.
#![allow(clippy::unwrap_used)]

mod fixture;

use fixture::*;
use tilewright_runtime::bundle::DType;
use tilewright_runtime::{Arg, Error, Problem, Query, fit, prepare, tightest};

fn copy(m: i64, n: i64) -> Problem {
    Problem::new(m, n, 1).row_major("s", 72).row_major("d", 75)
}

#[test]
fn a_launch_without_rows_touches_nothing() {
    let runtime = runtime();
    for problem in [copy(0, 70), copy(5, 0), copy(0, 0)] {
        let kernel = runtime.find("copy_f32", Some(&problem)).unwrap().kernel;
        let fits = fit(kernel, &problem, runtime.device().info()).unwrap();
        assert!(fits.is_empty() && problem.is_empty(kernel), "{problem}");
        let [s, d] = [0, 64].map(|bytes| runtime.device().alloc(bytes).unwrap());
        let before = runtime.device().download(&d).unwrap();
        // Nothing is asked of an address that nobody reads.
        let args = [Arg::new("s", &s), Arg::at("d", &d, 3)];
        let report = runtime.launch(kernel, &problem, &args).unwrap();
        assert_eq!(report.thread_instructions, 0, "{problem}");
        assert_eq!(runtime.device().download(&d).unwrap(), before);
        let missing = runtime.launch(kernel, &problem, &args[..1]);
        assert!(matches!(missing, Err(Error::Refused { .. })), "{problem}");
        let launch = prepare(kernel, &fits, runtime.device().info(), &[]);
        assert!(launch.is_err(), "operands are named all the same");
    }
}

#[test]
fn what_is_empty_is_picked_and_selected() {
    let runtime = runtime();
    let query = Query::gemm().with_dtype("a", DType::F32);
    let empty = Problem::new(0, 5, 6)
        .row_major("a", 7)
        .row_major("b", 7)
        .row_major("d", 5);
    let kernel = runtime.pick(&query, &empty, &[]).unwrap().kernel;
    assert!(tightest(kernel, &Problem::new(0, 5, 6), runtime.device().info()).is_ok());
    let chosen = runtime.select(&query, &empty, &[]).unwrap();
    assert!(empty.is_empty(chosen.kernel));
}

#[test]
fn what_sums_nothing_is_refused_as_before() {
    let runtime = runtime();
    let query = Query::gemm().with_dtype("a", DType::F32);
    let folded = Problem::new(4, 5, 0)
        .row_major("a", 8)
        .row_major("b", 8)
        .row_major("d", 5);
    let told = runtime.pick(&query, &folded, &[]).unwrap_err().to_string();
    assert!(told.contains("k is 0"), "{told}");
    let negative = Problem::new(-1, 5, 6).row_major("a", 8).row_major("b", 8);
    assert!(
        runtime
            .pick(&query, &negative.row_major("d", 5), &[])
            .is_err()
    );
}
