//! A launch with what it must give: bytes, or what a formula allows.

use tilewright_emulator::{Alternatives, Module, Options};
use tilewright_formula::interpret::Output;
use tilewright_lab::launch_file::{Prepared, Ran};
use tilewright_lab::verify::decode;
use tilewright_runtime::{Extents, POISON};

use super::Failure;

/// A launch, and what its buffers must hold behind it.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The launch, whose buffers say which bytes they must hold, if any.
    pub prepared: Prepared,
    /// Outputs that may hold more than one thing.
    pub(super) allowed: Vec<Allowed>,
}

/// An output that holds what its formula allows, and poison between its elements.
#[derive(Clone, Debug)]
pub(super) struct Allowed {
    /// Its buffer, by its place.
    pub buffer: usize,
    pub extents: Extents,
    pub output: Output,
    /// What its elements were before the launch, last axis innermost.
    pub before: Option<Vec<u8>>,
}

impl Trial {
    /// A launch whose buffers say all that is known.
    pub fn of(prepared: Prepared) -> Trial {
        Trial {
            prepared,
            allowed: Vec::new(),
        }
    }

    /// One run, and which of the other programs may run differently.
    ///
    /// # Errors
    /// When the launch could not be made.
    pub fn run_beside(
        &self,
        module: &Module,
        alternatives: &Alternatives,
        options: &Options,
    ) -> Result<(Ran, Vec<bool>), Failure> {
        Ok(self.prepared.run_beside(module, alternatives, options)?)
    }

    /// What is wrong with what a run left, if anything is.
    ///
    /// # Errors
    /// When an output's type has no numbers.
    pub fn wrong(&self, ran: &Ran) -> Result<Option<String>, Failure> {
        if let Some(buffer) = ran.buffers.iter().find(|buffer| !buffer.passed) {
            return Ok(Some(buffer.to_string()));
        }
        for one in &self.allowed {
            let bytes = ran.bytes.get(one.buffer);
            if let Some(wrong) = one.wrong(bytes.map(Vec::as_slice).unwrap_or_default())? {
                return Ok(Some(wrong));
            }
        }
        Ok(None)
    }
}

impl Allowed {
    fn wrong(&self, image: &[u8]) -> Result<Option<String>, Failure> {
        let (name, dtype) = (&self.output.name, self.output.dtype);
        let dense = self.extents.gather(dtype, image, 0);
        if let Some(at) = self.extents.first_outside(dtype, (image, 0), POISON) {
            return Ok(Some(format!(
                "buffer {name}: byte {at} is no element's and was written"
            )));
        }
        let before = self.before.as_deref();
        let before = before.map(|bytes| decode(dtype, bytes)).transpose()?;
        let before = |at: usize| before.as_ref().and_then(|all| all.get(at).copied());
        let found = decode(dtype, &dense)?;
        let mut wrong = (found.iter().enumerate())
            .filter(|(at, got)| !self.output.allows(*at, **got, before(*at)));
        Ok(wrong.next().map(|(at, got)| {
            let want = self.output.at(at).value;
            let place = self.extents.coordinate(at as i64);
            format!("buffer {name}: {place} is {got} and should be {want}")
        }))
    }
}
