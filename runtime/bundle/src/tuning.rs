//! `tuning.json`: which kernels of the bundle were fastest on which problems of which device.
//!
//! A [`Tuning`] holds one [`TuningTable`] for each device and class of problems: the
//! function, and which axis of each operand is contiguous. A table holds measured problems,
//! each with the kernels that were fastest there, fastest first. The file is listed and hashed as
//! every other one; opening a bundle checks that it speaks of the bundle's own kernels.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Problems, shorten};
use crate::hash::Sha256Hex;
use crate::manifest::Kernel;
use crate::text::is_plain;
use tilewright_formula::DType;
use tilewright_formula::signature::MAX_NAMES;

/// The name of the file in a bundle.
pub const TUNING_FILE: &str = "tuning.json";
/// The newest format of the file. Format 2 is read as well: its problems have no strides, and speak
/// of every problem of their extents. Tables of which no problem has strides are written so.
pub const TUNING_FORMAT: u32 = 3;
/// The oldest format that is read.
const OLDEST_FORMAT: u32 = 2;
/// Most tables.
const MAX_TABLES: usize = 4096;
/// Most problems in all tables together.
const MAX_POINTS: usize = 1 << 18;
/// Most kernels of one problem.
const MAX_CHOICES: usize = 16;
/// Most extents of a table.
pub const MAX_TUNED_EXTENTS: usize = 16;
/// Largest extent.
const MAX_EXTENT: i64 = i32::MAX as i64;
/// Largest stride, in elements.
pub const MAX_TUNED_STRIDE: i64 = 1 << 48;

/// The selection tables of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// [`TUNING_FORMAT`].
    pub format: u32,
    /// One for each device and class of problems.
    pub tables: Vec<TuningTable>,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            format: TUNING_FORMAT,
            tables: Vec::new(),
        }
    }
}

/// The device a table was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedDevice {
    /// As the driver names it: `NVIDIA H200`.
    pub name: String,
    /// Compute capability, ten times major plus minor; absent for the emulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm: Option<u32>,
    /// Streaming multiprocessors.
    pub sms: u32,
}

impl std::fmt::Display for TunedDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sm = self.sm.map(|sm| format!("sm_{sm}, "));
        let (name, sms) = (&self.name, self.sms);
        write!(f, "{name} ({}{sms} SMs)", sm.unwrap_or_default())
    }
}

/// Which axis of an operand is contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contiguous {
    /// The first: column-major.
    First,
    /// The last: row-major.
    Last,
    /// Neither.
    Neither,
}

impl Contiguous {
    /// The axis of an operand with these strides; the last where several are 1.
    pub const fn of(strides: &[i64]) -> Contiguous {
        match strides {
            [.., 1] => Contiguous::Last,
            [1, ..] => Contiguous::First,
            _ => Contiguous::Neither,
        }
    }
}

/// An operand of a class of problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedOperand {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Which of its axes is contiguous.
    pub contiguous: Contiguous,
}

/// The measured problems of one class on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningTable {
    /// Where.
    pub device: TunedDevice,
    /// SHA-256 of what its kernels compute: their function.
    pub function: Sha256Hex,
    /// The operands.
    pub operands: Vec<TunedOperand>,
    /// Names of the extents: `m n k`.
    pub extents: Vec<String>,
    /// The problems, ordered by their extents, then by their strides.
    pub points: Vec<TunedPoint>,
}

/// One measured problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedPoint {
    /// The extents, in the table's order.
    pub extents: Vec<i64>,
    /// The strides in elements of each operand, in the table's order of both; of a packed operand
    /// none. Empty where the strides were not written down (format 2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strides: Vec<Vec<i64>>,
    /// The fastest kernels, fastest first.
    pub choices: Vec<TunedChoice>,
}

/// A kernel that was fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedChoice {
    /// Its id.
    pub kernel: String,
    /// Its content hash when it was measured.
    pub content_hash: Sha256Hex,
    /// Time of one launch; on the emulator, executed instructions.
    pub us: f64,
    /// The peer's fastest time over this one's, where there is a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_best: Option<f64>,
}

impl TunedPoint {
    /// What tells problems of a table apart, and orders them.
    pub fn problem(&self) -> (&[i64], &[Vec<i64>]) {
        (&self.extents, &self.strides)
    }

    /// Whether a table may have a problem of these extents and strides.
    pub fn is_of_a_table(&self) -> bool {
        self.has_extents() && self.has_strides()
    }

    fn has_extents(&self) -> bool {
        let mut extents = self.extents.iter();
        extents.all(|extent| (1..=MAX_EXTENT).contains(extent))
    }

    fn has_strides(&self) -> bool {
        let mut strides = self.strides.iter().flatten();
        strides.all(|stride| (0..=MAX_TUNED_STRIDE).contains(stride))
    }
}

impl TuningTable {
    /// Whether two tables are of the same device and class.
    pub fn same_class(&self, other: &TuningTable) -> bool {
        self.device == other.device
            && self.function == other.function
            && self.operands == other.operands
    }
}

impl Tuning {
    /// Forgets what was measured of kernels that are not to be kept, by id.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(&str) -> bool) {
        for table in &mut self.tables {
            for point in &mut table.points {
                point.choices.retain(|choice| is_kept(&choice.kernel));
            }
            table.points.retain(|point| !point.choices.is_empty());
        }
        self.tables.retain(|table| !table.points.is_empty());
    }

    /// Reads the file's bytes, as far as they can be judged without the kernels.
    ///
    /// # Errors
    /// When they are no tables of this format.
    pub fn parse(bytes: &[u8]) -> Result<Tuning, Error> {
        #[derive(Deserialize)]
        struct Head {
            format: u64,
        }
        let refuse = |error: serde_json::Error| {
            let text: String = error.to_string().chars().take(400).collect();
            Error::invalid(TUNING_FILE, shorten(&text))
        };
        let head: Head = serde_json::from_slice(bytes).map_err(refuse)?;
        if !(u64::from(OLDEST_FORMAT)..=u64::from(TUNING_FORMAT)).contains(&head.format) {
            return Err(Error::invalid(
                TUNING_FILE,
                format!(
                    "it has format {}; this program reads formats {OLDEST_FORMAT} to \
                     {TUNING_FORMAT}: tune anew",
                    head.format
                ),
            ));
        }
        let read: Tuning = serde_json::from_slice(bytes).map_err(refuse)?;
        Ok(Tuning {
            format: TUNING_FORMAT,
            ..read
        })
    }

    /// The file's bytes, the same for the same tables.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut points = self.tables.iter().flat_map(|table| &table.points);
        let written = Tuning {
            format: match points.all(|point| point.strides.is_empty()) {
                true => OLDEST_FORMAT,
                false => TUNING_FORMAT,
            },
            tables: self.tables.clone(),
        };
        let mut text = serde_json::to_string_pretty(&written)
            .map_err(|e| Error::invalid(TUNING_FILE, e.to_string()))?;
        text.push('\n');
        Ok(text.into_bytes())
    }

    /// How many problems were measured.
    pub fn points(&self) -> usize {
        self.tables.iter().map(|table| table.points.len()).sum()
    }

    /// Checks everything against the bundle's kernels.
    pub(crate) fn check<'k>(
        &self,
        kernels: impl IntoIterator<Item = &'k Kernel>,
    ) -> Result<(), Error> {
        let mut problems = Problems::default();
        let kernels: Kernels<'k> = kernels.into_iter().map(|k| (k.id.as_str(), k)).collect();
        let tables = self.tables.len();
        problems.check(tables <= MAX_TABLES, TUNING_FILE, || {
            format!("{tables} tables; at most {MAX_TABLES} are allowed")
        });
        let points = self.points();
        problems.check(points <= MAX_POINTS, TUNING_FILE, || {
            format!("{points} problems; at most {MAX_POINTS} are allowed")
        });
        for (at, table) in self.tables.iter().enumerate().take(MAX_TABLES) {
            let what = format!("{TUNING_FILE} table {at}");
            let twice = self.tables.iter().take(at).any(|t| t.same_class(table));
            problems.check(!twice, &what, || {
                "its device and class appear twice".to_owned()
            });
            check_table(table, &what, &kernels, &mut problems);
        }
        problems.into_result()
    }
}

/// The kernels of a bundle by id.
type Kernels<'k> = HashMap<&'k str, &'k Kernel>;

fn check_table(table: &TuningTable, what: &str, kernels: &Kernels<'_>, problems: &mut Problems) {
    let is_word = |text: &str| !text.is_empty() && is_plain(text, 200);
    problems.check(is_word(&table.device.name), what, || {
        "the device's name is no line of 1 to 200 bytes".to_owned()
    });
    let names: BTreeSet<&str> = table.operands.iter().map(|o| o.name.as_str()).collect();
    let operands = table.operands.len();
    let named = (1..=MAX_NAMES).contains(&operands) && names.len() == operands;
    problems.check(named, what, || {
        format!("1 to {MAX_NAMES} operands with different names are allowed")
    });
    let extents = table.extents.len();
    problems.check((1..=MAX_TUNED_EXTENTS).contains(&extents), what, || {
        format!("{extents} extents; 1 to {MAX_TUNED_EXTENTS} are allowed")
    });
    let points = &table.points;
    let ordered = points.is_sorted_by(|a, b| a.problem() < b.problem());
    problems.check(ordered, what, || {
        "the problems are not ordered by extents and strides, or one appears twice".to_owned()
    });
    for point in &table.points {
        check_point(table, point, what, kernels, problems);
    }
}

fn check_point(
    table: &TuningTable,
    point: &TunedPoint,
    what: &str,
    kernels: &Kernels<'_>,
    problems: &mut Problems,
) {
    let extents = &point.extents;
    let what = format!("{what} problem {extents:?}");
    let fits = point.has_extents();
    let (given, wanted) = (extents.len(), table.extents.len());
    problems.check(fits && given == wanted, &what, || {
        format!("{wanted} extents of 1 to {MAX_EXTENT} are allowed")
    });
    let operands = table.operands.len();
    let known = point.strides.is_empty() || point.strides.len() == operands;
    problems.check(known && point.has_strides(), &what, || {
        format!(
            "strides of 0 to {MAX_TUNED_STRIDE} of all {operands} operands, or of none, are allowed"
        )
    });
    let count = point.choices.len();
    problems.check((1..=MAX_CHOICES).contains(&count), &what, || {
        format!("{count} kernels; 1 to {MAX_CHOICES} are allowed")
    });
    for choice in point.choices.iter().take(MAX_CHOICES) {
        let Some(kernel) = kernels.get(choice.kernel.as_str()) else {
            let id = shorten(&choice.kernel);
            problems.add(&what, format!("{id:?} is no kernel of this bundle"));
            continue;
        };
        problems.check(kernel.content_hash == choice.content_hash, &what, || {
            format!(
                "{} is not the kernel that was measured: tune anew",
                kernel.id
            )
        });
        problems.check(computes(kernel, table), &what, || {
            format!("{} computes another class of problems", kernel.id)
        });
        let times = choice.us.is_finite() && choice.us > 0.0;
        let ratio = choice.ratio_best.is_none_or(|r| r.is_finite() && r > 0.0);
        problems.check(times && ratio, &what, || {
            format!("{}: times and ratios are positive", kernel.id)
        });
    }
}

/// Whether a kernel has the function, the types and the extents of a table's class.
fn computes(kernel: &Kernel, table: &TuningTable) -> bool {
    let has = |operand: &TunedOperand| {
        kernel
            .semantics
            .operand(&operand.name)
            .is_some_and(|o| o.dtype == operand.dtype)
    };
    let extents = kernel.free_extents().map(|(_, text)| text);
    kernel.semantics.function == table.function
        && kernel.semantics.operands.len() == table.operands.len()
        && table.operands.iter().all(has)
        && extents.eq(table.extents.iter().map(String::as_str))
}
