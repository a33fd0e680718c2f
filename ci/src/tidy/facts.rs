//! Facts are data: the code of the generator names no instruction.
//!
//! In: a [`SourceFile`] and the ids of the catalogue of atoms. Out: its complaints.

use super::Complaint;
use crate::source_tree::SourceFile;
use crate::tokens;

/// Atoms are found by what they do. A string, or what stands before its first hole, is an id when
/// it begins one and says more than an architecture.
pub fn instruction_ids(file: &SourceFile, ids: &[&str]) -> Vec<Complaint> {
    let of_the_generator = file.path.starts_with("codegen/src/") && file.ends_in("rs");
    if !of_the_generator || file.is_test() {
        return Vec::new();
    }
    let tokens = match tokens::parse(&file.text) {
        Ok(tokens) => tokens,
        Err(error) => return vec![Complaint::new(file, 1, format!("not Rust: {error}"))],
    };
    let is_id = |text: &str| {
        let start = text.split('{').next().unwrap_or_default();
        let behind_arch = start
            .split_once('_')
            .is_some_and(|(_, rest)| !rest.is_empty());
        behind_arch && ids.iter().any(|id| id.starts_with(start))
    };
    let named = tokens::strings(&tokens).into_iter();
    named
        .filter(|string| is_id(&string.text))
        .map(|string| {
            let message = format!("`{}` names an atom: find it by what it does", string.text);
            Complaint::new(file, string.line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<(usize, String)> {
        let ids = ["sm90_mbarrier_wait", "sm70_partial_add"];
        let complaints = instruction_ids(&SourceFile::new(path, text), &ids);
        let lines = complaints.into_iter();
        lines.map(|one| (one.line, one.message)).collect()
    }

    #[test]
    fn ids_and_beginnings_of_ids_are_found() {
        let text = "/// Such as `sm90_mbarrier_wait`.\n\
                    fn f() { g(\"sm90_mbarrier_wait\", \"sm_90a\", \"sm90_\", \"\") }\n\
                    fn h() { format!(\"sm70_partial_{count}\"); format!(\"{n}_wait\") }\n\
                    #[cfg(test)]\nmod tests { const ID: &str = \"sm70_partial_add\"; }\n";
        assert_eq!(
            complaints("codegen/src/lower/roles.rs", text),
            [
                (
                    2,
                    "`sm90_mbarrier_wait` names an atom: find it by what it does".to_owned()
                ),
                (
                    3,
                    "`sm70_partial_{count}` names an atom: find it by what it does".to_owned()
                ),
            ]
        );
        assert_eq!(complaints("codegen/src/lower/tests.rs", text), []);
        assert_eq!(complaints("codegen/cli/src/main.rs", text), []);
    }
}
