//! Names of a bundle as names of Rust.

/// Words that Rust keeps to itself (Rust Reference, Keywords: strict, reserved, and `gen`).
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];
/// Those of them that stay keywords as `r#…`.
const NEVER_RAW: [&str; 4] = ["Self", "crate", "self", "super"];

/// A name of a formula as a field: itself, `r#in`, or `self_`.
pub(crate) fn field(name: &str) -> String {
    match () {
        () if NEVER_RAW.contains(&name) || name.chars().all(|c| c == '_') => format!("{name}_"),
        () if KEYWORDS.contains(&name) => format!("r#{name}"),
        () => name.to_owned(),
    }
}

/// The name of a spec as a type: `gemm_bf16_tn` is `GemmBf16Tn`.
pub(crate) fn type_name(spec: &str) -> String {
    let mut name = String::new();
    for word in spec.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, 'K');
    }
    match KEYWORDS.contains(&name.as_str()) {
        true => name + "_",
        false => name,
    }
}

/// A promise of a kernel as a method: `entries of to are distinct` is
/// `promise_entries_of_to_are_distinct`.
pub(crate) fn promise(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words = words.map(str::to_ascii_lowercase);
    format!("promise_{}", words.collect::<Vec<_>>().join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rusts() {
        let fields = ["a", "in", "self", "type", "_", "lda"].map(field);
        assert_eq!(fields, ["a", "r#in", "self_", "r#type", "__", "lda"]);
        let types = ["gemm_bf16_tn", "self", "a__b", "3d_copy", "rows-2"].map(type_name);
        assert_eq!(types, ["GemmBf16Tn", "Self_", "AB", "K3dCopy", "Rows2"]);
        assert_eq!(
            promise("entries of to are distinct"),
            "promise_entries_of_to_are_distinct"
        );
    }
}
