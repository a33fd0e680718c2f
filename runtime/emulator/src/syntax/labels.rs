//! Labels become places in the code at the end of each function.

use super::parser::Parser;
use crate::inst::Exec;
use crate::operand::LabelUse;

impl Parser<'_> {
    /// Replaces label numbers by places in the code.
    pub(crate) fn resolve_labels(&mut self, start: usize) {
        let labels = std::mem::take(&mut self.labels);
        let mut unknown = Vec::new();
        let mut resolve = |id: &mut u32| {
            let Some(LabelUse { scope, name, place }) = labels.get(*id as usize) else {
                return;
            };
            match self.scopes.label(*scope, name) {
                Some(pc) => *id = pc,
                None => unknown.push((*place, format!("label {name} is not defined"))),
            }
        };
        let mut tables = Vec::new();
        for (index, inst) in self.module.code.iter_mut().enumerate().skip(start) {
            match &mut inst.exec {
                Exec::Branch { target } => resolve(target),
                Exec::BranchIndexed { targets, .. } => tables.push((index, targets.clone())),
                _ => {}
            }
        }
        for (index, ids) in tables {
            let table = ids.first().and_then(|id| labels.get(*id as usize));
            let Some(LabelUse { scope, name, place }) = table else {
                continue;
            };
            let Some(names) = self.scopes.table(*scope, name) else {
                unknown.push((*place, format!("{name} is no .branchtargets list")));
                continue;
            };
            let found: Vec<Option<u32>> = names
                .iter()
                .map(|label| self.scopes.label(*scope, label))
                .collect();
            if found.contains(&None) {
                unknown.push((*place, format!("{name} names a label that is not defined")));
            }
            if let Some(Exec::BranchIndexed { targets, .. }) =
                self.module.code.get_mut(index).map(|inst| &mut inst.exec)
            {
                *targets = found.into_iter().flatten().collect();
            }
        }
        for (place, message) in unknown {
            self.error(place, message);
        }
    }
}
