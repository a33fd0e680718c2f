//! Plan to tile IR: what each team does with a work tile, written down by one walk.
//!
//! Every kernel has the same order: what begins a work tile, the trips of its main loop, what ends
//! them, its results. Main loops differ in how factors come (`main_loops`); values of tiles, in
//! front of them, within and behind, are made by `values`.

mod tiles;
mod values;
mod product;
mod chunked_rows;
mod elementwise;
mod epilogue;
mod main_loops;

use crate::error::{Error, Result};
use crate::ir::tile::{Across, Engine, Every, Full, Kernel, Op, Pipe, PipeId, Sync, View};
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;
use crate::plan::data::values::Staged;
use crate::spec::keys::model::LaunchKind;
use main_loops::{multistage, synchronous, warp_specialized};
use product::Product;
use tiles::Tiles;

/// What a team does with a work tile.
struct WorkTile {
    /// Before the main loop.
    begins: Vec<Op>,
    /// A trip of the main loop; none where there is none.
    trip: Option<Vec<Op>>,
    /// Behind it.
    ends: Vec<Op>,
    /// What makes the results and stores them.
    results: Vec<Op>,
}

impl WorkTile {
    /// One work tile after another.
    fn each(self) -> Op {
        let mut ops = self.begins;
        ops.extend(self.trip.map(Op::ForEachKTile));
        ops.extend(self.ends);
        ops.extend(self.results);
        Op::ForEachWorkTile(ops)
    }
}

/// Writes the plan down as tile operations.
///
/// # Errors
/// Those of the layout algebra, for a plan whose tiled copies and MMA contradict one another.
pub fn build(plan: &Plan) -> Result<Kernel> {
    let mut tiles = Tiles::of(plan)?;
    let flow = plan.flow.as_ref();
    let flow = flow.ok_or_else(|| bug(plan, "nothing is computed"))?;
    let mut body = match &plan.mma {
        None => vec![elementwise::work_tile(&mut tiles, flow)?.each()],
        Some(mma) => {
            let product = Product::declare(&mut tiles, mma, flow)?;
            match (product.staged(), &plan.roles) {
                (Some(Staged::Boxes), Some(roles)) => {
                    warp_specialized::body(&mut tiles, &product, roles)?
                }
                (Some(Staged::Filled), None) => {
                    vec![multistage::work_tile(&mut tiles, &product)?.each()]
                }
                (Some(Staged::Turned(_)), None) => {
                    vec![synchronous::work_tile(&tiles, &product)?.each()]
                }
                _ => return Err(bug(plan, "factors that no main loop loads")),
            }
        }
    };
    if plan.launch == LaunchKind::Programmatic {
        let made = body.iter().take_while(|op| **op == Op::InitPipes).count();
        body.insert(made, sync(Sync::Follow));
    }
    let (tiles, pipes) = tiles.finish();
    Ok(Kernel {
        id: plan.id.clone(),
        work: plan.work.clone(),
        tiles,
        pipes,
        teams: plan.teams(),
        body,
    })
}

fn bug(plan: &Plan, message: &str) -> Error {
    Error::bug("tile", &plan.id, message, plan)
}

/// The ring of asynchronous copies into those tiles.
fn ring(tiles: &mut Tiles<'_>, held: impl IntoIterator<Item = View>) -> PipeId {
    tiles.pipe(Pipe {
        name: "ring",
        slots: tiles.plan().stages,
        tiles: held.into_iter().map(View::tile).collect(),
        fill: Team::All,
        empty: Team::All,
        full: Full::Group(Engine::Copies),
        every: Every::Trip,
        across: Across::Cta,
    })
}

/// The partial sums of a team on their way to who began their tile, where tiles are cut along k.
fn partials(tiles: &mut Tiles<'_>, team: Team) -> Option<PipeId> {
    let cuts = tiles.plan().work.cuts_tiles();
    cuts.then(|| {
        tiles.pipe(Pipe {
            name: "partials",
            slots: 1,
            tiles: Vec::new(),
            fill: team,
            empty: team,
            full: Full::Flag,
            every: Every::Trip,
            across: Across::Grid,
        })
    })
}

/// Who continues an output tile hands its sums on, and who began it stores them. CTAs add what
/// others hand them; of a cluster that makes parts of one tile the one that began it does.
fn hand_on(
    product: &Product<'_>,
    plan: &Plan,
    partials: PipeId,
    stores: Vec<Op>,
) -> Result<Vec<Op>> {
    let acc = product.total();
    let acc = acc.ok_or_else(|| bug(plan, "parts of no sums"))?;
    let give = vec![
        Op::StorePartial(acc, partials),
        sync(Sync::Commit(partials)),
    ];
    let fix_up = Op::ForEachPartial(vec![
        sync(Sync::Await(partials, 0)),
        Op::AddPartial(acc, partials),
        sync(Sync::Release(partials, 0)),
    ]);
    Ok(match plan.work.parts() {
        Some(_) => {
            let begins = [fix_up].into_iter().chain(stores);
            vec![Op::IfContinues(give, begins.collect())]
        }
        None => vec![fix_up, Op::IfContinues(give, stores)],
    })
}

fn sync(sync: Sync) -> Op {
    Op::Sync(sync)
}
