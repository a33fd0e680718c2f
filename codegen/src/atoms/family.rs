//! Expands a parameterized record into one record per point of its parameters.
//!
//! Comes in: a record as generic data. `params` is a list of rows; a row gives each parameter a
//! value, a list of values or an inclusive range `"8..256/8"` (first..last/step), and stands for
//! all combinations. Goes out: one record per combination without `params`, in which every `{name}`
//! of a string is replaced by its value; `{n/8}`, `{n*2}`, `{n+1}`, `{n-1}` compute on integers
//! from left to right, and a string that is nothing but one placeholder becomes the value itself,
//! so that `count: "{n/2}"` is a number.

use std::collections::BTreeMap;

use serde_json::Value;

type Row = BTreeMap<String, Value>;
type Result<T> = std::result::Result<T, String>;

/// Most records that one family may expand to.
const MAX_RECORDS: usize = 4096;

/// All records that `record` stands for.
pub(super) fn expand(mut record: Value) -> Result<Vec<Value>> {
    let fields = record.as_object_mut().ok_or("a record is a map")?;
    let rows = match fields.remove("params") {
        None => vec![Row::new()],
        Some(params) => combinations(&params)?,
    };
    rows.iter().map(|row| substitute(&record, row)).collect()
}

fn combinations(params: &Value) -> Result<Vec<Row>> {
    let rows = params.as_array().ok_or("params is a list of maps")?;
    let mut all = Vec::new();
    for row in rows {
        let row = row.as_object().ok_or("each row of params is a map")?;
        let mut points = vec![Row::new()];
        for (name, given) in row {
            let values = values(given)?;
            if points.len().saturating_mul(values.len()) > MAX_RECORDS {
                return Err(format!("params give more than {MAX_RECORDS} records"));
            }
            points = points
                .iter()
                .flat_map(|point| values.iter().map(|value| with(point, name, value)))
                .collect();
        }
        all.append(&mut points);
    }
    Ok(all)
}

fn with(point: &Row, name: &str, value: &Value) -> Row {
    let mut point = point.clone();
    point.insert(name.to_owned(), value.clone());
    point
}

fn values(given: &Value) -> Result<Vec<Value>> {
    match given {
        Value::Array(values) => Ok(values.clone()),
        Value::String(text) => Ok(match range(text) {
            Some((first, last, step)) => (first..=last).step_by(step).map(Value::from).collect(),
            None => vec![given.clone()],
        }),
        Value::Number(_) => Ok(vec![given.clone()]),
        _ => Err(format!(
            "parameter value {given} is no number, string or list"
        )),
    }
}

/// `8..256/8`, if the text is a range of at most [`MAX_RECORDS`] values.
fn range(text: &str) -> Option<(i64, i64, usize)> {
    let (first, rest) = text.split_once("..")?;
    let (last, step) = rest.split_once('/')?;
    let (first, last, step) = (
        first.parse::<i64>().ok()?,
        last.parse::<i64>().ok()?,
        step.parse::<usize>().ok()?,
    );
    let count = usize::try_from(last.checked_sub(first)?)
        .ok()?
        .checked_div(step)?;
    (count < MAX_RECORDS).then_some((first, last, step))
}

fn substitute(value: &Value, row: &Row) -> Result<Value> {
    match value {
        Value::String(text) => fill(text, row),
        Value::Array(items) => Ok(Value::Array(
            items
                .iter()
                .map(|item| substitute(item, row))
                .collect::<Result<_>>()?,
        )),
        Value::Object(fields) => Ok(Value::Object(
            fields
                .iter()
                .map(|(key, item)| Ok((key.clone(), substitute(item, row)?)))
                .collect::<Result<_>>()?,
        )),
        other => Ok(other.clone()),
    }
}

/// The text with every placeholder replaced.
fn fill(text: &str, row: &Row) -> Result<Value> {
    if let Some(inner) = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        && !inner.contains(['{', '}'])
    {
        return evaluate(inner, row);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inner, tail) = after
            .split_once('}')
            .ok_or_else(|| format!("{text:?} lacks a closing brace"))?;
        out.push_str(before);
        match evaluate(inner, row)? {
            Value::String(word) => out.push_str(&word),
            other => out.push_str(&other.to_string()),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(Value::String(out))
}

/// A name, or a chain of `+ - * /` over names and integers, from left to right.
fn evaluate(expression: &str, row: &Row) -> Result<Value> {
    let first_end = expression
        .find(['+', '-', '*', '/'])
        .unwrap_or(expression.len());
    let (name, mut rest) = expression.split_at(first_end);
    let value = row
        .get(name)
        .ok_or_else(|| format!("no parameter {name:?}"))?;
    if rest.is_empty() {
        return Ok(value.clone());
    }
    let mut total = integer(value, name)?;
    while let Some(op) = rest.chars().next() {
        let tail = &rest[op.len_utf8()..];
        let end = tail.find(['+', '-', '*', '/']).unwrap_or(tail.len());
        let (term, next) = tail.split_at(end);
        let by = match row.get(term) {
            Some(value) => integer(value, term)?,
            None => term
                .parse()
                .map_err(|_| format!("{term:?} is neither a parameter nor an integer"))?,
        };
        let result = match op {
            '+' => total.checked_add(by),
            '-' => total.checked_sub(by),
            '*' => total.checked_mul(by),
            _ if by != 0 && total % by == 0 => Some(total / by),
            _ => None,
        };
        total = result
            .ok_or_else(|| format!("{{{expression}}} is no integer with {name} = {value}"))?;
        rest = next;
    }
    Ok(Value::from(total))
}

fn integer(value: &Value, name: &str) -> Result<i64> {
    value
        .as_i64()
        .ok_or_else(|| format!("parameter {name} is {value}, no integer"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn ranges_lists_and_arithmetic_expand() {
        let record = json!({
            "params": [{ "n": "8..24/8", "t": ["a", "b"] }],
            "id": "x{n}_{t}", "count": "{n/2}", "both": "{n*2+1}:{t}",
        });
        let all = expand(record).unwrap();
        assert_eq!(all.len(), 6);
        assert!(all.contains(&json!({ "id": "x16_b", "count": 8, "both": "33:b" })));
        assert!(all.contains(&json!({ "id": "x24_a", "count": 12, "both": "49:a" })));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |record| expand(record).unwrap_err();
        assert_eq!(error(json!({ "id": "{x}" })), "no parameter \"x\"");
        assert!(error(json!({ "params": [{ "n": 3 }], "id": "{n/2}" })).contains("no integer"));
        assert!(error(json!({ "params": [{ "n": "a" }], "id": "{n*2}" })).contains("no integer"));
        assert!(
            error(json!({ "params": [{ "n": "0..4000/1", "m": "0..4000/1" }], "id": "{n}" }))
                .contains("4096")
        );
        assert!(error(json!({ "id": "a{b" })).contains("closing brace"));
        assert!(error(json!([1])).contains("map"));
    }
}
