//! `diff`: what moved between two bundles, two locks or two specs.
//!
//! In: two paths of one kind. Out: of bundles, for each kernel that is another one what of its
//! entry moved (launch, resources, assumptions, what its certificate predicts), how many lines of
//! PTX each tile operation has, what measured tables choose, and who signed; of locks, what made
//! the kernels differ; of specs, the decisions of their plans. The verdict is negative where
//! anything moved, as `diff` has it.

mod lines;
mod entry;
mod kernels;
#[cfg(feature = "codegen")]
mod plans;
mod tables;

use std::collections::BTreeSet;
use std::path::Path;

use tilewright_build::Lock;
use tilewright_bundle::{Bundle, Sha256Hex};

use crate::args::Diff;
use crate::cmd::bundle::refusal;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::terminal;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bundle,
    Lock,
    Spec,
}

impl Kind {
    /// By the ends of names that specs and locks have; everything else is a bundle.
    fn of(path: &Path) -> Kind {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("yaml" | "yml") => Kind::Spec,
            Some("lock") => Kind::Lock,
            _ => Kind::Bundle,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Kind::Bundle => "a bundle",
            Kind::Lock => "a lock",
            Kind::Spec => "a spec",
        }
    }
}

/// Prints what moved.
pub fn run(args: &Diff) -> Outcome {
    let (before, after) = (args.before.as_path(), args.after.as_path());
    let moved = match (Kind::of(before), Kind::of(after)) {
        (Kind::Bundle, Kind::Bundle) => bundles(before, after)?,
        (Kind::Lock, Kind::Lock) => {
            let read = |path| Lock::read(path).map_err(Failure::could_not_run);
            read(before)?.moved(&read(after)?)
        }
        #[cfg(feature = "codegen")]
        (Kind::Spec, Kind::Spec) => plans::moved(before, after)?,
        #[cfg(not(feature = "codegen"))]
        (Kind::Spec, Kind::Spec) => {
            return Err(Failure::CouldNotRun(
                "this command has no generator, and compares bundles and locks alone".to_owned(),
            ));
        }
        (one, other) => {
            return Err(Failure::CouldNotRun(format!(
                "{} is {} and {} is {}: compare two of a kind",
                before.display(),
                one.text(),
                after.display(),
                other.text()
            )));
        }
    };
    if moved.is_empty() {
        terminal::print_line("nothing moved")?;
        return Ok(Verdict::Good);
    }
    for line in moved {
        terminal::print_line(&line)?;
    }
    Ok(Verdict::Negative)
}

fn bundles(before: &Path, after: &Path) -> Result<Vec<String>, Failure> {
    let open = |path: &Path| {
        let opened = Bundle::open(path);
        opened.map_err(|error| refusal(path, error))
    };
    let (before, after) = (open(before)?, open(after)?);
    let mut moved = Vec::new();
    for line in entry::moved(before.provenance(), after.provenance()) {
        moved.push(format!("made by: {line}"));
    }
    moved.extend(kernels::moved(&before, &after));
    moved.extend(tables::moved(before.tuning(), after.tuning()));
    moved.extend(signers(&before, &after));
    if moved.is_empty() {
        moved.extend(files(&before, &after));
    }
    Ok(moved)
}

/// By which keys one of the bundles says to be signed and the other does not; checked is neither.
fn signers(before: &Bundle, after: &Bundle) -> Vec<String> {
    let [old, new] = [before, after].map(|bundle| -> BTreeSet<&Sha256Hex> {
        let signed = bundle.signatures().into_iter();
        signed
            .flat_map(|all| all.signatures.iter().map(|one| &one.key_id))
            .collect()
    });
    let gone = old
        .difference(&new)
        .map(|key| format!("signature by {key} is gone"));
    let come = new
        .difference(&old)
        .map(|key| format!("signature by {key} is new"));
    gone.chain(come).collect()
}

/// Files that differ, where nothing else told of them.
fn files(before: &Bundle, after: &Bundle) -> Vec<String> {
    let (old, new) = (before.files(), after.files());
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let told = names
        .into_iter()
        .filter_map(|name| match (old.get(name), new.get(name)) {
            (Some(was), Some(is)) if was == is => None,
            (Some(_), Some(_)) => Some(format!("{name} differs")),
            (Some(_), None) => Some(format!("{name} is gone")),
            (None, _) => Some(format!("{name} is new")),
        });
    told.collect()
}
