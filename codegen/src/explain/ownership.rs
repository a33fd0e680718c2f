//! Who has what of a tile: threads of a partition as warps, lanes and registers.
//!
//! Comes in: a partition of a tile among threads. Goes out: the tile cut into blocks that the same
//! warps have, what a warp has cut into blocks that the same lanes have, and the elements of a
//! thread in the order of its registers. Invariant: a block has one set of owners, and the blocks
//! of a cut are all that it is a cut of.

use serde::Serialize;

use crate::arch::WARP;
use crate::plan::copies::thread_digits::Part;

/// A tile that threads share out.
#[derive(Clone, Debug)]
pub struct Held {
    /// Which elements each thread has.
    part: Part<2>,
    /// Extents of the tile.
    extents: [i64; 2],
    /// How many threads there are.
    threads: i64,
}

/// A tile, or what one warp has of it, in blocks of elements with the same owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// What owns blocks: `warp`.
    pub of: &'static str,
    /// Extents of a block.
    pub block: [i64; 2],
    /// Where each row of blocks begins in the tile.
    pub rows: Vec<i64>,
    /// Where each column of blocks begins.
    pub columns: Vec<i64>,
    /// The numbers of the owners of each block, row by row; nobody's has none.
    pub owners: Vec<Vec<u32>>,
    /// Rows and columns of blocks after which the same owners come again.
    pub period: [usize; 2],
}

/// The elements of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Registers {
    /// Coordinates in the tile, in the order of the registers.
    pub elements: Vec<[i64; 2]>,
    /// Elements of a register.
    pub each: usize,
    /// Elements that one instruction moves or makes.
    pub vector: usize,
    /// Bytes of them.
    pub bytes: usize,
    /// Whether they go from memory to memory, and registers have none of them: elements of an
    /// instruction take the place of those of a register.
    pub memory: bool,
}

impl Held {
    /// A tile of those extents among so many threads.
    pub fn new(part: Part<2>, extents: [i64; 2], threads: u32) -> Held {
        Held {
            part,
            extents,
            threads: i64::from(threads),
        }
    }

    /// Extents of the tile.
    pub fn extents(&self) -> [i64; 2] {
        self.extents
    }

    /// How many threads share it out.
    pub fn threads(&self) -> u32 {
        self.threads as u32
    }

    /// The elements of a thread, in the order of its registers.
    pub fn elements(&self, thread: u32) -> Vec<[i64; 2]> {
        let base = self.part.base(i64::from(thread));
        let at = |value: &[i64; 2]| [base[0] + value[0], base[1] + value[1]];
        self.part.values.iter().map(at).collect()
    }

    /// The tile cut into what each warp has.
    pub fn warps(&self) -> Cut {
        let all = [0, 1].map(|mode| (0..self.extents[mode]).collect());
        self.cut("warp", all, 0..self.threads(), |thread| thread / WARP)
    }

    /// What a warp has, cut into what each of its lanes has.
    pub fn lanes(&self, warp: u32) -> Cut {
        let threads = warp * WARP..(warp * WARP + WARP).min(self.threads());
        let mut places: [Vec<i64>; 2] = Default::default();
        for thread in threads.clone() {
            for element in self.elements(thread) {
                places[0].push(element[0]);
                places[1].push(element[1]);
            }
        }
        for places in &mut places {
            places.sort_unstable();
            places.dedup();
        }
        self.cut("lane", places, threads, |thread| thread % WARP)
    }

    /// The rows and columns of those places, cut into what the threads have, who go by a number.
    fn cut(
        &self,
        of: &'static str,
        places: [Vec<i64>; 2],
        threads: std::ops::Range<u32>,
        number: impl Fn(u32) -> u32,
    ) -> Cut {
        let width = places[1].len();
        let mut owners = vec![Vec::new(); places[0].len() * width];
        for thread in threads {
            for [row, column] in self.elements(thread) {
                let found = [
                    places[0].binary_search(&row),
                    places[1].binary_search(&column),
                ];
                let [Ok(row), Ok(column)] = found else {
                    continue;
                };
                let owners: &mut Vec<u32> = &mut owners[row * width + column];
                let owner = number(thread);
                // Threads come in their order.
                if owners.last() != Some(&owner) {
                    owners.push(owner);
                }
            }
        }
        Cut::of(of, places, owners)
    }
}

impl Cut {
    /// The largest blocks of elements in a row that have the same owners.
    pub fn of(of: &'static str, [rows, columns]: [Vec<i64>; 2], owners: Vec<Vec<u32>>) -> Cut {
        let width = columns.len();
        let same_row =
            |a: usize, b: usize| owners[a * width..][..width] == owners[b * width..][..width];
        let down = together(&rows, same_row);
        let same_column = |a: usize, b: usize| {
            let mut rows = (0..rows.len()).step_by(down);
            rows.all(|row| owners[row * width + a] == owners[row * width + b])
        };
        let right = together(&columns, same_column);
        let [rows, columns] = [(rows, down), (columns, right)]
            .map(|(places, each)| places.into_iter().step_by(each).collect::<Vec<i64>>());
        let mut blocks = Vec::new();
        for row in 0..rows.len() {
            for column in 0..columns.len() {
                blocks.push(owners[row * down * width + column * right].clone());
            }
        }
        let mut cut = Cut {
            of,
            block: [down as i64, right as i64],
            period: [rows.len(), columns.len()],
            rows,
            columns,
            owners: blocks,
        };
        cut.period = cut.periods();
        cut
    }

    /// The owners of a block by its row and column.
    pub fn at(&self, row: usize, column: usize) -> &[u32] {
        let at = row * self.columns.len() + column;
        self.owners.get(at).map_or(&[], Vec::as_slice)
    }

    /// The owners of an element of the tile; nobody where it is none of what is cut.
    pub fn owners_of(&self, element: [i64; 2]) -> &[u32] {
        let find = |places: &[i64], mode: usize| {
            let behind = places.partition_point(|place| *place <= element[mode]);
            let at = behind.checked_sub(1)?;
            (element[mode] < places[at] + self.block[mode]).then_some(at)
        };
        match (find(&self.rows, 0), find(&self.columns, 1)) {
            (Some(row), Some(column)) => self.at(row, column),
            _ => &[],
        }
    }

    /// The fewest rows and columns of blocks that come again and again.
    fn periods(&self) -> [usize; 2] {
        let [rows, columns] = [self.rows.len(), self.columns.len()];
        let row = |a: usize, b: usize| (0..columns).all(|at| self.at(a, at) == self.at(b, at));
        let column = |a: usize, b: usize| (0..rows).all(|at| self.at(at, a) == self.at(at, b));
        let least = |count: usize, same: &dyn Fn(usize, usize) -> bool| {
            let mut periods = (1..count).filter(|period| count.is_multiple_of(*period));
            let found = periods.find(|period| (0..count).all(|at| same(at, at % period)));
            found.unwrap_or(count)
        };
        [least(rows, &row), least(columns, &column)]
    }
}

/// How many places in a row are alike everywhere: the largest such divisor of their number.
fn together(places: &[i64], same: impl Fn(usize, usize) -> bool) -> usize {
    let count = places.len();
    let fits = |each: &usize| {
        count.is_multiple_of(*each)
            && (0..count).all(|at| {
                let first = at / each * each;
                places[at] - places[first] == (at - first) as i64 && same(first, at)
            })
    };
    (1..=count).rev().find(fits).unwrap_or(1)
}
