//! The launches of a kernel as numbers: what a backend needs to run them, and what it says of them.

use std::borrow::Cow;
use std::sync::Arc;

#[cfg(feature = "emulator")]
use tilewright_emulator::{LineProfile, tensor_core::Rules};

use crate::error::{Refusal, Work};
use crate::launch::tensor_map::PlacedMap;

/// Memory given for an operand, as far as the checks need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View<'a> {
    /// The operand's name.
    pub operand: &'a str,
    /// Device address of the first element.
    pub address: u64,
    /// Bytes from there to the end of the buffer.
    pub bytes: u64,
}

/// The launches of a kernel as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The kernel and the problem, for messages.
    pub work: Arc<Work>,
    /// One after the other, on one stream.
    pub parts: Vec<LaunchPart>,
    /// Scratch memory to provide for all of them together.
    pub workspace_bytes: u64,
    /// How many of its first bytes are zero before the first of them and after the last.
    pub workspace_zero_bytes: u32,
}

/// One launch of a kernel as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchPart {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster, if launched with clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether it may start before the launch before it in the stream has ended.
    pub programmatic: bool,
    /// Dynamic shared memory of a CTA.
    pub dynamic_smem_bytes: u32,
    /// The parameter block, with zeros where the workspace's address and tensor maps go.
    pub params: Vec<u8>,
    /// The tensor maps, for the backend to encode: see [`Launch::encode_maps`].
    pub tensor_maps: Vec<PlacedMap>,
    /// Offset of each parameter in the block.
    pub param_offsets: Vec<u32>,
    /// Where the workspace's address goes.
    pub workspace_at: Option<usize>,
    /// Where addresses inside of it go, and how many bytes behind its start they are.
    pub in_workspace: Vec<(usize, u64)>,
}

/// Encodes a tensor map, as a backend has it.
pub type Encode = fn(&PlacedMap) -> Result<[u8; 128], String>;

impl LaunchPart {
    /// Whether it takes the workspace's address, or one inside of it.
    fn wants_workspace(&self) -> bool {
        self.workspace_at.is_some() || self.is_to_be_placed()
    }

    /// Whether its parameter block has more of the workspace than its address.
    fn is_to_be_placed(&self) -> bool {
        let mut maps = self.tensor_maps.iter();
        !self.in_workspace.is_empty() || maps.any(|placed| placed.in_workspace)
    }

    /// The same with what lies in a workspace at this address; itself where that is nothing but the
    /// address.
    ///
    /// # Errors
    /// What the encoder says of a map that it refuses.
    pub(crate) fn placed(
        &self,
        workspace: u64,
        encode: Encode,
    ) -> Result<Cow<'_, LaunchPart>, String> {
        if !self.is_to_be_placed() {
            return Ok(Cow::Borrowed(self));
        }
        let mut part = self.clone();
        for (at, bytes) in &self.in_workspace {
            let address = workspace.saturating_add(*bytes);
            put(&mut part.params, *at, &address.to_le_bytes());
        }
        for placed in self.tensor_maps.iter().filter(|placed| placed.in_workspace) {
            let mut here = placed.clone();
            here.map.base = workspace.saturating_add(placed.map.base);
            put(&mut part.params, placed.at, &encode(&here)?);
        }
        Ok(Cow::Owned(part))
    }

    /// The parameter block with the workspace at this address.
    ///
    /// # Errors
    /// As [`LaunchPart::placed`].
    #[cfg(feature = "emulator")]
    pub fn params_with(&self, workspace: u64, encode: Encode) -> Result<Vec<u8>, String> {
        let mut params = self.placed(workspace, encode)?.into_owned().params;
        if let Some(at) = self.workspace_at {
            put(&mut params, at, &workspace.to_le_bytes());
        }
        Ok(params)
    }
}

impl Launch {
    /// Whether one of the launches takes the workspace's address.
    pub fn wants_workspace(&self) -> bool {
        self.parts.iter().any(LaunchPart::wants_workspace)
    }

    /// Bytes of scratch memory that it wants, with the promised zeros; 0 where it takes none.
    pub fn workspace(&self) -> u64 {
        match self.wants_workspace() {
            true => scratch_bytes(self.workspace_bytes, self.workspace_zero_bytes),
            false => 0,
        }
    }

    /// Writes every tensor map of operands into the parameter blocks with a backend's encoder;
    /// those in the workspace follow when its address is known.
    ///
    /// # Errors
    /// The maps that the encoder refuses.
    pub fn encode_maps(
        &mut self,
        encode: impl Fn(&PlacedMap) -> Result<[u8; 128], String>,
    ) -> Result<(), Vec<Refusal>> {
        let mut refusals = Vec::new();
        for part in &mut self.parts {
            for placed in part
                .tensor_maps
                .iter()
                .filter(|placed| !placed.in_workspace)
            {
                match encode(placed) {
                    Ok(bytes) => put(&mut part.params, placed.at, &bytes),
                    Err(problem) => refusals.push(Refusal::TensorMap {
                        parameter: placed.parameter.clone(),
                        problem,
                    }),
                }
            }
        }
        if refusals.is_empty() {
            Ok(())
        } else {
            Err(refusals)
        }
    }
}

/// What a finished or enqueued launch says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// Instructions the emulator executed, counted per thread; zero on a GPU.
    pub thread_instructions: u64,
    /// Findings of the emulator below level error.
    pub warnings: Vec<String>,
    /// Whose tensor cores the emulator summed by; none on a GPU, or where no sum is an
    /// architecture's own.
    #[cfg(feature = "emulator")]
    pub tensor_cores: Option<&'static Rules>,
    /// What each instruction did on the emulator, when its options ask for it.
    #[cfg(feature = "emulator")]
    pub profile: Vec<LineProfile>,
}

#[cfg(feature = "emulator")]
impl LaunchReport {
    /// Adds what the next launch of the same kernel says.
    pub(crate) fn add(&mut self, next: LaunchReport) {
        self.thread_instructions += next.thread_instructions;
        self.warnings.extend(next.warnings);
        self.tensor_cores = self.tensor_cores.or(next.tensor_cores);
        self.profile.extend(next.profile);
    }
}

/// Bytes of the scratch memory to provide for a workspace: its promised zeros too, and at least 1.
pub(super) fn scratch_bytes(workspace_bytes: u64, zero_bytes: u32) -> u64 {
    workspace_bytes.max(u64::from(zero_bytes)).max(1)
}

/// Copies `bytes` to `at`; the bundle's checks have made room.
pub(super) fn put(params: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = params.get_mut(at..at.saturating_add(bytes.len())) {
        place.copy_from_slice(bytes);
    }
}
