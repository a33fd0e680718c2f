//! Texts that are written before a spec is known, in tables of rules, with the keys that they name.

use crate::error::{Message, message};
use crate::spec::kernel::forms::Role;
use crate::spec::keys::model::Spec;
use crate::spec::keys::paths;

/// A text that is written before a spec is known, with `{}` for each of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phrase {
    text: &'static str,
    /// Keys, in which `{a}` stands for the name of the operand of that role; a value behind a key:
    /// `arch sm_90a`.
    keys: &'static [&'static str],
}

impl Phrase {
    /// A text with those keys.
    pub const fn new(text: &'static str, keys: &'static [&'static str]) -> Phrase {
        Phrase { text, keys }
    }
}

/// What a spec calls the operands of the roles that texts speak of.
#[derive(Debug)]
pub(crate) struct Names(Vec<(&'static str, String)>);

/// What stands for operands in texts that are written before a spec is known.
const STAND_INS: [(&str, Role); 4] = [
    ("{a}", Role::A),
    ("{b}", Role::B),
    ("{s}", Role::Source),
    ("{d}", Role::Output),
];

impl Names {
    /// The names in a spec.
    pub fn of(spec: &Spec) -> Names {
        let name = |(stand_in, role)| Some((stand_in, spec.problem.operand_as(role)?.name.clone()));
        Names(STAND_INS.into_iter().filter_map(name).collect())
    }

    /// A key with the names of operands in the places of what stands for them: `copy.{a}.g2s`.
    pub fn filled(&self, text: &str) -> String {
        let fill = |text: String, (stand_in, name): &(&str, String)| text.replace(stand_in, name);
        self.0.iter().fold(text.to_owned(), fill)
    }

    /// What a phrase says of this spec.
    pub fn said(&self, phrase: Phrase) -> Message {
        let mut keys = phrase.keys.iter().map(|key| match key.split_once(' ') {
            Some((key, value)) => paths::named(key).with(value),
            None => paths::named(self.filled(key)),
        });
        let mut pieces = phrase.text.split("{}");
        let first = Message::from(pieces.next().unwrap_or_default());
        pieces.fold(first, |said, piece| match keys.next() {
            Some(key) => message!("{}{}{piece}", said, key),
            None => message!("{}{piece}", said),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::error::Violation;

    const RENAMED: &str = r#"kernel: linear
name: t
arch: sm_80
operands:
  x: { dtype: bf16, layout: "(row,c):(ldx,1)" }
  w: { dtype: bf16, layout: "(out,c):(ldw,1)" }
  y: { dtype: bf16, layout: "(row,out):(ldy,1)" }
compute: y[row,out] = sum[c] w[out,c] * x[row,c]
cta_tile: { row: 128, out: 128, c: 64 }
"#;

    #[test]
    fn phrases_name_the_keys_of_the_spec() {
        let file = crate::spec::parse("-", RENAMED).unwrap();
        let names = Names::of(&file.spec);
        assert_eq!(
            names.filled("copy.{a}.* and swizzle.{d}"),
            "copy.x.* and swizzle.y"
        );
        let phrase = Phrase::new("use {}, or {}: no mma", &["arch sm_80", "copy.{b}.g2s"]);
        let said = Violation::new("schedule", names.said(phrase));
        assert_eq!(said.message, "use arch sm_80, or copy.w.g2s: no mma");
        assert_eq!(said.keys, ["arch", "copy.w.g2s"]);
        assert_eq!(said.values, [("arch".to_owned(), "sm_80".to_owned())]);
    }
}
