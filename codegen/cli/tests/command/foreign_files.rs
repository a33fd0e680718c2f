//! Files of others, named in every place where the command writes: each stays as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tilewright_bundle::Bundle;
use tilewright_fixture::{COPY, GEMM, Zip, copy_kernel, gemm_kernel, writer_of};

use crate::session::tilewright;

/// What may have taken somebody a year.
const TEXTS: [&str; 4] = [
    "plain text\n",
    "{\"years\": [1, 2], \"bundle_sha256\": {\"a\": 1}}",
    "<svg viewBox=\"0 0 1 1\"><path class=\"tw\"/></svg>",
    "{\"format\": 1, \"inputs\": {\"nixpkgs\": \"abc\"}, \"specs\": []}\n",
];
/// A record of `tune`, which is no row of `bench`.
const RECORD: &str =
    "{\"format\":1,\"outcome\":\"measured\",\"kernel\":\"a\",\"problem\":{},\"ours_us\":1.0}\n";

/// A folder with two bundles, `copy` and `gemm.zip`, and a key.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        let copy = writer_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
        copy.write(Path::new(&folder.at("copy"))).unwrap();
        fs::write(folder.at("copy_f32@plain-1.ptx"), COPY).unwrap();
        let gemm = writer_of([(gemm_kernel("gemm_f32@plain-2"), GEMM)]);
        gemm.write(Path::new(&folder.at("gemm.zip"))).unwrap();
        tilewright(["bundle", "keygen", &folder.at("key")]).expect(0);
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a command of these words, where `OUT` is the file of this name, and wants it refused
    /// and the file as it was, and nothing new beside it.
    #[track_caller]
    fn left(&self, words: &str, name: &str, content: &[u8]) {
        let path = self.at(name);
        let file = match Path::new(&path).is_dir() {
            true => PathBuf::from(&path).join("manifest.json"),
            false => PathBuf::from(&path),
        };
        fs::write(&file, content).unwrap();
        let before = self.names();
        let words = words.split(' ').map(|word| match word {
            "OUT" => path.clone(),
            word if word.starts_with("./") => self.at(&word[2..]),
            word => word.to_owned(),
        });
        let run = tilewright(words);
        assert_eq!(run.code, 2, "{run:?}");
        let told = &run.stderr;
        let is_told = told.contains("left as it is") || told.contains("nothing was written");
        assert!(is_told && told.contains(name), "{told}");
        assert_eq!(fs::read(&file).unwrap(), content, "{told}");
        assert_eq!(self.names(), before, "{told}");
    }

    /// Of the files and folders there are.
    fn names(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        let mut left = vec![self.0.path().to_owned()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path.clone());
                }
                names.push(path);
            }
        }
        names.sort();
        names
    }
}

/// A zip of a bundle and of something precious.
fn mixed() -> Vec<u8> {
    let bundle = writer_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let mut files: BTreeMap<String, Vec<u8>> = bundle.to_files().unwrap();
    files.insert("photos/precious.raw".to_owned(), b"of last summer".to_vec());
    Zip::of(&files).bytes()
}

/// Commands that write a bundle.
const BUNDLES: [&str; 5] = [
    "bundle zip ./copy -o OUT",
    "bundle merge ./copy ./gemm.zip -o OUT",
    "bundle split ./gemm.zip --kernel gemm -o OUT",
    "bundle edit ./copy --ptx ./copy_f32@plain-1.ptx -o OUT",
    "tune ./copy --device emulator --problem 3x4x1 --records ./new.jsonl -o OUT",
];

#[test]
fn archives_of_others_are_no_place_for_a_bundle() {
    let folder = Folder::new();
    for words in BUNDLES {
        for text in TEXTS {
            folder.left(words, "precious.zip", text.as_bytes());
        }
        folder.left(words, "precious.zip", &mixed());
    }
    // It opens, and signing it would write it anew.
    folder.left("bundle sign OUT --key ./key", "precious.zip", &mixed());
    let opened = Bundle::open(Path::new(&folder.at("precious.zip"))).unwrap();
    assert_eq!(opened.kernels().len(), 1);
}

#[test]
fn folders_with_a_manifest_of_others_are_no_place_for_a_bundle() {
    let folder = Folder::new();
    fs::create_dir(folder.at("precious")).unwrap();
    let unzip = "bundle unzip ./gemm.zip -o OUT";
    for words in BUNDLES[1..].iter().chain(&[unzip]) {
        for text in TEXTS {
            folder.left(words, "precious", text.as_bytes());
        }
    }
}

#[test]
fn files_beside_bundles_take_the_place_of_their_own_kind_alone() {
    let folder = Folder::new();
    let emulate = format!(
        "emulate {}/../../ci/data/ptx/cases/nv_saxpy/manifest.json --sarif OUT",
        env!("CARGO_MANIFEST_DIR")
    );
    let capture = "verify ./copy --device emulator --problems 1 --capture OUT";
    for text in TEXTS.iter().chain(&[RECORD]) {
        folder.left(&emulate, "precious.sarif", text.as_bytes());
        folder.left(capture, "precious.jsonl", text.as_bytes());
        // Asked before a GPU is.
        folder.left(
            "bench ./copy --output OUT",
            "precious.jsonl",
            text.as_bytes(),
        );
    }
}

#[cfg(feature = "codegen")]
#[test]
fn what_is_made_of_specs_takes_the_place_of_its_own_kind_alone() {
    let folder = Folder::new();
    let spec = format!(
        "{}/../../specs/copy/vectorized.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let build = format!("build {spec} -o OUT");
    let locked = format!("build {spec} -o ./new.zip --lock OUT");
    let drawn = format!("explain {spec} --svg OUT");
    fs::create_dir(folder.at("precious")).unwrap();
    for text in TEXTS {
        folder.left(&build, "precious.zip", text.as_bytes());
        folder.left(&build, "precious", text.as_bytes());
        folder.left(&locked, "precious.lock", text.as_bytes());
        folder.left(&drawn, "precious.svg", text.as_bytes());
    }
    folder.left(&build, "precious.zip", &mixed());
}
