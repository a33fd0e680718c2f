//! A spec back to YAML, in one form only: keys in the order of the table, defaults left out.
//!
//! Comes in: a spec. Goes out: text that reads back as the same spec. The same values in compact
//! JSON are the canonical form that ids hash, so that an id does not depend on how a YAML library
//! breaks lines.

use std::collections::BTreeMap;

use super::model::{Operand, Spec};
use super::printed::{Map, Printed};
use super::valued::Valued;
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

fn tree(spec: &Spec) -> Printed {
    let mut file = Map::default();
    file.put("kernel", Printed::text(&spec.kernel));
    file.put("name", Printed::text(&spec.name));
    file.put("arch", Printed::text(spec.arch));
    let mut operands = Map::default();
    for operand in &spec.operands {
        operands.put(&operand.name, print_operand(operand));
    }
    file.put("operands", operands.finished());
    let types = spec.family().facts().types;
    if !spec.compute.is_default {
        file.put("compute", Printed::text(&spec.compute.text));
    } else if !types.is_empty() {
        file.put("accumulator", Printed::text(spec.accumulator));
    }
    file.put("cta_tile", Printed::tuple(&spec.cta_tile));
    file.put("copy", by_operand(spec, &spec.copy));
    file.put("swizzle", by_operand(spec, &spec.swizzle));
    spec.print_rows(&mut file);
    let order: Vec<&str> = Spec::KEYS.iter().map(|key| key.name).collect();
    let file = file.in_order(&order).finished();
    file.unwrap_or(Printed::Map(Vec::new()))
}

/// The values of a map by operand, in the order of the operands.
fn by_operand<T: Valued>(spec: &Spec, values: &BTreeMap<String, T>) -> Option<Printed> {
    let mut map = Map::default();
    for operand in &spec.operands {
        let value = values.get(&operand.name);
        map.put(&operand.name, value.and_then(Valued::printed));
    }
    map.finished()
}

fn print_operand(operand: &Operand) -> Option<Printed> {
    let mut map = Map::default();
    map.put("dtype", Printed::text(operand.dtype));
    map.put("layout", Printed::text(operand.layout()));
    map.finished()
}
