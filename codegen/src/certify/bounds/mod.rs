//! Every access to global memory is shown to stay inside, for every problem.
//!
//! The thread program is walked in the order a thread runs it. Values of its variables are kept as
//! polynomials (`values`), each test on the way to an access adds to what is known (`terms`). The
//! coordinates that an access carries must be shown to give its address (`access`), and each of
//! them to be no less than 0 and below its extent (`prove`, by `search`). Tensor maps are cut by
//! the hardware; scratch memory has the size that the launch gives it (`launch`).

mod poly;
mod terms;
mod search;
mod prove;
mod values;
mod launch;
mod access;
mod tiles;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::ir::thread::program::{Arg, BinOp, Expr, IntType, Program, Stmt, VarId};
use crate::ir::thread::text;
use crate::plan::data::model::Plan;
use access::{Limits, Proof};
use poly::{Poly, Range};
use prove::ORDINARY;
use terms::{Cond, Known, Value};

/// How the accesses are kept inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// By tests on their way.
    pub by_predicate: u32,
    /// By their count of valid bytes.
    pub by_size: u32,
    /// By tensor maps.
    pub by_map: u32,
    /// By the size of scratch memory.
    pub by_scratch: u32,
}

impl Guards {
    /// All of them.
    pub fn all(&self) -> u32 {
        self.by_predicate + self.by_size + self.by_map + self.by_scratch
    }
}

/// Counts the accesses, all shown to stay inside, or names the first that is not.
pub(super) fn check(plan: &Plan, program: &Program) -> Result<Guards, String> {
    let mut known = Known::new(program);
    let scratch = known.launch(plan)?;
    let mut walk = Walk {
        known,
        limits: Limits { plan, scratch },
        guards: Guards::default(),
    };
    walk.body(&program.body)?;
    Ok(walk.guards)
}

struct Walk<'p> {
    known: Known<'p>,
    limits: Limits<'p>,
    guards: Guards,
}

impl Walk<'_> {
    fn body(&mut self, body: &[Stmt]) -> Result<(), String> {
        body.iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), String> {
        let known = &mut self.known;
        match statement {
            Stmt::Let(var, value) | Stmt::Pin(var, value) | Stmt::Assign(var, value) => {
                let value = known.value(value);
                let value = known.bounded(value);
                known.vars.insert(*var, value);
            }
            Stmt::Uniform(var, value) => {
                let mut value = known.int(value);
                if known.varies(&value) {
                    let range = known.range(&value);
                    value = known.unknown(range);
                }
                known.vars.insert(*var, Value::Int(value));
            }
            // Whatever is in memory.
            Stmt::Get(var, _) => {
                let any = Range::new(i128::from(i32::MIN), i128::from(i32::MAX));
                let any = known.unknown(any);
                known.vars.insert(*var, Value::Int(any));
            }
            Stmt::For {
                var,
                from,
                to,
                step,
                body,
            } => self.for_each(*var, [from, to, step], body)?,
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = known.cond(cond);
                self.way(&cond, then)?;
                self.way(&cond.negated(), otherwise)?;
                self.forget([then.as_slice(), otherwise].concat().as_slice());
            }
            Stmt::Atom { atom, args } => {
                for arg in args {
                    if let Arg::Predicate(var) = arg {
                        let open = Value::Pred(known.open());
                        known.vars.insert(*var, open);
                    }
                }
                let ways = self.limits.check(&mut self.known, atom, args);
                let ways = ways.map_err(|message| {
                    let text = text::statement(self.known.program, statement);
                    format!("no test shows it inside: {message}: {text}")
                })?;
                for way in ways {
                    *match way {
                        Proof::Tests => &mut self.guards.by_predicate,
                        Proof::Size => &mut self.guards.by_size,
                        Proof::Map => &mut self.guards.by_map,
                        Proof::Scratch => &mut self.guards.by_scratch,
                    } += 1;
                }
            }
            Stmt::Zero(_) | Stmt::Set(..) | Stmt::From(_) => {}
        }
        Ok(())
    }

    /// One way of a branch.
    fn way(&mut self, cond: &Cond, body: &[Stmt]) -> Result<(), String> {
        if body.is_empty() {
            return Ok(());
        }
        let before = assigned(body).into_keys().collect::<Vec<_>>();
        let before: Vec<_> = before
            .into_iter()
            .map(|var| (var, self.known.vars.get(&var).cloned()))
            .collect();
        let scope = self.known.enter();
        self.known.pass(cond);
        let done = self.body(body);
        self.known.leave(scope);
        for (var, value) in before {
            match value {
                Some(value) => self.known.vars.insert(var, value),
                None => self.known.vars.remove(&var),
            };
        }
        done
    }

    /// What the statements assign is not known any more.
    fn forget(&mut self, body: &[Stmt]) {
        for var in assigned(body).into_keys() {
            let any = self.known.unknown(Range::ALL);
            self.known.vars.insert(var, Value::Int(any));
        }
    }

    /// Any one trip of a loop. A variable to which every trip adds the same number is what it was
    /// before, that number times the trips made; of others nothing is known.
    fn for_each(
        &mut self,
        var: VarId,
        [from, to, step]: [&Expr; 3],
        body: &[Stmt],
    ) -> Result<(), String> {
        let known = &mut self.known;
        let [from, to, step] = [from, to, step].map(|expr| known.int(expr));
        let steps = assigned(body);
        let start: Vec<(VarId, Option<i64>, Poly)> = steps
            .into_iter()
            .map(|(var, step)| (var, step, known.int(&Expr::Var(var))))
            .collect();
        let scope = known.enter();
        let index = known.unknown(Range::ALL);
        known.learn(to.plus(-1, &index).plus_constant(-1));
        let forward = known.proves(&step, ORDINARY);
        if forward {
            known.learn(index.plus(-1, &from));
        }
        let trips = match step.as_constant() {
            Some(1) => index.plus(-1, &from),
            _ => known.unknown(Range::NATURAL),
        };
        known.vars.insert(var, Value::Int(index));
        self.carried(&start, &trips);
        let done = self.body(body);
        self.known.leave(scope);
        let trips = self.known.unknown(Range::NATURAL);
        self.carried(&start, &trips);
        done
    }

    /// Gives variables what they hold after so many trips.
    fn carried(&mut self, start: &[(VarId, Option<i64>, Poly)], trips: &Poly) {
        for (var, step, from) in start {
            let now = match step {
                Some(step) => from.plus(i128::from(*step), trips),
                None => self.known.unknown(Range::ALL),
            };
            self.known.vars.insert(*var, Value::Int(now));
        }
    }
}

/// The variables that a body assigns, with the number that each run of it adds, where it does
/// nothing else to them.
fn assigned(body: &[Stmt]) -> BTreeMap<VarId, Option<i64>> {
    let mut found = BTreeMap::new();
    for statement in body {
        match statement {
            Stmt::Assign(var, value) => {
                let before = found.entry(*var).or_insert(Some(0));
                *before = before.zip(added(*var, value)).map(|(a, b)| a + b);
            }
            Stmt::For { body, .. } => {
                found.extend(assigned(body).into_keys().map(|var| (var, None)));
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                for body in [then, otherwise] {
                    found.extend(assigned(body).into_keys().map(|var| (var, None)));
                }
            }
            Stmt::Let(..)
            | Stmt::Pin(..)
            | Stmt::Uniform(..)
            | Stmt::Get(..)
            | Stmt::Zero(_)
            | Stmt::Set(..)
            | Stmt::Atom { .. }
            | Stmt::From(_) => {}
        }
    }
    found
}

/// What an assignment adds to the variable.
fn added(var: VarId, value: &Expr) -> Option<i64> {
    let Expr::Binary(op, a, b) = value else {
        return None;
    };
    match (op, a.as_ref(), b.as_ref()) {
        (BinOp::Add, Expr::Var(own), Expr::Int(by, ty)) if *own == var && *ty != IntType::I1 => {
            Some(*by)
        }
        (BinOp::Sub, Expr::Var(own), Expr::Int(by, ty)) if *own == var && *ty != IntType::I1 => {
            by.checked_neg()
        }
        _ => None,
    }
}
