//! Random problems a kernel must take: edge sizes, padded rows, the least alignment allowed.
//!
//! Each extent and stride is rounded up as little as the assumptions and tensor maps that speak of
//! it alone allow, so that odd sizes stay odd. The problem is then checked as a launch would; what
//! is still forbidden is drawn again, each time with coarser sizes, until one fits.

mod placing;

use std::ops::RangeInclusive;

use rand::rngs::StdRng;
use rand::seq::{IndexedMutRandom, IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use tilewright_bundle::{Env, Kernel, Name};
use tilewright_formula::form::Form;

use super::hard::{Aim, Hard, evened};
use super::work::{MOST_INSTRUCTIONS, instructions, most_of_reference};
use crate::verify::tables::promised;
use tilewright_runtime::parts::{
    Open, allows, bind_open, constants, folded_as_long, refused, strides_refused,
};
use tilewright_runtime::{Backend, DeviceInfo, Error, Fit, Problem, Refusal, fit};

/// Sizes around the powers of two that tiles and vectors are made of.
const EDGES: [i64; 13] = [1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129];
/// Primes: no tile divides them.
const PRIMES: [i64; 8] = [3, 11, 31, 61, 97, 113, 131, 191];
/// Extents of modes that are folded without an end, on a GPU and on the emulator: several times
/// what a kernel holds at once.
const LONG: [i64; 2] = [1 << 20, 40_000];
/// Tiles that are longer have their own draws: edges and primes end below.
const WIDE: i64 = 191;
/// Largest of the other extents beside such a one.
const FEW: [i64; 2] = [64, 4];
/// Extents of about half of the modes where operands have more than two: the others are long then,
/// and the product is small all the same.
const SHORT: [i64; 5] = [1, 2, 3, 4, 6];
/// Most elements of an operand of more than two modes: the reference computes each of them.
const MOST_OF_MANY_MODES: i64 = 1 << 24;
/// What scalars are drawn from.
const SCALARS: [f64; 7] = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0];
/// What is taken in the place of a 0 where there is to be none.
const IN_PLACE_OF_ZERO: f64 = 2.0;
/// Draws before a kernel counts as one that takes no problem.
const DRAWS: u32 = 4000;
/// Draws before one that is more work than wanted is taken.
const PATIENCE: u32 = 200;
/// Draws that keep to what extents are made for.
const AIMED: u32 = 40;

/// A problem, how it fits, and where its operands start.
#[derive(Debug, Clone)]
pub struct Case {
    /// The problem.
    pub problem: Problem,
    /// How the kernel takes it.
    pub fit: Fit,
    /// Bytes from a 256-byte boundary to each operand, in the kernel's order.
    pub offsets: Vec<u64>,
}

/// Draws problems for one kernel on one device; the same seed draws the same ones.
#[derive(Debug)]
pub struct Draw<'a> {
    kernel: &'a Kernel,
    device: &'a DeviceInfo,
    rng: StdRng,
    /// What extents are drawn from, instead of edges, primes and sizes up to what is done in time.
    between: Option<RangeInclusive<i64>>,
    /// What extents are, as far as the kernel takes them.
    exact: Option<Vec<i64>>,
    /// Whether a GPU does them, which has time for more.
    large: bool,
    /// Largest product of the extents, as far as the kernel takes it.
    most: i64,
    /// What extents are made for, in place of drawn ones, as far as the kernel takes them.
    aim: Option<Aim>,
    /// Largest product of the extents that was asked for.
    allowed: i64,
    /// Whether scalars may be 0.
    has_zeros: bool,
}

/// Largest product of the extents on a GPU, and on the emulator.
const VOLUMES: [i64; 2] = [1 << 33, 1 << 23];
/// Most bytes that an operand spans, on a GPU and on the emulator.
const SPANS: [i64; 2] = [1 << 32, 1 << 30];

/// How many times as large extents on the emulator may be that are made for something: products of
/// two tiles along each mode and of more steps than stages are. What they are in instructions has a
/// bound of its own.
const AIMED_MORE: i64 = 64;
/// The same where the interpreter of formulas computes the reference of a product of more modes
/// than three, as of a batch: it does some ten million terms in a second.
const AIMED_MORE_OF_MANY_MODES: i64 = 8;
/// Modes of a product without batches.
const PLAIN_MODES: usize = 3;

/// What is said of a kernel whose strides let it take none but larger problems.
pub const TOO_LARGE: &str = "it spans more memory than problems are drawn for";

impl<'a> Draw<'a> {
    /// A sequence of problems.
    pub fn new(kernel: &'a Kernel, device: &'a DeviceInfo, seed: u64) -> Draw<'a> {
        let large = device.backend == Backend::Cuda;
        let most = VOLUMES[usize::from(!large)];
        Draw {
            kernel,
            device,
            rng: StdRng::seed_from_u64(seed),
            between: None,
            exact: None,
            large,
            most: match large {
                true => most_of_reference(kernel).map_or(most, |own| own.min(most)),
                false => most,
            },
            aim: None,
            allowed: i64::MAX,
            has_zeros: true,
        }
    }

    /// Draws sizes that the emulator does in time, whatever the device.
    #[must_use]
    pub fn for_the_emulator(mut self) -> Draw<'a> {
        self.large = false;
        self.most = VOLUMES[1];
        self
    }

    /// Draws no larger product of the extents, as far as the kernel takes smaller ones; a bound
    /// above what is drawn anyway changes nothing.
    #[must_use]
    pub fn with_volume(mut self, most: u64) -> Draw<'a> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.allowed = self.allowed.min(most);
        self.most = self.most.min(most);
        self
    }

    /// Draws several tiles along every mode, with a part of one behind them.
    #[must_use]
    pub(super) fn with_aim(mut self, aim: Aim) -> Draw<'a> {
        self.aim = Some(aim);
        self
    }

    /// Draws no scalar that is 0, which hides what it is a factor of.
    #[must_use]
    pub(super) fn without_zeros(mut self) -> Draw<'a> {
        self.has_zeros = false;
        self
    }

    /// Draws extents from that range only.
    #[must_use]
    pub fn with_extents(mut self, between: RangeInclusive<i64>) -> Draw<'a> {
        self.between = Some(between);
        self
    }

    /// Draws problems of these extents, in the order of those that the kernel leaves open, each
    /// rounded up to what it takes.
    #[must_use]
    pub(super) fn with_exact(mut self, extents: Vec<i64>) -> Draw<'a> {
        self.exact = Some(extents);
        self
    }

    /// The next problem.
    ///
    /// # Errors
    /// The last draw's refusals, when no draw fits.
    pub fn next_case(&mut self) -> Result<Case, Error> {
        let (mut last, mut large) = (Vec::new(), None);
        let mut least: Option<(u64, Case)> = None;
        let draws = self.exact.as_ref().map_or(DRAWS, |_| AIMED);
        for attempt in 0..draws {
            let problem = self.problem(attempt);
            match fit(self.kernel, &problem, self.device) {
                Ok(fit) => match self.too_large(&fit) {
                    Some(refusal) => large = Some(refusal),
                    None => {
                        let work = match self.large {
                            true => 0,
                            false => instructions(self.kernel, &fit),
                        };
                        let offsets = self.offsets();
                        let case = Case {
                            problem,
                            fit,
                            offsets,
                        };
                        if work <= MOST_INSTRUCTIONS {
                            return Ok(case);
                        }
                        if least.as_ref().is_none_or(|(known, _)| work < *known) {
                            least = Some((work, case));
                        }
                    }
                },
                Err(refusals) => last = refusals,
            }
            if attempt >= PATIENCE && least.is_some() {
                break;
            }
        }
        if let Some((_, case)) = least {
            return Ok(case);
        }
        // What fits but for its size says more than what does not fit.
        let reasons = large.map_or(last, |refusal| vec![refusal]);
        Err(refused(self.kernel, reasons))
    }

    /// The first operand that spans more memory than a problem is to take.
    fn too_large(&self, fit: &Fit) -> Option<Refusal> {
        let most = SPANS[usize::from(!self.large)];
        let mut operands = self.kernel.semantics.operands.iter().zip(&fit.operands);
        let (operand, e) = operands.find(|(operand, extents)| {
            let span = extents.span_elems().unwrap_or(i64::MAX);
            let shape = extents.shape();
            let elements = shape.iter().fold(1i64, |all, one| all.saturating_mul(*one));
            let bytes = operand.dtype.row_bytes(span.unsigned_abs());
            bytes.is_none_or(|bytes| bytes > most.unsigned_abs())
                || shape.len() > 2 && elements > MOST_OF_MANY_MODES
        })?;
        Some(strides_refused(operand, e, TOO_LARGE))
    }

    /// Extents and strides, coarser with each attempt.
    fn problem(&mut self, attempt: u32) -> Problem {
        let least = 1i64 << (attempt * 10 / DRAWS);
        let names: Vec<(Name, String)> = self
            .kernel
            .free_extents()
            .map(|(name, text)| (name, text.to_owned()))
            .collect();
        let exact = self.exact.clone().filter(|one| one.len() == names.len());
        let aimed = exact.or_else(|| self.aimed(&names, attempt));
        let is_drawn = aimed.is_none() && self.between.is_none();
        let mut extents = aimed.unwrap_or_else(|| {
            let mut extents = self.extents(names.len(), attempt);
            for extent in &mut extents {
                let multiple = self.granularity(attempt).max(least);
                *extent = round_up(*extent, multiple);
            }
            if names.len() > PLAIN_MODES {
                // So many that are rounded up are a multiple of what was drawn.
                shrink(&mut extents, (self.most / self.constant()).max(1));
            }
            extents
        });
        // Some kernels take nothing but single rows or columns.
        if attempt % 8 == 7
            && is_drawn
            && let Some(extent) = extents.choose_mut(&mut self.rng)
        {
            *extent = 1;
        }
        if is_drawn {
            self.lengthen(&names, &mut extents);
            self.reach_into_tiles(&names, &mut extents);
        }
        let (mut problem, mut env) = (Problem::of([("m", 1); 0]), constants(self.kernel));
        for ((name, text), extent) in names.into_iter().zip(extents) {
            let extent = self.least_allowed(&constants(self.kernel), name, extent);
            env.set(name, extent);
            problem = problem.with_extent(text, extent);
        }
        for operand in &self.kernel.semantics.operands {
            let open = Open::of(&operand.layout, &env);
            let mut strides = self.strides(&open, operand.layout.rank(), least, attempt);
            bind_open(
                &operand.layout,
                &mut strides,
                &mut env,
                |env, name, value| self.least_allowed(env, name, value),
            );
            problem = problem.with_strides(&operand.name, strides);
        }
        let mut operands = self.kernel.semantics.operands.iter();
        if operands.any(|operand| operand.over.is_some()) && self.rng.random_bool(0.5) {
            problem = self.in_place(problem);
        }
        for scalar in &self.kernel.semantics.scalars {
            let value = SCALARS.choose(&mut self.rng).copied().unwrap_or(1.0);
            let value = match value == 0.0 && !self.has_zeros {
                true => IN_PLACE_OF_ZERO,
                false => value,
            };
            let held = if scalar.holds(value) {
                value
            } else {
                value.abs().ceil()
            };
            problem = problem.with_scalar(&scalar.name, held);
        }
        promised(self.kernel, problem)
    }

    /// Extents that are made for something, where that is asked for and the problem is no more work
    /// than allowed: with two tiles along each mode, where more are too many.
    fn aimed(&mut self, names: &[(Name, String)], attempt: u32) -> Option<Vec<i64>> {
        let aim = self.aim.filter(|_| attempt < AIMED)?;
        let traits = self.kernel.traits.as_ref()?;
        let most = match self.large {
            true => self.most,
            false if names.len() > PLAIN_MODES => {
                self.most.saturating_mul(AIMED_MORE_OF_MANY_MODES)
            }
            false => self.most.saturating_mul(AIMED_MORE),
        };
        let most = most.min(self.allowed);
        let mut rng = StdRng::seed_from_u64(self.rng.random());
        let constant = self.constant();
        let env = constants(self.kernel);
        let takes = |name: Name, extent: i64| {
            let taken = self.least_allowed(&env, name, extent);
            allows(self.kernel, &env.with(name, taken), name)
        };
        let sizes = [false, true]
            .into_iter()
            .filter(|small| *small || self.large);
        let mut drawn = sizes.map(|small| {
            let hard = Hard {
                traits,
                aim,
                small,
                sms: i64::from(self.device.sms),
                takes,
            };
            let mut extents = hard.extents(names, &mut rng);
            // Of batches two say as much as three.
            for ((name, text), extent) in names.iter().zip(&mut extents) {
                let is_over = names.len() > PLAIN_MODES && !self.large;
                if is_over && traits.outer.contains(text) && takes(*name, 2) {
                    *extent = (*extent).min(2);
                }
            }
            extents
        });
        let fits = |extents: &Vec<i64>| {
            let all = extents.iter().fold(constant, |a, b| a.saturating_mul(*b));
            all <= most
        };
        drawn.find(fits)
    }

    /// The product of the extents that are the same in every problem.
    fn constant(&self) -> i64 {
        let fixed = self.kernel.semantics.modes.values();
        fixed.fold(1i64, |all, one| all.saturating_mul(*one)).max(1)
    }

    /// Every other time, a mode ends anywhere in the first two tiles, where tiles are longer than
    /// what is drawn otherwise.
    fn reach_into_tiles(&mut self, names: &[(Name, String)], extents: &mut [i64]) {
        let most = (self.most / self.constant()).max(1);
        let Some(traits) = &self.kernel.traits else {
            return;
        };
        let wide = names.iter().enumerate().filter_map(|(at, (_, text))| {
            let cut = traits.cut(text)?;
            (cut > WIDE).then_some((at, cut))
        });
        let wide: Vec<(usize, i64)> = wide.collect();
        if self.rng.random_range(0..2) != 0 {
            return;
        }
        for (at, cut) in wide {
            let extent = evened(self.rng.random_range(1..=2 * cut), &mut self.rng);
            let (name, _) = names[at];
            let mut env = constants(self.kernel);
            env.set(name, extent);
            let others = extents.iter().enumerate().filter(|(other, _)| *other != at);
            let others = others.fold(1i64, |all, (_, extent)| all.saturating_mul(*extent));
            if allows(self.kernel, &env, name) && others.saturating_mul(extent) <= most {
                extents[at] = extent;
            }
        }
    }

    /// Every other time, a mode is long that the kernel folds and takes at any length.
    fn lengthen(&mut self, names: &[(Name, String)], extents: &mut [i64]) {
        let [long, few] = [LONG, FEW].map(|sizes| sizes[usize::from(!self.large)]);
        let most = (self.most / self.constant()).max(1);
        let long = long.min(most).max(1);
        let folded = folded_as_long(self.kernel, long).next();
        let Some(at) = names.iter().position(|(name, _)| Some(*name) == folded) else {
            return;
        };
        if self.rng.random_range(0..2) == 0 {
            for extent in extents.iter_mut() {
                *extent = (*extent).min(few);
            }
            extents[at] = self.rng.random_range(1..=long);
            // The others are few where it is very long.
            let mut room = (most / extents[at]).max(1);
            for (other, extent) in extents.iter_mut().enumerate() {
                if other != at {
                    *extent = (*extent).min(room);
                    room = (room / *extent).max(1);
                }
            }
        }
    }

    fn granularity(&mut self, attempt: u32) -> i64 {
        let coarse = attempt > 8;
        let choices: &[i64] = if coarse {
            &[1, 2, 4, 8, 16, 64]
        } else {
            &[1, 1, 1, 2, 8, 16]
        };
        choices.choose(&mut self.rng).copied().unwrap_or(1)
    }

    fn extent(&mut self, attempt: u32) -> i64 {
        if let Some(between) = self.between.clone() {
            return self.rng.random_range(between);
        }
        let (usual, rare) = if self.large { (700, 2100) } else { (300, 900) };
        match self.rng.random_range(0..10) {
            0..4 => EDGES.choose(&mut self.rng).copied().unwrap_or(1),
            4..6 => PRIMES.choose(&mut self.rng).copied().unwrap_or(1),
            6..9 => self.rng.random_range(1..=usual),
            _ if attempt < 1000 => self.rng.random_range(1..=rare),
            _ => self.rng.random_range(1..=4 * rare),
        }
    }

    /// Extents whose product the device computes, and the reference checks, in good time.
    fn extents(&mut self, count: usize, attempt: u32) -> Vec<i64> {
        let operands = &self.kernel.semantics.operands;
        // Rows have an element at every point of so many modes, products few of them.
        let is_rows = matches!(self.kernel.form(), Some(Form::Rows(_)));
        let deep = is_rows && operands.iter().any(|operand| operand.layout.rank() > 2);
        let most = match deep && !self.large {
            true => self.most >> 5,
            false => self.most,
        };
        let most = (most / self.constant()).max(1);
        let mut extents = vec![1; count];
        for _ in 0..8 {
            extents = (0..count)
                .map(|_| match deep && self.rng.random() {
                    true => SHORT.choose(&mut self.rng).copied().unwrap_or(1),
                    false => self.extent(attempt),
                })
                .collect();
            if volume(&extents) <= most {
                return extents;
            }
        }
        let bounded = deep || count > PLAIN_MODES || self.most < VOLUMES[usize::from(!self.large)];
        if bounded {
            shrink(&mut extents, most);
        }
        extents
    }

    /// Strides that the layout allows: bound names as they are, open ones at least what keeps the
    /// elements apart, often padded, in any order of the axes.
    fn strides(&mut self, open: &Open, rank: usize, least: i64, attempt: u32) -> Vec<i64> {
        let mut pad = self.rng.random_range(0..4) * self.rng.random_range(0..3);
        if self.aim.is_some() && attempt < AIMED {
            pad = self.rng.random_range(1..=7);
        }
        let multiple = self.granularity(attempt).max(least);
        let inner = [1, 1, 1, 2, 3].choose(&mut self.rng).copied().unwrap_or(1);
        let mut order: Vec<usize> = (0..rank).rev().collect();
        order.shuffle(&mut self.rng);
        open.strides(&order, inner, |tight| {
            round_up(tight.saturating_add(pad), multiple)
        })
    }

    /// `value` for `name`, rounded up to the least power of two that the kernel allows beside what
    /// `env` binds; as it is when none of them helps.
    fn least_allowed(&self, env: &Env, name: Name, value: i64) -> i64 {
        let rounded = (0..=8).map(|p| round_up(value, 1 << p));
        let mut allowed = rounded.filter(|v| allows(self.kernel, &env.with(name, *v), name));
        allowed.next().unwrap_or(value)
    }
}

/// The product of extents.
fn volume(extents: &[i64]) -> i64 {
    extents.iter().fold(1i64, |a, b| a.saturating_mul(*b))
}

/// Halves the longest extents until their product is no larger.
fn shrink(extents: &mut [i64], most: i64) {
    while volume(extents) > most.max(1) {
        if let Some(longest) = extents.iter_mut().max() {
            *longest = (*longest + 1) / 2;
        }
    }
}

/// The least multiple of a positive `multiple` that is no less than `value`.
fn round_up(value: i64, multiple: i64) -> i64 {
    let units = value.saturating_add(multiple - 1).div_euclid(multiple);
    units.saturating_mul(multiple)
}

#[cfg(test)]
mod tests;
