//! Which statement reads which, and every fold.

use super::FoldSite;
use crate::formula::{Expr, ExprKind, Formula, Source};
use crate::functions::Fold;
use crate::syntax::Combine;

/// The data flow of a formula.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// By statement: those whose results it takes, directly or not, in order.
    pub needs: Vec<Vec<usize>>,
    /// Every fold, outer ones before inner ones; those of `max=`, `+=` and `min=` too.
    pub folds: Vec<FoldSite>,
}

impl Flow {
    pub fn of(formula: &Formula) -> Flow {
        let mut needs: Vec<Vec<usize>> = Vec::new();
        let mut folds = Vec::new();
        for (at, statement) in formula.statements.iter().enumerate() {
            let needed = needed(formula, &statement.value, &needs);
            needs.push(needed);
            let combined = match statement.combine {
                Combine::Set => None,
                Combine::Max => Some(Fold::Max),
                Combine::Min => Some(Fold::Min),
                Combine::Add => Some(Fold::Sum),
            };
            if let Some(fold) = combined.filter(|_| !statement.folded.is_empty()) {
                folds.push(FoldSite {
                    statement: at,
                    fold,
                    modes: statement.folded.clone(),
                    span: statement.span.clone(),
                });
            }
            statement.value.visit(&mut |expr| {
                if let ExprKind::Fold { fold, modes, .. } = &expr.kind {
                    folds.push(FoldSite {
                        statement: at,
                        fold: *fold,
                        modes: modes.clone(),
                        span: expr.span.clone(),
                    });
                }
            });
        }
        Flow { needs, folds }
    }

    /// Statements that an expression takes results of, directly or not.
    pub fn needs_of(&self, formula: &Formula, expr: &Expr) -> Vec<usize> {
        needed(formula, expr, &self.needs)
    }
}

fn needed(formula: &Formula, expr: &Expr, needs: &[Vec<usize>]) -> Vec<usize> {
    let mut all = Vec::new();
    for source in expr.reads() {
        let writer = match source {
            Source::Local(local) => Some(formula.locals[local].statement),
            Source::Operand(_) => formula.writer(source),
        };
        if let Some(writer) = writer {
            all.push(writer);
            all.extend(needs.get(writer).into_iter().flatten());
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
