//! Statements and control flow.
//!
//! Comes in: checked statements. Goes out: instructions and blocks. What a body defines is
//! forgotten at its end, so a value is never read where its definition does not dominate.

use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::types::IntType;
use inkwell::values::{BasicValueEnum, IntValue};

use super::translate::{Result, Translator, Var, in_builder};
use crate::ir::thread::program::{Expr, Reg, Scalar, Stmt, VarId};

/// The mask of a whole warp.
const ALL_LANES: u64 = 0xffff_ffff;

impl<'ctx, 'p> Translator<'ctx, 'p> {
    /// Translates a body; what it defines is unknown after it.
    pub(super) fn body(&mut self, body: &'p [Stmt]) -> Result<()> {
        let outer = self.defined.len();
        body.iter().try_for_each(|stmt| self.stmt(stmt))?;
        for var in self.defined.drain(outer..) {
            self.vars[var.0 as usize] = None;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> Result<()> {
        match stmt {
            Stmt::Let(var, value) => {
                let value = self.expr(value)?;
                self.define(*var, value)
            }
            Stmt::Pin(var, value) => {
                let value = self.expr(value)?;
                let value = self.pin(value)?;
                self.define(*var, value)
            }
            Stmt::Uniform(var, value) => {
                let value = self.expr(value)?;
                let value = self.first_lane(value)?;
                self.define(*var, value)
            }
            Stmt::Get(var, register) => {
                let held = self.read(*register)?;
                let value = self.cast(held, self.context.i32_type().into())?;
                self.define(*var, value.into_int_value())
            }
            Stmt::Assign(var, value) => {
                let value = self.expr(value)?;
                self.values.clear();
                match self.vars.get(var.0 as usize) {
                    Some(Some(Var::Slot(slot))) => self
                        .builder
                        .build_store(*slot, value)
                        .map_err(in_builder)
                        .map(drop),
                    _ => Err(format!("variable {} is not mutable", var.0)),
                }
            }
            Stmt::For {
                var,
                from,
                to,
                step,
                body,
            } => self.for_loop(*var, [from, to, step], body),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => self.branch(cond, then, otherwise),
            Stmt::Zero(regs) => regs.iter().try_for_each(|&reg| {
                let zero = self.reg_type(self.file_type(reg)?).const_zero();
                self.write(reg, zero)
            }),
            Stmt::Set(reg, scalar) => self.set(*reg, scalar),
            Stmt::Atom { atom, args } => self.atom(atom, args),
            Stmt::From(op) => {
                self.locations.enter(self.context, &self.builder, *op);
                Ok(())
            }
        }
    }

    /// A register and its scalar.
    fn set(&mut self, reg: Reg, scalar: &'p Scalar) -> Result<()> {
        let ty = self.reg_type(self.file_type(reg)?);
        let value: BasicValueEnum<'ctx> = match scalar {
            Scalar::Bits(bits) => {
                let width = self.file_type(reg)?.bits();
                let bits = self.bits(width)?.const_int(*bits, false);
                self.cast(bits.into(), ty)?
            }
            Scalar::Int(value) => {
                let value = self.expr(value)?;
                self.cast(value.into(), ty)?
            }
            Scalar::Reg(from) => self.cast(self.read(*from)?, ty)?,
            Scalar::Param(param) => {
                let value = self.function.get_nth_param(param.0);
                let value = value.ok_or_else(|| format!("no parameter {}", param.0))?;
                self.cast(value, ty)?
            }
        };
        self.write(reg, value)
    }

    /// Integers of so many bits.
    fn bits(&self, width: u32) -> Result<IntType<'ctx>> {
        Ok(match width {
            1 => self.context.bool_type(),
            8 => self.context.i8_type(),
            16 => self.context.i16_type(),
            32 => self.context.i32_type(),
            64 => self.context.i64_type(),
            other => return Err(format!("no integers of {other} bits")),
        })
    }

    /// A 32-bit move that LLVM neither folds nor hoists.
    fn pin(&self, value: IntValue<'ctx>) -> Result<IntValue<'ctx>> {
        let ty = value.get_type();
        let signature = ty.fn_type(&[ty.into()], false);
        let (text, constraints) = match ty.get_bit_width() {
            64 => ("mov.b64 $0, $1;".to_owned(), "=l,l".to_owned()),
            _ => ("mov.b32 $0, $1;".to_owned(), "=r,r".to_owned()),
        };
        let asm =
            self.context
                .create_inline_asm(signature, text, constraints, true, false, None, false);
        let call = self
            .builder
            .build_indirect_call(signature, asm, &[value.into()], "");
        match call.map_err(in_builder)?.try_as_basic_value().basic() {
            Some(BasicValueEnum::IntValue(value)) => Ok(value),
            _ => Err("a move has no result".to_owned()),
        }
    }

    /// The first lane's value, in all lanes.
    fn first_lane(&self, value: IntValue<'ctx>) -> Result<IntValue<'ctx>> {
        let i32_type = self.context.i32_type();
        let signature = i32_type.fn_type(&[i32_type.into(); 4], false);
        let constant = |bits: u64| i32_type.const_int(bits, false).into();
        // The last operand is the clamp of the idx mode (PTX ISA, shfl.sync).
        let values = [constant(ALL_LANES), value.into(), constant(0), constant(31)];
        let call = self.call_intrinsic("llvm.nvvm.shfl.sync.idx.i32", signature, &values)?;
        self.mark_convergent(call);
        match call.try_as_basic_value().basic() {
            Some(BasicValueEnum::IntValue(value)) => Ok(value),
            _ => Err("a shuffle gives no integer".to_owned()),
        }
    }

    pub(super) fn define(&mut self, var: VarId, value: IntValue<'ctx>) -> Result<()> {
        match self.vars.get_mut(var.0 as usize) {
            Some(slot @ None) => {
                *slot = Some(Var::Value(value));
                self.defined.push(var);
                Ok(())
            }
            _ => Err(format!("variable {} is defined twice", var.0)),
        }
    }

    /// Goes on in `block`, where values computed before need not be known.
    fn enter(&mut self, block: BasicBlock<'ctx>) {
        self.values.clear();
        self.builder.position_at_end(block);
    }

    fn current(&self) -> Result<BasicBlock<'ctx>> {
        self.builder
            .get_insert_block()
            .ok_or_else(|| "no block to insert into".to_owned())
    }

    fn block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.function, name)
    }

    fn branch(&mut self, cond: &'p Expr, then: &'p [Stmt], otherwise: &'p [Stmt]) -> Result<()> {
        let cond = self.expr(cond)?;
        let (yes, no, join) = (self.block("then"), self.block("else"), self.block("join"));
        self.builder
            .build_conditional_branch(cond, yes, no)
            .map_err(in_builder)?;
        for (block, body) in [(yes, then), (no, otherwise)] {
            self.enter(block);
            self.body(body)?;
            self.builder
                .build_unconditional_branch(join)
                .map_err(in_builder)?;
        }
        self.enter(join);
        Ok(())
    }

    /// A loop with its test at the end, entered only when there is a first trip.
    fn for_loop(&mut self, var: VarId, range: [&'p Expr; 3], body: &'p [Stmt]) -> Result<()> {
        let [from, to, step] = [
            self.expr(range[0])?,
            self.expr(range[1])?,
            self.expr(range[2])?,
        ];
        let (head, exit) = (self.block("loop"), self.block("done"));
        let less = IntPredicate::SLT;
        let any = self
            .builder
            .build_int_compare(less, from, to, "")
            .map_err(in_builder)?;
        let before = self.current()?;
        self.builder
            .build_conditional_branch(any, head, exit)
            .map_err(in_builder)?;
        self.enter(head);
        let phi = self
            .builder
            .build_phi(from.get_type(), "")
            .map_err(in_builder)?;
        let index = phi.as_basic_value().into_int_value();
        self.define(var, index)?;
        self.body(body)?;
        self.vars[var.0 as usize] = None;
        self.defined.retain(|&defined| defined != var);
        let next = self
            .builder
            .build_int_nsw_add(index, step, "")
            .map_err(in_builder)?;
        let more = self
            .builder
            .build_int_compare(less, next, to, "")
            .map_err(in_builder)?;
        phi.add_incoming(&[(&from, before), (&next, self.current()?)]);
        self.builder
            .build_conditional_branch(more, head, exit)
            .map_err(in_builder)?;
        self.enter(exit);
        Ok(())
    }
}
