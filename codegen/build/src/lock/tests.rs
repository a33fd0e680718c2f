//! Locks of hand-written bundles.
#![allow(clippy::unwrap_used)]

use tilewright_fixture::{COPY, GEMM, bundle_of, copy_kernel, gemm_kernel};

use super::*;

/// A folder with two specs, and the lock of their bundle.
fn locked() -> (tempfile::TempDir, Bundle, Lock, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("kernels")).unwrap();
    let bundle = bundle_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (gemm_kernel("gemm_f32@plain-2"), GEMM),
    ]);
    let path = folder.path().join("kernels.lock");
    for (file, text) in [("copy.yaml", "one"), ("gemm.yaml", "two")] {
        std::fs::write(folder.path().join("kernels").join(file), text).unwrap();
    }
    let lock = lock_of(&path, &bundle, inputs());
    lock.write(&path).unwrap();
    (folder, bundle, lock, path)
}

fn lock_of(path: &Path, bundle: &Bundle, inputs: Inputs) -> Lock {
    let at = |file: &str| path.parent().unwrap().join("kernels").join(file);
    let (copy, gemm) = (at("copy.yaml"), at("gemm.yaml"));
    let [one, two] = [&copy, &gemm].map(|file| std::fs::read_to_string(file).unwrap());
    let spec = |path, name, text| SpecText { path, name, text };
    let specs = [
        spec(gemm.as_path(), "gemm_f32", two.as_str()),
        spec(copy.as_path(), "copy_f32", one.as_str()),
    ];
    Lock::of(path, inputs, &specs, bundle)
}

fn inputs() -> Inputs {
    Inputs {
        generator: "tilewright 0.1.0".to_owned(),
        llvm: "22.1.0".to_owned(),
        ..Inputs::default()
    }
}

#[test]
fn what_is_locked_is_read_again() {
    let (_folder, bundle, lock, path) = locked();
    let read = Lock::read(&path).unwrap();
    assert_eq!(read, lock);
    assert_eq!(read.specs[0].path, "kernels/copy.yaml");
    assert!(read.specs[0].kernels.contains_key("copy_f32@plain-1"));
    let now = lock_of(&path, &bundle, inputs());
    assert_eq!(read.check(&path, &now).unwrap(), Checked::Generated);
    assert_eq!(
        read.check_hashes(&path, &[], &bundle).unwrap(),
        Checked::Hashes
    );
}

#[test]
fn what_moved_is_named_with_its_spec() {
    let (folder, bundle, lock, path) = locked();
    std::fs::write(folder.path().join("kernels/copy.yaml"), "other").unwrap();
    let mut other = copy_kernel("copy_f32@plain-1");
    other.min_driver += 10;
    let changed = bundle_of([(other, COPY), (gemm_kernel("gemm_f32@plain-2"), GEMM)]);
    let newer = Inputs {
        llvm: "22.1.1".to_owned(),
        ptxas: Some("13.0.88".to_owned()),
        cubin: Some("sm_90".to_owned()),
        ..inputs()
    };
    let told = lock
        .check(&path, &lock_of(&path, &changed, newer))
        .unwrap_err();
    let told = told.to_string();
    for part in [
        "kernels/copy.yaml (copy_f32): its text moved; copy_f32@plain-1 differs",
        "what made them moved: LLVM from 22.1.0 to 22.1.1, ptxas from none to 13.0.88, \
         machine code from none to sm_90",
        "--lock",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("gemm"), "{told}");
    // The same without a generator: texts and kernels alone.
    let new = folder.path().join("kernels/new.yaml");
    std::fs::write(&new, "three").unwrap();
    let one = bundle_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let told = lock
        .check_hashes(&path, &[new], &one)
        .unwrap_err()
        .to_string();
    for part in [
        "kernels/copy.yaml (copy_f32): its text moved",
        "gemm_f32@plain-2: the bundle lacks it",
        "kernels/new.yaml is not in the lock",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(lock.check_hashes(&path, &[], &bundle).is_err());
    std::fs::remove_file(&path).unwrap();
    let told = Lock::read(&path).unwrap_err().to_string();
    assert!(
        told.contains("there is none yet: tilewright build"),
        "{told}"
    );
    // Moved without its specs.
    let below = folder.path().join("locks");
    std::fs::create_dir(&below).unwrap();
    let mut elsewhere = lock.clone();
    for spec in &mut elsewhere.specs {
        spec.path = format!("../{}", spec.path);
    }
    let told = lock.moved(&elsewhere);
    assert!(told.contains(&MOVED.to_owned()), "{told:?}");
    std::fs::write(&path, "{}").unwrap();
    let told = Lock::read(&path).unwrap_err().to_string();
    assert!(
        told.contains("no lock") && told.contains("--lock"),
        "{told}"
    );
}

#[test]
fn locks_give_way_to_locks_and_what_others_lock_stays() {
    let (_folder, _bundle, lock, path) = locked();
    let text = std::fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.contains("\"llvm\"")).unwrap();
    let conflict = format!("<<<<<<< ours\n{line}\n=======\n{line}\n>>>>>>> theirs");
    let ours = [
        String::new(),
        text.replacen("\"format\": 1", "\"format\": 7", 1),
        text.replacen("\"facts\"", "\"older\"", 1),
        text.replacen(line, &conflict, 1),
    ];
    for earlier in ours {
        std::fs::write(&path, earlier).unwrap();
        lock.write(&path).unwrap();
    }
    // Cut short, behind the name of the generator.
    let behind = text.find("generator").unwrap() + 20;
    for end in [behind, text.len() - 10] {
        std::fs::write(&path, &text[..end]).unwrap();
        assert!(
            Lock::read(&path)
                .unwrap_err()
                .to_string()
                .contains("again with --lock")
        );
        lock.write(&path).unwrap();
    }
    let foreign = [
        "plain text",
        "{\"format\": 1, \"inputs\": {\"nixpkgs\": \"abc\"}, \"specs\": []}",
        "{\"format\": 1, \"inputs\": {\"generator\": \"x\"}, \"specs\": [], \
         \"notes\": \"a year\"}",
        "{\n  \"notes\": 1,\n  \"format\": 1,\n  \"inputs\": {\n    \"generator\": \"x\"\n  },\n  \
         \"specs\": [\n",
    ];
    for text in foreign {
        std::fs::write(&path, text).unwrap();
        let told = lock.write(&path).unwrap_err();
        assert!(matches!(told, Error::Foreign { .. }), "{text}: {told}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_text_is_the_same_whatever_ends_its_lines() {
    let hash = |text: &str| hash_of(text.as_bytes());
    assert_eq!(hash("a: 1\r\nb: 2\r\n"), hash("a: 1\nb: 2\n"));
    assert_eq!(hash("a"), Sha256Hex::of(b"a"));
    assert_eq!(hash("a\r"), Sha256Hex::of(b"a\r"));
    assert_ne!(hash("a\rb"), hash("ab"));
}

#[test]
fn the_way_out_has_the_options_of_what_is_there_now() {
    let made = |inputs: Inputs| inputs.options();
    let plain = Inputs {
        ptxas: Some("13.0.88".to_owned()),
        ..Inputs::default()
    };
    assert_eq!(made(plain.clone()), "");
    assert_eq!(made(Inputs::default()), " --ptxas never");
    let alone = Inputs {
        archs: vec!["sm_80".to_owned(), "sm_90".to_owned()],
        cubin: Some("sm_90 alone".to_owned()),
        line_info: true,
        ..plain
    };
    let options = " --arch sm_80 --arch sm_90 --cubin sm_90 --cubin-only --line-info";
    assert_eq!(made(alone), options);
}
