//! `layout`: expressions and their refusals, conformance files, pictures and explanations.

use crate::session::{Run, tilewright};

/// The conformance rows of the repository.
const ROWS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../ci/data/layout_vectors.jsonl"
);

fn eval(expression: &str) -> Run {
    tilewright(["layout", "eval", expression])
}

#[track_caller]
fn assert_value(expression: &str, value: &str) {
    let run = eval(expression).expect(0);
    assert_eq!(run.stdout.trim_end(), value, "{expression}");
    assert_eq!(run.stderr, "");
}

#[test]
fn every_row_of_the_conformance_file_passes() {
    let run = tilewright(["layout", "vectors", ROWS]).expect(0);
    assert_eq!(run.stdout, "473 passed, 0 failed\n");
}

#[test]
fn rows_that_are_not_met_are_printed_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    let rows = [
        r#"{"op":"size","inputs":{"L":"(4,8):(1,4)"},"verdict":"exact","expected":32}"#,
        r#"{"op":"size","inputs":{"L":"(4,8):(1,4)"},"verdict":"exact","expected":31}"#,
        "",
        r#"{"op":"sieze"}"#,
    ];
    std::fs::write(&file, rows.join("\n")).unwrap();
    let file = file.to_str().unwrap();
    let run = tilewright(["layout", "vectors", file]).expect(1);
    assert!(
        run.stdout.contains("FAIL line 2: 32, expected 31"),
        "{run:?}"
    );
    assert!(run.stdout.contains("FAIL line 4: no operation"), "{run:?}");
    assert!(run.stdout.ends_with("\n1 passed, 2 failed\n"), "{run:?}");
    let run = tilewright(["layout", "vectors", "--json", file]).expect(1);
    assert_eq!(run.json()["failed"], 2);
    tilewright(["layout", "vectors", "/nonexistent/rows"]).expect(2);
}

#[test]
fn expressions_have_values() {
    assert_value("(4,8):(13,1) o 8:2", "(2,4):(26,1)");
    assert_value("composition((4,8):(13,1), 8:2)", "(2,4):(26,1)");
    assert_value("complement((2,2):(1,6), 24)", "(3,2):(2,12)");
    assert_value("size(zipped_divide((8,8):(1,8), (4,2)))", "64");
    assert_value("slice((_,1,_), (2,2,6):(12,6,1))", "[(2,6):(12,1), 6]");
    assert_value("identity(((2,1),3))", "((2,1),3):((1@0@0,1@1@0),1@1)");
    assert_value(
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
    );
    assert_value(
        "Sw<3,3,3> o (8,64):(64,1) o <8,8:2>",
        "Sw<3,3,3> o 0 o (8,8):(64,2)",
    );
    assert_value("logical_divide(16:1, (2,2):(1,8))", "((2,2),4):((1,8),2)");
    assert_value(
        "logical_divide((8,8):(1,8), <4:2,_>)",
        "((4,2),8):((2,1),8)",
    );
    assert_value("compatible((4,8), ((2,2),8))", "true");
    assert_value("[1, [2, 3]]", "[1, [2, 3]]");
    assert_value("from_offsets(0, 2, 4, 6)", "4:2");
    assert_value("offsets(Sw<1,0,1> o 0 o 4:1)", "[0, 1, 3, 2]");
}

#[test]
fn facts_about_symbols_are_told() {
    assert_value(
        "zipped_divide((m,k):(lda,1), (128,64))",
        "((128,64),(ceil_div(m,128),ceil_div(k,64))):((lda,1),(128*lda,64))",
    );
    let atom = "mma_atom((16,8,16), 32:1, ((4,8),(2,2,2)):((32,1),(16,8,128)), \
                ((4,8),(2,2)):((16,1),(8,64)), ((4,8),(2,2)):((32,1),(16,8)))";
    let share = format!("partition_a(tiled_mma({atom}, (2,2,1):(1,2,0)), (m,k):(lda,1))");
    let run = eval(&share).expect(0);
    assert!(
        run.stdout.ends_with("\nif m % 32 == 0\nif k % 16 == 0\n"),
        "{run:?}"
    );
    let json = tilewright(["layout", "eval", "--json", &share])
        .expect(0)
        .json();
    assert_eq!(json["assumed"][0], "m % 32 == 0");
}

#[test]
fn a_refusal_tells_its_counterexample_in_words() {
    let pair = "composition((36,18):(1,72), (9,4):(4,9))";
    let run = eval(pair).expect(1);
    assert_eq!(run.stdout, "");
    for part in [
        "is no layout",
        "at index 16, coordinate (7,1) of the right layout, its value is 37",
        "splits 37 into (1,1) and maps it to 73",
        "carry from one digit",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let run = tilewright(["layout", "eval", "--json", pair]).expect(1);
    assert_eq!(run.json()["error"]["kind"], "not_a_layout");
    assert_eq!(run.json()["error"]["counterexample"]["at"], 16);
    let run = eval("size((6,4):(1,100) o 9:1)").expect(1);
    assert!(run.stderr.contains("6 does not divide 9"), "{}", run.stderr);
}

#[test]
fn wrong_form_stands_over_a_caret() {
    for (expression, why, caret) in [
        (
            "compositon(4:1, 2:1)",
            "did you mean `composition`?",
            "^^^^^^^^^^",
        ),
        (
            "composition((4,8:(1,4), 2:1)",
            "expected `)`, found `:`",
            "                ^",
        ),
        (
            "complement(4:1, (_,1))",
            "expected a tuple of numbers",
            "^^^^^",
        ),
        ("logical_divide(4:1)", "1 arguments do not fit", "^^^^^"),
        ("size(4:1) 3", "expected the end", "^"),
        (
            "cute::Swizzle<3,3,3>",
            "that is a type of CuTe: write `Sw<3,3,3>`",
            "^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "Layout<Shape<_4>, Stride<Int<8>>>",
            "write `(4):(8)`",
            "^^^^^^",
        ),
        (
            "zipped_divide((8,8):(8,1), (2:1,4:1))",
            "found `:`; a tuple of layouts is a tiler: write `<2:1,4:1>`",
            "^",
        ),
        (
            "(8,8):(8,1)(2,3)",
            "a layout's value at a coordinate is `at((8,8):(8,1), (2,3))`",
            "^",
        ),
        ("4:2(3)", "is `at(4:2, 3)`", "^"),
        ("coalesce(4:2)(3)", "is `at(l, c)`", "^"),
        ("size(4:1", "the text ends", "^"),
        ("(4,8):(1)", "not congruent", "^"),
    ] {
        let run = eval(expression).expect(2);
        assert!(run.stderr.contains(why), "{expression}: {}", run.stderr);
        assert!(run.stderr.contains(caret), "{expression}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
        assert_eq!(run.stderr.matches("error").count(), 1, "{}", run.stderr);
    }
    eval("").expect(2);
    tilewright(["layout", "eval"]).expect(2);
}

#[test]
fn facts_about_names_may_be_given() {
    let given = |facts: &[&str]| {
        let facts = facts.iter().flat_map(|fact| ["--given", fact]);
        let words = ["layout", "eval", "logical_divide(m:1, 128)"];
        tilewright(words.into_iter().chain(facts))
    };
    assert_value("logical_divide(m:1, 128)", "(128,ceil_div(m,128)):(1,128)");
    let run = given(&["m % 128 == 0"]).expect(0);
    assert_eq!(run.stdout, "(128,m/128):(1,128)\n");
    let run = given(&["m % 64 == 0", "m%4==0", "m >= 640"]).expect(0);
    assert_eq!(run.stdout, "(128,ceil_div(m,128)):(1,128)\n");
    for (fact, why) in [
        ("m % 128", "write `m % 128 == 0` or `m >= 128`"),
        ("m % 128 == 1", "is no fact"),
        ("m % 0 == 0", "the divisor must be at least 1"),
        ("m >= 0", "every extent is at least 1"),
        ("(m) >= 1", "(m)"),
    ] {
        let run = given(&[fact]).expect(2);
        assert!(run.stderr.contains(why), "{fact}: {}", run.stderr);
    }
}

#[test]
fn hostile_expressions_are_refused() {
    let deep = format!("{}4:1{}", "size(".repeat(5000), ")".repeat(5000));
    let run = eval(&deep).expect(2);
    assert!(
        run.stderr.contains("nested deeper"),
        "{}",
        &run.stderr[..200]
    );
    eval(&format!("{}4{}:1", "(".repeat(5000), ")".repeat(5000))).expect(2);
    eval("99999999999999999999:1").expect(2);
    eval("size((9223372036854775807,2):(1,1))").expect(1);
    eval("offsets(9223372036854775807:1)").expect(2);
}

#[test]
fn every_function_is_listed_with_its_signature() {
    let listing = tilewright(["layout", "eval", "--list"]).expect(0).stdout;
    for line in [
        "  composition(a: layout, b: layout | tiler) -> layout\n",
        "  complement(a: layout, size?: int) -> layout\n",
    ] {
        assert!(listing.contains(line), "{line}");
    }
    let json = tilewright(["layout", "eval", "--list", "--json"])
        .expect(0)
        .json();
    assert!(json.as_array().unwrap().len() > 60);
}

#[test]
fn explanations_walk_through_the_numbers() {
    let explain = |text: &str, code: i32| tilewright(["layout", "explain", text]).expect(code);
    let walk = explain("complement((2,2):(1,6), 24)", 0).stdout;
    for part in [
        "a gap of 3 steps of 2: mode 3:2",
        "mode 2:12",
        "answer is (3,2):(2,12)",
    ] {
        assert!(walk.contains(part), "{part}: {walk}");
    }
    assert!(!walk.contains("does not fill"), "{walk}");
    let walk = explain("complement((6,3):(1,8), 24)", 0).stdout;
    let left = "which does not fill [0, 24): 6, 7, 14, 15, 22, 23 are in no copy";
    assert!(walk.contains(left), "{walk}");
    assert!(
        walk.contains("3:8: 8 is no multiple of 6: 1 x 6 fit below it, and 2 more"),
        "{walk}"
    );
    let walk = explain("logical_divide(24:1, (6,3):(1,8))", 0).stdout;
    assert!(walk.contains("in no tile: 6, 7, 14, 15, 22, 23"), "{walk}");
    let walk = explain("(6,2):(8,2) o (4,3):(3,1)", 0).stdout;
    assert!(walk.contains("a(b(7)) = a(10) = 34 = r(7)"), "{walk}");
    let walk = explain("(36,18):(1,72) o (9,4):(4,9)", 1).stdout;
    assert!(walk.contains("there is no answer"), "{walk}");
    let walk = explain("left_inverse((4,8):(1,-4))", 0).stdout;
    for part in [
        "lie below 0",
        "4 steps of 1, exactly",
        "each step of -4 is 4",
    ] {
        assert!(walk.contains(part), "{part}: {walk}");
    }
    let walk = explain("left_inverse((4,8):(-1,8))", 0).stdout;
    assert!(walk.contains("borrows from it"), "{walk}");
    let walk = explain("cosize((4,8):(1,5))", 0).stdout;
    assert!(walk.contains("answer is 39"), "{walk}");
    explain("(4,8):(1,4)", 2);
    // What eval and show read as one layout is one here.
    let walk = explain("Sw<3,3,3> o 8 o (8,64):(64,1)", 0).stdout;
    for part in [
        "the bits 0x38 of that by those at 0x1c0",
        "1 -> 72 (0x40 there) -> 64",
    ] {
        assert!(walk.contains(part), "{part}: {walk}");
    }
    explain("Sw<3,3,3> o (8,64):(64,1)", 0);
}

#[test]
fn examples_of_help_texts_have_a_value() {
    let mut found = 0;
    for command in ["eval", "explain", "show"] {
        let help = tilewright(["layout", command, "--help"]).expect(0).stdout;
        for example in help.split('"').skip(1).step_by(2) {
            tilewright(["layout", command, example]).expect(0);
            found += 1;
        }
    }
    assert!(found >= 3);
}

#[test]
fn pictures_come_in_four_formats() {
    let show = |format: &str| {
        let args = [
            "layout",
            "show",
            "--format",
            format,
            "((2,2),(2,4)):((1,4),(2,8))",
        ];
        tilewright(args).expect(0).stdout
    };
    let text = show("text");
    assert!(
        text.contains("\n 3   5  7  13 15  21 23  29 31\n"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&show("json")).unwrap();
    assert_eq!(json["panels"][0]["cells"][8]["text"], "1");
    assert!(show("svg").starts_with("<svg "));
    assert!(show("latex").contains("\\begin{tikzpicture}"));
    let banks = tilewright(["layout", "show", "Sw<2,3,3> o 0 o (128,64):(64,1)"]).expect(0);
    assert!(banks.stdout.contains("2-way conflicts"), "{}", banks.stdout);
    let tile = [
        "layout",
        "show",
        "--tile",
        "16x8",
        "((4,8),(2,2)):((32,1),(16,8))",
    ];
    let held = tilewright(tile).expect(0).stdout;
    assert!(held.contains("\n15  T28V2 T28V3 T29V2"), "{held}");
    tilewright(["layout", "show", "(1024,1024):(1,1024)"]).expect(2);
    tilewright(["layout", "show", "(m,4):(1,m)"]).expect(2);
}

/// The picture on the tutorial page of the algebra, as `show` draws it.
#[track_caller]
fn assert_drawing(name: &str, expression: &str) {
    let args = ["layout", "show", "--format", "svg", expression];
    let drawn = tilewright(args).expect(0).stdout;
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../layout/docs");
    let path = std::path::Path::new(docs).join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == kept, "{name} differs; rewrite it with BLESS=1");
}

#[test]
fn the_pictures_of_the_tutorial_are_what_show_draws() {
    let atom = "mma_atom((16,8,16), 32:1, ((4,8),(2,2,2)):((32,1),(16,8,128)), \
                ((4,8),(2,2)):((16,1),(8,64)), ((4,8),(2,2)):((32,1),(16,8)))";
    assert_drawing("nested.svg", "(2,(3,1)):(1,(2,6))");
    assert_drawing("swizzle.svg", "Sw<3,3,3>");
    assert_drawing("copy.svg", "make_tiled_copy(8, (4,8):(8,1), (1,8):(0,1))");
    assert_drawing("atom.svg", atom);
    assert_drawing(
        "tiled_mma.svg",
        &format!("tiled_mma({atom}, (2,2,1):(1,2,0))"),
    );
}
