//! The nearest legal value: what to suggest in place of a word or a number.

/// Longest word compared: what is longer is no slip of the pen.
const LONGEST_BYTES: usize = 100;

/// The candidate most like `word`, when one is alike enough to be meant.
pub(in crate::spec) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > LONGEST_BYTES {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    // A common beginning says nothing about words of a letter or two.
    let start_counts = lower.len() >= 3;
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let known = candidate.to_ascii_lowercase();
        let mut likeness = strsim::normalized_damerau_levenshtein(&lower, &known);
        if start_counts {
            likeness = likeness.max(strsim::jaro_winkler(&lower, &known) - 0.2);
            likeness += if known.starts_with(&lower) { 0.5 } else { 0.0 };
        }
        if likeness >= 0.5 && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `` use `x` `` for the nearest candidate, or the list of all.
pub(in crate::spec) fn suggestion(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(candidate) => format!("use `{candidate}`"),
        None => format!("use {}", one_of(candidates)),
    }
}

/// `` `a`, `b` or `c` ``.
pub(in crate::spec) fn one_of(words: &[&str]) -> String {
    joined(words, "or")
}

/// `` `a`, `b` and `c` ``.
pub(in crate::spec) fn all_of(words: &[&str]) -> String {
    joined(words, "and")
}

/// Most words that a message lists.
const MOST_LISTED: usize = 40;
/// How many it lists of more.
const LISTED_OF_MANY: usize = 10;

fn joined(words: &[&str], last: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    if words.len() > MOST_LISTED {
        let front = quoted.iter().take(LISTED_OF_MANY);
        let front: Vec<&str> = front.map(String::as_str).collect();
        let others = words.len() - LISTED_OF_MANY;
        let one_of = if last == "or" { "one of " } else { "" };
        return format!(
            "{} {last} {one_of}{others} others that `tilewright schema` lists",
            front.join(", ")
        );
    }
    match quoted.split_last() {
        None => "nothing".into(),
        Some((only, [])) => only.clone(),
        Some((end, front)) => format!("{} {last} {end}", front.join(", ")),
    }
}
