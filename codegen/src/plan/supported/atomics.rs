//! What of outputs that are combined with what was there is not generated yet.

use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{FoldSite, Form};
use tilewright_formula::syntax::Combine;
use tilewright_formula::{
    DType, Expr, ExprKind, Formula, Index, Role, Source, Statement, ValueType,
};

use super::{Misfit, multiplies};
use crate::error::{Message, message};
use crate::plan::supported::limitations::{self, Limit};
use crate::spec::keys::paths;
use crate::spec::{ProductModes, TILE_MODES};

/// The modes that a kernel goes along.
pub(super) struct Along {
    /// Those of which its tiles have a part each.
    pub cut: Vec<ModeId>,
    /// Those that its tiles have all of.
    pub whole: Vec<ModeId>,
}

/// What is not generated of a statement that combines values with what an output held.
pub(super) fn misfit(formula: &Formula, statement: &Statement, modes: &Along) -> Option<Misfit> {
    if statement.combine == Combine::Set {
        return None;
    }
    let (sign, name) = (statement.combine.text(), formula.name(statement.target));
    let misfit = |what: String, limit: &'static Limit| {
        Some(Misfit {
            part: statement.span.clone(),
            what,
            limit,
        })
    };
    let along = |mode: &ModeId| statement.loops.contains(mode) || statement.folded.contains(mode);
    let rank = statement.left.len();
    if rank >= TILE_MODES {
        return misfit(
            format!(
                "`{sign}` combines {name} with what was there along {rank} modes, and such \
                 outputs have one at most"
            ),
            &limitations::COMBINED_MODES,
        );
    }
    let dtype = formula.dtype(statement.target);
    let held = ValueType::of(dtype);
    if !matches!(dtype, DType::F32 | DType::S32) || held != statement.value.ty {
        return misfit(
            format!(
                "`{sign}` combines values of type {} with {name}, which holds {dtype}",
                statement.value.ty.text()
            ),
            &limitations::COMBINED_TYPE,
        );
    }
    if !modes.cut.iter().all(along) {
        let missing = modes.cut.iter().filter(|mode| !along(mode));
        let missing = missing.filter_map(|mode| formula.modes.get(*mode));
        let missing: Vec<&str> = missing.map(|mode| mode.name.as_str()).collect();
        return misfit(
            format!(
                "the values that `{sign}` combines with {name} are the same along {}",
                missing.join(", ")
            ),
            &limitations::COMBINED_REPEATED,
        );
    }
    let extra = |mode: &&ModeId| !modes.cut.contains(mode) && !modes.whole.contains(mode);
    let all = || statement.loops.iter().chain(&statement.folded);
    if let Some(mode) = all().find(extra).and_then(|mode| formula.modes.get(*mode)) {
        return misfit(
            format!("`{sign}` combines {name} along {}", mode.name),
            &limitations::COMBINED_ALONG,
        );
    }
    if !statement.left.iter().all(|index| index.bare().is_some()) {
        return misfit(
            format!("`{sign}` combines {name} elsewhere than at its coordinates"),
            &limitations::COMBINED_PLACE,
        );
    }
    None
}

/// The statement to write in place of one that combines values with what an output of two or more
/// modes held: it reads that as an operand of its own.
pub(super) fn in_place(formula: &Formula, form: &Form, misfit: &Misfit) -> Option<Message> {
    let mut statements = formula.statements.iter();
    let statement = statements.find(|one| one.span == misfit.part)?;
    if misfit.limit.code != limitations::COMBINED_MODES.code {
        return None;
    }
    let name = formula.name(statement.target);
    let held = free_name(formula, name);
    let value = formula.text.get(statement.value.span.clone())?;
    if !statement.left.iter().all(|index| index.bare().is_some()) {
        let gathered = gathered(formula, statement, (&held, value));
        let other = "write each value to a place of its own by `=`, and add up what shares one in \
                     a kernel behind this one";
        return Some(gathered.unwrap_or_else(|| other.into()));
    }
    let left: Vec<ModeId> = statement.left.iter().filter_map(Index::bare).collect();
    let left = names(formula, &left);
    if let Some(alone) = folded_alone(formula, form, statement, (value, &left)) {
        return Some(alone);
    }
    let fold = fold_of(statement.combine);
    let value = match statement.folded.as_slice() {
        [] => value.to_owned(),
        folded => format!("{fold}[{}] {value}", names(formula, folded)),
    };
    let written = match statement.combine {
        Combine::Add => format!("{name}[{left}] = {held}[{left}] + ({value})"),
        _ => format!("{name}[{left}] = {fold}({held}[{left}], {value})"),
    };
    Some(message!(
        "add an operand {held} of the dtype and layout of {name}, give {name} the key `over: \
         {held}`, and write `{written}`"
    ))
}

/// What to write in place of a statement that folds values before it combines them: what was there
/// has one element for all threads that fold, so that none of them may store in its place.
fn folded_alone(
    formula: &Formula,
    form: &Form,
    statement: &Statement,
    (value, left): (&str, &str),
) -> Option<Message> {
    let folded = statement.folded.as_slice();
    let (summed, is_in_a_tile) = match form {
        Form::Rows(_) => (&[][..], folded.len() <= TILE_MODES),
        Form::Contraction(found) => {
            let column = ProductModes::of(formula, found).column;
            let along_it = matches!(folded, [mode] if Some(*mode) == column);
            (found.summed.as_slice(), along_it)
        }
        Form::Chain(_) => (&[][..], false),
    };
    // The sum of a product is no fold of its results.
    let set = folded.iter().fold(0, |set, mode| set | 1 << mode);
    let is_product = statement.combine == Combine::Add && multiplies(&statement.value, set);
    if is_product || folded.iter().all(|mode| summed.contains(mode)) {
        return None;
    }
    let (name, fold) = (formula.name(statement.target), fold_of(statement.combine));
    let modes = names(formula, folded);
    Some(match is_in_a_tile {
        true => message!(
            "write `{name}[{left}] = {fold}[{modes}] {value}`, of which a tile has all of {modes}, \
             and combine {name} with what was there in a kernel behind this one"
        ),
        false => message!(
            "store the values by `=`, and combine them with {name} in a kernel behind this one"
        ),
    })
}

/// The statement in place of one that combines values where one table says: each place folds what
/// the table gives it, and nothing is there twice.
fn gathered(
    formula: &Formula,
    statement: &Statement,
    (held, value): (&str, &str),
) -> Option<Message> {
    let own = formula.axis_modes(statement.target);
    let tables = |(_, index): &(usize, &Index)| matches!(index, Index::Table { .. });
    let mut tables = statement.left.iter().enumerate().filter(tables);
    let (at, Index::Table { operand, indices }) = tables.next()? else {
        return None;
    };
    let looked_up: Vec<ModeId> = indices.iter().map(Index::bare).collect::<Option<_>>()?;
    let bare = |(axis, index): (usize, &Index)| match axis == at {
        true => own.get(at).copied().flatten(),
        false => index.bare(),
    };
    let left = statement.left.iter().enumerate().map(bare);
    let left: Vec<ModeId> = left.collect::<Option<_>>()?;
    let place = *left.get(at)?;
    let has_fold = |value: &Expr| {
        let mut found = false;
        value.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Fold { .. }));
        found
    };
    if statement.loops.contains(&place) || has_fold(&statement.value) {
        return None;
    }
    let folded = looked_up.iter().filter(|mode| !left.contains(mode));
    let folded: Vec<ModeId> = folded.chain(&statement.folded).copied().collect();
    let (table, place) = (
        formula.name(Source::Operand(*operand)),
        names(formula, &[place]),
    );
    let (fold, name) = (fold_of(statement.combine), formula.name(statement.target));
    let nothing = match statement.combine {
        Combine::Add => "0",
        Combine::Max => "-inf",
        Combine::Min | Combine::Set => "inf",
    };
    let (looked_up, left) = (names(formula, &looked_up), names(formula, &left));
    let value = format!(
        "{fold}[{}] where({table}[{looked_up}] == {place}, {value}, {nothing})",
        names(formula, &folded)
    );
    let written = match statement.combine {
        Combine::Add => format!("{name}[{left}] = {held}[{left}] + ({value})"),
        _ => format!("{name}[{left}] = {fold}({held}[{left}], {value})"),
    };
    Some(message!(
        "add an operand {held} of the dtype and layout of {name}, and write `{written}`, with {} \
         in {}",
        names(formula, &folded),
        paths::CTA_TILE
    ))
}

/// Names of modes, between commas.
fn names(formula: &Formula, modes: &[ModeId]) -> String {
    let names = modes.iter().filter_map(|mode| formula.modes.get(*mode));
    Vec::from_iter(names.map(|mode| mode.name.as_str())).join(",")
}

/// The fold of several values that a statement combines.
fn fold_of(combine: Combine) -> &'static str {
    match combine {
        Combine::Add => "sum",
        Combine::Max => "max",
        Combine::Min | Combine::Set => "min",
    }
}

/// A name like that one that nothing has.
fn free_name(formula: &Formula, like: &str) -> String {
    let taken = |name: &str| {
        let signature = &formula.signature;
        let known = signature.operand(name).is_some() || signature.scalar(name).is_some();
        known || formula.mode(name).is_some()
    };
    let mut name = format!("{like}0");
    while taken(&name) {
        name.push('0');
    }
    name
}

/// Whether a fold is that of a statement that combines values with what an output held.
pub(crate) fn is_by_sign(formula: &Formula, site: &FoldSite) -> bool {
    let statement = formula.statements.get(site.statement);
    statement.is_some_and(|one| one.combine != Combine::Set && one.span == site.span)
}

/// Where something is read that is combined with what was there.
pub(super) fn read_again(formula: &Formula) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let is_combined = |source: &Source| match source {
        Source::Operand(at) => formula.role(*at) == Role::Combined,
        Source::Local(_) => false,
    };
    for statement in &formula.statements {
        statement.value.visit(&mut |expr| {
            let ExprKind::Read { source, indices } = &expr.kind else {
                return;
            };
            let tables = indices.iter().filter_map(|index| match index {
                Index::Table { operand, .. } => Some(Source::Operand(*operand)),
                _ => None,
            });
            let mut read = tables.chain([*source]);
            if let Some(source) = read.find(is_combined) {
                misfits.push(Misfit {
                    part: expr.span.clone(),
                    what: format!(
                        "{} is read by the kernel that combines values with it",
                        formula.name(source)
                    ),
                    limit: &limitations::COMBINED_READ,
                });
            }
        });
    }
    misfits
}

/// What is combined where no output is written with `=`: tiles are those of one that is.
pub(super) fn alone(formula: &Formula) -> Option<Misfit> {
    let roles = || (0..formula.signature.operands.len()).map(|at| (at, formula.role(at)));
    if roles().any(|(_, role)| role == Role::Output) {
        return None;
    }
    let (first, _) = roles().find(|(_, role)| *role == Role::Combined)?;
    let writer = formula.writer(Source::Operand(first))?;
    let name = formula.name(Source::Operand(first));
    Some(Misfit {
        part: formula.statements.get(writer)?.span.clone(),
        what: format!("nothing is written but {name}, which is combined with what was there"),
        limit: &limitations::COMBINED_ALONE,
    })
}
