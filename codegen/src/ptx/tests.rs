//! Programs built by hand, translated and compared with goldens; every atom translated and
//! assembled.
#![allow(clippy::panic, clippy::unwrap_used)]

mod atoms;
mod bulk;
mod combine;
mod differential;
mod elements;
mod exchange;
mod golden;
mod order;
mod over;
mod passes;
mod programs;
mod refusal;
mod sums;

use std::rc::Rc;
use std::sync::Arc;

use crate::arch::Arch;
use crate::atoms::catalogue;
use crate::atoms::model::{RegType, Space};
use crate::ir::thread::program::{
    Address, Arg, Base, BinOp, CmpOp, Expr, IntType, Param, ParamId, ParamType, Program, Reg,
    RegFile, Scalar, Special, Stmt, VarDecl, VarId,
};

fn arch(name: &str) -> Arch {
    Arch::parse(name).unwrap()
}

/// A program under construction.
struct Build(Program);

impl Build {
    fn new(entry: &str) -> Build {
        Build(Program {
            entry: entry.to_owned(),
            params: Vec::new(),
            threads: 128,
            min_ctas_per_sm: Some(1),
            smem_bytes: 0,
            smem_align_bytes: 128,
            vars: Vec::new(),
            files: Vec::new(),
            body: Vec::new(),
        })
    }

    fn param(&mut self, name: &str, ty: ParamType) -> ParamId {
        self.0.params.push(Param {
            name: name.to_owned(),
            ty,
            operand: None,
        });
        ParamId(self.0.params.len() as u32 - 1)
    }

    fn source(&mut self, name: &str) -> ParamId {
        self.param(
            name,
            ParamType::Pointer {
                align_bytes: 16,
                readonly: true,
                shared: false,
            },
        )
    }

    fn output(&mut self, name: &str) -> ParamId {
        self.param(
            name,
            ParamType::Pointer {
                align_bytes: 16,
                readonly: false,
                shared: false,
            },
        )
    }

    fn var(&mut self, name: &str, ty: IntType, mutable: bool) -> VarId {
        self.0.vars.push(VarDecl {
            name: name.to_owned(),
            ty,
            mutable,
        });
        VarId(self.0.vars.len() as u32 - 1)
    }

    fn file(&mut self, name: &str, ty: RegType, len: u32) -> Vec<Reg> {
        self.0.files.push(RegFile {
            name: name.to_owned(),
            ty,
            len,
        });
        let file = self.0.files.len() as u32 - 1;
        (0..len).map(|index| Reg { file, index }).collect()
    }

    fn push(&mut self, stmt: Stmt) {
        self.0.body.push(stmt);
    }

    fn atom(&mut self, id: &str, args: Vec<Arg>) {
        self.push(run(id, args));
    }
}

fn run(id: &str, args: Vec<Arg>) -> Stmt {
    Stmt::Atom {
        atom: Arc::clone(catalogue().unwrap().get(id).unwrap()),
        args,
    }
}

fn regs(regs: &[Reg]) -> Arg {
    Arg::Regs(regs.to_vec())
}

fn int(value: i64) -> Expr {
    Expr::Int(value, IntType::I32)
}

fn binary(op: BinOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Rc::new(left), Rc::new(right))
}

fn add(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Add, left, right)
}

fn mul(left: Expr, right: Expr) -> Expr {
    binary(BinOp::Mul, left, right)
}

fn less(left: Expr, right: Expr) -> Expr {
    Expr::Compare(CmpOp::Lt, Rc::new(left), Rc::new(right))
}

fn wide(value: Expr) -> Expr {
    Expr::Convert(IntType::I64, Rc::new(value))
}

fn tid() -> Expr {
    Expr::Special(Special::TidX)
}

fn gmem(param: ParamId, offset: Expr, imm: i64) -> Arg {
    Arg::Address(Address {
        space: Space::Gmem,
        base: Base::Param(param),
        offset,
        imm,
        coords: Vec::new(),
    })
}

fn smem(offset: Expr, imm: i64) -> Arg {
    Arg::Address(Address {
        space: Space::Smem,
        base: Base::Smem,
        offset,
        imm,
        coords: Vec::new(),
    })
}
