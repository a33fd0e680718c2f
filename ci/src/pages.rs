//! The pages that people read, and what they tell to type.
//!
//! Comes in: Markdown. Goes out: its blocks of code in the order in which a reader meets them, each
//! with what becomes of it, and the commands within its lines.
//!
//! A comment before a block says what is not plain: `<!-- not run: REASON -->`, `<!-- run by: FILE
//! -->` with the test that has it, and `<!-- in: FOLDER -->` of the clone, or `..` for the one that
//! the clone lies in. What has none is run: `sh` as it stands; lines after `$ ` with the lines
//! behind them as what is printed; and other languages whose first line is a comment with a path
//! are files to write there. Blocks without a language, and `text` without a `$ `, are pictures.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What becomes of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Typed into a shell.
    Typed,
    /// Typed into a shell, command by command, each with what it prints.
    Shown(Vec<Shown>),
    /// Written to this file.
    Written(String),
    /// Looked at.
    Picture,
    /// Run by another test, in this file of the repository.
    Elsewhere(String),
    /// Run by nobody, for this reason.
    NotRun(String),
    /// Nothing says what: what is wrong with it.
    Wrong(String),
}

/// A command that a block shows with what it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The command.
    pub command: String,
    /// The lines that it prints; one that ends in `…` is the beginning of one.
    pub printed: Vec<String>,
}

/// A block of code.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its first line of code in the page, from 1.
    pub line: usize,
    /// The language behind its fence.
    pub language: String,
    /// The code.
    pub text: String,
    /// What becomes of it.
    pub fate: Fate,
    /// The folder that it is for, relative to the clone; none where that of the block before is.
    pub folder: Option<String>,
    /// The number of its section, counted by headings of the first two levels.
    pub section: usize,
}

/// What a page tells to type.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its blocks of code.
    pub blocks: Vec<Block>,
    /// Commands of ours within its lines, each with its line from 1.
    pub commands: Vec<(usize, String)>,
}

/// What comments before a block say.
#[derive(Default)]
struct Said {
    fate: Option<Fate>,
    folder: Option<String>,
}

/// Reads a page.
pub fn read(text: &str) -> Page {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let mut page = Page::default();
    let (mut said, mut section) = (Said::default(), 0);
    let mut open: Option<(usize, String, String)> = None;
    for (event, Range { start, .. }) in
        Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
    {
        match event {
            Event::Html(comment) | Event::InlineHtml(comment) => said.hear(&comment),
            Event::Start(Tag::Heading { level, .. }) => {
                section += usize::from(level <= HeadingLevel::H2);
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(word) => word.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                open = Some((line(start) + 1, language, String::new()));
            }
            Event::Text(code) => match &mut open {
                Some((.., text)) => text.push_str(&code),
                None if !code.trim().is_empty() => said = Said::default(),
                None => {}
            },
            Event::End(TagEnd::CodeBlock) => {
                let Some((line, language, text)) = open.take() else {
                    continue;
                };
                let Said { fate, folder } = std::mem::take(&mut said);
                page.blocks.push(Block {
                    fate: fate.unwrap_or_else(|| plain(&language, &text)),
                    line,
                    language,
                    text,
                    folder,
                    section,
                });
            }
            Event::Code(code) if code.starts_with("tilewright ") => {
                page.commands.push((line(start), code.into_string()));
            }
            _ => {}
        }
    }
    page
}

impl Said {
    fn hear(&mut self, comment: &str) {
        let inside = comment.trim().strip_prefix("<!--");
        let Some(inside) = inside.and_then(|text| text.strip_suffix("-->")) else {
            return;
        };
        let Some((word, rest)) = inside.trim().split_once(':') else {
            return;
        };
        let rest = rest.trim().to_owned();
        match word {
            "not run" if rest.is_empty() => self.fate = Some(Fate::Wrong("no reason".into())),
            "not run" => self.fate = Some(Fate::NotRun(rest)),
            "run by" => self.fate = Some(Fate::Elsewhere(rest)),
            "in" => self.folder = Some(rest),
            other => self.fate = Some(Fate::Wrong(format!("`{other}:` means nothing"))),
        }
    }
}

/// What becomes of a block that nothing is said of.
fn plain(language: &str, text: &str) -> Fate {
    match language {
        "sh" => Fate::Typed,
        "" | "text" | "console" => match shown(text) {
            shown if shown.is_empty() => Fate::Picture,
            shown => Fate::Shown(shown),
        },
        _ => match file_of(text) {
            Some(name) => Fate::Written(name.to_owned()),
            None => Fate::Wrong(
                "say what becomes of it: `<!-- run by: FILE -->` or `<!-- not run: REASON -->`, \
                 or begin it with the path of the file that it is"
                    .into(),
            ),
        },
    }
}

/// The path that a block's first line, a comment, is.
fn file_of(text: &str) -> Option<&str> {
    let first = text.lines().next()?;
    let name = ["// ", "# "]
        .iter()
        .find_map(|sign| first.strip_prefix(sign))?;
    let is_path = name.contains('.') && !name.contains(' ') && !name.starts_with('/');
    is_path.then_some(name)
}

/// Commands after `$ ` and what they print.
fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Shown {
                command: command.to_owned(),
                printed: Vec::new(),
            }),
            (None, Some(last)) => last.printed.push(line.to_owned()),
            (None, None) => return all,
        }
    }
    all
}

/// Whether lines are what a page shows.
pub fn is_shown(printed: &str, shown: &[String]) -> bool {
    let printed: Vec<&str> = printed.lines().collect();
    let fits = |(printed, shown): (&&str, &String)| match shown.strip_suffix('…') {
        Some(beginning) => printed.starts_with(beginning),
        None => *printed == shown,
    };
    printed.len() == shown.len() && printed.iter().zip(shown).all(fits)
}

/// A command within a line, taken apart: its subcommands, its flags, and whether each of its words
/// is one to type, so that it belongs into a block, which is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// `bundle show` of `tilewright bundle show BUNDLE --kernel K`.
    pub subcommands: Vec<String>,
    /// `--kernel` of it.
    pub flags: Vec<String>,
    /// Whether something is made of files that it names.
    pub is_for_typing: bool,
}

/// Takes a command apart. Its subcommands are the words before the first that is none.
pub fn told(command: &str) -> Told {
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let is_sub = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
    let subcommands: Vec<String> = words
        .iter()
        .take_while(is_sub)
        .map(|word| (*word).to_owned())
        .collect();
    let bare = |word: &&str| word.trim_matches(['[', ']', '…']).to_owned();
    let flags = words.iter().map(bare).filter(|word| word.starts_with('-'));
    let flags = flags.map(|flag| match flag.split_once('=') {
        Some((name, _)) => name.to_owned(),
        None => flag,
    });
    let is_open = |word: &&str| {
        let name = word.trim_matches(['[', ']', '…']);
        name.is_empty()
            || name
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    let rest = &words[subcommands.len()..];
    let is_operand = |word: &&str| !word.starts_with(['-', '[']);
    Told {
        flags: flags.collect(),
        is_for_typing: rest.iter().any(is_operand as fn(&&str) -> bool)
            && !rest.iter().any(is_open),
        subcommands,
    }
}

#[cfg(test)]
mod tests;
