//! What a reader of a build is told of kernels that no named architecture runs.

use std::collections::{BTreeMap, BTreeSet};

/// Specs that are told by name.
const TOLD: usize = 6;

/// A line on the kernels that GPUs of `archs` do not run, each with its spec and the architecture
/// that it is for; none where all run.
pub(crate) fn line<'k>(
    kernels: impl Iterator<Item = (&'k str, String)>,
    archs: &[String],
) -> Option<String> {
    let mut specs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut count = 0usize;
    for (spec, arch) in kernels {
        specs.entry(spec).or_default().insert(arch);
        count += 1;
    }
    if count == 0 {
        return None;
    }
    let one = |(spec, archs): (&&str, &BTreeSet<String>)| {
        let archs: Vec<&str> = archs.iter().map(String::as_str).collect();
        format!("{spec} ({})", archs.join(", "))
    };
    let told: Vec<String> = specs.iter().take(TOLD).map(one).collect();
    let more = match specs.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (kernels, run) = match count {
        1 => ("kernel is", "does not run"),
        _ => ("kernels are", "do not run"),
    };
    Some(format!(
        "{count} {kernels} left out, which {run} on {}: {}{more}",
        archs.join(" or "),
        told.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_told_with_their_architectures() {
        let archs = ["sm_80".to_owned(), "sm_86".to_owned()];
        assert_eq!(line(std::iter::empty(), &archs), None);
        let all = [("b", "sm_90a"), ("a", "sm_90"), ("b", "sm_90a")];
        let all = all.map(|(spec, arch)| (spec, arch.to_owned()));
        let told = line(all.into_iter(), &archs);
        let wanted = "3 kernels are left out, which do not run on sm_80 or sm_86: a (sm_90), \
                      b (sm_90a)";
        assert_eq!(told.as_deref(), Some(wanted));
    }
}
