//! A bundle opened on a device: the shortest way from a folder to a launch.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tilewright_bundle::{Bundle, Kernel, Policy};

use crate::device::{Arg, Device, LoadedKernel, beyond_limit};
use crate::error::{Error, Refusal, Skip};
use crate::events;
use crate::launch::fit::{LaunchReport, fit, runs_on};
use crate::launch::problem::Problem;
use crate::observe::counters::{Counters, Tally};
use crate::open::options::{Load, Options};
use crate::ptx_cache::PtxCache;
use crate::select::candidates::Candidates;
use crate::select::functions::{first_of_each, function_text};
use crate::select::pick::{Pick, Query, SkipCounts, addresses, among, find, not_for};
use crate::select::table::{Selection, Selector};

/// A bundle on a device, with each kernel loaded when it is first used.
pub struct Runtime {
    bundle: Bundle,
    device: Device,
    selector: Selector,
    ptx_cache: Option<PtxCache>,
    /// By kernel; one that is being loaded keeps nobody from the others.
    loaded: Mutex<HashMap<String, Arc<Slot>>>,
    tally: Tally,
}

impl fmt::Debug for Runtime {
    /// The bundle in short, the device, and how many kernels were loaded or refused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("Runtime")
            .field("bundle", &self.bundle)
            .field("device", &format_args!("{}", self.device.info()))
            .field("loaded_or_refused", &loaded.len())
            .finish_non_exhaustive()
    }
}

/// The code of a kernel, once it is loaded or refused.
type Slot = Mutex<Option<Result<Arc<LoadedKernel>, RefusedCode>>>;

/// Why the code of a kernel is refused, to be told whenever somebody wants it.
#[derive(Debug)]
enum RefusedCode {
    Load { reason: String, log: String },
    Refusals(Vec<Refusal>),
}

impl RefusedCode {
    /// What an error says of the code; `None` of one that says something of the device.
    fn of(error: &Error) -> Option<RefusedCode> {
        match error {
            Error::Load { reason, log, .. } => Some(RefusedCode::Load {
                reason: reason.clone(),
                log: log.clone(),
            }),
            Error::Refused { refusals, .. } => Some(RefusedCode::Refusals(refusals.clone())),
            _ => None,
        }
    }

    fn error(&self, kernel: &Kernel) -> Error {
        let kernel = kernel.id.clone();
        match self {
            RefusedCode::Load { reason, log } => Error::Load {
                kernel,
                reason: reason.clone(),
                log: log.clone(),
            },
            RefusedCode::Refusals(refusals) => Error::Refused {
                kernel,
                refusals: refusals.clone(),
            },
        }
    }
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
        Ok(Runtime::opened(policy.open(path)?, Some(path), device))
    }

    /// Uses a bundle that is open already, such as one embedded in the program.
    pub fn new(bundle: Bundle, device: Device) -> Runtime {
        Runtime::opened(bundle, None, device)
    }

    fn opened(bundle: Bundle, path: Option<&Path>, device: Device) -> Runtime {
        events::opened(&bundle, path, &device.info().name);
        Runtime {
            selector: Selector::new(&bundle, device.info()),
            bundle,
            device,
            ptx_cache: None,
            loaded: Mutex::default(),
            tally: Tally::default(),
        }
    }

    /// The same with its code loaded as `options` say; what was loaded before is given up. A kernel
    /// whose code is refused is an event and no error: it is passed over later, as one that is
    /// loaded lazily. [`Runtime::check`] tells whether something is left of each function.
    ///
    /// # Errors
    /// When the device fails while kernels are loaded; [`Error::NotForDevice`] when all are to be
    /// loaded, and the device can run not one.
    pub fn with_options(self, options: &Options) -> Result<Runtime, Error> {
        let device = self.device.with_cubins_only(options.cubin_only);
        let runtime = Runtime {
            selector: Selector::new(&self.bundle, device.info()),
            device,
            ptx_cache: options.ptx_cache.clone(),
            loaded: Mutex::default(),
            ..self
        };
        if options.load == Load::Eager {
            let info = runtime.device.info();
            let run = |kernel: &&Kernel| runs_on(kernel, info).is_empty();
            if let Some(refused) = runtime.all_refused(runtime.kernels().iter()) {
                let functions = first_of_each(runtime.kernels().iter()).into_iter();
                let functions = functions.map(|k| function_text(&k.spec, &k.semantics.function));
                return Err(not_for(info, functions.collect(), refused));
            }
            for kernel in runtime.kernels().iter().filter(run) {
                match runtime.load(kernel) {
                    // What is refused is told by `load`.
                    Ok(_) | Err(Error::Load { .. } | Error::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(runtime)
    }

    /// Why the device can run not one of these kernels, whatever the problem, as far as it is
    /// known; `None` where it can run one, or there is none.
    pub(crate) fn all_refused<'k>(
        &self,
        kernels: impl Iterator<Item = &'k Kernel>,
    ) -> Option<Vec<Skip>> {
        let mut all = Vec::new();
        for kernel in kernels {
            let mut refusals = runs_on(kernel, self.device.info());
            if refusals.is_empty() {
                refusals.extend(self.known_refusal(kernel, &Problem::default()));
            }
            if refusals.is_empty() {
                return None;
            }
            let kernel = kernel.id.clone();
            all.push(Skip { kernel, refusals });
        }
        (!all.is_empty()).then_some(all)
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        self.tally.now(self.device.is_lost())
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The bundle's tuning tables, ready for the device.
    pub(crate) fn selector(&self) -> &Selector {
        &self.selector
    }

    /// The kernels of the bundle.
    pub fn kernels(&self) -> &[Kernel] {
        self.bundle.kernels()
    }

    /// The kernel a name means: that of an id, else the first of a spec that takes `problem`, else
    /// the first that does of those whose ids begin so.
    ///
    /// # Errors
    /// When no kernel has the name, or none with it takes the problem.
    pub fn find(&self, name: &str, problem: Option<&Problem>) -> Result<Pick<'_>, Error> {
        let pick = find(&self.bundle, name, problem, self.device.info())?;
        self.count(&pick);
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
        let (info, at) = (self.device.info(), addresses(args));
        loop {
            let known = |kernel: &Kernel| self.known_refusal(kernel, problem);
            let pick = among(self.kernels().iter(), query, problem, info, &at, known);
            let pick = self.tally.heed(pick)?;
            // What is refused is known from now on.
            if self.refused_code(pick.kernel, problem)?.is_none() {
                self.count(&pick);
                return Ok(pick);
            }
        }
    }

    /// Loads a kernel; why it is passed over for a problem that it fits, where its code is refused
    /// or wants more workspace than is allowed.
    ///
    /// # Errors
    /// What says something of the device, not of the code.
    pub(crate) fn refused_code(
        &self,
        kernel: &Kernel,
        problem: &Problem,
    ) -> Result<Option<Refusal>, Error> {
        match self.load(kernel) {
            Ok(loaded) => beyond_limit(&self.device, &loaded, problem),
            Err(error @ (Error::Load { .. } | Error::Refused { .. })) => {
                let reason = error.to_string();
                Ok(Some(Refusal::Load { reason }))
            }
            Err(error) => Err(error),
        }
    }

    /// The same where it is known already; nothing is loaded for it, and nobody is waited for.
    pub(crate) fn known_refusal(&self, kernel: &Kernel, problem: &Problem) -> Option<Refusal> {
        let code = {
            let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = loaded.get(&kernel.id)?.try_lock().ok()?;
            let code = slot.as_ref()?.as_ref();
            code.cloned().map_err(|refused| refused.error(kernel))
        };
        match code {
            // A driver that fails is heard when the code is wanted.
            Ok(code) => beyond_limit(&self.device, &code, problem).ok().flatten(),
            Err(error) => Some(Refusal::Load {
                reason: error.to_string(),
            }),
        }
    }

    /// The kernel that the bundle's tuning tables choose for a problem, as a lookup that does not
    /// allocate; where they choose none, the first that fits. Nothing is loaded for it, and what
    /// was refused when it was loaded is passed over.
    ///
    /// # Errors
    /// [`Error::NothingFits`] when no kernel takes the problem.
    pub fn select(
        &self,
        query: &Query,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<Selection<'_>, Error> {
        let places = args.iter().map(|arg| (arg.operand, arg.offset_bytes));
        self.selected(query, problem, places)
    }

    /// The same for operands that lie at these addresses.
    pub(crate) fn select_at(
        &self,
        query: &Query,
        problem: &Problem,
        addresses: &[(&str, u64)],
    ) -> Result<Selection<'_>, Error> {
        self.selected(query, problem, addresses.iter().copied())
    }

    /// As [`Runtime::select_at`], and its code is loaded: one that the device refuses is passed
    /// over.
    pub(crate) fn usable_at(
        &self,
        query: &Query,
        problem: &Problem,
        addresses: &[(&str, u64)],
    ) -> Result<Selection<'_>, Error> {
        loop {
            let selection = self.select_at(query, problem, addresses)?;
            // What is refused is known now, and not selected again.
            if self.refused_code(selection.kernel, problem)?.is_none() {
                return Ok(selection);
            }
        }
    }

    fn selected<'p>(
        &self,
        query: &Query,
        problem: &Problem,
        at: impl Iterator<Item = (&'p str, u64)> + Clone,
    ) -> Result<Selection<'_>, Error> {
        let device = self.device.info();
        let candidates = Candidates::new(&self.bundle, &self.selector, device);
        let known = |kernel: &Kernel| self.known_refusal(kernel, problem);
        let chosen = candidates.select(query, problem, at, known);
        let (selection, skips) = self.tally.heed(chosen)?;
        let kernel = selection.kernel;
        let refused = skips.iter().flat_map(|skip| &skip.refusals);
        let refused = refused.filter(|refusal| matches!(refusal, Refusal::Load { .. }));
        self.tally.fall_back(refused.count() as u64);
        self.count(&Pick { kernel, skips });
        self.count_passed_over(query, problem, selection.passed_over, kernel);
        Ok(selection)
    }

    /// Counts the first kernels that a table names, which did not take a problem, and says why to
    /// whoever listens.
    fn count_passed_over(&self, query: &Query, problem: &Problem, count: usize, chosen: &Kernel) {
        if count == 0 {
            return;
        }
        self.tally.fall_back(count as u64);
        if events::hears_passed_over() {
            let named = self.selector.named(&self.bundle, query, problem);
            for kernel in named.take(count) {
                let mut refused = fit(kernel, problem, self.device.info()).err();
                let code = self.known_refusal(kernel, problem);
                refused = refused.or_else(|| code.map(|refusal| vec![refusal]));
                let first = refused.as_ref().and_then(|all| all.first());
                let reason = first.map_or("an operand is not aligned".to_owned(), |refusal| {
                    refusal.to_string()
                });
                events::passed_over(&kernel.id, &chosen.id, &reason);
            }
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
        loop {
            let kernel = self.select(query, problem, args)?.kernel;
            // What is refused is known from now on, and not selected again.
            if self.refused_code(kernel, problem)?.is_none() {
                let report = self.launch(kernel, problem, args)?;
                return Ok((kernel, report));
            }
        }
    }

    /// How often kernels were passed over since the runtime was made, by kind of refusal.
    pub fn skipped(&self) -> SkipCounts {
        self.tally.skipped()
    }

    /// Counts the kernels that were passed over, and says why to whoever listens.
    fn count(&self, pick: &Pick<'_>) {
        for Skip { kernel, refusals } in &pick.skips {
            for refusal in refusals {
                events::refused(kernel, refusal);
            }
        }
        self.tally.skip(&pick.counts());
    }

    /// The kernel's code, loaded once; threads that want it meanwhile wait for it, and for no
    /// other. Code that is refused is not tried again before [`Runtime::unload`].
    ///
    /// # Errors
    /// When the device is the wrong one, or the code is refused; [`Error::Program`] for a kernel of
    /// another bundle.
    pub fn load(&self, kernel: &Kernel) -> Result<Arc<LoadedKernel>, Error> {
        let slot = self.slot(&kernel.id);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |own: &Kernel| own.content_hash == kernel.content_hash;
        match &*slot {
            Some(Ok(found)) if is_same(found.kernel()) => return Ok(found.clone()),
            Some(Err(refused)) => return Err(refused.error(kernel)),
            None if self.bundle.kernel(&kernel.id).is_some_and(is_same) => {}
            _ => {
                return Err(Error::Program(format!(
                    "{} is a kernel of another bundle: take this runtime's own, by \
                     `Runtime::find` or `pick`",
                    kernel.id
                )));
            }
        }
        let (cache, counts) = (self.ptx_cache.as_ref(), self.tally.kernel(&kernel.id));
        let made = self
            .device
            .load_counted(&self.bundle, kernel, cache, counts);
        match made.map(Arc::new) {
            Ok(made) => {
                *slot = Some(Ok(made.clone()));
                Ok(made)
            }
            Err(error) => {
                if let Some(refused) = RefusedCode::of(&error) {
                    events::code_refused(&kernel.id, &error);
                    *slot = Some(Err(refused));
                }
                Err(error)
            }
        }
    }

    fn slot(&self, id: &str) -> Arc<Slot> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        match loaded.get(id) {
            Some(slot) => slot.clone(),
            None => loaded.entry(id.to_owned()).or_default().clone(),
        }
    }

    /// Gives up the code of a kernel that is not needed any more; forgets that it was refused.
    pub fn unload(&self, kernel: &Kernel) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.remove(&kernel.id);
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
