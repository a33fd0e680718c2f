//! Versions of PTX that there are, by the release history of its document.

/// The last minor version of each major one.
const LAST_MINORS: [(u32, u32); 9] = [
    (1, 5),
    (2, 3),
    (3, 2),
    (4, 3),
    (5, 0),
    (6, 5),
    (7, 8),
    (8, 8),
    (9, 4),
];

/// Major and minor version.
pub(super) fn version(text: &str) -> Result<(u32, u32), String> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let part = |text: &str| text.parse().map_err(|_| format!("bad .version {text}"));
    let (major, minor) = (part(major)?, part(minor)?);
    let known = LAST_MINORS
        .iter()
        .any(|last| last.0 == major && minor <= last.1);
    if known {
        return Ok((major, minor));
    }
    Err(format!("unsupported .version {text}: there are 1.0 to 9.4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_releases_pass_and_others_are_named() {
        assert_eq!((version("8.7"), version("6.0")), (Ok((8, 7)), Ok((6, 0))));
        for wrong in ["99.9", "8.9", "0.1", "8.x", "4294967296.0"] {
            assert!(version(wrong).is_err(), "{wrong}");
        }
    }
}
