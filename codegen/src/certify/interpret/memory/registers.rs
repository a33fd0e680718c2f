//! What threads compute in registers: fills, casts, products, sums that others hand on.

use tilewright_formula::number::stored;

use super::super::super::pipeline::Machine;
use super::{Member, Memory, Owner};
use crate::atoms::model::Atom;
use crate::dtype::DType;
use crate::ir::tile::{PipeId, Place, Share, TileId, View, WHOLE};

/// An operation reaches past the tiles that it is on.
const OUTSIDE: &str = "reaches out of its tiles";

impl<'k> Memory<'k, '_> {
    /// Zeros.
    pub(super) fn fill(&mut self, at: usize, to: View, share: Share) -> Result<(), String> {
        let key = self.in_registers(at, to)?;
        let runs = self
            .regions
            .of_registers(key.1, share, self.members[at].part)?;
        let mut grid = self.take(key, self.extents(key.1)?);
        for run in runs.iter() {
            grid.line_mut(run.at, run.len).ok_or(OUTSIDE)?.fill(0.0);
        }
        self.held.insert(key, grid);
        Ok(())
    }

    /// The elements of another tile, rounded to what the tile holds.
    pub(super) fn cast(
        &mut self,
        at: usize,
        [from, to]: [View; 2],
        by: Option<&Atom>,
        share: Share,
    ) -> Result<(), String> {
        let [from, to] = [self.in_registers(at, from)?, self.in_registers(at, to)?];
        let [old, new] = [self.tile(from.1)?, self.tile(to.1)?];
        let types = by.and_then(|atom| atom.convert);
        if types.map(|types| (types.from, types.to)) != Some((old.dtype, new.dtype)) {
            return Err(format!(
                "casts {} to {} by what does something else",
                old.dtype, new.dtype
            ));
        }
        if let (Place::Rmem(old), Place::Rmem(new)) = (&old.place, &new.place)
            && old.tv != new.tv
        {
            return Err("casts what other threads hold".into());
        }
        let round = rounding(new.dtype)?;
        let runs = self
            .regions
            .of_registers(to.1, share, self.members[at].part)?;
        let source = self.take(from, self.extents(from.1)?);
        let mut target = self.take(to, self.extents(to.1)?);
        for run in runs.iter() {
            let old = source.line(run.at, run.len).ok_or(OUTSIDE)?;
            let new = target.line_mut(run.at, run.len).ok_or(OUTSIDE)?;
            for (old, new) in old.iter().zip(new) {
                *new = round(*old);
            }
        }
        self.held.insert(from, source);
        self.held.insert(to, target);
        Ok(())
    }

    /// Products of two tiles, added to the sums or in their place.
    pub(super) fn multiply(
        &mut self,
        machine: &Machine<'k>,
        at: usize,
        (acc, [a, b]): (TileId, [View; 2]),
        (anew, share): (bool, Share),
    ) -> Result<(), String> {
        let runs = self
            .regions
            .of_products(acc, share, self.members[at].part)?;
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
        if [of_a[0], of_b[0]] != of_acc || of_a[1] != of_b[1] {
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
            let done = sums.multiply([&factors[0], &factors[1]], &rows, columns, anew);
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

/// What a cast to a type makes of a value; of poison, poison, where casts to integers make a number
/// of NaN. Most values are small integers, which are as they are.
fn rounding(to: DType) -> Result<impl Fn(f64) -> f64, String> {
    let exact = to.fraction_bits().map_or(0, |bits| 2u64 << bits.min(32));
    Ok(move |value: f64| {
        let whole = value as i64;
        match whole.unsigned_abs() <= exact && whole as f64 == value || value.is_nan() {
            true => value,
            false => stored(to, value),
        }
    })
}
