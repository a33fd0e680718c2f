//! Splits PTX text into words, numbers, strings and punctuation.
//!
//! A word keeps its leading dot, percent or dollar and its inner dots and double colons, so that
//! an opcode with all its modifiers, a directive, a register and a label are one token each.
//! Comments and blanks vanish.

/// One token, borrowed from the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Letters, digits, `_ $ % .` and `::`.
    Word(&'a str),
    /// Starts with a digit.
    Number(&'a str),
    /// Between quotes.
    Text(&'a str),
    /// A single byte.
    Punct(u8),
    /// The end of the text.
    End,
}

/// Reads tokens one after the other; copying it remembers a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    /// Where a comment or a string begins that has no end, and what it is.
    unended: Option<((u32, u32), &'static str)>,
}

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const BLANK: u8 = 4;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        if c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%' | b'.') || c >= 128 {
            class[i] = WORD;
        }
        if c.is_ascii_digit() {
            class[i] = WORD | DIGIT;
        }
        if matches!(c, b' ' | b'\t' | b'\r' | b'\n') {
            class[i] = BLANK;
        }
        i += 1;
    }
    class
};

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            text,
            at: 0,
            line: 1,
            line_start: 0,
            unended: None,
        }
    }

    /// The comment or string without an end that was passed, and its place.
    pub(crate) fn unended(&self) -> Option<((u32, u32), &'static str)> {
        self.unended
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The line and column, from 1, of the next token.
    pub(crate) fn place(&mut self) -> (u32, u32) {
        self.skip_blanks();
        self.here()
    }

    /// The line and column where reading has come to.
    fn here(&self) -> (u32, u32) {
        (self.line, (self.at - self.line_start + 1) as u32)
    }

    fn newline(&mut self, at: usize) {
        self.line += 1;
        self.line_start = at + 1;
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&c) = bytes.get(self.at) {
            if CLASS[c as usize] & BLANK != 0 {
                if c == b'\n' {
                    self.newline(self.at);
                }
                self.at += 1;
            } else if c == b'/' && self.byte(self.at + 1) == b'/' {
                while bytes.get(self.at).is_some_and(|&c| c != b'\n') {
                    self.at += 1;
                }
            } else if c == b'/' && self.byte(self.at + 1) == b'*' {
                let start = self.here();
                self.at += 2;
                while self.at < bytes.len()
                    && !(self.byte(self.at) == b'*' && self.byte(self.at + 1) == b'/')
                {
                    if self.byte(self.at) == b'\n' {
                        self.newline(self.at);
                    }
                    self.at += 1;
                }
                if self.at == bytes.len() {
                    self.unended.get_or_insert((start, "a comment"));
                }
                self.at = (self.at + 2).min(bytes.len());
            } else {
                break;
            }
        }
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or("")
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Token<'a> {
        self.skip_blanks();
        let start = self.at;
        let bytes = self.text.as_bytes();
        let Some(&first) = bytes.get(start) else {
            return Token::End;
        };
        let class = CLASS[first as usize];
        if class & DIGIT != 0 {
            return self.number();
        }
        if class & WORD != 0 {
            let mut at = start + 1;
            loop {
                while bytes
                    .get(at)
                    .is_some_and(|&c| CLASS[c as usize] & WORD != 0)
                {
                    at += 1;
                }
                let joined = self.byte(at) == b':'
                    && self.byte(at + 1) == b':'
                    && CLASS[self.byte(at + 2) as usize] & WORD != 0;
                if !joined {
                    break;
                }
                at += 3;
            }
            // `.reg.u64` is two directives; the dots of an opcode belong to it.
            if first == b'.' {
                let next = bytes
                    .get(start + 1..at)
                    .and_then(|rest| rest.iter().position(|c| *c == b'.'));
                at = next.map_or(at, |dot| start + 1 + dot);
            }
            self.at = at;
            return Token::Word(self.slice(start, at));
        }
        if first == b'"' {
            let mut at = start + 1;
            while bytes.get(at).is_some_and(|&c| c != b'"' && c != b'\n') {
                at += 1;
            }
            if bytes.get(at) != Some(&b'"') {
                self.unended.get_or_insert((self.here(), "a string"));
            }
            self.at = (at + 1).min(bytes.len());
            return Token::Text(self.slice(start + 1, at));
        }
        self.at += 1;
        Token::Punct(first)
    }

    fn number(&mut self) -> Token<'a> {
        let start = self.at;
        let hex = self.byte(start) == b'0' && !matches!(self.byte(start + 1), b'0'..=b'9' | b'.');
        let mut at = start;
        loop {
            let c = self.byte(at);
            let exponent_sign = !hex
                && matches!(c, b'+' | b'-')
                && at > start
                && matches!(self.byte(at - 1), b'e' | b'E');
            if c.is_ascii_alphanumeric() || c == b'.' || exponent_sign {
                at += 1;
            } else {
                break;
            }
        }
        self.at = at;
        Token::Number(self.slice(start, at))
    }

    /// The next token without taking it.
    pub(crate) fn peek(&self) -> Token<'a> {
        let mut ahead = *self;
        ahead.next()
    }

    /// Takes the punctuation if it is next.
    pub(crate) fn eat(&mut self, punct: u8) -> bool {
        self.skip_blanks();
        let found = self.byte(self.at) == punct && self.at < self.text.len();
        self.at += usize::from(found);
        found
    }

    /// Whether the punctuation is next.
    pub(crate) fn at_punct(&mut self, punct: u8) -> bool {
        self.skip_blanks();
        self.byte(self.at) == punct && self.at < self.text.len()
    }

    /// Skips to behind the next `;`, stopping before an unmatched `}` or at the end.
    pub(crate) fn recover(&mut self) {
        let mut depth = 0u32;
        loop {
            let before = *self;
            match self.next() {
                Token::End => return,
                Token::Punct(b'{') => depth += 1,
                Token::Punct(b'}') if depth == 0 => {
                    *self = before;
                    return;
                }
                Token::Punct(b'}') => depth -= 1,
                Token::Punct(b';') => return,
                _ => {}
            }
        }
    }
}

/// A number of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Literal {
    /// An integer as two's complement.
    Int(u64),
    /// The bits of a single, `0f…`.
    Single(u32),
    /// The bits of a double, `0d…` or decimal.
    Double(u64),
}

/// The value of a number token.
pub(crate) fn literal(text: &str) -> Option<Literal> {
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0f")
        && digits.len() == 8
    {
        return u32::from_str_radix(digits, 16).ok().map(Literal::Single);
    }
    if let Some(digits) = lower.strip_prefix("0d")
        && digits.len() == 16
    {
        return u64::from_str_radix(digits, 16).ok().map(Literal::Double);
    }
    let integer = lower.strip_suffix('u').unwrap_or(&lower);
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(Literal::Int);
    if let Some(digits) = integer.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = integer.strip_prefix("0b") {
        return radix(digits, 2);
    }
    if lower.contains(['.', 'e']) {
        return lower
            .parse::<f64>()
            .ok()
            .map(|value| Literal::Double(value.to_bits()));
    }
    match integer.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => radix(digits, 8),
        _ => radix(integer, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_places() {
        let mut lexer =
            Lexer::new("L_1: // x\n ld.shared::cta.b32 %r1, [%rd2+0x10]; /* \n */ 0f3F800000");
        assert_eq!(lexer.next(), Token::Word("L_1"));
        assert!(lexer.eat(b':'));
        assert_eq!(lexer.place(), (2, 2));
        assert_eq!(lexer.next(), Token::Word("ld.shared::cta.b32"));
        assert_eq!(lexer.next(), Token::Word("%r1"));
        lexer.recover();
        assert_eq!(lexer.next(), Token::Number("0f3F800000"));
        assert_eq!(lexer.next(), Token::End);
    }

    #[test]
    fn joined_directives_are_two() {
        let mut lexer = Lexer::new(".reg.v4.u16 a; cvt.u32.u16");
        for word in [".reg", ".v4", ".u16", "a"] {
            assert_eq!(lexer.next(), Token::Word(word));
        }
        assert!(lexer.eat(b';'));
        assert_eq!(lexer.next(), Token::Word("cvt.u32.u16"));
    }

    #[test]
    fn literals() {
        assert_eq!(literal("0f3F800000"), Some(Literal::Single(0x3f80_0000)));
        assert_eq!(literal("0x1f"), Some(Literal::Int(31)));
        assert_eq!(literal("017"), Some(Literal::Int(15)));
        assert_eq!(literal("42U"), Some(Literal::Int(42)));
        assert_eq!(literal("1.5"), Some(Literal::Double(1.5f64.to_bits())));
        assert_eq!(literal("9q"), None);
    }
}
