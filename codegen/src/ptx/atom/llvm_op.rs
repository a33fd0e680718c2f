//! Operations that LLVM has itself: loads, stores, fma, float conversions.

use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicValue, BasicValueEnum, InstructionValue};

use super::{Value, result};
use crate::atoms::model::{Atom, ConvertFacts, LlvmOp, OperandDecl, OperandKind};
use crate::dtype::DType;
use crate::ir::thread::program::{Address, Arg, Reg};
use crate::ptx::translate::{Result, Translator, in_builder};

impl<'ctx, 'p> Translator<'ctx, 'p> {
    pub(super) fn llvm_op(&mut self, op: LlvmOp, atom: &Atom, args: &'p [Arg]) -> Result<()> {
        let (outs, ins) = (registers(atom, args, true), registers(atom, args, false));
        match op {
            LlvmOp::Load => self.load(atom, args, &outs),
            LlvmOp::Store => self.store(atom, args, &ins),
            LlvmOp::Fma => {
                let ty = self.reg_type(self.file_type(first(&outs)?)?);
                let suffix = if ty == self.context.f64_type().into() {
                    "f64"
                } else {
                    "f32"
                };
                let ty = if suffix == "f64" {
                    self.context.f64_type()
                } else {
                    self.context.f32_type()
                };
                let ty: BasicTypeEnum<'ctx> = ty.into();
                let values: Vec<_> = ins
                    .iter()
                    .map(|&reg| Ok(self.cast(self.read(reg)?, ty)?.into()))
                    .collect::<Result<_>>()?;
                let signature = ty.fn_type(&vec![ty.into(); values.len()], false);
                let call =
                    self.call_intrinsic(&format!("llvm.fma.{suffix}"), signature, &values)?;
                self.write(first(&outs)?, result(call)?)
            }
            LlvmOp::FloatConvert | LlvmOp::FloatPack2 => {
                let facts = atom.convert.ok_or("the record lacks its convert facts")?;
                let value = if op == LlvmOp::FloatConvert {
                    self.float_convert(facts, first(&ins)?)?
                } else {
                    self.float_pack(facts, &ins)?
                };
                self.write(first(&outs)?, value)
            }
        }
    }

    /// One value for all registers: a scalar, or a vector of their own type.
    fn vector(&self, regs: &[Reg]) -> Result<BasicTypeEnum<'ctx>> {
        let ty = self.reg_type(self.file_type(first(regs)?)?);
        let count = u32::try_from(regs.len()).map_err(|error| error.to_string())?;
        Ok(if count == 1 {
            ty
        } else {
            vector_of(ty, count)?.into()
        })
    }

    fn load(&mut self, atom: &Atom, args: &'p [Arg], regs: &[Reg]) -> Result<()> {
        let pointer = self.address(address(args)?)?;
        let ty = self.vector(regs)?;
        let value = self
            .builder
            .build_load(ty, pointer, "")
            .map_err(in_builder)?;
        align(value.as_instruction_value(), atom.align_bytes)?;
        let BasicValueEnum::VectorValue(vector) = value else {
            return self.write(first(regs)?, value);
        };
        for (at, &reg) in (0..).zip(regs) {
            let at = self.context.i32_type().const_int(at, false);
            let part = self
                .builder
                .build_extract_element(vector, at, "")
                .map_err(in_builder)?;
            self.write(reg, part)?;
        }
        Ok(())
    }

    fn store(&mut self, atom: &Atom, args: &'p [Arg], regs: &[Reg]) -> Result<()> {
        let pointer = self.address(address(args)?)?;
        let value = match self.vector(regs)? {
            BasicTypeEnum::VectorType(ty) => {
                let mut vector = ty.get_poison();
                for (at, &reg) in (0..).zip(regs) {
                    let at = self.context.i32_type().const_int(at, false);
                    let part = self.read(reg)?;
                    vector = self
                        .builder
                        .build_insert_element(vector, part, at, "")
                        .map_err(in_builder)?;
                }
                vector.into()
            }
            _ => self.read(first(regs)?)?,
        };
        let store = self
            .builder
            .build_store(pointer, value)
            .map_err(in_builder)?;
        align(Some(store), atom.align_bytes)
    }

    fn float_type(&self, dtype: DType) -> Result<BasicTypeEnum<'ctx>> {
        match dtype {
            DType::F16 => Ok(self.context.f16_type().into()),
            DType::BF16 => Ok(self.context.bf16_type().into()),
            DType::F32 => Ok(self.context.f32_type().into()),
            DType::F64 => Ok(self.context.f64_type().into()),
            other => Err(format!("LLVM has no float type {other}")),
        }
    }

    fn float_convert(&self, facts: ConvertFacts, source: Reg) -> Result<Value<'ctx>> {
        let (from, to) = (self.float_type(facts.from)?, self.float_type(facts.to)?);
        let value = self.cast(self.read(source)?, from)?;
        let (BasicValueEnum::FloatValue(value), BasicTypeEnum::FloatType(to)) = (value, to) else {
            return Err("a float conversion needs floats".to_owned());
        };
        let narrows = facts.to.bits() < facts.from.bits();
        let value = if narrows {
            self.builder.build_float_trunc(value, to, "")
        } else {
            self.builder.build_float_ext(value, to, "")
        };
        Ok(value.map_err(in_builder)?.into())
    }

    fn float_pack(&self, facts: ConvertFacts, sources: &[Reg]) -> Result<Value<'ctx>> {
        let (from, to) = (self.float_type(facts.from)?, self.float_type(facts.to)?);
        let (from_pair, to_pair) = (vector_of(from, facts.values)?, vector_of(to, facts.values)?);
        let mut pair = from_pair.get_poison();
        for (at, &reg) in (0..).zip(sources) {
            let value = self.cast(self.read(reg)?, from)?;
            let at = self.context.i32_type().const_int(at, false);
            pair = self
                .builder
                .build_insert_element(pair, value, at, "")
                .map_err(in_builder)?;
        }
        Ok(self
            .builder
            .build_float_trunc(pair, to_pair, "")
            .map_err(in_builder)?
            .into())
    }
}

fn address(args: &[Arg]) -> Result<&Address> {
    let found = args.iter().find_map(|arg| match arg {
        Arg::Address(address) => Some(address),
        _ => None,
    });
    found.ok_or_else(|| "no address".to_owned())
}

/// All registers the atom writes, or all it reads.
fn registers(atom: &Atom, args: &[Arg], written: bool) -> Vec<Reg> {
    let matching = |decl: &OperandDecl| match decl.kind {
        OperandKind::RegsOut { .. } => written,
        OperandKind::RegsIn { .. } => !written,
        _ => false,
    };
    let pairs = atom
        .operands
        .iter()
        .zip(args)
        .filter(|(decl, _)| matching(decl));
    pairs
        .flat_map(|(_, arg)| match arg {
            Arg::Regs(regs) => regs.as_slice(),
            _ => &[],
        })
        .copied()
        .collect()
}

fn first(regs: &[Reg]) -> Result<Reg> {
    regs.first()
        .copied()
        .ok_or_else(|| "no registers".to_owned())
}

fn vector_of<'ctx>(ty: BasicTypeEnum<'ctx>, count: u32) -> Result<VectorType<'ctx>> {
    match ty {
        BasicTypeEnum::IntType(ty) => Ok(ty.vec_type(count)),
        BasicTypeEnum::FloatType(ty) => Ok(ty.vec_type(count)),
        other => Err(format!("no vector of {other}")),
    }
}

fn align(instruction: Option<InstructionValue<'_>>, bytes: u32) -> Result<()> {
    let instruction = instruction.ok_or("an access is no instruction")?;
    instruction
        .set_alignment(bytes)
        .map_err(|error| error.to_string())
}
