//! NVIDIA's assembler: where it is, what it says of a kernel, and which of that is not acceptable.
//!
//! Comes in: PTX text and an architecture. Goes out: a [`PtxasReport`] of resources and warnings,
//! and the cubin. The tool is what `TILEWRIGHT_PTXAS` names, else the one that `ci/setup.sh` put
//! into the repository that this program was built in: `.tools/bin/ptxas` in a folder above the
//! program's own file, or in the repository itself where the program was moved since, as
//! `cargo install` does, unless pip installed one beside the program; else the one on the `PATH`,
//! else the one in `CUDA_HOME/bin`, else the one that pip installed beside the program, which has
//! it as a dependency. Those of set-up and pip
//! have to be of the program's owner. No other place is searched: a working folder has no say in
//! what runs.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::arch::Arch;
use crate::error::{Error, Result, Violation};
use crate::ptx::cubin;
use crate::ptx::process;

/// The variable that names the tool.
pub const VARIABLE: &str = "TILEWRIGHT_PTXAS";

/// The folder of a repository that `ci/setup.sh` puts tools into.
const TOOLS: &str = ".tools";
/// Where an environment of Python has what the package `nvidia-cuda-nvcc` of CUDA 13 brings.
const OF_PIP: &str = "nvidia/cu13/bin/ptxas";
/// How there comes to be one.
pub const WAY_OUT: &str = "run ci/setup.sh of a clone, pip install nvidia-cuda-nvcc==13.0.88 \
                           where pip installed tilewright, or set TILEWRIGHT_PTXAS";
/// What the tool reads, its standard input, and what it writes, its standard output: it says all it
/// has to say on standard error.
const SOURCE: &str = "/dev/stdin";
const CUBIN: &str = "/dev/fd/1";
/// Longest time for the assembly of a kernel; the shipped ones take a second.
const ASSEMBLY_LIMIT: Duration = Duration::from_secs(100);
/// Longest time for saying a version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Where machine code looks for the parameters of each entry: bytes from the first one, and sizes.
pub type Params = BTreeMap<String, Vec<(u32, u32)>>;

/// What the assembler made of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxasReport {
    /// Registers of a thread.
    pub registers: u32,
    /// The most that its text asks for behind its entry, by `setmaxnreg.inc`.
    pub raised: Option<u32>,
    /// Static shared memory in bytes.
    pub smem_bytes: u32,
    /// Barriers used.
    pub barriers: u32,
    /// Bytes of spill loads.
    pub spill_load_bytes: u32,
    /// Bytes of spill stores.
    pub spill_store_bytes: u32,
    /// Bytes of stack frame.
    pub stack_bytes: u32,
    /// Every warning and every line with a code `C75xx` or `C76xx`, in order.
    pub warnings: Vec<String>,
    /// Version of the tool, such as `13.0.88`.
    pub version: String,
    /// Where the machine code looks for its parameters: bytes from the first one, and sizes. None
    /// where it does not say.
    pub params: Option<Params>,
    /// The machine code.
    pub cubin: Vec<u8>,
}

/// The assembler's path, if there is one.
pub fn find() -> Option<PathBuf> {
    let program = env::current_exe().ok();
    let program = program.as_deref();
    let of_pip = program.and_then(of_environment);
    // What pip installed was built on another machine, or in a folder that is somebody's by now.
    let repository = Some(built_in()).filter(|_| of_pip.is_none());
    named()
        .or_else(|| program.and_then(|program| set_up(program, repository)))
        .or_else(|| search(|variable| env::var_os(variable)))
        .or(of_pip)
}

/// The repository that this program was built in, as its compiler saw it; nothing may be there any
/// more.
pub fn built_in() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// What the variable names; nothing may be there.
fn named() -> Option<PathBuf> {
    let named = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}

/// The assembler by a word: `required`, `if-found`, `never`, or the path of one.
///
/// # Errors
/// [`Error::Tool`] when none is found where one is required, or there is none at the path.
pub fn chosen(word: &OsStr) -> Result<Option<PathBuf>> {
    let gone = |path: &PathBuf| word != "never" && !path.exists();
    if let Some(path) = named().filter(gone) {
        return Err(tool(format!(
            "{VARIABLE} is {}, and nothing is there: name a ptxas by it, or unset it",
            path.display()
        )));
    }
    match word.to_str() {
        Some("required") => find().map(Some).ok_or_else(none),
        Some("if-found") => Ok(find()),
        Some("never") => Ok(None),
        _ if Path::new(word).is_file() => Ok(Some(PathBuf::from(word))),
        _ => Err(tool(format!(
            "{word:?} is no file, and none of required, if-found, never"
        ))),
    }
}

/// The first place in the order of search, among those that every tool of CUDA is looked for at.
fn search(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let in_home = |home: OsString| {
        let path = Path::new(&home).join("bin/ptxas");
        path.is_file().then_some(path)
    };
    on_path(variable("PATH").as_deref()).or_else(|| variable("CUDA_HOME").and_then(in_home))
}

/// What set-up put into a folder above a program, or into the repository that it was built in, of
/// the program's owner: a folder that all may write to, as /tmp is, may hold another's, and where
/// one machine has the repository another one may have somebody's folder.
fn set_up(program: &Path, repository: Option<&Path>) -> Option<PathBuf> {
    let owned = |path: &Path| is_of_one_owner(program, path);
    let above = program.ancestors().skip(1).chain(repository);
    let tools = above.map(|folder| folder.join(TOOLS));
    let mut found = tools
        .filter(|tools| owned(tools) && owned(&tools.join("bin")))
        .map(|tools| tools.join("bin/ptxas"));
    found.find(|path| path.is_file() && owned(path))
}

/// What pip installed beside the program, which may have been called by a link: below the `lib`
/// that is beside the program's `bin`.
fn of_environment(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let bin = program.parent()?;
    let mut of_versions: Vec<PathBuf> = fs::read_dir(bin.parent()?.join("lib"))
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    of_versions.sort_unstable();
    let packages = of_versions.iter().flat_map(|version| {
        let folders = ["site-packages", "dist-packages"];
        folders.map(|folder| version.join(folder))
    });
    let mut found = packages.map(|folder| folder.join(OF_PIP));
    found.find(|path| path.is_file() && is_of_one_owner(&program, path))
}

#[cfg(unix)]
fn is_of_one_owner(program: &Path, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| path.symlink_metadata().map(|about| about.uid()).ok();
    owner(path).is_some_and(|one| owner(program) == Some(one))
}

#[cfg(not(unix))]
fn is_of_one_owner(_program: &Path, path: &Path) -> bool {
    path.exists()
}

/// What is said where there is none.
fn none() -> Error {
    tool(format!("no ptxas found: {WAY_OUT}"))
}

fn on_path(path: Option<&OsStr>) -> Option<PathBuf> {
    env::split_paths(path?)
        .map(|folder| folder.join("ptxas"))
        .find(|path| path.is_file())
}

/// The version of the tool at `path`, such as `13.0.88`.
///
/// # Errors
///
/// [`Error::Tool`] when it does not run, does not end, or prints no version.
pub fn version(path: &Path) -> Result<String> {
    let mut command = Command::new(path);
    command.arg("--version").stdout(Stdio::piped());
    let (text, _) = process::run(&mut command, VERSION_LIMIT, VARIABLE).map_err(tool)?;
    text.split_once(", V")
        .and_then(|(_, tail)| tail.split_whitespace().next())
        .map(str::to_owned)
        .ok_or_else(|| tool(format!("{} prints no version", path.display())))
}

/// The same, asked of each path once in a process.
fn version_once(path: &Path) -> Result<String> {
    static KNOWN: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(version) = known().get(path) {
        return Ok(version.clone());
    }
    let version = version(path)?;
    known().insert(path.to_owned(), version.clone());
    Ok(version)
}

/// Assembles a module of one kernel.
///
/// # Errors
///
/// [`Error::Tool`] when there is no assembler, it does not run or does not end in time, or it
/// rejects the text: with all it said.
pub fn assemble(text: &str, arch: &Arch) -> Result<PtxasReport> {
    let path = find().ok_or_else(none)?;
    assemble_with(&path, text, arch)
}

/// Assembles with the tool at `path`; see [`assemble`].
///
/// # Errors
///
/// As [`assemble`].
pub fn assemble_with(path: &Path, text: &str, arch: &Arch) -> Result<PtxasReport> {
    let (mut report, mut cubin) = said_of(path, text, arch)?;
    report.version = version_once(path)?;
    report.raised = raised(text);
    cubin.rewind().map_err(temporary)?;
    cubin.read_to_end(&mut report.cubin).map_err(temporary)?;
    report.params = cubin::params(&report.cubin);
    match cubin::registers(&report.cubin) {
        Some(other) if other != report.registers => Err(tool(format!(
            "says that the kernel has {} registers for {}, and its machine code {other}",
            report.registers, arch.ptxas_target
        ))),
        _ => Ok(report),
    }
}

fn temporary(source: io::Error) -> Error {
    Error::Io {
        path: "temporary file".to_owned(),
        source,
    }
}

/// What the tool says of a text, whose kernels' spills come together, and the machine code.
pub(super) fn said_of(path: &Path, text: &str, arch: &Arch) -> Result<(PtxasReport, File)> {
    let io = temporary;
    // Files without names: nothing of them stays, however this process ends.
    let mut source = tempfile::tempfile().map_err(io)?;
    let cubin = tempfile::tempfile().map_err(io)?;
    source.write_all(text.as_bytes()).map_err(io)?;
    source.rewind().map_err(io)?;
    let mut command = Command::new(path);
    command
        .arg(format!("-arch={}", arch.ptxas_target))
        .args(["-v", SOURCE, "-o", CUBIN])
        .stdin(source)
        .stdout(cubin.try_clone().map_err(io)?);
    let (said, passed) = process::run(&mut command, ASSEMBLY_LIMIT, VARIABLE).map_err(tool)?;
    if !passed {
        let said = said.replace(SOURCE, "kernel.ptx");
        return Err(tool(format!(
            "rejects the kernel for {}: {}",
            arch.name,
            said.trim()
        )));
    }
    Ok((parse(&said)?, cubin))
}

/// What stands against shipping a kernel: spills, local memory, warnings.
pub fn gate(report: &PtxasReport) -> Vec<Violation> {
    let bytes = [
        ("spill-loads", "spill loads", report.spill_load_bytes),
        ("spill-stores", "spill stores", report.spill_store_bytes),
        ("stack", "stack frame", report.stack_bytes),
    ];
    let registers = match report.raised {
        Some(raised) => format!(
            "{} registers at entry, {raised} behind setmaxnreg",
            report.registers
        ),
        None => format!("{} registers", report.registers),
    };
    let resources = bytes.into_iter().filter(|(_, _, bytes)| *bytes > 0);
    let resources = resources.map(|(code, what, bytes)| {
        let message = format!("{bytes} bytes of {what} at {registers}; 0 are allowed");
        Violation::new(code, message)
    });
    let warnings = report.warnings.iter();
    let warnings = warnings.map(|line| Violation::new("ptxas-warning", line.as_str()));
    resources.chain(warnings).collect()
}

fn tool(message: String) -> Error {
    Error::Tool {
        tool: "ptxas",
        message,
    }
}

/// The most registers that a text asks for behind its entry.
fn raised(text: &str) -> Option<u32> {
    let asked = text.split("setmaxnreg.inc").skip(1);
    let asked = asked.filter_map(|rest| before(rest.split_once(".u32")?.1, ";"));
    asked.max()
}

/// Reads what `ptxas -v` prints about entry functions: the most of any, and the bytes of all.
fn parse(text: &str) -> Result<PtxasReport> {
    let mut report = PtxasReport::default();
    let mut seen = (false, false);
    for line in text.lines() {
        let body = line.split_once(" : ").map_or(line, |(_, body)| body).trim();
        if let Some(rest) = body.strip_prefix("Used ") {
            seen.0 = true;
            let registers = before(rest, " registers").unwrap_or(0);
            let barriers = rest
                .split(", ")
                .find_map(|part| before(part.trim_start_matches("used "), " barriers"))
                .unwrap_or(0);
            let smem_bytes = rest
                .split(", ")
                .find_map(|part| before(part, " bytes smem"))
                .unwrap_or(0);
            report.registers = report.registers.max(registers);
            report.barriers = report.barriers.max(barriers);
            report.smem_bytes = report.smem_bytes.max(smem_bytes);
        } else if body.contains("bytes stack frame") {
            seen.1 = true;
            let sum = |unit| {
                body.split(", ")
                    .filter_map(|part| before(part.trim(), unit))
                    .sum::<u32>()
            };
            report.stack_bytes += sum(" bytes stack frame");
            report.spill_store_bytes += sum(" bytes spill stores");
            report.spill_load_bytes += sum(" bytes spill loads");
        }
        if line.contains("(C75") || line.contains("(C76") || line.starts_with("ptxas warning") {
            report.warnings.push(line.trim().to_owned());
        }
    }
    if seen == (true, true) {
        Ok(report)
    } else {
        Err(tool(format!(
            "says nothing about resources: {}",
            text.trim()
        )))
    }
}

/// The number before `unit` when the text is that number and then the unit.
fn before(text: &str, unit: &str) -> Option<u32> {
    text.split_once(unit)
        .and_then(|(number, _)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const CLEAN: &str = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'k' for 'sm_90'\n\
        ptxas info    : Function properties for k\n    \
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
        ptxas info    : Used 24 registers, used 1 barriers, 1024 bytes smem, 376 bytes cmem[0]\n\
        ptxas info    : Compile time = 5.3 ms\n";

    #[test]
    fn a_clean_kernel_passes() {
        let report = parse(CLEAN).unwrap();
        assert_eq!(
            (report.registers, report.barriers, report.smem_bytes),
            (24, 1, 1024)
        );
        assert_eq!(gate(&report), []);
    }

    #[test]
    fn spills_and_warnings_are_violations() {
        let frame = "16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads";
        let clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
        let warnings = "ptxas info    : (C7510) Potential Performance Loss: x\nptxas warning : y\n";
        let bad = format!("{warnings}{}", CLEAN.replace(clean, frame));
        let report = parse(&bad).unwrap();
        let codes: Vec<_> = gate(&report)
            .iter()
            .map(|violation| violation.code)
            .collect();
        assert_eq!(
            codes,
            [
                "spill-loads",
                "spill-stores",
                "stack",
                "ptxas-warning",
                "ptxas-warning"
            ]
        );
        assert_eq!(
            (
                report.stack_bytes,
                report.spill_store_bytes,
                report.spill_load_bytes
            ),
            (16, 8, 12)
        );
    }

    #[test]
    fn registers_behind_the_entry_are_told() {
        let text = "setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 232;\n\
                    setmaxnreg.inc.sync.aligned.u32 240;\n";
        let report = PtxasReport {
            registers: 168,
            raised: raised(text),
            stack_bytes: 8,
            ..PtxasReport::default()
        };
        let told = gate(&report)
            .iter()
            .map(ToString::to_string)
            .collect::<String>();
        assert!(
            told.contains("168 registers at entry, 240 behind setmaxnreg"),
            "{told}"
        );
        assert_eq!(raised("setmaxnreg.dec.sync.aligned.u32 40;"), None);
    }

    #[test]
    fn silence_about_resources_is_an_error() {
        assert!(matches!(
            parse("ptxas info : 0 bytes gmem"),
            Err(Error::Tool { .. })
        ));
    }

    #[test]
    fn the_tool_is_on_the_path_or_in_cuda_home() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, home) = (folder.path().join("path"), folder.path().join("home"));
        for tools in [&bin, &home.join("bin")] {
            fs::create_dir_all(tools).unwrap();
            fs::write(tools.join("ptxas"), "").unwrap();
        }
        let empty = folder.path().as_os_str();
        let found = |path: &OsStr, home: &OsStr| {
            search(|variable| match variable {
                "PATH" => Some(path.into()),
                "CUDA_HOME" => Some(home.into()),
                _ => None,
            })
        };
        let (bin, home) = (bin.as_os_str(), home.as_os_str());
        assert_eq!(found(bin, home), Some(Path::new(bin).join("ptxas")));
        assert_eq!(found(empty, home), Some(Path::new(home).join("bin/ptxas")));
        assert_eq!(found(empty, empty), None);
        assert_eq!(search(|_| None), None);
    }

    /// A folder with a program, and a repository with the tool beside it.
    fn installed() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let files = ["home/bin/tilewright", "clone/.tools/bin/ptxas"];
        for file in files.map(|name| folder.path().join(name)) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let [program, clone] =
            ["home/bin/tilewright", "clone"].map(|name| folder.path().join(name));
        (folder, program, clone)
    }

    #[test]
    fn the_tool_that_set_up_installed_is_found_above_the_program() {
        let (_folder, elsewhere, clone) = installed();
        let (built, tool) = (
            clone.join("target/debug/tilewright"),
            clone.join(".tools/bin/ptxas"),
        );
        fs::create_dir_all(built.parent().unwrap()).unwrap();
        fs::rename(elsewhere, &built).unwrap();
        let nowhere = clone.join("nowhere");
        assert_eq!(set_up(&built, Some(&nowhere)), Some(tool.clone()));
        fs::remove_file(tool).unwrap();
        assert!(set_up(&built, Some(&nowhere)).is_none_or(|found| !found.starts_with(&clone)));
    }

    #[test]
    fn a_program_that_was_moved_finds_the_tool_where_it_was_built() {
        let (_folder, program, clone) = installed();
        let tool = clone.join(".tools/bin/ptxas");
        assert_eq!(set_up(&program, Some(&clone)), Some(tool.clone()));
        assert!(set_up(&program, None).is_none_or(|found| !found.starts_with(&clone)));
        let gone = set_up(&program, Some(&clone.join("gone")));
        assert!(gone.is_none_or(|found| !found.starts_with(&clone)));
        // This test's own repository is that of the package, which has the set-up script.
        assert!(built_in().join("ci/setup.sh").is_file());
    }

    #[test]
    fn the_tool_that_pip_installed_beside_the_program_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bin/tilewright");
        let tool = |version: &str, packages: &str| {
            let packages = folder.path().join("lib").join(version).join(packages);
            packages.join(OF_PIP)
        };
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        assert_eq!(of_environment(&program), None);
        for [version, packages] in [
            ["python3.9", "dist-packages"],
            ["python3.14", "site-packages"],
        ] {
            let tool = tool(version, packages);
            fs::create_dir_all(tool.parent().unwrap()).unwrap();
            fs::write(&tool, "").unwrap();
            let found = of_environment(&program).unwrap();
            assert_eq!(found, tool.canonicalize().unwrap());
            fs::remove_file(tool).unwrap();
        }
        assert_eq!(of_environment(Path::new("/nowhere/bin/tilewright")), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_another_owner_put_there_is_not_run() {
        use std::os::unix::fs::{MetadataExt as _, lchown};
        let (_folder, program, clone) = installed();
        let owner = program.metadata().unwrap().uid();
        for name in [".tools", ".tools/bin", ".tools/bin/ptxas"] {
            let path = clone.join(name);
            // Only root gives files away.
            if lchown(&path, Some(owner + 1), None).is_err() {
                return;
            }
            assert_eq!(set_up(&program, Some(&clone)), None, "{name}");
            lchown(&path, Some(owner), None).unwrap();
        }
        assert!(set_up(&program, Some(&clone)).is_some());
    }
}
