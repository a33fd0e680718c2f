//! Properties of the checks: no input panics, every refusal says where and why, what is printed
//! reads back, a tuned value means what the written one means.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::{MAX_POINTS, MAX_SCALAR_BYTES, MAX_SIZE_BYTES, SpecFile, parse};
use crate::error::{Error, Problem};
use crate::spec::docs::schema::{OF_FORMULAS, schema};
use crate::spec::kernel::shape::defaults;
use crate::spec::keys::key::{Kind, Named, fields};
use crate::spec::keys::model::{Accumulation, Auto, Point, Schedule, Spec, paths};

const GEMM: &str = r#"kernel: gemm
name: gemm_t
arch: sm_80
operands:
  a: { dtype: bf16, layout: "(m,k):(lda,1)" }
  b: { dtype: bf16, layout: "(n,k):(ldb,1)" }
  d: { dtype: bf16, layout: "(m,n):(ldd,1)" }
accumulator: f32
cta_tile: "(128,128,64)"
"#;

const COPY: &str = r#"kernel: copy
name: copy_t
arch: sm_80
operands:
  s: { dtype: f32, layout: "(m,n):(lds,1)" }
  d: { dtype: f32, layout: "(m,n):(ldd,1)" }
cta_tile: "(64,64)"
"#;

const SWIZZLES: &[&str] = &["auto", "none", "32B", "128B", "\"Sw<2,4,3>\""];
const STRIDES: &[&str] = &["lda,1", "1,lda", "rsa,csa", "0,1", "4096,8"];

/// The problems of a refused text, each looked at as a report would; none when it is accepted.
fn problems(text: &str) -> Vec<Problem> {
    match parse("-", text) {
        Ok(_) => vec![],
        Err(error) => {
            assert!(!error.report(false).is_empty() && !error.json().is_null());
            let Error::Spec { problems, .. } = error else {
                panic!("no spec error: {error}")
            };
            assert!(!problems.is_empty());
            for problem in &problems {
                assert!(
                    text.get(problem.span.bytes.clone()).is_some(),
                    "{problem:?}"
                );
                assert!(
                    !problem.message.chars().any(char::is_control),
                    "{problem:?}"
                );
            }
            problems
        }
    }
}

fn codes(text: &str) -> Vec<&'static str> {
    problems(text)
        .into_iter()
        .map(|problem| problem.code)
        .collect()
}

fn accepted(text: &str) -> SpecFile {
    parse("-", text).unwrap_or_else(|error| panic!("{}", error.report(false)))
}

/// Pieces that YAML readers and templates stumble over.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ":",
        ": ",
        ",",
        "- ",
        "? ",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "!x",
        "|\n",
        ">\n",
        "\"",
        "'",
        "#",
        "%",
        "@",
        "`",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "---\n",
        "...\n",
        "~",
        "null",
        "n",
        "auto",
        "(",
        ")",
        "Sw<",
        "(m,k):(",
        "-",
        "0",
        "99999999999999999999",
        "-9223372036854775808",
        "{{ x }}",
        "{% x %}",
        "\0",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{feff}",
        "é",
        "𝄞",
        "tune:\n  ",
        "tune",
        "cta_tile",
        "  ",
        "2*m",
        "ceil_div(",
    ];
    prop_oneof![
        proptest::sample::select(PIECES).prop_map(str::to_string),
        "\\PC{0,6}"
    ]
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        problems(&text);
    }

    #[test]
    fn no_pile_of_pieces_panics(pieces in proptest::collection::vec(piece(), 0..40)) {
        problems(&pieces.concat());
    }

    #[test]
    fn no_change_of_a_spec_panics(
        gemm in any::<bool>(),
        changes in proptest::collection::vec((any::<usize>(), 0usize..12, piece()), 1..6),
    ) {
        let mut text = if gemm { GEMM } else { COPY }.to_string();
        for (at, length, piece) in changes {
            let start = text.floor_char_boundary(at % (text.len() + 1));
            let end = text.floor_char_boundary((start + length).min(text.len())).max(start);
            text.replace_range(start..end, &piece);
        }
        problems(&text);
    }

    #[test]
    fn what_is_printed_reads_back(
        tile in proptest::array::uniform3(1i64..=256),
        stages in proptest::option::of(1u32..=32),
        warps in proptest::option::of(1u32..=32),
        atoms in proptest::option::of(proptest::array::uniform3(1i64..=8)),
        raster in proptest::sample::select(["auto", "row", "column", "grouped_8"].as_slice()),
        swizzle in proptest::sample::select(SWIZZLES),
        strides in proptest::sample::select(STRIDES),
    ) {
        let auto = |value: Option<String>| value.unwrap_or("auto".into());
        let [m, n, k] = tile;
        let text = format!(
            "{}threads: {}\nmma: {{ atoms: {} }}\npipeline: {{ stages: {} }}\n\
             scheduler: {{ raster: {raster} }}\nswizzle: {{ a: {swizzle}, b: none }}\n\
             copy:\n  a: {{ g2s: auto, s2r: sm75_ldmatrix_x4 }}\n",
            GEMM.replace("(128,128,64)", &format!("({m}, {n},{k})")).replace("lda,1", strides),
            auto(warps.map(|warps| (warps * 32).to_string())),
            auto(atoms.map(|[m, n, k]| format!("\"({m},{n},{k})\""))),
            auto(stages.map(|stages| stages.to_string())),
        );
        let first = accepted(&text);
        let printed = first.spec.to_yaml().unwrap();
        let second = accepted(&printed);
        prop_assert_eq!(&first.spec, &second.spec, "{}", printed);
        prop_assert_eq!(&printed, &second.spec.to_yaml().unwrap());
        prop_assert_eq!(&first.points[0].id, &second.points[0].id);
        prop_assert_eq!(&first.spec.schedule.cta_tile, &[m, n, k]);
    }

    #[test]
    fn a_tuned_value_means_what_the_written_one_means(
        stages in 1u32..=32,
        tile in proptest::sample::select(["(64,64,32)", "(256,128,64)"].as_slice()),
    ) {
        let tuned = accepted(&format!(
            "{GEMM}tune:\n  pipeline.stages: [auto, {stages}]\n  \
             cta_tile: [\"{tile}\", \"(8,8,8)\"]\n"
        ));
        let written = accepted(&format!(
            "{}pipeline: {{ stages: {stages} }}\n", GEMM.replace("(128,128,64)", tile)
        ));
        prop_assert_eq!(tuned.points.len(), 4);
        prop_assert_eq!(&tuned.points[2].spec, &written.spec);
        prop_assert_eq!(&tuned.points[2].id, &written.points[0].id);
        prop_assert!(tuned.point(&tuned.points[3].id).is_some());
    }

    #[test]
    fn integers_are_bounded(
        value in prop_oneof![any::<i64>(), -2i64..=1100, Just(i64::MIN), Just(i64::MAX)],
    ) {
        let good = (32..=1024).contains(&value) && value % 32 == 0;
        let found = codes(&format!("{GEMM}threads: {value}\n"));
        prop_assert_eq!(found.is_empty(), good, "{} {:?}", value, found);
        let tile = format!("({value},1,1)");
        let found = codes(&GEMM.replace("(128,128,64)", &tile));
        prop_assert_eq!(found.is_empty(), (1..=1 << 20).contains(&value), "{} {:?}", value, found);
    }
}

#[test]
fn keys_of_other_tools_are_told_as_they_are_written_here() {
    for (key, here) in [
        ("stages", "pipeline"),
        ("split_k", "stream_k"),
        ("num_warps", "threads"),
    ] {
        let found = problems(&format!("{GEMM}{key}: 4\n"));
        let unknown = found.iter().find(|one| one.code == "unknown-key").unwrap();
        let help = unknown.help.clone().unwrap_or_default();
        assert!(
            help.starts_with("write `") && help.contains(here),
            "{key}: {help}"
        );
    }
}

#[test]
fn a_slip_in_any_key_is_named() {
    for (text, shape) in [COPY, GEMM].iter().zip(defaults()) {
        for Named { name, .. } in fields(Kind::Record(Spec::KEYS), shape).unwrap() {
            let wrong = format!("{}_", &name[..name.len() - 1]);
            let line = format!("\n{}:", name);
            let text = match format!("\n{text}").contains(&line) {
                true => format!("\n{text}").replace(&line, &format!("\n{wrong}:")),
                false => format!("{text}{wrong}: 1\n"),
            };
            let found = problems(&text);
            let help = found
                .iter()
                .filter(|p| p.code == "unknown-key")
                .filter_map(|p| p.help.clone());
            let wanted = format!("use `{}`", name);
            assert!(
                help.clone().any(|help| help == wanted),
                "{wrong}: {:?}",
                help.collect::<Vec<_>>()
            );
            assert!(
                found.iter().all(|problem| problem.code != "missing-key"),
                "{found:?}"
            );
        }
    }
}

#[test]
fn hostile_yaml_is_refused_by_name() {
    let deep_flow = format!("kernel: {}", "[".repeat(100_000));
    let deep_block: String = (0..200).map(|i| format!("{}k:\n", " ".repeat(i))).collect();
    let many = format!("{GEMM}x: [{}]\n", "1,".repeat(20_000));
    let cases = [
        ("x".repeat(MAX_SIZE_BYTES + 1), "too-large"),
        (
            format!("name: {}", "x".repeat(MAX_SCALAR_BYTES + 1)),
            "scalar-too-long",
        ),
        (deep_flow, "too-deep"),
        (deep_block, "too-deep"),
        (many, "too-many-nodes"),
        (GEMM.replace("bf16", "!!binary bf16"), "tag"),
        (format!("{GEMM}<<: {{ threads: 32 }}\n"), "merge-key"),
        (format!("{GEMM}---\n{COPY}"), "second-document"),
        (format!("{GEMM}threads: &x 32\n"), "anchor"),
        (format!("{GEMM}threads: *x\n"), "alias"),
        (
            format!("{GEMM}\"threads\": 32\nthreads: 64\n"),
            "duplicate-key",
        ),
        (GEMM.replace("f32", "f\0"), "hidden-character"),
        (GEMM.replace("f32", "f\u{202e}"), "hidden-character"),
        (GEMM.replace("f32", "\"{{ x }}\""), "unknown-dtype"),
        (GEMM.replace("gemm_t", "\"x\\n.entry y\""), "bad-identifier"),
        (GEMM.replace("(m,k)", "(m,k); trap;"), "layout-syntax"),
    ];
    for (text, code) in cases {
        let found = codes(&text);
        assert!(found.contains(&code), "{code}: {found:?}");
    }
}

#[test]
fn words_stay_words() {
    // YAML 1.1 reads these as booleans; as names they are text.
    for name in ["n", "y", "on", "off", "no", "yes", "true"] {
        assert_eq!(
            accepted(&GEMM.replace("gemm_t", name)).spec.problem.name,
            name
        );
    }
}

#[test]
fn the_list_of_problems_is_bounded() {
    let text: String = (0..2000).map(|i| format!("x{i}: 1\n")).collect();
    let found = problems(&text);
    assert_eq!(found.last().unwrap().code, "more-problems");
    assert!(found.len() <= 101, "{}", found.len());
}

#[test]
fn the_space_is_bounded_and_in_order() {
    let list = |count: usize| {
        (1..=count)
            .map(|i| format!("\"({i},1,1)\""))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let tuned = |tiles: usize, stages: &str| {
        format!(
            "{GEMM}tune:\n  cta_tile: [{}]\n  pipeline.stages: [{stages}]\n",
            list(tiles)
        )
    };
    let file = accepted(&tuned(3, "2, 3"));
    let tiles: Vec<i64> = file
        .points
        .iter()
        .map(|point| point.spec.schedule.cta_tile[0])
        .collect();
    assert_eq!(tiles, [1, 1, 2, 2, 3, 3]);
    assert_eq!(file.points[1].spec.schedule.pipeline.stages, Auto::Given(3));
    assert!(
        file.points[1].id.starts_with("gemm_t@1x1x1_s3-"),
        "{}",
        file.points[1].id
    );
    assert!(codes(&tuned(MAX_POINTS / 2 + 1, "2, 3")).contains(&"too-many-points"));
}

#[test]
fn a_list_of_spaces_is_all_of_each_once() {
    let text = format!(
        "{GEMM}tune:\n  - cta_tile: [\"(1,1,1)\", \"(2,1,1)\"]\n    pipeline.stages: [2, 3]\n  \
         - {{ cta_tile: [\"(3,1,1)\", \"(2,1,1)\"], pipeline.stages: [3] }}\n  \
         - {{ pipeline.stages: [4] }}\n"
    );
    let file = accepted(&text);
    let of = |point: &Point| {
        let Schedule {
            cta_tile, pipeline, ..
        } = &point.spec.schedule;
        (cta_tile[0], pipeline.stages.clone(), point.number)
    };
    let given = |tile, stages, number| (tile, Auto::Given(stages), number);
    let own = file.spec.schedule.cta_tile[0];
    assert_eq!(
        file.points.iter().map(of).collect::<Vec<_>>(),
        [
            given(1, 2, 0),
            given(1, 3, 1),
            given(2, 2, 2),
            given(2, 3, 3),
            given(3, 3, 4),
            given(own, 4, 6)
        ]
    );
    let line = |point: &Point, key: &str| file.places(&point.id).line(&[key.to_owned()]);
    let first = text
        .lines()
        .position(|line| line.contains("- cta_tile"))
        .unwrap() as u32
        + 1;
    let lines: Vec<Option<u32>> = file
        .points
        .iter()
        .map(|point| line(point, "pipeline.stages"))
        .collect();
    let [first, second, third] = [first + 1, first + 2, first + 3].map(Some);
    assert_eq!(lines, [first, first, first, first, second, third]);
    assert_eq!(
        codes(&format!("{GEMM}tune: [pipeline.stages, {{}}]\n")),
        ["wrong-type"]
    );
    assert_eq!(codes(&format!("{GEMM}tune: []\n")), ["wrong-type"]);
    let many = |count: usize| {
        let tiles: Vec<String> = (1..=count).map(|i| format!("\"({i},1,1)\"")).collect();
        format!("{{ cta_tile: [{}] }}", tiles.join(", "))
    };
    let [half, more] = [MAX_POINTS / 2, MAX_POINTS / 2 + 1].map(many);
    accepted(&format!("{GEMM}tune: [{half}, {half}]\n"));
    assert!(codes(&format!("{GEMM}tune: [{half}, {more}]\n")).contains(&"too-many-points"));
}

#[test]
fn accumulation_is_part_of_what_a_kernel_is() {
    let text = GEMM
        .replace("bf16", "e4m3")
        .replace("d: { dtype: e4m3", "d: { dtype: f32");
    let [plain, fast] = [text.clone(), format!("{text}accumulation: fast\n")].map(|t| accepted(&t));
    assert_eq!(fast.spec.problem.accumulation, Some(Accumulation::Fast));
    assert!(fast.points[0].id.starts_with("gemm_t@128x128x64_fast-"));
    assert_ne!(plain.spec, fast.spec);
    let printed = fast.spec.to_yaml().unwrap();
    assert_eq!(accepted(&printed).spec, fast.spec);
    let promoted = format!("{text}accumulation: promoted\n");
    assert_eq!(codes(&promoted), ["unsupported-accumulation"]);
}

/// Keys of rows are not told to belong elsewhere where the formula is not understood.
#[test]
fn a_formula_that_is_refused_has_no_form() {
    let text = COPY.replace("cta_tile", "compute: d[m,n] = foo(s[m,n])\ncta_tile")
        + "threads_along: 32\nscheduler: { passes: many }\n";
    assert_eq!(codes(&text), ["unknown-name"]);
    let product = GEMM.replace("accumulator: f32\n", "") + "threads_along: 32\n";
    let product = product.replace(
        "cta_tile",
        "compute: d[m,n] = sum[k] a[m,k] * b[n,k]\ncta_tile",
    );
    assert_eq!(codes(&product), ["wrong-form"]);
}

/// Values that helps name for extents, threads and strides do for themselves.
#[test]
fn helps_name_values_that_do() {
    let help = |text: &str| problems(text)[0].help.clone().unwrap();
    let tile = |m: &str| GEMM.replace("\"(128,128,64)\"", &format!("{{ m: {m}, n: 128, k: 64 }}"));
    assert_eq!(help(&tile("99999999999999999999999")), "use `128`");
    assert_eq!(help(&tile("-128")), "use `64`");
    assert_eq!(help(&format!("{GEMM}threads: 100\n")), "use `auto`");
    let stride = help(&GEMM.replace("(ldd,1)", "(0,1)"));
    assert!(stride.contains("(m,n):(ldd,1)"), "{stride}");
    let mode = GEMM.replace(
        "accumulator: f32\n",
        "compute: d[m,n] = sum[k] a[m,k] * b[n,k]\n",
    );
    let far = format!("{mode}modes: {{ k: 18446744073709551616 }}\n");
    assert!(
        problems(&far)[0].message.contains("allowed is 1 to"),
        "{far}"
    );
    let layout = COPY.replace("cta_tile", "compute: d[m,n] = s[m,n]\ncta_tile");
    let layout = help(&layout.replace("(m,n):(lds,1)", "(m,2*n):(lds,1)"));
    assert!(!layout.contains("():()"), "{layout}");
    let total = COPY.replace("cta_tile", "compute: d[] = sum[m,n] s[m,n]\ncta_tile");
    let total = help(&total.replace("(m,n):(ldd,1)", ""));
    assert!(total.contains("():()"), "{total}");
}

#[test]
fn the_byte_names_are_in_elements() {
    let swizzle = |dtype: &str, name: &str| {
        let text = COPY.replace("f32", dtype) + &format!("swizzle: {{ s: {name} }}\n");
        match &accepted(&text).spec.schedule.swizzle["s"] {
            Auto::Given(swizzle) => swizzle.to_string(),
            Auto::Auto => "auto".into(),
        }
    };
    assert_eq!(swizzle("bf16", "128B"), "Sw<3,3,3>");
    assert_eq!(swizzle("f32", "128B"), "Sw<3,2,3>");
    assert_eq!(swizzle("s8", "64B"), "Sw<2,4,3>");
    assert_eq!(swizzle("f64", "32B"), "Sw<1,1,3>");
    assert_eq!(swizzle("f16", "auto"), "auto");
}

#[test]
fn the_schema_knows_every_path() {
    let schema = schema();
    for shape in defaults() {
        for (path, key) in paths(shape) {
            if OF_FORMULAS.contains(&path.as_str()) {
                continue;
            }
            let mut node = &schema["$defs"][&shape.kernel];
            for part in path.split('.') {
                node = &node["properties"][part];
            }
            assert_eq!(node["description"], key.doc, "{path}");
            let tuned = &schema["$defs"][&shape.kernel]["properties"]["tune"]["properties"][&path];
            assert_eq!(tuned.is_object(), key.tunable, "{path}");
        }
    }
}
