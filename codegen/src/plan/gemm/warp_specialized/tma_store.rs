//! The results of the warp-specialized way: written into staging buffers, boxes out of them.
//! Elements of 16 bits go in by stmatrix, transposed where rows are contiguous in memory, others by
//! stores of the pairs that threads hold. Pairs of
//! 8 bits fill half of each 16-byte unit of eight rows, and units of eight rows lie in different
//! banks: what an exchange between lanes saves in stores it costs in shuffles.

use std::sync::Arc;

use tilewright_layout::{ComposedLayout, CopyAtom, IntTuple, Layout, make_tiled_copy_c};

use super::{MMA_ROWS, TENSOR_ALIGN, by_mode, map_misfit, rank, swizzle_of};
use crate::atoms::model::{Atom, OperandKind, Space, TensorFacts};
use crate::error::{Result, message};
use crate::plan::copies::tiled_copy::{assume_bytes, copy_of, values};
use crate::plan::data::arena::Holds;
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{BoxCopy, BoxPlace, Hop, SmemTile, Step};
use crate::plan::instructions::choose::{Chooser, STRIDE_CODE, Wanted};
use crate::plan::smem::accesses::SmemAccesses;
use crate::plan::smem::swizzle_search::placed_bytes;
use crate::spec::keys::model::{Auto, Operand, Spec};
use crate::spec::keys::paths;

/// Bytes of a row of the narrowest swizzle.
const NARROWEST_BYTES: i64 = 32;

/// Staging buffers of every consumer of a tile, in elements.
struct Buffers {
    shape: Shape,
    /// Elements of one buffer, and of a consumer's set.
    one: i64,
    set: i64,
    /// Columns of a consumer, consumers along m and n, MMAs of a consumer along m.
    atom_n: i64,
    along: [i64; 2],
    rests: i64,
}

/// The staging buffers of a warpgroup.
#[derive(Clone, Copy)]
struct Shape {
    /// Columns of a buffer.
    columns: i64,
    /// Buffers.
    count: i64,
    /// Bytes of the swizzle's rows; 16 without one.
    swizzle_bytes: i64,
    /// The mode along which elements are contiguous, in a buffer as in memory.
    contiguous: usize,
}

impl Shape {
    /// Strides of a buffer along rows and columns.
    fn strides(&self) -> [i64; 2] {
        let line = [MMA_ROWS, self.columns][self.contiguous];
        by_mode(self.contiguous, 1, line)
    }
}

/// The instructions of the store: into shared memory, with its layouts, and out of it.
struct StoreAtoms {
    into: Arc<Atom>,
    copy: CopyAtom,
    out_of: Arc<Atom>,
}

/// Whether boxes store elements of that operand's type.
pub(in crate::plan::gemm) fn stores(d: &Operand) -> bool {
    matches!(d.dtype.bits(), 8 | 16 | 32)
}

/// The mode along which boxes store an operand's elements: that of its columns, or of its rows,
/// which elements of 16 bits alone are transposed to; none where it has no such rows or columns.
pub(super) fn stored_along(d: &Operand) -> Option<usize> {
    let contiguous = d.contiguous_axis()?;
    let is_stored = match contiguous {
        0 => d.dtype.bits() == 16,
        1 => stores(d),
        _ => false,
    };
    is_stored.then_some(contiguous)
}

/// The store of results through staging buffers, and how many of them a warpgroup uses in turn.
pub(super) fn output(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    d: &Operand,
    along: [i64; 2],
) -> Result<Option<(BoxCopy, i64)>> {
    let Some(mma) = plan.mma.clone() else {
        return Ok(None);
    };
    let Some(contiguous) = stored_along(d) else {
        let (name, dtype) = (&d.name, d.dtype);
        let [rows, columns] = [0, 1].map(|axis| &d.axis(axis).mode);
        let message = message!(
            "{}: boxes store elements of 8, 16 and 32 bits contiguous along {columns}, and of 16 \
             bits along {rows}; it is {dtype} {}: use {}: auto, which stores past shared memory",
            paths::operand(name),
            d.layout(),
            paths::copy(name, "r2g")
        );
        chooser.violate("store", message);
        return Ok(None);
    };
    if let Some(misfit) = map_misfit(d) {
        chooser.violate(
            STRIDE_CODE,
            message!("{} {misfit}", paths::operand(&d.name)),
        );
        return Ok(None);
    }
    let [m, n] = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]];
    let atom_n = n / along[1];
    let Some(shape) = staging(spec, chooser, d, contiguous, [n, atom_n]) else {
        return Ok(None);
    };
    let held = if d.dtype.bytes() < 4 { 2 } else { 1 };
    let Some(atoms) = store_atoms(spec, chooser, d, shape, held)? else {
        return Ok(None);
    };
    let one = MMA_ROWS * shape.columns;
    let buffers = Buffers {
        shape,
        one,
        set: shape.count * one,
        atom_n,
        along,
        rests: m / (MMA_ROWS * along[0]),
    };
    stage(chooser, plan, d, &mma, &atoms, &buffers)?;
    let reason = format!("copy.{}.s2g: a tensor map", d.name);
    assume_bytes(plan, d, TENSOR_ALIGN, &reason);
    Ok(Some((boxes(d, atoms.out_of, &buffers), shape.count)))
}

/// The store from registers into shared memory, of as many matrices as fit the columns of a buffer,
/// and the one out of it. A register holds so many elements.
fn store_atoms(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    d: &Operand,
    Shape {
        columns,
        contiguous,
        ..
    }: Shape,
    held: i64,
) -> Result<Option<StoreAtoms>> {
    let path = spec.schedule.copy.get(&d.name).cloned().unwrap_or_default();
    let keys = [Hop::R2s, Hop::S2g].map(|hop| format!("copy.{}.{}", d.name, hop.name()));
    let [r2s, s2g] = wanted(d, held);
    let by_matrix = r2s.collective;
    let divides = |atom: &Atom| !by_matrix || columns % matrix_columns(atom) == 0;
    let turned = contiguous == 0;
    let fits = |atom: &Atom| divides(atom) && (!by_matrix || is_transposing(atom) == turned);
    let given = match path.r2s.unwrap_or_default() {
        Auto::Given(id) => Auto::Given(id),
        Auto::Auto => {
            let atoms = chooser.copies(r2s);
            match atoms.into_iter().find(|atom| fits(atom)) {
                Some(atom) => Auto::Given(atom.id.clone()),
                None => Auto::Auto,
            }
        }
    };
    let into = chooser.copy(&keys[0], &given, r2s);
    let out_of = chooser.copy(&keys[1], &path.s2g.unwrap_or_default(), s2g);
    let (Some(into), Some(out_of)) = (into, out_of) else {
        return Ok(None);
    };
    if !divides(&into) {
        let message = message!(
            "{}: {} stores {} columns at a time, which do not divide the {columns} of a staging \
             buffer: choose auto",
            keys[0],
            into.id,
            matrix_columns(&into)
        );
        chooser.violate("atom-kind", message);
        return Ok(None);
    }
    let copy = copy_of(&into, d.dtype)?;
    let elements = copy.as_ref().map_or(Ok(0), values)?;
    match copy {
        Some(copy) if elements % held == 0 => Ok(Some(StoreAtoms { into, copy, out_of })),
        _ => {
            let message = message!(
                "{}: {} stores pieces of less than the {held} {} that a register holds: choose \
                 auto",
                keys[0],
                into.id,
                d.dtype
            );
            chooser.violate("atom-width", message);
            Ok(None)
        }
    }
}

/// Stores into shared memory, where a register holds so many elements, and boxes out of it. A
/// thread holds pairs of neighbours along n; stmatrix moves elements of 16 bits only.
fn wanted(d: &Operand, held: i64) -> [Wanted; 2] {
    let bytes = match d.dtype.bytes() {
        1 => held as u32,
        2 => 16,
        element => 2 * element,
    };
    let boxes = TensorFacts {
        rank: rank(d),
        multicast: false,
    };
    let r2s = Wanted {
        collective: d.dtype.bytes() == 2,
        ..Wanted::vector(Space::Rmem, Space::Smem, bytes)
    };
    let s2g = Wanted {
        asynchronous: true,
        tensor: Some(boxes),
        ..Wanted::vector(Space::Smem, Space::Gmem, 16)
    };
    [r2s, s2g]
}

/// Whether an stmatrix stores the two elements of a register into two rows.
fn is_transposing(atom: &Atom) -> bool {
    const ELEMENT_BITS: i64 = 16;
    let facts = atom.copy.as_ref();
    let second = facts.and_then(|facts| facts.src_tv_bits.mode(1)?.at(ELEMENT_BITS).ok());
    second.is_some_and(|bit| bit != ELEMENT_BITS)
}

/// Columns of the accumulators that an stmatrix stores: its matrices come in pairs, one above the
/// other.
fn matrix_columns(atom: &Atom) -> i64 {
    const MATRIX: i64 = 8;
    let matrices = atom.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::RegsIn { count, .. } => Some(i64::from(count)),
        _ => None,
    });
    (matrices.unwrap_or(1) / 2).max(1) * MATRIX
}

/// Places the staging buffers and plans what is written into them. Buffers are used in turn: modes
/// of stride 0 lead back to the first.
fn stage(
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    d: &Operand,
    mma: &MmaPlan,
    atoms: &StoreAtoms,
    buffers: &Buffers,
) -> Result<()> {
    let &Buffers {
        shape:
            own @ Shape {
                columns,
                count,
                swizzle_bytes,
                ..
            },
        one,
        set,
        atom_n,
        along: [along_m, along_n],
        rests,
    } = buffers;
    let [row, column] = own.strides();
    let shape = IntTuple::tuple([
        IntTuple::flat([MMA_ROWS, along_m, rests]),
        IntTuple::flat([columns, count, atom_n / columns / count, along_n]),
    ]);
    let stride = IntTuple::tuple([
        IntTuple::flat([row, along_n * set, 0]),
        IntTuple::flat([column, one, 0, set]),
    ]);
    let bytes = i64::from(d.dtype.bytes());
    let swizzle = swizzle_of(swizzle_bytes, bytes)?;
    let layout = ComposedLayout::new(swizzle, Layout::new(shape, stride)?);
    let step = Step {
        operand: d.id,
        hop: Hop::R2s,
        atom: atoms.into.clone(),
        element_atom: None,
        tiled: make_tiled_copy_c(atoms.copy.clone(), &mma.tiled)?,
        tile: [MMA_ROWS * along_m * rests, atom_n * along_n],
        axes: vec![Some(0), Some(1)],
    };
    let accesses = SmemAccesses::new(plan, &step, &layout.inner, d.dtype)?;
    if !accesses.whole(&layout.swizzle) {
        let message = message!(
            "{}: {} stores elements of {} in a row that the accumulators do not hold so: choose \
             auto",
            paths::copy(&d.name, "r2s"),
            atoms.into.id,
            d.name
        );
        chooser.violate("atom-kind", message);
    }
    plan.smem.push(SmemTile {
        operand: d.id,
        plane: None,
        dtype: d.dtype,
        layout,
        within: Holds::Staging,
        offset_bytes: 0,
        size_bytes: placed_bytes(along_m * along_n * set, d.dtype),
    });
    plan.steps.push(step);
    Ok(())
}

/// One box for each filling of a buffer.
fn boxes(d: &Operand, atom: Arc<Atom>, buffers: &Buffers) -> BoxCopy {
    let &Buffers {
        shape:
            Shape {
                columns,
                count,
                swizzle_bytes,
                contiguous,
            },
        one,
        set,
        atom_n,
        along: [along_m, along_n],
        rests,
    } = buffers;
    let bytes = i64::from(d.dtype.bytes());
    let places = (0..rests).flat_map(|rest| {
        (0..atom_n / columns).map(move |chunk| BoxPlace {
            coord: [rest * MMA_ROWS * along_m, chunk * columns],
            offset_bytes: chunk % count * one * bytes,
        })
    });
    BoxCopy {
        operand: d.id,
        hop: Hop::S2g,
        atom,
        dtype: d.dtype,
        contiguous,
        plane_rows: None,
        packed: false,
        shared_along: None,
        box_extents: [MMA_ROWS, columns],
        swizzle_bytes: swizzle_bytes as u32,
        places: places.collect(),
        parts: (along_m * along_n) as u32,
        part_step: BoxPlace {
            coord: if along_n > 1 {
                [0, atom_n]
            } else {
                [MMA_ROWS, 0]
            },
            offset_bytes: set * bytes,
        },
    }
}

/// The staging buffers of a warpgroup's results: as wide as the swizzle that the spec asks for, or
/// as is best. Rows of boxes are whole 16 bytes (CUDA driver API, cuTensorMapEncodeTiled).
fn staging(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    d: &Operand,
    contiguous: usize,
    [n, atom_n]: [i64; 2],
) -> Option<Shape> {
    if contiguous == 0 {
        return staging_by_rows(spec, chooser, d, atom_n);
    }
    let (name, bytes) = (&d.name, i64::from(d.dtype.bytes()));
    let shape = match spec.schedule.swizzle.get(name) {
        Some(Auto::Given(asked)) => {
            let is_asked = |width: &i64| swizzle_of(*width, bytes).is_ok_and(|own| own == *asked);
            let widths = (0..3).map(|power| NARROWEST_BYTES << power);
            let width = widths.clone().find(is_asked);
            let fits = |width: &i64| atom_n * bytes % width == 0;
            let Some(width) = width.filter(fits) else {
                let fitting: Vec<String> = widths
                    .filter(fits)
                    .map(|width| format!(", {width}B"))
                    .collect();
                let message = message!(
                    "{}: staging buffers of {atom_n} columns of {} have swizzles of bytes that \
                     divide their rows: use auto{}",
                    paths::swizzle(name),
                    d.dtype,
                    fitting.concat()
                );
                chooser.violate("swizzle", message);
                return None;
            };
            let count = if atom_n * bytes % (2 * width) == 0 {
                2
            } else {
                1
            };
            Shape {
                columns: width / bytes,
                count,
                swizzle_bytes: width,
                contiguous,
            }
        }
        _ => staging_shape(atom_n, bytes),
    };
    let rest = shape.columns * bytes % i64::from(TENSOR_ALIGN);
    if rest == 0 {
        return Some(shape);
    }
    let columns = &d.axis(1).mode;
    let unit = i64::from(TENSOR_ALIGN) / bytes * (n / atom_n);
    let nearest = (n / unit).max(1) * unit;
    let message = message!(
        "{}: boxes store rows of whole {TENSOR_ALIGN} bytes, and {atom_n} columns of {} along \
         {columns} are none: use {nearest} along {columns} in {}, or {}: auto with {} cooperative, \
         which stores past shared memory",
        paths::operand(name),
        d.dtype,
        paths::CTA_TILE,
        paths::copy(name, "r2g"),
        paths::SCHEDULE
    );
    chooser.violate("box", message);
    None
}

/// How a warpgroup's results are staged: in two buffers as wide as the widest swizzle where they
/// alternate evenly, in a few that are the whole row otherwise. No swizzle divides an odd number of
/// 16-byte units, and such rows need none: eight successive ones lie in different banks. They leave
/// as whole rows: narrower boxes that end within a sector of global memory were slower.
fn staging_shape(atom_n: i64, bytes: i64) -> Shape {
    const FEW: i64 = 3;
    let least = NARROWEST_BYTES / bytes;
    let swizzled = |columns, count| Shape {
        columns,
        count,
        swizzle_bytes: columns * bytes,
        contiguous: 1,
    };
    let even = |columns: &i64| atom_n % (2 * columns) == 0;
    let few = |columns: &i64| atom_n % columns == 0 && atom_n / columns <= FEW;
    if let Some(columns) = [4 * least, 2 * least].into_iter().find(even) {
        return swizzled(columns, 2);
    }
    if let Some(columns) = [4 * least, 2 * least, least].into_iter().find(few) {
        return swizzled(columns, atom_n / columns);
    }
    if atom_n % least == 0 {
        return swizzled(least, if even(&least) { 2 } else { 1 });
    }
    Shape {
        columns: atom_n,
        count: 1,
        swizzle_bytes: NARROWEST_BYTES / 2,
        contiguous: 1,
    }
}

/// The staging buffers of results that are contiguous along the rows: lines of a warpgroup's rows,
/// as long as the widest swizzle, one for each column.
fn staging_by_rows(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    d: &Operand,
    atom_n: i64,
) -> Option<Shape> {
    /// Columns that a matrix has, and most of a buffer that is used in turn.
    const MATRIX: i64 = 8;
    const MOST: i64 = 96;
    let bytes = i64::from(d.dtype.bytes());
    let swizzle_bytes = MMA_ROWS * bytes;
    let own = swizzle_of(swizzle_bytes, bytes).ok();
    if let Some(Auto::Given(asked)) = spec.schedule.swizzle.get(&d.name)
        && own != Some(*asked)
    {
        let message = message!(
            "{}: staging buffers of {MMA_ROWS} rows of {} have the swizzle of {swizzle_bytes} \
             bytes: use auto, {swizzle_bytes}B",
            paths::swizzle(&d.name),
            d.dtype
        );
        chooser.violate("swizzle", message);
        return None;
    }
    let halves = (1..=MOST / MATRIX).rev().map(|matrices| matrices * MATRIX);
    let halves = halves.filter(|columns| atom_n % (2 * columns) == 0);
    // Pairs of matrices leave by one instruction.
    let columns = halves.max_by_key(|columns| (columns % (2 * MATRIX) == 0, *columns));
    Some(Shape {
        columns: columns.unwrap_or(atom_n),
        count: if columns.is_some() { 2 } else { 1 },
        swizzle_bytes,
        contiguous: 0,
    })
}
