//! Partial sums that threads add to their own: how many are on their way at a time.

use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;

/// Accumulators that one instruction moves.
pub const VECTOR: usize = 4;
/// Registers of a consumer besides accumulators and what it loads.
const OTHER_REGISTERS: usize = 56;
/// Vectors that there must be registers for where two givers' are loaded at a time.
const FREE_FOR_TWO: usize = 16;

impl Plan {
    /// Vectors that there are registers for next to so many accumulators.
    pub fn free_vectors(&self, accumulators: usize) -> usize {
        let registers = match &self.roles {
            Some(roles) => roles.registers(Team::Consumers),
            None => self.registers_of_a_thread(),
        };
        (registers as usize).saturating_sub(accumulators + OTHER_REGISTERS) / VECTOR
    }

    /// Whether the sums of two givers are added at a time, so that they are on their way together:
    /// where there are registers for them.
    pub fn adds_in_pairs(&self) -> bool {
        let elements: i64 = self.tile().iter().product();
        let accumulators = elements / i64::from(self.threads.max(1));
        self.free_vectors(usize::try_from(accumulators).unwrap_or(usize::MAX / 2)) >= FREE_FOR_TWO
    }
}
