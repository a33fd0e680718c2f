//! Arms timed against each other in slices: every round takes one slice of each arm, in an order
//! drawn anew, so that drift of clocks and temperature meets all arms alike.
//!
//! In: a [`SliceTimer`], and [`Rules`]. Out: [`Samples`], one time an arm and round. A ratio of two
//! arms is the median of the ratios inside the rounds. What a slice is depends on the mode and is
//! the timer's business; nothing here knows a GPU.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::rows::{Mode, median, spread};
use super::sensors::Reading;
use tilewright_runtime::Error;

/// Load before the first sustained round: it brings a GPU to its power limit.
const HEAT_US: f64 = 500e3;

/// How a rotation is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub mode: Mode,
    pub rounds: usize,
    /// Draws the order of every round.
    pub seed: u64,
    /// Load before the first round of mode sustained.
    pub heat_us: f64,
}

impl Rules {
    pub fn new(mode: Mode, rounds: usize, seed: u64) -> Rules {
        Rules {
            mode,
            rounds: rounds.max(1),
            seed,
            heat_us: HEAT_US,
        }
    }
}

/// One arm's slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slice {
    /// Time of one launch.
    pub launch_us: f64,
    /// Time of all of it.
    pub slice_us: f64,
}

/// Something that times slices of arms.
pub(crate) trait SliceTimer {
    /// How many arms there are; they count from 0.
    fn arms(&self) -> usize;

    /// A slice of each arm of `order`, one behind another, and the state of the device meanwhile.
    fn round(&mut self, order: &[usize], mode: Mode) -> Result<(Vec<Slice>, Reading), Error>;
}

/// The times of a rotation.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// By arm, then by round: time of one launch.
    by_arm: Vec<Vec<f64>>,
    readings: Vec<Reading>,
}

/// A ratio of two arms over the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Median of the ratios inside the rounds.
    pub median: f64,
    /// Interquartile range over median.
    pub spread: f64,
}

/// Runs rounds over all arms of a slice timer.
///
/// # Errors
/// When a slice fails.
pub(crate) fn rotate(timer: &mut impl SliceTimer, rules: &Rules) -> Result<Samples, Error> {
    let mut rng = StdRng::seed_from_u64(rules.seed);
    let mut order: Vec<usize> = (0..timer.arms()).collect();
    let mut samples = Samples {
        by_arm: vec![Vec::with_capacity(rules.rounds); order.len()],
        readings: Vec::new(),
    };
    if order.is_empty() {
        return Ok(samples);
    }
    let mut spent_us = 0.0;
    while rules.mode == Mode::Sustained && spent_us < rules.heat_us {
        order.shuffle(&mut rng);
        let (slices, _) = timer.round(&order, rules.mode)?;
        spent_us += slices.iter().map(|s| s.slice_us).sum::<f64>().max(1.0);
    }
    for _ in 0..rules.rounds {
        order.shuffle(&mut rng);
        let (slices, reading) = timer.round(&order, rules.mode)?;
        samples.readings.push(reading);
        for (arm, slice) in order.iter().zip(slices) {
            if let Some(times) = samples.by_arm.get_mut(*arm) {
                times.push(slice.launch_us);
            }
        }
    }
    Ok(samples)
}

impl Samples {
    /// Samples of these times, by arm and then by round.
    #[cfg(test)]
    pub(super) fn of_times(by_arm: Vec<Vec<f64>>) -> Samples {
        let rounds = by_arm.first().map_or(0, Vec::len);
        Samples {
            by_arm,
            readings: vec![Reading::default(); rounds],
        }
    }

    fn of(&self, arm: usize) -> &[f64] {
        self.by_arm.get(arm).map(Vec::as_slice).unwrap_or_default()
    }

    /// Median time of a launch of one arm.
    pub fn median_us(&self, arm: usize) -> f64 {
        median(self.of(arm))
    }

    /// Interquartile range over median of an arm's times.
    pub fn spread(&self, arm: usize) -> f64 {
        spread(self.of(arm))
    }

    /// How many rounds there are.
    pub fn rounds(&self) -> usize {
        self.readings.len()
    }

    /// One arm's time over another's, round by round.
    pub fn ratio(&self, over: usize, under: usize) -> Ratio {
        let pairs = self.of(over).iter().zip(self.of(under));
        let ratios: Vec<f64> = pairs.map(|(over, under)| over / under).collect();
        Ratio {
            median: median(&ratios),
            spread: spread(&ratios),
        }
    }

    /// The median state of the device over the rounds.
    pub fn reading(&self) -> Reading {
        let clocks: Vec<f64> = self
            .readings
            .iter()
            .filter_map(|r| r.sm_clock_mhz.map(f64::from))
            .collect();
        let powers: Vec<f64> = self.readings.iter().filter_map(|r| r.power_w).collect();
        Reading {
            sm_clock_mhz: (!clocks.is_empty()).then(|| median(&clocks) as u32),
            power_w: (!powers.is_empty()).then(|| median(&powers)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A machine that gets slower with every slice, as one that heats up does.
    struct Drifting {
        true_us: Vec<f64>,
        slices: usize,
        orders: Vec<Vec<usize>>,
    }

    impl SliceTimer for Drifting {
        fn arms(&self) -> usize {
            self.true_us.len()
        }

        fn round(&mut self, order: &[usize], _: Mode) -> Result<(Vec<Slice>, Reading), Error> {
            self.orders.push(order.to_vec());
            let mut slices = Vec::new();
            for arm in order {
                self.slices += 1;
                let drift = 1.0 + self.slices as f64 * 1e-3;
                slices.push(Slice {
                    launch_us: self.true_us[*arm] * drift,
                    slice_us: 10e3,
                });
            }
            let clock = 2000 - self.orders.len() as u32;
            let reading = Reading {
                sm_clock_mhz: Some(clock),
                power_w: None,
            };
            Ok((slices, reading))
        }
    }

    fn drifting(true_us: &[f64]) -> Drifting {
        Drifting {
            true_us: true_us.to_vec(),
            slices: 0,
            orders: Vec::new(),
        }
    }

    #[test]
    fn drift_leaves_paired_ratios_alone() {
        let mut timer = drifting(&[100.0, 100.0, 95.0]);
        let samples = rotate(&mut timer, &Rules::new(Mode::Rested, 41, 3)).unwrap();
        assert_eq!(samples.rounds(), 41);
        // Over the rotation the machine slows down by 12%.
        assert!(samples.spread(0) > 0.04, "{}", samples.spread(0));
        let same = samples.ratio(1, 0);
        assert!((same.median - 1.0).abs() < 2e-3, "{same:?}");
        let faster = samples.ratio(0, 2);
        assert!((faster.median - 100.0 / 95.0).abs() < 3e-3, "{faster:?}");
        assert!(faster.spread < 4e-3, "{faster:?}");
        assert_eq!(samples.reading().sm_clock_mhz, Some(1979));
        assert_eq!(samples.reading().power_w, None);
    }

    #[test]
    fn every_round_has_every_arm_once_in_an_order_of_its_own() {
        let mut timer = drifting(&[1.0; 6]);
        rotate(&mut timer, &Rules::new(Mode::Rested, 20, 7)).unwrap();
        let firsts: std::collections::BTreeSet<usize> =
            timer.orders.iter().map(|order| order[0]).collect();
        assert!(firsts.len() > 3, "{firsts:?}");
        for order in &timer.orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..6).collect::<Vec<_>>());
        }
        let mut again = drifting(&[1.0; 6]);
        rotate(&mut again, &Rules::new(Mode::Rested, 20, 7)).unwrap();
        assert_eq!(again.orders, timer.orders);
    }

    #[test]
    fn sustained_rounds_begin_under_load() {
        let mut timer = drifting(&[1.0; 4]);
        let samples = rotate(&mut timer, &Rules::new(Mode::Sustained, 5, 1)).unwrap();
        // 0.5 s at 40 ms a round are 13 rounds that do not count.
        assert_eq!((timer.orders.len(), samples.rounds()), (18, 5));
    }

    #[test]
    fn no_arms_are_no_samples() {
        let samples = rotate(&mut drifting(&[]), &Rules::new(Mode::Sustained, 5, 1)).unwrap();
        assert_eq!((samples.rounds(), samples.median_us(0)), (0, 0.0));
    }
}
