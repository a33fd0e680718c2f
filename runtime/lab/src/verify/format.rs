//! Binary formats of numbers, from the crate of formulas.

pub(super) use tilewright_formula::format::{Format, scaled};
