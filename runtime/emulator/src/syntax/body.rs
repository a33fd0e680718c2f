//! Function bodies: scopes, labels, guards; hands each instruction to the opcode table.

use super::parser::{Parsed, Parser, show};
use super::scope::Named;
use crate::finding::Space;
use crate::inst::{Guard, Inst, Src};
use crate::isa::{Decoder, Form};
use crate::lexer::Token;
use crate::module::PREDICATE;
use crate::operand::Operand;

/// Instructions a module may have: they take a few hundred MiB when decoded.
const MAX_CODE: usize = 1 << 20;
/// Nested scopes a function may have.
const MAX_DEPTH: u32 = 1000;

impl<'a> Parser<'a> {
    pub(crate) fn body(&mut self) -> Parsed<()> {
        let begin = self.lexer.place().0;
        self.module.sources.reset(begin);
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
                Token::Word(word) if word.starts_with('.') => self.directive(word, place.0),
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
        let end = self.lexer.place().0;
        self.module.sources.reset(end);
        Ok(())
    }

    fn directive(&mut self, word: &'a str, line: u32) -> Parsed<()> {
        match word {
            ".reg" => self.registers(),
            ".local" | ".param" => self.frame_variables(),
            ".shared" => self.module_variables(Space::Shared),
            ".global" => self.module_variables(Space::Global),
            ".const" => self.module_variables(Space::Const),
            ".loc" => self.loc(Some(line)),
            ".file" => self.file(),
            ".pragma" => self.skip_statement(),
            ".extern" => match self.lexer.peek() {
                Token::Word(".shared") => Ok(()),
                _ => Err("unsupported .extern inside a function".to_owned()),
            },
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
            address_bits: self.module.address_bits(),
            function: &mut self.builder.function,
        };
        let class = form.class();
        let lacks = self
            .architecture
            .as_ref()
            .and_then(|target| form.lacks(target));
        let decoded = match lacks {
            Some(need) => Err(format!(
                "it needs {need}; the text is for {}",
                self.module.target
            )),
            None => decoder.decode(),
        };
        let operands = self.note_registers();
        match decoded {
            Ok(exec) => {
                let inst = Inst::new(exec, guard, class, (place.0, operands));
                self.module.code.push(inst);
            }
            Err(problem) => self.error(place, format!("{opcode}: {problem}")),
        }
        Ok(())
    }

    /// Appends the registers of the current operands to the module's list.
    fn note_registers(&mut self) -> (u32, u32) {
        let slots = &mut self.module.operand_slots;
        let start = slots.len();
        for operand in self.operands.iter().chain(&self.elements) {
            match operand {
                Operand::Reg { reg, .. } | Operand::Part { reg, .. } => slots.push(reg.slot),
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
}
