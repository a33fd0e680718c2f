//! `doctor` on machines that have and lack things.

use crate::session::{Run, tilewright};

/// The state and the detail of one part of a report.
fn part(run: &Run, name: &str) -> (String, String) {
    let report = run.json();
    let parts = report["parts"].as_array().unwrap().clone();
    let part = parts.into_iter().find(|part| part["name"] == name).unwrap();
    let text = |key: &str| part[key].as_str().unwrap().to_owned();
    (text("state"), text("detail"))
}

#[test]
fn each_part_is_reported_by_name() {
    let run = tilewright(["doctor", "--json"]);
    assert_eq!(run.json()["version"], env!("CARGO_PKG_VERSION"));
    for name in ["llvm", "cuda", "emulator"] {
        let (state, detail) = part(&run, name);
        assert!(
            ["present", "absent", "broken"].contains(&state.as_str()),
            "{name}: {state}"
        );
        assert!(!detail.is_empty(), "{name}");
    }
    assert_eq!(part(&run, "emulator").0, "present");
    let llvm = if cfg!(feature = "codegen") {
        "present"
    } else {
        "absent"
    };
    assert_eq!(part(&run, "llvm").0, llvm);
}

/// The subcommands that need LLVM say so where there is none, with whatever arguments.
#[cfg(not(feature = "codegen"))]
#[test]
fn what_needs_llvm_says_so() {
    let words = [
        "init", "check", "plan", "ir", "ptx", "explain", "build", "schema",
    ];
    for word in words {
        let run = tilewright([word, "specs", "--help", "-o", "x.zip"]).expect(2);
        assert!(run.stderr.contains("needs LLVM"), "{word}: {}", run.stderr);
    }
}

#[cfg(feature = "codegen")]
mod assembler {
    use std::fs;
    use std::path::Path;

    use super::part;
    use crate::session::{Run, command, finish};

    /// `doctor --json` with this assembler named.
    fn doctor_with(ptxas: &Path) -> Run {
        let mut doctor = command();
        finish(
            doctor
                .args(["doctor", "--json"])
                .env("TILEWRIGHT_PTXAS", ptxas)
                .output()
                .unwrap(),
        )
    }

    #[test]
    fn one_that_does_not_run_is_broken_and_the_way_out_is_told() {
        let run = doctor_with(Path::new("/nonexistent/ptxas")).expect(1);
        let (state, detail) = part(&run, "ptxas");
        assert_eq!(state, "broken");
        assert!(detail.contains("/nonexistent/ptxas"), "{detail}");
        assert!(detail.contains("ci/setup.sh"), "{detail}");
    }

    /// What set-up put beside the repository is found from any folder, without cargo's help.
    #[cfg(unix)]
    #[test]
    fn the_one_of_set_up_is_found_above_the_command() {
        use std::os::unix::fs::PermissionsExt;
        // A link, as a program that was just written is still held where others are started.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["target/debug", ".tools/bin", "elsewhere"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let own = env!("CARGO_BIN_EXE_tilewright");
        fs::hard_link(own, at("target/debug/tilewright")).unwrap();
        let ptxas = at(".tools/bin/ptxas");
        fs::write(&ptxas, "#!/bin/sh\necho 'release 13.0, V13.0.88'\n").unwrap();
        fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).unwrap();
        let mut doctor = std::process::Command::new(at("target/debug/tilewright"));
        doctor
            .env_remove("TILEWRIGHT_PTXAS")
            .env_remove("CUDA_HOME")
            .env("PATH", "/nonexistent")
            .current_dir(at("elsewhere"))
            .args(["doctor", "--json"]);
        let (state, detail) = part(&finish(doctor.output().unwrap()), "ptxas");
        assert_eq!(state, "present");
        assert!(detail.ends_with(&ptxas.display().to_string()), "{detail}");
    }

    #[cfg(unix)]
    #[test]
    fn one_that_runs_is_present_with_its_version() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let ptxas = folder.path().join("ptxas");
        let script = "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n";
        fs::write(&ptxas, script).unwrap();
        fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).unwrap();
        let (state, detail) = part(&doctor_with(&ptxas), "ptxas");
        assert_eq!(state, "present");
        assert!(detail.starts_with("13.0.88 at "), "{detail}");
    }
}
