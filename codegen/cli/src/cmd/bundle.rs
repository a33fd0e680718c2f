//! `bundle`: what a bundle holds and whether all of it is as it was written; bundles made of
//! bundles; signatures.
//!
//! Opening checks every hash and rule, so all of them stand on [`open`].

mod keys;
mod kernel_card;
mod parts;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tilewright_build::Lock;
use tilewright_bundle::{Bundle, Error, Kernel};

use super::help;
use crate::args::bundle as args;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::quantity::counted;
use crate::terminal::{self, Table};

/// Runs the one that was asked for.
pub fn run(args: &args::Bundle) -> Outcome {
    match args {
        args::Bundle::Show(args) => show(args),
        args::Bundle::Verify(args) => verify(args),
        args::Bundle::Zip(args) => parts::zip(args),
        args::Bundle::Unzip(args) => parts::unzip(args),
        args::Bundle::Merge(args) => parts::merge(args),
        args::Bundle::Split(args) => parts::split(args),
        args::Bundle::Edit(args) => parts::edit(args),
        args::Bundle::Keygen(args) => keys::keygen(args),
        args::Bundle::Sign(args) => keys::sign(args),
        args::Bundle::Help(args) => help::below("bundle", &args.words),
    }
}

pub use self::parts::unsigned;

/// Opens a bundle. A bundle that is refused is a negative verdict; one that cannot be read is not.
pub fn open(source: &args::Source) -> Result<Bundle, Failure> {
    let policy = keys::policy(&source.require_key)?;
    let opened = policy.open(&source.bundle);
    opened.map_err(|error| refusal(&source.bundle, error))
}

/// The kernels that one of `names` means, in the bundle's order; all of them when none is named.
pub fn choose<'b>(bundle: &'b Bundle, names: &[String]) -> Result<Vec<&'b Kernel>, Failure> {
    let mut meant: Vec<&str> = Vec::new();
    for name in names {
        let kernels = bundle.named(name);
        if kernels.is_empty() {
            return Err(unknown_kernel(bundle, name));
        }
        meant.extend(kernels.iter().map(|kernel| kernel.id.as_str()));
    }
    let is_chosen = |kernel: &&Kernel| names.is_empty() || meant.contains(&kernel.id.as_str());
    Ok(bundle.kernels().iter().filter(is_chosen).collect())
}

/// Ids that are listed when none is like the one asked for.
const LISTED: usize = 20;
/// How like a name must be to be what was meant, of 1.
const LIKE: f64 = 0.7;

fn unknown_kernel(bundle: &Bundle, name: &str) -> Failure {
    let head = format!("no kernel's id or spec is `{name}`, or starts so");
    if let Some(id) = nearest(bundle.kernels(), name) {
        return Failure::CouldNotRun(format!("{head}; the nearest is {id}"));
    }
    let ids = bundle.kernels().iter().take(LISTED);
    let ids: String = ids.map(|kernel| format!("\n  {}", kernel.id)).collect();
    let more = match bundle.kernels().len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("\n  and {more} more: `tilewright bundle show` lists them"),
    };
    Failure::CouldNotRun(format!("{head}; there are:{ids}{more}"))
}

/// The id that a mistyped name stands for, compared with as much of each id as is like it: all of
/// it, the spec's part, or as many characters as were typed.
fn nearest<'b>(kernels: &'b [Kernel], name: &str) -> Option<&'b str> {
    let name = name.to_lowercase();
    let likeness = |kernel: &Kernel| {
        let beginning: String = kernel.id.chars().take(name.chars().count()).collect();
        let parts = [kernel.id.as_str(), &kernel.spec, &beginning].map(str::to_lowercase);
        let likeness = parts.map(|part| strsim::normalized_damerau_levenshtein(&part, &name));
        likeness.into_iter().fold(0.0, f64::max)
    };
    let scored = kernels.iter().map(|kernel| (likeness(kernel), kernel));
    // Of equals the first counts.
    let best = scored.rev().max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= LIKE)
        .map(|(_, kernel)| kernel.id.as_str())
}

/// How the command fails when a bundle does not open.
pub fn refusal(path: &Path, error: Error) -> Failure {
    match error.without_path() {
        error @ (Error::Io { .. } | Error::NoBundle { .. } | Error::Foreign { .. }) => {
            Failure::could_not_run(error)
        }
        Error::Invalid { problems } => {
            let lines = problems
                .iter()
                .map(|one| format!("  {}: {}\n", one.entry, one.message));
            let count = counted(problems.len(), "problem");
            let all: String = lines.collect();
            Failure::Rejected(format!("{}: refused, {count}:\n{all}", path.display()))
        }
        other => Failure::Rejected(format!("{}: refused: {other}", path.display())),
    }
}

fn show(args: &args::Show) -> Outcome {
    let bundle = open(&args.shown.source)?;
    let is_some = !args.kernel.is_empty();
    match (is_some, args.shown.json) {
        (true, true) => terminal::print_json(&choose(&bundle, &args.kernel)?)?,
        (false, true) => terminal::print_json(bundle.manifest())?,
        (true, false) => {
            let cards = choose(&bundle, &args.kernel)?;
            let cards: Vec<String> = cards.into_iter().map(kernel_card::render).collect();
            terminal::print(&cards.join("\n"))?;
        }
        (false, false) => list(&bundle)?,
    }
    Ok(Verdict::Good)
}

/// Prints the table of all kernels.
fn list(bundle: &Bundle) -> Result<(), Failure> {
    let mut table = Table::new([
        "kernel", "family", "operands", "needs", "PTX", "regs", "smem",
    ]);
    for kernel in bundle.kernels() {
        table.row(summary(kernel));
    }
    terminal::print(&table.render())?;
    let (hash, provenance) = (bundle.hash(), bundle.provenance());
    terminal::print_line(&format!("\nsha256 {hash}"))?;
    terminal::print_line(&format!("made by {}", provenance.generator))?;
    for line in machine_code(bundle).into_iter().chain(tuned(bundle)) {
        terminal::print_line(&line)?;
    }
    Ok(())
}

/// A line on the machine code that lies beside the PTX, if any does.
fn machine_code(bundle: &Bundle) -> Option<String> {
    let mut targets: BTreeMap<&str, usize> = BTreeMap::new();
    for cubin in bundle.kernels().iter().filter_map(|one| one.cubin.as_ref()) {
        *targets.entry(&cubin.target).or_default() += 1;
    }
    let told = targets
        .iter()
        .map(|(target, count)| format!("{target} ({count})"));
    let told: Vec<String> = told.collect();
    let ptxas = bundle.provenance().ptxas.iter();
    let by: String = ptxas
        .map(|version| format!(", by ptxas {version}"))
        .collect();
    (!told.is_empty()).then(|| format!("machine code for {}{by}", told.join(", ")))
}

/// A line for each device that the bundle was tuned on.
fn tuned(bundle: &Bundle) -> Vec<String> {
    let mut devices: BTreeMap<&str, usize> = BTreeMap::new();
    for table in bundle.tuning().iter().flat_map(|tuning| &tuning.tables) {
        *devices.entry(&table.device.name).or_default() += table.points.len();
    }
    let line = |(device, problems)| {
        let problems = counted(problems, "problem");
        format!("tuned for {problems} on {device}")
    };
    devices.into_iter().map(line).collect()
}

/// The cells of a kernel's row.
fn summary(kernel: &Kernel) -> [String; 7] {
    let operands = kernel.semantics.operands.iter();
    let operands: Vec<String> = operands
        .map(|operand| format!("{} {}", operand.name, operand.dtype.text()))
        .collect();
    let resources = &kernel.resources;
    let smem_bytes =
        u64::from(resources.static_smem_bytes) + u64::from(resources.dynamic_smem_bytes);
    let rule = if kernel.capability.exact { "a" } else { "+" };
    [
        kernel.id.clone(),
        kernel.kernel.clone(),
        operands.join(", "),
        format!("sm_{}{rule}", kernel.capability.min_sm),
        kernel.ptx.version.clone(),
        resources
            .registers
            .map_or_else(|| "?".to_owned(), |count| count.to_string()),
        smem_bytes.to_string(),
    ]
}

/// What `bundle verify --json` prints.
#[derive(Debug, Serialize)]
struct Integrity {
    kernels: usize,
    files: usize,
    sha256: String,
    /// Who signed.
    signatures: Vec<Signed>,
    /// What lies in the folder or archive and is not of the bundle.
    unlisted: Vec<String>,
    /// How it was compared with a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Signed {
    key_id: String,
    /// Whether the key was at hand and the signature is by it.
    checked: bool,
}

/// Unlisted files that are named.
const NAMED: usize = 8;

fn verify(args: &args::Verify) -> Outcome {
    let args::Verify { shown: args, lock } = args;
    let bundle = open(&args.source)?;
    let checked = match lock {
        None => None,
        Some(path) => {
            let lock = Lock::read(path).map_err(Failure::could_not_run)?;
            let checked = lock.check_hashes(path, &[], &bundle);
            let checked = checked.map_err(|error| Failure::Rejected(error.to_string()))?;
            Some(checked.text())
        }
    };
    let signatures = bundle.signatures().into_iter();
    let signed = signatures
        .flat_map(|all| &all.signatures)
        .map(|one| Signed {
            key_id: one.key_id.to_string(),
            checked: bundle.signed_by().contains(&one.key_id),
        });
    let integrity = Integrity {
        kernels: bundle.kernels().len(),
        files: bundle.manifest().files.len(),
        sha256: bundle.hash().to_string(),
        signatures: signed.collect(),
        unlisted: bundle
            .unlisted(&args.source.bundle)
            .map_err(|error| refusal(&args.source.bundle, error))?,
        lock: checked,
    };
    match args.json {
        true => terminal::print_json(&integrity)?,
        false => tell(&integrity)?,
    }
    Ok(Verdict::Good)
}

fn tell(integrity: &Integrity) -> Result<(), Failure> {
    let Integrity {
        kernels,
        files,
        sha256,
        signatures,
        unlisted,
        lock,
    } = integrity;
    let good = terminal::paint(terminal::GOOD, "good");
    terminal::print_line(&format!(
        "{good}: {}, {}, sha256 {sha256}",
        counted(*kernels, "kernel"),
        counted(*files, "file")
    ))?;
    for Signed { key_id, checked } in signatures {
        terminal::print_line(&match checked {
            true => format!("signed by key {key_id}"),
            false => format!(
                "note: signed in the name of key {key_id}, not checked: --require-key checks"
            ),
        })?;
    }
    if let Some(checked) = lock {
        terminal::print_line(checked)?;
    }
    for path in unlisted.iter().take(NAMED) {
        let path = path.escape_debug();
        terminal::print_line(&format!("note: {path} is not of the bundle"))?;
    }
    if let more @ 1.. = unlisted.len().saturating_sub(NAMED) {
        terminal::print_line(&format!("note: nor are {more} more; --json lists them"))?;
    }
    Ok(())
}
