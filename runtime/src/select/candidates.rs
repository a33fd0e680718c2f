//! The kernels of a bundle as candidates for a problem, on a device that need not be here.
//!
//! In: a word and what a caller names for it. Out: the kernel chosen, and what speaks against each
//! other one. Nothing is loaded, launched or counted: that is what a [`Runtime`](crate::Runtime)
//! adds, whose choices are these.
//!
//! A word is a spec's word (`gemm`), a spec's name, or the beginning of a function's hash. It may
//! mean several functions; the operands' names, types and axes tell which. Of the kernels of that
//! function the bundle's tables choose, else its order.

use std::fmt;

use tilewright_bundle::{Bundle, Kernel, TunedPoint};

use crate::error::{Error, Refusal, Skip, refused};
use crate::launch::fit::fit;
use crate::launch::info::DeviceInfo;
use crate::launch::problem::Problem;
use crate::launch::request::Request;
use crate::select::explanation::{Answer, Chosen, Computed, Explanation, Tuned, Why};
use crate::select::functions::{differing_types, first_of_each, told_apart};
use crate::select::pick::{Query, after, among, misaligned};
use crate::select::table::{Selection, Selector, Source, is_device};

/// Characters of a function's hash that name it at least.
const SHORT_HASH: usize = 6;

/// The kernels of a bundle as candidates for a device.
///
/// ```no_run
/// use tilewright_runtime::bundle::Bundle;
/// use tilewright_runtime::{Candidates, DeviceInfo, Problem, Request, Selector};
/// let bundle = Bundle::open("kernels.bundle".as_ref())?;
/// // A GPU that need not be here.
/// let device = DeviceInfo::of_capability(90);
/// let selector = Selector::new(&bundle, &device);
/// let candidates = Candidates::new(&bundle, &selector, &device);
/// let problem = Problem::new(64, 64, 32);
/// let problem = problem.row_major("a", 32).row_major("b", 32).row_major("d", 64);
/// let gemms = candidates.meant("gemm")?;
/// let request = Request::of_problem(gemms[0], &problem);
/// println!("{}", candidates.explain("gemm", &[(gemms[0], &request.unwrap())]));
/// # Ok::<(), tilewright_runtime::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Candidates<'b> {
    bundle: &'b Bundle,
    selector: &'b Selector,
    device: &'b DeviceInfo,
}

impl fmt::Debug for Candidates<'_> {
    /// The bundle in short, and the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidates")
            .field("bundle", self.bundle)
            .field("device", &format_args!("{}", self.device))
            .finish_non_exhaustive()
    }
}

impl<'b> Candidates<'b> {
    /// The kernels of `bundle` for `device`; the selector is made of both.
    pub fn new(bundle: &'b Bundle, selector: &'b Selector, device: &'b DeviceInfo) -> Self {
        Candidates {
            bundle,
            selector,
            device,
        }
    }

    /// The first kernel of each function.
    pub fn functions(&self) -> Vec<&'b Kernel> {
        first_of_each(self.bundle.kernels().iter())
    }

    /// The first kernel of each function that a word means.
    ///
    /// # Errors
    /// [`Error::UnknownWord`] when it means none.
    pub fn meant(&self, word: &str) -> Result<Vec<&'b Kernel>, Error> {
        let is_hash = word.len() >= SHORT_HASH;
        let means = |kernel: &&Kernel| {
            let hash = || kernel.semantics.function.to_string();
            kernel.kernel == word || kernel.spec == word || (is_hash && hash().starts_with(word))
        };
        let found = first_of_each(self.bundle.kernels().iter().filter(means));
        if found.is_empty() {
            let kernels = self.bundle.kernels().iter();
            let mut known: Vec<String> = kernels.map(|kernel| kernel.kernel.clone()).collect();
            known.sort_unstable();
            known.dedup();
            let word = word.to_owned();
            return Err(Error::UnknownWord { word, known });
        }
        Ok(found)
    }

    /// The kernel that the tables choose for a problem with operands at these addresses, else the
    /// first that fits, with those passed over on the way to it; `code` says whose code is refused.
    pub(crate) fn select<'p>(
        &self,
        query: &Query,
        problem: &Problem,
        at: impl Iterator<Item = (&'p str, u64)> + Clone,
        code: impl Fn(&Kernel) -> Option<Refusal>,
    ) -> Result<(Selection<'b>, Vec<Skip>), Error> {
        let (bundle, selector) = (self.bundle, self.selector);
        if let Some(chosen) =
            selector.choice(bundle, query, problem, at.clone(), |k| code(k).is_none())
        {
            return Ok((chosen, Vec::new()));
        }
        let passed_over = selector.named(bundle, query, problem).count();
        let addresses: Vec<(&str, u64)> = at.collect();
        let kernels = bundle.kernels().iter();
        let picked = among(kernels, query, problem, self.device, &addresses, code)?;
        let untuned = Selection {
            passed_over,
            ..Selection::untuned(picked.kernel)
        };
        Ok((untuned, picked.skips))
    }

    /// The kernel to use: of the functions meant, each with what is named for it, the one that
    /// takes these operands; of its kernels the one that the bundle's tables choose, else the first
    /// that fits. With what every other kernel of the function answers. Nothing is known of code,
    /// which a device may refuse: [`Runtime::explain`](crate::Runtime::explain) knows.
    pub fn explain(&self, word: &str, meant: &[(&Kernel, &Request<'_>)]) -> Explanation {
        self.explain_with(word, meant, |_| None)
    }

    /// As [`Candidates::explain`], where `code` says whose code is refused.
    pub(crate) fn explain_with(
        &self,
        word: &str,
        meant: &[(&Kernel, &Request<'_>)],
        code: impl Fn(&Kernel) -> Option<Refusal>,
    ) -> Explanation {
        let mut told = Explanation {
            word: word.to_owned(),
            device: self.device.to_string(),
            function: None,
            problem: None,
            chosen: Err(Error::Request(String::new())),
            tuned: None,
            others: Vec::new(),
        };
        let (kernel, request) = match only(word, meant) {
            Ok(found) => found,
            Err(error) => {
                told.chosen = Err(error);
                return told;
            }
        };
        let semantics = &kernel.semantics;
        let formula: Vec<&str> = semantics.compute.lines().collect();
        told.function = Some(Computed {
            hash: semantics.function.to_string(),
            formula: formula.join("; "),
        });
        let problem = self.problem(kernel, request);
        let query = Query::like(kernel);
        let row = problem.as_ref().ok().and_then(|problem| {
            told.problem = Some(as_asked(kernel, request, problem).to_string());
            self.selector.row(self.bundle, &query, problem)
        });
        let point = row.as_ref().map(|(point, _)| *point);
        let is_nothing = |problem: &Problem| problem.extents().any(|(_, extent)| extent == 0);
        told.tuned = Some(match row {
            Some((_, row)) => Tuned::Row(row),
            None if problem.as_ref().is_ok_and(is_nothing) => Tuned::Nothing,
            None => self.untuned(kernel),
        });
        let selected = match problem {
            Ok(problem) => {
                let addresses = request.addresses();
                self.select(&query, &problem, addresses.into_iter(), &code)
            }
            Err(refusals) => Err(refused(kernel, refusals)),
        };
        let selection = selected.map(|(selection, _)| selection);
        told.others = self.others(kernel, request, selection.as_ref().ok(), point, &code);
        told.chosen = selection.map(|selection| Chosen {
            kernel: selection.kernel.id.clone(),
            source: selection.source,
            us: measured(point, selection.kernel),
        });
        told
    }

    /// The problem that a request is to a kernel; strides that it does not take may be those of
    /// another kernel of its function.
    pub(crate) fn problem(
        &self,
        kernel: &Kernel,
        request: &Request<'_>,
    ) -> Result<Problem, Vec<Refusal>> {
        request.problem(kernel).or_else(|refusals| {
            let mut kernels = self.bundle.kernels().iter();
            let of_another = kernels.find_map(|other| {
                let same = other.semantics.function == kernel.semantics.function;
                same.then(|| request.problem(other).ok()).flatten()
            });
            of_another.ok_or(refusals)
        })
    }

    /// Why no row speaks of a problem of a kernel's function.
    fn untuned(&self, kernel: &Kernel) -> Tuned {
        let tables = self.bundle.tuning().into_iter().flat_map(|t| &t.tables);
        let of_function = tables.filter(|table| table.function == kernel.semantics.function);
        let mut devices: Vec<String> = Vec::new();
        for table in of_function {
            if is_device(&table.device, self.device) {
                return Tuned::OtherLayouts;
            }
            let name = table.device.to_string();
            if !devices.contains(&name) {
                devices.push(name);
            }
        }
        match devices.is_empty() {
            true => Tuned::NoTable,
            false => Tuned::OtherDevices(devices),
        }
    }

    /// What the kernels of a function answer that were not chosen.
    fn others(
        &self,
        of: &Kernel,
        request: &Request<'_>,
        chosen: Option<&Selection<'_>>,
        point: Option<&TunedPoint>,
        code: impl Fn(&Kernel) -> Option<Refusal>,
    ) -> Vec<Answer> {
        let is_other = |k: &&Kernel| {
            let same = k.semantics.function == of.semantics.function;
            same && chosen.is_none_or(|chosen| chosen.kernel.id != k.id)
        };
        let mut others: Vec<&Kernel> = self.bundle.kernels().iter().filter(is_other).collect();
        let place = |k: &&Kernel| {
            let mut choices = point.into_iter().flat_map(|point| &point.choices);
            choices.position(|choice| choice.kernel == k.id)
        };
        // Those that the row does not name keep the bundle's order behind the others.
        others.sort_by_cached_key(|k| place(k).unwrap_or(usize::MAX));
        let answer = |kernel: &Kernel| Answer {
            kernel: kernel.id.clone(),
            why: self.why_not(kernel, request, chosen, point, code(kernel)),
        };
        others.into_iter().map(answer).collect()
    }

    fn why_not(
        &self,
        kernel: &Kernel,
        request: &Request<'_>,
        chosen: Option<&Selection<'_>>,
        point: Option<&TunedPoint>,
        code: Option<Refusal>,
    ) -> Why {
        let problem = request.problem(kernel);
        let fits = problem.and_then(|problem| fit(kernel, &problem, self.device));
        let mut refusals = fits.err().unwrap_or_default();
        refusals.extend(misaligned(kernel, &request.addresses()));
        refusals.extend(code);
        if !refusals.is_empty() {
            return Why::Refused { refusals };
        }
        match chosen {
            Some(chosen) if chosen.source != Source::Untuned => {
                measured(point, kernel).map_or(Why::NotInRow, |us| Why::Slower { us })
            }
            _ => Why::Later {
                rule: after(kernel, chosen.map(|chosen| chosen.kernel)),
            },
        }
    }
}

/// A problem with the strides of the operands themselves, where it has others for axes of one
/// element, which no kernel minds.
fn as_asked(kernel: &Kernel, request: &Request<'_>, problem: &Problem) -> Problem {
    let operands = request.operands.iter().map(|placed| &placed.tensor);
    let plain = operands.filter(|tensor| {
        let operand = kernel.semantics.operand(tensor.operand);
        operand.is_some_and(|operand| operand.packed.is_none())
    });
    plain.fold(problem.clone(), |problem, tensor| {
        problem.with_strides(tensor.operand, tensor.place.stride())
    })
}

/// What a kernel took in a row.
fn measured(point: Option<&TunedPoint>, kernel: &Kernel) -> Option<f64> {
    let mut choices = point?.choices.iter();
    choices
        .find(|choice| choice.kernel == kernel.id)
        .map(|choice| choice.us)
}

/// The one function that takes what is named for it; of several the one whose types are the very
/// ones of the operands, not only read from their bits.
pub(crate) fn only<'k, 'r, 'n>(
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
    // Who gives f32 to a function of f32 and to one that reads it as tf32 means the former.
    let is_exact = |(kernel, request): &(&Kernel, &Request<'_>)| request.is_exactly(kernel);
    if takers.iter().any(is_exact) {
        takers.retain(is_exact);
    }
    // A spec's own name means that spec, also where others have it as their word.
    let is_named = |(kernel, _): &(&Kernel, &Request<'_>)| kernel.spec == word;
    if takers.iter().filter(|taker| is_named(taker)).count() == 1 {
        takers.retain(is_named);
    }
    let word = word.to_owned();
    match takers.as_slice() {
        [one] => Ok(*one),
        [] => {
            others.dedup();
            Err(Error::NoFunction { word, others })
        }
        many => {
            let many: Vec<&Kernel> = many.iter().map(|(kernel, _)| *kernel).collect();
            Err(Error::ManyFunctions {
                word,
                functions: told_apart(&many),
                types: differing_types(&many),
            })
        }
    }
}
