//! Every key says something: set to another value it gives another plan, or is refused by a message
//! that names it. So it is of each way of making a kernel, for every key that the schema lists.

use std::collections::BTreeSet;

use tilewright_ci::random_specs::draft::Draft;
use tilewright_ci::random_specs::keys::{Key, keys};
use tilewright_codegen::dtype::DTYPES;
use tilewright_codegen::error::Error;
use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, Spec};

/// A good spec of each way: its name, family and keys.
type Base = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const COPY: &[(&str, &str)] = &[
    ("arch", "sm_80"),
    ("operands.s.dtype", "f32"),
    ("operands.s.layout", "(m,n):(lds,1)"),
    ("operands.d.dtype", "f32"),
    ("operands.d.layout", "(m,n):(ldd,1)"),
    ("cta_tile", "(64,64)"),
];

const GEMM: &[(&str, &str)] = &[
    ("arch", "sm_80"),
    ("operands.a.dtype", "bf16"),
    ("operands.a.layout", "(m,k):(lda,1)"),
    ("operands.b.dtype", "bf16"),
    ("operands.b.layout", "(n,k):(ldb,1)"),
    ("operands.d.dtype", "bf16"),
    ("operands.d.layout", "(m,n):(ldd,1)"),
    ("accumulator", "f32"),
    ("cta_tile", "(128,128,64)"),
];

const BASES: &[Base] = &[
    ("direct", "copy", &[]),
    ("staged", "copy", &[("copy.s.g2s", "auto")]),
    (
        "synchronous",
        "gemm",
        &[
            ("operands.a.layout", "(m,k):(2,lda)"),
            ("cta_tile", "(64,64,16)"),
        ],
    ),
    ("multistage", "gemm", &[]),
    (
        "cooperative",
        "gemm",
        &[("arch", "sm_90a"), ("pipeline.schedule", "cooperative")],
    ),
    (
        "pingpong",
        "gemm",
        &[
            ("arch", "sm_90a"),
            ("pipeline.schedule", "pingpong"),
            ("cta_tile", "(64,128,64)"),
        ],
    ),
];

fn draft((way, family, more): &Base) -> Draft {
    let mut draft = Draft::default();
    draft.set("kernel", *family);
    draft.set("name", *way);
    let base = if *family == "copy" { COPY } else { GEMM };
    for (path, value) in base.iter().chain(*more) {
        draft.set(path, *value);
    }
    draft
}

/// Values to set a key to: those of the schema, and texts that follow a pattern.
fn values(key: &Key, draft: &Draft) -> Vec<String> {
    let written = draft.get(&key.path).unwrap_or_default();
    let last = key.path.rsplit('.').next().unwrap_or_default();
    match last {
        "kernel" | "name" => Vec::new(),
        "layout" => {
            let (extents, strides) = written.split_once(':').unwrap();
            let turned = strides.trim_matches(['(', ')']).split_once(',').unwrap();
            vec![
                format!("{extents}:({},{})", turned.1, turned.0),
                format!("{extents}:(256,1)"),
                format!("{extents}:(1,256)"),
            ]
        }
        "cta_tile" if written.matches(',').count() == 1 => {
            vec!["(32,64)".into(), "(64,128)".into(), "(7,64)".into()]
        }
        "cta_tile" => vec![
            "(64,64,32)".into(),
            "(128,64,64)".into(),
            "(64,24,7)".into(),
        ],
        "dtype" => DTYPES.iter().map(|dtype| dtype.text().to_owned()).collect(),
        _ => {
            let values = key.values.iter().filter(|value| *value != "auto");
            values.cloned().collect()
        }
    }
}

/// What a spec comes to.
enum Made {
    /// Its plan without its names.
    Plan(Box<Spec>, String),
    /// What was said of it, and which keys it is about.
    Refused(String, Vec<String>),
    /// A check of the compiler's own work failed.
    Bug(String),
}

fn make(draft: &Draft) -> Made {
    let text = draft.yaml();
    let file = match spec::parse("-", &text) {
        Ok(file) => file,
        Err(error) => {
            let report = error.report(false);
            let Error::Spec { problems, .. } = error else {
                panic!("{report}")
            };
            let lines = problems.iter().map(|problem| {
                let line = text.lines().nth(problem.span.line - 1).unwrap();
                line.trim().split(':').next().unwrap().to_owned()
            });
            return Made::Refused(report, lines.collect());
        }
    };
    match plan::plan(&file.points[0]) {
        Ok(mut plan) => {
            plan.id.clear();
            plan.entry.clear();
            // What was left out on the way to the same kernel.
            plan.choices.clear();
            Made::Plan(Box::new(file.spec), format!("{plan:?}"))
        }
        Err(error) => {
            let report = file.place(error);
            let text = report.report(false);
            let Error::Plan { violations, .. } = report else {
                return Made::Bug(text);
            };
            for violation in &violations {
                assert!(violation.span.is_some(), "no place: {text}");
            }
            let keys = violations.into_iter().flat_map(|violation| violation.keys);
            Made::Refused(text, keys.collect())
        }
    }
}

/// Whether a refusal is about the key: it names it, a map above it, or stands on its line.
fn is_about(path: &str, text: &str, keys: &[String]) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    let names = |key: &String| key == path || key == last || path.starts_with(&format!("{key}."));
    let map = path.strip_suffix(last).unwrap_or_default();
    let spelled = text.contains(map.trim_end_matches('.')) && text.contains(last);
    (spelled && !map.is_empty()) || text.contains(path) || keys.iter().any(names)
}

#[test]
fn every_key_gives_another_plan_or_is_refused_by_name() {
    let mut silent = Vec::new();
    let mut tried = 0;
    for base in BASES {
        let plain = draft(base);
        let Made::Plan(spec, plan) = make(&plain) else {
            panic!("{} has no plan", base.0)
        };
        for key in keys(base.1) {
            let mut specs = vec![(*spec).clone()];
            let mut plans = BTreeSet::from([plan.clone()]);
            let mut same = 0;
            for value in values(key, &plain) {
                let mut changed = plain.clone();
                changed.set(&key.path, value.clone());
                tried += 1;
                let what = format!("{}: {}: {value}", base.0, key.path);
                match make(&changed) {
                    // What every spec has takes part in all that is refused.
                    Made::Refused(text, keys)
                        if !key.required && !is_about(&key.path, &text, &keys) =>
                    {
                        silent.push(format!("{what}: refused without naming it\n{text}"));
                    }
                    Made::Refused(..) => {}
                    Made::Bug(text) => silent.push(format!("{what}: a bug\n{text}")),
                    // Two spellings of one value.
                    Made::Plan(spec, _) if specs.contains(&spec) => {}
                    Made::Plan(spec, plan) => {
                        specs.push(*spec);
                        // One value says what `auto` would have chosen.
                        same += usize::from(!plans.insert(plan));
                        if same > 1 {
                            silent.push(format!("{what}: says nothing"));
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 1000, "only {tried} specs");
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}
