//! Integer expressions and addresses to LLVM values.
//!
//! Comes in: checked expressions. Goes out: instructions at the builder's place. Sums, differences
//! and products carry `nsw`, as the program promises that they do not wrap; quotients and
//! remainders are unsigned, as it promises that their operands are not negative.

use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue};

use super::check::node;
use super::translate::{Result, SHARED, Translator, Var, in_builder};
use crate::ir::thread::program::{Address, Base, BinOp, CmpOp, Expr, IntType, Special};

impl<'ctx, 'p> Translator<'ctx, 'p> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &'p Expr) -> Result<IntValue<'ctx>> {
        if let Some(&value) = self.values.get(&node(expr)) {
            return Ok(value);
        }
        let value = match expr {
            Expr::Int(value, ty) => {
                return Ok(self.int_type(*ty).const_int(value.cast_unsigned(), true));
            }
            Expr::Var(var) => match self.vars.get(var.0 as usize).copied().flatten() {
                Some(Var::Value(value)) => return Ok(value),
                Some(Var::Slot(slot)) => self.variable(var.0, slot)?,
                None => return Err(format!("variable {} is read outside its scope", var.0)),
            },
            Expr::Param(param) => match self.function.get_nth_param(param.0) {
                Some(BasicValueEnum::IntValue(value)) => return Ok(value),
                _ => return Err(format!("parameter {} is no integer", param.0)),
            },
            Expr::Special(special) => self.special(*special)?,
            Expr::Smem => self.smem_start()?,
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.binary(*op, left, right)?
            }
            Expr::Compare(op, left, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                let op = match op {
                    CmpOp::Lt => IntPredicate::SLT,
                    CmpOp::Le => IntPredicate::SLE,
                    CmpOp::Eq => IntPredicate::EQ,
                    CmpOp::Ne => IntPredicate::NE,
                };
                self.builder
                    .build_int_compare(op, left, right, "")
                    .map_err(in_builder)?
            }
            Expr::Select(cond, yes, no) => {
                let (cond, yes, no) = (self.expr(cond)?, self.expr(yes)?, self.expr(no)?);
                self.select(cond, yes, no)?
            }
            Expr::Convert(ty, value) => {
                let value = self.expr(value)?;
                self.convert(*ty, value)?
            }
        };
        self.values.insert(node(expr), value);
        Ok(value)
    }

    fn smem_start(&self) -> Result<IntValue<'ctx>> {
        let start = self.smem.ok_or("the kernel has no shared memory")?;
        self.builder
            .build_ptr_to_int(start, self.context.i32_type(), "")
            .map_err(in_builder)
    }

    fn variable(&self, var: u32, slot: PointerValue<'ctx>) -> Result<IntValue<'ctx>> {
        let decl = self
            .program
            .vars
            .get(var as usize)
            .ok_or("no such variable")?;
        match self
            .builder
            .build_load(self.int_type(decl.ty), slot, &decl.name)
            .map_err(in_builder)?
        {
            BasicValueEnum::IntValue(value) => Ok(value),
            other => Err(format!("variable {} is {other}", decl.name)),
        }
    }

    fn special(&mut self, special: Special) -> Result<IntValue<'ctx>> {
        let name = match special {
            Special::TidX => "llvm.nvvm.read.ptx.sreg.tid.x",
            Special::CtaidX => "llvm.nvvm.read.ptx.sreg.ctaid.x",
            Special::CtaidY => "llvm.nvvm.read.ptx.sreg.ctaid.y",
            Special::CtaidZ => "llvm.nvvm.read.ptx.sreg.ctaid.z",
            Special::NctaidX => "llvm.nvvm.read.ptx.sreg.nctaid.x",
        };
        let ty = self.context.i32_type().fn_type(&[], false);
        let call = self.call_intrinsic(name, ty, &[])?;
        match call.try_as_basic_value().basic() {
            Some(BasicValueEnum::IntValue(value)) => Ok(value),
            _ => Err(format!("{name} gives no integer")),
        }
    }

    fn select(
        &self,
        cond: IntValue<'ctx>,
        yes: IntValue<'ctx>,
        no: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>> {
        match self
            .builder
            .build_select(cond, yes, no, "")
            .map_err(in_builder)?
        {
            BasicValueEnum::IntValue(value) => Ok(value),
            other => Err(format!("a selection gives {other}")),
        }
    }

    fn binary(
        &self,
        op: BinOp,
        left: IntValue<'ctx>,
        right: IntValue<'ctx>,
    ) -> Result<IntValue<'ctx>> {
        let builder = &self.builder;
        let value = match op {
            BinOp::Add => builder.build_int_nsw_add(left, right, ""),
            BinOp::Sub => builder.build_int_nsw_sub(left, right, ""),
            BinOp::Mul => builder.build_int_nsw_mul(left, right, ""),
            BinOp::Div => builder.build_int_unsigned_div(left, right, ""),
            BinOp::Rem => builder.build_int_unsigned_rem(left, right, ""),
            BinOp::And => builder.build_and(left, right, ""),
            BinOp::Or => builder.build_or(left, right, ""),
            BinOp::Xor => builder.build_xor(left, right, ""),
            BinOp::Shl => builder.build_left_shift(left, right, ""),
            BinOp::Min | BinOp::Max => {
                let order = if op == BinOp::Min {
                    IntPredicate::SLT
                } else {
                    IntPredicate::SGT
                };
                let first = builder
                    .build_int_compare(order, left, right, "")
                    .map_err(in_builder)?;
                return self.select(first, left, right);
            }
        };
        value.map_err(in_builder)
    }

    fn convert(&self, to: IntType, value: IntValue<'ctx>) -> Result<IntValue<'ctx>> {
        let (from, ty) = (value.get_type().get_bit_width(), self.int_type(to));
        let value = match from.cmp(&ty.get_bit_width()) {
            std::cmp::Ordering::Less => self.builder.build_int_s_extend(value, ty, ""),
            std::cmp::Ordering::Equal => return Ok(value),
            std::cmp::Ordering::Greater => self.builder.build_int_truncate(value, ty, ""),
        };
        value.map_err(in_builder)
    }

    /// `base + offset` of an address, without its immediate.
    pub(super) fn base(&mut self, address: &'p Address) -> Result<PointerValue<'ctx>> {
        let base = match address.base {
            Base::Smem => self.smem.ok_or("the kernel has no shared memory")?,
            Base::Param(param) => match self.function.get_nth_param(param.0) {
                Some(BasicValueEnum::PointerValue(pointer)) => pointer,
                _ => return Err(format!("parameter {} is no pointer", param.0)),
            },
        };
        if matches!(address.offset, Expr::Int(0, _)) {
            return Ok(base);
        }
        let offset = self.expr(&address.offset)?;
        self.advance(base, offset)
    }

    /// The whole address. The immediate is added last and apart, so that it ends in the
    /// instruction's offset field.
    pub(super) fn address(&mut self, address: &'p Address) -> Result<PointerValue<'ctx>> {
        let base = self.base(address)?;
        if address.imm == 0 {
            return Ok(base);
        }
        let is_shared = base.get_type().get_address_space() == AddressSpace::from(SHARED);
        let ty = if is_shared {
            self.context.i32_type()
        } else {
            self.context.i64_type()
        };
        self.advance(base, ty.const_int(address.imm.cast_unsigned(), true))
    }

    fn advance(
        &self,
        base: PointerValue<'ctx>,
        bytes: IntValue<'ctx>,
    ) -> Result<PointerValue<'ctx>> {
        // SAFETY: `gep` without `inbounds` is plain address arithmetic; nothing is dereferenced
        // here.
        unsafe {
            self.builder
                .build_gep(self.context.i8_type(), base, &[bytes], "")
        }
        .map_err(in_builder)
    }
}
