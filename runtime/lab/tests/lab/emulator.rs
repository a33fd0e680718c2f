//! Bundles end to end on the emulator: launching, picking, refusing, verifying.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::fixture::*;
use tilewright_lab::verify;
use tilewright_runtime::bundle::DType;
use tilewright_runtime::{
    Arg, Device, EmulatorSettings, Error, Problem, Query, Refusal, Request, Runtime, tightest,
};

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

#[test]
fn a_copy_moves_its_elements_and_nothing_else() {
    let runtime = runtime();
    let problem = Problem::new(5, 70, 1).row_major("s", 72).row_major("d", 75);
    let kernel = runtime.find("copy_f32", Some(&problem)).unwrap().kernel;
    let source: Vec<f32> = (0..5 * 72).map(|x| x as f32).collect();
    let s = runtime
        .device()
        .alloc_with(&floats(source.clone()))
        .unwrap();
    let d = runtime.device().alloc(4 * (4 + 5 * 75)).unwrap();
    let args = [Arg::new("s", &s), Arg::at("d", &d, 16)];
    let report = runtime.launch(kernel, &problem, &args).unwrap();
    assert!(report.thread_instructions > 5 * 70 * 20);
    let found = runtime.device().download(&d).unwrap();
    for at in 0..found.len() / 4 {
        let word: [u8; 4] = found[at * 4..at * 4 + 4].try_into().unwrap();
        let place = at.checked_sub(4).map(|at| (at / 75, at % 75));
        match place {
            Some((i, j)) if j < 70 => assert_eq!(f32::from_le_bytes(word), source[i * 72 + j]),
            _ => assert_eq!(word, [0xCD; 4], "at {at}"),
        }
    }
}

#[test]
fn names_find_ids_and_specs() {
    let runtime = runtime();
    let problem = Problem::new(4, 4, 4)
        .row_major("a", 8)
        .row_major("b", 8)
        .row_major("d", 4);
    let find = |name: &str, problem| runtime.find(name, problem).map(|p| p.kernel.id.clone());
    assert_eq!(
        find("gemm_f32", Some(&problem)).unwrap(),
        "gemm_f32@picky-1"
    );
    let odd = problem.clone().row_major("a", 7);
    assert_eq!(find("gemm_f32", Some(&odd)).unwrap(), "gemm_f32@plain-2");
    assert_eq!(
        find("gemm_f32@plain-2", Some(&problem)).unwrap(),
        "gemm_f32@plain-2"
    );
    let unknown = find("gemm_f23", None).unwrap_err().to_string();
    assert!(unknown.contains("the nearest is \"gemm_f32"), "{unknown}");
}

#[test]
fn picking_skips_what_cannot_run_and_counts_it() {
    let settings = EmulatorSettings {
        sm: Some(80),
        ..EmulatorSettings::default()
    };
    let runtime = Runtime::new(bundle(), Device::emulator_with(settings));
    let query = Query::gemm().with_dtype("a", DType::F32);
    let fine = Problem::new(4, 5, 6)
        .row_major("a", 8)
        .row_major("b", 16)
        .row_major("d", 5);
    assert_eq!(
        runtime.pick(&query, &fine, &[]).unwrap().kernel.id,
        "gemm_f32@picky-1"
    );
    let turned = fine.clone().col_major("b", 5);
    let pick = runtime.pick(&query, &turned, &[]).unwrap();
    assert_eq!(pick.kernel.id, "gemm_f32@plain-2");
    assert_eq!(pick.skips[0].refusals[0].kind(), "layout");
    let odd = fine.clone().row_major("a", 7);
    assert_eq!(
        runtime.pick(&query, &odd, &[]).unwrap().counts()["assumption"],
        1
    );
    let a = runtime.device().alloc(4096).unwrap();
    let shifted = runtime.pick(&query, &fine, &[Arg::at("a", &a, 4)]).unwrap();
    assert_eq!(shifted.kernel.id, "gemm_f32@plain-2");
    let only_hopper = runtime.find("gemm_f32_tn", Some(&fine));
    assert!(matches!(only_hopper, Err(Error::NothingFits { .. })));
    let skipped = runtime.skipped();
    assert_eq!(
        (
            skipped["layout"],
            skipped["assumption"],
            skipped["alignment"]
        ),
        (1, 1, 1)
    );
    let none = Query::gemm().with_dtype("a", DType::BF16);
    assert!(matches!(
        runtime.pick(&none, &fine, &[]),
        Err(Error::NothingFits { .. })
    ));
}

#[test]
fn whoever_finds_no_kernel_has_every_reason_of_each() {
    let picky = [("gemm_f32@picky-1"), ("gemm_f32@picky-2")];
    let picky = picky.map(|id| (picky_gemm(id), GEMM.to_owned()));
    let runtime = Runtime::new(bundle_of(picky), Device::emulator());
    let odd = packed_gemm(6, 7, 17);
    let told = runtime.pick(&Query::gemm(), &odd, &[]).unwrap_err();
    let told = told.to_string();
    // Both have the same reasons, which are told once.
    let own = told.split("gemm_f32@picky-1, gemm_f32@picky-2: ");
    let own = own.last().unwrap();
    let reasons = [
        "it assumes lda % 8 == 0",
        "pad lda to 24, or build a kernel that does not assume it",
        "it assumes ldb % 8 == 0",
    ];
    for reason in reasons {
        assert_eq!(own.matches(reason).count(), 1, "{told}");
    }
}

#[test]
fn the_best_kernel_that_loads_is_launched() {
    let mut broken = picky_gemm("gemm_f32@broken-0");
    broken.launches[0].params.pop();
    let bundle = bundle_of([
        (broken, GEMM.to_owned()),
        (gemm_kernel("gemm_f32@plain-2"), GEMM.to_owned()),
    ]);
    // What fits and does not load is picked by nobody, whoever asks first.
    let problem = packed_gemm(2, 3, 8);
    let picking = Runtime::new(bundle.clone(), Device::emulator());
    let picked = picking.pick(&Query::gemm(), &problem, &[]).unwrap();
    assert_eq!(picked.kernel.id, "gemm_f32@plain-2");
    assert!(
        picked
            .skips
            .iter()
            .any(|skip| skip.refusals[0].kind() == "load")
    );
    let choosing = Runtime::new(bundle.clone(), Device::emulator());
    let request = Request::of_problem(&choosing.kernels()[0], &problem).unwrap();
    let meant = choosing.meant("gemm").unwrap();
    let chosen = choosing.choose("gemm", &[(meant[0], &request)]).unwrap();
    assert_eq!(chosen.kernel.id, "gemm_f32@plain-2");
    let selected = choosing.select(&Query::gemm(), &problem, &[]).unwrap();
    assert_eq!(selected.kernel.id, "gemm_f32@plain-2");
    let runtime = Runtime::new(bundle, Device::emulator());
    let problem = Problem::new(2, 3, 4)
        .row_major("a", 8)
        .row_major("b", 8)
        .row_major("d", 3);
    let a = runtime.device().alloc_with(&floats([1.0; 16])).unwrap();
    let b = runtime.device().alloc_with(&floats([2.0; 24])).unwrap();
    let d = runtime.device().alloc(24).unwrap();
    let args = [Arg::new("a", &a), Arg::new("b", &b), Arg::new("d", &d)];
    let query = Query::gemm();
    let (kernel, _) = runtime.launch_best(&query, &problem, &args).unwrap();
    assert_eq!(kernel.id, "gemm_f32@plain-2");
    assert_eq!(runtime.device().download(&d).unwrap(), floats([8.0; 6]));
    assert_eq!(runtime.skipped()["load"], 1);
}

/// The refusals of a launch of the picky gemm on buffers of the given sizes.
fn refusals(problem: &Problem, sizes: [u64; 3], offsets: [u64; 3]) -> Vec<Refusal> {
    let runtime = runtime();
    let device = runtime.device();
    let [a, b, d] = sizes.map(|bytes| device.alloc(bytes).unwrap());
    let args = [
        Arg::at("a", &a, offsets[0]),
        Arg::at("b", &b, offsets[1]),
        Arg::at("d", &d, offsets[2]),
    ];
    let kernel = runtime.bundle().kernel("gemm_f32@picky-1").unwrap();
    match runtime.launch(kernel, problem, &args) {
        Err(Error::Refused { refusals, .. }) => refusals,
        other => panic!("{other:?}"),
    }
}

#[test]
fn launches_that_would_go_wrong_are_refused_before_they_run() {
    let fine = Problem::new(4, 5, 6)
        .row_major("a", 8)
        .row_major("b", 8)
        .row_major("d", 5);
    let kinds = |problem: &Problem, sizes, offsets| {
        refusals(problem, sizes, offsets)
            .iter()
            .map(Refusal::kind)
            .collect::<Vec<_>>()
    };
    let sizes = [120, 152, 80];
    assert_eq!(kinds(&fine, [119, 152, 79], [0; 3]), ["buffer", "buffer"]);
    assert_eq!(kinds(&fine, sizes, [16, 0, 0]), ["buffer"]);
    assert_eq!(
        kinds(&fine, [200, 152, 100], [8, 0, 2]),
        ["alignment", "alignment"]
    );
    let odd = fine.clone().row_major("a", 7).row_major("b", 9);
    assert_eq!(kinds(&odd, sizes, [0; 3]), ["assumption", "assumption"]);
    let mut negative = fine.clone();
    for (name, extent) in [("m", -3), ("n", -1), ("k", 1 << 31)] {
        negative = negative.with_extent(name, extent);
    }
    assert_eq!(
        kinds(&negative, sizes, [0; 3]),
        ["extent", "extent", "extent"]
    );
    let folded = fine.clone().row_major("d", 4);
    assert_eq!(kinds(&folded, sizes, [0; 3]), ["strides"]);
    let missing = Problem::new(4, 5, 6).row_major("a", 8).row_major("b", 8);
    assert_eq!(kinds(&missing, sizes, [0; 3]), ["strides"]);
    let turned = fine.clone().col_major("a", 8);
    assert_eq!(kinds(&turned, sizes, [0; 3]), ["layout"]);
    let far = fine.clone().row_major("a", i64::MAX - 7);
    assert_eq!(kinds(&far, sizes, [0; 3]), ["strides"]);
}

#[test]
fn outputs_must_not_share_memory() {
    let runtime = runtime();
    let problem = Problem::new(4, 8, 1).row_major("s", 8).row_major("d", 8);
    let kernel = runtime.find("copy_f32", Some(&problem)).unwrap().kernel;
    let both = runtime.device().alloc_with(&[1; 256]).unwrap();
    let apart = [Arg::new("s", &both), Arg::at("d", &both, 128)];
    runtime.launch(kernel, &problem, &apart).unwrap();
    let shared = [Arg::new("s", &both), Arg::at("d", &both, 124)];
    let error = runtime
        .launch(kernel, &problem, &shared)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`d` is written and shares memory with `s`"),
        "{error}"
    );
    let twice = [
        Arg::new("s", &both),
        Arg::new("s", &both),
        Arg::at("d", &both, 128),
    ];
    assert!(runtime.launch(kernel, &problem, &twice).is_err());
    let none = [Arg::new("s", &both)];
    let error = runtime
        .launch(kernel, &problem, &none)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no buffer was given for `d`"), "{error}");
}

#[test]
fn packed_problems_obey_assumptions() {
    let runtime = runtime();
    let kernel = runtime.bundle().kernel("gemm_f32@picky-1").unwrap();
    let problem = tightest(kernel, &Problem::new(5, 6, 13), runtime.device().info()).unwrap();
    assert_eq!(problem.strides("a"), Some([16, 1].as_slice()));
    let plain = runtime.bundle().kernel("gemm_f32@plain-2").unwrap();
    let problem = tightest(plain, &Problem::new(5, 6, 13), runtime.device().info()).unwrap();
    assert_eq!(problem.strides("b"), Some([13, 1].as_slice()));
}

#[test]
fn extents_are_measured_in_the_order_asked_for() {
    use tilewright_lab::bench::{Extent, Leading, Letters};
    let runtime = runtime();
    let info = runtime.device().info();
    let at = |letters| Extent {
        letters,
        ..Extent::product(5, 6, 16)
    };
    let strides = |id: &str, letters| {
        let kernel = runtime.bundle().kernel(id).unwrap();
        let problem = at(letters).problem(kernel, info)?;
        let of = |name| problem.strides(name).map(|s| (s[0], s[1])).unwrap();
        Ok::<_, Error>([of("a"), of("b")])
    };
    let plain = "gemm_f32@plain-2";
    assert_eq!(strides(plain, None).unwrap(), [(16, 1), (16, 1)]);
    let orders = [
        (Letters::Tn, [(16, 1), (16, 1)]),
        (Letters::Nn, [(1, 5), (16, 1)]),
        (Letters::Nt, [(1, 5), (1, 6)]),
        (Letters::Tt, [(16, 1), (1, 6)]),
    ];
    for (letters, expected) in orders {
        assert_eq!(strides(plain, Some(letters)).unwrap(), expected);
    }
    let picky = "gemm_f32@picky-1";
    assert!(strides(picky, Some(Letters::Tn)).is_ok());
    // Leading dimensions are those asked for, and of what is not asked for the smallest.
    let kernel = runtime.bundle().kernel(plain).unwrap();
    let leading = Leading {
        a: Some(40),
        pad: Some(8),
        ..Leading::default()
    };
    let apart = Extent {
        leading,
        ..at(Some(Letters::Nn))
    };
    let problem = apart.problem(kernel, info).unwrap();
    assert_eq!(problem.strides("a"), Some([1, 40].as_slice()));
    assert_eq!(problem.strides("b"), Some([16, 1].as_slice()));
    assert_eq!(problem.strides("d"), Some([8, 1].as_slice()));
    let refused = strides(picky, Some(Letters::Nt)).unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
}

#[test]
fn right_kernels_verify() {
    let runtime = runtime();
    let kernels: Vec<_> = runtime.kernels().iter().collect();
    let options = verify::Options {
        problems: 6,
        further: 0,
        seed: 7,
        ..verify::Options::default()
    };
    let mut seen = 0;
    let summary = verify::verify(&runtime, &kernels, options, |_| seen += 1).unwrap();
    let failures: Vec<_> = summary.outcomes.iter().filter(|o| !o.passed()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!((seen, summary.passed()), (24, 24));
    let again = verify::verify(&runtime, &kernels, options, |_| ()).unwrap();
    assert_eq!(again, summary);
}

/// One change to a kernel, and a word its failures must contain.
fn mutant_fails(ptx: &str, from: &str, to: &str, part: &str) {
    let kernel = match ptx {
        COPY => copy_kernel("copy_f32@mutant-1"),
        _ => gemm_kernel("gemm_f32@mutant-1"),
    };
    assert!(ptx.contains(from), "{from}");
    let bundle = bundle_of([(kernel, ptx.replacen(from, to, 1))]);
    let runtime = Runtime::new(bundle, Device::emulator());
    let kernels: Vec<_> = runtime.kernels().iter().collect();
    let options = verify::Options {
        problems: 12,
        seed: 3,
        ..verify::Options::default()
    };
    let summary = verify::verify(&runtime, &kernels, options, |_| ()).unwrap();
    let failures: Vec<_> = summary
        .outcomes
        .iter()
        .filter_map(|o| o.failure.as_deref())
        .collect();
    let found = failures.iter().any(|f| f.contains(part));
    assert!(found, "{from} -> {to}: {failures:#?}");
}

#[test]
fn wrong_kernels_do_not_verify() {
    // The row below the last: reads behind the source.
    mutant_fails(
        COPY,
        "setp.ge.s32 %right, %column, %n",
        "setp.gt.s32 %right, %column, %n",
        "",
    );
    // Every value moved one column on.
    mutant_fails(
        COPY,
        "mad.lo.u64 %offset, %wide_row, %stride, %wide_column",
        "mul.lo.u64 %offset, %wide_row, %stride",
        "elements of `d` differ",
    );
    // A few elements are never written.
    mutant_fails(
        COPY,
        "setp.ge.s32 %below, %row, %m",
        "setp.ge.s32 %below, %row, 3",
        "elements of `d` differ",
    );
    // The first row is a column longer: the gap behind it is written.
    mutant_fails(
        COPY,
        "setp.ge.s32 %right, %column, %n",
        "setp.eq.s32 %right, %row, 0; selp.b32 %block, 1, 0, %right; add.s32 %n, %n, %block; \
         setp.ge.s32 %right, %column, %n",
        "belongs to no element",
    );
    mutant_fails(
        GEMM,
        "mov.f32 %f1, 0f00000000",
        "mov.f32 %f1, 0f3F800000",
        "elements are wrong",
    );
    mutant_fails(
        GEMM,
        "add.s32 %r9, %r9, 1",
        "add.s32 %r9, %r9, 2",
        "elements are wrong",
    );
    mutant_fails(
        GEMM,
        "setp.lt.s32 %p3, %r9, %r3",
        "setp.le.s32 %p3, %r9, %r3",
        "",
    );
}

#[test]
fn code_that_contradicts_the_manifest_is_refused() {
    let mut short = copy_kernel("copy_f32@short-1");
    short.launches[0].params.pop();
    let runtime = Runtime::new(bundle_of([(short, COPY)]), Device::emulator());
    let error = runtime.load(&runtime.kernels()[0]).unwrap_err().to_string();
    assert!(error.contains("contradicts the manifest"), "{error}");
    let settings = EmulatorSettings {
        sm: Some(80),
        ..EmulatorSettings::default()
    };
    let runtime = Runtime::new(bundle(), Device::emulator_with(settings));
    let hopper = runtime.bundle().kernel("gemm_f32_tn@hopper-1").unwrap();
    let error = runtime.load(hopper).unwrap_err().to_string();
    assert!(
        error.contains("exactly sm_90; the device is sm_80"),
        "{error}"
    );
}

#[test]
fn no_gpu_is_said_plainly() {
    match Device::cuda(0) {
        Err(error) => {
            let text = error.to_string();
            let known = matches!(
                error,
                Error::NoDriver | Error::NoDevice { .. } | Error::Cuda { .. }
            );
            assert!(known && !text.is_empty(), "{text}");
            assert!(tilewright_runtime::driver_present() || text.contains("use the emulator"));
        }
        Ok(device) => assert!(device.info().sms > 0),
    }
}
