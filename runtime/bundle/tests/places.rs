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
    assert!(told.contains(named), "{told}");
    assert!(
        told.contains("left as it is") || told.contains("nothing was written"),
        "{told}"
    );
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
fn an_archive_that_holds_more_than_a_bundle_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.zip");
    let bundle = writer("copy@1").to_files().unwrap();
    let text = String::from_utf8(bundle["manifest.json"].clone()).unwrap();
    let damaged = text.replacen("\"format\"", "\"f0rmat\"", 1);
    let others = [
        ("photos/precious.raw", "of last summer"),
        (
            "ptx/mine.ptx",
            ".version 7.0\n.visible .entry mine() { ret; }",
        ),
        ("tuning.json", "{\"format\": 2, \"tables\": []}"),
        ("signatures.json", "{\"signed\": \"by me\"}"),
        ("photos/list.txt", ".version .entry"),
    ];
    for (name, content) in others {
        let mut files = bundle.clone();
        files.insert(name.to_owned(), content.into());
        fs::write(&path, Zip::of(&files).bytes()).unwrap();
        let told = may_write(&path).unwrap_err().to_string();
        assert!(told.contains(name) && told.contains("take away"), "{told}");
        left(&path, &path);
        // What cannot be read in full is known by the rest.
        files.insert("manifest.json".to_owned(), damaged.clone().into());
        fs::write(&path, Zip::of(&files).bytes()).unwrap();
        let is_like_ours = ["ptx/mine.ptx", "tuning.json"].contains(&name);
        assert_eq!(may_write(&path).is_ok(), is_like_ours, "{name}");
    }
    let mut files = bundle.clone();
    files.insert("manifest.json".to_owned(), damaged.into());
    fs::write(&path, Zip::of(&files).bytes()).unwrap();
    writer("copy@2").write(&path).unwrap();
    assert_eq!(Bundle::open(&path).unwrap().kernels()[0].id, "copy@2");
}

/// Files `manifest.json` of others: of programs that say which bundle they use, and one with notes
/// beside all that a bundle's has.
fn manifests_of_others() -> Vec<String> {
    let files = writer("copy@1").to_files().unwrap();
    let text = String::from_utf8(files["manifest.json"].clone()).unwrap();
    let hash = Bundle::from_files(files.iter().map(|(p, b)| (p.as_str(), b.as_slice())));
    let hash = hash.unwrap().hash().to_string();
    vec![
        "{\"notes\": \"a year\", \"bundle_sha256\": {\"a\": 1}}".to_owned(),
        format!("{{\n  \"name\": \"app\",\n  \"bundle_sha256\": \"{hash}\"\n}}\n"),
        format!("{{\"format\": 2, \"kernels\": [], \"bundle_sha256\": \"{hash}\"}}"),
        text.replacen("{\n", "{\n  \"notes\": \"a year\",\n", 1),
        format!("{{\"format\": 3, \"notes\": 1, \"bundles\": [{text}]}}"),
    ]
}

#[test]
fn a_manifest_is_known_by_all_of_it() {
    for manifest in manifests_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("manifest.json");
        fs::write(&file, &manifest).unwrap();
        let told = may_write(folder.path());
        assert!(matches!(told, Err(Error::Foreign { .. })), "{manifest}");
        left(folder.path(), &file);
        let mut files = writer("copy@1").to_files().unwrap();
        files.insert("manifest.json".to_owned(), manifest.into());
        let zip = folder.path().join("app.zip");
        fs::write(&zip, Zip::of(&files).bytes()).unwrap();
        left(&zip, &zip);
    }
    // One of ours, of whatever format, as tools write it anew, and with any one line damaged.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("manifest.json");
    writer("copy@1").write(folder.path()).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut ours = vec![
        value.to_string(),
        text.replace('\n', "\r\n"),
        text.replacen("\"format\": 2", "\"format\": 1", 1),
        text.replacen("\"kernel\":", "\"k\":", 1),
    ];
    let keys = ["format", "provenance", "kernels", "files", "bundle_sha256"];
    for key in keys.map(|key| format!("\n  \"{key}\": ")) {
        for damage in [
            key.to_uppercase(),
            key.replace('\n', "#"),
            key.replace('"', "\0"),
        ] {
            ours.push(text.replacen(&key, &damage, 1));
        }
    }
    ours.push(text.replacen("sha256\": \"", "sha256\": \"?", 99));
    for manifest in ours {
        fs::write(&file, &manifest).unwrap();
        assert!(may_write(folder.path()).is_ok(), "{manifest}");
        writer("copy@1").write(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
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
