//! Selection tables: what was written is read back, and what is not right is refused by name.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tilewright_bundle::*;
use tilewright_fixture::{choice, copy_semantics, empty_ptx, open, opened, table, writer_of};

fn kernel(id: &str) -> Kernel {
    Kernel {
        launches: vec![LaunchAbi {
            entry: "copy".to_owned(),
            params: Param::pack(["s", "d"].map(|name| (name, ParamValue::pointer(name)))),
            ..LaunchAbi::default()
        }],
        semantics: copy_semantics(DType::F32),
        ..Kernel::new(id, "copy")
    }
}

fn writer() -> BundleWriter {
    let ptx = empty_ptx("copy");
    writer_of(["copy_x@fast-1", "copy_x@slow-2"].map(|id| (kernel(id), ptx.as_str())))
}

fn plain() -> Bundle {
    opened(&writer())
}

fn tuning(bundle: &Bundle) -> Tuning {
    let kernels = bundle.kernels();
    let point = |extents: [i64; 2]| TunedPoint {
        extents: extents.to_vec(),
        strides: Vec::new(),
        choices: vec![choice(&kernels[0], 1.5), choice(&kernels[1], 2.25)],
    };
    let device = TunedDevice {
        name: "NVIDIA H200".to_owned(),
        sm: Some(90),
        sms: 132,
    };
    let points = vec![point([8, 16]), point([8, 32])];
    table(&kernels[0], device, points)
}

#[test]
fn tables_are_read_back_and_hashed_with_the_rest() {
    let bundle = plain();
    assert!(bundle.tuning().is_none());
    let mut writer = BundleWriter::from_bundle(&bundle).unwrap();
    assert_eq!(
        writer.to_files().unwrap(),
        self::writer().to_files().unwrap()
    );
    writer.tune(&tuning(&bundle)).unwrap();
    let files = writer.to_files().unwrap();
    let tuned = open(&files).unwrap();
    assert_eq!(tuned.tuning(), Some(&tuning(&bundle)));
    assert_ne!(tuned.hash(), bundle.hash());
    assert!(tuned.manifest().files.iter().any(|f| f.path == TUNING_FILE));
    let again = BundleWriter::from_bundle(&tuned).unwrap();
    assert_eq!(again.to_files().unwrap(), files);
    let mut changed = files;
    let text = changed.get_mut(TUNING_FILE).unwrap();
    let at = text.iter().position(|c| *c == b'5').unwrap();
    text[at] = b'6';
    let refused = open(&changed).unwrap_err().to_string();
    assert!(refused.contains("tuning.json"), "{refused}");
}

/// One change to the tables, and a word of its refusal.
fn refused(change: impl FnOnce(&mut Tuning), word: &str) {
    let bundle = plain();
    let mut tables = tuning(&bundle);
    change(&mut tables);
    let mut writer = writer();
    let error = writer.tune(&tables).unwrap_err().to_string();
    assert!(error.contains(word), "{word}: {error}");
}

#[test]
fn tables_that_are_wrong_are_refused_by_name() {
    let point = |t: &mut Tuning| t.tables[0].points[0].clone();
    refused(|t| t.tables[0].points[0].choices.clear(), "0 kernels");
    refused(
        |t| {
            let one = point(t).choices[0].clone();
            t.tables[0].points[0].choices = vec![one; 17];
        },
        "17 kernels",
    );
    refused(
        |t| t.tables[0].points[0].choices[0].kernel = "copy_y@\u{1b}[31m".to_owned(),
        "is no kernel of this bundle",
    );
    refused(
        |t| t.tables[0].points[1].choices[1].content_hash = Sha256Hex::of(b"another"),
        "copy_x@slow-2 is not the kernel that was measured",
    );
    refused(|t| t.tables[0].points[0].choices[0].us = -1.0, "positive");
    refused(
        |t| t.tables[0].points[0].choices[0].us = f64::NAN,
        "positive",
    );
    refused(
        |t| t.tables[0].points[0].choices[0].ratio_best = Some(0.0),
        "positive",
    );
    refused(|t| t.tables[0].points[0].extents[1] = 0, "extents of 1 to");
    refused(
        |t| t.tables[0].points[0].extents.push(1),
        "2 extents of 1 to",
    );
    refused(
        |t| t.tables[0].points[1].extents[1] = 1 << 31,
        "extents of 1 to",
    );
    refused(|t| t.tables[0].points.swap(0, 1), "not ordered");
    refused(
        |t| t.tables[0].points[1] = point(t),
        "not ordered by extents and strides, or one appears twice",
    );
    refused(|t| t.tables.push(t.tables[0].clone()), "appear twice");
    refused(
        |t| t.tables[0].operands[0].dtype = DType::BF16,
        "another class",
    );
    refused(|t| t.tables[0].extents[1] = "k".to_owned(), "another class");
    refused(
        |t| t.tables[0].function = Sha256Hex::of(b"another"),
        "another class",
    );
    refused(|t| t.tables[0].operands.truncate(1), "another class");
    refused(
        |t| t.tables[0].operands[1].name = "s".to_owned(),
        "different names",
    );
    refused(
        |t| t.tables[0].device.name = "\n".to_owned(),
        "device's name",
    );
}

#[test]
fn another_format_is_called_that() {
    let refused = Tuning::parse(br#"{"format": 7, "tables": 3}"#).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("format 7") && text.contains("tune anew"),
        "{text}"
    );
    let unknown = br#"{"format": 3, "tables": [], "more": 1}"#;
    assert!(Tuning::parse(unknown).is_err());
}

#[test]
fn strides_say_which_mode_is_contiguous() {
    let cases = [
        ((8, 1), Contiguous::Last),
        ((1, 8), Contiguous::First),
        ((1, 1), Contiguous::Last),
        ((4, 2), Contiguous::Neither),
    ];
    for ((row, col), expected) in cases {
        assert_eq!(Contiguous::of(&[row, col]), expected);
    }
}

proptest! {
    #[test]
    fn no_bytes_are_read_as_tables_without_being_tables(at in 0usize..4096, byte: u8) {
        let mut bytes = tuning(&plain()).to_bytes().unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(read) = Tuning::parse(&bytes) {
            let mut writer = writer();
            if writer.tune(&read).is_ok() {
                let bundle = opened(&writer);
                prop_assert_eq!(bundle.tuning(), Some(&read));
            }
        }
    }
}
