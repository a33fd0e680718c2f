//! The smallest errors that `verify` still catches: `ci/data/planted_errors.txt`, made again and
//! compared.
//!
//! An error is planted into elements of a right result, as many as a row of the table says, and
//! each is judged by the rule of `tilewright_lab::verify`.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;

use tilewright_lab::verify::Data;
use tilewright_lab::verify::planted::{Caught, MADE, Made, Plant};

const TABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../ci/data/planted_errors.txt"
);
/// Rows and columns of the output.
const ROWS: usize = 8;
const DEPTHS: [usize; 5] = [64, 256, 1024, 4096, 16384];
/// The last depths, which take most of the time, are looked at in one row of so many; with
/// `BLESS=1` in every row.
const DEEP: usize = 2;
const ONE_ROW_IN: usize = 4;
const KINDS: [Data; 2] = [Data::Integers, Data::Normals];

fn caught(made: &Made, plant: Plant, data: Data, k: usize) -> Caught {
    made.plant(plant, data, (ROWS, k), 2026).unwrap()
}

/// Elements that are found out of a hundred that have the error.
fn share(caught: Caught, found: usize) -> Option<usize> {
    (100 * found).checked_div(caught.elements)
}

fn cell(caught: Caught) -> String {
    match (share(caught, caught.by_bound), share(caught, caught.in_all)) {
        (Some(bound), Some(all)) if bound != all => format!("{bound} ({all})"),
        (Some(bound), _) => bound.to_string(),
        (None, _) => "-".to_owned(),
    }
}

/// The table, with so many depths of the row of a number.
fn table(depths_of: impl Fn(usize) -> usize) -> String {
    let mut row = 0;
    let mut text = format!(
        "# An error in one element of {} x {ROWS}: how many of a hundred elements that come out \
         otherwise are found\n\
         # wrong by the bound (and with those that are compared bit for bit), by the extent of k.\n\
         # `-`: the error changes no element. Made by\n\
         #     BLESS=1 cargo test --package tilewright-lab --test lab planted\n\n",
        ROWS
    );
    let depths = DEPTHS.map(|k| format!("{k:>10}")).concat();
    writeln!(
        text,
        "{:<28} {:<10} {:<22}{depths}",
        "sums", "inputs", "error"
    )
    .unwrap();
    for made in MADE {
        for data in KINDS {
            for plant in Plant::ALL {
                let depths = DEPTHS.iter().take(depths_of(row));
                let cells = depths.map(|k| format!("{:>10}", cell(caught(made, plant, data, *k))));
                let cells: String = cells.collect();
                row += 1;
                let head = format!("{:<28} {:<10} {:<22}", made.text, data.text(), plant.text());
                writeln!(text, "{head}{cells}").unwrap();
            }
        }
    }
    text
}

#[test]
fn planted_errors_are_caught_as_recorded() {
    let blessing = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let made = table(|row| match blessing || row % ONE_ROW_IN == 0 {
        true => DEPTHS.len(),
        false => DEPTHS.len() - DEEP,
    });
    if blessing {
        fs::write(TABLE, &made).unwrap();
    }
    let recorded = fs::read_to_string(TABLE).unwrap_or_default();
    let lines = made.lines().zip(recorded.lines());
    let differs = lines.filter(|(is, was)| !was.starts_with(is));
    let differs = differs.collect::<Vec<_>>();
    let again = "BLESS=1 cargo test --package tilewright-lab --test lab planted";
    assert!(
        differs.is_empty() && made.lines().count() == recorded.lines().count(),
        "{differs:#?}\nIf the change is meant, record it: {again}"
    );
}

/// What the table has to show, whatever its numbers.
#[test]
fn a_dropped_step_and_a_negated_product_are_caught() {
    for made in MADE {
        for plant in [Plant::StepDropped, Plant::ProductNegated] {
            let found = caught(made, plant, Data::Integers, 256);
            assert!(
                found.elements > 0 && found.by_bound == found.elements,
                "{made:?} {plant:?}"
            );
        }
        let found = caught(made, Plant::StepDropped, Data::Normals, 256);
        let share = share(found, found.in_all).unwrap();
        assert!(
            share >= 95,
            "{made:?}: {share} of 100 dropped steps are found"
        );
    }
}
