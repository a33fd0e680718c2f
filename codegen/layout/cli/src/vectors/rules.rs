//! What makes an answer right: the same function, or the defining property.
//!
//! In: a row and what the algebra answered. Out: why the answer misses the row. Invariant: layouts
//! are compared as functions, point by point, so a different split of a mode passes.

use tilewright_layout::{Error, IntTuple, Layout, Result, compatible, filter};

use super::row::{Check, Row, Verdict};

/// All values of a layout.
pub fn values(layout: &Layout) -> Check<Vec<i64>> {
    Ok(layout.offsets().map_err(|e| e.to_string())?.collect())
}

fn told<T>(result: Result<T>) -> Check<T> {
    result.map_err(|error| format!("refused: {error}"))
}

/// A layout against `expected`, `profile` and `minimal`.
pub fn same_layout(row: Row<'_>, got: &Layout) -> Check {
    if values(got)? != row.values()? {
        return Err(format!("the values of {got} differ"));
    }
    if let Ok(profile) = row.field("profile") {
        let profile: IntTuple<i64> = told(profile.parse())?;
        if !told(compatible(&profile, &got.shape()))? {
            return Err(format!("{got} does not refine {profile}"));
        }
    }
    if row.0["minimal"] == true {
        let expected: Layout = told(row.field("expected")?.parse())?;
        if got.leaves().len() != expected.leaves().len() {
            return Err(format!("{got} has more modes than {expected}"));
        }
    }
    Ok(())
}

/// A layout or a refusal, by the verdict.
pub fn layout(row: Row<'_>, got: Result<Layout>) -> Check {
    match (row.verdict()?, got) {
        (verdict, Err(_)) if verdict.allows_refusal() => Ok(()),
        (_, Err(error)) => Err(format!("refused: {error}")),
        (Verdict::Reject, Ok(got)) => Err(format!("accepted as {got}; no layout is correct")),
        (Verdict::Exact | Verdict::ExactOrReject, Ok(got)) => same_layout(row, &got),
        (verdict, Ok(_)) => Err(format!("the operation has no rule for {verdict:?}")),
    }
}

/// A number.
pub fn number(row: Row<'_>, got: Result<i64>) -> Check {
    let want = row.number("expected")?;
    match told(got)? {
        got if got == want => Ok(()),
        got => Err(format!("{got}, expected {want}")),
    }
}

/// A coordinate.
pub fn coordinate(row: Row<'_>, got: Result<IntTuple<i64>>) -> Check {
    let want = row.coordinate()?;
    match told(got)? {
        got if got == want => Ok(()),
        got => Err(format!("{got}, expected {want}")),
    }
}

/// A list of values, or a refusal where that is asked for.
pub fn list(row: Row<'_>, got: Result<Vec<i64>>) -> Check {
    let verdict = row.verdict()?;
    match got {
        Err(_) if verdict.allows_refusal() => Ok(()),
        Err(error) => Err(format!("refused: {error}")),
        Ok(got) if verdict == Verdict::Reject => Err(format!("accepted as {got:?}")),
        Ok(got) if got == row.list("expected")? => Ok(()),
        Ok(got) => Err(format!("{got:?}")),
    }
}

/// A composition: exact where it exists, and with the first counterexample where it does not.
pub fn composition(row: Row<'_>, got: Result<Layout>) -> Check {
    if let (Verdict::ExactOrReject, Err(error)) = (row.verdict()?, &got) {
        return Err(format!("refused, though a layout exists: {error}"));
    }
    if let (Err(Error::NotALayout(found)), Some(at)) = (&got, row.0["witness"]["at"].as_i64())
        && found.at != at
    {
        return Err(format!("counterexample at {}, expected {at}", found.at));
    }
    layout(row, got)
}

/// Strictly increasing, disjoint translations, at least `min_size` of them.
pub fn complement(row: Row<'_>, a: &Layout, got: Result<Layout>) -> Check {
    if row.verdict()? != Verdict::Property {
        return layout(row, got);
    }
    let rest = values(&told(got)?)?;
    if !rest.is_sorted_by(|x, y| x < y) {
        return Err("the values do not increase".to_owned());
    }
    let block = values(&told(filter(a))?)?;
    let cells = block.iter().flat_map(|x| rest.iter().map(move |y| x + y));
    let mut cells: Vec<i64> = cells.collect();
    cells.sort_unstable();
    if cells.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("translations overlap".to_owned());
    }
    let least = row.0["min_size"].as_u64().unwrap_or(1);
    match (rest.len() as u64) < least {
        true => Err(format!(
            "size {}, at least {least} was asked for",
            rest.len()
        )),
        false => Ok(()),
    }
}

/// A divide by a tile that does not divide: only what lies inside the domain counts.
pub fn divide(row: Row<'_>, a: &Layout, got: Result<Layout>) -> Check {
    if row.verdict()? != Verdict::Property {
        return layout(row, got);
    }
    let (tile, rest) = (row.list("tile_offsets")?, row.list("rest_offsets")?);
    let got = values(&told(got)?)?;
    let want = tile.len() * rest.len();
    if got.len() != want {
        return Err(format!("{} values, expected {want}", got.len()));
    }
    let size = told(a.size())?;
    let cells = rest.iter().flat_map(|y| tile.iter().map(move |x| x + y));
    for (index, (at, value)) in cells.zip(&got).enumerate() {
        if at < size && told(a.at(at))? != *value {
            return Err(format!("{value} at {index}, expected A({at})"));
        }
    }
    Ok(())
}

/// `A(R(i)) = i` over the largest possible size.
pub fn right_inverse(row: Row<'_>, a: &Layout, got: Result<Layout>) -> Check {
    let got = told(got)?;
    let all = values(&got)?;
    for (i, x) in all.iter().enumerate() {
        let back = told(a.at(*x))?;
        if back != i as i64 {
            return Err(format!("{got}: A(R({i})) = {back}"));
        }
    }
    match row.values()?.len() {
        want if want == all.len() => Ok(()),
        want => Err(format!("{got}: size {}, expected {want}", all.len())),
    }
}

/// `R(A(i)) = i` for every i.
pub fn left_inverse(row: Row<'_>, a: &Layout, got: Result<Layout>) -> Check {
    let got = match got {
        Err(_) if row.verdict()?.allows_refusal() => return Ok(()),
        got => told(got)?,
    };
    for (i, x) in values(a)?.iter().enumerate() {
        let back = told(got.at(*x))?;
        if back != i as i64 {
            return Err(format!("{got}: R(A({i})) = {back}"));
        }
    }
    Ok(())
}

/// A slice: its layout and its offset.
pub fn slice(row: Row<'_>, got: Result<(Layout, i64)>) -> Check {
    let (kept, offset) = told(got)?;
    let want = row.number("offset")?;
    if offset != want {
        return Err(format!("offset {offset}, expected {want}"));
    }
    same_layout(row, &kept)
}
