//! `build --cubin`: machine code beside the PTX, on its way through the commands on bundles.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tilewright_bundle::{Bundle, Kernel, Route};

use crate::session::{Run, tilewright};

/// A folder with the specs of a copy for sm_80 and one for sm_90.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        fs::create_dir(home.at("copy")).unwrap();
        for arch in ["sm_80", "sm_90"] {
            let text = format!(
                "kernel: copy\nname: copy_{arch}\narch: {arch}\noperands:\n  \
                 s: {{ dtype: f32, layout: '(m,n):(lds,1)' }}\n  \
                 d: {{ dtype: f32, layout: '(m,n):(ldd,1)' }}\ncta_tile: '(8,256)'\n"
            );
            fs::write(home.at(&format!("copy/{arch}.yaml")), text).unwrap();
        }
        home
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn build(&self, output: &str, more: &[&str]) -> Run {
        let (specs, output) = (self.at("copy"), self.at(output));
        let fixed = ["build", &specs, "-o", &output];
        tilewright(fixed.iter().chain(more))
    }

    fn bundle(&self, verb: &str, source: &str, more: &[&str]) -> Run {
        let source = self.at(source);
        let fixed = ["bundle", verb, &source];
        tilewright(fixed.iter().chain(more))
    }

    /// What each kernel of a bundle has machine code for.
    fn targets(&self, bundle: &str) -> Vec<Option<String>> {
        let target = |kernel: &Kernel| kernel.cubin.as_ref().map(|cubin| cubin.target.clone());
        let bundle = Bundle::open(Path::new(&self.at(bundle))).unwrap();
        bundle.kernels().iter().map(target).collect()
    }
}

fn some(targets: [&str; 2]) -> [Option<String>; 2] {
    targets.map(|target| Some(target.to_owned()))
}

#[test]
fn code_is_made_once_and_kept_through_every_command() {
    let home = Home::new();
    home.build("one.zip", &["--cubin", "sm_90"]).expect(0);
    home.build("two.zip", &["--cubin", "sm_90a", "--jobs", "1"])
        .expect(0);
    let read = |name: &str| fs::read(home.at(name)).unwrap();
    assert!(read("one.zip") == read("two.zip"), "other bytes");
    assert_eq!(home.targets("one.zip"), some(["sm_90", "sm_90"]));
    let list = home.bundle("show", "one.zip", &[]).expect(0).stdout;
    assert!(
        list.contains("machine code for sm_90 (2), by ptxas "),
        "{list}"
    );
    let card = home.bundle("show", "one.zip", &["--kernel", "copy_sm_80"]);
    let card = card.expect(0).stdout;
    assert!(
        card.contains("for sm_80, CUDA 11.0 or newer, machine code for sm_90"),
        "{card}"
    );
    let whole = home.bundle("verify", "one.zip", &[]).expect(0).stdout;
    assert!(whole.contains("2 kernels, 4 files"), "{whole}");
    let path = home.at("one.zip");
    let run = ["verify", &path, "--problems", "2", "--device", "emulator"];
    tilewright(run).expect(0);
    // To a folder and back, apart and together.
    home.bundle("unzip", "one.zip", &["-o", &home.at("folder")])
        .expect(0);
    home.bundle("zip", "folder", &["-o", &home.at("again.zip")])
        .expect(0);
    assert!(read("again.zip") == read("one.zip"), "other bytes");
    let parts = ["copy_sm_80", "copy_sm_90"].map(|name| (name, home.at(&format!("{name}.zip"))));
    for (name, part) in &parts {
        home.bundle("split", "one.zip", &["--kernel", name, "-o", part])
            .expect(0);
    }
    let merged = home.at("merged.zip");
    home.bundle("merge", "copy_sm_80.zip", &[&parts[1].1, "-o", &merged])
        .expect(0);
    assert!(read("merged.zip") == read("one.zip"), "other bytes");
    // A byte of the code.
    let code = Path::new(&home.at("folder")).join("cubin");
    let file = fs::read_dir(&code).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let told = home.bundle("verify", "folder", &[]).expect(1).stderr;
    assert!(told.contains("the file's hash is"), "{told}");
}

#[test]
fn code_for_its_own_architecture_or_another_or_none_are_told_apart() {
    let home = Home::new();
    let kept = home.at("kept");
    let build = |cubin: &str| {
        home.build("out.zip", &["--cache", &kept, "--cubin", cubin])
            .expect(0)
    };
    build("own");
    assert_eq!(home.targets("out.zip"), some(["sm_80", "sm_90"]));
    assert!(build("own").stdout.starts_with("unchanged:"));
    let part = build("sm_80");
    assert_eq!(home.targets("out.zip"), [Some("sm_80".to_owned()), None]);
    assert!(
        part.stderr
            .contains("1 of 2 kernels have PTX alone, such as copy_sm_90@"),
        "{part:?}"
    );
    home.build("ptx.zip", &["--cache", &kept]).expect(0);
    assert_eq!(home.targets("ptx.zip"), [None, None]);
    let moved = tilewright(["diff", &home.at("ptx.zip"), &home.at("out.zip")])
        .expect(1)
        .stdout;
    for part in ["  cubin.target: none -> sm_80\n", "  the PTX is the same\n"] {
        assert!(moved.contains(part), "{moved}");
    }
    assert!(!moved.contains("copy_sm_90"), "{moved}");
}

#[test]
fn a_lock_holds_machine_code_as_well() {
    let home = Home::new();
    let lock = home.at("kernels.lock");
    let build = |more: &[&str]| {
        let fixed = ["--lock", lock.as_str()];
        home.build("out.zip", &[&fixed, more].concat())
    };
    build(&[]).expect(0);
    let text = fs::read_to_string(&lock).unwrap();
    assert!(!text.contains("cubin"), "{text}");
    let moved = build(&["--locked", "--cubin", "sm_90"]).expect(1).stderr;
    assert!(moved.contains("machine code from none to sm_90"), "{moved}");
    build(&["--cubin", "sm_90"]).expect(0);
    build(&["--locked", "--cubin", "sm_90"]).expect(0);
    let moved = build(&["--locked", "--cubin", "own"]).expect(1).stderr;
    assert!(moved.contains("machine code from sm_90 to own"), "{moved}");
    home.bundle("verify", "out.zip", &["--lock", &lock])
        .expect(0);
}

#[test]
fn code_alone_is_for_all_kernels_or_none() {
    let home = Home::new();
    home.build("out.zip", &["--cubin", "sm_90", "--cubin-only"])
        .expect(0);
    let bundle = Bundle::open(Path::new(&home.at("out.zip"))).unwrap();
    let alone = |kernel: &Kernel| kernel.route == Route::CubinOnly;
    assert!(bundle.kernels().iter().all(alone));
    let card = home
        .bundle("show", "out.zip", &["--kernel", "copy_sm_90"])
        .expect(0)
        .stdout;
    assert!(
        card.contains("machine code for sm_90, which alone is run"),
        "{card}"
    );
    let bytes = fs::read(home.at("out.zip")).unwrap();
    for (more, code, words) in [
        (
            &["--cubin", "hopper"][..],
            2,
            "\"hopper\" is none of never, own, sm_75, ",
        ),
        (
            &["--cubin", "own", "--ptxas", "never"],
            2,
            "leave --ptxas out, or --cubin",
        ),
        (&["--cubin-only"], 2, "say for which GPUs (--cubin sm_90)"),
        (
            &["--cubin", "sm_80", "--cubin-only"],
            1,
            "(--arch sm_80), or leave --cubin-only out",
        ),
    ] {
        let told = home.build("out.zip", more).expect(code).stderr;
        assert!(told.contains(words), "{told}");
    }
    assert!(
        fs::read(home.at("out.zip")).unwrap() == bytes,
        "it was written"
    );
}
