//! Operands: registers and their parts, numbers, variables, addresses, vectors, pairs.

use super::parser::{Parsed, Parser, show};
use super::scope::{Named, special};
use crate::inst::{Address, Reg, Src};
use crate::lexer::{Literal, Token, literal};
use crate::num::video::Part;
use crate::operand::Operand;

impl<'a> Parser<'a> {
    pub(super) fn operand(&mut self) -> Parsed<Operand<'a>> {
        if self.lexer.eat(b'{') {
            return self.vector(b'}');
        }
        if self.lexer.eat(b'(') {
            return self.vector(b')');
        }
        if self.lexer.eat(b'[') {
            return self.memory();
        }
        let operand = self.scalar()?;
        if self.lexer.eat(b'|') {
            let second = self.scalar()?;
            let start = self.elements.len();
            self.elements.extend([operand, second]);
            return Ok(Operand::Pair { start });
        }
        Ok(operand)
    }

    fn vector(&mut self, end: u8) -> Parsed<Operand<'a>> {
        let start = self.elements.len();
        while !self.lexer.eat(end) {
            let element = self.scalar()?;
            // The registers of a vector register are in the list already.
            if !matches!(element, Operand::Vector { .. }) {
                self.elements.push(element);
            }
            if !self.lexer.eat(b',') {
                self.expect(end)?;
                break;
            }
        }
        Ok(Operand::Vector {
            start,
            len: self.elements.len() - start,
        })
    }

    /// `+ 4`, `- 4`, or nothing.
    fn offset(&mut self) -> Parsed<i64> {
        let mut offset = 0i64;
        loop {
            if self.lexer.eat(b'+') {
                offset = offset.wrapping_add(self.integer()? as i64);
            } else if self.lexer.eat(b'-') {
                offset = offset.wrapping_sub(self.integer()? as i64);
            } else {
                return Ok(offset);
            }
        }
    }

    fn memory(&mut self) -> Parsed<Operand<'a>> {
        let (base, space) = match self.scalar()? {
            Operand::Reg {
                reg,
                offset,
                negate: false,
            } => ((Src::Reg(reg.slot), offset), None),
            Operand::Variable {
                base,
                offset,
                space,
            } => ((base, offset), space),
            Operand::Literal(Literal::Int(value)) => ((Src::Imm(value), 0), None),
            other => {
                return Err(format!(
                    "unsupported address: {} in brackets",
                    other.describe()
                ));
            }
        };
        let address = Address {
            base: base.0,
            offset: base.1,
        };
        if self.lexer.eat(b',') {
            self.expect(b'{')?;
            let Operand::Vector { start, len } = self.vector(b'}')? else {
                return Err("expected coordinates".to_owned());
            };
            self.expect(b']')?;
            return Ok(Operand::Tensor {
                address,
                start,
                len,
            });
        }
        self.expect(b']')?;
        Ok(Operand::Memory { address, space })
    }

    fn scalar(&mut self) -> Parsed<Operand<'a>> {
        if self.lexer.eat(b'!') {
            let name = self.word("a predicate")?;
            return match self.scopes.lookup(name) {
                Some(Named::Pred(slot)) => Ok(Operand::Pred { slot, negate: true }),
                _ => Err(format!("{name} is no predicate register")),
            };
        }
        let negative = self.lexer.eat(b'-');
        match self.lexer.next() {
            Token::Number(text) => {
                let value = literal(text).ok_or_else(|| format!("{text} is no number"))?;
                let value = if negative { negate(value) } else { value };
                if let Literal::Int(value) = value {
                    let offset = self.offset()?;
                    return Ok(Operand::Literal(Literal::Int(
                        value.wrapping_add(offset as u64),
                    )));
                }
                Ok(Operand::Literal(value))
            }
            Token::Word("_") => Ok(Operand::Sink),
            Token::Word(word) => self.named(word, negative),
            other => Err(format!("expected an operand, found {}", show(other))),
        }
    }

    fn named(&mut self, word: &'a str, negative: bool) -> Parsed<Operand<'a>> {
        let operand = match self.scopes.lookup(word) {
            Some(Named::Reg(reg)) => {
                return Ok(Operand::Reg {
                    reg,
                    offset: self.offset()?,
                    negate: negative,
                });
            }
            Some(Named::Pred(slot)) => Operand::Pred {
                slot,
                negate: false,
            },
            Some(Named::Function(id)) => {
                self.builder.function.callees.push(id);
                Operand::Function(id)
            }
            Some(Named::Variable { base, space, .. }) => {
                if let Src::Shared { var, .. } = base {
                    self.builder.function.shared.push(var);
                }
                self.use_external(base, space);
                return Ok(Operand::Variable {
                    base,
                    offset: self.offset()?,
                    space: Some(space),
                });
            }
            Some(Named::RegVector { first, len }) => {
                let start = self.elements.len();
                for index in 0..len {
                    let reg = Reg {
                        slot: first.slot + index,
                        ..first
                    };
                    self.elements.push(Operand::Reg {
                        reg,
                        offset: 0,
                        negate: false,
                    });
                }
                Operand::Vector {
                    start,
                    len: len as usize,
                }
            }
            None => self.component(word)?,
        };
        if negative {
            return Err(format!("unsupported operand -{word}"));
        }
        Ok(operand)
    }

    /// Special registers, `%v.x`, `WARP_SZ`, and names that may be labels.
    fn component(&mut self, word: &'a str) -> Parsed<Operand<'a>> {
        if let Some(special) = special(word) {
            return Ok(Operand::Special(special));
        }
        if word == "WARP_SZ" {
            return Ok(Operand::Literal(Literal::Int(32)));
        }
        if let Some((vector, component)) = word.rsplit_once('.')
            && let Some(Named::RegVector { first, len }) = self.scopes.lookup(vector)
        {
            let index = match component {
                "x" | "r" => 0,
                "y" | "g" => 1,
                "z" | "b" => 2,
                "w" | "a" => 3,
                _ => len,
            };
            if index < len {
                let reg = Reg {
                    slot: first.slot + index,
                    ..first
                };
                return Ok(Operand::Reg {
                    reg,
                    offset: self.offset()?,
                    negate: false,
                });
            }
        }
        if let Some((register, part)) = word.rsplit_once('.')
            && let Some(Named::Reg(reg)) = self.scopes.lookup(register)
            && let Some(part) = Part::parse(part)
        {
            return Ok(Operand::Part { reg, part });
        }
        if word.starts_with('%') {
            return Err(format!("register {word} is not declared"));
        }
        Ok(Operand::Name(word))
    }
}

fn negate(value: Literal) -> Literal {
    match value {
        Literal::Int(value) => Literal::Int(value.wrapping_neg()),
        Literal::Single(bits) => Literal::Single(bits ^ 1 << 31),
        Literal::Double(bits) => Literal::Double(bits ^ 1 << 63),
    }
}
