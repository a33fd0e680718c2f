//! Kernels with problems of known results, ready to run on the emulator as often as one likes.
//!
//! In: a kernel of a bundle and extents, or a launch file. Out: a [`Subject`]: PTX text and
//! launches whose buffers hold integers, so that every order of summation gives the bytes that are
//! expected, computed in f64 and rounded once.

mod distinguishing;

use std::path::Path;

use tilewright_bundle::{DType, Kernel, Operand};
use tilewright_emulator::{Launch, Options, Params, Sanitize};
use tilewright_runtime::launch_file::{
    self, Allocation, BufferArg, LaunchFile, Prepared, Role, Schedule,
};
use tilewright_runtime::verify::{Dense, FormulaReference, encode, random_bytes};
use tilewright_runtime::{
    DeviceInfo, Extents, Fit, POISON, Problem, Runtime, View, fit, packed, prepare,
};

pub use distinguishing::DistinguishingProblems;

/// What went wrong while a subject was made.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A kernel and launches that must give what is expected.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The kernel's id, or the launch file's.
    pub name: String,
    /// The PTX.
    pub ptx: String,
    /// How strictly it is judged: our own kernels strictly, others by default.
    pub sanitize: Sanitize,
    /// The launches that are run under every schedule.
    pub launches: Vec<Prepared>,
    /// Further launches, run under the first schedule.
    pub edges: Vec<Prepared>,
    /// Further launches, of as few CTAs as there can be, run under the last schedule, in which
    /// waits time out.
    pub rounds: Vec<Prepared>,
}

impl Subject {
    /// The options of its runs, one for each of the first `schedules`.
    pub fn options(&self, schedules: usize) -> Vec<Options> {
        let first = Schedule::first(schedules).into_iter();
        first.map(|one| one.options(self.sanitize)).collect()
    }

    /// A kernel of a bundle on problems that tell.
    ///
    /// # Errors
    /// When the kernel does not take such a problem.
    pub fn of_kernel(
        runtime: &Runtime,
        kernel: &Kernel,
        problems: &DistinguishingProblems,
    ) -> Result<Subject, Failure> {
        let ptx = runtime.bundle().ptx(kernel).to_owned();
        let device = runtime.device().info();
        // One CTA, or one cluster of them, takes every tile.
        let ctas = kernel.launches.iter().map(|launch| launch.cluster_ctas());
        let small = DeviceInfo {
            sms: ctas
                .max()
                .and_then(|ctas| u32::try_from(ctas).ok())
                .unwrap_or(1),
            ..device.clone()
        };
        // Some kernels take no empty problems.
        let taken =
            |[m, n, k]: &&[i64; 3]| packed(kernel, &Problem::new(*m, *n, *k), device).is_ok();
        let edges: Vec<[i64; 3]> = problems.edges.iter().filter(taken).copied().collect();
        Ok(Subject {
            name: kernel.id.clone(),
            ptx,
            sanitize: Sanitize::Strict,
            launches: launches(device, kernel, &problems.main)?,
            edges: launches(device, kernel, &edges)?,
            rounds: launches(&small, kernel, &problems.rounds)?,
        })
    }

    /// The launch files below a folder that expect no finding.
    ///
    /// # Errors
    /// When a file is missing or no launch file.
    pub fn of_launch_files(folder: &Path) -> Result<Vec<Subject>, Failure> {
        let mut subjects = Vec::new();
        for manifest in launch_file::find_manifests(folder)? {
            let file = LaunchFile::read(&manifest)?;
            if file.expect_error.is_some() {
                continue;
            }
            let folder = manifest.parent().unwrap_or(folder);
            subjects.push(Subject {
                ptx: file.read_ptx(folder)?,
                launches: vec![file.prepare(folder)?],
                edges: Vec::new(),
                rounds: Vec::new(),
                name: file.id,
                sanitize: Sanitize::Default,
            });
        }
        Ok(subjects)
    }
}

/// An operand in memory.
struct Placed<'a> {
    operand: &'a Operand,
    extents: Extents,
    bytes: u64,
}

impl Placed<'_> {
    /// Dense elements, last axis innermost, at their places; the gaps hold `gap`.
    fn image(&self, dense: &[u8], gap: u8) -> Vec<u8> {
        let size = self.operand.dtype.bytes() as usize;
        let mut image = vec![gap; self.bytes as usize];
        self.extents.for_each_run(|offset, from, count| {
            let [at, from, bytes] = [offset, from, count].map(|n| n as usize * size);
            image[at..at + bytes].copy_from_slice(&dense[from..from + bytes]);
        });
        image
    }
}

/// Launches of a kernel on problems of these extents, with the grids of a device.
///
/// # Errors
/// When the kernel does not take such a problem.
pub fn launches(
    device: &DeviceInfo,
    kernel: &Kernel,
    extents: &[[i64; 3]],
) -> Result<Vec<Prepared>, Failure> {
    let launches = extents.iter().map(|one| launch(device, kernel, *one));
    launches.collect()
}

/// One launch of a kernel on a problem of these extents, its rows as tight as the kernel allows.
fn launch(device: &DeviceInfo, kernel: &Kernel, [m, n, k]: [i64; 3]) -> Result<Prepared, Failure> {
    let problem = packed(kernel, &Problem::new(m, n, k), device)?;
    let fitted = fit(kernel, &problem, device).map_err(|refusals| format!("{refusals:?}"))?;
    let operands = kernel.semantics.operands.iter();
    let placed: Vec<Placed<'_>> = operands
        .zip(&fitted.operands)
        .map(|(operand, extents)| Placed {
            operand,
            extents: *extents,
            bytes: extents.span_elems().unwrap_or(0) as u64 * u64::from(operand.dtype.bytes()),
        })
        .collect();
    let [abi] = kernel.launches.as_slice() else {
        return Err(format!("{} is no single launch", kernel.id).into());
    };
    let contents = contents(kernel, &problem, &fitted, &placed)?;
    let buffers = placed
        .iter()
        .zip(contents)
        .map(|(one, content)| Allocation {
            arg: buffer_arg(
                &one.operand.name,
                &format!("{:?}", one.operand.dtype),
                one.bytes,
            ),
            expect: content.1,
            init: content.0,
        });
    let mut prepared = Prepared {
        launch: Launch {
            entry: abi.entry.clone(),
            grid: [1; 3],
            block: abi.block,
            cluster: abi.cluster.unwrap_or([1; 3]),
            programmatic: abi.programmatic,
            dynamic_shared_bytes: 0,
            params: Params::Packed(Vec::new()),
        },
        buffers: buffers.collect(),
    };
    place(device, kernel, &fitted, &placed, &mut prepared)?;
    Ok(prepared)
}

/// Fills in the grid and the parameters, now that the buffers have addresses.
fn place(
    device: &DeviceInfo,
    kernel: &Kernel,
    fitted: &Fit,
    placed: &[Placed<'_>],
    prepared: &mut Prepared,
) -> Result<(), Failure> {
    let (memory, ids) = prepared.memory()?;
    let views: Vec<View<'_>> = placed
        .iter()
        .zip(&ids)
        .map(|(one, id)| View {
            operand: &one.operand.name,
            address: memory.address(*id),
            bytes: one.bytes,
        })
        .collect();
    let mut ready =
        prepare(kernel, fitted, device, &views).map_err(|refusals| format!("{refusals:?}"))?;
    ready
        .encode_maps(|placed| placed.map.encode().map_err(|error| error.to_string()))
        .map_err(|refusals| format!("{refusals:?}"))?;
    let mut address = 0;
    if ready.wants_workspace() {
        let bytes = ready.workspace_bytes.max(1);
        // The start is zero as the kernel expects it, and what is behind it may be anything.
        let zero = ready.workspace_zero_bytes > 0;
        prepared.buffers.push(Allocation {
            arg: buffer_arg("workspace", "u8", bytes),
            init: zero.then(|| vec![0; usize::try_from(bytes).unwrap_or(0)]),
            expect: None,
        });
        let (memory, ids) = prepared.memory()?;
        address = ids.last().map_or(0, |id| memory.address(*id));
    }
    if let [part] = ready.parts.as_slice() {
        prepared.launch.grid = part.grid;
        prepared.launch.dynamic_shared_bytes = part.dynamic_smem_bytes;
        prepared.launch.params = Params::Packed(part.params_with(address));
    }
    Ok(())
}

fn buffer_arg(name: &str, dtype: &str, bytes: u64) -> BufferArg {
    BufferArg {
        name: name.to_owned(),
        role: Role::Inout,
        dtype: dtype.to_lowercase(),
        bytes,
        init: None,
        expect: None,
        rtol: None,
        atol: None,
    }
}

/// What a buffer holds before and after.
type Content = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Inputs of integers, or of any bits where they are moved alone, and outputs as the kernel's
/// formula says.
fn contents(
    kernel: &Kernel,
    problem: &Problem,
    fitted: &Fit,
    placed: &[Placed<'_>],
) -> Result<Vec<Content>, Failure> {
    let moved = kernel.copied().is_some();
    let reference = FormulaReference::of(kernel, problem, fitted)?;
    let seeds = (3..).step_by(2).enumerate();
    let dense = placed.iter().zip(seeds).map(|(one, (at, seed))| {
        if !reference.keeps(at) {
            return Ok(None);
        }
        if let Some(entries) = reference.table(at, seed)? {
            return Ok(Some(entries));
        }
        let (dtype, elems) = (one.operand.dtype, one.extents.elems() as usize);
        if moved {
            return Ok(Some(random_bytes(elems * dtype.bytes() as usize, 17)));
        }
        encode(dtype, &integers(dtype, elems, seed)).map(Some)
    });
    let dense: Dense = dense.collect::<Result<_, _>>()?;
    let outputs = reference.exact(&dense)?;
    let contents = placed.iter().zip(dense).zip(outputs);
    let contents = contents.map(|((one, given), output)| match (given, output) {
        (Some(given), None) => {
            let image = one.image(&given, 0xFF);
            (Some(image.clone()), Some(image))
        }
        (before, Some(output)) => {
            let before = before.map(|before| one.image(&before, POISON));
            (before, Some(one.image(&output, POISON)))
        }
        (None, None) => (None, None),
    });
    Ok(contents.collect())
}

/// Integers of up to four bits, or three of fp8, of whose sums 13 bits are kept: sums are exact,
/// and large enough that a 16-bit output has to be rounded.
fn integers(dtype: DType, count: usize, seed: u64) -> Vec<f64> {
    let most: u8 = match dtype {
        DType::E4M3 | DType::E5M2 => 7,
        _ => 15,
    };
    let bytes = random_bytes(count, seed).into_iter();
    let integer = |byte: u8| f64::from(byte % (2 * most + 1)) - f64::from(most);
    bytes.map(integer).collect()
}
