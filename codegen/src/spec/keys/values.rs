//! Reading values: numbers, tuples, words of closed lists, atoms.
//!
//! Comes in: a field. Goes out: the value within the limits of its key, or `None` with the problem
//! listed: actual value, allowed values, the nearest legal one.

use tilewright_layout::Int;

use super::read::{Field, Reader, describe};
use crate::arch::{ARCHES, Arch};
use crate::dtype::{DTYPES, DType};
use crate::error::shown;
use crate::spec::keys::atoms;
use crate::spec::keys::key::Kind;
use crate::spec::words::notation::{self, Entry};
use crate::spec::words::vocabulary::{List, Word, Worded};
use crate::spec::yaml::nearest::{all_of, nearest, one_of, suggestion};
use crate::spec::yaml::node::Value;

/// Largest extent of a tile.
pub const MAX_TILE_EXTENT: i64 = 1 << 20;
/// Most elements of a tile, all extents multiplied.
pub const MAX_TILE_SIZE: i64 = 1 << 24;

/// The architecture of a GPU's name, or the newest that is not newer than the one whose number the
/// word has; the oldest for what is older than all.
fn like_arch(word: &str) -> Option<String> {
    if let Some(arch) = Arch::of_gpu(word) {
        return Some(format!("use `{arch}`"));
    }
    let digits: String = word.chars().filter(char::is_ascii_digit).collect();
    let sm: u32 = digits.parse().ok().filter(|sm| *sm >= 20)?;
    // What is written for one architecture alone: `sm90a`.
    let exact = ARCHES.iter().find(|arch| arch.exact && arch.sm == sm);
    if let (Some(exact), true) = (exact, word.ends_with(['a', 'A'])) {
        return Some(format!("use `{exact}`"));
    }
    let portable = || ARCHES.iter().filter(|arch| !arch.exact);
    let newest = portable().rfind(|arch| arch.sm <= sm);
    let oldest = portable().next();
    let known = newest.or(oldest)?;
    Some(match known.sm < sm {
        true => format!("use `{known}`, whose PTX runs on newer GPUs too"),
        false => format!("use `{known}`"),
    })
}

/// The words of a list as messages name them: `` `row` and `grouped_1` to `grouped_64` ``.
fn listed(list: &List) -> String {
    let one = |word: &Word| match word.count {
        None => format!("`{}`", word.name),
        Some(counts) => {
            let (name, most) = (word.name, counts.most);
            let powers = if counts.powers_of_two {
                " by powers of two"
            } else {
                ""
            };
            format!("`{name}_1` to `{name}_{most}`{powers}")
        }
    };
    let words: Vec<String> = list.words.iter().map(one).collect();
    match words.split_last() {
        Some((last, front)) if !front.is_empty() => format!("{} and {last}", front.join(", ")),
        _ => words.concat(),
    }
}

/// The nearest word of a list, `auto` among them where it is one, with a usual count.
fn suggested(text: &str, list: &List, auto: bool) -> String {
    let one = |word: &Word| match word.count {
        None => word.name.to_owned(),
        Some(counts) => format!("{}_{}", word.name, counts.usual),
    };
    let words: Vec<String> = list.words.iter().map(one).collect();
    let auto = auto.then_some("auto");
    let words: Vec<&str> = auto
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    suggestion(text, &words)
}

/// The element type that a word means: one of another name, or of integers the widest.
fn like_dtype(word: &str) -> Option<String> {
    let meant = DType::meant(word)?;
    if DTYPES.contains(&meant) {
        return Some(format!("use `{meant}`"));
    }
    let wide = matches!(meant, DType::S64 | DType::U64 | DType::U32);
    wide.then(|| "use `s32`, the widest integers that kernels have".to_owned())
}

/// An extent that tiles usually have, near to one that is none: the bounds are of no use there.
fn usual_extent(value: i64, most: i64) -> i64 {
    const USUAL: std::ops::RangeInclusive<i64> = 64..=128;
    match most < *USUAL.start() {
        true => value.clamp(1, most),
        false => value.clamp(*USUAL.start(), *USUAL.end()).min(most),
    }
}

impl Reader<'_> {
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
    pub fn dtype(&mut self, field: &Field<'_>) -> Option<DType> {
        let names: Vec<&str> = DTYPES.iter().map(|dtype| dtype.text()).collect();
        let text = self.scalar(field, &one_of(&names))?;
        let found = DTYPES.iter().find(|dtype| dtype.text() == text);
        if found.is_none() {
            let message = format!(
                "`{}` is `{}`; known element types are {}",
                field.path,
                shown(text),
                all_of(&names)
            );
            let help = like_dtype(text).unwrap_or_else(|| suggestion(text, &names));
            self.problems
                .add("unknown-dtype", &field.node.span, message, help);
        }
        found.copied()
    }

    /// A word of a closed list, with its count where it has one.
    pub fn worded<T: Worded>(&mut self, field: &Field<'_>) -> Option<T> {
        let list = T::LIST;
        let plain: Vec<&str> = list.words.iter().map(|word| word.name).collect();
        let text = self.scalar(field, &one_of(&plain))?;
        let of = |word: &&Word| {
            let Some(counts) = word.count else {
                return (text == word.name).then_some((0, true));
            };
            let digits = text.strip_prefix(word.name)?.strip_prefix('_')?;
            let count: u32 = digits.parse().ok()?;
            Some((count, counts.take(count)))
        };
        let known = list.words.iter().find_map(|word| Some((word, of(&word)?)));
        let (word, count) = match known {
            Some((word, (count, true))) => (word, count),
            _ => {
                let help =
                    match known.and_then(|(word, (count, _))| Some((word, word.count?, count))) {
                        Some((word, counts, count)) => {
                            format!("use `{}_{}`", word.name, counts.nearest(count))
                        }
                        None => suggested(text, &list, field.key.auto),
                    };
                let message = format!(
                    "`{}` is `{}`; known {}s are {}",
                    field.path,
                    shown(text),
                    list.what,
                    listed(&list)
                );
                self.problems
                    .add(list.unknown, &field.node.span, message, help);
                return None;
            }
        };
        if let Some((why, way_out)) = word.refused {
            let message = format!("`{}` is `{}`; {why}", field.path, word.name);
            self.problems
                .add(list.unsupported, &field.node.span, message, way_out);
            return None;
        }
        T::of(word.name, count)
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
                "write digits alone"
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
        let clamped = match field.path.strip_prefix("cta_tile.") {
            Some(_) => usual_extent(value, most),
            None => value.clamp(least, most),
        };
        let use_value = (clamped - clamped % step).max(least);
        let message = format!("`{}` is {}; expected {expected}", field.path, shown(text));
        self.problems.add(
            "out-of-range",
            &field.node.span,
            message,
            match field.key.auto {
                // Which multiples do depends on the tile.
                true if step > 1 && (least..=most).contains(&value) => "use `auto`".to_owned(),
                true => format!("use `auto` or `{use_value}`"),
                false => format!("use `{use_value}`"),
            },
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
        let (rank, kernel) = (names.len(), self.shape.kernel.as_str());
        if entries.len() != rank {
            let (path, actual) = (&field.path, entries.len());
            let message = format!("`{path}` has {actual} entries; kernel {kernel} needs {rank}");
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
        let help = format!("use `{}`", usual_extent(value.unwrap_or(1), most));
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

    /// The id of an atom that does what the key says.
    pub fn atom(&mut self, field: &Field<'_>) -> Option<String> {
        let wanted = atoms::job(field.key.kind)?;
        let text = self.scalar(field, "`auto` or the id of an atom")?;
        let fitting: Vec<&str> = atoms::atoms()
            .filter(|a| a.job == wanted)
            .map(|a| a.id)
            .collect();
        let Some(atom) = atoms::atoms().find(|atom| atom.id == text) else {
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
