//! Reading values: numbers, tuples, words of closed lists, atoms.
//!
//! Comes in: a field. Goes out: the value within the limits of its key, or `None` with the problem
//! listed: actual value, allowed values, the nearest legal one.

use tilewright_layout::Int;

use super::catalogue;
use super::families::FAMILIES;
use super::keys::Kind;
use super::model::{Accumulation, Family, LaunchKind, Raster, Schedule, SchedulerKind};
use super::nearest::{all_of, nearest, one_of, suggestion};
use super::node::Value;
use super::notation::{self, Entry};
use super::read::{Field, Reader, describe};
use crate::arch::{ARCHES, Arch};
use crate::dtype::{DTYPES, Dtype};
use crate::error::shown;

/// Largest extent of a tile.
pub const MAX_TILE_EXTENT: i64 = 65_536;
/// Most elements of a tile, all extents multiplied.
pub const MAX_TILE_SIZE: i64 = 1 << 24;

/// The newest architecture that is not newer than the one whose number the word has; the oldest
/// for what is older than all.
fn like_arch(word: &str) -> Option<String> {
    let digits: String = word.chars().filter(char::is_ascii_digit).collect();
    let sm: u32 = digits.parse().ok().filter(|sm| *sm >= 20)?;
    let portable = || ARCHES.iter().filter(|arch| !arch.exact);
    let newest = portable().rfind(|arch| arch.sm <= sm);
    let oldest = portable().next();
    let known = newest.or(oldest)?;
    Some(match known.sm < sm {
        true => format!("use `{known}`, whose PTX runs on newer GPUs too"),
        false => format!("use `{known}`"),
    })
}

impl Reader<'_> {
    /// The family.
    pub fn family(&mut self, field: &Field<'_>) -> Option<Family> {
        let names: Vec<&str> = FAMILIES.iter().map(|facts| facts.name).collect();
        let at = self.word(field, "unknown-kernel", "kernel", &names)?;
        FAMILIES.get(at).map(|facts| facts.family)
    }

    /// The architecture.
    pub fn arch(&mut self, field: &Field<'_>) -> Option<Arch> {
        let names: Vec<&str> = ARCHES.iter().map(|arch| arch.name).collect();
        let text = self.scalar(field, &one_of(&names))?;
        let found = Arch::parse(text);
        if found.is_none() {
            let message = format!(
                "`{}` is `{}`; known architectures are {}",
                field.path,
                shown(text),
                all_of(&names)
            );
            let help = like_arch(text).unwrap_or_else(|| suggestion(text, &names));
            self.problems
                .add("unknown-arch", &field.node.span, message, help);
        }
        found
    }

    /// An element type.
    pub fn dtype(&mut self, field: &Field<'_>) -> Option<Dtype> {
        let names: Vec<&str> = DTYPES.iter().map(|dtype| dtype.name()).collect();
        let at = self.word(field, "unknown-dtype", "element type", &names)?;
        DTYPES.get(at).copied()
    }

    /// What becomes of sums that are cut short.
    pub fn accumulation(&mut self, field: &Field<'_>) -> Option<Accumulation> {
        let names = Accumulation::ALL.map(Accumulation::name);
        let at = self.word(field, "unknown-accumulation", "accumulation", &names)?;
        let given = Accumulation::ALL.get(at).copied()?;
        if !given.is_generated() {
            let message = format!(
                "`{}` is `{}`; this version generates `fast` alone: sums stay in the registers \
                 that the tensor cores cut short",
                field.path,
                given.name()
            );
            let help = "use `fast`, or inputs of f16 or bf16, whose sums are not cut short";
            self.problems
                .add("unsupported-accumulation", &field.node.span, message, help);
            return None;
        }
        Some(given)
    }

    /// The schedule.
    pub fn schedule(&mut self, field: &Field<'_>) -> Option<Schedule> {
        let names = Schedule::ALL.map(Schedule::name);
        let at = self.word(field, "unknown-schedule", "schedule", &names)?;
        Schedule::ALL.get(at).copied()
    }

    /// How tiles come to CTAs.
    pub fn scheduler_kind(&mut self, field: &Field<'_>) -> Option<SchedulerKind> {
        let names = SchedulerKind::ALL.map(SchedulerKind::name);
        let at = self.word(field, "unknown-scheduler", "scheduler", &names)?;
        SchedulerKind::ALL.get(at).copied()
    }

    /// How a kernel's start relates to the one before it.
    pub fn launch_kind(&mut self, field: &Field<'_>) -> Option<LaunchKind> {
        let names = LaunchKind::ALL.map(LaunchKind::name);
        let at = self.word(field, "unknown-launch", "launch kind", &names)?;
        LaunchKind::ALL.get(at).copied()
    }

    /// An integer in the limits of its key.
    pub fn int(&mut self, field: &Field<'_>) -> Option<i64> {
        let Kind::Int { least, most, step } = field.key.kind else {
            return None;
        };
        let multiple = if step > 1 {
            format!(", a multiple of {step}")
        } else {
            String::new()
        };
        let or_auto = if field.key.auto { "`auto` or " } else { "" };
        let expected = format!("{or_auto}an integer from {least} to {most}{multiple}");
        let text = self.scalar(field, &expected)?;
        let plain = matches!(field.node.value, Value::Scalar { plain: true, .. });
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !plain || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            let message = format!(
                "`{}` is {}; expected {expected}",
                field.path,
                describe(field.node)
            );
            let help = if plain {
                "write a decimal number"
            } else {
                "delete the quotes around a number"
            };
            self.problems
                .add("wrong-type", &field.node.span, message, help);
            return None;
        }
        let huge = if text.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        let value = text.parse().unwrap_or(huge);
        if (least..=most).contains(&value) && value % step == 0 {
            return Some(value);
        }
        let clamped = value.clamp(least, most);
        let use_value = (clamped - clamped % step).max(least);
        let message = format!("`{}` is {}; expected {expected}", field.path, shown(text));
        self.problems.add(
            "out-of-range",
            &field.node.span,
            message,
            format!("use {use_value}"),
        );
        None
    }

    /// A tuple of positive integers, one for each name.
    pub fn tuple(
        &mut self,
        field: &Field<'_>,
        names: &[&str],
        most: i64,
        most_size: i64,
    ) -> Option<Vec<i64>> {
        let form = format!("({})", names.join(","));
        let text = self.scalar(field, &format!("the extents {form} as text"))?;
        let entries = match notation::tuple(text) {
            Ok(entries) => entries,
            Err(misfit) => {
                let message = format!("`{}` is no tuple: {}", field.path, misfit.message);
                let help = format!("write integers in the form \"{form}\"");
                let span = self.part(field.node, misfit.at);
                self.problems.add("tuple-syntax", &span, message, help);
                return None;
            }
        };
        let (rank, family) = (names.len(), self.facts.name);
        if entries.len() != rank {
            let (path, actual) = (&field.path, entries.len());
            let message = format!("`{path}` has {actual} entries; kernel {family} needs {rank}");
            let help = format!("write it in the form \"{form}\"");
            self.problems
                .add("wrong-rank", &field.node.span, message, help);
            return None;
        }
        let values: Vec<i64> = (entries.iter().zip(names))
            .filter_map(|(entry, name)| self.extent(field, entry, name, most))
            .collect();
        let size = values
            .iter()
            .try_fold(1i64, |size, value| size.checked_mul(*value));
        if values.len() == rank && size.is_none_or(|size| size > most_size) {
            let size = size.map_or("more than 2^63".to_string(), |size| size.to_string());
            let message = format!(
                "`{}` has {size} elements; at most {most_size} are allowed",
                field.path
            );
            let help = "use smaller extents";
            self.problems
                .add("too-many-elements", &field.node.span, message, help);
            return None;
        }
        (values.len() == rank).then_some(values)
    }

    fn extent(&mut self, field: &Field<'_>, entry: &Entry, name: &str, most: i64) -> Option<i64> {
        let value = entry.value.as_i64();
        if let Some(value) = value.filter(|value| (1..=most).contains(value)) {
            return Some(value);
        }
        let actual = shown(&entry.value.to_string());
        let message = format!(
            "{name} of `{}` is {actual}; allowed is 1 to {most}",
            field.path
        );
        let help = format!("use {}", value.unwrap_or(1).clamp(1, most));
        let span = self.part(field.node, entry.at.clone());
        self.problems.add("out-of-range", &span, message, help);
        None
    }

    /// Three positive integers along m, n and k.
    pub fn triple(&mut self, field: &Field<'_>) -> Option<[i64; 3]> {
        let Kind::Triple { most } = field.key.kind else {
            return None;
        };
        self.tuple(field, &["m", "n", "k"], most.min(MAX_TILE_EXTENT), most)?
            .try_into()
            .ok()
    }

    /// The tile order.
    pub fn raster(&mut self, field: &Field<'_>) -> Option<Raster> {
        const MOST: u32 = 64;
        let text = self.scalar(field, "`auto`, `row`, `column`, `grouped_N` or `hilbert_N`")?;
        let number = |prefix: &str| {
            let digits = text.strip_prefix(prefix)?;
            digits.parse::<u32>().ok()
        };
        let (group, square) = (number("grouped_"), number("hilbert_"));
        let allowed = |rows: &u32| (1..=MOST).contains(rows);
        match (text, group, square) {
            ("row", ..) => Some(Raster::Row),
            ("column", ..) => Some(Raster::Column),
            (_, Some(rows), _) if allowed(&rows) => Some(Raster::Grouped(rows)),
            (_, _, Some(rows)) if allowed(&rows) && rows.is_power_of_two() => {
                Some(Raster::Hilbert(rows))
            }
            _ => {
                let message = format!(
                    "`{}` is `{}`; known are `auto`, `row`, `column`, `grouped_1` to \
                     `grouped_{MOST}`, and `hilbert_1` to `hilbert_{MOST}` by powers of two",
                    field.path,
                    shown(text)
                );
                let help = match (group, square) {
                    (Some(rows), _) => format!("use `grouped_{}`", rows.clamp(1, MOST)),
                    (_, Some(rows)) => {
                        let rows = rows.clamp(1, MOST);
                        format!("use `hilbert_{}`", 1 << rows.ilog2())
                    }
                    _ => suggestion(text, &["auto", "row", "column", "grouped_8", "hilbert_8"]),
                };
                self.problems
                    .add("unknown-raster", &field.node.span, message, help);
                None
            }
        }
    }

    /// The id of an atom that does what the key says.
    pub fn atom(&mut self, field: &Field<'_>) -> Option<String> {
        let wanted = catalogue::job(field.key.kind)?;
        let text = self.scalar(field, "`auto` or the id of an atom")?;
        let fitting: Vec<&str> = catalogue::atoms()
            .filter(|a| a.job == wanted)
            .map(|a| a.id)
            .collect();
        let Some(atom) = catalogue::atoms().find(|atom| atom.id == text) else {
            let message = format!("`{}` is `{}`; no atom has this id", field.path, shown(text));
            let help = match nearest(text, fitting.iter().copied()) {
                Some(id) => format!("use `{id}`"),
                None => format!("use `auto`, {}", one_of(&fitting)),
            };
            self.problems
                .add("unknown-atom", &field.node.span, message, help);
            return None;
        };
        if atom.job != wanted {
            let message = format!(
                "`{}` is `{text}`, which {}; needed is one that {wanted}",
                field.path, atom.job
            );
            let help = match nearest(text, fitting.iter().copied()) {
                Some(id) => format!("use `{id}` or `auto`"),
                None => "use `auto`".to_string(),
            };
            self.problems
                .add("misplaced-atom", &field.node.span, message, help);
            return None;
        }
        Some(text.to_string())
    }
}
