//! How a kernel adds up the products of one element of its output.
//!
//! A tensor core does not round after each product: it writes the products of an instruction and
//! the accumulator on one grid, whose unit follows from the largest of them, cuts what lies below
//! it, adds without error and rounds once. What is lost depends on a few numbers; here they stand,
//! so that a bound of a result's error, or the result itself, can be computed from a manifest.

use serde::{Deserialize, Serialize};

use crate::expr::{Expr, Name};

/// How the products of one element of a gemm's d are added: in ascending order of k, `k` at a time,
/// onto an accumulator that begins as +0. Where the extent is no multiple of `k`, or of `block`,
/// the products that lack are zeros.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sums {
    /// What adds.
    pub unit: SumUnit,
    /// Products that one instruction adds to the accumulator.
    pub k: u32,
    /// Products of a k-block, of which a kernel always adds whole ones: a product of zero makes +0
    /// of a sum of -0. Absent where it is `k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Most parts that the products of an element are cut into along k, each added up from +0 by
    /// itself; the parts are then added in the accumulator's type and rounded to nearest even, in
    /// an order that extents and the number of clusters fix: to the first in order of k, and where
    /// a tile has many, within groups of them first, whose sums are then added to the first in
    /// order of k. Absent where there is one part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splits: Option<Expr>,
    /// What an instruction does with its products, in ascending order of the architecture; see
    /// [`Sums::on`].
    pub rules: Vec<SumRule>,
}

/// Units that add products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SumUnit {
    /// `fma.rn` of one thread.
    Fma,
    /// `mma.sync` of a warp.
    MmaSync,
    /// `wgmma.mma_async` of a warpgroup.
    Wgmma,
}

/// What one instruction does with its products, on an architecture and those after it.
///
/// The products of an instruction are added in `alignments` steps of `k / alignments`, in ascending
/// order. With E the largest exponent of the step's nonzero products and its accumulator, and no
/// less than `floor`, each of them is cut toward zero to a multiple of `2^(E - kept_bits)`; the sum
/// of what is left is rounded to `result_bits` bits behind the point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SumRule {
    /// First compute capability it holds for, ten times major plus minor.
    pub min_sm: u32,
    /// How it is known.
    pub basis: SumBasis,
    /// Steps of an instruction.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub alignments: u32,
    /// Bits behind the point of the step's largest term that every term keeps; absent where none
    /// is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bits: Option<u32>,
    /// Least exponent that terms are cut by; there where `kept_bits` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<i32>,
    /// Bits behind the point of a normal result, of which a subnormal one keeps fewer; absent where
    /// results are integers, which wrap around.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bits: Option<u32>,
    /// How results are rounded; there where `result_bits` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<SumRounding>,
}

fn one() -> u32 {
    1
}

fn is_one(steps: &u32) -> bool {
    *steps == 1
}

/// How a rule of sums is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SumBasis {
    /// The instruction's definition says so.
    Defined,
    /// Equal to the hardware bit by bit wherever the two were compared.
    Measured,
    /// Taken from publications, not compared.
    Model,
}

/// Ways to round a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SumRounding {
    /// Toward zero; what is 2^128 or more is infinite all the same.
    Zero,
    /// To nearest, ties to even.
    Nearest,
}

/// Products of an instruction at most.
const MAX_K: u32 = 1024;
/// Products of a k-block at most.
const MAX_BLOCK: u32 = 1 << 20;
/// Bits behind the point at most: those of f64.
const MAX_BITS: u32 = 52;

impl SumUnit {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            SumUnit::Fma => "fma",
            SumUnit::MmaSync => "mma_sync",
            SumUnit::Wgmma => "wgmma",
        }
    }
}

impl SumBasis {
    /// The spelling in manifests.
    pub const fn text(self) -> &'static str {
        match self {
            SumBasis::Defined => "defined",
            SumBasis::Measured => "measured",
            SumBasis::Model => "model",
        }
    }
}

impl SumRounding {
    /// In words: `toward zero`.
    pub const fn text(self) -> &'static str {
        match self {
            SumRounding::Zero => "toward zero",
            SumRounding::Nearest => "to nearest",
        }
    }
}

impl Sums {
    /// Whether the order of a sum depends on the extent of k alone: the same factors then make the
    /// same bits in a product of any other number of rows and columns, and on any GPU of the same
    /// rule. It does not where tiles are cut along k so that all clusters have the same to do.
    pub fn is_batch_invariant(&self) -> bool {
        let by_the_launch = |name: Name| [Name::MAX_CLUSTERS, Name::SMS].contains(&name);
        let splits = self.splits.as_ref();
        splits.is_none_or(|splits| !splits.names().any(by_the_launch))
    }

    /// Sums by `fma.rn` in a type with so many bits behind the point: one product at a time, no
    /// term cut.
    pub fn fma(result_bits: u32) -> Sums {
        Sums {
            unit: SumUnit::Fma,
            k: 1,
            block: None,
            splits: None,
            rules: vec![SumRule {
                min_sm: 50,
                basis: SumBasis::Defined,
                alignments: 1,
                kept_bits: None,
                floor: None,
                result_bits: Some(result_bits),
                rounding: Some(SumRounding::Nearest),
            }],
        }
    }

    /// The rule of a device of compute capability `sm` (80, 90): the last one that is not for later
    /// ones.
    pub fn on(&self, sm: u32) -> Option<&SumRule> {
        self.rules.iter().rev().find(|rule| rule.min_sm <= sm)
    }

    /// What is wrong with them by themselves, a sentence each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |holds: bool, message: String| {
            if !holds {
                problems.push(message);
            }
        };
        let k = self.k;
        check(
            (1..=MAX_K).contains(&k),
            format!("{k} products of an instruction; 1 to {MAX_K} are allowed"),
        );
        let block = self.block.unwrap_or(k);
        check(
            k == 0 || block != 0 && block.is_multiple_of(k) && block <= MAX_BLOCK,
            format!("a k-block of {block}; multiples of {k} up to {MAX_BLOCK} are allowed"),
        );
        check(
            !self.rules.is_empty(),
            "no rule says what an instruction does".to_owned(),
        );
        check(
            self.rules.is_sorted_by(|a, b| a.min_sm < b.min_sm),
            "rules are not in ascending order of min_sm".to_owned(),
        );
        for rule in &self.rules {
            for problem in rule.problems(k) {
                check(
                    false,
                    format!("the rule of min_sm {}: {problem}", rule.min_sm),
                );
            }
        }
        problems
    }
}

impl SumRule {
    fn problems(&self, k: u32) -> Vec<String> {
        let mut problems = Vec::new();
        let steps = self.alignments;
        if steps == 0 || !k.is_multiple_of(steps) {
            problems.push(format!("{steps} alignments do not share out {k} products"));
        }
        for (name, bits) in [
            ("kept_bits", self.kept_bits),
            ("result_bits", self.result_bits),
        ] {
            if let Some(bits) = bits.filter(|bits| !(1..=MAX_BITS).contains(bits)) {
                problems.push(format!("{name} is {bits}; 1 to {MAX_BITS} are allowed"));
            }
        }
        if self.kept_bits.is_some() != self.floor.is_some() {
            problems.push("kept_bits and floor stand together or not at all".to_owned());
        }
        if self.result_bits.is_some() != self.rounding.is_some() {
            problems.push("result_bits and rounding stand together or not at all".to_owned());
        }
        if self.kept_bits.is_some() && self.result_bits.is_none() {
            problems.push("terms are cut and results are not rounded".to_owned());
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn cut() -> Sums {
        let rule = SumRule {
            min_sm: 80,
            basis: SumBasis::Model,
            alignments: 2,
            kept_bits: Some(24),
            floor: Some(-133),
            result_bits: Some(23),
            rounding: Some(SumRounding::Zero),
        };
        let later = SumRule {
            min_sm: 90,
            basis: SumBasis::Measured,
            alignments: 1,
            kept_bits: Some(25),
            ..rule.clone()
        };
        Sums {
            unit: SumUnit::MmaSync,
            k: 16,
            block: None,
            splits: None,
            rules: vec![rule, later],
        }
    }

    #[test]
    fn a_device_has_the_last_rule_that_is_not_for_later_ones() {
        let sums = cut();
        let kept = |sm| sums.on(sm).and_then(|rule| rule.kept_bits);
        assert_eq!(
            [75, 80, 89, 90, 120].map(kept),
            [None, Some(24), Some(24), Some(25), Some(25)]
        );
    }

    #[test]
    fn what_is_written_reads_back_and_defaults_are_left_out() {
        for sums in [cut(), Sums::fma(23)] {
            assert_eq!(sums.problems(), [""; 0]);
            let text = serde_json::to_string(&sums).unwrap();
            assert_eq!(serde_json::from_str::<Sums>(&text).unwrap(), sums);
        }
        let text = serde_json::to_string(&Sums::fma(23)).unwrap();
        assert_eq!(
            text,
            "{\"unit\":\"fma\",\"k\":1,\"rules\":[{\"min_sm\":50,\"basis\":\"defined\",\
             \"result_bits\":23,\"rounding\":\"nearest\"}]}"
        );
    }

    #[test]
    fn every_broken_rule_is_named() {
        let broken = |edit: fn(&mut Sums), part: &str| {
            let mut sums = cut();
            edit(&mut sums);
            let problems = sums.problems().join("\n");
            assert!(problems.contains(part), "{part} is not in {problems:?}");
        };
        broken(|sums| sums.k = 0, "0 products");
        broken(|sums| sums.block = Some(24), "a k-block of 24");
        broken(|sums| sums.block = Some(0), "a k-block of 0");
        broken(|sums| sums.rules.clear(), "no rule");
        broken(|sums| sums.rules.reverse(), "ascending");
        broken(|sums| sums.rules[0].alignments = 3, "3 alignments");
        broken(|sums| sums.rules[0].alignments = 0, "0 alignments");
        broken(|sums| sums.rules[0].kept_bits = Some(53), "kept_bits is 53");
        broken(
            |sums| sums.rules[1].floor = None,
            "min_sm 90: kept_bits and floor",
        );
        broken(
            |sums| sums.rules[1].rounding = None,
            "result_bits and rounding",
        );
        broken(
            |sums| (sums.rules[0].result_bits, sums.rules[0].rounding) = (None, None),
            "not rounded",
        );
    }
}
