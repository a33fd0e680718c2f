//! The module level: directives, functions, and the errors of a whole text.

use std::collections::HashMap;

use super::external::External;
use super::release;
use super::scope::{NameMap, Named, Scopes};
use crate::architecture::Architecture;
use crate::finding::Space;
use crate::inst::Reg;
use crate::isa::Form;
use crate::lexer::{Lexer, Literal, Token, literal};
use crate::module::{Function, Module, NARROW_VARIABLES, PREDICATE, RegisterNames};
use crate::operand::{LabelUse, Operand};

/// One problem of a PTX text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

/// All problems of a PTX text, at most 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseErrors {
    /// In the order of the text.
    pub errors: Vec<ParseError>,
}

impl std::fmt::Display for ParseErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseErrors {}

/// A problem without its place.
pub(crate) type Problem = String;
/// A result whose error gets its place from the statement.
pub(crate) type Parsed<T> = Result<T, Problem>;

const MAX_ERRORS: usize = 100;
/// Bytes of a text: what is made of it takes some times as much memory.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// Registers and bytes of local memory a function may declare.
pub(crate) const MAX_REGISTERS: u32 = 1 << 16;
pub(crate) const MAX_LOCAL_BYTES: u64 = 512 << 10;
/// Bytes of one module's variables of a space.
pub(crate) const MAX_VARIABLE_BYTES: u64 = 256 << 20;

/// The current function.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) is_entry: bool,
    pub(crate) function: Function,
}

/// The parser of one text.
pub(crate) struct Parser<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) module: Module,
    pub(crate) builder: Builder,
    pub(crate) operands: Vec<Operand<'a>>,
    pub(crate) elements: Vec<Operand<'a>>,
    pub(crate) labels: Vec<LabelUse<'a>>,
    pub(crate) forms: Vec<Form>,
    pub(crate) form_of: NameMap<'a, usize>,
    pub(crate) global_end: u64,
    pub(crate) global_bytes: u64,
    pub(crate) externals: Vec<External<'a>>,
    function_of: HashMap<&'a str, u32>,
    has_address_size: bool,
    /// That of the last `.target`.
    pub(crate) architecture: Option<Architecture>,
    errors: Vec<ParseError>,
}

/// Parses a whole text.
pub(crate) fn parse(text: &str) -> Result<Module, ParseErrors> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        scopes: Scopes::new(),
        module: Module::default(),
        builder: Builder::default(),
        operands: Vec::new(),
        elements: Vec::new(),
        labels: Vec::new(),
        forms: Vec::new(),
        form_of: NameMap::default(),
        global_end: crate::module::GLOBAL_VARIABLES,
        global_bytes: 0,
        externals: Vec::new(),
        function_of: HashMap::new(),
        has_address_size: false,
        architecture: None,
        errors: Vec::new(),
    };
    if text.len() > MAX_TEXT_BYTES {
        let bytes = text.len();
        parser.error(
            (1, 1),
            format!("{bytes} bytes of text; at most {MAX_TEXT_BYTES}"),
        );
        return parser.finished();
    }
    parser.module_level();
    if let Some((place, what)) = parser.lexer.unended() {
        parser.error(place, format!("{what} begins here and does not end"));
    }
    parser.missing_externals();
    if parser.errors.is_empty() {
        let problems = crate::isa::link(&mut parser.module);
        for (place, message) in problems {
            parser.error(place, message);
        }
    }
    parser.finished()
}

impl<'a> Parser<'a> {
    /// The module, or its problems.
    fn finished(self) -> Result<Module, ParseErrors> {
        match self.errors.is_empty() {
            true => Ok(self.module),
            false => Err(ParseErrors {
                errors: self.errors,
            }),
        }
    }

    pub(crate) fn error(&mut self, place: (u32, u32), message: String) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(ParseError {
                line: place.0,
                column: place.1,
                message,
            });
        }
    }

    fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    pub(crate) fn expect(&mut self, punct: u8) -> Parsed<()> {
        if self.lexer.eat(punct) {
            return Ok(());
        }
        let found = self.lexer.peek();
        Err(format!(
            "expected '{}', found {}",
            punct as char,
            show(found)
        ))
    }

    pub(crate) fn word(&mut self, what: &str) -> Parsed<&'a str> {
        match self.lexer.next() {
            Token::Word(word) => Ok(word),
            other => Err(format!("expected {what}, found {}", show(other))),
        }
    }

    pub(crate) fn integer(&mut self) -> Parsed<u64> {
        let negative = self.lexer.eat(b'-');
        match self.lexer.next() {
            Token::Number(text) => match literal(text) {
                Some(Literal::Int(value)) if negative => Ok(value.wrapping_neg()),
                Some(Literal::Int(value)) => Ok(value),
                _ => Err(format!("{text} is no integer")),
            },
            other => Err(format!("expected a number, found {}", show(other))),
        }
    }

    /// A number that fits 32 bits.
    pub(crate) fn small(&mut self) -> Parsed<u32> {
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| format!("{value} is too large here"))
    }

    fn module_level(&mut self) {
        loop {
            let place = self.lexer.place();
            let token = self.lexer.next();
            if token == Token::End || self.full() {
                return;
            }
            let result = match token {
                Token::Word(word) => self.module_directive(word),
                Token::Punct(b';') => Ok(()),
                other => Err(format!("expected a directive, found {}", show(other))),
            };
            if let Err(message) = result {
                self.error(place, message);
                self.scopes.reset();
                self.lexer.recover();
                self.lexer.eat(b'}');
            }
        }
    }

    fn module_directive(&mut self, word: &'a str) -> Parsed<()> {
        match word {
            ".version" => self.version(),
            ".target" => self.target(),
            ".address_size" => self.address_size(),
            ".file" => self.file(),
            ".loc" => self.loc(None),
            ".pragma" => self.skip_statement(),
            ".section" => self.skip_section(),
            ".visible" | ".weak" | ".common" => Ok(()),
            ".extern" => match self.lexer.peek() {
                Token::Word(".global") => self.external_variables(),
                Token::Word(".const") => {
                    Err("unsupported .extern .const: no other text is linked".to_owned())
                }
                _ => Ok(()),
            },
            ".entry" => self.entry(),
            ".func" => self.function(),
            ".global" => self.module_variables(Space::Global),
            ".const" => self.module_variables(Space::Const),
            ".shared" => self.module_variables(Space::Shared),
            other => Err(format!("unsupported directive {other}")),
        }
    }

    /// Whether nothing but the head of the text was read.
    fn is_at_head(&self) -> bool {
        let module = &self.module;
        !self.has_address_size
            && module.functions.is_empty()
            && module.globals.is_empty()
            && module.constants.is_empty()
    }

    /// `.version 8.0`, once and before all else (ISA 11.1).
    fn version(&mut self) -> Parsed<()> {
        let Token::Number(text) = self.lexer.next() else {
            return Err("expected a version such as 8.0".to_owned());
        };
        if self.module.version != (0, 0) {
            return Err(format!("a second .version {text}"));
        }
        if !(self.module.target.is_empty() && self.is_at_head()) {
            return Err(".version does not stand before all else".to_owned());
        }
        self.module.version = release::version(text)?;
        Ok(())
    }

    /// `.target sm_90a, debug`, first behind `.version`, and again where code is for less.
    fn target(&mut self) -> Parsed<()> {
        let target = self.word("an architecture")?;
        let architecture = Architecture::named(target);
        if architecture.is_none() {
            return Err(format!(
                "unsupported .target {target}: an architecture such as sm_80 or sm_90a, at most \
                 sm_121"
            ));
        }
        if self.module.target.is_empty() && !self.is_at_head() {
            return Err(".target does not stand before all else but .version".to_owned());
        }
        self.module.target = target.to_owned();
        self.architecture = architecture;
        while self.lexer.eat(b',') {
            self.word("a target option")?;
        }
        Ok(())
    }

    fn address_size(&mut self) -> Parsed<()> {
        if self.has_address_size {
            return Err("a second .address_size".to_owned());
        }
        self.has_address_size = true;
        match self.integer()? {
            64 => Ok(()),
            32 if self.module.globals.is_empty() => {
                self.module.narrow = true;
                self.global_end = NARROW_VARIABLES;
                Ok(())
            }
            32 => Err(".address_size stands behind variables".to_owned()),
            size => Err(format!("unsupported .address_size {size}: 32 or 64")),
        }
    }

    pub(crate) fn skip_statement(&mut self) -> Parsed<()> {
        self.lexer.recover();
        Ok(())
    }

    /// `.file 1 "name"` and the optional `, time, size`.
    pub(crate) fn file(&mut self) -> Parsed<()> {
        let number = self.integer()?;
        let Token::Text(name) = self.lexer.next() else {
            return Err(".file needs a name".to_owned());
        };
        self.module.sources.name(number, name);
        while self.lexer.eat(b',') {
            self.integer()?;
        }
        Ok(())
    }

    /// `.loc 1 2 3` and the optional `, function_name x, inlined_at 1 2 3`, on a line of a
    /// function; the column is not kept.
    pub(crate) fn loc(&mut self, at: Option<u32>) -> Parsed<()> {
        let [file, line, _] = [self.integer()?, self.integer()?, self.integer()?];
        if let Some(at) = at {
            self.module.sources.begin(at, file, line);
        }
        while self.lexer.eat(b',') {
            self.word("function_name or inlined_at")?;
            if let Token::Word(_) = self.lexer.peek() {
                self.lexer.next();
                if self.lexer.eat(b'+') {
                    self.integer()?;
                }
            } else {
                for _ in 0..3 {
                    self.integer()?;
                }
            }
        }
        Ok(())
    }

    fn skip_section(&mut self) -> Parsed<()> {
        self.word("a section")?;
        self.expect(b'{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.lexer.next() {
                Token::Punct(b'{') => depth += 1,
                Token::Punct(b'}') => depth -= 1,
                Token::End => return Err(".section without its end".to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The number of a function, new or known.
    pub(super) fn function_id(&mut self, name: &'a str) -> u32 {
        if let Some(&id) = self.function_of.get(name) {
            return id;
        }
        let id = self.module.functions.len() as u32;
        self.module.functions.push(Function {
            name: name.to_owned(),
            ..Function::default()
        });
        self.function_of.insert(name, id);
        id
    }

    /// A slot for a register of the frame.
    pub(crate) fn declare_register(
        &mut self,
        name: &'a str,
        ty: crate::types::Ty,
        len: u32,
    ) -> Parsed<Named> {
        let function = &mut self.builder.function;
        let predicate = ty == crate::types::Ty::Pred;
        function.names.push(RegisterNames {
            name: name.to_owned(),
            first: if predicate {
                function.predicates | PREDICATE
            } else {
                function.registers
            },
            family: false,
            len: if predicate { 1 } else { len },
        });
        let named = if predicate {
            function.predicates += 1;
            Named::Pred(function.predicates - 1)
        } else {
            let first = Reg {
                slot: function.registers,
                width: ty.bits().max(8),
            };
            function.registers += len;
            if len == 1 {
                Named::Reg(first)
            } else {
                Named::RegVector { first, len }
            }
        };
        if function.registers.max(function.predicates) > MAX_REGISTERS {
            return Err(format!("more than {MAX_REGISTERS} registers"));
        }
        self.scopes.declare(name, named)?;
        Ok(named)
    }

    /// Room in the frame's local memory.
    pub(crate) fn local_bytes(&mut self, bytes: u32, align: u32) -> Parsed<u32> {
        let function = &mut self.builder.function;
        let offset = u64::from(function.local_bytes).next_multiple_of(u64::from(align));
        let end = offset + u64::from(bytes);
        if end > MAX_LOCAL_BYTES {
            return Err(format!(
                "{end} bytes of local variables; at most {MAX_LOCAL_BYTES}"
            ));
        }
        function.local_bytes = end as u32;
        Ok(offset as u32)
    }
}

/// A token for messages.
pub(crate) fn show(token: Token<'_>) -> String {
    match token {
        Token::Word(text) | Token::Number(text) => format!("'{text}'"),
        Token::Text(text) => format!("\"{text}\""),
        Token::Punct(byte) => format!("'{}'", (byte as char).escape_default()),
        Token::End => "the end of the text".to_owned(),
    }
}
