//! What is built, by which route, and what a build script tells cargo of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tilewright_bundle::{
    Bundle, BundleWriter, Capability, Kernel, LAST_RESORT, Route, shared_words,
};

use crate::arch::capability;
use crate::command;
use crate::earlier;
use crate::error::Error;
use crate::features;
use crate::launchers;
use crate::left_out;
use crate::lock::{Checked, Lock};
use crate::spec_files::spec_files;
use crate::uncovered::{self, LastResort};

/// What the build step is to do; see the crate's documentation for where kernels come from.
///
/// ```no_run
/// // In `main` of build.rs.
/// tilewright_build::Config::new()
///     .specs("kernels")
///     .specs_of_feature("fp8", "kernels-fp8")
///     .arch("sm_90")
///     .ptxas("required")
///     .compile();
/// ```
#[derive(Debug, Clone, Default)]
pub struct Config {
    specs: Vec<PathBuf>,
    archs: Vec<String>,
    name: Option<String>,
    out_dir: Option<PathBuf>,
    ptxas: Option<OsString>,
    cubin: Option<String>,
    cubin_only: bool,
    jobs: Option<NonZeroUsize>,
    line_info: bool,
    last_resort: Option<LastResort>,
    committed: Option<PathBuf>,
    lock: Option<PathBuf>,
    /// Features that were named, and are off.
    off: Vec<String>,
}

/// What the build step made.
#[derive(Debug, Clone)]
pub struct Built {
    /// The bundle, one zip file.
    pub bundle: PathBuf,
    /// The Rust source that embeds it, with its launchers.
    pub source: PathBuf,
    /// How many kernels it has.
    pub kernels: usize,
    /// What a reader of the build should know.
    pub warnings: Vec<String>,
    /// How it was compared with the lock, if there is one.
    pub checked: Option<Checked>,
}

/// Builds every spec below `folder`, relative to the package, into `OUT_DIR` under the folder's
/// name: [`Config::compile`] of that folder alone.
pub fn compile(folder: impl AsRef<Path>) {
    Config::new().specs(folder).compile();
}

impl Config {
    /// Nothing to build yet.
    pub fn new() -> Config {
        Config::default()
    }

    /// Builds this spec as well, or every one below this folder.
    #[must_use]
    pub fn specs(mut self, path: impl AsRef<Path>) -> Config {
        self.specs.push(path.as_ref().to_owned());
        self
    }

    /// As [`Config::specs`] where the package is built with this feature of its own. A lock is of
    /// one set of specs: name another one where the feature is on.
    #[must_use]
    pub fn specs_of_feature(mut self, feature: &str, path: impl AsRef<Path>) -> Config {
        // As cargo spells features for build scripts.
        let name = feature.to_uppercase().replace('-', "_");
        match std::env::var_os(format!("CARGO_FEATURE_{name}")) {
            Some(_) => self.specs(path),
            None => {
                self.off.push(feature.to_owned());
                self
            }
        }
    }

    /// Builds the kernels alone that GPUs of this architecture run, `sm_90`, or of another one that
    /// was named so; the specs of the others are a warning. Without a name all are built.
    #[must_use]
    pub fn arch(mut self, arch: &str) -> Config {
        self.archs.push(arch.to_owned());
        self
    }

    /// The name of what is made, for `include_kernels!("name")`: that of the first folder unless it
    /// is given.
    #[must_use]
    pub fn name(mut self, name: &str) -> Config {
        self.name = Some(name.to_owned());
        self
    }

    /// Where to write, in place of `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, folder: impl AsRef<Path>) -> Config {
        self.out_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Whether kernels are assembled as a check: `required`, `if-found` (as without this call) or
    /// `never`, or by which `ptxas`.
    #[must_use]
    pub fn ptxas(mut self, policy: impl Into<OsString>) -> Config {
        self.ptxas = Some(policy.into());
        self
    }

    /// Ships machine code beside the PTX, so that no driver compiles: `own`, for the architecture
    /// of each kernel's PTX, or for GPUs of one architecture, `sm_90`. Needs `ptxas`.
    #[must_use]
    pub fn cubin(mut self, of: impl Into<String>) -> Config {
        self.cubin = Some(of.into());
        self
    }

    /// Has no driver compile the PTX: devices that the machine code is not for are refused. Of a
    /// committed bundle that was built so.
    #[must_use]
    pub fn cubin_only(mut self) -> Config {
        self.cubin_only = true;
        self
    }

    /// Kernels compiled at once; without it as many as cargo allows.
    #[must_use]
    pub fn jobs(mut self, jobs: NonZeroUsize) -> Config {
        self.jobs = Some(jobs);
        self
    }

    /// Writes into the PTX which line of the spec it comes from, for profilers.
    #[must_use]
    pub fn line_info(mut self) -> Config {
        self.line_info = true;
        self
    }

    /// Fails where a function has no kernel that takes every shape (but nothing along what is
    /// folded), address, and stride that its specs leave open (`(m,n):(ldx,1)` leaves that of
    /// rows), on the GPUs that its kernels are for; without this it is a warning, of functions that
    /// several specs are of, or with [`Config::allow_no_last_resort`] nothing.
    #[must_use]
    pub fn require_last_resort(mut self) -> Config {
        self.last_resort = Some(LastResort::Own);
        self
    }

    /// As [`Config::require_last_resort`], on GPUs of this architecture, `sm_80`, and on newer
    /// ones, whatever the kernels are for.
    #[must_use]
    pub fn require_last_resort_from(mut self, arch: &str) -> Config {
        self.last_resort = Some(LastResort::From(arch.to_owned()));
        self
    }

    /// Says nothing of functions that do not take every problem: the program knows which it asks
    /// for.
    #[must_use]
    pub fn allow_no_last_resort(mut self) -> Config {
        self.last_resort = Some(LastResort::Nowhere);
        self
    }

    /// Takes a bundle that is there already, a folder or a zip file, and generates nothing.
    #[must_use]
    pub fn committed(mut self, bundle: impl AsRef<Path>) -> Config {
        self.committed = Some(bundle.as_ref().to_owned());
        self
    }

    /// Fails unless the bundle is what this lock says.
    #[must_use]
    pub fn lock(mut self, lock: impl AsRef<Path>) -> Config {
        self.lock = Some(lock.as_ref().to_owned());
        self
    }

    /// Builds, in a build script: problems become `cargo::error=` lines, by which Cargo fails the
    /// build, and end it, with exit code 0 lest Cargo show them twice; the script is
    /// run again when a spec, the lock, the bundle or a tool changes.
    pub fn compile(self) {
        for path in self.specs.iter().chain(&self.committed).chain(&self.lock) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        for variable in [command::VARIABLE, "TILEWRIGHT_PTXAS"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let told = |kind: &str, text: &str| {
            for line in text.lines() {
                println!("cargo::{kind}={line}");
            }
        };
        match self.build() {
            Ok(built) => {
                built.warnings.iter().for_each(|one| told("warning", one));
                if let Some(checked) = built.checked {
                    // For readers of `cargo build -vv`.
                    println!("{}", checked.text());
                }
            }
            Err(error) => {
                // Cargo shows these lines, and fails the build; of a script that fails itself it
                // would show them once more.
                told("error", &error.to_string());
                std::process::exit(0);
            }
        }
    }

    /// Builds, anywhere.
    ///
    /// # Errors
    /// Whatever keeps it from being built, everything at once.
    pub fn build(&self) -> Result<Built, Error> {
        let cargos = std::env::var_os("OUT_DIR").map(PathBuf::from);
        let out = self.out_dir.clone().or_else(|| cargos.clone());
        let out = out.ok_or(Error::NoOutDir)?;
        let (name, file) = self.file_name()?;
        let is_cargos = cargos.is_some_and(|cargos| cargos == out);
        if is_cargos && earlier::is_written(&out, &name) {
            return Err(Error::Request(format!(
                "the build script makes kernels of the name {name:?} twice, and the second would \
                 take the first's place: give one of them another by Config::name"
            )));
        }
        let least = self.last_resort.as_ref().map(LastResort::least);
        let least = least.transpose()?.flatten();
        let path = out.join(&file);
        let (checked, mut warnings) = match &self.committed {
            Some(committed) => self.take(committed, &path)?,
            None => self.generate(&out.join(format!("{name}.cache")), &path)?,
        };
        let bundle = Bundle::open(&path).map_err(Error::bundle(&path))?;
        warnings.extend(self.uncovered(&bundle, least)?);
        let kernels: Vec<&Kernel> = bundle.kernels().iter().collect();
        warnings.extend(shared_words(&kernels).iter().map(ToString::to_string));
        warnings.extend(features::unknown(&self.off));
        let source = out.join(format!("{name}.rs"));
        let text = launchers::source(&bundle, &file)?;
        launchers::write(&source, &text)?;
        // A folder of somebody's own holds what several programs wrote.
        if is_cargos {
            earlier::put_away(&out, &name)?;
        }
        Ok(Built {
            bundle: path,
            source,
            kernels: bundle.kernels().len(),
            warnings,
            checked,
        })
    }

    /// The name of what is made, and that of the bundle's file.
    fn file_name(&self) -> Result<(String, String), Error> {
        let first = self.specs.first().or(self.committed.as_ref());
        let stem = first.and_then(|path| path.file_stem());
        let name = match (&self.name, stem) {
            (Some(name), _) => name.clone(),
            (None, Some(stem)) => stem.to_string_lossy().into_owned(),
            (None, None) => "kernels".to_owned(),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(Error::Request(format!(
                "{name:?} cannot be the name of a file of what is built: use letters, digits, - \
                 and _ in Config::name"
            )));
        }
        let file = format!("{name}.zip");
        Ok((name, file))
    }

    /// The spec files, each once.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for path in &self.specs {
            files.append(&mut spec_files(path)?);
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Takes a committed bundle, or those of its kernels that were asked for, and says which it
    /// left out.
    fn take(&self, committed: &Path, path: &Path) -> Result<(Option<Checked>, Vec<String>), Error> {
        let bundle = Bundle::open(committed).map_err(Error::bundle(committed))?;
        let all = bundle.kernels().iter().filter(|_| self.cubin_only);
        let count = all
            .filter(|kernel| kernel.route != Route::CubinOnly)
            .count();
        if count > 0 {
            return Err(Error::Request(format!(
                "{}: drivers may compile {count} of its {} kernels, and Config::cubin_only has \
                 none of them do: build it with --cubin sm_… --cubin-only",
                committed.display(),
                bundle.kernels().len()
            )));
        }
        let checked = match &self.lock {
            Some(lock) => Some(Lock::read(lock)?.check_hashes(lock, &self.files()?, &bundle)?),
            None => None,
        };
        let unheld = (self.lock.is_none() && !self.specs.is_empty()).then(|| {
            "the specs are not read: of a committed bundle its kernels are taken as they are, and \
             Config::lock tells where the specs have moved on"
                .to_owned()
        });
        let mut warnings = Vec::from_iter(unheld);
        if self.cubin.is_some() && !bundle.kernels().iter().any(|one| one.cubin.is_some()) {
            warnings.push(format!(
                "{} has no machine code, which Config::cubin asks for, so drivers compile: \
                 build it with --cubin",
                committed.display()
            ));
        }
        if self.archs.is_empty() {
            bundle.save(path).map_err(Error::bundle(path))?;
            return Ok((checked, warnings));
        }
        let devices = self.devices()?;
        let runs = |kernel: &Kernel| devices.iter().any(|sm| kernel.capability.allows(*sm));
        if !bundle.kernels().iter().any(runs) {
            let there = bundle.kernels().iter();
            let there: BTreeSet<String> = there.map(|one| one.capability.arch_name()).collect();
            return Err(Error::Request(format!(
                "{}: no kernel that {} runs: those of this bundle are for {}, and run on newer \
                 GPUs too, but for names that end in `a`; ask for one of these",
                committed.display(),
                self.archs.join(" or "),
                Vec::from_iter(there).join(", ")
            )));
        }
        let part = BundleWriter::part(&bundle, runs).map_err(Error::bundle(committed))?;
        part.write(path).map_err(Error::bundle(path))?;
        let others = bundle.kernels().iter().filter(|kernel| !runs(kernel));
        let others = others.map(|kernel| (kernel.spec.as_str(), kernel.capability.arch_name()));
        warnings.extend(left_out::line(others, &self.archs));
        Ok((checked, warnings))
    }

    /// Compute capabilities, times ten, of the architectures.
    fn devices(&self) -> Result<Vec<u32>, Error> {
        let device = |arch: &String| capability(arch).map(|capability| capability.min_sm);
        self.archs.iter().map(device).collect()
    }

    /// Has the generator write the bundle, and say what it left out.
    fn generate(&self, cache: &Path, path: &Path) -> Result<(Option<Checked>, Vec<String>), Error> {
        let files = self.files()?;
        if files.is_empty() {
            if let Some(unknown) = features::unknown(&self.off) {
                return Err(Error::Request(unknown));
            }
            let folders = self.specs.clone();
            return Err(Error::NoSpec { folders });
        }
        self.devices()?;
        #[cfg(feature = "llvm")]
        if command::named().is_none() {
            return self.generate_here(&files, cache, path);
        }
        #[cfg(feature = "llvm")]
        let found = command::named();
        #[cfg(not(feature = "llvm"))]
        let found = command::named().or_else(command::on_path);
        let program = found.ok_or(Error::NoGenerator)?;
        // Another command makes other kernels.
        if program.is_file() && self.out_dir.is_none() {
            println!("cargo::rerun-if-changed={}", program.display());
        }
        let said = command::build(&program, &self.arguments(&files, cache, path))?;
        let checked = self.lock.as_ref().map(|_| Checked::Generated);
        Ok((checked, command::warnings(&said)))
    }

    /// What `tilewright build` is asked.
    fn arguments(&self, files: &[PathBuf], cache: &Path, path: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = files.iter().map(|file| file.clone().into()).collect();
        let mut option = |name: &str, value: OsString| args.extend([name.into(), value]);
        option("--output", path.into());
        option("--cache", cache.into());
        if let Some(jobs) = self.jobs_at_once() {
            option("--jobs", jobs.to_string().into());
        }
        for arch in &self.archs {
            option("--arch", arch.into());
        }
        if let Some(ptxas) = &self.ptxas {
            option("--ptxas", ptxas.clone());
        }
        if let Some(cubin) = &self.cubin {
            option("--cubin", cubin.into());
        }
        if let Some(lock) = &self.lock {
            option("--lock", lock.into());
            args.push("--locked".into());
        }
        if self.cubin_only {
            args.push("--cubin-only".into());
        }
        if self.line_info {
            args.push("--line-info".into());
        }
        args
    }

    /// How many kernels are compiled at once, if anybody said.
    fn jobs_at_once(&self) -> Option<NonZeroUsize> {
        let cargos = || std::env::var("NUM_JOBS").ok()?.parse().ok();
        self.jobs.or_else(cargos)
    }

    /// A line on the functions that have no kernel for every problem, on the GPUs that they are to
    /// have one on; of several specs unless a last resort is required.
    fn uncovered(&self, bundle: &Bundle, least: Option<Capability>) -> Result<Vec<String>, Error> {
        let is_required = match self.last_resort {
            Some(LastResort::Nowhere) => return Ok(Vec::new()),
            Some(LastResort::Own | LastResort::From(_)) => true,
            None => false,
        };
        let Some(line) = uncovered::line(bundle, is_required, least) else {
            return Ok(Vec::new());
        };
        match is_required {
            true => Err(Error::Uncovered(line)),
            false => Ok(vec![format!(
                "{line}; add {LAST_RESORT}, or say Config::allow_no_last_resort"
            )]),
        }
    }
}

#[cfg(feature = "llvm")]
impl Config {
    /// Generates in this very process.
    fn generate_here(
        &self,
        files: &[PathBuf],
        cache: &Path,
        path: &Path,
    ) -> Result<(Option<Checked>, Vec<String>), Error> {
        let request = crate::in_process::Request {
            files,
            cache,
            path,
            archs: &self.archs,
            ptxas: self.ptxas.as_deref(),
            cubin: self.cubin.as_deref(),
            cubin_only: self.cubin_only,
            jobs: self.jobs_at_once(),
            line_info: self.line_info,
            lock: self.lock.as_deref(),
        };
        let made = crate::in_process::generate(&request)?;
        Ok((made.checked, made.warnings))
    }
}

#[cfg(test)]
mod tests;
