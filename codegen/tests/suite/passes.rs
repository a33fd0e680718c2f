//! Which pass makes what, and what a spec says of passes.

use tilewright_codegen::ir::thread::text::Nameless;
use tilewright_codegen::plan::data::model::Plan;
use tilewright_codegen::spec::{self, SpecFile};
use tilewright_codegen::{compile, plan};

/// A spec of rows that computes that; `m` alone lies along what rows have one element of.
fn rows(compute: &str, more: &str) -> String {
    format!(
        r#"kernel: rows
name: k
arch: sm_80
operands:
  x: {{ dtype: f32, layout: "(m,n):(ldx,1)" }}
  g: {{ dtype: f32, layout: "(n):(1)" }}
  d: {{ dtype: f32, layout: "(m,n):(ldd,1)" }}
  s: {{ dtype: f32, layout: "(m):(1)" }}
compute: "{compute}"
cta_tile: {{ m: 2, n: 256 }}
{more}
"#
    )
}

const MANY: &str = "scheduler: { passes: many }";

fn file(text: &str) -> SpecFile {
    spec::parse("-", text).unwrap_or_else(|error| panic!("{}", error.report(false)))
}

fn planned(text: &str) -> Plan {
    plan::plan(&file(text).points[0]).unwrap_or_else(|error| panic!("{}", error.report(false)))
}

/// The nodes of each pass, then those made once: before each pass and behind the last.
fn made(compute: &str) -> [Vec<String>; 2] {
    let flow = planned(&rows(compute, MANY)).flow.unwrap();
    let names = |made: &Vec<usize>| {
        let names = made.iter().map(|at| flow.nodes[*at].name.as_str());
        names.collect::<Vec<_>>().join(" ")
    };
    let passes = flow.passes.as_ref().unwrap();
    assert_eq!(passes.over, 1);
    let chunks = passes.passes.iter().map(|pass| names(&pass.made));
    [chunks.collect(), passes.once.iter().map(names).collect()]
}

#[test]
fn a_fold_that_waits_for_another_takes_a_pass_more() {
    let variance = "u[m] = mean[n] x[m,n]; c[m,n] = x[m,n] - u[m]; v[m] = mean[n] c[m,n] * c[m,n]; \
                    s[m] = v[m]; d[m,n] = c[m,n] * rsqrt(v[m]) * g[n]";
    let [chunks, once] = made(variance);
    assert_eq!(
        chunks,
        ["x mean_0", "x c body_1 mean_1", "x c g d"],
        "{once:?}"
    );
    assert_eq!(once, ["", "mean_0 u", "mean_1 v s", ""], "{chunks:?}");
}

#[test]
fn folds_that_wait_for_none_share_a_pass() {
    let both = "s[m] = (max[n] x[m,n]) + (sum[n] g[n]); d[m,n] = x[m,n] * g[n]";
    let [chunks, once] = made(both);
    assert_eq!(chunks, ["x max_0 g sum_1 d"], "{once:?}");
    assert_eq!(once, ["", "max_0 sum_1 s"], "{chunks:?}");
}

#[test]
fn an_index_is_the_least_place_of_the_largest() {
    let [chunks, once] = made("s[m] = argmax[n] abs(x[m,n]); d[m,n] = x[m,n] * g[n]");
    assert_eq!(
        chunks,
        ["x body_0 max_0 g d", "x body_0 places_1 min_1"],
        "{once:?}"
    );
    assert_eq!(once, ["", "max_0", "min_1 s"], "{chunks:?}");
}

#[test]
fn one_pass_is_what_a_spec_without_the_word_has() {
    let compute = "s[m] = sum[n] x[m,n]; d[m,n] = x[m,n] * g[n]";
    let program = |more: &str| {
        let compiled = compile(&file(&rows(compute, more)).points[0]);
        let compiled = compiled.unwrap_or_else(|error| panic!("{}", error.report(false)));
        Nameless(&compiled.program).to_string()
    };
    let plain = program("");
    assert_eq!(program("scheduler: { passes: one }"), plain);
    assert_eq!(program("scheduler: { passes: auto }"), plain);
    assert_ne!(program(MANY), plain);
    let assumes = |more: &str| {
        let text = planned(&rows(compute, more)).to_string();
        text.contains("assumes n <= 256")
    };
    assert!(assumes("") && !assumes(MANY));
}

#[test]
fn the_word_is_printed_and_tuned() {
    let text = rows("d[m,n] = x[m,n] / (sum[n] x[m,n] * g[n])", MANY);
    let text = text.replace("  s: { dtype: f32, layout: \"(m):(1)\" }\n", "");
    let spec = file(&text).spec;
    let printed = spec.to_yaml().unwrap();
    assert!(printed.contains("passes: many"), "{printed}");
    assert_eq!(file(&printed).spec, spec);
    let tuned = text.replace(MANY, "tune: { scheduler.passes: [one, many] }");
    let ids: Vec<String> = (file(&tuned).points.into_iter())
        .map(|point| point.id)
        .collect();
    assert!(
        ids[0].contains("_one-") && ids[1].contains("_many-"),
        "{ids:?}"
    );
}
