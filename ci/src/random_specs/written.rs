//! A spec of a seed as a new user writes one: a formula of their own, the types, orders and tile
//! that go with it, and in some any keys of the schedule.
//!
//! Where [`draw`](super::draw) goes over the whole schema of products and copies, this goes over
//! what may be computed: maps (`kinds`: in place, of nothing, through tables, turned, combined with
//! what was there), folds (`folds`: of functions along rows, columns and several modes, of
//! integers, norms, softmax, pooling, statistics), narrow types and products with epilogues
//! (`products`), each of values (`expression`) on layouts and tiles (`shape`) with keys
//! (`schedule`).

mod expression;
mod products;
mod schedule;
mod shape;
mod folds;
mod kinds;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::draft::Draft;

/// Architectures, with those that people have more often.
const ARCHES: [&str; 10] = [
    "sm_80", "sm_80", "sm_80", "sm_90", "sm_90", "sm_90a", "sm_70", "sm_75", "sm_86", "sm_89",
];

/// What writes one kind of kernel.
type Kind = fn(&mut Writer);

/// The spec of a seed.
///
/// ```
/// use tilewright_ci::random_specs::written::write;
/// assert_eq!(write(7), write(7));
/// assert!(write(7).yaml().contains("name: written_7"));
/// ```
pub fn write(seed: u64) -> Draft {
    let mut writer = Writer {
        rng: StdRng::seed_from_u64(seed ^ 0x7772_6974),
        draft: Draft::default(),
        scalars: 0,
    };
    let kinds: [(&str, Kind); 23] = [
        ("map", Writer::map),
        ("fold", Writer::fold_of_rows),
        ("gemm", Writer::product),
        ("norm", Writer::norm),
        ("step", Writer::map_in_place),
        ("softmax", Writer::softmax),
        ("statistics", Writer::fold_of_modes),
        ("quantize", Writer::quantize),
        ("map", Writer::map),
        ("gather", Writer::table),
        ("fold", Writer::fold_of_rows),
        ("totals", Writer::combined),
        ("gemv", Writer::narrow_vector),
        ("gemm", Writer::product),
        ("fill", Writer::constant),
        ("pool", Writer::pooling),
        ("norm", Writer::norm),
        ("permute", Writer::turned),
        ("checksum", Writer::fold_of_integers),
        ("map", Writer::map),
        ("statistics", Writer::batch_statistics),
        ("dequantize", Writer::dequantize),
        ("statistics", Writer::fold_of_modes),
    ];
    let (word, kind) = kinds[seed as usize % kinds.len()];
    writer.draft.set("kernel", word);
    writer.draft.set("name", format!("written_{seed}"));
    let arch = writer.pick(&ARCHES);
    writer.draft.set("arch", arch);
    kind(&mut writer);
    writer.leave_out_unused();
    writer.schedule();
    writer.draft
}

/// A spec in the making.
struct Writer {
    rng: StdRng,
    draft: Draft,
    scalars: usize,
}

impl Writer {
    fn pick<'v>(&mut self, of: &[&'v str]) -> &'v str {
        of.choose(&mut self.rng).copied().unwrap_or_default()
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn power(&mut self, powers: std::ops::RangeInclusive<u32>) -> i64 {
        1 << self.rng.random_range(powers)
    }

    fn operand(&mut self, name: &str, dtype: &str, axes: &[&str]) {
        let layout = self.layout(name, axes);
        self.draft.set(&format!("operands.{name}.dtype"), dtype);
        self.draft.set(&format!("operands.{name}.layout"), layout);
    }

    /// Lays an output over an input: the same type and layout.
    fn in_place(&mut self, output: &str, input: &str, dtype: &str) {
        let layout = self.draft.get(&format!("operands.{input}.layout"));
        let layout = layout.unwrap_or_default().to_owned();
        for (key, value) in [("dtype", dtype), ("layout", &layout), ("over", input)] {
            self.draft.set(&format!("operands.{output}.{key}"), value);
        }
    }

    /// One of the types, of those of 8-bit floats only where the architecture converts them.
    fn dtype<'v>(&mut self, of: &[&'v str]) -> &'v str {
        let arch = self.draft.get("arch").unwrap_or_default();
        let converts = matches!(arch, "sm_89" | "sm_90" | "sm_90a");
        let known = |dtype: &&str| converts || !matches!(*dtype, "e4m3" | "e5m2");
        let fitting: Vec<&str> = of.iter().copied().filter(known).collect();
        self.pick(&fitting)
    }

    /// Takes out operands and scalars that the formula does not name.
    fn leave_out_unused(&mut self) {
        let text = self.draft.get("compute").unwrap_or_default().to_owned();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names: Vec<&str> = text.split(|c| !word(c)).collect();
        self.draft.keys.retain(|(path, _)| {
            let mut parts = path.split('.');
            match (parts.next(), parts.next()) {
                (Some("operands" | "scalars"), Some(name)) => names.contains(&name),
                _ => true,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use tilewright_codegen::error::Error;
    use tilewright_codegen::spec;

    use super::super::keys::keys;
    use super::*;

    const SEEDS: u64 = 700;

    #[test]
    fn most_of_what_is_written_is_read() {
        let mut codes: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        let mut refused = 0;
        for seed in 0..SEEDS {
            let text = write(seed).yaml();
            let Err(error) = spec::parse("-", &text) else {
                continue;
            };
            refused += 1;
            let report = error.report(false);
            if let Error::Spec { problems, .. } = error {
                let code = problems.first().map_or("", |problem| problem.code);
                codes.entry(code).or_insert((0, report)).0 += 1;
            }
        }
        assert!(refused * 8 < SEEDS, "{refused} of {SEEDS}: {codes:#?}");
        let unused = codes.get("unused").map_or(0, |(count, _)| *count);
        assert_eq!(unused, 0, "{codes:#?}");
    }

    #[test]
    fn every_key_of_the_schedule_is_written() {
        let all: Vec<Draft> = (0..6000).map(write).collect();
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let written = |draft: &Draft| -> Vec<String> {
            let tuned = draft.tune.iter().map(|(path, _)| path);
            let keys = draft.keys.iter().map(|(path, _)| path).chain(tuned);
            keys.filter(|path| !path.starts_with("operands."))
                .map(|path| match path.starts_with("swizzle.") {
                    true => "swizzle".to_owned(),
                    false => last(path),
                })
                .collect()
        };
        let seen: BTreeSet<String> = all.iter().flat_map(written).collect();
        for key in ["gemm", "copy"].into_iter().flat_map(keys) {
            let is_operand = key.path.starts_with("operands.");
            if key.path.starts_with("swizzle.") || is_operand || key.path == "accumulator" {
                continue;
            }
            assert!(
                seen.contains(&last(&key.path)) || key.path == "cta_tile",
                "{} is never written",
                key.path
            );
        }
        assert!(seen.contains("swizzle"));
        assert!(all.iter().any(|draft| !draft.tune.is_empty()));
    }
}
