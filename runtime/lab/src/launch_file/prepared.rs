//! A launch with everything in memory: run as often as one likes, with any module.
//!
//! Comes in: a launch file, or a launch and buffers made elsewhere. Goes out, for each run: the
//! emulator's report, and every buffer compared with what it must hold.

use std::path::Path;

use tilewright_emulator::{
    Alternatives, Arg, BufferId, Content, FindingId, Launch, Memory, Module, Options, Params,
    Report, run_beside,
};

use tilewright_runtime::parts::check_host_memory;

use super::compare::{self, BufferOutcome};
use super::{
    BufferArg, LaunchArg, LaunchFile, LaunchFileError, Role, argument, files, structs, tensor,
};

/// A buffer of a launch.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// What a manifest says of it.
    pub arg: BufferArg,
    /// What it holds before; `None` leaves it undefined.
    pub init: Option<Vec<u8>>,
    /// What it must hold after; `None` asks for nothing.
    pub expect: Option<Vec<u8>>,
}

/// A launch and its buffers. Buffers are allocated in order, so that their addresses are the same
/// in each run and may stand in the launch's parameters.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The launch.
    pub launch: Launch,
    /// The buffers.
    pub buffers: Vec<Allocation>,
}

/// What one run gave.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Findings and counters.
    pub report: Report,
    /// Each buffer compared with what it must hold.
    pub buffers: Vec<BufferOutcome>,
    /// What each buffer holds.
    pub bytes: Vec<Vec<u8>>,
}

impl Ran {
    /// Whether the launch was executed: it breaks no limit of the kernel or the architecture.
    pub fn started(&self) -> bool {
        let mut findings = self.report.findings.iter();
        findings.all(|finding| finding.id != FindingId::LaunchLimit)
    }

    /// Whether a buffer is not what it must be.
    pub fn is_wrong(&self) -> bool {
        self.buffers.iter().any(|buffer| !buffer.passed)
    }
}

impl Prepared {
    /// The buffers in fresh memory.
    ///
    /// # Errors
    /// [`LaunchFileError::Memory`] when they do not fit.
    pub fn memory(&self) -> Result<(Memory, Vec<BufferId>), LaunchFileError> {
        self.fill(Memory::new())
    }

    /// The buffers in this memory.
    fn fill(&self, mut memory: Memory) -> Result<(Memory, Vec<BufferId>), LaunchFileError> {
        let mut ids = Vec::new();
        for Allocation { arg, init, .. } in &self.buffers {
            let content = init.as_deref().map_or(Content::Undefined, Content::Bytes);
            ids.push(memory.alloc(&arg.name, arg.bytes, content)?);
        }
        Ok((memory, ids))
    }

    /// One run.
    ///
    /// # Errors
    /// [`LaunchFileError`] when the launch could not be made.
    pub fn run(&self, module: &Module, options: &Options) -> Result<Ran, LaunchFileError> {
        let (ran, _) = self.run_beside(module, &Alternatives::default(), options)?;
        Ok(ran)
    }

    /// One run, and which of the other programs may run differently.
    ///
    /// # Errors
    /// [`LaunchFileError`] when the launch could not be made.
    pub fn run_beside(
        &self,
        module: &Module,
        alternatives: &Alternatives,
        options: &Options,
    ) -> Result<(Ran, Vec<bool>), LaunchFileError> {
        let (mut memory, ids) = match module.address_bits() {
            32 => self.fill(Memory::narrow())?,
            _ => self.memory()?,
        };
        let (report, differs) =
            run_beside(module, alternatives, &self.launch, &mut memory, options)?;
        let bytes: Vec<Vec<u8>> = ids.into_iter().map(|id| memory.read(id)).collect();
        let held = self.buffers.iter().zip(&bytes);
        let buffers = held.map(|(one, bytes)| compare::compare(&one.arg, bytes, &one.expect));
        let ran = Ran {
            report,
            buffers: buffers.collect(),
            bytes,
        };
        Ok((ran, differs))
    }
}

impl LaunchFile {
    /// Reads the buffers and makes the arguments; `folder` is where the manifest lies.
    ///
    /// # Errors
    /// [`LaunchFileError`] when a file is missing or an argument does not fit.
    pub fn prepare(&self, folder: &Path) -> Result<Prepared, LaunchFileError> {
        let memory = self.flat().filter_map(|arg| match arg {
            LaunchArg::Buffer(arg) | LaunchArg::Memory(arg) => Some(arg),
            _ => None,
        });
        let memory: Vec<&BufferArg> = memory.collect();
        let bytes = memory.iter().map(|arg| host_bytes(arg));
        let needs = bytes.fold(0, u64::saturating_add);
        check_host_memory(needs).map_err(|error| LaunchFileError::Host(Box::new(error)))?;
        let buffers = memory.iter().map(|arg| allocation(folder, arg));
        let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
        let mut prepared = Prepared {
            launch: Launch {
                entry: self.entry.clone(),
                grid: self.grid,
                block: self.block,
                cluster: self.cluster,
                programmatic: self.programmatic,
                dynamic_shared_bytes: self.dynamic_shared,
                params: Params::Args(Vec::new()),
            },
            buffers,
        };
        let (memory, ids) = prepared.memory()?;
        let mut ids = ids.into_iter();
        let mut args = Vec::new();
        for arg in &self.args {
            match arg {
                LaunchArg::Memory(_) => drop(ids.next()),
                LaunchArg::Buffer(_) => args.extend(ids.next().map(Arg::Buffer)),
                LaunchArg::Struct(of) => {
                    let bytes = structs::bytes(of, &memory, |field| match field {
                        LaunchArg::Buffer(_) => Ok(ids.next().map_or(Arg::Null, Arg::Buffer)),
                        other => value(other, &memory),
                    });
                    args.push(Arg::Bytes(bytes?));
                }
                other => args.push(value(other, &memory)?),
            }
        }
        prepared.launch.params = Params::Args(args);
        Ok(prepared)
    }
}

/// What a buffer takes of the host: what it holds before and must hold after, the memory of the
/// launch with a mark for each byte, and what is read back.
fn host_bytes(arg: &BufferArg) -> u64 {
    let files = [&arg.init, &arg.expect].into_iter().flatten().count() as u64;
    let memory = arg.bytes.saturating_add(arg.bytes / 4);
    arg.bytes.saturating_mul(1 + files).saturating_add(memory)
}

fn allocation(folder: &Path, arg: &BufferArg) -> Result<Allocation, LaunchFileError> {
    if arg.role == Role::Scratch && (arg.init.is_some() || arg.expect.is_some()) {
        let problem = "scratch memory has neither init nor expect: leave them null";
        return Err(argument(&arg.name, problem.to_owned()));
    }
    let read = |what: &str, name: &Option<String>| {
        let content = name.as_ref().map(|name| content(folder, arg, (what, name)));
        content.transpose()
    };
    let init = read("init", &arg.init)?;
    let expect = read("expect", &arg.expect)?;
    let told = expect
        .as_deref()
        .and_then(|want| compare::lets_all_pass(arg, want));
    if let Some(problem) = told {
        return Err(argument(&arg.name, problem));
    }
    let expect = match (expect, arg.role) {
        // What is only read must stay as it is.
        (None, Role::In) => init.clone(),
        (expect, _) => expect,
    };
    Ok(Allocation {
        arg: arg.clone(),
        init,
        expect,
    })
}

/// The bytes of a buffer's file, which are as many as the buffer's.
fn content(
    folder: &Path,
    arg: &BufferArg,
    (what, name): (&str, &str),
) -> Result<Vec<u8>, LaunchFileError> {
    let path = files::below(folder, name)?;
    let (found, bytes) = (files::length(&path)?, arg.bytes);
    if found != bytes {
        let problem = format!("{what} file {name:?} has {found} bytes, the buffer {bytes}");
        return Err(argument(&arg.name, problem));
    }
    files::read(&path, bytes)
}

/// The value of an argument that is no buffer.
fn value(arg: &LaunchArg, memory: &Memory) -> Result<Arg, LaunchFileError> {
    match arg {
        LaunchArg::Scalar { name, dtype, value } => {
            let problem = || format!("{value} is no value of dtype {dtype}");
            let bytes = compare::scalar_bytes(dtype, value);
            Ok(Arg::Bytes(bytes.ok_or_else(|| argument(name, problem()))?))
        }
        LaunchArg::Bytes { name, size, hex } => {
            let bytes = compare::hex_bytes(hex).filter(|bytes| bytes.len() == *size);
            let problem = || format!("hex is not two digits for each of {size} bytes");
            Ok(Arg::Bytes(bytes.ok_or_else(|| argument(name, problem()))?))
        }
        LaunchArg::Tensormap(map) => {
            let buffer = memory.buffer(&map.buffer).ok_or_else(|| {
                argument(
                    &map.name,
                    format!("no buffer {} in this launch", map.buffer),
                )
            })?;
            let bytes = tensor::encode(map, memory.address(buffer));
            let bytes = bytes.map_err(|problem| argument(&map.name, problem))?;
            Ok(Arg::Bytes(bytes.to_vec()))
        }
        LaunchArg::Null { .. }
        | LaunchArg::Buffer(_)
        | LaunchArg::Memory(_)
        | LaunchArg::Struct(_) => Ok(Arg::Null),
    }
}
