//! Formulas in files: a signature, a line for each name, then `compute:` and the formula.
//!
//! `a: bf16 (m,k)` is an operand, `alpha: f32` a scalar, `p = 2` a mode of constant extent,
//! `m in g by starts t` a ragged one.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_formula::{
    Accumulation, DType, Mode, ModeExtent, Operand, Ragged, RaggedBy, Scalar, Signature,
};

/// A folder of the repository.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// Files of a folder with that extension, sorted.
pub fn files(name: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}

/// The signature and the formula of a text.
pub fn read(text: &str) -> (Signature, String) {
    let (head, formula) = text.split_once("compute:\n").unwrap();
    let mut signature = Signature::default();
    for line in head
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        line_of(line, &mut signature);
    }
    (signature, formula.to_owned())
}

fn line_of(line: &str, signature: &mut Signature) {
    if line == "accumulation: fast" {
        signature.accumulation = Accumulation::Fast;
        return;
    }
    if let Some((name, rest)) = line.split_once(": ") {
        let (dtype, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let dtype = DType::from_text(dtype).unwrap();
        let Some((axes, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'))
        else {
            let name = name.to_owned();
            signature.scalars.push(Scalar { name, dtype });
            return;
        };
        let axes: Vec<&str> = axes.split(',').filter(|axis| !axis.is_empty()).collect();
        let mut operand = Operand::new(name, dtype, &axes);
        let after = after.trim();
        operand.packed = after
            .strip_prefix("packed")
            .map(|order| order.trim().to_owned());
        operand.over = after.strip_prefix("over ").map(str::to_owned);
        signature.operands.push(operand);
        return;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, extent) = match words[..] {
        [name, "=", extent] => (name, ModeExtent::Constant(extent.parse().unwrap())),
        [name, "in", group, "by", by, table] => {
            let by = RaggedBy::ALL
                .into_iter()
                .find(|one| one.text() == by)
                .unwrap();
            let (group, table) = (group.to_owned(), table.to_owned());
            (name, ModeExtent::Ragged(Ragged { group, by, table }))
        }
        _ => panic!("{line:?} is no line of a signature"),
    };
    let name = name.to_owned();
    signature.modes.push(Mode { name, extent });
}

/// Compares a text with a golden file, or writes it when `BLESS=1`. Says what differs.
pub fn golden(file: &Path, actual: &str) -> Option<String> {
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(file, actual).unwrap();
        return None;
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    (expected != actual).then(|| {
        format!(
            "{}\n--- recorded\n{expected}--- now\n{actual}",
            file.display()
        )
    })
}
