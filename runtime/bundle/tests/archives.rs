//! A bundle is the same in a folder and in one zip file, which other programs read and write too.
#![allow(clippy::unwrap_used)]

mod sealed;

use std::io::{Cursor, Read, Write};

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
