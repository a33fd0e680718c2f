//! The text forms of a thread program: with its names, and without them.

use std::collections::HashMap;
use std::fmt;

use crate::ir::thread::program::{
    Address, Arg, Base, BinOp, CmpOp, Expr, IntType, ParamType, Program, Reg, Scalar, Special,
    Stmt, VarId,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "program {} {{", self.entry)?;
        let names = Names::given(self);
        header(f, self, &names)?;
        Text { names }.block(f, &self.body, 1)?;
        writeln!(f, "}}")
    }
}

/// The program without the names of its entry, parameters, variables and register files, and
/// without remarks: two programs of one such text become the same PTX, but for the entry's name.
///
/// Parameters, register files and mutable variables are numbered as they are declared, immutable
/// variables as they are defined; variables carry their types.
#[derive(Clone, Copy, Debug)]
pub struct Nameless<'p>(pub &'p Program);

impl fmt::Display for Nameless<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Nameless(program) = self;
        writeln!(f, "program {{")?;
        let names = Names::numbers(program);
        header(f, program, &names)?;
        if let Some(ctas) = program.min_ctas_per_sm {
            writeln!(f, "  at least {ctas} CTAs to an SM")?;
        }
        Text { names }.block(f, &program.body, 1)?;
        writeln!(f, "}}")
    }
}

/// A statement of the program, with the names that were given.
pub fn statement(program: &Program, statement: &Stmt) -> String {
    struct Line<'t>(Text, &'t Stmt);
    impl fmt::Display for Line<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.block(f, std::slice::from_ref(self.1), 0)
        }
    }
    let names = Names::given(program);
    Line(Text { names }, statement)
        .to_string()
        .trim_end()
        .to_owned()
}

/// An expression of the program, with the names that were given.
pub fn expression(program: &Program, expr: &Expr) -> String {
    let names = Names::given(program);
    Text { names }.expr(expr)
}

/// Everything but the statements.
fn header(f: &mut fmt::Formatter<'_>, program: &Program, names: &Names) -> fmt::Result {
    for (param, name) in program.params.iter().zip(&names.params) {
        match param.ty {
            ParamType::Pointer {
                align_bytes,
                readonly,
                shared,
            } => {
                let access = match (readonly, shared) {
                    (true, _) => "in",
                    (false, false) => "out",
                    (false, true) => "shared",
                };
                writeln!(f, "  param {name}: pointer {access} align {align_bytes}")?;
            }
            ParamType::I32 => writeln!(f, "  param {name}: i32")?,
            ParamType::I64 => writeln!(f, "  param {name}: i64")?,
            ParamType::Scalar(dtype) => writeln!(f, "  param {name}: {dtype}")?,
            ParamType::TensorMap => writeln!(f, "  param {name}: tensor map")?,
        }
    }
    writeln!(f, "  threads {}", program.threads)?;
    if program.smem_bytes > 0 {
        let (bytes, align) = (program.smem_bytes, program.smem_align_bytes);
        writeln!(f, "  smem {bytes} bytes align {align}")?;
    }
    for (file, name) in program.files.iter().zip(&names.files) {
        writeln!(f, "  registers {name}: {:?} x {}", file.ty, file.len)?;
    }
    Ok(())
}

/// What the text calls things.
struct Names {
    params: Vec<String>,
    files: Vec<String>,
    vars: HashMap<VarId, String>,
    remarks: bool,
}

impl Names {
    /// The names that were given, variables with their number.
    fn given(program: &Program) -> Names {
        let vars = (0..).zip(&program.vars);
        Names {
            params: (program.params.iter().map(|param| param.name.clone())).collect(),
            files: (program.files.iter().map(|file| file.name.clone())).collect(),
            vars: vars
                .map(|(index, var)| (VarId(index), format!("{}.{index}", var.name)))
                .collect(),
            remarks: true,
        }
    }

    /// Numbers alone.
    fn numbers(program: &Program) -> Names {
        let numbered = |letter: &str, count: usize| -> Vec<String> {
            (0..count).map(|at| format!("{letter}{at}")).collect()
        };
        let (mut vars, mut immutable) = (HashMap::new(), Vec::new());
        defined(&program.body, &mut immutable);
        let mutable = (0..).zip(&program.vars).filter(|(_, var)| var.mutable);
        let mutable: Vec<VarId> = mutable.map(|(index, _)| VarId(index)).collect();
        for (letter, ids) in [("s", mutable), ("v", immutable)] {
            for (number, id) in ids.into_iter().enumerate() {
                let ty = program.vars.get(id.0 as usize).map(|var| var.ty);
                let ty = ty.map_or("?", type_name);
                vars.insert(id, format!("{letter}{number}.{ty}"));
            }
        }
        Names {
            params: numbered("p", program.params.len()),
            files: numbered("r", program.files.len()),
            vars,
            remarks: false,
        }
    }

    fn param(&self, index: u32) -> &str {
        self.params.get(index as usize).map_or("?", String::as_str)
    }
}

/// Variables in the order of their definitions.
fn defined(body: &[Stmt], out: &mut Vec<VarId>) {
    for statement in body {
        match statement {
            Stmt::Let(var, _) | Stmt::Pin(var, _) | Stmt::Uniform(var, _) | Stmt::Get(var, _) => {
                out.push(*var);
            }
            Stmt::Atom { args, .. } => out.extend(args.iter().filter_map(|arg| match arg {
                Arg::Predicate(var) => Some(*var),
                _ => None,
            })),
            Stmt::For { var, body, .. } => {
                out.push(*var);
                defined(body, out);
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                defined(then, out);
                defined(otherwise, out);
            }
            Stmt::Assign(..) | Stmt::Zero(_) | Stmt::Set(..) | Stmt::From(_) => {}
        }
    }
}

struct Text {
    names: Names,
}

impl Text {
    fn block(&self, f: &mut fmt::Formatter<'_>, body: &[Stmt], depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        for statement in body {
            match statement {
                Stmt::Let(var, value) => {
                    writeln!(f, "{pad}let {} = {}", self.var(*var), self.expr(value))?;
                }
                Stmt::Pin(var, value) => {
                    writeln!(f, "{pad}pin {} = {}", self.var(*var), self.expr(value))?;
                }
                Stmt::Uniform(var, value) => {
                    writeln!(f, "{pad}uniform {} = {}", self.var(*var), self.expr(value))?;
                }
                Stmt::Get(var, register) => {
                    let register = self.registers(&[*register]);
                    writeln!(f, "{pad}get {} = {register}", self.var(*var))?;
                }
                Stmt::Assign(var, value) => {
                    writeln!(f, "{pad}{} := {}", self.var(*var), self.expr(value))?;
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
                        self.var(*var)
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
                Stmt::Set(register, scalar) => {
                    let scalar = match scalar {
                        Scalar::Bits(bits) => format!("{bits:#x}"),
                        Scalar::Int(value) => self.expr(value),
                        Scalar::Param(param) => self.expr(&Expr::Param(*param)),
                        Scalar::Reg(from) => self.registers(&[*from]),
                    };
                    writeln!(f, "{pad}set {} = {scalar}", self.registers(&[*register]))?;
                }
                Stmt::Atom { atom, args } => {
                    let args: Vec<String> = args.iter().map(|arg| self.arg(arg)).collect();
                    writeln!(f, "{pad}{} {}", atom.id, args.join(", "))?;
                }
                Stmt::From(op) if self.names.remarks => writeln!(f, "{pad}// op {op}")?,
                Stmt::From(_) => {}
            }
        }
        Ok(())
    }

    fn var(&self, var: VarId) -> String {
        let name = self.names.vars.get(&var);
        name.map_or_else(|| format!("?.{}", var.0), Clone::clone)
    }

    /// Runs of consecutive registers print as one range.
    fn registers(&self, registers: &[Reg]) -> String {
        let files = &self.names.files;
        let name = |file: u32| files.get(file as usize).map_or("?", String::as_str);
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
        if parts.is_empty() {
            parts.push("none".to_owned());
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
            Arg::TensorMap(param) => self.names.param(param.0).to_string(),
            Arg::Predicate(var) => self.var(*var),
        }
    }

    fn address(&self, address: &Address) -> String {
        let base = match address.base {
            Base::Param(param) => self.names.param(param.0),
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
            Expr::Var(var) => self.var(*var),
            Expr::Param(param) => self.names.param(param.0).to_string(),
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
                format!("{}({})", type_name(*ty), self.expr(inner))
            }
        }
    }
}

fn type_name(ty: IntType) -> &'static str {
    match ty {
        IntType::I1 => "i1",
        IntType::I32 => "i32",
        IntType::I64 => "i64",
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

#[cfg(test)]
mod tests;
