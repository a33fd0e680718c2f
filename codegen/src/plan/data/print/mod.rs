//! The text form of a plan, for `tilewright plan` and golden files.

mod values;
mod warp_roles;

use std::fmt;

use crate::plan::data::arena::Holds;
use crate::plan::data::choices::{Choice, LeftOut};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Rows, SmemTile, Step};
use crate::spec::keys::model::{LaunchKind, Operand};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile: Vec<String> = self.cta_tile().iter().map(i64::to_string).collect();
        writeln!(f, "plan {}", self.id)?;
        writeln!(
            f,
            "  arch {}, {} threads, cta_tile ({})",
            self.arch,
            self.cta_threads(),
            tile.join(",")
        )?;
        let launch = match (&self.roles, self.launch) {
            (None, LaunchKind::Programmatic) => ", launch programmatic",
            _ => "",
        };
        writeln!(f, "  raster {}{launch}", self.work.raster)?;
        write_outer(f, &self.work.outer())?;
        writeln!(f, "  grid {}", self.work.grid())?;
        if let Some(ctas) = self.min_ctas_per_sm {
            writeln!(f, "  at least {ctas} CTAs per SM")?;
        }
        write_taken(f, &self.taken)?;
        for operand in &self.operands {
            writeln!(f, "  gmem {}", self.given(operand))?;
        }
        for one in &self.copies {
            let (given, grid) = (&one.operand, one.copy.work.grid());
            let when = ["first", "last"][usize::from(one.is_behind())];
            let way = ["to", "from"][usize::from(one.is_behind())];
            let (name, layout) = (&given.name, self.operand(given.id).layout());
            writeln!(
                f,
                "  {when} {name} {way} workspace + {}: {layout}, grid {grid}",
                one.at
            )?;
        }
        write_orders(f, self)?;
        write_smem(f, self)?;
        if let Some(mma) = &self.mma {
            writeln!(f, "  mma {}", mma.atom.id)?;
            writeln!(f, "    atoms {}", mma.tiled.atom_layout_mnk())?;
            let [m, n, k] = mma.tiled.permutation_mnk();
            writeln!(f, "    permutation <{m},{n},{k}>")?;
            let facts = mma.atom.mma.as_ref();
            if let Some(kept) = facts.and_then(|facts| facts.short_sums(self.arch)) {
                writeln!(f, "    sums keep {kept} bits: accumulation fast")?;
            }
            if let Some(widen) = &mma.widen {
                writeln!(f, "    operands widened by {}", widen.id)?;
            }
        }
        write_steps(f, self)?;
        if let Some(specialized) = &self.roles {
            warp_roles::write(f, self, specialized)?;
        }
        if let Some(flow) = &self.flow {
            values::write(f, self, flow)?;
        }
        for (facts, atom) in &self.sync {
            writeln!(f, "  sync {} {facts}", atom.id)?;
        }
        for assumption in self.asked() {
            writeln!(f, "  assumes {assumption}")?;
        }
        Ok(())
    }
}

fn write_steps(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    let mut steps = plan.steps.iter();
    steps.try_for_each(|step| write_step(f, plan, step))?;
    match plan.rows {
        Rows::Held => Ok(()),
        Rows::Computed => {
            writeln!(
                f,
                "  addresses of rows computed where they are loaded and stored"
            )
        }
    }
}

/// The orders of packed operands.
fn write_orders(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    for operand in &plan.operands {
        if let Ok(Some(order)) = plan.order(operand) {
            writeln!(f, "  packed {} {order}", operand.name)?;
        }
    }
    Ok(())
}

impl fmt::Display for Choice {
    /// What was taken, then a line for each that was not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.taken)?;
        for LeftOut { candidate, reasons } in &self.left_out {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            write!(f, "\n  not {candidate}: {}", reasons.join("; "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.name, self.dtype, self.layout())
    }
}

fn write_taken(f: &mut fmt::Formatter<'_>, choices: &[Choice]) -> fmt::Result {
    let mut choices = choices.iter();
    choices.try_for_each(|one| writeln!(f, "  takes {} {} for auto", one.key, one.taken))
}

fn write_outer(f: &mut fmt::Formatter<'_>, outer: &[String]) -> fmt::Result {
    match outer.is_empty() {
        true => Ok(()),
        false => writeln!(f, "  outer ({})", outer.join(",")),
    }
}

/// Every place in shared memory, with the tiles that lie in it.
fn write_smem(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    let places = plan.arena.places();
    if !places.is_empty() {
        writeln!(f, "  smem {} bytes", plan.arena.bytes())?;
    }
    for place in places {
        let (at, count, each) = (place.at, place.count, place.each);
        let holds = place.holds;
        writeln!(f, "    at {at}: {count} of {each} bytes, {holds}")?;
        let own = plan.smem.iter().filter(|tile| tile.within == holds);
        own.into_iter()
            .try_for_each(|tile| write_smem_tile(f, plan, tile))?;
    }
    Ok(())
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holds::Slots(number) => write!(f, "slots of pipe {number}"),
            Holds::Staging => f.write_str("sets of staging buffers"),
            Holds::Full(number) => write!(f, "full barriers of pipe {number}"),
            Holds::Empty(number) => write!(f, "empty barriers of pipe {number}"),
            Holds::Partials => f.write_str("partial sums"),
            Holds::Turns => f.write_str("turn barriers"),
            Holds::Fold(number) => write!(f, "values of fold {number}"),
            Holds::Sums(number) => write!(f, "parts of sums {number}"),
        }
    }
}

fn write_smem_tile(f: &mut fmt::Formatter<'_>, plan: &Plan, tile: &SmemTile) -> fmt::Result {
    let name = plan.tile_name(tile.operand, tile.plane);
    let (layout, at, bytes) = (&tile.layout, tile.offset_bytes, tile.size_bytes);
    let dtype = tile.dtype;
    writeln!(f, "      {name}: {dtype} {layout} at {at} ({bytes} bytes)")
}

fn write_step(f: &mut fmt::Formatter<'_>, plan: &Plan, step: &Step) -> fmt::Result {
    writeln!(
        f,
        "  copy {}.{} {}",
        plan.operand(step.operand).name,
        step.hop.name(),
        step.atom.id
    )?;
    let [rows, columns] = step.tile;
    let (tv, tiler) = (step.tiled.tv(), step.tiled.tiler());
    writeln!(
        f,
        "    (thread,value) {tv} over {tiler}, tile ({rows},{columns})"
    )?;
    match &step.element_atom {
        Some(atom) => writeln!(f, "    single elements by {}", atom.id),
        None => Ok(()),
    }
}
