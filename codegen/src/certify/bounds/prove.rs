//! Whether a polynomial is never negative, from what is known.
//!
//! A goal that no search shows is looked at case by case: a term that is one of two things (the
//! lesser, the greater, a choice) is each of them in turn.

use std::rc::Rc;

use super::poly::{Mono, Poly, TermId};
use super::terms::{Cond, Known, Term};

/// Goals that a proof looks at.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// In each search after a term was taken apart.
    each: usize,
    /// In a search that takes no term apart, when nothing else is left.
    last: usize,
    /// In all.
    all: usize,
}

/// Enough for most coordinates, which the test before them bounds.
pub(super) const ORDINARY: Effort = Effort {
    each: 40,
    last: 0,
    all: 600,
};
/// Enough for what follows from products and quotients of several extents.
pub(super) const PATIENT: Effort = Effort {
    each: 160,
    last: 600,
    all: 8000,
};
/// Goals that every search looks at first.
const FEW_GOALS: usize = 12;
/// Facts beyond which conditions are not followed up.
const MAX_FACTS: usize = 200;
/// Terms that one proof takes apart.
const SPLITS: usize = 8;

impl Known<'_> {
    /// Whether the polynomial is shown not to be negative.
    pub(super) fn proves(&mut self, goal: &Poly, effort: Effort) -> bool {
        self.budget = effort.all;
        if self.impossible || self.search(goal, FEW_GOALS).is_ok() {
            return true;
        }
        let since = self.facts.len();
        let mut shown = self.shows(goal, since, effort, &mut Vec::new());
        shown = shown || self.search(goal, effort.last).is_ok();
        if shown {
            // What took long need not be shown again.
            let fact = self.reduced(goal);
            self.learn(fact);
        }
        shown
    }

    /// The polynomial without products of its terms that are never negative: no more than it.
    pub(super) fn without_products(&self, goal: &Poly) -> Poly {
        let is_spare = |(mono, held): &(&Mono, &i128)| {
            let mut alone = Poly::default();
            alone.add_term(**mono, **held);
            mono.terms().len() > 1 && self.range(&alone).lo >= 0
        };
        let kept = goal.0.iter().filter(|term| !is_spare(term));
        Poly(kept.map(|(mono, held)| (*mono, *held)).collect())
    }

    /// `done` are the terms taken apart already.
    fn shows(&mut self, goal: &Poly, since: usize, effort: Effort, done: &mut Vec<TermId>) -> bool {
        if self.impossible {
            return true;
        }
        // Where terms must be taken apart in any case, that comes first.
        let is_whole = !goal.terms().any(|term| self.is_double(term));
        let looks = match is_whole || effort.last > 0 {
            true => effort.each,
            false => 1,
        };
        let Err(met) = self.search(goal, looks) else {
            return true;
        };
        let Some(term) = self.double(goal, since, &met, done) else {
            return false;
        };
        let lesser = |a: &Poly, b: &Poly| {
            let apart = b.plus(-1, a);
            let other = apart.scaled(-1).plus_constant(-1);
            [Cond::Natural(apart), Cond::Natural(other)]
        };
        let ways = match self.terms[term as usize].term.clone() {
            Term::Min(a, b) => lesser(&a, &b).into_iter().zip([a, b]),
            Term::Max(a, b) => lesser(&b, &a).into_iter().zip([a, b]),
            Term::Select(cond, a, b) => {
                let conds = [cond.as_ref().clone(), cond.negated()];
                conds.into_iter().zip([a, b])
            }
            _ => return false,
        };
        done.push(term);
        let mut shown = true;
        for (cond, value) in ways {
            let scope = self.enter();
            self.pass(&cond);
            self.replace(term, &value, &Cond::Constant(true));
            let goal = goal.with(term, &value);
            shown = goal.is_some_and(|goal| self.shows(&goal, since, effort, done));
            self.leave(scope);
            if !shown {
                break;
            }
        }
        done.pop();
        shown
    }

    /// Learns that the term is `value`, as the condition holds.
    fn replace(&mut self, term: TermId, value: &Poly, cond: &Cond) {
        let of_term = |fact: &&Poly| fact.terms().any(|own| own == term);
        let same: Vec<Poly> = self.facts.iter().filter(of_term).cloned().collect();
        self.assume(cond);
        let own = Poly::term(term);
        self.learn(own.plus(-1, value));
        self.learn(value.plus(-1, &own));
        for fact in same {
            if let Some(fact) = fact.with(term, value) {
                self.learn(fact);
            }
        }
    }

    /// A term that is one of two things and has not been taken apart: of the goal, of the goals
    /// that were met, or of what was learnt for it, the latest first.
    fn double(&self, goal: &Poly, since: usize, met: &[TermId], done: &[TermId]) -> Option<TermId> {
        let learnt = self.facts.get(since..).unwrap_or_default();
        let learnt = learnt.iter().rev().flat_map(Poly::terms);
        let terms = goal.terms().chain(met.iter().copied()).chain(learnt);
        let mut terms = terms.filter(|term| self.is_double(*term) && !done.contains(term));
        terms
            .next()
            .filter(|_| done.len() < SPLITS && self.budget > 0)
    }

    /// A condition on the way: what it says of choices is followed up, and the nature of its terms
    /// counts among the facts.
    pub(super) fn pass(&mut self, cond: &Cond) {
        let mut at = self.facts.len();
        self.assume(cond);
        let mut expanded: Vec<TermId> = Vec::new();
        while let Some(fact) = self.facts.get(at).cloned() {
            at += 1;
            if at > MAX_FACTS {
                return;
            }
            for term in fact.terms() {
                if expanded.contains(&term) {
                    continue;
                }
                expanded.push(term);
                match self.terms[term as usize].term.clone() {
                    Term::Select(cond, a, b) => {
                        let ways = [(cond.as_ref().clone(), a), (cond.negated(), b)];
                        let open = ways.map(|(cond, value)| {
                            let held = fact.with(term, &value);
                            let range = held.as_ref().map(|held| self.range(held));
                            range
                                .is_none_or(|range| range.hi >= 0)
                                .then_some((cond, value))
                        });
                        if let [Some((cond, value)), None] | [None, Some((cond, value))] = open {
                            self.replace(term, &value, &cond);
                        }
                    }
                    Term::Min(..) | Term::Max(..) => {
                        let laws = self.terms[term as usize].laws.clone();
                        laws.into_iter().for_each(|law| self.learn(law));
                    }
                    _ => {}
                }
            }
        }
    }

    /// From here on the condition holds.
    pub(super) fn assume(&mut self, cond: &Cond) {
        match cond {
            Cond::Constant(true) | Cond::Unknown(_) => {}
            Cond::Constant(false) => self.impossible = true,
            Cond::Natural(poly) => self.learn(poly.clone()),
            Cond::Zero(poly) => {
                self.learn(poly.clone());
                self.learn(poly.scaled(-1));
            }
            Cond::NotZero(poly) => {
                let range = self.range(poly);
                if range.lo >= 0 {
                    self.learn(poly.plus_constant(-1));
                } else if range.hi <= 0 {
                    self.learn(poly.scaled(-1).plus_constant(-1));
                }
            }
            Cond::And(a, b) => {
                self.assume(a);
                self.assume(b);
            }
            Cond::Or(a, b) => self.choices.push([Rc::clone(a), Rc::clone(b)]),
        }
    }
}
