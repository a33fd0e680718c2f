//! What threads compute in registers: products, sums that others hand on.

use super::super::super::pipeline::Machine;
use super::{Member, Memory, Owner};
use crate::ir::tile::{PipeId, Slice, TileId, View, WHOLE};

/// An operation reaches past the tiles that it is on.
pub(super) const OUTSIDE: &str = "reaches out of its tiles";

impl<'k> Memory<'k, '_> {
    /// Products of two tiles, added to the sums or in their place.
    pub(super) fn multiply(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (acc, factors): (&[TileId], [View; 2]),
        how: (bool, Slice),
    ) -> Result<(), String> {
        // Rows of b are of one tile of sums after another.
        let mut first = 0;
        for acc in acc {
            self.multiply_into(machine, at, (*acc, first, factors), how)?;
            first += self.extents(*acc)?[1];
        }
        let rows = self.extents(self.key(machine, at, factors[1])?.1)?[0];
        match first == rows {
            true => Ok(()),
            false => Err(format!(
                "products with {rows} rows of b are {first} columns"
            )),
        }
    }

    /// The same into one tile of sums, with rows of b from that one on.
    fn multiply_into(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (acc, first_of_b, [a, b]): (TileId, usize, [View; 2]),
        (anew, share): (bool, Slice),
    ) -> Result<(), String> {
        let in_registers = matches!(b, View::Rmem(..));
        let own = if in_registers { share } else { WHOLE };
        let runs = self.regions.of_products(acc, own, self.members[at].part)?;
        let keys = [self.key(machine, at, a)?, self.key(machine, at, b)?];
        let ids = [acc, keys[0].1, keys[1].1];
        let tiles = [self.tile(ids[0])?, self.tile(ids[1])?, self.tile(ids[2])?];
        let mma = self.plan.mma.as_ref().and_then(|mma| mma.atom.mma.as_ref());
        let types = mma.map(|facts| [facts.types[3], facts.types[1], facts.types[2]]);
        if types != Some(tiles.map(|tile| tile.dtype)) {
            let [acc, a, b] = tiles.map(|tile| tile.dtype);
            return Err(format!("multiplies {a} by {b} into {acc}, unlike its atom"));
        }
        let [of_acc, of_a, of_b] = [
            self.extents(ids[0])?,
            self.extents(ids[1])?,
            self.extents(ids[2])?,
        ];
        // Of a slot accumulators may have a part of the rows of a, which comes in as many.
        let (number, parts) = match in_registers {
            true => (0, 1),
            false => (share.0 as usize, share.1 as usize),
        };
        if of_a[0] != parts * of_acc[0] || of_b[0] < first_of_b + of_acc[1] || of_a[1] != of_b[1] {
            return Err(format!(
                "products of {of_a:?} and {of_b:?} are not {of_acc:?}"
            ));
        }
        let key = (Owner::Member(at), acc, 0);
        let factors = [self.take(keys[0], of_a), self.take(keys[1], of_b)];
        let mut sums = self.take(key, of_acc);
        // Rows whose columns are the same go together.
        let alike = runs.chunk_by(|one, next| (one.at[1], one.len) == (next.at[1], next.len));
        for alike in alike {
            let rows: Vec<usize> = alike.iter().map(|run| run.at[0] as usize).collect();
            let first = alike.first().map_or(0, |run| run.at[1] as usize);
            let columns = first..first + alike.first().map_or(0, |run| run.len);
            let columns = (columns, first_of_b + first);
            let rows = (rows.as_slice(), number * of_acc[0]);
            let done = sums.multiply([&factors[0], &factors[1]], rows, columns, anew);
            done.ok_or(OUTSIDE)?;
        }
        self.held.insert(key, sums);
        self.held.extend(keys.into_iter().zip(factors));
        Ok(())
    }

    /// Hands a member's sums on.
    pub(super) fn store_partial(
        &mut self,
        at: usize,
        acc: TileId,
        pipe: PipeId,
    ) -> Result<(), String> {
        let Member { cta, part, .. } = self.members[at];
        if !self.is_flag(pipe) || self.scratch.get(&(cta, part)).is_some_and(|(_, up)| *up) {
            return Err("writes partial sums where others may still read".into());
        }
        let sums = self.held.get(&(Owner::Member(at), acc, 0));
        let sums = sums.ok_or("hands on what nothing was written to")?;
        self.scratch.insert((cta, part), (sums.clone(), false));
        Ok(())
    }

    /// Adds the sums of the CTA that the member is at.
    pub(super) fn add_partial(
        &mut self,
        at: usize,
        acc: TileId,
        pipe: PipeId,
    ) -> Result<(), String> {
        let Member { giver, part, .. } = self.members[at];
        let runs = self.regions.of_registers(acc, WHOLE, part)?;
        let key = (Owner::Member(at), acc, 0);
        let mut sums = self.take(key, self.extents(acc)?);
        let partial = self.scratch.get(&(giver, part));
        let partial = partial.filter(|_| self.is_flag(pipe));
        let (partial, _) = partial.ok_or("adds partial sums of nobody")?;
        for run in runs.iter() {
            let new = partial.line(run.at, run.len).ok_or(OUTSIDE)?;
            let old = sums.line_mut(run.at, run.len).ok_or(OUTSIDE)?;
            for (old, new) in old.iter_mut().zip(new) {
                *old += new;
            }
        }
        self.held.insert(key, sums);
        Ok(())
    }

    /// Raises the member's own flag, or clears that of who gave.
    pub(super) fn turn_flag(&mut self, at: usize, up: bool) -> Result<(), String> {
        let Member {
            cta, giver, part, ..
        } = self.members[at];
        let whose = if up { cta } else { giver };
        let partial = self.scratch.get_mut(&(whose, part));
        let (_, raised) = partial.ok_or("turns a flag of no partial sums")?;
        *raised = up;
        Ok(())
    }
}
