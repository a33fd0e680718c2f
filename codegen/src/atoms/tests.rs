//! Every record checks itself: layouts cover their tile, registers hold the fragments, and the
//! facts are those of CuTe's catalogue (`ci/data/atoms.json`).
#![allow(clippy::panic, clippy::unwrap_used)]

mod arithmetic;
mod reading;
mod sums;
pub(crate) mod syncs;

use std::collections::BTreeMap;

use serde_json::Value;
use tilewright_layout::Layout;

use super::catalogue;
use super::catalogue::Catalogue;
use super::model::{
    Atom, CopyFacts, Emit, IntrinsicArg, IntrinsicResult, Kind, MmaFacts, OperandKind, RegType,
    Space,
};
use crate::dtype::DType;

/// Values of a layout over its domain, first leaf fastest.
fn values(layout: &Layout<i64>) -> Vec<i64> {
    layout.leaves().fold(vec![0], |values, (&extent, &stride)| {
        (0..extent)
            .flat_map(|digit| values.iter().map(move |value| value + digit * stride))
            .collect()
    })
}

fn mode_size(layout: &Layout<i64>, mode: usize) -> i64 {
    layout.mode(mode).unwrap().size().unwrap()
}

/// How often each cell is hit; panics when the cells are not `0..cells`, all equally often.
fn cover(id: &str, layout: &Layout<i64>, cells: i64) -> i64 {
    let mut hits = BTreeMap::new();
    values(layout)
        .into_iter()
        .for_each(|cell| *hits.entry(cell).or_insert(0) += 1);
    let times = *hits.values().next().unwrap();
    assert!(
        hits.keys().copied().eq(0..cells),
        "{id}: {layout:?} does not fill 0..{cells}"
    );
    assert!(
        hits.values().all(|&n| n == times),
        "{id}: {layout:?} hits some cells more often"
    );
    times
}

fn registers(atom: &Atom, name: &str) -> (RegType, u32) {
    let operand = atom.operands.iter().find(|operand| operand.name == name);
    match operand.map(|operand| operand.kind) {
        Some(OperandKind::RegsIn { ty, count } | OperandKind::RegsOut { ty, count }) => (ty, count),
        _ => panic!("{}: no registers {name}", atom.id),
    }
}

fn register_bits(atom: &Atom, name: &str) -> i64 {
    let (ty, count) = registers(atom, name);
    i64::from(ty.bits() * count)
}

#[test]
fn mma_fragments_cover_their_tiles_once() {
    for atom in catalogue().unwrap().iter() {
        let Some(mma) = &atom.mma else { continue };
        let threads = mma.thr_id.size().unwrap();
        let [m, n, k] = mma.mnk;
        let tiles = [
            ("a", &mma.a_tv, m * k, 1),
            ("b", &mma.b_tv, n * k, 2),
            ("c", &mma.c_tv, m * n, 3),
        ];
        for (name, tv, cells, dtype) in tiles {
            assert_eq!(mode_size(tv, 0), threads, "{}: threads of {name}", atom.id);
            // The tensor cores read an operand in shared memory for all threads together.
            let in_smem = matches!((name, mma.smem), ("a", [true, _]) | ("b", [_, true]));
            let times = if in_smem { threads } else { 1 };
            assert_eq!(cover(&atom.id, tv, cells), times, "{}: {name}", atom.id);
            if in_smem {
                let low_word = atom.operands.iter().find(|operand| operand.name == name);
                assert_eq!(low_word.unwrap().kind, OperandKind::Int, "{}", atom.id);
                continue;
            }
            let ty = match mma.types[dtype] {
                DType::S32 => RegType::B32,
                _ => RegType::F32,
            };
            let in_place = OperandKind::RegsInOut {
                ty,
                count: (n / 2) as u32,
            };
            if name == "c" && atom.operands[0].kind == in_place {
                continue;
            }
            let bits = mode_size(tv, 1) * i64::from(mma.types[dtype].bits());
            assert_eq!(
                register_bits(atom, name),
                bits,
                "{}: registers of {name}",
                atom.id
            );
        }
        if mma.smem == [false; 2] {
            assert_eq!(registers(atom, "d"), registers(atom, "c"), "{}", atom.id);
        }
    }
}

#[test]
fn copies_move_every_bit() {
    for atom in catalogue().unwrap().iter() {
        let Some(copy) = &atom.copy else { continue };
        let id = &atom.id;
        let bits = values(if copy.ref_is_dst {
            &copy.dst_tv_bits
        } else {
            &copy.src_tv_bits
        })
        .len() as i64;
        for (name, space, tv) in [
            ("src", copy.from, &copy.src_tv_bits),
            ("dst", copy.to, &copy.dst_tv_bits),
        ] {
            assert_eq!(
                mode_size(tv, 0),
                copy.thr_id.size().unwrap(),
                "{id}: threads of {name}"
            );
            let per_thread = mode_size(tv, 1);
            if space == Space::Rmem {
                assert_eq!(cover(id, tv, bits), 1, "{id}: {name}");
                assert_eq!(
                    register_bits(atom, name),
                    per_thread,
                    "{id}: registers of {name}"
                );
            } else {
                // Lanes whose address an instruction does not read repeat those of the lanes before
                // them.
                cover(id, tv, bits);
                assert_eq!(per_thread, i64::from(copy.access_bytes) * 8, "{id}: {name}");
                // The barrier of a box's load is an address too, aligned to 8.
                let barrier = atom.operands.iter().find(|one| one.name == "barrier");
                let align = match barrier {
                    Some(barrier) if copy.bulk.is_none() && barrier.align_bytes.is_none() => 8,
                    _ => copy.access_bytes,
                };
                assert_eq!(atom.align_bytes, align, "{id}");
                let by_map = copy.tensor.is_some() && space == Space::Gmem;
                let remote = copy.bulk.is_some_and(|bulk| bulk.remote) && name == "dst";
                let (name, kind) = if by_map {
                    ("map", OperandKind::TensorMap)
                } else if remote {
                    let ty = RegType::B32;
                    (name, OperandKind::RegsIn { ty, count: 1 })
                } else {
                    (name, OperandKind::Address(space))
                };
                let mut declared = atom.operands.iter();
                let declared = declared.find(|operand| operand.name == name).unwrap();
                assert_eq!(declared.kind, kind, "{id}: {name}");
            }
        }
    }
}

#[test]
fn converts_fit_their_registers() {
    for atom in catalogue().unwrap().iter() {
        let Some(convert) = &atom.convert else {
            continue;
        };
        // One element of four bits has the register of two.
        let bits = |dtype: DType| i64::from((dtype.bits() * convert.values).max(8));
        assert_eq!(
            register_bits(atom, "src"),
            bits(convert.from),
            "{}",
            atom.id
        );
        assert_eq!(register_bits(atom, "dst"), bits(convert.to), "{}", atom.id);
    }
}

#[test]
fn intrinsics_take_every_input_once() {
    for atom in catalogue().unwrap().iter() {
        let Emit::Intrinsic { args, gives, .. } = &atom.emit else {
            continue;
        };
        for operand in &atom.operands {
            let uses = |arg: &&IntrinsicArg| match arg {
                IntrinsicArg::Operand(name) | IntrinsicArg::Register(name, _) => {
                    *name == operand.name
                }
                IntrinsicArg::Const(_) => false,
            };
            let defines = IntrinsicResult::Predicate(operand.name.clone());
            let given = gives.iter().filter(|one| **one == defines).count();
            let predicate = operand.kind == OperandKind::Predicate;
            assert_eq!(
                given,
                usize::from(predicate),
                "{}: {}",
                atom.id,
                operand.name
            );
            let used = args.iter().filter(uses).count();
            let wanted = match operand.kind {
                OperandKind::RegsOut { .. } | OperandKind::Predicate => 0..=0,
                OperandKind::RegsIn { count, .. } => 1..=count as usize,
                _ => 1..=1,
            };
            assert!(
                wanted.contains(&used),
                "{}: {} is passed {used} times",
                atom.id,
                operand.name
            );
        }
    }
}

/// CuTe's entry of that name in one of its lists.
fn cute<'a>(data: &'a Value, list: &str, name: &str) -> &'a Value {
    let found = data[list]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("CuTe has no {name}"))
}

fn same(id: &str, ours: &Layout<i64>, theirs: &Value) {
    let theirs: Layout<i64> = theirs.as_str().unwrap().parse().unwrap();
    assert_eq!(
        values(ours),
        values(&theirs),
        "{id}: {ours:?} and CuTe's {theirs:?}"
    );
}

fn agree_on_mma(atom: &Atom, mma: &MmaFacts, theirs: &Value) {
    let id = &atom.id;
    assert_eq!(serde_json::json!(mma.mnk), theirs["mnk"], "{id}");
    for (at, operand) in ["d", "a", "b", "c"].into_iter().enumerate() {
        assert_eq!(
            mma.types[at].text(),
            theirs["types"][operand],
            "{id}: type of {operand}"
        );
        let reads = match operand {
            "a" => Some(mma.smem[0]),
            "b" => Some(mma.smem[1]),
            _ => None,
        };
        let in_smem = reads == Some(true);
        if let (Some(_), true) = (reads, mma.smem[1]) {
            let source = if in_smem { "smem" } else { "reg" };
            assert_eq!(theirs[format!("{operand}_source")], source, "{id}");
        }
        // Sums of slots are in place.
        if in_smem || reads.is_none() && mma.smem[1] {
            continue;
        }
        let (ty, count) = registers(atom, operand);
        let regs = &theirs["regs"][operand];
        assert_eq!(regs["n"], count, "{id}: registers of {operand}");
        assert_eq!(
            regs["type"],
            format!("{ty:?}").to_lowercase(),
            "{id}: {operand}"
        );
    }
    same(id, &mma.thr_id, &theirs["thr_id"]);
    same(id, &mma.a_tv, &theirs["a_tv"]);
    same(id, &mma.b_tv, &theirs["b_tv"]);
    same(id, &mma.c_tv, &theirs["c_tv"]);
}

fn agree_on_copy(id: &str, copy: &CopyFacts, theirs: &Value) {
    // CuTe's box copies have layouts over as many bits as a box holds.
    if copy.tensor.is_some() || copy.bulk.is_some() {
        assert_eq!(theirs["kind"], "copy", "{id}");
        return;
    }
    let reference = if copy.ref_is_dst {
        &copy.dst_tv_bits
    } else {
        &copy.src_tv_bits
    };
    same(id, &copy.thr_id, &theirs["thr_id"]);
    same(id, &copy.src_tv_bits, &theirs["src_tv_bits"]);
    same(id, &copy.dst_tv_bits, &theirs["dst_tv_bits"]);
    same(id, reference, &theirs["ref_tv_bits"]);
}

#[test]
fn records_agree_with_cute() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/data/atoms.json");
    let data: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut compared = 0;
    for atom in catalogue().unwrap().iter() {
        let Some(name) = &atom.cute else { continue };
        let theirs = match (&atom.mma, &atom.copy) {
            (Some(mma), _) => {
                let theirs = cute(&data, "mma", name);
                agree_on_mma(atom, mma, theirs);
                theirs
            }
            (_, Some(copy)) => {
                let theirs = cute(&data, "copy", name);
                agree_on_copy(&atom.id, copy, theirs);
                theirs
            }
            _ => panic!("{} names CuTe's {name} without layouts", atom.id),
        };
        let arch = theirs["arch"].as_str().unwrap();
        assert!(
            arch == "any" || arch == atom.needs() || arch == format!("sm_{}", atom.min_sm),
            "{}: {arch}",
            atom.id
        );
        compared += 1;
    }
    assert!(
        compared >= 30,
        "only {compared} records name their CuTe entry"
    );
}
