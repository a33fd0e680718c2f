//! Features of the package that is built.

use std::path::Path;

/// A line on the features that the package's manifest does not have, if there are any: what was
/// meant to be with one of them never is.
pub(crate) fn unknown(features: &[String]) -> Option<String> {
    if features.is_empty() {
        return None;
    }
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let manifest = std::fs::read_to_string(Path::new(&folder).join("Cargo.toml")).ok()?;
    absent(&manifest, features)
}

/// The line on those that the text of a manifest does not name.
fn absent(manifest: &str, features: &[String]) -> Option<String> {
    // As cargo tells them apart for build scripts.
    let folded = |text: &str| text.to_lowercase().replace('_', "-");
    let manifest = folded(manifest);
    let is_word = |c: char| c.is_alphanumeric() || c == '-';
    let words: Vec<&str> = manifest.split(|c| !is_word(c)).collect();
    let absent = features.iter().map(|feature| folded(feature));
    let absent = absent.zip(features).filter(|(one, _)| {
        let parts: Vec<&str> = one.split(|c| !is_word(c)).collect();
        !words.windows(parts.len()).any(|words| words == parts)
    });
    let absent: Vec<String> = absent.map(|(_, feature)| format!("{feature:?}")).collect();
    let (noun, their) = match absent.len() {
        0 => return None,
        1 => ("feature", "its"),
        _ => ("features", "their"),
    };
    Some(format!(
        "Cargo.toml has no {noun} {}, so that {their} specs are never built: spell it in \
         Config::specs_of_feature as under [features]",
        absent.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_no_manifest_names_are_told() {
        let manifest = "[features]\nfp8-kernels = []\n\"c++20\" = []\n";
        let told = |features: &[&str]| {
            let features: Vec<String> = features.iter().map(|one| (*one).to_owned()).collect();
            absent(manifest, &features)
        };
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["fp8-kernels", "FP8_kernels", "c++20"]), None);
        let one = told(&["fp8-kernels", "fp8"]).unwrap_or_default();
        assert!(one.contains("no feature \"fp8\", so that its"), "{one}");
        let both = told(&["kernels", "f-p8"]).unwrap_or_default();
        assert!(both.contains("no features \"kernels\", \"f-p8\""), "{both}");
    }
}
