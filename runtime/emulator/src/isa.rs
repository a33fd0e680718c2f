//! The instruction set: one table drives the parsing and validation of opcodes and their
//! decoding.
//!
//! An opcode is a base and a *set* of modifiers; compilers write them in any order. A [`Spec`]
//! lists the groups of modifiers an opcode takes (each at most once) and its types in order;
//! everything else is `unsupported`. Its decode function turns operands into the executable form.
//! Adding an instruction is a row and, if its shape is new, a decode function and an executor.

mod table;
mod integer;
mod bits;
mod floating;
mod compare;
mod conversion;
mod memory;
mod atomic;
mod control;
mod warp;
mod matrix;
mod hopper;
mod wgmma;
mod wmma;
mod video;
mod link;
mod least;
mod operands;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::architecture::Architecture;
use crate::counters::InstClass;
use crate::finding::Space;
use crate::inst::{Address, Exec, PredSrc, Reg, Src};
use crate::lexer::Literal;
use crate::module::Function;
use crate::operand::Operand;
use crate::types::{Ty, TypeSet};
use least::Need;

pub(crate) use link::link;
pub(crate) use operands::{
    literal_bits, to_dst, to_pred_dst, to_pred_src, to_src, to_wider_dst, to_wider_src,
};

/// What decoding gives; the opcode is prepended to the message.
pub(crate) type Decoded<T> = Result<T, String>;

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
    mods: Vec<&'static str>,
    types: Vec<Ty>,
    /// What it needs of `.target`.
    need: Option<Need>,
}

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

/// Decodes one instruction.
pub(crate) struct Decoder<'d, 'a> {
    pub(crate) operands: &'d [Operand<'a>],
    pub(crate) elements: &'d [Operand<'a>],
    pub(crate) form: &'d Form,
    pub(crate) labels: &'d mut Vec<crate::operand::LabelUse<'a>>,
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
        operands::WIDER.contains(&self.form.spec.base)
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
                self.labels.push(crate::operand::LabelUse {
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
