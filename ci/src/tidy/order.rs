//! The order of the modules inside a crate: each file that lists modules lists them in layering
//! order, as the crate's root does.
//!
//! In: the files of the repository. Out: a complaint for each name that a module takes from one
//! listed behind its own, beside it.

use std::collections::HashMap;

use proc_macro2::TokenTree;

use super::Complaint;
use super::layering::Layers;
use crate::source_tree::SourceFile;
use crate::tokens;

/// A file with its tokens and its module's path below the crate's `src/`.
struct Module<'f> {
    file: &'f SourceFile,
    tokens: Vec<TokenTree>,
    path: Vec<String>,
}

/// The complaints about all files that list modules.
pub fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let (crates, mut complaints) = crates(files);
    for modules in crates.values() {
        let parents = modules.iter().filter(|module| !module.path.is_empty());
        complaints.extend(parents.flat_map(|parent| check_parent(modules, parent)));
    }
    complaints
}

/// The modules of each crate, by its `src/`; and what is no Rust.
fn crates(files: &[SourceFile]) -> (HashMap<&str, Vec<Module<'_>>>, Vec<Complaint>) {
    let mut crates: HashMap<&str, Vec<Module<'_>>> = HashMap::new();
    let mut complaints = Vec::new();
    let sources = files
        .iter()
        .filter(|file| file.ends_in("rs") && !file.is_test());
    for file in sources {
        let Some((source, inner)) = file.path.split_once("src/") else {
            continue;
        };
        // Each file of `bin/` is the root of a crate of its own.
        if inner.starts_with("bin/") {
            continue;
        }
        let inner = inner.trim_end_matches(".rs");
        let inner = inner.strip_suffix("/mod").unwrap_or(inner);
        let path = match inner {
            "lib" | "main" => Vec::new(),
            inner => inner.split('/').map(str::to_owned).collect(),
        };
        match tokens::parse(&file.text) {
            Ok(tokens) => crates
                .entry(source)
                .or_default()
                .push(Module { file, tokens, path }),
            Err(error) => complaints.push(Complaint::new(file, 1, format!("not Rust: {error}"))),
        }
    }
    (crates, complaints)
}

fn check_parent(modules: &[Module<'_>], parent: &Module<'_>) -> Vec<Complaint> {
    let layers = Layers::read(&parent.tokens);
    let path: Vec<&str> = parent.path.iter().map(String::as_str).collect();
    let below = modules.iter().filter_map(|module| {
        let inner = module.path.strip_prefix(parent.path.as_slice())?;
        Some((module, inner.first()?, inner.len()))
    });
    let mut complaints = Vec::new();
    for (module, name, depth) in below {
        let Some(own) = layers.place(name) else {
            continue;
        };
        let used = tokens::names_below(&module.tokens, &path, depth).into_iter();
        let behind = used.filter(|used| layers.place(&used.name).is_some_and(|at| at > own));
        complaints.extend(behind.map(|used| {
            let (parent, used_name) = (path.join("::"), used.name);
            let message = format!("`{name}` uses `{used_name}`, which `{parent}` lists below it");
            Complaint::new(module.file, used.line, message)
        }));
    }
    complaints
}

#[cfg(test)]
mod tests;
