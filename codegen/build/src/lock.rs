//! The lock: of which specs, by which tools, the kernels of a bundle were made.
//!
//! In: a bundle, the texts of its specs, what made it. Out: a file to be committed, and afterwards
//! whether what is there is what was locked, or what moved: a spec's text, the generator, its
//! templates and instruction facts, LLVM, ptxas, and which kernels differ for it.

mod known;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tilewright_bundle::{Bundle, Sha256Hex, read_plain_file};

use crate::error::Error;

/// Longest lock.
const MOST_BYTES: u64 = 64 << 20;

/// The format that this version reads and writes.
const FORMAT: u32 = 1;
/// Kernels of a spec that are told by name.
const TOLD: usize = 3;
/// What is said where the same texts lie at other paths.
const MOVED: &str = "specs of the same text lie at other paths: those of a lock count from its own \
                     folder, so lock and specs move together";

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The format's number.
    format: u32,
    /// What made the kernels.
    pub inputs: Inputs,
    /// The specs, by path.
    pub specs: Vec<LockedSpec>,
}

/// Everything but specs that the bytes of kernels follow from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The generator and its version.
    pub generator: String,
    /// Hash of its templates and instruction facts.
    pub facts: Sha256Hex,
    /// LLVM's version.
    pub llvm: String,
    /// The version of ptxas; nothing where kernels were not assembled.
    pub ptxas: Option<String>,
    /// Whether PTX names lines of the specs.
    pub line_info: bool,
    /// Architectures of devices that kernels were made for; none for all.
    pub archs: Vec<String>,
    /// Which machine code lies beside the PTX, as `tilewright build --cubin` was told; nothing
    /// where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cubin: Option<String>,
}

/// A spec and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedSpec {
    /// Its path from the lock's folder.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Hash of its text.
    pub sha256: Sha256Hex,
    /// Content hashes of its kernels by id.
    pub kernels: BTreeMap<String, Sha256Hex>,
}

/// A spec as it is read for a lock.
#[derive(Debug, Clone, Copy)]
pub struct SpecText<'a> {
    /// Its file.
    pub path: &'a Path,
    /// Its name.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// How a bundle was compared with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Its kernels were generated again, and are the same.
    Generated,
    /// The texts of the specs and the bundle's kernels have the lock's hashes; nothing was made.
    Hashes,
}

impl Checked {
    /// As a line for a reader.
    pub const fn text(self) -> &'static str {
        match self {
            Checked::Generated => "the kernels were generated again and are those of the lock",
            Checked::Hashes => {
                "specs and kernels have the hashes of the lock; nothing was generated"
            }
        }
    }
}

/// The hash of a text, whatever ends its lines: a checkout on Windows writes others.
fn hash_of(text: &[u8]) -> Sha256Hex {
    let behind = text.iter().skip(1).chain(&[0]);
    let kept = text
        .iter()
        .zip(behind)
        .filter(|pair| *pair != (&b'\r', &b'\n'));
    Sha256Hex::of(&kept.map(|(byte, _)| *byte).collect::<Vec<u8>>())
}

impl Lock {
    /// The lock of a bundle, to lie at `path`.
    pub fn of(path: &Path, inputs: Inputs, specs: &[SpecText<'_>], bundle: &Bundle) -> Lock {
        let folder = folder_of(path);
        let locked = specs.iter().map(|spec| LockedSpec {
            path: from_folder(&folder, spec.path),
            name: spec.name.to_owned(),
            sha256: hash_of(spec.text.as_bytes()),
            kernels: bundle
                .of_spec(spec.name)
                .map(|kernel| (kernel.id.clone(), kernel.content_hash.clone()))
                .collect(),
        });
        let mut specs: Vec<LockedSpec> = locked.collect();
        specs.sort_by(|one, other| one.path.cmp(&other.path));
        Lock {
            format: FORMAT,
            inputs,
            specs,
        }
    }

    /// Reads a lock.
    ///
    /// # Errors
    /// When the file is none, or of another format.
    pub fn read(path: &Path) -> Result<Lock, Error> {
        let refused = |problem: String| Error::Locked {
            lock: path.to_owned(),
            problems: vec![problem],
        };
        let bytes = match read_plain_file(path, MOST_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(refused(format!(
                    "there is none yet: tilewright build SPEC… -o BUNDLE --lock {} writes it",
                    path.display()
                )));
            }
            Err(error) if error.kind() == ErrorKind::IsADirectory => {
                return Err(refused(
                    "this is a folder: name the lock, a file, which tilewright build --lock wrote"
                        .to_owned(),
                ));
            }
            bytes => bytes.map_err(Error::io(path))?,
        };
        let lock: Lock = serde_json::from_slice(&bytes).map_err(|error| {
            let way_out = match known::is_one(&String::from_utf8_lossy(&bytes)) {
                true => "write it again with --lock",
                false => "remove it, and write it anew with --lock",
            };
            refused(format!("no lock: {error}; {way_out}"))
        })?;
        match lock.format {
            FORMAT => Ok(lock),
            other => Err(refused(format!(
                "format {other}; this version reads {FORMAT}: write it again with --lock"
            ))),
        }
    }

    /// Whether a lock may be written at `path`: nothing lies there, or an earlier lock, be it of
    /// another format, torn apart by a merge or cut short.
    ///
    /// # Errors
    /// [`Error::Foreign`] when something else does, [`Error::Io`] when it cannot be read.
    pub fn may_write(path: &Path) -> Result<(), Error> {
        // What is missing is told by whoever writes; pipes and devices hold nothing.
        if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(());
        }
        let bytes = read_plain_file(path, MOST_BYTES).map_err(Error::io(path))?;
        match bytes.is_empty() || known::is_one(&String::from_utf8_lossy(&bytes)) {
            true => Ok(()),
            false => Err(Error::Foreign {
                path: path.to_owned(),
                what: "lock",
            }),
        }
    }

    /// Writes the lock, in place of an earlier one.
    ///
    /// # Errors
    /// When the file cannot be written, or something else lies there.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        Lock::may_write(path)?;
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        let text = text.map_err(Error::io(path))? + "\n";
        std::fs::write(path, text).map_err(Error::io(path))
    }

    /// What moved from this lock to that of what is there now: nothing where both say the same.
    pub fn moved(&self, now: &Lock) -> Vec<String> {
        let mut moved: Vec<String> = Vec::new();
        let before = |spec: &LockedSpec| self.specs.iter().find(|one| one.path == spec.path);
        for spec in &now.specs {
            match before(spec) {
                None => moved.push(format!("{} ({}) is not in the lock", spec.path, spec.name)),
                Some(locked) if locked != spec => moved.push(locked.told(spec)),
                Some(_) => {}
            }
        }
        let gone = |spec: &&LockedSpec| !now.specs.iter().any(|one| one.path == spec.path);
        let mut elsewhere = false;
        for spec in self.specs.iter().filter(gone) {
            moved.push(format!("{} ({}) is locked and gone", spec.path, spec.name));
            let same = |one: &&LockedSpec| before(one).is_none() && one.sha256 == spec.sha256;
            elsewhere |= now.specs.iter().any(|one| same(&one));
        }
        if elsewhere {
            moved.push(MOVED.to_owned());
        }
        let inputs = self.inputs.moved(&now.inputs);
        if moved.is_empty() && inputs.is_empty() {
            return moved;
        }
        moved.push(match inputs.is_empty() {
            true => "what made them is as locked".to_owned(),
            false => format!("what made them moved: {}", inputs.join(", ")),
        });
        moved
    }

    /// Refuses what is there now unless it is what was locked.
    ///
    /// # Errors
    /// [`Error::Locked`] with everything that moved.
    pub fn check(&self, path: &Path, now: &Lock) -> Result<Checked, Error> {
        refuse(path, self.moved(now), &now.inputs).map(|()| Checked::Generated)
    }

    /// Refuses spec files and a bundle unless they have the hashes of the lock at `path`. Where no
    /// files are named, those of the lock are read.
    ///
    /// # Errors
    /// [`Error::Locked`] with everything that moved.
    pub fn check_hashes(
        &self,
        path: &Path,
        files: &[PathBuf],
        bundle: &Bundle,
    ) -> Result<Checked, Error> {
        let folder = folder_of(path);
        let mut moved = Vec::new();
        for spec in &self.specs {
            let text = std::fs::read(folder.join(&spec.path));
            match text.map(|text| hash_of(&text)) {
                Ok(hash) if hash == spec.sha256 => {}
                Ok(_) => moved.push(format!("{} ({}): its text moved", spec.path, spec.name)),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    moved.push(format!("{} ({}) is locked and gone", spec.path, spec.name));
                }
                Err(error) => moved.push(format!("{} ({}): {error}", spec.path, spec.name)),
            }
            for (id, hash) in &spec.kernels {
                match bundle.kernel(id) {
                    Some(kernel) if kernel.content_hash == *hash => {}
                    Some(_) => moved.push(format!("{id}: the bundle has another kernel")),
                    None => moved.push(format!("{id}: the bundle lacks it")),
                }
            }
        }
        for file in files {
            let file = from_folder(&folder, file);
            if !self.specs.iter().any(|spec| spec.path == file) {
                moved.push(format!("{file} is not in the lock"));
            }
        }
        let is_locked = |id: &String| self.specs.iter().any(|spec| spec.kernels.contains_key(id));
        for kernel in bundle.kernels().iter().filter(|one| !is_locked(&one.id)) {
            moved.push(format!("{}: in the bundle, not in the lock", kernel.id));
        }
        refuse(path, moved, &self.inputs).map(|()| Checked::Hashes)
    }
}

/// Refuses what moved, with the command that locks what is made so now.
fn refuse(path: &Path, mut moved: Vec<String>, inputs: &Inputs) -> Result<(), Error> {
    if moved.is_empty() {
        return Ok(());
    }
    let (lock, shown) = (path.to_owned(), path.display());
    moved.push(format!(
        "if it is meant, write bundle and lock again: \
         tilewright build SPEC… -o BUNDLE --lock {shown}{}",
        inputs.options()
    ));
    Err(Error::Locked {
        lock,
        problems: moved,
    })
}

impl LockedSpec {
    /// What of a spec moved.
    fn told(&self, now: &LockedSpec) -> String {
        let text = match self.sha256 == now.sha256 {
            true => "its text is as locked",
            false => "its text moved",
        };
        let mut differ: Vec<String> = Vec::new();
        for (id, hash) in &now.kernels {
            match self.kernels.get(id) {
                None => differ.push(format!("{id} is new")),
                Some(locked) if locked != hash => differ.push(format!("{id} differs")),
                Some(_) => {}
            }
        }
        let gone = self
            .kernels
            .keys()
            .filter(|id| !now.kernels.contains_key(*id));
        differ.extend(gone.map(|id| format!("{id} is gone")));
        let kernels = match differ.len() {
            0 => "its kernels are as locked".to_owned(),
            count if count > TOLD => {
                let told = differ[..TOLD].join(", ");
                format!("{told} and {} kernels more", count - TOLD)
            }
            _ => differ.join(", "),
        };
        format!("{} ({}): {text}; {kernels}", self.path, self.name)
    }
}

impl Inputs {
    /// The options of a build with these: none of one as it is without any.
    fn options(&self) -> String {
        let mut options: Vec<String> = self
            .archs
            .iter()
            .map(|one| format!("--arch {one}"))
            .collect();
        if let Some(cubin) = &self.cubin {
            let alone = cubin.strip_suffix(" alone");
            options.push(format!("--cubin {}", alone.unwrap_or(cubin)));
            options.extend(alone.map(|_| "--cubin-only".to_owned()));
        }
        options.extend(self.line_info.then(|| "--line-info".to_owned()));
        if self.ptxas.is_none() {
            options.push("--ptxas never".to_owned());
        }
        options.iter().map(|option| format!(" {option}")).collect()
    }

    fn moved(&self, now: &Inputs) -> Vec<String> {
        let none = || "none".to_owned();
        let facts = |inputs: &Inputs| format!("{:.12}", inputs.facts.to_string());
        let ptxas = |inputs: &Inputs| inputs.ptxas.clone().unwrap_or_else(none);
        let cubin = |inputs: &Inputs| inputs.cubin.clone().unwrap_or_else(none);
        let archs = |inputs: &Inputs| match inputs.archs.is_empty() {
            true => "all".to_owned(),
            false => inputs.archs.join(" "),
        };
        let rows = [
            ("generator", self.generator.clone(), now.generator.clone()),
            ("templates and instruction facts", facts(self), facts(now)),
            ("LLVM", self.llvm.clone(), now.llvm.clone()),
            ("ptxas", ptxas(self), ptxas(now)),
            (
                "line info",
                self.line_info.to_string(),
                now.line_info.to_string(),
            ),
            ("architectures", archs(self), archs(now)),
            ("machine code", cubin(self), cubin(now)),
        ];
        let differ = rows
            .into_iter()
            .filter(|(_, before, after)| before != after);
        differ
            .map(|(what, before, after)| format!("{what} from {before} to {after}"))
            .collect()
    }
}

/// The folder of a file, as the system names it.
fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = parent.unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// A file's path from a folder, with `/` between its parts; itself where it does not lie below.
fn from_folder(folder: &Path, file: &Path) -> String {
    let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let below = whole.strip_prefix(folder).unwrap_or(&whole);
    below.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests;
