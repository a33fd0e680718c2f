//! Versions of PTX that there are, by the release history of its document.

use crate::module::Module;

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

/// The last minor version that is read of the last major one: what is new in those behind the last
/// known one is refused where it stands, and the rest means what it did.
const LAST_READ: u32 = 9;

/// The last major version, and its last minor one that is known.
const LAST: (u32, u32) = LAST_MINORS[LAST_MINORS.len() - 1];

impl Module {
    /// What is to be said of a text of a release that is newer than those known here: none of
    /// others.
    pub fn newer_release(&self) -> Option<String> {
        newer_release(self.version())
    }
}

/// What is to be said of a version that is newer than those known.
fn newer_release(version: (u32, u32)) -> Option<String> {
    let ((major, minor), (last_major, last_minor)) = (version, LAST);
    (version > LAST).then(|| {
        format!(
            "note: .version {major}.{minor} is newer than {last_major}.{last_minor}, the last \
             release known here: the text is read as one of that"
        )
    })
}

/// Major and minor version.
pub(super) fn version(text: &str) -> Result<(u32, u32), String> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let part = |text: &str| text.parse().map_err(|_| format!("bad .version {text}"));
    let (major, minor) = (part(major)?, part(minor)?);
    let known = LAST_MINORS
        .iter()
        .any(|last| last.0 == major && minor <= last.1);
    let newer = major == LAST.0 && minor <= LAST_READ;
    if known || newer {
        return Ok((major, minor));
    }
    let (last, least) = LAST;
    Err(format!(
        "unsupported .version {text}: there are 1.0 to {last}.{least}, and up to \
         {last}.{LAST_READ} texts are read as of that"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn known_releases_pass_and_others_are_named() {
        assert_eq!((version("8.7"), version("6.0")), (Ok((8, 7)), Ok((6, 0))));
        for wrong in ["99.9", "8.9", "0.1", "8.x", "4294967296.0"] {
            assert!(version(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn newer_releases_of_the_last_major_one_are_read_with_a_note() {
        assert_eq!((version("9.5"), version("9.9")), (Ok((9, 5)), Ok((9, 9))));
        assert!(version("9.10").is_err() && version("10.0").is_err());
        assert_eq!(newer_release((9, 4)), None);
        assert!(newer_release((9, 5)).unwrap().contains(".version 9.5"));
    }
}
