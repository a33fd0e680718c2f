//! Formulas that are read, typed and of a known form, and that no kernel is generated of yet: each
//! `ci/data/formulas_refused/*.yaml` is a good spec whose plan is refused at parts of its formula;
//! the report is the `.txt` file beside it.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test suite refused_formulas` rewrites
//! the reports.

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_codegen::error::{Error, Violation};
use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, SpecFile};

/// The specs, sorted.
fn specs() -> Vec<(String, SpecFile)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/data/formulas_refused");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == "yaml"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let file = spec::parse(&name, &text);
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        (path.with_extension("txt").display().to_string(), file)
    };
    paths.into_iter().map(read).collect()
}

/// Why a spec has no kernel, at its places in the file.
fn refusal(file: &SpecFile) -> (Error, Vec<Violation>) {
    match plan::plan(&file.points[0]) {
        Ok(plan) => panic!("{} has a plan: {plan}", file.path),
        Err(error) => match file.place(error) {
            Error::Plan {
                kernel,
                violations,
                file,
            } => {
                let all = violations.clone();
                let error = Error::Plan {
                    kernel,
                    violations,
                    file,
                };
                (error, all)
            }
            other => panic!("{}", other.report(false)),
        },
    }
}

#[test]
fn refused_formulas_are_reported_as_recorded() {
    let specs = specs();
    assert!(specs.len() >= 15, "only {} formulas", specs.len());
    for (golden, file) in specs {
        let report = refusal(&file).0.report(false);
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            fs::write(&golden, report).unwrap();
            continue;
        }
        let recorded = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(recorded, report, "{golden}: rerun with BLESS=1");
    }
}

#[test]
fn a_refused_formula_is_refused_inside_its_text() {
    for (_, file) in specs() {
        let start = file.text.find("compute:").unwrap();
        let end = start + file.text[start..].find("\ncta_tile").unwrap();
        for violation in refusal(&file).1 {
            let span = violation.span.unwrap();
            let key = violation.keys.first().unwrap();
            let inside = start < span.bytes.start && span.bytes.end <= end;
            assert_eq!(
                key == "compute",
                inside,
                "{}: {}",
                file.path,
                violation.message
            );
            assert!(
                file.text
                    .get(span.bytes)
                    .is_some_and(|part| !part.is_empty())
            );
        }
    }
}

#[test]
fn what_is_refused_is_printed_and_read_back() {
    for (_, file) in specs() {
        let printed = file.spec.to_yaml().unwrap();
        let again = spec::parse("-", &printed);
        let again = again.unwrap_or_else(|error| panic!("{printed}\n{}", error.report(false)));
        assert_eq!(again.spec, file.spec, "{printed}");
        assert_eq!(again.points[0].id, file.points[0].id);
    }
}

/// What is written in place of a statement that combines values with an output of two modes, as its
/// refusal spells it, has a plan.
#[test]
fn the_statement_that_is_proposed_in_place_of_a_sign_is_generated() {
    let rows = "x: { dtype: f32, layout: \"(m,n):(ldx,1)\" }";
    let product = "a: { dtype: bf16, layout: \"(m,k):(lda,1)\" }\n  \
                   b: { dtype: bf16, layout: \"(n,k):(ldb,1)\" }";
    for (operands, statement, tile) in [
        (rows, "d[m,n] += x[m,n]", "(8,256)"),
        (rows, "d[m,n] max= x[m,n]", "(8,256)"),
        (rows, "d[m,n] min= 2 * x[m,n] - 1", "(8,256)"),
        (product, "d[m,n] += sum[k] a[m,k] * b[n,k]", "(128,128,32)"),
        (product, "d[m,n] += a[m,k] * b[n,k]", "(128,128,32)"),
        (
            product,
            "d[m,n] max= sum[k] a[m,k] * b[n,k]",
            "(128,128,32)",
        ),
    ] {
        let text = |more: &str, over: &str, statement: &str| {
            format!(
                "kernel: held\nname: held\narch: sm_80\noperands:\n  {operands}\n{more}  \
                 d: {{ dtype: f32, layout: \"(m,n):(ldd,1)\"{over} }}\ncompute: |\n  {statement}\n\
                 cta_tile: \"{tile}\"\n"
            )
        };
        let file = spec::parse("held.yaml", &text("", "", statement)).unwrap();
        let Err(Error::Plan { violations, .. }) = plan::plan(&file.points[0]) else {
            panic!("{statement} is generated");
        };
        let told = &violations[0].message;
        let proposed = told.split_once("and write `");
        let proposed = proposed.unwrap_or_else(|| panic!("{told}")).1;
        let proposed = proposed.split_once('`').unwrap().0;
        let held = "  d0: { dtype: f32, layout: \"(m,n):(ldd,1)\" }\n";
        let mended = text(held, ", over: d0", proposed);
        let file = spec::parse("held.yaml", &mended);
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        assert!(file.warnings.is_empty(), "{proposed}");
        if let Err(error) = plan::plan(&file.points[0]) {
            panic!("{proposed}: {}", file.place(error).report(false));
        }
    }
}

/// What is folded before it is combined is written to an output of its own, which has a plan.
#[test]
fn the_statement_that_is_proposed_in_place_of_a_fold_by_sign_is_generated() {
    let rows = "x: { dtype: f32, layout: \"(g,m,n):(sx,ldx,1)\" }";
    let product = "a: { dtype: bf16, layout: \"(g,m,k):(sa,lda,1)\" }\n  \
                   b: { dtype: bf16, layout: \"(g,n,k):(sb,ldb,1)\" }";
    let sum = "y[g,m,n] = sum[k] a[g,m,k] * b[g,n,k]";
    for (operands, value, statement, tile) in [
        (
            rows,
            "y[g,m,n] = 2 * x[g,m,n]",
            "w[g,m] max= abs(x[g,m,n])",
            "{ m: 4, n: 256 }",
        ),
        (
            rows,
            "y[g,m,n] = 2 * x[g,m,n]",
            "w[g,m] += x[g,m,n]",
            "{ m: 4, n: 256 }",
        ),
        (
            product,
            sum,
            "w[g,m] max= abs(y[g,m,n])",
            "{ m: 128, n: 128, k: 64 }",
        ),
    ] {
        let text = |statement: &str| {
            format!(
                "kernel: held\nname: held\narch: sm_90a\noperands:\n  {operands}\n  \
                 y: {{ dtype: f32, layout: \"(g,m,n):(sy,ldy,1)\" }}\n  \
                 w: {{ dtype: f32, layout: \"(g,m):(ldw,1)\" }}\ncompute: |\n  {value}\n  \
                 {statement}\ncta_tile: {tile}\n"
            )
        };
        let file = spec::parse("held.yaml", &text(statement)).unwrap();
        let Err(Error::Plan { violations, .. }) = plan::plan(&file.points[0]) else {
            panic!("{statement} is generated");
        };
        let told = &violations[0].message;
        let proposed = told.split_once(": write `").unwrap().1;
        let proposed = proposed.split_once('`').unwrap().0;
        let file = spec::parse("held.yaml", &text(proposed));
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        if let Err(error) = plan::plan(&file.points[0]) {
            panic!("{proposed}: {}", file.place(error).report(false));
        }
    }
}

/// What folds for each place what a table gives it is generated in place of a sign that does so.
#[test]
fn the_statement_that_is_proposed_in_place_of_a_scatter_is_generated() {
    for sign in ["+=", "max=", "min="] {
        let text = |more: &str, statement: &str, tile: &str| {
            format!(
                "kernel: held\nname: held\narch: sm_80\noperands:\n  \
                 x: {{ dtype: f32, layout: \"(m,n):(ldx,1)\" }}\n  \
                 t: {{ dtype: s32, layout: \"(m):(1)\" }}\n{more}  \
                 d: {{ dtype: f32, layout: \"(r,n):(ldd,1)\" }}\ncompute: |\n  {statement}\n\
                 cta_tile: {tile}\n"
            )
        };
        let scatter = text("", &format!("d[t[m],n] {sign} 2 * x[m,n]"), "\"(8,256)\"");
        let file = spec::parse("held.yaml", &scatter).unwrap();
        let Err(Error::Plan { violations, .. }) = plan::plan(&file.points[0]) else {
            panic!("{sign} is generated");
        };
        let told = &violations[0].message;
        let proposed = told.split_once("and write `").unwrap().1;
        let proposed = proposed.split_once('`').unwrap().0;
        let held = "  d0: { dtype: f32, layout: \"(r,n):(ld0,1)\" }\n";
        let file = spec::parse("held.yaml", &text(held, proposed, "{ m: 64, n: 64 }"));
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        assert!(file.warnings.is_empty(), "{proposed}");
        if let Err(error) = plan::plan(&file.points[0]) {
            panic!("{proposed}: {}", file.place(error).report(false));
        }
    }
}

/// Rows and columns are those of an output that is written with `=`, wherever it is listed.
#[test]
fn outputs_that_values_are_combined_with_may_be_listed_first() {
    let amax = "  amax: { dtype: f32, layout: \"(n):(1)\" }\n";
    let d = "  d: { dtype: bf16, layout: \"(m,n):(ldd,1)\" }\n";
    let plans = [[amax, d], [d, amax]].map(|outputs| {
        let text = format!(
            "kernel: peaks\nname: peaks\narch: sm_80\noperands:\n  \
             a: {{ dtype: bf16, layout: \"(m,k):(lda,1)\" }}\n  \
             b: {{ dtype: bf16, layout: \"(n,k):(ldb,1)\" }}\n{}compute: |\n  \
             acc[m,n] = sum[k] a[m,k] * b[n,k]\n  d[m,n] = acc[m,n]\n  amax[n] max= acc[m,n]\n\
             cta_tile: \"(128,64,32)\"\n",
            outputs.concat()
        );
        let file = spec::parse("peaks.yaml", &text);
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        match plan::plan(&file.points[0]) {
            Ok(plan) => (
                plan.cta_threads(),
                file.points[0].spec.schedule.cta_tile.clone(),
            ),
            Err(error) => panic!("{}", file.place(error).report(false)),
        }
    });
    assert_eq!(plans[0], plans[1]);
}
