//! The tiled MMA of a gemm: which atom, how many of them side by side, which tiles they cover.

use std::sync::Arc;

use tilewright_layout::{Layout, MmaAtom, TiledMma, Tiler};

use crate::arch::WARP;
use crate::atoms::model::{Atom, MmaFacts};
use crate::dtype::DType;
use crate::error::{Message, Result, message};
use crate::plan::data::model::MmaPlan;
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Auto, Operand, Realign, Spec, Stride};
use crate::spec::keys::paths;

/// The atom, and the widening of stored elements to its types where they are narrower. `None` when
/// there is none, which is then among the violations.
pub(super) fn mma_atom(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    a: &Operand,
    b: &Operand,
    multistage: bool,
) -> Option<(Arc<Atom>, Option<Arc<Atom>>)> {
    let accumulator = spec.problem.accumulator;
    let types = match multistage {
        true => [accumulator, a.dtype, b.dtype],
        false => [accumulator; 3],
    };
    let atom = match &spec.schedule.mma.atom {
        Auto::Given(id) => chooser.named("mma.atom", id, |atom| on_registers(atom, accumulator))?,
        Auto::Auto => {
            let found = chooser.mma(types);
            if found.is_none() {
                let message = message!(
                    "{}: choose {}",
                    no_mma(spec, chooser, [a, b], multistage),
                    other_types(spec, chooser, [a, b])
                );
                chooser.violate("no-mma-atom", message);
            }
            found?
        }
    };
    let facts = atom.mma.as_ref()?;
    if facts.types[1] == a.dtype && facts.types[2] == b.dtype {
        return Some((atom, None));
    }
    // Fragments on their way hold elements of 16 bits.
    let widens = a.dtype.bits() == 16 && facts.types[1].bits() > 16;
    let widen = chooser
        .convert(a.dtype, facts.types[1], 1)
        .filter(|_| widens);
    if widen.is_none() || a.dtype != b.dtype || facts.types[1] != facts.types[2] {
        let multiplies = format!(
            "{} multiplies {} and {}",
            atom.id, facts.types[1], facts.types[2]
        );
        let message = match spec.schedule.mma.atom {
            Auto::Given(_) => message!(
                "{multiplies}, the operands are {} and {}: choose {} auto",
                a.dtype,
                b.dtype,
                paths::MMA_ATOM
            ),
            Auto::Auto => message!(
                "{}, {multiplies}: choose {}",
                no_mma(spec, chooser, [a, b], multistage),
                other_types(spec, chooser, [a, b])
            ),
        };
        chooser.violate("mma-types", message);
        return None;
    }
    Some((atom, widen))
}

/// That the architecture has no MMA of the operands' types, by the way that the product takes.
fn no_mma(spec: &Spec, chooser: &Chooser<'_>, both: [&Operand; 2], multistage: bool) -> Message {
    let how = match multistage || is_along_k(both) {
        true => "on registers",
        false => "element by element, as layouts not contiguous along k need it",
    };
    let ([a, b], accumulator) = (both, spec.problem.accumulator);
    message!(
        "for {} no mma of {} and {} into {accumulator} {how} is generated",
        paths::ARCH.with(chooser.arch),
        a.dtype,
        b.dtype
    )
}

/// What to choose where there is no MMA of the operands' types; which architecture has one is for
/// those to say who ask them all.
fn other_types(spec: &Spec, chooser: &Chooser<'_>, both: [&Operand; 2]) -> Message {
    let types = [spec.problem.accumulator, both[0].dtype, both[1].dtype];
    let along_k = chooser.mma(types).is_some() || !chooser.smem_widths(types).is_empty();
    if !is_along_k(both) && along_k {
        return along_k_first(spec, both);
    }
    // Who has named a schedule whose MMAs read registers has no others there.
    let given = matches!(spec.schedule.pipeline.schedule, Auto::Given(_));
    if given && !chooser.smem_widths(types).is_empty() {
        return message!("{} cooperative, or leave it out", paths::SCHEDULE);
    }
    let mut pairs = chooser.mma_types(spec.problem.accumulator, [false; 2]);
    for pair in chooser.mma_types(spec.problem.accumulator, [true; 2]) {
        if !given && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs.retain(|pair| *pair != [both[0].dtype, both[1].dtype]);
    match pairs.is_empty() {
        true if spec.problem.accumulator == DType::F32 => {
            "f32 and f32, which threads multiply without tensor cores".into()
        }
        true => "other types".into(),
        false => message!("types that there is one of: {}", listed(&pairs)),
    }
}

/// How factors become contiguous along k that are not.
fn along_k_first(spec: &Spec, both: [&Operand; 2]) -> Message {
    let across = both
        .into_iter()
        .filter(|one| *one.stride(1) != Stride::Const(1));
    let way = |one: &Operand| match one.contiguous_axis() {
        Some(_) => Realign::Transposed.name(),
        None => Realign::Workspace.name(),
    };
    let copies: Vec<Message> = across
        .filter(|one| !spec.problem.compute.has_planes(one) && !one.packed)
        .map(|one| message!("{} {}", paths::copy(&one.name, "realign"), way(one)))
        .collect();
    match copies.is_empty() {
        true => "layouts contiguous along k".into(),
        false => message!(
            "layouts contiguous along k, or {}, which copies them so",
            Message::join(copies, " and ")
        ),
    }
}

/// Types of a and b, pair by pair.
fn listed(pairs: &[[DType; 2]]) -> String {
    let pairs = pairs.iter().map(|[a, b]| format!("{a} and {b}"));
    Vec::from_iter(pairs).join(", ")
}

/// Whether both operands are contiguous along k.
pub(super) fn is_along_k(both: [&Operand; 2]) -> bool {
    both.iter().all(|one| *one.stride(1) == Stride::Const(1))
}

/// Why the atom is no MMA on registers that sums in that type.
fn on_registers(atom: &Atom, accumulator: DType) -> Option<String> {
    let Some(facts) = &atom.mma else {
        return Some("is no mma".to_string());
    };
    if facts.smem != [false; 2] {
        return Some("reads shared memory, as schedules cooperative and pingpong do".to_string());
    }
    let [sum, .., addend] = facts.types;
    let other = [sum, addend].into_iter().find(|ty| *ty != accumulator);
    other.map(|other| format!("sums in {other}, the accumulator is {accumulator}"))
}

/// The MMA that reads both operands from shared memory and is `n` wide, or b alone where no other
/// takes a as it lies. `None` when there is none, which is then among the violations.
pub(super) fn smem_mma_atom(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    a: &Operand,
    b: &Operand,
    n: i64,
) -> Option<Arc<Atom>> {
    let types = [spec.problem.accumulator, a.dtype, b.dtype];
    let misfit = |atom: &Atom| {
        let Some(facts) = &atom.mma else {
            return Some("is no mma".to_string());
        };
        let ([d, a, b], [of_d, of_a, of_b, _]) = (types, facts.types);
        if !facts.smem[1] {
            return Some("reads registers, as schedule multistage does".to_string());
        }
        if [of_d, of_a, of_b] != types {
            return Some(format!(
                "multiplies {of_a} and {of_b} into {of_d}, the spec {a} and {b} into {d}"
            ));
        }
        let wide = facts.mnk[1];
        (wide != n).then(|| format!("is {wide} wide, the tile's warpgroups are {n}"))
    };
    match &spec.schedule.mma.atom {
        Auto::Given(id) => chooser.named("mma.atom", id, misfit),
        Auto::Auto => {
            let across = |atom: &Arc<Atom>| reads_across(atom, 0);
            let found = chooser.smem_mma(types, n);
            let as_it_lies = a.contiguous_axis() != Some(0) || found.as_ref().is_some_and(across);
            let turned = (!as_it_lies).then(|| chooser.rows_mma(types, n)).flatten();
            let found = turned.or(found);
            if found.is_none() {
                let message = no_smem_mma(spec, chooser, types, n);
                chooser.violate("no-mma-atom", message);
            }
            found
        }
    }
}

/// Whether an MMA reads that factor in shared memory contiguous along m or n as well: it then has
/// an operand that says which.
pub(super) fn reads_across(atom: &Atom, factor: usize) -> bool {
    let flag = ["a_mn", "b_mn"].get(factor);
    let mut operands = atom.operands.iter();
    operands.any(|operand| Some(&operand.name.as_str()) == flag)
}

/// That there is no MMA of those types that reads shared memory and is `n` wide, with what there
/// is: others of these types, the multistage way, other types.
fn no_smem_mma(spec: &Spec, chooser: &Chooser<'_>, types: [DType; 3], n: i64) -> Message {
    let [d, a, b] = types;
    let arch = chooser.arch;
    let what = message!(
        "for {} no mma of {a} and {b} in shared memory into {d} is generated",
        paths::ARCH.with(arch)
    );
    let widths = chooser.smem_widths(types);
    // Of a tile some warpgroups may have a part each, and several products a part of an mma.
    let tile = |width: &i64| {
        let columns = width * spec.schedule.cta_tile[1];
        (n > 0 && columns % n == 0).then(|| columns / n)
    };
    let below = widths.iter().rev().filter(|width| **width < n);
    let nearest = below.chain(&widths).find_map(tile);
    let mut ways = Vec::new();
    let along = mode_of(spec, 1);
    ways.extend(nearest.map(|columns| message!("{} {along} {columns}", paths::CTA_TILE)));
    let multistage = || message!("{} multistage", paths::SCHEDULE);
    ways.extend((chooser.mma(types).is_some()).then(multistage));
    let pairs = chooser.mma_types(d, [true; 2]);
    if nearest.is_none() && !pairs.is_empty() {
        ways.push(message!("types that there is one of: {}", listed(&pairs)));
    }
    if ways.is_empty() {
        ways.push("other types".into());
    }
    let ways = Message::join(ways, ", or ");
    match widths.is_empty() {
        true => message!("{}: choose {}", what, ways),
        false => message!("{}, {n} wide: choose {}", what, ways),
    }
}

/// Sums that the atom cuts short are the user's choice, by a key that others do without.
pub(super) fn check_accumulation(spec: &Spec, chooser: &mut Chooser<'_>, atom: &Atom) {
    let Some(facts) = &atom.mma else {
        return;
    };
    let message = match (spec.problem.accumulation, facts.short_sums(chooser.arch)) {
        (None, Some(kept)) => message!(
            "{} keeps {kept} bits of the products it adds where {} has {}: write {}: fast if that \
             will do, or use inputs of f16 or bf16",
            atom.id,
            spec.problem.accumulator,
            spec.problem.accumulator.fraction_bits().unwrap_or_default(),
            paths::ACCUMULATION
        ),
        (Some(accumulation), None) => message!(
            "{} {} is for fp8 wgmma, which cuts sums short, {} does not: leave it out",
            paths::ACCUMULATION,
            accumulation.name(),
            atom.id
        ),
        _ => return,
    };
    chooser.violate("accumulation", message);
}

/// Warps side by side: 64 rows and columns each where the tile allows it, at most 8 warps; of
/// columns that are folded each has all. Whether they cover the tile is for [`check_tile`] to say.
pub(super) fn tiled_mma(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    (atom, widen): (Arc<Atom>, Option<Arc<Atom>>),
    folds: bool,
) -> Result<Option<MmaPlan>> {
    let Some(facts) = atom.mma.clone() else {
        return Ok(None);
    };
    let [m, n, _] = facts.mnk;
    let by_warps = facts.thr_id.size()? > 1;
    let atoms = spec.schedule.mma.atoms.unwrap_or_else(|| {
        if by_warps && (folds || spec.problem.compute.planes().is_some()) {
            few_registers(spec, facts.mnk, folds)
        } else if by_warps {
            let along =
                |extent: i64, atom: i64| (extent / 64).clamp(1, 4).min(extent / atom).max(1);
            [
                along(spec.schedule.cta_tile[0], m),
                along(spec.schedule.cta_tile[1], n),
                1,
            ]
        } else {
            [16, 16, 1]
        }
    });
    if !check_atoms(spec, chooser, &facts, atoms) {
        return Ok(None);
    }
    let permutation = match &spec.schedule.mma.permutation {
        Auto::Given(extents) => plain_permutation(extents)?,
        Auto::Auto => default_permutation(&facts, atoms, spec.schedule.cta_tile[1])?,
    };
    let grid = [atoms[1], 1, atoms[0] * atoms[1]];
    let grid = Layout::flat(&atoms, &grid)?;
    let tiled = TiledMma::new(mma_of(&facts), &grid, permutation)?;
    Ok(Some(MmaPlan {
        atom,
        tiled,
        widen,
        waves: 1,
    }))
}

/// Warps side by side where each has its rows and columns of several planes, or all columns where
/// they are folded: the fewest whose accumulators and fragments leave a thread registers for all
/// else, the squarest of these.
fn few_registers(spec: &Spec, [m, n, k]: [i64; 3], folds: bool) -> [i64; 3] {
    const MOST: i64 = 8;
    /// Registers of a thread: as many as plain products have, 64 rows and columns a warp.
    const REGISTERS: i64 = 192;
    let [rows, columns] = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]];
    let planes = spec.problem.compute.plane_count();
    let each = |along_m: i64, along_n: i64| {
        let (rows, columns) = (rows / along_m, (columns / along_n).saturating_mul(planes));
        // Fragments are there twice, in elements of 16 bits.
        let fragments = rows.saturating_add(columns).saturating_mul(k) / i64::from(WARP);
        (rows.saturating_mul(columns) / i64::from(WARP)).saturating_add(fragments)
    };
    let along_m = (1..=MOST).filter(|warps| rows % (warps * m) == 0);
    let both = along_m.flat_map(|along_m| {
        let most = if folds { 1 } else { MOST / along_m };
        let along_n = (1..=most).filter(|warps| columns % (warps * n) == 0);
        along_n.map(move |along_n| [along_m, along_n])
    });
    let best = both.min_by_key(|[along_m, along_n]| {
        let registers = each(*along_m, *along_n);
        let over = (registers - REGISTERS).max(0);
        (over, along_m * along_n, registers)
    });
    let [along_m, along_n] = best.unwrap_or([1, 1]);
    [along_m, along_n, 1]
}

/// Whether the warps can stand so: side by side along m and n, each with whole atoms.
fn check_atoms(spec: &Spec, chooser: &mut Chooser<'_>, facts: &MmaFacts, atoms: [i64; 3]) -> bool {
    let mut good = true;
    let [m, n, k] = atoms;
    if k != 1 {
        let message = message!(
            "{} ({m},{n},{k}) has {k} atoms along k, whose sums no warp adds up: use ({m},{n},1)",
            paths::MMA_ATOMS
        );
        chooser.violate("atoms-along-k", message);
        good = false;
    }
    let Auto::Given(extents) = spec.schedule.mma.permutation else {
        return good;
    };
    let units = [0, 1, 2].map(|mode| facts.mnk[mode].saturating_mul(atoms[mode]));
    if (0..3).any(|mode| extents[mode] % units[mode] != 0) {
        let up =
            |mode: usize| (extents[mode] - 1).div_euclid(units[mode]) * units[mode] + units[mode];
        let text = |[m, n, k]: [i64; 3]| format!("({m},{n},{k})");
        let message = message!(
            "{} {} is no multiple of {}, what the atoms cover: use {} or auto",
            paths::PERMUTATION,
            text(extents),
            text(units),
            text([0, 1, 2].map(up))
        );
        chooser.violate("permutation", message);
        good = false;
    }
    good
}

/// The name of a mode of the tile: m, n, k where factors are not exchanged.
pub(super) fn mode_of(spec: &Spec, at: usize) -> &str {
    spec.problem.modes().get(at).map_or("", String::as_str)
}

/// Whether the CTA's tile is a whole number of tiled MMAs along each mode.
pub(super) fn check_tile(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    mma: &MmaPlan,
    stages: u32,
) -> Result<bool> {
    let units = mma.tiled.tile_mnk()?;
    let mut divides = true;
    for (mode, (name, cta)) in spec
        .problem
        .modes()
        .iter()
        .zip(&spec.schedule.cta_tile)
        .enumerate()
    {
        let unit = units[mode];
        if cta % unit != 0 {
            divides = false;
            // Fragments are double-buffered where tiles are loaded ahead: an even number of blocks.
            let blocks = if mode == 2 && stages > 1 { 2 } else { 1 };
            let nearest = (cta / (blocks * unit)).max(1) * blocks * unit;
            let message = message!(
                "{} {name} {cta} is no multiple of {unit}, what the tiled mma of {} covers: use \
                 {nearest}, or other {}",
                paths::CTA_TILE,
                mma.atom.id,
                paths::MMA_ATOMS
            );
            chooser.violate("tile-divides", message);
        }
    }
    Ok(divides)
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

pub(super) fn mma_of(facts: &MmaFacts) -> MmaAtom {
    MmaAtom {
        mnk: facts.mnk,
        thr_id: facts.thr_id.clone(),
        a_tv: facts.a_tv.clone(),
        b_tv: facts.b_tv.clone(),
        c_tv: facts.c_tv.clone(),
    }
}
