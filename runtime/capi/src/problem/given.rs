//! Scalars, extents and promises of a problem.

use std::ffi::c_char;

use tilewright_runtime::Problem;

use super::{TW_MAX_NAME_BYTES, TW_MAX_NAMED, noted, tw_problem};
use crate::failure::Why;
use crate::foreign::{Plain, read_array, read_text};

/// Reads what a problem gives beside its operands.
///
/// # Safety
/// As of [`super::read`].
pub(super) unsafe fn read(problem: &tw_problem, wrong: &mut Vec<Why>) -> Problem {
    let mut given = Problem::default();
    let (from, count) = (problem.scalars, problem.scalar_count);
    // SAFETY: the caller's promise is the callee's.
    let scalars = unsafe { named(from, count, "scalars", |scalar| scalar.name, wrong) };
    for (name, scalar) in scalars {
        if given.scalar(name).is_some() {
            let text = format!("the scalar `{name}` is given twice");
            wrong.push(Why::of("twice", name, text));
        }
        given = given.with_scalar(name, scalar.value);
    }
    let (from, count) = (problem.extents, problem.extent_count);
    // SAFETY: as above.
    let extents = unsafe { named(from, count, "extents", |extent| extent.name, wrong) };
    for (name, extent) in extents {
        let value = extent.value;
        if given.extent(name).is_some() {
            let text = format!("the extent `{name}` is given twice");
            wrong.push(Why::of("twice", name, text));
        }
        if value < 0 {
            let text = format!("the extent `{name}` is {value}; 0 or more is needed");
            wrong.push(Why::of("extent", name, text).with("0 or more", value));
        }
        given = given.with_extent(name.to_owned(), value);
    }
    // SAFETY: as above.
    let promises = unsafe {
        read_array(
            problem.promises,
            problem.promise_count,
            TW_MAX_NAMED,
            "promises",
        )
    };
    for (at, promise) in noted(promises, wrong)
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let place = format!("promises[{at}]");
        // SAFETY: as above.
        let promise = unsafe { read_text(*promise, 16 * TW_MAX_NAME_BYTES, &place) };
        if let Some(promise) = noted(promise, wrong) {
            given = given.with_promise(promise);
        }
    }
    given
}

/// The elements of an array, each with its name.
///
/// # Safety
/// As of [`super::read`].
unsafe fn named<'a, T: Plain>(
    from: *const T,
    count: usize,
    what: &str,
    name_of: impl Fn(&T) -> *const c_char,
    wrong: &mut Vec<Why>,
) -> Vec<(&'a str, T)> {
    // SAFETY: the caller's promise is the callee's.
    let all = unsafe { read_array(from, count, TW_MAX_NAMED, what) };
    let mut read = Vec::new();
    for (at, one) in noted(all, wrong)
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        let place = format!("{what}[{at}].name");
        // SAFETY: as above.
        let name = unsafe { read_text(name_of(&one), TW_MAX_NAME_BYTES, &place) };
        read.extend(noted(name, wrong).map(|name| (name, one)));
    }
    read
}
