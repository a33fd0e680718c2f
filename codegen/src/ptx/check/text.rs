//! The check of the PTX text.

use crate::arch::Arch;
use crate::ir::program::Program;

/// Checks that the text holds exactly the kernel.
pub(in crate::ptx) fn check_text(
    text: &str,
    program: &Program,
    arch: &Arch,
    version: u32,
) -> Result<(), String> {
    let entry = format!(".visible .entry {}(", program.entry);
    let version = format!(".version {}.{}", version / 10, version % 10);
    for line in [version, format!(".target {}", arch.name)] {
        if !text.lines().any(|known| known == line) {
            return Err(format!("the text lacks the line {line:?}"));
        }
    }
    if text.matches(".entry").count() != 1 || !text.contains(&entry) {
        return Err(format!("the text has other entries than {}", program.entry));
    }
    let words = |line: &str| {
        line.split([' ', '\t', '.', ';', '('])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    match text.lines().find(|line| {
        words(line)
            .iter()
            .any(|word| matches!(&word[..], "local" | "call" | "func"))
    }) {
        Some(line) => Err(format!(
            "the text uses local memory or a call: {:?}",
            line.trim()
        )),
        None => Ok(()),
    }
}
