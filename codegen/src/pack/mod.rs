//! From compiled kernels to a bundle.
//!
//! Comes in: what [`crate::compile`] made, and ptxas' report where it could be had. Goes out: the
//! manifest entry with its launch ABI, assumptions and certificate, and the bundle's files.

mod bytes;
mod artifact;
mod traits;
pub mod lines;
#[cfg(test)]
mod tests;

use std::path::Path;

use tilewright_bundle::{
    AccumulationWord, Assumption, BundleWriter, Capability, Condition, Expr, Kernel, L2Promotion,
    LaunchAbi, Operand, Param, ParamValue, Provenance, Resources, Role, ScalarType, Semantics,
    Sha256Hex, Sums, TensorMapAbi, TensorSwizzle, Workspace,
};
use tilewright_formula::Accumulation;

pub use self::artifact::{Artifact, Cubin};
use crate::Compiled;
use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::ir::thread::program::{ParamType, Program};
use crate::plan::data::assumptions::Assumption as Assumed;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, Hop};
use crate::plan::work_tiles::SUMMED;
use crate::ptx::ptxas::{Params, PtxasReport};
use crate::spec::WORKSPACE;
use crate::spec::keys::model as spec;

/// Writes the manifest entry of a compiled kernel. Of what ptxas said, the last is about the code
/// that is shipped.
///
/// # Errors
/// [`Error::Bug`] when the plan cannot be said in the bundle's terms.
pub fn artifact(made: &Compiled, reports: &[PtxasReport]) -> Result<Artifact> {
    let plan = &made.plan;
    let bug = |message: String| Error::bug("pack", &plan.id, message, plan);
    let taken = made.certificate.taken.clone();
    let mut kernel = Kernel {
        semantics: semantics(plan).map_err(&bug)?,
        min_driver: min_driver(made.ptx.version),
        capability: capability(&plan.arch),
        launches: launches(made).map_err(&bug)?,
        workspace: workspace(plan),
        resources: resources(plan, reports.last()),
        traits: Some(traits::of(plan)),
        assumptions: assumptions(plan),
        certificate: certificate(made)
            .map_err(|error| bug(error.to_string()))?
            .into(),
        ..Kernel::new(&plan.id, &plan.computes.word)
    };
    for found in reports.iter().filter_map(|report| report.params.as_ref()) {
        agree(&kernel.launches, found).map_err(&bug)?;
    }
    kernel.resolve().map_err(|error| bug(error.to_string()))?;
    Ok(Artifact {
        kernel,
        ptx: made.ptx.text.clone(),
        cubin: None,
        taken,
    })
}

/// What is proved of a kernel, and of its copies.
fn certificate(made: &Compiled) -> serde_json::Result<serde_json::Value> {
    let mut all = serde_json::to_value(&made.certificate)?;
    let copies = made.copies.iter().map(certificate);
    let copies = copies.collect::<serde_json::Result<Vec<_>>>()?;
    if let (Some(object), false) = (all.as_object_mut(), copies.is_empty()) {
        object.insert("copies".to_owned(), copies.into());
    }
    Ok(all)
}

/// What a kernel takes of an SM.
fn resources(plan: &Plan, report: Option<&PtxasReport>) -> Resources {
    Resources {
        registers: report.map(|report| report.registers),
        static_smem_bytes: 0,
        dynamic_smem_bytes: plan.arena.bytes(),
        spill_bytes: report.map(|report| report.spill_load_bytes + report.spill_store_bytes),
    }
}

/// The launches of a kernel: the copies of its inputs, its own, the copies of its outputs.
fn launches(made: &Compiled) -> std::result::Result<Vec<LaunchAbi>, String> {
    let plan = &made.plan;
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    for (copy, at) in made.copies.iter().zip(&plan.copies) {
        // Inputs are copied there, outputs from there.
        let launch = launch(&copy.plan, &copy.program, |operand| {
            (operand.is_written() != at.is_behind()).then(|| at.at.clone())
        })?;
        match at.is_behind() {
            true => behind.push(launch),
            false => before.push(launch),
        }
    }
    let own = launch(plan, &made.program, |operand| {
        plan.realigned(operand.id).map(|copied| copied.at.clone())
    })?;
    before.push(own);
    before.append(&mut behind);
    Ok(before)
}

/// Whether machine code looks for the parameters where the manifest puts them.
fn agree(launches: &[LaunchAbi], found: &Params) -> std::result::Result<(), String> {
    for launch in launches {
        let params = launch.params.iter();
        let written: Vec<(u32, u32)> = params.map(|param| (param.offset, param.size)).collect();
        let found = found.get(&launch.entry);
        if found != Some(&written) {
            let entry = &launch.entry;
            return Err(format!(
                "ptxas has the parameters of {entry} at (offset, size) {found:?}, the manifest at \
                 {written:?}"
            ));
        }
    }
    Ok(())
}

/// Writes a bundle. The same artifacts give the same bytes.
///
/// # Errors
/// [`Error::Tool`] when the bundle cannot be written or an entry is refused.
pub fn write(artifacts: Vec<Artifact>, provenance: Provenance, path: &Path) -> Result<Sha256Hex> {
    writer(artifacts, provenance)?.write(path).map_err(refused)
}

/// A bundle that is not written yet.
///
/// # Errors
/// [`Error::Tool`] when an entry is refused.
pub fn writer(artifacts: Vec<Artifact>, provenance: Provenance) -> Result<BundleWriter> {
    let mut writer = BundleWriter::new(provenance);
    for artifact in artifacts {
        let cubin = artifact.cubin.as_ref();
        let cubin = cubin.map(|cubin| (cubin.target.as_str(), cubin.bytes.as_slice()));
        let added = writer.add(artifact.kernel, &artifact.ptx, cubin);
        added.map_err(refused)?;
    }
    Ok(writer)
}

fn refused(error: tilewright_bundle::Error) -> Error {
    Error::Tool {
        tool: "bundle",
        message: error.to_string(),
    }
}

/// The hash of the templates and instruction facts that kernels are made by.
pub fn facts() -> Sha256Hex {
    let mut all = String::new();
    for (name, text) in tilewright_templates::TEMPLATES
        .iter()
        .chain(tilewright_atoms::RECORDS)
    {
        let (at, bytes) = (name.len(), text.len());
        all += &format!("{at} {bytes}\n{name}{text}");
    }
    Sha256Hex::of(all.as_bytes())
}

/// Which tools make kernels here, with that assembler.
pub fn provenance(ptxas: Option<&Path>) -> Provenance {
    let (major, minor, patch) = crate::ptx::llvm_version();
    Provenance {
        generator: format!("tilewright {}", env!("CARGO_PKG_VERSION")),
        llvm: Some(format!("{major}.{minor}.{patch}")),
        ptxas: ptxas.and_then(|path| crate::ptx::ptxas::version(path).ok()),
    }
}

fn semantics(plan: &Plan) -> std::result::Result<Semantics, String> {
    let operands = plan.operands.iter().map(|operand| plan.given(operand));
    let operands = operands.map(|operand| {
        let is_combined = (plan.combinings()).any(|combining| combining.operand == operand.id);
        let role = match (operand.is_written(), is_combined) {
            (false, _) => Role::In,
            (true, false) => Role::Out,
            (true, true) => Role::InOut,
        };
        let text = match operand.packed {
            true => without_gaps(operand),
            false => operand.layout(),
        };
        let layout = text.parse().map_err(|error| format!("{text}: {error}"))?;
        Ok(Operand {
            over: operand.over.clone(),
            packed: plan.order(operand)?,
            ..Operand::new(&operand.name, role, operand.dtype, layout)
        })
    });
    let scalars = plan.computes.formula.signature.scalars.iter();
    let scalar = |scalar: &tilewright_formula::Scalar| tilewright_bundle::Scalar {
        name: scalar.name.clone(),
        dtype: scalar.dtype,
    };
    let modes = plan.computes.formula.modes.iter();
    let modes = modes.filter_map(|mode| Some((mode.name.clone(), mode.extent.constant()?)));
    Ok(Semantics {
        operands: operands.collect::<std::result::Result<_, String>>()?,
        scalars: scalars.map(scalar).collect(),
        modes: modes.collect(),
        compute: plan.computes.text.clone(),
        accumulation: match plan.computes.formula.signature.accumulation {
            Accumulation::Full => AccumulationWord::Full,
            Accumulation::Fast => AccumulationWord::Fast,
        },
        sums: sums(plan)?,
        ..Semantics::default()
    })
}

/// The layout of an operand's elements without gaps, `(n,k):(k,1)`: what is packed.
fn without_gaps(operand: &spec::Operand) -> String {
    let modes = operand.formula_axes().into_iter();
    let modes: Vec<&str> = modes.map(|axis| axis.mode.as_str()).collect();
    let strides: Vec<&str> = modes.iter().skip(1).copied().chain(["1"]).collect();
    format!("({}):({})", modes.join(","), strides.join(","))
}

/// How the kernel adds products: as its instruction does, k-block after k-block of one thread's
/// accumulators; where tiles are cut along k, in at most as many parts as there are CTAs and tiles
/// along k.
fn sums(plan: &Plan) -> std::result::Result<Option<Sums>, String> {
    let Some(mma) = &plan.mma else {
        return Ok(None);
    };
    let side_by_side = mma.tiled.atom_layout_mnk().mode(2);
    let side_by_side = side_by_side.and_then(|along_k| along_k.size().ok());
    if side_by_side != Some(1) {
        return Ok(None);
    }
    let Some(facts) = &mma.atom.mma else {
        return Ok(None);
    };
    let k = facts.sums.k;
    let block = plan
        .work
        .dims
        .get(SUMMED)
        .and_then(|k| u32::try_from(k.extent()).ok());
    Ok(Some(Sums {
        block: block.filter(|block| *block != k && block.is_multiple_of(k)),
        splits: plan.work.splits(),
        ..facts.sums.clone()
    }))
}

/// A launch of a program, of which some operands lie in the workspace, so many bytes behind its
/// start.
fn launch(
    plan: &Plan,
    program: &Program,
    in_workspace: impl Fn(&spec::Operand) -> Option<Expr>,
) -> std::result::Result<LaunchAbi, String> {
    let mut params = Vec::new();
    for param in &program.params {
        let operand = param.operand.map(|operand| plan.operand(operand));
        let at = operand.and_then(&in_workspace);
        let value = match param.ty {
            ParamType::Pointer { .. } if param.name == WORKSPACE => ParamValue::Workspace,
            ParamType::Pointer { .. } => match at {
                Some(at) => ParamValue::InWorkspace { at },
                None => ParamValue::pointer(&param.name),
            },
            ParamType::I32 => ParamValue::scalar(ScalarType::I32, Expr::named(&param.name)),
            ParamType::I64 => ParamValue::scalar(ScalarType::I64, plan.stride_value(&param.name)),
            ParamType::Scalar(of) => ParamValue::Given(tilewright_bundle::Scalar {
                name: param.name.clone(),
                dtype: of,
            }),
            ParamType::TensorMap => ParamValue::TensorMap(TensorMapAbi {
                in_workspace: at,
                ..tensor_map(plan, operand.ok_or("a map of no operand")?)?
            }),
        };
        params.push((param.name.as_str(), value));
    }
    Ok(LaunchAbi {
        entry: plan.entry.clone(),
        params: Param::pack(params),
        grid: [plan.work.grid(), 1.into(), 1.into()],
        block: [plan.cta_threads(), 1, 1],
        cluster: match plan.work.launched_together() {
            1 => None,
            ctas => Some([ctas, 1, 1]),
        },
        programmatic: plan.launch == spec::LaunchKind::Programmatic,
        dynamic_smem_bytes: plan.arena.bytes().into(),
    })
}

/// Which GPUs run what is made for an architecture.
pub(crate) fn capability(arch: &Arch) -> Capability {
    Capability {
        min_sm: arch.sm,
        exact: arch.exact,
    }
}

/// The scratch memory in which CTAs hand sums on, and in which copies lie.
fn workspace(plan: &Plan) -> Workspace {
    Workspace {
        bytes: plan.all_workspace(),
        zero_bytes: plan.zero_bytes(),
    }
}

/// The tensor map through which an operand's boxes are moved.
fn tensor_map(plan: &Plan, operand: &spec::Operand) -> std::result::Result<TensorMapAbi, String> {
    let name = &operand.name;
    let mut copies = plan.box_copies();
    let copy = copies.find(|copy| copy.operand == operand.id);
    let copy = copy.ok_or_else(|| format!("operand {name} is not moved by boxes"))?;
    let (mut dims, mut strides, mut boxed) = (Vec::new(), Vec::new(), Vec::new());
    for (at, axis) in plan.box_axes(copy, operand) {
        let extent = u32::try_from(copy.box_extents[at]);
        boxed.push(extent.map_err(|error| format!("box: {error}"))?);
        if !dims.is_empty() {
            strides.push(plan.launch_stride(&axis.stride));
        }
        dims.push(Expr::named(&axis.mode));
    }
    for axis in operand.axes_apart() {
        dims.push(plan.launch_extent(axis));
        strides.push(plan.launch_stride(&axis.stride));
        boxed.push(1);
    }
    Ok(TensorMapAbi {
        swizzle: match copy.swizzle_bytes {
            128 => TensorSwizzle::Bytes128,
            64 => TensorSwizzle::Bytes64,
            32 => TensorSwizzle::Bytes32,
            _ => TensorSwizzle::None,
        },
        l2_promotion: promotion(copy),
        ..TensorMapAbi::new(name, operand.dtype, dims, strides, boxed)
    })
}

/// What the second-level cache fetches for a box. A row of a load's box is 128 bytes or less. Where
/// a slot of the ring has one box of a row, the next 128 bytes are wanted a slot later: fetched
/// together they come from one open page of memory. Where it has more, they are asked for as well,
/// and asking twice took a decode product on an H200 3 to 7% longer (8x8192x28672, 8x28672x8192).
fn promotion(copy: &BoxCopy) -> L2Promotion {
    match copy.hop {
        Hop::G2s if copy.is_one_box_of_a_row() => L2Promotion::Bytes256,
        Hop::G2s => L2Promotion::Bytes128,
        _ => L2Promotion::None,
    }
}

/// What a kernel assumes, and its copies.
fn assumptions(plan: &Plan) -> Vec<Assumption> {
    let mut once = assumptions_of(plan);
    for one in &plan.copies {
        let copy = assumptions_of(&one.copy).into_iter();
        let new = copy.filter(|one| once.iter().all(|known| known.text() != one.text()));
        once.extend(new.collect::<Vec<_>>());
    }
    once
}

fn assumptions_of(plan: &Plan) -> Vec<Assumption> {
    let checked = |expr: Condition, reason: &String| Assumption::Expr {
        expr,
        reason: reason.clone(),
    };
    let entry = |assumption: &Assumed| match assumption {
        Assumed::StrideMultiple {
            stride: name,
            multiple,
            reason,
        } => checked((plan.stride_value(name) % *multiple).equals(0), reason),
        Assumed::ExtentMultiple {
            mode,
            multiple,
            reason,
        } => checked((Expr::named(mode) % *multiple).equals(0), reason),
        Assumed::ExtentMost { mode, most, reason } => {
            checked(Expr::named(mode).at_most(*most), reason)
        }
        Assumed::CountMost {
            count,
            most,
            reason,
        } => checked(count.clone().at_most(*most), reason),
        Assumed::DistinctEntries { table, reason } => Assumption::Promise {
            promise: Assumption::distinct_entries(&plan.operand(*table).name),
            reason: reason.clone(),
        },
        Assumed::PointerAlignment {
            operand,
            bytes,
            reason,
        } => Assumption::Align {
            operand: plan.operand(*operand).name.clone(),
            bytes: *bytes,
            reason: reason.clone(),
        },
    };
    let mut once: Vec<Assumption> = Vec::new();
    for assumption in plan.asks().map(entry) {
        // What is assumed of an extent may be what is assumed of a stride that is one.
        if once.iter().all(|known| known.text() != assumption.text()) {
            once.push(assumption);
        }
    }
    once
}

/// The first driver that accepts a PTX version, on cuDriverGetVersion's scale (CUDA 11.0 is 11000).
/// Source: PTX ISA, release notes table.
fn min_driver(ptx_version: u32) -> u32 {
    match ptx_version {
        0..=60 => 9000,
        61 => 9010,
        62 => 9020,
        63 => 10_000,
        64 => 10_010,
        65..=69 => 10_020,
        70..=78 => 11_000 + (ptx_version - 70) * 10,
        79..=89 => 12_000 + ptx_version.saturating_sub(80) * 10,
        _ => 13_000 + (ptx_version - 90) * 10,
    }
}
