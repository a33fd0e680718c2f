//! The module level: the directives of a whole text, in their order.

use super::parser::{ParseErrors, Parsed, Parser, show};
use super::release;
use crate::architecture::Architecture;
use crate::finding::Space;
use crate::lexer::Token;
use crate::module::{Module, NARROW_VARIABLES};

/// Bytes of a text: what is made of it takes some times as much memory.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// Parses a whole text.
pub(crate) fn parse(text: &str) -> Result<Module, ParseErrors> {
    let mut parser = Parser::new(text);
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
    fn module_level(&mut self) {
        loop {
            let place = self.lexer.place();
            let token = self.lexer.next();
            if token == Token::End || self.full() || self.is_of_no_release {
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
        let version = release::version(text);
        // What a text of another release means is not known: its first problem is the only one.
        self.is_of_no_release = version.is_err();
        self.module.version = version?;
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
}
