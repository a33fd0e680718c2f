//! Rows of the opcode table, opcodes checked against them, and what decode functions ask of one
//! instruction.

use super::need::Need;
use super::operands::{
    Decoded, WIDER, to_dst, to_pred_dst, to_pred_src, to_src, to_wider_dst, to_wider_src,
};
use crate::architecture::Architecture;
use crate::counters::InstClass;
use crate::finding::Space;
use crate::inst::{Address, Exec, PredSrc, Reg, Src};
use crate::lexer::Literal;
use crate::module::Function;
use crate::operand::{LabelUse, Operand};
use crate::types::{Ty, TypeSet};

/// A group of modifiers of which at most one, or exactly one, is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) required: bool,
    pub(crate) names: &'static [&'static str],
}

/// One row of the table.
pub(crate) struct Spec {
    pub(crate) base: &'static str,
    pub(crate) groups: &'static [Group],
    /// Allowed types, by position.
    pub(crate) types: &'static [TypeSet],
    /// Types that must be there.
    pub(crate) min_types: usize,
    pub(crate) class: InstClass,
    pub(crate) decode: fn(&mut Decoder<'_, '_>) -> Decoded<Exec>,
}

/// An opcode with its modifiers, checked against its row.
pub(crate) struct Form {
    pub(crate) spec: &'static Spec,
    pub(super) mods: Vec<&'static str>,
    pub(super) types: Vec<Ty>,
    /// What it needs of `.target`.
    pub(super) need: Option<Need>,
}

impl Form {
    /// What of `.target` it needs that a text for that one has not.
    pub(crate) fn lacks(&self, target: &Architecture) -> Option<Need> {
        self.need.filter(|need| !need.allows(target))
    }

    /// The class to count under: arithmetic on floats is the floats', whatever row it shares.
    pub(crate) fn class(&self) -> InstClass {
        match (self.spec.class, self.types.first()) {
            (InstClass::Integer, Some(ty)) if ty.is_float() => InstClass::Float,
            (class, _) => class,
        }
    }
}

/// Decodes one instruction.
pub(crate) struct Decoder<'d, 'a> {
    pub(crate) operands: &'d [Operand<'a>],
    pub(crate) elements: &'d [Operand<'a>],
    pub(crate) form: &'d Form,
    pub(crate) labels: &'d mut Vec<LabelUse<'a>>,
    pub(crate) scope: usize,
    pub(crate) place: (u32, u32),
    pub(crate) is_entry: bool,
    /// Bits of an address.
    pub(crate) address_bits: u32,
    pub(crate) function: &'d mut Function,
}

impl<'a> Decoder<'_, 'a> {
    pub(crate) fn decode(&mut self) -> Decoded<Exec> {
        (self.form.spec.decode)(self)
    }

    /// Whether the modifier is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.form.mods.contains(&name)
    }

    /// The modifier that starts so.
    pub(crate) fn starting_with(&self, prefix: &str) -> Option<&'static str> {
        let mut mods = self.form.mods.iter().copied();
        mods.find(|name| name.starts_with(prefix))
    }

    /// The value of the first modifier that is there.
    pub(crate) fn choose<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        choices
            .iter()
            .find(|choice| self.has(choice.0))
            .map(|choice| choice.1)
    }

    /// The type at a position; `pred` when it is not there.
    pub(crate) fn ty(&self, index: usize) -> Ty {
        self.form.types.get(index).copied().unwrap_or(Ty::Pred)
    }

    /// Checks the number of operands.
    pub(crate) fn count(&self, least: usize, most: usize) -> Decoded<usize> {
        let count = self.operands.len();
        if (least..=most).contains(&count) {
            return Ok(count);
        }
        let wanted = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        Err(format!("{count} operands, {wanted} wanted"))
    }

    pub(crate) fn operand(&self, index: usize) -> Decoded<Operand<'a>> {
        self.operands
            .get(index)
            .copied()
            .ok_or_else(|| format!("operand {index} is missing"))
    }

    /// The destination register for a value of `bits`; the value is cut to them.
    pub(crate) fn dst(&self, index: usize, bits: u32) -> Decoded<Reg> {
        match self.takes_wider() {
            true => to_wider_dst(self.operand(index)?, bits),
            false => to_dst(self.operand(index)?, bits),
        }
    }

    /// Whether registers may be wider than the types.
    fn takes_wider(&self) -> bool {
        WIDER.contains(&self.form.spec.base)
    }

    /// A destination that is kept at the register's own width.
    pub(crate) fn wide_dst(&self, index: usize) -> Decoded<Reg> {
        match self.operand(index)? {
            Operand::Reg {
                reg,
                offset: 0,
                negate: false,
            } => Ok(reg),
            other => Err(format!(
                "destination is {}, not a register",
                other.describe()
            )),
        }
    }

    /// A source of a type.
    pub(crate) fn src(&self, index: usize, ty: Ty) -> Decoded<Src> {
        match self.takes_wider() {
            true => to_wider_src(self.operand(index)?, ty),
            false => to_src(self.operand(index)?, ty),
        }
    }

    pub(crate) fn pred_dst(&self, index: usize) -> Decoded<u32> {
        to_pred_dst(self.operand(index)?)
    }

    pub(crate) fn pred_src(&self, index: usize) -> Decoded<PredSrc> {
        to_pred_src(self.operand(index)?)
    }

    /// A number known at decoding.
    pub(crate) fn number(&self, index: usize) -> Decoded<u64> {
        match self.operand(index)? {
            Operand::Literal(Literal::Int(value)) => Ok(value),
            other => Err(format!(
                "operand {index} is {}, not a number",
                other.describe()
            )),
        }
    }

    /// Both parts of `p|q`; the second one is missing without a bar.
    pub(crate) fn pair(&self, index: usize) -> Decoded<(Operand<'a>, Option<Operand<'a>>)> {
        match self.operand(index)? {
            Operand::Pair { start } => match self.elements.get(start..start + 2) {
                Some([first, second]) => Ok((*first, Some(*second))),
                _ => Err("pair without its parts".to_owned()),
            },
            single => Ok((single, None)),
        }
    }

    /// The elements of `{…}`, or the single operand itself.
    pub(crate) fn elements(&self, index: usize) -> Decoded<Vec<Operand<'a>>> {
        match self.operand(index)? {
            Operand::Vector { start, len } => Ok(self
                .elements
                .get(start..start + len)
                .unwrap_or_default()
                .to_vec()),
            single => Ok(vec![single]),
        }
    }

    pub(crate) fn address(&self, index: usize) -> Decoded<(Address, Option<Space>)> {
        match self.operand(index)? {
            Operand::Memory { address, space } => Ok((address, space)),
            other => Err(format!(
                "operand {index} is {}, not an address",
                other.describe()
            )),
        }
    }

    /// Remembers the use of a label; the number is replaced at the end of the function.
    pub(crate) fn label(&mut self, index: usize) -> Decoded<u32> {
        match self.operand(index)? {
            Operand::Name(name) => {
                let place = self.place;
                self.labels.push(LabelUse {
                    scope: self.scope,
                    name,
                    place,
                });
                Ok(self.labels.len() as u32 - 1)
            }
            other => Err(format!(
                "operand {index} is {}, not a label",
                other.describe()
            )),
        }
    }
}
