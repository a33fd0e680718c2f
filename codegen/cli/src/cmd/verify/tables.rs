//! What is told when all kernels are verified: how close results came to their bounds, what the
//! columns say, and which lines of PTX nothing executed.

use std::collections::BTreeSet;
use std::io;

use tilewright_bundle::{Assumption, Kernel, NameKind};
use tilewright_lab::verify::{Summary, Unreached};

use crate::quantity::counted;
use crate::terminal::{self, Table};

/// Kernels whose lines are told; `--json` has all.
const KERNELS: usize = 16;
/// Pieces of a kernel that are told.
const PIECES: usize = 6;
/// Assumptions of strides that are told.
const ASSUMED: usize = 6;

/// Prints all of it.
pub fn print(summary: &Summary, kernels: &[&Kernel]) -> io::Result<()> {
    terminal::print_line("")?;
    terminal::print(&closeness(summary).render())?;
    terminal::print(LEGEND)?;
    if let Some(told) = strides(kernels) {
        terminal::print_line(&told)?;
    }
    added(summary)?;
    unreached(&summary.unreached)
}

/// What kernels assume of strides, which those of all problems keep to; none where they take any.
fn strides(kernels: &[&Kernel]) -> Option<String> {
    let assumed = kernels.iter().flat_map(|kernel| {
        let expressions = kernel.assumptions.iter().filter_map(|one| match one {
            Assumption::Expr { expr, .. } => Some(expr),
            Assumption::Align { .. } | Assumption::Promise { .. } => None,
        });
        let is_stride = |name| kernel.names.kind(name) == Some(NameKind::Stride);
        expressions.filter(move |expr| expr.names().any(is_stride))
    });
    let assumed: BTreeSet<&str> = assumed.map(|expr| expr.text()).collect();
    let told: Vec<&str> = assumed.iter().take(ASSUMED).copied().collect();
    let more = match assumed.len().saturating_sub(ASSUMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!told.is_empty()).then(|| {
        format!(
            "\nstrides     multiples that kernels assume, to which rows were padded; `tilewright \
             check` says for\n            which extents rows without gaps are taken: {}{more}",
            told.join(", ")
        )
    })
}

/// How many problems were added to those that were drawn, which `+` marks in the kernels' lines.
fn added(summary: &Summary) -> io::Result<()> {
    match summary.outcomes.iter().filter(|one| one.added).count() {
        0 => Ok(()),
        added => terminal::print_line(&format!(
            "\n{} with a + were added, aimed at comparisons and lines that those drawn left open",
            counted(added, "problem")
        )),
    }
}

/// What the columns of the tables say.
const LEGEND: &str = "
rel err     |result - reference| / |reference|, over all elements of a problem, the largest of those
            of usual numbers: of numbers far apart or cancelling `of bound` tells; the reference is
            in f64, neither rounded to the type of the result nor bounded by it: fp8 is cut at 448
of bound    largest error of an element, beside the reference rounded to the type of the result, as
            a part of what roundings may add up to; 1.00 passes, and 0.00 is to the bit, as it has
            to be where one result alone is right: of small integers; which zero a result is does
            not count, and of a quotient by 0, or what may overflow or not, nothing is asked
to the bit  elements of which that bound says little: summed again in the kernel's order, and equal
";

/// A row for all problems of the same types and inputs.
fn closeness(summary: &Summary) -> Table {
    let head = [
        "types",
        "inputs",
        "problems",
        "failed",
        "of bound",
        "to the bit",
    ];
    let mut table = Table::new(head);
    for group in summary.closeness() {
        table.row([
            group.types,
            group.data,
            group.problems.to_string(),
            group.failed.to_string(),
            format!("{:.3}", group.max_err),
            group.replayed.to_string(),
        ]);
    }
    table
}

/// What stands below them.
const LEFT: &str = "\
what is wrong in those lines no problem tells: more of them may (--problems N, another --seed), or
none that the kernel takes leads there, as where it assumes what they are not for";

/// Comparisons that no problem made equal; none where all were.
fn unequal(all: &[Unreached]) -> Option<String> {
    let unequal: usize = all.iter().map(|one| one.unequal.len()).sum();
    let compared: usize = all.iter().map(|one| one.compared).sum();
    let kernels = all.iter().filter(|one| !one.unequal.is_empty()).count();
    (unequal > 0).then(|| {
        format!(
            "\nin {}, {unequal} of {compared} comparisons of integers had equal sides in no \
             problem: an end that is\noff by one, `lt` in the place of `le`, shows there alone \
             (--problems N; --json has the lines)",
            counted(kernels, "kernel")
        )
    })
}

/// Lines that no problem executed: in those nothing was verified.
fn unreached(all: &[Unreached]) -> io::Result<()> {
    let told = unequal(all);
    let all: Vec<&Unreached> = all.iter().filter(|one| one.lines > 0).collect();
    if !all.is_empty() {
        lines(&all)?;
    }
    told.map_or(Ok(()), |told| terminal::print_line(&told))
}

/// A row for each kernel.
fn lines(all: &[&Unreached]) -> io::Result<()> {
    let is_assuming = all.iter().take(KERNELS).any(|one| !one.assumed.is_empty());
    let mut head = vec!["executed by no problem", "lines", "of", "in the PTX"];
    head.extend(is_assuming.then_some("assumes"));
    let mut table = Table::new(head);
    for one in all.iter().take(KERNELS) {
        let cells = [
            one.kernel.clone(),
            one.lines.to_string(),
            one.of.to_string(),
            pieces(&one.ranges),
        ];
        table.row(
            cells
                .into_iter()
                .chain(is_assuming.then(|| one.assumed.join(", "))),
        );
    }
    terminal::print_line("")?;
    terminal::print(&table.render())?;
    terminal::print_line(LEFT)?;
    match all.len().saturating_sub(KERNELS) {
        0 => Ok(()),
        more => terminal::print_line(&format!(
            "and lines of {}: --json has all",
            counted(more, "other kernel")
        )),
    }
}

/// The first pieces as text: `12, 20-31`.
fn pieces(ranges: &[[u32; 2]]) -> String {
    let text = ranges
        .iter()
        .take(PIECES)
        .map(|[first, last]| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
    let mut text = text.collect::<Vec<_>>().join(", ");
    match ranges.len().saturating_sub(PIECES) {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}
