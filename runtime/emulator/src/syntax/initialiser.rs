//! What stands behind the `=` of a variable: numbers, addresses, lists of them.

use super::parser::{Parsed, Parser, show};
use super::scope::Named;
use crate::finding::Space;
use crate::inst::Src;
use crate::lexer::{Token, literal};
use crate::module::{CONST_WINDOW, FUNCTION_WINDOW};
use crate::types::Ty;

impl<'a> Parser<'a> {
    /// A value or a braced list of them, appended as bytes.
    pub(super) fn initialiser(&mut self, ty: Ty, out: &mut Vec<u8>) -> Parsed<()> {
        // An explicit stack of open braces: nesting depth is the text's choice.
        let mut depth = 0u32;
        loop {
            while self.lexer.eat(b'{') {
                depth += 1;
            }
            if !self.lexer.at_punct(b'}') {
                let value = self.initial_value(ty)?;
                let width = (ty.bytes().max(1) as usize).min(8);
                out.extend_from_slice(&value.to_le_bytes()[..width]);
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                if self.lexer.eat(b'}') {
                    depth -= 1;
                } else if self.lexer.eat(b',') {
                    break;
                } else {
                    return Err(format!(
                        "expected ',' or '}}', found {}",
                        show(self.lexer.peek())
                    ));
                }
            }
        }
    }

    fn initial_value(&mut self, ty: Ty) -> Parsed<u64> {
        let negative = self.lexer.eat(b'-');
        match self.lexer.next() {
            Token::Number(text) => {
                let value = literal(text).ok_or_else(|| format!("{text} is no number"))?;
                let bits = crate::isa::literal_bits(value, ty);
                Ok(match (negative, ty) {
                    (false, _) => bits,
                    (true, Ty::F32) => bits ^ 1 << 31,
                    (true, Ty::F64) => bits ^ 1 << 63,
                    (true, _) => bits.wrapping_neg(),
                })
            }
            Token::Word("generic") => {
                self.expect(b'(')?;
                let name = self.word("a variable")?;
                let value = self.symbol_value(name, true)?;
                self.expect(b')')?;
                self.symbol_offset(value)
            }
            Token::Word(name) => {
                let value = self.symbol_value(name, false)?;
                self.symbol_offset(value)
            }
            other => Err(format!("expected a value, found {}", show(other))),
        }
    }

    fn symbol_offset(&mut self, value: u64) -> Parsed<u64> {
        if self.lexer.eat(b'+') {
            return Ok(value.wrapping_add(self.integer()?));
        }
        Ok(value)
    }

    fn symbol_value(&mut self, name: &str, generic: bool) -> Parsed<u64> {
        match self.scopes.lookup(name) {
            Some(Named::Function(id)) => {
                self.module.addressed.push(id);
                Ok(FUNCTION_WINDOW + 16 * u64::from(id))
            }
            Some(Named::Variable {
                base: Src::Imm(value),
                space,
                ..
            }) => {
                self.use_external(Src::Imm(value), space);
                let window = if generic && space == Space::Const {
                    CONST_WINDOW
                } else {
                    0
                };
                Ok(value + window)
            }
            _ => Err(format!(
                "{name} is no address that is known before the launch"
            )),
        }
    }
}
