//! Operands: element types and layouts, against what the family takes.

use tilewright_layout::Int;

use super::families::{OperandFacts, TypeRule};
use super::nearest::{one_of, suggestion};
use super::node::Node;
use super::notation::{self, Entry};
use super::operand::{Axis, Operand, Stride};
use super::read::{Field, Fields, Reader};
use crate::dtype::Dtype;
use crate::error::shown;

/// Largest constant stride.
const MAX_STRIDE: i64 = 1 << 31;

impl Reader<'_> {
    /// All operands in the order of the family. Those with problems are left out.
    pub(super) fn operands(&mut self, field: &Field<'_>) -> Vec<Operand> {
        let map = self.record(field.node, field.key.kind, &field.path, field.key_span);
        let facts = self.facts;
        facts
            .operands
            .iter()
            .filter_map(|facts| self.operand(&map, facts))
            .collect()
    }

    fn operand(&mut self, map: &Fields<'_>, facts: &OperandFacts) -> Option<Operand> {
        let field = map.get(facts.name)?;
        let record = self.record(field.node, field.key.kind, &field.path, field.key_span);
        let dtype = record.get("dtype").and_then(|field| self.dtype(&field));
        let strides = record
            .get("layout")
            .and_then(|field| self.layout(&field, facts));
        Some(Operand {
            name: facts.name.to_string(),
            dtype: dtype?,
            role: facts.role,
            axes: (facts.extents.into_iter().zip(strides?))
                .map(|(mode, stride)| Axis {
                    mode: mode.to_string(),
                    stride,
                })
                .collect(),
        })
    }

    fn layout(&mut self, field: &Field<'_>, facts: &OperandFacts) -> Option<[Stride; 2]> {
        let [first, second] = facts.extents;
        let example = format!("({first},{second}):(ld{},1)", facts.name);
        let text = self.scalar(field, &format!("a layout such as \"{example}\""))?;
        let (extents, strides) = match notation::layout(text) {
            Ok(parts) => parts,
            Err(misfit) => {
                let message = format!("`{}` is no layout: {}", field.path, misfit.message);
                let help = format!("write extents and strides in the form \"{example}\"");
                self.problems.add(
                    "layout-syntax",
                    &self.part(field.node, misfit.at),
                    message,
                    help,
                );
                return None;
            }
        };
        let actual: Vec<String> = extents
            .iter()
            .map(|entry| entry.value.to_string())
            .collect();
        if actual != facts.extents {
            let message = format!(
                "extents of `{}` are ({}); operand {} of kernel {} has ({first},{second})",
                field.path,
                shown(&actual.join(",")),
                facts.name,
                self.facts.name
            );
            let at =
                extents.first().map_or(0, |e| e.at.start)..extents.last().map_or(0, |e| e.at.end);
            let help = format!("write it in the form \"{example}\"");
            self.problems
                .add("wrong-extents", &self.part(field.node, at), message, help);
        }
        let [row, column] = strides.as_slice() else {
            let message = format!(
                "`{}` has {} strides; two are needed",
                field.path,
                strides.len()
            );
            let help = format!("write it in the form \"{example}\"");
            self.problems
                .add("wrong-rank", &field.node.span, message, help);
            return None;
        };
        let (row, column) = (
            self.stride(field, facts, row, 0),
            self.stride(field, facts, column, 1),
        );
        let strides = [row?, column?];
        self.overlap(field, facts, &strides);
        Some(strides)
    }

    fn stride(
        &mut self,
        field: &Field<'_>,
        facts: &OperandFacts,
        entry: &Entry,
        mode: usize,
    ) -> Option<Stride> {
        let least = i64::from(facts.is_written());
        let names = stride_names(facts, mode);
        let text = entry.value.to_string();
        match entry.value.as_i64() {
            Some(value) if (least..=MAX_STRIDE).contains(&value) => {
                return Some(Stride::Const(value));
            }
            None if names.contains(&text) => return Some(Stride::Named(text)),
            _ => {}
        }
        let span = self.part(field.node, entry.at.clone());
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let message = format!(
            "stride of {} in `{}` is `{}`; allowed are integers from {least} to {MAX_STRIDE}, {}",
            facts.extents[mode],
            field.path,
            shown(&text),
            one_of(&words)
        );
        let help = match entry.value.as_i64() {
            Some(value) => format!("use {}", value.clamp(1, MAX_STRIDE)),
            None => suggestion(&text, &words),
        };
        self.problems.add("wrong-stride", &span, message, help);
        None
    }

    fn overlap(&mut self, field: &Field<'_>, facts: &OperandFacts, strides: &[Stride; 2]) {
        if facts.is_written() && strides[0] == strides[1] {
            let message = format!(
                "`{}` gives both extents one stride: elements of the output overlap",
                field.path
            );
            let help = format!("use \"({}):(ld{},1)\"", facts.extents.join(","), facts.name);
            self.problems
                .add("overlapping-output", &field.node.span, message, help);
        }
    }

    /// Checks that the family takes these element types together.
    pub(super) fn types(&mut self, operands: &[Operand], accumulator: Option<Dtype>, tree: &Node) {
        if operands.len() != self.facts.operands.len() {
            return;
        }
        let span = |path: &str| {
            tree.find(path)
                .map(|node| node.span.clone())
                .unwrap_or_default()
        };
        if self.facts.types.is_empty() {
            let first = operands.first().map(|operand| operand.dtype);
            let Some(other) = operands.iter().find(|operand| Some(operand.dtype) != first) else {
                return;
            };
            let span = span(&format!("operands.{}.dtype", other.name));
            let message = format!(
                "element types are {}; kernel {} converts nothing",
                list(operands),
                self.facts.name
            );
            self.problems.add(
                "dtype-combination",
                &span,
                message,
                "give all operands one element type",
            );
            return;
        }
        let Some(accumulator) = accumulator else {
            return;
        };
        let misfits = |rule: &TypeRule| {
            let mut paths: Vec<String> = (operands.iter().zip(self.facts.operands))
                .filter(|(operand, facts)| !rule.takes(facts, operand.dtype))
                .map(|(operand, _)| format!("operands.{}.dtype", operand.name))
                .collect();
            paths.extend((rule.accumulator != accumulator).then(|| "accumulator".to_string()));
            paths
        };
        let Some(best) = self
            .facts
            .types
            .iter()
            .min_by_key(|rule| misfits(rule).len())
        else {
            return;
        };
        let Some(path) = misfits(best).into_iter().next() else {
            return;
        };
        let rules: Vec<String> = self
            .facts
            .types
            .iter()
            .map(|rule| self.rule(rule))
            .collect();
        let message = format!(
            "element types are {}, accumulator {accumulator}; kernel {} takes {}",
            list(operands),
            self.facts.name,
            rules.join("; ")
        );
        self.problems.add(
            "dtype-combination",
            &span(&path),
            message,
            format!("use {}", self.rule(best)),
        );
    }

    /// `a f16, b f16, d f16 or f32, accumulator f32`.
    fn rule(&self, rule: &TypeRule) -> String {
        let outputs: Vec<&str> = rule.outputs.iter().map(|dtype| dtype.name()).collect();
        let outputs = outputs.join(" or ");
        let part = |operand: &OperandFacts| match operand.is_written() {
            true => format!("{} {outputs}", operand.name),
            false => format!("{} {}", operand.name, rule.inputs),
        };
        let parts: Vec<String> = self.facts.operands.iter().map(part).collect();
        format!("{}, accumulator {}", parts.join(", "), rule.accumulator)
    }
}

/// Run-time strides that a mode of an operand may have.
pub(super) fn stride_names(facts: &OperandFacts, mode: usize) -> [String; 2] {
    let own = if mode == 0 { "rs" } else { "cs" };
    [format!("ld{}", facts.name), format!("{own}{}", facts.name)]
}

fn list(operands: &[Operand]) -> String {
    let parts: Vec<String> = operands
        .iter()
        .map(|operand| format!("{} {}", operand.name, operand.dtype))
        .collect();
    parts.join(", ")
}
