//! Names of specs: identifiers that say where the file lies.

use std::path::Path;

use super::read::{Field, Reader};
use crate::error::shown;
use crate::spec::kernel::shape::defaults;

impl Reader<'_> {
    /// The name of the spec, which its file's place decides.
    pub(in crate::spec) fn name(&mut self, field: &Field<'_>, path: &str) -> Option<String> {
        let name = self.scalar(field, "a name")?;
        if !is_identifier(name) {
            let message = format!(
                "`name` is `{}`; allowed are 1 to 64 letters, digits and `_`, no digit first",
                shown(name)
            );
            let like = identifier_like(name, path, &self.shape.kernel);
            self.problems.add(
                "bad-identifier",
                &field.node.span,
                message,
                format!("use `{like}`"),
            );
            return None;
        }
        // A file may be called with `-` what a spec is called with `_`.
        let expected = expected_name(path, &self.shape.kernel);
        let is_stem = || is_folder_of_its_own(path) && stem(path) == Some(name);
        if let Some(expected) =
            expected.filter(|expected| expected.replace('-', "_") != name && !is_stem())
        {
            let file = Path::new(path)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            let (file, wanted) = (shown(&file), shown(&expected));
            let message = format!("`name` is `{name}`; the file {file} holds the spec `{wanted}`");
            let help = if is_identifier(&expected) {
                format!("use `{expected}`, or rename the file")
            } else {
                "rename the file: letters, digits and `_`".to_string()
            };
            self.problems
                .warn("name-mismatch", &field.node.span, message, help);
        }
        Some(name.to_string())
    }
}

/// A name to use in place of one that is none: what the file's place wants, else its words.
fn identifier_like(name: &str, path: &str, kernel: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let joined: String = words.join("_").chars().take(64).collect();
    let wanted = expected_name(path, kernel).map(|wanted| wanted.replace('-', "_"));
    let wanted = wanted.filter(|wanted| is_identifier(wanted));
    let candidates = [joined.clone(), format!("{kernel}_{joined}")];
    let written = candidates.into_iter().find(|name| is_identifier(name));
    wanted
        .or(written.filter(|_| joined.len() > 1))
        .unwrap_or_else(|| format!("{kernel}_kernel"))
}

/// Whether a name is `[A-Za-z_][A-Za-z0-9_]{0,63}`.
pub(in crate::spec) fn is_identifier(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(word) && !name.as_bytes()[0].is_ascii_digit()
}

fn stem(path: &str) -> Option<&str> {
    Path::new(path).file_stem()?.to_str()
}

/// The folder that a file at that path is in.
fn folder(path: &str) -> Option<&str> {
    Path::new(path).parent()?.file_name()?.to_str()
}

/// Whether a file lies in a folder of its name, which need not be the folder of its kernel.
fn is_folder_of_its_own(path: &str) -> bool {
    stem(path).is_some_and(|stem| folder(path) == Some(stem))
}

/// The name a spec at that path should have: `<kernel>_<stem>` in the folder of its kernel, else
/// the stem. `None` for what is no `.yaml` file.
pub fn expected_name(path: &str, kernel: &str) -> Option<String> {
    let extension = Path::new(path).extension()?.to_str()?;
    let (stem, folder) = (stem(path)?, folder(path));
    let of_word = |word: &str| Some(word) == folder;
    let in_folder = of_word(kernel) || defaults().iter().any(|shape| of_word(&shape.kernel));
    let is_yaml = ["yaml", "yml"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known));
    is_yaml.then(|| {
        if in_folder {
            format!("{kernel}_{stem}")
        } else {
            stem.to_string()
        }
    })
}
