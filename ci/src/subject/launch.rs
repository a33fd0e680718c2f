//! Launches of a kernel: operands in memory, parameters, and what outputs must hold.

use tilewright_bundle::{DType, Kernel, Operand};
use tilewright_emulator::{Launch, Params};
use tilewright_lab::launch_file::{Allocation, BufferArg, Prepared, Role};
use tilewright_lab::verify::{
    Data, Dense, Expect, FormulaReference, encode, random_bytes, random_codes,
};
use tilewright_runtime::{
    DeviceInfo, Extents, Fit, POISON, Problem, View, fit, operand_bytes, prepare,
};

use super::Failure;
use super::trial::{Allowed, Trial};

/// The seed of inputs that are no integers.
const SEED: u64 = 2026;

/// An operand in memory.
struct Placed<'a> {
    operand: &'a Operand,
    extents: Extents,
    bytes: u64,
}

impl Placed<'_> {
    /// Dense elements, last axis innermost, at their places; the gaps hold `gap`.
    fn image(&self, dense: &[u8], gap: u8) -> Vec<u8> {
        if self.operand.packed.is_some() {
            return tilewright_runtime::image(self.operand, &self.extents, dense);
        }
        let mut image = vec![gap; self.bytes as usize];
        let dtype = self.operand.dtype;
        self.extents.scatter(dtype, dense, (&mut image, 0));
        image
    }

    /// Dense elements as they are read: those that lie at one address are the last of them.
    fn as_read(&self, dense: Vec<u8>) -> Vec<u8> {
        if self.extents.is_injective() {
            return dense;
        }
        let image = self.image(&dense, POISON);
        self.extents.gather(self.operand.dtype, &image, 0)
    }
}

/// Launches of a kernel on these problems, with the grids of a device.
///
/// # Errors
/// When the kernel does not take such a problem.
pub fn launches(
    device: &DeviceInfo,
    kernel: &Kernel,
    problems: &[Problem],
) -> Result<Vec<Trial>, Failure> {
    let launches = problems.iter().map(|one| launch(device, kernel, one));
    launches.collect()
}

/// One launch of a kernel on a problem.
fn launch(device: &DeviceInfo, kernel: &Kernel, problem: &Problem) -> Result<Trial, Failure> {
    let fitted = fit(kernel, problem, device).map_err(|refusals| format!("{refusals:?}"))?;
    let operands = kernel.semantics.operands.iter();
    let placed: Vec<Placed<'_>> = operands
        .zip(&fitted.operands)
        .map(|(operand, extents)| Placed {
            operand,
            extents: *extents,
            bytes: operand_bytes(operand, extents).unwrap_or(0),
        })
        .collect();
    let [abi] = kernel.launches.as_slice() else {
        return Err(format!("{} is no single launch", kernel.id).into());
    };
    let reference = FormulaReference::of(kernel, problem, &fitted)?;
    let (buffers, allowed) = contents(kernel, &reference, &placed)?;
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
        buffers,
    };
    place(device, kernel, &fitted, &placed, &mut prepared)?;
    Ok(Trial { prepared, allowed })
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
        .encode_maps(tilewright_runtime::parts::encode_map)
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
        let params = part.params_with(address, tilewright_runtime::parts::encode_map)?;
        prepared.launch.params = Params::Packed(params);
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

/// Buffers with what they hold before and must hold after, and what outputs may hold where the
/// formula leaves that open.
fn contents(
    kernel: &Kernel,
    reference: &FormulaReference<'_>,
    placed: &[Placed<'_>],
) -> Result<(Vec<Allocation>, Vec<Allowed>), Failure> {
    let as_read = |given: Dense| -> Dense {
        let pairs = placed.iter().zip(given);
        let read = pairs.map(|(one, dense)| dense.map(|dense| one.as_read(dense)));
        read.collect()
    };
    let mut given = as_read(exact_inputs(kernel, reference, placed)?);
    let mut expected = reference.expected(&given, Data::Integers)?;
    let is_open = |expect: &Option<Expect>| matches!(expect, Some(Expect::Allowed(_)));
    if expected.iter().any(is_open) {
        given = as_read(reference.draw(Data::Normals, SEED)?);
        expected = reference.expected(&given, Data::Normals)?;
    }
    let (mut buffers, mut allowed) = (Vec::new(), Vec::new());
    for (at, ((one, given), expect)) in placed.iter().zip(given).zip(expected).enumerate() {
        // What is only read stays as it is, the gaps between its rows are no number.
        let gap = if expect.is_some() { POISON } else { 0xFF };
        let image = given.as_deref().map(|dense| one.image(dense, gap));
        let (init, bytes) = match expect {
            None => (image.clone(), image),
            Some(Expect::Bytes(bytes)) => (image, Some(one.image(&bytes, POISON))),
            Some(Expect::Allowed(output)) => {
                allowed.push(Allowed {
                    buffer: at,
                    extents: one.extents,
                    output,
                    before: given,
                });
                (image, None)
            }
        };
        let dtype = format!("{:?}", one.operand.dtype);
        buffers.push(Allocation {
            arg: buffer_arg(&one.operand.name, &dtype, one.bytes),
            init,
            expect: bytes,
        });
    }
    Ok((buffers, allowed))
}

/// Elements that most kernels lose nothing of: integers, any bits where they are moved alone,
/// entries of tables.
fn exact_inputs(
    kernel: &Kernel,
    reference: &FormulaReference<'_>,
    placed: &[Placed<'_>],
) -> Result<Dense, Failure> {
    // A cast gives other bits of what is no number.
    let same = |pair: &[Placed<'_>]| pair[0].operand.dtype == pair[1].operand.dtype;
    let moved = kernel.copied().is_some() && placed.windows(2).all(same);
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
            return Ok(Some(random_codes(dtype, elems, 17)));
        }
        encode(dtype, &integers(dtype, elems, seed)).map(Some)
    });
    Ok(dense.collect::<Result<_, _>>()?)
}

/// Integers of up to four bits, or three of fp8, of whose sums 13 bits are kept: sums are exact,
/// and large enough that a 16-bit output has to be rounded.
fn integers(dtype: DType, count: usize, seed: u64) -> Vec<f64> {
    let most: u8 = match dtype {
        DType::E4M3 | DType::E5M2 => 7,
        _ => 15,
    };
    let bytes = random_bytes(count, seed).into_iter();
    let integer = |byte: u8| match dtype {
        // It has powers of two alone.
        DType::UE8M0 => f64::from(byte % 3).exp2(),
        _ => f64::from(byte % (2 * most + 1)) - f64::from(most),
    };
    bytes.map(integer).collect()
}
