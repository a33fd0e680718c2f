//! The parser of one text: what is known of the module and of the current function, the errors, and
//! the words and numbers that all statements are made of.

use std::collections::HashMap;

use super::scope::{NameMap, Named, Scopes};
use crate::architecture::Architecture;
use crate::inst::Reg;
use crate::isa::Form;
use crate::lexer::{Lexer, Literal, Token, literal};
use crate::module::{Function, Module, PREDICATE, RegisterNames};
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

/// A variable that was declared `.extern`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct External<'a> {
    pub(super) name: &'a str,
    pub(super) place: (u32, u32),
    pub(super) used: bool,
    pub(super) defined: bool,
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
    pub(super) has_address_size: bool,
    /// Whether its `.version` is none that there is.
    pub(super) is_of_no_release: bool,
    /// That of the last `.target`.
    pub(crate) architecture: Option<Architecture>,
    pub(super) errors: Vec<ParseError>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        Parser {
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
            is_of_no_release: false,
            architecture: None,
            errors: Vec::new(),
        }
    }

    /// The module, or its problems.
    pub(super) fn finished(self) -> Result<Module, ParseErrors> {
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

    pub(super) fn full(&self) -> bool {
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

    pub(crate) fn skip_statement(&mut self) -> Parsed<()> {
        self.lexer.recover();
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
