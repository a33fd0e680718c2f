//! What a formula stands in: operands with their axes, scalars, extents of modes.
//!
//! In: what a spec or a manifest says beside the formula. Out: [`Signature`], and what is wrong
//! with it by itself.

use std::fmt;

use crate::dtype::DType;
use crate::problem::{Place, Problem, nearest, shown};

/// Everything that a formula's names stand for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// Operands, in the order of a launch.
    pub operands: Vec<Operand>,
    /// Scalars by value.
    pub scalars: Vec<Scalar>,
    /// Modes whose extent is no name of its own.
    pub modes: Vec<Mode>,
    /// How exactly sums are kept.
    pub accumulation: Accumulation,
}

/// Something in memory that is read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub dtype: DType,
    /// Its modes; none of a scalar in memory.
    pub axes: Vec<Axis>,
    /// Of an operand whose order in memory is the plan's: that order, empty until it is chosen.
    pub packed: Option<String>,
    /// The input whose place it takes.
    pub over: Option<String>,
}

/// One mode of an operand: its extent, and how it is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Axis {
    /// A mode: `m`.
    Mode(String),
    /// The floor of a mode by a constant, `k/128`; the extent is `ceil_div(k, 128)`.
    Quotient(String, i64),
    /// One more than a mode, `g+1`: the offsets at which groups start, and the end.
    After(String),
    /// A constant.
    Constant(i64),
}

/// A number by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Its name.
    pub name: String,
    /// Its type.
    pub dtype: DType,
}

/// A mode whose extent is a constant or a table's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// Its name.
    pub name: String,
    /// Its extent.
    pub extent: ModeExtent,
}

/// Extents that are no names of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModeExtent {
    /// The same in every launch.
    Constant(i64),
    /// Another one in each group.
    Ragged(Ragged),
}

/// A mode of which each group has its own extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ragged {
    /// The mode of groups.
    pub group: String,
    /// What the table holds.
    pub by: RaggedBy,
    /// The operand that holds it, of type s32.
    pub table: String,
}

/// What says where the groups of a ragged mode lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RaggedBy {
    /// Offsets, `(g+1)`: groups stand end to end in operands without the mode of groups.
    Starts,
    /// Counts, `(g)`: operands carry the mode of groups and the largest extent.
    Counts,
    /// The group of each coordinate, `(m)`; -1 is of none.
    Ids,
}

/// How exactly sums are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Accumulation {
    /// To the bits of their type.
    #[default]
    Full,
    /// As the fastest instruction keeps them.
    Fast,
}

/// Largest constant extent.
pub const MAX_EXTENT: i64 = 1 << 20;
/// Most axes of an operand.
pub const MAX_AXES: usize = 8;
/// Most modes of a formula.
pub const MAX_MODES: usize = 32;
/// Most operands, and most scalars.
pub const MAX_NAMES: usize = 64;

impl RaggedBy {
    /// Every kind.
    pub const ALL: [RaggedBy; 3] = [RaggedBy::Starts, RaggedBy::Counts, RaggedBy::Ids];

    /// Its word in a spec.
    pub const fn text(self) -> &'static str {
        match self {
            RaggedBy::Starts => "starts",
            RaggedBy::Counts => "counts",
            RaggedBy::Ids => "ids",
        }
    }
}

impl Axis {
    /// The mode that its extent follows from.
    pub fn mode(&self) -> Option<&str> {
        match self {
            Axis::Mode(mode) | Axis::Quotient(mode, _) | Axis::After(mode) => Some(mode),
            Axis::Constant(_) => None,
        }
    }

    /// The axis of that spelling: `m`, `k/128`, `g+1`, `64`.
    pub fn parse(text: &str) -> Option<Axis> {
        let text = text.trim();
        let number = |text: &str| text.trim().parse::<i64>().ok().filter(|n| *n > 0);
        let name = |text: &str| is_name(text.trim()).then(|| text.trim().to_owned());
        if let Some((mode, by)) = text.split_once('/') {
            return Some(Axis::Quotient(name(mode)?, number(by)?));
        }
        if let Some((mode, one)) = text.split_once('+') {
            return (number(one)? == 1).then(|| name(mode).map(Axis::After))?;
        }
        match number(text) {
            Some(extent) => Some(Axis::Constant(extent)),
            None => name(text).map(Axis::Mode),
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Mode(mode) => f.write_str(mode),
            Axis::Quotient(mode, by) => write!(f, "{mode}/{by}"),
            Axis::After(mode) => write!(f, "{mode}+1"),
            Axis::Constant(extent) => write!(f, "{extent}"),
        }
    }
}

/// Whether a text is a name: letters, digits and `_`, no digit first.
pub fn is_name(text: &str) -> bool {
    const MOST: usize = 64;
    let other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let first = text.chars().next().is_some_and(|c| !c.is_ascii_digit());
    first && text.len() <= MOST && !text.contains(other)
}

impl Operand {
    /// An operand with axes spelled as in a layout's shape: `m`, `k/128`, `g+1`, `64`. What is no
    /// axis is left to [`Signature::problems`], which refuses its name.
    pub fn new(name: &str, dtype: DType, axes: &[&str]) -> Operand {
        let axis = |text: &&str| Axis::parse(text).unwrap_or(Axis::Mode((*text).to_owned()));
        Operand {
            name: name.to_owned(),
            dtype,
            axes: axes.iter().map(axis).collect(),
            packed: None,
            over: None,
        }
    }
}

impl Signature {
    /// The operand of that name, by its index.
    pub fn operand(&self, name: &str) -> Option<usize> {
        self.operands.iter().position(|one| one.name == name)
    }

    /// The scalar of that name, by its index.
    pub fn scalar(&self, name: &str) -> Option<usize> {
        self.scalars.iter().position(|one| one.name == name)
    }

    /// Names of modes: those of `modes`, then those that operands name, in order.
    pub fn mode_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.modes.iter().map(|mode| mode.name.as_str()).collect();
        let axes = self.operands.iter().flat_map(|operand| &operand.axes);
        let groups = self.modes.iter().filter_map(|mode| match &mode.extent {
            ModeExtent::Ragged(ragged) => Some(ragged.group.as_str()),
            ModeExtent::Constant(_) => None,
        });
        for name in axes.filter_map(Axis::mode).chain(groups) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// What is wrong with it, whatever the formula.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.check_names(&mut problems);
        for (at, operand) in self.operands.iter().enumerate() {
            let place = Place::Operand(at);
            if operand.axes.len() > MAX_AXES {
                let count = operand.axes.len();
                let message = format!("{count} modes; an operand has at most {MAX_AXES}");
                problems.push(Problem::of("too-many-modes", place.clone(), message));
            }
            if let Some(over) = &operand.over {
                problems.extend(self.check_over(at, over));
            }
            for axis in &operand.axes {
                if let Axis::Quotient(_, by) | Axis::Constant(by) = axis
                    && !(1..=MAX_EXTENT).contains(by)
                {
                    let message = format!("mode `{axis}` has a number not in 1 to {MAX_EXTENT}");
                    let problem = Problem::of("mode-extent", place.clone(), message);
                    let nearest = by.clamp(&1, &MAX_EXTENT);
                    problems.push(problem.help(format!("use {nearest}")));
                }
            }
            if operand.axes.iter().any(|axis| self.is_constant(axis)) {
                let message = "a mode of constant extent stands in `k/c` or `g+1`";
                let problem = Problem::of("mode-extent", place, message);
                problems.push(problem.help("write the constant that it comes to"));
            }
        }
        for (at, mode) in self.modes.iter().enumerate() {
            match &mode.extent {
                ModeExtent::Constant(extent) if !(1..=MAX_EXTENT).contains(extent) => {
                    let message = format!(
                        "mode `{}` has extent {extent}; 1 to {MAX_EXTENT}",
                        shown(&mode.name)
                    );
                    let problem = Problem::of("mode-extent", Place::Mode(at), message);
                    let help = match *extent < 1 {
                        true => {
                            "take it out, so that a launch says its extent, or write one from 1 up"
                        }
                        false => "take it out, so that a launch says its extent",
                    };
                    problems.push(problem.help(help));
                }
                ModeExtent::Constant(_) => {}
                ModeExtent::Ragged(ragged) => self.check_ragged(at, ragged, &mut problems),
            }
        }
        problems
    }

    /// Whether an axis is made of a mode of constant extent, which needs no such form.
    fn is_constant(&self, axis: &Axis) -> bool {
        let (Axis::Quotient(mode, _) | Axis::After(mode)) = axis else {
            return false;
        };
        let constant = |one: &Mode| matches!(one.extent, ModeExtent::Constant(_));
        self.modes
            .iter()
            .any(|one| one.name == *mode && constant(one))
    }

    fn check_names(&self, problems: &mut Vec<Problem>) {
        let operands = self.operands.iter().enumerate();
        let operands = operands.map(|(at, one)| (Place::Operand(at), one.name.as_str()));
        let scalars = self.scalars.iter().enumerate();
        let scalars = scalars.map(|(at, one)| (Place::Scalar(at), one.name.as_str()));
        let modes = self.mode_names();
        let first = |name: &str| {
            let uses = |operand: &Operand| operand.axes.iter().any(|a| a.mode() == Some(name));
            let at = self.modes.iter().position(|mode| mode.name == name);
            let at = at.map(Place::Mode);
            at.or(self.operands.iter().position(uses).map(Place::Operand))
        };
        self.check_counts(&modes, &first, problems);
        let modes = modes
            .into_iter()
            .map(|name| (first(name).unwrap_or(Place::Mode(0)), name));
        let mut seen: Vec<(Place, Kind, &str)> = Vec::new();
        let operands = operands.map(|(place, name)| (place, Kind::Operand, name));
        let scalars = scalars.map(|(place, name)| (place, Kind::Scalar, name));
        let modes = modes.map(|(place, name)| (place, Kind::Mode, name));
        for (place, kind, name) in operands.chain(scalars).chain(modes) {
            let wrong = match () {
                () if !is_name(name) => Some("is no name: letters, digits and `_`, at most 64"),
                () if RESERVED.contains(&name) => Some("is a word of the notation"),
                () => None,
            };
            let first = seen.iter().find(|(_, _, other)| *other == name);
            if let Some(wrong) = wrong {
                let message = format!("`{}` {wrong}", shown(name));
                let problem = Problem::of("bad-name", place.clone(), message);
                problems.push(problem.help("give it another name"));
            } else if let Some((first, other, _)) = first {
                // The one that comes later, in the order of operands, scalars and entries of modes.
                let later = first.clone().max(place.clone());
                problems.push(name_twice(name, later, *other, kind));
            }
            seen.push((place, kind, name));
        }
    }

    /// Names beyond those that there may be, at the first of them.
    fn check_counts(
        &self,
        modes: &[&str],
        first: &dyn Fn(&str) -> Option<Place>,
        problems: &mut Vec<Problem>,
    ) {
        let beyond = modes.get(MAX_MODES).and_then(|name| first(name));
        let (operands, scalars) = (self.operands.len(), self.scalars.len());
        let counts = [
            (
                "operands",
                operands,
                MAX_NAMES,
                Some(Place::Operand(MAX_NAMES)),
            ),
            (
                "scalars",
                scalars,
                MAX_NAMES,
                Some(Place::Scalar(MAX_NAMES)),
            ),
            ("modes", modes.len(), MAX_MODES, beyond),
        ];
        for (what, count, most, place) in counts {
            if count > most {
                let message = format!("{count} {what}; at most {most} are allowed");
                let place = place.unwrap_or(Place::Operand(0));
                let problem = Problem::of("too-many-names", place, message);
                let help = format!(
                    "leave {} of them out, or compute it in two kernels",
                    count - most
                );
                problems.push(problem.help(&help));
            }
        }
    }

    fn check_over(&self, at: usize, over: &str) -> Option<Problem> {
        let (own, place) = (&self.operands[at], Place::Operand(at));
        let Some(other) = self.operand(over).map(|other| &self.operands[other]) else {
            let message = format!("`over: {}` names no operand", shown(over));
            let names = self.operands.iter().map(|operand| operand.name.as_str());
            let help = nearest(over, names).map(|name| format!("`{name}` is one"));
            let problem = Problem::of("unknown-name", place, message);
            return Some(Problem { help, ..problem });
        };
        let alike = own.dtype == other.dtype && own.axes == other.axes && own.name != other.name;
        let message = format!("`{}` cannot lie over `{over}`", own.name);
        (!alike).then(|| {
            Problem::of("over", place, message).help("both need the same modes and the same dtype")
        })
    }

    fn check_ragged(&self, at: usize, ragged: &Ragged, problems: &mut Vec<Problem>) {
        let mode = &self.modes[at].name;
        let mut report = |code, message: String, help: String| {
            problems.push(Problem::of(code, Place::Mode(at), message).help(help));
        };
        let wanted = match ragged.by {
            RaggedBy::Starts => Axis::After(ragged.group.clone()),
            RaggedBy::Counts => Axis::Mode(ragged.group.clone()),
            RaggedBy::Ids => Axis::Mode(mode.clone()),
        };
        let (by, table) = (ragged.by.text(), shown(&ragged.table));
        let help = format!("add an operand `{table}` of type s32 and layout `({wanted}):(1)`");
        match self.operand(&ragged.table).map(|at| &self.operands[at]) {
            None => report(
                "unknown-name",
                format!("`{by}: {table}` names no operand"),
                help,
            ),
            Some(operand) if operand.dtype != DType::S32 || operand.axes != [wanted] => {
                report(
                    "ragged-table",
                    format!("`{by}: {table}` is no such table"),
                    help,
                );
            }
            Some(_) => {}
        }
        let other = self.modes.iter().find(|other| other.name == ragged.group);
        if ragged.group == *mode || other.is_some_and(|o| matches!(o.extent, ModeExtent::Ragged(_)))
        {
            let message = format!("mode `{mode}` is ragged in `{}`", shown(&ragged.group));
            report("ragged-group", message, "groups are not ragged".to_owned());
        }
        for operand in &self.operands {
            let carries = |name: &str| operand.axes.contains(&Axis::Mode(name.to_owned()));
            let wrong = match ragged.by {
                RaggedBy::Starts | RaggedBy::Ids => carries(mode) && carries(&ragged.group),
                RaggedBy::Counts => carries(mode) && !carries(&ragged.group),
            };
            if wrong {
                let help = match ragged.by {
                    RaggedBy::Counts => format!("give it the mode `{}`", ragged.group),
                    _ => format!("leave its mode `{}` out", ragged.group),
                };
                let message = format!(
                    "operand `{}` does not lie as `{by}` of mode `{mode}` says",
                    shown(&operand.name)
                );
                report("ragged-operand", message, help);
            }
        }
    }
}

/// Words that name nothing else.
pub const RESERVED: &[&str] = &["inf", "nan", "and", "or", "not", "size", "where"];

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Operand,
    Scalar,
    Mode,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Kind::Operand => "operand",
            Kind::Scalar => "scalar",
            Kind::Mode => "mode",
        }
    }
}

/// A name that two things have. Calls name operands and scalars, so that a mode gives way to them.
/// `first` is of the same kind as `second`, or of one before it: modes come last.
fn name_twice(name: &str, place: Place, first: Kind, second: Kind) -> Problem {
    let name = shown(name);
    let (own, other) = (first.text(), second.text());
    let message = match first == second {
        true => format!("`{name}` names two {own}s"),
        false => {
            let article = if first == Kind::Operand { "an" } else { "a" };
            format!(
                "`{name}` names {article} {own} and a {other}: operands, scalars and modes share \
                 names"
            )
        }
    };
    let help = match (first == second, second) {
        (true, _) => format!("give one of the two {own}s another name"),
        (_, Kind::Mode) => "give the mode another name, in layouts and in the formula".to_owned(),
        _ => format!("give the {other} another name"),
    };
    Problem::of("name-twice", place, message).help(help)
}
