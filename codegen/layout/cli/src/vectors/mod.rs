//! Conformance vectors of the layout algebra: one JSON object a line, judged by its verdict.
//!
//! In: a row: an operation, its inputs, a verdict. Out: nothing where the row is met, else why
//! not. Invariant: nothing here looks at a row's `pycute` fields or its id; the verdict decides.
//!
//! The algebra's own test includes this file by its path, so this module names no other module of
//! its crate.

mod row;
mod rules;

use serde_json::Value;
use tilewright_layout as algebra;
use tilewright_layout::{ComposedLayout, Result};

use row::{Check, Row};

/// Every operation name of the format.
pub const OPERATIONS: [&str; 38] = [
    "size",
    "cosize",
    "rank",
    "depth",
    "crd2idx",
    "idx2crd",
    "offset2crd",
    "offsets",
    "coalesce",
    "coalesce_by_mode",
    "filter",
    "slice",
    "composition",
    "composition_by_mode",
    "complement",
    "logical_divide",
    "logical_divide_by_mode",
    "zipped_divide",
    "tiled_divide",
    "flat_divide",
    "logical_product",
    "logical_product_by_mode",
    "zipped_product",
    "tiled_product",
    "flat_product",
    "blocked_product",
    "raked_product",
    "right_inverse",
    "left_inverse",
    "swizzle_apply",
    "swizzle_make",
    "composed_offsets",
    "composed_composition",
    "xor_basis",
    "from_offsets",
    "upcast",
    "downcast",
    "max_common_vector",
];

/// Judges one line of a file.
///
/// # Errors
///
/// Why the row is not met, in words.
pub fn judge_line(line: &str) -> Check {
    let row: Value = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    judge(Row(&row))
}

fn judge(row: Row<'_>) -> Check {
    match row.op()? {
        "size" | "cosize" | "rank" | "depth" | "crd2idx" | "max_common_vector" => numbers(row),
        "idx2crd" => {
            let got = algebra::idx2crd(&row.int("index")?, &row.tuple("shape")?);
            rules::coordinate(row, got)
        }
        "offset2crd" => {
            let (l, offset) = (row.layout("L")?, row.int("offset")?);
            let index = algebra::left_inverse(&l).and_then(|r| r.at(offset));
            rules::coordinate(row, index.and_then(|x| l.coord(&x)))
        }
        "offsets" => rules::layout(row, Ok(row.layout("L")?)),
        "coalesce" => rules::layout(row, algebra::coalesce(&row.layout("L")?)),
        "coalesce_by_mode" => {
            let profile = row.tuple("profile")?;
            let got = algebra::coalesce_by(&row.layout("L")?, profile.profile());
            rules::layout(row, got)
        }
        "filter" => rules::layout(row, algebra::filter(&row.layout("L")?)),
        "slice" => rules::slice(row, algebra::slice(&row.slots("coord")?, &row.layout("L")?)),
        "from_offsets" => rules::layout(row, algebra::from_offsets(&row.ints("offsets")?)),
        "upcast" => rules::layout(row, algebra::upcast(&row.layout("L")?, &row.int("n")?)),
        "downcast" => rules::layout(row, algebra::downcast(&row.layout("L")?, &row.int("n")?)),
        "swizzle_apply"
        | "swizzle_make"
        | "composed_offsets"
        | "composed_composition"
        | "xor_basis" => swizzled(row),
        _ => operations_on_a(row),
    }
}

fn numbers(row: Row<'_>) -> Check {
    let got = match row.op()? {
        "size" => row.layout("L")?.size(),
        "cosize" => row.layout("L")?.cosize(),
        "rank" => Ok(row.layout("L")?.rank() as i64),
        "depth" => Ok(row.layout("L")?.depth() as i64),
        "crd2idx" => algebra::crd2idx(&row.tuple("coord")?, &row.layout("L")?),
        _ => algebra::max_common_vector(&row.layout("A")?, &row.layout("B")?),
    };
    rules::number(row, got)
}

/// Operations whose left operand is called A.
fn operations_on_a(row: Row<'_>) -> Check {
    let op = row.op()?;
    if !OPERATIONS.contains(&op) {
        return Err(format!("no operation is called `{op}`"));
    }
    let a = &row.layout("A")?;
    match op {
        "composition" => rules::composition(row, algebra::composition(a, &row.layout("B")?)),
        "complement" => rules::complement(row, a, algebra::complement(a, &row.int("M")?)),
        "logical_divide" => rules::divide(row, a, algebra::logical_divide(a, &row.layout("B")?)),
        "right_inverse" => rules::right_inverse(row, a, algebra::right_inverse(a)),
        "left_inverse" => rules::left_inverse(row, a, algebra::left_inverse(a)),
        "logical_product" | "blocked_product" | "raked_product" => {
            let b = &row.layout("B")?;
            let product = match op {
                "logical_product" => algebra::logical_product,
                "blocked_product" => algebra::blocked_product,
                _ => algebra::raked_product,
            };
            rules::layout(row, product(a, b))
        }
        _ => {
            let by_mode = match op {
                "composition_by_mode" => algebra::composition_by,
                "logical_divide_by_mode" => algebra::logical_divide_by,
                "zipped_divide" => algebra::zipped_divide,
                "tiled_divide" => algebra::tiled_divide,
                "flat_divide" => algebra::flat_divide,
                "logical_product_by_mode" => algebra::logical_product_by,
                "zipped_product" => algebra::zipped_product,
                "tiled_product" => algebra::tiled_product,
                _ => algebra::flat_product,
            };
            rules::layout(row, by_mode(a, &row.tiler()?))
        }
    }
}

fn swizzled(row: Row<'_>) -> Check {
    let op = row.op()?;
    let swizzle = match row.swizzle()? {
        Ok(swizzle) => swizzle,
        Err(error) => return rules::list(row, Err(error)),
    };
    let got = match op {
        "swizzle_make" => Ok(Vec::new()),
        "swizzle_apply" => Ok(row.ints("xs")?.iter().map(|&x| swizzle.apply(x)).collect()),
        "composed_offsets" => offsets(&row.composed(swizzle, "L")?),
        "composed_composition" => row
            .composed(swizzle, "A")?
            .composition(&row.layout("B")?)
            .and_then(|all| offsets(&all)),
        _ => xor_basis(&row.composed(swizzle, "L")?),
    };
    rules::list(row, got)
}

fn offsets(all: &ComposedLayout) -> Result<Vec<i64>> {
    Ok(all.offsets()?.collect())
}

/// The values at 1, 2, 4, ...: over bits the swizzled layout is linear.
fn xor_basis(all: &ComposedLayout) -> Result<Vec<i64>> {
    let bits = all.size()?.trailing_zeros();
    (0..bits).map(|bit| all.at(1 << bit)).collect()
}
