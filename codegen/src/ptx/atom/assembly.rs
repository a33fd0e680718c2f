//! Inline assembly rendered from templates.

use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use inkwell::values::BasicMetadataValueEnum;

use super::{Target, Value, is_collective, outputs_of};
use crate::atoms::model::{Atom, Kind, OperandDecl, OperandKind, RegType, Space};
use crate::ir::thread::program::{Arg, Reg};
use crate::ptx::template;
use crate::ptx::translate::{Result, Translator, in_builder};

/// Operands of inline assembly as they are gathered.
#[derive(Default)]
struct Assembly<'ctx> {
    outputs: Vec<String>,
    inputs: Vec<String>,
    values: Vec<BasicMetadataValueEnum<'ctx>>,
    types: Vec<BasicMetadataTypeEnum<'ctx>>,
    results: Vec<(Target, BasicTypeEnum<'ctx>)>,
}

impl<'ctx, 'p> Translator<'ctx, 'p> {
    /// Inline assembly. Constraints follow from the operand kinds; what touches memory or orders
    /// things clobbers memory.
    pub(super) fn template(
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
        let descriptors = atom.mma.as_ref().is_some_and(|mma| mma.smem != [false; 2]);
        let ordered = touches_memory || descriptors || atom.kind == Kind::Sync;
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
        self.name_atom(call, atom);
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
                    assembly
                        .results
                        .push((Target::Reg(reg), self.held_type(ty)));
                }
            }
            (OperandKind::RegsIn { ty, .. }, Arg::Regs(regs)) => {
                let at = outputs + assembly.inputs.len();
                let names: Vec<_> = (at..at + regs.len()).map(|at| format!("${at}")).collect();
                context.insert(decl.name.clone(), &names);
                for &reg in regs {
                    let value = self.cast(self.read(reg)?, self.held_type(ty))?;
                    assembly.input(constraint(ty), value)?;
                }
            }
            (OperandKind::RegsInOut { ty, .. }, Arg::Regs(regs)) => {
                self.in_place(decl, Some(ty), regs, assembly, context)?;
            }
            (OperandKind::RegsInOuts { ty }, Arg::Regs(regs)) => {
                self.in_place(decl, ty, regs, assembly, context)?;
            }
            (OperandKind::TensorMap, Arg::TensorMap(param)) => {
                let name = format!("${}", outputs + assembly.inputs.len());
                context.insert(decl.name.clone(), &name);
                assembly.input("l", self.tensor_map(*param)?)?;
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
            (OperandKind::Ints(_), Arg::Ints(values)) => {
                let at = outputs + assembly.inputs.len();
                let names: Vec<_> = (at..at + values.len()).map(|at| format!("${at}")).collect();
                context.insert(decl.name.clone(), &names);
                for value in values {
                    let value = self.expr(value)?;
                    assembly.input("r", value.into())?;
                }
            }
            (OperandKind::Imm, Arg::Imm(value)) => context.insert(decl.name.clone(), value),
            (OperandKind::Imms, Arg::Imms(values)) => context.insert(decl.name.clone(), values),
            (kind, arg) => return Err(format!("{} is {kind:?}, not {arg:?}", decl.name)),
        }
        Ok(())
    }

    /// What inline assembly holds registers of a type in: those of 8 bits in 16.
    fn held_type(&self, ty: RegType) -> BasicTypeEnum<'ctx> {
        self.reg_type(match ty {
            RegType::B8 => RegType::B16,
            other => other,
        })
    }

    /// Registers read and written in place, of that type or each of its own: the input is tied to
    /// the output's register.
    fn in_place(
        &mut self,
        decl: &OperandDecl,
        ty: Option<RegType>,
        regs: &[Reg],
        assembly: &mut Assembly<'ctx>,
        context: &mut tera::Context,
    ) -> Result<()> {
        let at = assembly.outputs.len();
        let names: Vec<_> = (at..at + regs.len()).map(|at| format!("${at}")).collect();
        context.insert(decl.name.clone(), &names);
        for (at, &reg) in (at..).zip(regs) {
            let ty = ty.map_or_else(|| self.file_type(reg), Ok)?;
            assembly.outputs.push(format!("={}", constraint(ty)));
            assembly
                .results
                .push((Target::Reg(reg), self.held_type(ty)));
            let value = self.cast(self.read(reg)?, self.held_type(ty))?;
            assembly.input(&at.to_string(), value)?;
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
        RegType::Pred => "b",
        RegType::B8 | RegType::B16 => "h",
        RegType::B32 => "r",
        RegType::B64 => "l",
        RegType::F32 => "f",
        RegType::F64 => "d",
    }
}
