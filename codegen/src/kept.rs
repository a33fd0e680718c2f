//! Kernels that were made before, in files of a folder.
//!
//! Comes in: a spec's text and a point of it. Goes out: the kernel, if it was made of the same text
//! by the same tools: the contents of this very program, in which the generator, its templates, its
//! instruction facts and LLVM are linked, and those of the assembler. A file that is damaged is
//! made anew; one that cannot be written is made again the next time. What a build did not ask for
//! is removed behind it, so that the folder holds one catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tilewright_bundle::Sha256Hex;

use crate::Making;
use crate::error::{Error, Result};
use crate::pack::Artifact;
use crate::spec::{Point, SpecFile};

/// The file that has the hashes of the tools.
const TOOLS: &str = "tools.json";
/// The file on the last build as a whole.
const LAST: &str = "last.json";
/// What the file of a kernel ends in.
const KERNEL: &str = ".kernel";

/// A folder of kernels, for one set of tools.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    tools: String,
    /// Files that were asked for.
    asked: Mutex<BTreeSet<String>>,
}

/// A tool as it was hashed: a file of the same length and time has the same contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    modified_ns: u128,
    sha256: Sha256Hex,
}

/// What the last build was asked and what it wrote.
#[derive(Debug, Serialize, Deserialize)]
struct Last {
    request: Sha256Hex,
    output: Sha256Hex,
    told: Vec<String>,
}

impl Kept {
    /// The kernels kept in that folder, which is made where it is missing.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be made, holds files of these names that are of no such
    /// folder, or a tool cannot be read.
    pub fn open(folder: &Path, ptxas: Option<&Path>) -> Result<Kept> {
        fs::create_dir_all(folder).map_err(io(folder))?;
        belongs::<BTreeMap<PathBuf, Stamp>>(&folder.join(TOOLS))?;
        belongs::<Last>(&folder.join(LAST))?;
        let own = std::env::current_exe().map_err(io(Path::new("this program")))?;
        let mut stamps: BTreeMap<PathBuf, Stamp> = read(&folder.join(TOOLS)).unwrap_or_default();
        let before = stamps.clone();
        let mut tools = Vec::new();
        for tool in [Some(own.as_path()), ptxas] {
            tools.push(match tool {
                Some(tool) => hashed(tool, &mut stamps)?.to_string(),
                None => "none".to_owned(),
            });
        }
        stamps.retain(|tool, _| *tool == own || Some(tool.as_path()) == ptxas);
        if stamps != before {
            write_json(folder, TOOLS, &stamps);
        }
        Ok(Kept {
            folder: folder.to_owned(),
            tools: tools.join(" "),
            asked: Mutex::default(),
        })
    }

    /// The kernel of a point, if it was made of the same.
    pub fn find(&self, file: &SpecFile, point: &Point, making: &Making) -> Option<Artifact> {
        let name = self.name(file, &point.id, making);
        // A line of the hash, then the kernel.
        let page = fs::read_to_string(self.folder.join(name)).ok()?;
        let (sha256, kernel) = page.split_once('\n')?;
        let is_whole = Sha256Hex::of(kernel.as_bytes()).as_str() == sha256;
        let found = serde_json::from_str(kernel).ok();
        let mut artifact: Artifact = found.filter(|_| is_whole)?;
        // What its formula is, is no part of the text.
        artifact.kernel.resolve().ok()?;
        Some(artifact)
    }

    /// Keeps a kernel of a spec.
    pub fn keep(&self, file: &SpecFile, artifact: &Artifact, making: &Making) {
        let name = self.name(file, &artifact.kernel.id, making);
        if let Ok(kernel) = serde_json::to_string(artifact) {
            let sha256 = Sha256Hex::of(kernel.as_bytes());
            write(
                &self.folder,
                &name,
                format!("{sha256}\n{kernel}").as_bytes(),
            );
        }
    }

    /// What the last build told, if it was asked the same, by the same tools, and what it wrote is
    /// still there.
    pub fn last(&self, request: &str, output: &Path) -> Option<Vec<String>> {
        let last: Last = read(&self.folder.join(LAST))?;
        let is_same = last.request == self.request(request) && last.output == contents(output)?;
        is_same.then_some(last.told)
    }

    /// Keeps what a build was asked, wrote and told, and removes the kernels that it did not ask
    /// for.
    pub fn done(&self, request: &str, output: &Path, told: Vec<String>) {
        if let Some(output) = contents(output) {
            let request = self.request(request);
            let last = Last {
                request,
                output,
                told,
            };
            write_json(&self.folder, LAST, &last);
        }
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_kernel(&name) && !asked.contains(&name) {
                // What stays is removed behind the next build.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn request(&self, request: &str) -> Sha256Hex {
        Sha256Hex::of(format!("{}\n{request}", self.tools).as_bytes())
    }

    /// The file of a point's kernel. The assembler is one of the tools.
    fn name(&self, file: &SpecFile, point: &str, making: &Making) -> String {
        let (tools, path, text) = (&self.tools, &file.path, &file.text);
        let (info, code) = (making.line_info, making.machine_code);
        let made_of = format!("{tools}\n{info:?} {code:?}\n{point}\n{path}\n{text}");
        let name = format!("{}{KERNEL}", Sha256Hex::of(made_of.as_bytes()));
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert(name.clone());
        name
    }
}

/// Whether a file may be one of a kernel, by its name, which is a hash.
fn is_kernel(name: &str) -> bool {
    let digits = name.strip_suffix(KERNEL);
    digits.is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|c| c.is_ascii_hexdigit()))
}

/// Refuses a file that somebody else has given the name of one of ours.
fn belongs<T: DeserializeOwned>(path: &Path) -> Result<()> {
    let is_there = fs::metadata(path).is_ok_and(|about| about.len() > 0);
    if !is_there || read::<T>(path).is_some() {
        return Ok(());
    }
    let problem = "the file is there and is none of a cache, and was left as it is: name another \
                   folder, or remove it";
    Err(io(path)(std::io::Error::other(problem)))
}

/// The hash of a tool, taken again when its length or time is another.
fn hashed(tool: &Path, stamps: &mut BTreeMap<PathBuf, Stamp>) -> Result<Sha256Hex> {
    let facts = fs::metadata(tool).map_err(io(tool))?;
    let since = facts
        .modified()
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let (bytes, modified_ns) = (facts.len(), since.map_or(0, |since| since.as_nanos()));
    if let Some(stamp) = stamps.get(tool)
        && (stamp.bytes, stamp.modified_ns) == (bytes, modified_ns)
    {
        return Ok(stamp.sha256.clone());
    }
    let sha256 = Sha256Hex::of(&fs::read(tool).map_err(io(tool))?);
    let stamp = Stamp {
        bytes,
        modified_ns,
        sha256: sha256.clone(),
    };
    stamps.insert(tool.to_owned(), stamp);
    Ok(sha256)
}

/// The hash of a file, or of every file below a folder with its path.
fn contents(path: &Path) -> Option<Sha256Hex> {
    if path.is_file() {
        return Some(Sha256Hex::of(&fs::read(path).ok()?));
    }
    let (mut files, mut folders) = (BTreeMap::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).ok()? {
            let entry = entry.ok()?.path();
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let hash = Sha256Hex::of(&fs::read(&entry).ok()?);
                    files.insert(entry, hash);
                }
            }
        }
    }
    Some(Sha256Hex::of(format!("{files:?}").as_bytes()))
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write_json(folder: &Path, name: &str, content: &impl Serialize) {
    if let Ok(bytes) = serde_json::to_vec(content) {
        write(folder, name, &bytes);
    }
}

/// Writes a file beside its place and renames it; one that cannot be written is not there.
fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let put = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.persist(folder.join(name))
            .map_err(|error| error.error)?;
        Ok(())
    };
    // The next build makes it again.
    let _ = put();
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.display().to_string();
    |source| Error::Io { path, source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{LineInfo, MachineCode, spec};

    const COPY: &str = "kernel: copy\nname: copy_rows\narch: sm_80\noperands:\n  \
                        s: { dtype: f32, layout: '(m,n):(lds,1)' }\n  \
                        d: { dtype: f32, layout: '(m,n):(ldd,1)' }\ncta_tile: '(16,256)'\n";

    #[test]
    fn what_is_kept_is_of_the_same_text_and_tools() {
        let folder = tempfile::tempdir().unwrap();
        let file = spec::parse("-", COPY).unwrap();
        let point = &file.points[0];
        let kept = Kept::open(folder.path(), None).unwrap();
        let making = Making::default();
        assert!(kept.find(&file, point, &making).is_none());
        let artifact = crate::artifact(&file, point, &making).unwrap();
        kept.keep(&file, &artifact, &making);
        let found = kept.find(&file, point, &making).unwrap();
        let text = |artifact| serde_json::to_string(artifact).unwrap();
        assert!(text(&found) == text(&artifact));
        assert!(artifact.kernel.form().is_some());
        assert_eq!(found.kernel.form(), artifact.kernel.form());
        let directives = Making {
            line_info: LineInfo::Directives,
            ..Making::default()
        };
        let with_code = Making {
            machine_code: MachineCode::chosen("own", false).unwrap(),
            ..Making::default()
        };
        for other in [directives, with_code] {
            assert!(kept.find(&file, point, &other).is_none());
        }
        let other = spec::parse("-", &format!("# another text\n{COPY}")).unwrap();
        assert!(kept.find(&other, &other.points[0], &making).is_none());
        // Another assembler, and then a damaged file.
        let tool = folder.path().join("ptxas");
        fs::write(&tool, "one").unwrap();
        let with = Kept::open(folder.path(), Some(&tool)).unwrap();
        assert!(with.find(&file, point, &making).is_none());
        let page = folder.path().join(kept.name(&file, &point.id, &making));
        let text = fs::read_to_string(&page).unwrap();
        fs::write(&page, text.replace(".visible .entry", ".weak .entry")).unwrap();
        assert!(kept.find(&file, point, &making).is_none());
    }

    #[test]
    fn a_build_that_was_done_is_known_while_its_output_stays() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        fs::write(&output, "bundle").unwrap();
        let kept = Kept::open(&folder.path().join("kept"), None).unwrap();
        assert_eq!(kept.last("one", &output), None);
        let at = |name: &str| folder.path().join("kept").join(format!("{name}{KERNEL}"));
        let (stale, others) = (at(&"0a".repeat(32)), at("linux"));
        fs::write(&stale, "{}").unwrap();
        fs::write(&others, "somebody's").unwrap();
        kept.done("one", &output, vec!["a note".to_owned()]);
        assert!(!stale.exists() && others.exists());
        assert_eq!(kept.last("one", &output), Some(vec!["a note".to_owned()]));
        assert_eq!(kept.last("two", &output), None);
        fs::write(&output, "other").unwrap();
        assert_eq!(kept.last("one", &output), None);
    }

    #[test]
    fn files_of_others_are_left_as_they_are() {
        for name in [TOOLS, LAST] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::write(&path, "{\"hammer\": 1}").unwrap();
            let told = Kept::open(folder.path(), None).unwrap_err().to_string();
            assert!(
                told.contains(name) && told.contains("left as it is"),
                "{told}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), "{\"hammer\": 1}");
        }
    }
}
