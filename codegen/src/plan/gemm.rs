//! Planning a gemm: `d = a · bᵀ` with `a: (m,k)`, `b: (n,k)`, `d: (m,n)`.
//!
//! Two ways lead through it. *Multistage*: 16-byte asynchronous copies fill a swizzled ring,
//! ldmatrix and tensor-core MMAs empty it; it needs both operands contiguous along k.
//! *Synchronous*: element by element through registers, one fma a value; it takes every layout and
//! alignment.

use std::sync::Arc;

use tilewright_layout::{
    Layout, MmaAtom, TiledMma, Tiler, make_tiled_copy_a, make_tiled_copy_b, make_tiled_copy_c,
};

use crate::atoms::model::{Atom, MmaFacts, Space};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::limits::{check_blocks, check_registers, check_smem, check_threads};
use crate::plan::model::{EpiloguePlan, Hop, MmaPlan, Plan, Step};
use crate::plan::tiled::{assume, copy_of, place_smem, values, vector_copy};
use crate::plan::{partition, start};
use crate::spec::model::{Auto, Operand, Point, Spec, Stride};

/// Bytes of one asynchronous copy of the multistage way.
const VECTOR_BYTES: u32 = 16;

/// Plans the point. `None` when the chooser has violations that leave nothing to plan.
pub(super) fn plan(point: &Point, chooser: &mut Chooser<'_>) -> Result<Option<Plan>> {
    let spec = &point.spec;
    let (Some(a), Some(b), Some(d)) = (spec.operand("a"), spec.operand("b"), spec.operand("d"))
    else {
        return Ok(None);
    };
    let multistage = wants_multistage(spec, chooser, a, b);
    let Some((atom, widen)) = mma_atom(spec, chooser, a, b, multistage) else {
        return Ok(None);
    };
    let Some(mma) = tiled_mma(spec, chooser, atom, widen, multistage)? else {
        return Ok(None);
    };
    let threads = u32::try_from(mma.tiled.thread_count()?).unwrap_or(u32::MAX);
    check_threads(spec, chooser, threads);
    let mut plan = start(point, threads);
    plan.stages = stages(spec, chooser, multistage);
    plan.mma = Some(mma);
    plan.epilogue = epilogue(spec, chooser, d);
    check_registers(spec, chooser, threads);
    if !chooser.violations.is_empty() {
        return Ok(None);
    }
    for (operand, rows) in [(a, spec.cta_tile[0]), (b, spec.cta_tile[1])] {
        let tile = [rows, spec.cta_tile[2]];
        if multistage {
            multistage_operand(spec, chooser, &mut plan, operand, tile)?;
        } else {
            synchronous_operand(spec, chooser, &mut plan, operand, tile)?;
        }
    }
    store(spec, chooser, &mut plan, d)?;
    plan.smem_bytes = plan.stage_bytes * plan.stages.max(1);
    check_smem(chooser, &plan);
    check_blocks(chooser, &plan);
    Ok(Some(plan))
}

/// The multistage way is taken when the spec names an asynchronous copy, or leaves the choice and
/// the operands allow it.
fn wants_multistage(spec: &Spec, chooser: &Chooser<'_>, a: &Operand, b: &Operand) -> bool {
    let path = |name: &str| spec.copy.get(name).cloned().unwrap_or_default();
    let asked = ["a", "b"].iter().any(|name| path(name).g2s.is_some());
    let synchronous = ["a", "b"]
        .iter()
        .any(|name| path(name).g2r.is_some() || path(name).r2s.is_some());
    let contiguous = [a, b]
        .iter()
        .all(|operand| operand.strides[1] == Stride::Const(1));
    let tensor_core = chooser.mma([spec.accumulator, a.dtype, b.dtype]);
    let tensor_core = tensor_core.is_some_and(|atom| atom.min_sm >= 80);
    asked || (!synchronous && contiguous && tensor_core && chooser.arch.sm >= 80)
}

fn mma_atom(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    a: &Operand,
    b: &Operand,
    multistage: bool,
) -> Option<(Arc<Atom>, Option<Arc<Atom>>)> {
    let accumulator = spec.accumulator;
    let atom = match &spec.mma.atom {
        Auto::Given(id) => chooser.named("mma.atom", id, |atom| atom.mma.is_some())?,
        Auto::Auto => {
            let types = if multistage {
                [accumulator, a.dtype, b.dtype]
            } else {
                [accumulator; 3]
            };
            let found = chooser.mma(types);
            if found.is_none() {
                let [d, a, b] = types;
                let message = format!("{} has no mma of {a} and {b} into {d}", chooser.arch);
                chooser.violate("no-mma-atom", message);
            }
            found?
        }
    };
    let facts = atom.mma.as_ref()?;
    if facts.types[1] == a.dtype && facts.types[2] == b.dtype {
        return Some((atom, None));
    }
    let widen = chooser.convert(a.dtype, facts.types[1], 1);
    if widen.is_none() || a.dtype != b.dtype || facts.types[1] != facts.types[2] {
        let message = format!(
            "{} multiplies {} and {}, the operands are {} and {}: choose auto",
            atom.id, facts.types[1], facts.types[2], a.dtype, b.dtype
        );
        chooser.violate("mma-types", message);
        return None;
    }
    Some((atom, widen))
}

/// Warps side by side: 64 rows and columns each where the tile allows it, at most 8 warps.
fn tiled_mma(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    atom: Arc<Atom>,
    widen: Option<Arc<Atom>>,
    multistage: bool,
) -> Result<Option<MmaPlan>> {
    let Some(facts) = atom.mma.clone() else {
        return Ok(None);
    };
    let [m, n, _] = facts.mnk;
    let atoms = spec.mma.atoms.unwrap_or_else(|| {
        if multistage {
            let along =
                |extent: i64, atom: i64| (extent / 64).clamp(1, 4).min(extent / atom).max(1);
            [along(spec.cta_tile[0], m), along(spec.cta_tile[1], n), 1]
        } else {
            [16, 16, 1]
        }
    });
    let permutation = match &spec.mma.permutation {
        Auto::Given(extents) => plain_permutation(extents)?,
        Auto::Auto => default_permutation(&facts, atoms, spec.cta_tile[1])?,
    };
    let grid = [atoms[1], 1, 1];
    let grid = Layout::flat(&atoms, &grid)?;
    let tiled = TiledMma::new(mma_of(&facts), &grid, permutation)?;
    let tile = tiled.tile_mnk()?;
    let mut divides = true;
    for (index, name) in ["m", "n", "k"].into_iter().enumerate() {
        let (cta, unit) = (spec.cta_tile[index], tile[index]);
        if cta % unit != 0 {
            divides = false;
            let nearest = (cta / unit).max(1) * unit;
            let message = format!(
                "cta_tile {name} {cta} is no multiple of {unit}, what {} atoms of {} cover: use {nearest}",
                atoms[index], atom.id
            );
            chooser.violate("tile-divides", message);
        }
    }
    Ok(divides.then_some(MmaPlan { atom, tiled, widen }))
}

/// Two atoms along n for each warp, side by side, so that one ldmatrix x4 feeds both and a warp
/// stores whole sectors.
fn default_permutation(facts: &MmaFacts, atoms: [i64; 3], tile_n: i64) -> Result<[Tiler; 3]> {
    let n = facts.mnk[1];
    let wide = n == 8 && tile_n % (2 * n * atoms[1]) == 0;
    let along_n = if wide {
        Tiler::Layout(Layout::flat(&[n, atoms[1], 2], &[1, 2 * n, n])?)
    } else {
        Tiler::Keep
    };
    Ok([Tiler::Keep, along_n, Tiler::Keep])
}

fn plain_permutation(extents: &[i64; 3]) -> Result<[Tiler; 3]> {
    let [m, n, k] = extents.map(|extent| Layout::single(extent, 1));
    Ok([Tiler::Layout(m?), Tiler::Layout(n?), Tiler::Layout(k?)])
}

fn mma_of(facts: &MmaFacts) -> MmaAtom {
    MmaAtom {
        mnk: facts.mnk,
        thr_id: facts.thr_id.clone(),
        a_tv: facts.a_tv.clone(),
        b_tv: facts.b_tv.clone(),
        c_tv: facts.c_tv.clone(),
    }
}

fn stages(spec: &Spec, chooser: &mut Chooser<'_>, multistage: bool) -> u32 {
    let default = if multistage { 3 } else { 1 };
    let stages = spec.pipeline.stages.unwrap_or_else(|| default);
    if multistage && stages < 2 {
        let message = format!("pipeline.stages {stages} leaves no tile in flight: use 2 or more");
        chooser.violate("stages", message);
    }
    if !multistage && stages != 1 {
        let message = format!(
            "pipeline.stages {stages} needs asynchronous copies (operands contiguous along k): use 1"
        );
        chooser.violate("stages", message);
    }
    stages
}

/// Rounding of accumulators to d's type; `None` where they are stored as they are.
fn epilogue(spec: &Spec, chooser: &mut Chooser<'_>, d: &Operand) -> Option<EpiloguePlan> {
    if d.dtype == spec.accumulator {
        return None;
    }
    let convert = chooser.convert(spec.accumulator, d.dtype, 1);
    if convert.is_none() {
        let message = format!("no conversion from {} to {}", spec.accumulator, d.dtype);
        chooser.violate("no-conversion", message);
    }
    Some(EpiloguePlan {
        pack: chooser.convert(spec.accumulator, d.dtype, 2),
        convert,
    })
}

/// One operand of the multistage way.
fn multistage_operand(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
) -> Result<()> {
    let name = operand.name.as_str();
    if operand.strides[1] != Stride::Const(1) {
        let message = format!(
            "operand {name} is not contiguous along k: asynchronous copies need layout ({},k):(ld{name},1)",
            operand.extents[0]
        );
        chooser.violate("not-contiguous", message);
        return Ok(());
    }
    let path = spec.copy.get(name).cloned().unwrap_or_default();
    let what = format!("copy.{name}.g2s");
    let g2s = path.g2s.unwrap_or_default();
    let wanted = Wanted {
        from: Space::Gmem,
        to: Space::Smem,
        bytes: Some(VECTOR_BYTES),
        asynchronous: true,
        collective: false,
    };
    let Some(atom) = chooser.copy(&what, &g2s, wanted) else {
        return Ok(());
    };
    let Some(tiled) = vector_copy(chooser, &atom, operand.dtype, tile, 1, plan.threads, &what)?
    else {
        return Ok(());
    };
    assume(plan, operand, &atom, &what);
    let step = Step {
        operand: name.into(),
        hop: Hop::G2s,
        atom,
        element_atom: None,
        tiled,
        tile,
    };
    let swizzle = spec.swizzle.get(name).cloned().unwrap_or_default();
    let Some(fragment) = fragment_copy(spec, chooser, plan, operand, tile)? else {
        return Ok(());
    };
    place_smem(
        chooser,
        plan,
        operand,
        tile,
        1,
        &swizzle,
        [&step, &fragment],
    )?;
    plan.steps.extend([step, fragment]);
    Ok(())
}

/// The widest shared-memory load whose values arrive in the registers the MMA wants them in.
fn fragment_copy(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    operand: &Operand,
    tile: [i64; 2],
) -> Result<Option<Step>> {
    let name = operand.name.as_str();
    let Some(mma) = &plan.mma else {
        return Ok(None);
    };
    let given = spec
        .copy
        .get(name)
        .and_then(|path| path.s2r.clone())
        .unwrap_or_default();
    let wanted = |collective| Wanted {
        from: Space::Smem,
        to: Space::Rmem,
        bytes: None,
        asynchronous: false,
        collective,
    };
    let candidates = match &given {
        Auto::Given(_) => {
            let what = format!("copy.{name}.s2r");
            chooser
                .copy(&what, &given, wanted(true))
                .into_iter()
                .collect()
        }
        Auto::Auto => {
            let mut atoms = chooser.copies(wanted(true));
            atoms.extend(chooser.copies(wanted(false)));
            atoms.sort_by_key(|atom| std::cmp::Reverse(atom.register_bits()));
            atoms
        }
    };
    for atom in candidates {
        let Some(copy) = copy_of(&atom, operand.dtype)? else {
            continue;
        };
        let tiled = match name {
            "a" => make_tiled_copy_a(copy, &mma.tiled),
            _ => make_tiled_copy_b(copy, &mma.tiled),
        };
        let Ok(tiled) = tiled else { continue };
        let step = Step {
            operand: name.into(),
            hop: Hop::S2r,
            atom,
            element_atom: None,
            tiled,
            tile,
        };
        if partition::fills_fragment(plan, mma, &step)? {
            return Ok(Some(step));
        }
    }
    if chooser.violations.is_empty() {
        let message = format!(
            "copy.{name}.s2r: no load brings {name}'s fragments from shared memory in the order of {}",
            mma.atom.id
        );
        chooser.violate("no-fragment-copy", message);
    }
    Ok(None)
}

/// One operand of the synchronous way: element by element.
fn synchronous_operand(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
) -> Result<()> {
    let name = operand.name.as_str();
    let path = spec.copy.get(name).cloned().unwrap_or_default();
    let hops = [
        (Hop::G2r, Space::Gmem, Space::Rmem, path.g2r),
        (Hop::R2s, Space::Rmem, Space::Smem, path.r2s),
    ];
    // Neighbouring threads take neighbouring elements of the mode that is contiguous, if one is
    // known to be.
    let along = usize::from(operand.strides[0] != Stride::Const(1));
    for (hop, from, to, given) in hops {
        let what = format!("copy.{name}.{}", hop.name());
        let wanted = element(from, to, operand.dtype);
        let Some(atom) = chooser.copy(&what, &given.unwrap_or_default(), wanted) else {
            return Ok(());
        };
        let tiled = vector_copy(
            chooser,
            &atom,
            operand.dtype,
            tile,
            along,
            plan.threads,
            &what,
        )?;
        let Some(tiled) = tiled else { return Ok(()) };
        plan.steps.push(Step {
            operand: name.into(),
            hop,
            atom,
            element_atom: None,
            tiled,
            tile,
        });
    }
    let Some(fragment) = fragment_copy(spec, chooser, plan, operand, tile)? else {
        return Ok(());
    };
    plan.steps.push(fragment.clone());
    let Some(store) = plan.step(name, Hop::R2s).cloned() else {
        return Ok(());
    };
    let swizzle = spec.swizzle.get(name).cloned().unwrap_or_default();
    place_smem(
        chooser,
        plan,
        operand,
        tile,
        0,
        &swizzle,
        [&store, &fragment],
    )
}

fn element(from: Space, to: Space, dtype: Dtype) -> Wanted {
    Wanted {
        from,
        to,
        bytes: Some(dtype.bytes()),
        asynchronous: false,
        collective: false,
    }
}

/// Stores of the accumulators: two neighbours along n at once where d's rows are contiguous.
fn store(spec: &Spec, chooser: &mut Chooser<'_>, plan: &mut Plan, d: &Operand) -> Result<()> {
    let Some(mma) = plan.mma.clone() else {
        return Ok(());
    };
    let given = spec
        .copy
        .get("d")
        .and_then(|path| path.r2g.clone())
        .unwrap_or_default();
    let pairs = partition::neighbours_along_n(plan, &mma)?;
    let packed = plan
        .epilogue
        .as_ref()
        .is_none_or(|epilogue| epilogue.pack.is_some());
    let vector = if pairs && packed && d.strides[1] == Stride::Const(1) {
        2
    } else {
        1
    };
    let wanted = |elements: u32| Wanted {
        from: Space::Rmem,
        to: Space::Gmem,
        bytes: Some(elements * d.dtype.bytes()),
        asynchronous: false,
        collective: false,
    };
    let Some(atom) = chooser.copy("copy.d.r2g", &given, wanted(vector)) else {
        return Ok(());
    };
    let element_atom = if vector > 1 {
        chooser.copy("copy.d.r2g", &Auto::Auto, wanted(1))
    } else {
        None
    };
    let Some(copy) = copy_of(&atom, d.dtype)? else {
        return Ok(());
    };
    if values(&copy)? > i64::from(vector) {
        let message = format!(
            "copy.d.r2g: {} stores {} elements, a thread holds {vector} neighbours: choose auto",
            atom.id,
            values(&copy)?
        );
        chooser.violate("store-width", message);
        return Ok(());
    }
    let tiled = make_tiled_copy_c(copy, &mma.tiled)?;
    if vector > 1 {
        assume(plan, d, &atom, "copy.d.r2g");
    }
    let tile = [spec.cta_tile[0], spec.cta_tile[1]];
    plan.steps.push(Step {
        operand: "d".into(),
        hop: Hop::R2g,
        atom,
        element_atom,
        tiled,
        tile,
    });
    Ok(())
}
