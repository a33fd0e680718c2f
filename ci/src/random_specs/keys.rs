//! The keys that a spec may hold, and values for each, read off the JSON Schema.
//!
//! In: the word of a kernel. Out: its [`Key`]s. A key that is added to the table of keys is in the
//! schema and so is drawn with no change here, but for texts that follow a pattern: their values
//! are listed by [`Key::values`].

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;
use tilewright_codegen::arch::Arch;
use tilewright_codegen::atoms;
use tilewright_codegen::spec::default_words;
use tilewright_codegen::spec::schema;

/// One key that holds a single value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Dotted path: `copy.a.g2s`.
    pub path: String,
    /// Whether every spec has it.
    pub required: bool,
    /// Whether `tune` may vary it.
    pub tunable: bool,
    /// Values to write, `auto` among them where it is one. Empty for a pattern that is not known.
    pub values: Vec<String>,
}

impl Key {
    /// The values that the architecture has: all but atoms of others.
    pub fn fitting(&self, arch: Option<Arch>) -> Vec<&str> {
        let known = |id: &str| {
            let atom = atoms::catalogue().ok().and_then(|all| all.get(id));
            atom.zip(arch).is_none_or(|(atom, arch)| atom.runs_on(arch))
        };
        let values = self.values.iter().map(String::as_str);
        values.filter(|value| known(value)).collect()
    }
}

/// Every key of a kernel with its default formula, in the order of the schema.
///
/// ```
/// let keys = tilewright_ci::random_specs::keys::keys("gemm");
/// let stages = keys.iter().find(|key| key.path == "pipeline.stages").unwrap();
/// assert!(stages.tunable && stages.values.contains(&"32".to_string()));
/// ```
pub fn keys(kernel: &str) -> &'static [Key] {
    static KEYS: OnceLock<BTreeMap<&'static str, Vec<Key>>> = OnceLock::new();
    let all = KEYS.get_or_init(|| {
        let schema = schema();
        default_words()
            .map(|word| (word, read(&schema, word)))
            .collect()
    });
    all.get(kernel).map_or(&[], Vec::as_slice)
}

fn read(schema: &Value, kernel: &str) -> Vec<Key> {
    let record = &schema["$defs"][kernel];
    let tuned = record["properties"]["tune"]["properties"].as_object();
    let tunable = |path: &str| tuned.is_some_and(|tuned| tuned.contains_key(path));
    let mut out = Vec::new();
    walk(schema, record, "", true, &mut out);
    for key in &mut out {
        key.tunable = tunable(&key.path);
    }
    out
}

fn walk(schema: &Value, record: &Value, prefix: &str, required: bool, out: &mut Vec<Key>) {
    let Some(properties) = record["properties"].as_object() else {
        return;
    };
    let listed = record["required"].as_array();
    let needed = |name: &str| listed.is_some_and(|names| names.iter().any(|one| one == name));
    for (name, property) in properties {
        let path = format!("{prefix}{name}");
        let required = required && needed(name);
        if path == "tune" {
            continue;
        }
        if property["type"] == "object" {
            walk(schema, property, &format!("{path}."), required, out);
            continue;
        }
        let mut values = Vec::new();
        values_of(schema, property, &path, &mut values);
        out.push(Key {
            path,
            required,
            tunable: false,
            values,
        });
    }
}

/// Values that the property takes.
fn values_of(schema: &Value, property: &Value, path: &str, out: &mut Vec<String>) {
    if let Some(reference) = property["$ref"].as_str() {
        let at = reference.trim_start_matches('#');
        if let Some(target) = schema.pointer(at) {
            values_of(schema, target, path, out);
        }
    }
    for one in property["anyOf"].as_array().into_iter().flatten() {
        values_of(schema, one, path, out);
    }
    for one in property["enum"].as_array().into_iter().flatten() {
        out.extend(one.as_str().map(str::to_owned));
    }
    out.extend(property["const"].as_str().map(str::to_owned));
    if let (Some(least), Some(most)) = (property["minimum"].as_i64(), property["maximum"].as_i64())
    {
        let step = property["multipleOf"].as_i64().unwrap_or(1).max(1);
        let near = [0, 1, 2, 3, 4, 7, 15, 31].map(|steps| least + steps * step);
        let near = near.into_iter().filter(|value| *value < most);
        out.extend(near.chain([most]).map(|value| value.to_string()));
    }
    if property["pattern"].is_string() {
        out.extend(texts(path).iter().map(|text| (*text).to_owned()));
    }
}

/// Texts for keys that take what follows a pattern.
fn texts(path: &str) -> &'static [&'static str] {
    let (head, last) = path.rsplit_once('.').unwrap_or(("", path));
    match (head, last) {
        ("", "name") => &["drawn"],
        ("", "cta_tile") => &["drawn"],
        (_, "layout") => &["drawn"],
        (_, "over") => &["s", "a"],
        ("", "cluster") => &[
            "(1,1,1)", "(2,1,1)", "(1,2,1)", "(2,2,1)", "(4,1,1)", "(2,4,1)", "(8,1,1)", "(3,1,1)",
        ],
        ("mma", "atoms") => &[
            "(1,1,1)",
            "(2,2,1)",
            "(4,1,1)",
            "(1,4,1)",
            "(2,1,1)",
            "(1,2,1)",
            "(3,1,1)",
            "(2,4,1)",
            "(4,2,1)",
            "(16,16,1)",
            "(8,16,1)",
            "(8,8,1)",
            "(2,2,2)",
            "(16,1,1)",
        ],
        ("mma", "permutation") => &[
            "(16,8,16)",
            "(32,16,16)",
            "(64,64,16)",
            "(32,32,8)",
            "(64,32,16)",
            "(16,16,1)",
            "(32,32,1)",
            "(128,128,16)",
            "(3,5,7)",
        ],
        ("swizzle", _) => &[
            "Sw<1,3,3>",
            "Sw<2,3,3>",
            "Sw<3,3,3>",
            "Sw<2,4,3>",
            "Sw<1,2,4>",
        ],
        ("scheduler", "raster") => &[
            "grouped_1",
            "grouped_3",
            "grouped_8",
            "grouped_64",
            "hilbert_1",
            "hilbert_8",
        ],
        _ => &[],
    }
}
