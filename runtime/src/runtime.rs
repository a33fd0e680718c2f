//! A bundle opened on a device: the shortest way from a folder to a launch.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tilewright_bundle::{Bundle, Kernel, Policy};

use crate::device::{Arg, Device, LoadedKernel};
use crate::error::{Error, Refusal};
use crate::launch::LaunchReport;
use crate::pick::{Pick, Query, Skip, SkipCounts, addresses, find, pick};
use crate::problem::Problem;
use crate::select::{Selection, Selector, Source};

/// A bundle on a device, with each kernel loaded when it is first used.
#[derive(Debug)]
pub struct Runtime {
    bundle: Bundle,
    device: Device,
    selector: Selector,
    loaded: Mutex<HashMap<String, Arc<LoadedKernel>>>,
    skipped: Mutex<SkipCounts>,
}

impl Runtime {
    /// Opens the bundle at `path`: a folder, or the same as one zip file.
    ///
    /// # Errors
    /// When the bundle is refused.
    pub fn open(path: &Path, device: Device) -> Result<Runtime, Error> {
        Runtime::open_with(path, device, &Policy::Unsigned)
    }

    /// As [`Runtime::open`], of the bundles that `policy` allows: `Policy::signed_by(keys)` opens
    /// those alone that one of the keys has signed.
    ///
    /// # Errors
    /// When the bundle is refused.
    pub fn open_with(path: &Path, device: Device, policy: &Policy) -> Result<Runtime, Error> {
        Ok(Runtime::new(policy.open(path)?, device))
    }

    /// Uses a bundle that is open already, such as one embedded in the program.
    pub fn new(bundle: Bundle, device: Device) -> Runtime {
        let (loaded, skipped) = (Mutex::default(), Mutex::default());
        let selector = Selector::new(&bundle, device.info());
        Runtime {
            bundle,
            device,
            selector,
            loaded,
            skipped,
        }
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The kernels of the bundle.
    pub fn kernels(&self) -> &[Kernel] {
        self.bundle.kernels()
    }

    /// The kernel a name means: an id exactly, else the first of a spec that takes `problem`.
    ///
    /// # Errors
    /// When no kernel has the name, or none with it takes the problem.
    pub fn find(&self, name: &str, problem: Option<&Problem>) -> Result<Pick<'_>, Error> {
        let pick = find(&self.bundle, name, problem, self.device.info())?;
        self.count(&pick.counts());
        Ok(pick)
    }

    /// The first kernel that answers `query`, takes `problem` with `args`, and loads.
    ///
    /// Kernels passed over are counted in [`Runtime::skipped`].
    ///
    /// # Errors
    /// [`Error::NothingFits`] when there is none.
    pub fn pick(
        &self,
        query: &Query,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<Pick<'_>, Error> {
        let info = self.device.info();
        let pick = pick(&self.bundle, query, problem, info, &addresses(args))?;
        self.count(&pick.counts());
        Ok(pick)
    }

    /// The kernel that the bundle's tuning tables choose for a problem, as a lookup that does not
    /// allocate; where they choose none, the one that [`Runtime::pick`] picks.
    ///
    /// # Errors
    /// [`Error::NothingFits`] when no kernel takes the problem.
    pub fn select(
        &self,
        query: &Query,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<Selection<'_>, Error> {
        match self.selector.select(&self.bundle, query, problem, args) {
            Some(selection) => Ok(selection),
            None => self.pick(query, problem, args).map(|pick| Selection {
                kernel: pick.kernel,
                source: Source::Untuned,
                nearest: None,
                distance: 0.0,
            }),
        }
    }

    /// As [`Runtime::select`], then launches; a kernel whose code the device refuses is passed over
    /// as well.
    ///
    /// # Errors
    /// When no kernel can run the problem, or the launch fails.
    pub fn launch_best(
        &self,
        query: &Query,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<(&Kernel, LaunchReport), Error> {
        let mut refused: Vec<Skip> = Vec::new();
        let device = self.device.info();
        let mut selected = self.selector.select(&self.bundle, query, problem, args);
        loop {
            let is_left = |k: &&Kernel| !refused.iter().any(|s| s.kernel == k.id);
            let left = self.bundle.kernels().iter().filter(is_left);
            let kernel = match selected.take() {
                Some(selection) => selection.kernel,
                None => {
                    let at = addresses(args);
                    let pick = crate::pick::among(left, query, problem, device, &at)?;
                    self.count(&pick.counts());
                    pick.kernel
                }
            };
            match self.load(kernel) {
                Ok(loaded) => {
                    let report = self.device.launch(&loaded, problem, args)?;
                    return Ok((kernel, report));
                }
                Err(error @ (Error::Load { .. } | Error::Refused { .. })) => {
                    let refusal = Refusal::Load {
                        reason: error.to_string(),
                    };
                    self.count(&SkipCounts::from([(refusal.kind(), 1)]));
                    let kernel = kernel.id.clone();
                    refused.push(Skip {
                        kernel,
                        refusals: vec![refusal],
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// How often kernels were passed over since the runtime was made, by kind of refusal.
    pub fn skipped(&self) -> SkipCounts {
        self.skipped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn count(&self, counts: &SkipCounts) {
        let mut total = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in counts {
            *total.entry(kind).or_default() += count;
        }
    }

    /// The kernel's code, loaded once.
    ///
    /// # Errors
    /// When the device is the wrong one, or the code is refused.
    pub fn load(&self, kernel: &Kernel) -> Result<Arc<LoadedKernel>, Error> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = loaded.get(&kernel.id) {
            return Ok(found.clone());
        }
        let made = Arc::new(self.device.load(&self.bundle, kernel)?);
        loaded.insert(kernel.id.clone(), made.clone());
        Ok(made)
    }

    /// Gives up the code of a kernel that is not needed any more.
    pub fn unload(&self, kernel: &Kernel) {
        self.loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&kernel.id);
    }

    /// Checks everything, then launches; see [`Device::launch`].
    ///
    /// # Errors
    /// Every reason why it cannot be launched, or the launch's failure.
    pub fn launch(
        &self,
        kernel: &Kernel,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<LaunchReport, Error> {
        let loaded = self.load(kernel)?;
        self.device.launch(&loaded, problem, args)
    }
}
