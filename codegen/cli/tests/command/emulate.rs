//! `emulate` on launch files of other compilers: findings for people and programs, traces,
//! profiles, schedules and exit codes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::session::{Run, assert_golden, command, finish};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/data/ptx")
}

/// Runs `emulate` on one case, from the folder above the cases.
fn emulate(case: &str, options: &[&str]) -> Run {
    let mut command = command();
    command.current_dir(data()).arg("emulate");
    command.arg(format!("cases/{case}/manifest.json"));
    finish(command.args(options).output().unwrap())
}

#[test]
fn findings_show_both_sides() {
    let mut page = String::new();
    for case in [
        "bug23_missing_proxy_fence",
        "bug11_mbarrier_deadlock",
        "neg01_oob_global",
    ] {
        page.push_str(&emulate(case, &[]).expect(0).stdout);
    }
    assert_golden("emulate_findings.txt", &page);
}

#[test]
fn one_warp_is_traced_and_lines_are_profiled() {
    let options = ["--trace", "1:2", "--trace-steps", "12", "--profile"];
    let page = emulate("nv_saxpy", &options).expect(0).stdout;
    let options = ["--profile", "--schedules", "reverse/early"];
    let tensor = emulate("tr_matmul_tma_sm90", &options).expect(0).stdout;
    assert_golden("emulate_profile.txt", &(page + &tensor));
    let absent = emulate("nv_saxpy", &["--trace", "9:0"]).expect(0);
    assert!(absent.stdout.contains("no such warp"), "{}", absent.stdout);
}

#[test]
fn json_lines_have_findings_steps_lines_and_counters() {
    let options = "--json --schedules round-robin/late --trace 0:0 --trace-steps 2 --profile";
    let options: Vec<&str> = options.split(' ').collect();
    let run = emulate("bug23_missing_proxy_fence", &options).expect(0);
    let events: Vec<String> = run
        .json_lines()
        .iter()
        .map(|line| line["event"].as_str().unwrap().to_owned())
        .collect();
    for event in ["finding", "schedule", "buffer", "step", "line", "case"] {
        assert!(events.iter().any(|one| one == event), "no {event}");
    }
    assert_eq!(events.last().map(String::as_str), Some("summary"));
    assert_golden("emulate.jsonl", &run.stdout);
}

#[test]
fn sarif_has_rules_results_and_related_locations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("findings.sarif");
    let options = ["--sarif", path.to_str().unwrap()];
    emulate("bug23_missing_proxy_fence", &options).expect(0);
    let text = fs::read_to_string(&path).unwrap();
    let log: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    for result in results {
        let known = rules.iter().any(|rule| rule["id"] == result["ruleId"]);
        assert!(known, "{result}");
        assert!(result["relatedLocations"][0]["physicalLocation"].is_object());
    }
    assert_eq!(results.len(), 2);
    assert_golden("emulate.sarif", &text);
}

#[test]
fn strict_mode_finds_more_and_off_finds_less() {
    let found = |mode: &str| {
        let options = ["--json", "--sanitize", mode, "--schedules", "1"];
        let lines = emulate("bug23_missing_proxy_fence", &options).json_lines();
        let findings = lines.iter().filter(|line| line["event"] == "finding");
        findings.count()
    };
    assert_eq!(found("off"), 0);
    assert_eq!(found("default"), 2);
    // Triton leaves out a fence that the document asks for.
    let triton = |mode: &str| emulate("tr_matmul_bf16_sm90", &["--sanitize", mode]);
    triton("default").expect(0);
    let strict = triton("strict").expect(1).stdout;
    assert!(
        strict.contains("error[missing_proxy_fence_cp_async]"),
        "{strict}"
    );
    // Its `.loc` lead to the line of the Python file.
    let json = ["--sanitize", "strict", "--schedules", "1", "--json"];
    let lines = emulate("tr_matmul_bf16_sm90", &json).json_lines();
    let finding = lines.iter().find(|line| line["event"] == "finding");
    assert_eq!(finding.unwrap()["source"]["line"], 35);
}

#[test]
fn wrong_words_are_refused_with_those_allowed() {
    for (options, allowed) in [
        (
            ["--schedules", "sideways"],
            "round-robin, reverse or random:SEED",
        ),
        (["--schedules", "0"], "1..=1000"),
        (["--trace", "1"], "2,0,1:3"),
        (["--sanitize", "loose"], "strict, default, off"),
    ] {
        let run = emulate("nv_saxpy", &options).expect(2);
        assert!(run.stderr.contains(allowed), "{}", run.stderr);
    }
}

/// PTX that the emulator refuses is no verdict on the kernel: the exit code is 2.
#[test]
fn what_cannot_be_run_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("cases/odd")).unwrap();
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry odd() {\n\
                tex.level.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}], z;\nret;\n}\n";
    fs::write(at("odd.ptx"), text).unwrap();
    let manifest = serde_json::json!({"id": "odd", "ptx": "odd.ptx", "arch": "sm_80",
        "entry": "odd", "grid": [1, 1, 1], "block": [32, 1, 1], "args": []});
    fs::write(at("cases/odd/manifest.json"), manifest.to_string()).unwrap();
    let path = folder.path().to_str().unwrap();
    let run = crate::session::tilewright(["emulate", path]).expect(2);
    assert!(run.stdout.contains("odd.ptx: 5:1"), "{}", run.stdout);
    assert!(run.stdout.contains("tex.level.2d"), "{}", run.stdout);
    assert_eq!(run.stdout.lines().last(), Some("0 passed, 1 failed"));
}

/// A folder with one launch file: a kernel of a text, and what is changed in its manifest.
fn launch_file(ptx: &str, change: impl Fn(&mut serde_json::Value)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("cases/one")).unwrap();
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k";
    fs::write(at("k.ptx"), format!("{head}{ptx}")).unwrap();
    let mut manifest = serde_json::json!({"id": "one", "ptx": "k.ptx", "arch": "sm_80",
        "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": []});
    change(&mut manifest);
    fs::write(at("cases/one/manifest.json"), manifest.to_string()).unwrap();
    folder
}

fn emulate_folder(folder: &tempfile::TempDir, options: &[&str]) -> Run {
    let path = folder.path().to_str().unwrap();
    crate::session::tilewright([&["emulate", path], options].concat())
}

#[test]
fn what_a_terminal_would_obey_is_shown_escaped() {
    let folder = launch_file("() { ret; }", |manifest| {
        manifest["id"] = "\u{1b}]0;owned\u{7}\u{202e}x".into();
    });
    let run = emulate_folder(&folder, &[]).expect(0);
    let shown = "\\u{1b}]0;owned\\u{7}\\u{202e}x";
    assert!(run.stdout.contains(shown), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{7}'), "{}", run.stdout);
}

#[test]
fn a_launch_that_does_not_end_is_given_up_within_its_budget() {
    let folder = launch_file("() { W: bra W; }", |_| {});
    let options = ["--budget", "1000", "--schedules", "1"];
    let run = emulate_folder(&folder, &options).expect(1);
    let given_up = "the launch executed 1000 warp instructions without coming to its end";
    assert!(run.stdout.contains(given_up), "{}", run.stdout);
}

#[test]
fn findings_that_are_alike_are_told_once_and_counted() {
    let stores = "st.shared.u32 [%r], %r;\n".repeat(20);
    let text = format!(
        "() {{ .reg .b32 %r; .reg .f32 %f; mov.u32 %r, 99996;\n{stores}\
         ld.shared.f32 %f, [%r]; ret; }}"
    );
    let run = emulate_folder(&launch_file(&text, |_| {}), &[]).expect(1);
    let told = run.stdout.matches("error[oob_shared]").count();
    assert_eq!(told, 2, "{}", run.stdout);
    let others = "and 19 findings like it, at line 6, 7, 8, 9, 10, 11, 12, 13, …: --json has all";
    assert!(run.stdout.contains(others), "{}", run.stdout);
    let run = emulate_folder(&launch_file(&text, |_| {}), &["--json", "--schedules", "1"]);
    assert_eq!(run.stdout.matches("\"oob_shared\"").count(), 21);
}

#[test]
fn a_newer_release_is_read_with_a_note_and_an_unknown_one_is_refused_alone() {
    let folder = launch_file("() { ret; }", |_| {});
    let path = folder.path().join("k.ptx");
    let text = fs::read_to_string(&path).unwrap();
    let with = |version: &str| {
        fs::write(&path, text.replace(".version 8.0", version)).unwrap();
        emulate_folder(&folder, &[])
    };
    let newer = with(".version 9.5").expect(0).stdout;
    assert!(
        newer.contains("note: .version 9.5 is newer than 9.4"),
        "{newer}"
    );
    let refused = with(".version 10.0").expect(2).stdout;
    assert!(refused.contains("unsupported .version 10.0"), "{refused}");
    assert!(
        !refused.contains(".target") && !refused.contains(".address_size"),
        "{refused}"
    );
}

/// What is changed in a manifest.
type Change = Box<dyn Fn(&mut serde_json::Value)>;

#[test]
fn files_of_a_launch_are_below_it_and_as_long_as_said() {
    let buffer = |changed: &'static str, value: &'static str| {
        move |manifest: &mut serde_json::Value| {
            let mut arg = serde_json::json!({"kind": "buffer", "name": "x", "role": "out",
                "dtype": "u8", "bytes": 3});
            arg[changed] = value.into();
            manifest["args"] = serde_json::json!([arg]);
        }
    };
    let taking = "(.param .u64 p) { ret; }";
    let below = "a file of a launch is named by a relative path without `..`";
    let cases: [(Change, &str); 5] = [
        (
            Box::new(|manifest| manifest["ptx"] = "/dev/zero".into()),
            below,
        ),
        (
            Box::new(|manifest| manifest["ptx"] = "cases".into()),
            "cases: is a folder",
        ),
        (Box::new(buffer("expect", "../../k.ptx")), below),
        (
            Box::new(buffer("init", "manifest.json")),
            "bytes, the buffer 3",
        ),
        (
            Box::new(move |manifest| {
                buffer("role", "scratch")(manifest);
                manifest["args"][0]["expect"] = "manifest.json".into();
            }),
            "argument x: scratch memory has neither init nor expect: leave them null",
        ),
    ];
    for (change, wanted) in cases {
        let folder = launch_file(taking, change);
        let run = emulate_folder(&folder, &[]).expect(2);
        assert!(run.stdout.contains(wanted), "{wanted}:\n{}", run.stdout);
    }
}

/// All that is wrong with a launch file is told at once, and none of it lets the launch pass.
#[test]
fn launch_files_are_checked_whole() {
    let folder = launch_file("(.param .u64 p, .param .u64 q) { ret; }", |manifest| {
        let x = serde_json::json!({"kind": "buffer", "name": "x", "role": "out", "dtype": "zz",
            "shape": [-992], "bytes": 8, "rtol": -1});
        let y = serde_json::json!({"kind": "buffer", "name": "x", "role": "in", "dtype": "f32",
            "shape": [9223372036854775808u64, 2], "bytes": 8, "atol": 1e-3, "tolerance": 1});
        manifest["args"] = serde_json::json!([x, y]);
        manifest["expect_eror"] = "data_race".into();
        manifest["expect_error"] = "data_rase".into();
        manifest["arch"] = "volta".into();
    });
    let run = emulate_folder(&folder, &[]).expect(2);
    for wanted in [
        "dtype \"zz\" is none",
        "shape [-992]: a list of numbers from 0",
        "shape [9223372036854775808,2]: 73786976294838206464 bytes of f32; the buffer has 8",
        "argument x: another buffer has this name",
        "no key `tolerance`",
        "no key `expect_eror`",
        "no finding `data_rase`",
        "rtol is -1",
        "\"volta\" is none",
    ] {
        assert!(run.stdout.contains(wanted), "{wanted}:\n{}", run.stdout);
    }
    assert_eq!(run.stdout.lines().last(), Some("0 passed, 1 failed"));
    // Texts that no driver takes.
    for (head, wanted) in [
        ("", "no .version"),
        (
            ".version 8.0\n.target sm_80\n.address_size 32\n",
            ".address_size 32",
        ),
    ] {
        let folder = launch_file("() { ret; }", |_| {});
        let text = format!("{head}.visible .entry k() {{ ret; }}");
        fs::write(folder.path().join("k.ptx"), text).unwrap();
        let run = emulate_folder(&folder, &[]).expect(2);
        assert!(run.stdout.contains(wanted), "{wanted}:\n{}", run.stdout);
    }
}

#[test]
fn scratch_memory_starts_poisoned_and_is_not_compared() {
    let scratch = |manifest: &mut serde_json::Value| {
        manifest["args"] = serde_json::json!([{"kind": "buffer", "name": "x", "role": "scratch",
            "dtype": "u32", "bytes": 4, "init": null, "expect": null}]);
    };
    let kernel = |body: &str| {
        format!(
            "(.param .u64 p) {{ .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; {body} ret; }}"
        )
    };
    let writes = launch_file(&kernel("st.global.u32 [%a], 7;"), scratch);
    emulate_folder(&writes, &[]).expect(0);
    let reads = launch_file(&kernel("ld.global.u32 %r, [%a];"), scratch);
    let run = emulate_folder(&reads, &[]).expect(1);
    assert!(
        run.stdout.contains("error[uninit_global]"),
        "{}",
        run.stdout
    );
}

/// The page about the model quotes runs of the command: each `$ tilewright …` block holds what the
/// command prints.
#[test]
fn the_page_about_the_model_quotes_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/emulator/docs/model.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut now = String::new();
    let mut parts = page.split("```text\n$ tilewright ");
    now.push_str(parts.next().unwrap());
    let mut runs = 0;
    for part in parts {
        let (block, rest) = part.split_once("```").unwrap();
        let line = block.lines().next().unwrap();
        let mut command = command();
        let (asked, most) = line.split_once(" | head -").unwrap_or((line, "1000"));
        command.current_dir(data()).args(asked.split_whitespace());
        let printed = finish(command.output().unwrap()).stdout;
        let most = most.parse().unwrap();
        let printed: String = printed.split_inclusive('\n').take(most).collect();
        now.push_str(&format!("```text\n$ tilewright {line}\n{printed}```{rest}"));
        runs += 1;
    }
    assert!(runs > 0);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(
        now,
        kept,
        "{} differs; rewrite it with BLESS=1",
        path.display()
    );
}

#[test]
fn tensor_cores_give_the_bits_of_an_h200_and_models_say_that_they_are_models() {
    let emulate = |path: &str, options: &[&str]| {
        let mut command = command();
        command.current_dir(data().join("../tensor_cores"));
        command.args(["emulate", path, "--schedules", "1"]);
        finish(command.args(options).output().unwrap())
    };
    let page = emulate(".", &[]).expect(0).stdout;
    assert!(page.ends_with("44 passed, 0 failed\n"), "{page}");
    assert!(!page.contains("unproved"), "{page}");
    let one = "cases/mma_m16n8k16_f32_f16/manifest.json";
    let page = emulate(one, &["--tensor-cores", "sm_80"]).expect(1).stdout;
    assert!(page.contains("tensor cores of sm_80: unproved"), "{page}");
    let lines = emulate(one, &["--json"]).expect(0).stdout;
    let rules = "\"tensor_cores\":{\"name\":\"sm_90\",\"proved\":true}";
    assert!(lines.contains(rules), "{lines}");
    let refused = emulate(one, &["--tensor-cores", "sm_1"]).expect(2).stderr;
    assert!(
        refused.contains("is none of sm_70, sm_75, sm_80"),
        "{refused}"
    );
}
