//! Atoms to LLVM: an operation, an intrinsic call or rendered inline assembly, as the record's
//! `emit` says.
//!
//! Comes in: a record and its checked arguments. Goes out: instructions at the builder's place. No
//! record is known here by name.
//!
//! NOTE: LLVM 22 marks `llvm.nvvm.mma.*` as pure and not convergent, so a product that only guarded
//! stores read could sink into the guard. Every call that all threads of a warp make together is
//! marked convergent at the call, which LLVM keeps on intrinsics.

mod assembly;
mod intrinsic;
mod llvm_op;

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue};

use super::known;
use super::translate::{Result, Translator, in_builder};
use crate::atoms::model::{Atom, Emit, Kind, OperandDecl, OperandKind};
use crate::ir::thread::program::{Arg, Reg, VarId};

type Value<'ctx> = BasicValueEnum<'ctx>;

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Reg(Reg),
    /// The variable that it defines.
    Var(VarId),
    Nowhere,
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
                gives,
            } => self.intrinsic(name, params, (types, gives), atom, args),
            Emit::Template { file, values } => self.template(file, values, atom, args),
        };
        done.map_err(|problem| format!("{}: {problem}", atom.id))
    }

    /// Calls an intrinsic, declared on first use. LLVM's verifier compares the signature with its
    /// own.
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

    /// No output gives `void`, one its own type, more a struct.
    fn signature(
        &self,
        outputs: &[(Target, BasicTypeEnum<'ctx>)],
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
        &mut self,
        call: CallSiteValue<'ctx>,
        outputs: &[(Target, BasicTypeEnum<'ctx>)],
    ) -> Result<()> {
        match outputs {
            [] => Ok(()),
            [(target, _)] => self.take(*target, result(call)?),
            more => {
                let BasicValueEnum::StructValue(all) = result(call)? else {
                    return Err("a call with many results gives no struct".to_owned());
                };
                let read = |target: &Target| *target != Target::Nowhere;
                let parts = (0..).zip(more).filter(|(_, (target, _))| read(target));
                parts.into_iter().try_for_each(|(at, &(target, _))| {
                    let part = self
                        .builder
                        .build_extract_value(all, at, "")
                        .map_err(in_builder)?;
                    self.take(target, part)
                })
            }
        }
    }

    fn take(&mut self, target: Target, value: Value<'ctx>) -> Result<()> {
        match (target, value) {
            (Target::Reg(reg), value) => self.write(reg, value),
            (Target::Var(var), BasicValueEnum::IntValue(value)) => self.define(var, value),
            (Target::Var(_), other) => Err(format!("a predicate gets {other}")),
            (Target::Nowhere, _) => Ok(()),
        }
    }

    /// Names the atom whose code a call is, where what it gives may be computed beforehand.
    fn name_atom(&self, call: CallSiteValue<'ctx>, atom: &Atom) {
        if known::is_named(atom) {
            let named = self.context.create_string_attribute(known::ATOM, &atom.id);
            call.add_attribute(AttributeLoc::Function, named);
        }
    }

    pub(super) fn mark_convergent(&self, call: CallSiteValue<'ctx>) {
        self.mark(call, "convergent");
    }

    fn mark(&self, call: CallSiteValue<'ctx>, name: &str) {
        let kind = Attribute::get_named_enum_kind_id(name);
        call.add_attribute(
            AttributeLoc::Function,
            self.context.create_enum_attribute(kind, 0),
        );
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

/// Every output register with its operand.
fn outputs_of<'a>(atom: &'a Atom, args: &[Arg]) -> Vec<(&'a OperandDecl, Reg)> {
    let outputs = |decl: &OperandDecl| {
        matches!(
            decl.kind,
            OperandKind::RegsOut { .. }
                | OperandKind::RegsInOut { .. }
                | OperandKind::RegsInOuts { .. }
        )
    };
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

fn result<'ctx>(call: CallSiteValue<'ctx>) -> Result<Value<'ctx>> {
    call.try_as_basic_value()
        .basic()
        .ok_or_else(|| "a call gives no value".to_owned())
}
