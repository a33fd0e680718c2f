//! Operands that pass through shared memory on their way into the registers of a flow.
//!
//! What is contiguous along another mode than vectors run along is turned there: vectors of it are
//! loaded along its own mode, written element by element, and read along the flow's. A spec may ask
//! for shared memory as well, filled by asynchronous copies. The first way that nothing speaks
//! against and that is free of bank conflicts is taken, else the cheapest; what shared
//! memory does not hold comes element by element past it.

mod steps;

use std::fmt;

use tilewright_layout::Swizzle;

use crate::error::{Result, message};
use crate::plan::copies::tiled_copy::assumed;
use crate::plan::copies::vector_width::{self, WIDEST_BYTES};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Passage, Step};
use crate::plan::data::values::Staged;
use crate::plan::elementwise::thread_tiles::Shares;
use crate::plan::instructions::choose::Chooser;
use crate::plan::limits::registers_and_smem;
use crate::plan::smem::arena;
use crate::plan::smem::bank_conflicts::Wavefronts;
use crate::plan::smem::swizzle_search::{Filled, Lies, place_smem, refuse_conflicts};
use crate::spec::keys::model::{Auto, CopyPath, Operand, Spec};
use crate::spec::keys::paths;
use steps::{alone, fill, load};

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
struct Staging {
    through: Through,
    /// Bytes of the vectors from global memory.
    fill: u32,
    /// Bytes of the vectors from shared memory.
    load: u32,
    /// Most threads that load vectors of one row of what is turned.
    beside: i64,
}

impl Staging {
    const PAST: Staging = Staging {
        through: Through::Registers,
        fill: 0,
        load: 0,
        beside: 0,
    };
}

impl fmt::Display for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Staging {
            fill, load, beside, ..
        } = self;
        match self.through {
            Through::Registers => f.write_str("past shared memory"),
            Through::Filled => write!(f, "{fill} bytes into shared memory, {load} bytes out of it"),
            Through::Turned if *beside == i64::MAX => write!(
                f,
                "elements of {fill} bytes, turned in shared memory, {load} bytes out of it"
            ),
            Through::Turned => write!(
                f,
                "vectors of {fill} bytes, up to {beside} in a row, turned in shared memory, {load} \
                 bytes out of it"
            ),
        }
    }
}

/// What a plan has more where an operand is staged, how it comes into shared memory, and the step
/// that loads it.
type Made = (Passage, Staged, Step);

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

    fn swizzle(&self) -> Auto<Swizzle> {
        let given = self.spec.schedule.swizzle.get(&self.operand.name);
        given.cloned().unwrap_or_default()
    }

    fn transposed(&self) -> bool {
        self.own != self.shares.along
    }
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
    let path = spec.schedule.copy.get(&operand.name);
    let asked = Asked {
        spec,
        operand,
        path: path.cloned().unwrap_or_default(),
        own: vector_width::contiguous(spec, operand).unwrap_or(shares.along),
        shares,
    };
    if asked.path.g2s.is_some() && asked.path.g2r.is_some() {
        let name = &operand.name;
        let message = message!(
            "{} loads into registers, {} into shared memory: leave one of them out",
            paths::copy(name, "g2r"),
            paths::copy(name, "g2s")
        );
        chooser.violate("schedule", message);
        return Ok(None);
    }
    let ways = ways(chooser, &asked);
    let key = format!("copy.{}", operand.name);
    let mut tried: Vec<(Staging, Steps, Wavefronts)> = Vec::new();
    let free = chooser.first_or(&key, ways.iter().copied(), |chooser, way| {
        let Some(steps) = steps(chooser, &asked, *way)? else {
            return Ok(None);
        };
        // Ways that differ in what threads have beside one another may be one.
        let (made, wavefronts) = match tried.iter().find(|(_, other, _)| other.lie_as(&steps)) {
            Some((_, _, wavefronts)) => (None, *wavefronts),
            None => {
                let found = planned(chooser, &asked, plan, *way, steps.clone())?;
                let Some((made, wavefronts)) = found else {
                    return Ok(None);
                };
                tried.push((*way, steps, wavefronts));
                (Some(made), wavefronts)
            }
        };
        refuse_conflicts(chooser, &key, &asked.swizzle(), (&wavefronts, true));
        Ok(made)
    })?;
    if let Ok(made) = free {
        return Ok(Some(take(plan, made)));
    }
    // Where none is free of conflicts, the cheapest; where there is none at all, past
    // shared memory.
    let path = &asked.path;
    let past = path.g2s.is_none() && path.s2r.is_none() && path.r2s.is_none();
    let cheapest = tried.iter().min_by_key(|(_, _, it)| it.cost());
    let ways: Vec<Staging> = match cheapest {
        Some((way, ..)) => vec![*way],
        None => {
            let past = past.then_some(Staging::PAST);
            ways.into_iter().chain(past).collect()
        }
    };
    let found = chooser.first(&key, ways, |chooser, way| match way.through {
        Through::Registers => Ok(Some(None)),
        _ => {
            let Some(steps) = steps(chooser, &asked, *way)? else {
                return Ok(None);
            };
            let found = planned(chooser, &asked, plan, *way, steps)?;
            Ok(found.map(|(made, _)| Some(made)))
        }
    })?;
    Ok(found.flatten().map(|made| take(plan, made)))
}

/// Goes on with what was made.
fn take(plan: &mut Plan, (passage, staged, load): Made) -> (Staged, Step) {
    plan.take(passage);
    plan.stages = 1;
    (staged, load)
}

/// Every way, the best first.
fn ways(chooser: &Chooser<'_>, asked: &Asked<'_>) -> Vec<Staging> {
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
    let every = |through: Through, hop: Hop| -> Vec<Staging> {
        let mut ways = Vec::new();
        for fill in widths(hop, WIDEST_BYTES) {
            let row = ROW_BYTES / i64::from(fill);
            let beside = match through == Through::Turned && fill > element {
                true => vec![row, 2 * row, 4 * row, row / 2],
                false => vec![i64::MAX],
            };
            for (&load, &beside) in loads
                .iter()
                .flat_map(|load| beside.iter().map(move |one| (load, one)))
            {
                ways.push(Staging {
                    through,
                    fill,
                    load,
                    beside,
                });
            }
        }
        ways
    };
    let ring = path.s2r.is_some() && path.g2r.is_none() && !asked.transposed();
    if path.g2s.is_some() || ring {
        return every(Through::Filled, Hop::G2s);
    }
    every(Through::Turned, Hop::G2r)
}

/// The steps of a way.
#[derive(Clone, Debug)]
struct Steps {
    /// What loads into registers, where that does not fill shared memory at once.
    fills: Vec<Step>,
    /// What writes shared memory.
    write: Step,
    /// What loads from there.
    load: Step,
}

impl Steps {
    /// Whether shared memory is written and read by the same threads, so that a tile lies alike.
    fn lie_as(&self, other: &Steps) -> bool {
        let same =
            |one: &Step, other: &Step| one.atom.id == other.atom.id && one.tiled == other.tiled;
        same(&self.write, &other.write) && same(&self.load, &other.load)
    }
}

/// The steps of that way; `None` when a limit speaks against it.
fn steps(chooser: &mut Chooser<'_>, asked: &Asked<'_>, way: Staging) -> Result<Option<Steps>> {
    let known = chooser.violations.len();
    let [before, write] = match way.through {
        Through::Turned => [Hop::G2r, Hop::R2s].map(|hop| fill(chooser, asked, way, hop)),
        _ => [Ok(None), fill(chooser, asked, way, Hop::G2s)],
    };
    let fills = before?.into_iter().collect();
    let (write, load) = (write?, load(chooser, asked, way)?);
    let both = write.zip(load);
    let both = both.filter(|_| chooser.violations.len() == known);
    Ok(both.map(|(write, load)| Steps { fills, write, load }))
}

/// What the plan has more by that way and its steps, and the wavefronts of the accesses to shared
/// memory; `None` when a limit speaks against it.
fn planned(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    plan: &Plan,
    way: Staging,
    Steps {
        mut fills,
        write,
        load,
    }: Steps,
) -> Result<Option<(Made, Wavefronts)>> {
    let known = chooser.violations.len();
    let mut staged = Staged::Filled;
    if way.through == Through::Turned {
        let loads = fills.first().unwrap_or(&write);
        staged = Staged::Turned(alone(chooser, asked, loads));
    }
    // What is turned lies as it leaves where its elements come one by one.
    let lies = match way.through {
        Through::Turned => asked.shares.along,
        _ => asked.own,
    };
    let lies = Lies {
        contiguous: lies,
        filled: match way.through == Through::Turned || asked.transposed() {
            true => Filled::Across,
            false => Filled::along(lies),
        },
    };
    let swizzle = asked.swizzle();
    let (operand, tile) = (asked.operand, asked.shares.tile);
    let steps = [&write, &load];
    let placed = place_smem(chooser, plan, operand, tile, lies, &swizzle, steps)?;
    let tiles = placed.as_ref().map_or(&[][..], |(tiles, _)| tiles);
    let arena = arena::beside(plan, tiles, 1);
    registers_and_smem::check_arena(chooser, plan, (&arena, 1));
    fills.push(write);
    let from_gmem = |step: &&Step| matches!(step.hop, Hop::G2r | Hop::G2s);
    let first = fills.iter().find(from_gmem);
    let assumptions = first.map(|step| assumed(operand, &step.atom, &asked.key(step.hop)));
    let assumptions = assumptions.unwrap_or_default();
    let placed = placed.filter(|_| chooser.violations.len() == known);
    Ok(placed.map(|(smem, wavefronts)| {
        let passage = Passage {
            steps: fills,
            smem,
            assumptions,
        };
        ((passage, staged, load), wavefronts)
    }))
}
