//! A program to LLVM IR: the function, its slots, its registers.
//!
//! Comes in: a checked program. Goes out: one kernel function in the module. Mutable variables and
//! every register are scalar `alloca`s of the entry block, which `mem2reg` turns into virtual
//! registers; immutable variables are SSA values that live as long as the body that defines them.

use std::collections::HashMap;

use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{AnyType, BasicMetadataTypeEnum, BasicTypeEnum, IntType as LlvmIntType};
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PointerValue};

use super::lines::Locations;
use crate::atoms::model::RegType;
use crate::dtype::DType;
use crate::ir::thread::program::{Expr, IntType, ParamId, ParamType, Program, Reg, VarId};

pub(super) type Result<T> = std::result::Result<T, String>;

/// LLVM's number of the `ptx_kernel` calling convention.
const PTX_KERNEL: u32 = 71;
/// Bytes of a tensor map, and their alignment (PTX ISA, tensor map).
const TENSOR_MAP_BYTES: u32 = 128;
const TENSOR_MAP_ALIGN: u64 = 64;
/// LLVM's numbers of the PTX state spaces.
pub(super) const GLOBAL: u16 = 1;
pub(super) const SHARED: u16 = 3;

/// What a variable is at the current point.
#[derive(Clone, Copy)]
pub(super) enum Var<'ctx> {
    Value(IntValue<'ctx>),
    Slot(PointerValue<'ctx>),
}

/// The function being built.
pub(super) struct Translator<'ctx, 'p> {
    pub(super) context: &'ctx Context,
    pub(super) module: &'p Module<'ctx>,
    pub(super) builder: Builder<'ctx>,
    pub(super) program: &'p Program,
    pub(super) function: FunctionValue<'ctx>,
    pub(super) smem: Option<PointerValue<'ctx>>,
    pub(super) vars: Vec<Option<Var<'ctx>>>,
    files: Vec<Vec<PointerValue<'ctx>>>,
    /// Variables defined so far, so that those of a body can be forgotten at its end.
    pub(super) defined: Vec<VarId>,
    /// Values of expression nodes within the current straight run of code.
    pub(super) values: HashMap<*const Expr, IntValue<'ctx>>,
    pub(super) locations: Locations<'ctx>,
}

/// Translates the program into `module`.
pub(super) fn translate<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    program: &Program,
) -> Result<()> {
    let function = declare(context, module, program)?;
    let entry = context.append_basic_block(function, "entry");
    let builder = context.create_builder();
    builder.position_at_end(entry);
    let mut translator = Translator {
        context,
        module,
        builder,
        program,
        function,
        smem: dynamic_smem(context, module, program),
        vars: vec![None; program.vars.len()],
        files: Vec::new(),
        defined: Vec::new(),
        values: HashMap::new(),
        locations: Locations::of(context, module, function, &program.entry),
    };
    translator.locations.enter(context, &translator.builder, 0);
    translator.slots().map_err(in_builder)?;
    translator.body(&program.body)?;
    translator.builder.build_return(None).map_err(in_builder)?;
    translator.locations.finish();
    Ok(())
}

pub(super) fn in_builder(error: BuilderError) -> String {
    format!("LLVM's builder: {error}")
}

fn declare<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    program: &Program,
) -> Result<FunctionValue<'ctx>> {
    let types: Vec<BasicMetadataTypeEnum<'_>> = program
        .params
        .iter()
        .map(|param| match param.ty {
            ParamType::Pointer { .. } => context.ptr_type(AddressSpace::from(GLOBAL)).into(),
            // A generic pointer to a copy in parameter space, see `declare`.
            ParamType::TensorMap => context.ptr_type(AddressSpace::default()).into(),
            ParamType::I32 => context.i32_type().into(),
            ParamType::I64 => context.i64_type().into(),
            ParamType::Scalar(DType::F32) => context.f32_type().into(),
            ParamType::Scalar(DType::F64) => context.f64_type().into(),
            ParamType::Scalar(dtype) if dtype.bits() == 64 => context.i64_type().into(),
            ParamType::Scalar(_) => context.i32_type().into(),
        })
        .collect();
    let ty = context.void_type().fn_type(&types, false);
    let function = module.add_function(&program.entry, ty, None);
    function.set_call_conventions(PTX_KERNEL);
    let text = |name: &str, value: u32| context.create_string_attribute(name, &value.to_string());
    let flag = |name: &str, value: u64| {
        context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
    };
    function.add_attribute(
        AttributeLoc::Function,
        text("nvvm.reqntid", program.threads),
    );
    if let Some(ctas) = program.min_ctas_per_sm {
        function.add_attribute(AttributeLoc::Function, text("nvvm.minctasm", ctas));
    }
    for (at, param) in (0..).zip(&program.params) {
        function
            .get_nth_param(at)
            .ok_or("a parameter is missing")?
            .set_name(&param.name);
        if param.ty == ParamType::TensorMap {
            let bytes = context.i8_type().array_type(TENSOR_MAP_BYTES);
            let byval = Attribute::get_named_enum_kind_id("byval");
            function.add_attribute(
                AttributeLoc::Param(at),
                context.create_type_attribute(byval, bytes.as_any_type_enum()),
            );
            function.add_attribute(AttributeLoc::Param(at), flag("align", TENSOR_MAP_ALIGN));
            function.add_attribute(
                AttributeLoc::Param(at),
                context.create_string_attribute("nvvm.grid_constant", ""),
            );
            continue;
        }
        let ParamType::Pointer {
            align_bytes,
            readonly,
            shared,
        } = param.ty
        else {
            continue;
        };
        if !shared {
            function.add_attribute(AttributeLoc::Param(at), flag("noalias", 0));
        }
        function.add_attribute(
            AttributeLoc::Param(at),
            flag("align", u64::from(align_bytes)),
        );
        if readonly {
            function.add_attribute(AttributeLoc::Param(at), flag("readonly", 0));
        }
    }
    Ok(function)
}

/// The kernel's dynamic shared memory: an external array without a size.
fn dynamic_smem<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    program: &Program,
) -> Option<PointerValue<'ctx>> {
    if program.smem_bytes == 0 {
        return None;
    }
    let bytes = context.i8_type().array_type(0);
    let name = format!("{}_smem", program.entry);
    let global = module.add_global(bytes, Some(AddressSpace::from(SHARED)), &name);
    global.set_linkage(Linkage::External);
    global.set_alignment(program.smem_align_bytes);
    Some(global.as_pointer_value())
}

impl<'ctx, 'p> Translator<'ctx, 'p> {
    pub(super) fn int_type(&self, ty: IntType) -> LlvmIntType<'ctx> {
        match ty {
            IntType::I1 => self.context.bool_type(),
            IntType::I32 => self.context.i32_type(),
            IntType::I64 => self.context.i64_type(),
        }
    }

    pub(super) fn reg_type(&self, ty: RegType) -> BasicTypeEnum<'ctx> {
        match ty {
            RegType::Pred => self.context.bool_type().into(),
            RegType::B8 => self.context.i8_type().into(),
            RegType::B16 => self.context.i16_type().into(),
            RegType::B32 => self.context.i32_type().into(),
            RegType::B64 => self.context.i64_type().into(),
            RegType::F32 => self.context.f32_type().into(),
            RegType::F64 => self.context.f64_type().into(),
        }
    }

    /// Makes the slots of registers and mutable variables.
    fn slots(&mut self) -> std::result::Result<(), BuilderError> {
        for file in &self.program.files {
            let ty = self.reg_type(file.ty);
            let slots = (0..file.len).map(|_| self.builder.build_alloca(ty, &file.name));
            self.files
                .push(slots.collect::<std::result::Result<_, _>>()?);
        }
        for (at, var) in self
            .program
            .vars
            .iter()
            .enumerate()
            .filter(|(_, var)| var.mutable)
        {
            let slot = self
                .builder
                .build_alloca(self.int_type(var.ty), &var.name)?;
            self.vars[at] = Some(Var::Slot(slot));
        }
        Ok(())
    }

    /// The address of a tensor map among the parameters.
    pub(super) fn tensor_map(&self, param: ParamId) -> Result<BasicValueEnum<'ctx>> {
        match self.function.get_nth_param(param.0) {
            Some(pointer @ BasicValueEnum::PointerValue(_)) => Ok(pointer),
            _ => Err(format!("parameter {} is no tensor map", param.0)),
        }
    }

    fn slot(&self, reg: Reg) -> Result<PointerValue<'ctx>> {
        let file = self.files.get(reg.file as usize);
        file.and_then(|file| file.get(reg.index as usize).copied())
            .ok_or_else(|| format!("there is no register {reg:?}"))
    }

    /// The value of a register.
    pub(super) fn read(&self, reg: Reg) -> Result<BasicValueEnum<'ctx>> {
        let ty = self.reg_type(self.file_type(reg)?);
        self.builder
            .build_load(ty, self.slot(reg)?, "")
            .map_err(in_builder)
    }

    /// Gives a register a value of its width.
    pub(super) fn write(&self, reg: Reg, value: BasicValueEnum<'ctx>) -> Result<()> {
        let value = self.cast(value, self.reg_type(self.file_type(reg)?))?;
        self.builder
            .build_store(self.slot(reg)?, value)
            .map_err(in_builder)?;
        Ok(())
    }

    pub(super) fn file_type(&self, reg: Reg) -> Result<RegType> {
        let file = self.program.files.get(reg.file as usize);
        file.map(|file| file.ty)
            .ok_or_else(|| format!("there is no register {reg:?}"))
    }

    /// The same bits as another type; 8 bits are the low ones of a register of 16.
    pub(super) fn cast(
        &self,
        value: BasicValueEnum<'ctx>,
        ty: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>> {
        if value.get_type() == ty {
            return Ok(value);
        }
        if let (BasicValueEnum::IntValue(from), BasicTypeEnum::IntType(to)) = (value, ty)
            && let (8, 16) | (16, 8) = (from.get_type().get_bit_width(), to.get_bit_width())
        {
            let cast = self.builder.build_int_cast_sign_flag(from, to, false, "");
            return Ok(cast.map_err(in_builder)?.into());
        }
        self.builder
            .build_bit_cast(value, ty, "")
            .map_err(in_builder)
    }
}
