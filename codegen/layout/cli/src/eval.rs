//! Expressions to values.
//!
//! In: an expression's text. Out: its value and the facts about symbols it assumed, or why there
//! is none: a text or a call of the wrong form, or a refusal of the algebra, with the part at
//! fault. Invariant: an operation that lacks a divisor of a symbol is tried again with it, and the
//! fact is told.

use std::ops::Range;

use tilewright_layout::{Basis, ComposedLayout, Error, Fact, Facts, Result as Algebra, Sym};

use super::atoms::{Atoms, NoAtoms};
use super::expr::{self, Expr, Kind, Malformed};
use super::functions::{self, Arguments, Function, Stop};
use super::value::{Tensor, Value};

/// Most facts that one expression assumes.
const MOST_ASSUMED: usize = 64;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// The text or a call is of the wrong form.
    Form(Malformed),
    /// The algebra refuses a call.
    Refused(Box<Refusal>),
}

/// A call that the algebra refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The call in the text.
    pub span: Range<usize>,
    /// The function.
    pub function: &'static str,
    /// What it was called with.
    pub arguments: Vec<Value>,
    /// Why it has no answer.
    pub error: Error,
}

impl From<Malformed> for Trouble {
    fn from(malformed: Malformed) -> Trouble {
        Trouble::Form(malformed)
    }
}

/// A value and the facts it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The value.
    pub value: Value,
    /// What was assumed about symbols, such as `m % 128 == 0`.
    pub assumed: Vec<Fact>,
}

/// The call that an expression is, with its arguments evaluated.
#[derive(Debug, Clone)]
pub struct Called {
    /// The function.
    pub function: &'static Function,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

/// Evaluates a text.
///
/// # Errors
///
/// The first part that is no expression or has no value.
pub fn evaluate(text: &str, atoms: &dyn Atoms) -> Result<Evaluated, Trouble> {
    evaluate_given(text, Facts::default(), atoms)
}

/// Evaluates a text where those facts about its symbols are given.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_given(text: &str, facts: Facts, atoms: &dyn Atoms) -> Result<Evaluated, Trouble> {
    let expr = expr::parse(text)?;
    let mut session = Session {
        facts,
        ..Session::with(atoms)
    };
    let value = session.value(&expr)?;
    let assumed = session.assumed;
    Ok(Evaluated { value, assumed })
}

/// Facts about symbols in the words in which they are told: `m % 128 == 0`, `m >= 128`.
///
/// # Errors
///
/// The first that is none.
pub fn facts(texts: &[String]) -> Result<Facts, String> {
    let mut facts = Facts::default();
    for text in texts {
        let number = |word: &str| word.trim().parse::<i64>().ok();
        let divisor = text.split_once('%').and_then(|(name, rest)| {
            let (by, zero) = rest.split_once("==")?;
            (number(zero)? == 0).then_some((name.trim(), number(by)?))
        });
        let bound = text.split_once(">=");
        let bound = bound.and_then(|(name, least)| Some((name.trim(), number(least)?)));
        let noted = match (divisor, bound) {
            (Some((name, by)), _) => facts.divides(name, by),
            (None, Some((name, least))) => facts.at_least(name, least),
            (None, None) => {
                return Err(format!(
                    "{text:?} is no fact about a name: write `m % 128 == 0` or `m >= 128`"
                ));
            }
        };
        noted.map_err(|error| error.to_string())?;
    }
    Ok(facts)
}

/// The outermost call of a text, ready to be explained.
///
/// # Errors
///
/// As [`evaluate`]; when the text is no call.
pub fn outermost_call(text: &str, atoms: &dyn Atoms) -> Result<Called, Trouble> {
    let expr = expr::parse(text)?;
    let mut session = Session::with(atoms);
    match &expr.kind {
        Kind::Call(name, parts) => {
            let function = session.function(name, parts, &expr.span)?;
            let arguments = session.values(parts)?;
            Ok(Called {
                function,
                arguments,
            })
        }
        Kind::Chain(parts) => {
            let arguments = match &parts[..] {
                [first, second] => vec![session.value(first)?, session.value(second)?],
                [first, rest @ ..] => vec![session.value(first)?, session.chain(rest)?],
                [] => Vec::new(),
            };
            Ok(Called {
                function: functions::composition(),
                arguments,
            })
        }
        _ => Err(Trouble::Form(Malformed {
            span: expr.span,
            message: "expected a call to explain, such as composition(4:2, 2:1)".to_owned(),
        })),
    }
}

/// The layout behind a swizzle that a text writes down as `swizzle o offset o layout`, which is a
/// value and no call; `None` for any other text.
pub fn written_composed(text: &str) -> Option<ComposedLayout> {
    let expr = expr::parse(text).ok()?;
    let Kind::Chain(parts) = &expr.kind else {
        return None;
    };
    let mut session = Session::with(&NoAtoms);
    let is_written = matches!(
        &parts[..],
        [first, second, _] if matches!(session.value(first), Ok(Value::Swizzle(_)))
            && matches!(session.value(second), Ok(Value::Int(_)))
    );
    match session.chain(parts) {
        Ok(Value::Composed(all)) if is_written => Some(all),
        _ => None,
    }
}

struct Session<'a> {
    atoms: &'a dyn Atoms,
    facts: Facts,
    assumed: Vec<Fact>,
}

impl Session<'_> {
    fn with(atoms: &dyn Atoms) -> Session<'_> {
        Session {
            atoms,
            facts: Facts::default(),
            assumed: Vec::new(),
        }
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, Trouble> {
        match &expr.kind {
            Kind::Literal(value) => Ok(value.as_ref().clone()),
            Kind::Name(name) => named(name, &expr.span, self.atoms),
            Kind::List(parts) => Ok(Value::List(self.values(parts)?)),
            Kind::Chain(parts) => self.chain(parts),
            Kind::Call(name, parts) => {
                let function = self.function(name, parts, &expr.span)?;
                let arguments = self.values(parts)?;
                let spans: Vec<Range<usize>> = parts.iter().map(|p| p.span.clone()).collect();
                self.call(function, arguments, &expr.span, &spans)
            }
        }
    }

    fn values(&mut self, parts: &[Expr]) -> Result<Vec<Value>, Trouble> {
        parts.iter().map(|part| self.value(part)).collect()
    }

    fn function(
        &self,
        name: &str,
        parts: &[Expr],
        span: &Range<usize>,
    ) -> Result<&'static Function, Trouble> {
        let at_name = span.start..span.start + name.len();
        let Some(function) = functions::find(name) else {
            let hint = match functions::nearest(name) {
                Some(known) => format!("; did you mean `{known}`?"),
                None => "; `layout eval --list` lists all".to_owned(),
            };
            return Err(Trouble::Form(Malformed {
                span: at_name,
                message: format!("no function is called `{name}`{hint}"),
            }));
        };
        if !function.takes(parts.len()) {
            let count = parts.len();
            return Err(Trouble::Form(Malformed {
                span: at_name,
                message: format!("{count} arguments do not fit {}", function.signature),
            }));
        }
        Ok(function)
    }

    /// `a o b`: a swizzle takes its offset and its layout, layouts are composed.
    fn chain(&mut self, parts: &[Expr]) -> Result<Value, Trouble> {
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            values.push((self.value(part)?, part.span.clone()));
        }
        let whole = match (parts.first(), parts.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => 0..0,
        };
        if let [
            (Value::Swizzle(swizzle), _),
            (Value::Int(offset), _),
            (inner, at),
        ] = &values[..]
        {
            let Ok(inner) = Arguments(std::slice::from_ref(inner)).layout(0) else {
                let message = "expected a layout of numbers after swizzle and offset".to_owned();
                let span = at.clone();
                return Err(Trouble::Form(Malformed { span, message }));
            };
            return Ok(Value::Composed(ComposedLayout {
                swizzle: *swizzle,
                offset: *offset,
                inner,
            }));
        }
        // An inverse is written the other way round: `layout o -offset o swizzle`.
        if let [
            (layout, _),
            (Value::Int(offset), at),
            (Value::Swizzle(swizzle), _),
        ] = &values[..]
        {
            let parts = [
                layout.clone(),
                Value::Int(*offset),
                Value::Swizzle(*swizzle),
            ];
            let spans = [whole.clone(), at.clone(), whole.clone()];
            return self.call(functions::inverse(), parts.to_vec(), &whole, &spans);
        }
        let function = functions::composition();
        // From the right, so that `Sw o a o b` composes a with b before it is swizzled.
        let (mut right, mut right_span) = match values.pop() {
            Some(last) => last,
            None => return Ok(Value::List(Vec::new())),
        };
        while let Some((left, left_span)) = values.pop() {
            let spans = [left_span.clone(), right_span.clone()];
            right_span = left_span.start..right_span.end;
            right = self.call(function, vec![left, right], &whole, &spans)?;
        }
        Ok(right)
    }

    fn call(
        &mut self,
        function: &'static Function,
        mut arguments: Vec<Value>,
        span: &Range<usize>,
        parts: &[Range<usize>],
    ) -> Result<Value, Trouble> {
        loop {
            for argument in &mut arguments {
                *argument = with_facts(argument, &self.facts).unwrap_or(argument.clone());
            }
            match function.call(Arguments(&arguments)) {
                Ok(value) => return Ok(value),
                Err(Stop::Wrong { argument, wanted }) => {
                    let found = arguments
                        .get(argument)
                        .map_or("nothing", Value::kind_with_article);
                    let at = parts.get(argument).unwrap_or(span);
                    let signature = function.signature;
                    return Err(Trouble::Form(Malformed {
                        span: at.clone(),
                        message: format!("expected {wanted}, found {found}: {signature}"),
                    }));
                }
                Err(Stop::Refused(error)) => {
                    if !self.assume(&error) {
                        return Err(Trouble::Refused(Box::new(Refusal {
                            span: span.clone(),
                            function: function.name(),
                            arguments,
                            error,
                        })));
                    }
                }
            }
        }
    }

    /// Adds the divisor that an operation lacks, if that is all it lacks.
    fn assume(&mut self, error: &Error) -> bool {
        let Error::Unproven { fact } = error else {
            return false;
        };
        let Fact::Divides { value, by } = fact else {
            return false;
        };
        if self.assumed.len() >= MOST_ASSUMED || self.facts.divides(value, *by).is_err() {
            return false;
        }
        self.assumed.push(fact.clone());
        true
    }
}

/// An atom of the catalogue, or a symbol.
fn named(name: &str, span: &Range<usize>, atoms: &dyn Atoms) -> Result<Value, Trouble> {
    if let Some(atom) = atoms.find(name) {
        return Ok(atom);
    }
    // The ids of atoms begin with their architecture; symbols of kernels are short.
    if name.starts_with("sm") && name.contains('_') {
        return Err(Trouble::Form(Malformed {
            span: span.clone(),
            message: atoms.unknown(name),
        }));
    }
    name.parse::<Sym>().map(Value::Symbol).map_err(|error| {
        Trouble::Form(Malformed {
            span: span.clone(),
            message: error.to_string(),
        })
    })
}

/// The value whose symbols know the facts.
fn with_facts(value: &Value, facts: &Facts) -> Algebra<Value> {
    Ok(match value {
        Value::Symbol(symbol) => Value::Symbol(facts.apply(symbol)?),
        Value::Tensor(Tensor::Symbolic(layout)) => layout.map(|x| facts.apply(x))?.into(),
        Value::Tensor(Tensor::SymbolicCoords(layout)) => {
            let shape = layout
                .shape()
                .leaves()
                .iter()
                .map(|s| facts.apply(s))
                .collect::<Algebra<Vec<_>>>()?;
            let shape = tilewright_layout::IntTuple::with_profile(layout.profile().clone(), shape)?;
            let stride = layout.map_stride(|d| basis_with_facts(d, facts))?.stride();
            tilewright_layout::Layout::new(shape, stride)?.into()
        }
        other => other.clone(),
    })
}

fn basis_with_facts(value: &Basis<Sym>, facts: &Facts) -> Algebra<Basis<Sym>> {
    use tilewright_layout::Stride as _;
    let mut sum = Basis::default();
    for (path, c) in value.terms() {
        sum = sum.plus(&Basis::scaled_unit(facts.apply(c)?, *path))?;
    }
    Ok(sum)
}
