//! The JSON Schema of specs, from the table of keys: editors complete and check with it.
//!
//! Comes in: nothing. Goes out: one schema for all families. What it accepts may still be refused
//! by the checks that look at several keys; what the checks accept in its usual spelling, it
//! accepts.

use serde_json::{Map, Value, json};

use super::catalogue::{self, Job};
use super::families::{FAMILIES, FamilyFacts, OperandFacts};
use super::keys::{Key, Kind, fields};
use super::model::{Spec, paths};
use super::operands::stride_names;
use super::swizzle::BYTE_NAMES;
use super::words::List;
use crate::arch::ARCHES;
use crate::dtype::DTYPES;

/// The JSON Schema (draft 2020-12) of a spec file.
///
/// ```
/// let schema = tilewright_codegen::spec::schema();
/// assert_eq!(schema["$defs"]["gemm"]["properties"]["threads"]["anyOf"][1]["maximum"], 1024);
/// ```
pub fn schema() -> Value {
    let of_family = |facts: &FamilyFacts| {
        let mut record = record(Kind::Record(Spec::KEYS), facts, None);
        record["title"] = json!(format!("kernel {}", facts.name));
        (facts.name.to_string(), record)
    };
    let mut defs: Map<String, Value> = FAMILIES.iter().map(of_family).collect();
    let kinds = FAMILIES.iter().flat_map(paths).map(|(_, key)| key.kind);
    defs.extend(
        kinds
            .filter_map(catalogue::job)
            .map(|job| (atoms_of(job), atoms(job))),
    );
    let reference = |facts: &FamilyFacts| json!({ "$ref": format!("#/$defs/{}", facts.name) });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tilewright kernel spec",
        "type": "object",
        "oneOf": FAMILIES.iter().map(reference).collect::<Vec<_>>(),
        "$defs": defs,
    })
}

fn record(kind: Kind, facts: &FamilyFacts, operand: Option<&OperandFacts>) -> Value {
    let keys = fields(kind, facts).unwrap_or_default();
    let mut properties = Map::new();
    for key in &keys {
        let operand = operand.or_else(|| facts.operands.iter().find(|o| o.name == key.name));
        properties.insert(key.name.to_string(), property(key, facts, operand));
    }
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(key: &Key, facts: &FamilyFacts, operand: Option<&OperandFacts>) -> Value {
    let mut value = plain(key.kind, facts, operand);
    if key.auto {
        value = json!({ "anyOf": [{ "const": "auto" }, value], "default": "auto" });
    }
    value["description"] = json!(key.doc);
    value
}

fn plain(kind: Kind, facts: &FamilyFacts, operand: Option<&OperandFacts>) -> Value {
    match kind {
        Kind::Family => json!({ "const": facts.name }),
        Kind::Name => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" }),
        Kind::Arch => words(ARCHES.iter().map(|arch| arch.name)),
        Kind::Dtype => words(DTYPES.iter().map(|dtype| dtype.name())),
        Kind::Layout => json!({ "type": "string", "pattern": operand.map(layout_pattern) }),
        Kind::Tile => json!({ "type": "string", "pattern": tuple_pattern(facts.tile.len()) }),
        Kind::Triple { .. } => json!({ "type": "string", "pattern": tuple_pattern(3) }),
        Kind::Int { least, most, step } => {
            json!({ "type": "integer", "minimum": least, "maximum": most, "multipleOf": step })
        }
        Kind::MmaAtom | Kind::CopyAtom { .. } => {
            json!({ "$ref": catalogue::job(kind).map(|job| format!("#/$defs/{}", atoms_of(job))) })
        }
        Kind::Swizzle => json!({ "anyOf": [
            words(["none"].into_iter().chain(BYTE_NAMES.iter().map(|(name, _)| *name))),
            { "type": "string", "pattern": "^Sw<[0-9]+,[0-9]+,-?[0-9]+>$" },
        ] }),
        Kind::Word(list) => of_list(list),
        Kind::Epilogue => json!({ "const": facts.epilogue }),
        Kind::Record(_) | Kind::Operands | Kind::Paths(_) | Kind::Way { .. } | Kind::Swizzles => {
            record(kind, facts, operand)
        }
        Kind::Tune => tune(facts),
    }
}

fn tune(facts: &FamilyFacts) -> Value {
    let mut properties = Map::new();
    for (path, key) in paths(facts).into_iter().filter(|(_, key)| key.tunable) {
        let items = property(&key, facts, None);
        properties.insert(
            path,
            json!({ "type": "array", "items": items, "minItems": 1 }),
        );
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Name of the definition that lists the atoms for a job: `atom_that_moves_gmem_to_smem`.
fn atoms_of(job: Job) -> String {
    format!("atom_that_{job}").replace(' ', "_")
}

fn atoms(job: Job) -> Value {
    let fits = |atom: &catalogue::Known| atom.job == job;
    let ids: Vec<&str> = catalogue::atoms()
        .filter(fits)
        .map(|atom| atom.id)
        .collect();
    // A schema may not list no values at all.
    if ids.is_empty() {
        json!({ "not": {} })
    } else {
        words(ids)
    }
}

fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> Value {
    json!({ "enum": words.into_iter().collect::<Vec<_>>() })
}

/// The words of a list that are generated; those with a count as a pattern.
fn of_list(list: &List) -> Value {
    let generated = list.words.iter().filter(|word| word.refused.is_none());
    let names = |counted: bool| -> Vec<&str> {
        let words = generated.clone();
        let words = words.filter(|word| word.count.is_some() == counted);
        words.map(|word| word.name).collect()
    };
    let (plain, counted) = (words(names(false)), names(true));
    if counted.is_empty() {
        return plain;
    }
    let pattern = format!("^({})_[0-9]+$", counted.join("|"));
    json!({ "anyOf": [plain, { "type": "string", "pattern": pattern }] })
}

fn tuple_pattern(rank: usize) -> String {
    format!(
        "^\\( *[0-9]+ *(, *[0-9]+ *){{{}}}\\)$",
        rank.saturating_sub(1)
    )
}

fn layout_pattern(operand: &OperandFacts) -> String {
    let stride = |mode| format!("({}|[0-9]+)", stride_names(operand, mode).join("|"));
    format!(
        "^\\({}\\):\\({}, *{}\\)$",
        operand.extents.join(", *"),
        stride(0),
        stride(1)
    )
}
