//! Selection allocates nothing, and what it takes is what a launch takes.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "fixture/counting.rs"]
mod counting;
mod fixture;

use counting::{Counting, allocations};
use fixture::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tilewright_runtime::bundle::*;
use tilewright_runtime::{
    Arg, Device, EmulatorSettings, Error, HostLaunch, Placed, Problem, Query, Refusal, Request,
    Runtime, Source, fit,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A runtime whose table has one problem for each kernel, the kernel first and then all others.
fn tabled(kernels: Vec<Kernel>) -> Runtime {
    let bundle = bundle_of(kernels.into_iter().map(|kernel| (kernel, GEMM)));
    let device = TunedDevice {
        name: "emulator".to_owned(),
        sm: Some(80),
        sms: 4,
    };
    let all = bundle.kernels().iter();
    let point = TunedPoint {
        extents: vec![64, 64, 64],
        strides: Vec::new(),
        choices: all.map(|kernel| choice(kernel, 1.0)).collect(),
    };
    let tuning = table(&bundle.kernels()[0], device, vec![point]);
    let settings = EmulatorSettings {
        sm: Some(80),
        ..EmulatorSettings::default()
    };
    Runtime::new(tuned(&bundle, &tuning), Device::emulator_with(settings))
}

#[test]
fn a_selection_does_not_allocate() {
    let runtime = tabled(vec![
        picky_gemm("gemm_f32@a-1"),
        gemm_kernel("gemm_f32@b-2"),
    ]);
    let query = Query::gemm().with_dtype("a", DType::F32);
    let buffer = runtime.device().alloc(64).unwrap();
    for (problem, source) in [
        (packed_gemm(64, 64, 64), Source::Measured),
        (packed_gemm(60, 66, 64), Source::Interpolated),
        (packed_gemm(1, 4096, 64), Source::Extrapolated),
        // The first kernel does not take this one.
        (packed_gemm(64, 64, 63), Source::Interpolated),
    ] {
        let args = [Arg::new("a", &buffer)];
        let (count, found) = allocations(|| runtime.select(&query, &problem, &args));
        assert_eq!(found.unwrap().source, source);
        assert_eq!(count, 0, "{problem}");
    }
}

/// A gemm that takes 4 bytes of workspace for each element of its result, and 64 at least.
fn roomy_gemm(id: &str) -> Kernel {
    let mut kernel = gemm_kernel(id);
    let params = kernel.launches[0].params.clone();
    let params = params
        .iter()
        .map(|one| (one.name.as_str(), one.value.clone()));
    kernel.launches[0].params = Param::pack(params.chain([("scratch", ParamValue::Workspace)]));
    kernel.workspace.bytes = expr("m * n * 4");
    kernel.workspace.zero_bytes = 64;
    kernel
}

#[test]
fn a_limit_of_the_workspace_keeps_the_tables_in_use() {
    let runtime = tabled(vec![
        roomy_gemm("gemm_f32@a-1"),
        gemm_kernel("gemm_f32@b-2"),
    ]);
    let query = Query::gemm();
    let problem = packed_gemm(64, 64, 64);
    let chosen = |problem: &Problem| {
        let selection = runtime.select(&query, problem, &[]).unwrap();
        assert_ne!(selection.source, Source::Untuned);
        (selection.kernel.id.as_str(), selection.passed_over)
    };
    assert_eq!(chosen(&problem), ("gemm_f32@a-1", 0));
    let enough = problem.clone().with_workspace_limit(64 * 64 * 4);
    assert_eq!(chosen(&enough), ("gemm_f32@a-1", 0));
    let short = problem.clone().with_workspace_limit(64 * 64 * 4 - 1);
    assert_eq!(chosen(&short), ("gemm_f32@b-2", 1));
    let (count, _) = allocations(|| runtime.select(&query, &short, &[]).unwrap());
    assert_eq!(count, 0);
    // Zeros that it wants count as well.
    let small = packed_gemm(1, 1, 64);
    assert_eq!(
        chosen(&small.clone().with_workspace_limit(64)).0,
        "gemm_f32@a-1"
    );
    assert_eq!(chosen(&small.with_workspace_limit(63)).0, "gemm_f32@b-2");
}

#[test]
fn a_kernel_beyond_the_limit_says_what_it_needs() {
    let alone = tabled(vec![roomy_gemm("gemm_f32@a-1")]);
    let problem = packed_gemm(8, 8, 8).with_workspace_limit(0);
    let error = alone.select(&Query::gemm(), &problem, &[]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("it needs 256 bytes of workspace; 0 are allowed"),
        "{text}"
    );
    assert!(matches!(error, Error::NothingFits { kinds, .. } if kinds["workspace_limit"] == 1));
    assert!(alone.find("gemm_f32", Some(&problem)).is_err());
    let meant = alone.meant("gemm").unwrap();
    let request = Request::of_problem(meant[0], &problem).unwrap();
    let told = alone.explain("gemm", &[(meant[0], &request)]).to_string();
    assert!(
        told.contains("in 0 bytes of workspace, on emulator"),
        "{told}"
    );
    assert!(
        told.contains("refused: gemm_f32@a-1: it needs 256 bytes"),
        "{told}"
    );
}

#[test]
fn a_limit_is_of_what_a_launch_is_lent() {
    let bundle = bundle_of([(scaled_kernel("scaled@x-1"), SCALED)]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let kernel = &runtime.kernels()[0];
    let problem = Problem::of([("m", 3)]).with_scalar("alpha", 2.0);
    let problem = problem.row_major("s", 4).row_major("d", 4);
    let request = Request::of_problem(kernel, &problem).unwrap();
    let mut operands: Vec<Placed<'_>> = request.operands.clone();
    operands[0].address = 0x1000;
    operands[1].address = 0x2000;
    let prepared = |problem: &Problem| {
        let loaded = runtime.load(kernel).unwrap();
        HostLaunch::new(runtime.device(), loaded, problem.clone(), &operands)
    };
    let wanted = prepared(&problem).unwrap().workspace_bytes();
    assert_eq!(wanted, 3 * 4 * 4);
    assert!(prepared(&problem.clone().with_workspace_limit(wanted)).is_ok());
    let short = problem.with_workspace_limit(wanted - 1);
    let (needs, allowed) = (wanted, wanted - 1);
    let Err(Error::Refused { refusals, .. }) = prepared(&short) else {
        panic!("a launch beyond the limit is prepared");
    };
    assert_eq!(refusals, [Refusal::WorkspaceLimit { needs, allowed }]);
}

/// A product whose sums have as many parts as there is room for clusters.
fn shared_gemm(id: &str) -> Kernel {
    let mut kernel = gemm_kernel(id);
    kernel.semantics.sums = Some(Sums {
        splits: Some(expr("min(k, max_clusters)")),
        ..Sums::fma(23)
    });
    kernel
}

#[test]
fn sums_that_depend_on_the_launch_are_passed_over_where_rows_keep_their_bits() {
    let runtime = tabled(vec![
        shared_gemm("gemm_f32@a-1"),
        gemm_kernel("gemm_f32@b-2"),
    ]);
    let query = Query::gemm();
    let problem = packed_gemm(64, 64, 64);
    let chosen = |problem: &Problem| {
        let chosen = runtime.select(&query, problem, &[]).unwrap();
        chosen.kernel.id.clone()
    };
    assert_eq!(chosen(&problem), "gemm_f32@a-1");
    let same = problem.with_batch_invariance();
    assert_eq!(chosen(&same), "gemm_f32@b-2");
    let (count, _) = allocations(|| runtime.select(&query, &same, &[]));
    assert_eq!(count, 0);
    let refusals = fit(&runtime.kernels()[0], &same, runtime.device().info()).unwrap_err();
    let splits = "min(k, max_clusters)".to_owned();
    assert_eq!(refusals, [Refusal::BatchInvariance { splits }]);
    assert!(refusals[0].is_request());
    assert_eq!(refusals[0].kind(), "batch_invariance");
}

/// Problems that are right, and such as are wrong in many ways.
fn any_problem(rng: &mut StdRng) -> Problem {
    let mut extent = || match rng.random_range(0..12) {
        0 => 0,
        1 => -5,
        2 => 1,
        3 => i64::from(i32::MAX) + rng.random_range(0..2),
        4 => 70_000,
        _ => rng.random_range(1..40) * 8,
    };
    let (m, n, k) = (extent(), extent(), extent());
    let mut problem = Problem::new(m, n, k);
    if rng.random_range(0..10) == 0 {
        problem = problem.with_extent("batch", rng.random_range(-1..3));
    }
    if rng.random_range(0..3) == 0 {
        problem = problem.with_batch_invariance();
    }
    for (name, rows, cols) in [("a", m, k), ("b", n, k), ("d", m, n)] {
        let pad = [0, 0, 8, 1, -8][rng.random_range(0..5)];
        problem = match rng.random_range(0..12) {
            0 => problem,
            1 => problem.col_major(name, rows + pad),
            2 => problem.with_strides(name, [cols * 2, 2]),
            3 => problem.with_strides(name, [i64::MAX - pad.abs(), 1]),
            4 => problem.with_strides(name, [0, 1]),
            _ => problem.row_major(name, cols + pad),
        };
    }
    match rng.random_range(0..4) {
        0 => problem.with_workspace_limit(rng.random_range(0..1 << 20)),
        _ => problem,
    }
}

#[test]
fn what_is_accepted_is_what_fits() {
    let large = |id: &str, what: &str| {
        let mut kernel = gemm_kernel(id);
        match what {
            "grid" => kernel.launches[0].grid[1] = expr("m * n"),
            "tiles" => {
                kernel.launches[0].grid = ["min(m * n, max_clusters)", "1", "1"].map(expr);
            }
            "smem" => kernel.launches[0].dynamic_smem_bytes = expr("k * 1024"),
            "scalar" => {
                kernel.launches[0].params[3].value =
                    ParamValue::scalar(ScalarType::U32, expr("m - n"))
            }
            "cluster" => kernel.launches[0].cluster = Some([2, 1, 1]),
            "shares" => kernel = shared_gemm(id),
            _ => kernel.workspace.bytes = expr("m / (n - k)"),
        }
        kernel
    };
    let kernels = [
        gemm_kernel("gemm_f32@plain-1"),
        picky_gemm("gemm_f32@picky-2"),
        hopper_gemm("gemm_f32@hopper-3"),
        large("gemm_f32@grid-4", "grid"),
        large("gemm_f32@tiles-10", "tiles"),
        large("gemm_f32@smem-5", "smem"),
        large("gemm_f32@scalar-6", "scalar"),
        large("gemm_f32@cluster-7", "cluster"),
        large("gemm_f32@workspace-8", "workspace"),
        large("gemm_f32@shares-11", "shares"),
        roomy_gemm("gemm_f32@roomy-9"),
    ];
    let query = Query::gemm();
    let mut rng = StdRng::seed_from_u64(11);
    for kernel in kernels {
        let runtime = tabled(vec![kernel]);
        let kernel = &runtime.kernels()[0];
        let info = runtime.device().info();
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..4000 {
            let problem = any_problem(&mut rng);
            let fits = fit(kernel, &problem, info).is_ok();
            let selected = runtime.select(&query, &problem, &[]);
            assert_eq!(selected.is_ok(), fits, "{} {problem}", kernel.id);
            let row_major = ["a", "b", "d"]
                .iter()
                .all(|name| problem.strides(name).is_some_and(|s| s[1] == 1));
            // Of a problem without work no table speaks.
            let has_work = problem.extents().all(|(_, extent)| extent > 0);
            if let Ok(selection) = selected
                && row_major
                && has_work
            {
                // The table speaks of it, so it is the table that chose.
                assert_ne!(selection.source, Source::Untuned, "{} {problem}", kernel.id);
                taken += 1;
            } else {
                refused += 1;
            }
        }
        assert!(refused > 100, "{}", kernel.id);
        assert_eq!(taken > 0, !kernel.id.contains("hopper"), "{}", kernel.id);
    }
}
