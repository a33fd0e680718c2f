//! How threads share out the tile of a flow: in vectors along one mode.
//!
//! Comes in: what is computed of the tile and what the spec says of vectors, threads and clusters.
//! Goes out: the mode that vectors run along, their elements, and the threads along both modes.

use std::fmt;

use tilewright_layout::{CopyAtom, IntTuple, Layout, TiledCopy, make_tiled_copy};

use crate::arch::{MAX_THREADS_PER_CTA, WARP};
use crate::error::{Message, Result, message};
use crate::plan::copies::sub_byte;
use crate::plan::copies::tiled_copy::{
    check_strides, largest_divisor, power_of_two_below, power_of_two_in,
};
use crate::plan::copies::vector_width::{self, WIDEST_BYTES};
use crate::plan::data::moves::Hop;
use crate::plan::data::values::{Flow, Node};
use crate::plan::elementwise::staged::is_staged;
use crate::plan::instructions::choose::{Chooser, Wanted};
use crate::spec::keys::model::{Auto, Operand, Spec, Stride};
use crate::spec::keys::paths;

/// Vectors that a thread has, unless the spec says how many threads there are.
const VECTORS: i64 = 4;
/// Vectors of a row that a lane has at most where a warp has the whole row.
const MOST_VECTORS: i64 = 8;
/// Threads of a CTA that folds in many vectors a thread before it has more threads.
const FEW_THREADS: i64 = 512;

/// How threads share out the tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// The coordinate that vectors run along.
    pub along: usize,
    /// Threads side by side along it.
    pub threads_along: i64,
    /// Threads of the CTA, or of the CTAs of a cluster that share the tile.
    pub threads: i64,
    /// CTAs that share it.
    pub ctas: i64,
    /// Elements of a vector.
    pub vector: i64,
    /// The tile.
    pub tile: [i64; 2],
}

/// Elements of a vector.
struct Elements(i64);

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} element{plural} side by side", self.0)
    }
}

impl Shares {
    /// How threads share out the tile of the spec.
    pub(super) fn of(spec: &Spec, chooser: &mut Chooser<'_>, flow: &Flow) -> Result<Option<Self>> {
        let along = contiguous(spec, flow);
        let Some(ctas) = ctas(spec, chooser, flow, along) else {
            return Ok(None);
        };
        if is_small(spec, chooser, (along, ctas)) {
            return Ok(None);
        }
        // The widest elements of whole tiles fill the widest vectors.
        let moves = |node: &&Node| node.moved().is_some() && node.combined.is_none();
        let whole = (flow.nodes.iter()).filter(|node| moves(node) && node.keeps[along]);
        let widest = whole.map(|node| node.dtype.bits()).max().unwrap_or(32);
        let widest = i64::from((8 * WIDEST_BYTES / widest).max(1));
        let vectors = (0..).map(|halvings| widest >> halvings);
        // Those of one byte stay together, where the tile has both.
        let whole = (flow.nodes.iter()).filter(moves);
        let least = whole.map(|node| i64::from(node.dtype.per_byte())).max();
        let extent = spec.schedule.cta_tile.get(along).copied().unwrap_or(1);
        let least = least.filter(|least| extent % least == 0).unwrap_or(1);
        let vectors = vectors
            .take_while(|elements| *elements >= least)
            .map(Elements);
        chooser.first("vectors", vectors, |chooser, &Elements(vector)| {
            let known = chooser.violations.len();
            let shares = shared_out(spec, chooser, flow, (along, ctas, vector));
            check_operands(spec, chooser, flow, (along, ctas, vector));
            Ok(shares.filter(|_| chooser.violations.len() == known))
        })
    }

    /// The copy of that atom over the tile.
    pub(super) fn tiled(&self, copy: CopyAtom) -> Result<TiledCopy> {
        let (along, across) = (self.along, 1 - self.along);
        let threads_across = self.threads / self.threads_along;
        let (mut shape, mut stride, mut held) = ([0; 2], [0; 2], [1; 2]);
        (shape[along], stride[along]) = (self.threads_along, 1);
        (shape[across], stride[across]) = (threads_across, self.threads_along);
        held[along] = self.vector;
        let threads = Layout::flat(&shape, &stride)?;
        let values = Layout::compact(IntTuple::flat(held))?;
        Ok(make_tiled_copy(copy, &threads, &values)?)
    }
}

/// The coordinate along which elements stand two to a byte, since a thread has both; where there
/// are none, that which most bytes of the results are contiguous along; without results, of all
/// operands. What is loaded along another passes through shared memory.
fn contiguous(spec: &Spec, flow: &Flow) -> usize {
    let mut pairs = [0u32; 2];
    let mut results = [0u32; 2];
    let mut bytes = [0u32; 2];
    for node in &flow.nodes {
        let Some((operand, _)) = node.moved() else {
            continue;
        };
        let operand = spec.problem.operand(operand);
        if let Some(at) = vector_width::contiguous(spec, operand) {
            let weight = if node.keeps == [true; 2] { 64 } else { 1 };
            bytes[at] += weight * operand.dtype.bytes();
            pairs[at] += operand.dtype.per_byte() - 1;
            if node.is_result() {
                results[at] += operand.dtype.bytes();
            }
        }
    }
    let decides = |both: &[u32; 2]| both[0] != both[1];
    let most = [pairs, results].into_iter().find(decides);
    let most = most.unwrap_or(bytes);
    usize::from(most[1] >= most[0])
}

/// Notes that a tile has fewer elements than a warp has threads.
fn is_small(spec: &Spec, chooser: &mut Chooser<'_>, (along, ctas): (usize, i64)) -> bool {
    let extent = |at: usize| spec.schedule.cta_tile.get(at).copied().unwrap_or(1);
    let elements = extent(0) * extent(1);
    let least = i64::from(WARP) * ctas;
    if elements >= least {
        return false;
    }
    // Lanes that the other mode takes in whole.
    let across = 1 << extent(1 - along).trailing_zeros().min(WARP.ilog2());
    let name = spec.problem.modes().get(along).map_or("1", String::as_str);
    let message = message!(
        "{} has {elements} elements, fewer than {least} threads; threads beyond a mode's end do \
         nothing: use {} or more along {name}",
        paths::CTA_TILE,
        least / across
    );
    chooser.violate("threads-tile", message);
    true
}

/// Refuses an extent of the tile that is no multiple of so many elements.
fn refuse_extent(spec: &Spec, chooser: &mut Chooser<'_>, mode: &str, (extent, vector): (i64, i64)) {
    // A mode of constant extent that the tile has all of is not to be cut.
    let constant = spec.problem.compute.formula.constant_of(mode);
    let fitting = match constant.filter(|constant| extent >= *constant) {
        Some(constant) => constant.unsigned_abs().next_power_of_two(),
        None => (extent / vector).max(1).unsigned_abs() * vector.unsigned_abs(),
    };
    let message = message!(
        "the tile's extent {extent} along {mode} is no multiple of the {vector} elements of a \
         vector: use {fitting}"
    );
    chooser.violate("vector-divides", message);
}

/// How threads share out the tile in vectors of so many elements, where they can.
fn shared_out(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    flow: &Flow,
    (along, ctas, vector): (usize, i64, i64),
) -> Option<Shares> {
    let extent = |at: usize| spec.schedule.cta_tile.get(at).copied().unwrap_or(1);
    let tile = [extent(0), extent(1)];
    let across = 1 - along;
    let names = spec.problem.modes();
    let name = |at: usize| names.get(at).map_or("1", String::as_str);
    if tile[along] % vector != 0 {
        refuse_extent(spec, chooser, name(along), (tile[along], vector));
        return None;
    }
    let vectors = tile[0] * tile[1] / vector;
    let threads = ctas
        * match &spec.schedule.threads {
            Auto::Given(threads) => i64::from(*threads),
            Auto::Auto => threads_for(vectors / ctas),
        };
    let vectors_along = tile[along] / vector;
    let tiles = |along: i64| threads % along == 0 && tile[across] % (threads / along) == 0;
    let threads_along = match spec.schedule.threads_along {
        Auto::Given(asked) => asked_along(flow, i64::from(asked) * ctas, vectors_along),
        Auto::Auto => Ok(threads_along(
            flow,
            along,
            [vectors_along, threads, ctas],
            &tiles,
        )),
    };
    let threads_along = match threads_along {
        Ok(found) => found,
        Err(reason) => {
            chooser.violate("threads-along", reason);
            return None;
        }
    };
    let threads_across = threads / threads_along;
    let whole_warps = threads % (ctas * i64::from(WARP)) == 0;
    let shared = ctas == 1 || threads_across == 1;
    if !tiles(threads_along) || !whole_warps || !shared {
        let asked = match spec.schedule.threads_along {
            Auto::Given(_) => message!(", {}", paths::THREADS_ALONG),
            Auto::Auto => Message::default(),
        };
        let message = message!(
            "{threads} threads of {vector} elements do not tile ({},{}): along {} they are \
             {threads_along} side by side, which leaves {threads_across} along {}: change {}{} or \
             {}",
            tile[0],
            tile[1],
            name(along),
            name(across),
            paths::CTA_TILE,
            asked,
            paths::THREADS
        );
        chooser.violate("threads-tile", message);
        return None;
    }
    Some(Shares {
        along,
        threads_along,
        threads,
        ctas,
        vector,
        tile,
    })
}

/// Threads side by side along the mode of vectors that the spec asks for: as many as share out the
/// vectors of a row, and of a fold a power of two, since lanes exchange with those as far apart.
fn asked_along(flow: &Flow, asked: i64, vectors: i64) -> std::result::Result<i64, Message> {
    let folds = !flow.folds.is_empty();
    if vectors % asked == 0 && (!folds || power_of_two_in(asked) == asked) {
        return Ok(asked);
    }
    let (does, way_out) = match folds {
        true => (
            "fold",
            format!("a power of two, {} at most", power_of_two_in(vectors)),
        ),
        false => ("share out", format!("a divisor of {vectors}")),
    };
    Err(message!(
        "{}: {asked} threads side by side do not {does} the {vectors} vectors of a row: use \
         {way_out}",
        paths::THREADS_ALONG
    ))
}

/// Threads side by side along the mode of vectors: of so many vectors in a row, threads and CTAs;
/// `tiles` says whether so many leave as many as tile the other mode.
fn threads_along(
    flow: &Flow,
    along: usize,
    [vectors, threads, ctas]: [i64; 3],
    tiles: &impl Fn(i64) -> bool,
) -> i64 {
    if flow.folds.is_empty() {
        // As many as there are vectors in a row are neighbours, where the others tile what is left.
        let few = (1..=vectors.min(threads)).rev();
        let mut few = few.filter(|few| vectors % few == 0);
        let found = few.find(|few| tiles(*few));
        return found.unwrap_or_else(|| largest_divisor(vectors, threads));
    }
    // A warp folds a row by itself where its lanes can hold it.
    let held = ctas == 1 && vectors <= i64::from(WARP) * MOST_VECTORS;
    let wanted = match flow.has_fold(along) && held {
        true => i64::from(WARP),
        false => threads,
    };
    let most = power_of_two_in(vectors).min(power_of_two_in(threads));
    match most.min(wanted) {
        few if tiles(few) => few,
        _ => most,
    }
}

/// Notes why the operands of a map are not moved in vectors of so many elements: of two, where one
/// is not, so that neighbouring lanes move neighbours of both; of more, where none is.
fn check_operands(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    flow: &Flow,
    (along, ctas, vector): (usize, i64, i64),
) {
    if !flow.folds.is_empty() {
        return;
    }
    let (mut all, mut good, mut found_wrong) = (0, 0, Vec::new());
    for (at, node) in flow.nodes.iter().enumerate() {
        let found = node.moved().filter(|_| node.keeps == [true; 2]);
        let found = found.filter(|_| node.table.is_none() && node.combined.is_none());
        let Some((operand, hop)) = found else {
            continue;
        };
        let operand = spec.problem.operand(operand);
        let transposed = (vector_width::contiguous(spec, operand)).is_some_and(|own| own != along);
        let staged = is_staged(spec, flow, at, (along, ctas));
        // What is turned and not staged comes element by element whatever vectors are.
        if transposed && !staged {
            continue;
        }
        all += 1;
        let hop = if staged { Hop::S2r } else { hop };
        let takes =
            |chooser: &mut Chooser<'_>| takes(spec, chooser, (operand, hop), (along, vector));
        let (is_good, wrong) = chooser.aside(takes);
        good += usize::from(is_good);
        found_wrong.extend(wrong);
    }
    if good < all && (good == 0 || all == 2) {
        chooser.violations.extend(found_wrong);
    }
}

/// Whether an operand can be moved in vectors of so many elements, by the atom that the spec gives.
fn takes(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    (operand, hop): (&Operand, Hop),
    (along, vector): (usize, i64),
) -> bool {
    let bits = i64::from(operand.dtype.bits());
    let path = spec.schedule.copy.get(&operand.name);
    let what = hop.key(&operand.name);
    let axes = vector_width::axes_of(spec, operand).unwrap_or_default();
    let axis = axes.iter().position(|at| *at == Some(along));
    let apart = axis.filter(|axis| vector > 1 && *operand.stride(*axis) != Stride::Const(1));
    if hop != Hop::S2r && !sub_byte::side_by_side(spec, chooser, (operand, apart), &what) {
        return false;
    }
    if let Some(Auto::Given(id)) = path.and_then(|path| hop.atom_of(path)) {
        let facts = chooser
            .catalogue
            .get(id)
            .and_then(|atom| atom.copy.as_ref());
        let Some(moved) = facts.map(|facts| 8 * i64::from(facts.access_bytes) / bits) else {
            return true;
        };
        // What is narrower than an element is refused where it is planned.
        if moved == vector || moved == 0 {
            return true;
        }
        let other = if moved < vector { "wider" } else { "narrower" };
        let message = message!(
            "{}: {id} moves {moved} elements, vectors have {vector}: use a {other} one, or auto",
            paths::named(what)
        );
        chooser.violate("copy-widths", message);
        return false;
    }
    if hop == Hop::S2r {
        return true;
    }
    let (from, to) = hop.spaces();
    let width = u32::try_from(vector * bits / 8).unwrap_or(WIDEST_BYTES);
    let atoms = chooser.copies(Wanted::vector(from, to, width.min(WIDEST_BYTES)));
    match (atoms.first(), axis) {
        (Some(atom), Some(axis)) => check_strides(chooser, operand, axis, atom, &what),
        _ => true,
    }
}

/// CTAs that share a tile.
fn ctas(spec: &Spec, chooser: &mut Chooser<'_>, flow: &Flow, along: usize) -> Option<i64> {
    let ctas = spec.schedule.cluster[along];
    let several: i64 = spec.schedule.cluster.iter().product();
    if several > 1 && flow.has_fold(along) && flow.has_fold(1 - along) {
        let names = spec.problem.modes();
        let name = |at: usize| names.get(at).map_or("", String::as_str);
        let (this, other) = (name(along), name(1 - along));
        let [m, n, k] = spec.schedule.cluster;
        let message = message!(
            "{} ({m},{n},{k}): CTAs share a tile of one folded mode, {other} is folded beside \
             {this}: use (1,1,1), fold along {other} in a kernel before, or give both one mode",
            paths::CLUSTER
        );
        chooser.violate("cluster", message);
        return None;
    }
    if spec.schedule.cluster[1 - along] * spec.schedule.cluster[2] != 1
        || ctas > 1 && !flow.has_fold(along)
    {
        let [m, n, k] = spec.schedule.cluster;
        let mut shared = [1; 3];
        if flow.has_fold(along) {
            shared[along] = m * n * k;
        }
        let [of_m, of_n, of_k] = shared;
        let message = message!(
            "{} ({m},{n},{k}): CTAs share a tile along the mode that is folded and contiguous \
             alone: use ({of_m},{of_n},{of_k})",
            paths::CLUSTER
        );
        chooser.violate("cluster", message);
        return None;
    }
    Some(ctas)
}

/// Threads for so many vectors: some vectors for each, and more threads rather than many vectors.
fn threads_for(vectors: i64) -> i64 {
    let warp = i64::from(WARP);
    let few = power_of_two_below(vectors / VECTORS).clamp(warp, FEW_THREADS);
    match vectors / few > 2 * VECTORS {
        true => power_of_two_below(vectors / (2 * VECTORS)).min(i64::from(MAX_THREADS_PER_CTA)),
        false => few,
    }
}
