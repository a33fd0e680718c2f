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
}
