//! Every access to global memory stands under a predicate or says how many of its bytes are valid.

use crate::atoms::model::Space;
use crate::ir::program::{Arg, Program, Stmt};

/// How the accesses are guarded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guards {
    pub by_predicate: u32,
    pub by_size: u32,
}

/// Counts the guarded accesses, or names the first that is not.
pub(super) fn check(program: &Program) -> Result<Guards, String> {
    let mut guards = Guards::default();
    walk(&program.body, false, &mut guards)?;
    Ok(guards)
}

fn walk(body: &[Stmt], predicated: bool, guards: &mut Guards) -> Result<(), String> {
    for statement in body {
        match statement {
            Stmt::For { body, .. } => walk(body, predicated, guards)?,
            Stmt::If {
                then, otherwise, ..
            } => {
                walk(then, true, guards)?;
                walk(otherwise, predicated, guards)?;
            }
            Stmt::Atom { atom, args } => {
                let global = |arg: &Arg| match arg {
                    Arg::Address(address) => address.space == Space::Gmem,
                    _ => false,
                };
                if !args.iter().any(global) {
                    continue;
                }
                let sized = atom
                    .copy
                    .as_ref()
                    .is_some_and(|copy| copy.src_bytes.is_some());
                match (sized, predicated) {
                    (true, _) => guards.by_size += 1,
                    (false, true) => guards.by_predicate += 1,
                    (false, false) => {
                        return Err(format!("{} reaches global memory unguarded", atom.id));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}
