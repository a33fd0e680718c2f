//! What of outputs that are combined with what was there is not generated yet.

use tilewright_formula::affine::ModeId;
use tilewright_formula::form::FoldSite;
use tilewright_formula::syntax::Combine;
use tilewright_formula::{DType, ExprKind, Formula, Index, Role, Source, Statement, ValueType};

use super::Misfit;
use super::limit::{self, Limit};
use crate::spec::TILE_MODES;

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
            &limit::COMBINED_MODES,
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
            &limit::COMBINED_TYPE,
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
            &limit::COMBINED_REPEATED,
        );
    }
    let extra = |mode: &&ModeId| !modes.cut.contains(mode) && !modes.whole.contains(mode);
    let all = || statement.loops.iter().chain(&statement.folded);
    if let Some(mode) = all().find(extra).and_then(|mode| formula.modes.get(*mode)) {
        return misfit(
            format!("`{sign}` combines {name} along {}", mode.name),
            &limit::COMBINED_ALONG,
        );
    }
    if !statement.left.iter().all(|index| index.bare().is_some()) {
        return misfit(
            format!("`{sign}` combines {name} elsewhere than at its coordinates"),
            &limit::COMBINED_PLACE,
        );
    }
    None
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
                    limit: &limit::COMBINED_READ,
                });
            }
        });
    }
    misfits
}

/// What is combined before the first output that is not: tiles are those of the first one.
pub(super) fn before_others(formula: &Formula) -> Option<Misfit> {
    let roles = (0..formula.signature.operands.len()).map(|at| (at, formula.role(at)));
    let (first, role) = roles.clone().find(|(_, role)| *role != Role::Input)?;
    if role != Role::Combined {
        return None;
    }
    let statement = formula
        .statements
        .get(formula.writer(Source::Operand(first))?)?;
    let name = formula.name(Source::Operand(first));
    let (what, limit) = match roles.clone().find(|(_, role)| *role == Role::Output) {
        Some((other, _)) => {
            let other = formula.name(Source::Operand(other));
            (
                format!("{name} is the first output among the operands, before {other}"),
                &limit::COMBINED_FIRST,
            )
        }
        None => (
            format!("nothing is written but {name}, which is combined with what was there"),
            &limit::COMBINED_ALONE,
        ),
    };
    Some(Misfit {
        part: statement.span.clone(),
        what,
        limit,
    })
}
