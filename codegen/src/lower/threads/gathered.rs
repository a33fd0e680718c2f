//! Tables: entries in registers that say where along an axis of an operand elements lie.
//!
//! A thread has the entries of its own rows, and -1 for rows that are not there, so that the test
//! of an entry is a test of its row. Each is named once in a copy, so that addresses and tests are
//! made of it. What is moved at one entry stands together below its test, so that few predicates
//! are held at a time.

use std::collections::HashMap;

use crate::error::Result;
use crate::ir::thread::program::{Expr, IntType, Reg, Scalar, Stmt};
use crate::ir::tile::TileId;
use crate::lower::{Lowering, bug};
use crate::plan::copies::thread_digits::Part;

/// A table that a copy looks elements up in.
pub(in crate::lower) struct Table {
    tile: TileId,
    /// Along which coordinates of the tile it has an entry for each element.
    keeps: [bool; 2],
    /// Its entries, by coordinates in the table.
    entries: HashMap<[i64; 2], Expr>,
    /// What is moved at each.
    groups: Vec<Group>,
}

/// What is moved where one test holds.
struct Group {
    test: Expr,
    /// What registers hold where it does not.
    otherwise: Vec<Stmt>,
    moves: Vec<Stmt>,
}

impl Table {
    /// Appends what is moved where a test of an entry holds, and what is done before it in case it
    /// does not.
    pub(in crate::lower) fn push(&mut self, test: Expr, otherwise: Vec<Stmt>, statement: Stmt) {
        match self.groups.last_mut() {
            Some(last) if last.test == test => {
                last.otherwise.extend(otherwise);
                last.moves.push(statement);
            }
            _ => self.groups.push(Group {
                test,
                otherwise,
                moves: vec![statement],
            }),
        }
    }

    /// All that is moved.
    pub(in crate::lower) fn finish(self) -> impl Iterator<Item = Stmt> {
        self.groups.into_iter().flat_map(|group| {
            let moves = Stmt::If {
                cond: group.test,
                then: group.moves,
                otherwise: Vec::new(),
            };
            group.otherwise.into_iter().chain([moves])
        })
    }
}

impl Lowering<'_> {
    /// A table in registers, for a copy whose threads have that part of a tile.
    pub(in crate::lower) fn table(&self, tile: TileId, part: &Part<2>) -> Result<Table> {
        let modes = self.kernel.tiles.get(tile.0).map(|tile| &tile.modes);
        let extents = modes.map(|modes| modes.iter().map(|(_, extent)| *extent));
        let extents: Vec<i64> = extents.into_iter().flatten().collect();
        let keeps = [0, 1].map(|at| extents.get(at).is_some_and(|extent| *extent > 1));
        let threads = i64::from(self.plan.threads);
        let fragment = self.fragment(tile)?;
        fragment.check_owner(&part.kept(keeps), threads, &self.plan.id)?;
        Ok(Table {
            tile,
            keeps,
            entries: HashMap::new(),
            groups: Vec::new(),
        })
    }

    /// What registers of a tile hold of elements that are not there: zeros, and of a table entries
    /// that lead nowhere.
    pub(in crate::lower) fn outside(&self, tile: TileId, registers: &[Reg]) -> Vec<Stmt> {
        let nowhere = |register: &Reg| Stmt::Set(*register, Scalar::Bits(u64::from(u32::MAX)));
        match self.kernel.is_table(tile) {
            true => registers.iter().map(nowhere).collect(),
            false => vec![Stmt::Zero(registers.to_vec())],
        }
    }

    /// The entry for elements that are moved together, which have one.
    pub(in crate::lower) fn entry(
        &mut self,
        table: &mut Table,
        elements: &[[i64; 2]],
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let keeps = table.keeps;
        let own = |element: &[i64; 2]| [0, 1].map(|at| if keeps[at] { element[at] } else { 0 });
        let mut places = elements.iter().map(own);
        let first = places.next().unwrap_or_default();
        if places.any(|place| place != first) {
            let message = format!("{elements:?} are moved together and looked up one by one");
            return Err(bug(self.plan, message));
        }
        if let Some(known) = table.entries.get(&first) {
            return Ok(known.clone());
        }
        let register = self.single(table.tile, first)?;
        let var = self.builder.var("entry", IntType::I32, false);
        out.push(Stmt::Get(var, register));
        table.entries.insert(first, Expr::Var(var));
        Ok(Expr::Var(var))
    }
}
