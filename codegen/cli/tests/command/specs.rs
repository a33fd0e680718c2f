//! `check`, `plan`, `ir`, `ptx`, `build` and `schema` on a spec of a few lines.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::session::tilewright;

/// A good spec with two points, and what makes it bad in two ways.
const GOOD: &str = r#"kernel: copy
name: copy_plain
arch: sm_80
operands:
  s: { dtype: f32, layout: "(m,n):(lds,1)" }
  d: { dtype: f32, layout: "(m,n):(ldd,1)" }
cta_tile: "(16,256)"
tune:
  cta_tile: ["(16,256)", "(8,128)"]
"#;

/// What `check` tells of rows of 16 bits that vectors of 16 bytes move.
const GAPS: &str = "rows without gaps for n % 8 == 0";

/// A folder `copy/` with `plain.yaml` in it.
fn spec(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy/plain.yaml");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn extents_that_kernels_are_for_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.yaml");
    let path = path.to_str().unwrap();
    tilewright(["init", "softmax", "-o", path]).expect(0);
    let told = || tilewright(["check", path]).expect(0).stdout;
    assert!(
        told().ends_with(&format!("1 point, form rows, for n <= 1024, {GAPS}\n")),
        "{}",
        told()
    );
    // Of several kernels the longest rows.
    let text = fs::read_to_string(path)
        .unwrap()
        .replace("# tune:", "tune:");
    fs::write(path, text.replace("#   cta_tile:", "  cta_tile:")).unwrap();
    assert!(
        told().ends_with(&format!("2 points, form rows, for n <= 2048, {GAPS}\n")),
        "{}",
        told()
    );
    let report = tilewright(["check", "--json", path]).expect(0).json();
    assert_eq!(report[0]["extents"]["n"], "n <= 2048");
    assert_eq!(report[0]["without_gaps"], serde_json::json!(["n % 8 == 0"]));
    // Rows in passes are of any length.
    let text = fs::read_to_string(path).unwrap() + "scheduler: { passes: many }\n";
    fs::write(path, text).unwrap();
    let of_any_length = format!("2 points, form rows, {GAPS}\n");
    assert!(told().ends_with(&of_any_length), "{}", told());
    // Whatever moves element by element has no such condition.
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace("(ldx,1)", "(ldx,sx)");
    fs::write(path, text.replace("(ldd,1)", "(ldd,sd)")).unwrap();
    assert!(told().ends_with("2 points, form rows\n"), "{}", told());
}

#[test]
fn a_good_spec_is_good() {
    let (folder, path) = spec(GOOD);
    let run = tilewright(["check", folder.path().to_str().unwrap()]).expect(0);
    let gaps = "rows without gaps for n % 4 == 0";
    let line = format!("good {}: 2 points, form rows, {gaps}\n", path.display());
    assert_eq!(run.stdout, line);
    assert_eq!(run.stderr, "");
    let report = tilewright(["check", "--json", path.to_str().unwrap()])
        .expect(0)
        .json();
    assert_eq!(
        (&report[0]["good"], &report[0]["points"]),
        (&true.into(), &2.into())
    );
}

#[test]
fn every_problem_of_a_bad_spec_is_told_at_once() {
    let (_folder, path) = spec(&GOOD.replacen("f32", "f33", 1).replace("arch:", "arc:"));
    let path = path.to_str().unwrap();
    for command in ["check", "plan", "ptx"] {
        let run = tilewright([command, path]).expect(1);
        for word in ["f33", "arc", "plain.yaml:5:"] {
            assert!(
                run.stderr.contains(word),
                "{command} {word}: {}",
                run.stderr
            );
        }
        assert!(!run.stdout.contains("f33"), "{}", run.stdout);
    }
    let report = tilewright(["check", "--json", path]).expect(1).json();
    assert_eq!(report[0]["good"], false);
    assert_eq!(report[0]["errors"][0]["kind"], "spec");
    assert!(report[0]["errors"][0]["problems"].as_array().unwrap().len() >= 2);
}

#[test]
fn each_stage_prints_its_artefact() {
    let (_folder, path) = spec(GOOD);
    let path = path.to_str().unwrap();
    let stdout = |args: &[&str]| tilewright(args).expect(0).stdout;
    assert!(stdout(&["plan", path]).starts_with("plan copy_plain@16x256"));
    assert!(stdout(&["ir", path]).starts_with("tile copy_plain@16x256"));
    assert!(stdout(&["ir", path, "--after", "lower"]).starts_with("program copy_plain_16x256"));
    assert!(stdout(&["ir", path, "--after", "translate"]).contains("target triple"));
    assert!(stdout(&["ptx", path]).contains(".visible .entry copy_plain_16x256"));
    let all = stdout(&["plan", path, "--all"]);
    assert_eq!(
        all.lines().filter(|line| line.starts_with("plan ")).count(),
        2
    );
}

#[test]
fn points_are_found_by_name_and_listed_when_not() {
    let (_folder, path) = spec(GOOD);
    let path = path.to_str().unwrap();
    let all = tilewright(["plan", path, "--all"]).expect(0).stdout;
    let heads = all.lines().filter_map(|line| line.strip_prefix("plan "));
    for id in heads {
        let run = tilewright(["plan", path, "--point", id]).expect(0);
        assert!(
            run.stdout.starts_with(&format!("plan {id}")),
            "{}",
            run.stdout
        );
    }
    let run = tilewright(["ptx", path, "--point", "9x9"]).expect(2);
    assert!(run.stderr.contains("copy_plain@8x128"), "{}", run.stderr);
}

#[test]
fn a_bundle_is_built_verified_and_the_same_again() {
    let (folder, path) = spec(GOOD);
    let bundle = folder.path().join("bundle");
    let bundle = bundle.to_str().unwrap();
    let build = ["build", path.to_str().unwrap(), "-o", bundle];
    let first = tilewright(build).expect(0);
    assert!(first.stdout.contains("2 kernels"), "{}", first.stdout);
    tilewright(["bundle", "verify", bundle]).expect(0);
    let verify = ["verify", bundle, "--device", "emulator", "--problems", "2"];
    assert_eq!(
        tilewright(verify).expect(0).stdout.lines().last(),
        Some("8 passed, 0 failed")
    );
    assert_eq!(tilewright(build).expect(0).stdout, first.stdout);
}

#[test]
fn a_function_without_a_last_resort_is_told_or_refused() {
    let (folder, path) = spec(GOOD);
    let bundle = folder.path().join("bundle.zip");
    let (bundle, spec) = (bundle.to_str().unwrap(), path.to_str().unwrap());
    let build = ["build", spec, "-o", bundle];
    let required = || build.iter().chain(&["--require-last-resort"]);
    let refused = tilewright(required()).expect(1);
    let lacks = "no last resort for copy_plain: the nearest, copy_plain@";
    assert!(refused.stderr.contains(lacks), "{}", refused.stderr);
    assert!(!std::path::Path::new(bundle).exists());
    let older = build.iter().chain(&["--require-last-resort=sm_70"]);
    let refused = tilewright(older).expect(1).stderr;
    assert!(refused.contains("does not run on sm_70"), "{refused}");
    let unknown = build.iter().chain(&["--require-last-resort=sm_1"]);
    let unknown = tilewright(unknown).expect(2).stderr;
    assert!(
        unknown.contains("there are") && unknown.contains("sm_80"),
        "{unknown}"
    );
    // Who has one spec of a function is told of it where it is asked for.
    let told = tilewright(build).expect(0).stderr;
    assert!(!told.contains("last resort"), "{told}");
    // Element by element, nothing is assumed.
    let elements = "copy: { s: { g2r: sm50_ld_global_4 }, d: { r2g: sm50_st_global_4 } }";
    fs::write(&path, format!("{GOOD}{elements}\n")).unwrap();
    let quiet = tilewright(required()).expect(0).stderr;
    assert!(!quiet.contains("last resort"), "{quiet}");
}

#[test]
fn a_build_over_a_tuned_bundle_says_what_it_drops() {
    let (folder, path) = spec(GOOD);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (bundle, records, spec) = (at("bundle"), at("records.jsonl"), path.to_str().unwrap());
    let build = ["build", spec, "-o", &bundle];
    let quiet = tilewright(build).expect(0);
    assert!(!quiet.stderr.contains("table"), "{}", quiet.stderr);
    let tune = [
        "tune",
        &bundle,
        "--problem",
        "4x64x1",
        "--device",
        "emulator",
    ];
    let to = ["--records", &records, "-o", &bundle];
    let tuned = || tilewright(tune.iter().chain(&to)).expect(0).stdout;
    tuned();
    let again = tilewright(build).expect(0);
    assert_eq!(again.stdout, quiet.stdout);
    let told = "had a selection table of 1 problem, which is gone";
    assert!(again.stderr.contains(told), "{}", again.stderr);
    assert!(!std::path::Path::new(&at("bundle/tuning.json")).exists());
    fs::write(at("bundle/mine\u{202e}.txt"), "").unwrap();
    let verified = tilewright(["bundle", "verify", &bundle]).expect(0).stdout;
    let note = "note: mine\\u{202e}.txt is not of the bundle";
    assert!(verified.contains(note), "{verified}");
    // The records are still there.
    let restored = tuned();
    assert!(
        restored.contains("0 measured") && restored.contains("2 known"),
        "{restored}"
    );
    assert!(restored.contains("thread instructions"), "{restored}");
}

#[test]
fn points_without_a_kernel_are_left_out_and_counted_by_reason() {
    let wide = r#"["(16,256)", "(8,128)", "(3,20)", "(5,20)"]"#;
    let (folder, path) = spec(&GOOD.replace(r#"["(16,256)", "(8,128)"]"#, wide));
    let bundle = folder.path().join("bundle");
    let args = [
        "build",
        path.to_str().unwrap(),
        "-o",
        bundle.to_str().unwrap(),
    ];
    let run = tilewright(args).expect(0);
    assert!(
        run.stdout
            .contains("2 kernels, 2 points left out (threads-tile 2)"),
        "{}",
        run.stdout
    );
    let told: Vec<&str> = run
        .stderr
        .lines()
        .filter(|l| l.starts_with("left out "))
        .collect();
    assert_eq!(told.len(), 2, "{}", run.stderr);
    assert!(told[0].contains("copy_plain@3x20"), "{told:?}");
    assert_eq!(
        told[1],
        "left out 1 more (threads-tile): --dropped lists them"
    );
    let code = told[0].split(['(', ')']).nth(1).unwrap();
    assert!(
        run.stdout.contains(&format!("{code} 2")),
        "{} {code}",
        run.stdout
    );
    let none = r#"["(3,20)", "(5,20)"]"#;
    let (folder, path) = spec(&GOOD.replace(r#"["(16,256)", "(8,128)"]"#, none));
    let bundle = folder.path().join("bundle");
    let args = [
        "build",
        "--keep-going",
        path.to_str().unwrap(),
        "-o",
        bundle.to_str().unwrap(),
    ];
    let run = tilewright(args).expect(1);
    assert!(run.stderr.contains("copy_plain@3x20"), "{}", run.stderr);
    assert!(run.stderr.contains("and 1 more point "), "{}", run.stderr);
    assert!(!bundle.exists());
}

/// A space of 64 points without a kernel.
fn hopeless() -> String {
    let tile = |n: usize| format!("\"({},20)\"", 2 * n + 1);
    let tiles: Vec<String> = (0..32).map(tile).collect();
    let one = r#"["(16,256)", "(8,128)"]"#;
    let tune = format!("[{}]\n  min_ctas_per_sm: [1, 2]", tiles.join(", "));
    GOOD.replace(one, &tune)
}

#[test]
fn a_refused_point_stands_where_its_value_is_tried() {
    let (_folder, path) = spec(&hopeless());
    let path = path.to_str().unwrap();
    for command in ["check", "plan", "ptx", "explain"] {
        let run = tilewright([command, path]).expect(1);
        for words in ["error[threads-tile]", "plain.yaml:9:14", "copy_plain@1x20"] {
            assert!(run.stderr.contains(words), "{command}: {}", run.stderr);
        }
    }
    let report = tilewright(["check", "--json", path]).expect(1).json();
    let error = &report[0]["errors"][0];
    assert_eq!(error["path"], path);
    assert_eq!(error["violations"][0]["span"]["line"], 9);
    let keys = error["violations"][0]["keys"].as_array().unwrap();
    assert!(keys.contains(&"cta_tile".into()), "{keys:?}");
}

#[test]
fn many_points_without_a_kernel_are_told_by_reason_and_all_when_asked() {
    let (_folder, path) = spec(&hopeless());
    let path = path.to_str().unwrap();
    let run = tilewright(["check", path]).expect(1);
    assert!(
        run.stderr.contains("and 63 more points for"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.lines().count() < 20, "{}", run.stderr);
    let run = tilewright(["check", "--dropped", path]).expect(1);
    let listed = |text: &str| text.lines().filter(|l| l.starts_with("dropped ")).count();
    assert_eq!(listed(&run.stderr), 64);
    assert_eq!(
        listed(&tilewright(["plan", "--dropped", path]).expect(0).stdout),
        64
    );
    let report = tilewright(["check", "--json", "--dropped", path])
        .expect(1)
        .json();
    assert_eq!(report[0]["dropped_points"].as_array().unwrap().len(), 64);
    // A space with good points is good, and says why it has no others when asked.
    let mixed = r#"["(16,256)", "(3,20)", "(5,20)"]"#;
    let (folder, path) = spec(&GOOD.replace(r#"["(16,256)", "(8,128)"]"#, mixed));
    let path = path.to_str().unwrap();
    assert_eq!(tilewright(["check", path]).expect(0).stderr, "");
    let run = tilewright(["check", "--dropped", path]).expect(0);
    assert_eq!(listed(&run.stderr), 2);
    let bundle = folder.path().join("bundle");
    let args = ["build", "--dropped", path, "-o", bundle.to_str().unwrap()];
    let run = tilewright(args).expect(0);
    assert_eq!(
        run.stderr.matches("left out copy_plain@").count(),
        2,
        "{}",
        run.stderr
    );
}

#[test]
fn one_spec_in_two_files_names_both() {
    let (folder, path) = spec(GOOD);
    let other = folder.path().join("other/copy/plain.yaml");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, GOOD).unwrap();
    let bundle = folder.path().join("bundle");
    let (one, two) = (path.to_str().unwrap(), other.to_str().unwrap());
    let build = ["build", one, two, "-o", bundle.to_str().unwrap()];
    for args in [&["check", one, two][..], &build] {
        let run = tilewright(args).expect(1);
        assert!(
            run.stderr.contains(one) && run.stderr.contains(two),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn nothing_is_written_when_a_spec_is_bad() {
    let (folder, path) = spec(&GOOD.replace("f32", "f33"));
    let bundle = folder.path().join("bundle");
    let args = [
        "build",
        path.to_str().unwrap(),
        "-o",
        bundle.to_str().unwrap(),
    ];
    tilewright(args).expect(1);
    assert!(!bundle.exists());
    tilewright(["build", "/nonexistent.yaml", "-o", bundle.to_str().unwrap()]).expect(2);
    assert!(!bundle.exists());
    // What could be built without it is named.
    let good = folder.path().join("good.yaml");
    fs::write(&good, GOOD).unwrap();
    let (good, bad) = (good.to_str().unwrap(), path.to_str().unwrap());
    let refused = tilewright(["build", good, bad, "-o", bundle.to_str().unwrap()]).expect(1);
    let way_on = format!("1 of 2 are good and can be built without the others: {good}");
    assert!(refused.stderr.contains(&way_on), "{}", refused.stderr);
    let hopeless_spec = folder.path().join("hopeless.yaml");
    fs::write(&hopeless_spec, hopeless()).unwrap();
    let args = ["build", good, hopeless_spec.to_str().unwrap(), "-o"];
    let refused = tilewright([&args[..], &[bundle.to_str().unwrap()]].concat()).expect(1);
    assert!(refused.stderr.contains(&way_on), "{}", refused.stderr);
    assert!(!bundle.exists());
}

#[test]
fn a_file_that_is_missing_has_no_verdict() {
    let run = tilewright(["check", "/nonexistent.yaml"]).expect(2);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("/nonexistent.yaml"), "{}", run.stderr);
}

#[test]
fn the_schema_is_json() {
    let schema = tilewright(["schema"]).expect(0).json();
    assert!(schema.get("$defs").is_some() || schema.get("properties").is_some());
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_hidden_files_are_not_and_circles_end() {
        let (folder, path) = spec(GOOD);
        let tree = folder.path().join("tree");
        let copies = tree.join("copy");
        fs::create_dir_all(&copies).unwrap();
        symlink(&path, copies.join("plain.yaml")).unwrap();
        symlink(&tree, copies.join("round")).unwrap();
        fs::write(
            copies.join("OTHER.YAML"),
            GOOD.replace("copy_plain", "copy_OTHER"),
        )
        .unwrap();
        fs::write(copies.join(".hidden.yaml"), "no spec").unwrap();
        fs::create_dir(tree.join(".git")).unwrap();
        fs::write(tree.join(".git/b.yaml"), "no spec").unwrap();
        let run = tilewright(["check", tree.to_str().unwrap()]).expect(0);
        assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
        symlink("/nonexistent/spec", copies.join("gone.yaml")).unwrap();
        let run = tilewright(["check", tree.to_str().unwrap()]).expect(2);
        assert!(run.stderr.contains("gone.yaml"), "{}", run.stderr);
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("pipe.yaml");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let large = folder.path().join("large.yaml");
        fs::write(&large, "# comment\n".repeat(200_000)).unwrap();
        for path in [fifo.to_str().unwrap(), "/dev/zero"] {
            let run = tilewright(["check", path]).expect(2);
            assert!(run.stderr.contains("no regular file"), "{}", run.stderr);
            // Build steps have a cache, which hashes what a build is asked.
            let (out, cache) = (folder.path().join("k.zip"), folder.path().join("kept"));
            let (out, cache) = (out.to_str().unwrap(), cache.to_str().unwrap());
            let run = tilewright(["build", path, "-o", out, "--cache", cache]).expect(2);
            assert!(run.stderr.contains("no regular file"), "{}", run.stderr);
        }
        let run = tilewright(["check", large.to_str().unwrap()]).expect(1);
        assert!(run.stderr.contains("too-large"), "{}", run.stderr);
    }
}

/// Rows that a kernel takes padded alone are padded, and that is told; what was asked for is not.
#[test]
fn padded_rows_are_told() {
    let (folder, path) = spec(GOOD);
    let bundle = folder.path().join("copy.zip");
    let (path, bundle) = (path.to_str().unwrap(), bundle.to_str().unwrap());
    tilewright(["build", path, "--ptxas", "never", "-o", bundle]).expect(0);
    let run = |more: &[&str]| {
        let fixed = ["run", bundle, "copy", "--device", "emulator", "--m", "3"];
        tilewright(fixed.iter().chain(more)).expect(0)
    };
    let padded = run(&["--n", "777"]).stdout;
    let told = "  padded    s (780,1) in place of (777,1), d (780,1) in place of (777,1), which \
                the kernel refuses: ";
    assert_eq!(
        padded.lines().filter(|line| line.starts_with(told)).count(),
        1,
        "{padded}"
    );
    let json = run(&["--n", "777", "--json"]).json();
    let of_s = serde_json::json!(
        {"operand": "s", "strides": [780, 1], "without_gaps": [777, 1]}
    );
    assert_eq!(json["padded"][0], of_s);
    for asked in [
        &["--n", "776"][..],
        &["--n", "777", "--lds", "784", "--ldd", "780"],
    ] {
        let run = run(asked).stdout;
        assert!(!run.contains("padded"), "{run}");
    }
    let verify = ["verify", bundle, "--device", "emulator", "--problems", "1"];
    let verified = tilewright(verify).expect(0).stdout;
    assert!(
        verified.contains("are taken: ldd % 4 == 0, lds % 4 == 0\n"),
        "{verified}"
    );
}

/// The bound of normal values lets a part of a long sum be missing, integers do not.
#[test]
fn long_sums_are_run_on_integers_as_well() {
    let (folder, path) = spec(
        "kernel: gemm\nname: long\narch: sm_70\noperands:\n  a: { dtype: f32, layout: '(m,k)' }\n  \
         b: { dtype: f32, layout: '(n,k)' }\n  d: { dtype: f32, layout: '(m,n)' }\n\
         accumulator: f32\ncta_tile: '(16,32,16)'\n",
    );
    let bundle = folder.path().join("long");
    let bundle = bundle.to_str().unwrap();
    tilewright(["build", path.to_str().unwrap(), "-o", bundle]).expect(0);
    let said = |k: &str| {
        let problem = ["--device", "emulator", "--m", "1", "--n", "1", "--k", k];
        let args = ["run", bundle, "long"].into_iter().chain(problem);
        tilewright(args).expect(0).stdout
    };
    let (short, long) = (said("8191"), said("8192"));
    assert!(!short.contains("integers"), "{short}");
    assert!(long.contains("; integers right)"), "{long}");
}
