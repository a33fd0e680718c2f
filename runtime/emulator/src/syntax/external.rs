//! `.extern .global` variables: declared first, defined later in the same text, or never used.
//!
//! One text is run at a time, so nothing else can define them. Their addresses are known at the
//! declaration; the definition takes that address.

use super::parser::{External, Parsed, Parser};
use super::scope::Named;
use crate::finding::Space;
use crate::inst::Src;
use crate::module::{EXTERN_STRIDE, EXTERN_VARIABLES};

/// Variables that one text may declare so.
const MOST: usize = 4096;

fn address(index: usize) -> u64 {
    EXTERN_VARIABLES + EXTERN_STRIDE * index as u64
}

impl<'a> Parser<'a> {
    /// Declares one.
    pub(super) fn external(&mut self, name: &'a str, place: (u32, u32)) -> Parsed<()> {
        if self.module.narrow {
            return Err("unsupported .extern variable with addresses of 32 bits".to_owned());
        }
        let known = self.scopes.lookup(name);
        if let Some(Named::Variable {
            space: Space::Global,
            ..
        }) = known
        {
            return Ok(());
        }
        if self.externals.len() >= MOST {
            return Err(format!("more than {MOST} .extern variables"));
        }
        let base = Src::Imm(address(self.externals.len()));
        self.externals.push(External {
            name,
            place,
            used: false,
            defined: false,
        });
        let (space, bytes) = (Space::Global, 0);
        self.scopes
            .declare(name, Named::Variable { base, space, bytes })
    }

    /// Notes that an operand or an initialiser names a variable.
    pub(super) fn use_external(&mut self, base: Src, space: Space) {
        if let (Src::Imm(value), Space::Global) = (base, space)
            && let Some(offset) = value.checked_sub(EXTERN_VARIABLES)
            && let Some(external) = self.externals.get_mut((offset / EXTERN_STRIDE) as usize)
        {
            external.used = true;
        }
    }

    /// The address of a variable that is defined now and was declared before.
    pub(super) fn define_external(&mut self, name: &str, space: Space) -> Option<u64> {
        if space != Space::Global || self.scopes.current() != 0 {
            return None;
        }
        let open = |external: &External<'_>| external.name == name && !external.defined;
        let index = self.externals.iter().position(open)?;
        self.externals.get_mut(index)?.defined = true;
        Some(address(index))
    }

    /// Variables that are used and that nothing defines are errors.
    pub(super) fn missing_externals(&mut self) {
        let missing = |external: &External<'_>| external.used && !external.defined;
        for External { name, place, .. } in self.externals.clone().into_iter().filter(missing) {
            self.error(
                place,
                format!("{name} is used and not defined: no other text is linked; define it here"),
            );
        }
    }
}
