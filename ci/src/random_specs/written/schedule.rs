//! Keys of the schedule, in some specs: any of them, atoms and swizzles of an operand and a tuning
//! space among them, with values that people try first more often.

use rand::seq::IndexedRandom;
use tilewright_codegen::arch::Arch;

use super::Writer;
use crate::random_specs::keys::{Key, keys};

/// Specs of a hundred that leave every key to the plan.
const FREE_PERCENT: u32 = 50;
/// Of the others, those that have a tuning space.
const TUNED_PERCENT: u32 = 12;
/// Specs of a hundred that fold on sm_90 whose CTAs share rows, or tiles of factors.
const CLUSTERED_PERCENT: u32 = 25;

impl Writer {
    /// Some keys of the schedule in some specs.
    pub(super) fn schedule(&mut self) {
        let text = self.draft.get("compute").unwrap_or_default();
        let folds = ["sum", "max", "min", "mean", "argmax"];
        let is_fold = folds.iter().any(|fold| text.contains(&format!("{fold}[")));
        let arch = self.draft.get("arch").unwrap_or_default();
        if is_fold && arch.starts_with("sm_90") && self.chance(CLUSTERED_PERCENT) {
            let cluster = self.pick(&["(2,1,1)", "(1,2,1)", "(1,4,1)", "(1,8,1)", "(2,2,1)"]);
            self.draft.set("cluster", cluster);
        }
        if self.chance(FREE_PERCENT) {
            return;
        }
        let count = [1, 1, 1, 2, 2, 3].choose(&mut self.rng).copied();
        for _ in 0..count.unwrap_or(1) {
            if let Some((path, value, _)) = self.key() {
                self.draft.set(&path, value);
            }
        }
        if self.chance(TUNED_PERCENT) {
            self.tune();
        }
    }

    /// Two values of a key that may vary, in the place of what is written of it.
    fn tune(&mut self) {
        for _ in 0..4 {
            let Some((path, first, true)) = self.key() else {
                continue;
            };
            for _ in 0..20 {
                if let Some((other, second, _)) = self.key()
                    && other == path
                    && second != first
                {
                    self.draft.keys.retain(|(known, _)| *known != path);
                    self.draft.tune.push((path, vec![first, second]));
                    return;
                }
            }
        }
    }

    /// A key with a value, and whether it may be tuned.
    fn key(&mut self) -> Option<(String, String, bool)> {
        let is_product = self.draft.get("operands.b.layout").is_some();
        let family = if is_product { "gemm" } else { "copy" };
        let is_schedules = |key: &&Key| {
            let head = key.path.split('.').next().unwrap_or_default();
            let others = ["accumulator", "accumulation", "arch", "cta_tile"];
            !key.required && head != "operands" && !others.contains(&head)
        };
        let all: Vec<&Key> = keys(family).iter().filter(is_schedules).collect();
        // One of the maps of operands for each of the others.
        let of_operands = |key: &&&Key| {
            let head = key.path.split('.').next();
            matches!(head, Some("copy" | "swizzle"))
        };
        let wanted = self.chance(35);
        let of: Vec<&Key> = (all.iter())
            .filter(|key| of_operands(key) == wanted)
            .copied()
            .collect();
        let key = of.choose(&mut self.rng).copied()?;
        let path = self.of_an_operand(&key.path)?;
        let arch = self.draft.get("arch").unwrap_or_default();
        // What no kernel of that kind takes is written in few.
        let last = path.rsplit('.').next().unwrap_or_default();
        let is_foreign = match last {
            "cluster" => !arch.starts_with("sm_90"),
            "stages" => !is_product,
            "r2s" | "s2g" | "in_flight" | "ctas" => arch != "sm_90a" || !is_product,
            "g2r_last" => self.draft.get("scheduler.passes").is_none(),
            _ => false,
        };
        if is_foreign && self.chance(80) {
            return None;
        }
        let value = self.value(key)?;
        Some((path, value, key.tunable))
    }

    /// The path with one of the spec's operands in the place of the default formula's: of ways into
    /// a kernel with an input, of ways out of it with an output.
    fn of_an_operand(&mut self, path: &str) -> Option<String> {
        let mut parts: Vec<&str> = path.split('.').collect();
        if !matches!(parts.first(), Some(&"copy" | &"swizzle")) || parts.len() < 2 {
            return Some(path.to_owned());
        }
        let way = parts.get(2).copied().unwrap_or_default();
        let text = self.draft.get("compute").unwrap_or_default();
        let written: Vec<&str> = text.split("; ").filter_map(target).collect();
        let fits = |name: &&str| match way {
            "" => true,
            "r2s" | "s2g" | "r2g" => written.contains(name),
            _ => !written.contains(name),
        };
        let layouts = self.draft.keys.iter().filter_map(|(path, _)| {
            let name = path.strip_prefix("operands.")?;
            name.strip_suffix(".layout")
        });
        let names: Vec<&str> = layouts.filter(fits).collect();
        parts[1] = names.choose(&mut self.rng)?;
        Some(parts.join("."))
    }

    /// A value: of numbers those that people try first in most, of atoms those that there are.
    fn value(&mut self, key: &Key) -> Option<String> {
        let usual: &[&str] = match key.path.as_str() {
            "threads" => &["64", "128", "128", "256", "256", "512", "1024"],
            "threads_along" => &["4", "8", "16", "32", "64", "128"],
            "min_ctas_per_sm" => &["1", "2", "2", "3", "4", "8"],
            "pipeline.stages" => &["1", "2", "3", "4", "5"],
            "cluster" => &["(1,1,1)", "(2,1,1)", "(1,2,1)"],
            "mma.atoms" => &["(1,1,1)", "(2,1,1)", "(1,2,1)", "(2,2,1)", "(4,1,1)"],
            _ => &[],
        };
        if self.chance(90)
            && let Some(value) = usual.choose(&mut self.rng)
        {
            return Some((*value).to_owned());
        }
        let arch = self.draft.get("arch").and_then(Arch::parse);
        let values = key.fitting(arch);
        let is_said = self.chance(85);
        let written = values.iter().filter(|value| !is_said || **value != "auto");
        let written: Vec<&&str> = written.collect();
        written
            .choose(&mut self.rng)
            .map(|value| (**value).to_owned())
    }
}

/// The name that a statement writes.
fn target(statement: &str) -> Option<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    statement.split(|c| !word(c)).next()
}
