//! An opcode as it is written to its row of the table: its modifiers and types, checked.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::decoder::{Form, Spec};
use super::operands::Decoded;
use super::{least, table};
use crate::types::Ty;

fn rows() -> &'static HashMap<&'static str, &'static Spec> {
    static ROWS: OnceLock<HashMap<&'static str, &'static Spec>> = OnceLock::new();
    ROWS.get_or_init(|| table::rows().map(|spec| (spec.base, spec)).collect())
}

/// The row whose base is the longest prefix of whole pieces, and the rest.
fn find(opcode: &str) -> Option<(&'static Spec, &str)> {
    let ends = opcode
        .match_indices('.')
        .map(|(at, _)| at)
        .chain([opcode.len()]);
    let mut best = None;
    for end in ends.take(5) {
        if let Some(spec) = rows().get(&opcode[..end]) {
            best = Some((*spec, &opcode[end..]));
        }
    }
    best
}

impl Form {
    /// Checks the opcode as written.
    pub(crate) fn new(opcode: &str) -> Decoded<Form> {
        let (spec, rest) = find(opcode).ok_or_else(|| format!("unsupported opcode {opcode}"))?;
        let mut form = Form {
            spec,
            mods: Vec::new(),
            types: Vec::new(),
            need: None,
        };
        let mut used = vec![false; spec.groups.len()];
        for modifier in rest.split('.').skip(1) {
            form.add(modifier, &mut used)?;
        }
        for (group, used) in spec.groups.iter().zip(used) {
            if group.required && !used {
                return Err(format!("{opcode} needs one of .{}", group.names.join(" .")));
            }
        }
        if form.types.len() < spec.min_types {
            let wanted = spec
                .types
                .get(form.types.len())
                .map_or(String::new(), |set| set.names());
            return Err(format!("{opcode} needs a type: one of {wanted}"));
        }
        form.need = least::need(&form);
        Ok(form)
    }

    fn add(&mut self, modifier: &str, used: &mut [bool]) -> Decoded<()> {
        let spec = self.spec;
        let mut second = false;
        for (group, used) in spec.groups.iter().zip(used) {
            if let Some(name) = group.names.iter().find(|name| **name == modifier) {
                // Two groups may have a name in common: the layouts of A and of B.
                if *used {
                    second = true;
                    continue;
                }
                *used = true;
                self.mods.push(name);
                return Ok(());
            }
        }
        if second {
            return Err(format!(
                "unsupported second modifier .{modifier} of {}",
                spec.base
            ));
        }
        let unsupported = || format!("unsupported modifier .{modifier} of {}", spec.base);
        let ty = Ty::parse(modifier).ok_or_else(unsupported)?;
        let allowed = spec.types.get(self.types.len()).ok_or_else(unsupported)?;
        if !allowed.has(ty) {
            let names = allowed.names();
            return Err(format!(
                "unsupported type .{modifier} of {}: one of {names}",
                spec.base
            ));
        }
        self.types.push(ty);
        Ok(())
    }
}
