//! Places in a text that a YAML scalar holds, as places in the file.

use std::ops::Range;

use super::node::{Node, Value};
use super::problems::span_of;
use crate::error::Span;

/// Where each byte of a scalar's text is written: of block scalars, folded ones and quoted ones.
#[derive(Debug)]
pub(in crate::spec) struct Embedded<'t> {
    file: &'t str,
    whole: Span,
    /// The place in the file of each byte of the text and of its end; none where an escape has
    /// another form than the byte it stands for.
    places: Option<Vec<usize>>,
}

impl<'t> Embedded<'t> {
    /// The places of a scalar's text.
    pub fn of(file: &'t str, node: &Node) -> Embedded<'t> {
        let places = match &node.value {
            Value::Scalar { text, .. } => places(file, node.span.bytes.start, text),
            _ => None,
        };
        Embedded {
            file,
            whole: node.span.clone(),
            places,
        }
    }

    /// Whether a byte of the text begins a line of the file that is joined to the one before it.
    pub fn is_joined(&self, text: &str, at: usize) -> bool {
        let blanks = |before: &str| before[before.trim_end().len()..].contains('\n');
        let [of_text, of_file] = [
            text.get(..at),
            self.file.get(..self.span(at..at + 1).bytes.start),
        ];
        of_text.is_some_and(|before| !before.trim().is_empty() && !blanks(before))
            && of_file.is_some_and(blanks)
    }

    /// The span of a part of the text; of the whole scalar where it cannot be told.
    pub fn span(&self, part: Range<usize>) -> Span {
        let Some(places) = &self.places else {
            return self.whole.clone();
        };
        let start = places.get(part.start).or(places.last()).copied();
        let end = match part.end.checked_sub(1).filter(|end| *end >= part.start) {
            Some(last) => places.get(last).map(|place| place + 1),
            None => start,
        };
        match (start, end) {
            (Some(start), Some(end)) => span_of(self.file, start..end.max(start)),
            _ => self.whole.clone(),
        }
    }
}

/// The place of each byte of `text`, which is written at `start` of the file in some style.
fn places(file: &str, start: usize, text: &str) -> Option<Vec<usize>> {
    let bytes = file.as_bytes();
    let mut at = start;
    let quote = match bytes.get(at)? {
        b'|' | b'>' => {
            at += file.get(at..)?.find('\n')? + 1;
            None
        }
        quote @ (b'"' | b'\'') => {
            at += 1;
            Some(*quote)
        }
        _ => None,
    };
    let mut places = Vec::with_capacity(text.len() + 1);
    for byte in text.bytes() {
        if byte.is_ascii_whitespace() {
            places.push(at);
            at += blank(bytes, at, byte, quote);
            continue;
        }
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        let written = *bytes.get(at)?;
        let escaped = quote == Some(b'"') && written == b'\\';
        at += usize::from(escaped);
        if *bytes.get(at)? != byte {
            return None;
        }
        places.push(at);
        at += 1 + usize::from(quote == Some(b'\'') && byte == b'\'');
    }
    places.push(at);
    Some(places)
}

/// How many bytes a blank of the text has in the file: none where lines are folded to it.
fn blank(bytes: &[u8], at: usize, byte: u8, quote: Option<u8>) -> usize {
    let escape = match byte {
        b'\n' => b'n',
        b'\t' => b't',
        _ => byte,
    };
    match bytes.get(at..) {
        Some([b'\\', other, ..]) if quote == Some(b'"') && *other == escape => 2,
        Some([b'\r', b'\n', ..]) => 2,
        Some([other, ..]) if *other == byte || *other == b'\n' => 1,
        _ => 0,
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::super::problems::Problems;
    use super::super::tree;
    use super::*;

    /// What of the file the span of `part` of the formula covers.
    fn covered(file: &str, part: &str) -> String {
        let tree = tree::read(file, &mut Problems::default());
        let node = tree.as_ref().and_then(|tree| tree.find("compute"));
        let (Some(node), Some(Value::Scalar { text, .. })) = (node, node.map(|node| &node.value))
        else {
            return "no scalar".into();
        };
        let start = text.find(part).unwrap_or(0);
        let span = Embedded::of(file, node).span(start..start + part.len());
        file.get(span.bytes).unwrap_or_default().to_owned()
    }

    #[test]
    fn lines_that_are_joined_are_known() {
        for (file, is_joined) in [
            ("compute:\n  a[m] = b[m]\n  d[m] = a[m]\n", true),
            ("compute: \"a[m] = b[m]\n  d[m] = a[m]\"\n", true),
            ("compute: |\n  a[m] = b[m]\n  d[m] = a[m]\n", false),
        ] {
            let tree = tree::read(file, &mut Problems::default());
            let node = tree.as_ref().and_then(|tree| tree.find("compute"));
            let (Some(node), Some(Value::Scalar { text, .. })) =
                (node, node.map(|node| &node.value))
            else {
                panic!("{file} has no scalar");
            };
            let at = |part: &str| text.find(part).unwrap_or(0);
            let joined = |part| Embedded::of(file, node).is_joined(text, at(part));
            assert_eq!(joined("d[m]"), is_joined, "{file}");
            assert!(!joined("= a[m]") && !joined("a[m] = b"), "{file}");
        }
    }

    #[test]
    fn parts_are_found_in_every_style() {
        let files = [
            "compute: |\n  acc[m] = a[m]\n  d[m] = accu[m]\nname: x\n",
            "compute: |-  # formula\n\n    acc[m] = a[m]\n\n    d[m] = accu[m]\n",
            "compute: >\n  acc[m] = a[m];\n  d[m]\n  = accu[m]\n",
            "compute: \"acc[m] = a[m]\\nd[m] = accu[m]\"\n",
            "compute: \"acc[m] = a[m];\n  d[m] = accu[m]\"\n",
            "compute: 'acc[m] = a[m]; d[m] = accu[m]'\n",
            "compute: acc[m] = a[m]; d[m] = accu[m]\n",
            "compute: |\r\n  acc[m] = a[m]\r\n  d[m] = accu[m]\r\n",
        ];
        for file in files {
            assert_eq!(covered(file, "accu[m]"), "accu[m]", "{file:?}");
            assert_eq!(covered(file, "a[m]"), "a[m]", "{file:?}");
        }
        // Escapes of another form: the whole scalar.
        let whole = "compute: \"\\x61cc[m] = accu[m]\"\n";
        assert_eq!(covered(whole, "accu[m]"), "\"\\x61cc[m] = accu[m]\"");
    }
}
