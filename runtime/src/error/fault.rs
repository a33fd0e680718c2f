//! A kernel that faulted, and which launches it may have been.

use std::fmt;

/// A launch as messages name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Work {
    /// The kernel's id.
    pub kernel: String,
    /// Every extent and stride: `m=128 n=64 k=32 lda=32`.
    pub problem: String,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.kernel, self.problem)
    }
}

/// Who found a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundBy {
    /// The driver, whose context is lost with it.
    Driver {
        /// The call that said so; the fault itself was earlier.
        call: String,
        /// The code and the driver's sentence.
        reason: String,
    },
    /// The emulator.
    Emulator {
        /// The findings of level error, as text.
        findings: Vec<String>,
    },
}

/// A kernel that faulted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Who found it.
    pub by: FoundBy,
    /// The launches that may have done it, oldest first: enqueued, and not seen to end. On the
    /// emulator it is the one that did.
    pub suspects: Vec<Work>,
    /// How many launches before those are not known any more.
    pub earlier: u64,
    /// Whether the device's context is lost with it: always on a GPU, on the emulator where its
    /// settings say that faults stick.
    pub is_sticky: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, reason) = match &self.by {
            FoundBy::Emulator { findings } => {
                let kernels = self.suspects.iter().map(|work| work.kernel.as_str());
                let kernels: Vec<&str> = kernels.collect();
                let (kernels, findings) = (kernels.join(", "), findings.join("; "));
                return write!(f, "{kernels}: the emulator found {findings}");
            }
            FoundBy::Driver { call, reason } => (call, reason),
        };
        write!(f, "{call} failed: {reason}; ")?;
        match self.suspects.as_slice() {
            [] => f.write_str("no launch of this runtime was under way")?,
            [one] => write!(f, "under way was {one}")?,
            many => {
                let launches: Vec<String> = many.iter().map(Work::to_string).collect();
                write!(f, "under way was one of {}", launches.join("; "))?;
            }
        }
        match self.earlier {
            0 => Ok(()),
            more => write!(f, ", or one of {more} launches before"),
        }
    }
}
