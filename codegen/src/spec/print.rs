//! A spec back to YAML, in one form only: keys in the order of the table, defaults left out.
//!
//! Comes in: a spec. Goes out: text that reads back as the same spec. The same values in compact
//! JSON are the canonical form that ids hash, so that an id does not depend on how a YAML library
//! breaks lines.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tilewright_layout::Swizzle;

use super::model::{
    Accumulation, Auto, CopyPath, LaunchKind, Operand, Raster, Schedule, SchedulerKind, Spec,
};
use crate::error::{Error, Result};

impl Spec {
    /// The YAML text of the spec, without `tune`.
    ///
    /// # Errors
    /// [`Error::Bug`] when it cannot be written.
    pub fn to_yaml(&self) -> Result<String> {
        serde_yaml::to_string(&tree(self)).map_err(|error| bug(self, &error.to_string()))
    }

    /// What the spec says beyond defaults: dotted paths with the values as they are printed, in the
    /// order of the table of keys.
    pub fn said(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        tree(self).flatten("", &mut out);
        out
    }
}

/// The values of a spec as compact JSON.
pub(super) fn canonical(spec: &Spec) -> Result<String> {
    serde_json::to_string(&tree(spec)).map_err(|error| bug(spec, &error.to_string()))
}

fn bug(spec: &Spec, message: &str) -> Error {
    Error::Bug {
        stage: "spec",
        kernel: spec.name.clone(),
        message: message.into(),
        dump: format!("{spec:?}"),
    }
}

/// A value to print.
enum Printed {
    Int(i64),
    Text(String),
    Map(Vec<(String, Printed)>),
}

impl Printed {
    fn flatten(self, path: &str, out: &mut Vec<(String, String)>) {
        match self {
            Printed::Int(value) => out.push((path.to_string(), value.to_string())),
            Printed::Text(text) => out.push((path.to_string(), text)),
            Printed::Map(entries) => {
                let dot = if path.is_empty() { "" } else { "." };
                for (key, value) in entries {
                    value.flatten(&format!("{path}{dot}{key}"), out);
                }
            }
        }
    }
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Printed::Int(value) => serializer.serialize_i64(*value),
            Printed::Text(text) => serializer.serialize_str(text),
            Printed::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

/// A map under construction: values that are defaults are not added.
#[derive(Default)]
struct Map(Vec<(String, Printed)>);

impl Map {
    fn put(&mut self, key: &str, value: Printed) {
        self.0.push((key.to_string(), value));
    }

    fn text(&mut self, key: &str, text: impl ToString) {
        self.put(key, Printed::Text(text.to_string()));
    }

    fn auto<T>(&mut self, key: &str, value: &Auto<T>, print: impl Fn(&T) -> Printed) {
        if let Auto::Given(value) = value {
            self.put(key, print(value));
        }
    }

    fn map(&mut self, key: &str, map: Map) {
        if !map.0.is_empty() {
            self.put(key, Printed::Map(map.0));
        }
    }
}

fn tree(spec: &Spec) -> Printed {
    let facts = spec.family.facts();
    let mut file = Map::default();
    file.text("kernel", facts.name);
    file.text("name", &spec.name);
    file.text("arch", spec.arch);
    let mut operands = Map::default();
    spec.operands
        .iter()
        .for_each(|operand| operands.map(&operand.name, print_operand(operand)));
    file.map("operands", operands);
    if !facts.types.is_empty() {
        file.text("accumulator", spec.accumulator);
    }
    if let Some(accumulation) = spec.accumulation {
        file.text("accumulation", accumulation.name());
    }
    file.put("cta_tile", print_tuple(&spec.cta_tile));
    let int = |value: &u32| Printed::Int(i64::from(*value));
    file.auto("threads", &spec.threads, int);
    file.auto("min_ctas_per_sm", &spec.min_ctas_per_sm, int);
    if spec.cluster != [1; 3] {
        file.put("cluster", print_tuple(&spec.cluster));
    }
    let mut mma = Map::default();
    mma.auto("atom", &spec.mma.atom, |id| Printed::Text(id.clone()));
    mma.auto("atoms", &spec.mma.atoms, |atoms| print_tuple(atoms));
    mma.auto("permutation", &spec.mma.permutation, |extents| {
        print_tuple(extents)
    });
    file.map("mma", mma);
    let mut copy = Map::default();
    for (operand, path) in in_order(spec, &spec.copy) {
        copy.map(operand, print_path(path));
    }
    file.map("copy", copy);
    let mut swizzle = Map::default();
    for (operand, value) in in_order(spec, &spec.swizzle) {
        swizzle.auto(operand, value, print_swizzle);
    }
    file.map("swizzle", swizzle);
    let mut pipeline = Map::default();
    pipeline.auto("stages", &spec.pipeline.stages, int);
    pipeline.auto("schedule", &spec.pipeline.schedule, |schedule| {
        Printed::Text(schedule.name().into())
    });
    pipeline.auto("in_flight", &spec.pipeline.in_flight, int);
    pipeline.auto("producer_registers", &spec.pipeline.producer_registers, int);
    file.map("pipeline", pipeline);
    let mut scheduler = Map::default();
    scheduler.auto("kind", &spec.scheduler.kind, |kind| {
        Printed::Text(kind.name().into())
    });
    scheduler.auto("raster", &spec.scheduler.raster, |raster| {
        Printed::Text(raster.to_string())
    });
    scheduler.auto("ctas", &spec.scheduler.ctas, int);
    scheduler.auto("launch", &spec.scheduler.launch, |launch| {
        Printed::Text(launch.name().to_string())
    });
    file.map("scheduler", scheduler);
    if spec.epilogue != facts.epilogue {
        file.text("epilogue", &spec.epilogue);
    }
    Printed::Map(file.0)
}

/// The entries of a map by operand, in the order of the operands.
fn in_order<'s, T>(
    spec: &'s Spec,
    map: &'s BTreeMap<String, T>,
) -> impl Iterator<Item = (&'s str, &'s T)> {
    spec.operands
        .iter()
        .filter_map(|operand| Some((operand.name.as_str(), map.get(&operand.name)?)))
}

fn print_operand(operand: &Operand) -> Map {
    let mut map = Map::default();
    map.text("dtype", operand.dtype);
    map.text("layout", operand.layout());
    map
}

fn print_path(path: &CopyPath) -> Map {
    let hops = [
        ("g2s", &path.g2s),
        ("s2r", &path.s2r),
        ("g2r", &path.g2r),
        ("r2s", &path.r2s),
        ("s2g", &path.s2g),
        ("r2g", &path.r2g),
    ];
    let mut map = Map::default();
    for (key, hop) in hops {
        match hop {
            None => {}
            Some(Auto::Auto) => map.text(key, "auto"),
            Some(Auto::Given(id)) => map.text(key, id),
        }
    }
    map
}

fn print_swizzle(swizzle: &Swizzle) -> Printed {
    Printed::Text(if swizzle.is_none() {
        "none".into()
    } else {
        swizzle.to_string()
    })
}

fn print_tuple(extents: &[i64]) -> Printed {
    let words: Vec<String> = extents.iter().map(i64::to_string).collect();
    Printed::Text(format!("({})", words.join(",")))
}

impl Accumulation {
    /// Both ways.
    pub const ALL: [Accumulation; 2] = [Accumulation::Fast, Accumulation::Promoted];

    /// The word in specs: `fast`.
    pub fn name(self) -> &'static str {
        match self {
            Accumulation::Fast => "fast",
            Accumulation::Promoted => "promoted",
        }
    }

    /// Whether this version generates it.
    pub fn is_generated(self) -> bool {
        self == Accumulation::Fast
    }
}

impl Schedule {
    /// Every schedule.
    pub const ALL: [Schedule; 3] = [
        Schedule::Multistage,
        Schedule::Cooperative,
        Schedule::Pingpong,
    ];

    /// The word in specs: `multistage`.
    pub fn name(self) -> &'static str {
        match self {
            Schedule::Multistage => "multistage",
            Schedule::Cooperative => "cooperative",
            Schedule::Pingpong => "pingpong",
        }
    }
}

impl SchedulerKind {
    /// All kinds.
    pub const ALL: [SchedulerKind; 3] = [
        SchedulerKind::Single,
        SchedulerKind::Persistent,
        SchedulerKind::StreamK,
    ];

    /// The word in specs: `persistent`.
    pub fn name(self) -> &'static str {
        match self {
            SchedulerKind::Single => "single",
            SchedulerKind::Persistent => "persistent",
            SchedulerKind::StreamK => "stream_k",
        }
    }
}

impl LaunchKind {
    /// Both kinds.
    pub const ALL: [LaunchKind; 2] = [LaunchKind::Plain, LaunchKind::Programmatic];

    /// The word in specs: `programmatic`.
    pub fn name(self) -> &'static str {
        match self {
            LaunchKind::Plain => "plain",
            LaunchKind::Programmatic => "programmatic",
        }
    }
}

impl std::fmt::Display for Raster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Raster::Row => f.write_str("row"),
            Raster::Column => f.write_str("column"),
            Raster::Grouped(rows) => write!(f, "grouped_{rows}"),
            Raster::Hilbert(rows) => write!(f, "hilbert_{rows}"),
        }
    }
}
