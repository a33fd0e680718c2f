//! Where the lines of a kernel's PTX come from.

use serde::{Deserialize, Serialize};

use crate::text::{is_plain, is_shown};

/// Most lines of a table, and most origins.
const MAX_LINES: usize = 1 << 20;
/// Longest text of an origin, in bytes.
const MAX_TEXT: usize = 512;

/// Where the lines of a kernel's PTX come from: operations on tiles, and lines of its spec.
///
/// It is no part of what the kernel is: content hashes leave it out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineTable {
    /// Name of the spec file, without folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What lines come from.
    pub origins: Vec<Origin>,
    /// Lines from 1 at which another origin begins, in order, with its number from 1; 0 is none. In
    /// the manifest as text: `20:1 25:0`.
    #[serde(with = "starts")]
    pub starts: Vec<(u32, u32)>,
}

/// What lines of PTX come from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The operation on tiles, as `tilewright ir --after tile` prints it.
    pub op: String,
    /// The line of the spec file that says so, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<u32>,
}

/// The starts as text.
mod starts {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    type Starts = Vec<(u32, u32)>;

    pub fn serialize<S: Serializer>(starts: &Starts, to: S) -> Result<S::Ok, S::Error> {
        let words = starts
            .iter()
            .map(|(line, number)| format!("{line}:{number}"));
        to.serialize_str(&words.collect::<Vec<_>>().join(" "))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Starts, D::Error> {
        let text = String::deserialize(from)?;
        let start = |word: &str| {
            let (line, number) = word.split_once(':')?;
            Some((line.parse().ok()?, number.parse().ok()?))
        };
        let wrong = |word: &str| {
            let word: String = word.chars().take(40).flat_map(char::escape_debug).collect();
            D::Error::custom(format!("`{word}` is no start: write line:origin, as 20:1"))
        };
        let words = text.split_ascii_whitespace();
        words
            .map(|word| start(word).ok_or_else(|| wrong(word)))
            .collect()
    }
}

impl LineTable {
    /// What a line of the PTX comes from.
    ///
    /// ```
    /// use tilewright_bundle::{LineTable, Origin};
    /// let op = "meet".to_owned();
    /// let table = LineTable {
    ///     file: None,
    ///     origins: vec![Origin { op, spec: Some(9) }],
    ///     starts: vec![(20, 1), (25, 0)],
    /// };
    /// assert_eq!(table.origin(24).and_then(|origin| origin.spec), Some(9));
    /// assert_eq!((table.origin(19), table.origin(25)), (None, None));
    /// ```
    pub fn origin(&self, line: u32) -> Option<&Origin> {
        let behind = self.starts.partition_point(|(start, _)| *start <= line);
        let (_, number) = self.starts.get(behind.checked_sub(1)?)?;
        self.origins.get((*number as usize).checked_sub(1)?)
    }

    /// What a line comes from in a few words: `copy g.a -> r.a (gemm.yaml:12)`.
    pub fn describe(&self, line: u32) -> Option<String> {
        let origin = self.origin(line)?;
        Some(match (&self.file, origin.spec) {
            (Some(file), Some(line)) => format!("{} ({file}:{line})", origin.op),
            _ => origin.op.clone(),
        })
    }

    /// The same as bundles take it: of a long text its beginning, other characters in place of
    /// those
    /// that are not shown, no file of a name that is none, and what lies behind the most lines of
    /// nothing. What a kernel comes from is told for its readers, and refuses no kernel.
    ///
    /// ```
    /// use tilewright_bundle::{LineTable, Origin};
    /// let op = "long ".repeat(500);
    /// let origins = vec![Origin { op, spec: None }];
    /// let table = LineTable { origins, ..LineTable::default() }.fitted();
    /// let op = &table.origins[0].op;
    /// assert!(op.starts_with("long long") && op.ends_with("..."));
    /// ```
    #[must_use]
    pub fn fitted(mut self) -> LineTable {
        self.file = self.file.filter(|file| is_file(file));
        self.origins.truncate(MAX_LINES);
        for origin in &mut self.origins {
            if !is_text(&origin.op) {
                origin.op = shown(&origin.op);
            }
        }
        self.starts.truncate(MAX_LINES);
        if let Some((_, last)) = self.starts.get_mut(MAX_LINES - 1) {
            *last = 0;
        }
        let known = self.origins.len();
        for (_, number) in &mut self.starts {
            if *number as usize > known {
                *number = 0;
            }
        }
        self
    }

    /// What is wrong with it.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |good: bool, problem: String| {
            if !good {
                problems.push(problem);
            }
        };
        let (starts, origins) = (self.starts.len(), self.origins.len());
        check(
            starts <= MAX_LINES && origins <= MAX_LINES,
            format!("{starts} starts and {origins} origins; at most {MAX_LINES} are allowed"),
        );
        let named = self.file.as_deref().is_none_or(is_file);
        check(named, "the file is no name of a file".to_owned());
        let odd = self.origins.iter().position(|origin| !is_text(&origin.op));
        check(
            odd.is_none(),
            format!("origin {} is no line of text", odd.unwrap_or(0) + 1),
        );
        let ordered = self.starts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        check(
            ordered && self.starts.first().is_none_or(|(line, _)| *line >= 1),
            "starts are no lines in order".to_owned(),
        );
        let most = self.starts.iter().map(|(_, number)| *number as usize).max();
        check(
            most.unwrap_or(0) <= origins,
            format!("a start names origin {} of {origins}", most.unwrap_or(0)),
        );
        problems
    }
}

/// Whether a text is the name of a file.
fn is_file(name: &str) -> bool {
    !name.is_empty() && is_plain(name, MAX_TEXT) && !name.contains(['/', '\\', '"'])
}

/// Whether a text tells an origin.
fn is_text(op: &str) -> bool {
    !op.is_empty() && is_plain(op, MAX_TEXT)
}

/// A text as origins may have it: the beginning of a long one.
fn shown(op: &str) -> String {
    const MORE: &str = "...";
    let all = op.chars().map(|c| if is_shown(c) { c } else { '?' });
    let mut text: String = all.collect();
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT - MORE.len()));
        text.push_str(MORE);
    }
    match text.is_empty() {
        true => "?".to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn table() -> LineTable {
        let origin = |op: &str| Origin {
            op: op.to_owned(),
            spec: None,
        };
        LineTable {
            file: Some("gemm.yaml".to_owned()),
            origins: vec![origin("meet"), origin("r.acc[0] = 0")],
            starts: vec![(3, 1), (7, 2), (9, 0)],
        }
    }

    #[test]
    fn text_and_back() {
        let text = serde_json::to_string(&table()).unwrap();
        assert!(text.contains("\"3:1 7:2 9:0\""), "{text}");
        assert_eq!(serde_json::from_str::<LineTable>(&text).unwrap(), table());
        let wrong = text.replace("7:2", "7-2");
        let error = serde_json::from_str::<LineTable>(&wrong).unwrap_err();
        assert!(error.to_string().contains("`7-2` is no start"), "{error}");
    }

    #[test]
    fn what_is_inconsistent_is_told() {
        assert_eq!(table().problems(), [""; 0]);
        type Change = fn(&mut LineTable);
        let cases: [(Change, &str); 5] = [
            (|t| t.starts[1].0 = 3, "no lines in order"),
            (|t| t.starts[0].0 = 0, "no lines in order"),
            (|t| t.starts[2].1 = 3, "names origin 3 of 2"),
            (
                |t| t.origins[1].op = "a\nb".to_owned(),
                "origin 2 is no line",
            ),
            (|t| t.file = Some("../x".to_owned()), "no name of a file"),
        ];
        for (change, what) in cases {
            let mut table = table();
            change(&mut table);
            let problems = table.problems().join("; ");
            assert!(problems.contains(what), "{what}: {problems}");
        }
    }

    #[test]
    fn every_table_is_fitted() {
        assert_eq!(table().fitted(), table());
        let mut long = table();
        long.origins[0].op = "β".repeat(MAX_TEXT);
        long.origins[1].op = "a\nb\u{202e}".to_owned();
        long.origins.push(Origin {
            op: String::new(),
            spec: None,
        });
        long.file = Some("quoted\".yaml".to_owned());
        long.starts = (1..MAX_LINES as u32 + 9).map(|line| (line, 9)).collect();
        let fitted = long.fitted();
        assert_eq!(fitted.problems(), [""; 0]);
        assert_eq!((fitted.file, fitted.origins.len()), (None, 3));
        assert!(fitted.origins[0].op.ends_with("β..."));
        assert_eq!(fitted.origins[1].op, "a?b?");
    }
}
