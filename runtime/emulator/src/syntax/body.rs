//! Function bodies: scopes, labels, guards, operands; hands each instruction to the opcode table.

use super::parser::{Parsed, Parser, show};
use super::scope::{Named, special};
use crate::finding::Space;
use crate::inst::{Address, Guard, Inst, Reg, Src};
use crate::isa::{Decoder, Form};
use crate::lexer::{Literal, Token, literal};
use crate::module::PREDICATE;
use crate::operand::Operand;

/// Instructions a module may have.
const MAX_CODE: usize = 1 << 24;
/// Nested scopes a function may have.
const MAX_DEPTH: u32 = 1000;

impl<'a> Parser<'a> {
    pub(crate) fn body(&mut self) -> Parsed<()> {
        self.expect(b'{')?;
        let mut depth = 1u32;
        while depth > 0 {
            let place = self.lexer.place();
            let result = match self.lexer.next() {
                Token::Punct(b'{') => {
                    depth += 1;
                    self.scopes.open();
                    if depth > MAX_DEPTH {
                        return Err(format!("more than {MAX_DEPTH} nested scopes"));
                    }
                    continue;
                }
                Token::Punct(b'}') => {
                    depth -= 1;
                    self.scopes.close();
                    continue;
                }
                Token::Punct(b';') => continue,
                Token::Punct(b'@') => self.guarded(place),
                Token::Word(word) if word.starts_with('.') => self.directive(word),
                Token::Word(word) if self.lexer.eat(b':') => self.label(word),
                Token::Word(word) => self.instruction(word, None, place),
                Token::End => return Err("the text ends inside a function".to_owned()),
                other => Err(format!("expected an instruction, found {}", show(other))),
            };
            if let Err(message) = result {
                self.error(place, message);
                self.lexer.recover();
            }
        }
        Ok(())
    }

    fn directive(&mut self, word: &'a str) -> Parsed<()> {
        match word {
            ".reg" => self.registers(),
            ".local" | ".param" => self.frame_variables(),
            ".shared" => self.module_variables(Space::Shared),
            ".global" => self.module_variables(Space::Global),
            ".const" => self.module_variables(Space::Const),
            ".loc" => self.skip_loc(),
            ".file" => self.skip_file(),
            ".pragma" => self.skip_statement(),
            ".extern" => Ok(()),
            other => Err(format!("unsupported directive {other}")),
        }
    }

    fn label(&mut self, name: &'a str) -> Parsed<()> {
        if let Token::Word(word @ (".branchtargets" | ".calltargets" | ".callprototype")) =
            self.lexer.peek()
        {
            self.lexer.next();
            if word != ".branchtargets" {
                return self.skip_statement();
            }
            let mut labels = vec![self.word("a label")?];
            while self.lexer.eat(b',') {
                labels.push(self.word("a label")?);
            }
            self.scopes.define_table(name, labels);
            return self.expect(b';');
        }
        self.scopes
            .define_label(name, self.module.code.len() as u32)
    }

    fn guarded(&mut self, place: (u32, u32)) -> Parsed<()> {
        let negate = self.lexer.eat(b'!');
        let name = self.word("a predicate")?;
        let Some(Named::Pred(slot)) = self.scopes.lookup(name) else {
            return Err(format!("guard {name} is no predicate register"));
        };
        let opcode = self.word("an opcode")?;
        self.instruction(opcode, Some(Guard { slot, negate }), place)
    }

    fn instruction(
        &mut self,
        opcode: &'a str,
        guard: Option<Guard>,
        place: (u32, u32),
    ) -> Parsed<()> {
        let form = match self.form_of.get(opcode) {
            Some(&form) => form,
            None => {
                self.forms.push(Form::new(opcode)?);
                self.form_of.insert(opcode, self.forms.len() - 1);
                self.forms.len() - 1
            }
        };
        self.operands.clear();
        self.elements.clear();
        if !self.lexer.eat(b';') {
            loop {
                let operand = self.operand()?;
                self.operands.push(operand);
                if self.lexer.eat(b',') {
                    continue;
                }
                self.expect(b';')?;
                break;
            }
        }
        if self.module.code.len() >= MAX_CODE {
            return Err(format!("more than {MAX_CODE} instructions"));
        }
        let Some(form) = self.forms.get(form) else {
            return Ok(());
        };
        let mut decoder = Decoder {
            operands: &self.operands,
            elements: &self.elements,
            form,
            labels: &mut self.labels,
            scope: self.scopes.current(),
            place,
            is_entry: self.builder.is_entry,
            function: &mut self.builder.function,
        };
        let class = form.class();
        let decoded = decoder.decode();
        let operands = self.note_registers();
        match decoded {
            Ok(exec) => self.module.code.push(Inst {
                exec,
                guard,
                class,
                line: place.0,
                operands,
            }),
            Err(problem) => self.error(place, format!("{opcode}: {problem}")),
        }
        Ok(())
    }

    /// Appends the registers of the operands at hand to the module's list.
    fn note_registers(&mut self) -> (u32, u32) {
        let slots = &mut self.module.operand_slots;
        let start = slots.len();
        for operand in self.operands.iter().chain(&self.elements) {
            match operand {
                Operand::Reg { reg, .. } => slots.push(reg.slot),
                Operand::Pred { slot, .. } => slots.push(*slot | PREDICATE),
                Operand::Memory { address, .. } | Operand::Tensor { address, .. } => {
                    if let Src::Reg(slot) = address.base {
                        slots.push(slot);
                    }
                }
                _ => {}
            }
        }
        (start as u32, (slots.len() - start) as u32)
    }

    fn operand(&mut self) -> Parsed<Operand<'a>> {
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
            self.elements.push(element);
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
