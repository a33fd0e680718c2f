//! Copies of a gemm's operands, and the store of its result.

use tilewright_layout::{make_tiled_copy_a, make_tiled_copy_b, make_tiled_copy_c};

use crate::atoms::model::Space;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::model::{Hop, Plan, Step};
use crate::plan::partition;
use crate::plan::tiled::{assume, copy_of, place_smem, values, vector_copy};
use crate::spec::model::{Auto, Operand, Spec, Stride};

/// Bytes of one asynchronous copy of the multistage way.
const VECTOR_BYTES: u32 = 16;

/// One operand of the multistage way.
pub(super) fn multistage_operand(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
) -> Result<()> {
    let name = operand.name.as_str();
    if operand.strides[1] != Stride::Const(1) {
        let message = format!(
            "operand {name} is not contiguous along k: asynchronous copies need layout \
             ({},k):(ld{name},1)",
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
        tensor: None,
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
    let known = chooser.violations.len();
    let wanted = |collective| Wanted {
        from: Space::Smem,
        to: Space::Rmem,
        bytes: None,
        asynchronous: false,
        collective,
        tensor: None,
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
    if chooser.violations.len() == known {
        let message = format!(
            "copy.{name}.s2r: no load brings {name}'s fragments from shared memory in the \
             order of {}",
            mma.atom.id
        );
        chooser.violate("no-fragment-copy", message);
    }
    Ok(None)
}

/// One operand of the synchronous way: element by element.
pub(super) fn synchronous_operand(
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
        tensor: None,
    }
}

/// Stores of the accumulators: two neighbours along n at once where d's rows are contiguous.
pub(super) fn store(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    d: &Operand,
) -> Result<()> {
    let Some(mma) = plan.mma.clone() else {
        return Ok(());
    };
    // Where boxes store, this is the way of the columns that boxes cannot end at.
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
        tensor: None,
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
