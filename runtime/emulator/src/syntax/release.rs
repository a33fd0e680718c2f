//! Versions of PTX and architectures that there are.
//!
//! Source: the release history of the PTX document, and the targets that ptxas 13.0 names.

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

/// The numbers of architectures.
const ARCHITECTURES: [u32; 30] = [
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
    90, 100, 101, 103, 110, 120,
];
/// The last of them.
const NEWEST: u32 = 121;
/// The first that has features of its own (`a`), and the first with those of a family (`f`).
const FIRST_WITH: [(char, u32); 2] = [('a', 90), ('f', 100)];

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

/// Whether an architecture is one: `sm_80`, `sm_90a`.
pub(super) fn check_target(name: &str) -> Result<(), String> {
    let digits = name.strip_prefix("sm_").unwrap_or_default();
    let (digits, least) = FIRST_WITH
        .iter()
        .find_map(|(suffix, least)| Some((digits.strip_suffix(*suffix)?, *least)))
        .unwrap_or((digits, 0));
    let number = digits.parse::<u32>().ok();
    let known = |number: u32| ARCHITECTURES.contains(&number) || number == NEWEST;
    if number.is_some_and(|number| number >= least && known(number)) {
        return Ok(());
    }
    Err(format!(
        "unsupported .target {name}: an architecture such as sm_80 or sm_90a, at most sm_{NEWEST}"
    ))
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
        for name in ["sm_70", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(check_target(name), Ok(()), "{name}");
        }
        for wrong in [
            "sm_999",
            "sm_80a",
            "sm_90f",
            "sm_",
            "80",
            "sm_90b",
            "compute_90",
        ] {
            assert!(check_target(wrong).is_err(), "{wrong}");
        }
    }
}
