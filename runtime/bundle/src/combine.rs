//! Bundles of other bundles: several as one, a part of one, one with PTX that somebody edited.
//!
//! Kernels are taken with their code as they are, so that their content hashes stay; what is made
//! is another bundle, which nobody has signed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::bundle::Bundle;
use crate::certificate::Certificate;
use crate::code::Route;
use crate::error::{Error, Problems};
use crate::hash::Sha256Hex;
use crate::lines::LineTable;
use crate::manifest::{Kernel, Provenance};
use crate::tuning::{TUNING_FILE, TunedPoint, Tuning, TuningTable};
use crate::write::BundleWriter;

/// What stands between the names of tools that made a bundle together.
const AND: &str = " + ";
/// Stands for a tool that a bundle does not name.
const UNNAMED: &str = "unnamed";

impl BundleWriter {
    /// A writer of the kernels of several bundles, each with what it is called in messages. A
    /// kernel of several of them is taken once, with all that one of them has of it: machine code,
    /// registers, lines; tools of all of them are named. Selection tables are put together, unless
    /// they are to be dropped. The order of the bundles makes no difference.
    ///
    /// # Errors
    /// When kernels of one id differ, their routes among them, or have different machine code, or
    /// one problem was measured with different results; all of them at once.
    pub fn merge(bundles: &[(&str, &Bundle)], drop_tables: bool) -> Result<BundleWriter, Error> {
        let mut problems = Problems::default();
        let mut writer = BundleWriter::new(provenance(bundles));
        let mut taken: BTreeMap<&str, Taken<'_>> = BTreeMap::new();
        let mut hashes: Hashes<'_> = BTreeSet::new();
        for (place, bundle) in bundles {
            for kernel in bundle.kernels() {
                let here = Taken::new(place, bundle, kernel);
                match taken.entry(&kernel.id) {
                    Entry::Vacant(free) => {
                        free.insert(here);
                    }
                    Entry::Occupied(mut known) => match known.get_mut().join(here) {
                        Ok(()) => {}
                        Err(problem) => problems.add(&kernel.id, problem),
                    },
                }
                hashes.insert((&kernel.id, &kernel.content_hash));
            }
        }
        for Taken { bundle, kernel, .. } in taken.values() {
            writer.take(bundle, kernel)?;
        }
        let mut tables = Tables::default();
        for (place, bundle) in bundles.iter().filter(|_| !drop_tables) {
            for table in bundle.tuning().iter().flat_map(|tuning| &tuning.tables) {
                tables.add(place, table, &mut problems);
            }
        }
        problems.into_result()?;
        let mut tuning = tables.tuning();
        let points = tuning.tables.iter_mut().flat_map(|table| &mut table.points);
        for choice in points.flat_map(|point| &mut point.choices) {
            let id = choice.kernel.as_str();
            // The PTX was measured, or the machine code: what is taken is the same kernel.
            if hashes.contains(&(id, &choice.content_hash))
                && let Some(hash) = writer.content_hash(id)
            {
                choice.content_hash = hash.clone();
            }
        }
        writer.tune_if_any(tuning)?;
        Ok(writer)
    }

    /// A writer of those kernels of a bundle that are to be kept, and of what was measured of them.
    ///
    /// # Errors
    /// When none is kept.
    pub fn part(bundle: &Bundle, keep: impl Fn(&Kernel) -> bool) -> Result<BundleWriter, Error> {
        let mut writer = BundleWriter::new(bundle.provenance().clone());
        let mut kept = BTreeSet::new();
        for kernel in bundle.kernels().iter().filter(|kernel| keep(kernel)) {
            writer.take(bundle, kernel)?;
            kept.insert(kernel.id.as_str());
        }
        if kept.is_empty() {
            return Err(Error::invalid("manifest", "no kernel is left"));
        }
        let mut tuning = bundle.tuning().cloned().unwrap_or_default();
        tuning.keep(|id| kept.contains(id));
        writer.tune_if_any(tuning)?;
        Ok(writer)
    }

    /// A writer of the same bundle with other PTX for some of its kernels, by id: what followed
    /// from the text before, its certificate, machine code, registers, lines and measured times, is
    /// left out.
    ///
    /// # Errors
    /// When no kernel has an id, a kernel's machine code alone is run, or a text is refused; all of
    /// them at once.
    pub fn edited(
        bundle: &Bundle,
        texts: &BTreeMap<String, String>,
    ) -> Result<BundleWriter, Error> {
        let mut problems = Problems::default();
        let mut writer = BundleWriter::new(bundle.provenance().clone());
        for id in texts.keys().filter(|id| bundle.kernel(id).is_none()) {
            problems.add(id, "the bundle has no kernel of this id".to_owned());
        }
        for kernel in bundle.kernels() {
            let Some(text) = texts.get(&kernel.id) else {
                writer.take(bundle, kernel)?;
                continue;
            };
            problems.check(kernel.route != Route::CubinOnly, &kernel.id, || {
                "its machine code alone is run: edit the PTX of a bundle that was built without \
                 --cubin-only"
                    .to_owned()
            });
            let mut kernel = kernel.clone();
            (kernel.cubin, kernel.lines) = (None, None);
            kernel.certificate = Certificate::edited();
            (kernel.resources.registers, kernel.resources.spill_bytes) = (None, None);
            match writer.add(kernel, text, None) {
                Err(Error::Invalid { problems: found }) => {
                    for one in found {
                        problems.add(&one.entry, one.message);
                    }
                }
                added => added?,
            }
        }
        problems.into_result()?;
        let mut tuning = bundle.tuning().cloned().unwrap_or_default();
        tuning.keep(|id| !texts.contains_key(id));
        writer.tune_if_any(tuning)?;
        Ok(writer)
    }

    fn tune_if_any(&mut self, tuning: Tuning) -> Result<(), Error> {
        match tuning.tables.is_empty() {
            true => Ok(()),
            false => self.tune(&tuning),
        }
    }
}

/// The content hashes that a kernel's entries have.
type Hashes<'b> = BTreeSet<(&'b str, &'b Sha256Hex)>;

/// A kernel as it is taken, and the bundle that has its code.
struct Taken<'b> {
    place: &'b str,
    bundle: &'b Bundle,
    kernel: Kernel,
}

impl<'b> Taken<'b> {
    fn new(place: &'b str, bundle: &'b Bundle, kernel: &Kernel) -> Taken<'b> {
        let kernel = kernel.clone();
        Taken {
            place,
            bundle,
            kernel,
        }
    }

    /// Adds what another bundle knows of the same kernel: its machine code, what an assembler said
    /// of it, its table of lines. Which of the two comes first makes no difference.
    ///
    /// # Errors
    /// When they are different kernels, or have different machine code.
    fn join(&mut self, other: Taken<'b>) -> Result<(), String> {
        self.same_as(&other)?;
        let lines = least(self.kernel.lines.take(), other.kernel.lines.clone());
        match (&self.kernel.cubin, &other.kernel.cubin) {
            // Registers and spills are those of the machine code.
            (None, Some(_)) => *self = other,
            (Some(_), None) => {}
            (None, None) | (Some(_), Some(_)) => {
                let (own, others) = (&mut self.kernel.resources, other.kernel.resources);
                // Of what two assemblers say the worse counts, and none knows less than any.
                own.registers = own.registers.max(others.registers);
                own.spill_bytes = own.spill_bytes.max(others.spill_bytes);
            }
        }
        self.kernel.lines = lines;
        Ok(())
    }

    fn same_as(&self, other: &Taken<'b>) -> Result<(), String> {
        let (one, two) = (&self.kernel, &other.kernel);
        let (first, place) = (self.place, other.place);
        let different = differing(one, two);
        if different.iter().any(|key| key == ROUTE) {
            let by = |place: &str, kernel: &Kernel| match kernel.route {
                Route::Ptx => format!("{place} lets the driver compile its PTX"),
                Route::CubinOnly => format!("{place} runs its machine code alone (`cubin_only`)"),
            };
            return Err(format!(
                "{} and {}: build both with --cubin-only or both without, or leave one of them out",
                by(first, one),
                by(place, two)
            ));
        }
        if !different.is_empty() {
            let (one, two) = (&one.content_hash, &two.content_hash);
            return Err(format!(
                "{first} and {place} have different kernels of this id, with content hashes {one} \
                 and {two}: they differ in {}; build both with one version of the generator, or \
                 leave one of them out",
                different.join(", ")
            ));
        }
        match (&one.cubin, &two.cubin) {
            (Some(one), Some(two)) if one != two => Err(format!(
                "{first} and {place} have different machine code for it, for {} and {}, of which a \
                 kernel has one: leave one of them out",
                one.target, two.target
            )),
            _ => Ok(()),
        }
    }
}

/// The one of two values that there is, the lesser one where there are two.
fn least(one: Option<LineTable>, other: Option<LineTable>) -> Option<LineTable> {
    let text = |table: &LineTable| serde_json::to_string(table).unwrap_or_default();
    one.into_iter().chain(other).min_by_key(text)
}

/// The key of a kernel's route.
const ROUTE: &str = "route";
/// What follows from it: the oldest driver is that of the PTX or of the machine code.
const MIN_DRIVER: &str = "min_driver";

/// The keys in which two entries differ, but for machine code and what follows from it.
fn differing(one: &Kernel, two: &Kernel) -> Vec<String> {
    let [one, two] = [one, two].map(|kernel| {
        let entry = serde_json::to_value(without_code(kernel));
        entry.unwrap_or_default()
    });
    let keys = |entry: &Value| -> BTreeSet<String> {
        let object = entry.as_object();
        object.into_iter().flat_map(Map::keys).cloned().collect()
    };
    let all: BTreeSet<String> = keys(&one).union(&keys(&two)).cloned().collect();
    let differ = all.into_iter().filter(|key| one.get(key) != two.get(key));
    let mut differ: Vec<String> = differ.collect();
    if differ.iter().any(|key| key == ROUTE) {
        differ.retain(|key| key != MIN_DRIVER);
    }
    differ
}

/// A kernel's entry but for its machine code and what follows from that.
fn without_code(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.cubin = None;
    kernel.content_hash = Sha256Hex::default();
    kernel.lines = None;
    kernel.resources.registers = None;
    kernel.resources.spill_bytes = None;
    kernel
}

/// The tools of all bundles, each once and by name, whatever the order of the bundles; and that
/// some are not named.
fn provenance(bundles: &[(&str, &Bundle)]) -> Provenance {
    let each = || bundles.iter().map(|(_, bundle)| bundle.provenance());
    let joined = |names: Vec<Option<&String>>| {
        let names = names.into_iter();
        let names = names.map(|name| name.map_or(UNNAMED, String::as_str));
        // What is merged already names several.
        let told: BTreeSet<(bool, &str)> = names
            .flat_map(|name| name.split(AND))
            .map(|name| (name == UNNAMED, name))
            .collect();
        let told: Vec<&str> = told.into_iter().map(|(_, name)| name).collect();
        told.join(AND)
    };
    let named = |names: Vec<Option<&String>>| {
        let is_named = names.iter().any(Option::is_some);
        is_named.then(|| joined(names))
    };
    Provenance {
        generator: joined(each().map(|p| Some(&p.generator)).collect()),
        llvm: named(each().map(|p| p.llvm.as_ref()).collect()),
        ptxas: named(each().map(|p| p.ptxas.as_ref()).collect()),
    }
}

/// Selection tables of several bundles, each class once.
#[derive(Default)]
struct Tables<'b> {
    classes: Vec<Class<'b>>,
}

/// A problem's extents and its strides.
type Problem<'b> = (&'b [i64], &'b [Vec<i64>]);

/// The problems of one class and device, with the bundle that measured each.
struct Class<'b> {
    of: &'b TuningTable,
    points: BTreeMap<Problem<'b>, (&'b str, &'b TunedPoint)>,
}

impl<'b> Tables<'b> {
    fn add(&mut self, place: &'b str, table: &'b TuningTable, problems: &mut Problems) {
        let is_same = |class: &&mut Class<'b>| class.of.same_class(table);
        let class = match self.classes.iter_mut().find(is_same) {
            Some(class) => class,
            None => {
                self.classes.push(Class {
                    of: table,
                    points: BTreeMap::new(),
                });
                let last = self.classes.len() - 1;
                &mut self.classes[last]
            }
        };
        let (device, names) = (&table.device.name, table.extents.join(","));
        problems.check(class.of.extents == table.extents, TUNING_FILE, || {
            let other = class.of.extents.join(",");
            format!("{place} has extents {names} for {device}, and an earlier one has {other}")
        });
        for point in &table.points {
            let (extents, _) = point.problem();
            let known = class.points.entry(point.problem());
            let (first, earlier) = known.or_insert((place, point));
            let function = &table.function;
            problems.check(earlier.choices == point.choices, TUNING_FILE, || {
                format!(
                    "{first} and {place} measured {names} = {extents:?} of function {function} on \
                     {device} with different results: drop the tables and tune anew"
                )
            });
        }
    }

    fn tuning(self) -> Tuning {
        let table = |class: Class<'_>| TuningTable {
            points: class.points.values().map(|(_, p)| (*p).clone()).collect(),
            ..class.of.clone()
        };
        let mut tables: Vec<TuningTable> = self.classes.into_iter().map(table).collect();
        // Of whichever bundle a class was first.
        let class = |table: &TuningTable| {
            let class = (&table.device, &table.function, &table.operands);
            serde_json::to_string(&class).unwrap_or_default()
        };
        tables.sort_by_cached_key(class);
        Tuning {
            tables,
            ..Tuning::default()
        }
    }
}
