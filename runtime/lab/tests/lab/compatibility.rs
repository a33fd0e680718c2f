//! Bundles that earlier versions wrote are opened, found to be what they were, and launched.
//!
//! `bundle/tests/data/format_N` has one bundle of each format of the promise (see the bundle
//! crate's documentation) in every form: folder and archive, unsigned and signed. They stay as they
//! were written. For a new format `BLESS=1` writes those that are missing.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use tilewright_fixture::*;
use tilewright_lab::verify::{Inputs, Options, verify};
use tilewright_runtime::bundle::*;
use tilewright_runtime::{Device, Runtime};

/// Each format that is opened, with the hash of its bundle.
const FORMATS: &[(u32, &str)] = &[(
    2,
    "3a83d704dfb3ad697c3b49866cd4b77c8776350b1efd07e21891db3507b38f06",
)];

/// The forms of a bundle, and whether they are signed.
const FORMS: [(&str, bool); 4] = [
    ("folder", false),
    ("bundle.zip", false),
    ("signed", true),
    ("signed.zip", true),
];

fn folder(format: u32) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bundle/tests/data");
    data.join(format!("format_{format}"))
}

/// A bundle with everything that a manifest can say, as this version writes it.
fn written_today() -> BundleWriter {
    let mut writer = BundleWriter::new(Provenance {
        llvm: Some("22.1".to_owned()),
        ptxas: Some("13.0".to_owned()),
        ..Provenance::new("tilewright 0.1.0")
    });
    let mut copy = copy_kernel("copy_f32@plain-1");
    copy.lines = Some(LineTable {
        file: Some("copy.yaml".to_owned()),
        origins: vec![Origin {
            op: "d = s".to_owned(),
            spec: Some(4),
        }],
        starts: vec![(1, 1)],
    });
    copy.certificate = serde_json::json!({ "coverage": [1, 2.5], "guards": {} }).into();
    let cubin = Some(("sm_90a", b"machine code".as_slice()));
    writer.add(copy, COPY, cubin).unwrap();
    let mut boxes = tma_copy("copy_f32_tma@boxes-1", TensorSwizzle::None);
    boxes.assumptions.push(Assumption::Expr {
        expr: "n % 8 == 0".parse().unwrap(),
        reason: "boxes are cut at 16 bytes".to_owned(),
    });
    for (kernel, ptx) in [
        (gemm_kernel("gemm_f32@plain-2"), GEMM),
        (picky_gemm("gemm_f32@picky-1"), GEMM),
        (scaled_kernel("scaled_f32@two-1"), SCALED),
        (looked_up_kernel("looked_up_f32@rows-1"), LOOKED_UP),
        (boxes, TMA_COPY),
    ] {
        writer.add(kernel, ptx, None).unwrap();
    }
    let gemm = opened(&writer);
    let gemm = gemm.kernel("gemm_f32@plain-2").unwrap();
    let device = TunedDevice {
        name: "NVIDIA H200".to_owned(),
        sm: Some(90),
        sms: 132,
    };
    let point = TunedPoint {
        extents: vec![64, 64, 64],
        strides: Vec::new(),
        choices: vec![choice(gemm, 12.5)],
    };
    writer.tune(&table(gemm, device, vec![point])).unwrap();
    writer
}

/// Writes the forms of the present format that are missing.
fn bless() {
    let folder = folder(FORMAT_VERSION);
    let key = SigningKey::from_random(&[7; 32]);
    let mut bundle = opened(&written_today());
    for (form, is_signed) in FORMS {
        if is_signed {
            bundle.sign(&key);
        }
        let path = folder.join(form);
        if !path.exists() {
            bundle.save(&path).unwrap();
            let public = key.public().to_pem();
            std::fs::write(folder.join("key.pub"), public).unwrap();
        }
    }
}

#[test]
fn every_format_of_the_promise_is_opened_and_launched() {
    if std::env::var_os("BLESS").is_some() {
        bless();
    }
    assert_eq!(FORMATS.last().unwrap().0, FORMAT_VERSION);
    for (format, hash) in FORMATS {
        let folder = folder(*format);
        let keys = std::fs::read_to_string(folder.join("key.pub")).unwrap();
        let keys = Policy::signed_by(PublicKey::all_from_pem(&keys).unwrap());
        for (form, is_signed) in FORMS {
            let path = folder.join(form);
            let bundle = Bundle::open(&path).unwrap();
            assert_eq!(bundle.hash().as_str(), *hash, "format {format}, {form}");
            assert!(bundle.unlisted(&path).unwrap().is_empty());
            assert_eq!(bundle.signatures().is_some(), is_signed, "{form}");
            assert_eq!(keys.open(&path).is_ok(), is_signed, "{form}");
        }
        launched(&folder.join("signed.zip"), &keys);
    }
}

/// Every kernel computes what its formula says.
fn launched(path: &Path, keys: &Policy) {
    let runtime = Runtime::open_with(path, Device::emulator(), keys).unwrap();
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    assert!(kernels.len() >= 6 && runtime.bundle().tuning().is_some());
    let options = Options {
        problems: 2,
        seed: 3,
        inputs: Inputs::Mixed,
        volume: None,
        further: 0,
    };
    let summary = verify(&runtime, &kernels, options, |_| {}).unwrap();
    assert_eq!(summary.outcomes.len(), 2 * kernels.len());
    for outcome in &summary.outcomes {
        assert_eq!(outcome.failure, None, "{}", outcome.problem);
    }
}

/// The other half of the promise: what this version writes has not changed within its format.
#[test]
fn the_present_format_is_written_as_ever() {
    let kept = Bundle::open(&folder(FORMAT_VERSION).join("folder")).unwrap();
    assert_eq!(&written_today().to_files().unwrap(), kept.files());
}
