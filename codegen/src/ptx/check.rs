//! Checks of a program before LLVM sees it, and of the PTX text after.
//!
//! Comes in: a program and an architecture. Goes out: the PTX version to emit, or every problem at
//! once. After it: indices are in range, types agree, arguments match their atoms, and LLVM knows
//! the target.

mod arguments;
mod constants;
mod expression;
mod text;

use std::collections::HashMap;
use std::fmt;

use super::target::PTX_VERSIONS;
use crate::arch::{Arch, MAX_THREADS_PER_CTA};
use crate::error::{Error, Result};
use crate::ir::thread::program::{
    Expr, IntType, Param, ParamType, Program, Reg, Scalar, Stmt, VarId,
};

pub(super) use text::check_text;

/// Deepest nesting of expressions and of statements.
const MAX_DEPTH: usize = 500;
/// Most registers that all files of a program may hold together: far more than a thread has.
const MAX_REGISTERS: u64 = 16_384;
/// Bytes of parameters that every architecture takes (PTX ISA, kernel function parameters).
const MAX_PARAM_BYTES: usize = 4352;

/// Checks the program and returns the lowest PTX version that can carry it, as major * 10 + minor.
pub(super) fn check(program: &Program, arch: &Arch, kernel: &str) -> Result<u32> {
    let mut checker = Checker {
        program,
        types: HashMap::new(),
        problems: Vec::new(),
        unsupported: Vec::new(),
        arch,
        version: arch.min_ptx.max(arch.llvm_min_ptx),
    };
    checker.head();
    checker.body(&program.body, 0);
    let Checker {
        mut problems,
        unsupported,
        version,
        ..
    } = checker;
    if !problems.is_empty() {
        problems.dedup();
        let dump = clipped(65_536, format_args!("{program:?}"));
        return Err(Error::bug("ptx", kernel, problems.join("; "), dump));
    }
    let known = PTX_VERSIONS.iter().copied().find(|&known| known >= version);
    match (unsupported.into_iter().next(), known) {
        (Some(error), _) => Err(error),
        (None, Some(version)) => Ok(version),
        (None, None) => Err(Error::Unsupported {
            feature: format!("PTX version {}.{}", version / 10, version % 10),
            arch: arch.to_string(),
            hint: "LLVM 22 emits up to 9.0: use other atoms".to_owned(),
        }),
    }
}

/// A PTX identifier of moderate length.
fn is_identifier(name: &str) -> bool {
    let head = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    head && name.len() <= 128 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The start of what the arguments print. Shared subexpressions can make the whole exponentially
/// long.
fn clipped(max_bytes: usize, text: fmt::Arguments<'_>) -> String {
    struct Clip(String, usize);
    impl fmt::Write for Clip {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            if self.0.len() + part.len() > self.1 {
                return Err(fmt::Error);
            }
            self.0.push_str(part);
            Ok(())
        }
    }
    let mut clip = Clip(String::new(), max_bytes);
    if fmt::write(&mut clip, text).is_err() {
        clip.0.push('…');
    }
    clip.0
}

/// The address of an expression node, which names it while the program is borrowed.
pub(super) fn node(expr: &Expr) -> *const Expr {
    expr
}

/// The check of one program, in progress.
struct Checker<'p> {
    program: &'p Program,
    types: HashMap<*const Expr, IntType>,
    problems: Vec<String>,
    unsupported: Vec<Error>,
    arch: &'p Arch,
    version: u32,
}

impl<'p> Checker<'p> {
    fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn head(&mut self) {
        let program = self.program;
        if !is_identifier(&program.entry) {
            self.problem(format!("entry {:?} is no identifier", program.entry));
        }
        if program.threads == 0 || program.threads > MAX_THREADS_PER_CTA {
            self.problem(format!(
                "{} threads; a CTA has 1 to {MAX_THREADS_PER_CTA}",
                program.threads
            ));
        }
        if program.min_ctas_per_sm == Some(0) {
            self.problem("min_ctas_per_sm is 0");
        }
        if !program.smem_align_bytes.is_power_of_two() {
            self.problem(format!(
                "smem is aligned to {}, no power of two",
                program.smem_align_bytes
            ));
        }
        let registers: u64 = program.files.iter().map(|file| u64::from(file.len)).sum();
        if registers > MAX_REGISTERS {
            self.problem(format!(
                "{registers} registers; at most {MAX_REGISTERS} are allowed"
            ));
        }
        let bytes: usize = program.params.iter().map(|param| param.ty.bytes()).sum();
        if bytes > MAX_PARAM_BYTES {
            self.problem(format!(
                "{bytes} bytes of parameters; at most {MAX_PARAM_BYTES} are allowed"
            ));
        }
        for param in &program.params {
            if let ParamType::Pointer { align_bytes, .. } = param.ty
                && !align_bytes.is_power_of_two()
            {
                self.problem(format!(
                    "{} is aligned to {align_bytes}, no power of two",
                    param.name
                ));
            }
        }
        if program.smem_bytes > self.arch.smem_max_bytes {
            self.unsupported.push(Error::Unsupported {
                feature: format!("{} bytes of shared memory", program.smem_bytes),
                arch: self.arch.to_string(),
                hint: format!("use at most {} bytes", self.arch.smem_max_bytes),
            });
        }
    }

    fn body(&mut self, body: &'p [Stmt], depth: usize) {
        if depth > MAX_DEPTH {
            return self.problem(format!("statements nest deeper than {MAX_DEPTH}"));
        }
        body.iter().for_each(|stmt| self.stmt(stmt, depth + 1));
    }

    fn stmt(&mut self, stmt: &'p Stmt, depth: usize) {
        match stmt {
            Stmt::Let(var, value) => self.definition(*var, value, false),
            Stmt::Pin(var, value) => self.definition(*var, value, false),
            Stmt::Uniform(var, value) => {
                self.definition(*var, value, false);
                self.expect(value, IntType::I32);
            }
            Stmt::Assign(var, value) => self.definition(*var, value, true),
            Stmt::For {
                var,
                from,
                to,
                step,
                body,
            } => {
                for value in [from, to, step] {
                    self.definition(*var, value, false);
                }
                if matches!(step, Expr::Int(..=0, _)) {
                    self.problem("the step of a loop is not positive");
                }
                self.body(body, depth);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.expect(cond, IntType::I1);
                self.body(then, depth);
                self.body(otherwise, depth);
            }
            Stmt::Zero(regs) => regs.iter().for_each(|&reg| {
                self.reg(reg);
            }),
            Stmt::Set(reg, scalar) => self.scalar(*reg, scalar),
            Stmt::Get(var, reg) => {
                self.declared(*var, IntType::I32);
                if self.reg(*reg).is_some_and(|ty| ty.bits() != 32) {
                    self.problem(format!("{reg:?} is no register of 32 bits"));
                }
            }
            Stmt::Atom { atom, args } => self.atom(atom, args),
            Stmt::From(_) => {}
        }
    }

    /// A register and the scalar that it is set to, which is of as many bits.
    fn scalar(&mut self, reg: Reg, scalar: &'p Scalar) {
        let Some(ty) = self.reg(reg) else { return };
        match scalar {
            Scalar::Bits(bits) if bits.checked_shr(ty.bits()).unwrap_or(0) != 0 => {
                self.problem(format!("{bits:#x} has more than {} bits", ty.bits()));
            }
            Scalar::Bits(_) => {}
            Scalar::Reg(from) => {
                if self.reg(*from).is_some_and(|from| from.bits() != ty.bits()) {
                    self.problem(format!("{from:?} is set to {reg:?} of other bits"));
                }
            }
            Scalar::Int(value) => self.expect(
                value,
                match ty.bits() {
                    64 => IntType::I64,
                    _ => IntType::I32,
                },
            ),
            Scalar::Param(param) => {
                let ty_of = |param: &Param| match param.ty {
                    ParamType::Scalar(dtype) => Some(dtype.bits()),
                    _ => None,
                };
                let params = self.program.params.get(param.0 as usize);
                if params.and_then(ty_of) != Some(ty.bits()) {
                    self.problem(format!("parameter {} is no scalar of that size", param.0));
                }
            }
        }
    }

    /// An immutable variable of that type.
    fn declared(&mut self, var: VarId, ty: IntType) {
        let decl = self.program.vars.get(var.0 as usize);
        if !decl.is_some_and(|decl| decl.ty == ty && !decl.mutable) {
            self.problem(format!("variable {} is defined otherwise", var.0));
        }
    }

    pub(super) fn definition(&mut self, var: VarId, value: &'p Expr, mutable: bool) {
        match self.program.vars.get(var.0 as usize) {
            Some(decl) if decl.mutable == mutable => self.expect(value, decl.ty),
            Some(decl) => self.problem(format!(
                "{} is {}mutable but defined otherwise",
                decl.name,
                if decl.mutable { "" } else { "im" }
            )),
            None => self.problem(format!("there is no variable {}", var.0)),
        }
    }
}
