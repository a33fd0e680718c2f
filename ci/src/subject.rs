//! Kernels with problems of known results, ready to run on the emulator as often as one likes.
//!
//! In: a kernel of a bundle and problems, or a launch file. Out: a [`Subject`]: PTX text and
//! [`Trial`]s. Where a kernel loses nothing of integers, so that every order of summation gives the
//! same bytes, a trial's inputs are integers and its outputs those bytes; else they are what the
//! formula allows of normal inputs.

mod distinguishing;
mod trial;
mod launch;

use std::path::Path;

use tilewright_bundle::Kernel;
use tilewright_emulator::{Options, Sanitize};
use tilewright_lab::launch_file::{self, LaunchFile, Schedule};
use tilewright_runtime::{DeviceInfo, Runtime};

pub use distinguishing::{DistinguishingProblems, is_copy_of_matrices, tile_volume};
pub use launch::launches;
pub use trial::Trial;

/// What went wrong while a subject was made.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A kernel and launches that must give what is expected.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The kernel's id, or the launch file's.
    pub name: String,
    /// The PTX.
    pub ptx: String,
    /// How strictly it is judged: our own kernels strictly, others by default.
    pub sanitize: Sanitize,
    /// The launches that are run under every schedule.
    pub launches: Vec<Trial>,
    /// Further launches, run under the first schedule.
    pub edges: Vec<Trial>,
    /// Further launches, of as few CTAs as there can be, run under the last schedule, in which
    /// waits time out.
    pub rounds: Vec<Trial>,
}

impl Subject {
    /// The options of its runs, one for each of the first `schedules`.
    pub fn options(&self, schedules: usize) -> Vec<Options> {
        let first = Schedule::first(schedules).into_iter();
        first.map(|one| one.options(self.sanitize)).collect()
    }

    /// A kernel of a bundle on problems that tell.
    ///
    /// # Errors
    /// When the kernel does not take such a problem.
    pub fn of_kernel(
        runtime: &Runtime,
        kernel: &Kernel,
        problems: &DistinguishingProblems,
    ) -> Result<Subject, Failure> {
        let ptx = runtime.bundle().ptx(kernel).to_owned();
        let device = runtime.device().info();
        // One CTA, or one cluster of them, takes every tile.
        let ctas = kernel.launches.iter().map(|launch| launch.cluster_ctas());
        let small = DeviceInfo {
            sms: ctas
                .max()
                .and_then(|ctas| u32::try_from(ctas).ok())
                .unwrap_or(1),
            ..device.clone()
        };
        Ok(Subject {
            name: kernel.id.clone(),
            ptx,
            sanitize: Sanitize::Strict,
            launches: launches(device, kernel, &problems.main)?,
            edges: launches(device, kernel, &problems.edges)?,
            rounds: launches(&small, kernel, &problems.rounds)?,
        })
    }

    /// The launch files below a folder that expect no finding.
    ///
    /// # Errors
    /// When a file is missing or no launch file.
    pub fn of_launch_files(folder: &Path) -> Result<Vec<Subject>, Failure> {
        let mut subjects = Vec::new();
        for manifest in launch_file::find_manifests(folder)? {
            let file = LaunchFile::read(&manifest)?;
            if file.expect_error.is_some() {
                continue;
            }
            let folder = manifest.parent().unwrap_or(folder);
            subjects.push(Subject {
                ptx: file.read_ptx(folder)?,
                launches: vec![Trial::of(file.prepare(folder)?)],
                edges: Vec::new(),
                rounds: Vec::new(),
                name: file.id,
                sanitize: Sanitize::Default,
            });
        }
        Ok(subjects)
    }
}
