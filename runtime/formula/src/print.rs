//! The notation in its canonical spelling.
//!
//! In: a tree. Out: text that parses to the same tree; a statement a line, no parenthesis that does
//! nothing, one space around operators that stand outside of indices.

use std::fmt::Write;

use crate::functions::{Notation, Op, Takes};
use crate::syntax::{Assignment, Node, NodeKind, Tree, Word};

/// Binds less tightly than every operator: the level of a whole expression.
const LOOSEST: u8 = 0;
/// Binds as a prefix sign does.
const PREFIX: u8 = 7;
/// Binds as `not` does.
const NEGATION: u8 = 3;

/// The canonical spelling of a formula.
pub fn print(tree: &Tree) -> String {
    let mut out = String::new();
    for statement in &tree.statements {
        out += &statement_text(statement, &|name| name.to_owned());
        out.push('\n');
    }
    out
}

/// The canonical spelling of an expression.
pub fn expression(node: &Node) -> String {
    let mut printer = Printer {
        out: String::new(),
        tight: false,
        rename: &|name| name.to_owned(),
    };
    printer.node(node, LOOSEST, false);
    printer.out
}

/// A statement with other names.
pub(crate) fn statement_text(statement: &Assignment, rename: &dyn Fn(&str) -> String) -> String {
    let mut printer = Printer {
        out: String::new(),
        tight: false,
        rename,
    };
    printer.out += &rename(&statement.target.text);
    if !statement.indices.is_empty() {
        printer.indices(&statement.indices);
    }
    if let Some(Word { text, .. }) = &statement.annotation {
        let _ = write!(printer.out, ": {text}");
    }
    let _ = write!(printer.out, " {} ", statement.combine.text());
    printer.node(&statement.value, LOOSEST, false);
    printer.out
}

struct Printer<'r> {
    out: String,
    /// Whether signs stand without spaces.
    tight: bool,
    rename: &'r dyn Fn(&str) -> String,
}

impl Printer<'_> {
    /// An expression behind which comes nothing, or `more` that a fold's body would take in.
    fn node(&mut self, node: &Node, above: u8, more: bool) {
        match &node.kind {
            NodeKind::Integer(value) => {
                let _ = write!(self.out, "{value}");
            }
            NodeKind::Real(value) => {
                let _ = write!(self.out, "{value:?}");
            }
            NodeKind::Name(name) => self.out += &(self.rename)(name),
            NodeKind::Element { name, indices } => {
                self.out += &(self.rename)(&name.text);
                self.indices(indices);
            }
            NodeKind::Call { name, arguments } => {
                self.out += &name.text;
                self.out.push('(');
                self.list(arguments, ", ");
                self.out.push(')');
            }
            NodeKind::Operation { op, operands } => self.operation(*op, operands, above, more),
            NodeKind::Fold { fold, modes, body } => {
                let closed = more;
                self.out.push_str(if closed { "(" } else { "" });
                let names: Vec<&str> = modes.iter().map(|mode| mode.text.as_str()).collect();
                let _ = write!(self.out, "{}[{}] ", fold.name(), names.join(","));
                self.node(body, LOOSEST, false);
                self.out.push_str(if closed { ")" } else { "" });
            }
        }
    }

    fn operation(&mut self, op: Op, operands: &[Node], above: u8, more: bool) {
        let row = op.row();
        let binds = match row.notation {
            Notation::Infix(binds) => binds,
            _ if op == Op::Not => NEGATION,
            _ => PREFIX,
        };
        let closed = binds <= above && above != LOOSEST;
        self.out.push_str(if closed { "(" } else { "" });
        let more = more && !closed;
        match operands {
            [operand] => {
                self.out += row.name;
                self.out.push_str(if op == Op::Not { " " } else { "" });
                // A sign behind a sign needs a parenthesis, `not` behind `not` none.
                let inner = if op == Op::Not { NEGATION - 1 } else { PREFIX };
                self.node(operand, inner, more);
            }
            [left, right] => {
                // The left side may bind as tightly, but for comparisons, which do not chain.
                let chained = row.takes == Takes::Comparison;
                let beside = if chained { binds } else { binds - 1 };
                self.node(left, beside, true);
                let word = row.name.starts_with(|c: char| c.is_ascii_alphabetic());
                let space = if self.tight && !word { "" } else { " " };
                let _ = write!(self.out, "{space}{}{space}", row.name);
                self.node(right, binds, more);
            }
            _ => {}
        }
        self.out.push_str(if closed { ")" } else { "" });
    }

    fn indices(&mut self, indices: &[Node]) {
        self.out.push('[');
        let outer = std::mem::replace(&mut self.tight, true);
        self.list(indices, ",");
        self.tight = outer;
        self.out.push(']');
    }

    fn list(&mut self, nodes: &[Node], between: &str) {
        for (at, node) in nodes.iter().enumerate() {
            self.out.push_str(if at > 0 { between } else { "" });
            self.node(node, LOOSEST, false);
        }
    }
}
