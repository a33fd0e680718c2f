//! What all CTAs of a launch share, read-only but for the words of global memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use super::view::Meeting;
use crate::alternatives::Watched;
use crate::inst::Inst;
use crate::launch::{Launch, volume};
use crate::memory::{Content, Memory, Region};
use crate::module::{Entry, Module};
use crate::options::Options;
use crate::tensor_core::Rules;

/// The address of a CTA's first shared byte.
///
/// NOTE: sm_90 reserves the first KiB, and swizzled copies need a start that is a multiple of
/// 1024; a null shared pointer is out of bounds this way.
pub(crate) const SHARED_START: u32 = 1024;

/// Where the rank of a CTA stands in an address of the cluster's shared window.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The offset part of such an address.
pub(crate) const OFFSET_MASK: u64 = (1 << RANK_SHIFT) - 1;

/// All global memory a kernel may touch, sorted by address.
pub(crate) struct GlobalSpace<'a> {
    regions: Vec<&'a Region>,
}

impl<'a> GlobalSpace<'a> {
    pub(crate) fn new(memory: &'a Memory, variables: &'a [Region]) -> GlobalSpace<'a> {
        let mut regions: Vec<&Region> = memory.regions().iter().chain(variables).collect();
        regions.sort_by_key(|region| region.base);
        GlobalSpace { regions }
    }

    /// The region that holds all `bytes`, starting the search at `hint`.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: u64, hint: &mut usize) -> Option<&'a Region> {
        if let Some(region) = self.regions.get(*hint)
            && region.contains(address, bytes)
        {
            return Some(region);
        }
        let after = self
            .regions
            .partition_point(|region| region.base <= address);
        let index = after.checked_sub(1)?;
        let region = self.regions.get(index)?;
        *hint = index;
        region.contains(address, bytes).then_some(*region)
    }

    /// The region nearest to an address, and the signed distance from its start.
    pub(crate) fn nearest(&self, address: u64) -> Option<(&'a Region, i64)> {
        let distance = |region: &Region| {
            let last = region.base + region.bytes.max(1) - 1;
            if address < region.base {
                region.base - address
            } else {
                address.saturating_sub(last)
            }
        };
        let region = self.regions.iter().min_by_key(|region| distance(region))?;
        Some((region, address.wrapping_sub(region.base) as i64))
    }
}

/// The launch as the executor sees it.
pub(crate) struct Env<'a> {
    pub(crate) module: &'a Module,
    pub(crate) code: &'a [Inst],
    pub(crate) entry: &'a Entry,
    pub(crate) launch: &'a Launch,
    pub(crate) options: &'a Options,
    pub(crate) params: Vec<u8>,
    pub(crate) global: GlobalSpace<'a>,
    /// What the tensor cores compute.
    pub(crate) rules: &'static Rules,
    /// Static and dynamic shared bytes of a CTA.
    pub(crate) shared_bytes: u32,
    pub(crate) threads: u32,
    /// Other programs to compare with.
    pub(crate) watched: Option<&'a Watched<'a>>,
    /// What clusters released, by the address and the bytes of the strong accesses that meet.
    pub(crate) meetings: Mutex<BTreeMap<(u64, u32), Meeting>>,
}

impl Env<'_> {
    /// Whether somebody looks at every step.
    pub(crate) fn looks_at_steps(&self) -> bool {
        let observed = self.options.profile || self.options.trace.is_some();
        observed || self.watched.is_some()
    }

    /// Whether clusters run on several threads: when nothing they do can tell their order.
    pub(crate) fn side_by_side(&self) -> bool {
        let several = volume(self.launch.grid) > volume(self.launch.cluster).max(1);
        let ordered = self.options.stops_at_error || !self.entry.independent;
        self.options.parallel && several && !ordered && !is_forked()
    }
}

/// Whether this process was forked from one that has run clusters side by side: the threads that
/// did so are not there.
fn is_forked() -> bool {
    static FIRST: OnceLock<u32> = OnceLock::new();
    let own = std::process::id();
    *FIRST.get_or_init(|| own) != own
}

/// Fresh copies of the module's `.global` variables.
pub(crate) fn variables(module: &Module) -> Vec<Region> {
    let make = |variable: &crate::module::GlobalVariable| {
        // Variables without an initialiser are zero (ISA 5.4.4).
        let mut bytes = vec![0; variable.bytes as usize];
        if let Some(init) = &variable.init {
            bytes[..init.len()].copy_from_slice(init);
        }
        Region::new(
            &variable.name,
            variable.address,
            variable.bytes,
            Content::Bytes(&bytes),
        )
    };
    module.globals.iter().map(make).collect()
}

/// The CTAs of a cluster by rank, x first.
pub(crate) fn ctas_of(launch: &Launch, linear: u64) -> Vec<[u32; 3]> {
    let [cx, cy, cz] = launch.cluster.map(|extent| extent.max(1));
    let (x, y) = (
        u64::from(launch.grid[0] / cx),
        u64::from(launch.grid[1] / cy),
    );
    let (x, y) = (x.max(1), y.max(1));
    let first = [linear % x, linear / x % y, linear / x / y].map(|axis| axis as u32);
    let mut ctas = Vec::new();
    for rank in 0..cx * cy * cz {
        let inside = [rank % cx, rank / cx % cy, rank / cx / cy];
        let axis = |d: usize| first[d] * [cx, cy, cz][d] + inside[d];
        ctas.push(std::array::from_fn(axis));
    }
    ctas
}
