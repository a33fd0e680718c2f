//! A choice with its reasons: the kernel chosen, by which rule, and why no other one is.
//!
//! It prints as text for a reader, and is JSON for a program.

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::error::{Error, Refusal, some_of};
use crate::select::pick::MOST_NAMED;
use crate::select::table::{Row, Source};

/// A choice with its reasons.
#[derive(Debug)]
pub struct Explanation {
    /// The word asked for.
    pub word: String,
    /// The device it is made for.
    pub device: String,
    /// What is computed; `None` where no function takes the operands.
    pub function: Option<Computed>,
    /// Extents, strides and scalars as the function's first kernel names them.
    pub problem: Option<String>,
    /// The kernel chosen, or why there is none.
    pub chosen: Result<Chosen, Error>,
    /// What the bundle's tuning tables say of the problem.
    pub tuned: Option<Tuned>,
    /// The other kernels of the function: those of the table's row in its order, then the others
    /// in the bundle's.
    pub others: Vec<Answer>,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Computed {
    /// SHA-256 of it.
    pub hash: String,
    /// What is computed, on one line.
    pub formula: String,
}

/// The kernel that was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chosen {
    /// Its id.
    pub kernel: String,
    /// How it was found.
    pub source: Source,
    /// What it took on the problem of the table's row, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub us: Option<f64>,
}

/// What tuning tables say of a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tuned {
    /// The row that decides, of the measured problem that is nearest.
    Row(Row),
    /// No table of the bundle is of the function.
    NoTable,
    /// All tables of the function were measured on other devices: these.
    OtherDevices(Vec<String>),
    /// The device's tables of the function are of operands that lie otherwise.
    OtherLayouts,
    /// An extent is 0: nothing is computed, and no table is asked.
    Nothing,
}

/// What a kernel answers that was not chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The kernel's id.
    pub kernel: String,
    /// Why it was not.
    #[serde(flatten)]
    pub why: Why,
}

/// Why a kernel was not chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// It cannot run the problem, for each of these reasons.
    Refused {
        /// The reasons.
        #[serde(serialize_with = "each_refusal")]
        refusals: Vec<Refusal>,
    },
    /// It took longer on the problem of the table's row.
    Slower {
        /// How long, in microseconds.
        us: f64,
    },
    /// The table's row does not name it.
    NotInRow,
    /// Nothing was measured, and it comes after the chosen one.
    Later {
        /// By which rule.
        rule: &'static str,
    },
}

fn each_refusal<S: Serializer>(refusals: &[Refusal], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Told {
        kind: &'static str,
        text: String,
    }
    let mut list = to.serialize_seq(Some(refusals.len()))?;
    for refusal in refusals {
        let (kind, text) = (refusal.kind(), refusal.to_string());
        list.serialize_element(&Told { kind, text })?;
    }
    list.end()
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            word: &'a str,
            device: &'a str,
            function: Option<&'a Computed>,
            problem: Option<&'a str>,
            chosen: Option<&'a Chosen>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<String>,
            tuned: Option<&'a Tuned>,
            others: &'a [Answer],
        }
        let told = Told {
            word: &self.word,
            device: &self.device,
            function: self.function.as_ref(),
            problem: self.problem.as_deref(),
            chosen: self.chosen.as_ref().ok(),
            error: self.chosen.as_ref().err().map(Error::to_string),
            tuned: self.tuned.as_ref(),
            others: &self.others,
        };
        told.serialize(to)
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kernel, self.source.text())
    }
}

impl Explanation {
    /// The kernels that a reason speaks against.
    fn refused_by(&self, reason: &str) -> Vec<&str> {
        let others = self.others.iter().filter(|other| match &other.why {
            Why::Refused { refusals } => refusals.iter().any(|one| one.to_string() == reason),
            _ => false,
        });
        others.map(|other| other.kernel.as_str()).collect()
    }

    /// What a table's number is of: the emulator counts instructions of threads.
    fn unit(&self) -> &'static str {
        match self.device.starts_with("emulator") {
            true => "thread instructions",
            false => "us",
        }
    }

    /// By which rule the chosen kernel was.
    fn rule(&self, chosen: &Chosen) -> String {
        let first = "the first kernel that fits, the most special first";
        let unit = self.unit();
        let us = |us: Option<f64>| us.map(|us| format!(", {us:.2} {unit}")).unwrap_or_default();
        match (&self.tuned, chosen.source) {
            (Some(Tuned::Row(row)), Source::Untuned) => {
                format!("the tuning table's {row} names none that takes the problem: {first}")
            }
            (Some(Tuned::Row(row)), Source::Measured) => {
                format!("the fastest of the tuning table's {row}{}", us(chosen.us))
            }
            (Some(Tuned::Row(row)), _) => format!(
                "the fastest of the tuning table's nearest {row}{}, {:.2} away",
                us(chosen.us),
                row.distance
            ),
            (Some(Tuned::OtherDevices(devices)), _) => format!(
                "tuning tables of the function are of other devices, {}: {first}",
                devices.join("; ")
            ),
            (Some(Tuned::OtherLayouts), _) => {
                format!("tuning tables of the function are of operands that lie otherwise: {first}")
            }
            (Some(Tuned::Nothing), _) => {
                format!("an extent is 0, so that nothing is computed: {first}")
            }
            (Some(Tuned::NoTable) | None, _) => {
                format!("the bundle has no tuning table of the function: {first}")
            }
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Computed { hash, formula }) = &self.function {
            writeln!(f, "{}: {formula} ({hash:.12})", self.word)?;
        }
        let problem = self.problem.as_ref();
        let problem = problem.map(|text| format!("{text}, "));
        writeln!(
            f,
            "asked: {}on {}",
            problem.unwrap_or_default(),
            self.device
        )?;
        match &self.chosen {
            Ok(chosen) => writeln!(f, "chosen: {chosen}: {}", self.rule(chosen))?,
            Err(Error::NothingFits { .. }) => {
                writeln!(f, "chosen: none: every kernel of the function refuses")?;
            }
            Err(error) => writeln!(f, "chosen: none: {error}")?,
        }
        let mut told: BTreeSet<String> = BTreeSet::new();
        for Answer { kernel, why } in &self.others {
            match why {
                Why::Refused { refusals } => {
                    for refusal in refusals.iter().map(ToString::to_string) {
                        // Once, with all kernels that it is of.
                        if !told.contains(&refusal) {
                            let kernels = some_of(&self.refused_by(&refusal), MOST_NAMED);
                            writeln!(f, "refused: {kernels}: {refusal}")?;
                            told.insert(refusal);
                        }
                    }
                }
                Why::Slower { us } => {
                    writeln!(f, "fits: {kernel}: {us:.2} {} in that row", self.unit())?;
                }
                Why::NotInRow => writeln!(f, "fits: {kernel}: that row does not name it")?,
                Why::Later { rule } => writeln!(f, "fits: {kernel}: {rule}")?,
            }
        }
        Ok(())
    }
}
