//! Every address is a multiple of what its atom demands.
//!
//! Each expression has a known divisor, computed bottom-up: constants divide themselves, sums take
//! the greatest common divisor, products multiply, strides take theirs from the plan's assumptions.
//! A mutable variable's divisor is the greatest common divisor of all it is assigned, found by
//! iteration from above.

use std::collections::HashMap;

use crate::ir::thread::program::{
    Address, Arg, Base, BinOp, Expr, ParamType, Program, Stmt, VarId,
};
use crate::plan::copies::packed_weights::row_unit;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;

/// Divisor of an expression; 0 stands for the value 0, which everything divides.
struct Divisors<'p> {
    plan: &'p Plan,
    program: &'p Program,
    vars: HashMap<VarId, i64>,
}

/// Counts the addresses shown to be aligned, or names the first that is not.
pub(in crate::certify) fn check(plan: &Plan, program: &Program) -> Result<u32, String> {
    let mut divisors = Divisors {
        plan,
        program,
        vars: HashMap::new(),
    };
    let assignments = assignments(&program.body);
    loop {
        let mut changed = false;
        for (var, value) in &assignments {
            let old = divisors.vars.get(var).copied().unwrap_or(0);
            let new = gcd(old, value.map_or(1, |value| divisors.of(value)));
            if new != old || !divisors.vars.contains_key(var) {
                divisors.vars.insert(*var, new);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut count = 0;
    divisors.walk(&program.body, &mut count)?;
    Ok(count)
}

/// Variables with what they are given; none where it may be anything.
fn assignments(body: &[Stmt]) -> Vec<(VarId, Option<&Expr>)> {
    let mut found = Vec::new();
    for statement in body {
        match statement {
            Stmt::Let(var, value)
            | Stmt::Pin(var, value)
            | Stmt::Uniform(var, value)
            | Stmt::Assign(var, value) => {
                found.push((*var, Some(value)));
            }
            Stmt::Get(var, _) => found.push((*var, None)),
            Stmt::For {
                var,
                from,
                step,
                body,
                ..
            } => {
                found.push((*var, Some(from)));
                found.push((*var, Some(step)));
                found.extend(assignments(body));
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                found.extend(assignments(then));
                found.extend(assignments(otherwise));
            }
            _ => {}
        }
    }
    found
}

impl Divisors<'_> {
    fn of(&self, expr: &Expr) -> i64 {
        match expr {
            Expr::Int(value, _) => value.checked_abs().unwrap_or(1),
            Expr::Var(var) => self.vars.get(var).copied().unwrap_or(0),
            Expr::Param(param) => self.param(param.0 as usize),
            Expr::Special(_) | Expr::Compare(..) => 1,
            Expr::Smem => i64::from(self.program.smem_align_bytes),
            Expr::Convert(_, inner) => self.of(inner),
            Expr::Select(_, a, b) => gcd(self.of(a), self.of(b)),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
        }
    }

    fn binary(&self, op: BinOp, a: &Expr, b: &Expr) -> i64 {
        let (x, y) = (self.of(a), self.of(b));
        match op {
            BinOp::Add | BinOp::Sub | BinOp::Min | BinOp::Max => gcd(x, y),
            BinOp::Mul => x.checked_mul(y).unwrap_or_else(|| power_of_two(x)),
            BinOp::Or | BinOp::Xor => gcd(power_of_two(x), power_of_two(y)),
            BinOp::And => power_of_two(x).max(power_of_two(y)),
            BinOp::Div => match b {
                Expr::Int(by, _) if *by > 0 && x % by == 0 => x / by,
                _ => 1,
            },
            BinOp::Rem => gcd(x, y),
            BinOp::Shl => x,
        }
    }

    fn param(&self, index: usize) -> i64 {
        let Some(param) = self.program.params.get(index) else {
            return 1;
        };
        let assumed = self
            .plan
            .assumptions
            .iter()
            .filter_map(|assumption| match assumption {
                Assumption::StrideMultiple {
                    stride, multiple, ..
                } if *stride == param.name => Some(*multiple),
                _ => None,
            });
        let padded = self.plan.packed_by(&param.name).map(row_unit);
        assumed.chain(padded).max().unwrap_or(1)
    }

    fn base(&self, address: &Address) -> i64 {
        match address.base {
            Base::Smem => i64::from(self.program.smem_align_bytes),
            Base::Param(param) => match self
                .program
                .params
                .get(param.0 as usize)
                .map(|param| param.ty)
            {
                Some(ParamType::Pointer { align_bytes, .. }) => i64::from(align_bytes),
                _ => 1,
            },
        }
    }

    fn walk(&self, body: &[Stmt], count: &mut u32) -> Result<(), String> {
        for statement in body {
            match statement {
                Stmt::For { body, .. } => self.walk(body, count)?,
                Stmt::If {
                    then, otherwise, ..
                } => {
                    self.walk(then, count)?;
                    self.walk(otherwise, count)?;
                }
                Stmt::Atom { atom, args } => {
                    for (operand, arg) in atom.operands.iter().zip(args) {
                        let Arg::Address(address) = arg else { continue };
                        let parts = [
                            self.of(&address.offset),
                            address.imm.abs(),
                            self.base(address),
                        ];
                        let known = parts.into_iter().fold(0, gcd);
                        let wanted = operand.align_bytes.unwrap_or(atom.align_bytes);
                        let wanted = i64::from(wanted);
                        if known != 0 && known % wanted != 0 {
                            return Err(format!(
                                "{} needs addresses aligned to {wanted} bytes, {known} is shown",
                                atom.id
                            ));
                        }
                        *count += 1;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The largest power of two that divides the number; 0 for 0.
fn power_of_two(x: i64) -> i64 {
    x & x.wrapping_neg()
}
