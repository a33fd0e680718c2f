//! Bundles put together and taken apart: kernels, code, tables and tools are those of before.
#![allow(clippy::unwrap_used)]

mod sealed;

use tilewright_bundle::*;
use tilewright_fixture::*;

use self::sealed::{files, writer};

fn made_by(generator: &str, kernels: &[(&str, &str)]) -> Bundle {
    let mut writer = BundleWriter::new(Provenance {
        ptxas: Some("13.0".to_owned()),
        ..Provenance::new(generator)
    });
    for (id, ptx) in kernels {
        writer.add(copy_kernel(id), ptx, None).unwrap();
    }
    opened(&writer)
}

fn measured(bundle: &Bundle, device: &str, extents: [i64; 2], us: f64) -> Bundle {
    let device = TunedDevice {
        name: device.to_owned(),
        sm: Some(90),
        sms: 132,
    };
    let kernel = &bundle.kernels()[0];
    let point = TunedPoint {
        extents: extents.to_vec(),
        strides: Vec::new(),
        choices: vec![choice(kernel, us)],
    };
    tuned(bundle, &table(kernel, device, vec![point]))
}

fn merged(bundles: &[(&str, &Bundle)]) -> Result<Bundle, String> {
    let writer = BundleWriter::merge(bundles, false).map_err(|e| e.to_string())?;
    Ok(opened(&writer))
}

const OTHER: &str = "// another text\n";

#[test]
fn machine_code_that_one_side_has_is_kept() {
    let built = |code: Option<&[u8]>| {
        let mut writer = BundleWriter::new(Provenance::new("one"));
        let code = code.map(|bytes| ("sm_90", bytes));
        writer.add(copy_kernel("copy_f32@a-1"), COPY, code).unwrap();
        opened(&writer)
    };
    let (bare, coded) = (built(None), built(Some(b"machine code")));
    // Each side was measured as it is.
    let bare = measured(&bare, "NVIDIA H200", [8, 8], 1.0);
    let coded = measured(&coded, "NVIDIA H100", [8, 8], 1.0);
    for bundles in [[("a", &bare), ("b", &coded)], [("b", &coded), ("a", &bare)]] {
        let both = merged(&bundles).unwrap();
        let kernel = &both.kernels()[0];
        assert_eq!(both.cubin(kernel), Some(b"machine code".as_slice()));
        assert_eq!(both.tuning().unwrap().points(), 2);
    }
    let other = built(Some(b"another code"));
    let refused = merged(&[("a", &coded), ("b", &other)]).unwrap_err();
    assert!(
        refused.contains("a and b have different machine code"),
        "{refused}"
    );
}

#[test]
fn parts_of_a_bundle_merge_to_the_whole() {
    let whole = open(&files()).unwrap();
    let part = |id: &str| {
        let part = BundleWriter::part(&whole, |kernel| kernel.id == id);
        opened(&part.unwrap())
    };
    let parts = ["copy_a@x-1", "copy_b@x-2"].map(part);
    assert!(parts.iter().all(|part| part.kernels().len() == 1));
    let two = parts[1].kernel("copy_b@x-2").unwrap();
    assert_eq!(parts[1].cubin(two), Some(b"machine code".as_slice()));
    let again = BundleWriter::merge(&[("b", &parts[1]), ("a", &parts[0])], false).unwrap();
    assert_eq!(again.to_files().unwrap(), writer().to_files().unwrap());
    let none = BundleWriter::part(&whole, |_| false).unwrap_err();
    assert!(none.to_string().contains("no kernel is left"), "{none}");
}

#[test]
fn what_followed_from_the_text_before_goes_with_it() {
    let whole = open(&files()).unwrap();
    let edited = |id: &str, text: &str| {
        let texts = [(id.to_owned(), text.to_owned())].into();
        BundleWriter::edited(&whole, &texts).map_err(|error| error.to_string())
    };
    let text = whole.ptx(whole.kernel("copy_b@x-2").unwrap());
    let text = format!("// by hand\n{text}");
    let one = opened(&edited("copy_b@x-2", &text).unwrap());
    let kernel = one.kernel("copy_b@x-2").unwrap();
    assert_eq!(one.ptx(kernel), text);
    assert_eq!(
        (one.cubin(kernel), kernel.resources.registers),
        (None, None)
    );
    let measured = one.tuning().into_iter().flat_map(|tuning| &tuning.tables);
    let points = measured.flat_map(|table| &table.points);
    let mut choices = points.flat_map(|point| &point.choices);
    assert!(choices.all(|choice| choice.kernel != "copy_b@x-2"));
    let same = |id| one.kernel(id).unwrap().content_hash == whole.kernel(id).unwrap().content_hash;
    assert!(same("copy_a@x-1") && !same("copy_b@x-2"));
    let unknown = edited("copy_c@x-3", &text).unwrap_err();
    assert!(unknown.contains("no kernel of this id"), "{unknown}");
    let empty = edited("copy_a@x-1", "").unwrap_err();
    assert!(empty.contains("declares no .entry"), "{empty}");
}

#[test]
fn the_same_kernel_is_taken_once_and_another_one_refused() {
    let one = made_by("one", &[("copy_f32@a-1", COPY), ("copy_f32@b-2", COPY)]);
    let two = made_by("two", &[("copy_f32@b-2", COPY), ("copy_f32@c-3", COPY)]);
    let both = merged(&[("one.zip", &one), ("two", &two)]).unwrap();
    let ids: Vec<&str> = both.kernels().iter().map(|k| k.id.as_str()).collect();
    assert_eq!(ids, ["copy_f32@a-1", "copy_f32@b-2", "copy_f32@c-3"]);
    assert_eq!(both.provenance().generator, "one + two");
    assert_eq!(both.provenance().ptxas.as_deref(), Some("13.0"));
    // A bundle that does not say its tools does not get those of another.
    let unnamed = bundle_of([(copy_kernel("copy_f32@d-4"), COPY)]);
    let three = merged(&[("both", &both), ("unnamed", &unnamed)]).unwrap();
    assert_eq!(three.provenance().generator, "fixture + one + two");
    assert_eq!(three.provenance().ptxas.as_deref(), Some("13.0 + unnamed"));
    let other = made_by("two", &[("copy_f32@b-2", &format!("{OTHER}{COPY}"))]);
    let refused = merged(&[("one.zip", &one), ("other", &other)]).unwrap_err();
    let part = "copy_f32@b-2: one.zip and other have different kernels of this id";
    assert!(refused.starts_with(part), "{refused}");
    assert!(
        refused.contains(": they differ in ptx; build both"),
        "{refused}"
    );
}

/// Machine code of the copy, of which a build with a `ptxas` knows the registers.
fn built(generator: &str, kernel: Kernel, code: Option<&[u8]>) -> Bundle {
    let mut writer = BundleWriter::new(Provenance::new(generator));
    writer
        .add(kernel, COPY, code.map(|bytes| ("sm_90", bytes)))
        .unwrap();
    opened(&writer)
}

#[test]
fn kernels_of_different_routes_are_refused_by_their_routes() {
    let route = |route: Route, min_driver: u32| Kernel {
        route,
        min_driver,
        ..copy_kernel("copy_f32@a-1")
    };
    let compiled = built("one", route(Route::Ptx, 11_000), Some(b"code"));
    let alone = built("one", route(Route::CubinOnly, 12_000), Some(b"code"));
    for bundles in [
        [("n.zip", &alone), ("p", &compiled)],
        [("p", &compiled), ("n.zip", &alone)],
    ] {
        let refused = merged(&bundles).unwrap_err();
        for part in [
            "n.zip runs its machine code alone (`cubin_only`)",
            "p lets the driver compile its PTX",
            "build both with --cubin-only or both without",
        ] {
            assert!(refused.contains(part), "{refused}");
        }
    }
}

#[test]
fn what_one_side_knows_of_a_kernel_is_kept_in_every_order() {
    let judged = |registers: Option<u32>| {
        let mut kernel = copy_kernel("copy_f32@a-1");
        kernel.resources.registers = registers;
        kernel.resources.spill_bytes = registers.map(|_| 0);
        kernel
    };
    let lined = |kernel: Kernel, file: &str| Kernel {
        lines: Some(LineTable {
            file: Some(file.to_owned()),
            ..LineTable::default()
        }),
        ..kernel
    };
    let unjudged = measured(
        &built("one", judged(None), None),
        "NVIDIA H200",
        [8, 8],
        1.0,
    );
    let known = measured(
        &built("two", judged(Some(28)), None),
        "NVIDIA H100",
        [8, 8],
        1.0,
    );
    let worse = built("three", lined(judged(Some(30)), "b.yaml"), None);
    let coded = built("four", lined(judged(Some(24)), "a.yaml"), Some(b"code"));
    let all = [
        ("u", &unjudged),
        ("k", &known),
        ("w", &worse),
        ("c", &coded),
    ];
    let registers = |count: usize| {
        let mut files = Vec::new();
        for turned in 0..count {
            let mut order = all[..count].to_vec();
            order.rotate_left(turned);
            let writer = BundleWriter::merge(&order, false).unwrap();
            files.push(writer.to_files().unwrap());
        }
        assert!(files.iter().all(|one| *one == files[0]), "{count}");
        let both = open(&files[0]).unwrap();
        assert_eq!(both.tuning().unwrap().points(), 2);
        both.kernels()[0].resources.registers
    };
    assert_eq!([2, 3, 4].map(registers), [Some(28), Some(30), Some(24)]);
}

#[test]
fn tables_are_put_together_or_refused() {
    let one = made_by("one", &[("copy_f32@a-1", COPY)]);
    let small = measured(&one, "NVIDIA H200", [8, 8], 1.0);
    let large = measured(&one, "NVIDIA H200", [64, 64], 2.0);
    let elsewhere = measured(&one, "NVIDIA H100", [8, 8], 1.5);
    let all = [
        ("s", &small),
        ("l", &large),
        ("e", &elsewhere),
        ("s2", &small),
    ];
    let both = merged(&all).unwrap();
    let tables = &both.tuning().unwrap().tables;
    let points: Vec<usize> = tables.iter().map(|table| table.points.len()).collect();
    assert_eq!(points, [1, 2]);
    let again = measured(&one, "NVIDIA H200", [8, 8], 1.25);
    let bundles = [("small", &small), ("again", &again)];
    let refused = merged(&bundles).unwrap_err();
    let parts = ["small and again measured m,n = [8, 8]", "NVIDIA H200"];
    assert!(parts.iter().all(|part| refused.contains(part)), "{refused}");
    let dropped = opened(&BundleWriter::merge(&bundles, true).unwrap());
    assert!(dropped.tuning().is_none());
}

#[test]
fn a_part_keeps_what_was_measured_of_it() {
    let two = made_by("one", &[("copy_f32@a-1", COPY), ("copy_f32@b-2", COPY)]);
    let both = measured(&two, "NVIDIA H200", [8, 8], 1.0);
    let part = |id: &str| opened(&BundleWriter::part(&both, |k| k.id == id).unwrap());
    assert_eq!(part("copy_f32@a-1").tuning(), both.tuning());
    assert!(part("copy_f32@b-2").tuning().is_none());
}

/// What is said of functions of those kernels that have no last resort.
fn told_from(kernels: &[Kernel], least: Option<Capability>) -> Vec<String> {
    let kernels: Vec<Kernel> = kernels.iter().cloned().map(resolved).collect();
    let found = without_last_resort(&kernels.iter().collect::<Vec<_>>(), least);
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_stride_that_two_operands_share_is_no_last_resort() {
    let mut shared = gemm_kernel("gemm_f32@plain-2");
    shared.semantics = gemm_semantics(DType::F32, ["(rsa,csa)", "(rsa,csb)", "(rsd,csd)"]);
    shared.launches[0].params = gemm_params(&["rsa", "csa", "rsa", "csb", "rsd", "csd"]);
    assert_eq!(
        told_from(&[shared], None),
        [
            "no last resort for gemm_f32: the nearest, gemm_f32@plain-2, has one stride, rsa, for \
             a and b"
        ]
    );
}

#[test]
fn a_function_of_many_specs_is_named_by_the_first() {
    let picky = |number: usize| picky_gemm(&format!("gemm_f32_{number}@picky-1"));
    let told = |count: usize| told_from(&(1..=count).map(picky).collect::<Vec<_>>(), None);
    let start = "no last resort for gemm_f32_1, gemm_f32_2, gemm_f32_3, gemm_f32_4";
    for (count, others) in [
        (4, ":"),
        (5, " and one more spec:"),
        (7, " and 3 more specs:"),
    ] {
        let [said] = told(count).try_into().unwrap();
        assert!(said.starts_with(&format!("{start}{others}")), "{said}");
    }
}

#[test]
fn functions_without_a_last_resort_are_found() {
    let told = |kernels: &[Kernel]| told_from(kernels, None);
    let (copy, plain) = (copy_kernel("copy_f32@c-1"), gemm_kernel("gemm_f32@plain-2"));
    let (picky, hopper) = (
        picky_gemm("gemm_f32@picky-1"),
        hopper_gemm("gemm_f32_tn@h-1"),
    );
    let all = [copy.clone(), picky.clone(), plain.clone(), hopper.clone()];
    assert_eq!(told(&all), [""; 0]);
    assert_eq!(
        told(&[copy.clone(), picky.clone(), hopper.clone()]),
        [
            "no last resort for gemm_f32, gemm_f32_tn: the nearest, gemm_f32_tn@h-1, does not \
             run on sm_80"
        ]
    );
    assert_eq!(told(std::slice::from_ref(&hopper)), [""; 0]);
    assert_eq!(
        told(std::slice::from_ref(&picky)),
        [
            "no last resort for gemm_f32: the nearest, gemm_f32@picky-1, assumes lda % 8 == 0, \
          assumes ldb % 8 == 0, assumes align(a) >= 16 bytes"
        ]
    );
    // A copy for older GPUs asks nothing of products; who names the oldest GPU does.
    let older = |min_sm: u32| Kernel {
        capability: Capability {
            min_sm,
            exact: false,
        },
        ..copy.clone()
    };
    let with_older = [older(50), plain.clone()];
    assert_eq!(told(&with_older), [""; 0]);
    let from = |min_sm: u32| {
        let exact = false;
        told_from(&with_older, Some(Capability { min_sm, exact }))
    };
    assert!(
        from(70)[0].contains("does not run on sm_70"),
        "{:?}",
        from(70)
    );
    assert_eq!(from(plain.capability.min_sm), [""; 0]);
    assert_eq!(from(90), [""; 0]);
    // One that assumes nothing for rows is none for columns.
    let mut columns = plain.clone();
    let mut rows = picky;
    rows.assumptions.clear();
    columns.assumptions = vec![assume("rsa % 8 == 0")];
    let found = told(&[rows, columns]);
    assert!(
        found[0].contains("takes a as (m,k):(lda,1) alone"),
        "{found:?}"
    );
    let mut small = copy;
    small.assumptions = vec![Assumption::Align {
        operand: "s".to_owned(),
        bytes: 4,
        reason: "elements".to_owned(),
    }];
    assert_eq!(told(std::slice::from_ref(&small)), [""; 0]);
    small.assumptions.push(assume("n <= 1024"));
    assert!(told(&[small])[0].contains("assumes n <= 1024"));
}
