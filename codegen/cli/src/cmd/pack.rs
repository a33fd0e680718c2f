//! `pack`: a constant operand from a file, in the order that a kernel of a bundle takes it in.
//!
//! In: elements without gaps. Out: a file of them as they lie in memory, and a line that says so.

use serde::Serialize;
use tilewright_bundle::{Kernel, PackedOrder, read_plain_file};
use tilewright_runtime::{Problem, pack};

use crate::args;
use crate::cmd::bundle;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{self, Kind};
use crate::terminal;

/// Longest operand.
const MOST_BYTES: u64 = 16 << 30;

/// What `pack --json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    kernel: &'a str,
    operand: &'a str,
    order: String,
    bytes_read: usize,
    bytes_written: usize,
}

/// Packs what was asked for.
pub fn run(args: &args::Pack) -> Outcome {
    let opened = bundle::open(&args.source)?;
    let kernels = bundle::choose(&opened, std::slice::from_ref(&args.kernel))?;
    let kernel = agreeing(&kernels, &args.operand)?;
    let known: Vec<&str> = kernel.free_extents().map(|(_, text)| text).collect();
    let mut problem = Problem::of([("", 0); 0]);
    for (at, size) in args.size.iter().enumerate() {
        let name = size.name.as_str();
        let message = if args.size[..at].iter().any(|before| before.name == name) {
            format!("--size gives `{name}` twice: leave one out")
        } else if !known.contains(&name) {
            let known = known.join(", ");
            format!(
                "{} has no extent `{name}`; its extents are {known}",
                kernel.id
            )
        } else {
            problem = problem.with_extent(name.to_owned(), size.value);
            continue;
        };
        return Err(Failure::CouldNotRun(message));
    }
    let dense = read_plain_file(&args.input, MOST_BYTES)
        .map_err(|error| Failure::io(args.input.display(), &error))?;
    let packed = pack(kernel, &args.operand, &problem, &dense).map_err(Failure::could_not_run)?;
    output::write(&args.output, Kind::Elements, &packed)?;
    let report = Report {
        kernel: &kernel.id,
        operand: &args.operand,
        order: order(kernel, &args.operand).map_or(String::new(), PackedOrder::to_string),
        bytes_read: dense.len(),
        bytes_written: packed.len(),
    };
    if args.json {
        terminal::print_json(&report)?;
    } else {
        terminal::print(&format!(
            "good: {}, {} bytes of {}, {}\n",
            args.output.display(),
            report.bytes_written,
            report.operand,
            report.order
        ))?;
    }
    Ok(Verdict::Good)
}

/// The order of an operand, where it is there and packed.
fn order<'k>(kernel: &'k Kernel, operand: &str) -> Option<&'k PackedOrder> {
    kernel.semantics.operand(operand)?.packed.as_ref()
}

/// The first of some kernels, all of which take the operand in one order.
fn agreeing<'k>(kernels: &[&'k Kernel], operand: &str) -> Result<&'k Kernel, Failure> {
    let Some((first, others)) = kernels.split_first() else {
        return Err(Failure::CouldNotRun("the bundle has no kernels".to_owned()));
    };
    let wanted = order(first, operand);
    match others.iter().find(|other| order(other, operand) != wanted) {
        None => Ok(first),
        Some(other) => Err(Failure::CouldNotRun(format!(
            "{} and {} take `{operand}` in different orders: name one of them",
            first.id, other.id
        ))),
    }
}
