//! Whether facts add up to a goal: a polynomial to be shown not negative.
//!
//! The ranges of its terms may say so; else facts are subtracted from it that have its worst
//! monomials, the simplest goal first, until ranges decide. All numbers are integers, so a goal may
//! be multiplied by a positive number once it is made one larger: `g >= 0` exactly when
//! `t * (g + 1) >= 1`, for any `t >= 1`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::poly::{MAX_COEFFICIENT, Mono, Poly, Range, TermId};
use super::terms::{Known, Term};

/// Numbers that a tile has not as many elements as, and those that no problem has.
const SMALL: i128 = 1 << 20;
const LARGE: i128 = 1 << 40;
/// Monomials of a goal that facts are looked for.
const WORST: usize = 3;

/// One search by subtraction: goals seen, and those to be looked at by what they cost.
struct Search {
    seen: HashSet<Poly>,
    open: BinaryHeap<Reverse<(usize, usize)>>,
}

impl Known<'_> {
    /// Subtracts facts from the goal until ranges decide, the simplest goal first.
    ///
    /// # Errors
    /// The terms that are one of two things in goals that it came to, where none of them is shown.
    pub(super) fn search(&mut self, goal: &Poly, most: usize) -> Result<(), Vec<TermId>> {
        let mut doubles = Vec::new();
        if self.range(goal).lo >= 0 {
            return Ok(());
        }
        let goal = &self.reduced(goal);
        let mut search = Search {
            seen: HashSet::from([goal.clone()]),
            open: BinaryHeap::new(),
        };
        search.open.push(Reverse((0, 0)));
        let mut goals = vec![(goal.clone(), 0)];
        let mut tried = 0;
        while let Some(Reverse((_, at))) = search.open.pop() {
            tried += 1;
            self.budget = self.budget.saturating_sub(1);
            if tried > most || self.budget == 0 {
                break;
            }
            let (goal, steps) = goals[at].clone();
            doubles.extend(goal.terms().filter(|term| self.is_double(*term)));
            for next in self.next(&goal) {
                if self.range(&next).lo >= 0 {
                    return Ok(());
                }
                let next = self.reduced(&next);
                let large = |coefficient: &i128| coefficient.abs() >= MAX_COEFFICIENT;
                let hopeless = self.range(&next).hi < 0 || next.0.values().any(large);
                if hopeless || !search.seen.insert(next.clone()) {
                    continue;
                }
                let cost = steps + self.cost(&next);
                search.open.push(Reverse((cost, goals.len())));
                goals.push((next, steps + 1));
            }
        }
        Err(doubles)
    }

    pub(super) fn is_double(&self, term: TermId) -> bool {
        let meaning = &self.terms[term as usize].term;
        matches!(meaning, Term::Min(..) | Term::Max(..) | Term::Select(..))
    }

    /// Goals of which each is enough for this one.
    fn next(&self, goal: &Poly) -> Vec<Poly> {
        let mut out = Vec::new();
        let worst = self.worst(goal);
        let mut involved: Vec<TermId> = goal.terms().collect();
        involved.sort_unstable();
        involved.dedup();
        let laws = involved
            .iter()
            .flat_map(|term| &self.terms[*term as usize].laws);
        for fact in self.facts.iter().rev().chain(laws) {
            for mono in &worst {
                let coefficient = goal.0.get(mono).copied().unwrap_or(0);
                self.subtract(goal, (*mono, coefficient), fact, &mut out);
            }
        }
        for term in involved {
            let entry = &self.terms[term as usize];
            out.extend(self.in_multiples(goal, term));
            // A term no less than its least.
            if let Some(coefficient) = goal.0.get(&Mono::of(term)) {
                let Range { lo, hi } = entry.range;
                let end = if *coefficient > 0 { lo } else { hi };
                if hi - lo < SMALL {
                    let own = Poly::term(term).plus_constant(-end);
                    out.push(goal.plus(-coefficient, &own));
                }
            }
            // Something that is not negative, times something.
            let own = Mono::of(term);
            let parts = goal
                .0
                .iter()
                .map(|(mono, held)| Some((mono.over(&own)?, *held)));
            if let (true, Some(parts)) = (entry.range.lo >= 0, parts.collect::<Option<_>>()) {
                out.push(Poly(parts));
            }
        }
        out
    }

    /// A goal that a quotient `q = x / y` stands in, in multiples of `y`: `g >= 0` follows from
    /// `y * (g + 1) >= 1`, where `y * q` is as good as `x`.
    fn in_multiples(&self, goal: &Poly, term: TermId) -> Option<Poly> {
        let entry = &self.terms[term as usize];
        let Term::Quotient(_, y) = &entry.term else {
            return None;
        };
        let coefficient = *goal.0.get(&Mono::of(term))?;
        let [below, above] = entry.laws.as_slice() else {
            return None;
        };
        let law = if coefficient < 0 { below } else { above };
        let multiple = goal.plus_constant(1).times(y)?.plus_constant(-1);
        (self.range(y).lo >= 0).then(|| multiple.plus(-coefficient.abs(), law))
    }

    /// The goal with what its terms are known to be, over what divides all of it but the constant.
    pub(super) fn reduced(&self, goal: &Poly) -> Poly {
        let mut goal = goal.clone();
        let fixed = |term: &TermId| {
            let range = self.terms[*term as usize].range;
            range.lo == range.hi
        };
        loop {
            let found = goal.terms().find(fixed);
            let value = found.map(|term| Poly::constant(self.terms[term as usize].range.lo));
            match found
                .zip(value)
                .and_then(|(term, value)| goal.with(term, &value))
            {
                Some(with) => goal = with,
                None => break,
            }
        }
        let is_term = |mono: &&Mono| !mono.terms().is_empty();
        let coefficients = goal.0.iter().filter(|(mono, _)| is_term(mono));
        let by = coefficients.fold(0, |by, (_, held)| gcd(by, held.abs()));
        if by > 1 {
            let parts = goal
                .0
                .iter()
                .map(|(mono, held)| (*mono, held.div_euclid(by)));
            goal = Poly(parts.filter(|(_, held)| *held != 0).collect());
        }
        goal
    }

    /// How far a goal seems from being shown.
    fn cost(&self, goal: &Poly) -> usize {
        let lost = goal.0.iter().filter(|(mono, coefficient)| {
            let mut alone = Poly::default();
            alone.add_term(**mono, **coefficient);
            self.range(&alone).lo <= -LARGE
        });
        let largest = goal.0.iter().filter(|(mono, _)| !mono.terms().is_empty());
        let largest = largest.map(|(_, held)| held.unsigned_abs().ilog2() as usize);
        2 * lost.count() + goal.0.len() + largest.max().unwrap_or(0)
    }

    /// The monomials that take most from the goal, the worst first.
    fn worst(&self, goal: &Poly) -> Vec<Mono> {
        let mut losses: Vec<(i128, Mono)> = Vec::new();
        for (mono, coefficient) in &goal.0 {
            if mono.terms().is_empty() {
                continue;
            }
            let mut alone = Poly::default();
            alone.add_term(*mono, *coefficient);
            losses.push((self.range(&alone).lo, *mono));
        }
        losses.sort();
        losses
            .into_iter()
            .take(WORST)
            .map(|(_, mono)| mono)
            .collect()
    }

    /// The goal less multiples of a fact that has a part of the monomial, with the same sign.
    fn subtract(
        &self,
        goal: &Poly,
        (mono, coefficient): (Mono, i128),
        fact: &Poly,
        out: &mut Vec<Poly>,
    ) {
        for (part, held) in &fact.0 {
            if part.terms().is_empty() || (*held < 0) != (coefficient < 0) {
                continue;
            }
            let Some(rest) = mono.over(part) else {
                continue;
            };
            let natural = |term: &TermId| self.terms[*term as usize].range.lo >= 0;
            if rest.terms().len() > 1 || !rest.terms().iter().all(natural) {
                continue;
            }
            let Some(fact) = fact.times_mono(&rest) else {
                continue;
            };
            let divisor = gcd(held.abs(), coefficient.abs()).max(1);
            let (ours, theirs) = (held.abs() / divisor, coefficient.abs() / divisor);
            if ours < MAX_COEFFICIENT && theirs < MAX_COEFFICIENT {
                let more = goal.scaled(ours).plus_constant(ours - 1);
                out.push(more.plus(-theirs, &fact));
            }
        }
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
