//! Lines of a kernel's PTX that no problem executed, and comparisons whose sides none made equal.
//!
//! In: a kernel and the emulator. Out: the emulator as it notes what it executes, and which lines
//! are left when all problems are done. What is wrong in those, no problem can have told.

use serde::Serialize;
use tilewright_bundle::{Assumption, Kernel, Name};
use tilewright_emulator::{Module, Reached};
use tilewright_runtime::{Device, Runtime};

/// What no problem of a kernel executed or compared as equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreached {
    /// The kernel's id.
    pub kernel: String,
    /// First and last line of its PTX, counted from 1, of what is left in one piece.
    pub ranges: Vec<[u32; 2]>,
    /// How many lines with instructions that are.
    pub lines: usize,
    /// How many lines have instructions.
    pub of: usize,
    /// Lines that compare integers which no problem made equal: what is wrong for equal ones alone,
    /// such as `setp.le` in the place of `setp.lt`, none told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unequal: Vec<u32>,
    /// How many lines compared integers.
    pub compared: usize,
    /// What the kernel assumes of extents: lines for others than those no problem can reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
}

/// What is noted while a kernel is verified.
#[derive(Debug)]
pub(super) struct Noted {
    /// Lines that have instructions, ascending.
    lines: Vec<u32>,
    reached: Reached,
}

impl Noted {
    /// Of a kernel whose PTX can be read; a GPU notes nothing.
    pub fn of(runtime: &Runtime, kernel: &Kernel) -> Option<Noted> {
        let Device::Emulator(_) = runtime.device() else {
            return None;
        };
        let text = runtime.bundle().ptx(kernel);
        let mut lines = Module::parse(text).ok()?.instruction_lines();
        // The end of a function, where none of its paths leads, is none of its text.
        let written: Vec<&str> = text.lines().collect();
        lines.retain(|line| {
            let text = written.get(line.saturating_sub(1) as usize);
            text.is_some_and(|text| !text.trim().trim_matches('}').is_empty())
        });
        let last = lines.last().copied().unwrap_or(0);
        let reached = Reached::of_lines(last);
        Some(Noted { lines, reached })
    }

    /// The device as it notes what it executes.
    pub fn on(&self, device: Device) -> Device {
        match device {
            Device::Emulator(emulated) => Device::Emulator(emulated.with_reached(&self.reached)),
            device => device,
        }
    }

    /// Lines that have instructions, ascending.
    pub fn lines(&self) -> impl Iterator<Item = u32> {
        self.lines.iter().copied()
    }

    /// How far apart the sides of a comparison were that no problem made equal, where they were
    /// closest since this was asked before.
    pub fn take_apart(&self, line: u32) -> Option<i64> {
        self.reached.take_apart(line)
    }

    /// Whether a problem made the sides of a comparison equal.
    pub fn is_equal(&self, line: u32) -> bool {
        self.reached.equal(line) == Some(true)
    }

    /// How many lines were executed, and how many comparisons had equal sides.
    pub fn met(&self) -> usize {
        let executed = self.lines().filter(|line| self.reached.has(*line)).count();
        executed + self.lines().filter(|line| self.is_equal(*line)).count()
    }

    /// Whether a line was not executed, or no sides of a comparison were equal.
    pub fn is_open(&self) -> bool {
        let is_open = |line| !self.reached.has(line) || self.reached.equal(line) == Some(false);
        self.lines().any(is_open)
    }

    /// What is left; none where nothing is.
    pub fn left(&self, kernel: &Kernel) -> Option<Unreached> {
        let is_left = |line: &u32| !self.reached.has(*line);
        let pieces = self.lines.chunk_by(|a, b| is_left(a) == is_left(b));
        let pieces = pieces.filter(|piece| piece.first().is_some_and(is_left));
        let pieces: Vec<&[u32]> = pieces.collect();
        let ends = |piece: &&[u32]| Some([*piece.first()?, *piece.last()?]);
        let compared = self
            .lines
            .iter()
            .filter_map(|line| Some((*line, self.reached.equal(*line)?)));
        let compared: Vec<(u32, bool)> = compared.collect();
        let unequal: Vec<u32> = (compared.iter().filter(|(_, equal)| !equal))
            .map(|(line, _)| *line)
            .collect();
        (!pieces.is_empty() || !unequal.is_empty()).then(|| Unreached {
            unequal,
            compared: compared.len(),
            kernel: kernel.id.clone(),
            ranges: pieces.iter().filter_map(ends).collect(),
            lines: pieces.iter().map(|piece| piece.len()).sum(),
            of: self.lines.len(),
            assumed: of_extents(kernel),
        })
    }
}

/// The assumptions of a kernel that are of its extents alone.
fn of_extents(kernel: &Kernel) -> Vec<String> {
    let extents: Vec<Name> = kernel.free_extents().map(|(name, _)| name).collect();
    let own = kernel.assumptions.iter().filter_map(|one| match one {
        Assumption::Expr { expr, .. } => Some(expr),
        Assumption::Align { .. } | Assumption::Promise { .. } => None,
    });
    let own = own.filter(|expr| expr.names().all(|name| extents.contains(&name)));
    own.map(|expr| expr.text().to_owned()).collect()
}
