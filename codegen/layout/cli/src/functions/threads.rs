//! Atoms, tiled copies and tiled MMAs, what each thread holds of a tensor, and who holds a cell.

use tilewright_layout::{
    CopyAtom, Layout, MmaAtom, Operand, Side, TiledCopy, TiledMma, Tiler, composition,
    make_tiled_copy, make_tiled_copy_for,
};

use super::arguments::{Answer, Arguments, give, on_layout, on_part};
use super::{Function, functions};
use crate::value::{Tensor, Value, with_tensor};

functions! {
    /// an instruction by its facts; TV layouts give m+M*k, n+N*k, m+M*n
    "mma_atom(mnk: tuple, thr_id: layout, a_tv: layout, b_tv: layout, c_tv: layout) -> mma atom" =>
        mma_atom;
    /// the atom at the places of a layout over (m,n,k), permutations first
    "tiled_mma(atom: mma atom, atoms_mnk?: layout, permutation_mnk?: tiler) -> tiled mma" =>
        tiled_mma;
    /// the extents that one pass of all threads covers
    "tile_mnk(mma: tiled mma) -> tuple" =>
        |args| give(args.tiled_mma(0)?.tile_mnk().map(tilewright_layout::IntTuple::flat));
    /// (thread of the atom, atom along m, n, k) to the thread index
    "thr_layout_vmnk(mma: tiled mma) -> layout" =>
        |args| Ok(args.tiled_mma(0)?.thr_layout_vmnk().clone().into());
    /// (thread, values…) to coordinates (m,k) of the A tile
    "tv_a(mma: tiled mma) -> layout" => |args| give(args.tiled_mma(0)?.tv_a());
    /// (thread, values…) to coordinates (n,k) of the B tile
    "tv_b(mma: tiled mma) -> layout" => |args| give(args.tiled_mma(0)?.tv_b());
    /// (thread, values…) to coordinates (m,n) of the C tile
    "tv_c(mma: tiled mma) -> layout" => |args| give(args.tiled_mma(0)?.tv_c());
    /// (thread, V, RestM, RestK, …) of an (m,k) tensor; of one thread [layout, offset]
    "partition_a(mma: tiled mma, tensor: layout, thread?: int) -> layout" =>
        |args| partition_mma(args, Operand::A);
    /// (thread, V, RestN, RestK, …) of an (n,k) tensor; of one thread [layout, offset]
    "partition_b(mma: tiled mma, tensor: layout, thread?: int) -> layout" =>
        |args| partition_mma(args, Operand::B);
    /// (thread, V, RestM, RestN, …) of an (m,n) tensor; of one thread [layout, offset]
    "partition_c(mma: tiled mma, tensor: layout, thread?: int) -> layout" =>
        |args| partition_mma(args, Operand::C);
    /// the registers that hold a thread's share of an (m,k) tensor
    "fragment_a(mma: tiled mma, tensor: layout) -> layout" => |args| fragment(args, Operand::A);
    /// the registers that hold a thread's share of an (n,k) tensor
    "fragment_b(mma: tiled mma, tensor: layout) -> layout" => |args| fragment(args, Operand::B);
    /// the registers that hold a thread's share of an (m,n) tensor
    "fragment_c(mma: tiled mma, tensor: layout) -> layout" => |args| fragment(args, Operand::C);
    /// one thread moves so many consecutive elements
    "vector(elems: int) -> copy atom" => |args| give(CopyAtom::vector(args.int(0)?));
    /// a copy instruction by its facts, in elements
    "copy_atom(thr_id: layout, src_tv: layout, dst_tv: layout, ref_tv: layout) -> copy atom" =>
        |args| Ok(copy_atom(args)?.into());
    /// a copy instruction by its facts, in bits, as the catalogue has it
    "copy_bits(thr_id: layout, src_tv: layout, dst_tv: layout, ref_tv: layout) -> copy bits" =>
        |args| Ok(Value::CopyBits(copy_atom(args)?));
    /// a copy instruction of the catalogue for elements of so many bits
    "copy_atom_for(atom: copy bits, elem_bits: int) -> copy atom" => |args| {
        let (all, bits) = (args.copy_bits(0)?, args.int(1)?);
        give(CopyAtom::from_bits(all.thr_id, &all.src_tv, &all.dst_tv, &all.ref_tv, bits))
    };
    /// threads and what each holds, side by side
    "make_tiled_copy(atom: copy atom, threads: layout, values: layout) -> tiled copy" =>
        |args| give(make_tiled_copy(args.copy_atom(0)?, &args.layout(1)?, &args.layout(2)?));
    /// by its (thread, value) layout and its tile
    "tiled_copy(atom: copy atom, tv: layout, tile: tiler) -> tiled copy" =>
        |args| give(TiledCopy::new(args.copy_atom(0)?, args.layout(1)?, args.tiler(2)?));
    /// the copy that fills the A fragments of an MMA
    "make_tiled_copy_a(atom: copy atom, mma: tiled mma) -> tiled copy" =>
        |args| give(make_tiled_copy_for(args.copy_atom(0)?, &args.tiled_mma(1)?, Operand::A));
    /// the copy that fills the B fragments of an MMA
    "make_tiled_copy_b(atom: copy atom, mma: tiled mma) -> tiled copy" =>
        |args| give(make_tiled_copy_for(args.copy_atom(0)?, &args.tiled_mma(1)?, Operand::B));
    /// the copy that stores the accumulators of an MMA
    "make_tiled_copy_c(atom: copy atom, mma: tiled mma) -> tiled copy" =>
        |args| give(make_tiled_copy_for(args.copy_atom(0)?, &args.tiled_mma(1)?, Operand::C));
    /// (thread, values) to coordinates of the tile, as the source is read
    "tv_s(copy: tiled copy) -> layout" => |args| give(args.tiled_copy(0)?.coords_of(Side::Source));
    /// (thread, values) to coordinates of the tile, as the destination is written
    "tv_d(copy: tiled copy) -> layout" =>
        |args| give(args.tiled_copy(0)?.coords_of(Side::Destination));
    /// (thread, (atom values, more values), Rest, …) of the source; of one thread [layout, offset]
    "partition_s(copy: tiled copy, tensor: layout, thread?: int) -> layout" =>
        |args| partition_copy(args, Side::Source);
    /// the same of the destination
    "partition_d(copy: tiled copy, tensor: layout, thread?: int) -> layout" =>
        |args| partition_copy(args, Side::Destination);
    /// the fragment of one thread as the values of a copy
    "retile(copy: tiled copy, fragment: layout) -> layout" =>
        |args| Ok(with_tensor!(args.tensor(1)?, l => args.tiled_copy(0)?.retile(&l)?.into()));
    /// a (thread, value) layout over the cells of a tile, as coordinates
    "coords_of(tv: layout, tile: tuple) -> layout" => |args| {
        let tile = Layout::<i64, _>::identity(args.tuple(1)?)?;
        give(composition(&tile, &args.layout(0)?))
    };
    /// the values of one thread of a partition, and its offset
    "share(partition: layout, thread: int) -> [layout, offset]" => share;
    /// [thread, value] of whoever holds element (m,k) of A
    "holders_a(mma: tiled mma, shape: tuple, c: coordinate) -> list" => |args|
        give(args.tiled_mma(0)?.holders(Operand::A, &args.tuple(1)?, &args.tuple(2)?));
    /// [thread, value] of whoever holds element (n,k) of B
    "holders_b(mma: tiled mma, shape: tuple, c: coordinate) -> list" => |args|
        give(args.tiled_mma(0)?.holders(Operand::B, &args.tuple(1)?, &args.tuple(2)?));
    /// [thread, value] of whoever holds element (m,n) of C
    "holders_c(mma: tiled mma, shape: tuple, c: coordinate) -> list" => |args|
        give(args.tiled_mma(0)?.holders(Operand::C, &args.tuple(1)?, &args.tuple(2)?));
    /// [thread, value] of whoever reads an element of the source
    "holders_s(copy: tiled copy, shape: tuple, c: coordinate) -> list" => |args|
        give(args.tiled_copy(0)?.holders(Side::Source, &args.tuple(1)?, &args.tuple(2)?));
    /// [thread, value] of whoever writes an element of the destination
    "holders_d(copy: tiled copy, shape: tuple, c: coordinate) -> list" => |args|
        give(args.tiled_copy(0)?.holders(Side::Destination, &args.tuple(1)?, &args.tuple(2)?));
}

fn mma_atom(args: Arguments<'_>) -> Answer {
    let mnk = args.tuple(0)?;
    let [m, n, k] = mnk.leaves() else {
        return args.wrong(0, "three extents (m,n,k)");
    };
    let mnk = [*m, *n, *k];
    let (thr_id, a_tv) = (args.layout(1)?, args.layout(2)?);
    let (b_tv, c_tv) = (args.layout(3)?, args.layout(4)?);
    Ok(MmaAtom {
        mnk,
        thr_id,
        a_tv,
        b_tv,
        c_tv,
    }
    .into())
}

fn tiled_mma(args: Arguments<'_>) -> Answer {
    let atoms = match args.get(1) {
        None => Layout::flat(&[1, 1, 1], &[0, 0, 0])?,
        // A shape alone means its compact layout, as in CuTe.
        Some(Value::Tuple(shape)) => Layout::compact(shape.clone())?,
        Some(_) => args.layout(1)?,
    };
    let mut permutation = [Tiler::Keep, Tiler::Keep, Tiler::Keep];
    if args.get(2).is_some() {
        let given = match args.tiler(2)? {
            Tiler::Modes(given) if given.len() <= 3 => given,
            _ => return args.wrong(2, "a tiler for each of m, n and k, such as <32,_,16>"),
        };
        for (slot, tiler) in permutation.iter_mut().zip(given) {
            *slot = tiler;
        }
    }
    give(TiledMma::new(args.mma_atom(0)?, &atoms, permutation))
}

fn partition_mma(args: Arguments<'_>, operand: Operand) -> Answer {
    let mma = args.tiled_mma(0)?;
    if args.get(2).is_some() {
        let thread = mma.thread(args.int(2)?)?;
        return on_part!(args, 1, l, I => thread.partition(operand, l)?);
    }
    on_layout!(args, 1, l, I => mma.partition(operand, l)?)
}

fn partition_copy(args: Arguments<'_>, side: Side) -> Answer {
    let copy = args.tiled_copy(0)?;
    if args.get(2).is_some() {
        let thread = copy.thread(args.int(2)?)?;
        return on_part!(args, 1, l, I => thread.partition(side, l)?);
    }
    on_layout!(args, 1, l, I => copy.partition(side, l)?)
}

/// All threads hold as many registers as the first.
fn fragment(args: Arguments<'_>, operand: Operand) -> Answer {
    let mma = args.tiled_mma(0)?;
    let first = mma.thread(0)?;
    Ok(with_tensor!(args.inner(1)?, l => first.fragment(operand, &l)?.into()))
}

fn copy_atom(args: Arguments<'_>) -> super::arguments::Taken<CopyAtom> {
    Ok(CopyAtom {
        thr_id: args.layout(0)?,
        src_tv: args.layout(1)?,
        dst_tv: args.layout(2)?,
        ref_tv: args.layout(3)?,
    })
}

/// Mode 0 of a partition is the thread: its value is the offset, the other modes stay.
fn share(args: Arguments<'_>) -> Answer {
    use tilewright_layout::Int;
    let thread = args.int(1)?;
    if with_tensor!(args.inner(0)?, l => l.rank()) == 0 {
        return args.wrong(0, "a partition: (thread, values…)");
    }
    on_part!(args, 0, l, I => {
        let threads = Layout::from_modes(l.modes().take(1))?;
        (Layout::from_modes(l.modes().skip(1))?, threads.at(<I as Int>::constant(thread))?)
    })
}
