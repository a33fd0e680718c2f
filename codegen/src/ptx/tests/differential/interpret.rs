//! The interpreter of programs.

use std::collections::HashMap;

use super::*;

/// One thread of the interpreter.
#[derive(Default)]
struct Thread {
    tid: i64,
    params: [i64; 2],
    vars: HashMap<VarId, i64>,
    data: HashMap<Reg, u32>,
}

impl Thread {
    fn eval(&self, expr: &Expr) -> i64 {
        match expr {
            Expr::Int(value, _) => *value,
            Expr::Var(var) => self.vars[var],
            Expr::Param(param) => self.params[param.0 as usize - 2],
            Expr::Special(_) => self.tid,
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.eval(left), self.eval(right));
                match op {
                    BinOp::Add => left + right,
                    BinOp::Sub => left - right,
                    BinOp::Mul => left * right,
                    BinOp::Div => left / right,
                    BinOp::Rem => left % right,
                    BinOp::And => left & right,
                    BinOp::Or => left | right,
                    BinOp::Xor => left ^ right,
                    BinOp::Min => left.min(right),
                    BinOp::Max => left.max(right),
                    BinOp::Shl => left << right,
                }
            }
            Expr::Compare(op, left, right) => {
                let (left, right) = (self.eval(left), self.eval(right));
                i64::from(match op {
                    CmpOp::Lt => left < right,
                    CmpOp::Le => left <= right,
                    CmpOp::Eq => left == right,
                    CmpOp::Ne => left != right,
                })
            }
            Expr::Select(cond, yes, no) => self.eval(if self.eval(cond) != 0 { yes } else { no }),
            Expr::Convert(IntType::I32, value) => i64::from(self.eval(value) as i32),
            Expr::Convert(_, value) => self.eval(value),
            Expr::Smem => 0,
        }
    }

    fn run(&mut self, stmt: &Stmt, table: &[u32], shared: &mut [u32]) {
        match stmt {
            Stmt::Let(var, value)
            | Stmt::Pin(var, value)
            | Stmt::Uniform(var, value)
            | Stmt::Assign(var, value) => {
                self.vars.insert(*var, self.eval(value));
            }
            Stmt::Get(var, reg) => {
                self.vars.insert(*var, i64::from(self.data[reg] as i32));
            }
            Stmt::Set(reg, Scalar::Bits(bits)) => {
                self.data.insert(*reg, *bits as u32);
            }
            Stmt::Set(reg, Scalar::Int(value)) => {
                self.data.insert(*reg, self.eval(value) as u32);
            }
            Stmt::Set(reg, Scalar::Reg(from)) => {
                let value = self.data[from];
                self.data.insert(*reg, value);
            }
            Stmt::Set(_, Scalar::Param(param)) => {
                panic!("programs grow no scalar {}", param.0)
            }
            Stmt::Zero(regs) => self.data.extend(regs.iter().map(|&reg| (reg, 0))),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let body = if self.eval(cond) != 0 {
                    then
                } else {
                    otherwise
                };
                body.iter().for_each(|stmt| self.run(stmt, table, shared));
            }
            Stmt::For {
                var,
                from,
                to,
                step,
                body,
            } => {
                let (to, step) = (self.eval(to), self.eval(step));
                let mut at = self.eval(from);
                while at < to {
                    self.vars.insert(*var, at);
                    body.iter().for_each(|stmt| self.run(stmt, table, shared));
                    at += step;
                }
            }
            Stmt::Atom { args, .. } => self.access(args, table, shared),
            Stmt::From(_) => {}
        }
    }

    fn access(&mut self, args: &[Arg], table: &[u32], shared: &mut [u32]) {
        match args {
            [Arg::Regs(regs), Arg::Address(from)] => {
                let at = (self.eval(&from.offset) + from.imm) as usize / 4;
                let value = if from.space == Space::Gmem {
                    table[at]
                } else {
                    shared[at]
                };
                self.data.insert(regs[0], value);
            }
            [Arg::Address(to), Arg::Regs(regs)] if to.space == Space::Smem => {
                shared[(self.eval(&to.offset) + to.imm) as usize / 4] = self.data[&regs[0]];
            }
            _ => {}
        }
    }
}

/// What every thread stores, by the interpreter. Statements run for all threads one after the
/// other, which is right as threads meet only in barriers of the outermost body.
pub(super) fn interpreted(
    program: &Program,
    data: &[Reg],
    params: [i64; 2],
    table: &[u32],
) -> Vec<u32> {
    let mut shared = vec![0; THREADS];
    let mut threads: Vec<Thread> = (0..THREADS)
        .map(|tid| Thread {
            tid: tid as i64,
            params,
            ..Thread::default()
        })
        .collect();
    for stmt in &program.body {
        threads
            .iter_mut()
            .for_each(|thread| thread.run(stmt, table, &mut shared));
    }
    threads
        .iter()
        .flat_map(|thread| data.iter().map(|reg| thread.data[reg]))
        .collect()
}
