//! Templates of machine instructions: embedded tera files, rendered to inline assembly.
//!
//! Comes in: a name of `tilewright_templates` and the values by name. Goes out: the text. A
//! variable that has no value is an error. No other template, filter or function than tera's
//! built-in ones is reachable, and no text of a spec ever becomes template source.

use std::sync::OnceLock;

use tera::{Context, Tera};
use tilewright_templates::TEMPLATES;

type Result<T> = std::result::Result<T, String>;

fn templates() -> Result<&'static Tera> {
    static BUILT: OnceLock<Result<Tera>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let mut tera = Tera::new();
        tera.autoescape_on(Vec::<&str>::new());
        tera.add_raw_templates(TEMPLATES.iter().copied())
            .map_err(|error| error.to_string())?;
        Ok(tera)
    });
    built.as_ref().map_err(Clone::clone)
}

/// The rendered template.
pub(super) fn render(file: &str, values: &Context) -> Result<String> {
    let text = templates()?
        .render(file, values)
        .map_err(|error| format!("template {file}: {error}"))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_undefined_variable_is_an_error() {
        let mut values = Context::new();
        values.insert("op", "ld.global");
        values.insert("dst", &["$0", "$1"]);
        let error = render("copy/ld_v4_b32.tera", &values).unwrap_err();
        assert!(error.contains("src"), "{error}");
        values.insert("src", "$2+16");
        assert_eq!(
            render("copy/ld_v4_b32.tera", &values).unwrap(),
            "ld.global.v4.b32 {$0, $1}, [$2+16];"
        );
        assert!(render("copy/none.tera", &values).is_err());
    }
}
