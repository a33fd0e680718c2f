//! The text form of a thread program.

use std::fmt;

use crate::ir::program::{
    Address, Arg, Base, BinOp, CmpOp, Expr, IntType, ParamType, Program, Reg, Special, Stmt,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "program {} {{", self.entry)?;
        for param in &self.params {
            match param.ty {
                ParamType::Pointer {
                    align_bytes,
                    readonly,
                } => {
                    let access = if readonly { "in" } else { "out" };
                    writeln!(
                        f,
                        "  param {}: pointer {access} align {align_bytes}",
                        param.name
                    )?;
                }
                ParamType::I32 => writeln!(f, "  param {}: i32", param.name)?,
                ParamType::I64 => writeln!(f, "  param {}: i64", param.name)?,
                ParamType::TensorMap => writeln!(f, "  param {}: tensor map", param.name)?,
            }
        }
        writeln!(f, "  threads {}", self.threads)?;
        if self.smem_bytes > 0 {
            writeln!(
                f,
                "  smem {} bytes align {}",
                self.smem_bytes, self.smem_align_bytes
            )?;
        }
        for file in &self.files {
            writeln!(f, "  registers {}: {:?} x {}", file.name, file.ty, file.len)?;
        }
        Text { program: self }.block(f, &self.body, 1)?;
        writeln!(f, "}}")
    }
}

struct Text<'p> {
    program: &'p Program,
}

impl Text<'_> {
    fn block(&self, f: &mut fmt::Formatter<'_>, body: &[Stmt], depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        for statement in body {
            match statement {
                Stmt::Let(var, value) => {
                    writeln!(f, "{pad}let {} = {}", self.var(var.0), self.expr(value))?;
                }
                Stmt::Pin(var, value) => {
                    writeln!(f, "{pad}pin {} = {}", self.var(var.0), self.expr(value))?;
                }
                Stmt::Uniform(var, value) => {
                    writeln!(f, "{pad}uniform {} = {}", self.var(var.0), self.expr(value))?;
                }
                Stmt::Elect(var) => writeln!(f, "{pad}elect {}", self.var(var.0))?,
                Stmt::Assign(var, value) => {
                    writeln!(f, "{pad}{} := {}", self.var(var.0), self.expr(value))?;
                }
                Stmt::For {
                    var,
                    from,
                    to,
                    step,
                    body,
                } => {
                    let (from, to, step) = (self.expr(from), self.expr(to), self.expr(step));
                    writeln!(
                        f,
                        "{pad}for {} in {from}..{to} step {step} {{",
                        self.var(var.0)
                    )?;
                    self.block(f, body, depth + 1)?;
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    writeln!(f, "{pad}if {} {{", self.expr(cond))?;
                    self.block(f, then, depth + 1)?;
                    if !otherwise.is_empty() {
                        writeln!(f, "{pad}}} else {{")?;
                        self.block(f, otherwise, depth + 1)?;
                    }
                    writeln!(f, "{pad}}}")?;
                }
                Stmt::Zero(registers) => writeln!(f, "{pad}zero {}", self.registers(registers))?,
                Stmt::Atom { atom, args } => {
                    let args: Vec<String> = args.iter().map(|arg| self.arg(arg)).collect();
                    writeln!(f, "{pad}{} {}", atom.id, args.join(", "))?;
                }
                Stmt::Comment(text) => writeln!(f, "{pad}// {text}")?,
            }
        }
        Ok(())
    }

    fn var(&self, index: u32) -> String {
        match self.program.vars.get(index as usize) {
            Some(var) => format!("{}.{index}", var.name),
            None => format!("?.{index}"),
        }
    }

    fn param(&self, index: u32) -> &str {
        self.program
            .params
            .get(index as usize)
            .map_or("?", |param| param.name.as_str())
    }

    /// Runs of consecutive registers print as one range.
    fn registers(&self, registers: &[Reg]) -> String {
        let name = |file: u32| {
            self.program
                .files
                .get(file as usize)
                .map_or("?", |f| f.name.as_str())
        };
        let mut parts = Vec::new();
        let mut rest = registers;
        while let Some(first) = rest.first() {
            let run = rest
                .iter()
                .zip(first.index..)
                .take_while(|(register, index)| {
                    register.file == first.file && register.index == *index
                })
                .count();
            let range = match run {
                1 => format!("{}[{}]", name(first.file), first.index),
                _ => format!(
                    "{}[{}..{}]",
                    name(first.file),
                    first.index,
                    first.index + run as u32
                ),
            };
            parts.push(range);
            rest = &rest[run..];
        }
        parts.join("+")
    }

    fn arg(&self, arg: &Arg) -> String {
        match arg {
            Arg::Regs(registers) => self.registers(registers),
            Arg::Address(address) => self.address(address),
            Arg::Int(value) => self.expr(value),
            Arg::Ints(values) => {
                let values: Vec<String> = values.iter().map(|value| self.expr(value)).collect();
                format!("({})", values.join(", "))
            }
            Arg::Imm(value) => value.to_string(),
            Arg::Imms(values) => format!("{values:?}"),
            Arg::TensorMap(param) => self.param(param.0).to_string(),
        }
    }

    fn address(&self, address: &Address) -> String {
        let base = match address.base {
            Base::Param(param) => self.param(param.0),
            Base::Smem => "smem",
        };
        format!(
            "[{base} + {} + {}]",
            self.expr(&address.offset),
            address.imm
        )
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Int(value, _) => value.to_string(),
            Expr::Var(var) => self.var(var.0),
            Expr::Param(param) => self.param(param.0).to_string(),
            Expr::Special(special) => special_name(*special).to_string(),
            Expr::Smem => "smem".to_string(),
            Expr::Binary(op, a, b) => match op {
                BinOp::Min => format!("min({}, {})", self.expr(a), self.expr(b)),
                BinOp::Max => format!("max({}, {})", self.expr(a), self.expr(b)),
                _ => format!("({} {} {})", self.expr(a), operator(*op), self.expr(b)),
            },
            Expr::Compare(op, a, b) => {
                let op = match op {
                    CmpOp::Lt => "<",
                    CmpOp::Le => "<=",
                    CmpOp::Eq => "==",
                    CmpOp::Ne => "!=",
                };
                format!("({} {op} {})", self.expr(a), self.expr(b))
            }
            Expr::Select(cond, a, b) => {
                format!(
                    "({} ? {} : {})",
                    self.expr(cond),
                    self.expr(a),
                    self.expr(b)
                )
            }
            Expr::Convert(ty, inner) => {
                let ty = match ty {
                    IntType::I1 => "i1",
                    IntType::I32 => "i32",
                    IntType::I64 => "i64",
                };
                format!("{ty}({})", self.expr(inner))
            }
        }
    }
}

fn special_name(special: Special) -> &'static str {
    match special {
        Special::TidX => "tid.x",
        Special::CtaidX => "ctaid.x",
        Special::CtaidY => "ctaid.y",
        Special::CtaidZ => "ctaid.z",
        Special::NctaidX => "nctaid.x",
    }
}

fn operator(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Min => "min",
        BinOp::Max => "max",
        BinOp::Shl => "<<",
    }
}
