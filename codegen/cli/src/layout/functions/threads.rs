//! Atoms, tiled copies and tiled MMAs, and what each thread holds of a tensor.

use tilewright_layout::{
    CopyAtom, Layout, MmaAtom, Operand, Result, Side, TiledCopy, TiledMma, Tiler, composition,
    make_tiled_copy, make_tiled_copy_for,
};

use super::Function;
use super::arguments::{Answer, Arguments};
use crate::layout::value::{Tensor, Value, with_tensor};

/// The functions of this chapter.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "mma_atom",
        parameters: &[
            "mnk: tuple",
            "thr_id: layout",
            "a_tv: layout",
            "b_tv: layout",
            "c_tv: layout",
        ],
        gives: "mma atom",
        about: "an instruction by its facts; TV layouts give m+M*k, n+N*k, m+M*n",
        run: mma_atom,
    },
    Function {
        name: "tiled_mma",
        parameters: &[
            "atom: mma atom",
            "atoms_mnk?: layout",
            "permutation_mnk?: tiler",
        ],
        gives: "tiled mma",
        about: "the atom at the places of a layout over (m,n,k), permutations first",
        run: tiled_mma,
    },
    Function {
        name: "tile_mnk",
        parameters: &["mma: tiled mma"],
        gives: "tuple",
        about: "the extents that one pass of all threads covers",
        run: |args| {
            let tile = args.tiled_mma(0)?.tile_mnk()?;
            Ok(Value::Tuple(tilewright_layout::IntTuple::flat(tile)))
        },
    },
    Function {
        name: "thr_layout_vmnk",
        parameters: &["mma: tiled mma"],
        gives: "layout",
        about: "(thread of the atom, atom along m, n, k) to the thread index",
        run: |args| Ok(args.tiled_mma(0)?.thr_layout_vmnk().clone().into()),
    },
    Function {
        name: "tv_a",
        parameters: &["mma: tiled mma"],
        gives: "layout",
        about: "(thread, values…) to coordinates (m,k) of the A tile",
        run: |args| Ok(args.tiled_mma(0)?.tv_a()?.into()),
    },
    Function {
        name: "tv_b",
        parameters: &["mma: tiled mma"],
        gives: "layout",
        about: "(thread, values…) to coordinates (n,k) of the B tile",
        run: |args| Ok(args.tiled_mma(0)?.tv_b()?.into()),
    },
    Function {
        name: "tv_c",
        parameters: &["mma: tiled mma"],
        gives: "layout",
        about: "(thread, values…) to coordinates (m,n) of the C tile",
        run: |args| Ok(args.tiled_mma(0)?.tv_c()?.into()),
    },
    Function {
        name: "partition_a",
        parameters: &["mma: tiled mma", "tensor: layout"],
        gives: "layout",
        about: "(thread, V, RestM, RestK, …) of an (m,k) tensor",
        run: |args| partition_mma(args, Operand::A),
    },
    Function {
        name: "partition_b",
        parameters: &["mma: tiled mma", "tensor: layout"],
        gives: "layout",
        about: "(thread, V, RestN, RestK, …) of an (n,k) tensor",
        run: |args| partition_mma(args, Operand::B),
    },
    Function {
        name: "partition_c",
        parameters: &["mma: tiled mma", "tensor: layout"],
        gives: "layout",
        about: "(thread, V, RestM, RestN, …) of an (m,n) tensor",
        run: |args| partition_mma(args, Operand::C),
    },
    Function {
        name: "vector",
        parameters: &["elems: int"],
        gives: "copy atom",
        about: "one thread moves so many consecutive elements",
        run: |args| Ok(Value::CopyAtom(CopyAtom::vector(args.int(0)?)?)),
    },
    Function {
        name: "copy_atom",
        parameters: &[
            "thr_id: layout",
            "src_tv: layout",
            "dst_tv: layout",
            "ref_tv: layout",
        ],
        gives: "copy atom",
        about: "a copy instruction by its facts, in elements",
        run: copy_atom,
    },
    Function {
        name: "make_tiled_copy",
        parameters: &["atom: copy atom", "threads: layout", "values: layout"],
        gives: "tiled copy",
        about: "threads and what each holds, side by side",
        run: |args| {
            let (threads, values) = (args.layout(1)?, args.layout(2)?);
            tiled(make_tiled_copy(args.copy_atom(0)?, &threads, &values))
        },
    },
    Function {
        name: "tiled_copy",
        parameters: &["atom: copy atom", "tv: layout", "tile: tiler"],
        gives: "tiled copy",
        about: "by its (thread, value) layout and its tile",
        run: |args| {
            tiled(TiledCopy::new(
                args.copy_atom(0)?,
                args.layout(1)?,
                args.tiler(2)?,
            ))
        },
    },
    Function {
        name: "make_tiled_copy_a",
        parameters: &["atom: copy atom", "mma: tiled mma"],
        gives: "tiled copy",
        about: "the copy that fills the A fragments of an MMA",
        run: |args| copy_for(args, Operand::A),
    },
    Function {
        name: "make_tiled_copy_b",
        parameters: &["atom: copy atom", "mma: tiled mma"],
        gives: "tiled copy",
        about: "the copy that fills the B fragments of an MMA",
        run: |args| copy_for(args, Operand::B),
    },
    Function {
        name: "make_tiled_copy_c",
        parameters: &["atom: copy atom", "mma: tiled mma"],
        gives: "tiled copy",
        about: "the copy that stores the accumulators of an MMA",
        run: |args| copy_for(args, Operand::C),
    },
    Function {
        name: "tv_s",
        parameters: &["copy: tiled copy"],
        gives: "layout",
        about: "(thread, values) to coordinates of the tile, as the source is read",
        run: |args| Ok(args.tiled_copy(0)?.coords_of(Side::Source)?.into()),
    },
    Function {
        name: "tv_d",
        parameters: &["copy: tiled copy"],
        gives: "layout",
        about: "(thread, values) to coordinates of the tile, as the destination is written",
        run: |args| Ok(args.tiled_copy(0)?.coords_of(Side::Destination)?.into()),
    },
    Function {
        name: "partition_s",
        parameters: &["copy: tiled copy", "tensor: layout"],
        gives: "layout",
        about: "(thread, (atom values, more values), Rest, …) of the source",
        run: |args| partition_copy(args, Side::Source),
    },
    Function {
        name: "partition_d",
        parameters: &["copy: tiled copy", "tensor: layout"],
        gives: "layout",
        about: "(thread, (atom values, more values), Rest, …) of the destination",
        run: |args| partition_copy(args, Side::Destination),
    },
    Function {
        name: "retile",
        parameters: &["copy: tiled copy", "fragment: layout"],
        gives: "layout",
        about: "the fragment of one thread as the values of a copy",
        run: |args| Ok(with_tensor!(args.tensor(1)?, l => args.tiled_copy(0)?.retile(&l)?.into())),
    },
    Function {
        name: "coords_of",
        parameters: &["tv: layout", "tile: tuple"],
        gives: "layout",
        about: "a (thread, value) layout over the cells of a tile, as coordinates",
        run: |args| {
            let tile = Layout::<i64, _>::identity(args.tuple(1)?)?;
            Ok(composition(&tile, &args.layout(0)?)?.into())
        },
    },
];

fn mma_atom(args: Arguments<'_>) -> Answer {
    let mnk = args.tuple(0)?;
    let [m, n, k] = mnk.leaves() else {
        return args.wrong(0, "three extents (m,n,k)");
    };
    Ok(Value::MmaAtom(MmaAtom {
        mnk: [*m, *n, *k],
        thr_id: args.layout(1)?,
        a_tv: args.layout(2)?,
        b_tv: args.layout(3)?,
        c_tv: args.layout(4)?,
    }))
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
        let Tiler::Modes(given) = args.tiler(2)? else {
            return args.wrong(2, "a tiler for each of m, n and k, such as <32,_,16>");
        };
        if given.len() > 3 {
            return args.wrong(2, "a tiler for each of m, n and k, such as <32,_,16>");
        }
        for (slot, tiler) in permutation.iter_mut().zip(given) {
            *slot = tiler;
        }
    }
    let mma = TiledMma::new(args.mma_atom(0)?, &atoms, permutation)?;
    Ok(Value::TiledMma(Box::new(mma)))
}

fn partition_mma(args: Arguments<'_>, operand: Operand) -> Answer {
    let mma = args.tiled_mma(0)?;
    Ok(with_tensor!(args.tensor(1)?, l => mma.partition(operand, &l)?.into()))
}

fn partition_copy(args: Arguments<'_>, side: Side) -> Answer {
    let copy = args.tiled_copy(0)?;
    Ok(with_tensor!(args.tensor(1)?, l => copy.partition(side, &l)?.into()))
}

fn copy_atom(args: Arguments<'_>) -> Answer {
    Ok(Value::CopyAtom(CopyAtom {
        thr_id: args.layout(0)?,
        src_tv: args.layout(1)?,
        dst_tv: args.layout(2)?,
        ref_tv: args.layout(3)?,
    }))
}

fn copy_for(args: Arguments<'_>, operand: Operand) -> Answer {
    let mma = args.tiled_mma(1)?;
    tiled(make_tiled_copy_for(args.copy_atom(0)?, &mma, operand))
}

fn tiled(copy: Result<TiledCopy>) -> Answer {
    Ok(Value::TiledCopy(Box::new(copy?)))
}
