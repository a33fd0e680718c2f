//! What any bundle may hold, wherever its files lie: names and sizes.

/// The name of the manifest in every bundle.
pub(crate) const MANIFEST: &str = "manifest.json";
/// Largest manifest: an entry of a shipped kernel has some 6 KB, so this is over 20,000 of them.
/// Opened, it takes about four times its size of memory.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 128 << 20;
/// Largest PTX or cubin.
pub(crate) const MAX_FILE_BYTES: u64 = 64 << 20;
/// Largest archive: sizes and places are of 32 bits, and the largest of them means zip64.
pub(crate) const MAX_ARCHIVE_BYTES: u64 = u32::MAX as u64 - 1;
/// Largest sum of the files.
pub(crate) const MAX_TOTAL_BYTES: u64 = 4 << 30;
/// Longest path of a file.
const MAX_PATH_BYTES: usize = 240;

/// Whether `path` stays below the folder it is joined to on every system: components of letters,
/// digits and `_ - . @ +`, none starting with a dot.
pub(crate) fn safe_path(path: &str) -> Result<(), String> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        let n = path.len();
        return Err(format!(
            "the path has {n} bytes; 1 to {MAX_PATH_BYTES} are allowed"
        ));
    }
    for component in path.split('/') {
        if component.is_empty() || component.starts_with('.') || component.ends_with('.') {
            return Err(format!("the path component {component:?} is not allowed"));
        }
        if let Some(c) = component.chars().find(|c| !is_safe(*c)) {
            return Err(format!("the character {c:?} is not allowed in a path"));
        }
    }
    Ok(())
}

/// Characters of ids and path components.
pub(crate) fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+')
}
