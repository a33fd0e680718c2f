//! Atoms to LLVM: an operation, an intrinsic call or rendered inline assembly, as the record's `emit` says.
//!
//! Comes in: a record and its checked arguments. Goes out: instructions at the builder's place. No record is known
//! here by name.
//!
//! NOTE: LLVM 22 marks `llvm.nvvm.mma.*` as pure and not convergent, so a product that only guarded stores read could
//! sink into the guard. Every call that all threads of a warp make together is marked convergent at the call, which
//! LLVM keeps on intrinsics.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum, FunctionType, VectorType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, CallSiteValue, InstructionValue,
};

use super::template;
use super::translate::{Result, Translator, in_builder};
use crate::atoms::model::{
    Atom, ConvertFacts, Emit, IntrinsicArg, Kind, LlvmOp, OperandDecl, OperandKind, RegType, Space,
};
use crate::dtype::Dtype;
use crate::ir::program::{Address, Arg, Reg};

type Value<'ctx> = BasicValueEnum<'ctx>;

/// Operands of inline assembly as they are gathered.
#[derive(Default)]
struct Assembly<'ctx> {
    outputs: Vec<String>,
    inputs: Vec<String>,
    values: Vec<BasicMetadataValueEnum<'ctx>>,
    types: Vec<BasicMetadataTypeEnum<'ctx>>,
    results: Vec<(Reg, BasicTypeEnum<'ctx>)>,
}

impl<'ctx, 'p> Translator<'ctx, 'p> {
    /// Runs an atom.
    pub(super) fn atom(&mut self, atom: &Atom, args: &'p [Arg]) -> Result<()> {
        let done = match &atom.emit {
            Emit::Llvm(op) => self.llvm_op(*op, atom, args),
            Emit::Intrinsic {
                name,
                args: params,
                types,
            } => self.intrinsic(name, params, types, atom, args),
            Emit::Template { file, values } => self.template(file, values, atom, args),
        };
        done.map_err(|problem| format!("{}: {problem}", atom.id))
    }

    fn llvm_op(&mut self, op: LlvmOp, atom: &Atom, args: &'p [Arg]) -> Result<()> {
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

    fn float_type(&self, dtype: Dtype) -> Result<BasicTypeEnum<'ctx>> {
        match dtype {
            Dtype::F16 => Ok(self.context.f16_type().into()),
            Dtype::Bf16 => Ok(self.context.bf16_type().into()),
            Dtype::F32 => Ok(self.context.f32_type().into()),
            Dtype::F64 => Ok(self.context.f64_type().into()),
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

    /// Calls an intrinsic, declared on first use. LLVM's verifier compares the signature with its own.
    pub(super) fn call_intrinsic(
        &self,
        name: &str,
        signature: FunctionType<'ctx>,
        values: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<CallSiteValue<'ctx>> {
        let function = match self.module.get_function(name) {
            Some(function) => function,
            None => self.module.add_function(name, signature, None),
        };
        if function.get_type() != signature || function.get_intrinsic_id() == 0 {
            return Err(format!("LLVM has no intrinsic {name} of that signature"));
        }
        self.builder
            .build_call(function, values, "")
            .map_err(in_builder)
    }

    fn intrinsic(
        &mut self,
        name: &str,
        params: &[IntrinsicArg],
        types: &[(String, String)],
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
                },
            }
        }
        let mut outputs = Vec::new();
        for (operand, reg) in outputs_of(atom, args) {
            outputs.push((reg, self.operand_type(operand, types)?));
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

    /// No output gives `void`, one its own type, more a struct.
    fn signature(
        &self,
        outputs: &[(Reg, BasicTypeEnum<'ctx>)],
        inputs: &[BasicMetadataTypeEnum<'ctx>],
    ) -> FunctionType<'ctx> {
        let types: Vec<_> = outputs.iter().map(|&(_, ty)| ty).collect();
        match types.as_slice() {
            [] => self.context.void_type().fn_type(inputs, false),
            [one] => one.fn_type(inputs, false),
            more => self.context.struct_type(more, false).fn_type(inputs, false),
        }
    }

    fn take_results(
        &self,
        call: CallSiteValue<'ctx>,
        outputs: &[(Reg, BasicTypeEnum<'ctx>)],
    ) -> Result<()> {
        match outputs {
            [] => Ok(()),
            [(reg, _)] => self.write(*reg, result(call)?),
            more => {
                let BasicValueEnum::StructValue(all) = result(call)? else {
                    return Err("a call with many results gives no struct".to_owned());
                };
                (0..).zip(more).try_for_each(|(at, &(reg, _))| {
                    let part = self
                        .builder
                        .build_extract_value(all, at, "")
                        .map_err(in_builder)?;
                    self.write(reg, part)
                })
            }
        }
    }

    fn mark(&self, call: CallSiteValue<'ctx>, name: &str) {
        let kind = Attribute::get_named_enum_kind_id(name);
        call.add_attribute(
            AttributeLoc::Function,
            self.context.create_enum_attribute(kind, 0),
        );
    }

    /// Inline assembly. Constraints follow from the operand kinds; what touches memory or orders things clobbers memory.
    fn template(
        &mut self,
        file: &str,
        constants: &[(String, String)],
        atom: &Atom,
        args: &'p [Arg],
    ) -> Result<()> {
        let mut context = tera::Context::new();
        for (name, value) in constants {
            context.insert(name.clone(), value);
        }
        let mut assembly = Assembly::default();
        let outputs = outputs_of(atom, args).len();
        for (decl, arg) in atom.operands.iter().zip(args) {
            self.assembly_operand(decl, arg, outputs, &mut assembly, &mut context)?;
        }
        let touches_memory = args.iter().any(|arg| matches!(arg, Arg::Address(_)));
        let ordered = touches_memory || atom.kind == Kind::Sync;
        let mut constraints = assembly.outputs;
        constraints.append(&mut assembly.inputs);
        if ordered {
            constraints.push("~{memory}".to_owned());
        }
        let signature = self.signature(&assembly.results, &assembly.types);
        let text = template::render(file, &context)?;
        let asm = self.context.create_inline_asm(
            signature,
            text,
            constraints.join(","),
            ordered,
            false,
            None,
            false,
        );
        let call = self
            .builder
            .build_indirect_call(signature, asm, &assembly.values, "")
            .map_err(in_builder)?;
        self.mark(call, "nounwind");
        if ordered || is_collective(atom)? {
            self.mark(call, "convergent");
        }
        self.take_results(call, &assembly.results)
    }

    /// Adds one operand: its constraint and value, and its name in the template.
    fn assembly_operand(
        &mut self,
        decl: &OperandDecl,
        arg: &'p Arg,
        outputs: usize,
        assembly: &mut Assembly<'ctx>,
        context: &mut tera::Context,
    ) -> Result<()> {
        match (decl.kind, arg) {
            (OperandKind::RegsOut { ty, .. }, Arg::Regs(regs)) => {
                let at = assembly.outputs.len();
                let names: Vec<_> = (at..at + regs.len()).map(|at| format!("${at}")).collect();
                context.insert(decl.name.clone(), &names);
                for &reg in regs {
                    assembly.outputs.push(format!("={}", constraint(ty)));
                    assembly.results.push((reg, self.reg_type(ty)));
                }
            }
            (OperandKind::RegsIn { ty, .. }, Arg::Regs(regs)) => {
                let at = outputs + assembly.inputs.len();
                let names: Vec<_> = (at..at + regs.len()).map(|at| format!("${at}")).collect();
                context.insert(decl.name.clone(), &names);
                for &reg in regs {
                    let value = self.cast(self.read(reg)?, self.reg_type(ty))?;
                    assembly.input(constraint(ty), value)?;
                }
            }
            (OperandKind::Address(space), Arg::Address(address)) => {
                let name = format!("${}", outputs + assembly.inputs.len());
                let name = if address.imm == 0 {
                    name
                } else {
                    format!("{name}+{}", address.imm)
                };
                context.insert(decl.name.clone(), &name);
                let pointer = self.base(address)?;
                assembly.input(if space == Space::Smem { "r" } else { "l" }, pointer.into())?;
            }
            (OperandKind::Int, Arg::Int(value)) => {
                context.insert(
                    decl.name.clone(),
                    &format!("${}", outputs + assembly.inputs.len()),
                );
                let value = self.expr(value)?;
                assembly.input("r", value.into())?;
            }
            (OperandKind::Imm, Arg::Imm(value)) => context.insert(decl.name.clone(), value),
            (kind, arg) => return Err(format!("{} is {kind:?}, not {arg:?}", decl.name)),
        }
        Ok(())
    }
}

impl<'ctx> Assembly<'ctx> {
    fn input(&mut self, constraint: &str, value: Value<'ctx>) -> Result<()> {
        self.inputs.push(constraint.to_owned());
        self.types.push(value.get_type().into());
        self.values.push(value.into());
        Ok(())
    }
}

/// The inline assembly constraint of a register type (LLVM's NVPTX back end).
fn constraint(ty: RegType) -> &'static str {
    match ty {
        RegType::B16 => "h",
        RegType::B32 => "r",
        RegType::B64 => "l",
        RegType::F32 => "f",
        RegType::F64 => "d",
    }
}

/// Whether the threads of a warp, or of the CTA, run the atom together.
fn is_collective(atom: &Atom) -> Result<bool> {
    let thr_id = match (&atom.mma, &atom.copy) {
        (Some(mma), _) => &mma.thr_id,
        (_, Some(copy)) => &copy.thr_id,
        _ => return Ok(atom.kind == Kind::Sync),
    };
    Ok(thr_id.size().map_err(|error| error.to_string())? > 1)
}

fn declaration<'a>(name: &str, atom: &'a Atom) -> Result<&'a OperandDecl> {
    atom.operands
        .iter()
        .find(|decl| decl.name == name)
        .ok_or_else(|| format!("no operand {name}"))
}

fn argument<'a>(name: &str, atom: &Atom, args: &'a [Arg]) -> Result<&'a Arg> {
    let at = atom.operands.iter().position(|decl| decl.name == name);
    at.and_then(|at| args.get(at))
        .ok_or_else(|| format!("no argument for {name}"))
}

fn address(args: &[Arg]) -> Result<&Address> {
    let found = args.iter().find_map(|arg| match arg {
        Arg::Address(address) => Some(address),
        _ => None,
    });
    found.ok_or_else(|| "no address".to_owned())
}

/// Every output register with its operand.
fn outputs_of<'a>(atom: &'a Atom, args: &[Arg]) -> Vec<(&'a OperandDecl, Reg)> {
    let outputs = |decl: &OperandDecl| matches!(decl.kind, OperandKind::RegsOut { .. });
    let pairs = atom
        .operands
        .iter()
        .zip(args)
        .filter(|(decl, _)| outputs(decl));
    pairs
        .flat_map(|(decl, arg)| match arg {
            Arg::Regs(regs) => regs.iter().map(|&reg| (decl, reg)).collect(),
            _ => Vec::new(),
        })
        .collect()
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

fn result<'ctx>(call: CallSiteValue<'ctx>) -> Result<Value<'ctx>> {
    call.try_as_basic_value()
        .basic()
        .ok_or_else(|| "a call gives no value".to_owned())
}

fn vector_of<'ctx>(ty: BasicTypeEnum<'ctx>, count: u32) -> Result<VectorType<'ctx>> {
    match ty {
        BasicTypeEnum::IntType(ty) => Ok(ty.vec_type(count)),
        BasicTypeEnum::FloatType(ty) => Ok(ty.vec_type(count)),
        other => Err(format!("no vector of {other}")),
    }
}

fn metadata_type<'ctx>(value: BasicMetadataValueEnum<'ctx>) -> Result<BasicMetadataTypeEnum<'ctx>> {
    BasicValueEnum::try_from(value)
        .map(|value| value.get_type().into())
        .map_err(|_| "an argument is no value".to_owned())
}

fn align(instruction: Option<InstructionValue<'_>>, bytes: u32) -> Result<()> {
    let instruction = instruction.ok_or("an access is no instruction")?;
    instruction
        .set_alignment(bytes)
        .map_err(|error| error.to_string())
}
