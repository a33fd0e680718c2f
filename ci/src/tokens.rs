//! Rust source as tokens: what is left when comments, strings' insides and test modules are gone.
//!
//! In: the text of a `.rs` file. Out: the paths it names from the crate root, and the lengths of
//! its functions. Only `proc-macro2` is needed; nothing is resolved, so a path through a macro
//! counts as written.

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// A name reached from the crate root, as `error` in `crate::error::Error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootName {
    /// The first name behind `crate::`.
    pub name: String,
    /// The line it stands on, from 1.
    pub line: usize,
}

/// A function and its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of the name, from 1.
    pub line: usize,
    /// From the opening to the closing brace, both counted.
    pub lines: usize,
    /// The longest `match` in it, counted the same way.
    pub longest_match_lines: usize,
}

/// The tokens of a file without the items under `#[cfg(test)]`.
///
/// # Errors
///
/// When the text is no sequence of Rust tokens.
pub fn parse(text: &str) -> Result<Vec<TokenTree>, LexError> {
    Ok(without_tests(
        text.parse::<TokenStream>()?.into_iter().collect(),
    ))
}

/// Drops each item under `#[cfg(test)]`: all up to its closing brace or semicolon.
fn without_tests(tokens: Vec<TokenTree>) -> Vec<TokenTree> {
    let mut kept: Vec<TokenTree> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        let after_hash = kept.last().is_some_and(|last| is_punct(last, '#'));
        if after_hash && is_test_attribute(&token) {
            kept.pop();
            for skipped in rest.by_ref() {
                if is_punct(&skipped, ';') || is_group(&skipped, Delimiter::Brace) {
                    break;
                }
            }
        } else {
            kept.push(token);
        }
    }
    kept
}

fn is_test_attribute(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let text = group.stream().to_string();
    text.starts_with("cfg") && text.contains("test") && !text.contains("not")
}

fn is_punct(token: &TokenTree, what: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == what)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

fn is_ident(token: &TokenTree, what: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == what)
}

/// Every name a file reaches from the crate root: behind `crate::`, or behind as many `super::` as
/// the file lies deep (`depth` 1 is a module of `lib.rs`).
pub fn root_names(tokens: &[TokenTree], depth: usize) -> Vec<RootName> {
    let mut names = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            names.extend(root_names(&inner, depth));
        }
        let behind_path = index >= 2 && is_punct(&tokens[index - 1], ':');
        let rest = &tokens[index..];
        let root_ends = match token {
            _ if behind_path => None,
            _ if is_ident(token, "crate") => Some(1),
            _ if is_ident(token, "super") => supers(rest, depth),
            _ => None,
        };
        if let Some(end) = root_ends {
            first_names(&rest[end..], &mut names);
        }
    }
    names
}

/// How many tokens `super::super` takes when it reaches the root from `depth`.
fn supers(tokens: &[TokenTree], depth: usize) -> Option<usize> {
    let is_super = |nth: usize| {
        tokens
            .get(nth * 3)
            .is_some_and(|token| is_ident(token, "super"))
    };
    (depth > 0 && (0..depth).all(is_super) && !is_super(depth)).then(|| depth * 3 - 2)
}

/// The names behind `::`: one, or those of a `{…}` group.
fn first_names(tokens: &[TokenTree], names: &mut Vec<RootName>) {
    let [colon, second_colon, next, ..] = tokens else {
        return;
    };
    if !is_punct(colon, ':') || !is_punct(second_colon, ':') {
        return;
    }
    match next {
        TokenTree::Ident(ident) => names.push(root_name(ident)),
        TokenTree::Group(group) => names.extend(heads_of(group)),
        _ => {}
    }
}

/// The first name of each comma-separated entry of a use group.
pub fn heads_of(group: &Group) -> Vec<RootName> {
    let mut heads = Vec::new();
    let mut at_start = true;
    for token in group.stream() {
        if let (true, TokenTree::Ident(ident)) = (at_start, &token) {
            heads.push(root_name(ident));
        }
        at_start = is_punct(&token, ',');
    }
    heads
}

fn root_name(ident: &proc_macro2::Ident) -> RootName {
    RootName {
        name: ident.to_string(),
        line: ident.span().start().line,
    }
}

/// A string of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What stands between its quotes, escapes as they are written.
    pub text: String,
    /// The line it begins on, from 1.
    pub line: usize,
}

/// Every string of a file, but for those of attributes, doc comments among them.
pub fn strings(tokens: &[TokenTree]) -> Vec<Text> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let before = |back: usize| index.checked_sub(back).map(|at| &tokens[at]);
                let behind = |back, what| before(back).is_some_and(|token| is_punct(token, what));
                let inner = behind(1, '!') && behind(2, '#');
                let attribute = group.delimiter() == Delimiter::Bracket;
                if !(attribute && (behind(1, '#') || inner)) {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    found.extend(strings(&inner));
                }
            }
            TokenTree::Literal(literal) => {
                let written = literal.to_string();
                let text = written
                    .split_once('"')
                    .and_then(|(_, rest)| rest.rsplit_once('"'));
                found.extend(text.map(|(text, _)| Text {
                    text: text.to_owned(),
                    line: literal.span().start().line,
                }));
            }
            _ => {}
        }
    }
    found
}

/// Every function of a file, nested ones too.
pub fn functions(tokens: &[TokenTree]) -> Vec<Function> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if is_ident(token, "fn")
            && let Some(TokenTree::Ident(name)) = tokens.get(index + 1)
            && let Some(body) = body_behind(&tokens[index..])
        {
            let inner: Vec<TokenTree> = body.stream().into_iter().collect();
            found.push(Function {
                name: name.to_string(),
                line: name.span().start().line,
                lines: lines_of(body),
                longest_match_lines: longest_match(&inner),
            });
        }
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            found.extend(functions(&inner));
        }
    }
    found
}

/// The body of the function that `tokens` start with; a declaration has none.
fn body_behind(tokens: &[TokenTree]) -> Option<&Group> {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return Some(group),
            token if is_punct(token, ';') => return None,
            _ => {}
        }
    }
    None
}

fn longest_match(tokens: &[TokenTree]) -> usize {
    let mut longest = 0;
    let mut in_head = false;
    for token in tokens {
        in_head |= is_ident(token, "match");
        let TokenTree::Group(group) = token else {
            continue;
        };
        if in_head && group.delimiter() == Delimiter::Brace {
            longest = longest.max(lines_of(group));
            in_head = false;
        }
        longest = longest.max(longest_match(
            &group.stream().into_iter().collect::<Vec<_>>(),
        ));
    }
    longest
}

fn lines_of(group: &Group) -> usize {
    group
        .span_close()
        .end()
        .line
        .saturating_sub(group.span_open().start().line)
        + 1
}

#[cfg(test)]
mod tests;
