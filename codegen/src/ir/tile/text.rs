//! The text form of a kernel in tiles: its tiles, then its operations, one a line.

use std::fmt;

use crate::ir::tile::{
    Across, AddUp, Bounds, CombineId, CopyId, End, Engine, FoldId, Full, Kernel, Op, Pipe, PipeId,
    Place, Slice, Stage, Start, Sync, Tile, TileId, Trips, View,
};
use crate::plan::data::values::Order;
use crate::plan::work_tiles::{Cluster, Dim, Work};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tile {} {{", self.id)?;
        writeln!(f, "  {}", self.work)?;
        for tile in &self.tiles {
            writeln!(f, "  {tile}")?;
        }
        for pipe in &self.pipes {
            writeln!(f, "  {pipe}")?;
        }
        Text(self).ops(f, &self.body, 1)?;
        writeln!(f, "}}")
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes: Vec<String> = (self.modes.iter().filter(|(mode, _)| !mode.is_empty()))
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
        Place::Gmem(..) => "g",
        Place::Smem(_) => "s",
        Place::Rmem(_) => "r",
    }
}

impl Kernel {
    /// One line for each operation, in the order of the kernel's text: operation 1 comes first.
    /// Those with bodies have the line that begins them.
    pub fn lines(&self) -> Vec<(String, &Op)> {
        let mut lines = Vec::new();
        Text(self).heads(&self.body, &mut lines);
        lines
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
                let other = match op {
                    Op::ForEachChunk(..) => "for the rest",
                    _ => "else",
                };
                writeln!(f, "{pad}}} {other} {{")?;
                self.ops(f, bodies[1], depth + 1)?;
            }
            writeln!(f, "{pad}}}")
        };
        match op {
            Op::Teams(teams) => teams.iter().try_for_each(|(team, body)| {
                let registers = self.0.teams.iter().find(|members| members.team == *team);
                let registers = registers.and_then(|members| members.registers);
                let registers =
                    registers.map_or(String::new(), |count| format!(" with {count} registers"));
                blocks(f, format!("{team}{registers}"), [body, &[]])
            }),
            Op::ForEachWorkTile(body) | Op::ForEachPartial(body) | Op::ForEachKTile(body) => {
                blocks(f, self.line(op), [body, &[]])
            }
            Op::IfBoxesEnd(way, other)
            | Op::IfContinues(way, other)
            | Op::IfInside(way, other)
            | Op::IfVectors(way, other)
            | Op::ForEachChunk(_, way, other) => blocks(f, self.line(op), [way, other]),
            other => writeln!(f, "{pad}{}", self.line(other)),
        }
    }

    fn heads<'k>(&self, ops: &'k [Op], out: &mut Vec<(String, &'k Op)>) {
        for op in ops {
            out.push((self.line(op), op));
            for body in op.bodies() {
                self.heads(body, out);
            }
        }
    }

    /// An operation, without its body.
    fn line(&self, op: &Op) -> String {
        match op {
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
                format!(
                    "{how} {} -> {}{bounds}{share}",
                    self.view(*from),
                    self.view(*to)
                )
            }
            Op::Map {
                to,
                from,
                element,
                share,
            } => {
                let from: Vec<String> = from.iter().map(|view| self.view(*view)).collect();
                let value = super::value_text::value(&element.value, &from);
                let by = match element.code.calls.as_slice() {
                    [one] => format!(" by {}", one.atom.id),
                    _ => String::new(),
                };
                format!("{} = {value}{by}{share}", self.view(*to))
            }
            Op::Fold {
                to,
                from,
                by: FoldId(number),
                bounds,
                share,
            } => {
                let (to, from) = (self.view(*to), self.view(*from));
                format!("{to} = fold {number} of {from}{bounds}{share}")
            }
            Op::Accumulate {
                to,
                from,
                by: FoldId(number),
                bounds,
            } => {
                let (to, from) = (self.view(*to), self.view(*from));
                format!("{to} = fold {number} of {to} and {from}{bounds}")
            }
            Op::Combine {
                to,
                from,
                held,
                by: _,
                how: CombineId(number),
                bounds,
                share,
            } => {
                let [to, from, held] = [to, from, held].map(|view| self.view(*view));
                format!("combine {number} of {from} -> {to} by {held}{bounds}{share}")
            }
            Op::AddUp(sums) => {
                let sum = |one: &AddUp| {
                    let held = one.held.map(|held| format!("{} -> ", self.view(held)));
                    let (CombineId(number), to) = (one.how, self.view(one.to));
                    format!("{number}: {}{to}", held.unwrap_or_default())
                };
                let sums: Vec<String> = sums.iter().map(sum).collect();
                format!("add up {}", sums.join(", "))
            }
            Op::Mma {
                acc,
                a,
                b,
                start,
                share,
            } => {
                let (a, b) = (self.view(*a), self.view(*b));
                let start = match start {
                    Start::Held => "",
                    Start::FirstTrip => ", from 0 in the first trip",
                    Start::EveryTrip => ", from 0",
                };
                let acc: Vec<_> = acc.iter().map(|acc| self.tile(*acc).to_string()).collect();
                format!("{} += {a} * {b}{start}{share}", acc.join(", "))
            }
            Op::StorePartial(acc, pipe) => {
                format!("{} = {}", self.pipe(*pipe), self.tile(*acc))
            }
            Op::AddPartial(acc, pipe) => format!("{} += {}", self.tile(*acc), self.pipe(*pipe)),
            Op::Section => "new section".into(),
            Op::Sync(sync) => self.sync(*sync),
            Op::NextTile => "next k tile".into(),
            Op::InitPipes => "init pipes".into(),
            Op::Teams(_) => "teams".into(),
            Op::ForEachWorkTile(_) => "for each work tile".into(),
            Op::ForEachPartial(_) => "for each partial sum".into(),
            Op::ForEachKTile(_) => "for each k tile".into(),
            Op::ForEachChunk(order, ..) => {
                let work = &self.0.work;
                let mut dims = work.dims.iter();
                let name = dims.find_map(Dim::looped).map_or("?", |one| &one.mode);
                match order {
                    Order::Up => format!("for each chunk of {name}"),
                    Order::Down => format!("for each chunk of {name}, backwards"),
                }
            }
            Op::IfBoxesEnd(..) => "if boxes end at the edge".into(),
            Op::IfContinues(..) => "if it continues an output tile".into(),
            Op::IfInside(..) => "if inside".into(),
            Op::IfVectors(..) => "if it ends with a vector".into(),
        }
    }

    fn pipe(&self, id: PipeId) -> &'static str {
        self.0.pipe(id).map_or("?", |pipe| pipe.name)
    }

    fn sync(&self, sync: Sync) -> String {
        let name = |id: PipeId| self.pipe(id);
        match sync {
            Sync::Acquire(pipe) => format!("acquire {}", name(pipe)),
            Sync::Arm(pipe) => format!("arm {}", name(pipe)),
            Sync::Commit(pipe) => format!("commit {}", name(pipe)),
            Sync::Await(pipe, 0) => format!("await {}", name(pipe)),
            Sync::Await(pipe, lag) => format!("await {}, {lag} in flight", name(pipe)),
            Sync::Release(pipe, 0) => format!("release {}", name(pipe)),
            Sync::Release(pipe, lag) => format!("release {}, {lag} before", name(pipe)),
            Sync::Skip(pipe, end, trips) => {
                let trips = match trips {
                    Trips::One => "",
                    Trips::Tile => " by the slots of a tile",
                    Trips::WorkTile => " to the slots of the work tile",
                    Trips::Turns => " by the slots of earlier turns",
                };
                format!("next {}.{end}{trips}", name(pipe))
            }
            Sync::Drain(pipe) => format!("drain {}", name(pipe)),
            Sync::Restart(pipe) => format!("restart {}", name(pipe)),
            Sync::Meet => "meet".into(),
            Sync::Follow => "follow the kernel before".into(),
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
            View::Next(_) => format!("{tile}.next"),
            View::Looked(_, table) => format!("{tile} where {} says", self.tile(table)),
            View::Rmem(_, buffer) => format!("{tile}[{buffer}]"),
            View::Smem(_, stage, block) => {
                let stage = match stage {
                    Stage::Fixed(number) => number.to_string(),
                    Stage::At(end) => {
                        let pipe = self.0.pipe_of(view.tile()).and_then(|id| self.0.pipe(id));
                        format!("{}.{end}", pipe.map_or("?", |pipe| pipe.name))
                    }
                    Stage::Turn => "in turn".into(),
                };
                let block = block.map_or(String::new(), |block| format!("(block {block})"));
                format!("{tile}[{stage}]{block}")
            }
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bounds::Inside => "",
            Bounds::Vectors => " by vectors",
            Bounds::Checked => " checked",
        })
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slice(_, 1) => Ok(()),
            Slice(part, parts) => write!(f, ", share {part} of {parts}"),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Fill => "fill",
            End::Empty => "empty",
        })
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "work {}", self.source.kind().name())?;
        if let Some(most) = self.ctas {
            write!(f, ", at most {most} CTAs")?;
        }
        write!(f, ", raster {}", self.raster)?;
        let outer = self.outer();
        if !outer.is_empty() {
            write!(f, ", at each of ({})", outer.join(","))?;
        }
        match self.cluster() {
            Cluster([1, 1]) => Ok(()),
            Cluster([along_m, along_n]) => write!(f, ", clusters ({along_m},{along_n})"),
        }
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, slots, fill, empty) = (self.name, self.slots, self.fill, self.empty);
        let plural = if slots == 1 { "" } else { "s" };
        write!(f, "pipe {name}: {slots} slot{plural}, filled by {fill}, ")?;
        write!(f, "emptied by {empty}, full by ")?;
        match self.full {
            Full::Bytes(ring) => write!(f, "{} bytes", ring.bytes)?,
            Full::Arrivals => f.write_str("an arrival")?,
            Full::Flag => f.write_str("a flag")?,
            Full::Group(Engine::Copies) => f.write_str("a group of copies")?,
            Full::Group(Engine::Products) => f.write_str("a group of products")?,
            Full::Group(Engine::Stores) => f.write_str("a group of stores")?,
        }
        f.write_str(match self.across {
            Across::Warpgroup => ", in a warpgroup",
            Across::Cta => ", in a CTA",
            Across::Cluster => ", in a cluster",
            Across::Grid => ", in a grid",
        })
    }
}
