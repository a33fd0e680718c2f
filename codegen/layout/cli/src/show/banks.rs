//! Banks of shared memory: which of the 32 each access meets, and how many meet one at once.
//!
//! In: a row-major tile, swizzled or not, the size of its elements and of one access. Out: a panel
//! of the bank at which each access begins, and one of 32 banks by phases for accesses down a
//! column. Banks are 32, each 4 bytes wide; a phase moves 128 bytes (CUDA C++ Programming Guide,
//! "Shared Memory" of compute capability 5.x and later).

use tilewright_layout::{ComposedLayout, Result};

use super::colour::Shade;
use super::picture::{Axis, Cell, Panel, Place};

/// Banks of shared memory.
const BANKS: i64 = 32;
/// Bytes of a bank.
const BANK_BYTES: i64 = 4;
/// Bytes that one phase moves.
const PHASE_BYTES: i64 = 128;

/// The elements of a tile and the width of one thread's access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Bytes of an element.
    pub elem_bytes: i64,
    /// Bytes that one thread reads at once.
    pub access_bytes: i64,
}

/// The bank map of a tile.
#[derive(Debug, Clone, PartialEq)]
pub struct BankMap {
    /// Accesses by their first bank, then banks by phases.
    pub panels: Vec<Panel>,
    /// The conflict degree.
    pub notes: Vec<String>,
    /// Most accesses of one bank in one phase, over all columns of accesses.
    pub degree: usize,
}

/// The bank map of a tile of rows and columns whose columns are contiguous.
///
/// # Errors
///
/// When an access is not contiguous in memory or does not divide the tile, in words.
pub fn map(all: &ComposedLayout, access: Access) -> std::result::Result<BankMap, String> {
    let firsts = first_bytes(all, access)?;
    let (rows, chunks) = (firsts.len(), firsts.first().map_or(0, Vec::len));
    let per_phase = usize::try_from((PHASE_BYTES / access.access_bytes).max(1)).unwrap_or(1);
    let mut degree = 0;
    for chunk in 0..chunks {
        for phase in firsts.chunks(per_phase) {
            let meets = accesses_of_banks(phase, chunk, access);
            degree = degree.max(meets.iter().map(Vec::len).max().unwrap_or(0));
        }
    }
    let Access {
        elem_bytes,
        access_bytes,
    } = access;
    let verdict = match degree {
        1 => "no conflicts: 1-way".to_owned(),
        degree => format!("{degree}-way conflicts"),
    };
    let note = format!(
        "{verdict} when threads read {access_bytes} bytes each down a column, {per_phase} rows a \
         phase, elements of {elem_bytes} bytes"
    );
    let starts = Panel {
        title: format!("first bank of each access of {access_bytes} bytes"),
        place: Place { row: 0, column: 0 },
        rows: Axis {
            block: per_phase,
            ..Axis::plain("row", rows)
        },
        columns: Axis::plain("access", chunks),
        cells: firsts
            .iter()
            .flatten()
            .map(|&byte| start_cell(byte, access))
            .collect(),
        room: 0,
    };
    let panels = vec![starts, phases(&firsts, per_phase, access)];
    Ok(BankMap {
        panels,
        notes: vec![note],
        degree,
    })
}

fn start_cell(byte: i64, access: Access) -> Cell {
    let bank = bank_of(byte);
    let group = bank * BANK_BYTES / access.access_bytes.max(BANK_BYTES);
    Cell::new(format!("b{bank}"), Shade::Bank(group))
}

fn bank_of(byte: i64) -> i64 {
    byte.div_euclid(BANK_BYTES).rem_euclid(BANKS)
}

/// The rows that meet each bank when a phase reads one column of accesses.
fn accesses_of_banks(phase: &[Vec<i64>], chunk: usize, access: Access) -> Vec<Vec<usize>> {
    let mut meets = vec![Vec::new(); BANKS as usize];
    for (row, firsts) in phase.iter().enumerate() {
        let Some(&first) = firsts.get(chunk) else {
            continue;
        };
        let words = (access.access_bytes / BANK_BYTES).max(1);
        for word in 0..words {
            // A remainder of 32 is an index of 32 banks.
            let bank = bank_of(first + word * BANK_BYTES) as usize;
            meets[bank].push(row);
        }
    }
    meets
}

/// 32 banks by phases: who meets each bank when the first column is read.
fn phases(firsts: &[Vec<i64>], per_phase: usize, access: Access) -> Panel {
    let mut cells = Vec::new();
    let mut count = 0;
    for (phase, rows) in firsts.chunks(per_phase).enumerate() {
        count += 1;
        for met in accesses_of_banks(rows, 0, access) {
            let row = |at: &usize| format!("r{}", phase * per_phase + at);
            cells.push(match &met[..] {
                [] => Cell::blank(),
                [one] => Cell::new(row(one), Shade::Conflict(1)),
                more => Cell::new(format!("{}x", more.len()), Shade::Conflict(more.len())),
            });
        }
    }
    Panel {
        title: "banks by phases: the rows of access 0".to_owned(),
        place: Place { row: 1, column: 0 },
        rows: Axis::plain("phase", count),
        columns: Axis::plain("bank", BANKS as usize),
        cells,
        room: 0,
    }
}

/// The first byte of each access, row by row.
fn first_bytes(all: &ComposedLayout, access: Access) -> std::result::Result<Vec<Vec<i64>>, String> {
    let Access {
        elem_bytes,
        access_bytes,
    } = access;
    if elem_bytes < 1 || access_bytes < elem_bytes || access_bytes % elem_bytes != 0 {
        return Err(format!(
            "{access_bytes} bytes are no number of elements of {elem_bytes} bytes"
        ));
    }
    if ![4, 8, 16].contains(&access_bytes) {
        return Err(format!(
            "an access of {access_bytes} bytes: 4, 8 and 16 exist"
        ));
    }
    let told = |error: tilewright_layout::Error| error.to_string();
    let (rows, columns) = match (all.inner.mode(0), all.inner.mode(1)) {
        (Some(rows), Some(columns)) => (rows.size().map_err(told)?, columns.size().map_err(told)?),
        _ => return Err("the tile needs rows and columns".to_owned()),
    };
    let per_access = access_bytes / elem_bytes;
    if columns % per_access != 0 {
        return Err(format!(
            "{columns} columns are no multiple of {per_access} elements"
        ));
    }
    let offset = |row: i64, column: i64| -> Result<i64> { all.at(row + rows * column) };
    let mut firsts = Vec::new();
    for row in 0..rows {
        let mut line = Vec::new();
        for column in (0..columns).step_by(per_access as usize) {
            let first = offset(row, column).map_err(told)?;
            for next in 1..per_access {
                if offset(row, column + next).map_err(told)? != first + next {
                    return Err(format!(
                        "the {per_access} elements from ({row},{column}) on do not lie side by side"
                    ));
                }
            }
            line.push(
                first
                    .checked_mul(elem_bytes)
                    .ok_or("an address beyond 64 bits")?,
            );
        }
        firsts.push(line);
    }
    Ok(firsts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn degree(tile: &str, access_bytes: i64) -> usize {
        let access = Access {
            elem_bytes: 2,
            access_bytes,
        };
        map(&tile.parse().unwrap(), access).unwrap().degree
    }

    #[test]
    fn a_bf16_tile_of_128_byte_rows_needs_three_bits() {
        assert_eq!(degree("Sw<0,0,0> o 0 o (128,64):(64,1)", 16), 8);
        assert_eq!(degree("Sw<2,3,3> o 0 o (128,64):(64,1)", 16), 2);
        assert_eq!(degree("Sw<3,3,3> o 0 o (128,64):(64,1)", 16), 1);
    }

    #[test]
    fn padding_avoids_conflicts_too() {
        assert_eq!(degree("Sw<0,0,0> o 0 o (128,64):(72,1)", 16), 1);
        assert_eq!(degree("Sw<0,0,0> o 0 o (32,64):(64,1)", 4), 32);
        assert_eq!(degree("Sw<0,0,0> o 0 o (32,64):(66,1)", 4), 1);
    }

    #[test]
    fn an_access_that_the_swizzle_tears_is_refused() {
        let access = Access {
            elem_bytes: 2,
            access_bytes: 16,
        };
        let torn = map(&"Sw<3,0,3> o 0 o (8,64):(64,1)".parse().unwrap(), access);
        assert!(torn.unwrap_err().contains("do not lie side by side"));
    }
}
