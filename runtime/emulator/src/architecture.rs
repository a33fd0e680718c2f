//! Architectures by their names: which there are, what PTX knows them, whose code they run.
//!
//! Source: the release history of the PTX document for those before sm_50, and ptxas 13.0 for the
//! others: the first `.version` that it takes each `.target` of, and the architectures that it
//! makes machine code for of each (`sm_88`, which it takes from 7.3 on, among them).

use std::fmt;

/// Every number, and the first PTX version, of major and minor, that knows it: alone, with `a`,
/// with `f`.
type Row = (u32, (u32, u32), Option<(u32, u32)>, Option<(u32, u32)>);

const ARCHITECTURES: [Row; 31] = [
    (10, (1, 0), None, None),
    (11, (1, 0), None, None),
    (12, (1, 2), None, None),
    (13, (1, 2), None, None),
    (20, (2, 0), None, None),
    (21, (2, 0), None, None),
    (30, (3, 0), None, None),
    (32, (4, 0), None, None),
    (35, (3, 1), None, None),
    (37, (4, 1), None, None),
    (50, (4, 0), None, None),
    (52, (4, 1), None, None),
    (53, (4, 2), None, None),
    (60, (5, 0), None, None),
    (61, (5, 0), None, None),
    (62, (5, 0), None, None),
    (70, (6, 0), None, None),
    (72, (6, 1), None, None),
    (75, (6, 3), None, None),
    (80, (7, 0), None, None),
    (86, (7, 1), None, None),
    (87, (7, 4), None, None),
    (88, (7, 3), None, None),
    (89, (7, 8), None, None),
    (90, (7, 8), Some((8, 0)), None),
    (100, (8, 6), Some((8, 6)), Some((8, 8))),
    (101, (8, 6), Some((8, 6)), Some((8, 8))),
    (103, (8, 8), Some((8, 8)), Some((8, 8))),
    (110, (9, 0), Some((9, 0)), Some((9, 0))),
    (120, (8, 7), Some((8, 7)), Some((8, 8))),
    (121, (8, 8), Some((8, 8)), Some((8, 8))),
];

/// What code for an architecture relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Features {
    /// What every later one has.
    Common,
    /// What no other one has (`a`).
    Own,
    /// What later ones of its family have (`f`).
    Family,
}

/// An architecture as `.target` names it: `sm_80`, `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    number: u32,
    features: Features,
    least: (u32, u32),
}

impl Architecture {
    /// The architecture of that name; none when there is none.
    ///
    /// ```
    /// use tilewright_emulator::Architecture;
    /// let (sm_80, sm_90a) = (Architecture::named("sm_80"), Architecture::named("sm_90a"));
    /// assert!(sm_90a.unwrap().runs(&sm_80.unwrap()));
    /// assert_eq!(sm_90a.unwrap().least_version(), (8, 0));
    /// assert_eq!(Architecture::named("sm_080"), None);
    /// ```
    pub fn named(name: &str) -> Option<Architecture> {
        let of_row = |(number, alone, own, family): &Row| {
            let all = [
                (Features::Common, Some(*alone)),
                (Features::Own, *own),
                (Features::Family, *family),
            ];
            let known = all.into_iter().filter_map(|(features, least)| {
                Some(Architecture {
                    number: *number,
                    features,
                    least: least?,
                })
            });
            known.collect::<Vec<_>>()
        };
        let mut all = ARCHITECTURES.iter().flat_map(of_row);
        all.find(|architecture| architecture.to_string() == name)
    }

    /// The first `.version` that knows it, major and minor.
    pub fn least_version(&self) -> (u32, u32) {
        self.least
    }

    /// Its number: 80 of `sm_80`.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether text for it may use what not every later architecture has.
    pub(crate) fn has_own(&self) -> bool {
        self.features != Features::Common
    }

    /// Whether machine code for it can be made of PTX for `target`.
    pub fn runs(&self, target: &Architecture) -> bool {
        match target.features {
            Features::Common => target.number <= self.number,
            Features::Own => target == self,
            Features::Family => {
                target.number <= self.number && target.number / 10 == self.number / 10
            }
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.features {
            Features::Common => "",
            Features::Own => "a",
            Features::Family => "f",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn named(name: &str) -> Architecture {
        Architecture::named(name).unwrap()
    }

    #[test]
    fn names_are_those_of_architectures_and_no_others() {
        for name in ["sm_10", "sm_70", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(named(name).to_string(), name);
        }
        let wrong = [
            "sm_999",
            "sm_0",
            "sm_080",
            "sm_80a",
            "sm_90f",
            "sm_90b",
            "sm_",
            "80",
            "",
            "sm_80zzz",
            "compute_90",
            "sm_90aa",
            "SM_90",
        ];
        for wrong in wrong {
            assert_eq!(Architecture::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_are_those_that_know_an_architecture() {
        let least = [
            ("sm_70", (6, 0)),
            ("sm_75", (6, 3)),
            ("sm_80", (7, 0)),
            ("sm_90", (7, 8)),
            ("sm_90a", (8, 0)),
            ("sm_100a", (8, 6)),
            ("sm_100f", (8, 8)),
        ];
        for (name, version) in least {
            assert_eq!(named(name).least_version(), version, "{name}");
        }
    }

    #[test]
    fn code_runs_where_ptxas_makes_it_run() {
        // What ptxas 13.0 says of each target, over these.
        let all = [
            "80", "90", "90a", "100", "100a", "103", "103a", "103f", "110", "120f", "121",
        ];
        let runs = [
            ("80", "80 90 90a 100 100a 103 103a 103f 110 120f 121"),
            ("90", "90 90a 100 100a 103 103a 103f 110 120f 121"),
            ("90a", "90a"),
            ("100", "100 100a 103 103a 103f 110 120f 121"),
            ("100a", "100a"),
            ("100f", "100 100a 103 103a 103f"),
            ("103f", "103 103a 103f"),
            ("120f", "120f 121"),
        ];
        for (target, wanted) in runs {
            let target = named(&format!("sm_{target}"));
            let found = all
                .iter()
                .filter(|one| named(&format!("sm_{one}")).runs(&target));
            let found: Vec<&str> = found.copied().collect();
            assert_eq!(found.join(" "), wanted, "{target}");
        }
    }
}
