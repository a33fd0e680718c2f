//! Kernels that are more than one launch of a product or a copy: judged by their own formula.
#![allow(clippy::unwrap_used)]

use tilewright_fixture::{self as fixture, COPY, GEMM, HOPPER};
use tilewright_fixture::{SCALED, bundle_of, copy_kernel, gemm_kernel, scaled_kernel};
use tilewright_lab::bench::{Extent, Stamp};
use tilewright_lab::tune::{Progress, Settings, tune};
use tilewright_lab::verify;
use tilewright_runtime::bundle::{Assumption, DType, Kernel, ParamValue, Route};
use tilewright_runtime::{
    Arg, Device, Error, Problem, Query, Refusal, Runtime, Source, fit, tightest,
};

const ID: &str = "scaled_f32@two-1";

fn runtime_of(kernel: Kernel, ptx: &str) -> Runtime {
    Runtime::new(bundle_of([(kernel, ptx)]), Device::emulator())
}

fn verified(runtime: &Runtime) -> verify::Summary {
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = verify::Options {
        problems: 12,
        seed: 5,
        ..verify::Options::default()
    };
    verify::verify(runtime, &kernels, options, |_| ()).unwrap()
}

#[test]
fn two_launches_with_a_scalar_compute_their_formula() {
    let summary = verified(&runtime_of(scaled_kernel(ID), SCALED));
    let failures: Vec<_> = summary.outcomes.iter().filter(|o| !o.passed()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let told = |word: &str| summary.outcomes.iter().any(|o| o.problem.contains(word));
    assert!(told("alpha=-2") || told("alpha=0.5") || told("alpha=3"));
}

/// A scalar that is 0 hides what it is a factor of, so that few problems have one.
#[test]
fn one_problem_in_four_may_have_scalars_that_are_0() {
    let runtime = runtime_of(scaled_kernel(ID), SCALED);
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = verify::Options {
        problems: 60,
        ..verify::Options::default()
    };
    let summary = verify::verify(&runtime, &kernels, options, |_| ()).unwrap();
    let is_zero = |one: &verify::Outcome| one.problem.split(' ').any(|word| word == "alpha=0");
    let zeros = summary
        .outcomes
        .iter()
        .enumerate()
        .filter(|(_, one)| is_zero(one));
    let zeros: Vec<usize> = zeros.map(|(index, _)| index).collect();
    assert!(
        !zeros.is_empty() && zeros.iter().all(|index| index % 4 == 3),
        "{zeros:?}"
    );
}

#[test]
fn wrong_kernels_break_their_formula() {
    for (from, to, part) in [
        (
            "mul.rn.f32 %value, %value, %alpha;",
            "",
            "elements of `d` are wrong",
        ),
        (
            "mul.rn.f32 %value, %value, %alpha;",
            "mul.rn.f32 %value, %value, %alpha; mul.rn.f32 %value, %value, 0f3F800002;",
            "elements of `d` are wrong",
        ),
        // The second launch reads what the first did not write.
        (
            "st.global.f32 [%to], %value;",
            "setp.eq.s32 %below, %row, 0; @!%below st.global.f32 [%to], %value;",
            "",
        ),
    ] {
        assert!(SCALED.contains(from));
        let broken = SCALED.replacen(from, to, 1);
        let summary = verified(&runtime_of(scaled_kernel(ID), &broken));
        let mut failures = summary.outcomes.iter().filter_map(|o| o.failure.as_deref());
        assert!(
            failures.any(|text| text.contains(part)),
            "{to}: {summary:#?}"
        );
    }
}

#[test]
fn a_problem_gives_scalars_and_promises() {
    let mut kernel = scaled_kernel(ID);
    kernel.assumptions.push(Assumption::Promise {
        promise: "alpha is no power of two".to_owned(),
        reason: "it is rounded".to_owned(),
    });
    let runtime = runtime_of(kernel, SCALED);
    let (kernel, info) = (&runtime.kernels()[0], runtime.device().info());
    let bare = Problem::of([("m", 3)])
        .with_strides("s", [4, 1])
        .with_strides("d", [4, 1]);
    let reasons = |problem: &Problem| {
        let refusals = fit(kernel, problem, info).unwrap_err();
        refusals
            .iter()
            .map(Refusal::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(reasons(&bare), "the problem gives no scalar `alpha`");
    let scaled = bare.with_scalar("alpha", 0.1);
    let reason = reasons(&scaled);
    assert!(
        reason.contains("the promise that alpha is no power of two"),
        "{reason}"
    );
    let whole = scaled.with_promise("alpha is no power of two");
    assert!(fit(kernel, &whole, info).is_ok());
    let more = whole.clone().with_scalar("beta", 1.0);
    assert_eq!(
        reasons(&more),
        "the kernel has no scalar `beta`: leave it out"
    );
    let nonsense = whole.clone().with_promise("nonsense");
    assert_eq!(
        reasons(&nonsense),
        "no kernel of this function asks for the promise \"nonsense\": leave it out, or say one \
         of: \
         alpha is no power of two"
    );
    // The extent of a constant mode is the kernel's.
    let other = whole.clone().with_extent("p", 8);
    assert!(reasons(&other).contains("p is 8; the kernel has no extent"));
    assert_eq!(tightest(kernel, &whole, info).unwrap(), whole);
}

#[test]
fn an_output_may_lie_over_its_input_where_the_kernel_says_so() {
    let launched = |kernel: Kernel, ldd: i64| {
        let runtime = runtime_of(kernel, SCALED);
        let values: Vec<u8> = (0..24).flat_map(|x| (x as f32).to_le_bytes()).collect();
        let device = runtime.device();
        let both = device.alloc_with(&values).unwrap();
        let problem = Problem::of([("m", 3)])
            .with_strides("s", [4, 1])
            .with_strides("d", [ldd, 1])
            .with_scalar("alpha", 2.0);
        let args = [Arg::new("s", &both), Arg::new("d", &both)];
        let query = Query::like(&runtime.kernels()[0]);
        runtime.launch_best(&query, &problem, &args)?;
        device.download(&both)
    };
    let doubled = launched(scaled_kernel(ID), 4).unwrap();
    let third = f32::from_le_bytes([doubled[12], doubled[13], doubled[14], doubled[15]]);
    assert_eq!(third, 6.0);
    let overlap = |result: Result<Vec<u8>, Error>| match result {
        Err(Error::Refused { refusals, .. }) => refusals
            .iter()
            .any(|r| matches!(r, Refusal::Overlap { .. })),
        _ => false,
    };
    assert!(overlap(launched(scaled_kernel(ID), 5)));
    let mut apart = scaled_kernel(ID);
    apart.semantics.operands[1].over = None;
    assert!(overlap(launched(apart, 4)));
}

#[test]
fn machine_code_alone_is_for_its_device() {
    let mut writer = tilewright_fixture::writer_of([(copy_kernel("copy_f32@any-2"), COPY)]);
    let alone = Kernel {
        route: Route::CubinOnly,
        capability: HOPPER,
        ..copy_kernel("copy_f32@alone-1")
    };
    writer.add(alone, COPY, Some(("sm_90a", b"code"))).unwrap();
    let bundle = tilewright_fixture::opened(&writer);
    let kernel = bundle.kernel("copy_f32@alone-1").unwrap();
    let problem = Problem::new(2, 2, 1).row_major("s", 2).row_major("d", 2);
    let gpu = |sm| tilewright_runtime::DeviceInfo {
        backend: tilewright_runtime::Backend::Cuda,
        sm: Some(sm),
        driver: Some(13_000),
        ..Device::emulator().info().clone()
    };
    assert!(fit(kernel, &problem, &gpu(90)).is_ok());
    let refusals = fit(kernel, &problem, &gpu(100)).unwrap_err();
    assert!(
        refusals.iter().any(|r| r.kind() == "cubin_only"),
        "{refusals:?}"
    );
    // The emulator runs the PTX, which is right.
    let emulator = Runtime::new(bundle.clone(), Device::emulator());
    assert!(emulator.device().fit(kernel, &problem).is_ok());
}

#[test]
fn a_query_for_two_functions_is_refused() {
    let mut double = gemm_kernel("gemm_f64@plain-1");
    for operand in &mut double.semantics.operands {
        operand.dtype = DType::F64;
    }
    double.semantics.sums = None;
    let bundle = bundle_of([(gemm_kernel("gemm_f32@plain-1"), GEMM), (double, GEMM)]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let problem = Problem::new(2, 2, 2)
        .row_major("a", 2)
        .row_major("b", 2)
        .row_major("d", 2);
    let pick = |query: Query| {
        runtime
            .pick(&query, &problem, &[])
            .map(|pick| pick.kernel.id.clone())
    };
    let text = pick(Query::gemm()).unwrap_err().to_string();
    for part in [
        "compute 2 things",
        "gemm a=f32 b=f32 d=f32 sums=f32 (gemm_f32",
        "gemm a=f64 b=f64 d=f64 sums=f32 (gemm_f64",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let single = Query::gemm().with_dtype("d", DType::F32);
    assert_eq!(pick(single).unwrap(), "gemm_f32@plain-1");
    let like = Query::like(runtime.bundle().kernel("gemm_f64@plain-1").unwrap());
    assert_eq!(pick(like).unwrap(), "gemm_f64@plain-1");
    assert!(pick(Query::gemm().with_accumulator(DType::F16)).is_err());
}

#[test]
fn captures_of_kernels_with_scalars_are_replayed() {
    use tilewright_lab::capture::{Options, Verdict, capture, replay};
    let runtime = runtime_of(scaled_kernel(ID), SCALED);
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let options = Options {
        problems: 4,
        seed: 3,
        inputs: verify::Inputs::Mixed,
        stamp: Stamp::default(),
    };
    let captured = capture(&runtime, &kernels, &options, |_| ()).unwrap();
    assert_eq!(captured.rows.len(), 4);
    assert!(
        captured
            .rows
            .iter()
            .all(|row| row.problem.scalars.contains_key("alpha"))
    );
    let again = replay(&runtime, &captured.rows, |_| ()).unwrap();
    let equal = again
        .rows
        .iter()
        .filter(|row| row.verdict == Verdict::Equal);
    assert_eq!(equal.count(), 4);
}

/// The gemm with other names: `y[row,out] = sum[c] x[row,c] * w[out,c]`.
fn renamed(id: &str) -> Kernel {
    let mut kernel = gemm_kernel(id);
    let names = [
        ("a", "x"),
        ("b", "w"),
        ("d", "y"),
        ("m", "row"),
        ("n", "out"),
        ("k", "c"),
    ];
    let new = |old: &str| {
        let found = names.iter().find(|(known, _)| *known == old);
        found.map_or(old.to_owned(), |(_, new)| (*new).to_owned())
    };
    let layouts = [
        "(row,c):(rsa,csa)",
        "(out,c):(rsb,csb)",
        "(row,out):(rsd,csd)",
    ];
    for (operand, text) in kernel.semantics.operands.iter_mut().zip(layouts) {
        operand.name = new(&operand.name);
        operand.layout = fixture::layout(text);
    }
    kernel.semantics.compute =
        "acc[row,out]: f32 = sum[c] x[row,c] * w[out,c]\ny[row,out] = acc[row,out]".to_owned();
    let launch = &mut kernel.launches[0];
    launch.grid = ["ceil_div(out, 64)", "row", "1"].map(fixture::expr);
    for param in &mut launch.params {
        match &mut param.value {
            ParamValue::Pointer { operand } => *operand = new(operand),
            ParamValue::Scalar { expr: value, .. } => *value = fixture::expr(&new(value.text())),
            _ => {}
        }
    }
    kernel
}

#[test]
fn products_of_other_names_are_tuned_by_rows_columns_and_depth() {
    let runtime = runtime_of(renamed("linear_f32@plain-1"), GEMM);
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let extents = [Extent::product(6, 7, 16)];
    // Its own names are as good.
    let own = Extent::named([("row", 6), ("out", 7), ("c", 16)]);
    let info = runtime.device().info();
    let [own, product] = [&own, &extents[0]].map(|extent| extent.problem(kernels[0], info));
    assert_eq!(own.unwrap().to_string(), product.unwrap().to_string());
    let foreign = Extent::named([("row", 6), ("out", 7), ("c", 16), ("g", 2)]);
    let refused = foreign.problem(kernels[0], info).unwrap_err().to_string();
    assert!(
        refused.contains("`g`") || refused.contains(" g "),
        "{refused}"
    );
    let mut records = Vec::new();
    let mut keep = |progress: Progress<'_>| {
        if let Progress::Record(record) = progress {
            records.push(record.clone());
        }
        Ok(())
    };
    let (settings, stamp) = (Settings::default(), Stamp::default());
    let found = tune(
        &runtime,
        &kernels,
        &extents,
        &[],
        &settings,
        stamp,
        &mut keep,
    )
    .unwrap();
    assert_eq!((found.tally.measured, found.unfit.len()), (1, 0));
    let problem = &records[0].row.problem;
    assert_eq!((problem.m, problem.n, problem.k), (6, 7, 16));
    assert!(problem.more.is_empty(), "{problem:?}");
    let tables = found.tables(&runtime, &records);
    assert_eq!(tables.tables[0].extents, ["row", "c", "out"]);
    assert_eq!(tables.tables[0].points[0].extents, [6, 16, 7]);
    let tuned = Runtime::new(
        fixture::tuned(runtime.bundle(), &tables),
        Device::emulator(),
    );
    let problem = Problem::of([("row", 6), ("out", 7), ("c", 16)])
        .row_major("x", 16)
        .row_major("w", 16)
        .row_major("y", 7);
    let query = Query::like(&tuned.kernels()[0]);
    let selection = tuned.select(&query, &problem, &[]).unwrap();
    assert_eq!(selection.source, Source::Measured);
    // It is not the formula of `kernel: gemm`, whose operands have other names.
    assert!(tuned.select(&Query::gemm(), &problem, &[]).is_err());
}
