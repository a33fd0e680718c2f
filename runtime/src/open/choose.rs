//! A runtime's choice of a kernel by a word and by what a caller names for it: that of its
//! [`Candidates`], counted.

use tilewright_bundle::Kernel;

use crate::error::{Error, refused};
use crate::launch::request::Request;
use crate::open::runtime::Runtime;
use crate::select::candidates::{Candidates, only};
use crate::select::explanation::Explanation;
use crate::select::pick::{Query, unknown};
use crate::select::table::Selection;

impl Runtime {
    /// The first kernel of each function of the bundle.
    pub fn functions(&self) -> Vec<&Kernel> {
        self.candidates().functions()
    }

    /// The kernel of that id, else the first of the spec of that name, else the first whose id
    /// begins so.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`] with the nearest name.
    pub fn named(&self, name: &str) -> Result<&Kernel, Error> {
        let mut meant = self.bundle().named(name).into_iter();
        meant.next().ok_or_else(|| unknown(self.bundle(), name))
    }

    /// The first kernel of each function that a word means: a spec's word, a spec's name, or the
    /// beginning of a function's hash.
    ///
    /// # Errors
    /// [`Error::UnknownWord`] when it means none.
    pub fn meant(&self, word: &str) -> Result<Vec<&Kernel>, Error> {
        self.candidates().meant(word)
    }

    /// The kernel to use: of the functions that `word` means, each with what is named for it, the
    /// one that takes these operands; of its kernels the one that the bundle's tables choose, else
    /// the first that fits. Its code is loaded: one that the device refuses is passed over.
    ///
    /// # Errors
    /// [`Error::NoFunction`] and [`Error::ManyFunctions`] unless exactly one takes the operands;
    /// [`Error::Refused`] when they disagree with it; [`Error::NothingFits`].
    pub fn choose(
        &self,
        word: &str,
        meant: &[(&Kernel, &Request<'_>)],
    ) -> Result<Selection<'_>, Error> {
        let (kernel, request) = only(word, meant)?;
        let problem = self.candidates().problem(kernel, request);
        let problem = problem.map_err(|refusals| refused(kernel, refusals))?;
        self.usable_at(&Query::like(kernel), &problem, &request.addresses())
    }

    /// As [`Runtime::choose`], with what every kernel of the function answers. Code that nobody has
    /// wanted yet is loaded for it, as a choice does: what the device refuses is not chosen. No
    /// kernel that is passed over is counted.
    pub fn explain(&self, word: &str, meant: &[(&Kernel, &Request<'_>)]) -> Explanation {
        let asked = only(word, meant).ok();
        let problem =
            asked.and_then(|(kernel, asked)| self.candidates().problem(kernel, asked).ok());
        let problem = problem.unwrap_or_default();
        loop {
            let known = |kernel: &Kernel| self.known_refusal(kernel, &problem);
            let mut told = self.candidates().explain_with(word, meant, known);
            let chosen = told.chosen.as_ref().ok();
            let Some(kernel) = chosen.and_then(|chosen| self.bundle().kernel(&chosen.kernel))
            else {
                return told;
            };
            match self.refused_code(kernel, &problem) {
                Ok(None) => return told,
                // What is refused is known from now on.
                Ok(Some(_)) => {}
                Err(error) => {
                    told.chosen = Err(error);
                    return told;
                }
            }
        }
    }

    /// The bundle's kernels as candidates for the device.
    pub fn candidates(&self) -> Candidates<'_> {
        Candidates::new(self.bundle(), self.selector(), self.device().info())
    }
}

#[cfg(test)]
mod tests;
