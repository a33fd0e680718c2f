//! LLVM's NVPTX target: initialized once, one machine per thread, architecture and version.
//!
//! NOTE: shared pointers are 32-bit only under `-nvptx-short-ptr`, which LLVM takes from its
//! command-line parser alone. It holds for the whole process, before the first machine is made; the
//! machine's data layout then says `p3:32:32`, and [`machine`] refuses one that does not.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};

use crate::arch::Arch;

type Result<T> = std::result::Result<T, String>;

/// PTX versions that LLVM 22 can emit, from 6.0 on.
pub(super) const PTX_VERSIONS: &[u32] = &[
    60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88,
    90,
];

type Machines = HashMap<(&'static str, u32), Rc<TargetMachine>>;

thread_local! {
    static MACHINES: RefCell<Machines> = RefCell::new(HashMap::new());
}

fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        Target::initialize_nvptx(&InitializationConfig::default());
        let arguments = [c"tilewright".as_ptr(), c"-nvptx-short-ptr".as_ptr()];
        // SAFETY: both arguments are valid C strings for the whole call, their count is right, and
        // `Once` keeps other threads of this crate away from the options meanwhile. The overview
        // may be null.
        unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), std::ptr::null()) };
    });
}

/// The target machine of this thread for that architecture and version.
pub(super) fn machine(arch: &Arch, version: u32) -> Result<Rc<TargetMachine>> {
    initialize();
    let key = (arch.name, version);
    if let Some(machine) = MACHINES.with_borrow(|machines| machines.get(&key).cloned()) {
        return Ok(machine);
    }
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let target = Target::from_triple(&triple).map_err(|error| error.to_string())?;
    let features = format!("+ptx{version}");
    let machine = target
        .create_target_machine(
            &triple,
            arch.name,
            &features,
            OptimizationLevel::Aggressive,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| {
            format!(
                "LLVM has no target machine for {} with {features}",
                arch.name
            )
        })?;
    machine.set_asm_verbosity(false);
    let layout = machine.get_target_data().get_data_layout();
    if !layout.as_str().to_string_lossy().contains("p3:32:32") {
        return Err(format!(
            "shared pointers are not 32-bit: data layout {:?}",
            layout.as_str()
        ));
    }
    let machine = Rc::new(machine);
    MACHINES.with_borrow_mut(|machines| machines.insert(key, Rc::clone(&machine)));
    Ok(machine)
}

/// Runs the default pipeline. Loops stay as the generator made them: nothing is unrolled or
/// vectorized.
pub(super) fn optimize(machine: &TargetMachine, module: &Module<'_>) -> Result<()> {
    let options = PassBuilderOptions::create();
    options.set_loop_unrolling(false);
    options.set_loop_vectorization(false);
    options.set_loop_interleaving(false);
    options.set_loop_slp_vectorization(false);
    module
        .run_passes("default<O3>", machine, options)
        .map_err(|error| error.to_string())
}

/// Takes away what nothing reads any more, and computes what is known.
pub(super) fn tidy(machine: &TargetMachine, module: &Module<'_>) -> Result<()> {
    module
        .run_passes("instcombine,dce", machine, PassBuilderOptions::create())
        .map_err(|error| error.to_string())
}

/// The PTX text of an optimized module.
pub(super) fn assembly(machine: &TargetMachine, module: &Module<'_>) -> Result<String> {
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|error| error.to_string())?;
    let text = buffer.as_slice();
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    String::from_utf8(text.to_vec()).map_err(|error| error.to_string())
}
