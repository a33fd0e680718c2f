//! The warp-specialized way: boxes of tensor maps fill a swizzled ring, the tensor cores read it
//! through descriptors, and results leave through staging buffers as boxes again.

use tilewright_layout::{
    ComposedLayout, IntTuple, Layout, Swizzle, TiledMma, Tiler, make_tiled_copy_c,
};

use crate::arch::{MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM, WARPGROUP};
use crate::atoms::model::Space;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::descriptor::{self, Descriptor, Major};
use crate::plan::gemm::mma::{mma_of, smem_mma_atom};
use crate::plan::gemm::operands;
use crate::plan::model::{Hop, MmaPlan, Plan, SmemTile, Step};
use crate::plan::roles::{BoxCopy, BoxPlace, Ring, Roles, Staging};
use crate::plan::tiled::{assume_bytes, copy_of, placed_bytes};
use crate::spec::model::{Auto, Operand, Point, Schedule, SchedulerKind, Spec, Stride};

/// Bytes that tensor maps demand of pointers and strides (PTX ISA, tensor map; CUDA driver API,
/// cuTensorMapEncodeTiled).
const TENSOR_ALIGN: u32 = 16;
/// Largest extent of a box (as above).
const MAX_BOX: i64 = 256;
/// Most slots of the ring that `auto` takes; more have not paid anywhere.
const MOST_STAGES: u32 = 8;
/// Rows of a warpgroup's MMA.
const MMA_ROWS: i64 = 64;
/// Registers an MMA needs besides its accumulators when it is issued at the entry's register count.
const ISSUE_REGISTERS: i64 = 26;
/// Registers of a consumer besides its accumulators.
const OTHER_REGISTERS: i64 = 40;
/// Warps of a warpgroup: each arrives by itself when it is done with a slot.
const WARPS: u32 = 4;

/// Plans the point this way. What a violation leaves open is not decided.
pub(super) fn plan(
    point: &Point,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    [a, b, d]: [&Operand; 3],
) -> Result<()> {
    let spec = &point.spec;
    let schedule = match spec.pipeline.schedule {
        Auto::Given(schedule) => schedule,
        Auto::Auto => Schedule::Cooperative,
    };
    let [m, n, k] = [spec.cta_tile[0], spec.cta_tile[1], spec.cta_tile[2]];
    let [along_m, along_n] = consumers(spec, schedule);
    let Some(mma) = tiled_mma(spec, chooser, [a, b], [along_m, along_n])? else {
        return Ok(());
    };
    let consumers = match schedule {
        Schedule::Pingpong => 2,
        _ => (along_m * along_n) as u32,
    };
    plan.threads = (along_m * along_n) as u32 * WARPGROUP;
    plan.min_ctas_per_sm = Some(1);
    let atom_n = n / along_n;
    let registers = registers(
        chooser,
        consumers,
        m / (MMA_ROWS * along_m) * atom_n / 2,
        atom_n,
    );
    let cluster = [spec.cluster[0] as u32, spec.cluster[1] as u32];
    let mut loads = Vec::new();
    let mut descriptors = Vec::new();
    for (operand, rows, mma_rows, parts) in
        [(a, m, MMA_ROWS, cluster[1]), (b, n, atom_n, cluster[0])]
    {
        let tile = [rows, k];
        let Some((load, found)) = input(spec, chooser, plan, operand, tile, mma_rows, parts)?
        else {
            continue;
        };
        loads.push(load);
        descriptors.push(found);
    }
    plan.mma = Some(mma);
    operands::store(spec, chooser, plan, d)?;
    let Some((store, staging)) = output(spec, chooser, plan, d, [along_m, along_n])? else {
        return Ok(());
    };
    let Ok(descriptors) = <[Descriptor; 2]>::try_from(descriptors) else {
        return Ok(());
    };
    let bytes: i64 = (plan.smem.iter().filter(|tile| tile.operand != "d"))
        .map(|tile| i64::from(tile.size_bytes))
        .sum();
    let mut roles = Roles {
        schedule,
        consumers,
        registers,
        in_flight: spec.pipeline.in_flight.unwrap_or_else(|| 1),
        cluster,
        kind: spec
            .scheduler
            .kind
            .unwrap_or_else(|| SchedulerKind::Persistent),
        ctas: match spec.scheduler.ctas {
            Auto::Given(ctas) => Some(ctas),
            Auto::Auto => None,
        },
        loads,
        descriptors,
        store,
        staging,
        ring: Ring {
            name: "ab",
            stages: 0,
            full_arrivals: 1,
            bytes: bytes as u32,
            empty_arrivals: 0,
            barriers_at: 0,
        },
        turns_at: None,
    };
    place(spec, plan, &mut roles);
    plan.roles = Some(roles);
    Ok(())
}

/// Warpgroups side by side along m and n on one tile.
fn consumers(spec: &Spec, schedule: Schedule) -> [i64; 2] {
    match (&spec.mma.atoms, schedule) {
        (Auto::Given([m, n, _]), _) => [*m, *n],
        (Auto::Auto, Schedule::Pingpong) => [1, 1],
        (Auto::Auto, _) => match spec.cta_tile[0] / MMA_ROWS {
            0 | 1 => [1, 1],
            3 => [3, 1],
            _ => [2, 1],
        },
    }
}

fn tiled_mma(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    [a, b]: [&Operand; 2],
    [along_m, along_n]: [i64; 2],
) -> Result<Option<MmaPlan>> {
    let [m, n] = [spec.cta_tile[0], spec.cta_tile[1]];
    let mut good = true;
    if !matches!([along_m, along_n], [1..=3, 1] | [1, 1..=3]) {
        let message = format!(
            "mma.atoms ({along_m},{along_n},1) is no row or column of 1 to 3 warpgroups: use \
             (2,1,1)"
        );
        chooser.violate("consumers", message);
        good = false;
    }
    if m % (MMA_ROWS * along_m) != 0 {
        let unit = MMA_ROWS * along_m;
        let nearest = (m / unit).max(1) * unit;
        let message = format!(
            "cta_tile m {m} is no multiple of {unit}, the rows of {along_m} warpgroups: use \
             {nearest}"
        );
        chooser.violate("tile-divides", message);
        good = false;
    }
    if n % (8 * along_n) != 0 || n / along_n > MAX_BOX {
        let unit = 8 * along_n;
        let nearest = ((n / unit).max(1) * unit).min(MAX_BOX * along_n);
        let message = format!(
            "cta_tile n {n} is no multiple of {unit} up to {}: use {nearest}",
            MAX_BOX * along_n
        );
        chooser.violate("tile-divides", message);
        good = false;
    }
    if !good {
        return Ok(None);
    }
    let Some(atom) = smem_mma_atom(spec, chooser, a, b, n / along_n) else {
        return Ok(None);
    };
    let Some(facts) = &atom.mma else {
        return Ok(None);
    };
    let grid = Layout::flat(&[along_m, along_n, 1], &[along_n, 1, 1])?;
    let tiled = TiledMma::new(mma_of(facts), &grid, [const { Tiler::Keep }; 3])?;
    Ok(Some(MmaPlan {
        atom,
        tiled,
        widen: None,
    }))
}

/// Registers of producer and consumers: what the entry's count leaves when the producer gives most
/// of its own away.
fn registers(
    chooser: &mut Chooser<'_>,
    consumers: u32,
    accumulators: i64,
    atom_n: i64,
) -> [u32; 2] {
    let registers = match consumers {
        1 => [40, 248],
        2 if accumulators >= 176 => [24, 240],
        2 => [40, 232],
        _ => [32, 160],
    };
    let threads = (consumers + 1) * WARPGROUP;
    let entry = (REGISTERS_PER_SM / threads / 8 * 8).min(MAX_REGISTERS_PER_THREAD);
    let available = i64::from(registers[1]);
    if accumulators + OTHER_REGISTERS > available {
        let message = format!(
            "{accumulators} accumulator registers a thread and {OTHER_REGISTERS} more exceed the \
             {available} of {consumers} consumer warpgroups: use more mma.atoms or a smaller \
             cta_tile"
        );
        chooser.violate("registers", message);
    } else if atom_n / 2 + ISSUE_REGISTERS > i64::from(entry) {
        let message = format!(
            "an mma of n {atom_n} needs {} registers when the kernel starts, where {threads} \
             threads have {entry} each: use a smaller n or fewer warpgroups",
            atom_n / 2 + ISSUE_REGISTERS
        );
        chooser.violate("registers", message);
    }
    registers
}

/// The load of an input, its place in shared memory and its descriptor.
fn input(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
    mma_rows: i64,
    parts: u32,
) -> Result<Option<(BoxCopy, Descriptor)>> {
    let name = operand.name.as_str();
    let Some(contiguous) = contiguous_mode(operand) else {
        let message = format!("operand {name} has no stride 1: tensor maps need one");
        chooser.violate("not-contiguous", message);
        return Ok(None);
    };
    let given = spec.copy.get(name).and_then(|path| path.g2s.clone());
    let what = format!("copy.{name}.g2s");
    let wanted = Wanted {
        from: Space::Gmem,
        to: Space::Smem,
        bytes: None,
        asynchronous: true,
        collective: false,
        tensor: Some(parts > 1),
    };
    let Some(atom) = chooser.copy(&what, &given.unwrap_or_default(), wanted) else {
        return Ok(None);
    };
    let facts = atom.copy.as_ref().and_then(|copy| copy.tensor);
    if facts.map(|tensor| tensor.multicast) != Some(parts > 1) {
        let way = if parts > 1 {
            "to several CTAs"
        } else {
            "to one CTA"
        };
        let message = format!("{what}: {} does not load a box {way}: choose auto", atom.id);
        chooser.violate("atom-kind", message);
        return Ok(None);
    }
    let bytes = i64::from(operand.dtype.bytes());
    let Some(width) = swizzle_width(spec, name, tile[contiguous] * bytes) else {
        let message = format!(
            "operand {name}: a tile of {} elements along its contiguous mode is no multiple of a \
             swizzle of 32, 64 or 128 bytes: change cta_tile or the swizzle",
            tile[contiguous]
        );
        chooser.violate("swizzle", message);
        return Ok(None);
    };
    let span = width / bytes;
    let layout = input_layout(tile, contiguous, span, bytes)?;
    let major = if contiguous == 1 { Major::K } else { Major::Mn };
    if major == Major::K && tile[1] != span {
        let message = format!(
            "operand {name}: cta_tile k {} is not the {span} elements of its swizzle: use {span}",
            tile[1]
        );
        chooser.violate("tile-divides", message);
        return Ok(None);
    }
    let descriptor = match descriptor::derive(&layout, major, tile, [mma_rows, 16], bytes)? {
        Ok(descriptor) => descriptor,
        Err(message) => {
            chooser.violate("descriptor", format!("operand {name}: {message}"));
            return Ok(None);
        }
    };
    let across = tile[1 - contiguous];
    let share = across / i64::from(parts);
    if across % i64::from(parts) != 0 || share % 8 != 0 || share > MAX_BOX {
        let message = format!(
            "operand {name}: its tile's {across} rows do not split into {parts} boxes of a \
             multiple of 8, at most {MAX_BOX}: change cta_tile or cluster"
        );
        chooser.violate("box", message);
        return Ok(None);
    }
    assume_bytes(
        plan,
        operand,
        TENSOR_ALIGN,
        &format!("{what}: a tensor map"),
    );
    let load = BoxCopy {
        operand: name.to_string(),
        hop: Hop::G2s,
        atom,
        dtype: operand.dtype,
        contiguous,
        box_extents: by_mode(contiguous, span, share),
        swizzle_bytes: width as u32,
        places: (0..tile[contiguous] / span)
            .map(|number| BoxPlace {
                coord: by_mode(contiguous, number * span, 0),
                offset_bytes: number * width * across,
            })
            .collect(),
        parts,
        part_step: BoxPlace {
            coord: by_mode(contiguous, 0, share),
            offset_bytes: share * width,
        },
    };
    let size_bytes = placed_bytes(layout.inner.cosize()?, operand.dtype);
    plan.smem.push(SmemTile {
        operand: name.to_string(),
        dtype: operand.dtype,
        layout,
        offset_bytes: plan.stage_bytes,
        size_bytes,
    });
    plan.stage_bytes = plan.stage_bytes.saturating_add(size_bytes);
    Ok(Some((load, descriptor)))
}

/// Rows of the swizzle's width one after another; a contiguous mode longer than that in slabs.
fn input_layout(
    tile: [i64; 2],
    contiguous: usize,
    span: i64,
    bytes: i64,
) -> Result<ComposedLayout> {
    let across = tile[1 - contiguous];
    let slabs = IntTuple::flat([span, tile[contiguous] / span]);
    let slab_strides = IntTuple::flat([1, span * across]);
    let (shape, stride) = if contiguous == 1 {
        (
            IntTuple::tuple([IntTuple::leaf(across), slabs]),
            IntTuple::tuple([IntTuple::leaf(span), slab_strides]),
        )
    } else {
        (
            IntTuple::tuple([slabs, IntTuple::leaf(across)]),
            IntTuple::tuple([slab_strides, IntTuple::leaf(span)]),
        )
    };
    Ok(ComposedLayout::new(
        swizzle_of(span * bytes, bytes)?,
        Layout::new(shape, stride)?,
    ))
}

/// The hardware's swizzle of that width, on elements of that size.
fn swizzle_of(width: i64, bytes: i64) -> Result<Swizzle> {
    let bits = i64::from((width / 16).ilog2());
    Ok(Swizzle::new(bits, 4 - i64::from(bytes.ilog2()), 3)?)
}

/// Bytes of the widest swizzle whose pattern divides the tile's rows, or of the one asked for.
fn swizzle_width(spec: &Spec, operand: &str, row_bytes: i64) -> Option<i64> {
    let asked = match spec.swizzle.get(operand) {
        Some(Auto::Given(swizzle)) => Some(16i64 << swizzle.bits()),
        _ => None,
    };
    [128, 64, 32]
        .into_iter()
        .find(|width| row_bytes % width == 0 && asked.is_none_or(|asked| asked == *width))
}

/// The store of results: stmatrix into a warpgroup's staging buffers, boxes out of them.
fn output(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    d: &Operand,
    [along_m, along_n]: [i64; 2],
) -> Result<Option<(BoxCopy, Staging)>> {
    let Some(mma) = plan.mma.clone() else {
        return Ok(None);
    };
    if d.strides[1] != Stride::Const(1) || d.dtype.bytes() != 2 {
        let message = format!(
            "operand d: boxes store 16-bit elements contiguous along n; it is {} ({},{}): use \
             schedule multistage",
            d.dtype, d.extents[0], d.extents[1]
        );
        chooser.violate("store", message);
        return Ok(None);
    }
    let path = spec.copy.get("d").cloned().unwrap_or_default();
    let wanted = |from, to, collective, tensor| Wanted {
        from,
        to,
        bytes: Some(16),
        asynchronous: tensor,
        collective,
        tensor: tensor.then_some(false),
    };
    let r2s = wanted(Space::Rmem, Space::Smem, true, false);
    let s2g = wanted(Space::Smem, Space::Gmem, false, true);
    let into = chooser.copy("copy.d.r2s", &path.r2s.unwrap_or_default(), r2s);
    let out_of = chooser.copy("copy.d.s2g", &path.s2g.unwrap_or_default(), s2g);
    let (Some(into), Some(out_of)) = (into, out_of) else {
        return Ok(None);
    };
    let Some(copy) = copy_of(&into, d.dtype)? else {
        return Ok(None);
    };
    let [m, n] = [spec.cta_tile[0], spec.cta_tile[1]];
    let atom_n = n / along_n;
    let Some((columns, buffers)) = staging_shape(atom_n) else {
        let message = format!(
            "an mma of n {atom_n} does not split into staging buffers of 16, 32 or 64 columns: \
             use a multiple of 16"
        );
        chooser.violate("store", message);
        return Ok(None);
    };
    let bytes = i64::from(d.dtype.bytes());
    let buffer = MMA_ROWS * columns;
    let set = buffers * buffer;
    let rests = m / (MMA_ROWS * along_m);
    let shape = IntTuple::tuple([
        IntTuple::flat([MMA_ROWS, along_m, rests]),
        IntTuple::flat([columns, buffers, atom_n / columns / buffers, along_n]),
    ]);
    let stride = IntTuple::tuple([
        IntTuple::flat([columns, along_n * set, 0]),
        IntTuple::flat([1, buffer, 0, set]),
    ]);
    let swizzle = swizzle_of(columns * bytes, bytes)?;
    plan.smem.push(SmemTile {
        operand: d.name.clone(),
        dtype: d.dtype,
        layout: ComposedLayout::new(swizzle, Layout::new(shape, stride)?),
        offset_bytes: 0,
        size_bytes: placed_bytes(along_m * along_n * set, d.dtype),
    });
    plan.steps.push(Step {
        operand: d.name.clone(),
        hop: Hop::R2s,
        atom: into,
        element_atom: None,
        tiled: make_tiled_copy_c(copy, &mma.tiled)?,
        tile: [m, n],
    });
    assume_bytes(plan, d, TENSOR_ALIGN, "copy.d.s2g: a tensor map");
    let chunks = atom_n / columns;
    let places = (0..rests).flat_map(|rest| {
        (0..chunks).map(move |chunk| BoxPlace {
            coord: [rest * MMA_ROWS * along_m, chunk * columns],
            offset_bytes: chunk % buffers * buffer * bytes,
        })
    });
    let store = BoxCopy {
        operand: d.name.clone(),
        hop: Hop::S2g,
        atom: out_of,
        dtype: d.dtype,
        contiguous: 1,
        box_extents: [MMA_ROWS, columns],
        swizzle_bytes: (columns * bytes) as u32,
        places: places.collect(),
        parts: (along_m * along_n) as u32,
        part_step: BoxPlace {
            coord: if along_n > 1 {
                [0, atom_n]
            } else {
                [MMA_ROWS, 0]
            },
            offset_bytes: set * bytes,
        },
    };
    let staging = Staging {
        columns,
        buffers,
        buffer_bytes: buffer * bytes,
        offset_bytes: 0,
    };
    Ok(Some((store, staging)))
}

/// Columns and number of a warpgroup's staging buffers: two buffers as wide as the widest swizzle
/// where they alternate evenly, a few of the whole row otherwise.
fn staging_shape(atom_n: i64) -> Option<(i64, i64)> {
    const FEW: i64 = 3;
    let even = |columns: &i64| atom_n % (2 * columns) == 0;
    let few = |columns: &i64| atom_n % columns == 0 && atom_n / columns <= FEW;
    if let Some(columns) = [64, 32].into_iter().find(even) {
        return Some((columns, 2));
    }
    if let Some(columns) = [64, 32, 16].into_iter().find(few) {
        return Some((columns, atom_n / columns));
    }
    (atom_n % 32 == 0)
        .then_some((16, 2))
        .or((atom_n % 16 == 0).then_some((16, 1)))
}

/// Lays out shared memory: the ring, the staging buffers, the barriers.
fn place(spec: &Spec, plan: &mut Plan, roles: &mut Roles) {
    let sets = match roles.schedule {
        Schedule::Pingpong => roles.consumers,
        _ => 1,
    };
    let staging = plan.smem_tile("d").map_or(0, |tile| tile.size_bytes);
    let staging = staging.saturating_mul(sets);
    let turns = match roles.schedule {
        Schedule::Pingpong => roles.consumers * crate::plan::roles::BARRIER_BYTES,
        _ => 0,
    };
    let fixed = staging + turns;
    let per_stage = plan.stage_bytes.max(1) + 2 * crate::plan::roles::BARRIER_BYTES;
    let fitting = plan.arch.smem_max_bytes.saturating_sub(fixed) / per_stage;
    plan.stages = (spec.pipeline.stages).unwrap_or_else(|| fitting.clamp(2, MOST_STAGES));
    let ring = plan.stage_bytes.saturating_mul(plan.stages);
    roles.staging.offset_bytes = ring;
    if let Some(tile) = plan.smem.iter_mut().find(|tile| tile.operand == "d") {
        tile.offset_bytes = ring;
    }
    roles.ring.stages = plan.stages;
    roles.ring.barriers_at = ring.saturating_add(staging);
    roles.ring.empty_arrivals = roles.consumers_of_a_tile() * WARPS * roles.neighbours();
    let end = roles
        .ring
        .barriers_at
        .saturating_add(roles.ring.barrier_bytes());
    if turns > 0 {
        roles.turns_at = Some(end);
    }
    plan.smem_bytes = end.saturating_add(turns);
}

/// The mode with stride 1.
pub(super) fn contiguous_mode(operand: &Operand) -> Option<usize> {
    [1, 0]
        .into_iter()
        .find(|mode| operand.strides[*mode] == Stride::Const(1))
}

/// One value for the contiguous mode, one for the other.
fn by_mode(contiguous: usize, along: i64, across: i64) -> [i64; 2] {
    if contiguous == 0 {
        [along, across]
    } else {
        [across, along]
    }
}
