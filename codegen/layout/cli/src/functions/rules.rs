//! The composition rules of others, beside the exact decision.

use tilewright_layout::{Comparison, cute_rule, disjoint_intervals, left_divisible};

use super::arguments::give;
use super::{Function, functions};
use crate::value::Value;

functions! {
    /// what CuTe C++ answers for a o b, right or wrong
    "cute_rule(a: layout, b: layout) -> layout" =>
        |args| give(cute_rule(&args.layout(0)?, &args.layout(1)?));
    /// whether the left-divisibility conditions hold; refuses with the one that fails
    "left_divisible(a: layout, b: layout) -> bool" =>
        |args| give(left_divisible(&args.layout(0)?, &args.layout(1)?).map(|()| true));
    /// whether the intervals of the modes are disjoint; refuses with the two that meet
    "disjoint_intervals(a: layout, b: layout) -> bool" =>
        |args| give(disjoint_intervals(&args.layout(0)?, &args.layout(1)?).map(|()| true));
    /// a o b by the exact decision and by the rules of others, side by side
    "compare(a: layout, b: layout) -> text" => |args| {
        let report = Comparison::of(&args.layout(0)?, &args.layout(1)?).to_string();
        Ok(Value::Text(report.trim_end().to_owned()))
    };
}
