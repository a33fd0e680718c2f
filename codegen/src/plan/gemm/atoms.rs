//! Atoms side by side that a product may have where those that it has by itself do not do.
//!
//! Comes in: a spec that leaves `mma.atoms` to the plan, and the atom. Goes out: how many atoms
//! stand side by side along m and n, best first. Whether they do is for the plan to say.

use crate::arch::{MAX_THREADS_PER_CTA, WARP};
use crate::atoms::model::MmaFacts;
use crate::error::Result;
use crate::plan::gemm::{epilogue, multistage_copies, tiled_mma, wants_multistage, wants_roles};
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Auto, Operand, Spec};

/// Registers for sums and fragments that leave a thread enough for all else: as many as a warp of
/// tensor-core products has for 64 rows and columns.
const REGISTERS: i64 = 192;
/// The same of a thread that multiplies element by element, whose fragments are single.
const REGISTERS_BY_ELEMENT: i64 = 96;

/// The ways in which atoms may stand side by side, best first; none where the spec says how, and
/// where warpgroups have roles.
pub(in crate::plan) fn others(spec: &Spec, chooser: &mut Chooser<'_>) -> Result<Vec<[i64; 3]>> {
    let (Some([a, b, d]), Auto::Auto) = (spec.problem.product(), &spec.schedule.mma.atoms) else {
        return Ok(Vec::new());
    };
    if wants_roles(spec, chooser, [a, b, d]) {
        return Ok(Vec::new());
    }
    let multistage = wants_multistage(spec, chooser, a, b);
    let found = tiled_mma::mma_atom(spec, chooser, a, b, multistage);
    let Some(facts) = found.and_then(|(atom, _)| atom.mma.clone()) else {
        return Ok(Vec::new());
    };
    let folds = epilogue::flow(spec).is_some_and(|flow| !flow.folds.is_empty());
    side_by_side(spec, &facts, folds)
}

/// Whether the plan, not the spec, gives warpgroups roles.
pub(in crate::plan) fn roles_by_itself(spec: &Spec, chooser: &Chooser<'_>) -> bool {
    match (spec.problem.product(), &spec.schedule.pipeline.schedule) {
        (Some(operands), Auto::Auto) => wants_roles(spec, chooser, operands),
        _ => false,
    }
}

/// The factors that the plan, not the spec, brings by vectors across k.
pub(in crate::plan) fn across_by_itself(spec: &Spec, chooser: &Chooser<'_>) -> Vec<String> {
    let Some([a, b, d]) = spec.problem.product() else {
        return Vec::new();
    };
    let is_asked = |operand: &&Operand| {
        let path = spec.schedule.copy.get(&operand.name);
        path.is_some_and(|path| path.g2s.is_some())
    };
    let asked = [a, b].iter().any(is_asked) || spec.schedule.pipeline.stages != Auto::Auto;
    if asked || wants_roles(spec, chooser, [a, b, d]) || !wants_multistage(spec, chooser, a, b) {
        return Vec::new();
    }
    let across = |operand: &&Operand| multistage_copies::vectors_along(operand) == Some(0);
    let across = [a, b].into_iter().filter(across);
    across.map(|operand| operand.name.clone()).collect()
}

/// Those that cut the tile evenly in whole warps, of as many threads as are asked for: first those
/// of few registers, in powers of two, the fewest threads, and then the fewest registers.
fn side_by_side(spec: &Spec, facts: &MmaFacts, folds: bool) -> Result<Vec<[i64; 3]>> {
    let each = facts.thr_id.size()?.max(1);
    let most = i64::from(MAX_THREADS_PER_CTA) / each;
    let [m, n, _] = facts.mnk;
    let [rows, columns] = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]];
    let along_m = (1..=most).filter(|atoms| rows % (atoms * m) == 0);
    let both = along_m.flat_map(|along_m| {
        let most = if folds { 1 } else { most / along_m };
        let along_n = (1..=most).filter(|atoms| columns % (atoms * n) == 0);
        along_n.map(move |along_n| [along_m, along_n])
    });
    let threads = |[along_m, along_n]: [i64; 2]| along_m * along_n * each;
    let wanted = |both: &[i64; 2]| match spec.schedule.threads {
        Auto::Given(asked) => threads(*both) == i64::from(asked),
        Auto::Auto => threads(*both) % i64::from(WARP) == 0,
    };
    let few = if each > 1 {
        REGISTERS
    } else {
        REGISTERS_BY_ELEMENT
    };
    let rank = |both: [i64; 2]| {
        let threads = threads(both);
        let registers = registers(spec, facts, each, both);
        let over = (registers - few).max(0);
        (over, threads.count_ones() > 1, threads, registers)
    };
    let mut all: Vec<[i64; 2]> = both.filter(wanted).collect();
    all.sort_by_key(|both| rank(*both));
    Ok(all.into_iter().map(|[m, n]| [m, n, 1]).collect())
}

/// Registers of a thread for sums, and for fragments, which tensor cores have twice in elements of
/// 16 bits.
fn registers(spec: &Spec, facts: &MmaFacts, each: i64, [along_m, along_n]: [i64; 2]) -> i64 {
    let planes = spec.problem.compute.plane_count();
    let rows = spec.schedule.cta_tile[0] / along_m;
    let columns = (spec.schedule.cta_tile[1] / along_n).saturating_mul(planes);
    let words = i64::from(spec.problem.accumulator.bits()).max(32) / 32;
    let sums = rows.saturating_mul(columns).saturating_mul(words);
    let fragments = rows.saturating_add(columns).saturating_mul(facts.mnk[2]);
    (sums / each).saturating_add(fragments / each)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::plan::plan;
    use crate::spec;

    /// Rows of two modes beside an axis apart, contiguous along the last of them all.
    #[test]
    fn more_axes_than_a_tile_has_are_refused_by_name() {
        let text = "kernel: scaled\nname: t\narch: sm_90a\noperands:\n  a: { dtype: e4m3, layout: \
                    '(m,g,i)' }\n  b: { dtype: e4m3, layout: '(h,j,g,i)' }\n  d: { dtype: bf16, \
                    layout: '(m,h,j)' }\n  e: { dtype: f32, layout: '(m,h,j,g)' }\n  r: { dtype: \
                    f32, layout: '(m,g)' }\ncompute: 'p[m,h,j,g]: f32 = sum[i] a[m,g,i] * \
                    b[h,j,g,i]; acc[m,h,j]: f32 = sum[g] p[m,h,j,g] * (e[m,h,j,g] * r[m,g]); \
                    d[m,h,j] = acc[m,h,j]'\nmodes: { j: 64 }\ncta_tile: { m: 192 }\nmma: { \
                    operands: ba }\n";
        let file = spec::parse("-", text).unwrap();
        let told = plan(&file.points[0]).unwrap_err().report(false);
        assert!(
            told.contains("mma.operands ba makes rows of the columns"),
            "{told}"
        );
    }
}
