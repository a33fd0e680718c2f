//! Choosing a kernel of a bundle for a problem: the first that can run, with a reason for each one
//! passed over.
//!
//! The order is that of how special kernels are, by these rules, the first one deciding first:
//!
//! 1. Plain kernels, which take every layout and alignment, come last. A kernel is *plain* when it
//!    assumes nothing, has no tensor maps, which take aligned rows alone, and copies no operand
//!    first.
//! 2. Kernels with more strides that are constants come first: elements that may lie anywhere are
//!    moved one by one.
//! 3. Of kernels that fold, those that hold the shortest rows: longer tiles are empty for the most
//!    part, and what folds any number of elements may load them several times.
//! 4. Kernels that ask for more alignment: their accesses are wider.
//! 5. The order of the bundle, which is that of the spec files and of their points.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tilewright_bundle::{Assumption, Bundle, DType, Kernel, Sha256Hex};
use tilewright_formula::problem;

use crate::device::Arg;
use crate::error::{Error, Refusal, Skip, some_of};
use crate::launch::fit::{self, alignment_bytes, fit};
use crate::launch::info::DeviceInfo;
use crate::launch::problem::Problem;
use crate::select::functions::{DIGITS, first_of_each, told_apart, types, types_of};

/// What a caller wants computed, apart from the extents.
///
/// ```
/// use tilewright_runtime::Query;
/// use tilewright_runtime::bundle::DType;
/// let query = Query::gemm().with_dtype("a", DType::BF16).with_dtype("d", DType::F32);
/// assert_eq!(query.to_string(), "gemm a=bf16 d=f32");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    wanted: Wanted,
    /// Element types by operand; an operand left out may have any.
    dtypes: Vec<(String, DType)>,
    /// Type of the sums; any where it is left out.
    accumulator: Option<DType>,
}

/// A formula that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    /// The one that a word has where a spec says none, with any types.
    Default(&'static str),
    /// Exactly this function.
    Function(Sha256Hex),
}

impl Wanted {
    /// The word, or the beginning of the hash.
    fn short(&self) -> String {
        match self {
            Wanted::Default(word) => (*word).to_owned(),
            Wanted::Function(hash) => {
                let hash = hash.as_str();
                hash.get(..DIGITS).unwrap_or(hash).to_owned()
            }
        }
    }
}

impl std::fmt::Display for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.wanted {
            Wanted::Default(word) => f.write_str(word)?,
            Wanted::Function(hash) => write!(f, "{hash}")?,
        }
        f.write_str(&self.types())
    }
}

/// What a query asks about: kernels of one function agree in it.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub function: Sha256Hex,
    default_of: Option<&'static str>,
    dtypes: Vec<(String, DType)>,
    accumulator: Option<DType>,
}

impl Facts {
    pub fn of(kernel: &Kernel) -> Facts {
        let operands = kernel.semantics.operands.iter();
        Facts {
            function: kernel.semantics.function.clone(),
            default_of: kernel.default_of(),
            dtypes: operands.map(|o| (o.name.clone(), o.dtype)).collect(),
            accumulator: kernel.accumulator(),
        }
    }
}

impl Query {
    /// Products of matrices, `d[m,n] = sum[k] a[m,k] * b[n,k]`: the formula of `kernel: gemm`.
    pub fn gemm() -> Query {
        Query::wanting(Wanted::Default("gemm"))
    }

    /// Copies of matrices, `d[m,n] = s[m,n]`: the formula of `kernel: copy`.
    pub fn copy() -> Query {
        Query::wanting(Wanted::Default("copy"))
    }

    /// What this kernel computes, to the types.
    pub fn like(kernel: &Kernel) -> Query {
        Query::function(kernel.semantics.function.clone())
    }

    /// The function of that hash: `semantics.function` of a manifest's kernels.
    pub fn function(hash: Sha256Hex) -> Query {
        Query::wanting(Wanted::Function(hash))
    }

    fn wanting(wanted: Wanted) -> Query {
        Query {
            wanted,
            dtypes: Vec::new(),
            accumulator: None,
        }
    }

    /// The same query with a fixed type of the sums.
    #[must_use]
    pub fn with_accumulator(mut self, dtype: DType) -> Query {
        self.accumulator = Some(dtype);
        self
    }

    /// The same query with a fixed element type for one operand.
    #[must_use]
    pub fn with_dtype(mut self, operand: &str, dtype: DType) -> Query {
        self.dtypes.push((operand.to_owned(), dtype));
        self
    }

    /// The types that it asks for, each behind a space: ` a=bf16 sums=f32`.
    fn types(&self) -> String {
        let dtypes = self.dtypes.iter();
        let mut all: String = dtypes
            .map(|(operand, dtype)| format!(" {operand}={dtype}"))
            .collect();
        if let Some(dtype) = self.accumulator {
            all += &format!(" sums={dtype}");
        }
        all
    }

    /// Whether a kernel computes what is wanted, whatever its types.
    fn computes(&self, kernel: &Kernel) -> bool {
        match &self.wanted {
            Wanted::Default(word) => kernel.default_of() == Some(word),
            Wanted::Function(hash) => kernel.semantics.function == *hash,
        }
    }

    pub(crate) fn matches(&self, kernel: &Kernel) -> bool {
        let semantics = &kernel.semantics;
        let dtype = |name: &str| semantics.operand(name).map(|operand| operand.dtype);
        self.speaks_of(
            kernel.default_of(),
            &semantics.function,
            kernel.accumulator(),
            dtype,
        )
    }

    /// Whether kernels with these facts answer it.
    pub(crate) fn asks_for(&self, facts: &Facts) -> bool {
        let dtype = |name: &str| {
            let mut dtypes = facts.dtypes.iter();
            dtypes
                .find(|(known, _)| known == name)
                .map(|(_, dtype)| *dtype)
        };
        self.speaks_of(facts.default_of, &facts.function, facts.accumulator, dtype)
    }

    fn speaks_of(
        &self,
        default_of: Option<&'static str>,
        function: &Sha256Hex,
        accumulator: Option<DType>,
        dtype_of: impl Fn(&str) -> Option<DType>,
    ) -> bool {
        let computes = match &self.wanted {
            Wanted::Default(word) => default_of == Some(word),
            Wanted::Function(hash) => function == hash,
        };
        let has = |(name, dtype): &(String, DType)| dtype_of(name) == Some(*dtype);
        let sums = |dtype| accumulator == Some(dtype);
        computes && self.dtypes.iter().all(has) && self.accumulator.is_none_or(sums)
    }
}

/// How often kernels were passed over, by kind of refusal.
pub type SkipCounts = BTreeMap<&'static str, u64>;

/// The kernel chosen, and those before it that could not run.
#[derive(Debug, Clone)]
pub struct Pick<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Kernels passed over, in the order tried.
    pub skips: Vec<Skip>,
}

impl Pick<'_> {
    /// The skips counted by the kind of their first refusal.
    pub fn counts(&self) -> SkipCounts {
        by_kind(&self.skips)
    }
}

/// Skips counted by the kind of their first refusal.
fn by_kind(skips: &[Skip]) -> SkipCounts {
    let mut counts = SkipCounts::new();
    for refusal in skips.iter().filter_map(|skip| skip.refusals.first()) {
        *counts.entry(refusal.kind()).or_default() += 1;
    }
    counts
}

/// The first kernel of a bundle that answers `query` and takes `problem` on a device.
///
/// `addresses` gives the device address of operands already allocated, so that alignment counts;
/// an operand left out is taken as aligned.
///
/// # Errors
/// [`Error::NothingFits`] when no kernel can.
pub fn pick<'a>(
    bundle: &'a Bundle,
    query: &Query,
    problem: &Problem,
    device: &DeviceInfo,
    addresses: &[(&str, u64)],
) -> Result<Pick<'a>, Error> {
    let kernels = bundle.kernels().iter();
    among(kernels, query, problem, device, addresses, |_| None)
}

/// As [`pick`], among some of a bundle's kernels, of which `code` says whose code is refused.
pub(crate) fn among<'a>(
    kernels: impl Iterator<Item = &'a Kernel>,
    query: &Query,
    problem: &Problem,
    device: &DeviceInfo,
    addresses: &[(&str, u64)],
    code: impl Fn(&Kernel) -> Option<Refusal>,
) -> Result<Pick<'a>, Error> {
    let all: Vec<&Kernel> = kernels.collect();
    let matching = all.iter().filter(|k| query.matches(k));
    let candidates: Vec<&Kernel> = matching.copied().collect();
    if candidates.is_empty() {
        return Err(none_like(&all, query));
    }
    let functions = first_of_each(candidates.iter().copied());
    if functions.len() > 1 {
        return Err(Error::Ambiguous {
            functions: told_apart(&functions),
        });
    }
    // A function goes by its word and types, which say more than its hash.
    let wanted = match (&query.wanted, candidates.first()) {
        (Wanted::Function(_), Some(kernel)) => format!("{} ({})", kernel.kernel, types(kernel)),
        _ => query.to_string(),
    };
    first_that_fits(candidates, &wanted, problem, device, addresses, code)
}

/// Kernels of one reason that are named.
pub(crate) const MOST_NAMED: usize = 3;

/// Functions that are told of at most where none is the one that is wanted.
const MOST_TOLD: usize = 8;

/// The error of a query that no kernel answers: which types the kernels of its function have, or
/// which functions there are.
fn none_like(all: &[&Kernel], query: &Query) -> Error {
    let of_function: Vec<&Kernel> = all.iter().filter(|k| query.computes(k)).copied().collect();
    if let Some(kernel) = of_function.first() {
        let word = &kernel.kernel;
        return Error::NothingFits {
            wanted: format!("{word}{}", query.types()),
            skips: vec![format!(
                "its {word} kernels have {}",
                types_of(&of_function).join(", ")
            )],
            kinds: SkipCounts::new(),
            refused: Vec::new(),
        };
    }
    let functions = first_of_each(all.iter().copied());
    let mut told = told_apart(&functions);
    let more = told.len().saturating_sub(MOST_TOLD);
    told.truncate(MOST_TOLD);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    let skip = match told.is_empty() {
        true => "it has no kernel at all".to_owned(),
        false => format!("it computes {}", told.join("; ")),
    };
    Error::NothingFits {
        wanted: format!("{}{}", query.wanted.short(), query.types()),
        skips: vec![skip],
        kinds: SkipCounts::new(),
        refused: Vec::new(),
    }
}

/// The longest rows that a kernel folds; none where it folds nothing.
fn longest_rows(kernel: &Kernel) -> Option<i64> {
    let folded = kernel.folded();
    let most = kernel.assumptions.iter().filter_map(|one| match one {
        Assumption::Expr { expr, .. } => expr.most(),
        _ => None,
    });
    let most = most.filter(|(name, _)| folded.contains(&kernel.names.text(*name)));
    let most = most.map(|(_, most)| most).min();
    (!folded.is_empty()).then_some(most.unwrap_or(i64::MAX))
}

/// What kernels of one function are ordered by, the first to be tried being the least.
type Order = (bool, Reverse<usize>, Option<i64>, Reverse<u32>);

fn order(kernel: &Kernel) -> Order {
    let operands = || kernel.semantics.operands.iter();
    let strides = operands().flat_map(|operand| &operand.layout.stride);
    let constants = strides.filter(|stride| stride.constant_value().is_some());
    let aligned = operands().map(|operand| alignment_bytes(kernel, operand));
    (
        is_plain(kernel),
        Reverse(constants.count()),
        longest_rows(kernel),
        Reverse(aligned.sum()),
    )
}

/// Tries kernels in order.
fn first_that_fits<'a>(
    mut candidates: Vec<&'a Kernel>,
    wanted: &str,
    problem: &Problem,
    device: &DeviceInfo,
    addresses: &[(&str, u64)],
    code: impl Fn(&Kernel) -> Option<Refusal>,
) -> Result<Pick<'a>, Error> {
    candidates.sort_by_cached_key(|kernel| order(kernel));
    let mut skips = Vec::new();
    for kernel in candidates {
        let mut refusals = fit(kernel, problem, device).err().unwrap_or_default();
        refusals.extend(misaligned(kernel, addresses));
        if refusals.is_empty() {
            refusals.extend(code(kernel));
        }
        if refusals.is_empty() {
            return Ok(Pick { kernel, skips });
        }
        skips.push(Skip {
            kernel: kernel.id.clone(),
            refusals,
        });
    }
    Err(Error::NothingFits {
        wanted: wanted.to_owned(),
        skips: told(&skips),
        kinds: by_kind(&skips),
        refused: skips,
    })
}

/// The error of functions of which a device can run no kernel, for these reasons.
pub(crate) fn not_for(device: &DeviceInfo, functions: Vec<String>, refused: Vec<Skip>) -> Error {
    Error::NotForDevice {
        device: device.to_string(),
        functions,
        skips: told(&refused),
        refused,
    }
}

/// Kernels that were passed over, with every reason; those of the same reasons together, those with
/// the fewest first, and no more than a reader tells from one another.
fn told(skips: &[Skip]) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    let mut skips: Vec<&Skip> = skips.iter().collect();
    skips.sort_by_key(|skip| skip.refusals.len());
    for skip in skips {
        let why: Vec<String> = skip.refusals.iter().map(ToString::to_string).collect();
        let why = why.join(", and ");
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, kernels)) => kernels.push(&skip.kernel),
            None => all.push((why, vec![&skip.kernel])),
        }
    }
    let told = all.iter().take(MOST_REASONS);
    let told = told.map(|(why, kernels)| format!("{}: {why}", some_of(kernels, MOST_NAMED)));
    let others: usize = (all
        .iter()
        .skip(MOST_REASONS)
        .map(|(_, kernels)| kernels.len()))
    .sum();
    let more = (others > 0).then(|| {
        format!("and {others} more for other reasons, which `explain` of the request tells")
    });
    told.chain(more).collect()
}

/// Reasons that are told of kernels of which none fits, at most.
const MOST_REASONS: usize = 3;

/// By which rule a kernel that fits comes after the one that is taken.
pub(crate) fn after(kernel: &Kernel, taken: Option<&Kernel>) -> &'static str {
    let (plain, constants, rows, aligned) = order(kernel);
    match taken.map(order) {
        Some((false, ..)) if plain => {
            "it assumes nothing but its layouts, and comes after all others"
        }
        Some((_, other, ..)) if constants > other => "it is for elements that lie further apart",
        Some((_, _, other, _)) if rows > other => "it is for longer rows",
        Some((.., other)) if aligned > other => "it asks for less alignment",
        _ => "it comes later in the bundle",
    }
}

fn is_plain(kernel: &Kernel) -> bool {
    let has_copies = kernel.launches.len() > 1;
    kernel.assumptions.is_empty() && !kernel.has_tensor_maps() && !has_copies
}

/// The operands that do not lie as a kernel needs them.
pub(crate) fn misaligned(kernel: &Kernel, addresses: &[(&str, u64)]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for (name, address) in addresses {
        let Some(operand) = kernel.semantics.operand(name) else {
            continue;
        };
        refusals.extend(fit::misaligned(kernel, operand, *address));
    }
    refusals
}

/// The kernel a name means: that of an id, whatever the problem; else the first that takes
/// `problem` of the spec of that name, else of those whose ids begin so, or simply the first when
/// no problem is given.
///
/// # Errors
/// [`Error::UnknownKernel`] with the nearest name, or [`Error::NothingFits`].
pub fn find<'a>(
    bundle: &'a Bundle,
    name: &str,
    problem: Option<&Problem>,
    device: &DeviceInfo,
) -> Result<Pick<'a>, Error> {
    if let Some(kernel) = bundle.kernel(name) {
        return Ok(Pick {
            kernel,
            skips: Vec::new(),
        });
    }
    let meant = bundle.named(name);
    match (meant.first(), problem) {
        (None, _) => Err(unknown(bundle, name)),
        (Some(kernel), None) => Ok(Pick {
            kernel,
            skips: Vec::new(),
        }),
        (Some(_), Some(problem)) => first_that_fits(meant, name, problem, device, &[], |_| None),
    }
}

/// The error of a name that means no kernel.
pub(crate) fn unknown(bundle: &Bundle, name: &str) -> Error {
    let kernels = bundle.kernels().iter();
    let names = kernels.flat_map(|kernel| [kernel.id.as_str(), kernel.spec.as_str()]);
    Error::UnknownKernel {
        name: name.to_owned(),
        nearest: nearest(name, names).map(str::to_owned),
    }
}

/// Bytes that a name begins with as another does, for the one to be told for the other.
const LEAST_SHARED: usize = 3;

/// The name that is meant: the one with the fewest letters wrong, else the one that begins most
/// alike, the shortest of those.
fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    let shared = |other: &str| {
        let pairs = name.bytes().zip(other.bytes());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let alike = |other: &&str| shared(other) >= LEAST_SHARED;
    let begins = names.clone().filter(alike);
    let begins = || begins.min_by_key(|other| (Reverse(shared(other)), other.len()));
    problem::nearest(name, names).or_else(begins)
}

/// Operand addresses of launch arguments as far as they matter to alignment: every allocation
/// starts at a multiple of 256, so offsets say it all.
pub fn addresses<'a>(args: &[Arg<'a>]) -> Vec<(&'a str, u64)> {
    args.iter()
        .map(|arg| (arg.operand, arg.offset_bytes))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_the_one_that_is_meant() {
        let names = || ["glu_any@a-1", "glu_any", "glu@b-2", "glu", "glu_wide"].into_iter();
        assert_eq!(nearest("glue", names()), Some("glu"));
        assert_eq!(nearest("gul", names()), Some("glu"));
        assert_eq!(nearest("glu_wdie", names()), Some("glu_wide"));
        // Of those that begin alike the shortest.
        assert_eq!(nearest("glu_any_rows_of_16", names()), Some("glu_any"));
        assert_eq!(nearest("softmax", names()), None);
    }
}
