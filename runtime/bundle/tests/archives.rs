//! A bundle is the same in a folder and in one zip file, which other programs read and write too.
#![allow(clippy::unwrap_used)]

mod sealed;

use std::io::{Cursor, Read, Write};

use proptest::prelude::*;
use tilewright_bundle::*;
use tilewright_fixture::{COPY, Zip, ZipEntry, copy_kernel, writer_of};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use self::sealed::{Files, files, writer};

#[test]
fn folder_and_archive_are_the_same_bundle() {
    let folder = tempfile::tempdir().unwrap();
    let (loose, zipped) = (folder.path().join("b"), folder.path().join("made/b.zip"));
    let hash = writer().write(&loose).unwrap();
    assert_eq!(writer().write(&zipped).unwrap(), hash);
    let bytes = std::fs::read(&zipped).unwrap();
    assert_eq!(bytes, writer().to_zip().unwrap());
    let opened = [
        Bundle::open(&loose).unwrap(),
        Bundle::open(&zipped).unwrap(),
        Bundle::from_zip(&bytes).unwrap(),
    ];
    for bundle in &opened {
        assert_eq!(bundle.hash(), &hash);
        assert_eq!(bundle.files(), &files());
        let two = bundle.kernel("copy_b@x-2").unwrap();
        assert_eq!(bundle.cubin(two), Some(b"machine code".as_slice()));
    }
    // What was opened is written as it was, either way round.
    let again = folder.path().join("again.ZIP");
    opened[0].save(&again).unwrap();
    assert_eq!(std::fs::read(&again).unwrap(), bytes);
    let apart = folder.path().join("apart");
    opened[1].save(&apart).unwrap();
    for (path, bytes) in files() {
        assert_eq!(std::fs::read(apart.join(path)).unwrap(), bytes);
    }
}

#[test]
fn another_program_reads_what_is_packed() {
    let bytes = writer().to_zip().unwrap();
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).unwrap();
    assert_eq!(
        archive.by_index(0).unwrap().name().unwrap(),
        "manifest.json"
    );
    let mut found = Files::new();
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).unwrap();
        assert_eq!(entry.unix_mode(), Some(0o100_644));
        let name = entry.name().unwrap().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        found.insert(name, content);
    }
    assert_eq!(found, files());
    let whole: usize = files().values().map(Vec::len).sum();
    assert!(bytes.len() < whole, "{} of {whole} bytes", bytes.len());
}

#[test]
fn what_another_program_packs_is_read() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let options = SimpleFileOptions::default().compression_method(method);
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.add_directory("ptx", options).unwrap();
        for (path, bytes) in files() {
            zip.start_file(path, options).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        let bundle = Bundle::from_zip(&bytes).unwrap();
        assert_eq!(bundle.files(), &files());
    }
}

#[test]
fn what_a_program_packs_that_streams_is_read() {
    let mut zip = ZipWriter::new_stream(Vec::new());
    for (path, bytes) in files() {
        zip.start_file(path, SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert_eq!(Bundle::from_zip(&bytes).unwrap().files(), &files());
}

#[test]
fn files_are_packed_into_the_same_bytes() {
    let bytes = writer().to_zip().unwrap();
    assert_eq!(bytes, writer().to_zip().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.zip");
    Bundle::from_zip(&bytes).unwrap().save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

type Change = fn(&mut Zip);

/// What changes nothing of the files, whose every byte the manifest's hashes cover.
const HARMLESS: &[(&str, Change)] = &[
    ("bytes between entries", |zip| {
        zip.entries[1].gap = vec![0; 9]
    }),
    ("bytes before the directory", |zip| {
        zip.before_directory = vec![0; 9]
    }),
    ("bytes before the end", |zip| zip.before_end = vec![0; 9]),
    ("bytes behind the end", |zip| zip.after = b"hello".to_vec()),
    ("a directory of another length", |zip| {
        zip.directory_bytes = Some(4)
    }),
    ("sizes in a field of zip64", |zip| {
        zip.entries[0].say(|said| said.extra = b"\x01\x00\x00\x00".to_vec());
    }),
    ("sizes that may follow the data", |zip| {
        zip.entries[0].say(|said| said.flags = 8);
    }),
];

#[test]
fn what_is_odd_and_harmless_is_read() {
    for (what, change) in HARMLESS {
        let mut zip = Zip::of(&files());
        change(&mut zip);
        let opened = Bundle::from_zip(&zip.bytes());
        let found = opened.map(|bundle| bundle.files().clone());
        assert_eq!(found.map_err(|e| e.to_string()), Ok(files()), "{what}");
    }
}

/// Bytes in the place of others, anywhere in an archive.
#[derive(Debug, Clone)]
struct Splice {
    at: prop::sample::Index,
    taken: usize,
    put: Vec<u8>,
}

fn splices() -> impl Strategy<Value = Vec<Splice>> {
    let signature = prop::sample::select(vec![
        b"PK\x01\x02".to_vec(),
        b"PK\x03\x04".to_vec(),
        b"PK\x05\x06".to_vec(),
        b"PK\x06\x06".to_vec(),
        b"PK\x06\x07".to_vec(),
        vec![0xff; 8],
    ]);
    let put = prop_oneof![prop::collection::vec(any::<u8>(), 0..9), signature];
    let one = (any::<prop::sample::Index>(), 0_usize..9, put);
    let one = one.prop_map(|(at, taken, put)| Splice { at, taken, put });
    prop::collection::vec(one, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_changed_archive_is_refused_or_the_same(splices in splices(), stored in any::<bool>()) {
        let mut bytes = match stored {
            true => Zip::of(&files()).bytes(),
            false => writer().to_zip().unwrap(),
        };
        for Splice { at, taken, put } in splices {
            // The directory and its end are the last 600 bytes or so.
            let first = bytes.len().saturating_sub(600);
            let at = first + at.index(bytes.len() - first);
            let end = bytes.len().min(at + taken);
            bytes.splice(at..end, put);
        }
        if let Ok(bundle) = Bundle::from_zip(&bytes) {
            prop_assert_eq!(bundle.files(), &files());
        }
    }

    #[test]
    fn bytes_are_no_archive(mut bytes in prop::collection::vec(any::<u8>(), 0..300), end: bool) {
        if end {
            bytes.extend(Zip::default().bytes());
        }
        prop_assert!(Bundle::from_zip(&bytes).is_err());
    }
}

#[test]
fn every_flipped_byte_of_an_archive_is_noticed_or_harmless() {
    let whole = writer().to_zip().unwrap();
    for at in 0..whole.len() {
        let mut tampered = whole.clone();
        tampered[at] ^= 1 << (at % 7);
        if let Ok(bundle) = Bundle::from_zip(&tampered) {
            // Dates, rights and versions say nothing of the bundle.
            assert_eq!(bundle.files(), &files(), "byte {at}");
        }
    }
}

#[test]
fn every_cut_of_an_archive_is_noticed() {
    let whole = writer().to_zip().unwrap();
    for len in 0..whole.len() {
        assert!(Bundle::from_zip(&whole[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn what_an_archive_holds_beside_the_bundle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.zip");
    let mut zip = Zip::of(&files());
    zip.entries
        .insert(0, ZipEntry::stored("notes.txt", b"mine"));
    std::fs::write(&path, zip.bytes()).unwrap();
    let bundle = Bundle::open(&path).unwrap();
    assert_eq!(bundle.unlisted(&path).unwrap(), ["notes.txt"]);
    assert!(!bundle.files().contains_key("notes.txt"));
}

#[test]
fn an_archive_takes_the_place_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.zip");
    writer().write(&path).unwrap();
    let other = writer_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let hash = other.write(&path).unwrap();
    assert_eq!(Bundle::open(&path).unwrap().hash(), &hash);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let taken = folder.path().join("folder.zip");
    std::fs::create_dir(&taken).unwrap();
    let refused = other.write(&taken).unwrap_err().to_string();
    assert!(refused.contains("is a directory"), "{refused}");
}

#[test]
fn what_cannot_be_opened_names_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.zip");
    let whole = Zip::of(&files()).bytes();
    let told = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Bundle::open(&path).unwrap_err().to_string()
    };
    let place = path.display();
    let cut = told(&whole[..whole.len() / 2]);
    let head = format!("{place}: is truncated or damaged (");
    assert!(cut.starts_with(&head), "{cut}");
    assert!(cut.ends_with("): fetch or build it again"), "{cut}");
    let spec = told(b"kernel: gemm\n");
    assert!(
        spec.starts_with(&format!("{place}: is no zip file: ")),
        "{spec}"
    );
    let mut changed = Zip::of(&files());
    changed.entry("ptx/copy_a@x-1.ptx").data[3] ^= 1;
    let changed = told(&changed.bytes());
    let entry = format!("{place}: ptx/copy_a@x-1.ptx: cannot be taken out of it: ");
    assert!(changed.starts_with(&entry), "{changed}");
    // In memory there is no path to name.
    let cut = Bundle::from_zip(&whole[..9]).unwrap_err().to_string();
    assert!(
        cut.starts_with("archive: is truncated or damaged ("),
        "{cut}"
    );
}
