//! Choosing a kernel by a word and by what a caller names for it, and saying why.
//!
//! A word is a spec's word (`gemm`), a spec's name, or the beginning of a function's hash. It may
//! mean several functions; the operands' names, types and axes tell which. Of the kernels of that
//! function the bundle's tables choose, else its order.

use std::fmt;

use tilewright_bundle::Kernel;

use crate::error::{Error, Refusal, refused};
use crate::launch::fit;
use crate::pick::{Pick, Query, misaligned, pick};
use crate::problem::Problem;
use crate::request::Request;
use crate::runtime::Runtime;
use crate::select::Selection;

/// Characters of a function's hash that name it at least.
const SHORT_HASH: usize = 6;

/// What a kernel answered that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The kernel's id.
    pub kernel: String,
    /// Why it cannot run; empty where it could.
    pub refusals: Vec<Refusal>,
}

/// A choice with its reasons; it prints as text for a reader.
#[derive(Debug)]
pub struct Explanation {
    /// The word asked for.
    pub word: String,
    /// What is computed, and the function's hash; empty where no function takes the operands.
    pub function: Option<(String, String)>,
    /// The kernel chosen and how it was found, or why there is none.
    pub chosen: Result<String, Error>,
    /// The other kernels of the function.
    pub others: Vec<Answer>,
}

impl Runtime {
    /// The first kernel of each function of the bundle.
    pub fn functions(&self) -> Vec<&Kernel> {
        first_of_each(self.kernels().iter())
    }

    /// The kernel of that id, else the first whose id begins so, else the first of that spec.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`] with the nearest name.
    pub fn named(&self, name: &str) -> Result<&Kernel, Error> {
        let kernels = self.kernels();
        let exact = kernels.iter().find(|kernel| kernel.id == name);
        let begun = || kernels.iter().find(|kernel| kernel.id.starts_with(name));
        match exact.or_else(begun) {
            Some(kernel) => Ok(kernel),
            None => self.find(name, None).map(|pick| pick.kernel),
        }
    }

    /// The first kernel of each function that a word means.
    ///
    /// # Errors
    /// [`Error::UnknownWord`] when it means none.
    pub fn meant(&self, word: &str) -> Result<Vec<&Kernel>, Error> {
        let is_hash = word.len() >= SHORT_HASH;
        let means = |kernel: &&Kernel| {
            let hash = || kernel.semantics.function.to_string();
            kernel.kernel == word || kernel.spec == word || (is_hash && hash().starts_with(word))
        };
        let found = first_of_each(self.kernels().iter().filter(means));
        if found.is_empty() {
            let kernels = self.kernels().iter();
            let mut known: Vec<String> = kernels.map(|kernel| kernel.kernel.clone()).collect();
            known.sort_unstable();
            known.dedup();
            let word = word.to_owned();
            return Err(Error::UnknownWord { word, known });
        }
        Ok(found)
    }

    /// The kernel to use: of the functions that `word` means, each with what is named for it, the
    /// one that takes these operands; of its kernels the one that the bundle's tables choose, else
    /// the first that fits.
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
        let problem = request.problem(kernel).map_err(|r| refused(kernel, r))?;
        self.select_at(&Query::like(kernel), &problem, &request.addresses())
    }

    /// As [`Runtime::select`], for operands that lie at these addresses.
    pub(crate) fn select_at(
        &self,
        query: &Query,
        problem: &Problem,
        addresses: &[(&str, u64)],
    ) -> Result<Selection<'_>, Error> {
        let chosen = self.select(query, problem, &[])?;
        if misaligned(chosen.kernel, addresses).is_empty() {
            return Ok(chosen);
        }
        let (bundle, info) = (self.bundle(), self.device().info());
        let picked: Pick<'_> = pick(bundle, query, problem, info, addresses)?;
        Ok(Selection::untuned(picked.kernel))
    }

    /// As [`Runtime::choose`], with what every kernel of the function answers.
    pub fn explain(&self, word: &str, meant: &[(&Kernel, &Request<'_>)]) -> Explanation {
        let chosen = self.choose(word, meant);
        let found = only(word, meant).ok();
        let function = found.map(|(kernel, _)| {
            let semantics = &kernel.semantics;
            let formula: Vec<&str> = semantics.compute.lines().collect();
            (formula.join("; "), semantics.function.to_string())
        });
        let id = chosen.as_ref().map(|c| c.kernel.id.clone()).ok();
        let mut others = Vec::new();
        if let Some((of, request)) = found {
            let same = |k: &&Kernel| k.semantics.function == of.semantics.function;
            for kernel in self.kernels().iter().filter(same) {
                if Some(&kernel.id) != id.as_ref() {
                    others.push(self.answer(kernel, request));
                }
            }
        }
        Explanation {
            word: word.to_owned(),
            function,
            chosen: chosen.map(|selection| told(&selection)),
            others,
        }
    }

    fn answer(&self, kernel: &Kernel, request: &Request<'_>) -> Answer {
        let info = self.device().info();
        let problem = request.problem(kernel);
        let fits = problem.and_then(|problem| fit(kernel, &problem, info));
        let mut refusals = fits.err().unwrap_or_default();
        refusals.extend(misaligned(kernel, &request.addresses()));
        Answer {
            kernel: kernel.id.clone(),
            refusals,
        }
    }
}

/// A selection as text.
fn told(selection: &Selection<'_>) -> String {
    let id = &selection.kernel.id;
    let near = selection.nearest.map(|extents| {
        let extents: Vec<String> = extents.iter().map(i64::to_string).collect();
        format!(", by {} at {:.2}", extents.join("x"), selection.distance)
    });
    let (source, near) = (selection.source.text(), near.unwrap_or_default());
    format!("{id} ({source}{near})")
}

/// The first kernel of each function.
fn first_of_each<'k>(kernels: impl Iterator<Item = &'k Kernel>) -> Vec<&'k Kernel> {
    let mut found: Vec<&Kernel> = Vec::new();
    for kernel in kernels {
        let function = &kernel.semantics.function;
        if !found.iter().any(|k| k.semantics.function == *function) {
            found.push(kernel);
        }
    }
    found
}

/// The one function that takes what is named for it.
fn only<'k, 'r, 'n>(
    word: &str,
    meant: &[(&'k Kernel, &'r Request<'n>)],
) -> Result<(&'k Kernel, &'r Request<'n>), Error> {
    let mut others: Vec<String> = Vec::new();
    let mut takers: Vec<(&'k Kernel, &'r Request<'n>)> = Vec::new();
    for (kernel, request) in meant {
        match request.mismatch(kernel) {
            None => takers.push((kernel, request)),
            Some(why) => others.push(format!("{}: {why}", kernel.spec)),
        }
    }
    let word = word.to_owned();
    match takers.as_slice() {
        [one] => Ok(*one),
        [] => {
            others.dedup();
            Err(Error::NoFunction { word, others })
        }
        many => {
            let told =
                |k: &Kernel| format!("{} ({:.12})", k.spec, k.semantics.function.to_string());
            let functions = many.iter().map(|(kernel, _)| told(kernel)).collect();
            Err(Error::ManyFunctions { word, functions })
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((formula, hash)) = &self.function {
            writeln!(f, "{}: {formula} ({hash:.12})", self.word)?;
        }
        match &self.chosen {
            Ok(chosen) => writeln!(f, "chosen: {chosen}")?,
            Err(error) => writeln!(f, "chosen: none: {error}")?,
        }
        for Answer { kernel, refusals } in &self.others {
            if refusals.is_empty() {
                writeln!(f, "fits: {kernel}")?;
            }
            for refusal in refusals {
                writeln!(f, "refused: {kernel}: {refusal}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
