//! A launch: which entry, how many threads, which parameters.
//!
//! Comes in: the host's arguments. Goes out: the packed parameter block and the list of broken
//! limits.

use crate::memory::{BufferId, Memory};
use crate::module::Entry;

/// One kernel argument.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Arg {
    /// The device address of a buffer.
    Buffer(BufferId),
    /// A parameter given as its bytes, for example a struct.
    Bytes(Vec<u8>),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    S32(i32),
    S64(i64),
    F32(f32),
    F64(f64),
    /// A null pointer.
    Null,
}

/// The parameters of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Params {
    /// The parameter block as the kernel sees it.
    Packed(Vec<u8>),
    /// One argument for each parameter; sizes are checked.
    Args(Vec<Arg>),
}

/// What to launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The name of the entry.
    pub entry: String,
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// CTAs of a cluster along x, y, z.
    pub cluster: [u32; 3],
    /// Whether it may start before the launch before it in the stream has ended, so that threads
    /// must wait for that one (`griddepcontrol.wait`) before they touch global memory.
    pub programmatic: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u32,
    /// The parameters.
    pub params: Params,
}

/// Why a run could not be made at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The module has no entry of that name.
    #[error("no entry {name}; the module has: {known}")]
    UnknownEntry {
        /// The name asked for.
        name: String,
        /// The entries there are.
        known: String,
    },
    /// The arguments do not fit the parameters.
    #[error("arguments of {entry}: {problem}")]
    Params {
        /// The entry.
        entry: String,
        /// What does not fit, with both numbers.
        problem: String,
    },
    /// The launch needs something the emulator does not do.
    #[error("unsupported: {0}")]
    Unsupported(String),
}

impl Arg {
    /// Its bytes, with the addresses that buffers have in a memory.
    pub fn to_bytes(&self, memory: &Memory) -> Vec<u8> {
        match self {
            Arg::Buffer(id) => memory.address(*id).to_le_bytes().to_vec(),
            Arg::Bytes(bytes) => bytes.clone(),
            Arg::U8(value) => vec![*value],
            Arg::U16(value) => value.to_le_bytes().to_vec(),
            Arg::U32(value) => value.to_le_bytes().to_vec(),
            Arg::U64(value) => value.to_le_bytes().to_vec(),
            Arg::S32(value) => value.to_le_bytes().to_vec(),
            Arg::S64(value) => value.to_le_bytes().to_vec(),
            Arg::F32(value) => value.to_le_bytes().to_vec(),
            Arg::F64(value) => value.to_le_bytes().to_vec(),
            Arg::Null => vec![0; 8],
        }
    }
}

/// The parameter block of a launch.
///
/// # Errors
/// [`RunError::Params`] when the number of arguments or a size is not the entry's.
pub(crate) fn pack(entry: &Entry, params: &Params, memory: &Memory) -> Result<Vec<u8>, RunError> {
    let fail = |problem: String| {
        Err(RunError::Params {
            entry: entry.name.clone(),
            problem,
        })
    };
    let args = match params {
        Params::Packed(bytes) => {
            let (given, wanted) = (bytes.len(), entry.param_bytes as usize);
            if given != wanted {
                return fail(format!(
                    "{given} bytes of parameters given, {wanted} declared"
                ));
            }
            return Ok(bytes.clone());
        }
        Params::Args(args) => args,
    };
    let (given, wanted) = (args.len(), entry.params.len());
    if given != wanted {
        return fail(format!(
            "{given} arguments given, {wanted} parameters declared"
        ));
    }
    let mut block = vec![0; entry.param_bytes as usize];
    let mut problems = Vec::new();
    for (index, (arg, param)) in args.iter().zip(&entry.params).enumerate() {
        let mut bytes = arg.to_bytes(memory);
        if matches!(arg, Arg::Buffer(_) | Arg::Null) && param.bytes == 4 {
            // An address of 32 bits.
            let high = bytes.split_off(4);
            if high.iter().any(|byte| *byte != 0) {
                problems.push(format!(
                    "{} has 4 bytes and the buffer of argument {index} lies above 4 GiB: make it \
                     in a memory for addresses of 32 bits",
                    param.name
                ));
                continue;
            }
        }
        if bytes.len() != param.bytes as usize {
            let (given, wanted) = (bytes.len(), param.bytes);
            problems.push(format!(
                "argument {index} has {given} bytes, {} has {wanted}",
                param.name
            ));
            continue;
        }
        let start = param.offset_bytes as usize;
        if let Some(slot) = block.get_mut(start..start + bytes.len()) {
            slot.copy_from_slice(&bytes);
        }
    }
    if problems.is_empty() {
        Ok(block)
    } else {
        fail(problems.join("; "))
    }
}

/// Every limit that the launch breaks, one sentence each.
pub(crate) fn broken_limits(entry: &Entry, launch: &Launch, target: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let threads = volume(launch.block);
    for (what, dims) in [
        ("grid", launch.grid),
        ("block", launch.block),
        ("cluster", launch.cluster),
    ] {
        if dims.contains(&0) {
            broken.push(format!("{what} {dims:?} has a zero extent; use at least 1"));
        }
    }
    if threads > 1024 {
        broken.push(format!(
            "block {:?} has {threads} threads; at most 1024",
            launch.block
        ));
    }
    if launch.block[2] > 64 {
        broken.push(format!("block z is {}; at most 64", launch.block[2]));
    }
    if launch.grid[0] > i32::MAX as u32 || launch.grid[1].max(launch.grid[2]) > 65_535 {
        broken.push(format!(
            "grid {:?} exceeds (2147483647, 65535, 65535)",
            launch.grid
        ));
    }
    if let Some(wanted) = entry.reqntid
        && wanted != launch.block
    {
        broken.push(format!(
            "block {:?} differs from .reqntid {wanted:?}",
            launch.block
        ));
    }
    if let Some(most) = entry.maxntid
        && threads > volume(most)
    {
        broken.push(format!(
            "block of {threads} threads exceeds .maxntid {most:?}"
        ));
    }
    if let Some(wanted) = entry.reqnctapercluster
        && wanted != launch.cluster
    {
        broken.push(format!(
            "cluster {:?} differs from .reqnctapercluster {wanted:?}",
            launch.cluster
        ));
    }
    broken.extend(broken_cluster(launch));
    let shared = u64::from(entry.static_shared_bytes) + u64::from(launch.dynamic_shared_bytes);
    let limit = shared_limit_bytes(target);
    if shared > limit {
        broken.push(format!(
            "{shared} bytes of shared memory; {target} allows {limit}"
        ));
    }
    broken
}

/// The limits of clusters that the launch breaks.
fn broken_cluster(launch: &Launch) -> Vec<String> {
    let mut broken = Vec::new();
    if volume(launch.cluster) > 16 {
        broken.push(format!(
            "cluster {:?} has more than 16 CTAs",
            launch.cluster
        ));
    }
    if (0..3).any(|d| launch.cluster[d] != 0 && !launch.grid[d].is_multiple_of(launch.cluster[d])) {
        broken.push(format!(
            "grid {:?} is no multiple of cluster {:?}",
            launch.grid, launch.cluster
        ));
    }
    broken
}

/// Shared memory of one CTA at most, CUDA guide, technical specifications per compute capability.
fn shared_limit_bytes(target: &str) -> u64 {
    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
    match digits.as_str() {
        "70" | "72" => 98_304,
        "75" => 65_536,
        "80" | "87" => 166_912,
        "86" | "89" | "120" | "121" => 101_376,
        _ => 232_448,
    }
}

pub(crate) fn volume(dims: [u32; 3]) -> u64 {
    dims.iter()
        .fold(1, |all, &extent| all.saturating_mul(u64::from(extent)))
}
