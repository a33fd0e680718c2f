//! What a launch file says, looked at as a whole before anything runs: every problem at once.
//!
//! A key that is mistyped, a type that is none or a tolerance below 0 would let a launch pass that
//! was never compared with anything.

use std::collections::BTreeSet;

use serde_json::Value;
use tilewright_bundle::DType;
use tilewright_emulator::{Architecture, FindingId, Module};

use super::compare::{self, TYPES};
use super::{BufferArg, LaunchArg, LaunchFile, Role, structs, tensor};

/// The keys of a manifest. Those of the second line are for readers.
const MANIFEST: &[&str] = &[
    "id",
    "ptx",
    "arch",
    "entry",
    "grid",
    "block",
    "cluster",
    "programmatic",
    "dynamic_shared",
    "args",
    "expect_error",
    "producer",
    "formula",
    "confidence",
    "note",
];
/// The keys of a buffer and of memory.
const BUFFER: &[&str] = &[
    "kind", "name", "role", "dtype", "shape", "bytes", "init", "expect", "rtol", "atol",
];
/// The keys of a tensor map.
const TENSORMAP: &[&str] = &[
    "kind",
    "name",
    "buffer",
    "data_type",
    "rank",
    "global_dim",
    "global_strides",
    "box_dim",
    "element_strides",
    "interleave",
    "swizzle",
    "l2_promotion",
    "oob_fill",
    "im2col",
];
/// The keys of the part that an im2col map has beside, each as it is called here and by the driver.
const IM2COL: &[&str] = &[
    "lower",
    "upper",
    "channels",
    "pixels",
    "pixel_box_lower_corner",
    "pixel_box_upper_corner",
    "channels_per_pixel",
    "pixels_per_column",
];
/// Most problems that are told.
const MOST: usize = 32;

/// Keys that mean nothing, and shapes that are not what their buffers are, in the text of a
/// manifest.
pub(super) fn of_text(manifest: &Value) -> Vec<String> {
    let mut problems = unknown("the launch file", manifest, MANIFEST);
    for (arg, is_field) in args_of(manifest) {
        let keys: &[&str] = match arg["kind"].as_str() {
            Some("buffer" | "memory") => BUFFER,
            Some("scalar") => &["kind", "name", "dtype", "value"],
            Some("tensormap") => TENSORMAP,
            Some("null") => &["kind", "name"],
            Some("bytes") => &["kind", "name", "size", "hex"],
            Some("struct") => &["kind", "name", "size", "fields", "hex"],
            // What is read as an argument says which kinds there are.
            _ => continue,
        };
        let name = arg["name"].as_str().unwrap_or_default();
        let own = is_field.then_some("at");
        let keys: Vec<&str> = own.into_iter().chain(keys.iter().copied()).collect();
        problems.extend(unknown(&format!("argument {name}"), arg, &keys));
        let im2col = arg.get("im2col").unwrap_or(&Value::Null);
        problems.extend(unknown(
            &format!("im2col of argument {name}"),
            im2col,
            IM2COL,
        ));
        problems.extend(shape(name, arg));
    }
    problems.truncate(MOST);
    problems
}

/// The arguments, and the fields of structs: which these are.
fn args_of(manifest: &Value) -> Vec<(&Value, bool)> {
    let mut all = Vec::new();
    for arg in manifest["args"].as_array().into_iter().flatten() {
        all.push((arg, false));
        let fields = arg["fields"].as_array().into_iter().flatten();
        all.extend(fields.map(|field| (field, true)));
    }
    all
}

fn unknown(what: &str, object: &Value, known: &[&str]) -> Vec<String> {
    let keys = object.as_object().into_iter().flat_map(|o| o.keys());
    let unknown = keys.filter(|key| !known.contains(&key.as_str()));
    unknown
        .map(|key| {
            format!(
                "{what} has no key `{key}`; its keys are {}",
                known.join(", ")
            )
        })
        .collect()
}

/// Why a shape is none, or not that of as many bytes as the buffer has.
fn shape(name: &str, arg: &Value) -> Option<String> {
    let shape = arg.get("shape").filter(|shape| !shape.is_null())?;
    let refused = |why: String| Some(format!("argument {name}: shape {shape}: {why}"));
    let extents: Option<Vec<u64>> = shape
        .as_array()
        .and_then(|extents| extents.iter().map(Value::as_u64).collect());
    let Some(extents) = extents else {
        return refused("a list of numbers from 0 is needed".to_owned());
    };
    let (dtype, bytes) = (arg["dtype"].as_str()?, arg["bytes"].as_u64()?);
    let mut elements = extents.iter().map(|extent| u128::from(*extent));
    let elements = elements.try_fold(1, u128::checked_mul);
    let per_byte = DType::from_text(dtype).map_or(1, DType::per_byte);
    let size = u128::from(compare::element_bytes(dtype) as u64);
    let needs = elements.and_then(|count| count.checked_mul(size));
    let needs = needs.map(|bytes| bytes.div_ceil(u128::from(per_byte)));
    match needs {
        Some(needs) if needs == u128::from(bytes) => None,
        Some(needs) => refused(format!("{needs} bytes of {dtype}; the buffer has {bytes}")),
        None => refused(format!(
            "more elements than memory has; the buffer has {bytes} bytes"
        )),
    }
}

impl LaunchFile {
    /// Everything that is wrong with what it says, as far as no file needs to be read.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(wanted) = &self.expect_error
            && !FindingId::ALL.iter().any(|id| id.as_str() == wanted)
        {
            problems.push(format!("expect_error: there is no finding `{wanted}`"));
        }
        if Architecture::named(&self.arch).is_none() {
            problems.push(format!("arch: {:?} is none, such as sm_90a", self.arch));
        }
        let mut names = BTreeSet::new();
        for arg in self
            .args
            .iter()
            .filter(|arg| matches!(arg, LaunchArg::Struct(_)))
        {
            if arg.name().is_empty() {
                problems.push("a struct has an empty name: give it one".to_owned());
            }
            self.argument(arg, &mut problems);
        }
        for arg in self.flat() {
            let name = arg.name();
            if name.is_empty() {
                problems.push("an argument has an empty name: give it one".to_owned());
            }
            // Tensor maps and reports name buffers; numbers may share a name.
            let is_memory = matches!(arg, LaunchArg::Buffer(_) | LaunchArg::Memory(_));
            if is_memory && !names.insert(name) {
                problems.push(format!("argument {name}: another buffer has this name"));
            }
            self.argument(arg, &mut problems);
        }
        problems.truncate(MOST);
        problems
    }

    fn argument(&self, arg: &LaunchArg, problems: &mut Vec<String>) {
        let mut refuse = |why: String| problems.push(format!("argument {}: {why}", arg.name()));
        match arg {
            LaunchArg::Buffer(buffer) | LaunchArg::Memory(buffer) => {
                of_buffer(buffer).into_iter().for_each(refuse);
            }
            LaunchArg::Scalar { dtype, value, .. } => {
                if compare::scalar_bytes(dtype, value).is_none() {
                    refuse(format!("{value} is no value of dtype {dtype}"));
                }
            }
            LaunchArg::Bytes { size, hex, .. } => {
                if compare::hex_bytes(hex).is_none_or(|bytes| bytes.len() != *size) {
                    refuse(format!("hex is not two digits for each of {size} bytes"));
                }
            }
            LaunchArg::Tensormap(map) => {
                let is_it = |arg: &LaunchArg| {
                    let is_buffer = matches!(arg, LaunchArg::Buffer(_) | LaunchArg::Memory(_));
                    is_buffer && arg.name() == map.buffer
                };
                if !self.flat().any(is_it) {
                    refuse(format!("no buffer {} in this launch", map.buffer));
                }
                // Buffers begin at boundaries that suit every map.
                if let Err(why) = tensor::encode(map, 0) {
                    refuse(why);
                }
            }
            LaunchArg::Struct(of) => structs::problems(of).into_iter().for_each(refuse),
            LaunchArg::Null { .. } => {}
        }
    }
}

fn of_buffer(buffer: &BufferArg) -> Vec<String> {
    let mut problems = Vec::new();
    let dtype = buffer.dtype.as_str();
    let is_type = TYPES.iter().any(|(known, _)| *known == dtype);
    if !is_type && DType::from_text(dtype).is_none() {
        let known = TYPES.iter().map(|(known, _)| *known);
        let packed = DType::ALL.iter().map(|dtype| dtype.text());
        let mut known: Vec<&str> = known.chain(packed).collect();
        known.sort_unstable();
        known.dedup();
        problems.push(format!(
            "dtype {dtype:?} is none: there are {}",
            known.join(", ")
        ));
    }
    let size = compare::element_bytes(dtype) as u64;
    if !buffer.bytes.is_multiple_of(size) {
        let bytes = buffer.bytes;
        problems.push(format!(
            "{bytes} bytes are no whole elements of {dtype}, of {size} bytes"
        ));
    }
    problems.extend(of_tolerances(buffer));
    let (init, expect) = (buffer.init.is_some(), buffer.expect.is_some());
    match buffer.role {
        Role::Scratch if init || expect => {
            let why = "scratch memory has neither init nor expect: leave them null";
            problems.push(why.to_owned());
        }
        Role::In | Role::Inout if !init => {
            let why = "what a kernel reads has a file with its content: give it as init";
            problems.push(why.to_owned());
        }
        _ => {}
    }
    problems
}

/// What is wrong with how far elements may be from those expected. How far that lets all pass for
/// what is expected is seen where that is read.
fn of_tolerances(buffer: &BufferArg) -> Vec<String> {
    let (dtype, mut problems) = (buffer.dtype.as_str(), Vec::new());
    // A relative error of 1 takes zeros for anything.
    let limits = [
        ("rtol", buffer.rtol, Some(1.0)),
        ("atol", buffer.atol, compare::largest(dtype)),
    ];
    for (what, tolerance, most) in limits {
        let Some(value) = tolerance.filter(|value| *value != 0.0) else {
            continue;
        };
        match (compare::largest(dtype), most) {
            (None, _) => problems.push(format!(
                "{what} is {value}, and elements of {dtype} are compared to the bit: leave it null"
            )),
            (_, Some(most)) if !(0.0..=most).contains(&value) => problems.push(format!(
                "{what} is {value}; a number from 0 to {most} is needed"
            )),
            _ => {}
        }
    }
    problems
}

/// Why no driver would load a text that the emulator reads, on the architecture that it is for.
pub(super) fn of_module(module: &Module, arch: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if module.version() == (0, 0) {
        problems.push("the text has no .version, without which no driver takes it".to_owned());
    }
    let target = Architecture::named(module.target());
    if target.is_none() {
        problems.push("the text has no .target, without which no driver takes it".to_owned());
    }
    if let Some(target) = target {
        let ((major, minor), least) = (module.version(), target.least_version());
        if (major, minor) != (0, 0) && (major, minor) < least {
            let (first, second) = least;
            problems.push(format!(
                "PTX of .version {major}.{minor} has no {target}: it takes {first}.{second}"
            ));
        }
        if Architecture::named(arch).is_some_and(|arch| !arch.runs(&target)) {
            problems.push(format!(
                "the text is for {target}, of which no machine code for {arch} is made, which the \
                 launch file names as its arch"
            ));
        }
    }
    if module.address_bits() == 32 {
        problems.push(
            "the text has .address_size 32, which no driver of 64-bit systems takes: compile it \
             for 64"
                .to_owned(),
        );
    }
    problems
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The page on launch files has every key that is taken.
    #[test]
    fn the_page_names_every_key() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/launch_files.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter(|line| line.starts_with('|'));
        let told: BTreeSet<&str> = rows
            .flat_map(|row| row.split('`').skip(1).step_by(2))
            .collect();
        let keys = [MANIFEST, BUFFER, TENSORMAP, IM2COL].concat();
        for key in keys.iter().filter(|key| !["kind", "name"].contains(key)) {
            assert!(told.contains(key), "{key}");
        }
    }
}
