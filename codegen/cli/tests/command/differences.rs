//! `diff` of hand-written bundles, of locks and of specs.

use std::fs;
use std::path::Path;

use tilewright_bundle::*;
use tilewright_fixture::*;

use crate::session::{assert_golden, tilewright};

/// The bundle of a copy and a gemm, with what was measured of the latter.
fn write(path: &Path, copy: Kernel, ptx: &str, us: f64) {
    let gemm = (gemm_kernel("gemm_f32@plain-2"), GEMM.to_owned());
    let bundle = bundle_of([(copy, ptx.to_owned()), gemm]);
    let kernel = bundle.kernel("gemm_f32@plain-2").unwrap();
    let device = TunedDevice {
        name: "NVIDIA H200".to_owned(),
        sm: Some(90),
        sms: 132,
    };
    let points = vec![TunedPoint {
        extents: vec![64, 64, 64],
        strides: Vec::new(),
        choices: vec![choice(kernel, us)],
    }];
    tuned(&bundle, &table(kernel, device, points))
        .save(path)
        .unwrap();
}

/// The copy with lines of two operations.
fn copy(id: &str) -> Kernel {
    let origin = |op: &str| Origin {
        op: op.to_owned(),
        spec: None,
    };
    let mut kernel = copy_kernel(id);
    kernel.lines = Some(LineTable {
        file: None,
        origins: vec![origin("copy g.s -> g.d"), origin("if inside")],
        starts: vec![(1, 2), (12, 1)],
    });
    kernel
}

#[test]
fn what_moved_of_a_bundle_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("one.zip"), copy("copy_f32@plain-1"), COPY, 12.5);
    let mut other = copy("copy_f32@wide-2");
    other.launches[0].grid[0] = "ceil_div(n, 128)".parse().unwrap();
    other.resources.registers = Some(18);
    other.assumptions.push(assume("lds % 4 == 0"));
    let ptx = COPY.replace("    ret;", "    // stored\n    ret;");
    assert_ne!(ptx, COPY);
    write(&at("two.zip"), other, &ptx, 10.0);
    let diff = |one: &str, two: &str| {
        let (one, two) = (at(one), at(two));
        tilewright(["diff", one.to_str().unwrap(), two.to_str().unwrap()])
    };
    assert_eq!(
        diff("one.zip", "one.zip").expect(0).stdout,
        "nothing moved\n"
    );
    assert_golden("diff.txt", &diff("one.zip", "two.zip").expect(1).stdout);
    // Of the same kernels the one that is signed is another bundle.
    let key = at("key");
    tilewright(["bundle", "keygen", key.to_str().unwrap()]).expect(0);
    let (one, signed) = (at("one.zip"), at("signed.zip"));
    let sign = [
        "bundle",
        "sign",
        one.to_str().unwrap(),
        "--key",
        key.to_str().unwrap(),
        "-o",
    ];
    tilewright(sign.into_iter().chain([signed.to_str().unwrap()])).expect(0);
    let told = diff("one.zip", "signed.zip").expect(1).stdout;
    assert!(
        told.starts_with("signature by ") && told.ends_with(" is new\n"),
        "{told}"
    );
    let told = diff("signed.zip", "one.zip").expect(1).stdout;
    assert!(
        told.ends_with(" is gone\n") && told.lines().count() == 1,
        "{told}"
    );
    fs::write(at("kernels.lock"), "{}").unwrap();
    let kinds = diff("one.zip", "kernels.lock").expect(2);
    assert!(
        kinds.stderr.contains("compare two of a kind"),
        "{}",
        kinds.stderr
    );
    let none = diff("kernels.lock", "kernels.lock").expect(2);
    assert!(none.stderr.contains("no lock"), "{}", none.stderr);
}

#[cfg(feature = "codegen")]
#[test]
fn what_moved_of_a_plan_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, tile: &str| {
        let text = format!(
            "kernel: copy\nname: {name}\narch: sm_80\noperands:\n  \
             s: {{ dtype: f32, layout: '(m,n):(lds,1)' }}\n  \
             d: {{ dtype: f32, layout: '(m,n):(ldd,1)' }}\ncta_tile: '{tile}'\n"
        );
        let path = folder.path().join(format!("{name}.yaml"));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (one, two) = (write("one", "(16,256)"), write("two", "(8,256)"));
    let told = tilewright(["diff", &one, &two]).expect(1).stdout;
    for line in ["-   grid ceil_div(m, 16)", "+   grid ceil_div(m, 8)"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("gmem s"), "{told}");
    tilewright(["diff", &one, &one]).expect(0);
}
