//! Launches that read what the launch before them wrote, without waiting in between: what a kernel
//! that starts early must get right.
//!
//! One factor shifts the columns of the other by one, exactly: after as many launches as there are
//! links, the first input has been shifted that often. A launch that reads too early, or writes
//! over what is still read, leaves another picture.

use tilewright_bundle::{Kernel, Operand};

use super::Outcome;
use super::data::Data;
use super::elements::random_elements;
use super::form::GemmForm;
use super::numbers::{decode, encode};
use tilewright_runtime::Error;
use tilewright_runtime::Extents;
use tilewright_runtime::Problem;
use tilewright_runtime::Runtime;
use tilewright_runtime::image;
use tilewright_runtime::{Arg, Device, LoadedKernel};

/// Runs a chain of `links` launches of a gemm of `side` squared. `None` when the kernel's output
/// cannot be its own input: other types, or orders of memory.
///
/// # Errors
/// When the device fails, or refuses a launch.
pub fn chain(
    runtime: &Runtime,
    kernel: &Kernel,
    side: i64,
    links: usize,
    seed: u64,
) -> Result<Option<Outcome>, Error> {
    let Some(names) = kernel.product() else {
        return Ok(None);
    };
    let [a, b, d] = names.map(|operand| operand.name.as_str());
    let device = runtime.device();
    let extents = kernel
        .free_extents()
        .map(|(_, name)| (name.to_owned(), side));
    let square = Problem::of(extents).row_major(a, side).row_major(d, side);
    let orders = [square.clone().row_major(b, side), square.col_major(b, side)];
    for (problem, by_columns) in orders.into_iter().zip([false, true]) {
        let Ok(fit) = device.fit(kernel, &problem) else {
            continue;
        };
        let form = GemmForm::of(kernel, &fit.operands)?;
        let swapped = form.a.swapped || form.b.swapped || form.d.swapped;
        let is_packed = names[0].packed.is_some();
        if swapped || is_packed || form.a.dtype != form.d.dtype {
            continue;
        }
        let loaded = runtime.load(kernel)?;
        let links = Links {
            form: &form,
            names: [a, b, d],
            second: (names[1], fit.operands[form.b.at]),
            side: side as usize,
            count: links,
            by_columns,
        };
        let failure = links.run(device, &loaded, &problem, seed)?;
        return Ok(Some(Outcome {
            problem: format!("chain of {} launches of {problem}", links.count),
            rel_err: if failure.is_some() { 1.0 } else { 0.0 },
            max_err: if failure.is_some() {
                f64::INFINITY
            } else {
                0.0
            },
            failure,
            ..Outcome::of(kernel, "shifts")
        }));
    }
    Ok(None)
}

struct Links<'a> {
    form: &'a GemmForm,
    names: [&'a str; 3],
    /// The second factor, and its extents.
    second: (&'a Operand, Extents),
    side: usize,
    count: usize,
    /// Whether b has its columns contiguous.
    by_columns: bool,
}

impl Links<'_> {
    fn run(
        &self,
        device: &Device,
        loaded: &LoadedKernel,
        problem: &Problem,
        seed: u64,
    ) -> Result<Option<String>, Error> {
        let (side, dtype) = (self.side, self.form.a.dtype);
        let (first, values) = random_elements(dtype, Data::Integers, side * side, seed)?;
        let mut shift = vec![0.0; side * side];
        for row in 0..side {
            let k = (row + 1) % side;
            let at = if self.by_columns {
                k * side + row
            } else {
                row * side + k
            };
            if let Some(place) = shift.get_mut(at) {
                *place = 1.0;
            }
        }
        let (second, extents) = &self.second;
        let shift = encode(self.form.b.dtype, &shift)?;
        // It stands as it lies, unless the kernel has an order of its own.
        let b = match second.packed {
            Some(_) => device.alloc_with(&image(second, extents, &shift))?,
            None => device.alloc_with(&shift)?,
        };
        let ends = [
            device.alloc_with(&first)?,
            device.alloc(first.len() as u64)?,
        ];
        device.poison(&ends[1])?;
        for link in 0..self.count {
            let [from, to] = match link % 2 {
                0 => [&ends[0], &ends[1]],
                _ => [&ends[1], &ends[0]],
            };
            let [first, second, output] = self.names;
            let args = [
                Arg::new(first, from),
                Arg::new(second, &b),
                Arg::new(output, to),
            ];
            device.launch(loaded, problem, &args)?;
        }
        let last = device.download(&ends[self.count % 2])?;
        let found = decode(self.form.d.dtype, &last)?;
        let wanted = |at: usize| {
            let (row, column) = (at / side, at % side);
            values.get(row * side + (column + self.count) % side)
        };
        let wrong = |(at, value): &(usize, &f64)| wanted(*at).is_none_or(|wanted| wanted != *value);
        let all = found.iter().enumerate().filter(wrong);
        Ok(found.iter().enumerate().find(wrong).map(|(at, value)| {
            format!(
                "{} of {} elements are not those of {} shifts, first d({},{}): {value} in place of \
                 {}",
                all.count(),
                found.len(),
                self.count,
                at / side,
                at % side,
                wanted(at).copied().unwrap_or(f64::NAN)
            )
        }))
    }
}
