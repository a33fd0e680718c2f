//! What has a name and is never used.

use super::Checker;
use crate::formula::Source;
use crate::problem::{Place, Problem, nearest};
use crate::signature::{Axis, Mode, ModeExtent, Signature};
use crate::syntax::{TokenKind, tokens};

impl Checker<'_> {
    /// Reports what is never used, and a formula that writes nothing: of one with a statement that
    /// could not be read nobody knows what it writes.
    pub(super) fn unused(&mut self, text: &str, is_all_read: bool) {
        let words = tokens(text).0.into_iter();
        let words = words.filter(|token| token.kind == TokenKind::Name);
        let words: Vec<&str> = words.filter_map(|token| text.get(token.span)).collect();
        // What a wrong statement names is not unused as well.
        let wrong = !self.problems.is_empty();
        // Nor is what a name was meant for that stands for nothing.
        let misspelled = |problem: &Problem| {
            problem.code == "unknown-name" && problem.message.contains(" is no operand")
        };
        let may_be_meant = self.problems.iter().any(misspelled);
        let named = |name: &str, often: usize| {
            wrong && words.iter().filter(|word| **word == name).count() >= often
        };
        let signature = self.signature;
        let mut read = self.read.clone();
        read.extend(read_by(signature));
        let idle = |source: Source| !read.contains(&source);
        let mut problems = Vec::new();
        let mut unused = |place: Place, kind: &str, name: &str, help: &str| {
            let message = format!("{kind} `{name}` is never used");
            problems.push(Problem::of("unused", place, message).help(help.to_owned()));
        };
        const HELP: &str = "read it, or take it out";
        let writes = self.writers.iter().any(Option::is_some);
        for (at, operand) in signature.operands.iter().enumerate() {
            let idle = idle(Source::Operand(at)) && self.writers[at].is_none();
            if writes && idle && !may_be_meant && !named(&operand.name, 1) {
                let help = "read it, write it, or take it out";
                unused(Place::Operand(at), "operand", &operand.name, help);
            }
        }
        for (at, scalar) in signature.scalars.iter().enumerate() {
            let idle = !self.scalars_read.contains(&at) && !may_be_meant;
            if idle && !named(&scalar.name, 1) {
                unused(Place::Scalar(at), "scalar", &scalar.name, HELP);
            }
        }
        let meant = |name: &String| signature.operand(name).is_some();
        let has_output = writes || self.broken.iter().any(meant);
        for (at, local) in self.locals.iter().enumerate() {
            if has_output && idle(Source::Local(at)) && !named(&local.name, 2) {
                let mut statements = self.statements.iter();
                let statement = statements.find(|one| one.target == Source::Local(at));
                let span = statement.map_or(0..0, |statement| statement.span.clone());
                let place = Place::Text(span.start, span.end);
                let help = "an output is an operand; read it, or take its statement out";
                unused(place, "intermediate", &local.name, help);
            }
        }
        if !has_output && is_all_read {
            problems.push(no_output(signature, &read));
        }
        if !may_be_meant {
            problems.extend(unused_modes(signature, &words));
        }
        self.problems.extend(problems);
    }
}

/// Extents of modes that neither an operand nor the formula has.
fn unused_modes(signature: &Signature, words: &[&str]) -> Vec<Problem> {
    let axes = signature.operands.iter().flat_map(|one| &one.axes);
    let known: Vec<&str> = axes.filter_map(Axis::mode).collect();
    let modes = signature.modes.iter().enumerate();
    let idle = modes.filter(|(_, mode)| {
        let name = mode.name.as_str();
        !known.contains(&name) && !words.contains(&name)
    });
    let problem = |(at, mode): (usize, &Mode)| {
        let help = match nearest(&mode.name, known.iter().copied()) {
            Some(near) => format!("use `{near}`, or take it out"),
            None => "name it in a layout or in the formula, or take it out".to_owned(),
        };
        let message = format!(
            "no operand has the mode `{}`, nor has the formula",
            mode.name
        );
        Problem::of("unused", Place::Mode(at), message).help(help)
    };
    idle.map(problem).collect()
}

/// What a signature uses by itself: tables of ragged modes, and what outputs lie over.
fn read_by(signature: &Signature) -> Vec<Source> {
    let modes = signature.modes.iter();
    let tables = modes.filter_map(|mode| match &mode.extent {
        ModeExtent::Ragged(ragged) => Some(ragged.table.as_str()),
        ModeExtent::Constant(_) => None,
    });
    let covered = signature
        .operands
        .iter()
        .filter_map(|one| one.over.as_deref());
    let names = tables.chain(covered);
    let operands = names.filter_map(|name| signature.operand(name));
    operands.map(Source::Operand).collect()
}

fn no_output(signature: &Signature, read: &[Source]) -> Problem {
    let operands = signature.operands.iter().enumerate();
    let idle = operands.filter(|(at, _)| !read.contains(&Source::Operand(*at)));
    let names: Vec<String> = idle.map(|(_, one)| format!("`{}`", one.name)).collect();
    let message = "no statement writes an operand".to_owned();
    let help = match names.is_empty() {
        true => "add an operand, and write it".to_owned(),
        false => format!("write {}", names.join(" or ")),
    };
    Problem::new("no-output", &(0..0), message).help(help)
}
