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
mod rules;

pub use arguments::{Arguments, Stop, one_atom};

use arguments::Answer;

/// A function of expressions: a line of a chapter's table.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// `name(parameters) -> kind`. A parameter is `name: kind`; `?` after its name marks one that
    /// may be left out, `…` after its kind one that may be repeated.
    pub signature: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    run: fn(Arguments<'_>) -> Answer,
}

/// The table of a chapter: what each function is for, its signature, how it is evaluated.
macro_rules! functions {
    ($($(#[doc = $about:literal])+ $signature:literal => $run:expr;)+) => {
        /// The functions of this chapter.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            signature: $signature,
            about: concat!($($about),+).trim_ascii_start(),
            run: $run,
        }),+];
    };
}

pub(crate) use functions;

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
        title: "The rules of others",
        functions: rules::FUNCTIONS,
    },
];

/// Every function, in the order of the chapters.
pub fn all() -> impl Iterator<Item = &'static Function> {
    CHAPTERS.iter().flat_map(|chapter| chapter.functions)
}

/// The function of that name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name() == name)
}

/// What ` o ` between two layouts stands for.
pub const fn composition() -> &'static Function {
    &algebra::FUNCTIONS[0]
}

/// What ` o -offset o ` between a layout and a swizzle stands for.
pub const fn inverse() -> &'static Function {
    &swizzles::FUNCTIONS[3]
}

/// The name that looks most like `name`, if one comes near.
pub fn nearest(name: &str) -> Option<&'static str> {
    let score = |known: &str| strsim::jaro_winkler(name, known);
    let names = all().map(Function::name);
    let best = names.max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(best) > 0.8).then_some(best)
}

impl Function {
    /// What expressions call it.
    pub fn name(&self) -> &'static str {
        self.signature.split('(').next().unwrap_or(self.signature)
    }

    /// Its parameters as `name: kind`.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let inner = self.signature.split_once('(').map_or("", |(_, rest)| rest);
        let inner = inner.rsplit_once(')').map_or("", |(inner, _)| inner);
        inner.split(", ")
    }

    /// Whether it takes that many arguments.
    pub fn takes(&self, count: usize) -> bool {
        let may_be_left = |p: &&str| p.contains('?') || p.contains('…');
        let (all, optional) = (
            self.parameters().count(),
            self.parameters().filter(may_be_left).count(),
        );
        let endless = self.signature.contains('…');
        count >= all - optional && (endless || count <= all)
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
        let mut names: Vec<&str> = all().map(Function::name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn signatures_have_the_form_that_is_read_off_them() {
        for function in all() {
            let (head, gives) = function.signature.split_once(") -> ").unwrap();
            assert!(!gives.is_empty() && head.matches('(').count() == 1);
            for parameter in function.parameters() {
                assert!(parameter.contains(": "), "{}", function.signature);
            }
            assert!(!function.about.is_empty() && function.about.len() < 95);
        }
        assert_eq!(composition().name(), "composition");
        assert_eq!(inverse().name(), "inverse");
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
