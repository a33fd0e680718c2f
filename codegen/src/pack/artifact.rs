//! A kernel on its way into a bundle: its manifest entry, its text, its machine code.

use serde::{Deserialize, Serialize};
use tilewright_bundle::{Kernel, Route};

use super::bytes;
use crate::ptx::ptxas::PtxasReport;

/// One kernel of a bundle: its manifest entry and its code. Crosses process boundaries as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Artifact {
    /// The manifest entry.
    pub kernel: Kernel,
    /// The module's text.
    pub ptx: String,
    /// Its machine code, if it is to be shipped.
    #[serde(default)]
    pub cubin: Option<Cubin>,
    /// What its plan takes for keys that the spec leaves to it, where the first value does not do:
    /// each with why, as its certificate has it.
    #[serde(default)]
    pub taken: Vec<String>,
}

/// Machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cubin {
    /// The architecture it was assembled for: `sm_90a`.
    pub target: String,
    /// The file.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
}

impl Artifact {
    /// Ships machine code with it. Where that alone is run it needs the driver of its assembler's
    /// own CUDA: code runs on every driver of that major version and of later ones (CUDA
    /// Compatibility, minor version compatibility).
    pub(crate) fn ship(&mut self, target: &str, report: PtxasReport, route: Route) {
        let major = report.version.split('.').next();
        let major: u32 = major.and_then(|major| major.parse().ok()).unwrap_or(0);
        self.kernel.route = route;
        if route == Route::CubinOnly {
            self.kernel.min_driver = self.kernel.min_driver.max(major * 1000);
        }
        self.cubin = Some(Cubin {
            target: target.to_owned(),
            bytes: report.cubin,
        });
    }
}

#[cfg(test)]
mod tests;
