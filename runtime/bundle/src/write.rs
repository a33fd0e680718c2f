//! Writing a bundle: kernels in, a folder or a zip file out, the same bytes for the same kernels.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::archive;
use crate::bundle::Bundle;
use crate::check;
use crate::code::CubinFile;
use crate::cubin;
use crate::error::{Error, Problems};
use crate::hash::Sha256Hex;
use crate::limits::MANIFEST;
use crate::manifest::{FORMAT_VERSION, FileEntry, Kernel, Manifest, Provenance};
use crate::ptx;
use crate::read::{content_hash, hashed_part};
use crate::save::save;
use crate::tuning::{TUNING_FILE, Tuning};

/// Collects kernels and writes them as one bundle; see the crate's example.
#[derive(Clone)]
pub struct BundleWriter {
    provenance: Provenance,
    kernels: BTreeMap<String, Kernel>,
    files: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for BundleWriter {
    /// How much there is of each: its files may have megabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleWriter")
            .field("kernels", &self.kernels.len())
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

impl BundleWriter {
    /// A bundle without kernels.
    pub fn new(provenance: Provenance) -> BundleWriter {
        BundleWriter {
            provenance,
            kernels: BTreeMap::new(),
            files: BTreeMap::new(),
        }
    }

    /// Adds a kernel with its PTX, and machine code for an architecture such as `sm_90a`.
    ///
    /// Sets what follows from the PTX: file names, hashes, PTX version and target.
    ///
    /// # Errors
    /// When the entry breaks a rule of the manifest, all broken rules at once, its id is taken, or
    /// the machine code is another kernel's or for another architecture.
    pub fn add(
        &mut self,
        mut kernel: Kernel,
        text: &str,
        code: Option<(&str, &[u8])>,
    ) -> Result<(), Error> {
        let mut problems = Problems::default();
        kernel.cubin = code.map(|(target, bytes)| CubinFile {
            file: format!("cubin/{}.cubin", kernel.id),
            sha256: Sha256Hex::of(bytes),
            target: target.to_owned(),
        });
        check::kernel(&mut kernel, &mut problems);
        problems.check(!self.kernels.contains_key(&kernel.id), &kernel.id, || {
            "the id is used twice: ids are unique in a bundle".to_owned()
        });
        let header = ptx::header(text.as_bytes(), &kernel);
        match header {
            Ok(header) => kernel.ptx = header,
            Err(message) => problems.add(&kernel.id, message),
        }
        if let (Some(entry), Some((_, bytes))) = (&kernel.cubin, code)
            && let Err(message) = cubin::check(bytes, entry, &kernel)
        {
            problems.add(&kernel.id, message);
        }
        problems.into_result()?;
        let file = format!("ptx/{}.ptx", kernel.id);
        kernel.ptx.sha256 = self.put(&file, text.as_bytes());
        kernel.ptx.file = file;
        if let (Some(entry), Some((_, bytes))) = (&kernel.cubin, code) {
            self.put(&entry.file, bytes);
        }
        kernel.content_hash = content_hash(&kernel)?;
        self.kernels.insert(kernel.id.clone(), kernel);
        Ok(())
    }

    /// A writer of the same bundle, to which kernels or tables can be added.
    ///
    /// # Errors
    /// Never for a bundle that was opened.
    pub fn from_bundle(bundle: &Bundle) -> Result<BundleWriter, Error> {
        let mut writer = BundleWriter::new(bundle.provenance().clone());
        for kernel in bundle.kernels() {
            writer.take(bundle, kernel)?;
        }
        if let Some(tuning) = bundle.tuning() {
            writer.tune(tuning)?;
        }
        Ok(writer)
    }

    /// Adds a kernel of another bundle, with all of its code.
    pub(crate) fn take(&mut self, bundle: &Bundle, kernel: &Kernel) -> Result<(), Error> {
        let target = kernel.cubin.as_ref().map(|cubin| cubin.target.as_str());
        let cubin = target.zip(bundle.cubin(kernel));
        self.add(kernel.clone(), bundle.ptx(kernel), cubin)
    }

    /// Sets the selection tables, in place of earlier ones.
    ///
    /// # Errors
    /// When they speak of kernels that were not added, or break another of their rules.
    pub fn tune(&mut self, tuning: &Tuning) -> Result<(), Error> {
        tuning.check(self.kernels.values())?;
        self.put(TUNING_FILE, &tuning.to_bytes()?);
        Ok(())
    }

    /// The content hash of a kernel that was added.
    pub(crate) fn content_hash(&self, id: &str) -> Option<&Sha256Hex> {
        self.kernels.get(id).map(|kernel| &kernel.content_hash)
    }

    /// How many kernels it has.
    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    fn put(&mut self, path: &str, bytes: &[u8]) -> Sha256Hex {
        self.files.insert(path.to_owned(), bytes.to_vec());
        Sha256Hex::of(bytes)
    }

    /// Every file of the bundle, `manifest.json` among them, by path.
    ///
    /// # Errors
    /// When the kernels together break a rule of the manifest.
    pub fn to_files(&self) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let entry = |(path, bytes): (&String, &Vec<u8>)| FileEntry {
            path: path.clone(),
            bytes: bytes.len() as u64,
            sha256: Sha256Hex::of(bytes),
        };
        let mut manifest = Manifest {
            format: FORMAT_VERSION,
            provenance: self.provenance.clone(),
            kernels: self.kernels.values().cloned().collect(),
            files: self.files.iter().map(entry).collect(),
            bundle_sha256: Sha256Hex::default(),
        };
        check::manifest(&mut manifest)?;
        let mut files = self.files.clone();
        files.insert(MANIFEST.to_owned(), seal(&manifest)?.into_bytes());
        Ok(files)
    }

    /// Writes the bundle at `path` and returns its hash: one zip file where the path ends in
    /// `.zip`, else a folder, made if it is missing.
    ///
    /// Files that the manifest of an earlier bundle in that folder lists and this one does not are
    /// removed, if they still are what that manifest says, and so are its signatures; all others
    /// stay. Writers of one folder wait for one another, where its file system has locks.
    ///
    /// # Errors
    /// When the kernels together break a rule of the manifest, a file cannot be written, or what
    /// lies there is no bundle's ([`Error::Foreign`]).
    pub fn write(&self, path: &Path) -> Result<Sha256Hex, Error> {
        let files = self.to_files()?;
        save(path, &files)?;
        let manifest = files.get(MANIFEST).map(Vec::as_slice).unwrap_or_default();
        let text = std::str::from_utf8(manifest).unwrap_or_default();
        Ok(hashed_part(text)
            .map(|(body, _)| Sha256Hex::of(body.as_bytes()))
            .unwrap_or_default())
    }

    /// The bundle as one zip file.
    ///
    /// # Errors
    /// As [`BundleWriter::to_files`], and when it is more than an archive holds.
    pub fn to_zip(&self) -> Result<Vec<u8>, Error> {
        archive::pack(&self.to_files()?)
    }
}

impl Bundle {
    /// Writes the bundle as it is, its signatures too, at `path`: see [`BundleWriter::write`].
    ///
    /// # Errors
    /// When a file cannot be written, or what lies there is no bundle's.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        save(path, self.files())
    }
}

/// The manifest's text with its hash filled in.
fn seal(manifest: &Manifest) -> Result<String, Error> {
    let to_text = |m: &Manifest| {
        let text = serde_json::to_string_pretty(m);
        text.map(|t| t + "\n")
            .map_err(|e| Error::invalid("manifest", e.to_string()))
    };
    let draft = to_text(manifest)?;
    let Some((body, _)) = hashed_part(&draft) else {
        return Err(Error::invalid(
            "manifest",
            "bundle_sha256 is not its last line",
        ));
    };
    let bundle_sha256 = Sha256Hex::of(body.as_bytes());
    to_text(&Manifest {
        bundle_sha256,
        ..manifest.clone()
    })
}
