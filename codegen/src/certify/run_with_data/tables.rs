//! Entries of tables: coordinates, and some that lie outside of what they look into.

use std::collections::BTreeSet;

use super::draw::hashed;
use crate::plan::data::model::Plan;
use crate::spec::keys::model::OperandId;

/// Entries that no operand has, in every so many of those that are drawn one by one.
const OUTSIDE: [i64; 4] = [-1, i32::MIN as i64, i32::MAX as i64, 1 << 20];
const ONE_IN: u64 = 6;

/// What the entries of a table are for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// Its operand.
    pub operand: OperandId,
    /// The extent that its entries lie in, or outside of.
    pub extent: i64,
    /// Whether those inside are distinct: something is stored where they say.
    pub is_distinct: bool,
}

/// The tables of a plan, with the extents that `extent` knows.
pub(super) fn of(plan: &Plan, extent: impl Fn(&str) -> Option<i64>) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for operand in &plan.operands {
        for axis in &operand.axes {
            let (Some(table), Some(extent)) = (axis.table, extent(&axis.mode)) else {
                continue;
            };
            match tables.iter_mut().find(|known| known.operand == table) {
                Some(known) => known.is_distinct |= operand.is_written(),
                None => tables.push(Table {
                    operand: table,
                    extent,
                    is_distinct: operand.is_written(),
                }),
            }
        }
    }
    tables
}

impl Table {
    /// An entry by what it is drawn from.
    pub fn entry(&self, draw: u64) -> f64 {
        let outside = OUTSIDE[(draw / ONE_IN % 4) as usize];
        let inside = (draw / ONE_IN / 4) as i64 % (self.extent + 1);
        (if draw.is_multiple_of(ONE_IN) {
            outside
        } else {
            inside
        }) as f64
    }

    /// So many entries, of which those inside are distinct.
    pub fn distinct(&self, count: usize) -> Vec<f64> {
        let mut taken = BTreeSet::new();
        let entry = |at: usize| {
            let entry = self.entry(hashed([self.operand.0, at, 1]));
            let is_new = taken.insert(entry as i64);
            // What another one has already lies beyond the end, each elsewhere.
            if is_new {
                entry
            } else {
                (self.extent + at as i64) as f64
            }
        };
        (0..count).map(entry).collect()
    }
}
