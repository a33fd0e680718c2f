//! The state of one CTA that its warps share: shared memory, barriers, findings, counters.

use super::barrier::BarrierState;
use super::env::{Env, SHARED_START};
use super::mma::Tile;
use crate::counters::Counters;
use crate::finding::{Finding, FindingId, FindingLog, Location, Space};
use crate::memory::POISON;
use crate::options::Sanitize;

/// State of a byte that nothing wrote.
pub(crate) const UNDEFINED: u8 = 0;
/// State of a byte with a value.
pub(crate) const DEFINED: u8 = 1;
/// State of a byte that an asynchronous copy will write or has written, but nobody waited.
pub(crate) const IN_FLIGHT: u8 = 2;

/// Bytes with one state each.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) data: Vec<u8>,
    pub(crate) state: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(bytes: usize) -> Bytes {
        Bytes {
            data: vec![POISON; bytes],
            state: vec![UNDEFINED; bytes],
        }
    }

    /// Grows (undefined) or shrinks.
    pub(crate) fn resize(&mut self, bytes: usize) {
        self.data.resize(bytes, POISON);
        self.state.resize(bytes, UNDEFINED);
    }

    /// Loads up to 8 bytes; the worst state of them comes along. `None` out of bounds.
    #[inline]
    pub(crate) fn load(&self, at: usize, bytes: usize) -> Option<(u64, u8)> {
        let data = self.data.get(at..at.checked_add(bytes)?)?;
        let state = self.state.get(at..at + bytes)?;
        if let (Ok(data), Ok(state)) = (<[u8; 4]>::try_from(data), <[u8; 4]>::try_from(state)) {
            let all = u32::from_le_bytes(state);
            return Some((
                u64::from(u32::from_le_bytes(data)),
                worst(&state, all == 0x0101_0101),
            ));
        }
        let mut wide = [0; 8];
        wide.get_mut(..bytes)?.copy_from_slice(data);
        Some((u64::from_le_bytes(wide), worst(state, false)))
    }

    /// Stores up to 8 bytes and defines them; the former worst state comes back. `None` out of
    /// bounds.
    #[inline]
    pub(crate) fn store(&mut self, at: usize, bytes: usize, value: u64) -> Option<u8> {
        let data = self.data.get_mut(at..at.checked_add(bytes)?)?;
        let state = self.state.get_mut(at..at + bytes)?;
        let source = value.to_le_bytes();
        let mut in_flight = 0;
        if bytes == 4 {
            data.copy_from_slice(&source[..4]);
            in_flight = state.iter().fold(0, |all, byte| all | byte) & IN_FLIGHT;
            state.copy_from_slice(&[DEFINED; 4]);
            return Some(in_flight);
        }
        for ((byte, state), source) in data.iter_mut().zip(state).zip(source) {
            *byte = source;
            in_flight |= *state & IN_FLIGHT;
            *state = DEFINED;
        }
        Some(in_flight)
    }
}

#[inline]
fn worst(state: &[u8], all_defined: bool) -> u8 {
    if all_defined {
        return DEFINED;
    }
    if state.iter().any(|byte| *byte & IN_FLIGHT != 0) {
        IN_FLIGHT
    } else if state.iter().all(|byte| *byte == DEFINED) {
        DEFINED
    } else {
        UNDEFINED
    }
}

/// Who did something, for findings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) pc: u32,
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
}

/// Which way an access goes, for counters and checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Load,
    Store,
    Atomic,
    AsyncCopy,
    LoadMatrix,
    StoreMatrix,
}

/// The shared part of a CTA.
pub(crate) struct State<'a> {
    pub(crate) env: &'a Env<'a>,
    pub(crate) cta: [u32; 3],
    pub(crate) shared: Bytes,
    pub(crate) barriers: [BarrierState; 16],
    /// Lanes of each warp that have not exited.
    pub(crate) live: Vec<u32>,
    pub(crate) findings: FindingLog,
    pub(crate) counters: Counters,
    /// The region of the last global access.
    pub(crate) region_hint: usize,
    /// Warp instructions of this CTA.
    pub(crate) executed: u64,
    /// Room for the dense operands of a tensor-core product.
    pub(super) tile: Option<Box<Tile<f32>>>,
    /// Set when the CTA cannot go on.
    pub(crate) stopped: bool,
}

impl<'a> State<'a> {
    pub(crate) fn new(env: &'a Env<'a>, cta: [u32; 3]) -> State<'a> {
        let warps = env.threads.div_ceil(32);
        let lanes = |warp: u32| match env.threads - 32 * warp {
            rest @ 1..32 => (1 << rest) - 1,
            _ => u32::MAX,
        };
        State {
            env,
            cta,
            shared: Bytes::new(env.shared_bytes as usize),
            barriers: Default::default(),
            live: (0..warps).map(lanes).collect(),
            findings: FindingLog::new(env.options.max_findings),
            counters: Counters::default(),
            region_hint: 0,
            executed: 0,
            tile: None,
            stopped: false,
        }
    }

    pub(crate) fn sanitize(&self) -> bool {
        self.env.options.sanitize != Sanitize::Off
    }

    /// Adds one occurrence of a finding.
    #[cold]
    pub(crate) fn report(
        &mut self,
        id: FindingId,
        site: Site,
        location: Option<Location>,
        message: impl FnOnce() -> String,
    ) {
        let (env, cta) = (self.env, self.cta);
        self.findings.add(id, site.pc, || Finding {
            id,
            level: id.level(),
            kernel: env.entry.name.clone(),
            function: env
                .module
                .function_at(site.pc)
                .map_or(String::new(), |f| f.name.clone()),
            pc: site.pc,
            line: env.code.get(site.pc as usize).map_or(0, |inst| inst.line),
            cta,
            warp: site.warp,
            lanes: site.lanes,
            location,
            message: message(),
            count: 1,
        });
    }

    /// An address as buffer and offset.
    #[cold]
    pub(crate) fn locate(&self, space: Space, address: u64) -> Location {
        let (buffer, offset_bytes) = match space {
            Space::Global => match self.env.global.nearest(address) {
                Some((region, offset)) => (Some(region.name.clone()), offset),
                None => (None, address as i64),
            },
            Space::Shared => self.locate_shared(address),
            Space::Param => self.locate_param(address),
            Space::Local | Space::Const => (None, address as i64),
        };
        Location {
            space,
            buffer,
            offset_bytes,
            address,
        }
    }

    fn locate_shared(&self, address: u64) -> (Option<String>, i64) {
        let offset = address.wrapping_sub(u64::from(SHARED_START)) as i64;
        let entry = self.env.entry;
        let variables = self.env.module.shared.iter().zip(&entry.shared_offsets);
        let holding = variables.filter(|(variable, start)| {
            let bytes = if variable.dynamic {
                u32::MAX
            } else {
                variable.bytes
            };
            (i64::from(**start)..i64::from(**start) + i64::from(bytes)).contains(&offset)
        });
        match holding.max_by_key(|(_, start)| **start) {
            Some((variable, start)) => (Some(variable.name.clone()), offset - i64::from(*start)),
            None => (None, offset),
        }
    }

    fn locate_param(&self, address: u64) -> (Option<String>, i64) {
        let params = self.env.entry.params.iter();
        let before = params.filter(|param| u64::from(param.offset_bytes) <= address);
        match before.max_by_key(|param| param.offset_bytes) {
            Some(param) => (
                Some(param.name.clone()),
                (address as i64).wrapping_sub(i64::from(param.offset_bytes)),
            ),
            None => (None, address as i64),
        }
    }

    /// Every access of a warp passes here once: counters now, and the place where a race detector
    /// listens.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        space: Space,
        kind: AccessKind,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
    ) {
        if self.env.options.counters {
            self.count_access(space, kind, mask, addresses, bytes);
        }
    }

    fn count_access(
        &mut self,
        space: Space,
        kind: AccessKind,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
    ) {
        match space {
            Space::Global => {
                let mut active = [0u64; 32];
                let mut count = 0;
                for (lane, address) in addresses.iter().enumerate() {
                    if mask >> lane & 1 == 1 {
                        active[count] = *address;
                        count += 1;
                    }
                }
                let traffic = match kind {
                    AccessKind::Load => &mut self.counters.global_load,
                    AccessKind::Atomic => &mut self.counters.global_atomic,
                    AccessKind::AsyncCopy => &mut self.counters.async_copy,
                    _ => &mut self.counters.global_store,
                };
                traffic.count(&active[..count], u64::from(bytes));
            }
            Space::Shared => self.count_shared(kind, mask, addresses, bytes),
            Space::Local => {
                self.counters.local_bytes += u64::from(bytes) * u64::from(mask.count_ones());
            }
            Space::Param | Space::Const => {}
        }
    }

    fn count_shared(&mut self, kind: AccessKind, mask: u32, addresses: &[u64; 32], bytes: u32) {
        let traffic = match kind {
            AccessKind::Load => &mut self.counters.shared_load,
            AccessKind::Store => &mut self.counters.shared_store,
            AccessKind::Atomic => &mut self.counters.shared_atomic,
            AccessKind::AsyncCopy => &mut self.counters.shared_async,
            AccessKind::LoadMatrix => &mut self.counters.shared_ldmatrix,
            AccessKind::StoreMatrix => &mut self.counters.shared_stmatrix,
        };
        let mut active = [0u32; 32];
        let mut count = 0;
        for (lane, address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 1 {
                active[count] = *address as u32;
                count += 1;
            }
        }
        // Lanes of one phase move 128 bytes.
        let phase = (128 / bytes.max(4)) as usize;
        traffic.count(&active[..count], bytes, phase);
    }
}
