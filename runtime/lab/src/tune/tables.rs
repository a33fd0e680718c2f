//! From records to the bundle's tuning tables.
//!
//! Of each problem the kernels that were measured on this device, with this driver and in this mode
//! are ranked: by the peer's time over theirs where all have a peer, since that compares runs of
//! different days, else by their time.

use std::collections::BTreeMap;

use tilewright_bundle::{
    Bundle, Contiguous, Kernel, TunedChoice, TunedDevice, TunedOperand, TunedPoint, Tuning,
    TuningTable,
};

use super::record::{Outcome, Record};
use crate::bench::{Extent, Letters, Mode};
use crate::verify::GemmForm;
use tilewright_runtime::DeviceInfo;
use tilewright_runtime::Problem;
use tilewright_runtime::Request;
use tilewright_runtime::fit;
use tilewright_runtime::tightest;

/// Kernels kept of one problem: the others stand in when the first does not take a problem nearby.
const CHOICES: usize = 4;

/// What the records of one device are taken from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The bundle; records of kernels that are not in it do not count.
    pub bundle: &'a Bundle,
    /// The device.
    pub device: &'a DeviceInfo,
    /// Its driver, as rows name it.
    pub driver: &'a str,
    /// How it was kept.
    pub mode: Mode,
}

/// The bundle's own tables with what the records say put in: problems of the records replace those
/// of the tables, all others stay.
pub fn tables(origin: &Origin<'_>, records: &[Record]) -> Tuning {
    let mut tuning = origin.bundle.tuning().cloned().unwrap_or_default();
    let kernels: BTreeMap<&str, &Kernel> = origin
        .bundle
        .kernels()
        .iter()
        .map(|kernel| (kernel.content_hash.as_str(), kernel))
        .collect();
    let mut found: Vec<TuningTable> = Vec::new();
    for record in records.iter().filter(|record| origin.counts(record)) {
        let kernel = kernels.get(record.content_hash.as_str());
        let Some((table, point)) = kernel.and_then(|kernel| origin.place(kernel, record)) else {
            continue;
        };
        let at = match found.iter().position(|known| known.same_class(&table)) {
            Some(at) => at,
            None => {
                found.push(table);
                found.len() - 1
            }
        };
        if let Some(table) = found.get_mut(at) {
            add(table, point);
        }
    }
    for mut table in found {
        table.points.iter_mut().for_each(rank);
        let known = tuning
            .tables
            .iter_mut()
            .find(|known| known.same_class(&table));
        match known {
            Some(known) => table
                .points
                .into_iter()
                .for_each(|point| replace(known, point)),
            None => tuning.tables.push(table),
        }
    }
    for table in &mut tuning.tables {
        table.points.sort_by(|a, b| a.problem().cmp(&b.problem()));
    }
    tuning
}

impl Origin<'_> {
    fn counts(&self, record: &Record) -> bool {
        record.outcome == Outcome::Measured
            && record.row.is_correct()
            && record.row.mode == self.mode
            && record.row.gpu == self.device.name
            && record.backend == self.device.backend.text()
            && record.sm == self.device.sm
            && record.sms == self.device.sms
            && record.row.driver == self.driver
    }

    /// The class of a record's problem as an empty table, and the problem with the one kernel.
    fn place(&self, kernel: &Kernel, record: &Record) -> Option<(TuningTable, TunedPoint)> {
        let row = &record.row;
        // As tensors ask for it, so that they find it.
        let problem = Request::as_of_tensors(kernel, self.problem(kernel, record)?);
        let operand = |operand: &tilewright_bundle::Operand| {
            let strides = problem.strides(&operand.name)?;
            Some(TunedOperand {
                name: operand.name.clone(),
                dtype: operand.dtype,
                contiguous: Contiguous::of(strides),
            })
        };
        let named = kernel.free_extents().map(|(_, name)| {
            let extent = problem.extent(name)?;
            Some((name.to_owned(), extent))
        });
        let named: Vec<(String, i64)> = named.collect::<Option<_>>()?;
        let operands: Option<Vec<TunedOperand>> =
            kernel.semantics.operands.iter().map(operand).collect();
        let table = TuningTable {
            device: TunedDevice {
                name: self.device.name.clone(),
                sm: self.device.sm,
                sms: self.device.sms,
            },
            function: kernel.semantics.function.clone(),
            operands: operands?,
            extents: named.iter().map(|(name, _)| name.clone()).collect(),
            points: Vec::new(),
        };
        let choice = TunedChoice {
            kernel: kernel.id.clone(),
            content_hash: kernel.content_hash.clone(),
            us: row.ours_us,
            ratio_best: Some(row.ratio_best).filter(|ratio| *ratio > 0.0 && ratio.is_finite()),
        };
        let strides = table.operands.iter();
        let strides = strides.map(|one| Some(problem.strides(&one.name)?.to_vec()));
        let point = TunedPoint {
            extents: named.iter().map(|(_, extent)| *extent).collect(),
            strides: strides.collect::<Option<_>>()?,
            choices: vec![choice],
        };
        // Nobody is asked for the fastest kernel of nothing.
        let is_timed = row.ours_us.is_finite() && row.ours_us > 0.0;
        (is_timed && point.is_of_a_table()).then_some((table, point))
    }

    /// The problem of a record. One without strides was measured with the smallest that the kernel
    /// takes.
    fn problem(&self, kernel: &Kernel, record: &Record) -> Option<Problem> {
        let row = &record.row.problem;
        let extent = Extent {
            letters: record.row.layout.parse().ok(),
            ..Extent::named(row.sizes())
        };
        if row.strides.is_empty() {
            let tight = tightest(kernel, &extent.of(kernel), self.device).ok()?;
            let Some(wanted) = extent.letters else {
                return Some(tight);
            };
            let fits = fit(kernel, &tight, self.device).ok()?;
            let form = GemmForm::of(kernel, &fits.operands).ok()?;
            return match Letters::of_form(&form, &fits.operands).ok()? == wanted {
                true => Some(tight),
                false => extent.problem(kernel, self.device).ok(),
            };
        }
        let strides = row.strides.iter();
        let problem = strides.fold(extent.of(kernel), |problem, (operand, strides)| {
            problem.with_strides(operand, strides.clone())
        });
        fit(kernel, &problem, self.device).ok().map(|_| problem)
    }
}

/// Adds the one kernel of `point` to a table; a later record of the same kernel counts.
fn add(table: &mut TuningTable, point: TunedPoint) {
    let mut points = table.points.iter_mut();
    let known = points.find(|known| known.problem() == point.problem());
    match known {
        None => table.points.push(point),
        Some(known) => {
            for choice in point.choices {
                known.choices.retain(|c| c.kernel != choice.kernel);
                known.choices.push(choice);
            }
        }
    }
}

fn rank(point: &mut TunedPoint) {
    let all = point
        .choices
        .iter()
        .all(|choice| choice.ratio_best.is_some());
    // Smaller is better.
    let score = |choice: &TunedChoice| match choice.ratio_best {
        Some(ratio) if all => 1.0 / ratio,
        _ => choice.us,
    };
    let by_name = |a: &TunedChoice, b: &TunedChoice| a.kernel.cmp(&b.kernel);
    point
        .choices
        .sort_by(|a, b| score(a).total_cmp(&score(b)).then_with(|| by_name(a, b)));
    point.choices.truncate(CHOICES);
}

fn replace(table: &mut TuningTable, point: TunedPoint) {
    // One of an older format speaks of all strides: what is measured of some takes its place.
    let is_of = |known: &TunedPoint| {
        known.problem() == point.problem()
            || known.strides.is_empty() && known.extents == point.extents
    };
    table.points.retain(|known| !is_of(known));
    table.points.push(point);
}
