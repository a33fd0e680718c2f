//! The check of the PTX text: one kernel, nothing foreign, nothing that ptxas computes otherwise.

use super::constants;
use crate::arch::Arch;
use crate::ir::thread::program::Program;

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
    if let Some(line) = text.lines().find(|line| is_foreign(line)) {
        return Err(format!(
            "the text uses local memory or a call: {:?}",
            line.trim()
        ));
    }
    match constants::folded(text) {
        Some(line) => Err(format!(
            "the operand of {line:?} is constant: ptxas computes the correctly rounded result, \
             which is not always the GPU's; write the result itself"
        )),
        None => Ok(()),
    }
}

/// Whether a line declares or touches local memory, declares a function, or calls one.
fn is_foreign(line: &str) -> bool {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with('@'));
    let first = words.next().unwrap_or_default();
    if first.starts_with('.') {
        return [Some(first), words.next()]
            .into_iter()
            .flatten()
            .any(|word| word == ".local" || word == ".func");
    }
    let mut parts = first.trim_end_matches(';').split('.');
    parts.next() == Some("call") || parts.any(|part| part == "local")
}

#[cfg(test)]
mod tests {
    use super::is_foreign;

    #[test]
    fn foreign_lines_are_told_apart() {
        for line in [
            "\t.local .align 8 .b8 \t__local_depot0[16];",
            "\tst.local.b32 \t[%rd1], %r1;",
            "\t@%p1 ld.local.v2.b32 \t{%r1, %r2}, [%rd1];",
            "\tcall.uni (retval0), f, (param0);",
            ".visible .func f(",
            ".extern .func (.param .b32 r) g",
        ] {
            assert!(is_foreign(line), "{line}");
        }
        for line in [
            ".visible .entry local(",
            "call:",
            "\tld.global.b32 \t%r1, [call];",
            "",
        ] {
            assert!(!is_foreign(line), "{line}");
        }
    }
}
