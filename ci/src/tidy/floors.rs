//! The floors of a module: the order in which its file lists the modules below it.
//!
//! In: the files of the repository, and those whose modules are layered as a crate's are. Out: a
//! complaint for each name that a module takes from one listed behind its own, for each item of the
//! listing file itself, and for each function called that is only defined behind it. Methods count
//! by name: types of the first floor get theirs on all floors, and no path tells from where.

use std::collections::HashMap;

use proc_macro2::TokenTree;

use super::Complaint;
use super::layering::Layers;
use crate::source_tree::SourceFile;
use crate::tokens;

/// A file of the crate: its tokens, and its place among the modules of the parent.
struct Part<'f> {
    file: &'f SourceFile,
    tokens: Vec<TokenTree>,
    /// The path below the parent's folder without its ending; empty when it lies elsewhere.
    inner: String,
}

impl Part<'_> {
    fn module(&self) -> &str {
        self.inner.split('/').next().unwrap_or_default()
    }

    fn depth(&self) -> usize {
        self.inner.split('/').count()
    }
}

/// The complaints about the modules of each parent, named by the path of its file.
pub fn check(files: &[SourceFile], parents: &[String]) -> Vec<Complaint> {
    let find = |parent: &String| files.iter().find(|file| file.path == *parent);
    let mut complaints = Vec::new();
    for parent in parents {
        match find(parent).map(|file| check_parent(files, file)) {
            Some(found) => complaints.extend(found),
            None => complaints.push(Complaint {
                path: parent.clone(),
                line: 1,
                message: "no such file: its modules cannot be layered".to_owned(),
            }),
        }
    }
    complaints
}

fn check_parent(files: &[SourceFile], parent: &SourceFile) -> Vec<Complaint> {
    let stem = parent.path.trim_end_matches(".rs");
    let Some((before, below)) = stem.rsplit_once("src/") else {
        return vec![Complaint::new(parent, 1, "lies in no `src/`")];
    };
    let source = format!("{before}src/");
    let path: Vec<&str> = below.split('/').collect();
    let folder = format!("{stem}/");
    let mut parts = Vec::new();
    let mut complaints = Vec::new();
    let of_crate = |file: &&SourceFile| file.path.starts_with(&source) && file.ends_in("rs");
    for file in files.iter().filter(of_crate).filter(|file| !file.is_test()) {
        let inner = file.path.strip_prefix(&folder).unwrap_or_default();
        let inner = inner.trim_end_matches(".rs").to_owned();
        match tokens::parse(&file.text) {
            Ok(tokens) => parts.push(Part {
                file,
                tokens,
                inner,
            }),
            Err(error) => complaints.push(Complaint::new(file, 1, format!("not Rust: {error}"))),
        }
    }
    let own = parts.iter().find(|part| part.file.path == parent.path);
    let layers = own.map(|part| Layers::read(&part.tokens));
    let layers = layers.unwrap_or_default();
    let defined = definitions(&parts, parent, &layers);
    for part in parts.iter().filter(|part| !part.inner.is_empty()) {
        complaints.extend(check_part(part, &path, &layers, &defined));
    }
    complaints
}

/// The first place that defines a function, by name: 0 outside of the parent's folder, then its
/// modules in their order, at last the parent's own file.
fn definitions(parts: &[Part<'_>], parent: &SourceFile, layers: &Layers) -> HashMap<String, usize> {
    let mut first = HashMap::new();
    for part in parts {
        let place = match layers.place(part.module()) {
            _ if part.file.path == parent.path => usize::MAX,
            _ if part.inner.is_empty() => 0,
            place => place.map_or(0, |place| place + 1),
        };
        for function in tokens::functions(&part.tokens) {
            let known = first.entry(function.name).or_insert(place);
            *known = place.min(*known);
        }
    }
    first
}

fn check_part(
    part: &Part<'_>,
    path: &[&str],
    layers: &Layers,
    defined: &HashMap<String, usize>,
) -> Vec<Complaint> {
    let module = part.module();
    let parent = path.join("::");
    let complaint = |line: usize, message: String| Complaint::new(part.file, line, message);
    let Some(own) = layers.place(module) else {
        return vec![complaint(
            1,
            format!("`{parent}` lists no module `{module}`"),
        )];
    };
    let mut complaints = Vec::new();
    for used in tokens::names_below(&part.tokens, path, part.depth()) {
        let name = used.name;
        match layers.place(&name) {
            Some(place) if place <= own => {}
            Some(_) => complaints.push(complaint(
                used.line,
                format!("`{module}` uses `{name}`, which `{parent}` lists below it"),
            )),
            None => complaints.push(complaint(
                used.line,
                format!("`{module}` uses `{name}` of `{parent}`, which stands on it"),
            )),
        }
    }
    for called in tokens::calls(&part.tokens) {
        let name = called.name;
        if defined.get(&name).is_some_and(|place| *place > own + 1) {
            complaints.push(complaint(
                called.line,
                format!("`{module}` calls `{name}`, which is only defined below it in `{parent}`"),
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests;
