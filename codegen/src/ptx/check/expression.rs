//! Types of expressions.

use super::{Checker, MAX_DEPTH, clipped, node};
use crate::ir::thread::program::{BinOp, Expr, IntType, ParamType};

impl<'p> Checker<'p> {
    pub(super) fn expect(&mut self, expr: &'p Expr, wanted: IntType) {
        if let Some(ty) = self.type_of(expr, 0)
            && ty != wanted
        {
            let shown = clipped(400, format_args!("{expr:?}"));
            self.problem(format!(
                "an expression is {ty:?} where {wanted:?} is needed: {shown}"
            ));
        }
    }

    /// The type of an expression, or `None` after reporting what is wrong with it.
    fn type_of(&mut self, expr: &'p Expr, depth: usize) -> Option<IntType> {
        if let Some(&ty) = self.types.get(&node(expr)) {
            return Some(ty);
        }
        if depth > MAX_DEPTH {
            self.problem(format!("expressions nest deeper than {MAX_DEPTH}"));
            return None;
        }
        let ty = self.type_of_node(expr, depth + 1);
        match ty {
            Ok(ty) => {
                self.types.insert(node(expr), ty);
                Some(ty)
            }
            Err(Some(problem)) => {
                self.problem(problem);
                None
            }
            Err(None) => None,
        }
    }

    fn type_of_node(&mut self, expr: &'p Expr, depth: usize) -> Result<IntType, Option<String>> {
        let program = self.program;
        let bad = |what: &str| Err(Some(clipped(400, format_args!("{what}: {expr:?}"))));
        match expr {
            Expr::Int(value, ty) => match ty {
                IntType::I1 if !(0..=1).contains(value) => bad("no predicate"),
                IntType::I32 if i32::try_from(*value).is_err() => bad("no 32-bit integer"),
                _ => Ok(*ty),
            },
            Expr::Var(var) => match program.vars.get(var.0 as usize) {
                Some(decl) => Ok(decl.ty),
                None => bad("no such variable"),
            },
            Expr::Param(param) => {
                match program.params.get(param.0 as usize).map(|param| param.ty) {
                    Some(ParamType::I32) => Ok(IntType::I32),
                    Some(ParamType::I64) => Ok(IntType::I64),
                    _ => bad("no such scalar parameter"),
                }
            }
            Expr::Special(_) => Ok(IntType::I32),
            Expr::Smem if program.smem_bytes == 0 => bad("the kernel has no shared memory"),
            Expr::Smem => Ok(IntType::I32),
            Expr::Binary(BinOp::Div | BinOp::Rem, _, by) if matches!(**by, Expr::Int(..=0, _)) => {
                bad("a division by no positive number")
            }
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.type_of(left, depth), self.type_of(right, depth));
                let logical = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor);
                match (left.ok_or(None)?, right.ok_or(None)?) {
                    (left, right) if left != right => bad("operands of two types"),
                    (IntType::I1, _) if !logical => bad("arithmetic on predicates"),
                    (ty, _) => Ok(ty),
                }
            }
            Expr::Compare(_, left, right) => {
                let (left, right) = (self.type_of(left, depth), self.type_of(right, depth));
                if left.ok_or(None)? == right.ok_or(None)? {
                    Ok(IntType::I1)
                } else {
                    bad("operands of two types")
                }
            }
            Expr::Select(cond, yes, no) => {
                let cond = self.type_of(cond, depth);
                let (yes, no) = (self.type_of(yes, depth), self.type_of(no, depth));
                match (cond.ok_or(None)?, yes.ok_or(None)?, no.ok_or(None)?) {
                    (IntType::I1, yes, no) if yes == no => Ok(yes),
                    _ => bad("a selection of two types or by no predicate"),
                }
            }
            Expr::Convert(to, value) => match (self.type_of(value, depth).ok_or(None)?, *to) {
                (IntType::I1, _) | (_, IntType::I1) => {
                    bad("a conversion of a predicate; use a selection")
                }
                (_, to) => Ok(to),
            },
        }
    }
}
