//! `build` of a catalogue that changes: what is kept, what is locked, which kernels and tools.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tilewright_bundle::Bundle;

use crate::session::{Run, tilewright};

/// A folder with specs of two copies.
struct Catalogue(TempDir);

fn copy(name: &str, tile: &str) -> String {
    format!(
        "kernel: copy\nname: copy_{name}\narch: sm_80\noperands:\n  \
         s: {{ dtype: f32, layout: '(m,n):(lds,1)' }}\n  \
         d: {{ dtype: f32, layout: '(m,n):(ldd,1)' }}\ncta_tile: '{tile}'\n"
    )
}

impl Catalogue {
    fn new() -> Catalogue {
        let catalogue = Catalogue(tempfile::tempdir().unwrap());
        fs::create_dir(catalogue.0.path().join("copy")).unwrap();
        catalogue.write("one", &copy("one", "(16,256)"));
        catalogue.write("two", &copy("two", "(8,256)"));
        catalogue
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(
            self.0.path().join("copy").join(format!("{name}.yaml")),
            text,
        )
        .unwrap();
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn build(&self, more: &[&str]) -> Run {
        let (specs, output) = (self.at("copy"), self.at("out.zip"));
        let fixed = ["build", &specs, "-o", &output, "--ptxas", "never"];
        tilewright(fixed.iter().chain(more))
    }

    /// Kernels that are kept, with the times at which they were.
    fn kept(&self) -> Vec<(String, std::time::SystemTime)> {
        let files = fs::read_dir(self.at("kept")).unwrap().map(Result::unwrap);
        let named = files.map(|file| {
            let modified = file.metadata().unwrap().modified().unwrap();
            (file.file_name().into_string().unwrap(), modified)
        });
        let mut kernels: Vec<_> = named
            .filter(|(name, _)| name.ends_with(".kernel"))
            .collect();
        kernels.sort();
        kernels
    }
}

#[test]
fn a_changed_spec_is_compiled_alone() {
    let catalogue = Catalogue::new();
    let kept = catalogue.at("kept");
    let cache = ["--cache", kept.as_str()];
    let first = catalogue.build(&cache).expect(0);
    let bytes = fs::read(catalogue.at("out.zip")).unwrap();
    let before = catalogue.kept();
    assert_eq!(before.len(), 2);
    let again = catalogue.build(&cache).expect(0);
    assert_eq!(again.stdout, first.stdout.replace("good:", "unchanged:"));
    // Notes are told again.
    let note = "note: no last resort for copy_one, copy_two";
    for run in [&first, &again] {
        assert!(run.stderr.contains(note), "{}", run.stderr);
    }
    catalogue.write("two", &copy("two", "(4,256)"));
    let changed = catalogue.build(&cache).expect(0);
    let other = fs::read(catalogue.at("out.zip")).unwrap();
    assert!(changed.stdout.starts_with("good:"), "{}", changed.stdout);
    let after = catalogue.kept();
    let same = after.iter().filter(|one| before.contains(one)).count();
    assert_eq!((after.len(), same), (2, 1), "{before:?} {after:?}");
    // What is kept gives the bytes that are compiled.
    catalogue.write("two", &copy("two", "(8,256)"));
    catalogue.build(&cache).expect(0);
    assert_eq!(fs::read(catalogue.at("out.zip")).unwrap(), bytes);
    // A bundle that somebody changed is written again.
    fs::write(catalogue.at("out.zip"), other).unwrap();
    let again = catalogue.build(&cache).expect(0);
    assert!(again.stdout.starts_with("good:"), "{}", again.stdout);
    assert_eq!(fs::read(catalogue.at("out.zip")).unwrap(), bytes);
}

#[test]
fn a_lock_says_what_moved() {
    let catalogue = Catalogue::new();
    let lock = catalogue.at("kernels.lock");
    let locked = ["--lock", lock.as_str(), "--locked"];
    let missing = catalogue.build(&locked).expect(2);
    assert!(
        missing.stderr.contains("kernels.lock"),
        "{}",
        missing.stderr
    );
    catalogue.build(&locked[..2]).expect(0);
    let text = fs::read_to_string(&lock).unwrap();
    assert!(text.contains("\"path\": \"copy/one.yaml\""), "{text}");
    let good = catalogue.build(&locked).expect(0);
    assert!(
        good.stderr
            .contains("generated again and are those of the lock"),
        "{}",
        good.stderr
    );
    assert_eq!(fs::read_to_string(&lock).unwrap(), text);
    // Without the generator: hashes of the specs and of the kernels.
    let bundle = catalogue.at("out.zip");
    let verify = ["bundle", "verify", bundle.as_str(), "--lock", lock.as_str()];
    let hashes = tilewright(verify).expect(0);
    assert!(
        hashes.stdout.contains("nothing was generated"),
        "{}",
        hashes.stdout
    );
    catalogue.write("two", &copy("two", "(4,256)"));
    let bytes = fs::read(&bundle).unwrap();
    let moved = catalogue.build(&locked).expect(1);
    for part in [
        "copy/two.yaml (copy_two): its text moved; copy_two@4x256-",
        "is gone",
        "what made them is as locked",
    ] {
        assert!(moved.stderr.contains(part), "{part}: {}", moved.stderr);
    }
    assert!(!moved.stderr.contains("copy_one@"), "{}", moved.stderr);
    assert_eq!(fs::read(&bundle).unwrap(), bytes);
    let told = tilewright(verify).expect(1).stderr;
    assert!(
        told.contains("copy/two.yaml (copy_two): its text moved"),
        "{told}"
    );
    let info = catalogue
        .build(&["--lock", &lock, "--locked", "--line-info"])
        .expect(1);
    assert!(
        info.stderr.contains("line info from false to true"),
        "{}",
        info.stderr
    );
}

#[test]
fn architectures_and_assemblers_are_chosen() {
    let catalogue = Catalogue::new();
    let newer = copy("two", "(8,256)").replace("sm_80", "sm_90");
    catalogue.write("two", &newer);
    let ids = || -> Vec<String> {
        let bundle = Bundle::open(Path::new(&catalogue.at("out.zip"))).unwrap();
        bundle
            .kernels()
            .iter()
            .map(|kernel| kernel.spec.clone())
            .collect()
    };
    catalogue.build(&["--arch", "sm_86"]).expect(0);
    assert_eq!(ids(), ["copy_one"]);
    catalogue
        .build(&["--arch", "sm_86", "--arch", "sm_90"])
        .expect(0);
    assert_eq!(ids(), ["copy_one", "copy_two"]);
    let odd = catalogue.build(&["--arch", "hopper"]).expect(1);
    assert!(odd.stderr.contains("hopper"), "{}", odd.stderr);
    let specs = catalogue.at("copy");
    let output = catalogue.at("out.zip");
    let build = ["build", &specs, "-o", &output, "--ptxas", "/no/such/ptxas"];
    let missing = tilewright(build).expect(2);
    assert!(
        missing.stderr.contains("required, if-found, never"),
        "{}",
        missing.stderr
    );
}

#[test]
fn files_of_others_stay_as_they_are() {
    let catalogue = Catalogue::new();
    let (photos, notes) = (catalogue.at("out.zip"), catalogue.at("notes.txt"));
    fs::write(&photos, "PK photos").unwrap();
    fs::write(&notes, "{\"years\": [1, 2]}").unwrap();
    let refused = catalogue.build(&[]).expect(2).stderr;
    assert!(
        refused.contains("out.zip: is there and is no bundle"),
        "{refused}"
    );
    fs::remove_file(&photos).unwrap();
    // A lock that is none is refused before any work, and no bundle is written.
    let refused = catalogue.build(&["--lock", &notes]).expect(2).stderr;
    assert!(
        refused.contains("notes.txt: the file is there and is no lock"),
        "{refused}"
    );
    assert!(!Path::new(&photos).exists());
    let text = fs::read_to_string(&notes).unwrap();
    assert_eq!(text, "{\"years\": [1, 2]}");
    // A bundle that is not there is told so.
    let verified = tilewright(["verify", &photos]).expect(2).stderr;
    assert!(
        verified.contains("out.zip: there is no bundle"),
        "{verified}"
    );
}
