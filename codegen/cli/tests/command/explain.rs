//! `explain`: a kernel's run, memory and occupancy as text, drawing and JSON.

use std::fs;
use std::path::Path;

use crate::session::{assert_golden, assert_kept, tilewright};

fn shipped(name: &str) -> String {
    format!("{}/../../specs/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_warp_specialized_kernel_is_drawn_in_a_hundred_columns() {
    let run = tilewright(["explain", &shipped("bmm/sm90_bf16_tn_wide")]).expect(0);
    for word in [
        "Timeline",
        "consumer 1",
        "slot 3",
        "given back",
        "staging of consumer 1, buffer 1",
        "limited by bytes of shared memory",
        "The pipeline ran",
        "4096 flop a cycle",
        "The epilogue of tile 0 takes cycles ",
    ] {
        assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
    }
    let wide = run.stdout.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None);
}

#[test]
fn a_drawing_that_is_cut_says_so() {
    let spec = shipped("bmm/sm90_bf16_tn_wide");
    let whole = tilewright(["explain", &spec, "--k-tiles", "4"]).expect(0);
    assert!(!whole.stdout.contains("is cut"), "{}", whole.stdout);
    let cut = tilewright(["explain", &spec, "--tiles", "9", "--k-tiles", "30"]).expect(0);
    let said = cut.stdout.contains("The drawing is cut after cycle ");
    assert!(
        said && cut.stdout.contains("--json has every span"),
        "{}",
        cut.stdout
    );
    assert!(cut.stdout.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn a_run_without_end_is_refused() {
    let spec = shipped("bmm/sm90_bf16_tn_wide");
    let run = tilewright(["explain", &spec, "--tiles", "60000", "--k-tiles", "60000"]).expect(2);
    assert!(run.stderr.contains("ask for fewer"), "{}", run.stderr);
}

#[test]
fn programs_get_every_span() {
    let spec = shipped("gemm/sm90_bf16_tn");
    let args = ["explain", &spec, "--json", "--tiles", "3", "--k-tiles", "5"];
    let all = tilewright(args).expect(0).json();
    let timeline = &all[0]["timeline"];
    let lanes = timeline["lanes"].as_array().unwrap();
    let consumers = lanes
        .iter()
        .filter(|lane| lane["name"].as_str().unwrap().starts_with("consumer"));
    let products: Vec<usize> = consumers
        .map(|lane| {
            let spans = lane["spans"].as_array().unwrap().iter();
            spans.filter(|span| span["activity"] == "multiply").count()
        })
        .collect();
    // Three tiles in turns: two of the first consumer, one of the second.
    assert_eq!(products, [10, 5]);
    let bytes = all[0]["smem"].as_array().unwrap().iter();
    let bytes: u64 = bytes.map(|region| region["bytes"].as_u64().unwrap()).sum();
    assert_eq!(bytes, 232_448);
    assert_eq!(all[0]["occupancy"]["ctas_per_sm"], 1);
}

/// The drawing that these arguments ask for.
fn drawn(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.svg");
    let drawing = ["--svg", path.to_str().unwrap()];
    tilewright(args.iter().chain(&drawing)).expect(0);
    fs::read_to_string(&path).unwrap()
}

/// One tile of two k tiles, of the small kernel whose stages are goldens too.
#[test]
fn a_small_drawing_is_as_reviewed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let spec = format!("{root}/ci/data/specs_golden/gemm/small_roles.yaml");
    let args = ["explain", &spec, "--tiles", "1", "--k-tiles", "2"];
    assert_golden("explain.svg", &drawn(&args));
}

/// The picture on the first page is of the spec that stands there.
#[test]
fn the_picture_of_the_first_page_is_of_its_spec() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = fs::read_to_string(format!("{root}/README.md")).unwrap();
    let (_, block) = page.split_once("```yaml\n").unwrap();
    let (spec, _) = block.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fused.yaml");
    fs::write(&path, spec).unwrap();
    let drawing = drawn(&["explain", path.to_str().unwrap()]);
    let picture = Path::new(root).join("codegen/docs/fused.svg");
    assert_kept(&picture, &drawing);
}

#[test]
fn a_drawing_holds_the_run_and_the_map() {
    let spec = shipped("bmm/sm90_bf16_tn_wide");
    let drawing = drawn(&["explain", &spec]);
    assert!(drawing.starts_with("<svg") && drawing.trim_end().ends_with("</svg>"));
    for word in [
        "consumer 1",
        "Multiply slot 3",
        "Shared memory",
        "staging of consumer 0",
        "Occupancy",
    ] {
        assert!(drawing.contains(word), "{word}");
    }
    let all = ["explain", &spec, "--all", "--svg", "unwritten.svg"];
    let run = tilewright(all).expect(2);
    assert!(run.stderr.contains("--point"), "{}", run.stderr);
}

/// Who shares tiles is told, and how sums go from one to the other.
#[test]
fn tiles_that_are_cut_along_k_are_told() {
    let of = |tile: &str| {
        let path = shipped("gemm/sm90_bf16_nt");
        // A point that there is not is told with those that there are.
        let points = tilewright(["explain", &path, "--point", "none"]).expect(2);
        let mut points = points.stderr.lines().map(str::trim);
        let start = format!("gemm_sm90_bf16_nt@{tile}-");
        let id = points.find(|id| id.starts_with(&start)).unwrap();
        let run = tilewright(["explain", &path, "--point", id]);
        run.expect(0).stdout
    };
    let spans = of("64x64x64_c2x2_coop_sk_ba");
    assert!(spans.contains("stream-k: "), "{spans}");
    assert!(
        spans.contains("through a workspace of 131072 + "),
        "{spans}"
    );
    let parts = of("64x8x128_c1x1x4_coop_ba");
    assert!(parts.contains("distributed shared memory"), "{parts}");
    let alone = of("128x128x64_c2x1_ping_ab");
    assert!(!alone.contains("-k: "), "{alone}");
}

#[test]
fn kernels_without_roles_are_explained_too() {
    let gemm = tilewright(["explain", &shipped("gemm/bf16_tn")]).expect(0);
    for word in [
        "What a CTA does",
        "wait",
        "stage 0 a",
        "Occupancy",
        "a.s2r",
        "512 of 512",
    ] {
        assert!(gemm.stdout.contains(word), "{word}: {}", gemm.stdout);
    }
    assert!(!gemm.stdout.contains("Timeline"));
    let copy = tilewright(["explain", &shipped("copy/vectorized")]).expect(0);
    assert!(
        copy.stdout.contains("limited by threads"),
        "{}",
        copy.stdout
    );
}

/// The formula with its sockets of a kernel of each skeleton.
#[test]
fn formulas_and_their_sockets_are_as_reviewed() {
    const RENAMED: &str = r#"kernel: linear
name: renamed
arch: sm_80
operands:
  x: { dtype: f32, layout: "(c,row):(ldx,1)" }
  w: { dtype: f32, layout: "(out,c):(ldw,1)" }
  y: { dtype: f32, layout: "(out,row):(ldy,1)" }
compute: y[out,row] = sum[c] w[out,c] * x[c,row]
cta_tile: { row: 64, out: 64, c: 8 }
"#;
    let folder = tempfile::tempdir().unwrap();
    let renamed = folder.path().join("renamed.yaml");
    fs::write(&renamed, RENAMED).unwrap();
    let shipped = [
        "copy/vectorized",
        "copy/cp_async",
        "gemm/simt_bf16",
        "gemm/bf16_tn",
        "gemm/sm90_bf16_nt",
        "gemm/sm90_e4m3_tn",
        "swiglu/sm90_bf16_wide",
        "bias_relu_residual/bf16",
        "rmsnorm/bf16_long",
        "quantize/bf16_e4m3_blocks",
        "cast/bf16_f32",
    ];
    let mut paths: Vec<String> = shipped.iter().map(|name| self::shipped(name)).collect();
    paths.push(renamed.to_str().unwrap().to_owned());
    let mut text = String::new();
    for path in paths {
        let run = tilewright(["explain", &path]).expect(0);
        let (head, rest) = run.stdout.split_once("\n").unwrap();
        let start = rest.find("\nFormula\n").unwrap();
        let end = start + 1 + rest[start + 1..].find("\n\n").unwrap();
        text += &format!("{head}{}\n\n", &rest[start..end]);
    }
    assert_golden("explain_formula.txt", &text);
}

/// What is made for each part of a sum belongs to the main loop.
#[test]
fn parts_of_sums_are_made_in_the_main_loop() {
    let spec = shipped("scaled_gemm/sm90_e4m3_tn");
    let text = tilewright(["explain", &spec]).expect(0).stdout;
    assert!(text.contains("main loop, map"), "{text}");
    let (_, said) = text
        .split_once("The epilogue of tile 0 takes cycles ")
        .unwrap();
    assert!(!said.starts_with("0 "), "{said}");
}
