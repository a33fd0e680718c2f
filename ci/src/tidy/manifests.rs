//! Rules about `Cargo.toml` files: shared lints, and a reason beside each external crate.
//!
//! In: the manifest as text. Out: its complaints. Only the forms this workspace writes are read:
//! a section head on its own line, a dependency per line.

use super::Complaint;
use crate::source_tree::SourceFile;

/// Every member takes the lints of the workspace; a crate with a workspace of its own is no member.
pub fn lints(file: &SourceFile) -> Vec<Complaint> {
    let is_member = file.text.contains("[package]") && !file.text.contains("[workspace]");
    if !is_member || file.text.contains("[lints]\nworkspace = true\n") {
        return Vec::new();
    }
    vec![Complaint::new(
        file,
        1,
        "take the shared lints: `[lints]` with `workspace = true`",
    )]
}

/// Every external dependency has its reason: a comment behind it, or on the line above, which then
/// counts for all lines up to the next blank one.
pub fn reasons(file: &SourceFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut in_dependencies = false;
    let mut has_reason = false;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]") && !line.starts_with("[workspace");
            has_reason = false;
        } else if line.is_empty() {
            has_reason = false;
        } else if line.starts_with('#') {
            has_reason = true;
        } else if in_dependencies && !has_reason && !line.contains('#') {
            let name = line.split(['.', ' ', '=']).next().unwrap_or(line);
            if !name.starts_with("tilewright") {
                let message = format!("say beside `{name}` why it is needed");
                complaints.push(Complaint::new(file, index + 1, message));
            }
        }
    }
    complaints
}

/// Files that a source file includes lie in its package, or it does not build when it is published.
pub fn included(file: &SourceFile, packages: &[&str]) -> Vec<Complaint> {
    let own = |package: &&&str| file.path.starts_with(&format!("{package}/"));
    let Some(package) = packages.iter().filter(own).max_by_key(|one| one.len()) else {
        return Vec::new();
    };
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let included = ["include_str!", "include_bytes!"].into_iter();
        let mut tails = included.filter_map(|name| line.split_once(name).map(|(_, tail)| tail));
        let path = tails.find_map(|tail| tail.split('"').nth(1));
        let Some(path) = path.filter(|path| path.starts_with("../")) else {
            continue;
        };
        let up = path.split('/').take_while(|part| *part == "..").count();
        let parts: Vec<&str> = folder.split('/').collect();
        let above = parts.len().saturating_sub(up);
        if above < package.split('/').count() {
            let message = format!("{path:?} lies outside of the package {package}");
            complaints.push(Complaint::new(file, index + 1, message));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> SourceFile {
        SourceFile::new("runtime/Cargo.toml", text)
    }

    #[test]
    fn a_package_takes_the_shared_lints() {
        assert_eq!(
            lints(&manifest("[package]\n[lints]\nworkspace = true\n")),
            []
        );
        assert_eq!(lints(&manifest("[package]\n")).len(), 1);
        assert_eq!(lints(&manifest("[workspace]\n")), []);
        assert_eq!(lints(&manifest("[package]\n[workspace]\n")), []);
    }

    #[test]
    fn an_external_crate_needs_a_reason() {
        let head = "[dependencies]\ntilewright-bundle.workspace = true\n";
        let with = |lines: &str| reasons(&manifest(&format!("{head}{lines}")));
        assert_eq!(with("half.workspace = true # f16 and bf16\n"), []);
        assert_eq!(
            with("# problems and inputs\nrand.workspace = true\nrand_distr = \"0.6\"\n"),
            []
        );
        assert_eq!(
            with("half.workspace = true\n")[0].message,
            "say beside `half` why it is needed"
        );
        assert_eq!(with("# one\nrand = \"1\"\n\nhalf = \"2\"\n").len(), 1);
        assert_eq!(
            reasons(&manifest("[workspace.dependencies]\nhalf = \"2\"\n")),
            []
        );
    }

    #[test]
    fn what_is_included_lies_in_the_package() {
        let source = |path: &str, included: &str| {
            let file = SourceFile::new(path, format!("x\nconst A: &str = {included};\n"));
            included_lines(&file)
        };
        let included_str = |path: &str| format!("include_str!({path:?})");
        assert_eq!(
            source("codegen/src/a.rs", &included_str("../docs/a.svg")),
            0
        );
        assert_eq!(
            source("codegen/src/a.rs", &included_str("../../specs/a.yaml")),
            1
        );
        assert_eq!(
            source("codegen/layout/src/b/a.rs", &included_str("../../a.txt")),
            0
        );
        assert_eq!(
            source("codegen/layout/src/b/a.rs", &included_str("../../../a.txt")),
            1
        );
        let joined = "include_str!(concat!(\"../../ptx/\", $name))";
        assert_eq!(source("templates/src/lib.rs", joined), 1);
        assert_eq!(source("elsewhere/a.rs", joined), 0);
    }

    fn included_lines(file: &SourceFile) -> usize {
        included(file, &["codegen", "codegen/layout", "templates"]).len()
    }
}
