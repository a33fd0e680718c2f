//! Outputs that are combined with what was there, as what is combined: an operand that has an
//! element for each of the values, which the formula gives, so that each is combined once and is
//! what it should be. What was there takes no part.

use tilewright_formula::affine::{Poly, Symbol};
use tilewright_formula::syntax::Combine;
use tilewright_formula::{Axis as FormulaAxis, Formula, Index, Role, Source};

use crate::plan::data::model::Plan;
use crate::spec::keys::model::{Axis, Operand, OperandId, Stride};

/// A formula and its operands, with the terms of what is combined in the place of outputs.
pub(super) struct Terms {
    pub formula: Formula,
    pub operands: Vec<Operand>,
}

impl Terms {
    /// Those of a plan.
    pub fn of(plan: &Plan) -> Terms {
        let mut formula = plan.computes.formula.clone();
        let mut operands = plan.operands.clone();
        let own = &plan.computes.formula;
        let outer = plan.work.at_one();
        let modes = plan.modes().chain(outer.iter().map(String::as_str));
        let modes: Vec<usize> = modes.filter_map(|mode| own.mode(mode)).collect();
        for statement in &mut formula.statements {
            let Source::Operand(at) = statement.target else {
                continue;
            };
            if statement.combine == Combine::Set {
                continue;
            }
            let goes =
                |mode: &&usize| statement.loops.contains(mode) || statement.folded.contains(mode);
            let along: Vec<usize> = modes.iter().filter(goes).copied().collect();
            let names = along.iter().filter_map(|mode| own.modes.get(*mode));
            let names: Vec<&String> = names.map(|mode| &mode.name).collect();
            let bare = |mode: &usize| Index::Affine(Poly::symbol(Symbol::Mode(*mode)));
            statement.combine = Combine::Set;
            statement.left = along.iter().map(bare).collect();
            statement.loops = along.clone();
            statement.folded = Vec::new();
            if let Some(operand) = formula.signature.operands.get_mut(at) {
                let axis = |name: &&String| FormulaAxis::Mode((*name).clone());
                operand.axes = names.iter().map(axis).collect();
            }
            if let Some(operand) = operands.get_mut(at) {
                let axis = |name: &&String| Axis {
                    mode: (*name).clone(),
                    table: None,
                    stride: Stride::Const(0),
                };
                operand.axes = names.iter().map(axis).collect();
                operand.transposed = false;
                operand.apart = Vec::new();
            }
        }
        Terms { formula, operands }
    }

    /// The modes of the tile that run along the coordinates of an operand's tile by themselves.
    pub fn own_places(&self, plan: &Plan, operand: &Operand) -> [Option<usize>; 2] {
        if !is_combined(plan, operand.id) {
            return plan.own_places(operand);
        }
        [0, 1].map(|mode| {
            let name = plan.mode(mode)?;
            let has = operand.axes.iter().any(|axis| axis.mode == name);
            has.then_some(mode)
        })
    }
}

/// Whether an operand is combined with what was there.
fn is_combined(plan: &Plan, operand: OperandId) -> bool {
    plan.computes.formula.role(operand.0) == Role::Combined
}
