//! A whole bundle in memory, and the same with an edited manifest whose hash is right again.
#![allow(dead_code)]

use std::collections::BTreeMap;

use tilewright_bundle::*;
use tilewright_fixture::{assume, empty_ptx, i32_of};

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A copy with assumptions and a certificate.
pub fn kernel(id: &str, entry: &str) -> Kernel {
    let operand =
        |name, role| Operand::new(name, role, DType::F32, "(m,n):(lds,1)".parse().unwrap());
    Kernel {
        launches: vec![LaunchAbi {
            entry: entry.to_owned(),
            params: Param::pack([
                ("s", ParamValue::pointer("s")),
                ("n", i32_of("n")),
                ("d", ParamValue::pointer("d")),
            ]),
            grid: [
                "ceil_div(n, 256)".parse().unwrap(),
                1u32.into(),
                1u32.into(),
            ],
            block: [256, 1, 1],
            ..LaunchAbi::default()
        }],
        semantics: Semantics {
            operands: vec![operand("s", Role::In), operand("d", Role::Out)],
            compute: "d[m,n] = s[m,n]".to_owned(),
            ..Semantics::default()
        },
        assumptions: vec![
            assume("lds % 4 == 0"),
            Assumption::Align {
                operand: "s".to_owned(),
                bytes: 16,
                reason: "vectors".to_owned(),
            },
        ],
        certificate: serde_json::json!({ "z": 1, "a": { "conflicts": 1.5, "b": [1, 2] } }).into(),
        ..Kernel::new(id, "copy")
    }
}

/// Two kernels, of which one ships machine code.
pub fn writer() -> BundleWriter {
    let mut writer = BundleWriter::new(Provenance::new("test"));
    writer
        .add(kernel("copy_a@x-1", "one"), &empty_ptx("one"), None)
        .unwrap();
    let cubin = Some(("sm_90a", b"machine code".as_slice()));
    writer
        .add(kernel("copy_b@x-2", "two"), &empty_ptx("two"), cubin)
        .unwrap();
    writer
}

/// The files of [`writer`].
pub fn files() -> Files {
    writer().to_files().unwrap()
}

/// The files with an edited manifest that has the right hash again.
pub fn edited(edit: impl FnOnce(String) -> String) -> Files {
    let mut files = files();
    let text = edit(String::from_utf8(files["manifest.json"].clone()).unwrap());
    files.insert("manifest.json".to_owned(), resealed(&text).into_bytes());
    files
}

/// A manifest's text with the hash of what stands before it.
pub fn resealed(text: &str) -> String {
    let at = text.rfind("  \"bundle_sha256\"").unwrap_or(text.len());
    let hash = Sha256Hex::of(&text.as_bytes()[..at]);
    format!("{}  \"bundle_sha256\": \"{hash}\"\n}}\n", &text[..at])
}
