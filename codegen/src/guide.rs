//! The guide: from a spec to a launch, every key of a spec, what is not done yet, every diagnostic,
//! tuning, and why.
//!
#![doc = include_str!("../docs/quick_start.md")]

#[doc = include_str!("../docs/spec.md")]
pub mod spec {}

#[doc = include_str!("../docs/limits.md")]
pub mod limits {}

#[doc = include_str!("../docs/diagnostics.md")]
pub mod diagnostics {}

#[doc = include_str!("../docs/tuning.md")]
pub mod tuning {}

#[doc = include_str!("../docs/why.md")]
pub mod why {}

/// The page on every key of a spec, as Markdown.
pub const SPEC: &str = include_str!("../docs/spec.md");

/// The page on every diagnostic, as Markdown: a section for each code, sorted, and at its end the
/// codes without an example, a line each.
pub const DIAGNOSTICS: &str = include_str!("../docs/diagnostics.md");

/// What begins the section of a code, which stands in backquotes behind it.
const SECTION: &str = "\n## `";
/// What begins the section of codes without an example, and the line of one.
const ALONE: &str = "\n## Without an example\n";
const LINE: &str = "\n- `";

/// What the page on every diagnostic says of a code: its section, or its line where the page has no
/// example of it. `None` for what is no code.
///
/// ```
/// use tilewright_codegen::guide::explain_code;
/// assert!(explain_code("unknown-key").unwrap().starts_with("## `unknown-key`\n"));
/// assert!(explain_code("unknown").is_none());
/// ```
pub fn explain_code(code: &str) -> Option<&'static str> {
    sections().find_map(|(known, section)| (known == code).then_some(section))
}

/// What the page on every key of a spec says of a key, by its dotted path: its row, and the rows of
/// the map that it is. Of the last part of a path alone, what it says of each key that ends so,
/// where the file has none of that name. `None` for what is no key.
///
/// ```
/// use tilewright_codegen::guide::explain_key;
/// assert!(explain_key("cta_tile").unwrap().contains("Extents of the part"));
/// assert!(explain_key("copy.a.g2s").unwrap().contains("from global to shared memory"));
/// assert!(explain_key("g2s").unwrap().contains("`copy.<operand>.g2s`"));
/// assert!(explain_key("copy.a.no").is_none());
/// ```
pub fn explain_key(path: &str) -> Option<String> {
    let inside = || {
        let titles = SPEC.lines().filter_map(|line| line.strip_prefix("# `"));
        let paths = titles.map(|title| format!("{}.{path}", title.trim_end_matches('`')));
        let found: Vec<String> = paths.filter_map(|path| row_of(&path)).collect();
        (!path.contains('.') && !found.is_empty()).then(|| found.join("\n"))
    };
    row_of(path).or_else(inside)
}

/// What the page says of the key at a whole path.
fn row_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('.').collect();
    let (first, last) = (parts.first()?, parts.last()?);
    let sections = SPEC.split("\n# ").skip(1);
    let titled = |section: &&str| {
        let title = section.lines().next().unwrap_or_default();
        let title: Vec<&str> = title.trim_matches('`').split('.').collect();
        match parts.len() {
            1 => title == ["The file"],
            many => title.first() == Some(first) && title.len() + 1 == many,
        }
    };
    let is_table = |line: &&str| line.starts_with("| key |") || line.starts_with("|---");
    let row = format!("| `{last}` |");
    let mut all = sections.clone();
    let of_key = all.find(titled).and_then(|section| {
        let found = section.lines().find(|line| line.starts_with(&row))?;
        let head: Vec<&str> = section.lines().filter(is_table).take(2).collect();
        Some(format!("# `{path}`\n\n{}\n{found}\n", head.join("\n")))
    })?;
    let words = format!("Words of `{path}`");
    let is_of_key = |section: &&str| {
        let title = section.lines().next().unwrap_or_default();
        let map = title.trim_matches('`').split(".<").next();
        title == words || map == Some(path)
    };
    let more = sections.filter(is_of_key);
    let more: String = more.map(|section| format!("\n# {section}\n")).collect();
    Some(of_key + &more)
}

/// The codes that the page on every diagnostic has.
pub fn codes() -> impl Iterator<Item = &'static str> {
    sections().map(|(code, _)| code)
}

/// Each code with what is said of it.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let (shown, alone) = DIAGNOSTICS.split_once(ALONE).unwrap_or((DIAGNOSTICS, ""));
    cut(shown, SECTION).chain(cut(alone, LINE))
}

/// The parts of a text that begin so, each with the code in backquotes that it begins with.
fn cut(
    text: &'static str,
    head: &'static str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let starts = text.match_indices(head).map(|(at, _)| at + 1);
    starts.filter_map(move |start| {
        let part = text.get(start..)?;
        let part = part.get(..part.find(head).map_or(part.len(), |end| end + 1))?;
        let code = part.get(head.len() - 1..)?.split_once('`')?.0;
        Some((code, part.trim_end()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_section_of_its_own() {
        let codes: Vec<&str> = codes().collect();
        assert!(codes.len() > 150, "{codes:?}");
        for code in &codes {
            let section = explain_code(code).unwrap_or_default();
            let heads = section.lines().filter(|line| line.starts_with("## "));
            assert!(
                heads.count() <= 1 && section.contains(code),
                "{code}: {section}"
            );
            assert!(
                codes.iter().filter(|one| *one == code).count() == 1,
                "{code}"
            );
        }
    }

    #[test]
    fn a_section_is_whole() {
        let section = explain_code("unknown-key").unwrap_or_default();
        assert!(section.contains("error[unknown-key]: unknown key `cta_tiles`"));
        assert!(section.contains("+cta_tile:") && section.ends_with("```"));
        let last = explain_code("spill-loads").unwrap_or_default();
        assert!(
            last.starts_with("- `spill-loads`: raised by ptxas"),
            "{last}"
        );
    }

    #[test]
    fn what_is_no_code_has_no_section() {
        for word in ["", "unknown", "unknown-key`", "Without an example", "`"] {
            assert!(explain_code(word).is_none(), "{word}");
        }
    }
}
