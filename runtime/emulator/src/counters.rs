//! Deterministic integer counters of a run: what was executed and which traffic it made.
//!
//! Shared memory is counted in *wavefronts* (a phase of 32, 16 or 8 lanes for 4, 8 or 16 byte
//! accesses takes as many as the worst bank has distinct words), global memory in 32-byte sectors
//! and 128-byte lines for each warp instruction.

/// Instruction classes that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InstClass {
    /// Integer and bit arithmetic.
    Integer,
    /// Floating-point arithmetic.
    Float,
    /// Approximated functions: reciprocal, exponential and the like.
    Special,
    /// Comparisons, selections and predicate logic.
    Compare,
    /// Conversions.
    Convert,
    /// Moves and address conversions.
    Move,
    /// Loads of every space.
    Load,
    /// Stores of every space.
    Store,
    /// Atomic operations and reductions on memory.
    Atomic,
    /// Asynchronous copies and their groups.
    AsyncCopy,
    /// ldmatrix, stmatrix, movmatrix.
    Matrix,
    /// Tensor-core products.
    Mma,
    /// Shuffles, votes and other warp collectives.
    Collective,
    /// CTA barriers.
    Barrier,
    /// Branches, calls, returns.
    Control,
    /// Hints and fences.
    Other,
}

impl InstClass {
    /// All classes in the order of [`Counters::classes`].
    pub const ALL: [InstClass; 16] = [
        InstClass::Integer,
        InstClass::Float,
        InstClass::Special,
        InstClass::Compare,
        InstClass::Convert,
        InstClass::Move,
        InstClass::Load,
        InstClass::Store,
        InstClass::Atomic,
        InstClass::AsyncCopy,
        InstClass::Matrix,
        InstClass::Mma,
        InstClass::Collective,
        InstClass::Barrier,
        InstClass::Control,
        InstClass::Other,
    ];

    /// The lower-case name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            InstClass::Integer => "integer",
            InstClass::Float => "float",
            InstClass::Special => "special",
            InstClass::Compare => "compare",
            InstClass::Convert => "convert",
            InstClass::Move => "move",
            InstClass::Load => "load",
            InstClass::Store => "store",
            InstClass::Atomic => "atomic",
            InstClass::AsyncCopy => "async_copy",
            InstClass::Matrix => "matrix",
            InstClass::Mma => "mma",
            InstClass::Collective => "collective",
            InstClass::Barrier => "barrier",
            InstClass::Control => "control",
            InstClass::Other => "other",
        }
    }
}

/// Executions of one instruction class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCount {
    /// Warp instructions.
    pub executions: u64,
    /// Lanes that took part, after predication.
    pub lanes: u64,
}

/// Global traffic of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Warp instructions with at least one lane.
    pub requests: u64,
    /// Bytes the lanes asked for.
    pub bytes: u64,
    /// 32-byte sectors touched, counted for each request.
    pub sectors: u64,
    /// 128-byte lines touched, counted for each request.
    pub lines: u64,
}

/// Shared traffic of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Warp instructions with at least one lane.
    pub requests: u64,
    /// Bytes the lanes asked for.
    pub bytes: u64,
    /// Passes through the banks.
    pub wavefronts: u64,
    /// Wavefronts beyond one for each phase: bank conflicts.
    pub excess: u64,
}

/// All counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Executions by class, indexed as [`InstClass::ALL`].
    pub classes: [ClassCount; 16],
    /// Loads from global memory by `ld`.
    pub global_load: GlobalTraffic,
    /// Stores to global memory by `st`.
    pub global_store: GlobalTraffic,
    /// `atom` and `red` on global memory.
    pub global_atomic: GlobalTraffic,
    /// Global side of cp.async.
    pub async_copy: GlobalTraffic,
    /// Loads from shared memory by `ld`.
    pub shared_load: SharedTraffic,
    /// Stores to shared memory by `st`.
    pub shared_store: SharedTraffic,
    /// Shared side of cp.async.
    pub shared_async: SharedTraffic,
    /// ldmatrix.
    pub shared_ldmatrix: SharedTraffic,
    /// stmatrix.
    pub shared_stmatrix: SharedTraffic,
    /// `atom` and `red` on shared memory.
    pub shared_atomic: SharedTraffic,
    /// Bytes of local loads and stores.
    pub local_bytes: u64,
    /// Floating-point or integer operations of tensor-core products (two for each multiply-add).
    pub mma_flop: u64,
    /// Bytes of bulk copies.
    pub bulk_bytes: u64,
    /// Bytes of the tiles of tensor copies, each counted once however many CTAs get it.
    pub tensor_bytes: u64,
    /// Waits at CTA barriers, counted for each warp.
    pub barrier_waits: u64,
}

impl Counters {
    /// The count of one class.
    pub fn class(&self, class: InstClass) -> ClassCount {
        self.classes[class as usize]
    }

    /// What was counted since `before` was taken.
    pub(crate) fn since(&self, before: &Counters) -> Counters {
        let mut now = self.clone();
        now.combine(before, |mine, theirs| *mine = mine.wrapping_sub(theirs));
        now
    }

    /// Adds the counters of another part of the same run.
    pub fn add(&mut self, other: &Counters) {
        self.combine(other, |mine, theirs| *mine += theirs);
    }

    /// Adds a difference of two counters, which may be below zero.
    pub(crate) fn add_wrapping(&mut self, difference: &Counters) {
        self.combine(difference, |mine, theirs| *mine = mine.wrapping_add(theirs));
    }

    /// Adds the counters of a part that was run so often.
    pub(crate) fn add_times(&mut self, other: &Counters, times: u64) {
        self.combine(other, |mine, theirs| *mine += theirs * times);
    }

    fn combine(&mut self, other: &Counters, with: impl Fn(&mut u64, u64)) {
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            with(&mut mine.executions, theirs.executions);
            with(&mut mine.lanes, theirs.lanes);
        }
        let global = [
            (&mut self.global_load, &other.global_load),
            (&mut self.global_store, &other.global_store),
            (&mut self.global_atomic, &other.global_atomic),
            (&mut self.async_copy, &other.async_copy),
        ];
        for (mine, theirs) in global {
            with(&mut mine.requests, theirs.requests);
            with(&mut mine.bytes, theirs.bytes);
            with(&mut mine.sectors, theirs.sectors);
            with(&mut mine.lines, theirs.lines);
        }
        let shared = [
            (&mut self.shared_load, &other.shared_load),
            (&mut self.shared_store, &other.shared_store),
            (&mut self.shared_async, &other.shared_async),
            (&mut self.shared_ldmatrix, &other.shared_ldmatrix),
            (&mut self.shared_stmatrix, &other.shared_stmatrix),
            (&mut self.shared_atomic, &other.shared_atomic),
        ];
        for (mine, theirs) in shared {
            with(&mut mine.requests, theirs.requests);
            with(&mut mine.bytes, theirs.bytes);
            with(&mut mine.wavefronts, theirs.wavefronts);
            with(&mut mine.excess, theirs.excess);
        }
        with(&mut self.local_bytes, other.local_bytes);
        with(&mut self.mma_flop, other.mma_flop);
        with(&mut self.bulk_bytes, other.bulk_bytes);
        with(&mut self.tensor_bytes, other.tensor_bytes);
        with(&mut self.barrier_waits, other.barrier_waits);
    }
}

impl GlobalTraffic {
    /// Counts one warp request of `size` bytes for each address.
    pub(crate) fn count(&mut self, addresses: &[u64], size: u64) {
        if addresses.is_empty() {
            return;
        }
        self.requests += 1;
        self.bytes += size * addresses.len() as u64;
        self.sectors += distinct_blocks(addresses, size, 5);
        self.lines += distinct_blocks(addresses, size, 7);
    }
}

/// The number of distinct `2^shift`-byte blocks that the accesses touch.
fn distinct_blocks(addresses: &[u64], size: u64, shift: u32) -> u64 {
    let block = |address: u64| (address >> shift, address.wrapping_add(size - 1) >> shift);
    let sorted = addresses.windows(2).all(|pair| pair[0] <= pair[1]);
    let mut copy = [0; 32];
    let addresses = if sorted {
        addresses
    } else {
        let count = addresses.len().min(32);
        copy[..count].copy_from_slice(&addresses[..count]);
        copy[..count].sort_unstable();
        &copy[..count]
    };
    let mut next = 0; // blocks below this one are counted
    let mut count = 0;
    for &address in addresses {
        let (first, last) = block(address);
        let first = first.max(next);
        if first <= last {
            count += last - first + 1;
            next = last + 1;
        }
    }
    count
}

impl SharedTraffic {
    /// Counts one warp request: `phase` lanes are served together, each `size` bytes wide.
    pub(crate) fn count(&mut self, addresses: &[u32], size: u32, phase: usize) {
        if addresses.is_empty() {
            return;
        }
        self.requests += 1;
        self.bytes += u64::from(size) * addresses.len() as u64;
        for lanes in addresses.chunks(phase.max(1)) {
            let degree = bank_degree(lanes, size);
            self.wavefronts += degree;
            self.excess += degree - 1;
        }
    }
}

/// The largest number of distinct 4-byte words that one of the 32 banks serves.
fn bank_degree(addresses: &[u32], size: u32) -> u64 {
    let mut words = [0u32; 256];
    let mut count = 0;
    let mut first_of_bank = [u32::MAX; 32];
    let mut conflict = false;
    for &address in addresses {
        let mut word = address >> 2;
        let last = address.wrapping_add(size.max(1) - 1) >> 2;
        while word <= last && count < words.len() {
            let first = &mut first_of_bank[(word % 32) as usize];
            conflict |= *first != u32::MAX && *first != word;
            *first = word;
            words[count] = word;
            count += 1;
            word += 1;
        }
    }
    if !conflict {
        return 1;
    }
    let words = &mut words[..count];
    words.sort_unstable();
    let mut degree = [0u64; 32];
    let mut previous = u32::MAX;
    for &word in words.iter() {
        if word != previous {
            degree[(word % 32) as usize] += 1;
        }
        previous = word;
    }
    degree.into_iter().max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coalesced_words_touch_four_sectors_and_one_line() {
        let addresses: Vec<u64> = (0..32).map(|lane| 4096 + 4 * lane).collect();
        let mut traffic = GlobalTraffic::default();
        traffic.count(&addresses, 4);
        assert_eq!((traffic.sectors, traffic.lines, traffic.bytes), (4, 1, 128));
        let reversed: Vec<u64> = addresses.iter().rev().copied().collect();
        traffic.count(&reversed, 4);
        assert_eq!((traffic.sectors, traffic.lines), (8, 2));
    }

    #[test]
    fn strided_words_conflict() {
        let stride = |words: u32| (0..32).map(|lane| 4 * words * lane).collect::<Vec<u32>>();
        assert_eq!(bank_degree(&stride(1), 4), 1);
        assert_eq!(bank_degree(&stride(2), 4), 2);
        assert_eq!(bank_degree(&stride(32), 4), 32);
        assert_eq!(bank_degree(&[64; 32], 4), 1);
        let rows: Vec<u32> = (0..8).map(|row| 128 * row).collect();
        assert_eq!(bank_degree(&rows, 16), 8);
    }
}
