//! Variables and registers: `.reg .local .shared .param .global .const`, with initialisers, and
//! `.extern .global`.

use super::parser::{MAX_REGISTERS, MAX_VARIABLE_BYTES, Parsed, Parser, show};
use super::scope::Named;
use crate::finding::Space;
use crate::inst::Src;
use crate::lexer::Token;
use crate::memory::RED_ZONE_BYTES;
use crate::module::{
    GlobalVariable, NARROW_VARIABLES_END, PREDICATE, RegisterNames, SharedVariable,
};
use crate::types::Ty;

const NO_INITIALISER: &str =
    "unsupported initialiser: only .global and .const variables have one (ISA 5.4.4)";

/// What stands before the name of a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) ty: Ty,
    pub(crate) vector: u32,
    pub(crate) align: Option<u32>,
}

/// Array extents; an open one (`[]`) is `None`.
pub(crate) type Dims = Vec<Option<u64>>;

impl Shape {
    /// Size and alignment of a variable in bytes; open extents count as 0.
    pub(crate) fn layout(&self, dims: &Dims) -> Parsed<(u32, u32)> {
        let unit = u64::from(self.ty.bytes() * self.vector);
        let count = dims
            .iter()
            .try_fold(1u64, |all, dim| all.checked_mul(dim.unwrap_or(0)));
        let bytes = count.and_then(|count| count.checked_mul(unit));
        let bytes = bytes.filter(|bytes| *bytes <= MAX_VARIABLE_BYTES);
        let bytes = bytes.ok_or_else(|| format!("variable exceeds {MAX_VARIABLE_BYTES} bytes"))?;
        Ok((bytes as u32, self.align.unwrap_or(unit.max(1) as u32)))
    }
}

impl Shape {
    /// The type and number of the registers of one name; 128 bits are two of 64.
    pub(crate) fn registers(&self) -> Parsed<(Ty, u32)> {
        match (self.ty, self.vector) {
            (Ty::B128, 1) => Ok((Ty::B64, 2)),
            (Ty::B128, _) => Err("unsupported vector of .b128 registers".to_owned()),
            (ty, vector) => Ok((ty, vector)),
        }
    }
}

impl<'a> Parser<'a> {
    /// Alignment, vector length and type, in any order.
    pub(crate) fn declarator_head(&mut self) -> Parsed<Shape> {
        let mut shape = Shape {
            ty: Ty::Pred,
            vector: 1,
            align: None,
        };
        let mut typed = false;
        loop {
            let Token::Word(word) = self.lexer.peek() else {
                return Err(format!(
                    "expected a type, found {}",
                    show(self.lexer.peek())
                ));
            };
            let Some(name) = word.strip_prefix('.') else {
                return if typed {
                    Ok(shape)
                } else {
                    Err(format!("{word} has no type"))
                };
            };
            self.lexer.next();
            match name {
                "align" => {
                    let align = self.small()?;
                    if !align.is_power_of_two() || align > 1 << 16 {
                        return Err(format!(".align {align} is no power of two up to 65536"));
                    }
                    // `.ptr .align n` speaks of what the pointer points to.
                    shape.align = if typed { shape.align } else { Some(align) };
                }
                "v2" => shape.vector = 2,
                "v4" => shape.vector = 4,
                "ptr" | "global" | "shared" | "local" | "const" if typed => {}
                _ => {
                    shape.ty =
                        Ty::parse(name).ok_or_else(|| format!("unsupported type .{name}"))?;
                    typed = true;
                }
            }
        }
    }

    pub(crate) fn declarator_name(&mut self) -> Parsed<(&'a str, Dims)> {
        let name = self.word("a name")?;
        let mut dims = Dims::new();
        while self.lexer.eat(b'[') {
            if self.lexer.eat(b']') {
                dims.push(None);
            } else {
                dims.push(Some(self.integer()?));
                self.expect(b']')?;
            }
        }
        Ok((name, dims))
    }

    /// `.reg .b32 %a, %r<5>;`
    pub(crate) fn registers(&mut self) -> Parsed<()> {
        let shape = self.declarator_head()?;
        let (ty, vector) = shape.registers()?;
        let shape = Shape {
            ty,
            vector,
            ..shape
        };
        loop {
            let name = self.word("a register")?;
            if self.lexer.eat(b'<') {
                let count = self.small()?;
                self.expect(b'>')?;
                self.register_family(name, shape, count)?;
            } else {
                self.declare_register(name, shape.ty, shape.vector)?;
            }
            if !self.lexer.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn register_family(&mut self, name: &'a str, shape: Shape, count: u32) -> Parsed<()> {
        let function = &mut self.builder.function;
        let predicate = shape.ty == Ty::Pred;
        let (len, width) = if predicate {
            (1, 1)
        } else {
            (shape.vector, shape.ty.bits().max(8))
        };
        let used = if predicate {
            &mut function.predicates
        } else {
            &mut function.registers
        };
        let first = *used;
        let total = u64::from(first) + u64::from(count) * u64::from(len);
        if total > u64::from(MAX_REGISTERS) {
            return Err(format!("{total} registers; at most {MAX_REGISTERS}"));
        }
        *used = total as u32;
        function.names.push(RegisterNames {
            name: name.to_owned(),
            first: if predicate { first | PREDICATE } else { first },
            family: true,
            len,
        });
        self.scopes.declare_family(name, first, count, width, len);
        Ok(())
    }

    /// `.local` and `.param` variables of a function's frame.
    pub(crate) fn frame_variables(&mut self) -> Parsed<()> {
        let shape = self.declarator_head()?;
        loop {
            let (name, dims) = self.declarator_name()?;
            let (bytes, align) = shape.layout(&dims)?;
            let offset = self.local_bytes(bytes, align)?;
            let base = Src::Local(offset);
            let bytes = u64::from(bytes);
            self.scopes.declare(
                name,
                Named::Variable {
                    base,
                    space: Space::Local,
                    bytes,
                },
            )?;
            if self.lexer.at_punct(b'=') {
                return Err(NO_INITIALISER.to_owned());
            }
            if !self.lexer.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    /// `.global .const .shared` variables, also inside functions.
    pub(crate) fn module_variables(&mut self, space: Space) -> Parsed<()> {
        let shape = self.declarator_head()?;
        loop {
            let (name, dims) = self.declarator_name()?;
            self.module_variable(space, shape, name, dims)?;
            if !self.lexer.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    /// `.extern .global .align 4 .b8 name[];`
    pub(super) fn external_variables(&mut self) -> Parsed<()> {
        self.word("a space")?;
        let shape = self.declarator_head()?;
        loop {
            let place = self.lexer.place();
            let (name, dims) = self.declarator_name()?;
            shape.layout(&dims)?;
            self.external(name, place)?;
            if !self.lexer.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn module_variable(
        &mut self,
        space: Space,
        shape: Shape,
        name: &'a str,
        mut dims: Dims,
    ) -> Parsed<()> {
        let init = if self.lexer.eat(b'=') {
            let mut bytes = Vec::new();
            self.initialiser(shape.ty, &mut bytes)?;
            Some(bytes)
        } else {
            None
        };
        if init.is_some() && space == Space::Shared {
            return Err(NO_INITIALISER.to_owned());
        }
        if init.is_some() && shape.ty == Ty::B128 {
            return Err("unsupported initialiser of .b128: the ISA has no such numbers".to_owned());
        }
        let unit = u64::from((shape.ty.bytes() * shape.vector).max(1));
        let open = dims.first() == Some(&None);
        if let (Some(init), Some(first @ None)) = (&init, dims.first_mut()) {
            *first = Some((init.len() as u64).div_ceil(unit));
        }
        let (bytes, align) = shape.layout(&dims)?;
        if let Some(init) = &init
            && init.len() > bytes as usize
        {
            return Err(format!(
                "{name} has {bytes} bytes, its initialiser {}",
                init.len()
            ));
        }
        let wide = u64::from(bytes);
        let base = match space {
            Space::Shared => {
                let var = self.module.shared.len() as u32;
                let (dynamic, owned) = (open, name.to_owned());
                self.module.shared.push(SharedVariable {
                    name: owned,
                    bytes,
                    align,
                    dynamic,
                });
                Src::Shared { var, offset: 0 }
            }
            Space::Const => Src::Imm(self.constant(name, bytes, align, init)?),
            _ => {
                self.count_global(wide)?;
                let known = self.define_external(name, space);
                let address = match known {
                    Some(address) => address,
                    None => self.global_place(wide, align)?,
                };
                self.module.globals.push(GlobalVariable {
                    name: name.to_owned(),
                    address,
                    bytes: wide,
                    init,
                });
                if known.is_some() {
                    return Ok(());
                }
                Src::Imm(address)
            }
        };
        self.scopes.declare(
            name,
            Named::Variable {
                base,
                space,
                bytes: wide,
            },
        )
    }

    fn count_global(&mut self, bytes: u64) -> Parsed<()> {
        self.global_bytes += bytes;
        if self.global_bytes > MAX_VARIABLE_BYTES {
            return Err(format!(
                ".global variables exceed {MAX_VARIABLE_BYTES} bytes"
            ));
        }
        Ok(())
    }

    /// Room for a variable in global memory.
    fn global_place(&mut self, bytes: u64, align: u32) -> Parsed<u64> {
        let address = self.global_end.next_multiple_of(u64::from(align.max(256)));
        self.global_end = address + bytes + RED_ZONE_BYTES;
        if self.module.narrow && self.global_end > NARROW_VARIABLES_END {
            return Err(".global variables do not fit addresses of 32 bits".to_owned());
        }
        Ok(address)
    }

    fn constant(
        &mut self,
        name: &str,
        bytes: u32,
        align: u32,
        init: Option<Vec<u8>>,
    ) -> Parsed<u64> {
        let bank = &mut self.module.constants;
        let offset = bank.len().next_multiple_of(align as usize);
        if offset + bytes as usize > 64 << 20 {
            return Err(format!("constant {name} passes 64 MiB of constants"));
        }
        bank.resize(offset + bytes as usize, 0);
        if let Some(init) = init
            && let Some(place) = bank.get_mut(offset..offset + init.len())
        {
            place.copy_from_slice(&init);
        }
        Ok(offset as u64)
    }
}
