//! Tokens to a tree.
//!
//! In: text. Out: the tree, or every problem: of a statement that cannot be read the first, and the
//! parser goes on behind it. Operators bind as the table of primitives says; a fold's body reaches
//! as far as it can.

use super::lexer::{Token, TokenKind, tokens};
use super::{Assignment, MAX_NODES, MAX_STATEMENTS, Node, NodeKind, Tree, Word};
use crate::functions::{CHOOSES, written_fold};
use crate::problem::{Problem, Span, shown, sorted};

mod expression;

/// The tree of a formula.
///
/// # Errors
/// Every problem of the text, in order.
pub fn parse(text: &str) -> Result<Tree, Vec<Problem>> {
    match parse_what_can_be(text) {
        (tree, problems) if problems.is_empty() => Ok(tree),
        (_, problems) => Err(problems),
    }
}

/// The tree of what can be read of a formula, and every problem of the rest.
pub fn parse_what_can_be(text: &str) -> (Tree, Vec<Problem>) {
    parse_among(text, &[])
}

/// The same of a formula of operands with these names, of which some may be those of folds.
pub fn parse_among(text: &str, operands: &[&str]) -> (Tree, Vec<Problem>) {
    let mut parser = Parser::new(text);
    parser
        .values
        .extend(operands.iter().map(|name| (*name).to_owned()));
    let mut tree = Tree::default();
    while !parser.at_end() {
        let first = parser.word();
        match parser.statement() {
            Some(statement) => tree.statements.push(statement),
            None => {
                tree.broken.push(first.to_owned());
                parser.skip_statement();
            }
        }
        parser.stops();
        if tree.statements.len() > MAX_STATEMENTS {
            let message = format!("more than {MAX_STATEMENTS} statements");
            let help = "compute it in two kernels";
            parser.report("too-long", parser.span(), message, Some(help));
            break;
        }
    }
    if tree.statements.is_empty() && parser.problems.is_empty() {
        let help = "write what an output is: `d[m,n] = …`";
        parser.report("no-statement", 0..0, "no statement".to_owned(), Some(help));
    }
    (tree, sorted(parser.problems))
}

/// The tree of one expression, such as the definition of a function.
///
/// # Errors
/// Every problem of the text, in order.
pub fn parse_expression(text: &str) -> Result<Node, Vec<Problem>> {
    let mut parser = Parser::new(text);
    let node = parser.whole_expression();
    if node.is_some() && !parser.at_end() {
        parser.expected::<Node>("the end of the expression", None);
    }
    match node.filter(|_| parser.problems.is_empty()) {
        Some(node) => Ok(node),
        None => Err(sorted(parser.problems)),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    nodes: usize,
    problems: Vec<Problem>,
    /// Names of what has elements: operands, and what statements write.
    values: Vec<String>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Parser<'t> {
        let (tokens, problems) = tokens(text);
        let mut parser = Parser {
            text,
            tokens,
            at: 0,
            depth: 0,
            nodes: 0,
            problems,
            values: Vec::new(),
        };
        parser.stops();
        parser
    }

    /// The token that is next, `ahead` of it with a number.
    fn peek(&self, ahead: usize) -> TokenKind {
        let token = self.tokens.get(self.at + ahead);
        token.map_or(TokenKind::End, |token| token.kind)
    }

    fn span(&self) -> Span {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(0..0, |token| token.span.clone())
    }

    fn at_end(&self) -> bool {
        self.peek(0) == TokenKind::End
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(0), TokenKind::Sign(found) if found == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    fn stops(&mut self) {
        while self.peek(0) == TokenKind::Stop {
            self.at += 1;
        }
    }

    /// Passes over the rest of a statement, and over a line that goes on with it.
    fn skip_statement(&mut self) {
        let broken_off = self.peek(0) == TokenKind::Stop;
        self.skip_line();
        if broken_off && !self.assigns() {
            self.stops();
            self.skip_line();
        }
    }

    fn skip_line(&mut self) {
        while !matches!(self.peek(0), TokenKind::Stop | TokenKind::End) {
            self.at += 1;
        }
    }

    /// Whether the line behind this one is a statement of its own.
    fn assigns(&self) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or(&[]);
        let line = rest
            .iter()
            .skip_while(|token| token.kind == TokenKind::Stop);
        let mut line = line.take_while(|token| token.kind != TokenKind::Stop);
        line.any(|token| matches!(token.kind, TokenKind::Assign(_)))
    }

    /// Whether the rest of this line is a statement.
    fn line_assigns(&self) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or(&[]);
        let mut line = rest
            .iter()
            .take_while(|token| token.kind != TokenKind::Stop);
        line.any(|token| matches!(token.kind, TokenKind::Assign(_)))
    }

    /// The text of the token before the next.
    fn word_before(&self) -> &'t str {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let span = before.map_or(0..0, |token| token.span.clone());
        self.text.get(span).unwrap_or_default()
    }

    /// The text of the token that is next.
    fn word(&self) -> &'t str {
        let span = self.span();
        self.text.get(span).unwrap_or("")
    }

    fn report(&mut self, code: &'static str, span: Span, message: String, help: Option<&str>) {
        let mut problem = Problem::new(code, &span, message);
        problem.help = help.map(str::to_owned);
        self.problems.push(problem);
    }

    /// Notes that something else stands next.
    fn expected<T>(&mut self, what: &str, help: Option<&str>) -> Option<T> {
        if let Some(problem) = self.unknown_fold() {
            self.problems.push(problem);
            return None;
        }
        let (found, line_end) = match self.peek(0) {
            TokenKind::End => ("the end of the text".to_owned(), true),
            TokenKind::Stop => ("the end of the statement".to_owned(), true),
            _ => (format!("`{}`", shown(self.word())), false),
        };
        let help = help
            .or(line_end
                .then_some("a statement goes on behind its line's end only inside parentheses"));
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let before = before.and_then(|token| self.text.get(token.span.clone()));
        let is_if = [before, Some(self.word())].contains(&Some("if"));
        let chooses = !line_end && self.at > 0 && is_if && !self.values.iter().any(|v| v == "if");
        let fold = self.fold_elsewhere();
        let help = match chooses {
            true => Some(CHOOSES),
            false => fold.as_deref().or(help),
        };
        let message = format!("expected {what}, found {found}");
        let (before, mut span) = (self.last_end(), self.span());
        let strays = self.problems.iter().filter_map(Problem::span);
        if strays
            .clone()
            .any(|stray| before <= stray.start && stray.end <= span.start)
        {
            // What begins nothing stands between, and was reported.
            return None;
        }
        if line_end && self.at > 0 {
            span = self.tokens[self.at - 1].span.clone();
        }
        self.report("syntax", span, message, help);
        None
    }

    fn name(&mut self, what: &str) -> Option<Word> {
        if self.peek(0) != TokenKind::Name {
            return self.expected(what, None);
        }
        let word = Word {
            text: self.word().to_owned(),
            span: self.span(),
        };
        self.at += 1;
        Some(word)
    }

    fn node(&mut self, kind: NodeKind, span: Span) -> Option<Node> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} names, numbers and operations");
            if self.nodes == MAX_NODES + 1 {
                self.report("too-long", span, message, None);
            }
            return None;
        }
        Some(Node { kind, span })
    }

    fn statement(&mut self) -> Option<Assignment> {
        let target = self.name("the name of what is written")?;
        self.values.push(target.text.clone());
        let indices = if self.take("[") {
            self.list("]")?
        } else {
            Vec::new()
        };
        let annotation = match self.take(":") {
            true => Some(self.name("an element type")?),
            false => None,
        };
        let sign = self.span();
        let TokenKind::Assign(combine) = self.peek(0) else {
            let help = match self.is("==") {
                true => "one `=` writes; `==` compares",
                false => "a statement is `name[modes] = value`",
            };
            return self.expected("`=`, `max=`, `+=` or `min=`", Some(help));
        };
        self.at += 1;
        let value = self.whole_expression()?;
        if !matches!(self.peek(0), TokenKind::Stop | TokenKind::End) {
            let help = match self.peek(0) {
                TokenKind::Assign(_) => {
                    Some("write it in two statements: a statement has one `=`; `==` compares")
                }
                TokenKind::Name if self.line_assigns() => {
                    Some("write `;` or a new line between two statements")
                }
                TokenKind::Name | TokenKind::Integer(_) | TokenKind::Real(_) => {
                    if let Some(help) = written_fold(self.word_before()) {
                        return self.expected("the mode of a fold in brackets", Some(&help));
                    }
                    Some("write an operator between the two, such as `*`")
                }
                TokenKind::Sign(sign @ (")" | "]")) => {
                    return self.expected(
                        "an operator or the statement's end",
                        Some(&format!(
                            "take `{sign}` out: nothing is open that it closes"
                        )),
                    );
                }
                _ => None,
            };
            return self.expected("an operator or the statement's end", help);
        }
        let span = target.span.start..value.span.end;
        Some(Assignment {
            target,
            indices,
            annotation,
            combine,
            sign,
            value,
            span,
        })
    }
}
