//! Bulk copies at work on the emulator: boxes of every rank there and back, with every way to
//! combine; bytes in a row through a cluster. Each under early and late copies, strictly.

mod kernel;

use tilewright_emulator::{TensorMap, TensorType};

use super::*;
use kernel::{
    BARRIERS, arm, barrier, begin, by_one, call, meet, outcome, sent, small, there, wait,
};

/// Extents of the tensors, innermost first, and of their boxes.
const DIMS: [u64; 5] = [12, 3, 3, 2, 3];
const BOX: [u16; 5] = [8, 2, 2, 2, 2];
/// Where the box starts: it hangs over the end of some modes.
const COORD: [i64; 5] = [4, 1, 2, 0, 2];
/// Operations on unsigned words, as the instructions name them.
const OPS: [&str; 8] = ["add", "min", "max", "inc", "dec", "and", "or", "xor"];
/// Bytes of the rows that bulk copies move.
const ROW_BYTES: i64 = 64;

/// What is there afterwards (PTX ISA, red).
fn combined(op: &str, there: u32, new: u32) -> u32 {
    match op {
        "add" => there.wrapping_add(new),
        "min" => there.min(new),
        "max" => there.max(new),
        "inc" if there >= new => 0,
        "inc" => there + 1,
        "dec" if there == 0 || there > new => new,
        "dec" => there - 1,
        "and" => there & new,
        "or" => there | new,
        "xor" => there ^ new,
        _ => new,
    }
}

/// A box of one tensor into shared memory, from there into another.
fn box_program(rank: usize, load: &str, store: &str) -> Program {
    let mut b = small("boxes");
    let maps = ["s", "d"].map(|name| b.param(name, ParamType::TensorMap));
    let coord = COORD[..rank].iter().map(|at| int(*at)).collect();
    let coord = ("coord", Arg::Ints(coord));
    let bytes: i64 = BOX[..rank]
        .iter()
        .map(|extent| i64::from(*extent))
        .product();
    let [source, target] = maps.map(|map| ("map", Arg::TensorMap(map)));
    begin(&mut b, 1);
    let mut steps = vec![
        call("sm90_tma_prefetch", &[source.clone(), coord.clone()]),
        arm(0, 4 * bytes),
        call(
            load,
            &[
                ("dst", smem(int(0), 0)),
                source,
                coord.clone(),
                ("barrier", barrier(0)),
                ("ctas", Arg::Int(int(1))),
            ],
        ),
        wait(0),
        call(store, &[target, coord, ("src", smem(int(0), 0))]),
    ];
    steps.extend(sent());
    by_one(&mut b, steps);
    b.0
}

fn map_of(rank: usize, base: u64) -> TensorMap {
    let (dims, boxed) = (&DIMS[..rank], &BOX[..rank]);
    let bytes = |modes: usize| 4 * dims[..modes].iter().product::<u64>();
    let strides: Vec<u64> = (1..rank).map(bytes).collect();
    TensorMap::tiled(TensorType::Uint32, base, dims, &strides, boxed)
}

/// Whether the element at that place of the tensor, innermost mode fastest, is in the box.
fn in_box(rank: usize, mut place: u64) -> bool {
    (0..rank).all(|mode| {
        let at = (place % DIMS[mode]) as i64;
        place /= DIMS[mode];
        (COORD[mode]..COORD[mode] + i64::from(BOX[mode])).contains(&at)
    })
}

/// Numbers below 61 without an order, some of them equal in two tensors.
fn some_words(count: u64, step: u64) -> Vec<u32> {
    let word = |at: u64| ((at + step) * 2_654_435_761 % 4_294_967_291 % 61) as u32;
    (0..count).map(word).collect()
}

#[test]
fn boxes_of_every_rank_go_there_and_back() {
    for rank in 1..=5 {
        let count = DIMS[..rank].iter().product();
        let (source, old) = (some_words(count, 7), some_words(count, 5));
        let suffix = if rank == 2 {
            String::new()
        } else {
            format!("_{rank}d")
        };
        let mut ways = vec![
            ("sm90_tma_load".to_owned(), "sm90_tma_store".to_owned(), ""),
            (
                "sm90_tma_load_multicast".to_owned(),
                "sm90_tma_store".to_owned(),
                "",
            ),
        ];
        for (load, store, _) in &mut ways {
            load.push_str(&suffix);
            store.push_str(&suffix);
        }
        let load = format!("sm90_tma_load{suffix}");
        let reduce = |op| (load.clone(), format!("sm90_tma_reduce_{op}_{rank}d"), op);
        ways.extend(OPS.map(reduce));
        for (load, store, op) in ways {
            let program = box_program(rank, &load, &store);
            let map = |base| Some(map_of(rank, base));
            let found = outcome(&program, 1, &[&source, &old], map);
            let wanted: Vec<u32> = (0..count)
                .map(|place| {
                    let (new, old) = (source[place as usize], old[place as usize]);
                    if in_box(rank, place) {
                        combined(op, old, new)
                    } else {
                        old
                    }
                })
                .collect();
            assert_ne!(wanted, old, "{store}");
            assert_eq!(found, [source.clone(), wanted], "{load}, {store}");
        }
    }
}

/// The load of the CTA's row, which the first barrier counts.
fn load_row(source: ParamId, imm: i64) -> Stmt {
    let mine = wide(mul(Expr::Special(Special::CtaidX), int(ROW_BYTES)));
    call(
        "sm90_bulk_load",
        &[
            ("dst", smem(int(0), imm)),
            ("src", gmem(source, mine, 0)),
            ("bytes", Arg::Int(int(ROW_BYTES))),
            ("barrier", barrier(0)),
        ],
    )
}

/// Each CTA of two loads a row, sends it to the other one, and stores what it got.
fn row_program(copy: &str, store: &str) -> Program {
    let mut b = small("rows");
    let s = b.source("s");
    let old = b.source("old");
    let d = b.output("d");
    let row = b.file("row", RegType::B32, 1);
    let full = b.file("full", RegType::B32, 1);
    let cta = || Expr::Special(Special::CtaidX);
    let mine = || wide(mul(cta(), int(ROW_BYTES)));
    let bytes = ("bytes", Arg::Int(int(ROW_BYTES)));
    begin(&mut b, 2);
    // The row that is combined with must be there before any arrives.
    let prefetch = call(
        "sm90_bulk_prefetch",
        &[("src", gmem(s, mine(), 0)), bytes.clone()],
    );
    let steps = vec![
        prefetch,
        arm(0, 2 * ROW_BYTES),
        load_row(s, 0),
        load_row(old, 128),
        wait(0),
    ];
    by_one(&mut b, steps);
    meet(&mut b);
    let other = || Arg::Int(binary(BinOp::Sub, int(1), cta()));
    let mapa = |register: &[Reg], imm| {
        let operands = [
            ("there", regs(register)),
            ("here", there(imm)),
            ("cta", other()),
        ];
        call("sm90_mapa", &operands)
    };
    let mut steps = vec![
        arm(1, ROW_BYTES),
        mapa(&row, 128),
        mapa(&full, BARRIERS + 8),
        call(
            copy,
            &[
                ("dst", regs(&row)),
                ("src", smem(int(0), 0)),
                bytes.clone(),
                ("barrier", regs(&full)),
            ],
        ),
        wait(1),
        call(
            store,
            &[
                ("dst", gmem(d, mine(), 0)),
                ("src", smem(int(0), 128)),
                bytes,
            ],
        ),
    ];
    steps.extend(sent());
    by_one(&mut b, steps);
    meet(&mut b);
    b.0
}

/// The type that a bulk operation on unsigned words has in its name.
fn word_type(op: &str) -> &'static str {
    if matches!(op, "and" | "or" | "xor") {
        "b32"
    } else {
        "u32"
    }
}

#[test]
fn rows_go_through_a_cluster() {
    let words = 2 * ROW_BYTES as u64 / 4;
    let (source, old, out) = (
        some_words(words, 7),
        some_words(words, 5),
        some_words(words, 3),
    );
    let mut ways = vec![(
        "sm90_bulk_copy_cluster".to_owned(),
        "",
        "sm90_bulk_store".to_owned(),
        "",
    )];
    for op in OPS {
        let ty = word_type(op);
        let there = format!("sm90_bulk_reduce_cluster_{op}_{ty}");
        ways.push((there, op, "sm90_bulk_store".to_owned(), ""));
        let store = format!("sm90_bulk_reduce_{op}_{ty}");
        ways.push(("sm90_bulk_copy_cluster".to_owned(), "", store, op));
    }
    for (copy, by, store, to) in ways {
        let program = row_program(&copy, &store);
        let found = outcome(&program, 2, &[&source, &old, &out], |_| None);
        let half = source.len() / 2;
        let arrived = (0..source.len()).map(|at| source[(at + half) % source.len()]);
        let wanted: Vec<u32> = arrived
            .enumerate()
            .map(|(at, new)| combined(to, out[at], combined(by, old[at], new)))
            .collect();
        assert_eq!(
            found,
            [source.clone(), old.clone(), wanted],
            "{copy}, {store}"
        );
    }
}

#[test]
fn a_row_arrives_in_every_cta() {
    let mut b = small("multicast");
    let (s, d) = (b.source("s"), b.output("d"));
    let bytes = ("bytes", Arg::Int(int(ROW_BYTES)));
    let cta = || Expr::Special(Special::CtaidX);
    begin(&mut b, 1);
    let source = ("src", gmem(s, wide(int(0)), 0));
    let load = [
        ("dst", smem(int(0), 0)),
        source,
        bytes.clone(),
        ("barrier", barrier(0)),
        ("ctas", Arg::Int(int(3))),
    ];
    let target = ("dst", gmem(d, wide(mul(cta(), int(ROW_BYTES))), 0));
    let mut steps = vec![
        arm(0, ROW_BYTES),
        Stmt::If {
            cond: less(cta(), int(1)),
            then: vec![call("sm90_bulk_load_multicast", &load)],
            otherwise: vec![],
        },
        wait(0),
        call(
            "sm90_bulk_store",
            &[target, ("src", smem(int(0), 0)), bytes],
        ),
    ];
    steps.extend(sent());
    by_one(&mut b, steps);
    meet(&mut b);
    let source = some_words(ROW_BYTES as u64 / 4, 7);
    let out = vec![0; 2 * source.len()];
    let found = outcome(&b.0, 2, &[&source, &out], |_| None);
    assert_eq!(found[1], [source.clone(), source].concat());
}

#[test]
fn one_thread_is_elected() {
    let mut b = small("elect");
    let d = b.output("d");
    let elected = b.var("elected", IntType::I1, false);
    b.push(call("sm90_elect", &[("elected", Arg::Predicate(elected))]));
    let zero = b.file("zero", RegType::B32, 1);
    b.push(Stmt::Zero(zero.clone()));
    let place = gmem(d, wide(mul(tid(), int(4))), 0);
    b.push(Stmt::If {
        cond: Expr::Var(elected),
        then: vec![run("sm50_st_global_4", vec![place, regs(&zero)])],
        otherwise: vec![],
    });
    let found = outcome(&b.0, 1, &[&[7; 32]], |_| None);
    let mut words = found[0].clone();
    words.sort_unstable();
    let mut wanted = [7; 32];
    wanted[0] = 0;
    assert_eq!(words, wanted);
}
