//! Values to pictures.
//!
//! In: a value of the algebra. Out: its picture: a layout as its values, a coordinate layout as
//! who holds which cell, an MMA as A, B and C in the usual places, a swizzled layout as its values
//! and its banks.

use tilewright_layout::{
    Basis, ComposedLayout, CopyAtom, Int as _, Layout, Operand, Result, Side, Swizzle, TiledCopy,
    TiledMma,
};

use super::banks::{self, Access};
use super::colour::Shade;
use super::picture::{Axis, Cell, MOST_CELLS, Panel, Picture, Place};
use crate::functions::one_atom;
use crate::value::{Tensor, Value};

/// Why a value has no picture.
pub type Drawn<T> = std::result::Result<T, String>;

/// Most panels of a layout of more than two modes.
const MOST_PANELS: i64 = 16;

/// The picture of a value.
///
/// # Errors
///
/// Why there is none, in words.
pub fn picture(value: &Value, access: Access) -> Drawn<Picture> {
    match value {
        Value::Tensor(Tensor::Plain(layout)) => of_layout(layout),
        Value::Int(n) => of_layout(&told(Layout::single(*n, 1))?),
        Value::Tensor(Tensor::Coords(tv)) => of_coordinates(tv),
        Value::Composed(all) => of_composed(all, access),
        Value::Swizzle(swizzle) => of_swizzle(*swizzle, access),
        Value::MmaAtom(atom) => {
            let [m, n, k] = atom.mnk;
            let title = format!("mma m{m}n{n}k{k}");
            of_mma(&told(one_atom(atom.clone()))?, title)
        }
        Value::TiledMma(mma) => {
            let [m, n, k] = told(mma.tile_mnk())?;
            let threads = told(mma.thread_count())?;
            let atoms = mma.atom_layout_mnk();
            of_mma(
                mma,
                format!("{m}x{n}x{k} by {threads} threads, atoms at {atoms}"),
            )
        }
        Value::TiledCopy(copy) => of_copy(copy),
        Value::CopyAtom(atom) => of_copy_atom(atom, "elements"),
        Value::CopyBits(bits) => {
            let elem_bits = access.elem_bytes.saturating_mul(8);
            let (source, destination) = (&bits.src_tv, &bits.dst_tv);
            let threads = bits.thr_id.clone();
            let atom = CopyAtom::from_bits(threads, source, destination, &bits.ref_tv, elem_bits);
            let elements = format!("elements of {} bytes", access.elem_bytes);
            of_copy_atom(&told(atom)?, &elements)
        }
        other => Err(format!(
            "{} has no picture: show takes layouts, swizzles, copies and MMAs",
            other.kind_with_article()
        )),
    }
}

fn told<T>(result: Result<T>) -> Drawn<T> {
    result.map_err(|error| error.to_string())
}

/// The size, when it is small enough to draw.
pub fn drawable(size: i64) -> Drawn<usize> {
    match usize::try_from(size) {
        Ok(count) if size <= MOST_CELLS => Ok(count),
        _ => Err(format!(
            "{size} cells; at most {MOST_CELLS} are drawn: show one tile of it"
        )),
    }
}

/// The axis of a mode: blocks of its first leaf are set apart.
fn axis(name: &str, mode: &Layout) -> Drawn<Axis> {
    let first = mode.leaves().next().map_or(1, |(extent, _)| *extent);
    let count = drawable(told(mode.size())?)?;
    let nested = mode.leaves().len() > 1;
    Ok(Axis {
        name: name.to_owned(),
        count,
        block: if nested {
            usize::try_from(first).unwrap_or(0)
        } else {
            0
        },
    })
}

/// A layout as its values: mode 0 runs down, mode 1 to the right, further modes give panels.
pub fn of_layout(layout: &Layout) -> Drawn<Picture> {
    drawable(told(layout.size())?)?;
    let largest = told(layout.offsets())?.max().unwrap_or(0);
    let shade = |value| Shade::Value { value, largest };
    let panels = panels_of(layout, &|value| Cell::new(value.to_string(), shade(value)))?;
    Ok(Picture {
        title: layout.to_string(),
        panels,
        notes: Vec::new(),
    })
}

/// The panels of a layout whose values become cells.
fn panels_of(layout: &Layout, cell: &dyn Fn(i64) -> Cell) -> Drawn<Vec<Panel>> {
    let one = told(Layout::single(1, 0))?;
    let mode = |i: usize| layout.mode(i).unwrap_or_else(|| one.clone());
    // A single mode lies on its side, as lists are written.
    let (down, right) = match layout.rank() {
        0 | 1 => (one.clone(), layout.clone()),
        _ => (mode(0), mode(1)),
    };
    let rest: Vec<Layout> = layout.modes().skip(2).collect();
    let rest = told(Layout::from_modes(rest))?;
    let count = match layout.rank() {
        0..=2 => 1,
        _ => told(rest.size())?,
    };
    if count > MOST_PANELS {
        return Err(format!(
            "{count} panels for the modes after the second; at most {MOST_PANELS}"
        ));
    }
    let mut panels = Vec::new();
    for index in 0..count {
        let (title, base) = match layout.rank() {
            0..=2 => (String::new(), 0),
            _ => (format!("at (_,_,{index})"), told(rest.at(index))?),
        };
        let mut cells = Vec::new();
        for x in told(down.offsets())? {
            for y in told(right.offsets())? {
                cells.push(cell(told(base.try_add(&x).and_then(|s| s.try_add(&y)))?));
            }
        }
        panels.push(Panel {
            title,
            place: Place {
                row: index as usize / 4,
                column: index as usize % 4,
            },
            rows: axis(if layout.rank() > 1 { "mode 0" } else { "" }, &down)?,
            columns: axis(if layout.rank() > 1 { "mode 1" } else { "" }, &right)?,
            cells,
            room: 0,
        });
    }
    Ok(panels)
}

/// Who holds each cell of a tile: (thread, values…) to coordinates.
fn of_coordinates(tv: &Layout<i64, Basis<i64>>) -> Drawn<Picture> {
    drawable(told(tv.size())?)?;
    if tv.rank() < 2 {
        return Err(
            "a coordinate layout is drawn as (thread, value): it needs two modes".to_owned(),
        );
    }
    let mut extents = [1i64; 2];
    for value in told(tv.coords(2))? {
        for (extent, x) in extents.iter_mut().zip(told(value)?.leaves()) {
            *extent = (*extent).max(x + 1);
        }
    }
    let panel = holders("", tv, extents, ["m", "n"], false)?;
    Ok(Picture {
        title: format!("(thread, value): {tv}"),
        panels: vec![panel],
        notes: Vec::new(),
    })
}

/// The panel of a (thread, values…) layout over a tile; `turned` puts its columns down.
fn holders(
    title: &str,
    tv: &Layout<i64, Basis<i64>>,
    extents: [i64; 2],
    names: [&str; 2],
    turned: bool,
) -> Drawn<Panel> {
    let [rows, columns] = if turned {
        [extents[1], extents[0]]
    } else {
        extents
    };
    let [down, right] = if turned { [names[1], names[0]] } else { names };
    let cells = drawable(rows.saturating_mul(columns))?;
    let threads = told(tv.mode(0).map_or(Ok(1), |mode| mode.size()))?;
    let mut holders: Vec<Vec<(i64, i64)>> = vec![Vec::new(); cells];
    for (index, coord) in told(tv.coords(2))?.enumerate() {
        let coord = told(coord)?;
        let [x, y] = coord.leaves() else {
            return Err(format!("{coord} is no cell of two coordinates"));
        };
        let (x, y) = if turned { (y, x) } else { (x, y) };
        let index = index as i64;
        let at = usize::try_from(x * columns + y).ok();
        let Some(holder) = at.and_then(|at| holders.get_mut(at)) else {
            return Err(format!("the cell {coord} lies outside the tile"));
        };
        holder.push((index % threads, index / threads));
    }
    let cells = holders.iter().map(|all| holder_cell(all)).collect();
    Ok(Panel {
        title: title.to_owned(),
        place: Place { row: 0, column: 0 },
        rows: Axis::plain(down, rows as usize),
        columns: Axis::plain(right, columns as usize),
        cells,
        room: 0,
    })
}

/// The first thread that holds a cell, its value, and how many more hold it.
fn holder_cell(all: &[(i64, i64)]) -> Cell {
    let Some((thread, value)) = all.iter().min() else {
        return Cell::blank();
    };
    let more = match all.len() - 1 {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    Cell {
        text: format!("T{thread}{more}"),
        detail: format!("V{value}"),
        shade: Shade::Thread(*thread),
    }
}

/// A to the left of C, B above it, as the field draws products.
fn of_mma(mma: &TiledMma, title: String) -> Drawn<Picture> {
    let [m, n, k] = told(mma.tile_mnk())?;
    let mut panels = Vec::new();
    for (operand, name, extents, names, turned, (row, column)) in [
        (Operand::B, "B", [n, k], ["n", "k"], true, (0, 1)),
        (Operand::A, "A", [m, k], ["m", "k"], false, (1, 0)),
        (Operand::C, "C", [m, n], ["m", "n"], false, (1, 1)),
    ] {
        let tv = told(mma.tv(operand))?;
        let mut panel = holders(name, &tv, extents, names, turned)?;
        panel.place = Place { row, column };
        panels.push(panel);
    }
    let room = panels.iter().map(Panel::widest).max().unwrap_or(0);
    panels.iter_mut().for_each(|panel| panel.room = room);
    Ok(Picture {
        title,
        panels,
        notes: Vec::new(),
    })
}

/// What each thread of a copy instruction reads, and what it writes.
fn of_copy_atom(atom: &CopyAtom, elements: &str) -> Drawn<Picture> {
    let mut panels = of_layout(&atom.src_tv)?.panels;
    panels.extend(of_layout(&atom.dst_tv)?.panels);
    for (row, (panel, side)) in panels.iter_mut().zip(["source", "destination"]).enumerate() {
        panel.place = Place { row, column: 0 };
        panel.title = format!("{side}: (thread, value) to element");
    }
    let threads = told(atom.thr_id.size())?;
    Ok(Picture {
        title: format!("copy atom of {threads} threads, in {elements}"),
        panels,
        notes: Vec::new(),
    })
}

/// The tile as the source is read and as the destination is written.
fn of_copy(copy: &TiledCopy) -> Drawn<Picture> {
    let tile = told(copy.tile_shape())?;
    let [m, n] = match tile.leaves() {
        [n] => [*n, 1],
        [m, n] => [*m, *n],
        more => {
            return Err(format!(
                "a tile of {} modes; one or two are drawn",
                more.len()
            ));
        }
    };
    let mut panels = Vec::new();
    for (row, (side, name)) in [(Side::Source, "source"), (Side::Destination, "destination")]
        .into_iter()
        .enumerate()
    {
        let tv = told(copy.coords_of(side))?;
        let mut panel = holders(name, &tv, [m, n], ["m", "n"], false)?;
        panel.place = Place { row, column: 0 };
        panels.push(panel);
    }
    // Both sides alike are drawn once.
    if panels.len() == 2 && panels[0].cells == panels[1].cells {
        panels.truncate(1);
        panels[0].title = "source and destination".to_owned();
    }
    let threads = told(copy.thread_count())?;
    Ok(Picture {
        title: format!("tiled copy of {tile} by {threads} threads"),
        panels,
        notes: Vec::new(),
    })
}

/// The values of a swizzled layout, and the banks that a column of accesses meets.
fn of_composed(all: &ComposedLayout, access: Access) -> Drawn<Picture> {
    drawable(told(all.size())?)?;
    let largest = told(all.offsets())?.max().unwrap_or(0);
    let cell = |offset: i64| {
        let value = all.swizzle.apply(all.offset.saturating_add(offset));
        Cell::new(value.to_string(), Shade::Value { value, largest })
    };
    let mut picture = Picture {
        title: all.to_string(),
        panels: panels_of(&all.inner, &cell)?,
        notes: Vec::new(),
    };
    if picture.panels.len() == 1 && all.inner.rank() == 2 {
        match banks::map(all, access) {
            Ok(map) => {
                picture.panels[0].title = "offset of each element".to_owned();
                // A tile of many elements is clearer by its chunks alone.
                if told(all.size())? > 4096 {
                    picture.panels.clear();
                }
                let first = picture.panels.len();
                for (index, mut panel) in map.panels.into_iter().enumerate() {
                    panel.place = Place {
                        row: first + index,
                        column: 0,
                    };
                    picture.panels.push(panel);
                }
                picture.notes = map.notes;
            }
            Err(why) => picture.notes.push(format!("no bank map: {why}")),
        }
    }
    Ok(picture)
}

/// A swizzle on the smallest row-major tile that meets all of its bits.
fn of_swizzle(swizzle: Swizzle, access: Access) -> Drawn<Picture> {
    let columns = swizzle.base() + swizzle.shift().unsigned_abs();
    if columns + swizzle.bits() > 15 {
        return Err(format!(
            "{swizzle} spans more cells than are drawn: show it o 0 o a layout"
        ));
    }
    let (rows, columns) = (1i64 << swizzle.bits(), 1i64 << columns);
    let tile = told(Layout::flat(&[rows, columns], &[columns, 1]))?;
    of_composed(&ComposedLayout::new(swizzle, tile), access)
}
