//! Schedules as people write them: the order of warps, and when asynchronous work takes effect.
//!
//! `round-robin/late`, `reverse/early`, `random:7/random:7`; without the second part, late.

use std::fmt;
use std::str::FromStr;

use tilewright_emulator::{AsyncOrder, Options, Sanitize, WarpOrder};

/// One way to run a launch; a right kernel gives the same bytes under all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The order of warps.
    pub warps: WarpOrder,
    /// When asynchronous work takes effect.
    pub asynchronous: AsyncOrder,
}

impl Schedule {
    /// The first `count` schedules: warps in both fixed orders with asynchronous work late and
    /// early, then random ones with the seeds 1, 2, 3 and so on.
    pub fn first(count: usize) -> Vec<Schedule> {
        let of = |(warps, asynchronous)| Schedule {
            warps,
            asynchronous,
        };
        let fixed = [
            (WarpOrder::RoundRobin, AsyncOrder::Late),
            (WarpOrder::Reverse, AsyncOrder::Early),
            (WarpOrder::RoundRobin, AsyncOrder::Early),
        ];
        let random = (1..).map(|seed| {
            let asynchronous = match seed % 3 {
                1 => AsyncOrder::Random(seed),
                2 => AsyncOrder::Late,
                _ => AsyncOrder::Early,
            };
            (WarpOrder::Random(seed), asynchronous)
        });
        fixed
            .into_iter()
            .chain(random)
            .map(of)
            .take(count)
            .collect()
    }

    /// The options of a run under this schedule.
    pub fn options(self, sanitize: Sanitize) -> Options {
        Options {
            sanitize,
            warp_order: self.warps,
            async_order: self.asynchronous,
            ..Options::default()
        }
    }

    /// The schedule that options ask for.
    pub fn of(options: &Options) -> Schedule {
        Schedule {
            warps: options.warp_order,
            asynchronous: options.async_order,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.warps {
            WarpOrder::RoundRobin => write!(f, "round-robin/")?,
            WarpOrder::Reverse => write!(f, "reverse/")?,
            WarpOrder::Random(seed) => write!(f, "random:{seed}/")?,
        }
        match self.asynchronous {
            AsyncOrder::Late => write!(f, "late"),
            AsyncOrder::Early => write!(f, "early"),
            AsyncOrder::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let (warps, asynchronous) = text.split_once('/').unwrap_or((text, "late"));
        let seed = |text: &str| {
            let seed = text.strip_prefix("random:")?;
            seed.parse::<u64>().ok()
        };
        let warps = match (warps, seed(warps)) {
            ("round-robin", _) => WarpOrder::RoundRobin,
            ("reverse", _) => WarpOrder::Reverse,
            (_, Some(seed)) => WarpOrder::Random(seed),
            _ => {
                return Err(format!(
                    "`{warps}` is no order of warps; use round-robin, reverse or random:SEED"
                ));
            }
        };
        let asynchronous = match (asynchronous, seed(asynchronous)) {
            ("late", _) => AsyncOrder::Late,
            ("early", _) => AsyncOrder::Early,
            (_, Some(seed)) => AsyncOrder::Random(seed),
            _ => {
                return Err(format!(
                    "asynchronous work is late, early or random:SEED, not `{asynchronous}`"
                ));
            }
        };
        Ok(Schedule {
            warps,
            asynchronous,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for schedule in Schedule::first(9) {
            let read: Schedule = schedule.to_string().parse().unwrap();
            assert_eq!(read, schedule);
        }
        let short: Schedule = "reverse".parse().unwrap();
        assert_eq!(short.to_string(), "reverse/late");
        for wrong in [
            "",
            "forward",
            "random",
            "random:x",
            "reverse/",
            "reverse/never",
        ] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_schedules_differ() {
        let all = Schedule::first(12);
        let twice = |one: &Schedule| all.iter().filter(|other| *other == one).count() > 1;
        assert!(!all.iter().any(twice), "{all:?}");
    }
}
