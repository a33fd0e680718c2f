//! Calls of `llvm.nvvm.*` intrinsics.

use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum};

use super::{Target, Value, argument, declaration, is_collective, outputs_of};
use crate::atoms::model::{Atom, IntrinsicArg, IntrinsicResult, OperandDecl, OperandKind};
use crate::ir::thread::program::Arg;
use crate::ptx::translate::{Result, Translator};

impl<'ctx, 'p> Translator<'ctx, 'p> {
    pub(super) fn intrinsic(
        &mut self,
        name: &str,
        params: &[IntrinsicArg],
        (types, gives): (&[(String, String)], &[IntrinsicResult]),
        atom: &Atom,
        args: &'p [Arg],
    ) -> Result<()> {
        let mut values: Vec<BasicMetadataValueEnum<'ctx>> = Vec::new();
        for param in params {
            match param {
                IntrinsicArg::Const(value) => values.push(self.immediate(i64::from(*value)).into()),
                IntrinsicArg::Register(operand, index) => {
                    let regs = self.typed_registers(operand, types, atom, args)?;
                    let at = *index as usize;
                    values
                        .push((*regs.get(at).ok_or_else(|| format!("no {operand}[{at}]"))?).into());
                }
                IntrinsicArg::Operand(operand) => match argument(operand, atom, args)? {
                    Arg::Regs(_) => {
                        let regs = self.typed_registers(operand, types, atom, args)?;
                        values.extend(regs.into_iter().map(BasicMetadataValueEnum::from));
                    }
                    Arg::Address(address) => values.push(self.address(address)?.into()),
                    Arg::Int(value) => values.push(self.expr(value)?.into()),
                    Arg::Imm(value) => values.push(self.immediate(*value).into()),
                    Arg::Ints(_) | Arg::Imms(_) => return Err(format!("{operand} is a list")),
                    Arg::Predicate(_) => return Err(format!("{operand} is a result")),
                    Arg::TensorMap(param) => values.push(self.tensor_map(*param)?.into()),
                },
            }
        }
        let mut outputs = Vec::new();
        for (operand, reg) in outputs_of(atom, args) {
            outputs.push((Target::Reg(reg), self.operand_type(operand, types)?));
        }
        for result in gives {
            outputs.push(match result {
                IntrinsicResult::Unused(ty) => (Target::Nowhere, self.reg_type(*ty)),
                IntrinsicResult::Predicate(name) => match argument(name, atom, args)? {
                    Arg::Predicate(var) => (Target::Var(*var), self.context.bool_type().into()),
                    _ => return Err(format!("{name} is no predicate")),
                },
            });
        }
        let inputs: Vec<BasicMetadataTypeEnum<'ctx>> = values
            .iter()
            .map(|value| metadata_type(*value))
            .collect::<Result<_>>()?;
        let signature = self.signature(&outputs, &inputs);
        let call = self.call_intrinsic(name, signature, &values)?;
        if is_collective(atom)? {
            self.mark(call, "convergent");
        }
        self.name_atom(call, atom);
        self.take_results(call, &outputs)
    }

    fn immediate(&self, value: i64) -> Value<'ctx> {
        self.context
            .i32_type()
            .const_int(value.cast_unsigned(), true)
            .into()
    }

    /// The registers of an operand, as the types its intrinsic takes.
    fn typed_registers(
        &self,
        operand: &str,
        types: &[(String, String)],
        atom: &Atom,
        args: &[Arg],
    ) -> Result<Vec<Value<'ctx>>> {
        let decl = declaration(operand, atom)?;
        let ty = self.operand_type(decl, types)?;
        let Arg::Regs(regs) = argument(operand, atom, args)? else {
            return Err(format!("{operand} is no registers"));
        };
        regs.iter()
            .map(|&reg| self.cast(self.read(reg)?, ty))
            .collect()
    }

    /// The type of one register of an operand in an intrinsic's signature.
    fn operand_type(
        &self,
        decl: &OperandDecl,
        types: &[(String, String)],
    ) -> Result<BasicTypeEnum<'ctx>> {
        let (OperandKind::RegsIn { ty, .. } | OperandKind::RegsOut { ty, .. }) = decl.kind else {
            return Err(format!("{} is no registers", decl.name));
        };
        let named = types
            .iter()
            .find(|(operand, _)| *operand == decl.name)
            .map(|(_, ty)| ty.as_str());
        Ok(match named {
            None => self.reg_type(ty),
            Some("b32") => self.context.i32_type().into(),
            Some("v2f16") => self.context.f16_type().vec_type(2).into(),
            Some("v2bf16") => self.context.bf16_type().vec_type(2).into(),
            Some(other) => return Err(format!("type {other:?} is none of b32, v2f16, v2bf16")),
        })
    }
}

fn metadata_type<'ctx>(value: BasicMetadataValueEnum<'ctx>) -> Result<BasicMetadataTypeEnum<'ctx>> {
    BasicValueEnum::try_from(value)
        .map(|value| value.get_type().into())
        .map_err(|_| "an argument is no value".to_owned())
}
