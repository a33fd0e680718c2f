//! A spec of a seed as a new user writes one: a formula of their own, the types, orders and tile
//! that go with it, and now and then a key of the schedule.
//!
//! Where [`draw`](super::draw) goes over the whole schema of products and copies, this goes over
//! what may be computed: maps, folds of functions along rows, columns and several modes, what
//! follows them, outputs that are constants, in place, quantization, products with epilogues.

mod expression;
mod kinds;
mod shape;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::draft::Draft;
use super::keys::keys;

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
    let kinds: [(&str, Kind); 9] = [
        ("map", Writer::map),
        ("map", Writer::map_in_place),
        ("constant", Writer::constant),
        ("fold", Writer::fold_of_rows),
        ("fold", Writer::fold_of_rows),
        ("norm", Writer::norm),
        ("fold", Writer::fold_of_modes),
        ("quantize", Writer::quantize),
        ("gemm", Writer::product),
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

    fn tile(&mut self, of: &[(&str, i64)]) {
        for (mode, extent) in of {
            self.draft
                .set(&format!("cta_tile.{mode}"), extent.to_string());
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

    /// A key of the schedule in some specs; residency in few, since it is what ptxas may refuse.
    fn schedule(&mut self) {
        if !self.chance(25) {
            return;
        }
        let is_product = self.draft.get("operands.b.layout").is_some();
        let family = if is_product { "gemm" } else { "copy" };
        let general = |path: &str| {
            !path.starts_with("operands.")
                && !path.starts_with("copy.")
                && !path.starts_with("swizzle.")
                && !matches!(path, "accumulator" | "accumulation" | "arch" | "cta_tile")
        };
        let keys: Vec<_> = (keys(family).iter())
            .filter(|key| !key.required && general(&key.path))
            .collect();
        if let Some(key) = keys.choose(&mut self.rng)
            && let Some(value) = key.values.choose(&mut self.rng)
        {
            self.draft.set(&key.path, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_codegen::spec;

    #[test]
    fn most_of_what_is_written_is_read() {
        let refusal = |seed: u64| {
            let text = write(seed).yaml();
            spec::parse("-", &text)
                .err()
                .map(|error| (text, error.report(false)))
        };
        let refused: Vec<_> = (0..400).filter_map(refusal).collect();
        let first = refused.first();
        assert!(
            refused.len() < 40,
            "{} of 400, first {first:?}",
            refused.len()
        );
    }
}
