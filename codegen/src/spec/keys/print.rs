//! A spec back to YAML, in one form only: keys in the order of the table, defaults left out.
//!
//! Comes in: a spec. Goes out: text that reads back as the same spec. The same values in compact
//! JSON are the canonical form that ids hash, so that an id does not depend on how a YAML library
//! breaks lines.

use std::collections::BTreeMap;

use tilewright_formula::{ModeExtent, Signature};

use super::model::{Operand, Spec};
use super::valued::Valued;
use crate::error::{Error, Result};
use crate::spec::words::printed::{Map, Printed};

impl Spec {
    /// The YAML text of the spec, without `tune`.
    ///
    /// # Errors
    /// [`Error::Bug`] when it cannot be written.
    pub fn to_yaml(&self) -> Result<String> {
        serde_yaml::to_string(&tree(self)).map_err(|error| bug(self, error))
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
pub(in crate::spec) fn canonical(spec: &Spec) -> Result<String> {
    serde_json::to_string(&tree(spec)).map_err(|error| bug(spec, error))
}

fn bug(spec: &Spec, error: impl ToString) -> Error {
    Error::bug(
        "spec",
        &spec.problem.name,
        error.to_string(),
        format!("{spec:?}"),
    )
}

fn tree(spec: &Spec) -> Printed {
    let mut file = Map::default();
    file.put("kernel", Printed::text(&spec.problem.kernel));
    file.put("name", Printed::text(&spec.problem.name));
    file.put("arch", Printed::text(spec.problem.arch));
    let mut operands = Map::default();
    for operand in &spec.problem.operands {
        operands.put(&operand.name, print_operand(operand));
    }
    file.put("operands", operands.finished());
    if !spec.problem.compute.is_default {
        file.put("compute", Printed::text(&spec.problem.compute.text));
        print_names(&spec.problem.compute.formula.signature, &mut file);
    } else if !spec.problem.form().facts().types.is_empty() {
        file.put("accumulator", Printed::text(spec.problem.accumulator));
    }
    file.put("cta_tile", print_tile(spec));
    file.put("copy", by_operand(spec, &spec.schedule.copy));
    file.put("swizzle", by_operand(spec, &spec.schedule.swizzle));
    spec.print_rows(&mut file);
    let order: Vec<&str> = Spec::KEYS.iter().map(|key| key.name).collect();
    let file = file.in_order(&order).finished();
    file.unwrap_or(Printed::Map(Vec::new()))
}

/// Scalars and modes of a formula.
fn print_names(signature: &Signature, file: &mut Map) {
    let mut scalars = Map::default();
    for scalar in &signature.scalars {
        scalars.put(&scalar.name, Printed::text(scalar.dtype));
    }
    file.put("scalars", scalars.finished());
    let mut modes = Map::default();
    for mode in &signature.modes {
        let extent = match &mode.extent {
            ModeExtent::Constant(extent) => Some(Printed::Int(*extent)),
            ModeExtent::Ragged(ragged) => {
                let mut map = Map::default();
                map.put("in", Printed::text(&ragged.group));
                map.put(ragged.by.text(), Printed::text(&ragged.table));
                map.finished()
            }
        };
        modes.put(&mode.name, extent);
    }
    file.put("modes", modes.finished());
}

/// The tile by position; by mode where it does not cut them all.
fn print_tile(spec: &Spec) -> Option<Printed> {
    if spec.problem.compute.cuts_every_mode() {
        return Some(Printed::tuple(&spec.schedule.cta_tile));
    }
    let mut map = Map::default();
    for (mode, extent) in spec.problem.modes().iter().zip(&spec.schedule.cta_tile) {
        map.put(mode, Printed::Int(*extent));
    }
    map.finished()
}

/// The values of a map by operand, in the order of the operands.
fn by_operand<T: Valued>(spec: &Spec, values: &BTreeMap<String, T>) -> Option<Printed> {
    let mut map = Map::default();
    for operand in &spec.problem.operands {
        let value = values.get(&operand.name);
        map.put(&operand.name, value.and_then(Valued::printed));
    }
    map.finished()
}

fn print_operand(operand: &Operand) -> Option<Printed> {
    let mut map = Map::default();
    map.put("dtype", Printed::text(operand.dtype));
    map.put("layout", Printed::text(operand.layout()));
    map.put("over", operand.over.as_ref().map(Printed::text));
    map.finished()
}
