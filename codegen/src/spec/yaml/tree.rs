//! YAML text to a generic tree whose nodes know their place.
//!
//! Comes in: text of any kind. Goes out: one [`Node`] and every structural problem. What a spec has
//! no use for is refused here: anchors, aliases, merge keys, tags, directives, several documents,
//! keys that are no plain text, equal keys, hidden characters. Size, depth and number of nodes are
//! bounded, so no input takes long or much memory. Scalars stay text: whether `8` is a number is
//! decided by the key it stands under, and `n` is never a boolean.

use serde_yaml::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as Mark,
};

use super::node::{Entry, Node, Value};
use super::problems::{Problems, span_of};
use crate::error::{Related, Span, escaped, hidden, shown};

/// Largest spec accepted, in bytes.
pub const MAX_SIZE_BYTES: usize = 1 << 20;
/// Deepest nesting accepted: shipped specs need four levels.
pub const MAX_DEPTH: usize = 16;
/// Most nodes (scalars, lists and maps) accepted.
pub const MAX_NODES: usize = 10_000;
/// Longest scalar accepted, in bytes.
pub const MAX_SCALAR_BYTES: usize = tilewright_formula::syntax::MAX_TEXT;

/// An open list or map.
enum Frame {
    List {
        span: Span,
        items: Vec<Node>,
    },
    Map {
        span: Span,
        entries: Vec<Entry>,
        key: Option<(Option<String>, Span)>,
    },
}

/// Reads the tree of `text`. `None` when the text is no YAML or beyond a limit; the problems say
/// why.
pub(in crate::spec) fn read(text: &str, problems: &mut Problems) -> Option<Node> {
    if text.len() > MAX_SIZE_BYTES {
        let message = format!(
            "{} bytes; at most {MAX_SIZE_BYTES} are accepted",
            text.len()
        );
        problems.add(
            "too-large",
            &span_of(text, 0..0),
            message,
            "split it into several specs",
        );
        return None;
    }
    hidden_characters(text, problems);
    if !problems.is_empty() {
        return None;
    }
    let mut options = Options::default();
    options.disallow_directives = true;
    options.emit_unresolved_aliases = true;
    options.emit_anchor_events = true;
    options.set_emit_comments(false);
    let mut builder = Builder {
        text,
        problems,
        stack: vec![],
        root: None,
        nodes: 0,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, mark)) => builder.take(event, &mark)?,
            Err(error) => {
                syntax_error(text, &error, builder.problems);
                return None;
            }
        }
    }
    let root = builder.root;
    if root.is_none() && problems.is_empty() {
        let help = "a spec starts with `kernel: gemm` or `kernel: copy`";
        problems.add(
            "empty",
            &span_of(text, 0..0),
            "the file holds no spec",
            help,
        );
    }
    root
}

fn syntax_error(text: &str, error: &ScanError, problems: &mut Problems) {
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let rest = text.get(at..).and_then(|rest| rest.chars().next());
    let span = span_of(text, at..rest.map_or(at, |c| at + c.len_utf8()));
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        let message = format!("nested deeper than {MAX_DEPTH} levels");
        problems.add("too-deep", &span, message, "a spec needs four levels");
        return;
    }
    if let Some(tabs) = tab_indentation(text, at) {
        let message = "a tab indents this line; YAML is indented with spaces";
        problems.add(
            "yaml-syntax",
            &tabs,
            message,
            "replace the tab by two spaces",
        );
        return;
    }
    let message = format!("no valid YAML: {}", escaped(&error.info()));
    let help = match text.get(at..).is_some_and(|rest| rest.starts_with('%')) {
        true => "delete the directive, and the dashes behind it",
        false => {
            "put text that holds any of { } [ ] , : # in double quotes, and indent with spaces"
        }
    };
    problems.add("yaml-syntax", &span, message, help);
}

/// The tab that indents the line of a position or one beside it: scanners give up on it a line
/// early or late.
fn tab_indentation(text: &str, at: usize) -> Option<Span> {
    let line = text.get(..at)?.matches('\n').count();
    let mut start = 0;
    for (number, content) in text.split_inclusive('\n').enumerate() {
        let blank = content.len() - content.trim_start().len();
        let tab = content.get(..blank).and_then(|blank| blank.find('\t'));
        if let (Some(tab), true) = (tab, number.abs_diff(line) <= 1) {
            return Some(span_of(text, start + tab..start + tab + 1));
        }
        start += content.len();
    }
    None
}

/// Lists the first hidden characters of the text.
fn hidden_characters(text: &str, problems: &mut Problems) {
    const MOST: usize = 10;
    let (mut line, mut column, mut found) = (1, 0, 0);
    for (at, c) in text.char_indices() {
        column += 1;
        let line_break = c == '\r' && text.as_bytes().get(at + 1) == Some(&b'\n');
        let byte_order_mark = c == '\u{feff}' && at == 0;
        if c == '\n' {
            (line, column) = (line + 1, 0);
        } else if c != '\t' && !line_break && !byte_order_mark && hidden(c) {
            let span = Span {
                bytes: at..at + c.len_utf8(),
                line,
                column,
            };
            let message = format!("hidden character U+{:04X}", u32::from(c));
            let help = "delete it: specs hold visible text only";
            problems.add("hidden-character", &span, message, help);
            found += 1;
            if found == MOST {
                return;
            }
        }
    }
}

struct Builder<'t, 'p> {
    text: &'t str,
    problems: &'p mut Problems,
    stack: Vec<Frame>,
    root: Option<Node>,
    nodes: usize,
}

impl Builder<'_, '_> {
    /// Takes one event. `None` stops the reading.
    fn take(&mut self, event: Event<'_>, mark: &Mark) -> Option<()> {
        let span = self.span(mark);
        if event.tag().is_some() {
            let span = mark
                .tag_span()
                .map_or_else(|| span.clone(), |tag| self.span(&tag));
            self.refuse("tag", &span, "tags are not used in specs", "delete the tag");
        }
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                let message = "a second document starts here; a file holds one spec";
                self.refuse(
                    "second-document",
                    &span,
                    message,
                    "move it to a file of its own",
                );
                return None;
            }
            Event::Anchor(..) => {
                self.refuse(
                    "anchor",
                    &span,
                    "anchors are not used in specs",
                    "write the value where it is needed",
                );
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(
                    "alias",
                    &span,
                    "aliases are not used in specs",
                    "write the value itself",
                );
                self.finish(Node {
                    span,
                    value: Value::Refused,
                })?;
            }
            Event::Scalar(text, style, ..) => {
                if text.len() > MAX_SCALAR_BYTES {
                    let message = format!(
                        "text of {} bytes; at most {MAX_SCALAR_BYTES} are accepted",
                        text.len()
                    );
                    self.refuse("scalar-too-long", &span, &message, "shorten it");
                    return None;
                }
                let plain = style == ScalarStyle::Plain;
                self.finish(Node {
                    span,
                    value: Value::Scalar {
                        text: text.into_owned(),
                        plain,
                    },
                })?;
            }
            Event::SequenceStart(..) => self.open(Frame::List {
                span,
                items: vec![],
            })?,
            Event::MappingStart(..) => self.open(Frame::Map {
                span,
                entries: vec![],
                key: None,
            })?,
            Event::SequenceEnd | Event::MappingEnd => self.close(&span)?,
            _ => {}
        }
        Some(())
    }

    fn refuse(&mut self, code: &'static str, span: &Span, message: &str, help: &str) {
        self.problems.add(code, span, message, help);
    }

    fn open(&mut self, frame: Frame) -> Option<()> {
        let (Frame::List { span, .. } | Frame::Map { span, .. }) = &frame;
        if self.stack.len() >= MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            self.problems
                .add("too-deep", span, message, "a spec needs four levels");
            return None;
        }
        self.stack.push(frame);
        Some(())
    }

    fn close(&mut self, end: &Span) -> Option<()> {
        let node = match self.stack.pop()? {
            Frame::List { span, items } => Node {
                span: join(span, end),
                value: Value::List(items),
            },
            Frame::Map { span, entries, .. } => Node {
                span: join(span, end),
                value: Value::Map(entries),
            },
        };
        self.finish(node)
    }

    /// Puts a finished node where it belongs: a key, a value, an item or the root.
    fn finish(&mut self, node: Node) -> Option<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} keys and values");
            self.problems.add(
                "too-many-nodes",
                &node.span,
                message,
                "split it into several specs",
            );
            return None;
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { key, entries, .. }) => match key.take() {
                None => *key = Some(read_key(node, self.problems)),
                Some((Some(key), key_span)) => {
                    insert(
                        entries,
                        Entry {
                            key,
                            key_span,
                            value: node,
                        },
                        self.problems,
                    );
                }
                Some((None, _)) => {}
            },
        }
        Some(())
    }

    fn span(&self, mark: &Mark) -> Span {
        let start = self
            .text
            .floor_char_boundary(mark.start.byte_offset().unwrap_or(0));
        let end = self
            .text
            .floor_char_boundary(mark.end.byte_offset().unwrap_or(start))
            .max(start);
        Span {
            bytes: start..end,
            line: mark.start.line(),
            column: mark.start.col() + 1,
        }
    }
}

fn join(mut start: Span, end: &Span) -> Span {
    start.bytes.end = end.bytes.end.max(start.bytes.end);
    start
}

/// The text of a key; `None` for one that is reported and skipped.
fn read_key(node: Node, problems: &mut Problems) -> (Option<String>, Span) {
    match node.value {
        Value::Scalar { text, plain: true } if text == "<<" => {
            let help = "write the keys out";
            problems.add(
                "merge-key",
                &node.span,
                "merge keys are not used in specs",
                help,
            );
            (None, node.span)
        }
        Value::Scalar { text, .. } => (Some(text), node.span),
        Value::Refused => (None, node.span),
        Value::List(_) | Value::Map(_) => {
            let message = "a list or map stands where a key is expected";
            problems.add(
                "complex-key",
                &node.span,
                message,
                "keys are plain words such as `cta_tile`",
            );
            (None, node.span)
        }
    }
}

fn insert(entries: &mut Vec<Entry>, entry: Entry, problems: &mut Problems) {
    let Some(first) = entries.iter().find(|other| other.key == entry.key) else {
        entries.push(entry);
        return;
    };
    let at = format!(
        "line {}, column {}",
        first.key_span.line, first.key_span.column
    );
    let message = format!("`{}` is written twice: here and at {at}", shown(&entry.key));
    let related = Related {
        span: first.key_span.clone(),
        message: "first written here".into(),
    };
    problems.add_with(
        "duplicate-key",
        &entry.key_span,
        message,
        "keep one of the two",
        related,
    );
}
