//! The thread program to PTX text, through LLVM's NVPTX back end.
//!
//! Comes in: a [`Program`] and an [`Arch`]. Goes out: PTX of the lowest `.version` that is legal
//! for the kernel, the same bytes for the same program. LLVM does integer arithmetic, addressing,
//! predicates, loops and virtual registers; an atom becomes code through its `emit` only.
//! Invariants, checked on each text: exactly one entry, of the asked name; no call, no function, no
//! local memory.
//!
//! LLVM ends the process on what it cannot select. What can be known beforehand (form of the
//! program, architecture, versions) is checked first and is an error; callers that must survive the
//! rest run a worker process.

mod lines;
mod cubin;
mod process;
pub mod ptxas;
mod target;
mod check;
mod template;
#[cfg(test)]
mod tests;
mod translate;
mod expr;
mod known;
mod atom;
mod statement;

pub use process::stay_in_group;

use inkwell::context::Context;
use inkwell::module::Module;

use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::ir::thread::program::Program;

/// The PTX of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxModule {
    /// The whole module.
    pub text: String,
    /// Which tile operation the lines of the text come from: for each line at which another one
    /// begins, the line from 1 and the operation's number, 0 for none.
    pub lines: Vec<(u32, u32)>,
    /// Its `.version`, as major * 10 + minor.
    pub version: u32,
    /// Its `.target`, such as `sm_80`.
    pub target: String,
}

/// Which LLVM IR to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrForm {
    /// As translated from the thread program.
    Translated,
    /// After LLVM's optimization passes.
    Optimized,
}

/// The version of the LLVM linked in: major, minor, patch.
pub fn llvm_version() -> (u32, u32, u32) {
    inkwell::support::get_llvm_version()
}

/// Translates a program to PTX.
///
/// # Errors
///
/// [`Error::Unsupported`] when the architecture lacks an atom or enough shared memory,
/// [`Error::Bug`] when the program is malformed or the product fails its checks.
pub fn emit(program: &Program, arch: &Arch, kernel: &str) -> Result<PtxModule> {
    let version = check::check(program, arch, kernel)?;
    let text = with_module(
        program,
        arch,
        version,
        kernel,
        IrForm::Optimized,
        |module| {
            let machine = target::machine(arch, version)?;
            target::assembly(&machine, module)
        },
    )?;
    let (text, lines) = lines::strip(&text);
    check::check_text(&text, program, arch, version)
        .map_err(|message| Error::bug("ptx", kernel, message, &text))?;
    Ok(PtxModule {
        text,
        lines,
        version,
        target: arch.name.to_owned(),
    })
}

/// A module with the entries of others behind its own, of the same target: of the newest version
/// among them. Lines of the others come from no operation.
pub fn joined<'m>(own: PtxModule, others: impl Iterator<Item = &'m PtxModule>) -> PtxModule {
    let mut all = own;
    for other in others {
        let line = all.text.lines().count() as u32 + 1;
        let entry = other
            .text
            .split_once(HEADER_ENDS)
            .map_or("", |(_, rest)| rest);
        let entry = entry.split_once('\n').map_or("", |(_, rest)| rest);
        all.lines.push((line, 0));
        all.text.push_str(entry);
        if other.version > all.version {
            let version = |of: u32| format!(".version {}.{}", of / 10, of % 10);
            let (before, after) = (version(all.version), version(other.version));
            all.text = all.text.replacen(&before, &after, 1);
            all.version = other.version;
        }
    }
    all
}

/// What the last line of a module's header begins with.
const HEADER_ENDS: &str = ".address_size";

/// The LLVM IR of a program.
///
/// # Errors
///
/// Those of [`emit`].
pub fn llvm_ir(program: &Program, arch: &Arch, kernel: &str, form: IrForm) -> Result<String> {
    let version = check::check(program, arch, kernel)?;
    with_module(program, arch, version, kernel, form, |module| {
        module.strip_debug_info();
        Ok(module.print_to_string().to_string())
    })
}

/// Builds, verifies and, if asked, optimizes the module, then hands it on.
fn with_module<T>(
    program: &Program,
    arch: &Arch,
    version: u32,
    kernel: &str,
    form: IrForm,
    then: impl FnOnce(&Module<'_>) -> std::result::Result<T, String>,
) -> Result<T> {
    let context = Context::create();
    let module = context.create_module(&program.entry);
    let build = || {
        let machine = target::machine(arch, version)?;
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        translate::translate(&context, &module, program)?;
        module
            .verify()
            .map_err(|error| format!("LLVM's verifier: {}", error.to_string_lossy()))?;
        if form == IrForm::Optimized {
            target::optimize(&machine, &module)?;
            // What becomes known may make more known.
            while known::compute(&context, &module)? {
                target::tidy(&machine, &module)?;
            }
        }
        Ok(())
    };
    build()
        .and_then(|()| then(&module))
        .map_err(|message| Error::bug("ptx", kernel, message, module.print_to_string()))
}
