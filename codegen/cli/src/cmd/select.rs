//! `select`: the kernel that a runtime would take for a problem, and why no other.
//!
//! What is said is the runtime's own answer to a caller with such operands; no kernel is loaded.

use tilewright_bundle::{Bundle, Kernel, TunedDevice};
use tilewright_runtime::{
    Candidates, DeviceInfo, Error, Explanation, Request, Selector, without_gaps,
};

use crate::args;
use crate::cmd::bundle;
use crate::device;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::problem;
use crate::terminal;

/// Chooses, and tells what was asked to be told.
pub fn run(args: &args::select::Select) -> Outcome {
    let bundle = bundle::open(&args.source)?;
    let device = DeviceInfo {
        cubin_only: args.cubin_only,
        ..described(&bundle, args)?
    };
    let selector = Selector::new(&bundle, &device);
    let candidates = Candidates::new(&bundle, &selector, &device);
    let meant = candidates
        .meant(&args.kernel)
        .map_err(Failure::could_not_run)?;
    let (mut asked, mut failures) = (Vec::new(), Vec::new());
    for kernel in meant {
        match request(kernel, args) {
            Ok(request) => asked.push((kernel, request)),
            Err(failure) => failures.push(failure),
        }
    }
    // Functions that such sizes are not for are not meant, where there is another one.
    if let (true, Some(failure)) = (asked.is_empty(), Failure::all(failures)) {
        return Err(failure);
    }
    let asked: Vec<_> = asked.iter().map(|(k, request)| (*k, request)).collect();
    tell(candidates.explain(&args.kernel, &asked), args)
}

fn tell(told: Explanation, args: &args::select::Select) -> Outcome {
    if let Err(error @ Error::ManyFunctions { types, .. }) = &told.chosen {
        let is_said = |operand: &str| args.dtype.iter().any(|given| given.operand == operand);
        let mut unsaid = types.iter().filter(|(operand, _)| !is_said(operand));
        let more = unsaid.next().and_then(|(operand, types)| {
            let one = types.first()?;
            Some(format!(
                "; or say an element type more: --dtype {operand}={one}"
            ))
        });
        let more = more.unwrap_or_default();
        return Err(Failure::CouldNotRun(format!("{error}{more}")));
    }
    let verdict = Verdict::from_good(told.chosen.is_ok());
    match (args.json, args.explain, told.chosen.as_ref()) {
        (true, ..) => terminal::print_json(&told)?,
        (false, true, _) => terminal::print(&told.to_string())?,
        (false, false, Ok(chosen)) => terminal::print_line(&chosen.to_string())?,
        (false, false, Err(error)) => return Err(Failure::Rejected(error.to_string())),
    }
    Ok(verdict)
}

/// What a caller names to a kernel whose operands lie as was asked for.
fn request<'k>(kernel: &'k Kernel, args: &args::select::Select) -> Result<Request<'k>, Failure> {
    if let Some(error) = problem::foreign(kernel, &args.problem) {
        return Err(Failure::could_not_run(error));
    }
    let extents = problem::extents(kernel, &args.problem)?;
    let extents = match args.workspace {
        Some(bytes) => extents.with_workspace_limit(bytes),
        None => extents,
    };
    let extents = match args.batch_invariant {
        true => extents.with_batch_invariance(),
        false => extents,
    };
    let dense = without_gaps(kernel, &extents);
    let problem = problem::with_strides(dense, kernel, &args.problem);
    let request = Request::of_problem(kernel, &problem);
    let mut request = request.map_err(|refusals| {
        let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        Failure::Rejected(format!("{}: {}", kernel.id, refusals.join("; ")))
    })?;
    for given in &args.dtype {
        let mut operands = request.operands.iter_mut();
        let Some(placed) = operands.find(|placed| placed.tensor.operand == given.operand) else {
            let (id, name) = (&kernel.id, &given.operand);
            let text = format!("{id} has no operand `{name}`: leave --dtype {name}=… out");
            return Err(Failure::CouldNotRun(text));
        };
        placed.tensor.dtype = given.dtype;
    }
    Ok(request)
}

/// The device to choose for.
fn described(bundle: &Bundle, args: &args::select::Select) -> Result<DeviceInfo, Failure> {
    match (&args.gpu, &args.arch) {
        (Some(name), _) => tuned_on(bundle, name),
        (None, Some(arch)) => Ok(DeviceInfo::of_capability(arch.sm)),
        (None, None) => Ok(device::open(args.device)?.info().clone()),
    }
}

/// The device of that name that the bundle was tuned on.
fn tuned_on(bundle: &Bundle, name: &str) -> Result<DeviceInfo, Failure> {
    let mut known: Vec<&TunedDevice> = Vec::new();
    for table in bundle.tuning().iter().flat_map(|tuning| &tuning.tables) {
        if !known.contains(&&table.device) {
            known.push(&table.device);
        }
    }
    let named = |one: &&&TunedDevice| one.name == name || one.to_string() == name;
    let found: Vec<&TunedDevice> = known.iter().filter(named).copied().collect();
    let list = |all: &[&TunedDevice]| {
        let all: Vec<String> = all.iter().map(|one| format!("\"{one}\"")).collect();
        all.join(", ")
    };
    match found.as_slice() {
        [one] => Ok(DeviceInfo::from(*one)),
        [] if known.is_empty() => Err(Failure::CouldNotRun(format!(
            "--gpu {name}: the bundle has no tuning table; say an architecture: --arch sm_90"
        ))),
        [] => Err(Failure::CouldNotRun(format!(
            "--gpu {name}: the bundle was tuned on {}; or say an architecture: --arch sm_90",
            list(&known)
        ))),
        several => Err(Failure::CouldNotRun(format!(
            "--gpu {name} is one of {}: say all of it",
            list(several)
        ))),
    }
}
