//! An opened bundle: its kernels, their code, its files.

use std::collections::BTreeMap;
use std::fmt;

use crate::hash::Sha256Hex;
#[cfg(feature = "signatures")]
use crate::key::SigningKey;
use crate::manifest::{Kernel, Manifest, Provenance};
#[cfg(feature = "signatures")]
use crate::signature::SIGNATURES_FILE;
use crate::signature::Signatures;
use crate::tuning::Tuning;

/// An opened bundle: every check has passed and all code is in memory.
#[derive(Clone)]
pub struct Bundle {
    pub(crate) manifest: Manifest,
    /// The manifest's text and the signatures among them.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) tuning: Option<Tuning>,
    pub(crate) signatures: Option<Signatures>,
    pub(crate) signed_by: Vec<Sha256Hex>,
}

impl fmt::Debug for Bundle {
    /// Its hash, and how much there is of each: its files may have megabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.files.values().map(Vec::len).sum();
        let tables = self.tuning.as_ref().map_or(0, |tuning| tuning.tables.len());
        f.debug_struct("Bundle")
            .field("hash", &format_args!("{}", self.hash()))
            .field("kernels", &self.kernels().len())
            .field("tables", &tables)
            .field("files", &self.files.len())
            .field("bytes", &bytes)
            .field("signed_by", &self.signed_by.len())
            .finish_non_exhaustive()
    }
}

impl Bundle {
    /// The hash of the whole bundle.
    pub fn hash(&self) -> &Sha256Hex {
        &self.manifest.bundle_sha256
    }

    /// The tools that made it.
    pub fn provenance(&self) -> &Provenance {
        &self.manifest.provenance
    }

    /// The whole manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The kernels, in the manifest's order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.manifest.kernels
    }

    /// The kernel with this id.
    pub fn kernel(&self, id: &str) -> Option<&Kernel> {
        self.kernels().iter().find(|k| k.id == id)
    }

    /// The kernels made from this spec, in the manifest's order.
    pub fn of_spec<'a>(&'a self, spec: &'a str) -> impl Iterator<Item = &'a Kernel> {
        self.kernels().iter().filter(move |k| k.spec == spec)
    }

    /// The kernels that a name means, in the manifest's order: see [`named`].
    pub fn named(&self, name: &str) -> Vec<&Kernel> {
        named(self.kernels(), name, |kernel| &kernel.id)
    }

    /// The PTX of a kernel of this bundle; empty for a kernel of another one.
    pub fn ptx(&self, kernel: &Kernel) -> &str {
        let bytes = self
            .files
            .get(&kernel.ptx.file)
            .map(Vec::as_slice)
            .unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The selection tables, if the bundle was tuned.
    pub fn tuning(&self) -> Option<&Tuning> {
        self.tuning.as_ref()
    }

    /// The machine code of a kernel of this bundle, if it is shipped.
    pub fn cubin(&self, kernel: &Kernel) -> Option<&[u8]> {
        let cubin = kernel.cubin.as_ref()?;
        self.files.get(&cubin.file).map(Vec::as_slice)
    }

    /// Every file as it was read, `manifest.json` and signatures among them, by path.
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// The signatures that came with it, by whomever.
    pub fn signatures(&self) -> Option<&Signatures> {
        self.signatures.as_ref()
    }

    /// The keys whose signatures were checked when the bundle was opened: those of its policy that
    /// have signed it.
    pub fn signed_by(&self) -> &[Sha256Hex] {
        &self.signed_by
    }

    /// Adds a signature by `key`, in place of an earlier one by it.
    #[cfg(feature = "signatures")]
    pub fn sign(&mut self, key: &SigningKey) {
        let signed = Signatures::with(self.signatures.as_ref(), self.hash(), key);
        let file = SIGNATURES_FILE.to_owned();
        self.files.insert(file, signed.to_bytes());
        self.signatures = Some(signed);
    }
}

/// What a kernel's name means among items that have ids: the one of that id, else all of the spec
/// of that name, which is an id up to its `@`, else all whose ids begin so.
///
/// ```
/// use tilewright_bundle::named;
/// let ids = ["scale2@s1-0a", "scale@s1-0b", "scale@s2-0c"];
/// let named = |name| named(&ids, name, |id| *id);
/// assert_eq!(named("scale@s1-0b"), [&"scale@s1-0b"]);
/// assert_eq!(named("scale"), [&"scale@s1-0b", &"scale@s2-0c"]);
/// assert_eq!(named("scale2@s"), [&"scale2@s1-0a"]);
/// assert_eq!(named("sca").len(), 3);
/// ```
pub fn named<'i, T>(items: &'i [T], name: &str, id: impl Fn(&T) -> &str) -> Vec<&'i T> {
    let all = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&'i T> {
        items.iter().filter(|item| is_meant(id(item))).collect()
    };
    let exact = all(&|id| id == name);
    if !exact.is_empty() {
        return exact;
    }
    let of_spec = all(&|id| id.split('@').next() == Some(name));
    if !of_spec.is_empty() {
        return of_spec;
    }
    all(&|id| id.starts_with(name))
}
