//! The build step by its routes, outside of a build script.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
#[cfg(feature = "llvm")]
use tilewright_build::Checked;
use tilewright_build::{Config, Error};
#[cfg(feature = "llvm")]
use tilewright_bundle::Route;
use tilewright_bundle::{Bundle, Sha256Hex};
use tilewright_fixture::{COPY, GEMM, copy_kernel, gemm_kernel, hopper_gemm, writer_of};

struct Package(TempDir);

impl Package {
    /// A package with a committed bundle of three kernels, two of them of one function.
    fn new() -> Package {
        let package = Package(tempfile::tempdir().unwrap());
        fs::create_dir(package.at("out")).unwrap();
        let kernels = [
            (copy_kernel("copy_f32@plain-1"), COPY),
            (gemm_kernel("gemm_f32@plain-2"), GEMM),
            (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
        ];
        writer_of(kernels)
            .write(&package.at("kernels.zip"))
            .unwrap();
        package
    }

    /// With a spec that its command does not read.
    fn with_empty_spec() -> Package {
        let package = Package::new();
        fs::create_dir(package.at("kernels")).unwrap();
        fs::write(package.at("kernels/copy.yaml"), "").unwrap();
        package
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self) -> Config {
        Config::new().out_dir(self.at("out"))
    }

    /// Puts one of the specs into the folder of kernels.
    #[cfg(feature = "llvm")]
    fn spec(&self, at: usize) -> PathBuf {
        let (name, text) = SPECS[at];
        let path = self.at("kernels/copy").join(name);
        fs::create_dir_all(self.at("kernels/copy")).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

fn ids(path: &Path) -> Vec<String> {
    let bundle = Bundle::open(path).unwrap();
    bundle
        .kernels()
        .iter()
        .map(|kernel| kernel.id.clone())
        .collect()
}

#[test]
fn a_committed_bundle_needs_no_generator() {
    let package = Package::new();
    let config = package.config().committed(package.at("kernels.zip"));
    let built = config.clone().build().unwrap();
    assert_eq!((built.kernels, built.checked), (3, None));
    assert_eq!(built.source, package.at("out/kernels.rs"));
    assert_eq!(ids(&built.bundle), ids(&package.at("kernels.zip")));
    let source = fs::read_to_string(&built.source).unwrap();
    assert!(
        source.contains("include_bytes!(\"kernels.zip\")"),
        "{source}"
    );
    assert!(source.contains("pub struct CopyF32<'a>"), "{source}");
    // A part of it, under another name; what it lacks is told.
    let part = config.clone().arch("sm_80").name("old").build().unwrap();
    let lacks = "1 kernel is left out, which does not run on sm_80: gemm_f32_tn (sm_90a)";
    assert_eq!(part.warnings, [lacks]);
    assert!(
        config
            .clone()
            .arch("sm_90")
            .build()
            .unwrap()
            .warnings
            .is_empty()
    );
    assert_eq!(part.bundle, package.at("out/old.zip"));
    assert_eq!(ids(&part.bundle), ["copy_f32@plain-1", "gemm_f32@plain-2"]);
    let code = config.clone().cubin("own").build().unwrap();
    assert!(
        matches!(&code.warnings[..], [one] if one.contains("no machine code")),
        "{:?}",
        code.warnings
    );
    let told = |arch: &str| config.clone().arch(arch).build().unwrap_err().to_string();
    let odd = told("9.0");
    assert!(odd.contains("\"9.0\" is no architecture"), "{odd}");
    let newer = told("sm_999");
    assert!(newer.contains("\"sm_999\" is no architecture"), "{newer}");
    let none = told("sm_70");
    assert!(none.contains("no kernel that sm_70 runs"), "{none}");
    assert!(none.contains("are for sm_80, sm_90a, and run"), "{none}");
}

/// Of two specs of one function one was edited: no kernel of the other stands in for it any more.
#[test]
fn specs_that_stopped_being_one_function_are_a_warning() {
    let package = Package::new();
    let built = |compute: &str| {
        let mut any = copy_kernel("copy_any@plain-1");
        any.semantics.compute = compute.to_owned();
        any.semantics.function = Sha256Hex::default();
        let kernels = [(copy_kernel("copy_f32@plain-1"), COPY), (any, COPY)];
        let _ = fs::remove_file(package.at("two.zip"));
        writer_of(kernels).write(&package.at("two.zip")).unwrap();
        let config = package.config().committed(package.at("two.zip"));
        config.build().unwrap().warnings
    };
    assert_eq!(built("d[m,n] = s[m,n]"), [""; 0]);
    let told = built("d[m,n] = s[m,n] + 1");
    let [one] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        one.starts_with("`copy` is the word of 2 functions"),
        "{one}"
    );
    assert!(
        one.contains("copy_any") && one.contains("copy_f32"),
        "{one}"
    );
}

#[test]
fn a_last_resort_is_wanted_on_gpus_from_one_on() {
    let package = Package::new();
    let config = package.config().committed(package.at("kernels.zip"));
    let told = |config: Config| config.build().map_err(|error| error.to_string());
    assert!(told(config.clone().require_last_resort()).is_ok());
    assert!(told(config.clone().require_last_resort_from("sm_80")).is_ok());
    assert!(told(config.clone().require_last_resort_from("sm_90a")).is_ok());
    let older = told(config.clone().require_last_resort_from("sm_70")).unwrap_err();
    assert!(older.contains("does not run on sm_70"), "{older}");
    // Of what is built for one GPU as well, and of a word that is none nothing is built.
    let hopper = config.arch("sm_90").name("hopper");
    let odd = told(hopper.require_last_resort_from("ampere")).unwrap_err();
    assert!(odd.contains("\"ampere\" is no architecture"), "{odd}");
}

#[test]
fn what_is_wrong_has_its_way_out() {
    let package = Package::new();
    let config = package.config();
    let told = |config: &Config| config.build().unwrap_err().to_string();
    let none = config.clone().specs(package.at("out"));
    assert!(matches!(none.build(), Err(Error::NoSpec { .. })));
    let gone = told(&config.clone().specs("no-such-folder"));
    assert!(
        gone.contains("no-such-folder: there is no such file or folder in /"),
        "{gone}"
    );
    fs::create_dir(package.at("locks")).unwrap();
    let committed = config.clone().committed(package.at("kernels.zip"));
    let folder = told(&committed.lock(package.at("locks")));
    assert!(
        folder.contains("this is a folder: name the lock"),
        "{folder}"
    );
    let alone = told(
        &config
            .clone()
            .committed(package.at("kernels.zip"))
            .cubin_only(),
    );
    assert!(
        alone.contains("drivers may compile 3 of its 3 kernels"),
        "{alone}"
    );
    let missing = config.clone().committed(package.at("nowhere.zip"));
    assert!(told(&missing).contains("nowhere.zip"));
    let odd = config
        .clone()
        .committed(package.at("kernels.zip"))
        .name("a b");
    assert!(told(&odd).contains("Config::name"));
    let bare = Config::new().committed(package.at("kernels.zip"));
    assert!(matches!(bare.build(), Err(Error::NoOutDir)));
    let off = config.clone().specs_of_feature("llvm", package.at("out"));
    assert!(matches!(off.build(), Err(Error::NoSpec { folders }) if folders.is_empty()));
    let misspelt = config
        .clone()
        .specs_of_feature("no-such", package.at("out"));
    assert!(told(&misspelt).contains("Cargo.toml has no feature \"no-such\""));
    let misspelt = misspelt.committed(package.at("kernels.zip")).build();
    let warned = misspelt.unwrap().warnings;
    assert!(
        matches!(&warned[..], [one] if one.contains("\"no-such\"")),
        "{warned:?}"
    );
}

/// A copy of which the first needs aligned rows; with the second every problem has a kernel.
#[cfg(feature = "llvm")]
const SPECS: [(&str, &str); 2] = [
    (
        "rows.yaml",
        "kernel: copy\nname: copy_rows\narch: sm_80\noperands:\n  s: { dtype: f32, layout: \
         '(m,n):(lds,1)' }\n  d: { dtype: f32, layout: '(m,n):(ldd,1)' }\ncta_tile: '(16,256)'\n",
    ),
    (
        "any.yaml",
        "kernel: copy\nname: copy_any\narch: sm_80\noperands:\n  s: { dtype: f32, layout: \
         '(m,n):(lds,1)' }\n  d: { dtype: f32, layout: '(m,n):(ldd,1)' }\ncta_tile: '(16,256)'\n\
         copy: { s: { g2r: sm50_ld_global_4 }, d: { r2g: sm50_st_global_4 } }\n",
    ),
];

#[cfg(feature = "llvm")]
#[test]
fn specs_are_compiled_in_this_process_once() {
    let package = Package::new();
    package.spec(0);
    let config = package.config().specs(package.at("kernels")).ptxas("never");
    let built = config.clone().build().unwrap();
    assert_eq!(built.kernels, 1);
    // Told once, as the command tells it.
    assert_eq!(built.warnings, [tilewright_build::unjudged()]);
    let strict = config.clone().require_last_resort().build();
    let told = strict.unwrap_err();
    assert!(matches!(told, Error::Uncovered(_)), "{told:?}");
    let lacks = "1 function does not take every problem (others are refused at run time): \
                 copy_rows (assumes align(s) >= 16 bytes";
    assert!(told.to_string().contains(lacks), "{told}");
    let known = config.clone().allow_no_last_resort().build().unwrap();
    assert_eq!(known.warnings, built.warnings);
    package.spec(1);
    let kept = || {
        let files = fs::read_dir(package.at("out/kernels.cache")).unwrap();
        let named = files.map(|file| file.unwrap());
        let named = named.filter(|file| file.path().to_string_lossy().ends_with(".kernel"));
        let mut all: Vec<_> = named
            .map(|file| {
                (
                    file.file_name(),
                    file.metadata().unwrap().modified().unwrap(),
                )
            })
            .collect();
        all.sort();
        all
    };
    let before = kept();
    let built = config.clone().require_last_resort().build().unwrap();
    assert_eq!((built.kernels, built.warnings.len()), (2, 1));
    let after = kept();
    assert_eq!((before.len(), after.len()), (1, 2));
    assert!(
        after.contains(&before[0]),
        "the first spec was compiled again"
    );
    let source = fs::read_to_string(&built.source).unwrap();
    assert!(
        source.contains("pub type CopyRows<'a> = CopyAny<'a>;"),
        "{source}"
    );
    let hopper = SPECS[1]
        .1
        .replace("copy_any", "copy_hopper")
        .replace("sm_80", "sm_90");
    fs::write(package.at("kernels/copy/copy_hopper.yaml"), hopper).unwrap();
    let built = config.clone().arch("sm_80").build().unwrap();
    let lacks = "1 kernel is left out, which does not run on sm_80: copy_hopper (sm_90)";
    let told = built
        .warnings
        .iter()
        .filter(|line| line.contains("left out"));
    assert!(told.eq([lacks]), "{:?}", built.warnings);
    let none = config.arch("sm_70").build().unwrap_err().to_string();
    assert!(
        none.contains("no spec has a kernel that sm_70 runs"),
        "{none}"
    );
}

#[cfg(feature = "llvm")]
#[test]
fn a_lock_holds_specs_and_kernels_together() {
    let package = Package::new();
    let spec = package.spec(0);
    let lock = package.at("kernels.lock");
    let config = package.config().specs(package.at("kernels")).ptxas("never");
    let built = config.build().unwrap();
    let bundle = Bundle::open(&built.bundle).unwrap();
    let files = tilewright_codegen::catalogue::load(std::slice::from_ref(&spec)).unwrap();
    let making = tilewright_codegen::Making::default();
    let now = tilewright_build::lock_of(&lock, &files, &making, &[], &bundle);
    now.write(&lock).unwrap();
    fs::rename(&built.bundle, package.at("locked.zip")).unwrap();
    let generated = config.clone().lock(&lock).build().unwrap();
    assert_eq!(generated.checked, Some(Checked::Generated));
    let committed = config
        .clone()
        .lock(&lock)
        .committed(package.at("locked.zip"));
    assert_eq!(committed.build().unwrap().checked, Some(Checked::Hashes));
    fs::write(&spec, SPECS[0].1.replace("(16,256)", "(8,256)")).unwrap();
    for config in [config.lock(&lock), committed.clone()] {
        let told = config.build().unwrap_err().to_string();
        assert!(
            told.contains("kernels/copy/rows.yaml (copy_rows): its text moved"),
            "{told}"
        );
    }
    fs::remove_file(&spec).unwrap();
    let told = committed.build().unwrap_err().to_string();
    assert!(
        told.contains("kernels/copy/rows.yaml (copy_rows) is locked and gone"),
        "{told}"
    );
}

#[cfg(feature = "llvm")]
#[test]
fn machine_code_is_shipped_and_locked() {
    use tilewright_codegen::{LineInfo, Making};
    let package = Package::new();
    let spec = package.spec(1);
    let config = package.config().specs(package.at("kernels"));
    let shipped = config.clone().cubin("sm_90");
    let targets = |config: &Config| {
        let bundle = Bundle::open(&config.build().unwrap().bundle).unwrap();
        let kernel = bundle.kernels()[0].clone();
        (kernel.cubin.map(|cubin| cubin.target), kernel.route, bundle)
    };
    let (target, route, bundle) = targets(&shipped);
    assert_eq!((target.as_deref(), route), (Some("sm_90"), Route::Ptx));
    let (_, route, _) = targets(&shipped.clone().cubin_only());
    assert_eq!(route, Route::CubinOnly);
    // What is kept of the one is not taken for the other.
    assert_eq!(targets(&config).0, None);
    let lock = package.at("kernels.lock");
    let files = tilewright_codegen::catalogue::load(std::slice::from_ref(&spec)).unwrap();
    let making = Making::chosen(LineInfo::Beside, "required".as_ref(), ("sm_90", false)).unwrap();
    let now = tilewright_build::lock_of(&lock, &files, &making, &[], &bundle);
    now.write(&lock).unwrap();
    let locked = shipped.lock(&lock).build().unwrap();
    assert_eq!(locked.checked, Some(Checked::Generated));
    let told = config.clone().lock(&lock).build().unwrap_err().to_string();
    assert!(told.contains("machine code from sm_90 to none"), "{told}");
    let told = config
        .ptxas("never")
        .cubin("own")
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("made by ptxas, which is never to be run"),
        "{told}"
    );
}

/// Names the folder of a package whose build script a child of this test is.
const PACKAGE: &str = "BUILD_SCRIPT_OF";

/// What the build script of a package says, which is a child that runs the test of this name alone;
/// `None` in that child, which builds.
fn script_says(
    test: &str,
    package: impl FnOnce() -> (Package, Vec<(&'static str, PathBuf)>),
) -> Option<String> {
    if let Some(folder) = std::env::var_os(PACKAGE) {
        let folder = Path::new(&folder);
        let config = Config::new().specs(folder.join("kernels")).ptxas("never");
        config.out_dir(folder.join("out")).compile();
        return None;
    }
    let (package, variables) = package();
    let script = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(PACKAGE, package.at(""))
        .envs(variables)
        .output()
        .unwrap();
    assert!(script.status.success(), "{script:?}");
    let [out, err] = [script.stdout, script.stderr].map(|said| String::from_utf8(said).unwrap());
    Some(out + &err)
}

/// The name of what is built in a child that is run with this.
const NAME: &str = "BUILD_SCRIPT_NAMES";

/// A child process is a build script of its own.
#[test]
fn a_name_that_is_given_up_does_not_compile() {
    let here = "a_name_that_is_given_up_does_not_compile";
    if let (Some(name), Some(out)) = (std::env::var_os(NAME), std::env::var_os("OUT_DIR")) {
        let bundle = Path::new(&out).with_file_name("kernels.zip");
        let config = Config::new().committed(bundle);
        let config = config.name(name.to_str().unwrap());
        config.build().unwrap();
        // What a second build of that name would take the place of.
        let again = config.build().unwrap_err().to_string();
        assert!(
            again.contains("twice") && again.contains("Config::name"),
            "{again}"
        );
        return;
    }
    let package = Package::new();
    let run = |name: &str| {
        let mut script = std::process::Command::new(std::env::current_exe().unwrap());
        let script = script.args(["--exact", here]).env(NAME, name);
        let ended = script.env("OUT_DIR", package.at("out")).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let read = |name: &str| fs::read_to_string(package.at("out").join(name));
        ["kernels.rs", "gpu.rs"].map(|name| read(name).unwrap_or_default())
    };
    let has_launchers = |source: &str| source.contains("pub struct CopyF32<'a>");
    let [kernels, gpu] = run("gpu");
    assert!(kernels.contains("compile_error!") && has_launchers(&gpu));
    let [kernels, gpu] = run("kernels");
    assert!(has_launchers(&kernels) && gpu.contains("say include_kernels!(), or"));
    assert!(!package.at("out/gpu.zip").exists());
    // A folder that is not cargo's is left as it is.
    let config = package.config().committed(package.at("kernels.zip"));
    config.name("other").build().unwrap();
    assert!(package.at("out/kernels.zip").exists());
}

/// Cargo shows each `cargo::error` line and fails the build; of a script that fails itself it shows
/// all that it printed once more.
#[cfg(feature = "llvm")]
#[test]
fn a_build_script_tells_its_problems_once() {
    let said = script_says("a_build_script_tells_its_problems_once", || {
        let package = Package::new();
        fs::write(package.spec(0), "kernel: copy\nnonsense: 1\n").unwrap();
        (package, Vec::new())
    });
    let Some(said) = said else {
        return;
    };
    let told = said.lines().filter(|line| line.contains("nonsense"));
    let errors = said
        .lines()
        .filter(|line| line.starts_with("cargo::error="))
        .count();
    assert!(errors > 0, "{said}");
    assert!(
        told.clone().all(|line| line.starts_with("cargo::error=")),
        "{said}"
    );
}

#[cfg(feature = "llvm")]
#[test]
fn a_build_script_tells_once_that_nothing_was_judged() {
    let said = script_says("a_build_script_tells_once_that_nothing_was_judged", || {
        let package = Package::new();
        package.spec(1);
        (package, Vec::new())
    });
    if let Some(said) = said {
        let warning = format!("cargo::warning={}\n", tilewright_build::unjudged());
        assert_eq!(said.matches(&warning).count(), 1, "{said}");
        assert_eq!(said.matches("cargo::warning").count(), 1, "{said}");
    }
}

/// What is legal and may not be meant, such as a name that is not its file's.
#[cfg(feature = "llvm")]
#[test]
fn a_build_script_tells_what_may_not_be_meant() {
    let said = script_says("a_build_script_tells_what_may_not_be_meant", || {
        let package = Package::new();
        let spec = package.spec(1);
        fs::rename(&spec, spec.with_file_name("elsewhere.yaml")).unwrap();
        (package, Vec::new())
    });
    if let Some(said) = said {
        let warning = "cargo::warning=warning[name-mismatch]";
        assert_eq!(said.matches(warning).count(), 1, "{said}");
    }
}

/// A command that writes the committed bundle wherever it is asked to, and has something to say.
#[cfg(unix)]
const COMMAND: &str = "#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\n\
                       cp \"$(dirname \"$0\")/kernels.zip\" \"$2\"\n\
                       echo \"good: $2, 2 kernels\"\n\
                       echo 'left out copy@x (smem-capacity): 5 stages' >&2\n\
                       echo 'note: without ptxas no kernel was judged' >&2\n\
                       echo 'kernels.lock: the kernels are those of the lock' >&2\n";

/// A command that is another program leaves what an earlier build made.
#[cfg(unix)]
#[test]
fn a_command_that_writes_nothing_is_told() {
    let said = script_says("a_command_that_writes_nothing_is_told", || {
        let package = Package::with_empty_spec();
        fs::write(package.at("out/kernels.zip"), "of an earlier build").unwrap();
        (package, vec![("TILEWRIGHT", PathBuf::from("/bin/true"))])
    });
    if let Some(said) = said {
        let error = "cargo::error=/bin/true: it ended well and tells of no bundle";
        assert!(said.contains(error), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_build_script_tells_what_its_command_does() {
    use std::os::unix::fs::PermissionsExt;
    let said = script_says("a_build_script_tells_what_its_command_does", || {
        let package = Package::with_empty_spec();
        let command = package.at("command");
        fs::write(&command, COMMAND).unwrap();
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
        (package, vec![("TILEWRIGHT", command)])
    });
    if let Some(said) = said {
        let warnings = said
            .lines()
            .filter_map(|line| line.strip_prefix("cargo::warning="));
        let warnings: Vec<&str> = warnings.collect();
        let left_out = "left out copy@x (smem-capacity): 5 stages";
        assert_eq!(
            warnings,
            [left_out, "without ptxas no kernel was judged"],
            "{said}"
        );
    }
}
