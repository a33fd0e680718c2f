//! Approximate instructions of constants, computed here.
//!
//! In: a module that LLVM has optimized. Out: the same, without an approximate instruction whose
//! operands are known: it becomes its result, which is within the instruction's error. ptxas would
//! do so too, and not as a GPU does ([`super::check`] refuses what is left to it).
//!
//! NOTE: operands that no expression has constant are known in copies that LLVM makes of code, and
//! at edges of a problem: elements outside are zero, and of a row behind the last one LLVM knows
//! that it is outside.

use std::collections::HashMap;

use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{
    BasicValue, BasicValueEnum, CallSiteValue, FloatValue, InstructionOpcode, InstructionValue,
};

use super::translate::{Result, in_builder};
use crate::atoms::arithmetic::Does;
use crate::atoms::model::{Atom, Emit, IntrinsicArg};
use crate::atoms::{Catalogue, catalogue};
use crate::element;

/// The attribute of calls that names the atom whose code they are.
pub(super) const ATOM: &str = "tilewright-atom";
/// How far back from an operand is looked.
const MAX_DEPTH: usize = 256;

/// Whether calls of an atom are named: those that give numbers of numbers.
pub(super) fn is_named(atom: &Atom) -> bool {
    atom.arithmetic.is_some() || atom.convert.is_some()
}

/// Replaces what is known; whether anything was.
pub(super) fn compute(context: &Context, module: &Module<'_>) -> Result<bool> {
    let catalogue = catalogue().map_err(|error| error.to_string())?;
    let mut known = Known {
        catalogue,
        builder: context.create_builder(),
        context,
        values: HashMap::new(),
    };
    let blocks = module.get_functions().flat_map(|f| f.get_basic_blocks());
    let instructions = blocks.flat_map(|block| block.get_instructions());
    let all: Vec<InstructionValue<'_>> = instructions.collect();
    let mut any = false;
    for instruction in all {
        any |= known.replace(instruction)?;
    }
    Ok(any)
}

struct Known<'c, 'ctx> {
    catalogue: &'c Catalogue,
    context: &'ctx Context,
    builder: Builder<'ctx>,
    /// Registers that instructions write, where they are known.
    values: HashMap<InstructionValue<'ctx>, Option<Vec<u64>>>,
}

impl<'c, 'ctx> Known<'c, 'ctx> {
    /// Replaces an approximate instruction whose operands are known.
    fn replace(&mut self, instruction: InstructionValue<'ctx>) -> Result<bool> {
        let atom = self.atom(instruction);
        let facts = atom.and_then(|atom| atom.arithmetic.as_ref());
        let Some(facts) = facts.filter(|facts| facts.error.is_approximate()) else {
            return Ok(false);
        };
        let call = CallSiteValue::try_from(instruction).ok();
        let result = call.and_then(|call| call.try_as_basic_value().basic());
        let Some(BasicValueEnum::FloatValue(result)) = result else {
            return Ok(false);
        };
        self.builder.position_before(&instruction);
        let known = self.registers(instruction, 0)?;
        let new = match (known.as_deref(), facts.does) {
            (Some(&[bits]), _) => Some(self.float(bits, result)?),
            (None, Does::Div) => self.quotient(instruction)?,
            _ => None,
        };
        if let Some(new) = new {
            result.replace_all_uses_with(new);
            instruction.erase_from_basic_block();
            self.values.remove(&instruction);
        }
        Ok(new.is_some())
    }

    /// A quotient by what is known, as the product with its inverse.
    fn quotient(&mut self, of: InstructionValue<'ctx>) -> Result<Option<FloatValue<'ctx>>> {
        let [Some(left), Some(right)] = [0, 1].map(|at| of.get_operand(at)?.value()) else {
            return Ok(None);
        };
        let by = self.bits(right, 0)?;
        let (BasicValueEnum::FloatValue(left), Some([by])) = (left, by.as_deref()) else {
            return Ok(None);
        };
        if left.get_type() != self.context.f32_type() {
            return Ok(None);
        }
        let inverse = 1.0 / f32::from_bits(*by as u32);
        if inverse.is_subnormal() || f32::from_bits(*by as u32).is_subnormal() {
            return Ok(None);
        }
        let inverse = self.float(u64::from(inverse.to_bits()), left)?;
        let product = self.builder.build_float_mul(left, inverse, "");
        product.map(Some).map_err(in_builder)
    }

    /// A constant of those bits, of the type of another value.
    fn float(&self, bits: u64, like: FloatValue<'ctx>) -> Result<FloatValue<'ctx>> {
        let ty = like.get_type();
        let word = match ty == self.context.f64_type() {
            true => self.context.i64_type(),
            false => self.context.i32_type(),
        };
        let value = self
            .builder
            .build_bit_cast(word.const_int(bits, false), ty, "");
        Ok(value.map_err(in_builder)?.into_float_value())
    }

    /// The atom whose code an instruction is.
    fn atom(&self, instruction: InstructionValue<'ctx>) -> Option<&'c Atom> {
        if instruction.get_opcode() != InstructionOpcode::Call {
            return None;
        }
        let call = CallSiteValue::try_from(instruction).ok()?;
        let named = call.get_string_attribute(AttributeLoc::Function, ATOM)?;
        let id = named.get_string_value().to_str().ok()?;
        self.catalogue.get(id).map(AsRef::as_ref)
    }

    /// The bits of the registers that a value is.
    fn bits(&mut self, value: BasicValueEnum<'ctx>, depth: usize) -> Result<Option<Vec<u64>>> {
        if let Some(instruction) = value.as_instruction_value() {
            return self.registers(instruction, depth);
        }
        let word = match value {
            BasicValueEnum::IntValue(value) => value.get_zero_extended_constant(),
            // Of what is no number the cast is no constant integer.
            BasicValueEnum::FloatValue(value) if value.is_const() => {
                let ty = match value.get_type() {
                    ty if ty == self.context.f64_type() => self.context.i64_type(),
                    ty if ty == self.context.f32_type() => self.context.i32_type(),
                    _ => return Ok(None),
                };
                let cast = self.builder.build_bit_cast(value, ty, "");
                let cast = cast.map_err(in_builder)?.into_int_value();
                cast.get_zero_extended_constant()
            }
            _ => None,
        };
        Ok(word.map(|word| vec![word]))
    }

    /// The bits of the registers that an instruction writes.
    fn registers(
        &mut self,
        instruction: InstructionValue<'ctx>,
        depth: usize,
    ) -> Result<Option<Vec<u64>>> {
        if let Some(known) = self.values.get(&instruction) {
            return Ok(known.clone());
        }
        if depth == MAX_DEPTH {
            return Ok(None);
        }
        let found = self.computed(instruction, depth + 1)?;
        self.values.insert(instruction, found.clone());
        Ok(found)
    }

    fn computed(
        &mut self,
        instruction: InstructionValue<'ctx>,
        depth: usize,
    ) -> Result<Option<Vec<u64>>> {
        let operand = |at: u32| instruction.get_operand(at).and_then(|one| one.value());
        match instruction.get_opcode() {
            InstructionOpcode::Call => {
                let (Some(atom), Ok(call)) =
                    (self.atom(instruction), CallSiteValue::try_from(instruction))
                else {
                    return Ok(None);
                };
                let mut registers = Vec::new();
                for at in 0..call.count_arguments() {
                    let Some(value) = operand(at) else {
                        return Ok(None);
                    };
                    match self.bits(value, depth)?.as_deref() {
                        Some([word]) => registers.push(*word),
                        _ => return Ok(None),
                    }
                }
                let registers = in_order(atom, registers);
                Ok(registers.and_then(|all| element::computed(atom, &all)))
            }
            InstructionOpcode::ExtractValue => {
                let Some(value) = operand(0) else {
                    return Ok(None);
                };
                let at = instruction.get_indices();
                let all = self.bits(value, depth)?;
                let [at] = at[..] else { return Ok(None) };
                Ok(all.and_then(|all| all.get(at as usize).map(|word| vec![*word])))
            }
            InstructionOpcode::BitCast | InstructionOpcode::Trunc | InstructionOpcode::ZExt => {
                let width = match instruction.get_type() {
                    ty if ty.is_int_type() => ty.into_int_type().get_bit_width().min(64),
                    _ => 64,
                };
                let Some(value) = operand(0) else {
                    return Ok(None);
                };
                let mask = u64::MAX >> (64 - width);
                let word = self.bits(value, depth)?;
                Ok(word.map(|word| word.into_iter().map(|word| word & mask).collect()))
            }
            _ => Ok(None),
        }
    }
}

/// Arguments of a call in the order of the atom's registers, where intrinsics take them otherwise.
fn in_order(atom: &Atom, arguments: Vec<u64>) -> Option<Vec<u64>> {
    let Emit::Intrinsic { args, .. } = &atom.emit else {
        return Some(arguments);
    };
    if args
        .iter()
        .all(|arg| matches!(arg, IntrinsicArg::Operand(_)))
    {
        return Some(arguments);
    }
    let place = |arg: &IntrinsicArg| match arg {
        IntrinsicArg::Register(_, index) => Some(*index as usize),
        IntrinsicArg::Operand(_) | IntrinsicArg::Const(_) => None,
    };
    let places: Vec<usize> = args.iter().map(place).collect::<Option<_>>()?;
    let mut registers = vec![0; arguments.len()];
    for (place, word) in places.into_iter().zip(arguments) {
        *registers.get_mut(place)? = word;
    }
    Some(registers)
}
