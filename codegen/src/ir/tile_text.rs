//! The text form of a kernel in tiles: its tiles, then its operations, one a line.

use std::fmt;

use crate::ir::tile::{
    Bounds, CopyId, Distance, Kernel, Op, Place, Share, Slot, Stage, Team, Tile, TileId, View,
};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tile {} {{", self.id)?;
        for tile in &self.tiles {
            writeln!(f, "  {tile}")?;
        }
        Text(self).ops(f, &self.body, 1)?;
        writeln!(f, "}}")
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes: Vec<String> = (self.modes.iter())
            .map(|(mode, extent)| format!("{mode} {extent}"))
            .collect();
        let (space, name, dtype) = (space(&self.place), &self.name, self.dtype);
        write!(f, "{space}.{name}: {dtype} ({})", modes.join(", "))?;
        let Place::Rmem(held) = &self.place else {
            return Ok(());
        };
        let (values, ty) = (held.tv.values.len(), held.ty.name());
        write!(f, ", {values} a thread in registers of {ty}")?;
        match held.buffers {
            1 => Ok(()),
            buffers => write!(f, ", {buffers} buffers"),
        }
    }
}

fn space(place: &Place) -> &'static str {
    match place {
        Place::Gmem(_) => "g",
        Place::Smem(_) => "s",
        Place::Rmem(_) => "r",
    }
}

struct Text<'k>(&'k Kernel);

impl Text<'_> {
    fn ops(&self, f: &mut fmt::Formatter<'_>, ops: &[Op], depth: usize) -> fmt::Result {
        ops.iter().try_for_each(|op| self.op(f, op, depth))
    }

    fn op(&self, f: &mut fmt::Formatter<'_>, op: &Op, depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        let blocks = |f: &mut fmt::Formatter<'_>, head: String, bodies: [&[Op]; 2]| {
            writeln!(f, "{pad}{head} {{")?;
            self.ops(f, bodies[0], depth + 1)?;
            if !bodies[1].is_empty() {
                writeln!(f, "{pad}}} else {{")?;
                self.ops(f, bodies[1], depth + 1)?;
            }
            writeln!(f, "{pad}}}")
        };
        match op {
            Op::Roles(roles) => roles.iter().try_for_each(|role| {
                let head = format!("{} with {} registers", role.team, role.registers);
                blocks(f, head, [&role.body, &[]])
            }),
            Op::ForEachTile(body) => blocks(f, "for each tile".into(), [body, &[]]),
            Op::ForEachPiece(body) => blocks(f, "for each piece of a tile".into(), [body, &[]]),
            Op::ForEachKTile(body) => blocks(f, "for each k tile".into(), [body, &[]]),
            Op::IfBoxesEnd(boxes, elements) => {
                blocks(f, "if boxes end at the edge".into(), [boxes, elements])
            }
            Op::IfContinues(continues, begins) => blocks(
                f,
                "if the piece continues a tile".into(),
                [continues, begins],
            ),
            Op::IfInside(inside, edge) => blocks(f, "if inside".into(), [inside, edge]),
            other => writeln!(f, "{pad}{}", self.line(other)),
        }
    }

    /// An operation without a body.
    fn line(&self, op: &Op) -> String {
        match op {
            Op::Raster(raster) => format!("tile = raster {raster}"),
            Op::Copy {
                from,
                to,
                by,
                bounds,
                share,
            } => {
                let how = match by {
                    CopyId::Tiled(_) => "copy",
                    CopyId::Boxes(_) => "copy boxes",
                };
                let checked = match bounds {
                    Bounds::Checked => " checked",
                    Bounds::Inside => "",
                };
                format!(
                    "{how} {} -> {}{checked}{share}",
                    self.view(*from),
                    self.view(*to)
                )
            }
            Op::Map {
                to,
                from: None,
                share,
                ..
            } => format!("{} = 0{share}", self.view(*to)),
            Op::Map {
                to,
                from: Some(from),
                by,
                share,
            } => {
                let by = by
                    .as_ref()
                    .map_or(String::new(), |atom| format!(" by {}", atom.id));
                format!("{} = {}{by}{share}", self.view(*to), self.view(*from))
            }
            Op::Mma { acc, a, b, share } => {
                let (a, b) = (self.view(*a), self.view(*b));
                format!("{} += {a} * {b}{share}", self.tile(*acc))
            }
            Op::GivePiece(acc) => format!("give piece {}", self.tile(*acc)),
            Op::TakePieces(acc) => format!("{} += pieces of other CTAs", self.tile(*acc)),
            Op::MmaDone(acc) => format!("wait mma, {} ready", self.tile(*acc)),
            Op::Wait(groups) => format!("wait {groups}"),
            Op::MmaWait(groups) => format!("wait mma {groups}"),
            Op::StagingFree(stores) => format!("staging free, {stores} in flight"),
            Op::Commit => "commit".into(),
            Op::Barrier => "barrier".into(),
            Op::NextTile => "next k tile, stage_write".into(),
            Op::NextRead => "next stage_read".into(),
            Op::InitBarriers => "init barriers".into(),
            Op::FollowGrid => "follow the kernel before".into(),
            Op::Acquire => "acquire slot".into(),
            Op::Arm => "arm slot".into(),
            Op::Await => "await slot".into(),
            Op::Release(Slot::Current) => "release slot".into(),
            Op::Release(Slot::Previous) => "release previous slot".into(),
            Op::Advance(Distance::Slot) => "next slot".into(),
            Op::Advance(Distance::Tile) => "skip the slots of a tile".into(),
            Op::Advance(Distance::Piece) => "to the slots of the piece".into(),
            Op::Advance(Distance::Turns) => "skip the slots of earlier turns".into(),
            Op::Drain => "drain slots".into(),
            Op::TakeTurn => "take turn".into(),
            Op::PassTurn => "pass turn".into(),
            Op::StagingFull => "staging full".into(),
            Op::StagingDrain => "staging drain".into(),
            Op::Roles(_)
            | Op::ForEachTile(_)
            | Op::ForEachPiece(_)
            | Op::ForEachKTile(_)
            | Op::IfBoxesEnd(..)
            | Op::IfContinues(..)
            | Op::IfInside(..) => String::new(),
        }
    }

    fn tile(&self, id: TileId) -> String {
        let tile = self.0.tiles.get(id.0);
        tile.map_or("?".into(), |tile| {
            format!("{}.{}", space(&tile.place), tile.name)
        })
    }

    fn view(&self, view: View) -> String {
        let tile = self.tile(view.tile());
        match view {
            View::Gmem(_) => tile,
            View::Rmem(_, buffer) => format!("{tile}[{buffer}]"),
            View::Smem(_, stage, block) => {
                let stage = match stage {
                    Stage::Fixed(number) => number.to_string(),
                    Stage::Read => "stage_read".into(),
                    Stage::Write => "stage_write".into(),
                    Stage::Slot => "slot".into(),
                    Stage::Staging => "staging".into(),
                };
                let block = block.map_or(String::new(), |block| format!("(block {block})"));
                format!("{tile}[{stage}]{block}")
            }
        }
    }
}

impl fmt::Display for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Team::Producer => "producer",
            Team::Consumers => "consumers",
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share(_, 1) => Ok(()),
            Share(part, parts) => write!(f, ", share {part} of {parts}"),
        }
    }
}
