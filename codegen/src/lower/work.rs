//! Work tiles: which output tiles, or parts of them, come to a CTA one after another.
//!
//! In: [`crate::plan::work_tiles::Work`]. Out: the loop over work tiles; in its body the place of
//! the output tile and the range along k that the operations to come belong to.

mod device;
mod stream_k;
mod partials;
pub(super) mod cluster_parts;

use crate::error::Result;
use crate::ir::thread::expr::{add, int, min, mul, sub};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::ir::tile::Op;
use crate::lower::{Lowering, bug};
use crate::plan::data::teams::Team;
use crate::plan::data::warp_roles::Roles;
use crate::plan::work_tiles::{Coords, Sizes, Source};

impl Lowering<'_> {
    /// The loop over the CTA's work tiles, or over those of one member of a team.
    pub(super) fn for_each_work_tile(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        match (self.kernel.work.cluster, self.kernel.work.source) {
            (_, Source::Spans(rule)) => self.for_each_part(rule, body),
            (None, _) => self.own_tile(body),
            (Some(_), Source::Parts(rule)) => self.part_of_cluster(rule, body),
            (Some(_), Source::Grid | Source::Strided) => self.for_each_output_tile(body),
        }
    }

    /// The output tile whose number is the CTA's. Each section computes its place again.
    fn own_tile(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for (number, section) in body.split(|op| *op == Op::Section).enumerate() {
            if number > 0 {
                self.last_op = self.builder.next_op(self.last_op);
                self.builder.begin_section();
            }
            let cta = self.builder.cta();
            let tiles = self.tiles()?;
            self.enter(cta, &tiles)?;
            let statements = self.ops(section)?;
            out.extend(self.builder.end_section());
            out.extend(statements);
        }
        Ok(out)
    }

    /// Output tiles come to clusters in turn; in a cluster each CTA has its place.
    fn for_each_output_tile(&mut self, body: &[Op]) -> Result<Vec<Stmt>> {
        let state = self.role()?.clone();
        let [cluster, clusters] = state.standing.cluster;
        let tiles = self.tiles()?;
        let total = self.all_tiles(&tiles)?;
        let (from, step) = if self.takes_turns()? {
            let consumers = int(i64::from(self.roles_of()?.consumers()));
            let first = add(cluster, mul(state.warpgroup.clone(), clusters.clone()));
            (first, mul(clusters, consumers))
        } else {
            (cluster, clusters)
        };
        let from = self.builder.hoist("first_tile", from);
        let step = self.builder.hoist("tile_step", step);
        let var = self.builder.var("tile", IntType::I32, false);
        let scope = self.builder.begin_scope();
        self.enter(Expr::Var(var), &tiles)?;
        let statements = self.ops(body)?;
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(vec![Stmt::For {
            var,
            from,
            to: total,
            step,
            body,
        }])
    }

    /// Whether the role's members make work tiles in turns.
    fn takes_turns(&self) -> Result<bool> {
        let roles = self.plan.roles.as_ref();
        Ok(roles.is_some_and(Roles::takes_turns) && self.team == Some(Team::Consumers))
    }

    /// Names the output tile of that number, of so many along m and n, that the operations to come
    /// belong to: the cluster's, and in it the CTA's.
    fn enter(&mut self, number: Expr, tiles: &[Expr; 2]) -> Result<()> {
        let work = &self.kernel.work;
        let place = match work.cluster {
            Some(_) => self.role()?.standing.place.clone(),
            None => [int(0), int(0)],
        };
        let sizes = self.sizes()?;
        let Coords { tile, outer } = work.coords(number, tiles, &sizes, &place, &mut self.builder);
        self.state.tile = tile;
        self.state.outer = outer;
        if self.kernel.work.part().is_some() {
            let first = self.k_tile()?;
            let first = self.bounded_part(first)?;
            self.state.outer.push(first);
        }
        Ok(())
    }

    /// A part of a sum, the last one at most: nothing tests it where elements of it are loaded.
    fn bounded_part(&mut self, part: Expr) -> Result<Expr> {
        let last = sub(self.k_tiles()?, int(1));
        Ok(self.builder.hoist("part", min(part, last)))
    }

    /// Goes to the part of a sum that the next trip is at, in the last one that it is at itself.
    pub(super) fn step_part(&mut self) -> Result<()> {
        let here = self.state.outer.pop();
        let here = here.ok_or_else(|| bug(self.plan, "no part has begun".to_string()))?;
        let next = self.bounded_part(add(here, int(1)))?;
        self.state.outer.push(next);
        Ok(())
    }

    /// The problem's extents along what work is counted along.
    fn sizes(&self) -> Result<Sizes<Expr>> {
        self.kernel.work.sizes(|mode| {
            let param = self.builder.param(mode).map(Expr::Param);
            param.ok_or_else(|| bug(self.plan, format!("no parameter for the extent of {mode}")))
        })
    }

    /// Output tiles of the problem along m and n, those of clusters where CTAs stand in some.
    fn tiles(&mut self) -> Result<[Expr; 2]> {
        let sizes = self.sizes()?;
        Ok(self.kernel.work.tiles(&sizes, &mut self.builder))
    }

    /// All of them.
    fn all_tiles(&mut self, tiles: &[Expr; 2]) -> Result<Expr> {
        let all = self.kernel.work.count(tiles, &self.sizes()?);
        Ok(self.builder.hoist("all_tiles", all))
    }

    /// Tiles along k of an output tile.
    pub(super) fn k_tiles(&mut self) -> Result<Expr> {
        let steps = self.kernel.work.steps(&self.sizes()?);
        Ok(self.builder.hoist("k_tiles", steps))
    }

    /// Trips of the loop along k: those of the part, or of the whole tile.
    pub(super) fn trips(&mut self) -> Result<Expr> {
        match &self.part {
            Some(part) => Ok(part.trips.clone()),
            None => self.k_tiles(),
        }
    }

    /// The tile along k of the current trip.
    pub(super) fn k_tile(&self) -> Result<Expr> {
        let trip = self.role()?.trip.clone();
        // No map ends what comes of packed rows: where its tile ends is bounded for the proof.
        let is_packed = self.plan.operands.iter().any(|operand| operand.packed);
        let bounded = is_packed && self.kernel.work.spans().is_some();
        Ok(match &self.part {
            Some(part) if bounded => min(add(part.from.clone(), trip), part.last_of_tile()),
            Some(part) => add(part.from.clone(), trip),
            None => trip,
        })
    }
}
