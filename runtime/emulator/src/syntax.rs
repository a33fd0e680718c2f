//! PTX text to a decoded module: lexer, recursive descent, one pass.

mod release;
mod scope;
mod parser;
mod lines;
mod external;
mod initialiser;
mod declaration;
mod labels;
mod operands;
mod body;
mod function;
mod directives;

pub use parser::{ParseError, ParseErrors};

use crate::module::Module;

impl Module {
    /// Parses and decodes PTX text.
    ///
    /// # Errors
    /// Every problem of the text at once: syntax, unknown opcodes, modifiers or directives
    /// (`unsupported`), operands that do not fit, names that are not declared.
    ///
    /// ```
    /// let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry noop() { ret; }";
    /// let module = tilewright_emulator::Module::parse(text)?;
    /// assert_eq!(module.version(), (8, 0));
    /// assert!(module.entry("noop").is_some());
    /// # Ok::<(), tilewright_emulator::ParseErrors>(())
    /// ```
    pub fn parse(text: &str) -> Result<Module, ParseErrors> {
        directives::parse(text)
    }
}
