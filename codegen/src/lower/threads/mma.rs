//! Fragments, and the MMA on them.

use crate::atoms::model::{Atom, OperandKind};
use crate::error::Result;
use crate::ir::thread::program::{Arg, Reg, Stmt};
use crate::ir::tile::{Place, Slice, TileId, View};
use crate::lower::threads::fragment::Fragment;
use crate::lower::{Lowering, bug, call};

impl Lowering<'_> {
    /// Gives every tile in registers a register file.
    pub(in crate::lower) fn declare_fragments(&mut self) {
        for (number, tile) in self.kernel.tiles.iter().enumerate() {
            let Place::Rmem(held) = &tile.place else {
                continue;
            };
            let bits = [held.ty.bits(), tile.dtype.bits()];
            let fragment = Fragment::new(self.builder.next_file(), bits, held.tv.clone());
            let registers = fragment.buffer_registers * held.buffers as usize;
            self.builder.file(&tile.name, held.ty, registers);
            self.fragments.insert(TileId(number), fragment);
        }
    }

    /// The registers of a buffer of a tile.
    pub(in crate::lower) fn registers(&self, view: View) -> Result<Vec<Reg>> {
        match view {
            View::Rmem(tile, buffer) => self.buffer(tile, buffer),
            other => Err(bug(self.plan, format!("{other:?} is not in registers"))),
        }
    }

    pub(in crate::lower) fn buffer(&self, tile: TileId, buffer: u32) -> Result<Vec<Reg>> {
        let fragment = self.fragment(tile)?;
        let count = fragment.buffer_registers as u32;
        Ok((0..count)
            .map(|index| Reg {
                file: fragment.file,
                index: buffer * count + index,
            })
            .collect())
    }

    /// One MMA of the atom for each pair of fragments along m and n, one step along k after the
    /// other, n forth and back so that neighbours share an operand.
    pub(in crate::lower) fn mma(
        &mut self,
        acc: TileId,
        [a, b]: [View; 2],
        share: Slice,
    ) -> Result<Vec<Stmt>> {
        let plan = self.plan;
        let mma = plan
            .mma
            .as_ref()
            .ok_or_else(|| bug(plan, "no mma".to_string()))?;
        let count = |name| operand_count(&mma.atom, name).unwrap_or(1) as usize;
        let (a, b) = (self.registers(a)?, self.registers(b)?);
        let acc = self.buffer(acc, 0)?;
        let (per_a, per_b, per_acc) = (count("a"), count("b"), count("c"));
        let [_, _, k] = mma.tiled.tile_mnk()?;
        let depth = (k / mma.tiled.atom().mnk[2]).max(1) as usize;
        let (rows, columns) = (a.len() / per_a / depth, b.len() / per_b / depth);
        let registers = |all: &[Reg], index: usize, each: usize| {
            let held = all.get(index * each..(index + 1) * each);
            held.map(|held| Arg::Regs(held.to_vec()))
        };
        let short = || bug(plan, "fragments are shorter than the mma's".to_string());
        let mut out = Vec::new();
        let ends = [share.0, share.0 + 1].map(|end| rows * end as usize / share.1 as usize);
        let pairs = (0..depth).flat_map(|step| {
            let rows = ends[0]..ends[1];
            rows.flat_map(move |row| (0..columns).map(move |column| [step, row, column]))
        });
        for [step, row, column] in pairs {
            let column = match row % 2 {
                0 => column,
                _ => columns - 1 - column,
            };
            let args = mma.atom.operands.iter().map(|operand| {
                let held = match operand.name.as_str() {
                    "a" => registers(&a, row + rows * step, per_a),
                    "b" => registers(&b, column + columns * step, per_b),
                    _ => registers(&acc, row + rows * column, per_acc),
                };
                held.ok_or_else(short)
            });
            out.push(call(&mma.atom, args.collect::<Result<_>>()?));
        }
        Ok(out)
    }
}

/// Registers of the operand of that name.
pub(in crate::lower) fn operand_count(atom: &Atom, name: &str) -> Option<u32> {
    atom.operands
        .iter()
        .find(|operand| operand.name == name)
        .and_then(|operand| match operand.kind {
            OperandKind::RegsIn { count, .. } | OperandKind::RegsOut { count, .. } => Some(count),
            _ => None,
        })
}
