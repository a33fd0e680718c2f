//! From the problem to a register: at each place where a kernel has elements of an operand, which
//! tile a CTA has, what of it each warp has, what of that each lane, and in which registers.
//!
//! Comes in: a plan, and a thread. Goes out: the places in the order of a run, each with its
//! levels. All of it is read off the plan's own copies and its MMA. A level that a place does not
//! have, as where boxes are moved, says why.

use serde::Serialize;

use super::ownership::{Cut, Held, Registers};
use crate::arch::WARP;
use crate::atoms::model::Space;
use crate::dtype::DType;
use crate::error::Result;
use crate::plan::copies::partition;
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{BoxCopy, Hop, Step};
use crate::plan::data::values::Does;
use crate::plan::work_tiles::{Fate, SUMMED};
use crate::spec::keys::model::{Operand, OperandId};

/// Bits of a register.
const REGISTER_BITS: usize = 32;

/// The levels of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Levels {
    /// The point.
    pub point: String,
    /// Its target.
    pub arch: &'static str,
    /// The thread whose elements are told.
    pub thread: u32,
    /// Threads that share out a tile.
    pub threads: u32,
    /// CTAs that they are of.
    pub ctas: u32,
    /// The same in words, where not all of a CTA's threads have the same part in it.
    pub who: Option<String>,
    /// The places.
    pub stations: Vec<Station>,
}

/// A place where a kernel has elements of an operand.
#[derive(Clone, Debug, Serialize)]
pub struct Station {
    /// The operand, or what registers hold.
    pub operand: String,
    /// Its element type.
    pub dtype: String,
    /// What happens there: `global memory to shared memory`.
    pub does: String,
    /// The instruction that does it.
    pub by: String,
    /// What the tile is of.
    pub within: Within,
    /// Extents of the tile.
    pub extents: [i64; 2],
    /// The modes along them; none where there is one element.
    pub modes: [Option<String>; 2],
    /// What each warp has of the tile, or each box.
    pub warps: Level<Cut>,
    /// What each lane has of the thread's warp.
    pub lanes: Level<Cut>,
    /// What the thread has.
    pub registers: Level<Registers>,
    /// Threads that have each element.
    pub copies: usize,
    /// Who has what, for every thread.
    #[serde(skip)]
    pub held: Option<Held>,
}

/// A level of a place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level<T> {
    /// What it is.
    Is(T),
    /// Why the place has none.
    None(String),
}

/// What a tile is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// The problem, in tiles along two modes, at each point of others.
    Problem {
        /// Tiles along each of the tile's coordinates.
        along: [Along; 2],
        /// Modes that no tile cuts.
        outer: Vec<String>,
    },
    /// Shared memory.
    Shared {
        /// What a place for a tile is called: `stage`.
        place: &'static str,
        /// How many there are.
        count: u32,
        /// Bytes of each.
        bytes: u32,
        /// Coordinates to elements.
        layout: String,
    },
}

/// Tiles along a mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Along {
    /// The mode; none where there is one element.
    pub mode: Option<String>,
    /// Extent of a tile.
    pub tile: i64,
    /// Which of the tiles are a CTA's.
    pub has: Has,
}

/// Which tiles along a mode a CTA has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Has {
    /// One at a time, others are other CTAs'.
    One,
    /// All, one after another.
    Each,
    /// There is one, however long the mode is.
    All,
}

/// The levels of a plan, for a thread.
///
/// # Errors
/// What the layout algebra refuses.
pub fn levels(plan: &Plan, thread: u32) -> Result<Levels> {
    let maker = Maker { plan, thread };
    let mut stations = Vec::new();
    let is_last = |one: &&Operand| plan.is_output(one.id) || is_stored(plan, one);
    let (last, first): (Vec<_>, Vec<_>) = plan.operands.iter().partition(is_last);
    for operand in first {
        maker.of_operand(operand, &mut stations)?;
    }
    maker.of_values(&mut stations)?;
    for operand in last {
        maker.of_operand(operand, &mut stations)?;
    }
    Ok(Levels {
        point: plan.id.clone(),
        arch: plan.arch.name,
        thread,
        threads: plan.threads,
        ctas: plan.work.shared_by.max(1),
        who: who(plan),
        stations,
    })
}

/// Whether a kernel stores an operand, the output or a further one.
fn is_stored(plan: &Plan, operand: &Operand) -> bool {
    let leaves = |hop: Hop| matches!(hop, Hop::R2g | Hop::S2g | Hop::R2s);
    let mut steps = plan.steps.iter();
    let reads = |hop: Hop| matches!(hop, Hop::G2r | Hop::G2s | Hop::G2rLast);
    let loaded = plan.steps.iter();
    let mut loaded = loaded.filter(|step| step.operand == operand.id);
    steps.any(|step| step.operand == operand.id && leaves(step.hop))
        && !loaded.any(|step| reads(step.hop))
}

/// Which threads share out a tile, where warps differ.
fn who(plan: &Plan) -> Option<String> {
    let roles = plan.roles.as_ref()?;
    let groups = roles.consumers_of_a_tile();
    Some(match (groups, roles.consumers()) {
        (1, 1) => "the threads of the consumer".to_owned(),
        (1, all) => format!("the threads of one of {all} consumers, which make a tile each"),
        (groups, _) => format!("the threads of {groups} consumers, which make a tile together"),
    })
}

/// What stations are made of.
struct Maker<'p> {
    plan: &'p Plan,
    thread: u32,
}

/// What is known of a station besides who has what.
struct About {
    operand: String,
    dtype: DType,
    does: String,
    by: String,
    within: Within,
    modes: [Option<String>; 2],
}

impl Maker<'_> {
    /// The places of an operand in the order of its way.
    fn of_operand(&self, operand: &Operand, stations: &mut Vec<Station>) -> Result<()> {
        let hops = [
            Hop::G2s,
            Hop::G2r,
            Hop::R2s,
            Hop::S2r,
            Hop::G2rLast,
            Hop::S2g,
            Hop::R2g,
        ];
        for hop in hops {
            if let Some(step) = self.plan.step(operand.id, hop) {
                stations.push(self.of_step(operand, step)?);
            }
            if let Some(boxes) = self.plan.boxes(operand.id, hop) {
                stations.push(self.of_boxes(operand, boxes));
            }
        }
        if let Some(mma) = &self.plan.mma {
            let facts = mma.atom.mma.as_ref();
            let reads = facts.map_or([false; 2], |facts| facts.smem);
            if let Some(factor) = operand.factor().filter(|factor| reads[*factor]) {
                stations.push(self.of_descriptor(operand, mma, factor)?);
            }
        }
        Ok(())
    }

    /// A tiled copy: who has the elements in registers, or moves them.
    fn of_step(&self, operand: &Operand, step: &Step) -> Result<Station> {
        let parts = partition::of_step(step)?;
        // ldmatrix and stmatrix go through the addresses of other lanes: who has an element shows
        // at the registers.
        let (part, vector) = match step.hop {
            Hop::R2s | Hop::R2g => (parts.src, parts.src_values),
            _ => (parts.dst, parts.dst_values),
        };
        let (from, to) = step.hop.spaces();
        let in_registers = [from, to].contains(&Space::Rmem);
        let keeps = step.keeps();
        let extents = [0, 1].map(|at| if keeps[at] { step.tile[at] } else { 1 });
        let modes = self.plan.places(operand).map(|mode| self.mode(mode));
        let about = About {
            operand: operand.name.clone(),
            dtype: operand.dtype,
            does: format!("{from} to {to}{}", again(step.hop)),
            by: step.atom.id.clone(),
            within: self.within(operand, step.hop, (extents, &modes)),
            modes,
        };
        let mut station = self.of_part(about, part, (extents, vector));
        if let (Level::Is(registers), false) = (&mut station.registers, in_registers) {
            (registers.each, registers.memory) = (registers.vector, true);
        }
        Ok(station)
    }

    /// A place where threads share out a tile.
    fn of_part(&self, about: About, part: Part<2>, of: ([i64; 2], usize)) -> Station {
        let (extents, vector) = of;
        let held = Held::new(part, extents, self.plan.threads);
        let elements = held.elements(self.thread);
        let bits = about.dtype.bits() as usize;
        let vector = vector.clamp(1, elements.len().max(1));
        let each = (REGISTER_BITS.min(vector * bits) / bits).max(1);
        let all = elements.len() * self.plan.threads as usize;
        let copies = all / (extents[0] * extents[1]).max(1) as usize;
        Station {
            operand: about.operand,
            dtype: about.dtype.to_string(),
            does: about.does,
            by: about.by,
            within: about.within,
            extents,
            modes: about.modes,
            warps: Level::Is(held.warps()),
            lanes: Level::Is(held.lanes(self.thread / WARP)),
            registers: Level::Is(Registers {
                bytes: vector * bits / 8,
                elements,
                each,
                vector,
                memory: false,
            }),
            copies,
            held: Some(held),
        }
    }

    /// A copy by boxes, of which no thread has elements.
    fn of_boxes(&self, operand: &Operand, boxes: &BoxCopy) -> Station {
        let (from, to) = boxes.hop.spaces();
        let extent = |mode: usize| {
            let ends = boxes
                .all_places()
                .map(|place| place.coord[mode] + boxes.box_extents[mode]);
            ends.max().unwrap_or(1)
        };
        let extents = [extent(0), extent(1)];
        let places = [0, 1].map(|mode| (0..extents[mode]).collect::<Vec<i64>>());
        let mut owners = vec![Vec::new(); (extents[0] * extents[1]) as usize];
        for (number, place) in (0u32..).zip(boxes.all_places()) {
            for row in place.coord[0]..place.coord[0] + boxes.box_extents[0] {
                for column in place.coord[1]..place.coord[1] + boxes.box_extents[1] {
                    let at = (row * extents[1] + column) as usize;
                    owners[at].push(number);
                }
            }
        }
        let modes = self.plan.modes_of(operand).into_iter().map(Some);
        let mut modes = modes.chain([None, None]);
        let modes = [modes.next().flatten(), modes.next().flatten()].map(|mode| self.mode(mode));
        let asks = match (boxes.hop, boxes.parts) {
            (Hop::S2g, 1) => "one thread asks for the boxes".to_owned(),
            (Hop::S2g, parts) => format!("one thread of each of {parts} warpgroups asks for boxes"),
            (_, 1) => "one thread of the producer asks for the boxes".to_owned(),
            (_, parts) => format!("one thread in each of {parts} CTAs asks for boxes"),
        };
        Station {
            operand: operand.name.clone(),
            dtype: boxes.dtype.to_string(),
            does: format!("{from} to {to}, by boxes"),
            by: boxes.atom.id.clone(),
            within: self.within(operand, boxes.hop, (extents, &modes)),
            extents,
            modes,
            warps: Level::Is(Cut::of("box", places, owners)),
            lanes: Level::None(format!(
                "none: {asks}, and the copy engine moves them whole"
            )),
            registers: Level::None("none: no thread has elements of a box".to_owned()),
            copies: 1,
            held: None,
        }
    }

    /// A factor that the tensor cores read in shared memory themselves.
    fn of_descriptor(&self, operand: &Operand, mma: &MmaPlan, factor: usize) -> Result<Station> {
        let parts = partition::of_mma(self.plan, mma)?;
        let [_, _, k] = mma.tiled.tile_mnk()?;
        let part = parts.factors[factor].clone();
        let extents = [self.plan.extent(factor), k];
        let modes = [self.mode(Some(factor)), self.mode(Some(SUMMED))];
        let about = About {
            operand: operand.name.clone(),
            dtype: operand.dtype,
            does: format!(
                "{} to the tensor cores, a block along {}",
                Space::Smem,
                k_name(&modes)
            ),
            by: mma.atom.id.clone(),
            within: self.within(operand, Hop::S2r, (extents, &modes)),
            modes,
        };
        let mut station = self.of_part(about, part, (extents, 1));
        let why = "none: the warps of a warpgroup ask together, by a descriptor of the tile";
        station.lanes = Level::None(why.to_owned());
        let why = "none: the tensor cores read shared memory themselves";
        station.registers = Level::None(why.to_owned());
        Ok(station)
    }

    /// What registers hold between inputs and outputs: sums, then folds.
    fn of_values(&self, stations: &mut Vec<Station>) -> Result<()> {
        let plan = self.plan;
        let mut whole = None;
        if let Some(mma) = &plan.mma {
            let part = partition::of_mma(plan, mma)?.sums;
            let names: Vec<&str> = (0..plan.planes())
                .map(|at| plan.sum_name(at as usize))
                .collect();
            let facts = mma.atom.mma.as_ref();
            let values = facts.and_then(|facts| facts.c_tv.mode(1)?.size().ok());
            let about = self.about_values(
                names.join(" and "),
                plan.accumulator,
                "sums in registers",
                mma.atom.id.clone(),
            );
            let extents = plan.tile();
            stations.push(self.of_part(
                about,
                part.clone(),
                (extents, values.unwrap_or(1) as usize),
            ));
            whole = Some((part, extents));
        }
        let step = plan.steps.iter().find(|step| {
            step.keeps() == [true; 2] && matches!(step.hop, Hop::G2r | Hop::S2r | Hop::R2g)
        });
        if let (None, Some(step)) = (&whole, step) {
            whole = Some((partition::of_step(step)?.dst, step.tile));
        }
        let Some((part, extents)) = whole else {
            return Ok(());
        };
        let Some(flow) = &plan.flow else {
            return Ok(());
        };
        for node in &flow.nodes {
            let Does::Fold(from, number) = &node.does else {
                continue;
            };
            let (from, fold) = (flow.nodes.get(*from), flow.folds.get(*number));
            let (Some(from), Some(fold)) = (from, fold) else {
                continue;
            };
            let does = format!("{} of {} in registers", fold.how.fold.name(), from.name);
            let name = node.name.clone();
            let mut about = self.about_values(name, node.dtype, &does, fold.to_string());
            let extents = [0, 1].map(|at| if node.keeps[at] { extents[at] } else { 1 });
            for (mode, keeps) in about.modes.iter_mut().zip(node.keeps) {
                if !keeps {
                    *mode = None;
                }
            }
            if let Within::Problem { along, .. } = &mut about.within {
                for (along, extent) in along.iter_mut().zip(extents) {
                    along.tile = extent;
                }
                for (along, keeps) in along.iter_mut().zip(node.keeps) {
                    along.mode = along.mode.take().filter(|_| keeps);
                }
            }
            stations.push(self.of_part(about, part.kept(node.keeps), (extents, 1)));
        }
        Ok(())
    }

    fn about_values(&self, operand: String, dtype: DType, does: &str, by: String) -> About {
        let modes = [Some(0), Some(1)].map(|mode| self.mode(mode));
        let tile = self.plan.tile();
        About {
            operand,
            dtype,
            does: does.to_owned(),
            by,
            within: self.problem(self.plan.work.outer(), tile, &modes),
            modes,
        }
    }

    fn mode(&self, mode: Option<usize>) -> Option<String> {
        self.plan.mode(mode?).map(str::to_owned)
    }

    /// What a tile on that hop is of.
    fn within(
        &self,
        operand: &Operand,
        hop: Hop,
        (extents, modes): ([i64; 2], &[Option<String>; 2]),
    ) -> Within {
        let tile = self.plan.smem_tile(operand.id);
        if let (Hop::S2r | Hop::R2s, Some(tile)) = (hop, tile) {
            let (place, count) = self.places(operand.id);
            return Within::Shared {
                place,
                count,
                bytes: tile.size_bytes,
                layout: tile.layout.to_string(),
            };
        }
        let mut own = self.plan.work.outer();
        own.retain(|mode| operand.all_axes().any(|axis| axis.mode == *mode));
        self.problem(own, extents, modes)
    }

    fn problem(&self, outer: Vec<String>, tile: [i64; 2], modes: &[Option<String>; 2]) -> Within {
        let along = |at: usize| Along {
            mode: modes[at].clone(),
            tile: tile[at],
            has: modes[at].as_ref().map_or(Has::All, |mode| self.has(mode)),
        };
        Within::Problem {
            along: [along(0), along(1)],
            outer,
        }
    }

    /// Which tiles along a mode a CTA has.
    fn has(&self, mode: &str) -> Has {
        match self.plan.fate(mode) {
            Some(Fate::Looped(_)) => Has::Each,
            Some(Fate::Tiled(_)) => Has::One,
            Some(Fate::Whole(_) | Fate::One | Fate::Unrolled(_)) | None => Has::All,
        }
    }

    /// What places in shared memory are called that have tiles of an operand, and how many there
    /// are.
    fn places(&self, operand: OperandId) -> (&'static str, u32) {
        let output = self.plan.is_output(operand);
        match &self.plan.roles {
            Some(roles) if output => {
                let buffers = u32::try_from(roles.staging_buffers).unwrap_or(1);
                ("staging buffer of a warpgroup", buffers)
            }
            Some(roles) => {
                let slots = roles.pipe_of(operand).map(|pipe| pipe.ring.stages);
                ("slot", slots.unwrap_or(self.plan.stages))
            }
            None if output => ("staging buffer", 1),
            None => ("stage", self.plan.stages.max(1)),
        }
    }
}

/// What is said of a copy that another of the same way comes before.
fn again(hop: Hop) -> &'static str {
    match hop {
        Hop::G2rLast => ", in the last pass",
        _ => "",
    }
}

fn k_name(modes: &[Option<String>; 2]) -> &str {
    modes[1].as_deref().unwrap_or("k")
}
