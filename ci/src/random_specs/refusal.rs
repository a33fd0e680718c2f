//! What the assembler's refusal of a spec has to say: the key, its place and a value that builds.
//!
//! Comes in: a refusal with its way out, as the command prints it. Goes out: whether keys were
//! written that only the assembler can refuse, and, where they were, the keys and values that the
//! refusal names.

use tilewright_codegen::error::Violation;

use super::draft::Draft;

/// Keys that decide on the registers of a thread or on the code that needs them: whether a kernel
/// of them spills, only the assembler can tell. All else leaves registers to the plan.
const DECISIVE: [&str; 6] = [
    "threads",
    "threads_along",
    "min_ctas_per_sm",
    "mma",
    "pipeline",
    "copy",
];

/// Codes of what the assembler has against a kernel.
const CODES: [&str; 4] = ["spill-loads", "spill-stores", "stack", "ptxas-warning"];

/// Whether keys are written that only the assembler can refuse.
///
/// ```
/// use tilewright_ci::random_specs::draft::Draft;
/// use tilewright_ci::random_specs::refusal::is_decided;
/// let mut draft = Draft::default();
/// draft.set("scheduler.raster", "column");
/// draft.set("threads", "auto");
/// assert!(!is_decided(&draft));
/// draft.set("copy.x.g2r", "sm50_ld_global_4");
/// assert!(is_decided(&draft));
/// ```
pub fn is_decided(draft: &Draft) -> bool {
    let written = draft.keys.iter().filter(|(_, value)| value != "auto");
    let tuned = draft.tune.iter().map(|(path, _)| path);
    let mut written = written.map(|(path, _)| path).chain(tuned);
    written.any(|path| is_decisive(path))
}

/// The same spec with these keys left to the plan.
pub(super) fn freed(draft: &Draft) -> Draft {
    let mut free = draft.clone();
    free.keys.retain(|(path, _)| !is_decisive(path));
    free.tune.retain(|(path, _)| !is_decisive(path));
    free
}

fn is_decisive(path: &str) -> bool {
    let below = |key: &&str| path == *key || path.starts_with(&format!("{key}."));
    DECISIVE.iter().any(below)
}

/// Whether the assembler said so.
pub(super) fn is_the_assemblers(violation: &Violation) -> bool {
    CODES.contains(&violation.code)
}

/// The keys and values that a refusal says build, or what it lacks.
///
/// # Errors
/// What is missing: keys, a place, or values.
pub(super) fn ways_out(violations: &[Violation]) -> Result<Vec<(String, String)>, &'static str> {
    let mut said = violations.iter().filter(|one| is_the_assemblers(one));
    let Some(violation) = said.next() else {
        return Err("no-refusal");
    };
    if violation.keys.is_empty() {
        return Err("no-key");
    }
    if violation.span.is_none() {
        return Err("no-place");
    }
    let said = violation.message.strip_suffix(", which builds");
    let values = said.and_then(|said| said.rsplit_once(": use "));
    let Some((_, values)) = values else {
        return Err("no-value");
    };
    let pairs = values.split(" and ").map(|pair| pair.split_once(' '));
    let pairs: Option<Vec<(&str, &str)>> = pairs.collect();
    let pairs = pairs.ok_or("no-value")?.into_iter();
    Ok(pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_codegen::error::Span;

    #[test]
    fn a_refusal_says_key_place_and_value() {
        let message =
            "40 bytes of spill stores: use threads auto and cta_tile (4,64), which builds";
        let mut violation = Violation::new("spill-stores", message);
        assert_eq!(ways_out(&[violation.clone()]), Err("no-key"));
        violation.keys = vec!["threads".to_owned()];
        assert_eq!(ways_out(&[violation.clone()]), Err("no-place"));
        violation.span = Some(Span::default());
        let pairs = [("threads", "auto"), ("cta_tile", "(4,64)")];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(ways_out(&[violation.clone()]), Ok(pairs.to_vec()));
        violation.message = "40 bytes of spill stores: nothing that was tried builds".to_owned();
        assert_eq!(ways_out(&[violation]), Err("no-value"));
        assert_eq!(ways_out(&[]), Err("no-refusal"));
    }
}
