//! Names that stand for nothing here, and what was likely meant.

use super::Checker;
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Extent, ValueType};
use crate::functions::{self, Fold, NO_POWER, elsewhere, written_fold};
use crate::problem::{Problem, Span, nearest, shown};
use crate::syntax::{Node, NodeKind, Word};

/// What a name was looked up as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Something with a value.
    Value,
    /// Something with elements.
    Elements,
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
            Wanted::Value | Wanted::Elements => {
                let operands = signature.operands.iter().map(|one| one.name.as_str());
                let locals = self.locals.iter().map(|one| one.name.as_str());
                let locals = locals.chain(self.broken.iter().map(String::as_str));
                let elements = operands.chain(locals);
                match wanted {
                    Wanted::Elements => ("operand or intermediate", elements.collect()),
                    _ => {
                        let scalars = signature.scalars.iter().map(|one| one.name.as_str());
                        let names = elements.chain(scalars).chain(modes());
                        ("operand, intermediate, scalar or mode", names.collect())
                    }
                }
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
        let is_type_or_function = matches!(wanted, Wanted::Type | Wanted::Function);
        let meant = DType::meant(name).map(DType::text);
        let meant = meant.filter(|meant| is_type_or_function && names.contains(meant));
        match meant.or(nearest(name, names.iter().copied())) {
            _ if known => problem.help(format!("elements are read in brackets: `{name}[…]`")),
            _ if let (Wanted::Function, Some(help)) = (wanted, written_fold(name)) => {
                problem.help(help)
            }
            _ if wanted == Wanted::Function && ["pow", "power"].contains(&name) => {
                problem.help(NO_POWER)
            }
            _ if let (Wanted::Function, Some(help)) = (wanted, elsewhere(name)) => {
                problem.help(help)
            }
            Some(near) => {
                let infinity = match (wanted, name) {
                    (Wanted::Function, "float") => "; infinity is `inf`",
                    _ => "",
                };
                let help = format!("`{near}` is one{infinity}");
                problem.help(help).edit(span, near)
            }
            None if names.is_empty() => problem.help("none is there: modes stand in layouts"),
            None if matches!(wanted, Wanted::Value | Wanted::Elements) => problem.help(format!(
                "there are: {}; what is missing is added as an operand or a scalar",
                names.join(", ")
            )),
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
        let help = match self.folds.contains(name) {
            true => format!(
                "the fold along `{name}` ends before it: put it inside, `sum[{name}] (…)`, or fold \
                 it by itself"
            ),
            false => format!(
                "fold it, `sum[{name}] …` or `max[{name}] …`; {}",
                match &self.written {
                    (written, _) if written.is_empty() =>
                        "an output that has it in its layout has it on the left".to_owned(),
                    (written, indices) => {
                        let all = indices.iter().chain([name]);
                        let all: Vec<&str> = all.map(String::as_str).collect();
                        let written = shown(written);
                        format!(
                            "what differs along it has it on the left, `{written}[{}] = …`, and \
                             where it is read",
                            all.join(",")
                        )
                    }
                }
            ),
        };
        Problem::new("mode-not-folded", span, message).help(help)
    }

    /// A name like that one that nothing has.
    pub(super) fn free_name(&self, like: &str) -> String {
        let mut name = format!("{like}0");
        let taken = |name: &str| {
            let signature = self.signature;
            signature.operand(name).is_some()
                || signature.scalar(name).is_some()
                || self.mode(name).is_some()
        };
        while taken(&name) {
            name.push('0');
        }
        name
    }

    /// The problem of a fold that is read as an element, as an operand has its name.
    pub(super) fn fold_beside(&self, name: &Word, indices: &[Node]) -> Option<Problem> {
        Fold::named(&name.text)?;
        let open = indices.iter().find_map(|index| match &index.kind {
            NodeKind::Name(mode) => self.mode(mode).filter(|mode| !self.in_scope(*mode)),
            _ => None,
        })?;
        let (mode, text) = (&self.modes[open].name, &name.text);
        let message =
            format!("mode `{mode}` stands only on the right of `=`: `{text}` is an operand");
        let help = format!("the fold has its body in parentheses here: `{text}[{mode}] (…)`");
        Some(Problem::new("mode-not-folded", &name.span, message).help(help))
    }

    /// Reports a mode that a fold along these modes names again.
    pub(super) fn folded_twice(&mut self, fold: Fold, word: &Word, modes: &[ModeId]) {
        let message = format!("mode `{}` is folded twice", shown(&word.text));
        let names = modes.iter().map(|mode| self.modes[*mode].name.as_str());
        let names: Vec<&str> = names.collect();
        let help = format!("name it once, `{}[{}]`", fold.name(), names.join(","));
        self.report(Problem::new("mode-twice", &word.span, message).help(help));
    }
}
