//! What a refusal says, with the keys of the spec that it names.
//!
//! Comes in: a text with places for its parts, as `format!` has it. Goes out: a [`Message`]: the
//! text, and the keys of its parts in their order. Keys come as values ([`KeyPath`]) and messages
//! as parts of others keep theirs, so that nobody looks for keys in the wording. Neither is shown
//! by `{}` of a plain text: what a message names is not lost on the way.

use std::borrow::Cow;
use std::fmt::Display;

/// A dotted key of a spec, as a part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPath {
    /// The key: `operands.a`.
    path: Cow<'static, str>,
    /// What stands in the text, where it is not the key: `operand a`.
    shown: Option<String>,
    /// The value that is spoken of, where somebody asks for that.
    value: Option<String>,
}

impl KeyPath {
    /// A key that every spec may have.
    pub const fn of(path: &'static str) -> KeyPath {
        KeyPath {
            path: Cow::Borrowed(path),
            shown: None,
            value: None,
        }
    }

    /// A key with the name of an operand or a mode in it.
    pub fn made(path: String) -> KeyPath {
        KeyPath {
            path: Cow::Owned(path),
            ..KeyPath::of("")
        }
    }

    /// The key in other words.
    pub fn shown(self, text: String) -> KeyPath {
        let shown = Some(text);
        KeyPath { shown, ..self }
    }

    /// The key with a value behind it: `arch sm_80`.
    pub fn with(&self, value: impl Display) -> KeyPath {
        let value = value.to_string();
        KeyPath {
            path: self.path.clone(),
            shown: Some(format!("{} {value}", self.path)),
            value: Some(value),
        }
    }

    /// The key, with dots.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A key that a message names, and the value of it that it speaks of, where that is told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub path: String,
    pub value: Option<String>,
}

/// What a refusal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub(crate) text: String,
    pub(super) named: Vec<Named>,
}

impl Message {
    /// A text of parts that have named those keys.
    pub(crate) fn of(text: String, named: Vec<Named>) -> Message {
        Message { text, named }
    }

    /// The messages with that between each two.
    pub(crate) fn join(all: impl IntoIterator<Item = Message>, between: &str) -> Message {
        let mut all = all.into_iter();
        let mut joined = all.next().unwrap_or_default();
        for one in all {
            joined.text += between;
            joined.text += &one.text;
            joined.named.extend(one.named);
        }
        joined
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::of(text, Vec::new())
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Message::from(text.to_owned())
    }
}

impl From<KeyPath> for Message {
    fn from(key: KeyPath) -> Message {
        let mut named = Vec::new();
        Message::of(key.tell(&mut named), named)
    }
}

/// What may be a part of a message: whatever is shown, keys, and other messages.
pub(crate) trait Part {
    /// Its text; notes the keys that it names.
    fn tell(&self, named: &mut Vec<Named>) -> String;
}

impl<T: Display + ?Sized> Part for T {
    fn tell(&self, _: &mut Vec<Named>) -> String {
        self.to_string()
    }
}

impl Part for KeyPath {
    fn tell(&self, named: &mut Vec<Named>) -> String {
        named.push(Named {
            path: self.path.clone().into_owned(),
            value: self.value.clone(),
        });
        let shown = self.shown.as_ref();
        shown.map_or_else(|| self.path.clone().into_owned(), String::clone)
    }
}

impl Part for Message {
    fn tell(&self, named: &mut Vec<Named>) -> String {
        named.extend(self.named.iter().cloned());
        self.text.clone()
    }
}

impl Part for &KeyPath {
    fn tell(&self, named: &mut Vec<Named>) -> String {
        (*self).tell(named)
    }
}

impl Part for &Message {
    fn tell(&self, named: &mut Vec<Named>) -> String {
        (*self).tell(named)
    }
}

/// A [`Message`] as `format!` writes texts: `message!("{} is {value}: use 1", STAGES)`. Keys and
/// messages are among what stands behind the text.
macro_rules! message {
    ($text:literal $(, $part:expr)* $(,)?) => {{
        #[allow(unused_mut)]
        let mut named = ::std::vec::Vec::new();
        let text = ::std::format!($text $(, $crate::error::Part::tell(&$part, &mut named))*);
        $crate::error::Message::of(text, named)
    }};
}
pub(crate) use message;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_the_keys_of_their_parts_in_their_order() {
        let stages = KeyPath::of("pipeline.stages");
        let tile = KeyPath::of("cta_tile");
        let fewer = 2;
        let inner = message!("use {fewer} {}", stages);
        let all = message!("{} {:?}: {}", tile, "x", &inner);
        assert_eq!(all.text, "cta_tile \"x\": use 2 pipeline.stages");
        let named: Vec<&str> = all.named.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(named, ["cta_tile", "pipeline.stages"]);
        let arch = Message::from(KeyPath::of("arch").with("sm_80"));
        let both = Message::join([arch, all], ", ");
        assert!(both.text.starts_with("arch sm_80, cta_tile "));
        assert_eq!(both.named[0].value.as_deref(), Some("sm_80"));
        assert_eq!(both.named.len(), 3);
        let operand = KeyPath::made("operands.a".to_owned()).shown("operand a".to_owned());
        assert_eq!(Message::from(operand).text, "operand a");
    }
}
