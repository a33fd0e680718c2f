//! The layering of a crate: the order in which its root file lists the modules.
//!
//! In: the files of the repository. Out: a complaint for each name that a module takes from a
//! module listed below its own. A name that the root re-exports counts as one of the module it
//! comes from.

use std::collections::HashMap;

use proc_macro2::{Delimiter, TokenTree};

use super::Complaint;
use crate::source_tree::SourceFile;
use crate::tokens::{self, RootName};

/// The modules of one crate in their order, and where the names come from that its root re-exports.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Layers {
    modules: Vec<String>,
    reexports: HashMap<String, String>,
}

impl Layers {
    /// The layers that a root file (`lib.rs` or `main.rs`) lists.
    pub fn read(root: &[TokenTree]) -> Layers {
        let mut layers = Layers::default();
        for (index, token) in root.iter().enumerate() {
            let (TokenTree::Ident(word), rest) = (token, &root[index + 1..]) else {
                continue;
            };
            match (word.to_string().as_str(), rest) {
                ("mod", [TokenTree::Ident(name), ..]) => layers.modules.push(name.to_string()),
                ("use", [TokenTree::Ident(from), ..]) => layers.reexport(&from.to_string(), rest),
                _ => {}
            }
        }
        layers
    }

    /// Notes the names of `use from::…;`. Of a path, the last name is the one that is brought in.
    fn reexport(&mut self, from: &str, tokens: &[TokenTree]) {
        let statement = tokens.iter().take_while(|token| token.to_string() != ";");
        let mut last = None;
        for token in statement {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    for RootName { name, .. } in tokens::heads_of(group) {
                        self.reexports.insert(name, from.to_owned());
                    }
                    return;
                }
                TokenTree::Ident(ident) => last = Some(ident.to_string()),
                _ => {}
            }
        }
        self.reexports
            .extend(last.map(|name| (name, from.to_owned())));
    }

    /// The place in the order of a module, or of the module a root name comes from.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let find = |wanted: &str| self.modules.iter().position(|module| module == wanted);
        find(name).or_else(|| find(self.reexports.get(name)?))
    }
}

/// The complaints about every crate of the repository.
pub fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let roots = files.iter().filter_map(|file| {
        let source = file
            .path
            .strip_suffix("lib.rs")
            .or(file.path.strip_suffix("main.rs"))?;
        source.ends_with("src/").then_some((file, source))
    });
    let mut complaints = Vec::new();
    for (root, source) in roots {
        match tokens::parse(&root.text) {
            Ok(tokens) => {
                let layers = Layers::read(&tokens);
                let modules = files
                    .iter()
                    .filter(|file| file.path != root.path && file.ends_in("rs") && !file.is_test());
                for file in modules {
                    match file.path.strip_prefix(source) {
                        // Each file of `bin/` is the root of a crate of its own.
                        Some(inner) if !inner.starts_with("bin/") => {
                            complaints.extend(check_module(&layers, file, inner));
                        }
                        _ => {}
                    }
                }
            }
            Err(error) => complaints.push(Complaint::new(root, 1, format!("not Rust: {error}"))),
        }
    }
    complaints
}

/// The complaints about one file; `inner` is its path below the crate's `src/`.
fn check_module(layers: &Layers, file: &SourceFile, inner: &str) -> Vec<Complaint> {
    let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
    let depth = inner.split('/').count();
    let module = inner.split('/').next().unwrap_or(inner);
    let Some(own) = layers.place(module) else {
        let message = format!("the crate's root file lists no module `{module}`");
        return vec![Complaint::new(file, 1, message)];
    };
    let tokens = match tokens::parse(&file.text) {
        Ok(tokens) => tokens,
        Err(error) => return vec![Complaint::new(file, 1, format!("not Rust: {error}"))],
    };
    tokens::root_names(&tokens, depth)
        .into_iter()
        .filter(|used| layers.place(&used.name).is_some_and(|place| place > own))
        .map(|used| {
            let name = used.name;
            let message = format!("`{module}` uses `{name}`, which is listed below it");
            Complaint::new(file, used.line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests;
