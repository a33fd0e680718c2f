//! What to do where an assumption of a kernel does not hold: another number, or another kernel.

use tilewright_bundle::{
    Assumption, Condition, DType, Env, Expr, Kernel, Name, NameKind, Operand, ParamValue, Role,
};
use tilewright_formula::form::Form;

use crate::launch::layout::named_strides;
use crate::launch::tensor_map::TENSOR_UNIT_BYTES;

const BUILD: &str = "build a kernel that does not assume it";
/// Columns of a product's tile at most (PTX ISA, wgmma: N is 256 at most).
const PRODUCT_COLUMNS: u32 = 256;

/// Whether a product reads it as a factor.
fn is_factor(kernel: &Kernel, operand: &Operand) -> bool {
    let (Some(Form::Contraction(found)), Some(formula)) = (kernel.form(), kernel.formula()) else {
        return false;
    };
    let of = |at: usize| formula.signature.operands.get(at);
    let mut factors = found
        .factors
        .iter()
        .filter_map(|factor| of(factor.operand?));
    factors.any(|one| one.name == operand.name)
}

/// The names of an assumption with their values: `lda is 17`.
pub(super) fn found(kernel: &Kernel, expr: &Condition, env: &Env) -> String {
    let mut told: Vec<String> = Vec::new();
    for name in expr.names() {
        if let Some(value) = env.get(name) {
            let one = format!("{} is {value}", kernel.names.text(name));
            if !told.contains(&one) {
                told.push(one);
            }
        }
    }
    match told.is_empty() {
        true => "it does not hold".to_owned(),
        false => told.join(", "),
    }
}

/// A stride that is no multiple of what it has to be may be padded; for all else there are kernels
/// that do not assume it, or may be.
pub(super) fn way_out(kernel: &Kernel, expr: &Condition, env: &Env) -> String {
    let told = whole_bytes(kernel, expr, env);
    let told = told.or_else(|| padded(kernel, expr, env));
    let told = told.or_else(|| longer(kernel, expr));
    told.unwrap_or_else(|| BUILD.to_owned())
}

/// That rows of elements that share bytes end with a byte, where that is what is asked for.
fn whole_bytes(kernel: &Kernel, expr: &Condition, env: &Env) -> Option<String> {
    let (name, multiple) = multiple_of(expr)?;
    let known = kernel.names.find(name)?;
    let pairs = shares_bytes(kernel)?;
    let is_that = kernel.names.kind(known) == Some(NameKind::Extent)
        && multiple == i64::from(pairs.dtype.per_byte());
    let next = next_multiple(env.get(known)?, multiple)?;
    let (operand, dtype) = (&pairs.name, pairs.dtype);
    is_that.then(|| {
        format!(
            "rows of {operand} ({dtype}) end with a whole byte in every kernel: compute with \
             {name} = {next}, rows one element longer"
        )
    })
}

fn padded(kernel: &Kernel, expr: &Condition, env: &Env) -> Option<String> {
    let (name, multiple) = multiple_of(expr)?;
    let known = kernel.names.find(name)?;
    // An operand whose stride it is, or an extent that its rows are apart as well.
    let operand = strided_by(kernel, name);
    if kernel.names.kind(known) == Some(NameKind::Stride) {
        let pads = operand.map(|operand| pads(kernel, operand, known, env));
        let next = || Some(vec![(name, next_multiple(env.get(known)?, multiple)?)]);
        let pads = pads.flatten().or_else(next)?;
        let pads = pads.iter().map(|(name, to)| format!("{name} to {to}"));
        let pads = pads.collect::<Vec<_>>().join(" and with it ");
        if let Some(first) = operand.and_then(|operand| copied_first(kernel, operand)) {
            return Some(format!(
                "pad {pads}, or build a kernel of a spec with {first}"
            ));
        }
        let any = operand.filter(|operand| !kernel.is_of_tensor_cores(operand));
        let any = any.and_then(|operand| {
            let layout = any_strides(kernel, operand)?;
            let alike = lies_over(kernel, operand);
            let threads = match kernel.has_tensor_maps() && is_factor(kernel, operand) {
                true => of_threads(operand.dtype),
                false => String::new(),
            };
            Some(format!(
                ", of a spec with any strides, `{layout}`{alike}{threads}"
            ))
        });
        let pairs = shares_bytes(kernel).map(|pairs| pairs.dtype);
        return Some(match (any, operand) {
            (_, Some(_)) if pairs.is_some() => format!(
                "pad {pads}: rows beside elements that share a byte{} are moved in vectors, which \
                 `copy` in a spec makes narrower, and not by one element",
                pairs.map_or(String::new(), |dtype| format!(" ({dtype})"))
            ),
            (None, Some(operand)) if kernel.is_of_tensor_cores(operand) => format!(
                "pad {pads}: products of {} have kernels for rows of whole 16 bytes alone",
                operand.dtype
            ),
            (any, _) => format!("pad {pads}, or {BUILD}{}", any.unwrap_or_default()),
        });
    }
    let next = next_multiple(env.get(known)?, multiple)?;
    let named = all_strided_by(kernel, name);
    let named = named.filter_map(|one| Some((format!("`{}`", one.name), named_strides(one)?)));
    let (operands, layouts): (Vec<String>, Vec<String>) = named.unzip();
    let that = match operands.len() {
        0 => return None,
        1 => "that",
        _ => "these",
    };
    let copied = all_strided_by(kernel, name).filter_map(|one| copied_first(kernel, one));
    let copied = Vec::from_iter(copied);
    let other = match copied.is_empty() {
        true => BUILD.to_owned(),
        false => format!("build a kernel of a spec with {}", copied.join(", and ")),
    };
    Some(format!(
        "name the strides of {} in the spec, `{}`, and pad {that} to {next}, or {other}",
        operands.join(" and "),
        layouts.join("` and `")
    ))
}

/// How a spec multiplies what no tensor map brings: by `mma.sync` where that has the type.
fn of_threads(dtype: DType) -> String {
    let (how, tile) = match dtype {
        DType::F16 | DType::BF16 => (
            format!("multiply by `mma: {{ atom: sm80_mma_16x8x16_f32_{dtype}_{dtype} }}`"),
            "(64,64,32)",
        ),
        _ => ("multiply, without tensor cores".to_owned(), "(64,64,16)"),
    };
    format!(
        ", which threads copy and {how}: leave `cluster` and `pipeline` out there, and take a \
         smaller `cta_tile`, such as {tile}"
    )
}

/// An operand whose elements share bytes, two to each, if there is one.
fn shares_bytes(kernel: &Kernel) -> Option<&Operand> {
    let mut operands = kernel.semantics.operands.iter();
    operands.find(|operand| operand.dtype.per_byte() > 1)
}

/// That passes would do for a mode that is folded, where they would: they go along one mode, the
/// tile's second where two are folded, and no cluster goes along any.
fn in_passes(kernel: &Kernel, mode: &str) -> String {
    let bounded = |folded: &&str| {
        let assumed = kernel.assumptions.iter().filter_map(|one| match one {
            Assumption::Expr { expr, .. } => expr.text().split_once(" <= "),
            _ => None,
        });
        assumed.into_iter().any(|(name, _)| name == *folded)
    };
    let folded = kernel.folded();
    let has_passes = !folded.iter().all(bounded);
    let cluster = kernel
        .launches
        .iter()
        .any(|launch| launch.cluster.is_some());
    // The tile's second mode is the later one of operands that have both.
    let axis = |name: &str| {
        let mut operands = kernel.semantics.operands.iter();
        operands.find_map(|operand| {
            let mut axes = operand.layout.shape.iter();
            let has_all = folded.iter().all(|one| {
                let mut axes = operand.layout.shape.iter();
                axes.any(|axis| axis.text() == *one)
            });
            has_all.then(|| axes.position(|axis| axis.text() == name))?
        })
    };
    let last = folded.iter().all(|other| axis(other) <= axis(mode));
    match (has_passes, cluster, last) {
        (true, ..) | (_, _, false) => String::new(),
        (_, true, _) => " or with `scheduler: { passes: many }` and no cluster".to_owned(),
        (_, false, _) => " or with `scheduler: { passes: many }`".to_owned(),
    }
}

fn longer(kernel: &Kernel, expr: &Condition) -> Option<String> {
    let (mode, most) = expr.text().split_once(" <= ")?;
    most.parse::<i64>().ok()?;
    let is_extent = kernel.names.kind(kernel.names.find(mode)?) == Some(NameKind::Extent);
    let rows = matches!(kernel.form(), Some(Form::Rows(_)));
    is_extent.then(|| match rows {
        true => format!(
            "{BUILD}, of a spec with a longer cta_tile along {mode}{}",
            in_passes(kernel, mode)
        ),
        // A product's tile is its instruction's columns at most, and knows no passes.
        false => format!(
            "{BUILD}, of a spec with a longer cta_tile along {mode} (at most {PRODUCT_COLUMNS}, \
             and what registers hold), or compute what folds along {mode} in a kernel behind it"
        ),
    })
}

/// `lda % 8 == 0`: the name, and what it has to be a multiple of.
fn multiple_of(expr: &Condition) -> Option<(&str, i64)> {
    let (name, multiple) = expr.text().strip_suffix(" == 0")?.split_once(" % ")?;
    let multiple = multiple.parse().ok().filter(|multiple| *multiple > 0)?;
    Some((name, multiple))
}

/// Whether an assumption that does not hold asks for a multiple of the multiple that another one
/// asks for of the same name.
pub(super) fn is_stronger(one: &Assumption, other: &Condition, env: &Env) -> bool {
    let Assumption::Expr { expr, .. } = one else {
        return false;
    };
    let (Some(one), Some(other)) = (multiple_of(expr), multiple_of(other)) else {
        return false;
    };
    one.0 == other.0 && one.1 > other.1 && one.1 % other.1 == 0 && expr.holds(env) == Ok(false)
}

fn next_multiple(value: i64, multiple: i64) -> Option<i64> {
    let above = value.checked_add(multiple - 1)?;
    Some(above - above.rem_euclid(multiple))
}

/// The operand that has that as a stride.
fn strided_by<'k>(kernel: &'k Kernel, name: &str) -> Option<&'k Operand> {
    all_strided_by(kernel, name).next()
}

/// All that have it.
fn all_strided_by<'k>(kernel: &'k Kernel, name: &str) -> impl Iterator<Item = &'k Operand> {
    let is_it = move |expr: &Expr| expr.text() == name;
    let operands = kernel.semantics.operands.iter();
    operands.filter(move |operand| operand.layout.stride.iter().any(is_it))
}

/// Whose layout has to be the same, since one lies over the other; nothing of most operands.
pub(super) fn lies_over(kernel: &Kernel, operand: &Operand) -> String {
    let operands = kernel.semantics.operands.iter();
    let alike = operands.filter(|one| {
        one.over.as_ref() == Some(&operand.name) || operand.over.as_ref() == Some(&one.name)
    });
    let alike: Vec<String> = alike.map(|one| format!("`{}`", one.name)).collect();
    match alike.is_empty() {
        true => String::new(),
        false => format!(
            " (of `{}` and of {} alike, as one lies over the other)",
            operand.name,
            alike.join(" and ")
        ),
    }
}

/// An axis of an operand.
struct Axis {
    name: Option<Name>,
    extent: i64,
    stride: i64,
}

/// What the stride of that name is padded to, and each outer stride of the operand that has to grow
/// with it so that no elements come to share an address. What elements share already stays so.
fn pads<'k>(
    kernel: &'k Kernel,
    operand: &Operand,
    wanted: Name,
    env: &Env,
) -> Option<Vec<(&'k str, i64)>> {
    let mut axes = Vec::new();
    for (extent, stride) in operand.layout.shape.iter().zip(&operand.layout.stride) {
        axes.push(Axis {
            name: stride.single_name(),
            extent: extent.eval(env).ok()?.max(1),
            stride: stride.eval(env).ok()?,
        });
    }
    axes.sort_by_key(|axis| axis.stride);
    let (mut before, mut after) = (Inner::NONE, Inner::NONE);
    let mut pads = Vec::new();
    for axis in axes {
        let least = match axis.stride {
            stride if stride >= before.rows => stride.max(after.rows),
            stride if stride >= before.span => stride.max(after.span),
            stride => stride,
        };
        let name = axis
            .name
            .filter(|name| kernel.names.kind(*name) == Some(NameKind::Stride));
        let padded = match name {
            Some(name) => next_multiple(least, multiple(kernel, name))?,
            None => axis.stride,
        };
        let own = next_multiple(axis.stride, name.map_or(1, |name| multiple(kernel, name)))?;
        match name {
            Some(name) if name == wanted => pads.push((kernel.names.text(name), padded)),
            Some(name) if !pads.is_empty() && padded != own => {
                pads.push((kernel.names.text(name), padded));
            }
            _ => {}
        }
        before = before.with(axis.extent, axis.stride)?;
        after = after.with(axis.extent, padded)?;
    }
    (!pads.is_empty()).then_some(pads)
}

/// How far the axes of smaller strides reach.
#[derive(Clone, Copy)]
struct Inner {
    /// Elements of whole rows: what a stride is that leaves no gap.
    rows: i64,
    /// Elements from the first to behind the last.
    span: i64,
}

impl Inner {
    const NONE: Inner = Inner { rows: 1, span: 1 };

    fn with(self, extent: i64, stride: i64) -> Option<Inner> {
        Some(Inner {
            rows: self.rows.max(extent.checked_mul(stride)?),
            span: self.span.checked_add((extent - 1).checked_mul(stride)?)?,
        })
    }
}

/// What the stride of each axis of an operand has to be a multiple of, in elements: as assumptions
/// and tensor maps say where the layout has a name for it, 1 elsewhere.
pub fn stride_multiples(kernel: &Kernel, operand: &Operand) -> Vec<i64> {
    let of_axis = |stride: &Expr| {
        let name = stride.single_name();
        let name = name.filter(|name| kernel.names.kind(*name) == Some(NameKind::Stride));
        name.map_or(1, |name| {
            multiple(kernel, name).max(mapped_multiple(kernel, operand, name))
        })
    };
    operand.layout.stride.iter().map(of_axis).collect()
}

/// Elements of as many bytes as the strides of tensor maps are multiples of, where one of them has
/// that as a stride.
fn mapped_multiple(kernel: &Kernel, operand: &Operand, name: Name) -> i64 {
    let params = kernel.launches.iter().flat_map(|launch| &launch.params);
    let strides = params.flat_map(|param| match &param.value {
        ParamValue::TensorMap(map) if map.is_over(&operand.name) => map.strides.as_slice(),
        _ => &[],
    });
    let is_mapped = strides
        .into_iter()
        .any(|stride| stride.single_name() == Some(name));
    let (bytes, per_byte) = (operand.dtype.bytes().max(1), operand.dtype.per_byte());
    let elems = i64::from(TENSOR_UNIT_BYTES / bytes) * i64::from(per_byte);
    if is_mapped { elems.max(1) } else { 1 }
}

/// What a stride has to be a multiple of: the largest number that an assumption names; they are
/// powers of two.
fn multiple(kernel: &Kernel, name: Name) -> i64 {
    let assumed = kernel.assumptions.iter().filter_map(|one| match one {
        Assumption::Expr { expr, .. } => multiple_of(expr),
        _ => None,
    });
    let text = kernel.names.text(name);
    let of_name = assumed.filter(|(known, _)| *known == text);
    of_name.map(|(_, multiple)| multiple).max().unwrap_or(1)
}

/// The key by which a product copies an operand first, or a result behind it, between rows that its
/// tensor maps take and others: what has them, without planes, and whose elements are bytes and not
/// combined with others.
pub(super) fn copied_first(kernel: &Kernel, operand: &Operand) -> Option<String> {
    let is_product = matches!(kernel.form(), Some(Form::Contraction(_)));
    let layout = &operand.layout;
    let is_one = |stride: &Expr| stride.constant_value() == Some(1);
    let mut operands = kernel.semantics.operands.iter();
    let is_over =
        operand.over.is_some() || operands.any(|o| o.over.as_ref() == Some(&operand.name));
    let does = is_product
        && kernel.has_tensor_maps()
        && operand.role != Role::InOut
        && operand.packed.is_none()
        && operand.dtype.per_byte() == 1
        && !is_over
        && layout.rank() > 1
        && !has_planes(kernel, operand)
        && layout.stride.iter().any(is_one);
    let name = &operand.name;
    let copies = match operand.role.is_written() {
        true => "writes it to the workspace and copies it to its place afterwards",
        false => "copies it first",
    };
    does.then(|| format!("`copy: {{ {name}: {{ realign: workspace }} }}`, which {copies}"))
}

/// Whether an operand has the mode that tells several products apart: of a constant extent, as a
/// mode of no result is.
fn has_planes(kernel: &Kernel, operand: &Operand) -> bool {
    let Some((Form::Contraction(found), formula)) = kernel.form().zip(kernel.formula()) else {
        return false;
    };
    let written = kernel.semantics.operands.iter();
    let written = written.filter(|one| one.role != Role::In);
    let has = |operand: &Operand, mode: &str| {
        let mut shape = operand.layout.shape.iter();
        shape.any(|extent| extent.text() == mode)
    };
    let written: Vec<&Operand> = written.collect();
    let columns = found.columns.iter();
    let mut constant = columns.filter(|mode| formula.constant(**mode).is_some_and(|one| one > 1));
    constant.any(|mode| {
        let name = formula.modes.get(*mode).map_or("", |facts| &facts.name);
        has(operand, name) && !written.iter().any(|one| has(one, name))
    })
}

/// The layout of an operand with any strides: a name of its own for each that is 1.
fn any_strides(kernel: &Kernel, operand: &Operand) -> Option<String> {
    let operands = kernel.semantics.operands.iter();
    let mut taken: Vec<String> = operands.map(|one| one.name.clone()).collect();
    let is_taken = |name: &str, taken: &[String]| {
        kernel.names.find(name).is_some() || taken.iter().any(|one| one == name)
    };
    let mut strides = Vec::new();
    for expr in &operand.layout.stride {
        if expr.text() != "1" {
            strides.push(expr.text().to_owned());
            continue;
        }
        let plain = format!("s{}", operand.name);
        let numbered = (0..).map(|at: u32| format!("{plain}{at}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let free = names.find(|name| !is_taken(name, &taken))?;
        taken.push(free.clone());
        strides.push(free);
    }
    let modes: Vec<&str> = operand.layout.shape.iter().map(Expr::text).collect();
    Some(format!("({}):({})", modes.join(","), strides.join(",")))
}

#[cfg(test)]
mod tests;
