//! Names that stand for nothing here, and what was likely meant.

use super::Checker;
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Extent, ValueType};
use crate::functions;
use crate::problem::{Problem, Span, nearest, shown};
use crate::syntax::Word;

/// What a name was looked up as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Something with a value.
    Value,
    /// A function.
    Function,
    /// A mode.
    Mode,
    /// An element type.
    Type,
}

impl Checker<'_> {
    /// The problem of a name that stands for nothing.
    pub(super) fn unknown(&self, name: &str, span: &Span, wanted: Wanted) -> Problem {
        let signature = self.signature;
        let modes = || self.modes.iter().map(|mode| mode.name.as_str());
        let (what, names): (&str, Vec<&str>) = match wanted {
            Wanted::Value => {
                let operands = signature.operands.iter().map(|one| one.name.as_str());
                let scalars = signature.scalars.iter().map(|one| one.name.as_str());
                let locals = self.locals.iter().map(|one| one.name.as_str());
                let locals = locals.chain(self.broken.iter().map(String::as_str));
                let names = operands.chain(scalars).chain(locals).chain(modes());
                ("operand, intermediate, scalar or mode", names.collect())
            }
            Wanted::Function => {
                let casts = DType::ALL.iter().map(|dtype| dtype.text());
                let names = functions::names().chain(["size"]).chain(casts);
                ("function", names.collect())
            }
            Wanted::Mode => ("mode", modes().collect()),
            Wanted::Type => {
                let numbers = |dtype: &&DType| !matches!(ValueType::of(**dtype), ValueType::Raw(_));
                let names = DType::ALL.iter().filter(numbers).map(|dtype| dtype.text());
                ("element type", names.collect())
            }
        };
        let message = format!("`{}` is no {what}", shown(name));
        let problem = Problem::new("unknown-name", span, message);
        let known = wanted == Wanted::Function && self.value_named(name);
        let meant = DType::meant(name).map(DType::text);
        let meant = meant.filter(|meant| wanted != Wanted::Value && names.contains(meant));
        match meant.or(nearest(name, names.iter().copied())) {
            _ if known => problem.help(format!("elements are read in brackets: `{name}[…]`")),
            Some(near) => problem.help(format!("`{near}` is one")).edit(span, near),
            None if names.is_empty() => problem.help("none is there: modes stand in layouts"),
            None => problem.help(format!("there are: {}", names.join(", "))),
        }
    }

    /// Whether an operand or an intermediate has that name.
    fn value_named(&self, name: &str) -> bool {
        self.signature.operand(name).is_some() || self.locals.iter().any(|one| one.name == name)
    }

    /// The mode of a fold, whose groups must be there if it is ragged.
    pub(super) fn fold_mode(&mut self, word: &Word) -> Option<ModeId> {
        let Some(mode) = self.mode(&word.text) else {
            let problem = self.unknown(&word.text, &word.span, Wanted::Mode);
            self.report(problem);
            return None;
        };
        if let Extent::Ragged { group, .. } = self.extent(mode)
            && !self.in_scope(group)
        {
            let (name, group) = (&word.text, &self.modes[group].name);
            let message =
                format!("`{name}` has another extent in each `{group}`; none is chosen here");
            let help = format!("write `{group}` on the left, or fold along it outside");
            self.report(Problem::new("ragged-fold", &word.span, message).help(help));
            return None;
        }
        Some(mode)
    }

    /// The element type that a word names, which numbers can have.
    pub(super) fn element_type(&mut self, word: &Word) -> Option<DType> {
        let dtype = DType::from_text(&word.text);
        let dtype = dtype.filter(|dtype| !matches!(ValueType::of(*dtype), ValueType::Raw(_)));
        if dtype.is_none() {
            let problem = self.unknown(&word.text, &word.span, Wanted::Type);
            self.report(problem);
        }
        dtype
    }

    /// The problem of a mode that has no coordinate where it stands.
    pub(super) fn unbound(&self, mode: ModeId, span: &Span) -> Problem {
        let name = &self.modes[mode].name;
        let message = format!("mode `{name}` stands only on the right of `=`");
        let help = format!(
            "fold it, `sum[{name}] …` or `max[{name}] …`, or write it on the left; \
             `max=`, `+=` and `min=` fold what the left lacks"
        );
        Problem::new("mode-not-folded", span, message).help(help)
    }
}
