//! The rows of `ci/data/layout_vectors.jsonl`, by the rules that its documentation states.
//!
//! In: one JSON object a line: an operation, its inputs, a verdict. Out: a failure for each row
//! that is not met, all at once.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use tilewright_layout::*;

type Outcome = std::result::Result<(), String>;

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row["inputs"][key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {row}"))
}

fn layout(row: &Value, key: &str) -> Layout {
    let text = text(row, key);
    // A bare integer n means n:1.
    let whole = if text.contains(':') {
        text.to_owned()
    } else {
        format!("{text}:1")
    };
    whole
        .parse()
        .unwrap_or_else(|e| panic!("{key} of {row}: {e}"))
}

fn swizzle(row: &Value) -> Result<Swizzle> {
    format!("Sw<{}>", text(row, "swizzle")).parse()
}

fn values(l: &Layout) -> Vec<i64> {
    l.offsets().unwrap().collect()
}

fn numbers(v: &Value) -> Vec<i64> {
    v.as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_i64().unwrap())
        .collect()
}

/// The values a row asks for, when it has a layout or a list.
fn wanted(row: &Value) -> Vec<i64> {
    match (&row["expected"], &row["expected_offsets"]) {
        (_, Value::Array(_)) => numbers(&row["expected_offsets"]),
        (Value::String(s), _) => values(&s.parse().unwrap()),
        (Value::Array(_), _) => numbers(&row["expected"]),
        _ => panic!("no expectation in {row}"),
    }
}

fn check_layout(row: &Value, got: &Layout) -> Outcome {
    if values(got) != wanted(row) {
        return Err(format!("values of {got} differ"));
    }
    if let Some(profile) = row["profile"].as_str() {
        let profile: IntTuple<i64> = profile.parse().unwrap();
        if !compatible(&profile, &got.shape()).unwrap() {
            return Err(format!("{got} does not refine {profile}"));
        }
    }
    if row["minimal"] == true {
        let expected: Layout = row["expected"].as_str().unwrap().parse().unwrap();
        if got.leaves().len() != expected.leaves().len() {
            return Err(format!("{got} is not minimal"));
        }
    }
    Ok(())
}

fn judge(row: &Value, got: Result<Layout>) -> Outcome {
    match (row["verdict"].as_str().unwrap(), got) {
        ("reject", Err(_)) | ("exact_or_reject" | "property_or_reject", Err(_)) => Ok(()),
        ("reject", Ok(got)) => Err(format!("accepted as {got}")),
        (_, Err(e)) => Err(format!("refused: {e}")),
        ("exact" | "exact_or_reject", Ok(got)) => check_layout(row, &got),
        (verdict, Ok(_)) => Err(format!("verdict {verdict} has no rule here")),
    }
}

fn judge_number(row: &Value, got: Result<i64>) -> Outcome {
    let want = row["expected"].as_i64().unwrap();
    match got {
        Ok(got) if got == want => Ok(()),
        other => Err(format!("{other:?}, expected {want}")),
    }
}

fn judge_composition(row: &Value) -> Outcome {
    let got = composition(&layout(row, "A"), &layout(row, "B"));
    if row["verdict"] == "exact_or_reject" && got.is_err() {
        return Err(format!("an exact implementation composes this: {got:?}"));
    }
    if let (Err(Error::NotALayout(c)), Some(at)) = (&got, row["witness"]["at"].as_i64())
        && c.at != at
    {
        return Err(format!("counterexample at {}, expected {at}", c.at));
    }
    judge(row, got)
}

fn judge_complement(row: &Value) -> Outcome {
    let a = layout(row, "A");
    let got = complement(&a, &row["inputs"]["M"].as_i64().unwrap());
    if row["verdict"] != "property" {
        return judge(row, got);
    }
    let r = values(&got.map_err(|e| e.to_string())?);
    if !r.windows(2).all(|w| w[0] < w[1]) {
        return Err("not increasing".into());
    }
    let a = values(&filter(&a).unwrap());
    let mut sums: Vec<i64> = a
        .iter()
        .flat_map(|x| r.iter().map(move |y| x + y))
        .collect();
    sums.sort_unstable();
    if sums.windows(2).any(|w| w[0] == w[1]) {
        return Err("translations overlap".into());
    }
    let min = row["min_size"].as_i64().unwrap_or(1);
    if (r.len() as i64) < min {
        Err(format!("{} < min_size {min}", r.len()))
    } else {
        Ok(())
    }
}

fn judge_divide(row: &Value, got: Result<Layout>) -> Outcome {
    if row["verdict"] != "property" {
        return judge(row, got);
    }
    // The tiler does not divide: only the part inside the domain is compared.
    let a = layout(row, "A");
    let (tile, rest) = (numbers(&row["tile_offsets"]), numbers(&row["rest_offsets"]));
    let got = values(&got.map_err(|e| e.to_string())?);
    if got.len() != tile.len() * rest.len() {
        return Err(format!(
            "{} values, expected {}",
            got.len(),
            tile.len() * rest.len()
        ));
    }
    for (x, value) in got.iter().enumerate() {
        let at = tile[x % tile.len()] + rest[x / tile.len()];
        if at < a.size().unwrap() && a.at(at).unwrap() != *value {
            return Err(format!("at {x}: {value}"));
        }
    }
    Ok(())
}

fn judge_right_inverse(row: &Value) -> Outcome {
    let a = layout(row, "A");
    let got = right_inverse(&a).map_err(|e| e.to_string())?;
    for (i, x) in values(&got).iter().enumerate() {
        if a.at(*x).unwrap() != i as i64 {
            return Err(format!("{got}: A(R({i})) = {}", a.at(*x).unwrap()));
        }
    }
    let want = wanted(row).len();
    if values(&got).len() == want {
        Ok(())
    } else {
        Err(format!("{got}: size is not {want}"))
    }
}

fn judge_left_inverse(row: &Value) -> Outcome {
    let a = layout(row, "A");
    let got = match left_inverse(&a) {
        Err(_) if row["verdict"] == "property_or_reject" => return Ok(()),
        got => got.map_err(|e| e.to_string())?,
    };
    match values(&a)
        .iter()
        .enumerate()
        .find(|(i, x)| got.at(**x).unwrap() != *i as i64)
    {
        None => Ok(()),
        Some((i, _)) => Err(format!("{got} at A({i})")),
    }
}

fn judge_slice(row: &Value) -> Outcome {
    let coord: IntTuple<Slot<i64>> = text(row, "coord").parse().unwrap();
    let (kept, offset) = slice(&coord, &layout(row, "L")).map_err(|e| e.to_string())?;
    let want = row["offset"].as_i64().unwrap();
    if offset != want {
        return Err(format!("offset {offset}, expected {want}"));
    }
    check_layout(row, &kept)
}

fn judge_swizzle(row: &Value, op: &str) -> Outcome {
    let sw = match (swizzle(row), row["verdict"] == "reject") {
        (Err(_), true) => return Ok(()),
        (Ok(_), true) if op == "swizzle_make" => return Err("accepted".into()),
        (sw, _) => sw.map_err(|e| e.to_string())?,
    };
    let got: Vec<i64> = match op {
        "swizzle_apply" => numbers(&row["inputs"]["xs"])
            .iter()
            .map(|&x| sw.apply(x))
            .collect(),
        "composed_offsets" => {
            let offset = row["inputs"]["offset"].as_i64().unwrap();
            let all = ComposedLayout {
                swizzle: sw,
                offset,
                inner: layout(row, "L"),
            };
            all.offsets().unwrap().collect()
        }
        "composed_composition" => {
            match ComposedLayout::new(sw, layout(row, "A")).composition(&layout(row, "B")) {
                Err(_) if row["verdict"] == "reject" => return Ok(()),
                Err(e) => return Err(format!("refused: {e}")),
                Ok(_) if row["verdict"] == "reject" => return Err("accepted".into()),
                Ok(got) => got.offsets().unwrap().collect(),
            }
        }
        _ => {
            let all = ComposedLayout::new(sw, layout(row, "L"));
            let bits = all.size().unwrap().trailing_zeros();
            (0..bits).map(|b| all.at(1 << b).unwrap()).collect()
        }
    };
    let want = numbers(&row["expected"]);
    if got == want {
        Ok(())
    } else {
        Err(format!("{got:?}"))
    }
}

fn run(row: &Value) -> Outcome {
    let tiler = || text(row, "tiler").parse::<Tiler>().unwrap();
    let op = row["op"].as_str().unwrap();
    match op {
        "size" => judge_number(row, layout(row, "L").size()),
        "cosize" => judge_number(row, layout(row, "L").cosize()),
        "rank" => judge_number(row, Ok(layout(row, "L").rank() as i64)),
        "depth" => judge_number(row, Ok(layout(row, "L").depth() as i64)),
        "crd2idx" => {
            let coord = text(row, "coord").parse().unwrap();
            judge_number(row, crd2idx(&coord, &layout(row, "L")))
        }
        "idx2crd" => {
            let shape: IntTuple<i64> = text(row, "shape").parse().unwrap();
            let got = idx2crd(&row["inputs"]["index"].as_i64().unwrap(), &shape).unwrap();
            let want: IntTuple<i64> = row["expected"].as_str().unwrap().parse().unwrap();
            if got == want {
                Ok(())
            } else {
                Err(got.to_string())
            }
        }
        "offset2crd" => {
            let l = layout(row, "L");
            let offset = row["inputs"]["offset"].as_i64().unwrap();
            let index = left_inverse(&l).and_then(|r| r.at(offset));
            let got = index.and_then(|x| l.coord(&x)).map_err(|e| e.to_string());
            let want: IntTuple<i64> = row["expected"].as_str().unwrap().parse().unwrap();
            if got == Ok(want) {
                Ok(())
            } else {
                Err(format!("{got:?}"))
            }
        }
        "offsets" => judge(row, Ok(layout(row, "L"))),
        "coalesce" => judge(row, coalesce(&layout(row, "L"))),
        "coalesce_by_mode" => {
            let profile: IntTuple<i64> = text(row, "profile").parse().unwrap();
            judge(row, coalesce_by(&layout(row, "L"), profile.profile()))
        }
        "filter" => judge(row, filter(&layout(row, "L"))),
        "slice" => judge_slice(row),
        "composition" => judge_composition(row),
        "composition_by_mode" => judge(row, composition_by(&layout(row, "A"), &tiler())),
        "complement" => judge_complement(row),
        "logical_divide" => judge_divide(row, logical_divide(&layout(row, "A"), &layout(row, "B"))),
        "logical_divide_by_mode" => judge(row, logical_divide_by(&layout(row, "A"), &tiler())),
        "zipped_divide" => judge(row, zipped_divide(&layout(row, "A"), &tiler())),
        "tiled_divide" => judge(row, tiled_divide(&layout(row, "A"), &tiler())),
        "flat_divide" => judge(row, flat_divide(&layout(row, "A"), &tiler())),
        "logical_product" => judge(row, logical_product(&layout(row, "A"), &layout(row, "B"))),
        "logical_product_by_mode" => judge(row, logical_product_by(&layout(row, "A"), &tiler())),
        "zipped_product" => judge(row, zipped_product(&layout(row, "A"), &tiler())),
        "tiled_product" => judge(row, tiled_product(&layout(row, "A"), &tiler())),
        "flat_product" => judge(row, flat_product(&layout(row, "A"), &tiler())),
        "blocked_product" => judge(row, blocked_product(&layout(row, "A"), &layout(row, "B"))),
        "raked_product" => judge(row, raked_product(&layout(row, "A"), &layout(row, "B"))),
        "right_inverse" => judge_right_inverse(row),
        "left_inverse" => judge_left_inverse(row),
        "from_offsets" => judge(row, from_offsets(&numbers(&row["inputs"]["offsets"]))),
        "upcast" => judge(
            row,
            upcast(&layout(row, "L"), &row["inputs"]["n"].as_i64().unwrap()),
        ),
        "downcast" => judge(
            row,
            downcast(&layout(row, "L"), &row["inputs"]["n"].as_i64().unwrap()),
        ),
        "max_common_vector" => {
            judge_number(row, max_common_vector(&layout(row, "A"), &layout(row, "B")))
        }
        "swizzle_apply"
        | "swizzle_make"
        | "composed_offsets"
        | "composed_composition"
        | "xor_basis" => judge_swizzle(row, op),
        _ => Err(format!("no operation {op}")),
    }
}

#[test]
fn every_row_passes() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../ci/data/layout_vectors.jsonl"
    );
    let rows = std::fs::read_to_string(path).unwrap();
    let (mut failures, mut passed) = (Vec::new(), 0);
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        match run(&row) {
            Ok(()) => passed += 1,
            Err(why) => failures.push(format!("{}: {why}\n    {line}", row["id"])),
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert_eq!(passed, 473);
}
