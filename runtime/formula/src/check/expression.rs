//! Types of expressions, operation by operation.

use super::Checker;
use super::names::Wanted;
use super::types::widen_literals;
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, ModeSet, Source, ValueType, size_free};
use crate::functions::{self, Derived, Fold, NO_SCANS, Op, Takes};
use crate::problem::{Problem, Span, shown};
use crate::syntax::{Node, NodeKind, Word, parse_expression};

/// Arguments of the derived function whose definition is read.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    function: &'static Derived,
    types: Vec<(ValueType, ModeSet)>,
    call: Span,
}

impl Checker<'_> {
    /// An expression. A sum that is all of a statement is kept in the type of its annotation.
    pub(super) fn expr(&mut self, node: &Node, sum: Option<DType>) -> Option<Expr> {
        let span = match &self.parameters {
            Some(parameters) => parameters.call.clone(),
            None => node.span.clone(),
        };
        let leaf = |kind, ty, free| {
            Some(Expr {
                kind,
                ty,
                free,
                span: span.clone(),
            })
        };
        match &node.kind {
            NodeKind::Integer(value) => {
                if i32::try_from(*value).is_err() {
                    let message = format!("{value} is no integer of 32 bits");
                    let help = format!("`{value}.0` is a number of 32 bits");
                    let problem = Problem::new("number-range", &span, message).help(help);
                    self.report(problem.edit(&span, format!("{value}.0")));
                    return None;
                }
                leaf(ExprKind::Integer(*value), ValueType::S32, 0)
            }
            NodeKind::Real(value) => leaf(ExprKind::Real(*value), ValueType::F32, 0),
            NodeKind::Name(name) => self.name(name, &span),
            NodeKind::Element { name, indices } => self.element(name, indices, &span),
            NodeKind::Call { name, arguments } => self.call(name, arguments, &span),
            NodeKind::Operation { op, operands } => self.apply(*op, operands, &span),
            NodeKind::Fold { fold, modes, body } => self.fold(*fold, modes, body, sum, &span),
        }
    }

    fn name(&mut self, name: &str, span: &Span) -> Option<Expr> {
        let leaf = |kind, ty, free| {
            Some(Expr {
                kind,
                ty,
                free,
                span: span.clone(),
            })
        };
        if let Some(parameters) = &self.parameters {
            let names = parameters.function.parameters.iter();
            if let Some(at) = names.clone().position(|one| *one == name) {
                let (ty, free) = parameters.types[at];
                return leaf(ExprKind::Parameter(at), ty, free);
            }
        }
        match name {
            "inf" => return leaf(ExprKind::Real(f64::INFINITY), ValueType::F32, 0),
            "nan" => return leaf(ExprKind::Real(f64::NAN), ValueType::F32, 0),
            _ => {}
        }
        if let Some(at) = self.signature.scalar(name) {
            self.scalars_read.push(at);
            let ty = ValueType::of(self.signature.scalars[at].dtype);
            return leaf(ExprKind::Scalar(at), ty, 0);
        }
        if let Some(mode) = self.mode(name) {
            if !self.in_scope(mode) {
                let problem = self.unbound(mode, span);
                self.report(problem);
                return None;
            }
            return leaf(ExprKind::Coordinate(mode), ValueType::S32, 1 << mode);
        }
        let word = Word {
            text: name.to_owned(),
            span: span.clone(),
        };
        self.element(&word, &[], span)
    }

    /// What to write in place of a statement that reads what it writes at another place: one
    /// element of the one before it.
    fn scan(&self, indices: &[Node]) -> Option<String> {
        indices.iter().find_map(|index| {
            let NodeKind::Operation { op, operands } = &index.kind else {
                return None;
            };
            let before = match op {
                Op::Sub => "<=",
                Op::Add => ">=",
                _ => return None,
            };
            let mode = operands.iter().find_map(|one| match &one.kind {
                NodeKind::Name(name) => Some(name),
                _ => None,
            })?;
            let along = self.free_name(mode);
            Some(format!(
                "{NO_SCANS}, `sum[{along}] \
                 where({along} {before} {mode}, …, 0)` of an input with the mode `{along}`"
            ))
        })
    }

    /// An element of an operand or an intermediate.
    fn element(&mut self, name: &Word, indices: &[Node], span: &Span) -> Option<Expr> {
        if self.broken.contains(&name.text) {
            return None;
        }
        let local = self.locals.iter().position(|one| one.name == name.text);
        let operand = self.signature.operand(&name.text).map(Source::Operand);
        let Some(source) = operand.or(local.map(Source::Local)) else {
            let problem = self.unread(name, !indices.is_empty());
            self.report(problem);
            return None;
        };
        if let Source::Operand(at) = source
            && let Some(writer) = self.writers[at].filter(|writer| *writer >= self.at)
        {
            let text = shown(&name.text);
            let message = format!("`{text}` is read before it is written");
            let help = if let Some(scan) = self.scan(indices).filter(|_| writer == self.at) {
                scan
            } else if writer == self.at {
                let held = self.free_name(&name.text);
                format!(
                    "what was there before is an operand of its own: add `{held}` of the dtype and \
                     layout of `{text}`, read it, and give `{text}` the key `over: {held}`"
                )
            } else {
                "outputs hold nothing until their statement: move it up".to_owned()
            };
            self.report(Problem::new("read-before-write", &name.span, message).help(help));
            return None;
        }
        self.read.push(source);
        if let Some(problem) = self.fold_beside(name, indices) {
            self.report(problem);
            return None;
        }
        let indices = self.indices(source, name, indices, span)?;
        let ty = match source {
            Source::Operand(at) => ValueType::of(self.signature.operands[at].dtype),
            Source::Local(at) => ValueType::of(self.locals[at].dtype),
        };
        let free = indices
            .iter()
            .fold(0, |set, index| set | index.free(&self.modes));
        Some(Expr {
            kind: ExprKind::Read { source, indices },
            ty,
            free,
            span: span.clone(),
        })
    }

    /// The problem of a name that nothing is read by.
    fn unread(&self, name: &Word, has_indices: bool) -> Problem {
        let text = shown(&name.text);
        if self.mode(&name.text).is_some() || self.signature.scalar(&name.text).is_some() {
            let message = format!("`{text}` has no elements");
            return Problem::new("index-count", &name.span, message)
                .help(format!("it is written `{text}` alone"));
        }
        let wanted = match has_indices {
            true => Wanted::Elements,
            false => Wanted::Value,
        };
        self.unknown(&name.text, &name.span, wanted)
    }

    fn call(&mut self, name: &Word, arguments: &[Node], span: &Span) -> Option<Expr> {
        if name.text == "size" {
            return self.size_of(arguments, span);
        }
        if let Some(to) = DType::from_text(&name.text) {
            return self.cast(to, name, arguments, span);
        }
        if let Some(row) = functions::primitive(&name.text) {
            self.arity(name, row.arity, arguments, span)?;
            if row.op == Op::Where {
                return self.choice(arguments, span);
            }
            return self.apply(row.op, arguments, span);
        }
        let Some(function) = functions::derived(&name.text) else {
            let problem = self.unknown(&name.text, &name.span, Wanted::Function);
            self.report(problem);
            // Whatever modes a fold without brackets was to go along count as folded.
            let outside = self.scope;
            if Fold::named(&name.text).is_some() {
                self.scope = ModeSet::MAX;
            }
            for argument in arguments {
                self.expr(argument, None);
            }
            self.scope = outside;
            return None;
        };
        self.arity(name, function.parameters.len(), arguments, span)?;
        let arguments = self.all(arguments)?;
        let types: Option<Vec<(ValueType, ModeSet)>> = arguments
            .iter()
            .map(|one| Some((self.number(one)?, one.free)))
            .collect();
        let parameters = Parameters {
            function,
            types: types?,
            call: span.clone(),
        };
        let definition = parse_expression(function.definition).ok()?;
        let outer = self.parameters.replace(parameters);
        let inside = self.expr(&definition, None);
        self.parameters = outer;
        let inside = Box::new(inside?);
        Some(Expr {
            ty: inside.ty,
            free: arguments.iter().fold(0, |set, one| set | one.free),
            span: span.clone(),
            kind: ExprKind::Call {
                function,
                arguments,
                inside,
            },
        })
    }

    fn size_of(&mut self, arguments: &[Node], span: &Span) -> Option<Expr> {
        let mode = match arguments {
            [
                Node {
                    kind: NodeKind::Name(name),
                    span,
                },
            ] => {
                let mode = self.mode(name);
                if mode.is_none() {
                    let problem = self.unknown(name, span, Wanted::Mode);
                    self.report(problem);
                }
                mode?
            }
            _ => {
                let message = "`size` takes one mode";
                self.report(Problem::new("arity", span, message).help("write `size(n)`"));
                return None;
            }
        };
        let free = size_free(&self.modes, mode);
        if free & !self.scope != 0 {
            let name = &self.modes[mode].name;
            let message = format!("the extent of ragged mode `{name}` is another in each group");
            let help = "its groups must be on the left or folded outside";
            self.report(Problem::new("ragged-fold", span, message).help(help));
            return None;
        }
        Some(Expr {
            kind: ExprKind::Size(mode),
            ty: ValueType::S32,
            free,
            span: span.clone(),
        })
    }

    /// All of them, so that each is checked.
    fn all(&mut self, nodes: &[Node]) -> Option<Vec<Expr>> {
        let all: Vec<Option<Expr>> = nodes.iter().map(|node| self.expr(node, None)).collect();
        all.into_iter().collect()
    }

    fn apply(&mut self, op: Op, nodes: &[Node], span: &Span) -> Option<Expr> {
        let mut arguments = self.all(nodes)?;
        let ty = match op.row().takes {
            Takes::Conditions => {
                let all: Vec<_> = arguments.iter().map(|one| self.condition(one)).collect();
                all.into_iter().collect::<Option<Vec<()>>>()?;
                ValueType::Bool
            }
            takes => {
                let types: Vec<_> = arguments.iter().map(|one| self.number(one)).collect();
                let types: Option<Vec<ValueType>> = types.into_iter().collect();
                let joined = types?.into_iter().reduce(ValueType::joined)?;
                let arguments = &mut arguments;
                arguments
                    .iter_mut()
                    .for_each(|one| widen_literals(one, joined));
                match takes {
                    Takes::Comparison => ValueType::Bool,
                    Takes::Floats => joined.joined(ValueType::F32),
                    Takes::Integers => self.remainder(arguments, span)?,
                    _ => joined,
                }
            }
        };
        Some(Expr {
            ty,
            free: arguments.iter().fold(0, |set, one| set | one.free),
            kind: ExprKind::Apply { op, arguments },
            span: span.clone(),
        })
    }

    /// `where`: what it chooses is read only where it is chosen.
    fn choice(&mut self, nodes: &[Node], span: &Span) -> Option<Expr> {
        let [condition, then, other] = nodes else {
            return None;
        };
        let known = self.facts.len();
        let tested = self.expr(condition, None);
        let branch = |checker: &mut Self, node: &Node, truth: bool| {
            let mut facts = Vec::new();
            checker.facts_of(condition, truth, &mut facts);
            checker.facts.extend(facts);
            let expr = checker.expr(node, None);
            checker.facts.truncate(known);
            expr
        };
        let then = branch(self, then, true);
        let other = branch(self, other, false);
        let (tested, mut then, mut other) = (tested?, then?, other?);
        self.condition(&tested)?;
        let ty = self.number(&then)?.joined(self.number(&other)?);
        widen_literals(&mut then, ty);
        widen_literals(&mut other, ty);
        Some(Expr {
            ty,
            free: tested.free | then.free | other.free,
            kind: ExprKind::Apply {
                op: Op::Where,
                arguments: vec![tested, then, other],
            },
            span: span.clone(),
        })
    }

    fn fold(
        &mut self,
        fold: Fold,
        words: &[Word],
        body: &Node,
        sum: Option<DType>,
        span: &Span,
    ) -> Option<Expr> {
        let outer = self.scope;
        let mut modes: Vec<ModeId> = Vec::new();
        let mut sound = true;
        for word in words {
            match self.fold_mode(word) {
                Some(mode) if modes.contains(&mode) => {
                    self.folded_twice(fold, word, &modes);
                    sound = false;
                }
                Some(mode) => {
                    modes.push(mode);
                    self.scope |= 1 << mode;
                }
                None => sound = false,
            }
        }
        if fold == Fold::Argmax && words.len() != 1 {
            let message = format!(
                "`argmax` along {} modes; it gives an index of one",
                words.len()
            );
            self.report(Problem::new("arity", span, message).help("fold the others by `max[…]`"));
            sound = false;
        }
        // The coordinate that a condition spoke of is another one inside.
        let hidden = modes.iter().any(|mode| outer >> mode & 1 == 1);
        let facts = if hidden {
            std::mem::take(&mut self.facts)
        } else {
            Vec::new()
        };
        let body = sound.then(|| self.expr(body, None)).flatten();
        if hidden {
            self.facts = facts;
        }
        self.scope = outer;
        let body = body?;
        let ty = self.number(&body)?;
        let dtype = self.accumulator(fold, ty, sum, span)?;
        let inner = modes.iter().fold(0, |set: ModeSet, mode| set | 1 << mode);
        let sizes = modes
            .iter()
            .fold(0, |set, mode| set | size_free(&self.modes, *mode));
        Some(Expr {
            ty: match fold {
                Fold::Argmax => ValueType::S32,
                Fold::Mean => ValueType::of(dtype).joined(ValueType::F32),
                Fold::Sum | Fold::Max | Fold::Min => ValueType::of(dtype),
            },
            free: body.free & !inner | sizes,
            kind: ExprKind::Fold {
                fold,
                modes,
                dtype,
                body: Box::new(body),
            },
            span: span.clone(),
        })
    }
}
