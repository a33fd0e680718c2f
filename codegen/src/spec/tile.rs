//! The modes of a tile that is written by position, and a tile to begin with.
//!
//! Comes in: a formula and its form. Goes out: the modes that extents without names stand for, and
//! for whom no tile is written yet one that is neither large nor small.

use tilewright_formula::form::Form;
use tilewright_formula::{Extent, Formula, Source};

use super::computes::TILE_MODES;
use super::planes::tile_of;

/// Rows and columns of a product's first tile, and bytes of what it has along the summed mode.
const PRODUCT: i64 = 64;
const SUMMED_BITS: i64 = 8 * 128;
/// Elements of the first tile of rows: side by side, of them where they are folded, and rows.
const ALONG: i64 = 512;
const FOLDED: i64 = 1024;
const ROWS: i64 = 4;

/// Names of the modes that a positional `cta_tile` has extents along: those of the first output,
/// then those that are folded or summed.
pub(super) fn positional(formula: &Formula, form: &Form) -> Vec<String> {
    let mut names = tile_of(formula, form);
    for mode in folded(formula, form) {
        if !names.contains(&mode) {
            names.push(mode);
        }
    }
    names
}

/// The modes that rows fold along, in the order in which they appear.
fn folded(formula: &Formula, form: &Form) -> Vec<String> {
    let Form::Rows(rows) = form else {
        return Vec::new();
    };
    let modes = rows.folds.iter().flat_map(|site| &site.modes);
    let modes = modes.filter_map(|mode| formula.modes.get(*mode));
    modes.map(|mode| mode.name.clone()).collect()
}

/// A tile as it may be written: `"(4,1024)"`; none of a formula whose tile nobody knows.
pub(super) fn proposed(formula: &Formula, form: &Form) -> Option<String> {
    let names = positional(formula, form);
    let extents = match form {
        Form::Rows(_) => rows(formula, form),
        Form::Contraction(_) if names.len() == TILE_MODES + 1 => {
            let bits = formula
                .signature
                .operands
                .iter()
                .map(|one| one.dtype.bits());
            let bits = i64::from(bits.max().unwrap_or(16).max(8));
            let all = [PRODUCT, PRODUCT, SUMMED_BITS / bits];
            names.iter().cloned().zip(all).collect()
        }
        Form::Contraction(_) | Form::Chain(_) => return None,
    };
    let along = |name: &String| extents.iter().find(|(known, _)| known == name);
    let all: Option<Vec<String>> = (names.iter())
        .map(|name| along(name).map(|(_, extent)| extent.to_string()))
        .collect();
    match all.filter(|all| all.len() == extents.len()) {
        Some(all) => Some(format!("\"({})\"", all.join(","))),
        None => {
            let all = extents
                .iter()
                .map(|(name, extent)| format!("{name}: {extent}"));
            Some(format!("{{ {} }}", Vec::from_iter(all).join(", ")))
        }
    }
}

/// The modes of a tile of rows, at most two, with its extents: what is folded, then what the last
/// axes of outputs and inputs run along, then whatever is gone along.
fn rows(formula: &Formula, form: &Form) -> Vec<(String, i64)> {
    let folded = folded(formula, form);
    let operands = 0..formula.signature.operands.len();
    let (written, read): (Vec<usize>, Vec<usize>) = operands.partition(|at| {
        formula
            .statements
            .iter()
            .any(|one| one.target == Source::Operand(*at))
    });
    let last = written.into_iter().chain(read).filter_map(|at| {
        let modes = formula.axis_modes(Source::Operand(at));
        let mode = formula.modes.get((*modes.last()?)?)?;
        Some(mode.name.clone())
    });
    let visited = formula.names(formula.visited());
    let all = folded.iter().cloned().chain(last);
    let all = all.chain(visited.iter().rev().map(|name| (*name).to_owned()));
    let mut cut: Vec<String> = Vec::new();
    for name in all.filter(|name| visited.contains(&name.as_str())) {
        if cut.len() < TILE_MODES && !cut.contains(&name) {
            cut.push(name);
        }
    }
    let extent = |(at, name): (usize, &String)| {
        let facts = formula.modes.iter().find(|facts| facts.name == *name);
        let constant = match facts.map(|facts| &facts.extent) {
            Some(Extent::Constant(extent)) => Some(extent.unsigned_abs().next_power_of_two()),
            _ => None,
        };
        let constant = constant.and_then(|extent| i64::try_from(extent).ok());
        let usual = match (at, folded.contains(name)) {
            (0, true) => FOLDED,
            (0, false) => ALONG,
            _ => ROWS,
        };
        let is_folded = folded.contains(name);
        match constant {
            // A tile has all of what is folded.
            Some(extent) if is_folded || extent < usual => (name.clone(), extent),
            _ => (name.clone(), usual),
        }
    };
    let mut extents: Vec<(String, i64)> = cut.iter().enumerate().map(extent).collect();
    extents.reverse();
    extents
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::error::Error;
    use crate::plan;
    use crate::spec::{SpecFile, parse};

    const FOLDS: [&str; 5] = ["sum", "mean", "max", "min", "argmax"];

    /// A spec of these operands and this formula.
    fn spec(operands: &[&str], compute: &str, tile: &str) -> Result<SpecFile, Error> {
        let operands = operands.join(" }\n  ");
        parse(
            "-",
            &format!(
                "kernel: rows\nname: rows_t\narch: sm_80\noperands:\n  {operands} }}\ncompute: \
                 {compute}\n{tile}"
            ),
        )
    }

    fn fold(fold: &str, tile: &str) -> Result<SpecFile, Error> {
        let dtype = if fold == "argmax" { "s32" } else { "f32" };
        let output = format!("d: {{ dtype: {dtype}, layout: '(m):(1)'");
        let operands = ["x: { dtype: f32, layout: '(m,n):(ldx,1)'", &output];
        let compute = format!("d[m] = {fold}[n] x[m,n]");
        spec(&operands, &compute, tile)
    }

    #[test]
    fn tiles_of_every_fold_are_written_by_position_or_by_mode() {
        for word in FOLDS {
            let written = ["\"(4,1024)\"", "{ m: 4, n: 1024 }", "{ n: 1024, m: 4 }"];
            let ids = written.map(|tile| {
                let file = fold(word, &format!("cta_tile: {tile}\n"));
                let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
                let plan = plan::plan(&file.points[0]);
                plan.unwrap_or_else(|error| panic!("{}", error.report(false)))
                    .id
            });
            assert_eq!(ids[0], ids[1], "{word}");
            assert_eq!(ids[1], ids[2], "{word}");
            let report = fold(word, "cta_tile: \"(8)\"\n").unwrap_err().report(false);
            assert!(
                report.contains("write it in the form \"(m,n)\""),
                "{report}"
            );
        }
    }

    /// What `begin with` names in a report.
    fn first_tile(error: &Error) -> String {
        let Error::Spec { problems, .. } = error else {
            panic!("{error}")
        };
        let [problem] = problems.as_slice() else {
            panic!("{}", error.report(false))
        };
        let help = problem.help.clone().unwrap();
        help.strip_prefix("begin with `")
            .unwrap()
            .trim_end_matches('`')
            .to_owned()
    }

    #[test]
    fn a_tile_that_is_not_written_is_proposed_and_does() {
        let (x, y) = (
            "x: { dtype: bf16, layout: '(m,n):(ldx,1)'",
            "'(m,n):(ldd,1)'",
        );
        let d = format!("d: {{ dtype: bf16, layout: {y}");
        let t = "d: { dtype: bf16, layout: '(n,m):(ldd,1)'";
        let product = [
            "a: { dtype: f16, layout: '(m,k):(lda,1)'",
            "b: { dtype: f16, layout: '(n,k):(ldb,1)'",
            "d: { dtype: f16, layout: '(m,n):(ldd,1)'",
        ];
        let three = [
            "x: { dtype: f32, layout: '(m,p,q):(s,t,1)'",
            "d: { dtype: f32, layout: '(m,p,q):(u,v,1)'",
        ];
        let alone = [
            "x: { dtype: f32, layout: '(n):(1)'",
            "d: { dtype: f32, layout: '(n):(1)'",
        ];
        let rows: [(&[&str], &str); 6] = [
            (&[x, &d], "d[m,n] = exp(x[m,n])"),
            (&[x, t], "d[n,m] = x[m,n]"),
            (&[x, &d], "d[m,n] = x[m,n] - max[n] x[m,n]"),
            (&product, "d[m,n] = relu(sum[k] a[m,k] * b[n,k])"),
            (&three, "d[m,p,q] = exp(x[m,p,q])"),
            (&alone, "d[n] = exp(x[n])"),
        ];
        let folds = FOLDS.map(|word| move |tile: &str| fold(word, tile));
        let check = |of: &dyn Fn(&str) -> Result<SpecFile, Error>| {
            for none in ["", "cta_tile: auto\n"] {
                let tile = first_tile(&of(none).unwrap_err());
                let file = of(&format!("{tile}\n"));
                let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
                let plan = plan::plan(&file.points[0]);
                assert!(plan.is_ok(), "{tile}: {}", plan.unwrap_err().report(false));
            }
        };
        folds.iter().for_each(|fold| check(fold));
        for (operands, compute) in rows {
            check(&|tile| spec(operands, compute, tile));
        }
    }
}
