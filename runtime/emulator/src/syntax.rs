//! PTX text to a decoded module: lexer, recursive descent, one pass.

pub(crate) mod lexer;
pub(crate) mod operand;
pub(crate) mod scope;
mod declaration;
mod body;
mod parser;

pub(crate) use parser::LabelUse;
pub(crate) use parser::parse;
pub use parser::{ParseError, ParseErrors};
