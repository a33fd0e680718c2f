//! Who has which elements, told of shipped kernels of every form: each element of a tile is told
//! once, or as often as the place says, and all levels say the same.

use std::path::Path;

use tilewright_codegen::explain::levels::{Level, Levels, Station, levels};
use tilewright_codegen::explain::ownership::{Cut, Held};
use tilewright_codegen::plan::data::model::Plan;
use tilewright_codegen::plan::data::values::Does;
use tilewright_codegen::{plan, spec};

/// Kernels of every form and way.
const SHIPPED: [&str; 24] = [
    "amax/sm90_bf16_rows",
    "bias_grad/simt_f32",
    "bias_relu_residual/sm90_bf16",
    "cast/bf16_e4m3",
    "copy/cp_async_swizzled",
    "dequantize/s4_bf16_blocks",
    "gather/bf16_rows",
    "gemm/bf16_tn",
    "gemm/simt_bf16",
    "gemm/sm90_bf16_nt",
    "gemm/sm90_bf16_packed",
    "gemm/sm90_bf16_tn",
    "gemm/sm90_e4m3_tn",
    "head_norm/bf16_tn",
    "layernorm/bf16_longer",
    "permute/bf16_ecba",
    "qgemm/sm90_bf16_e4m3_swiglu",
    "quantize/bf16_mxfp4",
    "reduce/columns_f32",
    "rmsnorm/bf16_wide",
    "scatter/f32_rows",
    "softmax/f32_widest",
    "swiglu/bf16_tn",
    "transpose/e4m3",
];

fn planned(name: &str) -> Plan {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs");
    let text = std::fs::read_to_string(root.join(format!("{name}.yaml"))).unwrap();
    let file = spec::parse(name, &text).unwrap();
    plan::plan(&file.points[0]).unwrap()
}

fn is<T>(level: &Level<T>) -> &T {
    match level {
        Level::Is(level) => level,
        Level::None(why) => unreachable!("{why}"),
    }
}

fn each_place(mut check: impl FnMut(&str, &Plan, &Levels, &Station)) {
    for name in SHIPPED {
        let plan = planned(name);
        let levels = levels(&plan, 0).unwrap();
        assert!(!levels.stations.is_empty(), "{name}");
        for station in &levels.stations {
            let place = format!("{name}, {}: {}", station.operand, station.does);
            check(&place, &plan, &levels, station);
        }
    }
}

/// How often each element of a tile is one of a thread's, row by row.
fn counts(held: &Held) -> Vec<usize> {
    let [rows, columns] = held.extents();
    let mut counts = vec![0; (rows * columns) as usize];
    for thread in 0..held.threads() {
        for [row, column] in held.elements(thread) {
            assert!((0..rows).contains(&row) && (0..columns).contains(&column));
            counts[(row * columns + column) as usize] += 1;
        }
    }
    counts
}

#[test]
fn each_element_of_a_tile_is_told_as_often_as_the_place_says() {
    each_place(|place, _, _, station| {
        let Some(held) = &station.held else {
            return;
        };
        assert_eq!(held.extents(), station.extents, "{place}");
        let counts = counts(held);
        let odd = counts.iter().find(|count| **count != station.copies);
        assert_eq!(odd, None, "{place}: {} copies", station.copies);
        // What is no fragment, no fold and has all of its modes is there once.
        let whole = station.modes.iter().all(Option::is_some);
        let moves = station.does.contains("global memory") && !station.does.contains("boxes");
        if whole && moves {
            assert_eq!(station.copies, 1, "{place}");
        }
    });
}

#[test]
fn boxes_cover_each_element_of_a_tile_once() {
    let mut boxes = 0;
    each_place(|place, _, _, station| {
        if station.held.is_some() {
            return;
        }
        let cut = is(&station.warps);
        assert_eq!(cut.of, "box");
        let [rows, columns] = [cut.rows.len() as i64, cut.columns.len() as i64];
        let covered = [rows * cut.block[0], columns * cut.block[1]];
        assert_eq!(covered, station.extents, "{place}");
        assert!(cut.owners.iter().all(|owners| owners.len() == 1), "{place}");
        boxes += 1;
    });
    assert!(boxes > 8, "{boxes}");
}

/// The numbers that the threads of an element go by, each once.
fn owners(held: &Held, number: impl Fn(u32) -> Option<u32>) -> Vec<Vec<u32>> {
    let [rows, columns] = held.extents();
    let mut owners = vec![Vec::new(); (rows * columns) as usize];
    for thread in 0..held.threads() {
        let Some(number) = number(thread) else {
            continue;
        };
        for [row, column] in held.elements(thread) {
            let owners: &mut Vec<u32> = &mut owners[(row * columns + column) as usize];
            if !owners.contains(&number) {
                owners.push(number);
            }
        }
    }
    owners
}

fn agree(place: &str, cut: &Cut, extents: [i64; 2], owners: &[Vec<u32>]) {
    for (at, owners) in owners.iter().enumerate() {
        let element = [at as i64 / extents[1], at as i64 % extents[1]];
        assert_eq!(
            cut.owners_of(element),
            owners,
            "{place}: {} of {element:?}",
            cut.of
        );
    }
}

#[test]
fn warps_and_lanes_are_those_of_the_registers() {
    each_place(|place, _, _, station| {
        let Some(held) = &station.held else {
            return;
        };
        let warps = owners(held, |thread| Some(thread / 32));
        agree(place, is(&station.warps), held.extents(), &warps);
        let last = (held.threads() - 1) / 32;
        for warp in [0, last] {
            let lanes = owners(held, |thread| (thread / 32 == warp).then_some(thread % 32));
            agree(place, &held.lanes(warp), held.extents(), &lanes);
        }
    });
}

/// The thread that is told is the one that was asked for, and what comes again does.
#[test]
fn every_thread_can_be_asked_for() {
    let plan = planned("gemm/bf16_tn");
    let last = levels(&plan, plan.threads - 1).unwrap();
    for station in &last.stations {
        let held = station.held.as_ref().unwrap();
        let registers = is(&station.registers);
        assert_eq!(registers.elements, held.elements(plan.threads - 1));
        assert!(!registers.elements.contains(&[0, 0]));
    }
    each_place(|place, _, _, station| {
        let Level::Is(cut) = &station.lanes else {
            return;
        };
        for row in 0..cut.rows.len() {
            for column in 0..cut.columns.len() {
                let first = cut.at(row % cut.period[0], column % cut.period[1]);
                assert_eq!(cut.at(row, column), first, "{place}");
            }
        }
    });
}

/// As many threads have the result of a fold as have parts of what is folded.
#[test]
fn results_of_folds_are_where_their_parts_were() {
    let mut folds = 0;
    each_place(|place, plan, _, station| {
        let Some(flow) = &plan.flow else { return };
        let node = flow.nodes.iter().find(|node| node.name == station.operand);
        let Some(Does::Fold(_, number)) = node.map(|node| &node.does) else {
            return;
        };
        let spread = flow.folds[*number].spread;
        assert_eq!(station.copies as i64, spread.count, "{place}");
        folds += 1;
    });
    assert!(folds > 6, "{folds}");
}
