//! Chance that repeats: what a seed decides about a run.

/// Small generator for random orders; quality does not matter, repeatability does (SplitMix64).
#[derive(Clone, Debug, Default)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of one cluster of a launch.
    pub(crate) fn of_cluster(seed: u64, linear: u64) -> Random {
        Random(seed ^ linear.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
