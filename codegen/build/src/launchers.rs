//! Rust source of a bundle: how it is opened, and a launcher for each of its functions.
//!
//! In: an opened bundle. Out: items that name the runtime alone, each documented. A launcher is a
//! struct; its fields are the operands, of their element types and numbers of axes, the scalars and
//! the extents. It has the shortest name of the function's specs, of several the first; the other
//! names are aliases, so that another spec of the function breaks nothing.

mod described;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use tilewright_bundle::{Assumption, Bundle, DType, Kernel, Operand};

use crate::error::Error;
use crate::names;

/// Where the types are that launchers are made of.
const TYPED: &str = "::tilewright_runtime::typed";

/// What every source begins with; the name of the bundle's file is `FILE`, the functions are
/// `FUNCTIONS`.
const OPENING: &str = r#"/// The bundle, as one zip file.
pub static BUNDLE: &[u8] = include_bytes!(FILE);

/// Opens the bundle on a device.
///
/// # Errors
/// When the bundle is refused.
#[allow(dead_code)]
pub fn open(
    device: ::tilewright_runtime::Device,
) -> ::core::result::Result<::tilewright_runtime::Runtime, ::tilewright_runtime::Error> {
    let bundle = ::tilewright_runtime::bundle::Bundle::from_zip(BUNDLE)?;
    ::core::result::Result::Ok(::tilewright_runtime::Runtime::new(bundle, device))
}

/// Checks that a runtime has every function that this source has launchers for, and that its device
/// can run a kernel of each at least: for services, at their start.
///
/// # Errors
/// When it lacks some, or the device can run no kernel of some, with all of their specs.
#[allow(dead_code)]
pub fn check(
    runtime: &::tilewright_runtime::Runtime,
) -> ::core::result::Result<(), ::tilewright_runtime::Error> {
    ::tilewright_runtime::typed::check(runtime, &[FUNCTIONS])
}
"#;

/// What begins a source that stands for one that is not there.
pub const NO_KERNELS: &str = "// No kernels have this name.";

/// What begins as sources do, for tests.
#[cfg(test)]
pub const LIKE_A_SOURCE: &str = "/// The bundle, as one zip file.\n";

/// The methods that every launcher has; what its call is given is `GIVEN`, and
/// the name of its spec `SPEC`.
const METHODS: &str = r#"
    /// What it is to the runtime: to be prepared, put on a stream, or asked which kernel it takes.
    pub fn call(self) -> ::tilewright_runtime::typed::Call<'a> {
        ::tilewright_runtime::typed::Call::new(Self::FUNCTION)
            .spec(SPEC)GIVEN
    }

    /// Checks everything, then launches on the device's own stream.
    ///
    /// # Errors
    /// When no kernel takes the problem, with every reason; an error of the launch otherwise.
    pub fn launch(
        self,
        runtime: &::tilewright_runtime::Runtime,
    ) -> ::core::result::Result<
        (&::tilewright_runtime::bundle::Kernel, ::tilewright_runtime::LaunchReport),
        ::tilewright_runtime::Error,
    > {
        self.call().launch(runtime)
    }
"#;

/// A function of a bundle: its kernels, and the specs that they are of, that of the shortest name
/// first.
struct Function<'b> {
    kernels: Vec<&'b Kernel>,
    specs: Vec<&'b str>,
}

/// The Rust source of a bundle whose one file is `file`, a path relative to the source's.
///
/// # Errors
/// [`Error::Names`] with every name that two things would have, and every type that Rust has none
/// for, each with its place.
pub fn source(bundle: &Bundle, file: &str) -> Result<String, Error> {
    let functions = functions(bundle);
    let mut problems = collisions(&functions);
    let names = functions.iter().filter_map(|function| {
        let spec = function.specs.first()?;
        let name = names::type_name(spec);
        Some(format!("\n        ({spec:?}, {name}::FUNCTION),"))
    });
    let names: Vec<String> = names.collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => names.concat() + "\n    ",
    };
    let opening = OPENING.replace("FILE", &format!("{file:?}"));
    let mut out = opening.replace("[FUNCTIONS]", &format!("[{names}]"));
    for function in &functions {
        match launcher(function) {
            Ok(text) => out += &text,
            Err(mut found) => problems.append(&mut found),
        }
    }
    match problems.is_empty() {
        true => Ok(out),
        false => Err(Error::Names { problems }),
    }
}

/// Writes a source, in place of an earlier one.
///
/// # Errors
/// When something else lies there, or it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    if !may_write(path) {
        return Err(Error::Foreign {
            path: path.to_owned(),
            what: "source of launchers",
        });
    }
    std::fs::write(path, text).map_err(Error::io(path))
}

/// Whether nothing lies there, or a source of the build step's, with launchers or without.
pub fn may_write(path: &Path) -> bool {
    let opening = OPENING.lines().next().unwrap_or_default();
    let earlier = std::fs::read(path).unwrap_or_default();
    let mut own = [opening, NO_KERNELS].into_iter();
    earlier.is_empty() || own.any(|own| earlier.starts_with(own.as_bytes()))
}

/// The functions in the order of their first specs.
fn functions(bundle: &Bundle) -> Vec<Function<'_>> {
    let mut found: BTreeMap<&str, Vec<&Kernel>> = BTreeMap::new();
    for kernel in bundle.kernels() {
        let function = kernel.semantics.function.as_str();
        found.entry(function).or_default().push(kernel);
    }
    let mut functions: Vec<Function<'_>> = found
        .into_values()
        .map(|kernels| {
            let mut specs: Vec<&str> = kernels.iter().map(|k| k.spec.as_str()).collect();
            specs.sort_unstable_by_key(|spec| (spec.len(), *spec));
            specs.dedup();
            Function { kernels, specs }
        })
        .collect();
    functions.sort_by(|one, other| one.specs.cmp(&other.specs));
    functions
}

/// Names that two functions would have.
fn collisions(functions: &[Function<'_>]) -> Vec<String> {
    let mut taken: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    let mut problems = Vec::new();
    for (at, function) in functions.iter().enumerate() {
        for spec in &function.specs {
            let name = names::type_name(spec);
            let (other, first) = *taken.entry(name.clone()).or_insert((at, spec));
            if other != at {
                problems.push(format!(
                    "{first} and {spec} compute different things, and both are `{name}` in Rust: \
                     give one of the specs another name"
                ));
            }
        }
    }
    problems
}

/// One field of a launcher: its line of documentation, name, type, and how a call takes it.
struct Field {
    doc: String,
    name: String,
    ty: String,
    given: String,
}

fn launcher(function: &Function<'_>) -> Result<String, Vec<String>> {
    let (Some(kernel), Some(spec)) = (function.kernels.first(), function.specs.first()) else {
        return Ok(String::new());
    };
    let fields = fields(spec, kernel, &function.kernels)?;
    let name = names::type_name(spec);
    let mut out = String::new();
    out.push('\n');
    // A name, a formula and an assumption are lines without line ends, or the bundle were refused.
    for line in described::function(&function.kernels, &function.specs) {
        let _ = writeln!(out, "///{line}");
    }
    let is_snake = |field: &Field| !field.name.contains(|c: char| c.is_ascii_uppercase());
    let allowed = match fields.iter().all(is_snake) {
        true => "dead_code",
        // As the spec names its operands.
        false => "dead_code, non_snake_case",
    };
    let _ = writeln!(out, "#[allow({allowed})]\n#[derive(Debug)]");
    let _ = writeln!(out, "pub struct {name}<'a> {{");
    for field in &fields {
        let _ = writeln!(out, "    /// {}", field.doc);
        let _ = writeln!(out, "    pub {}: {},", field.name, field.ty);
    }
    let _ = writeln!(out, "}}\n\n#[allow(dead_code)]\nimpl<'a> {name}<'a> {{");
    let hash = &kernel.semantics.function;
    let _ = writeln!(out, "    /// The function's hash.");
    let _ = writeln!(
        out,
        "    pub const FUNCTION: &'static str =\n        \"{hash}\";"
    );
    let given = fields
        .iter()
        .map(|field| format!("\n            {}", field.given));
    let methods = METHODS.replace("GIVEN", &given.collect::<String>());
    out += &methods.replace("(SPEC)", &format!("({spec:?})"));
    out += &promises(spec, &function.kernels)?;
    out += "}\n";
    let mut aliases: Vec<String> = function.specs.iter().map(|s| names::type_name(s)).collect();
    aliases.retain(|alias| *alias != name);
    aliases.dedup();
    for alias in aliases {
        let _ = write!(
            out,
            "\n/// The same function, by another spec's name.\n\
             #[allow(dead_code)]\npub type {alias}<'a> = {name}<'a>;\n"
        );
    }
    Ok(out)
}

/// A method for each promise that kernels of the function ask for.
fn promises(spec: &str, kernels: &[&Kernel]) -> Result<String, Vec<String>> {
    let mut known: BTreeMap<String, (&str, &str)> = BTreeMap::new();
    let mut problems = Vec::new();
    for assumption in kernels.iter().flat_map(|kernel| &kernel.assumptions) {
        if let Assumption::Promise { promise, reason } = assumption {
            let name = names::promise(promise);
            let (first, _) = *known.entry(name.clone()).or_insert((promise, reason));
            if first != promise {
                problems.push(format!(
                    "{spec}: `{first}` and `{promise}` would be `{name}`"
                ));
            }
        }
    }
    let methods = known.into_iter().map(|(name, (promise, reason))| {
        let reason = described::escaped(reason);
        format!(
            "\n    /// As a call that confirms: `{promise}` ({reason}).\n    \
             pub fn {name}(self) -> {TYPED}::Call<'a> {{\n        \
             self.call().promise({promise:?})\n    }}\n"
        )
    });
    match problems.is_empty() {
        true => Ok(methods.collect()),
        false => Err(problems),
    }
}

/// The fields: operands, scalars, extents.
fn fields(spec: &str, kernel: &Kernel, kernels: &[&Kernel]) -> Result<Vec<Field>, Vec<String>> {
    let semantics = &kernel.semantics;
    let mut fields: Vec<Field> = Vec::new();
    let mut problems = Vec::new();
    for operand in &semantics.operands {
        fields.push(operand_field(operand, kernels));
    }
    for scalar in &semantics.scalars {
        let (name, field) = (&scalar.name, names::field(&scalar.name));
        let Some((ty, value)) = number(scalar.dtype, &format!("self.{field}")) else {
            problems.push(format!(
                "{spec}: Rust has no type for the scalar {name}, {}: give it another type",
                scalar.dtype
            ));
            continue;
        };
        fields.push(Field {
            doc: format!("The scalar `{name}`, {}.", scalar.dtype),
            given: format!(".scalar({name:?}, {value})"),
            name: field,
            ty,
        });
    }
    for (_, extent) in kernel.free_extents() {
        let name = names::field(extent);
        fields.push(Field {
            doc: format!("The extent `{extent}`."),
            given: format!(".extent({extent:?}, self.{name})"),
            name,
            ty: "usize".to_owned(),
        });
    }
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for field in &fields {
        if let Some(other) = seen.insert(&field.name, &field.doc) {
            let (name, doc) = (&field.name, &field.doc);
            problems.push(format!(
                "{spec}: `{name}` would be two fields: {other} {doc}"
            ));
        }
    }
    match problems.is_empty() {
        true => Ok(fields),
        false => Err(problems),
    }
}

fn operand_field(operand: &Operand, kernels: &[&Kernel]) -> Field {
    let (name, field) = (&operand.name, names::field(&operand.name));
    let (element, rank) = (element(operand.dtype), operand.layout.rank());
    let (ty, method) = match (&operand.packed, operand.role.is_written()) {
        (Some(_), _) => (format!("{TYPED}::Packed<'a, {element}>"), "packed"),
        (None, false) => (format!("{TYPED}::In<'a, {element}, {rank}>"), "input"),
        (None, true) => (format!("{TYPED}::Out<'a, {element}, {rank}>"), "output"),
    };
    Field {
        doc: described::operand(operand, kernels),
        given: format!(".{method}({name:?}, self.{field})"),
        name: field,
        ty,
    }
}

/// What an operand is an array of.
fn element(dtype: DType) -> String {
    let own = |name: &str| format!("{TYPED}::{name}");
    match dtype {
        DType::F16 => own("f16"),
        DType::BF16 => own("bf16"),
        DType::TF32 | DType::F32 => "f32".to_owned(),
        DType::F64 => "f64".to_owned(),
        DType::E4M3 => own("E4M3"),
        DType::E5M2 => own("E5M2"),
        DType::UE8M0 => own("UE8M0"),
        DType::S4 => own("S4x2"),
        DType::U4 => own("U4x2"),
        DType::E2M1 => own("E2M1x2"),
        DType::S8 => "i8".to_owned(),
        DType::S16 => "i16".to_owned(),
        DType::S32 => "i32".to_owned(),
        DType::S64 => "i64".to_owned(),
        DType::U8 | DType::B8 => "u8".to_owned(),
        DType::U16 | DType::B16 => "u16".to_owned(),
        DType::U32 | DType::B32 => "u32".to_owned(),
        DType::U64 | DType::B64 => "u64".to_owned(),
        DType::B128 => "u128".to_owned(),
    }
}

/// The type of a scalar, and that value as f64; none where f64 does not hold it.
fn number(dtype: DType, value: &str) -> Option<(String, String)> {
    match dtype {
        DType::F64 => Some(("f64".to_owned(), value.to_owned())),
        DType::F16 | DType::BF16 => Some((element(dtype), format!("{value}.to_f64()"))),
        DType::F32 | DType::S8 | DType::U8 | DType::S16 | DType::U16 | DType::S32 | DType::U32 => {
            Some((element(dtype), format!("f64::from({value})")))
        }
        _ => None,
    }
}
