//! What a launch guarantees: extents, the size of the grid, the size of scratch memory.

use std::collections::HashMap;

use tilewright_bundle::{Expr, ExprStep};

use super::poly::{Poly, Range};
use super::terms::{Known, Term};
use crate::atoms::model::{Atom, OperandKind};
use crate::ir::thread::program::{Arg, ParamType, Special};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;

impl Known<'_> {
    /// Learns what every launch of the kernel guarantees. Out comes the size of scratch memory in
    /// bytes.
    pub(super) fn launch(&mut self, plan: &Plan) -> Result<Option<Poly>, String> {
        for (index, param) in (0..).zip(&self.program.params) {
            let range = match param.ty {
                // The runtime takes no problem without elements.
                ParamType::I32 => Range::new(1, most_extent(plan, &param.name)),
                // Strides.
                ParamType::I64 => Range::NATURAL,
                ParamType::Pointer { .. } | ParamType::TensorMap | ParamType::Scalar(_) => {
                    Range::ALL
                }
            };
            self.term(Term::Param(index), range, Vec::new());
        }
        let mut free = HashMap::new();
        let ctas = self.launched(&plan.work.grid(), &mut free)?;
        let scratch = match plan.workspace() {
            Some(bytes) => Some(self.launched(&bytes, &mut free)?),
            None => None,
        };
        self.grid = Some(ctas.clone());
        let cta = self.term(Term::Special(Special::CtaidX), Range::NATURAL, Vec::new());
        self.learn(ctas.plus(-1, &cta).plus_constant(-1));
        Ok(scratch)
    }

    /// The value of a launch expression.
    fn launched(&mut self, expr: &Expr, free: &mut HashMap<String, Poly>) -> Result<Poly, String> {
        let mut stack: Vec<Poly> = Vec::new();
        let ends = || format!("`{expr}` ends early");
        for step in expr.steps() {
            let value = match step {
                ExprStep::Const(value) => Poly::constant(i128::from(*value)),
                ExprStep::Word(word) => self.named(expr.word(*word), free),
                ExprStep::Neg => stack.pop().ok_or_else(ends)?.scaled(-1),
                _ => {
                    let (b, a) = (stack.pop().ok_or_else(ends)?, stack.pop().ok_or_else(ends)?);
                    self.stepped(*step, a, b)
                        .ok_or_else(|| format!("`{expr}` cannot be reckoned with"))?
                }
            };
            stack.push(value);
        }
        stack.pop().ok_or_else(ends)
    }

    fn stepped(&mut self, step: ExprStep, a: Poly, b: Poly) -> Option<Poly> {
        Some(match step {
            ExprStep::Add => a.plus(1, &b),
            ExprStep::Sub => a.plus(-1, &b),
            ExprStep::Mul => a.times(&b)?,
            ExprStep::Min => self.least(a, b),
            ExprStep::CeilDiv if self.range(&a).lo >= 0 => match b.as_constant()? {
                1 => a,
                by if by > 0 => self.ceiling(&a, by),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The parameter of that name, or some positive number that the device decides.
    fn named(&mut self, name: &str, free: &mut HashMap<String, Poly>) -> Poly {
        if let Some(param) = self.param(name) {
            return param;
        }
        if let Some(value) = free.get(name) {
            return value.clone();
        }
        let value = self.unknown(Range::new(1, i128::from(u32::MAX)));
        free.insert(name.to_owned(), value.clone());
        value
    }

    /// The parameter of that name.
    pub(super) fn param(&mut self, name: &str) -> Option<Poly> {
        let params = &self.program.params;
        let index = params.iter().position(|param| param.name == name)?;
        Some(self.term(Term::Param(index as u32), Range::ALL, Vec::new()))
    }
}

/// The largest extent of a mode that launches take.
fn most_extent(plan: &Plan, name: &str) -> i128 {
    let most = plan.assumptions.iter().filter_map(|one| match one {
        Assumption::ExtentMost { mode, most, .. } if mode == name => Some(i128::from(*most)),
        _ => None,
    });
    most.min().unwrap_or(i128::from(i32::MAX))
}

/// Bytes that one call of an atom moves for one thread.
pub(super) fn access_bytes(atom: &Atom) -> Result<u32, String> {
    let copy = atom.copy.as_ref();
    let plain = copy.filter(|copy| copy.bulk.is_none() && copy.tensor.is_none());
    let bytes = plain.map(|copy| copy.access_bytes);
    bytes.ok_or_else(|| format!("how many bytes {} moves is not known", atom.id))
}

/// Distances from the address, and bytes, of what an atom touches in scratch memory: all its
/// registers in a row, or as many parts as it has distances; one aligned word, or one at each
/// distance, where its registers are not counted.
pub(super) fn in_scratch(atom: &Atom, args: &[Arg]) -> Vec<(i128, i128)> {
    let bits = atom.operands.iter().map(|operand| match operand.kind {
        OperandKind::RegsIn { ty, count }
        | OperandKind::RegsOut { ty, count }
        | OperandKind::RegsInOut { ty, count } => i128::from(ty.bits() * count),
        _ => 0,
    });
    let counted = bits.sum::<i128>() / 8;
    let word = i128::from(atom.align_bytes);
    let distances = args.iter().find_map(|arg| match arg {
        Arg::Imms(distances) => Some(distances),
        _ => None,
    });
    match distances {
        None if counted == 0 => vec![(0, word)],
        None => vec![(0, counted)],
        Some(distances) => {
            let each = match counted {
                0 => word,
                counted => counted / (distances.len().max(1) as i128),
            };
            let places = distances.iter().map(|at| (i128::from(*at), each));
            places.collect()
        }
    }
}
