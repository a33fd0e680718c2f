//! Bundles as one file, signed, put together and taken apart by the command.

use std::fs;
use std::path::Path;

use tilewright_bundle::*;
use tilewright_fixture::*;

use crate::session::{Run, tilewright};

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with two bundles, `copy` and `gemm.zip`, and a key.
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        let copy = writer_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
        copy.write(Path::new(&folder.at("copy"))).unwrap();
        let gemms = [
            (gemm_kernel("gemm_f32@plain-2"), GEMM),
            (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
        ];
        let gemms = writer_of(gemms);
        gemms.write(Path::new(&folder.at("gemm.zip"))).unwrap();
        folder.run(&["keygen", &folder.at("key")]).expect(0);
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn run(&self, args: &[&str]) -> Run {
        tilewright(["bundle"].iter().chain(args))
    }

    /// Signs a bundle of the folder in place.
    fn sign(&self, name: &str) -> Run {
        self.run(&["sign", &self.at(name), "--key", &self.at("key")])
    }
}

fn ids(path: &str) -> Vec<String> {
    let bundle = Bundle::open(Path::new(path)).unwrap();
    bundle
        .kernels()
        .iter()
        .map(|kernel| kernel.id.clone())
        .collect()
}

#[test]
fn a_signed_bundle_is_the_same_in_every_form() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name);
    let public = at("key.pub");
    for name in ["copy", "gemm.zip"] {
        let signed = folder.sign(name).expect(0).stdout;
        assert!(signed.contains("signed by key "), "{signed}");
    }
    let zipped = ["zip", &at("copy"), "-o", &at("copy.zip")];
    folder.run(&zipped).expect(0);
    let bytes = fs::read(at("copy.zip")).unwrap();
    folder
        .run(&["unzip", &at("copy.zip"), "-o", &at("again")])
        .expect(0);
    folder
        .run(&["zip", &at("again"), "-o", &at("copy.zip")])
        .expect(0);
    assert_eq!(fs::read(at("copy.zip")).unwrap(), bytes);
    for name in ["copy", "copy.zip", "again", "gemm.zip"] {
        let path = at(name);
        let required = ["verify", &path, "--require-key", &public];
        let checked = folder.run(&required).expect(0).stdout;
        assert!(checked.contains("\nsigned by key "), "{checked}");
        let json = folder.run(&["verify", &path, "--json"]).expect(0).json();
        assert_eq!(json["signatures"][0]["checked"], false);
    }
    for (verb, ending) in [("zip", "x"), ("unzip", "x.zip")] {
        let output = at(ending);
        let wrong = folder.run(&[verb, &at("copy"), "-o", &output]).expect(2);
        assert!(wrong.stderr.contains(".zip"), "{}", wrong.stderr);
    }
}

#[test]
fn commands_that_load_kernels_want_the_key() {
    let folder = Folder::new();
    let (path, public) = (folder.at("gemm.zip"), folder.at("key.pub"));
    let verified = || {
        let args = ["verify", &path, "--problems", "1", "--device", "emulator"];
        tilewright(args.iter().chain(&["--require-key", &public]))
    };
    let refused = verified().expect(1);
    assert!(
        refused.stderr.contains("has no signature"),
        "{}",
        refused.stderr
    );
    let run = [
        "run",
        &path,
        "gemm_f32@plain",
        "--m",
        "3",
        "--n",
        "4",
        "--k",
        "5",
    ];
    let run = || {
        tilewright(
            run.iter()
                .chain(&["--device", "emulator", "--require-key", &public]),
        )
    };
    run().expect(1);
    folder.sign("gemm.zip").expect(0);
    verified().expect(0);
    run().expect(0);
    // What was changed since is refused, signed or not.
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(verified().expect(1).stdout, "");
}

#[test]
fn keys_are_made_once_and_told_apart() {
    let folder = Folder::new();
    let (key, public) = (folder.at("key"), folder.at("key.pub"));
    let text = fs::read_to_string(&key).unwrap();
    let again = folder.run(&["keygen", &key]).expect(2);
    let there =
        "key.pub: the file is there, and was left as it is: name another key, or remove both";
    assert!(again.stderr.contains(there), "{}", again.stderr);
    let bundle = folder.at("copy");
    let nowhere = folder
        .run(&["sign", &bundle, "--key", &folder.at("nokey")])
        .expect(2);
    let no_key = "nokey: there is no such key: name another file, or make one with";
    assert!(nowhere.stderr.contains(no_key), "{}", nowhere.stderr);
    assert_eq!(fs::read_to_string(&key).unwrap(), text);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let copy = folder.at("copy");
    let swapped = folder.run(&["sign", &copy, "--key", &public]).expect(2);
    assert!(
        swapped.stderr.contains("is a public key"),
        "{}",
        swapped.stderr
    );
    let swapped = folder
        .run(&["verify", &copy, "--require-key", &key])
        .expect(2);
    assert!(
        swapped.stderr.contains("is a private key"),
        "{}",
        swapped.stderr
    );
    folder
        .run(&["verify", &copy, "--require-key", &folder.at("none")])
        .expect(2);
}

#[test]
fn ptx_is_edited_and_hashed_again() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name);
    let (copy, text, edited) = (at("copy"), at("copy_f32@plain-1.ptx"), at("edited.zip"));
    fs::write(&text, format!("// by hand\n{COPY}")).unwrap();
    let edit = |files: &[&str]| {
        let words = [&["edit", copy.as_str(), "--ptx"], files, &["-o", &edited]];
        folder.run(&words.concat())
    };
    edit(&[&text]).expect(0);
    let made = Bundle::open(Path::new(&edited)).unwrap();
    let before = Bundle::open(Path::new(&copy)).unwrap();
    let (now, was) = (&made.kernels()[0], &before.kernels()[0]);
    assert!(made.ptx(now).starts_with("// by hand\n"));
    assert_ne!(now.content_hash, was.content_hash);
    assert!(now.certificate.is_edited() && !was.certificate.is_edited());
    folder.run(&["verify", &edited]).expect(0);
    let on_emulator = || tilewright(["verify", &edited, "--device", "emulator"]);
    let run = on_emulator().expect(0);
    let line = run.stdout.lines().nth(1).unwrap_or_default();
    let edited_line = "; edited: no certificate proves anything of this PTX";
    assert!(line.ends_with(edited_line), "{}", run.stdout);
    // What is wrong at one extent alone is found, and told to be added.
    let store = COPY.find("st.global.b32").unwrap();
    let wrong = "setp.ne.s32 %below, %n, 777;\n@%below bra RIGHT;\n\
                 add.s32 %value, %value, 1;\nRIGHT:\n";
    let wrong = format!("{}{wrong}{}", &COPY[..store], &COPY[store..]);
    fs::write(&text, wrong).unwrap();
    fs::remove_file(&edited).unwrap();
    edit(&[&text]).expect(0);
    let run = on_emulator().expect(1);
    assert!(run.stderr.contains("n=777"), "{}", run.stderr);
    assert!(
        run.stdout.contains("with a + were added, aimed at"),
        "{}",
        run.stdout
    );
    fs::write(&text, format!("// by hand\n{COPY}")).unwrap();
    // Everything that is wrong at once; nothing is written.
    fs::remove_file(&edited).unwrap();
    let other = at("other.ptx");
    fs::write(&other, COPY).unwrap();
    let refused = edit(&[&other, &at("none.ptx"), &text, &text])
        .expect(2)
        .stderr;
    for part in [
        "no kernel of the bundle has this",
        "none.ptx",
        "a second file",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    fs::write(&text, ".version 7.0\n").unwrap();
    let refused = edit(&[&text]).expect(1).stderr;
    assert!(refused.contains("declares no .entry"), "{refused}");
    assert!(!Path::new(&edited).exists());
}

#[test]
fn bundles_are_put_together_and_taken_apart() {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name);
    folder.sign("copy").expect(0);
    let (copy, gemm, all) = (at("copy"), at("gemm.zip"), at("all.zip"));
    let merged = folder.run(&["merge", &copy, &gemm, "-o", &all]).expect(0);
    assert!(
        merged.stderr.contains("copy is signed"),
        "{}",
        merged.stderr
    );
    let whole = [
        "copy_f32@plain-1",
        "gemm_f32@plain-2",
        "gemm_f32_tn@hopper-1",
    ];
    assert_eq!(ids(&all), whole);
    let split = |more: &[&str]| {
        let head = ["split", all.as_str()];
        folder.run(&[&head, more].concat())
    };
    split(&["--by", "arch", "-o", &at("archs"), "--zip"]).expect(0);
    assert_eq!(ids(&at("archs/sm_80.zip")), whole[..2]);
    assert_eq!(ids(&at("archs/sm_90a.zip")), whole[2..]);
    split(&["--by", "function", "-o", &at("functions")]).expect(0);
    assert_eq!(fs::read_dir(at("functions")).unwrap().count(), 2);
    split(&["--arch", "sm_90", "-o", &at("hopper")]).expect(0);
    assert_eq!(ids(&at("hopper")), whole);
    split(&["--kernel", "gemm_f32@", "-o", &at("one")]).expect(0);
    assert_eq!(ids(&at("one")), whole[1..2]);
    let none = split(&["--arch", "sm_70", "-o", &at("none")]).expect(1);
    assert!(
        none.stderr.contains("there are some for sm_80, sm_90a"),
        "{}",
        none.stderr
    );
    split(&["-o", &at("none")]).expect(2);
    split(&["--arch", "hopper", "-o", &at("none")]).expect(2);
    let parts = ["archs/sm_80.zip", "archs/sm_90a.zip"].map(at);
    let again = at("again.zip");
    folder
        .run(&["merge", &parts[0], &parts[1], "-o", &again])
        .expect(0);
    assert_eq!(fs::read(again).unwrap(), fs::read(&all).unwrap());
    let other = writer_of([(
        copy_kernel("copy_f32@plain-1"),
        format!("// another\n{COPY}"),
    )]);
    other.write(Path::new(&at("other"))).unwrap();
    let refused = folder
        .run(&["merge", &copy, &at("other"), "-o", &at("x")])
        .expect(1);
    assert!(
        refused.stderr.contains("different kernels of this id"),
        "{}",
        refused.stderr
    );
    assert!(!Path::new(&at("x")).exists());
}
