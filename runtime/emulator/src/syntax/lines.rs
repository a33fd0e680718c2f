//! `.file` and `.loc`: the lines of a source that code is made from.

use super::parser::{Parsed, Parser};
use crate::lexer::Token;

impl Parser<'_> {
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
}
