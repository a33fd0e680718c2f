//! Checks of a program before LLVM sees it, and of the PTX text after.
//!
//! Comes in: a program and an architecture. Goes out: the PTX version to emit, or every problem at once.
//! After it: indices are in range, types agree, arguments match their atoms, and LLVM knows the target.

use std::collections::HashMap;
use std::fmt;

use super::target::PTX_VERSIONS;
use crate::arch::{Arch, MAX_THREADS_PER_CTA};
use crate::atoms::model::{Atom, Emit, LlvmOp, OperandDecl, OperandKind, RegType, Space};
use crate::error::{Error, Result};
use crate::ir::program::{
    Address, Arg, Base, BinOp, Expr, IntType, ParamType, Program, Reg, Stmt, VarId,
};

/// Deepest nesting of expressions and of statements.
const MAX_DEPTH: usize = 500;

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
        return Err(super::bug(
            kernel,
            problems.join("; "),
            clipped(65_536, format_args!("{program:?}")),
        ));
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

/// Checks that the text holds exactly the kernel.
pub(super) fn check_text(
    text: &str,
    program: &Program,
    arch: &Arch,
    version: u32,
) -> std::result::Result<(), String> {
    let entry = format!(".visible .entry {}(", program.entry);
    let version = format!(".version {}.{}", version / 10, version % 10);
    for line in [version, format!(".target {}", arch.name)] {
        if !text.lines().any(|known| known == line) {
            return Err(format!("the text lacks the line {line:?}"));
        }
    }
    if text.matches(".entry").count() != 1 || !text.contains(&entry) {
        return Err(format!("the text has other entries than {}", program.entry));
    }
    let words = |line: &str| {
        line.split([' ', '\t', '.', ';', '('])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    match text.lines().find(|line| {
        words(line)
            .iter()
            .any(|word| matches!(&word[..], "local" | "call" | "func"))
    }) {
        Some(line) => Err(format!(
            "the text uses local memory or a call: {:?}",
            line.trim()
        )),
        None => Ok(()),
    }
}

/// A PTX identifier of moderate length.
fn is_identifier(name: &str) -> bool {
    let head = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    head && name.len() <= 128 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The start of what the arguments print. Shared subexpressions can make the whole exponentially long.
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
            Stmt::Atom { atom, args } => self.atom(atom, args),
            Stmt::Comment(_) => {}
        }
    }

    fn definition(&mut self, var: VarId, value: &'p Expr, mutable: bool) {
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

    fn expect(&mut self, expr: &'p Expr, wanted: IntType) {
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

    fn type_of_node(
        &mut self,
        expr: &'p Expr,
        depth: usize,
    ) -> std::result::Result<IntType, Option<String>> {
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

    fn reg(&mut self, reg: Reg) -> Option<RegType> {
        match self.program.files.get(reg.file as usize) {
            Some(file) if reg.index < file.len => Some(file.ty),
            Some(file) => {
                self.problem(format!(
                    "register {} of {} in {}",
                    reg.index, file.len, file.name
                ));
                None
            }
            None => {
                self.problem(format!("there is no register file {}", reg.file));
                None
            }
        }
    }

    fn atom(&mut self, atom: &'p Atom, args: &'p [Arg]) {
        if self.arch.sm < atom.min_sm {
            let (sm, arch) = (atom.min_sm, self.arch.to_string());
            let hint = format!("it needs sm_{sm} or later");
            self.unsupported.push(Error::Unsupported {
                feature: atom.id.clone(),
                arch,
                hint,
            });
        }
        self.version = self.version.max(atom.min_ptx);
        if args.len() != atom.operands.len() {
            let wanted = atom.operands.len();
            return self.problem(format!(
                "{} takes {wanted} arguments, not {}",
                atom.id,
                args.len()
            ));
        }
        for (operand, arg) in atom.operands.iter().zip(args) {
            self.arg(atom, operand, arg);
        }
    }

    fn arg(&mut self, atom: &Atom, operand: &OperandDecl, arg: &'p Arg) {
        let here = format!("operand {} of {}", operand.name, atom.id);
        match (operand.kind, arg) {
            (
                OperandKind::RegsIn { ty, count } | OperandKind::RegsOut { ty, count },
                Arg::Regs(regs),
            ) => {
                self.registers(&here, atom, (ty, count), regs);
            }
            (OperandKind::Address(space), Arg::Address(address)) => {
                self.address(&here, space, address);
                let written = operand.name == "dst"
                    && atom.copy.as_ref().is_some_and(|copy| copy.to == space);
                if written && self.is_readonly(address) {
                    self.problem(format!("{here} writes through a read-only parameter"));
                }
            }
            (OperandKind::Int, Arg::Int(value)) => self.expect(value, IntType::I32),
            (OperandKind::Imm, Arg::Imm(value)) => {
                if i32::try_from(*value).is_err() {
                    self.problem(format!("{here} is {value}, no 32-bit integer"));
                }
            }
            (kind, _) => self.problem(clipped(
                400,
                format_args!("{here} is {kind:?}; the argument is {arg:?}"),
            )),
        }
    }

    /// Loads and stores take registers of any one width that adds up; other atoms take what they declare.
    fn registers(&mut self, here: &str, atom: &Atom, declared: (RegType, u32), regs: &[Reg]) {
        let types: Vec<RegType> = regs.iter().filter_map(|&reg| self.reg(reg)).collect();
        if types.len() != regs.len() {
            return;
        }
        let (ty, count) = declared;
        let same_bits = types.windows(2).all(|pair| pair[0] == pair[1]);
        let total: u64 = types.iter().map(|ty| u64::from(ty.bits())).sum();
        let fits = if matches!(atom.emit, Emit::Llvm(LlvmOp::Load | LlvmOp::Store)) {
            same_bits && total == u64::from(ty.bits()) * u64::from(count)
        } else {
            types.len() == count as usize && types.iter().all(|given| given.bits() == ty.bits())
        };
        if !fits {
            self.problem(format!(
                "{here} is {count} registers {ty:?}; given are {types:?}"
            ));
        }
    }

    fn address(&mut self, here: &str, space: Space, address: &'p Address) {
        if address.space != space {
            self.problem(format!(
                "{here} is in {space:?}; the address is in {:?}",
                address.space
            ));
        }
        match (address.base, address.space) {
            (Base::Smem, Space::Smem) => {
                if self.program.smem_bytes == 0 {
                    self.problem(format!(
                        "{here} is in shared memory, of which the kernel has none"
                    ));
                }
                self.expect(&address.offset, IntType::I32);
                if i32::try_from(address.imm).is_err() {
                    self.problem(format!(
                        "{here} has the offset {}, no 32-bit integer",
                        address.imm
                    ));
                }
            }
            (Base::Param(param), Space::Gmem) => {
                let ty = self
                    .program
                    .params
                    .get(param.0 as usize)
                    .map(|param| param.ty);
                if !matches!(ty, Some(ParamType::Pointer { .. })) {
                    self.problem(format!("{here}: parameter {} is no pointer", param.0));
                }
                self.expect(&address.offset, IntType::I64);
            }
            (base, space) => self.problem(format!("{here}: {base:?} is no start in {space:?}")),
        }
    }

    fn is_readonly(&self, address: &Address) -> bool {
        let Base::Param(param) = address.base else {
            return false;
        };
        let ty = self
            .program
            .params
            .get(param.0 as usize)
            .map(|param| param.ty);
        matches!(ty, Some(ParamType::Pointer { readonly: true, .. }))
    }
}
