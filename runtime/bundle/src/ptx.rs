//! What a PTX file says of itself.

use std::collections::BTreeSet;

use crate::code::PtxFile;
use crate::manifest::Kernel;

/// The version and target a PTX states, after checking that it is text and declares every entry
/// that a kernel launches.
pub(crate) fn header(ptx: &[u8], kernel: &Kernel) -> Result<PtxFile, String> {
    let text = std::str::from_utf8(ptx).map_err(|_| "the PTX is not UTF-8".to_owned())?;
    if text.contains('\0') {
        return Err("the PTX contains a NUL byte".to_owned());
    }
    let directive = |name: &str| {
        let mut lines = text.lines().map(str::trim);
        let value = lines.find_map(|line| {
            line.strip_prefix(name)?
                .split([',', ' ', '\t', '/'])
                .find(|word| !word.is_empty())
        });
        value
            .map(str::to_owned)
            .ok_or_else(|| format!("the PTX has no {name} line"))
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let declared: BTreeSet<&str> = text
        .match_indices(".entry")
        .filter_map(|(at, found)| {
            let name = text[at + found.len()..].trim_start();
            name.split(|c: char| !is_of_name(c)).next()
        })
        .collect();
    let mut entries = kernel.launches.iter().map(|launch| launch.entry.as_str());
    if let Some(entry) = entries.find(|entry| !declared.contains(entry)) {
        return Err(format!("the PTX declares no .entry {entry}"));
    }
    Ok(PtxFile {
        version: directive(".version")?,
        target: directive(".target")?,
        ..PtxFile::default()
    })
}
