//! Planning a copy: `d = s`, over a tile of two modes, through registers or through shared memory.
//!
//! A way is where the data passes and how wide its vectors are; the first way that nothing speaks
//! against is taken. Operands that are contiguous along different modes are transposed in shared
//! memory: vectors of one are written there element by element, and read as vectors of the other.

use std::fmt;
use std::sync::Arc;

use crate::atoms::model::{Atom, Space};
use crate::dtype::DType;
use crate::element::Packing;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::code::repacked;
use crate::plan::model::{Hop, Plan, Step};
use crate::plan::moves::{axes_of, contiguous};
use crate::plan::tiled::{Lies, Sharing, assume, check_strides, place_smem, vector_copy};
use crate::plan::{limits, start};
use crate::spec::model::{Auto, CopyPath, Operand, Point, Role, Spec};

/// Threads of a CTA unless the spec says otherwise.
const THREADS: u32 = 256;
/// Bytes of a row that neighbouring threads load of what is transposed: lanes of a warp write
/// vectors of several rows to different banks.
const ROW_BYTES: i64 = 128;
/// Bytes of the vectors there are, the widest first.
const WIDTHS: [u32; 5] = [16, 8, 4, 2, 1];

/// Where the data passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    /// Registers only.
    Registers,
    /// Shared memory, filled by asynchronous copies of so many bytes, then registers.
    Ring(u32),
    /// Registers, shared memory and registers again.
    Staging,
}

/// A way from `s` to `d`.
#[derive(Clone, Copy, Debug)]
struct Way {
    through: Through,
    /// Bytes of the vectors in registers.
    vector: u32,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vector = self.vector;
        match self.through {
            Through::Registers => write!(f, "{vector} bytes through registers"),
            Through::Ring(bytes) => write!(
                f,
                "{bytes} bytes into shared memory, {vector} bytes through registers"
            ),
            Through::Staging => write!(f, "{vector} bytes, staged in shared memory"),
        }
    }
}

/// What the spec says of the ways.
struct Asked<'s> {
    spec: &'s Spec,
    s: &'s Operand,
    d: &'s Operand,
    path: CopyPath,
    store: Auto<String>,
}

impl Asked<'_> {
    /// The key of an operand's hop.
    fn key(&self, operand: &Operand, hop: Hop) -> String {
        format!("copy.{}.{}", operand.name, hop.name())
    }
}

/// Whether it is a copy that is planned here: of two modes, or one of more that passes through
/// shared memory, as it must where its sides are contiguous along different modes. Others are maps,
/// which move vectors at the ends of rows too.
pub(super) fn is_for(spec: &Spec) -> bool {
    let sides = [Role::Source, Role::Output].map(|role| spec.operand_as(role));
    let (true, [Some(s), Some(d)]) = (spec.compute.is_copy(), sides) else {
        return false;
    };
    let path = spec.copy.get(&s.name);
    let asked = path.is_some_and(|path| path.g2s.is_some() || path.s2r.is_some());
    // A map rounds elements of this type anew.
    let rounds = s.dtype == DType::TF32;
    // Threads move whole bytes of a map's rows.
    let shares_bytes = s.dtype.per_byte() > 1;
    !shares_bytes && (spec.compute.is_plain || asked || rounds || are_turned(spec, s, d))
}

/// Whether two operands are contiguous along different modes of the tile.
fn are_turned(spec: &Spec, s: &Operand, d: &Operand) -> bool {
    match (contiguous(spec, s), contiguous(spec, d)) {
        (Some(s), Some(d)) => s != d,
        _ => false,
    }
}

/// Plans the point. `None` when the chooser has violations that leave nothing to plan.
pub(super) fn plan(point: &Point, chooser: &mut Chooser<'_>) -> Result<Option<Plan>> {
    let spec = &point.spec;
    let operands = [Role::Source, Role::Output].map(|role| spec.operand_as(role));
    let [Some(s), Some(d)] = operands else {
        return Ok(None);
    };
    let store = spec.copy.get(&d.name).and_then(|path| path.r2g.clone());
    let asked = Asked {
        spec,
        s,
        d,
        path: spec.copy.get(&s.name).cloned().unwrap_or_default(),
        store: store.unwrap_or_default(),
    };
    let Some(vectors) = vectors(chooser, &asked) else {
        return Ok(None);
    };
    let begun = start(point, spec.threads.unwrap_or_else(|| THREADS));
    let ways = ways(chooser, &asked, &vectors);
    let plan = chooser.first("copy", ways, |chooser, way| {
        planned(chooser, &asked, begun.clone(), *way)
    })?;
    if let Some(plan) = &plan {
        limits::check_copy_registers(chooser, plan);
    }
    Ok(plan)
}

/// Bytes of the vectors in registers that the given atoms leave, the widest first: the load into
/// registers and the store from them hold the same vectors.
fn vectors(chooser: &mut Chooser<'_>, asked: &Asked<'_>) -> Option<Vec<u32>> {
    let (dtype, path) = (asked.s.dtype, &asked.path);
    if path.g2s.is_some() && path.g2r.is_some() {
        let s = &asked.s.name;
        let message = format!(
            "copy.{s}.g2r loads into registers, copy.{s}.g2s into shared memory: leave one of them \
             out"
        );
        chooser.violate("schedule", message);
        return None;
    }
    // Edges are copied one element at a time.
    let element = Wanted::vector(Space::Gmem, Space::Rmem, dtype.bytes());
    if chooser.copies(element).is_empty() {
        chooser.copy(&asked.key(asked.s, Hop::G2r), &Auto::Auto, element);
        return None;
    }
    let load = match &path.s2r {
        Some(id) => (asked.key(asked.s, Hop::S2r), Some(id)),
        None => (asked.key(asked.s, Hop::G2r), path.g2r.as_ref()),
    };
    let store = (asked.key(asked.d, Hop::R2g), Some(&asked.store));
    let mut given = [None; 2];
    for (slot, (key, id)) in given.iter_mut().zip([load, store]) {
        let Some(Auto::Given(id)) = id else { continue };
        *slot = chooser.catalogue.get(id).and_then(width);
        if slot.is_some_and(|bytes| bytes < dtype.bytes()) {
            let message = format!("{key}: {id} is narrower than one {dtype}: choose auto");
            chooser.violate("atom-width", message);
            return None;
        }
    }
    if let [Some(load), Some(store)] = given
        && load != store
    {
        let message = format!("loads move {load} bytes and stores {store}: use the same width");
        chooser.violate("copy-widths", message);
        return None;
    }
    let fits = |bytes: &u32| *bytes >= dtype.bytes();
    match given[0].or(given[1]) {
        Some(bytes) => Some(vec![bytes]),
        None => Some(WIDTHS.into_iter().filter(fits).collect()),
    }
}

/// Every way, the best first.
fn ways(chooser: &Chooser<'_>, asked: &Asked<'_>, vectors: &[u32]) -> Vec<Way> {
    let path = &asked.path;
    let every = |through: Through| vectors.iter().map(move |&vector| Way { through, vector });
    let differ = are_turned(asked.spec, asked.s, asked.d);
    let ring = path.s2r.is_some() && path.g2r.is_none() && !differ;
    if path.g2s.is_some() || ring {
        let fill = match &path.g2s {
            Some(Auto::Given(id)) => chooser.catalogue.get(id).and_then(width),
            _ => None,
        };
        let fills: Vec<u32> = fill.map_or(WIDTHS.to_vec(), |bytes| vec![bytes]);
        let through = |bytes: u32| every(Through::Ring(bytes));
        return fills.into_iter().flat_map(through).collect();
    }
    if differ || path.s2r.is_some() {
        let direct = vectors.last().filter(|_| path.s2r.is_none());
        let direct = direct.map(|&vector| Way {
            through: Through::Registers,
            vector,
        });
        return every(Through::Staging).chain(direct).collect();
    }
    every(Through::Registers).collect()
}

/// Bytes of one access of the atom.
fn width(atom: &Arc<Atom>) -> Option<u32> {
    atom.copy.as_ref().map(|facts| facts.access_bytes)
}

/// The plan of that way, `None` when a limit speaks against it.
fn planned(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    mut plan: Plan,
    way: Way,
) -> Result<Option<Plan>> {
    let &Asked { spec, s, d, .. } = asked;
    let path = &asked.path;
    let of = |id: &Option<Auto<String>>| id.clone().unwrap_or_default();
    let store = (d, Hop::R2g, asked.store.clone());
    let hops = match way.through {
        Through::Registers => vec![(s, Hop::G2r, of(&path.g2r)), store],
        Through::Ring(_) => vec![
            (s, Hop::G2s, of(&path.g2s)),
            (s, Hop::S2r, of(&path.s2r)),
            store,
        ],
        Through::Staging => vec![
            (s, Hop::G2r, of(&path.g2r)),
            (s, Hop::R2s, Auto::Auto),
            (s, Hop::S2r, of(&path.s2r)),
            store,
        ],
    };
    let known = chooser.violations.len();
    for (operand, hop, given) in hops {
        if let Some(step) = step(chooser, asked, &mut plan, way, operand, hop, &given)? {
            plan.steps.push(step);
        }
    }
    if chooser.violations.len() > known {
        return Ok(None);
    }
    if let (Through::Staging, Some(load)) = (way.through, plan.step(&s.name, Hop::G2r)) {
        let element = load.element_atom.as_deref().and_then(Atom::moved);
        let packing = |ty| Packing { dtype: s.dtype, ty };
        if let (Some(from), Some(to)) = (load.atom.moved(), element)
            && from != to
        {
            plan.alone = repacked(chooser, packing(from), packing(to));
        }
        if chooser.violations.len() > known {
            return Ok(None);
        }
    }
    let fill = (plan.step(&s.name, Hop::G2s)).or(plan.step(&s.name, Hop::R2s));
    if let (Some(fill), Some(empty)) = (fill.cloned(), plan.step(&s.name, Hop::S2r).cloned()) {
        let swizzle = spec.swizzle.get(&s.name).cloned().unwrap_or(Auto::Auto);
        let tile = [spec.cta_tile[0], spec.cta_tile[1]];
        // What is transposed lies as it leaves: its elements come one by one.
        let along = match way.through {
            Through::Staging => contiguous(spec, d),
            _ => contiguous(spec, s),
        };
        let lies = Lies {
            contiguous: along.unwrap_or(1),
            turned: way.through == Through::Staging,
        };
        place_smem(chooser, &mut plan, s, tile, lies, &swizzle, [&fill, &empty])?;
        plan.stages = 1;
        plan.smem_bytes = plan.stage_bytes;
    }
    limits::check_smem(chooser, &plan);
    Ok(Some(plan))
}

fn step(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    plan: &mut Plan,
    way: Way,
    operand: &Operand,
    hop: Hop,
    given: &Auto<String>,
) -> Result<Option<Step>> {
    let what = asked.key(operand, hop);
    let (from, to) = hop.spaces();
    let element = operand.dtype.bytes();
    let bytes = match (way.through, hop) {
        (Through::Ring(bytes), Hop::G2s) => bytes,
        // What is transposed is written one element after the other.
        (Through::Staging, Hop::R2s) => element,
        _ => way.vector,
    };
    let wanted = Wanted {
        asynchronous: hop == Hop::G2s,
        ..Wanted::vector(from, to, bytes)
    };
    let Some(atom) = chooser.copy(&what, given, wanted) else {
        return Ok(None);
    };
    let along = along(asked, way, hop);
    let axes = axes_of(asked.spec, operand).unwrap_or_default();
    let tile = [plan.cta_tile[0], plan.cta_tile[1]];
    let mut sharing = Sharing::of_vectors(tile, along, plan.threads);
    if way.through == Through::Staging && matches!(hop, Hop::G2r | Hop::R2s) {
        sharing.together = i64::from(way.vector / element);
        if way.vector > element {
            sharing.most = ROW_BYTES / i64::from(way.vector);
        }
    }
    let tiled = vector_copy(chooser, &atom, operand.dtype, sharing, &what)?;
    let Some(tiled) = tiled else { return Ok(None) };
    if from == Space::Gmem || to == Space::Gmem {
        let axis = axes.iter().position(|at| *at == Some(along));
        check_strides(chooser, operand, axis.unwrap_or(along), &atom, &what);
        assume(plan, operand, &atom, &what);
    }
    let element_atom = if bytes > element && hop != Hop::G2s {
        chooser.copy(&what, &Auto::Auto, Wanted::vector(from, to, element))
    } else {
        None
    };
    Ok(Some(Step {
        operand: operand.name.clone(),
        hop,
        atom,
        element_atom,
        tiled,
        tile,
        axes,
    }))
}

/// The mode that neighbouring threads take neighbours of: what a tile is loaded from memory by
/// follows `s`; what holds the elements that are stored follows `d`.
fn along(asked: &Asked<'_>, way: Way, hop: Hop) -> usize {
    let [s, d] = [asked.s, asked.d].map(|operand| contiguous(asked.spec, operand));
    let loads =
        matches!(hop, Hop::G2s | Hop::R2s) || hop == Hop::G2r && way.through == Through::Staging;
    let [first, second] = if loads { [s, d] } else { [d, s] };
    first.or(second).unwrap_or(1)
}
