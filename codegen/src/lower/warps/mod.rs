//! Warp-specialized kernels: roles, and the state each role keeps.
//!
//! Values that tell warps apart come from the first lane of each warp, so that the assembler knows
//! them to be uniform. Each role has variables of its own, and so has each output tile: what one
//! computes does not hold registers of another.

mod wgmma;
mod ring;
mod tma;
mod pipes;

use std::collections::BTreeMap;

use crate::arch::WARPGROUP;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, and, div, eq, int, le, lt, mul, or, rem, select, sub, xor};
use crate::ir::thread::program::{Arg, Expr, IntType, Special, Stmt, VarId};
use crate::ir::tile::{Every, Full, Op, PipeId, Trips};
use crate::lower::{Lowering, bug, builder};
use crate::plan::data::moves::Rows;
use crate::plan::data::teams::{Members, Team, WARPS};
use crate::plan::data::warp_roles::Roles;

/// Where a CTA stands among those of the grid.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Its place in its cluster along m and n.
    pub(super) place: [Expr; 2],
    /// The cluster, and how many there are.
    pub(super) cluster: [Expr; 2],
}

/// What the code of a warp-specialized kernel refers to.
#[derive(Clone, Debug)]
pub(super) struct RoleState {
    /// The warpgroup, the same in all threads of a warp. Consumers come first.
    pub(super) warpgroup: Expr,
    /// The warp of the CTA, likewise.
    warp: Expr,
    /// Lane of the warp.
    lane: Expr,
    pub(super) standing: Standing,
    /// Where the role is in the slots of each pipe that barriers guard.
    cursors: BTreeMap<PipeId, At>,
    /// Parity of the phase in which this consumer's turn comes (pingpong).
    turn: Option<VarId>,
    /// The trip along k.
    pub(super) trip: Expr,
}

/// Where a role is in slots that barriers guard.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Its slot.
    pub(super) slot: VarId,
    /// Parity of the phase that the role waits for in its slot.
    pub(super) parity: VarId,
}

impl Lowering<'_> {
    pub(super) fn roles_of(&self) -> Result<&Roles> {
        let roles = self.plan.roles.as_ref();
        roles.ok_or_else(|| bug(self.plan, "the plan has no roles".to_string()))
    }

    pub(super) fn role(&self) -> Result<&RoleState> {
        let state = self.role_state.as_ref();
        state.ok_or_else(|| bug(self.plan, "no role has begun".to_string()))
    }

    /// Where the CTA stands: alone, where warps have no roles.
    pub(super) fn standing(&mut self) -> Standing {
        match &self.role_state {
            Some(state) => state.standing.clone(),
            None => Standing {
                place: [int(0), int(0)],
                cluster: [self.builder.cta(), Expr::Special(Special::NctaidX)],
            },
        }
    }

    /// What every role needs to know; the first thing the kernel computes.
    pub(super) fn begin_roles(&mut self) -> Result<()> {
        let [along_m, along_n] = self.kernel.work.cluster().0.map(i64::from);
        let size = along_m * along_n;
        let tid = Expr::Special(Special::TidX);
        let warpgroup = div(tid.clone(), int(i64::from(WARPGROUP)));
        let warpgroup = self.builder.uniform("warpgroup", warpgroup);
        let warp = self.builder.uniform("warp", div(tid.clone(), int(32)));
        let lane = self.builder.hoist("lane", rem(tid, int(32)));
        let cta = Expr::Special(Special::CtaidX);
        let rank = rem(cta.clone(), int(size));
        let place = [
            self.builder
                .hoist("place_m", rem(rank.clone(), int(along_m))),
            self.builder.hoist("place_n", div(rank, int(along_m))),
        ];
        let cluster = [cta, Expr::Special(Special::NctaidX)].map(|ctas| div(ctas, int(size)));
        let [cluster, clusters] = cluster;
        let cluster = [
            self.builder.hoist("cluster", cluster),
            self.builder.hoist("clusters", clusters),
        ];
        self.role_state = Some(RoleState {
            warpgroup,
            warp,
            lane,
            standing: Standing { place, cluster },
            cursors: BTreeMap::new(),
            turn: None,
            trip: int(0),
        });
        Ok(())
    }

    /// Operations of warp-specialized kernels.
    pub(super) fn role_op(&mut self, op: &Op) -> Result<Vec<Stmt>> {
        match op {
            Op::InitPipes => {
                self.begin_roles()?;
                self.init_barriers()
            }
            Op::Teams(teams) => self.teams(teams),
            Op::IfContinues(continues, begins) => self.if_continues(continues, begins),
            Op::ForEachPartial(body) => self.for_each_partial(body),
            Op::StorePartial(acc, _) => self.store_partial(*acc),
            Op::IfBoxesEnd(boxes, elements) => self.if_boxes_end(boxes, elements),
            other => Err(bug(
                self.plan,
                format!("{other:?} is no operation of roles"),
            )),
        }
    }

    /// The teams, told apart by warpgroup.
    fn teams(&mut self, teams: &[(Team, Vec<Op>)]) -> Result<Vec<Stmt>> {
        let (mut producer, mut consumer) = (Vec::new(), Vec::new());
        for (team, body) in teams {
            let (way, place) = match team {
                Team::Producer => (Act::DecreaseRegisters, &mut producer),
                Team::Consumers => (Act::IncreaseRegisters, &mut consumer),
                Team::All => return Err(bug(self.plan, "all threads are no team".to_string())),
            };
            let scope = self.builder.begin_scope();
            self.begin_role(*team)?;
            let mut body = self.ops(body)?;
            let prologue = self.builder.end_scope(scope);
            body.splice(0..0, prologue);
            let mut statements = Vec::new();
            let members = self.members(*team)?;
            if let Some(count) = members.registers {
                let count = [("registers", Arg::Imm(i64::from(count)))];
                statements = self.sync((way, Scope::Warpgroup), count)?;
            }
            match team {
                Team::Producer => {
                    statements.push(self.one_thread(members.warps.start, body)?);
                }
                Team::Consumers | Team::All => statements.extend(body),
            }
            *place = statements;
        }
        let consumers = self.members(Team::Consumers)?.warps.end / WARPS;
        Ok(vec![Stmt::If {
            cond: lt(self.role()?.warpgroup.clone(), int(i64::from(consumers))),
            then: consumer,
            otherwise: producer,
        }])
    }

    /// What a team is made of.
    fn members(&self, team: Team) -> Result<Members> {
        let mut teams = self.kernel.teams.iter();
        let found = teams.find(|members| members.team == team).cloned();
        found.ok_or_else(|| bug(self.plan, format!("the kernel has no {team}")))
    }

    /// The body, run by one thread of that warp.
    fn one_thread(&mut self, warp: u32, body: Vec<Stmt>) -> Result<Stmt> {
        let elected = self.builder.var("elected", IntType::I1, false);
        let named = [("elected", Arg::Predicate(elected))];
        let mut then = self.sync((Act::Elect, Scope::Warp), named)?;
        then.push(Stmt::If {
            cond: Expr::Var(elected),
            then: body,
            otherwise: Vec::new(),
        });
        Ok(Stmt::If {
            cond: eq(self.role()?.warp.clone(), int(i64::from(warp))),
            then,
            otherwise: Vec::new(),
        })
    }

    /// Gives the role its state. A producer's first wait is for slots nobody has filled yet: the
    /// parity before a barrier's first phase counts as over (PTX ISA, mbarrier.test_wait).
    fn begin_role(&mut self, team: Team) -> Result<()> {
        let parity = match team {
            Team::Producer => 1,
            Team::Consumers | Team::All => 0,
        };
        let mut cursors = BTreeMap::new();
        for (number, pipe) in self.kernel.pipes.iter().enumerate() {
            if !matches!(pipe.full, Full::Bytes(_)) {
                continue;
            }
            let [slot, at] = match pipe.every {
                Every::Trip => ["slot", "parity"],
                Every::WorkTile => ["slot_ahead", "parity_ahead"],
            };
            let begin = At {
                slot: self.builder.state(slot, IntType::I32, int(0)),
                parity: self.builder.state(at, IntType::I32, int(parity)),
            };
            cursors.insert(PipeId(number), begin);
        }
        let turns = self.roles_of()?.takes_turns();
        let turn = if turns && team == Team::Consumers {
            let first = eq(self.role()?.warpgroup.clone(), int(0));
            let start = select(first, int(1), int(0));
            Some(self.builder.state("turn", IntType::I32, start))
        } else {
            None
        };
        if let Some(state) = &mut self.role_state {
            (state.cursors, state.turn) = (cursors, turn);
        }
        self.team = Some(team);
        Ok(())
    }

    /// Boxes end at the edge when the edge is a multiple of 16 bytes or the tile is inside, and
    /// what goes by vectors beside them ends with a vector.
    fn if_boxes_end(&mut self, boxes: &[Op], elements: &[Op]) -> Result<Vec<Stmt>> {
        const GRANULE: i64 = 16;
        let output = self.plan.output();
        let bytes = output.map_or(1, |d| d.dtype.bytes());
        let along = self.plan.stored_along();
        let extent = self.extent(along)?;
        let whole = eq(rem(extent.clone(), int(GRANULE / i64::from(bytes))), int(0));
        let end = add(self.state.tile[along].clone(), int(1));
        let inside = le(mul(end, int(self.plan.extent(along))), extent);
        let mut cond = or(whole, inside);
        if self.plan.boxes_mind_vectors() {
            cond = and(cond, self.ends_with_a_vector()?);
        }
        Ok(vec![Stmt::If {
            cond,
            then: self.behind_the_loop(boxes)?,
            otherwise: self.behind_the_loop(elements)?,
        }])
    }

    /// Operations with values of their own, which hold no registers before them.
    pub(super) fn branch(&mut self, ops: &[Op]) -> Result<Vec<Stmt>> {
        let scope = self.builder.begin_scope();
        self.within(scope, ops)
    }

    /// Such operations, whose addresses are computed behind the loop along k where the plan says
    /// so.
    fn behind_the_loop(&mut self, ops: &[Op]) -> Result<Vec<Stmt>> {
        let scope = match self.plan.rows {
            Rows::Held => self.builder.begin_scope(),
            Rows::Computed => self.builder.begin_scope_apart(),
        };
        self.within(scope, ops)
    }

    fn within(&mut self, scope: builder::Scope, ops: &[Op]) -> Result<Vec<Stmt>> {
        let statements = self.ops(ops)?;
        let mut body = self.builder.end_scope(scope);
        body.extend(statements);
        Ok(body)
    }

    /// Steps to another slot; the parity flips with each way around the ring.
    pub(super) fn advance(&mut self, id: PipeId, trips: Trips) -> Result<Vec<Stmt>> {
        let pipe = self.pipe(id)?;
        let stages = int(i64::from(pipe.slots));
        let at = self.at(id)?;
        let (slot, parity) = (Expr::Var(at.slot), Expr::Var(at.parity));
        let by = match (trips, pipe.every) {
            (Trips::One, _) | (Trips::Tile, Every::WorkTile) => int(1),
            (Trips::Tile, Every::Trip) => self.k_tiles()?,
            (Trips::Turns, Every::Trip) => mul(self.k_tiles()?, self.role()?.warpgroup.clone()),
            (Trips::Turns, Every::WorkTile) => self.role()?.warpgroup.clone(),
            (Trips::WorkTile, _) => return self.go_to_part(id),
        };
        if trips == Trips::One {
            let next = self.builder.var("next_slot", IntType::I32, false);
            let wraps = le(stages, Expr::Var(next));
            return Ok(vec![
                Stmt::Let(next, add(slot, by)),
                Stmt::Assign(
                    at.parity,
                    select(wraps.clone(), xor(parity.clone(), int(1)), parity),
                ),
                Stmt::Assign(at.slot, select(wraps, int(0), Expr::Var(next))),
            ]);
        }
        let far = self.builder.var("far_slot", IntType::I32, false);
        let rounds = rem(div(Expr::Var(far), stages.clone()), int(2));
        Ok(vec![
            Stmt::Let(far, add(slot, by)),
            Stmt::Assign(at.parity, xor(parity, rounds)),
            Stmt::Assign(at.slot, rem(Expr::Var(far), stages)),
        ])
    }

    /// Names the trip along k that the operations to come belong to.
    pub(super) fn set_trip(&mut self, trip: Expr) {
        if let Some(state) = &mut self.role_state {
            state.trip = trip;
        }
    }

    /// Where the role is in the slots of a pipe.
    pub(super) fn at(&self, id: PipeId) -> Result<At> {
        let at = self.role()?.cursors.get(&id).copied();
        at.ok_or_else(|| bug(self.plan, format!("no slots are in the pipe {}", id.0)))
    }

    /// The slot of a pipe before the role's own.
    fn previous_slot(&self, id: PipeId) -> Result<Expr> {
        let (pipe, slot) = (self.pipe(id)?, Expr::Var(self.at(id)?.slot));
        let last = int(i64::from(pipe.slots) - 1);
        Ok(select(eq(slot.clone(), int(0)), last, sub(slot, int(1))))
    }
}
