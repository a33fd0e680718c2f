//! `explain --view levels`: who has which elements, as text, drawing and JSON.

use std::fs;

use crate::drawn::assert_clear;
use crate::session::{assert_golden, tilewright};

fn shipped(name: &str) -> String {
    format!("{}/../../specs/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

fn small() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    format!("{root}/ci/data/specs_golden/gemm/small_roles.yaml")
}

/// The text and the drawing of a spec, with further arguments.
fn both(spec: &str, more: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levels.svg");
    let drawing = path.to_str().unwrap();
    let args = ["explain", spec, "--view", "levels", "--svg", drawing];
    let args = args.iter().chain(more);
    let text = tilewright(args).expect(0).stdout;
    (text, fs::read_to_string(&path).unwrap())
}

/// Sizes of the drawing's classes.
fn size(class: &str) -> usize {
    match class {
        "title" | "name" => 13,
        "head" | "cell" => 10,
        _ => 11,
    }
}

#[test]
fn small_levels_are_as_reviewed() {
    let (text, drawing) = both(&small(), &["--thread", "37"]);
    assert_golden("explain_levels.txt", &text);
    assert_golden("explain_levels.svg", &drawing);
}

/// A kernel of each skeleton: what is told stands in the plan, in lines of a terminal.
#[test]
fn every_skeleton_has_levels() {
    let wanted: [(&str, &[&str]); 6] = [
        (
            "gemm/bf16_tn",
            &[
                "a, bf16: shared memory to registers",
                "acc, f32: sums in registers",
                "r0: 0,0-1 | r1: 8,0-1 | r2: 0,8-9 | r3: 8,8-9",
                "2 stages, 16384 bytes a tile, Sw<3,3,3> o 0 o (128,64):(64,1)",
            ],
        ),
        (
            "bmm/sm90_bf16_tn_wide",
            &[
                "by boxes",
                "none: no thread has elements of a box",
                "the tensor cores read shared memory themselves",
                "the threads of 2 consumers",
            ],
        ),
        ("gemm/simt_f32", &["by sm50_fma_1x1x1_f32_f32_f32"]),
        (
            "rmsnorm/bf16_long",
            &[
                "in the last pass",
                "512 threads have each element",
                "sum of body_0",
            ],
        ),
        (
            "softmax/f32_widest",
            &["the threads of 4 CTAs", "16 warps a CTA"],
        ),
        ("permute/bf16_cebaf", &["at each c, e, b"]),
    ];
    for (name, words) in wanted {
        let (text, drawing) = both(&shipped(name), &[]);
        for word in words {
            assert!(text.contains(word), "{name}: {word}: {text}");
        }
        assert_clear(&drawing, size);
        let wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn programs_get_every_level() {
    let spec = shipped("gemm/bf16_tn");
    let args = [
        "explain", &spec, "--view", "levels", "--json", "--thread", "255",
    ];
    let all = tilewright(args).expect(0).json();
    let stations = all[0]["stations"].as_array().unwrap();
    assert_eq!(all[0]["thread"], 255);
    let sums = stations.iter().find(|one| one["operand"] == "acc").unwrap();
    assert_eq!(sums["extents"], serde_json::json!([128, 256]));
    let elements = sums["registers"]["is"]["elements"].as_array().unwrap();
    assert_eq!(elements.len(), 128 * 256 / 256);
    // Lane 31 of the last warp ends at the last row and column.
    assert_eq!(elements.last().unwrap(), &serde_json::json!([127, 255]));
}

#[test]
fn options_of_another_view_are_refused() {
    let spec = shipped("gemm/bf16_tn");
    let refused = |more: &[&str], wanted: &str| {
        let args = ["explain", &spec];
        let run = tilewright(args.iter().chain(more)).expect(2);
        assert!(run.stderr.contains(wanted), "{}", run.stderr);
    };
    refused(&["--thread", "3"], "--view levels");
    refused(&["--view", "levels", "--tiles", "3"], "--view timeline");
    let last = "the last of those that share out a tile is thread 255";
    refused(&["--view", "levels", "--thread", "256"], last);
}
