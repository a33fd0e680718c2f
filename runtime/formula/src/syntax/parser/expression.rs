//! Expressions: operators by how tightly they bind, calls, elements, folds.

use super::Parser;
use crate::functions::{FOLDS, Fold, NO_POWER, NO_SCANS, Notation, Op, PRIMITIVES};
use crate::problem::{Problem, Span, shown};
use crate::syntax::{MAX_DEPTH, Node, NodeKind, Token, TokenKind, Word};

/// Names of arguments that elsewhere say along what is folded.
const ALONG: &[&str] = &["dim", "dims", "axis", "axes", "keepdim", "keepdims"];
/// How tightly the operands of a comparison bind, which cannot be chained.
const COMPARISON: u8 = 4;
/// How tightly the operand of `not` binds.
const NEGATION: u8 = 3;
/// More than any infix.
const TIGHTEST: u8 = 7;

impl Parser<'_> {
    /// An expression with no more levels than are allowed.
    pub(super) fn whole_expression(&mut self) -> Option<Node> {
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
    pub(super) fn list(&mut self, close: &str) -> Option<Vec<Node>> {
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
                let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
                let name = last.and_then(|token| self.text.get(token.span.clone()));
                let is_named = matches!(self.peek(0), TokenKind::Assign(_));
                let help = match close {
                    ")" if is_named && name.is_some_and(|name| ALONG.contains(&name)) => {
                        "a fold stands before its value and names its mode: `mean[n] x[m,n]`"
                    }
                    ")" if is_named => "arguments have no names: write their values in order",
                    "]" => "write `]` behind the last index",
                    _ => "write `)` behind the last argument",
                };
                return self.expected(&format!("`,` or `{close}`"), Some(help));
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
    pub(super) fn infix(&self) -> Option<(Op, u8)> {
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
                    let help = match self.peek(0) {
                        TokenKind::Name | TokenKind::Integer(_) | TokenKind::Real(_) => {
                            "write an operator between the two, such as `*`"
                        }
                        _ => "write `)` where the value ends that `(` begins",
                    };
                    return self.expected("an operator or `)`", Some(help));
                }
                inner.span = span.start..self.span().end;
                self.at += 1;
                Some(inner)
            }
            TokenKind::Name if self.infix().is_none() => self.named(),
            _ => {
                let help = self.no_value();
                self.expected("a value", Some(&help))
            }
        }
    }

    /// What to do where a value is missing.
    fn no_value(&self) -> String {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let before = before.and_then(|token| self.text.get(token.span.clone()));
        let before = before.map(str::trim).filter(|before| !before.is_empty());
        match (self.peek(0), before) {
            (TokenKind::Stop, Some(before)) if !self.assigns() && self.goes_on() => format!(
                "write the value from its begin to its end in parentheses, `(…)`: only inside of \
                 these it goes on behind its line's end; or write a value behind `{before}`"
            ),
            (TokenKind::Stop | TokenKind::End, Some("=" | "+=" | "max=" | "min=")) => {
                "write a value behind the sign".to_owned()
            }
            (TokenKind::Stop | TokenKind::End, Some(before)) => {
                format!("write a value behind `{before}`, or take it out")
            }
            (TokenKind::Stop | TokenKind::End, None) => "write a value".to_owned(),
            (TokenKind::Sign("*"), Some("*")) => NO_POWER.to_owned(),
            _ => format!("write a value in place of `{}`", shown(self.word())),
        }
    }

    /// Whether a line follows.
    fn goes_on(&self) -> bool {
        let mut rest = self.tokens.get(self.at..).unwrap_or(&[]).iter();
        rest.any(|token| !matches!(token.kind, TokenKind::Stop | TokenKind::End))
    }

    /// The problem of a value behind brackets, as a fold has it, whose name is that of no fold.
    pub(super) fn unknown_fold(&self) -> Option<Problem> {
        let follows = match self.peek(0) {
            TokenKind::Name => self.infix().is_none(),
            kind => matches!(
                kind,
                TokenKind::Integer(_) | TokenKind::Real(_) | TokenKind::Sign("(")
            ),
        };
        let taken = self.tokens.get(..self.at).filter(|_| follows)?;
        let close = taken
            .last()
            .filter(|token| token.kind == TokenKind::Sign("]"));
        close?;
        let open = taken
            .iter()
            .rposition(|token| token.kind == TokenKind::Sign("["))?;
        let name = taken.get(open.checked_sub(1)?)?;
        let text = self.text.get(name.span.clone()).unwrap_or("");
        let is_value = self.values.iter().any(|value| value == text);
        if name.kind != TokenKind::Name || is_value || Fold::named(text).is_some() {
            return None;
        }
        let names: Vec<String> = FOLDS.iter().map(|one| format!("`{}`", one.name)).collect();
        let message = format!("`{}` is no fold", shown(text));
        let problem = Problem::new("unknown-name", &name.span, message);
        let scanned = match text {
            "cumsum" | "scan" | "prefix_sum" => Some(("sum", "0")),
            "cummax" => Some(("max", "-inf")),
            "cummin" => Some(("min", "inf")),
            _ => None,
        };
        Some(problem.help(match scanned {
            Some((fold, otherwise)) => format!(
                "{NO_SCANS}, such as \
                 `{fold}[j] where(j <= …, …, {otherwise})` of an input with the mode `j`"
            ),
            None => format!("folds are {}", names.join(", ")),
        }))
    }

    /// What is told of a fold as other notations write it, where that is what stands here:
    /// `sum(k) x`, `sum_k x`, `sum(x for k)`.
    pub(super) fn fold_elsewhere(&self) -> Option<String> {
        let taken = self.tokens.get(..self.at)?;
        let text = |one: &Token| self.text.get(one.span.clone());
        let opened = |taken: &[Token]| {
            let open = taken
                .iter()
                .rposition(|one| one.kind == TokenKind::Sign("("))?;
            let name = text(taken.get(open.checked_sub(1)?)?)?;
            Some((name, taken.get(open)?.span.end))
        };
        let last = taken.last()?;
        let (name, modes) = match (text(last)?, self.word()) {
            (_, "for") => (opened(taken)?.0, text(self.tokens.get(self.at + 1)?)?),
            (")", _) => {
                let (name, start) = opened(taken)?;
                (name, self.text.get(start..last.span.start)?.trim())
            }
            (word, _) => word.split_once('_')?,
        };
        let is_fold = Fold::named(name).is_some() && !modes.is_empty();
        is_fold.then(|| format!("a fold's modes stand in brackets: write `{name}[{modes}]`"))
    }

    /// What begins with a name: an element, a fold, a call, or the name alone.
    fn named(&mut self) -> Option<Node> {
        let name = self.name("a name")?;
        let start = name.span.start;
        let fold = Fold::named(&name.text).filter(|_| self.is("["));
        let fold = fold.filter(|_| !self.values.contains(&name.text) || self.has_body());
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

    /// Whether a value follows the brackets that are next, as it does behind a fold's modes. A sign
    /// there is one between two values, where the name is that of a value too.
    fn has_body(&self) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let mut open = 0usize;
        let close = rest.iter().position(|token| {
            match token.kind {
                TokenKind::Sign("[") => open += 1,
                TokenKind::Sign("]") => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0
        });
        let next = close.and_then(|at| rest.get(at + 1));
        let is_infix = |word: &str| {
            let mut rows = PRIMITIVES.iter();
            rows.any(|row| matches!(row.notation, Notation::Infix(_)) && row.name == word)
        };
        next.is_some_and(|token| match token.kind {
            TokenKind::Integer(_) | TokenKind::Real(_) | TokenKind::Sign("(") => true,
            TokenKind::Name => !is_infix(self.text.get(token.span.clone()).unwrap_or("")),
            _ => false,
        })
    }

    /// The end of the token that was taken last.
    pub(super) fn last_end(&self) -> usize {
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
