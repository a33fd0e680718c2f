//! Every operation of the algebra as a function of expressions.
//!
//! In: arguments of checked number. Out: a value, a refusal of the algebra, or which argument is of
//! the wrong kind. Invariant: a function computes nothing itself; it picks the operation that fits
//! the kinds of its arguments.
//!
//! The modules stand in their layering, lowest first.

mod arguments;
mod coordinates;
mod edits;
mod algebra;
mod swizzles;
mod threads;
mod relations;

pub use arguments::{Arguments, Stop, one_atom};

use arguments::Answer;

/// A function of expressions.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// What expressions call it.
    pub name: &'static str,
    /// Its parameters as `name: kind`; `?` after the name marks one that may be left out, `…` one
    /// that may be repeated.
    pub parameters: &'static [&'static str],
    /// The kind of what it gives.
    pub gives: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    run: fn(Arguments<'_>) -> Answer,
}

/// The functions of one matter.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// The matter.
    pub title: &'static str,
    /// Its functions.
    pub functions: &'static [Function],
}

/// Every function.
pub const CHAPTERS: [Chapter; 6] = [
    Chapter {
        title: "Layouts as functions",
        functions: coordinates::FUNCTIONS,
    },
    Chapter {
        title: "Modes",
        functions: edits::FUNCTIONS,
    },
    Chapter {
        title: "The algebra",
        functions: algebra::FUNCTIONS,
    },
    Chapter {
        title: "Swizzles",
        functions: swizzles::FUNCTIONS,
    },
    Chapter {
        title: "Threads and values",
        functions: threads::FUNCTIONS,
    },
    Chapter {
        title: "Relations, and the rules of others",
        functions: relations::FUNCTIONS,
    },
];

/// Every function, in the order of the chapters.
pub fn all() -> impl Iterator<Item = &'static Function> {
    CHAPTERS.iter().flat_map(|chapter| chapter.functions)
}

/// The function of that name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}

/// What ` o ` between two layouts stands for.
pub fn composition() -> &'static Function {
    &algebra::COMPOSITION
}

/// The name that looks most like `name`, if one comes near.
pub fn nearest(name: &str) -> Option<&'static str> {
    let score = |known: &str| strsim::jaro_winkler(name, known);
    let best = all().max_by(|a, b| score(a.name).total_cmp(&score(b.name)))?;
    (score(best.name) > 0.8).then_some(best.name)
}

impl Function {
    /// `name(parameters) -> kind`.
    pub fn signature(&self) -> String {
        let parameters = self.parameters.join(", ");
        format!("{}({parameters}) -> {}", self.name, self.gives)
    }

    /// Whether it takes that many arguments.
    pub fn takes(&self, count: usize) -> bool {
        let may_be_left = |p: &&&str| p.contains('?') || p.contains('…');
        let optional = self.parameters.iter().filter(may_be_left).count();
        let endless = self.parameters.iter().any(|p| p.contains('…'));
        let least = self.parameters.len() - optional;
        count >= least && (endless || count <= self.parameters.len())
    }

    /// Its value for arguments of a number it takes.
    ///
    /// # Errors
    ///
    /// The algebra's refusal, or the argument that is of the wrong kind.
    pub fn call(&self, arguments: Arguments<'_>) -> Answer {
        (self.run)(arguments)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = all().map(|function| function.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn parameters_say_what_may_be_left_out() {
        let complement = find("complement").unwrap();
        assert!(complement.takes(1) && complement.takes(2));
        assert!(!complement.takes(0) && !complement.takes(3));
        let select = find("select").unwrap();
        assert!(select.takes(2) && select.takes(9));
    }

    #[test]
    fn a_slip_of_the_pen_finds_its_function() {
        assert_eq!(nearest("compositon"), Some("composition"));
        assert_eq!(nearest("xyzzy"), None);
    }
}
