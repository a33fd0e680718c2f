//! The rules a manifest must satisfy beyond being well-typed. Every broken rule is reported.

mod tensor_map;

use std::collections::BTreeSet;

use crate::abi::{LaunchAbi, MAX_PARAM_BYTES, ParamValue};
use crate::code::Route;
use crate::error::{Error, Problems, shorten};
use crate::expr::Expr;
use crate::hash::Sha256Hex;
use crate::limits::{MANIFEST, MAX_FILE_BYTES, MAX_TOTAL_BYTES, is_safe, safe_path};
use crate::lines::LineTable;
use crate::manifest::{
    Assumption, FileEntry, Kernel, Manifest, Operand, Provenance, Role, Semantics,
};
use crate::resolve;
use crate::signature::SIGNATURES_FILE;
use crate::text::is_plain;
use tilewright_formula::signature::{MAX_NAMES, is_name};

const MAX_KERNELS: usize = 65_536;
const MAX_PARAMS: usize = 256;
/// Launches of a kernel.
const MAX_LAUNCHES: usize = 64;
const MAX_ASSUMPTIONS: usize = 256;
const MAX_LINE: usize = 1024;
/// Threads of a CTA (CUDA programming guide, compute capabilities).
const MAX_THREADS: u64 = 1024;
/// CTAs of a non-portable cluster (CUDA programming guide, thread block clusters).
const MAX_CLUSTER: u64 = 16;

/// Resolves the kernels' names and checks the whole manifest.
pub(crate) fn manifest(manifest: &mut Manifest) -> Result<(), Error> {
    let mut problems = Problems::default();
    let n = manifest.kernels.len();
    problems.check(n <= MAX_KERNELS, "manifest", || {
        format!("{n} kernels; at most {MAX_KERNELS} are allowed")
    });
    let mut ids = BTreeSet::new();
    for kernel in &mut manifest.kernels {
        if !ids.insert(kernel.id.clone()) {
            problems.add(
                &kernel.id,
                "the id is used twice: ids are unique in a bundle",
            );
        }
        self::kernel(kernel, &mut problems);
        listed(kernel, &manifest.files, &mut problems);
    }
    provenance(&manifest.provenance, &mut problems);
    files(&manifest.files, &mut problems);
    problems.into_result()
}

/// Tools are shown by the names they have.
fn provenance(provenance: &Provenance, problems: &mut Problems) {
    let Provenance {
        generator,
        llvm,
        ptxas,
    } = provenance;
    let tools = [
        ("generator", Some(generator)),
        ("llvm", llvm.as_ref()),
        ("ptxas", ptxas.as_ref()),
    ];
    for (name, text) in tools {
        problems.check(
            text.is_none_or(|text| is_plain(text, MAX_LINE)),
            "manifest",
            || format!("provenance.{name} is no line of up to {MAX_LINE} bytes of plain text"),
        );
    }
}

/// Resolves one kernel's names and checks it by itself.
pub(crate) fn kernel(kernel: &mut Kernel, problems: &mut Problems) {
    resolve::kernel(kernel, problems);
    let kernel = &*kernel;
    let id = kernel.id.as_str();
    names(kernel, problems);
    semantics(kernel, problems);
    sums(kernel, problems);
    lines(kernel, problems);
    for problem in kernel.traits.iter().flat_map(|traits| traits.problems()) {
        problems.add(id, &problem);
    }
    launches(kernel, problems);
    assumptions(kernel, problems);
    let coded = kernel.route == Route::Ptx || kernel.cubin.is_some();
    problems.check(coded, id, || {
        "route is cubin_only, and the kernel has no cubin".to_owned()
    });
    let sm = kernel.capability.min_sm;
    problems.check((10..=999).contains(&sm), id, || {
        format!("capability.min_sm is {sm}; expected ten times major plus minor, such as 80")
    });
    problems.check(kernel.certificate.is_object(), id, || {
        "certificate is no object".to_owned()
    });
}

fn names(kernel: &Kernel, problems: &mut Problems) {
    let id = kernel.id.as_str();
    let fits = |text: &str, most: usize| {
        !text.is_empty() && text.len() <= most && text.chars().all(is_safe)
    };
    problems.check(fits(id, 160) && safe_path(id).is_ok(), id, || {
        "an id has 1 to 160 letters, digits and _ - . @ +, no dot first or last".to_owned()
    });
    problems.check(
        id.split('@').next() == Some(kernel.spec.as_str()),
        id,
        || {
            format!(
                "spec is {:?}; expected the part of the id before @",
                kernel.spec
            )
        },
    );
    let cubin = kernel.cubin.iter().map(|cubin| &cubin.target);
    for text in [&kernel.ptx.version, &kernel.ptx.target]
        .into_iter()
        .chain(cubin)
    {
        problems.check(is_plain(text, 64), id, || {
            format!("{:?} is no version or target", shorten(text))
        });
    }
    problems.check(is_name(&kernel.kernel), id, || {
        format!("kernel is {:?}, which is no name", shorten(&kernel.kernel))
    });
}

fn semantics(kernel: &Kernel, problems: &mut Problems) {
    let (id, semantics) = (kernel.id.as_str(), &kernel.semantics);
    let n = semantics.operands.len();
    problems.check((1..=MAX_NAMES).contains(&n), id, || {
        format!("{n} operands; 1 to {MAX_NAMES} are allowed")
    });
    for operand in &semantics.operands {
        let name = operand.name.as_str();
        problems.check(is_line(operand.layout.text()), id, || {
            format!("the layout of `{name}` is no line of 1 to {MAX_LINE} characters")
        });
        packed(id, operand, semantics, problems);
    }
}

/// Checks the order of a packed operand, and that its layout is the one without gaps.
fn packed(id: &str, operand: &Operand, semantics: &Semantics, problems: &mut Problems) {
    let Some(order) = &operand.packed else {
        return;
    };
    let (name, layout) = (&operand.name, &operand.layout);
    let mut refuse = |message: String| problems.add(id, format!("packed `{name}`: {message}"));
    for problem in order.problems(layout.rank()) {
        refuse(problem);
    }
    if operand.role != Role::In {
        refuse("a kernel that writes an operand does not pack it".to_owned());
    }
    let mut others = semantics.operands.iter();
    if let Some(other) = others.find(|other| other.over.as_ref() == Some(name)) {
        let other = &other.name;
        refuse(format!(
            "`{other}` lies elsewhere and cannot take its place"
        ));
    }
    if operand.dtype.per_byte() > 1 {
        refuse(format!("elements of {} are no whole bytes", operand.dtype));
    }
    let one = |expr: &Expr| expr.constant_value() == Some(1);
    let dense = match (layout.shape.as_slice(), layout.stride.as_slice()) {
        ([_], [step]) => one(step),
        ([_, columns], [row, step]) => one(step) && row.text() == columns.text(),
        _ => false,
    };
    if !dense {
        refuse(format!(
            "its layout is {layout}; one or two axes without gaps are allowed: (n,k):(k,1)"
        ));
    }
}

/// Checks how products are added: in contractions alone, by rules of which every device that runs
/// the kernel has one.
fn sums(kernel: &Kernel, problems: &mut Problems) {
    let Some(sums) = &kernel.semantics.sums else {
        return;
    };
    let id = kernel.id.as_str();
    let sums_up = kernel.formula().is_none() || kernel.accumulator().is_some();
    problems.check(sums_up, id, || {
        "semantics.sums stand in a kernel that computes no sum of products".to_owned()
    });
    for problem in sums.problems() {
        problems.add(id, format!("semantics.sums: {problem}"));
    }
    let sm = kernel.capability.min_sm;
    problems.check(sums.rules.is_empty() || sums.on(sm).is_some(), id, || {
        format!("semantics.sums: no rule is for sm {sm}, which runs the kernel")
    });
}

fn lines(kernel: &Kernel, problems: &mut Problems) {
    for problem in kernel.lines.iter().flat_map(LineTable::problems) {
        problems.add(&kernel.id, format!("lines: {problem}"));
    }
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && is_plain(text, MAX_LINE)
}

fn launches(kernel: &Kernel, problems: &mut Problems) {
    let (id, n) = (kernel.id.as_str(), kernel.launches.len());
    problems.check((1..=MAX_LAUNCHES).contains(&n), id, || {
        format!("{n} launches; 1 to {MAX_LAUNCHES} are allowed")
    });
    let counting = kernel.launches.iter().filter(|one| one.counts_clusters());
    let counting = counting.count();
    problems.check(counting <= 1, id, || {
        format!(
            "the grids of {counting} launches name `max_clusters`, which counts the clusters of \
             one: leave it to one of them"
        )
    });
    for launch in kernel.launches.iter().take(MAX_LAUNCHES) {
        self::launch(kernel, launch, problems);
    }
}

fn launch(kernel: &Kernel, abi: &LaunchAbi, problems: &mut Problems) {
    params(kernel, abi, problems);
    let id = kernel.id.as_str();
    let entry = abi.entry.as_str();
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    let named = entry.starts_with(starts)
        && entry.len() <= 200
        && entry.chars().all(|c| starts(c) || c.is_ascii_digit());
    problems.check(named, id, || {
        format!("entry {:?} is no PTX identifier", shorten(entry))
    });
    let threads = abi.threads();
    let block_fits = abi.block.iter().all(|d| *d >= 1) && threads <= MAX_THREADS;
    problems.check(block_fits && abi.block[2] <= 64, id, || {
        format!(
            "block {:?} has {threads} threads; 1 to {MAX_THREADS} are allowed",
            abi.block
        )
    });
    if let Some(cluster) = abi.cluster {
        let ctas: u64 = cluster
            .iter()
            .map(|d| u64::from(*d))
            .fold(1, u64::saturating_mul);
        problems.check((1..=MAX_CLUSTER).contains(&ctas), id, || {
            format!("cluster {cluster:?} has {ctas} CTAs; 1 to {MAX_CLUSTER} are allowed")
        });
    }
}

fn params(kernel: &Kernel, abi: &LaunchAbi, problems: &mut Problems) {
    let (id, semantics) = (kernel.id.as_str(), &kernel.semantics);
    let n = abi.params.len();
    problems.check(n <= MAX_PARAMS, id, || {
        format!("{n} parameters; at most {MAX_PARAMS} are allowed")
    });
    let mut end = 0u32;
    for param in abi.params.iter().take(MAX_PARAMS) {
        let (name, offset, size) = (&param.name, param.offset, param.size);
        let want = param.value.size();
        problems.check(is_line(name), id, || {
            format!(
                "the name of a parameter, {:?}, is no line of plain text",
                shorten(name)
            )
        });
        problems.check(size == want, id, || {
            format!("parameter {name:?} has {size} bytes; what it passes has {want}")
        });
        let align = param.value.align();
        let at = end.checked_next_multiple_of(align).unwrap_or(u32::MAX);
        problems.check(offset == at, id, || {
            format!("parameter {name:?} is at offset {offset}; expected {at}")
        });
        end = at.saturating_add(want);
        match &param.value {
            ParamValue::Pointer { operand } => {
                problems.check(semantics.operand(operand).is_some(), id, || {
                    format!("parameter {name:?} points to `{operand}`, which is no operand")
                });
            }
            ParamValue::TensorMap(map) => tensor_map::check(id, name, map, semantics, problems),
            ParamValue::Given(scalar) => {
                problems.check(semantics.scalars.contains(scalar), id, || {
                    let (scalar, dtype) = (&scalar.name, scalar.dtype);
                    format!("parameter {name:?} is `{scalar}: {dtype}`, which is no scalar")
                });
            }
            ParamValue::Scalar { .. } | ParamValue::Workspace | ParamValue::InWorkspace { .. } => {}
        }
    }
    problems.check(end <= MAX_PARAM_BYTES, id, || {
        format!("the parameters have {end} bytes; at most {MAX_PARAM_BYTES} are allowed")
    });
}

fn assumptions(kernel: &Kernel, problems: &mut Problems) {
    let id = kernel.id.as_str();
    let n = kernel.assumptions.len();
    problems.check(n <= MAX_ASSUMPTIONS, id, || {
        format!("{n} assumptions; at most {MAX_ASSUMPTIONS} are allowed")
    });
    for assumption in &kernel.assumptions {
        problems.check(is_plain(assumption.reason(), MAX_LINE), id, || {
            let text = assumption.text();
            format!("the reason of {text} is no line of up to {MAX_LINE} bytes of plain text")
        });
        match assumption {
            Assumption::Expr { .. } => {}
            Assumption::Align { operand, bytes, .. } => {
                problems.check(kernel.semantics.operand(operand).is_some(), id, || {
                    format!("align({operand}) names no operand")
                });
                problems.check(bytes.is_power_of_two() && *bytes <= 4096, id, || {
                    format!("align({operand}) >= {bytes} bytes; expected a power of two up to 4096")
                });
            }
            Assumption::Promise { promise, .. } => {
                problems.check(is_line(promise), id, || {
                    format!("a promise is no line of 1 to {MAX_LINE} characters")
                });
            }
        }
    }
}

/// Checks that the kernel's files are in the list, with the same hashes.
fn listed(kernel: &Kernel, files: &[FileEntry], problems: &mut Problems) {
    let cubin = kernel.cubin.as_ref().map(|c| (&c.file, &c.sha256));
    for (path, sha256) in std::iter::once((&kernel.ptx.file, &kernel.ptx.sha256)).chain(cubin) {
        match files.binary_search_by(|f| f.path.as_str().cmp(path)) {
            Ok(at) => problems.check(files[at].sha256 == *sha256, &kernel.id, || {
                format!("{path:?} has another hash here than in the list of files")
            }),
            Err(_) => problems.add(&kernel.id, format!("{path:?} is not in the list of files")),
        }
    }
}

fn files(files: &[FileEntry], problems: &mut Problems) {
    let most = 2 * MAX_KERNELS;
    let n = files.len();
    problems.check(n <= most, "manifest", || {
        format!("{n} files; at most {most} are allowed")
    });
    problems.check(
        files.is_sorted_by(|a, b| a.path < b.path),
        "manifest",
        || "files are not ordered by path, or a path appears twice".to_owned(),
    );
    let mut folded = BTreeSet::new();
    for file in files {
        let path = file.path.as_str();
        if let Err(message) = safe_path(path) {
            problems.add(path, message);
        }
        problems.check(folded.insert(path.to_ascii_lowercase()), path, || {
            "the path differs from another one by case alone".to_owned()
        });
        problems.check(file.bytes <= MAX_FILE_BYTES, path, || {
            format!("{} bytes; at most {MAX_FILE_BYTES} are allowed", file.bytes)
        });
        well_formed(path, &file.sha256, problems);
        let reserved = [MANIFEST, SIGNATURES_FILE];
        let is_reserved = reserved.iter().any(|name| path.eq_ignore_ascii_case(name));
        problems.check(!is_reserved, path, || {
            "the manifest lists neither itself nor the bundle's signatures".to_owned()
        });
    }
    let total = files
        .iter()
        .fold(0u64, |sum, f| sum.saturating_add(f.bytes));
    problems.check(total <= MAX_TOTAL_BYTES, "manifest", || {
        format!("the files have {total} bytes; at most {MAX_TOTAL_BYTES} are allowed")
    });
}

fn well_formed(entry: &str, hash: &Sha256Hex, problems: &mut Problems) {
    problems.check(hash.is_well_formed(), entry, || {
        "sha256 is not 64 lower-case hexadecimal digits".to_owned()
    });
}
