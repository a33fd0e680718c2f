//! Tensor maps and clusters end to end on the emulator, and what is refused beforehand.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::fixture::*;
use tilewright_lab::verify;
use tilewright_runtime::bundle::{DType, Kernel, TensorSwizzle};
use tilewright_runtime::emulator::{Options, Sanitize};
use tilewright_runtime::{
    Arg, Device, DeviceInfo, EmulatorSettings, Error, Problem, Query, Refusal, Runtime, View, fit,
    prepare, tightest,
};

fn strict(sms: u32) -> Device {
    Device::emulator_with(EmulatorSettings {
        sms,
        sm: Some(90),
        options: Options {
            sanitize: Sanitize::Strict,
            ..Options::default()
        },
        ..EmulatorSettings::default()
    })
}

/// Copies `m x n` and compares every byte of the destination, gaps included. Boxes are cut at 16
/// bytes: behind the last element come the zeros that the box was filled with.
fn copies(runtime: &Runtime, kernel: &Kernel, m: i64, n: i64, lds: i64, ldd: i64) {
    let problem = Problem::new(m, n, 1)
        .row_major("s", lds)
        .row_major("d", ldd);
    let source: Vec<u8> = (0..m * lds * 2).map(|x| (x * 7 % 251) as u8).collect();
    let s = runtime.device().alloc_with(&source).unwrap();
    let d = runtime.device().alloc((m * ldd * 2) as u64).unwrap();
    let args = [Arg::new("s", &s), Arg::new("d", &d)];
    runtime.launch(kernel, &problem, &args).unwrap();
    let found = runtime.device().download(&d).unwrap();
    let stores_boxes = kernel.id.starts_with("copy_tma");
    for (at, byte) in found.iter().enumerate() {
        let (row, col) = (at as i64 / (ldd * 2), at as i64 % (ldd * 2));
        let want = if col < n * 2 {
            source[(row * lds * 2 + col) as usize]
        } else if stores_boxes && col < (n * 2 + 15) / 16 * 16 {
            0
        } else {
            0xCD
        };
        assert_eq!(*byte, want, "{} {m}x{n} row {row} byte {col}", kernel.id);
    }
}

#[test]
fn boxes_are_copied_whatever_the_extents() {
    let runtime = Runtime::new(tma_bundle(), strict(4));
    for kernel in runtime.kernels() {
        for (m, n, lds, ldd) in [
            (1, 1, 8, 8),
            (8, 64, 64, 64),
            (9, 65, 72, 80),
            (37, 131, 136, 144),
            (3, 7, 8, 16),
        ] {
            copies(&runtime, kernel, m, n, lds, ldd);
        }
    }
}

#[test]
fn a_box_is_permuted_as_its_map_says() {
    // The kernel undoes another permutation than the map's: most columns land elsewhere.
    let mut wrong = tma_pair("copy_pair@wrong-1", TensorSwizzle::None);
    wrong.launches[0].params[5].value = tma_pair("x", TensorSwizzle::Bytes128).launches[0].params
        [5]
    .value
    .clone();
    let runtime = Runtime::new(bundle_of([(wrong, TMA_PAIR)]), strict(4));
    let source: Vec<u8> = (0..1024u32).map(|x| (x / 16) as u8).collect();
    let s = runtime.device().alloc_with(&source).unwrap();
    let d = runtime.device().alloc(1024).unwrap();
    let problem = Problem::new(8, 64, 1).row_major("s", 64).row_major("d", 64);
    let args = [Arg::new("s", &s), Arg::new("d", &d)];
    let kernel = &runtime.kernels()[0];
    runtime.launch(kernel, &problem, &args).unwrap();
    let found = runtime.device().download(&d).unwrap();
    for (at, byte) in found.iter().enumerate() {
        let (row, piece) = (at / 128, at / 16 % 8);
        assert_eq!(usize::from(*byte), row * 8 + (piece ^ row), "at {at}");
    }
}

#[test]
fn persistent_clusters_are_as_many_as_fit() {
    for sms in [1, 2, 5, 64] {
        let runtime = Runtime::new(tma_bundle(), strict(sms));
        let kernel = runtime.bundle().kernel("copy_pair@s128-2").unwrap();
        let problem = Problem::new(70, 190, 1)
            .row_major("s", 192)
            .row_major("d", 191);
        let fit = runtime.device().fit(kernel, &problem).unwrap();
        let clusters = i64::from((sms / 2).max(1)).min(5 * 3);
        assert_eq!(
            kernel.launches[0].grid[0].eval(&fit.env).unwrap(),
            2 * clusters
        );
        let counted = fit.with_max_clusters(3);
        assert_eq!(kernel.launches[0].grid[0].eval(&counted.env).unwrap(), 6);
        copies(&runtime, kernel, 70, 190, 192, 191);
    }
}

#[test]
fn drawn_problems_are_legal_and_odd() {
    let runtime = Runtime::new(tma_bundle_of_whole_boxes(), strict(4));
    let kernels: Vec<_> = runtime.kernels().iter().collect();
    let options = verify::Options {
        problems: 12,
        seed: 11,
        ..verify::Options::default()
    };
    let summary = verify::verify(&runtime, &kernels, options, |_| ()).unwrap();
    let failures: Vec<_> = summary.outcomes.iter().filter(|o| !o.passed()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(summary.passed(), 6 * 12);
    let odd = |outcome: &&verify::Outcome, which: usize| {
        // `70x190x64` or `m=70 n=190`.
        let mut extents = outcome.problem.split(['x', ' ']);
        let extent = extents.nth(which).unwrap();
        let extent = extent.rsplit('=').next().unwrap();
        extent.parse::<i64>().unwrap() % 2 == 1
    };
    for kernel in &kernels {
        let of = || summary.outcomes.iter().filter(|o| o.kernel == kernel.id);
        let counts = [0, 1].map(|which| of().filter(|o| odd(o, which)).count());
        let free = 2 - usize::from(kernel.id.starts_with("copy_tma"));
        assert!(
            counts[..free].iter().all(|count| *count >= 2),
            "{} {counts:?}",
            kernel.id
        );
    }
}

#[test]
fn packed_problems_have_rows_that_maps_take() {
    let device = strict(4);
    for swizzle in [TensorSwizzle::None, TensorSwizzle::Bytes128] {
        let pair = resolved(tma_pair("copy_pair@x-1", swizzle));
        let problem = tightest(&pair, &Problem::new(5, 13, 1), device.info()).unwrap();
        assert_eq!(problem.strides("s"), Some([16, 1].as_slice()));
    }
}

fn refusals(kernel: Kernel, ptx: &str, problem: &Problem, offsets: [u64; 2]) -> Vec<String> {
    let runtime = Runtime::new(bundle_of([(kernel, ptx.to_owned())]), strict(4));
    let [s, d] = [4096, 4096].map(|bytes| runtime.device().alloc(bytes).unwrap());
    let args = [Arg::at("s", &s, offsets[0]), Arg::at("d", &d, offsets[1])];
    match runtime.launch(&runtime.kernels()[0], problem, &args) {
        Err(Error::Refused { refusals, .. }) => refusals.iter().map(Refusal::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_map_cannot_be_made_of_is_refused_before_the_launch() {
    let pair = || tma_pair("copy_pair@x-1", TensorSwizzle::None);
    let fine = Problem::new(8, 16, 1).row_major("s", 16).row_major("d", 16);
    // Two bytes are aligned enough for `d`, which has no map.
    let shifted = refusals(pair(), TMA_PAIR, &fine, [8, 2]);
    assert_eq!(shifted.len(), 1, "{shifted:?}");
    assert!(
        shifted[0].starts_with("`s` is at address 0x") && shifted[0].contains("multiple of 16")
    );
    let narrow = fine.clone().row_major("s", 17);
    assert_eq!(
        refusals(pair(), TMA_PAIR, &narrow, [0, 0]),
        [
            "the tensor map of `s` has a stride of 34 bytes along dim 1; \
             a multiple of 16 below 2^40 is needed"
        ]
    );
    let far = fine.clone().row_major("s", 1 << 39);
    assert!(refusals(pair(), TMA_PAIR, &far, [0, 0])[0].contains("1099511627776 bytes"));
    let mut empty = pair();
    let mut large = pair();
    for (kernel, text) in [(&mut empty, "n - 16"), (&mut large, "n * 1000000000")] {
        let mut value = kernel.launches[0].params[0].value.clone();
        if let tilewright_runtime::bundle::ParamValue::TensorMap(map) = &mut value {
            map.dims[0] = expr(text);
        }
        kernel.launches[0].params[0].value = value;
    }
    assert_eq!(
        refusals(empty, TMA_PAIR, &fine, [0, 0]),
        ["dim 0 of the tensor map of `s` is 0; 1 to 2^32 is allowed"]
    );
    assert_eq!(
        refusals(large, TMA_PAIR, &fine, [0, 0]),
        ["dim 0 of the tensor map of `s` is 16000000000; 1 to 2^32 is allowed"]
    );
    let mut beyond = pair();
    let mut value = beyond.launches[0].params[0].value.clone();
    if let tilewright_runtime::bundle::ParamValue::TensorMap(map) = &mut value {
        map.dims[1] = expr("m + 1000");
    }
    beyond.launches[0].params[0].value = value;
    assert_eq!(
        refusals(beyond, TMA_PAIR, &fine, [0, 0]),
        ["`s` needs 32256 bytes from its offset; the buffer has 4096"]
    );
}

#[test]
fn the_next_kernel_takes_what_a_map_cannot() {
    let mut plain = copy_kernel("copy_bf16@plain-9");
    for operand in &mut plain.semantics.operands {
        operand.dtype = DType::BF16;
    }
    let pair = tma_pair("copy_pair@x-1", TensorSwizzle::Bytes128);
    let copy = tma_copy("copy_both@x-1", TensorSwizzle::Bytes128);
    let runtime = Runtime::new(
        bundle_of([(copy, TMA_COPY), (pair, TMA_PAIR), (plain, COPY)]),
        strict(4),
    );
    let query = Query::copy();
    let s = runtime.device().alloc(4096).unwrap();
    let picked = |lds: i64, ldd: i64, offset: u64| {
        let problem = Problem::new(8, 15, 1)
            .row_major("s", lds)
            .row_major("d", ldd);
        let pick = runtime
            .pick(&query, &problem, &[Arg::at("s", &s, offset)])
            .unwrap();
        let kinds: Vec<_> = pick.skips.iter().map(|s| s.refusals[0].kind()).collect();
        (pick.kernel.id.clone(), kinds)
    };
    assert_eq!(picked(16, 16, 32).0, "copy_both@x-1");
    let (kernel, kinds) = picked(16, 15, 32);
    assert_eq!(
        (kernel.as_str(), kinds),
        ("copy_pair@x-1", vec!["assumption"])
    );
    let (kernel, kinds) = picked(15, 16, 0);
    assert_eq!(
        (kernel.as_str(), kinds),
        ("copy_bf16@plain-9", vec!["assumption", "tensor_map"])
    );
    let (kernel, kinds) = picked(16, 16, 8);
    assert_eq!(
        (kernel.as_str(), kinds),
        ("copy_bf16@plain-9", vec!["alignment", "alignment"])
    );
}

#[test]
fn clusters_of_the_code_and_the_manifest_agree() {
    let required = TMA_PAIR.replacen(
        ".reqntid 64, 1, 1",
        ".reqntid 64, 1, 1\n.reqnctapercluster 2, 1, 1",
        1,
    );
    let agrees = tma_pair("copy_pair@x-1", TensorSwizzle::None);
    let mut differs = tma_pair("copy_pair@x-2", TensorSwizzle::None);
    differs.launches[0].cluster = Some([1, 2, 1]);
    differs.launches[0].grid[1] = expr("2");
    let mut without = tma_pair("copy_pair@x-3", TensorSwizzle::None);
    without.launches[0].cluster = None;
    let bundle = bundle_of([agrees, differs, without].map(|k| (k, required.clone())));
    let runtime = Runtime::new(bundle, strict(4));
    let load = |id: &str| runtime.load(runtime.bundle().kernel(id).unwrap());
    assert!(load("copy_pair@x-1").is_ok());
    for (id, stated) in [
        ("copy_pair@x-2", "Some([1, 2, 1])"),
        ("copy_pair@x-3", "None"),
    ] {
        let error = load(id).unwrap_err().to_string();
        assert!(
            error.contains("cluster is [2, 1, 1]") && error.contains(stated),
            "{error}"
        );
    }
}

#[test]
fn drivers_without_the_calls_are_refused() {
    let old = |driver| DeviceInfo {
        driver: Some(driver),
        ..strict(4).info().clone()
    };
    let mut kernel = resolved(tma_pair("copy_pair@x-1", TensorSwizzle::None));
    kernel.min_driver = 11_000;
    let fine = Problem::new(8, 16, 1).row_major("s", 16).row_major("d", 16);
    let refused = |kernel: &Kernel, driver| {
        let refusals = fit(kernel, &fine, &old(driver)).unwrap_err();
        refusals.iter().map(Refusal::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        refused(&kernel, 11_080),
        ["it needs a driver for CUDA 12.0; this one is for 11.8: update it"]
    );
    assert!(fit(&kernel, &fine, &old(12_000)).is_ok());
    kernel.launches[0].params.remove(0);
    assert_eq!(
        refused(&kernel, 11_070),
        ["it needs a driver for CUDA 11.8; this one is for 11.7: update it"]
    );
}

#[test]
fn maps_are_left_to_the_backend_in_whole() {
    let device = strict(4);
    let kernel = resolved(tma_copy("copy_tma@x-1", TensorSwizzle::Bytes64));
    let problem = Problem::new(5, 13, 1).row_major("s", 16).row_major("d", 24);
    let fitted = fit(&kernel, &problem, device.info()).unwrap();
    let views = [("s", 0x1000), ("d", 0x2010)].map(|(operand, address)| View {
        operand,
        address,
        bytes: 4096,
    });
    let mut launch = prepare(&kernel, &fitted, device.info(), &views).unwrap();
    let placed: Vec<_> = launch.parts[0]
        .tensor_maps
        .iter()
        .map(|p| (p.parameter.as_str(), p.at, p.map.base, p.map.strides[0]))
        .collect();
    assert_eq!(
        placed,
        [("s_map", 0, 0x1000, 32), ("d_map", 128, 0x2010, 48)]
    );
    assert!(launch.parts[0].params[..256].iter().all(|byte| *byte == 0));
    launch.encode_maps(|p| Ok([p.at as u8 + 1; 128])).unwrap();
    assert_eq!(launch.parts[0].params[..128], [1; 128]);
    assert_eq!(launch.parts[0].params[128..256], [129; 128]);
    let refusals = launch.encode_maps(|_| Err("no".to_owned())).unwrap_err();
    assert_eq!(
        refusals[1].to_string(),
        "the tensor map d_map cannot be made: no"
    );
}

#[test]
fn maps_of_the_workspace_end_inside_it() {
    let device = strict(4);
    let problem = Problem::new(5, 13, 1).row_major("s", 16).row_major("d", 24);
    let refused = |bytes: i64, at: i64| {
        let mut kernel = resolved(tma_copy("copy_tma@x-1", TensorSwizzle::Bytes64));
        kernel.workspace.bytes = bytes.into();
        let mut params = kernel.launches[0].params.iter_mut();
        let map = params.find_map(|param| match &mut param.value {
            tilewright_bundle::ParamValue::TensorMap(map) if map.operand == "s" => Some(map),
            _ => None,
        });
        map.unwrap().in_workspace = Some(at.into());
        let fitted = fit(&kernel, &problem, device.info()).unwrap();
        let views = [("s", 0x1000), ("d", 0x2010)].map(|(operand, address)| View {
            operand,
            address,
            bytes: 4096,
        });
        let refusals = prepare(&kernel, &fitted, device.info(), &views).err();
        let refusals = refusals.unwrap_or_default();
        Vec::from_iter(refusals.iter().map(Refusal::to_string))
    };
    // Four steps of 32 bytes and a row of 13 elements, of two bytes each.
    assert_eq!(refused(154, 0), [""; 0]);
    assert_eq!(refused(154 + 128, 128), [""; 0]);
    let beyond = |end: i64, bytes: i64| {
        format!("parameter s_map, end in the workspace is {end}; 0 to {bytes} is allowed")
    };
    assert_eq!(refused(153, 0), [beyond(154, 153)]);
    assert_eq!(refused(154, 128), [beyond(154 + 128, 154)]);
}
