//! The page on limits is what the generator refuses today: its formulas are those of
//! `ci/data/formulas_refused`, its schedules those of `ci/data/plans_refused`.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test suite limits` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::made;
use tilewright_codegen::error::{Error, Problem, Violation};
use tilewright_codegen::plan::{self, LIMITS, Limit};
use tilewright_codegen::spec::{self, FormKind, SpecFile};

const HEAD: &str = "\
What kernels of each form do not do yet, with the code of each refusal. `tilewright check` says the
same of a spec, at its place. This page is made of the refusals, each by a spec that a test refuses.
";

/// The specs of a folder and of those in it, sorted, each with the refusal of its first point.
fn refused(folder: &str) -> Vec<(SpecFile, Vec<Violation>)> {
    let files = made::files(&made::repository().join(folder), &["yaml"]);
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let file = spec::parse(&path.display().to_string(), &text);
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        let error = plan::plan(&file.points[0]).unwrap_err();
        match file.place(error) {
            Error::Plan { violations, .. } => (file, violations),
            other => panic!("{}", other.report(false)),
        }
    };
    files.iter().map(read).collect()
}

/// How a form is called on the page, and what it is.
fn title(form: FormKind) -> (&'static str, &'static str) {
    match form {
        FormKind::Rows => (
            "Maps and folds",
            "Kernels that compute each element of their outputs from elements of the inputs and \
             from folds of them",
        ),
        FormKind::Contraction => (
            "Products",
            "Kernels with one sum of products of two operands, and what is computed of it",
        ),
        FormKind::Chain => (
            "Chains",
            "Kernels with two sums of products, one on the other's",
        ),
    }
}

/// What a spec says of its formula: the part that is refused, or the mode.
fn refused_part<'f>(file: &'f SpecFile, violation: &Violation) -> &'f str {
    let part = violation.span.as_ref().unwrap().bytes.clone();
    let start = file.text[..part.start].rfind('\n').map_or(0, |at| at + 1);
    let end = part.end + file.text[part.end..].find('\n').unwrap_or(0);
    let line = file.text[start..end].trim();
    line.strip_prefix("compute: ").unwrap_or(line)
}

/// A table of what kernels of a form do not do. Goes out: the limits that no spec is refused by.
fn of_formulas(
    page: &mut String,
    form: FormKind,
    all: &[(SpecFile, Vec<Violation>)],
) -> Vec<String> {
    let mut lacking = Vec::new();
    let (name, what) = title(form);
    write!(page, "\n# {name}\n\n{what}. They do not:\n\n").unwrap();
    writeln!(
        page,
        "| not done | code | such as | instead |\n|---|---|---|---|"
    )
    .unwrap();
    for limit in LIMITS.iter().filter(|limit| limit.forms.contains(&form)) {
        let Some((file, violation)) = example(limit, form, all) else {
            lacking.push(format!("{name}: {}", limit.code));
            continue;
        };
        let part = refused_part(file, violation).replace('|', "\\|");
        let Limit {
            code,
            lacks,
            way_out,
            ..
        } = limit;
        writeln!(page, "| {lacks} | `{code}` | `{part}` | {way_out} |").unwrap();
    }
    lacking
}

/// A spec of that form that meets a limit.
fn example<'s>(
    limit: &Limit,
    form: FormKind,
    all: &'s [(SpecFile, Vec<Violation>)],
) -> Option<(&'s SpecFile, &'s Violation)> {
    let of_form = all
        .iter()
        .filter(|(file, _)| file.spec.problem.form() == form);
    let mut found =
        of_form.flat_map(|(file, violations)| violations.iter().map(move |v| (file, v)));
    found.find(|(_, violation)| violation.code == limit.code)
}

/// What the text of a spec is refused for already: types that no product has together.
fn types_of_products() -> Vec<Problem> {
    let path = "ci/data/specs_rejected/dtype_combination__formula_mixed_types.yaml";
    match spec::load(&made::repository().join(path)).unwrap_err() {
        Error::Spec { problems, .. } => problems,
        other => panic!("{}", other.report(false)),
    }
}

/// Codes whose first spec says less than another one.
const EXAMPLES: &[(&str, &str)] = &[("over", "rmsnorm/over__pass.yaml")];

/// Refusals of schedules, types and layouts, one of each code.
fn of_schedules(page: &mut String, all: &[(SpecFile, Vec<Violation>)]) {
    page.push_str(
        "\n# Schedules, types and layouts\n\nWhat a good formula may be refused for, by the keys \
         of its spec, with an example of each.\n",
    );
    let types = types_of_products();
    for form in [FormKind::Rows, FormKind::Contraction] {
        let mut codes: BTreeMap<&str, &str> = BTreeMap::new();
        if form == FormKind::Contraction {
            codes.extend(types.iter().map(|one| (one.code, one.message.as_str())));
        }
        let of_form = all
            .iter()
            .filter(|(file, _)| file.spec.problem.form() == form);
        for (file, violation) in of_form.flat_map(|(file, all)| all.iter().map(move |v| (file, v)))
        {
            let is_chosen =
                |(code, path): &(&str, &str)| *code == violation.code && file.path.ends_with(path);
            match EXAMPLES.iter().any(is_chosen) {
                true => _ = codes.insert(violation.code, &violation.message),
                false => _ = codes.entry(violation.code).or_insert(&violation.message),
            }
        }
        write!(
            page,
            "\n## {}\n\n| code | such as |\n|---|---|\n",
            title(form).0
        )
        .unwrap();
        for (code, message) in codes {
            let message = message.replace('|', "\\|");
            let message = message.replace('<', "&lt;").replace('[', "\\[");
            writeln!(page, "| `{code}` | {message} |").unwrap();
        }
    }
}

#[test]
fn the_page_is_made_of_the_refusals() {
    let mut page = HEAD.to_owned();
    let formulas = refused("ci/data/formulas_refused");
    let mut lacking = Vec::new();
    for form in [FormKind::Rows, FormKind::Contraction, FormKind::Chain] {
        lacking.extend(of_formulas(&mut page, form, &formulas));
    }
    assert!(
        lacking.is_empty(),
        "ci/data/formulas_refused has no spec for\n{}",
        lacking.join("\n")
    );
    of_schedules(&mut page, &refused("ci/data/plans_refused"));
    made::assert_kept("codegen/docs/limits.md", &page);
}

#[test]
fn limits_have_codes_of_their_own() {
    let codes: BTreeSet<&str> = LIMITS.iter().map(|limit| limit.code).collect();
    assert_eq!(codes.len(), LIMITS.len());
}
