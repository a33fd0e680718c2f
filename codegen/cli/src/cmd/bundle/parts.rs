//! `bundle zip`, `unzip`, `merge`, `split` and `edit`: bundles in, other bundles out, of the same
//! kernels or of edited ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tilewright_bundle::{
    Bundle, BundleWriter, Capability, Kernel, Policy, is_zip, read_plain_text,
};

use super::{choose, keys, open, refusal};
use crate::args::bundle::{Edit, Merge, Part, Source, Split, Unzip, Zip};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::quantity::counted;
use crate::terminal::{self, GOOD};

/// Digits of a function's hash that name its part.
const DIGITS: usize = 12;

/// Writes a bundle as one file.
pub fn zip(args: &Zip) -> Outcome {
    if !is_zip(&args.output) {
        let path = args.output.display();
        return Err(Failure::CouldNotRun(format!(
            "--output {path}: the path of one file ends in .zip"
        )));
    }
    same(&args.source, &args.output)
}

/// Writes a bundle as a folder.
pub fn unzip(args: &Unzip) -> Outcome {
    if is_zip(&args.output) {
        let path = args.output.display();
        return Err(Failure::CouldNotRun(format!(
            "--output {path}: a path that ends in .zip is one file; give that of a folder"
        )));
    }
    same(&args.source, &args.output)
}

fn same(source: &Source, output: &Path) -> Outcome {
    let bundle = open(source)?;
    bundle
        .save(output)
        .map_err(|error| refusal(output, error))?;
    tell(output, bundle.kernels().len(), bundle.hash())
}

fn tell(output: &Path, kernels: usize, hash: impl std::fmt::Display) -> Outcome {
    let (good, path) = (terminal::paint(GOOD, "good"), output.display());
    let kernels = counted(kernels, "kernel");
    terminal::print_line(&format!("{good}: {path}, {kernels}, sha256 {hash}"))?;
    Ok(Verdict::Good)
}

/// Puts bundles together.
pub fn merge(args: &Merge) -> Outcome {
    let policy = keys::policy(&args.require_key)?;
    let opened: Vec<(String, Result<Bundle, Failure>)> = args
        .bundles
        .iter()
        .map(|path| (path.display().to_string(), open_by(&policy, path)))
        .collect();
    let (mut bundles, mut failures) = (Vec::new(), Vec::new());
    for (place, bundle) in opened {
        match bundle {
            Ok(bundle) => bundles.push((place, bundle)),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    let named: Vec<(&str, &Bundle)> = bundles.iter().map(|(p, b)| (p.as_str(), b)).collect();
    let writer = BundleWriter::merge(&named, args.drop_tables)
        .map_err(|error| refusal(&args.output, error))?;
    for (place, bundle) in &named {
        unsigned(place, bundle);
    }
    write(&writer, &args.output)
}

fn open_by(policy: &Policy, path: &Path) -> Result<Bundle, Failure> {
    policy.open(path).map_err(|error| refusal(path, error))
}

/// Says that what is written has no signature of a bundle that has some.
pub fn unsigned(place: impl std::fmt::Display, bundle: &Bundle) {
    if bundle.signatures().is_some() {
        terminal::diagnose(&format!(
            "note: {place} is signed; what is made of it is another bundle, and is not: \
             `tilewright bundle sign` signs it"
        ));
    }
}

/// Longest PTX.
const MOST_PTX_BYTES: u64 = 64 << 20;

/// Puts edited PTX in the place of what is there.
pub fn edit(args: &Edit) -> Outcome {
    let bundle = open(&args.source)?;
    let (mut texts, mut failures) = (BTreeMap::new(), Vec::new());
    for path in &args.ptx {
        let failed = |why: String| Failure::CouldNotRun(format!("{}: {why}", path.display()));
        let id = path.file_stem().map(|id| id.to_string_lossy().into_owned());
        let known = id.filter(|id| bundle.kernel(id).is_some());
        match (known, read_plain_text(path, MOST_PTX_BYTES)) {
            (_, Err(error)) => failures.push(failed(error.to_string())),
            (None, Ok(_)) => failures.push(failed(
                "no kernel of the bundle has this file's name: name it by the kernel's id, which \
                 `tilewright bundle show` lists, with .ptx"
                    .to_owned(),
            )),
            (Some(id), Ok(text)) => {
                if texts.insert(id, text).is_some() {
                    failures.push(failed("a second file for one kernel".to_owned()));
                }
            }
        }
    }
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    let writer = BundleWriter::edited(&bundle, &texts);
    let writer = writer.map_err(|error| refusal(&args.source.bundle, error))?;
    unsigned(args.source.bundle.display(), &bundle);
    write(&writer, &args.output)
}

fn write(writer: &BundleWriter, output: &Path) -> Outcome {
    let hash = writer
        .write(output)
        .map_err(|error| refusal(output, error))?;
    tell(output, writer.kernels(), hash)
}

/// Writes parts of a bundle.
pub fn split(args: &Split) -> Outcome {
    let bundle = open(&args.source)?;
    let parts = match (args.by, &args.arch) {
        (Some(by), _) => groups(&bundle, by, args),
        (None, Some(arch)) => vec![(args.output.clone(), running_on(&bundle, arch.sm)?)],
        (None, None) => vec![(args.output.clone(), choose(&bundle, &args.kernel)?)],
    };
    unsigned(args.source.bundle.display(), &bundle);
    for (output, kernels) in parts {
        let is_of = |kernel: &Kernel| kernels.iter().any(|one| one.id == kernel.id);
        let writer = BundleWriter::part(&bundle, is_of);
        write(&writer.map_err(|error| refusal(&output, error))?, &output)?;
    }
    Ok(Verdict::Good)
}

/// The kernels of each architecture or function, with the place of their bundle.
fn groups<'b>(bundle: &'b Bundle, by: Part, args: &Split) -> Vec<(PathBuf, Vec<&'b Kernel>)> {
    let mut groups: BTreeMap<String, Vec<&Kernel>> = BTreeMap::new();
    for kernel in bundle.kernels() {
        let name = match by {
            Part::Arch => kernel.capability.arch_name(),
            Part::Function => {
                let function = kernel.semantics.function.as_str();
                let digits = function.get(..DIGITS).unwrap_or(function);
                format!("{}-{digits}", kernel.kernel)
            }
        };
        groups.entry(name).or_default().push(kernel);
    }
    let suffix = if args.zip { ".zip" } else { "" };
    let place = |name: String| args.output.join(format!("{name}{suffix}"));
    let parts = groups
        .into_iter()
        .map(|(name, kernels)| (place(name), kernels));
    parts.collect()
}

/// The kernels that a GPU of an architecture runs.
fn running_on(bundle: &Bundle, sm: u32) -> Result<Vec<&Kernel>, Failure> {
    let kernels = bundle.kernels().iter();
    let kernels: Vec<&Kernel> = kernels.filter(|k| k.capability.allows(sm)).collect();
    if kernels.is_empty() {
        let mut archs: Vec<Capability> = Vec::new();
        for kernel in bundle.kernels() {
            if !archs.contains(&kernel.capability) {
                archs.push(kernel.capability);
            }
        }
        let archs: Vec<String> = archs.into_iter().map(Capability::arch_name).collect();
        return Err(Failure::Rejected(format!(
            "no kernel runs on sm_{sm}; there are some for {}",
            archs.join(", ")
        )));
    }
    Ok(kernels)
}
