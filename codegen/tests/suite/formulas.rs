//! Formulas in other spellings than the default one become the same kernels.

use tilewright_codegen::error::{Error, Span, Violation};
use tilewright_codegen::ir::thread::text::Nameless;
use tilewright_codegen::spec::{self, SpecFile};
use tilewright_codegen::{compile, plan};

const GEMM: &str = r#"kernel: gemm
name: k
arch: sm_80
operands:
  a: { dtype: bf16, layout: "(m,k):(lda,1)" }
  b: { dtype: bf16, layout: "(n,k):(ldb,1)" }
  d: { dtype: bf16, layout: "(m,n):(ldd,1)" }
accumulator: f32
cta_tile: "(128,128,64)"
"#;

const COPY: &str = r#"kernel: copy
name: k
arch: sm_80
operands:
  s: { dtype: f32, layout: "(m,n):(lds,1)" }
  d: { dtype: f32, layout: "(m,n):(ldd,1)" }
cta_tile: "(64,64)"
"#;

fn file(text: &str) -> SpecFile {
    spec::parse("-", text).unwrap_or_else(|error| panic!("{}", error.report(false)))
}

/// The thread program of a spec, without names.
fn program(text: &str) -> String {
    let compiled = compile(&file(text).points[0]);
    let compiled = compiled.unwrap_or_else(|error| panic!("{}", error.report(false)));
    Nameless(&compiled.program).to_string()
}

/// The default product with its formula in the place of the accumulator's type.
fn computed(formula: &str) -> String {
    GEMM.replace("accumulator: f32", &format!("compute: {formula}"))
}

#[test]
fn the_default_formula_in_full_is_the_default() {
    let id = &file(GEMM).points[0].id;
    let spellings = [
        "d[m,n] = sum[k] a[m,k] * b[n,k]",
        "d[m,n] = sum[k] b[n,k] * a[m,k]",
        "\"acc[m,n] = sum[k] a[m,k] * b[n,k]; d[m,n] = acc[m,n]\"",
        "|\n  # As it is left out.\n  s[m,n]: f32 = sum[k] a[m,k] * b[n,k]\n  d[m,n] = s[m,n]",
    ];
    for spelling in spellings {
        assert_eq!(&file(&computed(spelling)).points[0].id, id, "{spelling}");
    }
    let copy = format!("{COPY}compute: d[m,n] = s[m,n]\n");
    assert_eq!(file(&copy).points[0].id, file(COPY).points[0].id);
}

#[test]
fn a_plan_says_what_it_computes() {
    let computes = |text: &str| {
        let plan = plan::plan(&file(text).points[0]).unwrap();
        (plan.computes.text.clone(), plan.computes.form.name())
    };
    let product = "acc[m,n]: f32 = sum[k] a[m,k] * b[n,k]\nd[m,n] = acc[m,n]\n";
    let default = (product.to_owned(), "contraction");
    assert_eq!(computes(GEMM), default);
    assert_eq!(
        computes(&computed("d[m,n] = sum[k] b[n,k] * a[m,k]")),
        default
    );
    assert_eq!(computes(COPY), ("d[m,n] = s[m,n]\n".to_owned(), "rows"));
    // Axes stay in the order that they are written in.
    let turned =
        computed("d[m,n] = sum[k] a[k,m] * b[n,k]").replace("(m,k):(lda,1)", "(k,m):(1,lda)");
    let turned = turned.replace("kernel: gemm", "kernel: linear");
    let product = "d[m,n] = sum[k] a[k,m] * b[n,k]";
    assert_eq!(computes(&turned), (product.to_owned(), "contraction"));
}

#[test]
fn other_names_are_the_same_program() {
    let renamed = r#"kernel: linear
name: k
arch: sm_80
operands:
  x: { dtype: bf16, layout: "(row,c):(ldx,1)" }
  w: { dtype: bf16, layout: "(out,c):(ldw,1)" }
  y: { dtype: bf16, layout: "(row,out):(ldy,1)" }
compute: y[row,out] = sum[c] w[out,c] * x[row,c]
cta_tile: { row: 128, out: 128, c: 64 }
"#;
    assert_eq!(program(renamed), program(GEMM));
    let spec = file(renamed).spec;
    assert_eq!(spec.problem.modes(), ["row", "out", "c"]);
    let copy = r#"kernel: move
name: k
arch: sm_80
operands:
  from: { dtype: f32, layout: "(i,j):(ldfrom,1)" }
  to: { dtype: f32, layout: "(i,j):(ldto,1)" }
compute: to[i,j] = from[i,j]
cta_tile: "(64,64)"
"#;
    assert_eq!(program(copy), program(COPY));
}

#[test]
fn axes_the_other_way_round_are_the_same_program() {
    let turned =
        computed("d[m,n] = sum[k] a[k,m] * b[n,k]").replace("(m,k):(lda,1)", "(k,m):(1,lda)");
    assert_eq!(program(&turned), program(GEMM));
    // The output's first mode is the rows': here n, the mode of b.
    let transposed =
        computed("d[n,m] = sum[k] a[m,k] * b[n,k]").replace("(m,n):(ldd,1)", "(n,m):(ldd,1)");
    let roles = file(&transposed).spec;
    assert_eq!(roles.problem.modes(), ["n", "m", "k"]);
    assert!(!program(&transposed).is_empty());
}

#[test]
fn what_is_printed_reads_back() {
    let turned = computed("d[n,m] = sum[k] a[k,m] * b[n,k]")
        .replace("(m,k):(lda,1)", "(k,m):(1,lda)")
        .replace("(m,n):(ldd,1)", "(n,m):(ldd,1)")
        .replace("kernel: gemm", "kernel: turned");
    let spec = file(&turned).spec;
    let printed = spec.to_yaml().unwrap();
    assert!(
        printed.contains("compute: d[n,m] = sum[k] b[n,k] * a[k,m]"),
        "{printed}"
    );
    assert_eq!(file(&printed).spec, spec);
}

const LINEAR: &str = r#"kernel: linear
name: k
arch: sm_90a
operands:
  x: { dtype: bf16, layout: "(row,c):(ldx,1)" }
  w: { dtype: bf16, layout: "(out,c):(ldw,1)" }
  y: { dtype: bf16, layout: "(row,out):(ldy,1)" }
compute: y[row,out] = sum[c] w[out,c] * x[row,c]
cta_tile: { row: 128, out: 128, c: 64 }
"#;

/// The lines that refusals of a spec's point are about and those that take part, each as written,
/// with the message.
fn refused(text: &str, point: usize) -> Vec<(String, Vec<&str>)> {
    let file = file(text);
    let error = plan::plan(&file.points[point]).unwrap_err();
    let Error::Plan { violations, .. } = file.place(error) else {
        panic!("another error")
    };
    let line = |span: &Span| text.lines().nth(span.line - 1).unwrap().trim();
    let placed = |violation: Violation| {
        let related = violation.related.iter().map(|related| line(&related.span));
        let first = violation.span.as_ref().map(line);
        (
            violation.message,
            first.into_iter().chain(related).collect(),
        )
    };
    violations.into_iter().map(placed).collect()
}

#[test]
fn refusals_of_renamed_operands_stand_at_their_keys() {
    let specialized = format!(
        "{LINEAR}copy:\n  x:\n    s2r: auto\n  w: {{ g2s: auto }}\nswizzle:\n  y: none\n\
         pipeline: {{ schedule: cooperative }}\n"
    );
    let found = refused(&specialized, 0);
    let about = |key: &str| {
        let own = found.iter().find(|(message, _)| message.starts_with(key));
        own.unwrap_or_else(|| panic!("{key}: {found:?}"))
    };
    assert_eq!(about("copy.x.s2r").1[0], "s2r: auto");
    assert_eq!(about("swizzle.y").1[0], "y: none");
    assert!(about("swizzle.y").0.contains("use auto, 32B, 64B, 128B"));
    // Keys that take part without being named.
    let multistage = LINEAR.replace("sm_90a", "sm_80")
        + "copy:\n  w: { g2s: auto }\ntune:\n  pipeline.stages: [3,\n    1]\n";
    let found = refused(&multistage, 1);
    let (message, lines) = &found[0];
    assert!(message.starts_with("pipeline.stages 1"), "{message}");
    assert_eq!(lines[..], ["1]", "w: { g2s: auto }"]);
    // A copy between operands of other names.
    let copy = COPY.replace("  s:", "  from:").replace("  d:", "  to:");
    let copy = copy.replace("lds", "ldfrom").replace("ldd", "ldto");
    let copy = copy.replace("kernel: copy", "kernel: move")
        + "compute: to[m,n] = from[m,n]\nswizzle:\n  from: 64B\n";
    let found = refused(&copy, 0);
    assert!(
        found[0].0.ends_with("name copy.from.g2s, or leave it out"),
        "{found:?}"
    );
    assert_eq!(found[0].1, ["from: 64B"]);
}

#[test]
fn a_formula_is_refused_at_the_same_place_in_every_point() {
    let scaled = LINEAR.replace(
        "= sum[c] w[out,c] * x[row,c]",
        "= sum[c] (2 * w[out,c]) * x[row,c]",
    ) + "tune:\n  pipeline.stages: [3, 4]\n";
    for point in 0..2 {
        let found = refused(&scaled, point);
        let line = "compute: y[row,out] = sum[c] (2 * w[out,c]) * x[row,c]";
        assert_eq!(found[0].1, [line], "{found:?}");
    }
}
