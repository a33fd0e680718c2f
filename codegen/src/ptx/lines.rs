//! Line tables: which tile operation each line of the PTX comes from.
//!
//! LLVM carries the operation's number as the line of a debug location. Its directives are taken
//! out of the text again, so that the PTX is the same bytes with or without them.

use inkwell::context::Context;
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFlags, DIFlagsConstants, DIScope, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::FunctionValue;

/// LLVM's number of the debug information that it reads.
const DEBUG_INFO_VERSION: u64 = 3;

/// Debug locations of one function.
pub(super) struct Locations<'ctx> {
    builder: DebugInfoBuilder<'ctx>,
    scope: DIScope<'ctx>,
    _unit: DICompileUnit<'ctx>,
}

impl<'ctx> Locations<'ctx> {
    /// Locations for that function of a module.
    pub(super) fn of(
        context: &'ctx Context,
        module: &Module<'ctx>,
        function: FunctionValue<'ctx>,
        name: &str,
    ) -> Locations<'ctx> {
        let version = context.i32_type().const_int(DEBUG_INFO_VERSION, false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (builder, unit) = module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::C,
            "spec",
            "",
            "tilewright",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        let file = unit.get_file();
        let ty = builder.create_subroutine_type(file, None, &[], DIFlags::PUBLIC);
        let scope = unit.as_debug_info_scope();
        let program = builder.create_function(
            scope,
            name,
            None,
            file,
            1,
            ty,
            false,
            true,
            1,
            DIFlags::PUBLIC,
            true,
        );
        function.set_subprogram(program);
        Locations {
            builder,
            scope: program.as_debug_info_scope(),
            _unit: unit,
        }
    }

    /// What is built from here on comes from that operation.
    pub(super) fn enter(
        &self,
        context: &'ctx Context,
        builder: &inkwell::builder::Builder<'ctx>,
        op: u32,
    ) {
        let location = self
            .builder
            .create_debug_location(context, op, 0, self.scope, None);
        builder.set_current_debug_location(location);
    }

    /// Completes the module's debug information.
    pub(super) fn finish(&self) {
        self.builder.finalize();
    }
}

/// The PTX without what LLVM added for the locations, and for each line behind which another
/// operation begins, the line from 1 and the operation; 0 is none.
pub(super) fn strip(text: &str) -> (String, Vec<(u32, u32)>) {
    let mut plain = String::with_capacity(text.len());
    let mut table: Vec<(u32, u32)> = Vec::new();
    let mut line = 1;
    let mut op = 0;
    for one in text.lines() {
        let body = one.trim_start();
        if body.starts_with(".section") {
            // Sections of debug information end the text.
            break;
        }
        if let Some(rest) = body.strip_prefix(".loc") {
            op = rest
                .split_whitespace()
                .nth(1)
                .and_then(|op| op.parse().ok())
                .unwrap_or(0);
            continue;
        }
        let label = body.starts_with("$L__tmp") || body.starts_with("$L__func_");
        if body.starts_with(".file") || label {
            continue;
        }
        let one = match body.starts_with(".target") {
            true => one.strip_suffix(", debug").unwrap_or(one),
            false => one,
        };
        if table.last().map_or(0, |(_, last)| *last) != op {
            table.push((line, op));
        }
        plain.push_str(one);
        plain.push('\n');
        line += 1;
    }
    (plain, table)
}
