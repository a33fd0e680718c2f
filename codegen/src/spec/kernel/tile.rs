//! The modes of a tile that is written by position, and a tile to begin with.
//!
//! Comes in: a formula and its form. Goes out: the modes that extents without names stand for, and
//! for whom no tile is written yet one that is neither large nor small.

use tilewright_formula::form::Form;
use tilewright_formula::{Extent, Formula, Source};

use crate::spec::kernel::product_modes::tile_of;
use crate::spec::kernel::resolved::TILE_MODES;

/// Rows and columns of a product's first tile, and bytes of what it has along the summed mode.
const PRODUCT: i64 = 64;
const SUMMED_BITS: i64 = 8 * 128;
/// Elements of the first tile of rows: side by side, of them where they are folded, and rows.
const ALONG: i64 = 512;
const FOLDED: i64 = 1024;
const ROWS: i64 = 4;
/// The same where both modes are folded.
const FOLDED_BESIDE: i64 = 256;
const ROWS_FOLDED: i64 = 32;
/// Fewest elements of a tile of rows that a warp has vectors of, and most that a CTA's registers
/// hold of a few operands.
const FEW: i64 = 512;
const MANY: i64 = 16_384;
/// Most columns of a block that a tile of a product has.
const MOST_COLUMNS: i64 = 256;

/// Names of the modes that a positional `cta_tile` has extents along: those of the first output,
/// then those that are folded or summed.
pub(crate) fn positional(formula: &Formula, form: &Form) -> Vec<String> {
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

/// A tile as it may be written: `"(4,1024)"`; none of a formula whose tile nobody knows, and of one
/// that no tile makes a kernel.
pub(in crate::spec) fn proposed(formula: &Formula, form: &Form) -> Option<String> {
    let names = positional(formula, form);
    let mut passes = "";
    let extents = match form {
        Form::Rows(_) => match rows(formula, form)? {
            Tile::Whole(extents) => extents,
            Tile::Chunk(extents) => {
                passes = "` and `scheduler: { passes: many }";
                extents
            }
        },
        Form::Contraction(_) if !is_without(form) => product(formula, &names)?,
        Form::Contraction(_) | Form::Chain(_) => return None,
    };
    let along = |name: &String| extents.iter().find(|(known, _)| known == name);
    let all: Option<Vec<String>> = (names.iter())
        .map(|name| along(name).map(|(_, extent)| extent.to_string()))
        .collect();
    match all.filter(|all| all.len() == extents.len()) {
        Some(all) => Some(format!("\"({})\"{passes}", all.join(","))),
        None => {
            let all = extents
                .iter()
                .map(|(name, extent)| format!("{name}: {extent}"));
            Some(format!("{{ {} }}{passes}", Vec::from_iter(all).join(", ")))
        }
    }
}

/// The tile by mode of rows of more modes than a tile cuts, of extents that are written by
/// position, `{ i: 1, j: 1024 }`; the first one where these are not as many as a tile has.
pub(in crate::spec) fn by_mode(formula: &Formula, form: &Form, written: &[i64]) -> Option<String> {
    let (Form::Rows(_), true) = (form, positional(formula, form).len() > TILE_MODES) else {
        return None;
    };
    let (Tile::Whole(extents) | Tile::Chunk(extents)) = rows(formula, form)?;
    if written.len() != extents.len() {
        return proposed(formula, form);
    }
    let all = extents.iter().zip(written);
    let all = all.map(|((name, _), extent)| format!("{name}: {extent}"));
    Some(format!("{{ {} }}", Vec::from_iter(all).join(", ")))
}

/// Whether no tile makes a kernel of formulas of that form: two products, one within the other.
pub(in crate::spec) fn is_without(form: &Form) -> bool {
    matches!(form, Form::Chain(_))
}

/// Some tile, of a formula that has no kernel.
pub(in crate::spec) fn any(formula: &Formula, form: &Form) -> (Vec<String>, Vec<i64>) {
    let names = positional(formula, form);
    let extents = vec![1; names.len()];
    (names, extents)
}

/// The modes of a product's tile with its extents; a tile has all of a block of columns.
fn product(formula: &Formula, names: &[String]) -> Option<Vec<(String, i64)>> {
    let [row, column, summed] = names else {
        return None;
    };
    let bits = formula
        .signature
        .operands
        .iter()
        .map(|one| one.dtype.bits());
    let bits = i64::from(bits.max().unwrap_or(16).max(8));
    let columns = constant(formula, column).unwrap_or(PRODUCT);
    let is_known = [row, summed].map(|name| constant(formula, name).is_none());
    let all = [PRODUCT, columns, SUMMED_BITS / bits];
    (is_known == [true; 2] && columns <= MOST_COLUMNS)
        .then(|| names.iter().cloned().zip(all).collect())
}

/// The least power of two that holds a mode's extent, where that is a constant.
fn constant(formula: &Formula, name: &str) -> Option<i64> {
    let facts = formula.modes.iter().find(|facts| facts.name == name)?;
    match facts.extent {
        Extent::Constant(extent) => i64::try_from(extent.unsigned_abs().next_power_of_two()).ok(),
        _ => None,
    }
}

/// A tile of rows: its modes, with extents along them.
enum Tile {
    /// It has all of what is folded.
    Whole(Vec<(String, i64)>),
    /// It is a chunk of what is folded, which no CTA holds whole.
    Chunk(Vec<(String, i64)>),
}

/// The modes of a tile of rows, at most two, with its extents; none where more are folded, and
/// where two are of which no CTA holds all.
fn rows(formula: &Formula, form: &Form) -> Option<Tile> {
    let folded = folded(formula, form);
    let cut = cut(formula, &folded)?;
    let is_folded = |name: &String| folded.contains(name);
    let both = cut.len() == TILE_MODES && cut.iter().all(is_folded);
    let extent = |(at, name): (usize, &String)| {
        let usual = match (at, is_folded(name)) {
            (0, true) if both => FOLDED_BESIDE,
            (0, true) => FOLDED,
            (0, false) => ALONG,
            (_, true) => ROWS_FOLDED,
            (_, false) => ROWS,
        };
        let extent = match constant(formula, name) {
            // A tile has all of what is folded.
            Some(extent) if is_folded(name) || extent < usual => extent,
            _ => usual,
        };
        (name.clone(), extent)
    };
    let mut extents: Vec<(String, i64)> = cut.iter().enumerate().map(extent).collect();
    let size = |extents: &[(String, i64)]| {
        let all = extents.iter().map(|(_, extent)| *extent);
        all.fold(1, i64::saturating_mul)
    };
    while size(&extents) > MANY {
        let mut all = extents.iter_mut();
        let Some((_, extent)) = all.find(|(name, one)| !folded.contains(name) && *one > 1) else {
            return chunk(&cut, &folded);
        };
        *extent /= 2;
    }
    while size(&extents) < FEW {
        let named = extents
            .iter()
            .rposition(|(name, _)| constant(formula, name).is_none());
        let (_, extent) = extents.get_mut(named.unwrap_or(0))?;
        *extent *= 2;
    }
    extents.reverse();
    Some(Tile::Whole(extents))
}

/// A tile that is a chunk of the one mode that is folded.
fn chunk(cut: &[String], folded: &[String]) -> Option<Tile> {
    let ([long], Some((first, others))) = (folded, cut.split_first()) else {
        return None;
    };
    let others = others.iter().map(|name| (name.clone(), ROWS));
    let extents = others.chain([(first.clone(), FOLDED)]).collect();
    (first == long).then_some(Tile::Chunk(extents))
}

/// The modes of a tile of rows, at most two: what is folded, then what the last axes of outputs and
/// inputs run along, then whatever is gone along; but no two short ones where there is another.
fn cut(formula: &Formula, folded: &[String]) -> Option<Vec<String>> {
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
    let last: Vec<String> = last.collect();
    let visited = formula.names(formula.visited());
    // Of what is folded, that comes first which inputs are contiguous along.
    let is_last = |name: &&String| last.contains(name);
    let (first, then): (Vec<&String>, Vec<&String>) = folded.iter().partition(is_last);
    let all = first.into_iter().chain(then).chain(&last).cloned();
    let all = all.chain(visited.iter().rev().map(|name| (*name).to_owned()));
    let mut all: Vec<String> = all
        .filter(|name| visited.contains(&name.as_str()))
        .collect();
    let mut seen: Vec<String> = Vec::new();
    all.retain(|name| {
        let is_new = !seen.contains(name);
        seen.push(name.clone());
        is_new
    });
    if folded
        .iter()
        .any(|name| !all.iter().take(TILE_MODES).any(|one| one == name))
    {
        return None;
    }
    if let [first, second, rest @ ..] = all.as_slice()
        && let (Some(one), Some(other)) = (constant(formula, first), constant(formula, second))
        && one.saturating_mul(other) < FEW
        && !folded.contains(second)
        && let Some(long) = rest.iter().find(|name| constant(formula, name).is_none())
    {
        return Some(vec![first.clone(), long.clone()]);
    }
    all.truncate(TILE_MODES);
    Some(all)
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
            .replace("` and `", "\n")
    }

    /// What `cta_tile` is proposed for such operands, modes and formula, which a plan takes.
    fn begun_with(operands: &[&str], modes: &str, compute: &str) -> Option<String> {
        let of = |tile: &str| spec(operands, compute, &format!("{modes}\n{tile}\n"));
        let error = of("").unwrap_err();
        if !error.report(false).contains("begin with") {
            return None;
        }
        let tile = first_tile(&error);
        let file = of(&tile).unwrap_or_else(|error| panic!("{}", error.report(false)));
        if let Err(error) = plan::plan(&file.points[0]) {
            panic!("{tile}: {}", error.report(false));
        }
        Some(tile)
    }

    #[test]
    fn tiles_of_constant_extents_are_proposed_that_do() {
        let x =
            |modes: &str, strides: &str| format!("x: {{ dtype: f32, layout: '{modes}:{strides}'");
        let d =
            |modes: &str, strides: &str| format!("d: {{ dtype: f32, layout: '{modes}:{strides}'");
        let (mij, m) = (x("(m,i,j)", "(s,t,1)"), d("(m)", "(1)"));
        for extent in [1, 2, 3, 4, 7, 16, 64, 100] {
            let modes = format!("modes: {{ i: {extent}, j: {extent} }}");
            let taken = begun_with(&[&mij, &m], &modes, "d[m] = max[i,j] x[m,i,j]");
            assert!(taken.is_some(), "{extent}");
        }
        let (mp, to_mp) = (x("(m,p)", "(s,1)"), d("(m,p)", "(t,1)"));
        for extent in [
            1, 2, 3, 4, 5, 31, 33, 100, 600, 1000, 8192, 16_384, 16_385, 100_000,
        ] {
            let modes = format!("modes: {{ p: {extent} }}");
            for (to, compute) in [
                (&m, "d[m] = sum[p] x[m,p]"),
                (&to_mp, "d[m,p] = exp(x[m,p])"),
                (&to_mp, "d[m,p] = x[m,p] - max[p] x[m,p]"),
            ] {
                assert!(
                    begun_with(&[&mp, to], &modes, compute).is_some(),
                    "{compute}"
                );
            }
        }
        let bcp = [x("(b,c,p)", "(s,t,1)"), d("(b,c,p)", "(u,v,1)")];
        let bcp = bcp.each_ref().map(String::as_str);
        let short = "modes: { c: 4, p: 4 }";
        assert!(begun_with(&bcp, short, "d[b,c,p] = exp(x[b,c,p])").is_some());
        let all = [
            x("(m,n)", "(s,1)"),
            "d: { dtype: f32, layout: '():()'".to_owned(),
        ];
        let all = all.each_ref().map(String::as_str);
        let tile = begun_with(&all, "", "d = max[m,n] x[m,n]");
        assert_eq!(tile.as_deref(), Some("cta_tile: \"(32,256)\""));
        let blocks = [
            "a: { dtype: bf16, layout: '(m,k):(lda,1)'",
            "b: { dtype: bf16, layout: '(i,g,k):(s1b,s2b,1)'",
            "d: { dtype: bf16, layout: '(m,i,g):(ldd,1,128)'",
            "s: { dtype: f32, layout: '(m,g):(lds,1)'",
        ];
        let compute = "|\n  acc[m,i,g] = sum[k] a[m,k] * b[i,g,k]\n  s[m,g] = max[i] \
                       abs(acc[m,i,g])\n  d[m,i,g] = acc[m,i,g] / s[m,g]";
        assert!(begun_with(&blocks, "modes: { i: 128 }", compute).is_some());
    }

    #[test]
    fn no_tile_is_proposed_where_none_makes_a_kernel() {
        let bmn = "x: { dtype: f32, layout: '(b,m,n):(s,t,1)'";
        let one = "d: { dtype: f32, layout: '():()'";
        assert_eq!(begun_with(&[bmn, one], "", "d = sum[b,m,n] x[b,m,n]"), None);
        let two = "x: { dtype: f32, layout: '(m,p,q):(s,t,1)'";
        let to = "d: { dtype: f32, layout: '(m):(1)'";
        let modes = "modes: { p: 1000, q: 100 }";
        assert_eq!(
            begun_with(&[two, to], modes, "d[m] = sum[p,q] x[m,p,q]"),
            None
        );
        let attention = [
            "q: { dtype: f16, layout: '(m,k):(t,1)'",
            "x: { dtype: f16, layout: '(n,k):(v,1)'",
            "w: { dtype: f16, layout: '(n,p):(u,1)'",
            "d: { dtype: f32, layout: '(m,p):(y,1)'",
        ];
        let compute = "s[m,n] = sum[k] q[m,k] * x[n,k]; d[m,p] = sum[n] s[m,n] * w[n,p]";
        // Nor is one asked for, or one of these ranks: planning says what has no kernel.
        for tile in ["", "cta_tile: '(64,64)'\n"] {
            let file = spec(&attention, compute, tile).unwrap();
            let refused = plan::plan(&file.points[0]).unwrap_err();
            assert_eq!(
                refused.codes(),
                ["two-products"],
                "{}",
                refused.report(false)
            );
        }
        // What is written is read, and wrong as ever.
        let wrong = spec(&attention, compute, "cta_tile: '(64,64,64,0)'\n").unwrap_err();
        assert!(
            wrong.report(false).contains("out-of-range"),
            "{}",
            wrong.report(false)
        );
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
