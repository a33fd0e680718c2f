//! A launcher as the runtime sees it: a function, operands by name, extents and scalars.
//!
//! In: what a launcher's fields hold. Out: a launch, checked as every other one is. Memory of the
//! host is copied to the device before the launch and back behind it; all other memory is taken
//! where it lies.

use std::ffi::c_void;

use tilewright_bundle::{DType, Kernel, Sha256Hex};

use crate::cuda::CudaDevice;
use crate::device::{Arg, Buffer, Device};
use crate::error::{Error, Refusal, refused};
use crate::launch::fit::LaunchReport;
use crate::launch::layout::Extents;
use crate::launch::minimal_strides::without_gaps;
use crate::launch::problem::{MAX_EXTENT, Problem};
use crate::launch::request::{Placed, Request};
use crate::launch::tensors::Described;
use crate::open::runtime::Runtime;
use crate::run::on_emulator::Lent;
use crate::run::prepared::Prepared;
use crate::select::explanation::Explanation;
use crate::select::functions::function_text;
use crate::select::pick::Query;
use crate::select::table::Selection;
use crate::typed::element::Element;
use crate::typed::operand::{Given, In, Memory, Out, Packed};

/// What a launcher is made to: everything that a launch needs, by name.
#[derive(Debug)]
pub struct Call<'a> {
    function: Sha256Hex,
    /// The spec that the function is known by.
    spec: Option<&'static str>,
    problem: Problem,
    /// Extents beyond what a problem holds.
    beyond: Vec<(&'static str, usize)>,
    operands: Vec<(&'static str, Given<'a>)>,
}

impl<'a> Call<'a> {
    /// A call of the function of that hash, without operands yet.
    pub fn new(function: &str) -> Call<'a> {
        Call {
            function: Sha256Hex::from_text(function),
            spec: None,
            problem: Problem::default(),
            beyond: Vec::new(),
            operands: Vec::new(),
        }
    }

    /// The same, of a function that this spec is of: a bundle that lacks it is told so.
    #[must_use]
    pub fn spec(mut self, spec: &'static str) -> Call<'a> {
        self.spec = Some(spec);
        self
    }

    /// The same with this extent.
    #[must_use]
    pub fn extent(mut self, name: &'static str, extent: usize) -> Call<'a> {
        match i64::try_from(extent) {
            Ok(extent) => self.problem = self.problem.with_extent(name, extent),
            Err(_) => self.beyond.push((name, extent)),
        }
        self
    }

    /// The same with this value of a scalar.
    #[must_use]
    pub fn scalar(mut self, name: &str, value: f64) -> Call<'a> {
        self.problem = self.problem.with_scalar(name, value);
        self
    }

    /// The same, with this operand to read.
    #[must_use]
    pub fn input<T: Element, const RANK: usize>(
        self,
        name: &'static str,
        operand: In<'a, T, RANK>,
    ) -> Call<'a> {
        self.operand(name, operand.into_given())
    }

    /// The same, with this operand to write.
    #[must_use]
    pub fn output<T: Element, const RANK: usize>(
        self,
        name: &'static str,
        operand: Out<'a, T, RANK>,
    ) -> Call<'a> {
        self.operand(name, operand.into_given())
    }

    /// The same, with this operand to read in the order of its own.
    #[must_use]
    pub fn packed<T: Element>(self, name: &'static str, operand: Packed<'a, T>) -> Call<'a> {
        self.operand(name, operand.into_given())
    }

    fn operand(mut self, name: &'static str, mut given: Given<'a>) -> Call<'a> {
        if let Some(strides) = given.strides.take() {
            self.problem = self.problem.with_strides(name, strides);
        }
        self.operands.push((name, given));
        self
    }

    /// The same, confirming what a kernel cannot check, in its own words.
    #[must_use]
    pub fn promise(mut self, promise: &str) -> Call<'a> {
        self.problem = self.problem.with_promise(promise);
        self
    }

    /// The same, for which no kernel is taken that wants more than so many bytes of workspace: a
    /// service that lends scratch memory says here how much it has. With 0 kernels without
    /// workspace are left.
    #[must_use]
    pub fn workspace_limit(mut self, bytes: u64) -> Call<'a> {
        self.problem = self.problem.with_workspace_limit(bytes);
        self
    }

    /// The same, for which no kernel is taken whose sums depend on how many rows and columns there
    /// are: see [`Problem::with_batch_invariance`].
    #[must_use]
    pub fn batch_invariant(mut self) -> Call<'a> {
        self.problem = self.problem.with_batch_invariance();
        self
    }

    /// The kernel that a launch would run: its code is loaded, and one that the device refuses is
    /// passed over.
    ///
    /// # Errors
    /// As [`Call::launch`], but for the launch itself.
    pub fn select<'r>(&self, runtime: &'r Runtime) -> Result<Selection<'r>, Error> {
        self.check(runtime)?;
        let addresses = self.addresses(runtime)?;
        runtime.usable_at(&self.query(), &self.problem(runtime), &addresses)
    }

    /// By which row or rule a launch would take its kernel, and why no other one; prints as text.
    /// No kernel that is passed over is counted.
    ///
    /// # Errors
    /// When the operands are not those of the function: all else is part of the answer.
    pub fn explain(&self, runtime: &Runtime) -> Result<Explanation, Error> {
        let kernel = self.check(runtime)?;
        let addresses = self.addresses(runtime)?;
        let problem = self.asked(runtime);
        let request = Request::of_problem(kernel, &problem);
        let mut request = request.map_err(|refusals| refused(kernel, refusals))?;
        for placed in &mut request.operands {
            let mut known = addresses.iter();
            if let Some((_, address)) = known.find(|(name, _)| *name == placed.tensor.operand) {
                placed.address = *address;
            }
        }
        Ok(runtime.explain(&kernel.kernel, &[(kernel, &request)]))
    }

    /// Checks everything, then launches on the device's own stream. On a GPU the launch is enqueued
    /// unless an operand lies in memory of the host.
    ///
    /// # Errors
    /// [`Error::NothingFits`] when no kernel of the function takes the problem, with every reason;
    /// an error of the launch otherwise.
    pub fn launch(self, runtime: &Runtime) -> Result<(&Kernel, LaunchReport), Error> {
        let is_foreign = |(_, given): &(_, Given<'_>)| matches!(given.memory, Memory::Foreign(..));
        if !self.operands.iter().any(is_foreign) {
            return self.launch_on_buffers(runtime);
        }
        let device = gpu(runtime)?;
        let (kernel, prepared) = self.prepared_on(runtime, device)?;
        // SAFETY: whoever made a foreign operand promised that its memory stays; buffers stay as
        // they do with every launch, because they are given back on the same stream.
        unsafe { device.enqueue(&prepared, None) }?;
        Ok((kernel, LaunchReport::default()))
    }

    /// Checks everything and packs a launch on memory of the device, without launching, to be
    /// enqueued as often as that memory lives ([`Device::enqueue_on`]).
    ///
    /// # Errors
    /// As [`Call::launch`], and when an operand does not lie on the device.
    pub fn prepare(self, runtime: &Runtime) -> Result<Prepared, Error> {
        match runtime.device() {
            Device::Cuda(device) => Ok(self.prepared_on(runtime, device)?.1),
            Device::Emulator(_) => self.prepared_on_emulator(runtime),
        }
    }

    /// As [`Call::prepare`], then enqueues on a stream of the caller's, `CUstream` or
    /// `cudaStream_t`, null the default one; on the emulator, where it is null, runs to its end.
    ///
    /// # Safety
    /// The operands' memory stays, and nobody else uses it, until the work is done; the stream
    /// belongs to the device's primary context.
    ///
    /// # Errors
    /// As [`Call::prepare`] and [`Device::enqueue_on`].
    pub unsafe fn enqueue_on(self, runtime: &Runtime, stream: *mut c_void) -> Result<(), Error> {
        let prepared = self.prepare(runtime)?;
        // SAFETY: the caller's promise is the callee's.
        unsafe { runtime.device().enqueue_on(stream, &prepared, None) }
    }

    fn query(&self) -> Query {
        Query::function(self.function.clone())
    }

    /// A kernel of the function.
    fn kernel<'r>(&self, runtime: &'r Runtime) -> Option<&'r Kernel> {
        let mut kernels = runtime.kernels().iter();
        kernels.find(|kernel| kernel.semantics.function == self.function)
    }

    /// A kernel of the function, if operands are of the function's types and have its axes.
    fn check<'r>(&self, runtime: &'r Runtime) -> Result<&'r Kernel, Error> {
        let kernel = self.kernel(runtime).ok_or_else(|| Error::NoSuchFunction {
            functions: vec![match self.spec {
                Some(spec) => function_text(spec, &self.function),
                None => format!("the function {}", self.function),
            }],
            known: runtime.kernels().len(),
        })?;
        if let Some((name, extent)) = self.beyond.first() {
            return Err(Error::Request(format!(
                "{name} is {extent}; {MAX_EXTENT} is the most that kernels count to"
            )));
        }
        self.check_starts()?;
        let mut refusals = Vec::new();
        for operand in &kernel.semantics.operands {
            let mut given = self.operands.iter();
            let Some((_, given)) = given.find(|(name, _)| *name == operand.name) else {
                continue;
            };
            if !given.dtypes.contains(&operand.dtype) {
                let has: Vec<&str> = given.dtypes.iter().map(|dtype| dtype.text()).collect();
                refusals.push(Refusal::DType {
                    operand: operand.name.clone(),
                    needs: operand.dtype,
                    has: has.join(" or "),
                });
            }
            let needs = operand.layout.rank();
            if let Some(rank) = given.rank.filter(|rank| *rank != needs) {
                refusals.push(Refusal::Axes {
                    operand: operand.name.clone(),
                    layout: operand.layout.text().to_owned(),
                    needs,
                    has: rank,
                });
            }
        }
        match refusals.is_empty() {
            true => Ok(kernel),
            false => Err(refused(kernel, refusals)),
        }
    }

    /// Refuses operands that start behind their memory's end.
    fn check_starts(&self) -> Result<(), Error> {
        for (name, given) in &self.operands {
            let bytes = given.memory.bytes();
            if let Some(bytes) = bytes.filter(|bytes| *bytes < given.at_bytes) {
                return Err(Error::Request(format!(
                    "`{name}` starts {} bytes behind the start of its memory, which has {bytes}: \
                     give starting_at less",
                    given.at_bytes
                )));
            }
        }
        Ok(())
    }

    /// The problem as kernels are asked for it.
    fn problem(&self, runtime: &Runtime) -> Problem {
        let problem = self.asked(runtime);
        match self.kernel(runtime) {
            Some(kernel) => Request::as_of_tensors(kernel, problem),
            None => problem,
        }
    }

    /// The problem with the strides of operands that have none of their own.
    fn asked(&self, runtime: &Runtime) -> Problem {
        let Some(kernel) = self.kernel(runtime) else {
            return self.problem.clone();
        };
        let mut problem = self.problem.clone();
        for (name, given) in &self.operands {
            if let Memory::InPlace = given.memory
                && let Some(over) = taken_by(kernel, name)
                && let Some(strides) = self.problem.strides(over)
            {
                problem = problem.with_strides(name, strides);
            }
        }
        without_gaps(kernel, &problem)
    }

    /// The operand in whose memory that one lies: itself, or the output that takes its place.
    fn place<'s>(
        &'s self,
        runtime: &Runtime,
        (name, given): &'s (&'static str, Given<'a>),
    ) -> Result<(&'static str, &'s Given<'a>), Error> {
        if !matches!(given.memory, Memory::InPlace) {
            return Ok((name, given));
        }
        let kernel = self.kernel(runtime);
        let over = kernel.and_then(|kernel| taken_by(kernel, name));
        let mut operands = self.operands.iter();
        let found = over.and_then(|over| operands.find(|(name, _)| *name == over));
        let refused = || {
            Error::Request(format!(
                "no output takes the place of `{name}`: give it memory of its own"
            ))
        };
        let (over, taken) = found
            .map(|(name, given)| (*name, given))
            .ok_or_else(refused)?;
        let strides = self.problem.strides(name);
        let is_there = strides.is_none() || strides == self.problem.strides(over);
        if !is_there || ![0, taken.at_bytes].contains(&given.at_bytes) {
            return Err(Error::Request(format!(
                "`{name}` lies in the place of `{over}`, with its start and strides: give them to \
                 `{over}` alone"
            )));
        }
        Ok((over, taken))
    }

    /// Where each operand lies, as far as alignment goes: copies of the host's memory, and buffers
    /// of the emulator, begin at a multiple of all.
    fn addresses(&self, runtime: &Runtime) -> Result<Vec<(&'static str, u64)>, Error> {
        let mut addresses = Vec::new();
        for operand in &self.operands {
            let (_, given) = self.place(runtime, operand)?;
            let start = match &given.memory {
                Memory::Device(Buffer::Cuda(memory)) => memory.address(),
                Memory::Foreign(address, _) => *address,
                _ => 0,
            };
            addresses.push((operand.0, start.saturating_add(given.at_bytes)));
        }
        Ok(addresses)
    }

    /// The kernel for the operands where they lie on a GPU, and its launch.
    fn prepared_on<'r>(
        &self,
        runtime: &'r Runtime,
        device: &CudaDevice,
    ) -> Result<(&'r Kernel, Prepared), Error> {
        self.check(runtime)?;
        let (problem, addresses) = (self.problem(runtime), self.addresses(runtime)?);
        let mut placed: Vec<Placed<'_>> = Vec::new();
        for (operand, (name, address)) in self.operands.iter().zip(&addresses) {
            let (_, given) = self.place(runtime, operand)?;
            let bytes = match &given.memory {
                Memory::Device(buffer @ Buffer::Cuda(_)) => buffer.len(),
                Memory::Foreign(_, bytes) => *bytes,
                Memory::Device(_) => return Err(Error::ForeignBuffer),
                _ => return Err(on_host(name)),
            };
            let bytes = bytes.saturating_sub(given.at_bytes);
            placed.push(of_bytes(name, *address, bytes));
        }
        let chosen = runtime.usable_at(&self.query(), &problem, &addresses)?;
        let loaded = runtime.load(chosen.kernel)?;
        Ok((chosen.kernel, device.prepare(loaded, &problem, &placed)?))
    }

    /// The launch for operands where they lie on the emulator.
    fn prepared_on_emulator(&self, runtime: &Runtime) -> Result<Prepared, Error> {
        self.check(runtime)?;
        let (problem, addresses) = (self.problem(runtime), self.addresses(runtime)?);
        let mut lent: Vec<Lent<'_>> = Vec::new();
        for operand in &self.operands {
            let (_, given) = self.place(runtime, operand)?;
            let memory = match &given.memory {
                Memory::Device(Buffer::Emulated(memory)) => memory,
                Memory::Device(_) => return Err(Error::ForeignBuffer),
                Memory::Foreign(..) => return Err(of_a_gpu()),
                _ => return Err(on_host(operand.0)),
            };
            lent.push(Lent {
                operand: operand.0,
                memory,
                at_bytes: given.at_bytes,
            });
        }
        let chosen = runtime.usable_at(&self.query(), &problem, &addresses)?;
        let loaded = runtime.load(chosen.kernel)?;
        Prepared::on_emulator(runtime.device(), loaded, &problem, &lent)
    }

    fn launch_on_buffers(self, runtime: &Runtime) -> Result<(&Kernel, LaunchReport), Error> {
        self.check(runtime)?;
        let (query, problem) = (self.query(), self.problem(runtime));
        let device = runtime.device();
        let mut copies: Vec<(&str, Buffer)> = Vec::new();
        for (name, given) in &self.operands {
            let bytes = match &given.memory {
                Memory::Host(bytes) => bytes,
                Memory::HostMut(bytes) => &**bytes,
                _ => continue,
            };
            copies.push((name, device.alloc_with(bytes)?));
        }
        let mut args: Vec<Arg<'_>> = Vec::new();
        for operand in &self.operands {
            let (place, given) = self.place(runtime, operand)?;
            let copy = copies.iter().find(|(copy, _)| *copy == place);
            let buffer = match &given.memory {
                Memory::Device(buffer) => *buffer,
                _ => &copy.ok_or(Error::ForeignBuffer)?.1,
            };
            args.push(Arg::at(operand.0, buffer, given.at_bytes));
        }
        let launched = runtime.launch_best(&query, &problem, &args)?;
        for (name, given) in self.operands {
            if let Memory::HostMut(into) = given.memory
                && let Some((_, buffer)) = copies.iter().find(|(copy, _)| *copy == name)
            {
                into.copy_from_slice(&device.download(buffer)?);
            }
        }
        Ok(launched)
    }
}

/// Checks that a bundle has kernels of functions, each given with a spec that it is of and its
/// hash, and that the device can run one of each at least ([`Runtime::check`]); what the source of
/// a build step calls.
///
/// # Errors
/// [`Error::NoSuchFunction`] with all that it lacks; where it lacks none, [`Error::NotForDevice`]
/// with those that the device can run no kernel of.
pub fn check(runtime: &Runtime, functions: &[(&str, &str)]) -> Result<(), Error> {
    let kernels = runtime.kernels();
    let is_there = |hash: &Sha256Hex| {
        let mut known = kernels.iter();
        known.any(|kernel| kernel.semantics.function == *hash)
    };
    let hashed = |(spec, hash): &(&'_ str, &str)| ((*spec).to_owned(), Sha256Hex::from_text(hash));
    let functions: Vec<(String, Sha256Hex)> = functions.iter().map(hashed).collect();
    let lacking = functions.iter().filter(|(_, hash)| !is_there(hash));
    let lacking: Vec<String> = lacking
        .map(|(spec, hash)| function_text(spec, hash))
        .collect();
    match lacking.is_empty() {
        true => runtime.check_functions(functions.iter().map(|(spec, hash)| (spec.as_str(), hash))),
        false => Err(Error::NoSuchFunction {
            functions: lacking,
            known: kernels.len(),
        }),
    }
}

/// The output of a kernel that may take the place of that input.
fn taken_by<'k>(kernel: &'k Kernel, input: &str) -> Option<&'k str> {
    let mut operands = kernel.semantics.operands.iter();
    let output = operands.find(|operand| operand.over.as_deref() == Some(input));
    output.map(|operand| operand.name.as_str())
}

/// The GPU of a runtime.
fn gpu(runtime: &Runtime) -> Result<&CudaDevice, Error> {
    match runtime.device() {
        Device::Cuda(device) => Ok(device),
        Device::Emulator(_) => Err(of_a_gpu()),
    }
}

/// The error of memory named by an address that the emulator knows nothing of.
fn of_a_gpu() -> Error {
    Error::Request(
        "memory of a GPU is of no use on the emulator: launch slices or Arrays there".to_owned(),
    )
}

/// The error of a prepared launch on memory of the host.
fn on_host(operand: &str) -> Error {
    Error::Request(format!(
        "`{operand}` lies in memory of the host, where a prepared launch reads and writes nothing: \
         copy it into an Array first"
    ))
}

/// Memory as a prepared launch takes it; its extents and strides are the problem's.
fn of_bytes(operand: &str, address: u64, bytes: u64) -> Placed<'_> {
    let tensor = Described {
        operand,
        dtype: DType::B8,
        place: Extents::new([(i64::try_from(bytes).unwrap_or(i64::MAX), 1)]),
    };
    Placed {
        tensor,
        address,
        bytes: Some(bytes),
    }
}
