//! The JSON Schema of specs, from the table of keys: editors complete and check with it.
//!
//! Comes in: nothing. Goes out: one schema for all kernels. What it accepts may still be refused
//! by the checks that look at several keys; what the checks accept in its usual spelling, it
//! accepts.

use serde_json::{Map, Value, json};
use tilewright_formula::RaggedBy;

use crate::arch::ARCHES;
use crate::dtype::DTYPES;
use crate::spec::kernel::forms::FormKind;
use crate::spec::kernel::shape::{OperandShape, Shape, defaults};
use crate::spec::keys::atoms::{self, Job};
use crate::spec::keys::key::{Key, Kind, Named, fields};
use crate::spec::keys::model::{Spec, paths};
use crate::spec::keys::signature::SCALAR_TYPES;
use crate::spec::keys::swizzle::BYTE_NAMES;
use crate::spec::words::notation::PACKED;
use crate::spec::words::vocabulary::List;

/// The JSON Schema (draft 2020-12) of a spec file.
///
/// ```
/// let schema = tilewright_codegen::spec::schema();
/// assert_eq!(schema["$defs"]["gemm"]["properties"]["threads"]["anyOf"][1]["maximum"], 1024);
/// ```
pub fn schema() -> Value {
    let of_default = |shape: &Shape| {
        let mut record = record(Kind::Record(Spec::KEYS), shape, None);
        if let Some(properties) = record["properties"].as_object_mut() {
            properties.retain(|key, _| !OF_FORMULAS.contains(&key.as_str()));
        }
        record["title"] = json!(format!("kernel {}", shape.kernel));
        (shape.kernel.clone(), record)
    };
    let mut defs: Map<String, Value> = defaults().iter().map(of_default).collect();
    let kinds = defaults().iter().flat_map(paths).map(|(_, key)| key.kind);
    defs.extend(
        kinds
            .filter_map(atoms::job)
            .map(|job| (atoms_of(job), atoms(job))),
    );
    defs.insert("formula".into(), of_formula());
    let words = defaults().iter().map(|shape| shape.kernel.as_str());
    let names = words.chain(["formula"]);
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tilewright kernel spec",
        "type": "object",
        "oneOf": names.map(reference).collect::<Vec<_>>(),
        "$defs": defs,
    })
}

/// A name.
const IDENTIFIER: &str = "^[A-Za-z_][A-Za-z0-9_]{0,63}$";

/// Keys that a spec with a default formula has not.
pub(in crate::spec) const OF_FORMULAS: [&str; 3] = ["compute", "scalars", "modes"];

/// A spec that writes its formula: any operands, and all keys.
fn of_formula() -> Value {
    let of_form = |form: FormKind| {
        let default = defaults().iter().find(|shape| shape.form == form)?;
        let shape = Shape {
            is_written: true,
            ..default.clone()
        };
        Some(record(Kind::Record(Spec::KEYS), &shape, None))
    };
    let forms = [FormKind::Contraction, FormKind::Rows].map(of_form);
    let [Some(mut record), Some(rows)] = forms else {
        return json!({ "not": {} });
    };
    add_keys(&mut record, &rows);
    record["title"] = json!("kernel with a formula");
    if let Some(required) = record["required"].as_array_mut() {
        required.push(json!("compute"));
    }
    record
}

/// Adds the keys of a map, and of those in it, that another one has not.
fn add_keys(record: &mut Value, other: &Value) {
    let own = record.get_mut("properties");
    let Some(own) = own.and_then(Value::as_object_mut) else {
        return;
    };
    for (key, value) in other["properties"].as_object().into_iter().flatten() {
        match own.get_mut(key) {
            Some(own) => add_keys(own, value),
            None => {
                own.insert(key.clone(), value.clone());
            }
        }
    }
}

/// A map by operand of a spec that writes its formula; `None` for other kinds.
fn by_any_operand(kind: Kind, shape: &Shape) -> Option<Value> {
    let values = match kind {
        _ if !shape.is_written => return None,
        Kind::Operands | Kind::Swizzles => {
            let Named { key, .. } = fields(kind, shape)?.pop()?;
            property(&key, shape, None)
        }
        Kind::Paths(hops) => record(Kind::Record(hops), shape, None),
        _ => return None,
    };
    Some(json!({ "type": "object", "additionalProperties": values }))
}

fn record(kind: Kind, shape: &Shape, operand: Option<&OperandShape>) -> Value {
    let keys = fields(kind, shape).unwrap_or_default();
    let mut properties = Map::new();
    for Named { name, key } in &keys {
        let operand = operand.or_else(|| shape.operands.iter().find(|o| o.name == *name));
        properties.insert(name.clone(), property(key, shape, operand));
    }
    let required: Vec<&str> = keys
        .iter()
        .filter(|named| named.key.required)
        .map(|named| named.name.as_str())
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A layout of any modes; strides are left out where nothing lies between elements.
fn any_layout_pattern() -> String {
    format!("^\\(.*\\)(:(\\(.*\\)|{PACKED}))?$")
}

fn property(key: &Key, shape: &Shape, operand: Option<&OperandShape>) -> Value {
    let mut value = plain(key.kind, shape, operand);
    if key.auto {
        value = json!({ "anyOf": [{ "const": "auto" }, value], "default": "auto" });
    }
    value["description"] = json!(key.doc);
    value
}

fn plain(kind: Kind, shape: &Shape, operand: Option<&OperandShape>) -> Value {
    let any = shape.is_written;
    if let Some(map) = by_any_operand(kind, shape) {
        return map;
    }
    match kind {
        Kind::Kernel if any => json!({ "type": "string", "pattern": IDENTIFIER }),
        Kind::Layout if any => json!({ "type": "string", "pattern": any_layout_pattern() }),
        Kind::Tile if any => json!({ "anyOf": [
            { "type": "string", "pattern": "^\\( *[0-9]+ *(, *[0-9]+ *)*\\)$" },
            { "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 } },
        ] }),
        Kind::Tile => json!({ "anyOf": [
            { "type": "string", "pattern": tuple_pattern(shape.tile.len()) },
            by_mode(&shape.tile),
        ] }),
        Kind::Kernel => json!({ "const": shape.kernel }),
        Kind::Name | Kind::Other => json!({ "type": "string", "pattern": IDENTIFIER }),
        Kind::Arch => words(ARCHES.iter().map(|arch| arch.name)),
        Kind::DType => words(DTYPES.iter().map(|dtype| dtype.text())),
        Kind::Layout => json!({ "type": "string", "pattern": operand.map(layout_pattern) }),
        Kind::Triple { .. } => json!({ "type": "string", "pattern": tuple_pattern(3) }),
        Kind::Int { least, most, step } => {
            json!({ "type": "integer", "minimum": least, "maximum": most, "multipleOf": step })
        }
        Kind::MmaAtom | Kind::CopyAtom { .. } => {
            json!({ "$ref": atoms::job(kind).map(|job| format!("#/$defs/{}", atoms_of(job))) })
        }
        Kind::Swizzle => json!({ "anyOf": [
            words(["none"].into_iter().chain(BYTE_NAMES.iter().map(|(name, _)| *name))),
            { "type": "string", "pattern": "^Sw<[0-9]+,[0-9]+,-?[0-9]+>$" },
        ] }),
        Kind::Word(list) => of_list(list),
        Kind::Compute => json!({ "type": "string" }),
        Kind::Scalars => json!({
            "type": "object",
            "additionalProperties": words(SCALAR_TYPES.map(|dtype| dtype.text())),
        }),
        Kind::Modes => modes(),
        Kind::Record(_) | Kind::Operands | Kind::Paths(_) | Kind::Way { .. } | Kind::Swizzles => {
            record(kind, shape, operand)
        }
        Kind::Tune => tune(shape),
    }
}

fn tune(shape: &Shape) -> Value {
    let mut properties = Map::new();
    let any = shape.is_written;
    let by_operand = |path: &str| path.starts_with("copy.") || path.starts_with("swizzle.");
    let paths = paths(shape).into_iter();
    let fixed = paths.filter(|(path, _)| !(any && by_operand(path)));
    for (path, key) in fixed.filter(|(_, key)| key.tunable) {
        let items = property(&key, shape, None);
        properties.insert(
            path,
            json!({ "type": "array", "items": items, "minItems": 1 }),
        );
    }
    let mut map =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if any {
        let values = json!({ "type": "array", "minItems": 1 });
        map["patternProperties"] = json!({ "^(copy|swizzle)\\.": values });
    }
    let own = if any { "formula" } else { &shape.kernel };
    map["type"] = json!(["object", "array"]);
    map["items"] = json!({ "allOf": [
        { "$ref": format!("#/$defs/{own}/properties/tune") }, { "type": "object" },
    ] });
    map["minItems"] = json!(1);
    map
}

/// Extents by mode.
fn by_mode(modes: &[String]) -> Value {
    let extent = json!({ "type": "integer", "minimum": 1 });
    let extents: Map<String, Value> = modes.iter().map(|m| (m.clone(), extent.clone())).collect();
    json!({
        "type": "object",
        "properties": extents,
        "required": modes,
        "additionalProperties": false,
    })
}

/// Name of the definition that lists the atoms for a job: `atom_that_moves_gmem_to_smem`.
fn atoms_of(job: Job) -> String {
    format!("atom_that_{job}").replace(' ', "_")
}

fn atoms(job: Job) -> Value {
    let fits = |atom: &atoms::Known| atom.job == job;
    let ids: Vec<&str> = atoms::atoms().filter(fits).map(|atom| atom.id).collect();
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

fn layout_pattern(operand: &OperandShape) -> String {
    // A number, a name or a product of extents.
    let stride = "[A-Za-z0-9_][A-Za-z0-9_*/ ]*";
    let strides = vec![stride; operand.modes.len()];
    let (modes, strides) = (operand.modes.join(", *"), strides.join(", *"));
    if operand.is_written() {
        return format!("^\\({modes}\\)(:\\({strides}\\))?$");
    }
    format!("^\\({modes}\\)(:(\\({strides}\\)|{PACKED}))?$")
}

/// A constant extent, or where the groups of a ragged mode lie.
fn modes() -> Value {
    let name = json!({ "type": "string" });
    let ragged = RaggedBy::ALL.map(|by| {
        json!({
            "type": "object",
            "properties": { "in": name, by.text(): name },
            "required": ["in", by.text()],
            "additionalProperties": false,
        })
    });
    let extent = json!({ "type": "integer", "minimum": 1 });
    let any: Vec<Value> = [extent].into_iter().chain(ragged).collect();
    json!({ "type": "object", "additionalProperties": { "anyOf": any } })
}
