//! Tokens to a tree.
//!
//! In: text. Out: the tree, or every problem: of a statement that cannot be read the first, and the
//! parser goes on behind it. Operators bind as [`PRIMITIVES`] says; a fold's body reaches as far as
//! it can.

use super::lexer::{Token, TokenKind, tokens};
use super::{Assignment, MAX_DEPTH, MAX_NODES, MAX_STATEMENTS, Node, NodeKind, Tree, Word};
use crate::functions::{Fold, Notation, Op, PRIMITIVES};
use crate::problem::{Problem, Span, shown, sorted};

/// How tightly the operands of a comparison bind, which cannot be chained.
const COMPARISON: u8 = 4;
/// How tightly the operand of `not` binds.
const NEGATION: u8 = 3;
/// More than any infix.
const TIGHTEST: u8 = 7;

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
    let mut parser = Parser::new(text);
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
            parser.report("too-long", parser.span(), message, None);
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
        let (found, line_end) = match self.peek(0) {
            TokenKind::End => ("the end of the text".to_owned(), true),
            TokenKind::Stop => ("the end of the statement".to_owned(), true),
            _ => (format!("`{}`", shown(self.word())), false),
        };
        let help = help
            .or(line_end
                .then_some("a statement goes on behind its line's end only inside parentheses"));
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
                TokenKind::Assign(_) => Some("a statement writes once: `==` compares"),
                TokenKind::Name | TokenKind::Integer(_) | TokenKind::Real(_) => {
                    Some("an operator is missing, or a `;` between statements")
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

    /// An expression with no more levels than are allowed.
    fn whole_expression(&mut self) -> Option<Node> {
        let node = self.expression(0)?;
        self.shallow(node)
    }

    fn shallow(&mut self, node: Node) -> Option<Node> {
        if node.depth() > MAX_DEPTH {
            return self.too_deep(node.span);
        }
        Some(node)
    }

    fn too_deep<T>(&mut self, span: Span) -> Option<T> {
        let message = format!("more than {MAX_DEPTH} levels of operations");
        let help = "name a part of it in a statement of its own";
        self.report("too-deep", span, message, Some(help));
        None
    }

    /// Expressions up to a closing bracket, which is taken.
    fn list(&mut self, close: &str) -> Option<Vec<Node>> {
        let mut list = Vec::new();
        if self.take(close) {
            return Some(list);
        }
        loop {
            list.push(self.expression(0)?);
            if self.take(close) {
                return Some(list);
            }
            if !self.take(",") {
                return self.expected(&format!("`,` or `{close}`"), None);
            }
        }
    }

    /// Operands and the operators between them that bind more tightly than `above`.
    fn expression(&mut self, above: u8) -> Option<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.depth -= 1;
            return self.too_deep(self.span());
        }
        let node = self.operators(above);
        self.depth -= 1;
        node
    }

    fn operators(&mut self, above: u8) -> Option<Node> {
        let mut left = self.prefix()?;
        let mut levels = left.depth();
        while let Some((op, binds)) = self.infix().filter(|(_, binds)| *binds > above) {
            self.at += 1;
            let right = self.expression(binds)?;
            levels = levels.max(right.depth()) + 1;
            let span = left.span.start..right.span.end;
            if levels > MAX_DEPTH {
                return self.too_deep(span);
            }
            let operands = vec![left, right];
            left = self.node(NodeKind::Operation { op, operands }, span)?;
            if binds == COMPARISON && self.infix().is_some_and(|(_, next)| next == COMPARISON) {
                let help = "join two comparisons by `and`";
                return self.expected("one comparison", Some(help));
            }
        }
        Some(left)
    }

    /// The operator between operands that is next.
    fn infix(&self) -> Option<(Op, u8)> {
        let word = match self.peek(0) {
            TokenKind::Sign(sign) => sign,
            TokenKind::Name => self.word(),
            _ => return None,
        };
        PRIMITIVES.iter().find_map(|row| match row.notation {
            Notation::Infix(binds) if row.name == word => Some((row.op, binds)),
            _ => None,
        })
    }

    fn prefix(&mut self) -> Option<Node> {
        let start = self.span().start;
        let (op, above) = match self.peek(0) {
            TokenKind::Sign("-") => (Op::Neg, TIGHTEST),
            TokenKind::Name if self.word() == "not" => (Op::Not, NEGATION),
            _ => return self.primary(),
        };
        self.at += 1;
        let operand = self.expression(above)?;
        let span = start..operand.span.end;
        let operands = vec![operand];
        self.node(NodeKind::Operation { op, operands }, span)
    }

    fn primary(&mut self) -> Option<Node> {
        let span = self.span();
        match self.peek(0) {
            TokenKind::Integer(value) => {
                self.at += 1;
                self.node(NodeKind::Integer(value), span)
            }
            TokenKind::Real(value) => {
                self.at += 1;
                self.node(NodeKind::Real(value), span)
            }
            TokenKind::Sign("(") => {
                self.at += 1;
                let mut inner = self.expression(0)?;
                if !self.is(")") {
                    return self.expected("an operator or `)`", None);
                }
                inner.span = span.start..self.span().end;
                self.at += 1;
                Some(inner)
            }
            TokenKind::Name if self.infix().is_none() => self.named(),
            _ => self.expected("a value", None),
        }
    }

    /// What begins with a name: an element, a fold, a call, or the name alone.
    fn named(&mut self) -> Option<Node> {
        let name = self.name("a name")?;
        let start = name.span.start;
        let fold = Fold::named(&name.text).filter(|_| self.is("["));
        if let Some(fold) = fold {
            self.at += 1;
            let modes = self.modes()?;
            let body = Box::new(self.expression(0)?);
            let span = start..body.span.end;
            return self.node(NodeKind::Fold { fold, modes, body }, span);
        }
        let (kind, end) = if self.take("[") {
            let indices = self.list("]")?;
            (NodeKind::Element { name, indices }, self.last_end())
        } else if self.take("(") {
            let arguments = self.list(")")?;
            (NodeKind::Call { name, arguments }, self.last_end())
        } else {
            let end = name.span.end;
            (NodeKind::Name(name.text), end)
        };
        self.node(kind, start..end)
    }

    /// The end of the token that was taken last.
    fn last_end(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(0, |token| token.span.end)
    }

    /// The modes of a fold, behind its bracket.
    fn modes(&mut self) -> Option<Vec<Word>> {
        let mut modes = Vec::new();
        loop {
            modes.push(self.name("a mode")?);
            if self.take("]") {
                return Some(modes);
            }
            if !self.take(",") {
                return self.expected("`,` or `]`", Some("a fold is `sum[k] value`"));
            }
        }
    }
}
