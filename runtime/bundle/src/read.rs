//! Opening a bundle: bytes in, kernels and their code out, or every reason why not.
//!
//! The order of the checks: size, format, bundle hash, signatures, types, consistency, content
//! hashes, file hashes, selection tables, file headers. The code is held in memory from then on, so
//! what was checked is what is loaded.

use std::collections::BTreeMap;
use std::path::Path;

use crate::archive::Archive;
use crate::bundle::Bundle;
use crate::check;
use crate::code::PtxFile;
use crate::cubin;
use crate::error::{Error, Problems, shorten};
use crate::hash::Sha256Hex;
use crate::limits::{MANIFEST, MAX_FILE_BYTES, MAX_MANIFEST_BYTES};
use crate::manifest::{FORMAT_VERSION, Kernel, Manifest};
use crate::ptx;
use crate::signature::{MAX_SIGNATURES_BYTES, Policy, SIGNATURES_FILE, Signatures};
use crate::source::Source;
use crate::tuning::{TUNING_FILE, Tuning};

impl Bundle {
    /// Opens the bundle at `path`: a folder, or a file that is the same as one zip.
    ///
    /// # Errors
    /// When a file cannot be read, or anything in the bundle is not what the manifest says. Each
    /// names the path: by itself, or as [`Error::At`].
    pub fn open(path: &Path) -> Result<Bundle, Error> {
        Policy::Unsigned.open(path)
    }

    /// Opens a bundle that is one zip file in memory, as `include_bytes!` holds it.
    ///
    /// # Errors
    /// As [`Bundle::open`], without a path.
    pub fn from_zip(bytes: &[u8]) -> Result<Bundle, Error> {
        Policy::Unsigned.open_zip(bytes)
    }

    /// Opens a bundle whose files, `manifest.json` among them, are given by path and content, as
    /// an embedding program holds them.
    ///
    /// # Errors
    /// As [`Bundle::open`].
    pub fn from_files<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Bundle, Error> {
        Policy::Unsigned.open_files(files)
    }

    /// Paths in the folder or archive it was opened from that it has no use for: nothing reads
    /// them.
    ///
    /// # Errors
    /// When a folder or archive cannot be read.
    pub fn unlisted(&self, path: &Path) -> Result<Vec<String>, Error> {
        let source = Source::at(path).map_err(|error| error.at(path))?;
        crate::folder::unlisted(&source, &self.manifest)
    }
}

impl Policy {
    /// As [`Bundle::open`], of the bundles that this policy allows.
    ///
    /// # Errors
    /// As [`Bundle::open`]; within it [`Error::Signature`] when it is not signed as is required.
    pub fn open(&self, path: &Path) -> Result<Bundle, Error> {
        let opened = Source::at(path).and_then(|source| open(&source, self));
        opened.map_err(|error| error.at(path))
    }

    /// As [`Bundle::from_zip`], of the bundles that this policy allows.
    ///
    /// # Errors
    /// As [`Policy::open`].
    pub fn open_zip(&self, bytes: &[u8]) -> Result<Bundle, Error> {
        open(&Source::Archive(Archive::of(bytes)?), self)
    }

    /// As [`Bundle::from_files`], of the bundles that this policy allows.
    ///
    /// # Errors
    /// As [`Policy::open`].
    pub fn open_files<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Bundle, Error> {
        open(&Source::Memory(files.into_iter().collect()), self)
    }
}

fn open(source: &Source<'_>, policy: &Policy) -> Result<Bundle, Error> {
    let bytes = source.read(MANIFEST, MAX_MANIFEST_BYTES)?;
    let text = std::str::from_utf8(&bytes).map_err(|e| Error::Manifest {
        line: 0,
        column: 0,
        entry: None,
        message: format!("byte {} is not UTF-8", e.valid_up_to()),
    })?;
    check_format(text)?;
    let hash = check_bundle_hash(text)?;
    let signed = source.read_if_there(SIGNATURES_FILE, MAX_SIGNATURES_BYTES)?;
    let signatures = signed
        .as_deref()
        .map(|bytes| Signatures::parse(bytes, &hash));
    let signatures = signatures.transpose()?;
    let signed_by = policy.check(&hash, signatures.as_ref())?;
    let mut manifest: Manifest =
        serde_json::from_str(text).map_err(|e| manifest_error(text, &e))?;
    check::manifest(&mut manifest)?;
    check_content_hashes(&manifest)?;
    let mut files = read_files(source, &manifest)?;
    let tuning = read_tuning(&manifest, &files)?;
    files.insert(MANIFEST.to_owned(), bytes);
    files.extend(signed.map(|bytes| (SIGNATURES_FILE.to_owned(), bytes)));
    let bundle = Bundle {
        manifest,
        files,
        tuning,
        signatures,
        signed_by,
    };
    check_code(&bundle)?;
    Ok(bundle)
}

/// Reads `format` alone, so that a bundle of another format is called that and nothing else.
fn check_format(text: &str) -> Result<(), Error> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u64,
    }
    let head: Head = serde_json::from_str(text).map_err(|e| manifest_error(text, &e))?;
    if head.format == u64::from(FORMAT_VERSION) {
        return Ok(());
    }
    if head.format == 1 {
        return Err(Error::FormatOne {
            known: FORMAT_VERSION,
        });
    }
    Err(Error::Format {
        found: head.format,
        known: FORMAT_VERSION,
    })
}

/// The manifest's text before the line of `bundle_sha256`, and that line's digits.
pub(crate) fn hashed_part(text: &str) -> Option<(&str, &str)> {
    let at = text.rfind("  \"bundle_sha256\": \"")?;
    let (body, tail) = text.split_at(at);
    let digits = tail
        .strip_prefix("  \"bundle_sha256\": \"")?
        .strip_suffix("\"\n}\n")?;
    Some((body, digits))
}

/// The hash that the manifest says, if it is the manifest's.
fn check_bundle_hash(text: &str) -> Result<Sha256Hex, Error> {
    let Some((body, digits)) = hashed_part(text) else {
        return Err(Error::invalid(
            "manifest",
            "bundle_sha256 is not its last line",
        ));
    };
    let found = Sha256Hex::of(body.as_bytes());
    if found.as_str() == digits {
        return Ok(found);
    }
    let digits = shorten(digits);
    Err(Error::invalid(
        "manifest",
        format!("its hash is {found}; bundle_sha256 says {digits}: it was changed or cut"),
    ))
}

/// Largest manifest whose kernel at fault is looked for: that takes many times its size.
const MOST_SEARCHED: usize = 8 << 20;

/// A serde error with the id of the kernel it is in, found by reading the kernels one by one.
fn manifest_error(text: &str, error: &serde_json::Error) -> Error {
    let id = |value: &serde_json::Value| {
        let id = value.get("id").and_then(|id| id.as_str());
        id.map_or_else(|| "a kernel without id".to_owned(), shorten)
    };
    let searched = Some(text).filter(|text| text.len() <= MOST_SEARCHED);
    let entry = searched
        .and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok())
        .and_then(|manifest| {
            let kernels = manifest.get("kernels")?.as_array()?;
            let bad =
                |k: &&serde_json::Value| serde_json::from_value::<Kernel>((*k).clone()).is_err();
            kernels.iter().find(bad).map(id)
        });
    let message = shorten_message(&error.to_string());
    Error::Manifest {
        line: error.line(),
        column: error.column(),
        entry,
        message,
    }
}

/// serde's message without the place, which the error carries itself.
fn shorten_message(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end]
        .chars()
        .take(400)
        .flat_map(char::escape_debug)
        .collect()
}

/// The hash of a kernel's entry with an empty `content_hash`, without the table of lines: a comment
/// in a spec makes no other kernel.
pub(crate) fn content_hash(kernel: &Kernel) -> Result<Sha256Hex, Error> {
    let mut kernel = kernel.clone();
    kernel.content_hash = Sha256Hex::default();
    kernel.lines = None;
    let text = serde_json::to_string(&kernel)
        .map_err(|e| Error::invalid(shorten(&kernel.id), e.to_string()))?;
    Ok(Sha256Hex::of(text.as_bytes()))
}

fn check_content_hashes(manifest: &Manifest) -> Result<(), Error> {
    let mut problems = Problems::default();
    for kernel in &manifest.kernels {
        let found = content_hash(kernel)?;
        problems.check(found == kernel.content_hash, &kernel.id, || {
            format!(
                "its content hash is {found}; the manifest says {}",
                kernel.content_hash
            )
        });
    }
    problems.into_result()
}

fn read_files(
    source: &Source<'_>,
    manifest: &Manifest,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut problems = Problems::default();
    let mut files = BTreeMap::new();
    for entry in &manifest.files {
        let bytes = match source.read(&entry.path, entry.bytes.min(MAX_FILE_BYTES)) {
            Ok(bytes) => bytes,
            Err(Error::Invalid { problems: found }) => {
                found
                    .into_iter()
                    .for_each(|p| problems.add(&p.entry, p.message));
                continue;
            }
            Err(other) => return Err(other),
        };
        let (size, hash) = (bytes.len() as u64, Sha256Hex::of(&bytes));
        problems.check(size == entry.bytes, &entry.path, || {
            format!(
                "the file has {size} bytes; the manifest says {}",
                entry.bytes
            )
        });
        problems.check(hash == entry.sha256, &entry.path, || {
            format!(
                "the file's hash is {hash}; the manifest says {}",
                entry.sha256
            )
        });
        files.insert(entry.path.clone(), bytes);
    }
    problems.into_result()?;
    Ok(files)
}

/// The selection tables, if the bundle was tuned.
fn read_tuning(
    manifest: &Manifest,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<Option<Tuning>, Error> {
    let Some(bytes) = files.get(TUNING_FILE) else {
        return Ok(None);
    };
    let tuning = Tuning::parse(bytes)?;
    tuning.check(&manifest.kernels)?;
    Ok(Some(tuning))
}

/// Checks that each PTX is text, says the version and target of its entry, and has the entry; and
/// that machine code is for its target and has the entry.
fn check_code(bundle: &Bundle) -> Result<(), Error> {
    let mut problems = Problems::default();
    for kernel in bundle.kernels() {
        if let (Some(entry), Some(bytes)) = (&kernel.cubin, bundle.cubin(kernel))
            && let Err(message) = cubin::check(bytes, entry, kernel)
        {
            problems.add(&kernel.id, message);
        }
        let text = bundle
            .files
            .get(&kernel.ptx.file)
            .map(Vec::as_slice)
            .unwrap_or_default();
        match ptx::header(text, kernel) {
            Err(message) => problems.add(&kernel.id, message),
            Ok(PtxFile {
                version, target, ..
            }) => {
                problems.check(version == kernel.ptx.version, &kernel.id, || {
                    format!(
                        "the PTX has .version {version}; the manifest says {:?}",
                        kernel.ptx.version
                    )
                });
                problems.check(target == kernel.ptx.target, &kernel.id, || {
                    format!(
                        "the PTX has .target {target}; the manifest says {:?}",
                        kernel.ptx.target
                    )
                });
            }
        }
    }
    problems.into_result()
}
