//! How kernels are made, apart from their specs: what judges them, and what lies beside their PTX.
//!
//! Comes in: words of a command or a build script. Goes out: a [`Making`], which fits together, and
//! of each kernel's text what the assembler says and makes.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tilewright_bundle::Route;

use crate::arch::{ARCHES, Arch};
use crate::error::{Error, Result, shown};
use crate::ptx::ptxas::{self, PtxasReport};

/// Where it stands which lines of the PTX come from what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineInfo {
    /// In the manifest alone.
    #[default]
    Beside,
    /// In the PTX as well, by `.file` and `.loc`, as profilers read them.
    Directives,
}

/// The machine code of a bundle, one for each kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCode {
    /// Compute capability, times ten, of the GPUs that it is for; nothing for the architecture of
    /// each kernel's own PTX.
    sm: Option<u32>,
    /// Whether it alone is run, or the PTX as well.
    pub route: Route,
}

/// How kernels are made, apart from their specs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Making {
    /// Where it stands what lines come from.
    pub line_info: LineInfo,
    /// The assembler that judges kernels; none leaves them unjudged.
    pub ptxas: Option<PathBuf>,
    /// What it makes of them beside the PTX.
    pub machine_code: Option<MachineCode>,
}

impl MachineCode {
    /// By a word: `never`, `own`, or an architecture, of which `sm_90` and `sm_90a` name the same
    /// GPUs; `alone` where no PTX is to be run.
    ///
    /// # Errors
    /// [`Error::Tool`] for another word, an architecture that the assembler does not know any more,
    /// or code alone where there is none.
    pub fn chosen(word: &str, alone: bool) -> Result<Option<MachineCode>> {
        let refused = |message: String| {
            let tool = "machine code";
            Error::Tool { tool, message }
        };
        let route = match alone {
            true => Route::CubinOnly,
            false => Route::Ptx,
        };
        let sm = match word {
            "never" if alone => {
                return Err(refused(
                    "it alone is to be run, and there is none: say for which GPUs \
                     (--cubin sm_90), or leave --cubin-only out"
                        .to_owned(),
                ));
            }
            "never" => return Ok(None),
            "own" => None,
            _ => {
                let known: Vec<&str> = assembled().map(|arch| arch.name).collect();
                let named = assembled().find(|arch| arch.name == word).ok_or_else(|| {
                    let known = known.join(", ");
                    refused(format!("{:?} is none of never, own, {known}", shown(word)))
                })?;
                Some(named.sm)
            }
        };
        Ok(Some(MachineCode { sm, route }))
    }

    /// The architecture that a kernel's code is for; `None` of a kernel that those GPUs do not run.
    pub fn arch(self, own: &Arch) -> Option<Arch> {
        match self.sm {
            None => Some(*own),
            Some(sm) if own.exact => Some(*own).filter(|own| own.sm == sm),
            Some(sm) if sm < own.sm => None,
            Some(sm) => assembled().find(|arch| arch.sm == sm && !arch.exact),
        }
    }
}

/// Architectures that the assembler still knows.
fn assembled() -> impl Iterator<Item = Arch> {
    ARCHES
        .iter()
        .copied()
        .filter(|arch| arch.ptxas_target == arch.name)
}

/// As locks and messages have it: `own`, `sm_90`, `sm_90 alone`.
impl fmt::Display for MachineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sm {
            None => f.write_str("own")?,
            Some(sm) => write!(f, "sm_{sm}")?,
        }
        match self.route {
            Route::Ptx => Ok(()),
            Route::CubinOnly => f.write_str(" alone"),
        }
    }
}

impl Making {
    /// By the words of a command: which assembler, and what machine code.
    ///
    /// # Errors
    /// [`Error::Tool`] when the assembler is not there and is needed, those of
    /// [`MachineCode::chosen`].
    pub fn chosen(line_info: LineInfo, ptxas: &OsStr, cubin: (&str, bool)) -> Result<Making> {
        let machine_code = MachineCode::chosen(cubin.0, cubin.1)?;
        let ptxas = match machine_code {
            Some(_) if ptxas == "if-found" => ptxas::chosen(OsStr::new("required"))?,
            _ => ptxas::chosen(ptxas)?,
        };
        if let (Some(code), None) = (machine_code, &ptxas) {
            return Err(Error::Tool {
                tool: "ptxas",
                message: format!(
                    "machine code ({code}) is made by ptxas, which is never to be run: leave \
                     --ptxas out, or --cubin"
                ),
            });
        }
        Ok(Making {
            line_info,
            ptxas,
            machine_code,
        })
    }

    /// The architecture of a kernel's machine code, if it has any.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a kernel that would have no code to run.
    pub fn code_arch(&self, kernel: &str, own: &Arch) -> Result<Option<Arch>> {
        let Some(code) = self.machine_code else {
            return Ok(None);
        };
        match (code.arch(own), code.route, code.sm) {
            (None, Route::CubinOnly, Some(sm)) => Err(Error::Unsupported {
                feature: format!("{kernel}, a kernel for {own} to be run as machine code alone,"),
                arch: format!("sm_{sm}"),
                hint: format!(
                    "build what such GPUs run (--arch sm_{sm}), or leave --cubin-only out"
                ),
            }),
            (arch, ..) => Ok(arch),
        }
    }

    /// Has a text assembled for its own architecture and for that of the machine code, where it is
    /// another.
    ///
    /// # Errors
    /// Those of [`ptxas::assemble_with`].
    pub fn assembled(&self, text: &str, own: &Arch, code: Option<&Arch>) -> Result<Assembled> {
        let Some(path) = &self.ptxas else {
            return Ok(Assembled::Good(Vec::new()));
        };
        let other = code.filter(|code| code.ptxas_target != own.ptxas_target);
        let mut reports = Vec::new();
        for arch in [Some(own), other].into_iter().flatten() {
            let report = ptxas::assemble_with(path, text, arch)?;
            if !ptxas::gate(&report).is_empty() {
                return Ok(Assembled::Refused(report));
            }
            reports.push(report);
        }
        Ok(Assembled::Good(reports))
    }
}

/// What the assembler says of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assembled {
    /// Nothing against it: a report for each architecture, that of the machine code last; none
    /// without an assembler.
    Good(Vec<PtxasReport>),
    /// It spills, uses local memory or serializes.
    Refused(PtxasReport),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn target(word: &str, own: &str) -> Option<&'static str> {
        let code = MachineCode::chosen(word, false).unwrap()?;
        let arch = code.arch(&Arch::parse(own).unwrap());
        arch.map(|arch| arch.ptxas_target)
    }

    #[test]
    fn code_is_for_the_gpu_that_was_named_or_for_the_kernels_own() {
        let rows = [
            ("own", "sm_90a", Some("sm_90a")),
            ("own", "sm_80", Some("sm_80")),
            ("own", "sm_70", Some("sm_75")),
            ("sm_90", "sm_90a", Some("sm_90a")),
            ("sm_90", "sm_80", Some("sm_90")),
            ("sm_90a", "sm_80", Some("sm_90")),
            ("sm_86", "sm_80", Some("sm_86")),
            ("sm_80", "sm_90a", None),
            ("sm_75", "sm_80", None),
            ("sm_75", "sm_70", Some("sm_75")),
            ("never", "sm_80", None),
        ];
        for (word, own, want) in rows {
            assert_eq!(target(word, own), want, "{word} of {own}");
        }
    }

    #[test]
    fn other_words_are_refused_with_those_that_are_known() {
        let said = |word, alone| MachineCode::chosen(word, alone).unwrap_err().to_string();
        for word in ["sm_70", "sm_42", "auto", ""] {
            let told = said(word, false);
            assert!(told.ends_with("sm_89, sm_90, sm_90a"), "{told}");
        }
        assert!(said("never", true).contains("--cubin sm_90"));
    }

    #[test]
    fn no_assembler_makes_no_code() {
        let words = |ptxas: &str, cubin| {
            Making::chosen(LineInfo::Beside, OsStr::new(ptxas), (cubin, false))
        };
        assert_eq!(words("never", "never").unwrap(), Making::default());
        let error = words("never", "own").unwrap_err().to_string();
        assert!(error.contains("leave --ptxas out, or --cubin"), "{error}");
    }

    #[test]
    fn code_alone_is_for_every_kernel() {
        let machine_code = MachineCode::chosen("sm_80", true).unwrap();
        assert_eq!(machine_code.unwrap().to_string(), "sm_80 alone");
        let making = Making {
            machine_code,
            ..Making::default()
        };
        let own = |name| Arch::parse(name).unwrap();
        assert_eq!(
            making.code_arch("k", &own("sm_80")).unwrap().unwrap().name,
            "sm_80"
        );
        let error = making
            .code_arch("k", &own("sm_90a"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--arch sm_80"), "{error}");
    }
}
