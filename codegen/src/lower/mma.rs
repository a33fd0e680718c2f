//! Fragments of the tiled MMA, the MMA itself, and the conversions around it.

use std::sync::Arc;

use crate::atoms::model::{Atom, OperandKind, RegType};
use crate::error::Result;
use crate::ir::program::{Arg, Reg, Stmt};
use crate::ir::tile::{Bounds, Share};
use crate::lower::fragment::Fragment;
use crate::lower::{Lowering, bug, call};
use crate::plan::model::{Hop, MmaPlan, Step};
use crate::plan::partition;
use crate::spec::model::Family;

impl Lowering<'_> {
    /// Names every register file the kernel uses.
    pub(super) fn declare_fragments(&mut self) -> Result<()> {
        let plan = self.plan;
        for step in &plan.steps {
            let parts = self.partitions[&(step.operand.clone(), step.hop)].clone();
            match step.hop {
                // The values of a whole-tile copy are numbered as the load writes them.
                Hop::G2r | Hop::S2r if plan.mma.is_none() || step.hop == Hop::G2r => {
                    let bits = plan
                        .operand(&step.operand)
                        .map_or(32, |operand| operand.dtype.bits());
                    for by_element in [false, true] {
                        let atom = if by_element {
                            step.element_atom.as_ref()
                        } else {
                            Some(&step.atom)
                        };
                        let name = self.fragment_name(step, by_element);
                        if let Some(ty) = atom.and_then(|atom| result_type(atom)) {
                            self.declare(name, ty, bits, parts.dst.clone(), 1);
                        }
                    }
                }
                _ => {}
            }
        }
        match &plan.mma {
            Some(mma) => self.declare_mma(mma),
            None => Ok(()),
        }
    }

    fn declare_mma(&mut self, mma: &MmaPlan) -> Result<()> {
        let plan = self.plan;
        let [_, a_type, b_type, acc_type] = mma
            .atom
            .mma
            .as_ref()
            .map(|facts| facts.types)
            .ok_or_else(|| bug(plan, "no mma".to_string()))?;
        let buffers = if plan.stages > 1 { 2 } else { 1 };
        let parts = partition::of_mma(plan, mma)?;
        let in_smem = mma
            .atom
            .mma
            .as_ref()
            .is_some_and(|facts| facts.smem == [true; 2]);
        for (name, raw, dtype, part) in [
            ("a", "a_raw", a_type, parts.a),
            ("b", "b_raw", b_type, parts.b),
        ] {
            if in_smem {
                continue;
            }
            let ty = operand_type(&mma.atom, name)
                .ok_or_else(|| bug(plan, format!("no operand {name}")))?;
            if mma.widen.is_some() {
                let bits = plan
                    .operand(name)
                    .map_or(32, |operand| operand.dtype.bits());
                self.declare(raw, RegType::B16, bits, part.clone(), buffers);
            }
            self.declare(name, ty, dtype.bits(), part, buffers);
        }
        let ty =
            operand_type(&mma.atom, "d").ok_or_else(|| bug(plan, "no operand d".to_string()))?;
        self.declare("acc", ty, acc_type.bits(), parts.c.clone(), 1);
        if let Some(epilogue) = &plan.epilogue {
            let bits = plan.operand("d").map_or(32, |operand| operand.dtype.bits());
            if epilogue.pack.is_some() {
                self.declare("d", RegType::B32, bits, parts.c.clone(), 1);
            }
            if epilogue.convert.is_some() {
                self.declare("d_edge", RegType::B16, bits, parts.c, 1);
            }
        }
        Ok(())
    }

    fn declare(
        &mut self,
        name: &'static str,
        ty: RegType,
        element_bits: u32,
        part: crate::plan::part::Part<2>,
        buffers: usize,
    ) {
        let fragment = Fragment::new(self.builder.next_file(), [ty.bits(), element_bits], part);
        let registers = fragment.buffer_registers * buffers;
        self.builder.file(name, ty, registers);
        self.fragments.insert(name, fragment);
    }

    /// The fragment that a step reads or writes.
    pub(super) fn fragment_name(&self, step: &Step, by_element: bool) -> &'static str {
        let epilogue = self.plan.epilogue.as_ref();
        let converts = epilogue.is_some_and(|epilogue| epilogue.convert.is_some());
        match (self.plan.family, step.operand.as_str(), step.hop) {
            (Family::Copy, _, Hop::G2r | Hop::R2s) if self.plan.step("s", Hop::R2s).is_some() => {
                "stage"
            }
            (Family::Copy, ..) if by_element => "data_edge",
            (Family::Copy, ..) => "data",
            (_, "a", Hop::G2r | Hop::R2s) => "a_stage",
            (_, "b", Hop::G2r | Hop::R2s) => "b_stage",
            (_, "a", _) if self.widens() => "a_raw",
            (_, "b", _) if self.widens() => "b_raw",
            (_, "a", _) => "a",
            (_, "b", _) => "b",
            (_, "d", Hop::R2s) if epilogue.is_some_and(|epilogue| epilogue.pack.is_some()) => "d",
            _ if (by_element || step.element_atom.is_none()) && converts => "d_edge",
            _ if by_element || step.element_atom.is_none() => "acc",
            _ if epilogue.is_some_and(|epilogue| epilogue.pack.is_some()) => "d",
            _ => "acc",
        }
    }

    fn widens(&self) -> bool {
        self.plan
            .mma
            .as_ref()
            .is_some_and(|mma| mma.widen.is_some())
    }

    pub(super) fn widen(&mut self, buffer: u32) -> Result<Vec<Stmt>> {
        let atom = self.plan.mma.as_ref().and_then(|mma| mma.widen.clone());
        let atom = atom.ok_or_else(|| bug(self.plan, "nothing to widen with".to_string()))?;
        let mut out = Vec::new();
        for (raw, wide) in [("a_raw", "a"), ("b_raw", "b")] {
            let from = self.buffer(raw, buffer)?;
            let to = self.buffer(wide, buffer)?;
            for (from, to) in from.into_iter().zip(to) {
                out.push(convert(&atom, vec![from], to));
            }
        }
        Ok(out)
    }

    pub(super) fn convert(&mut self, bounds: Bounds, share: Share) -> Result<Vec<Stmt>> {
        let Some(epilogue) = &self.plan.epilogue else {
            return Ok(Vec::new());
        };
        let acc = self.buffer("acc", 0)?;
        let step = self.plan.step("d", Hop::R2g);
        let staged = self.plan.step("d", Hop::R2s).is_some();
        let vector = staged || step.is_some_and(|step| step.element_atom.is_some());
        match (&epilogue.pack, &epilogue.convert) {
            (Some(pack), _) if bounds == Bounds::Inside && vector => {
                let to = self.buffer("d", 0)?;
                let [first, end] =
                    [share.0, share.0 + 1].map(|end| to.len() * end as usize / share.1 as usize);
                Ok(acc
                    .chunks(2)
                    .zip(to)
                    .take(end)
                    .skip(first)
                    .map(|(pair, to)| convert(pack, pair.to_vec(), to))
                    .collect())
            }
            (_, Some(single)) => {
                let to = self.buffer("d_edge", 0)?;
                Ok(acc
                    .into_iter()
                    .zip(to)
                    .map(|(from, to)| convert(single, vec![from], to))
                    .collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn buffer(&self, name: &str, buffer: u32) -> Result<Vec<Reg>> {
        let fragment = self.fragment(name)?;
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
    pub(super) fn mma(&mut self, buffer: u32, share: Share) -> Result<Vec<Stmt>> {
        let plan = self.plan;
        let mma = plan
            .mma
            .as_ref()
            .ok_or_else(|| bug(plan, "no mma".to_string()))?;
        let count = |name| operand_count(&mma.atom, name).unwrap_or(1) as usize;
        let (a, b, acc) = (
            self.buffer("a", buffer)?,
            self.buffer("b", buffer)?,
            self.buffer("acc", 0)?,
        );
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

fn convert(atom: &Arc<Atom>, from: Vec<Reg>, to: Reg) -> Stmt {
    let args = atom.operands.iter().map(|operand| match operand.kind {
        OperandKind::RegsOut { .. } => Arg::Regs(vec![to]),
        _ => Arg::Regs(from.clone()),
    });
    call(atom, args.collect())
}

fn result_type(atom: &Atom) -> Option<RegType> {
    atom.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::RegsOut { ty, .. } => Some(ty),
        _ => None,
    })
}

fn operand_type(atom: &Atom, name: &str) -> Option<RegType> {
    atom.operands
        .iter()
        .find(|operand| operand.name == name)
        .and_then(|operand| match operand.kind {
            OperandKind::RegsIn { ty, .. }
            | OperandKind::RegsOut { ty, .. }
            | OperandKind::RegsInOut { ty, .. } => Some(ty),
            _ => None,
        })
}

fn operand_count(atom: &Atom, name: &str) -> Option<u32> {
    atom.operands
        .iter()
        .find(|operand| operand.name == name)
        .and_then(|operand| match operand.kind {
            OperandKind::RegsIn { count, .. } | OperandKind::RegsOut { count, .. } => Some(count),
            _ => None,
        })
}
