//! Entries and functions: their headers, parameters and results, and their place in the module.

use super::parser::{Builder, Parsed, Parser};
use super::scope::Named;
use crate::counters::InstClass;
use crate::finding::Space;
use crate::inst::{Exec, Inst, Reg, Src};
use crate::lexer::Token;
use crate::module::{Entry, Formal, Function, Param};

impl<'a> Parser<'a> {
    pub(super) fn entry(&mut self) -> Parsed<()> {
        let place = self.lexer.place();
        let name = self.word("the name of the entry")?;
        let id = self.function_id(name);
        self.begin(name, id, true)?;
        let mut entry = Entry {
            name: name.to_owned(),
            function: id,
            place,
            ..Entry::default()
        };
        if self.lexer.eat(b'(') {
            while !self.lexer.eat(b')') {
                self.entry_param(&mut entry)?;
                self.lexer.eat(b',');
            }
        }
        self.performance_directives(&mut entry)?;
        if self.lexer.eat(b';') {
            self.scopes.reset();
            return Ok(());
        }
        if self
            .module
            .entries
            .iter()
            .any(|known| known.name == entry.name)
        {
            return Err(format!("entry {name} is defined twice"));
        }
        let limit = if self.module.version >= (8, 1) {
            32_764
        } else {
            4096
        };
        if entry.param_bytes > limit {
            let bytes = entry.param_bytes;
            return Err(format!("{bytes} bytes of parameters; PTX allows {limit}"));
        }
        self.finish(id)?;
        self.module.entries.push(entry);
        Ok(())
    }

    fn entry_param(&mut self, entry: &mut Entry) -> Parsed<()> {
        let keyword = self.word("'.param'")?;
        if keyword != ".param" {
            return Err(format!("expected .param, found {keyword}"));
        }
        let shape = self.declarator_head()?;
        let (name, dims) = self.declarator_name()?;
        let (bytes, align) = shape.layout(&dims)?;
        let offset = entry.param_bytes.next_multiple_of(align);
        let end = offset.checked_add(bytes).filter(|end| *end <= 1 << 20);
        entry.param_bytes = end.ok_or("parameters exceed 1 MiB")?;
        entry.params.push(Param {
            name: name.to_owned(),
            offset_bytes: offset,
            bytes,
            align,
        });
        let base = Src::Imm(u64::from(offset));
        let named = Named::Variable {
            base,
            space: Space::Param,
            bytes: u64::from(bytes),
        };
        self.scopes.declare(name, named)
    }

    fn performance_directives(&mut self, entry: &mut Entry) -> Parsed<()> {
        loop {
            let Token::Word(word) = self.lexer.peek() else {
                return Ok(());
            };
            if !word.starts_with('.') {
                return Ok(());
            }
            self.lexer.next();
            match word {
                ".maxntid" => entry.maxntid = Some(self.extents()?),
                ".reqntid" => entry.reqntid = Some(self.extents()?),
                ".reqnctapercluster" => entry.reqnctapercluster = Some(self.extents()?),
                ".maxnctapersm" | ".maxclusterrank" => drop(self.small()?),
                ".minnctapersm" => entry.minnctapersm = Some(self.small()?),
                ".maxnreg" => entry.maxnreg = Some(self.small()?),
                ".explicitcluster" | ".noreturn" | ".blocksareclusters" => {}
                ".pragma" => self.skip_statement()?,
                other => return Err(format!("unsupported directive {other}")),
            }
        }
    }

    fn extents(&mut self) -> Parsed<[u32; 3]> {
        let mut extents = [1; 3];
        extents[0] = self.small()?;
        for extent in extents.iter_mut().skip(1) {
            if !self.lexer.eat(b',') {
                break;
            }
            *extent = self.small()?;
        }
        Ok(extents)
    }

    pub(super) fn function(&mut self) -> Parsed<()> {
        // Results come before the name, so the scope has to be open before the name is known.
        self.begin("", 0, false)?;
        let results = if self.lexer.eat(b'(') {
            self.formals()?
        } else {
            Vec::new()
        };
        let name = self.word("the name of the function")?;
        let params = if self.lexer.eat(b'(') {
            self.formals()?
        } else {
            Vec::new()
        };
        let id = self.function_id(name);
        self.builder.function.name = name.to_owned();
        (self.builder.function.results, self.builder.function.params) = (results, params);
        while let Token::Word(word @ (".noreturn" | ".attribute" | ".unified")) = self.lexer.peek()
        {
            self.lexer.next();
            if word == ".attribute" {
                return Err("unsupported directive .attribute".to_owned());
            }
        }
        let declaration = self.lexer.eat(b';');
        if !declaration
            && self
                .module
                .functions
                .get(id as usize)
                .is_some_and(|f| f.start.is_some())
        {
            return Err(format!("function {name} is defined twice"));
        }
        if declaration {
            self.scopes.reset();
        } else {
            self.scopes.declare_at_module(name, Named::Function(id));
            self.finish(id)?;
        }
        self.scopes.declare(name, Named::Function(id))
    }

    fn formals(&mut self) -> Parsed<Vec<Formal>> {
        let mut formals = Vec::new();
        while !self.lexer.eat(b')') {
            let keyword = self.word("'.param' or '.reg'")?;
            let shape = self.declarator_head()?;
            let (name, dims) = self.declarator_name()?;
            match keyword {
                ".reg" => {
                    let (ty, len) = shape.registers()?;
                    match self.declare_register(name, ty, len)? {
                        Named::Pred(slot) => formals.push(Formal::Pred(slot)),
                        Named::Reg(reg) => formals.push(Formal::Reg(reg)),
                        Named::RegVector { first, len } => {
                            let slots = first.slot..first.slot + len;
                            formals.extend(slots.map(|slot| Formal::Reg(Reg { slot, ..first })));
                        }
                        _ => return Err(format!("{name} is no register")),
                    }
                }
                ".param" => {
                    let (bytes, align) = shape.layout(&dims)?;
                    let offset = self.local_bytes(bytes, align)?;
                    let base = Src::Local(offset);
                    let named = Named::Variable {
                        base,
                        space: Space::Local,
                        bytes: u64::from(bytes),
                    };
                    self.scopes.declare(name, named)?;
                    formals.push(Formal::Local { offset, bytes });
                }
                other => return Err(format!("expected .param or .reg, found {other}")),
            }
            self.lexer.eat(b',');
        }
        Ok(formals)
    }

    fn begin(&mut self, name: &str, id: u32, is_entry: bool) -> Parsed<()> {
        self.scopes.reset();
        self.scopes.open();
        self.labels.clear();
        let function = Function {
            name: name.to_owned(),
            ..Function::default()
        };
        self.builder = Builder { is_entry, function };
        let known = self.module.functions.get(id as usize);
        if is_entry && known.is_some_and(|function| function.start.is_some()) {
            return Err(format!("{name} is defined twice"));
        }
        Ok(())
    }

    /// Parses the body and puts the function in its place.
    fn finish(&mut self, id: u32) -> Parsed<()> {
        let start = self.module.code.len();
        self.body()?;
        let (line, _) = self.lexer.place();
        let end = Inst::new(Exec::Return, None, InstClass::Control, (line, (0, 0)));
        self.module.code.push(end);
        self.resolve_labels(start);
        let mut function = std::mem::take(&mut self.builder.function);
        function.start = Some(start as u32);
        function.local_bytes = function.local_bytes.next_multiple_of(16);
        function.shared.sort_unstable();
        function.shared.dedup();
        function.callees.sort_unstable();
        function.callees.dedup();
        if let Some(place) = self.module.functions.get_mut(id as usize) {
            *place = function;
        }
        self.scopes.reset();
        Ok(())
    }
}
