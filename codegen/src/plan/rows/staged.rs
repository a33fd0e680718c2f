//! Operands that pass through shared memory on their way into the registers of a flow.
//!
//! What is contiguous along another mode than vectors run along is turned there: vectors of it are
//! loaded along its own mode, written element by element, and read along the flow's. A spec may ask
//! for shared memory as well, filled by asynchronous copies. The first way that nothing speaks
//! against is taken; what shared memory does not hold comes element by element past it.

use std::fmt;
use std::sync::Arc;

use crate::atoms::model::{Atom, Space};
use crate::element::{Element, Packing};
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::code::repacked;
use crate::plan::flow::{Does, Flow, Staged};
use crate::plan::limits;
use crate::plan::model::{Hop, Plan, Step};
use crate::plan::moves::{self, WIDEST_BYTES, axes_of};
use crate::plan::rows::shares::Shares;
use crate::plan::tiled::{Lies, Sharing, assume, check_strides, fitting, place_smem, vector_copy};
use crate::spec::model::{Auto, CopyPath, Operand, Passes, Spec};

/// Bytes of a row that neighbouring threads load of what is turned: lanes of a warp write vectors
/// of several rows to different banks.
const ROW_BYTES: i64 = 128;
/// Bytes of the vectors there are, the widest first.
const WIDTHS: [u32; 5] = [16, 8, 4, 2, 1];

/// Where the data passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    /// Registers alone.
    Registers,
    /// Shared memory, filled by asynchronous copies.
    Filled,
    /// Registers, shared memory and registers again.
    Turned,
}

/// A way into registers.
#[derive(Clone, Copy, Debug)]
struct Way {
    through: Through,
    /// Bytes of the vectors from global memory.
    fill: u32,
    /// Bytes of the vectors from shared memory.
    load: u32,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Way { fill, load, .. } = self;
        match self.through {
            Through::Registers => f.write_str("past shared memory"),
            Through::Filled => write!(f, "{fill} bytes into shared memory, {load} bytes out of it"),
            Through::Turned => write!(
                f,
                "vectors of {fill} bytes, staged in shared memory, {load} bytes out of it"
            ),
        }
    }
}

/// An operand that is to be staged.
struct Asked<'s> {
    spec: &'s Spec,
    operand: &'s Operand,
    path: CopyPath,
    /// The mode along which its own vectors run.
    own: usize,
    shares: &'s Shares,
}

impl Asked<'_> {
    fn key(&self, hop: Hop) -> String {
        hop.key(&self.operand.name)
    }

    fn given(&self, hop: Hop) -> Auto<String> {
        hop.atom_of(&self.path).cloned().unwrap_or_default()
    }

    fn turned(&self) -> bool {
        self.own != self.shares.along
    }
}

/// Whether the elements of a node pass through shared memory: whole tiles that are turned, or of
/// which the spec says so, where one CTA holds them all at once.
pub(super) fn is_for(spec: &Spec, flow: &Flow, at: usize, (along, ctas): (usize, i64)) -> bool {
    let node = &flow.nodes[at];
    let Does::Load(name) = &node.does else {
        return false;
    };
    let Some(operand) = spec.operand(name) else {
        return false;
    };
    let whole = node.keeps == [true; 2] && node.table.is_none() && operand.looked_into().is_none();
    let several = !matches!(spec.scheduler.passes, Auto::Auto | Auto::Given(Passes::One));
    if !whole || several || ctas > 1 {
        return false;
    }
    let path = spec.copy.get(name);
    let asked = path.is_some_and(|path| path.g2s.is_some() || path.s2r.is_some());
    asked || moves::contiguous(spec, operand).is_some_and(|own| own != along)
}

/// Plans how the elements of an operand pass through shared memory, with the step that loads them
/// from there. `None` where they come past it, or when the chooser has violations.
pub(super) fn plan(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    shares: &Shares,
) -> Result<Option<(Staged, Step)>> {
    let asked = Asked {
        spec,
        operand,
        path: spec.copy.get(&operand.name).cloned().unwrap_or_default(),
        own: moves::contiguous(spec, operand).unwrap_or(shares.along),
        shares,
    };
    if asked.path.g2s.is_some() && asked.path.g2r.is_some() {
        let name = &operand.name;
        let message = format!(
            "copy.{name}.g2r loads into registers, copy.{name}.g2s into shared memory: leave one \
             of them out"
        );
        chooser.violate("schedule", message);
        return Ok(None);
    }
    let ways = ways(chooser, &asked);
    let key = format!("copy.{}", operand.name);
    let found = chooser.first(&key, ways, |chooser, way| {
        if way.through == Through::Registers {
            return Ok(Some(None));
        }
        let begun = plan.clone();
        let found = planned(chooser, &asked, begun, *way)?;
        Ok(found.map(Some))
    })?;
    Ok(found.flatten().map(|(made, staged, step)| {
        *plan = made;
        (staged, step)
    }))
}

/// Every way, the best first.
fn ways(chooser: &Chooser<'_>, asked: &Asked<'_>) -> Vec<Way> {
    let element = asked.operand.dtype.bytes();
    let widths = |hop: Hop, widest: u32| -> Vec<u32> {
        let id = hop.atom_of(&asked.path);
        let atom = match id {
            Some(Auto::Given(id)) => chooser.catalogue.get(id),
            _ => None,
        };
        let facts = atom.and_then(|atom| atom.copy.as_ref());
        match facts {
            Some(facts) => vec![facts.access_bytes],
            None => {
                let fits = |bytes: &u32| (element..=widest.max(element)).contains(bytes);
                WIDTHS.into_iter().filter(fits).collect()
            }
        }
    };
    let path = &asked.path;
    let side_by_side = u32::try_from(asked.shares.vector).unwrap_or(1) * element;
    let loads = widths(Hop::S2r, side_by_side.min(WIDEST_BYTES));
    let every = |through: Through, hop: Hop| -> Vec<Way> {
        let fills = widths(hop, WIDEST_BYTES);
        let of = |fill: u32| {
            let loads = loads.iter();
            loads.map(move |&load| Way {
                through,
                fill,
                load,
            })
        };
        fills.into_iter().flat_map(of).collect()
    };
    let ring = path.s2r.is_some() && path.g2r.is_none() && !asked.turned();
    if path.g2s.is_some() || ring {
        return every(Through::Filled, Hop::G2s);
    }
    let mut ways = every(Through::Turned, Hop::G2r);
    if path.s2r.is_none() && path.r2s.is_none() {
        ways.push(Way {
            through: Through::Registers,
            fill: element,
            load: element,
        });
    }
    ways
}

/// The plan of that way, what comes into shared memory how, and the step that loads it from there;
/// `None` when a limit speaks against it.
fn planned(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    mut plan: Plan,
    way: Way,
) -> Result<Option<(Plan, Staged, Step)>> {
    let known = chooser.violations.len();
    let fills: Vec<Step> = match way.through {
        Through::Turned => {
            let steps = [Hop::G2r, Hop::R2s].map(|hop| fill(chooser, asked, way, hop));
            let [load, write] = steps;
            load?.into_iter().chain(write?).collect()
        }
        _ => fill(chooser, asked, way, Hop::G2s)?.into_iter().collect(),
    };
    let load = load(chooser, asked, way)?;
    let (Some(load), Some(last), true) = (load, fills.last(), chooser.violations.len() == known)
    else {
        return Ok(None);
    };
    let mut staged = Staged::Filled;
    if way.through == Through::Turned {
        staged = Staged::Turned(alone(chooser, asked, &fills[0]));
    }
    // What is turned lies as it leaves where its elements come one by one.
    let lies = match way.through {
        Through::Turned => asked.shares.along,
        _ => asked.own,
    };
    let lies = Lies {
        contiguous: lies,
        turned: way.through == Through::Turned || asked.turned(),
    };
    let swizzle = asked.spec.swizzle.get(&asked.operand.name);
    let swizzle = swizzle.cloned().unwrap_or(Auto::Auto);
    let (operand, tile) = (asked.operand, asked.shares.tile);
    place_smem(
        chooser,
        &mut plan,
        operand,
        tile,
        lies,
        &swizzle,
        [last, &load],
    )?;
    plan.stages = 1;
    plan.smem_bytes = plan.stage_bytes;
    limits::check_smem(chooser, &plan);
    let from_gmem = |step: &&Step| matches!(step.hop, Hop::G2r | Hop::G2s);
    if let Some(first) = fills.iter().find(from_gmem) {
        assume(&mut plan, operand, &first.atom, &asked.key(first.hop));
    }
    plan.steps.extend(fills);
    Ok((chooser.violations.len() == known).then_some((plan, staged, load)))
}

/// What takes the elements of loaded vectors apart; nothing where they come so.
fn alone(chooser: &mut Chooser<'_>, asked: &Asked<'_>, load: &Step) -> Option<Arc<Element>> {
    let packing = |ty| Packing {
        dtype: asked.operand.dtype,
        ty,
    };
    let element = load.element_atom.as_deref().and_then(Atom::moved);
    match (load.atom.moved(), element) {
        (Some(from), Some(to)) if from != to => repacked(chooser, packing(from), packing(to)),
        _ => None,
    }
}

/// A step of the way into shared memory, along the operand's own mode.
fn fill(chooser: &mut Chooser<'_>, asked: &Asked<'_>, way: Way, hop: Hop) -> Result<Option<Step>> {
    let (what, operand) = (asked.key(hop), asked.operand);
    let (from, to) = hop.spaces();
    let element = operand.dtype.bytes();
    // What is turned is written one element after the other.
    let bytes = if hop == Hop::R2s { element } else { way.fill };
    let wanted = Wanted {
        asynchronous: hop == Hop::G2s,
        ..Wanted::vector(from, to, bytes)
    };
    let Some(atom) = chooser.copy(&what, &asked.given(hop), wanted) else {
        return Ok(None);
    };
    let shares = asked.shares;
    let threads = u32::try_from(shares.threads).unwrap_or(u32::MAX);
    let mut sharing = Sharing::of_vectors(shares.tile, asked.own, threads);
    if way.through == Through::Turned {
        sharing.together = i64::from(way.fill / element);
        if way.fill > element {
            sharing.most = ROW_BYTES / i64::from(way.fill);
        }
    }
    let tiled = vector_copy(chooser, &atom, operand.dtype, sharing, &what)?;
    let Some(tiled) = tiled else { return Ok(None) };
    let axes = axes_of(asked.spec, operand).unwrap_or_default();
    if from == Space::Gmem {
        let axis = axes.iter().position(|at| *at == Some(asked.own));
        check_strides(chooser, operand, axis.unwrap_or(asked.own), &atom, &what);
    }
    let element_atom = match bytes > element && hop != Hop::G2s {
        true => chooser.copy(&what, &Auto::Auto, Wanted::vector(from, to, element)),
        false => None,
    };
    Ok(Some(Step {
        operand: operand.name.clone(),
        hop,
        atom,
        element_atom,
        tiled,
        tile: shares.tile,
        axes,
    }))
}

/// The step out of shared memory, as threads share out the flow's tile.
fn load(chooser: &mut Chooser<'_>, asked: &Asked<'_>, way: Way) -> Result<Option<Step>> {
    let (what, operand) = (asked.key(Hop::S2r), asked.operand);
    let wanted = |bytes: u32| Wanted::vector(Space::Smem, Space::Rmem, bytes);
    let Some(atom) = chooser.copy(&what, &asked.given(Hop::S2r), wanted(way.load)) else {
        return Ok(None);
    };
    let Some((copy, moved)) = fitting(chooser, &atom, operand.dtype, &what)? else {
        return Ok(None);
    };
    let vector = asked.shares.vector;
    if vector % moved != 0 {
        let message = format!(
            "{what}: {} moves {moved} elements, a thread has {vector} side by side: choose auto",
            atom.id
        );
        chooser.violate("atom-width", message);
        return Ok(None);
    }
    Ok(Some(Step {
        operand: operand.name.clone(),
        hop: Hop::S2r,
        element_atom: match moved > 1 {
            true => chooser.copy(&what, &Auto::Auto, wanted(operand.dtype.bytes())),
            false => None,
        },
        atom,
        tiled: asked.shares.tiled(copy)?,
        tile: asked.shares.tile,
        axes: axes_of(asked.spec, operand).unwrap_or_default(),
    }))
}
