//! Last step of parsing: what needs the whole module.
//!
//! For each entry: which functions it reaches, the layout of the shared variables they use, and
//! whether its CTAs are independent of each other.

use crate::inst::Exec;
use crate::module::Module;

/// Bytes of static shared memory that an entry may use: ptxas refuses more whatever the
/// architecture; larger memory is dynamic.
const MAX_STATIC_SHARED_BYTES: u64 = 48 << 10;

/// A problem and its line and column.
type Placed = ((u32, u32), String);

/// Fills the entries' derived fields. Returns the problems: calls of functions that are declared
/// but not defined, entries with too much static shared memory.
pub(crate) fn link(module: &mut Module) -> Vec<Placed> {
    let mut problems = Vec::new();
    let product = |inst: &crate::inst::Inst| matches!(inst.exec, Exec::Wgmma(_));
    module.uses_wgmma = module.code.iter().any(product);
    for inst in &module.code {
        if let Exec::Call(call) = &inst.exec
            && let Ok(id) = call.target
            && let Some(function) = module.functions.get(id as usize)
            && function.start.is_none()
        {
            let name = &function.name;
            let message = format!("unsupported call of {name}: no definition");
            problems.push(((inst.line, 1), message));
        }
    }
    let mut entries = std::mem::take(&mut module.entries);
    for entry in &mut entries {
        let reached = reach(module, entry.function);
        let used = |var: usize| reached.iter().any(|f| f.shared.contains(&(var as u32)));
        entry.independent = !reached.iter().any(|function| function.communicates);
        // Variables the entry does not use are nowhere.
        let mut offsets = vec![u32::MAX; module.shared.len()];
        let mut end = 0u64;
        let mut dynamic_align = 16;
        for (var, (variable, offset)) in module.shared.iter().zip(&mut offsets).enumerate() {
            if used(var) && variable.dynamic {
                dynamic_align = dynamic_align.max(variable.align);
            } else if used(var) {
                end = end.next_multiple_of(u64::from(variable.align));
                *offset = end as u32;
                end += u64::from(variable.bytes);
            }
        }
        entry.static_shared_bytes = u32::try_from(end).unwrap_or(u32::MAX);
        if end > MAX_STATIC_SHARED_BYTES {
            let name = &entry.name;
            let message = format!(
                "entry {name} has {end} bytes of static shared memory, at most \
                 {MAX_STATIC_SHARED_BYTES}: declare it .extern, with its size given at launch"
            );
            problems.push((entry.place, message));
        }
        let dynamic = if end == 0 {
            0
        } else {
            end.next_multiple_of(u64::from(dynamic_align))
        };
        for (variable, offset) in module.shared.iter().zip(&mut offsets) {
            if variable.dynamic {
                *offset = u32::try_from(dynamic).unwrap_or(u32::MAX);
            }
        }
        entry.dynamic_offset = u32::try_from(dynamic).unwrap_or(u32::MAX);
        entry.shared_offsets = offsets;
    }
    module.entries = entries;
    problems
}

/// The functions an entry may run; an address taken anywhere counts, since tables hold them.
fn reach(module: &Module, entry: u32) -> Vec<&crate::module::Function> {
    let mut seen = vec![false; module.functions.len()];
    let mut list = Vec::new();
    let mut work = vec![entry];
    work.extend(&module.addressed);
    while let Some(id) = work.pop() {
        let Some(known) = seen.get_mut(id as usize) else {
            continue;
        };
        if std::mem::replace(known, true) {
            continue;
        }
        if let Some(function) = module.functions.get(id as usize) {
            work.extend(&function.callees);
            list.push(function);
        }
    }
    list
}
