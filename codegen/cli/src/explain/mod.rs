//! Everything about one kernel, for a reader: what it computes and where, what it does, the run of
//! its pipeline by the clock, the map of its shared memory, its occupancy, what its accesses cost
//! and what is proved about it.
//!
//! In: a point of a spec. Out: data that prints as JSON, as text for a terminal, and as SVG.
//! `levels` does the same of who has which elements.
//!
//! The modules stand in their layering, lowest first.

pub mod bound;
pub mod cells;
pub mod formula;
mod proved;
pub mod text;
pub mod svg;
pub mod levels;

use std::time::Duration;

use serde::Serialize;
use tilewright_codegen::certify::timeline::Timeline;
use tilewright_codegen::certify::{self, Certificate};
use tilewright_codegen::explain::occupancy::{Occupancy, occupancy};
use tilewright_codegen::explain::smem_map::{Region, regions};
use tilewright_codegen::explain::sockets::{Sockets, sockets};
use tilewright_codegen::plan::data::model::{Plan, Realigned};
use tilewright_codegen::plan::data::teams::Team;
use tilewright_codegen::plan::data::values::Every;
use tilewright_codegen::spec::{Point, SpecFile};
use tilewright_codegen::{ir, lower};

use crate::jobs::{self, Answer, Job, Want};
use crate::outcome::Failure;
use crate::specs;
use crate::worker::WorkerPool;

/// What is known of one kernel.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// The point.
    pub point: String,
    /// Its target.
    pub arch: &'static str,
    /// What it computes, and where in its skeleton.
    pub computes: Sockets,
    /// Its operands, with types and layouts.
    pub operands: Vec<String>,
    /// What launches of their own copy first or last: nothing else here is about them, and
    /// `operands` has the copies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copied: Vec<String>,
    /// How CTAs share output tiles that are cut along k.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// Output extents of a CTA's tile, and what it sums over at a time.
    pub cta_tile: Vec<i64>,
    /// Threads of a CTA.
    pub threads: u32,
    /// CTAs of a launch.
    pub grid: String,
    /// Whether a launch begins while the kernel before it ends: `programmatic`, else `plain`.
    pub launch: &'static str,
    /// Who does what; empty where all threads do the same.
    pub roles: Vec<Part>,
    /// What a CTA does, where there are no roles whose run could be drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub does: Option<String>,
    /// The pipeline's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Shared memory.
    pub smem: Vec<Region>,
    /// Bytes of it that a launch asks for.
    pub smem_bytes: u32,
    /// CTAs of an SM.
    pub occupancy: Occupancy,
    /// Why the registers are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_registers: Option<String>,
    /// What is proved.
    pub certificate: Certificate,
}

/// One role.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Who.
    pub role: &'static str,
    /// Warpgroups.
    pub warpgroups: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// What it does.
    pub does: String,
}

/// How much of a run is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Output tiles of a CTA.
    pub tiles: Option<u32>,
    /// K tiles of each.
    pub k_tiles: Option<u32>,
    /// Longest time of its compilation.
    pub limit: Duration,
}

/// Which operand is copied, and when.
fn copied(made: &Realigned) -> String {
    let operand = &made.operand;
    let (when, way) = match operand.is_written() {
        true => ("last", "out of"),
        false => ("first", "into"),
    };
    format!("{operand} is copied {when}, {way} the workspace, by a launch of its own")
}

/// How CTAs share the output tiles that are cut along k, where any are.
fn shared(plan: &Plan) -> Option<String> {
    let bytes = plan.work.partial_bytes()?;
    Some(match plan.work.all_partial_bytes() {
        Some(_) => format!(
            "stream-k: output tiles that are no whole wave are cut along k; CTAs give each other \
             their sums, {bytes} bytes a tile, through a workspace of {} bytes",
            plan.all_workspace().text()
        ),
        None => format!(
            "split-k: the CTAs of a cluster make a part of k each of one output tile, and add \
             their sums, {bytes} bytes a tile, through distributed shared memory"
        ),
    })
}

/// Longest run, in k tiles of a CTA.
const MOST_K_TILES: u64 = 10_000;

/// Explains a point. LLVM and the assembler run in a worker, for the registers.
pub fn explain(file: &SpecFile, point: &Point, lengths: Lengths) -> Result<Explained, Failure> {
    let failure = |error| specs::failure_at(file, point, error);
    let plan = specs::planned(file, point)?;
    let tile = ir::tile::build::build(&plan).map_err(failure)?;
    let program = lower::lower(&plan, &tile).map_err(failure)?;
    let certificate = certify::certify(&plan, &tile, &program).map_err(failure)?;
    let drawn = [
        tiles(&plan, lengths.tiles),
        lengths.k_tiles.unwrap_or(plan.stages + 2),
    ];
    if u64::from(drawn[0]) * u64::from(drawn[1]) > MOST_K_TILES {
        return Err(Failure::could_not_run(format!(
            "{} tiles of {} k tiles are more than the {MOST_K_TILES} that are run by the clock: \
             ask for fewer",
            drawn[0], drawn[1]
        )));
    }
    let timeline = certify::timeline(&plan, &tile, drawn).map_err(failure)?;
    let (registers, no_registers) = match registers(file, point, lengths.limit)? {
        Ok(registers) => (Some(registers), None),
        Err(why) => (None, Some(why)),
    };
    Ok(Explained {
        point: plan.id.clone(),
        arch: plan.arch.name,
        computes: sockets(&plan),
        operands: plan.operands.iter().map(ToString::to_string).collect(),
        copied: plan.copies.iter().map(copied).collect(),
        shared: shared(&plan),
        cta_tile: plan.cta_tile(),
        threads: plan.cta_threads(),
        grid: plan.work.grid().to_string(),
        launch: plan.launch.name(),
        roles: roles(&plan),
        does: timeline.is_none().then(|| tile.to_string()),
        timeline,
        smem: regions(&plan),
        smem_bytes: plan.arena.bytes(),
        occupancy: occupancy(&plan, registers),
        no_registers,
        certificate,
    })
}

/// Output tiles of a CTA: as many as were asked for, else two of each consumer's, to show how one
/// follows another; one where a CTA makes one.
fn tiles(plan: &Plan, asked: Option<u32>) -> u32 {
    match &plan.roles {
        Some(roles) if plan.work.is_persistent() => {
            asked.unwrap_or(2 * roles.consumers() / roles.consumers_of_a_tile())
        }
        _ => 1,
    }
}

/// Registers of a thread, or why they are not known.
fn registers(
    file: &SpecFile,
    point: &Point,
    limit: Duration,
) -> Result<Result<u32, String>, Failure> {
    let pool = WorkerPool::of_this_binary(Some(std::num::NonZeroUsize::MIN), limit)?;
    let jobs = [Job::new(
        file,
        point,
        Want::Artifact(tilewright_codegen::Making {
            ptxas: tilewright_codegen::ptx::ptxas::find(),
            ..Default::default()
        }),
    )];
    let registers = match jobs::artifacts(&pool, &jobs, || {}).pop() {
        Some(Answer::Failed(failure)) => return Err(failure),
        Some(Answer::Refused(why)) => return Ok(Err(why.limits)),
        Some(Answer::Made(artifact)) => artifact.kernel.resources.registers,
        None => None,
    };
    Ok(registers.ok_or_else(|| "there is no ptxas: `tilewright doctor` says how to get it".into()))
}

fn roles(plan: &Plan) -> Vec<Part> {
    let Some(roles) = &plan.roles else {
        return Vec::new();
    };
    let [producer, consumer] = [Team::Producer, Team::Consumers].map(|team| roles.registers(team));
    let share = match roles.consumers_of_a_tile() {
        1 if roles.consumers() > 1 => "multiply a tile each and store it, in turns",
        1 => "multiplies a tile and stores it",
        _ => "multiply parts of one tile and store them",
    };
    let loads = roles.loads(Every::Trip);
    let boxes = loads.map(|load| plan.operand(load.operand).name.as_str());
    let boxes = Vec::from_iter(boxes);
    let ring = roles.pipe(Every::Trip).map(|pipe| pipe.ring);
    let [stages, bytes] = ring.map_or([0, 0], |ring| [ring.stages, ring.bytes]);
    let slots = format!(
        "one thread loads {} into {stages} slots of {bytes} bytes",
        boxes.join(" and ")
    );
    let part = |role, warpgroups, registers, does| Part {
        role,
        warpgroups,
        registers,
        does,
    };
    vec![
        part("consumers", roles.consumers(), consumer, share.to_owned()),
        part("producer", 1, producer, slots),
    ]
}
