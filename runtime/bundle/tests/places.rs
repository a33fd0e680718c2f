//! A bundle takes the place of a bundle; what others wrote stays as it is.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tilewright_bundle::{Bundle, BundleWriter, Error, may_write};
use tilewright_fixture::{COPY, Zip, ZipEntry, copy_kernel, writer_of};

fn writer(id: &str) -> BundleWriter {
    writer_of([(copy_kernel(id), COPY)])
}

/// Wants a refusal at `path`, by whoever asks first and by whoever writes, which names `file` and
/// changes nothing of it.
#[track_caller]
fn left(path: &Path, file: &Path) {
    let before = fs::read(file).unwrap();
    let named = file.file_name().unwrap().to_str().unwrap();
    let told = writer("copy@1").write(path).unwrap_err();
    assert!(matches!(told, Error::Foreign { .. }), "{told}");
    let told = told.to_string();
    assert!(told.contains(named) && told.contains("remove"), "{told}");
    assert_eq!(fs::read(file).unwrap(), before, "{told}");
}

#[test]
fn archives_and_files_of_others_are_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let photos = Zip {
        entries: vec![ZipEntry::stored("photo.raw", b"of last summer")],
        ..Zip::of(&writer("copy@1").to_files().unwrap())
    };
    let mut app = writer("copy@1").to_files().unwrap();
    app.insert("manifest.json".to_owned(), b"{\"name\": \"app\"}".to_vec());
    let contents = [
        photos.bytes(),
        Zip::of(&app).bytes(),
        b"plain text".to_vec(),
        b"PK\x05\x06".to_vec(),
    ];
    let path = folder.path().join("precious.zip");
    for content in contents {
        fs::write(&path, content).unwrap();
        assert!(matches!(may_write(&path), Err(Error::Foreign { .. })));
        left(&path, &path);
    }
    let text = folder.path().join("precious.txt");
    fs::write(&text, "plain text").unwrap();
    assert!(matches!(may_write(&text), Err(Error::Foreign { .. })));
    left(&text, &text);
}

#[test]
fn files_of_others_in_a_folder_are_left_as_they_are() {
    for name in ["manifest.json", "ptx/copy@1.ptx"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "{\"name\": \"app\"}").unwrap();
        left(folder.path(), &file);
        // Nothing was written beside it.
        assert!(!folder.path().join("ptx").exists() || name != "manifest.json");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("manifest.json"), "[]").unwrap();
    assert!(may_write(folder.path()).is_err());
}

#[test]
fn bundles_empty_files_and_what_a_killed_writer_left_give_way() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bundle.zip", "bundle"] {
        let path = folder.path().join(name);
        for id in ["copy@1", "copy@2", "copy@2"] {
            may_write(&path).unwrap();
            writer(id).write(&path).unwrap();
        }
        assert_eq!(Bundle::open(&path).unwrap().kernels()[0].id, "copy@2");
    }
    let empty = folder.path().join("empty.zip");
    fs::write(&empty, "").unwrap();
    writer("copy@1").write(&empty).unwrap();
    // PTX without a manifest, of another version of the kernel.
    let torn = folder.path().join("torn");
    fs::create_dir_all(torn.join("ptx")).unwrap();
    fs::write(torn.join("ptx/copy@1.ptx"), format!("// older\n{COPY}")).unwrap();
    writer("copy@1").write(&torn).unwrap();
    // A manifest that a disk damaged, or of a format of the past.
    let manifest = torn.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"format\"", "\"f0rmat\"", 1)).unwrap();
    writer("copy@2").write(&torn).unwrap();
    assert_eq!(Bundle::open(&torn).unwrap().kernels().len(), 1);
}

#[test]
fn where_nothing_lies_is_told_plainly() {
    let folder = tempfile::tempdir().unwrap();
    let told = Bundle::open(&folder.path().join("kernels.zip")).unwrap_err();
    assert!(matches!(
        told,
        Error::NoBundle {
            is_folder: false,
            ..
        }
    ));
    let told = told.to_string();
    assert!(told.contains("kernels.zip: there is no bundle"), "{told}");
    assert!(!told.contains("manifest.json"), "{told}");
    let told = Bundle::open(folder.path()).unwrap_err().to_string();
    assert!(told.contains("no manifest.json"), "{told}");
}
