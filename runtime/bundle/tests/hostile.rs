//! Bundles that someone made to do harm, and folders that hold more than a bundle.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tilewright_bundle::*;
use tilewright_fixture::{COPY, copy_kernel, open, writer_of};

const ID: &str = "copy_f32@plain-1";

fn written(folder: &Path) {
    let writer = writer_of([(copy_kernel(ID), COPY)]);
    writer.write(folder).unwrap();
}

/// The refusal of a bundle with one text of its manifest replaced and the hashes right again.
fn tampered(edit: impl FnOnce(&mut Kernel)) -> String {
    let mut kernel = copy_kernel(ID);
    edit(&mut kernel);
    let mut writer = BundleWriter::new(Provenance::new("fixture"));
    writer.add(kernel, COPY, None).unwrap_err().to_string()
}

#[test]
fn orders_that_are_none_are_refused_by_name() {
    let order = || PackedOrder {
        shape: vec![vec![4], vec![8]],
        stride: vec![vec![8], vec![1]],
        swizzle: None,
        order: vec![1, 0],
        multiple: vec![1, 2],
    };
    let packed = |edit: &dyn Fn(&mut Operand, &mut PackedOrder)| {
        tampered(|kernel| {
            let operand = &mut kernel.semantics.operands[0];
            let mut order = order();
            operand.layout = "(m,n):(n,1)".parse().unwrap();
            edit(operand, &mut order);
            operand.packed = Some(order);
            for param in &mut kernel.launches[0].params {
                if let ParamValue::Scalar { expr, .. } = &mut param.value {
                    *expr = "n".parse().unwrap();
                }
            }
        })
    };
    for (refusal, part) in [
        (
            packed(&|_, o| o.shape.clear()),
            "shape, stride, order and multiple have 0, 2, 2 and 2",
        ),
        (
            packed(&|_, o| o.stride[1] = vec![2]),
            "a mode of extent 8 has stride 2; 1 leaves no gap",
        ),
        (
            packed(&|_, o| o.shape[0] = vec![u32::MAX; 8]),
            "axis 0 has 8 extents and 1 strides",
        ),
        (
            packed(&|_, o| o.multiple[0] = u32::MAX),
            "a multiple of 4294967295 tiles",
        ),
        (
            packed(&|_, o| o.swizzle = Some([7, 31, 31])),
            "the swizzle Sw<7,31,31> does not keep",
        ),
        (
            packed(&|operand, _| operand.layout = "(m,n):(lds,1)".parse().unwrap()),
            "its layout is (m,n):(lds,1); one or two axes without gaps",
        ),
        (
            packed(&|operand, _| operand.dtype = DType::S4),
            "elements of s4 are no whole bytes",
        ),
        (
            packed(&|operand, _| operand.role = Role::Out),
            "does not pack it",
        ),
    ] {
        assert!(
            refusal.contains(ID) && refusal.contains("packed `s`"),
            "{refusal}"
        );
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn text_that_a_terminal_would_obey_is_refused() {
    let escape = "\x1b]0;owned\x07";
    for (what, hidden) in [
        ("control", escape),
        ("direction", "abc\u{202e}fed"),
        ("lines", "a\nb"),
    ] {
        let reason = tampered(|kernel| {
            kernel.assumptions = vec![Assumption::Align {
                operand: "s".to_owned(),
                bytes: 16,
                reason: hidden.to_owned(),
            }];
        });
        let layout = format!("(m,n):(lds,1){hidden}").parse::<OperandLayout>();
        let layout = format!("{ID}: {}", layout.unwrap_err());
        let epilogue = tampered(|kernel| kernel.semantics.compute.push_str(hidden));
        let parameter = tampered(|kernel| kernel.launches[0].params[0].name = hidden.to_owned());
        for refusal in [reason, layout, epilogue, parameter] {
            assert!(refusal.contains(ID), "{what}: {refusal}");
            assert!(!refusal.contains(hidden), "{what}: {refusal}");
        }
        let mut writer = BundleWriter::new(Provenance::new(hidden));
        writer.add(copy_kernel(ID), COPY, None).unwrap();
        let refusal = writer.to_files().unwrap_err().to_string();
        assert!(
            refusal.contains("provenance.generator"),
            "{what}: {refusal}"
        );
    }
}

#[test]
fn a_certificate_is_bounded() {
    let mut kernel = copy_kernel(ID);
    let most = serde_json::json!({ "steps": vec![1; MAX_CERTIFICATE_BYTES / 2] });
    kernel.certificate = most.into();
    let files = writer_of([(kernel, COPY)]).to_files().unwrap();
    let refusal = open(&files).unwrap_err().to_string();
    assert!(
        refusal.contains("the certificate has more than 262144 bytes"),
        "{refusal}"
    );
    assert!(refusal.contains(ID), "{refusal}");
}

#[test]
fn what_a_manifest_does_not_list_is_found() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path());
    let bundle = Bundle::open(folder.path()).unwrap();
    assert!(bundle.unlisted(folder.path()).unwrap().is_empty());
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    for name in ["tuning.json", "ptx/old.ptx", "notes/a", "notes/b"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let found = Bundle::open(folder.path())
        .unwrap()
        .unlisted(folder.path())
        .unwrap();
    assert_eq!(found, ["notes", "ptx/old.ptx", "tuning.json"]);
}

#[test]
fn a_bundle_takes_the_place_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    written(folder.path());
    std::fs::write(at("mine.txt"), "mine").unwrap();
    writer_of([(copy_kernel("copy_f32@new-2"), COPY)])
        .write(folder.path())
        .unwrap();
    assert!(!at("ptx/copy_f32@plain-1.ptx").exists());
    let bundle = Bundle::open(folder.path()).unwrap();
    assert_eq!(bundle.unlisted(folder.path()).unwrap(), ["mine.txt"]);
    // What is no longer as the manifest says is somebody's.
    std::fs::write(at("ptx/copy_f32@new-2.ptx"), "// edited").unwrap();
    written(folder.path());
    let bundle = Bundle::open(folder.path()).unwrap();
    let left = ["mine.txt", "ptx/copy_f32@new-2.ptx"];
    assert_eq!(bundle.unlisted(folder.path()).unwrap(), left);
}

#[test]
fn what_a_formula_says_is_what_the_manifest_states() {
    for (edit, part) in [
        (
            (|kernel| kernel.semantics.operands[0].role = Role::InOut) as fn(&mut Kernel),
            "the role of `s` is inout; compute says in",
        ),
        (
            |kernel| kernel.semantics.function = Sha256Hex::of(b"another"),
            "that of compute is",
        ),
        (
            |kernel| kernel.semantics.compute = "d[m,n] = t[m,n]".to_owned(),
            "1:10: `t` is no operand",
        ),
        (|kernel| kernel.semantics.compute.clear(), "compute: "),
    ] {
        let refusal = tampered(edit);
        assert!(refusal.contains(part) && refusal.contains(ID), "{refusal}");
    }
}
