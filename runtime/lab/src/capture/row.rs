//! One row of a capture: a kernel, a problem, inputs, and the hashes of what came out.
//!
//! Rows are JSON lines. Format 1 has these fields, besides those that say when and where:
//!
//! | field | |
//! |---|---|
//! | `format` | 1 |
//! | `kernel`, `ptx_sha256` | which kernel, and the hash of the PTX that ran |
//! | `problem` | extents |
//! | `operands` | types, layouts, strides in elements, bytes from a 256-byte boundary |
//! | `inputs`, `seed`, `index` | `integers`, `wide`, ...; the run's seed, the problem's number |
//! | `inputs_sha256` | over all inputs, which seed and number repeat, in the kernel's order |
//! | `outputs` | bytes and hash of each output, and its first elements |
//!
//! Hashes cover operands as they lie in memory, gaps between rows included.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tilewright_bundle::{DType, Kernel, Sha256Hex, read_plain_file};

use super::Options;
use crate::bench::RowProblem;
use crate::json_lines;
use crate::verify::{Case, Data, Trace, promised};
use tilewright_runtime::Device;
use tilewright_runtime::DeviceInfo;
use tilewright_runtime::Problem;
use tilewright_runtime::{Error, RecordsError};

/// The row format this crate writes and the only one it reads.
pub const CAPTURE_FORMAT: u32 = 1;

/// One operand of a captured problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOperand {
    /// Its name in the kernel.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// The kernel's layout: `(m,k):(lda,1)`.
    pub layout: String,
    /// The problem's strides in elements, first axis first.
    pub strides: Vec<i64>,
    /// Bytes from a 256-byte boundary to its first element.
    pub offset_bytes: u64,
}

/// What was found in one output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOutput {
    /// The operand.
    pub name: String,
    /// Bytes under the hash, from the boundary that the offset counts from.
    pub bytes: u64,
    /// The hash.
    pub sha256: Sha256Hex,
    /// The first bytes of its elements, row by row, in hexadecimal.
    pub head: String,
}

/// One kernel on one problem of one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// [`CAPTURE_FORMAT`].
    pub format: u32,
    /// When, as RFC 3339.
    pub date: String,
    /// The commit of the program.
    pub commit: String,
    /// `cuda` or `emulator`.
    pub backend: String,
    /// The device's name.
    pub gpu: String,
    /// Its compute capability; `null` on the emulator.
    pub sm: Option<u32>,
    /// The driver's version; empty on the emulator.
    pub driver: String,
    /// The `ptxas` that checked the kernels.
    pub ptxas: String,
    /// The kernel's id.
    pub kernel: String,
    /// Hash of its PTX.
    pub ptx_sha256: Sha256Hex,
    /// Extents.
    pub problem: RowProblem,
    /// The operands, in the kernel's order.
    pub operands: Vec<RowOperand>,
    /// What the inputs held.
    pub inputs: String,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the problem in the run.
    pub index: u64,
    /// Hash of the inputs.
    pub inputs_sha256: Sha256Hex,
    /// The outputs, in the kernel's order.
    pub outputs: Vec<RowOutput>,
}

/// Where rows come from.
pub(super) struct Origin<'a> {
    pub info: &'a DeviceInfo,
    pub driver: &'a str,
    pub options: &'a Options,
    pub data: Data,
    pub index: u64,
}

impl Origin<'_> {
    /// The row of one launch.
    pub fn row(&self, kernel: &Kernel, case: &Case, trace: Trace) -> Row {
        let stamp = &self.options.stamp;
        let operands = kernel.semantics.operands.iter().zip(&case.offsets);
        let outputs = trace.outputs.into_iter();
        Row {
            format: CAPTURE_FORMAT,
            date: stamp.date.clone(),
            commit: stamp.commit.clone(),
            backend: self.info.backend.text().to_owned(),
            gpu: self.info.name.clone(),
            sm: self.info.sm,
            driver: self.driver.to_owned(),
            ptxas: stamp.ptxas.clone(),
            kernel: kernel.id.clone(),
            ptx_sha256: kernel.ptx.sha256.clone(),
            problem: RowProblem::of(&case.problem),
            operands: operands
                .filter_map(|(operand, offset)| {
                    let strides = case.problem.strides(&operand.name)?;
                    Some(RowOperand {
                        name: operand.name.clone(),
                        dtype: operand.dtype,
                        layout: operand.layout.text().to_owned(),
                        strides: strides.to_vec(),
                        offset_bytes: *offset,
                    })
                })
                .collect(),
            inputs: self.data.text().to_owned(),
            seed: self.options.seed,
            index: self.index,
            inputs_sha256: trace.inputs,
            outputs: outputs
                .map(|written| RowOutput {
                    name: written.operand,
                    bytes: written.bytes,
                    sha256: written.sha256,
                    head: hex(&written.head),
                })
                .collect(),
        }
    }
}

impl Row {
    /// The problem of the row.
    pub fn problem(&self) -> Problem {
        let operands = self.operands.iter();
        operands.fold(self.problem.problem(), |problem, operand| {
            problem.with_strides(&operand.name, operand.strides.clone())
        })
    }

    /// Whether a kernel still has the operands of the row; else which one is another.
    pub(super) fn same_operands(&self, kernel: &Kernel) -> Result<(), String> {
        let now = &kernel.semantics.operands;
        if now.len() != self.operands.len() {
            return Err(format!(
                "it has {} operands and had {}",
                now.len(),
                self.operands.len()
            ));
        }
        for (now, was) in now.iter().zip(&self.operands) {
            let now = (now.name.as_str(), now.dtype, now.layout.text());
            let was = (was.name.as_str(), was.dtype, was.layout.as_str());
            if now != was {
                return Err(format!(
                    "operand `{}` is {} {} and was `{}` {} {}",
                    now.0, now.1, now.2, was.0, was.1, was.2
                ));
            }
        }
        Ok(())
    }

    /// The case that the row's problem is on a device.
    ///
    /// # Errors
    /// When the kernel does not take the problem there.
    pub(super) fn case(&self, kernel: &Kernel, device: &Device) -> Result<Case, Error> {
        // Inputs are drawn as they were, and keep what they kept.
        let problem = promised(kernel, self.problem());
        let fit = device.fit(kernel, &problem)?;
        let offsets = self.operands.iter().map(|o| o.offset_bytes).collect();
        Ok(Case {
            problem,
            fit,
            offsets,
        })
    }

    /// The row as one line of JSON.
    ///
    /// # Errors
    /// Never for rows this crate makes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Longest file of rows: a thousand times what all of ours have.
const MOST_BYTES: u64 = 4 << 30;

/// The rows of a file.
///
/// # Errors
/// When it cannot be read, or a line is no row of this format.
pub fn read(path: &Path) -> Result<Vec<Row>, RecordsError> {
    let bytes = read_plain_file(path, MOST_BYTES).map_err(|error| RecordsError::Io {
        path: path.to_owned(),
        error,
    })?;
    json_lines::parse(path, &bytes, CAPTURE_FORMAT, |line| {
        serde_json::from_slice(line).map_err(|error| vec![error.to_string()])
    })
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
