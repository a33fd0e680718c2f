//! A problem as the command line names it: extents, strides and scalars by a kernel's names.
//!
//! In: what clap parsed, and a kernel. Out: the [`Problem`], or everything that was given and means
//! nothing to the kernel, and that it needs and was not given.

use tilewright_bundle::{Kernel, NameKind};
use tilewright_runtime::{Error, Problem};

use crate::args;
use crate::outcome::Failure;

/// The sizes that were given, by the kernel's names for them, each with the flag it was given by.
fn sizes(asked: &args::Problem) -> Vec<(String, i64, String)> {
    let short = [("m", asked.m), ("n", asked.n), ("k", asked.k)];
    let short = short
        .into_iter()
        .filter_map(|(name, size)| Some((name, size?)));
    let short = short.map(|(name, size)| (name.to_owned(), size, format!("--{name}")));
    let named = asked.size.iter();
    let named = named.map(|one| (one.name.clone(), one.value, format!("--size {}", one.name)));
    short.chain(named).collect()
}

/// The flag that gives an extent.
fn flag_of(extent: &str) -> String {
    match extent {
        "m" | "n" | "k" => format!("--{extent}"),
        _ => format!("--size {extent}=…"),
    }
}

/// The leading dimensions, each with the operand whose it is.
fn leading(asked: &args::Problem) -> [(&'static str, Option<i64>); 4] {
    [
        ("a", asked.lda),
        ("b", asked.ldb),
        ("d", asked.ldd),
        ("s", asked.lds),
    ]
}

/// What was given and the kernel has nothing for, if there is something.
pub fn foreign(kernel: &Kernel, asked: &args::Problem) -> Option<Error> {
    let leading = leading(asked)
        .into_iter()
        .filter(|(operand, given)| given.is_some() && kernel.semantics.operand(operand).is_none());
    let leading = leading.map(|(operand, _)| format!("--ld{operand}"));
    let is_size = |name: &str| {
        let kind = kernel
            .names
            .find(name)
            .and_then(|name| kernel.names.kind(name));
        matches!(kind, Some(NameKind::Extent | NameKind::Stride))
    };
    let asked_sizes = sizes(asked);
    let sizes = asked_sizes.iter().filter(|(name, ..)| !is_size(name));
    let sizes = sizes.map(|(.., flag)| flag.clone());
    let is_scalar = |name: &str| kernel.semantics.scalars.iter().any(|s| s.name == name);
    let scalars = asked.scalar.iter().filter(|one| !is_scalar(&one.name));
    let scalars = scalars.map(|one| format!("--scalar {}", one.name));
    let flags: Vec<String> = sizes.chain(leading).chain(scalars).collect();
    let (id, word) = (&kernel.id, &kernel.kernel);
    let scalars = kernel.semantics.scalars.iter();
    let scalars = scalars.map(|scalar| format!("--scalar {}=…", scalar.name));
    let takes: Vec<String> = (kernel.free_extents())
        .map(|(_, name)| flag_of(name))
        .chain(scalars)
        .collect();
    let text = || {
        let (flags, takes) = (flags.join(", "), takes.join(", "));
        format!("{id}: a {word} has no {flags}: leave it out; it takes {takes}")
    };
    match flags.is_empty() {
        true => fixed_otherwise(kernel, &asked_sizes),
        false => Some(Error::Request(text())),
    }
}

/// What was given of modes whose extent is another one in every launch of the kernel, if there is
/// such.
fn fixed_otherwise(kernel: &Kernel, sizes: &[(String, i64, String)]) -> Option<Error> {
    let others = sizes.iter().filter_map(|(name, size, flag)| {
        let fixed = kernel.semantics.modes.get(name)?;
        (fixed != size).then(|| format!("`{name}` is {fixed} in every launch ({flag} is {size})"))
    });
    let others: Vec<String> = others.collect();
    let text = || {
        let (id, others) = (&kernel.id, others.join(", "));
        format!("{id}: {others}: leave it out, or build a kernel with another one in `modes`")
    };
    (!others.is_empty()).then(|| Error::Request(text()))
}

/// The problem as it was asked for, but for strides.
pub fn extents(kernel: &Kernel, asked: &args::Problem) -> Result<Problem, Failure> {
    let sizes = sizes(asked);
    for (at, (name, _, flag)) in sizes.iter().enumerate() {
        if let Some((.., first)) = sizes.iter().take(at).find(|(known, ..)| known == name) {
            let twice = format!("`{name}` is given by {first} and by {flag}: leave one out");
            return Err(Failure::CouldNotRun(twice));
        }
    }
    let given = |name: &str| sizes.iter().find(|(known, ..)| known == name);
    let (mut extents, mut missing) = (Vec::new(), Vec::new());
    for (_, name) in kernel.free_extents() {
        match given(name) {
            Some((_, size, _)) => extents.push((name.to_owned(), *size)),
            None => missing.push(flag_of(name)),
        }
    }
    let scalar = |name: &str| asked.scalar.iter().any(|one| one.name == name);
    let scalars = kernel.semantics.scalars.iter();
    let ungiven = scalars.filter(|s| !scalar(&s.name));
    missing.extend(ungiven.map(|s| format!("--scalar {}=…", s.name)));
    if !missing.is_empty() {
        let (word, missing) = (&kernel.kernel, missing.join(", "));
        return Err(Failure::CouldNotRun(format!("a {word} needs {missing}")));
    }
    let scalars = asked.scalar.iter();
    let extents = scalars.fold(Problem::of(extents), |problem, one| {
        problem.with_scalar(&one.name, one.value)
    });
    let promises = asked.promise.iter();
    Ok(promises.fold(extents, |problem, promise| problem.with_promise(promise)))
}

/// The same problem with the strides that were given.
pub fn with_strides(problem: Problem, kernel: &Kernel, asked: &args::Problem) -> Problem {
    let sizes = sizes(asked);
    let given = |name: &str| sizes.iter().find(|(known, ..)| known == name);
    let strides = kernel.names.of_kind(NameKind::Stride);
    let problem = strides.fold(problem, |problem, (_, name)| match given(name) {
        Some((_, stride, _)) => with_stride(problem, kernel, name, *stride),
        None => problem,
    });
    let leading = leading(asked).into_iter();
    leading.fold(problem, |problem, (name, leading)| match leading {
        Some(leading) => with_leading(problem, name, leading),
        None => problem,
    })
}

/// The problem with another stride wherever a layout has that name.
fn with_stride(problem: Problem, kernel: &Kernel, name: &str, stride: i64) -> Problem {
    let operands = kernel.semantics.operands.iter();
    operands.fold(problem, |problem, operand| {
        let Some(mut strides) = problem.strides(&operand.name).map(<[i64]>::to_vec) else {
            return problem;
        };
        for (place, expr) in strides.iter_mut().zip(&operand.layout.stride) {
            if expr.single_word() == Some(name) {
                *place = stride;
            }
        }
        problem.with_strides(&operand.name, strides)
    })
}

/// The problem with another leading dimension of an operand, whichever of its modes is contiguous.
fn with_leading(problem: Problem, operand: &str, leading: i64) -> Problem {
    match problem.strides(operand) {
        Some([.., 1]) => problem.row_major(operand, leading),
        Some(_) => problem.col_major(operand, leading),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_fixture::gemm_kernel;

    use super::fixed_otherwise;

    #[test]
    fn an_extent_that_is_fixed_is_not_asked_for_otherwise() {
        let mut kernel = gemm_kernel("gemm_f32@plain-1");
        kernel.semantics.modes.insert("n".into(), 4096);
        let given = |n| [("n".to_owned(), n, "--n".to_owned())];
        assert!(fixed_otherwise(&kernel, &given(4096)).is_none());
        let told = fixed_otherwise(&kernel, &given(512)).unwrap().to_string();
        let part = "`n` is 4096 in every launch (--n is 512): leave it out";
        assert!(told.contains(part), "{told}");
    }
}
