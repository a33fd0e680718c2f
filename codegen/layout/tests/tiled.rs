//! Tiled MMAs and copies against their definition, computed cell by cell.
//!
//! In: the catalogue of `ci/data/atoms.json` and a few hand-made grids. Out: every partition covers
//! every cell exactly as often as the definition says, for any stride type.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use serde_json::Value;
use tilewright_layout::*;

fn l(text: &str) -> Layout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn catalogue() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/data/atoms.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn mma_atom(name: &str) -> MmaAtom {
    let data = catalogue();
    let row = data["mma"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == name);
    read_mma(row.unwrap_or_else(|| panic!("no {name}")))
}

fn read_mma(row: &Value) -> MmaAtom {
    let at = |i: usize| row["mnk"][i].as_i64().unwrap();
    let tv = |key: &str| l(row[key].as_str().unwrap());
    MmaAtom {
        mnk: [at(0), at(1), at(2)],
        thr_id: tv("thr_id"),
        a_tv: tv("a_tv"),
        b_tv: tv("b_tv"),
        c_tv: tv("c_tv"),
    }
}

fn copy_atom(name: &str, elem_bits: i64) -> CopyAtom {
    let data = catalogue();
    let row = data["copy"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == name)
        .unwrap()
        .clone();
    let tv = |key: &str| l(row[key].as_str().unwrap());
    let (src, dst, reference) = (tv("src_tv_bits"), tv("dst_tv_bits"), tv("ref_tv_bits"));
    CopyAtom::from_bits(tv("thr_id"), &src, &dst, &reference, elem_bits).unwrap()
}

const KEEP: [Tiler; 3] = [Tiler::Keep, Tiler::Keep, Tiler::Keep];
const SM80: &str = "SM80_16x8x16_F32F16F16F32_TN";

/// How often each value occurs.
fn histogram<T: Ord>(values: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut out = BTreeMap::new();
    for v in values {
        *out.entry(v).or_default() += 1;
    }
    out
}

/// (thread, value) → flat coordinates, from the definition: `cell(v, value)` is the atom's own
/// layout, atoms lie side by side along the grid, and the rest repeats the whole grid.
fn definition(mma: &TiledMma, operand: Operand, shape: [i64; 2], thread: i64) -> Vec<(i64, i64)> {
    let atom = mma.atom();
    let [x, y] = operand.modes();
    let tv = [&atom.a_tv, &atom.b_tv, &atom.c_tv][operand as usize];
    let grid: Vec<i64> = mma
        .atom_layout_mnk()
        .modes()
        .map(|m| m.size().unwrap())
        .collect();
    let threads = mma.thr_layout_vmnk();
    let at = threads
        .offsets()
        .unwrap()
        .position(|t| t == thread)
        .unwrap() as i64;
    let v = at % atom.thr_id.size().unwrap();
    let mut block = at / atom.thr_id.size().unwrap();
    let mut place = [0; 3];
    for (p, g) in place.iter_mut().zip(&grid) {
        (*p, block) = (block % g, block / g);
    }
    let values = tv.mode(1).unwrap().size().unwrap();
    let steps = [atom.mnk[x] * grid[x], atom.mnk[y] * grid[y]];
    let mut out = Vec::new();
    for ry in 0..shape[1] / steps[1] {
        for rx in 0..shape[0] / steps[0] {
            for value in 0..values {
                let pair = IntTuple::flat([v, value]);
                let cell = tv.at_coord(&pair).unwrap();
                let (cx, cy) = (cell % atom.mnk[x], cell / atom.mnk[x]);
                out.push((
                    cx + atom.mnk[x] * place[x] + steps[0] * rx,
                    cy + atom.mnk[y] * place[y] + steps[1] * ry,
                ));
            }
        }
    }
    out
}

fn pairs(layout: &Layout<i64, Basis<i64>>) -> Vec<(i64, i64)> {
    layout
        .coords(2)
        .unwrap()
        .map(|c| c.unwrap())
        .map(|c| (c.leaves()[0], c.leaves()[1]))
        .collect()
}

/// The values of one thread of a thread-first partition.
fn share<D: Stride<i64>>(partition: &Layout<i64, D>, thread: i64) -> (Layout<i64, D>, D) {
    let mut slots = vec![Slot::At(thread)];
    slots.resize(partition.rank(), Slot::Keep);
    slice(&IntTuple::flat(slots), partition).unwrap()
}

fn thread_coords(partition: &Layout<i64, Basis<i64>>, thread: i64) -> Vec<(i64, i64)> {
    let (values, base) = share(partition, thread);
    let at = base.to_coord(2).unwrap();
    let base = (at.leaves()[0], at.leaves()[1]);
    pairs(&values)
        .iter()
        .map(|c| (c.0 + base.0, c.1 + base.1))
        .collect()
}

#[test]
fn partitions_follow_the_definition() {
    for (name, grid) in [
        (SM80, "(1,1,1):(0,0,0)"),
        (SM80, "(2,2,1):(1,2,0)"),
        (SM80, "(4,1,1):(1,0,0)"),
        (SM80, "(2,2,2):(4,1,2)"),
        ("SM70_8x8x4_F32F16F16F32_NT", "(2,2,1):(2,1,0)"),
        ("SM90_64x64x16_F32BF16BF16_RS", "(2,1,1):(1,0,0)"),
    ] {
        let mma = TiledMma::new(mma_atom(name), &l(grid), KEEP).unwrap();
        let tile = mma.tile_mnk().unwrap();
        for operand in [Operand::A, Operand::B, Operand::C] {
            let shape = operand.modes().map(|i| 2 * tile[i]);
            let identity = Layout::identity(IntTuple::flat(shape)).unwrap();
            let all = mma.partition(operand, &identity).unwrap();
            let dense = Layout::compact_right(IntTuple::flat(shape)).unwrap();
            let plain = mma.partition(operand, &dense).unwrap();
            assert_eq!(all.profile(), plain.profile());
            for thread in 0..mma.thread_count().unwrap() {
                let want = definition(&mma, operand, shape, thread);
                assert_eq!(
                    thread_coords(&all, thread),
                    want,
                    "{grid} {operand:?} {thread}"
                );
                let (values, base) = share(&plain, thread);
                let offsets: Vec<i64> = values.offsets().unwrap().map(|x| x + base).collect();
                let want: Vec<i64> = want.iter().map(|c| c.0 * shape[1] + c.1).collect();
                assert_eq!(offsets, want, "{grid} {operand:?} {thread}");
            }
        }
    }
}

#[test]
fn every_atom_of_the_catalogue_covers_its_tile() {
    let data = catalogue();
    let rows = data["mma"].as_array().unwrap();
    assert!(rows.len() > 400);
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let atom = read_mma(row);
        let single = TiledMma::new(atom.clone(), &l("(1,1,1):(0,0,0)"), KEEP)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        for (operand, tv, check) in [
            (Operand::A, &atom.a_tv, &row["check"]["a"]),
            (Operand::B, &atom.b_tv, &row["check"]["b"]),
            (Operand::C, &atom.c_tv, &row["check"]["c"]),
        ] {
            let [x, y] = operand.modes();
            let cells = atom.mnk[x] * atom.mnk[y];
            let shape = IntTuple::flat([atom.mnk[x], atom.mnk[y]]);
            let dense = Layout::compact(shape).unwrap();
            let shares = single
                .thrfrg(operand, &dense)
                .unwrap_or_else(|e| panic!("{name} {operand:?}: {e}"));
            let size = tv.size().unwrap();
            let times = match check.as_str().unwrap() {
                "bijection" => 1,
                other => other
                    .trim_start_matches("each_cell_")
                    .trim_end_matches('x')
                    .parse()
                    .unwrap_or_else(|_| panic!("{name}: {other}")),
            };
            assert_eq!(size, times * cells, "{name} {operand:?}");
            // Stride-0 repetition is counted, not enumerated: a wgmma operand has millions.
            let kept = filter_zeros(&shares);
            let repeated = shares.size().unwrap() / kept.size().unwrap();
            let seen = histogram(kept.offsets().unwrap());
            assert_eq!(seen.len() as i64, cells, "{name} {operand:?}");
            assert!(
                seen.values().all(|&n| n as i64 * repeated == times),
                "{name} {operand:?}"
            );
        }
    }
}

#[test]
fn a_permutation_gathers_the_values_of_a_thread() {
    // The tutorial case: Volta quad pairs, a 2x2 grid on a 32x32x4 tile.
    let atom = mma_atom("SM70_8x8x4_F32F16F16F32_NT");
    let grid = l("(2,2):(2,1)");
    let rows = |permutation: [Tiler; 3]| {
        let mma = TiledMma::new(atom.clone(), &grid, permutation).unwrap();
        assert_eq!(mma.tile_mnk().unwrap(), [32, 32, 4]);
        thread_coords(&mma.tv_a().unwrap(), 0)
            .iter()
            .map(|c| c.0)
            .collect::<Vec<_>>()
    };
    let tile = |n: i64| Tiler::Layout(Layout::single(n, 1).unwrap());
    assert_eq!(
        rows([tile(32), tile(32), tile(4)]),
        [0, 1, 2, 3, 16, 17, 18, 19]
    );
    let m = Tiler::Layout(l("(4,4,2):(1,8,4)"));
    assert_eq!(rows([m, tile(32), tile(4)]), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn symbolic_strides_partition_like_numbers() {
    let mma = TiledMma::new(mma_atom(SM80), &l("(2,2,1):(1,2,0)"), KEEP).unwrap();
    let tensor: Layout<Sym> = "(128,64):(lda,1)".parse().unwrap();
    let symbolic = mma.thrfrg_a(&tensor).unwrap();
    let numeric = mma.thrfrg_a(&l("(128,64):(1000,1)")).unwrap();
    let assigned = symbolic.map(|x| x.value(&|_| Some(1000))).unwrap();
    assert_eq!(assigned, numeric);
    assert_eq!(
        symbolic.mode(0).unwrap().to_string(),
        "((4,8),(2,1)):((2,lda),(16*lda,16))"
    );
}

#[test]
fn partitions_are_compositions_with_coordinates() {
    let mma = TiledMma::new(mma_atom(SM80), &l("(2,2,1):(1,2,0)"), KEEP).unwrap();
    for operand in [Operand::A, Operand::B, Operand::C] {
        let tile = mma.tile(operand).unwrap();
        let tv = mma.tv(operand).unwrap();
        let identity = Layout::identity(tile.clone()).unwrap();
        assert_eq!(composition_coords(&identity, &tv).unwrap(), tv);
        let tensor = Layout::compact_right(tile).unwrap();
        let shares = composition_coords(&tensor, &tv).unwrap();
        assert_eq!(shares, mma.partition(operand, &tensor).unwrap());
    }
}

#[test]
fn a_tile_that_does_not_divide_is_refused() {
    let mma = TiledMma::new(mma_atom(SM80), &l("(2,2,1):(1,2,0)"), KEEP).unwrap();
    let refused = mma.thrfrg_a(&l("(48,16):(16,1)")).unwrap_err().to_string();
    assert_eq!(
        refused,
        "mode 0 of operand A: 48 is not a multiple of 32: choose a divisor of 48"
    );
    let tensor: Layout<Sym> = "(m,k):(lda,1)".parse().unwrap();
    let refused = mma.thrfrg_a(&tensor).unwrap_err().to_string();
    assert_eq!(refused, "needs the fact m % 32 == 0, which is not known");
}

#[test]
fn tiled_copies_of_the_tutorials() {
    let copy = |thr: &str, val: &str, n: i64| {
        make_tiled_copy(CopyAtom::vector(n).unwrap(), &l(thr), &l(val)).unwrap()
    };
    let wide = copy("(4,8):(8,1)", "(1,8):(0,1)", 8);
    assert_eq!(wide.tile_shape().unwrap().leaves(), [4, 64]);
    assert_eq!(wide.thread_count().unwrap(), 32);
    let two = copy("(16,2):(2,1)", "(1,8):(0,1)", 8);
    assert_eq!(two.tile_shape().unwrap().leaves(), [16, 16]);
    let coords = two.coords_of(Side::Source).unwrap();
    for (thread, row, column) in [(0, 0, 0), (1, 0, 8), (2, 1, 0)] {
        let want: Vec<_> = (0..8).map(|i| (row, column + i)).collect();
        assert_eq!(thread_coords(&coords, thread), want);
    }
}

#[test]
fn copy_partitions_cover_exactly_once() {
    for (thr, val, atom, shape) in [
        ("(32,8):(8,1)", "(1,8):(0,1)", 8, [128, 128]),
        ("(16,8):(8,1)", "(4,4):(4,1)", 4, [128, 64]),
        ("(8,16):(1,8)", "(8,1):(1,0)", 8, [64, 64]),
        ("(16,16):(16,1)", "(1,1):(0,0)", 1, [32, 48]),
    ] {
        let copy = make_tiled_copy(CopyAtom::vector(atom).unwrap(), &l(thr), &l(val)).unwrap();
        let dense = Layout::compact_right(IntTuple::flat(shape)).unwrap();
        for parts in [
            copy.partition_s(&dense).unwrap(),
            copy.partition_d(&dense).unwrap(),
        ] {
            assert_eq!(
                parts.mode(0).unwrap().size().unwrap(),
                copy.thread_count().unwrap()
            );
            let seen = histogram(parts.offsets().unwrap());
            assert_eq!(seen.len() as i64, shape[0] * shape[1], "{thr}");
            assert!(seen.values().all(|&n| n == 1), "{thr}");
        }
    }
    let copy = make_tiled_copy(
        CopyAtom::vector(8).unwrap(),
        &l("(32,8):(8,1)"),
        &l("(1,8):(0,1)"),
    );
    assert!(copy.unwrap().partition_s(&l("(48,64):(64,1)")).is_err());
}

/// Checks that the fragment of the MMA, seen as the values of the copy, is what the copy's register
/// side holds, for every thread.
fn check_retile(mma: &TiledMma, operand: Operand, copy: &TiledCopy, registers: Side) {
    let tile = mma.tile_mnk().unwrap();
    let shape = operand.modes().map(|i| 2 * tile[i]);
    let identity = Layout::identity(IntTuple::flat(shape)).unwrap();
    let fragments = mma.partition(operand, &identity).unwrap();
    let fragment = Layout::from_modes(fragments.modes().skip(1)).unwrap();
    let retiled = copy.retile(&fragment).unwrap();
    let held = copy.partition(registers, &identity).unwrap();
    for thread in 0..mma.thread_count().unwrap() {
        let (_, base) = share(&fragments, thread);
        let base = base.to_coord(2).unwrap();
        let (x, y) = (base.leaves()[0], base.leaves()[1]);
        let got: Vec<_> = pairs(&retiled).iter().map(|c| (c.0 + x, c.1 + y)).collect();
        assert_eq!(got, thread_coords(&held, thread), "{operand:?} {thread}");
    }
}

#[test]
fn ldmatrix_hands_every_thread_the_fragment_of_the_mma() {
    let n = Tiler::Layout(Layout::single(32, 1).unwrap());
    let permutation = [Tiler::Keep, n, Tiler::Keep];
    let mma = TiledMma::new(mma_atom(SM80), &l("(2,2,1):(1,2,0)"), permutation).unwrap();
    let rows: fn(i64) -> (i64, i64) = |i| (0, i);
    let columns: fn(i64) -> (i64, i64) = |i| (i, 0);
    for (operand, name, read) in [
        (Operand::A, "SM75_U32x4_LDSM_N", rows),
        (Operand::A, "SM75_U32x2_LDSM_N", rows),
        (Operand::B, "SM75_U32x4_LDSM_N", rows),
        (Operand::B, "SM75_U32x2_LDSM_N", rows),
        (Operand::B, "SM75_U32x1_LDSM_N", rows),
        (Operand::A, "SM75_U16x8_LDSM_T", columns),
        (Operand::B, "SM75_U16x8_LDSM_T", columns),
        (Operand::B, "SM75_U16x4_LDSM_T", columns),
        (Operand::B, "SM75_U16x2_LDSM_T", columns),
    ] {
        let copy = make_tiled_copy_for(copy_atom(name, 16), &mma, operand).unwrap();
        check_retile(&mma, operand, &copy, Side::Destination);
        // ldmatrix reads eight elements side by side, along k, or along m or n when it transposes.
        let first: Vec<_> = thread_coords(&copy.coords_of(Side::Source).unwrap(), 0);
        assert_eq!(
            first[..8],
            (0..8).map(read).collect::<Vec<_>>(),
            "{name} {operand:?}"
        );
    }
}

#[test]
fn stmatrix_takes_the_accumulator_of_the_mma() {
    let wgmma = mma_atom("SM90_64x64x16_F32BF16BF16_SS");
    let wide = TiledMma::new(wgmma.clone(), &l("(2,1,1):(1,0,0)"), KEEP).unwrap();
    let copy = make_tiled_copy_c(copy_atom("SM90_U32x4_STSM_N", 16), &wide).unwrap();
    check_retile(&wide, Operand::C, &copy, Side::Source);
    for (atom, grid) in [
        (mma_atom(SM80), "(2,4,1):(1,2,0)"),
        (wgmma, "(2,1,1):(1,0,0)"),
    ] {
        let mma = TiledMma::new(atom, &l(grid), KEEP).unwrap();
        for name in ["SM90_U32x2_STSM_N", "SM90_U32x1_STSM_N"] {
            let copy = make_tiled_copy_c(copy_atom(name, 16), &mma).unwrap();
            check_retile(&mma, Operand::C, &copy, Side::Source);
        }
    }
}
