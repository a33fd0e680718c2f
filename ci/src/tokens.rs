//! Rust source as tokens: what is left when comments, strings' insides and test modules are gone.
//!
//! In: the text of a `.rs` file. Out: the paths it names from the crate root or a module, the
//! functions it calls, and the lengths of its own. Only `proc-macro2` is needed; nothing is
//! resolved, so a path through a macro counts as written.

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// A name reached from the crate root, as `error` in `crate::error::Error`, or from a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootName {
    /// The first name behind `crate::`, or behind the module.
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

/// Whether a token is the name of a type, by its first letter.
fn is_type(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string().starts_with(char::is_uppercase))
}

/// Every name a file reaches from the crate root: behind `crate::`, or behind as many `super::` as
/// the file lies deep (`depth` 1 is a module of `lib.rs`).
pub fn root_names(tokens: &[TokenTree], depth: usize) -> Vec<RootName> {
    names_below(tokens, &[], depth)
}

/// Every name a file reaches from the module at `path`, which stands `depth` above it. What is
/// reached without a name is `self`, or `*` for all of it.
pub fn names_below(tokens: &[TokenTree], path: &[&str], depth: usize) -> Vec<RootName> {
    let mut names = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            names.extend(names_below(&inner, path, depth));
        }
        let behind_path =
            index >= 2 && is_punct(&tokens[index - 1], ':') && is_punct(&tokens[index - 2], ':');
        let rest = &tokens[index..];
        let reached = match token {
            _ if behind_path => None,
            _ if is_ident(token, "crate") => Some((1, path)),
            _ if is_ident(token, "super") => supers(rest, path, depth),
            _ => None,
        };
        if let Some((end, path)) = reached {
            first_names(&rest[end..], path, &mut names);
        }
    }
    names
}

/// How many tokens `super::super` takes, and what of `path` is still to come behind it.
fn supers<'p>(
    tokens: &[TokenTree],
    path: &'p [&'p str],
    depth: usize,
) -> Option<(usize, &'p [&'p str])> {
    let is_super = |nth: usize| {
        tokens
            .get(nth * 3)
            .is_some_and(|token| is_ident(token, "super"))
    };
    let count = (0..).take_while(|nth| is_super(*nth)).count();
    let above = count.checked_sub(depth).filter(|_| depth > 0)?;
    let from = path.len().checked_sub(above)?;
    Some((count * 3 - 2, path.get(from..)?))
}

/// The names behind `::` and `path`: one, or those of a `{…}` group.
fn first_names(tokens: &[TokenTree], path: &[&str], names: &mut Vec<RootName>) {
    let [colon, second_colon, next, rest @ ..] = tokens else {
        return;
    };
    if !is_punct(colon, ':') || !is_punct(second_colon, ':') {
        return;
    }
    match (path.split_first(), next) {
        (None, TokenTree::Ident(ident)) => names.push(root_name(ident)),
        (None, TokenTree::Group(group)) => names.extend(heads_of(group)),
        (None, TokenTree::Punct(star)) => names.push(RootName {
            name: star.to_string(),
            line: star.span().start().line,
        }),
        (Some((first, path)), TokenTree::Ident(ident)) if ident == first => {
            follow(ident, rest, path, names);
        }
        (Some((first, path)), TokenTree::Group(group)) => {
            let entries: Vec<TokenTree> = group.stream().into_iter().collect();
            for entry in entries.split(|token| is_punct(token, ',')) {
                if let [TokenTree::Ident(ident), rest @ ..] = entry
                    && ident == first
                {
                    follow(ident, rest, path, names);
                }
            }
        }
        _ => {}
    }
}

/// The names behind a module of the path; the module as a whole when none follows.
fn follow(
    module: &proc_macro2::Ident,
    rest: &[TokenTree],
    path: &[&str],
    names: &mut Vec<RootName>,
) {
    if rest.first().is_some_and(|token| is_punct(token, ':')) {
        first_names(rest, path, names);
    } else if path.is_empty() {
        names.push(RootName {
            name: "self".to_owned(),
            ..root_name(module)
        });
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

/// Every function that a file calls by `.name(…)` or `Type::name(…)`.
pub fn calls(tokens: &[TokenTree]) -> Vec<RootName> {
    let mut names = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            names.extend(calls(&inner));
        }
        let before = index.checked_sub(1).and_then(|index| tokens.get(index));
        let of_value = before.is_some_and(|token| is_punct(token, '.'));
        let of_type = before.is_some_and(|token| is_punct(token, ':'))
            && index
                .checked_sub(3)
                .is_some_and(|index| is_type(&tokens[index]));
        let called = match &tokens[index + 1..] {
            [next, ..] if is_group(next, Delimiter::Parenthesis) => true,
            [first, second, third, ..] => {
                is_punct(first, ':') && is_punct(second, ':') && is_punct(third, '<')
            }
            _ => false,
        };
        match token {
            TokenTree::Ident(ident) if called && (of_value || of_type) => {
                names.push(root_name(ident))
            }
            _ => {}
        }
    }
    names
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
