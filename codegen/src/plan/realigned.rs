//! Operands of a product that have copies in rows of whole lines: inputs are copied first, outputs
//! last.
//!
//! In: a point whose `copy` says so of an operand. Out: the plan of the same product of the copies,
//! and a plan of each copy, a map of one operand onto another.

use tilewright_bundle::Expr;
use tilewright_formula::Role;

use crate::error::{Error, KeyPath, Message, Result, Violation, message};
use crate::plan::data::model::{Plan, Realigned};
use crate::plan::data::realigned::{COPY, ROW_BYTES, row_elems};
use crate::spec;
use crate::spec::keys::model::{
    Auto, Axis, Computes, FormKind, Operand, Point, Realign, Spec, Stride,
};
use crate::spec::keys::paths;

/// Elements of a copy's tile: rows, and elements of a row.
const TILE: [i64; 2] = [16, 256];
/// The same where the copy has its axes the other way round.
const TRANSPOSED_TILE: [i64; 2] = [32, 64];
/// The axis of a factor that is summed along, and that of an output's columns: where none has
/// stride 1, rows of a copy go along it.
const SUMMED_AXIS: usize = 1;
/// Threads of a copy's CTA. By 1.5 to 10% faster than 512 on an H100, and as fast as the driver's
/// own copies (4096x8192 to 65536x8192, bf16).
const THREADS: u32 = 256;

/// An operand that is copied, and how.
pub(super) struct Copied {
    operand: Operand,
    /// Whether the copy is contiguous along the other of its two axes.
    transposed: bool,
}

/// The point whose operands lie as copies do, and what is copied; none where nothing is.
///
/// # Errors
/// [`Error::Plan`] for operands that are not copied so.
pub(super) fn split(point: &Point) -> Result<Option<(Point, Vec<Copied>)>> {
    let spec = &point.spec;
    let asked = |operand: &Operand| {
        let path = spec.schedule.copy.get(&operand.name)?;
        let transposed = match path.realign {
            Auto::Given(Realign::Workspace) => false,
            Auto::Given(Realign::Transposed) => true,
            Auto::Given(Realign::Direct) | Auto::Auto => return None,
        };
        let operand = operand.clone();
        Some(Copied {
            operand,
            transposed,
        })
    };
    let asked: Vec<Copied> = spec.problem.operands.iter().filter_map(asked).collect();
    if asked.is_empty() {
        return Ok(None);
    }
    let refused: Vec<Violation> = (asked.iter())
        .filter_map(|copied| refusal(spec, copied))
        .collect();
    if !refused.is_empty() {
        return Err(Error::plan(&point.id, refused));
    }
    let mut aligned = point.clone();
    for operand in &mut aligned.spec.problem.operands {
        let mut copied = asked.iter();
        if let Some(copied) = copied.find(|one| one.operand.id == operand.id) {
            *operand = lying_in_rows(&spec.problem.compute, copied);
        }
    }
    for path in aligned.spec.schedule.copy.values_mut() {
        path.realign = Auto::Auto;
    }
    Ok(Some((aligned, asked)))
}

/// What is wrong with the copy of an operand, and where.
fn refusal(spec: &Spec, copied: &Copied) -> Option<Violation> {
    let operand = &copied.operand;
    let key = paths::copy(&operand.name, "realign");
    let (why, also) = match misfit(spec, copied) {
        Some(why) => (why, None),
        None => {
            let (name, at) = taken(spec, operand)?;
            let why = message!(
                "{name} is a name that the copy of {} has: give that another name",
                paths::operand(&operand.name)
            );
            (why, Some(at))
        }
    };
    let message = message!("{} {}: {}", key, copied.word().name(), why);
    let mut violation = Violation::new("realign", message);
    if let Some(at) = also {
        violation.involve(at.path());
    }
    Some(violation)
}

/// Why an operand is not copied first, and what does.
fn misfit(spec: &Spec, copied: &Copied) -> Option<Message> {
    let operand = &copied.operand;
    let name = &operand.name;
    if spec.problem.form() != FormKind::Contraction {
        return Some("operands of products alone are copied: leave it out".into());
    }
    let formula = &spec.problem.compute.formula;
    let is_added = formula.role(operand.id.0) == Role::Combined;
    let mut others = spec.problem.operands.iter();
    let is_over = operand.over.is_some() || others.any(|one| one.over.as_ref() == Some(name));
    let why = if operand.packed {
        "is packed, and lies in the order that the kernel reads"
    } else if operand.dtype.per_byte() > 1 {
        "has elements that share a byte, of which rows are whole bytes by themselves"
    } else if spec.problem.compute.has_planes(operand) {
        "has planes, which one copy does not bring"
    } else if operand.all_axes().any(|axis| axis.table.is_some()) {
        "is looked into by a table, of which rows are read where they lie"
    } else if is_added {
        "is combined with what is there, which a copy does not bring"
    } else if is_over {
        "may lie where another operand does, which copies do not"
    } else if operand.all_axes().count() < 2
        || operand.contiguous_axis().is_none() && operand.axes.len() < 2
    {
        "has no rows: it has one axis where rows have two"
    } else if copied.transposed && operand.is_written() {
        let way = Realign::Workspace.name();
        return Some(message!(
            "{name} is an output, which is stored as it lies: use {way}, or leave it out"
        ));
    } else if copied.transposed && operand.factor().is_none() {
        "is no factor of the product, and its two axes lie as they are read"
    } else if copied.transposed && operand.contiguous_axis() == Some(SUMMED_AXIS) {
        "is contiguous along what is summed as it is"
    } else if copied.transposed && operand.contiguous_axis().is_none() {
        let way = Realign::Workspace.name();
        return Some(message!(
            "{} has no axis of stride 1 to exchange: use {way}, which copies any strides into rows \
             along what is summed",
            paths::operand(name)
        ));
    } else {
        return None;
    };
    Some(message!("{} {why}: leave it out", paths::operand(name)))
}

/// A name of the spec that is one of those of an operand's copy, or begins as they do, and the key
/// that it stands below.
fn taken<'s>(spec: &'s Spec, operand: &Operand) -> Option<(&'s str, KeyPath)> {
    let copy = format!("{}{COPY}", operand.name);
    let of_operands = spec.problem.operands.iter().flat_map(|one| {
        let strides = one.all_axes().filter_map(|axis| axis.stride.name());
        let strides = strides.map(|name| (name, paths::of_operand(&one.name, "layout")));
        [(one.name.as_str(), paths::operand(&one.name))]
            .into_iter()
            .chain(strides)
    });
    let formula = &spec.problem.compute.formula;
    let modes = formula.modes.iter().map(|mode| mode.name.as_str());
    let scalars = formula.signature.scalars.iter();
    let of_formula = modes.chain(scalars.map(|one| one.name.as_str()));
    let mut all = of_operands.chain(of_formula.map(|name| (name, paths::COMPUTE)));
    all.find(|(name, _)| name.starts_with(&copy))
}

impl Copied {
    /// The word that asks for it.
    fn word(&self) -> Realign {
        match self.transposed {
            true => Realign::Transposed,
            false => Realign::Workspace,
        }
    }

    /// The axes of the copy from the one of stride 1 outwards.
    fn outwards(&self) -> Vec<&Axis> {
        let contiguous = self.operand.contiguous_axis().unwrap_or(SUMMED_AXIS);
        let inner = match self.transposed {
            true => 1 - contiguous.min(1),
            false => contiguous,
        };
        let is_inner = |(at, _): &(usize, &Axis)| *at == inner;
        let axes = self.operand.all_axes().enumerate();
        let (mut axes, rows): (Vec<_>, Vec<_>) = axes.partition(is_inner);
        axes.extend(rows);
        axes.into_iter().map(|(_, axis)| axis).collect()
    }
}

/// Names of modes are names of extents, but for constants.
fn extent(computes: &Computes, mode: &str) -> Expr {
    match computes.formula.constant_of(mode) {
        Some(extent) => extent.into(),
        None => Expr::named(mode),
    }
}

/// An operand as its copy lies: rows of whole lines, one behind another.
fn lying_in_rows(computes: &Computes, copied: &Copied) -> Operand {
    let operand = &copied.operand;
    let unit = row_elems(operand);
    let mut step: Option<Expr> = None;
    let mut strides = Vec::new();
    for axis in copied.outwards() {
        let extent = extent(computes, &axis.mode);
        let next = match &step {
            None => extent.ceil_div(unit) * unit,
            Some(step) => step.clone() * extent,
        };
        let stride = step.replace(next).map(|value| Stride::Product {
            name: format!("{}{COPY}_{}", operand.name, axis.mode),
            value,
        });
        strides.push((axis.mode.clone(), stride.unwrap_or(Stride::Const(1))));
    }
    let mut lying = operand.clone();
    let apart = lying.apart.iter_mut().map(|(_, axis)| axis);
    for axis in lying.axes.iter_mut().chain(apart) {
        if let Some((_, stride)) = strides.iter().find(|(mode, _)| *mode == axis.mode) {
            axis.stride = stride.clone();
        }
    }
    lying
}

/// What is wrong with a product of copies: that they lie otherwise than their operands takes part.
pub(super) fn blamed(mut error: Error, copied: &[Copied]) -> Error {
    let otherwise = |one: &&Copied| one.transposed || one.operand.contiguous_axis().is_none();
    let keys = copied.iter().filter(otherwise);
    let keys: Vec<String> = keys
        .map(|one| paths::copy(&one.operand.name, "realign").path().to_owned())
        .collect();
    if let Error::Plan { violations, .. } = &mut error {
        for violation in violations {
            violation.keys.extend(keys.iter().cloned());
        }
    }
    error
}

/// The plan of a product of copies with the plans that make them.
///
/// # Errors
/// Those of `plan`, by which copies are planned.
pub(super) fn joined(
    mut own: Plan,
    copied: Vec<Copied>,
    plan: impl Fn(&Point) -> Result<Plan>,
) -> Result<Plan> {
    let lines = |bytes: Expr| bytes.ceil_div(ROW_BYTES) * ROW_BYTES;
    let mut at = match own.workspace() {
        Some(bytes) => lines(bytes),
        None => 0.into(),
    };
    for copied in copied {
        let mut copy = plan(&point(&own, &copied)?)?;
        let bytes = bytes(&own.computes, &copied);
        let operand = copied.operand;
        copy.id = format!("{}, copy of {}", own.id, operand.name);
        copy.entry = format!("{}_{}", own.entry, operand.name);
        let made = Realigned {
            bytes,
            operand,
            at,
            copy: Box::new(copy),
        };
        at = made.end();
        own.copies.push(made);
    }
    Ok(own)
}

/// Bytes of a copy.
fn bytes(computes: &Computes, copied: &Copied) -> Expr {
    let unit = row_elems(&copied.operand);
    let mut all = copied
        .outwards()
        .into_iter()
        .map(|axis| extent(computes, &axis.mode));
    let row = all.next().map(|extent| extent.ceil_div(unit) * ROW_BYTES);
    let row = row.unwrap_or_else(|| 0.into());
    all.fold(row, |bytes, extent| bytes * extent)
}

/// The copy of an operand as a spec of its own: element by element, for what is read lies anyhow.
fn point(of: &Plan, copied: &Copied) -> Result<Point> {
    let operand = &copied.operand;
    let axes: Vec<&Axis> = copied.outwards().into_iter().rev().collect();
    let (name, to) = (&operand.name, format!("{}{COPY}", operand.name));
    let modes: Vec<&str> = axes.iter().map(|axis| axis.mode.as_str()).collect();
    let modes = modes.join(",");
    let strides = |given: &dyn Fn(&Axis) -> String| {
        let all: Vec<String> = axes.iter().map(|axis| given(axis)).collect();
        all.join(",")
    };
    let own = strides(&|axis| axis.stride.to_string());
    let inner = axes.last().map_or("", |axis| axis.mode.as_str());
    let lying = strides(&|axis| match axis.mode == inner {
        true => "1".to_owned(),
        false => format!("{to}_{}", axis.mode),
    });
    let constant = |axis: &&Axis| of.computes.formula.constant_of(&axis.mode);
    let constants = axes
        .iter()
        .filter_map(|axis| Some(format!("{}: {}", axis.mode, constant(axis)?)));
    let constants: Vec<String> = constants.collect();
    let extents = match copied.transposed {
        true => TRANSPOSED_TILE,
        false => TILE,
    };
    let tile = copied.outwards().into_iter().take(2).rev().zip(extents);
    let tile: Vec<String> = tile
        .map(|(axis, tile)| format!("{}: {tile}", axis.mode))
        .collect();
    let (dtype, bytes) = (operand.dtype, operand.dtype.bytes());
    let [(from, read), (into, written)] = match operand.is_written() {
        true => [(&to, lying), (name, own)],
        false => [(name, own), (&to, lying)],
    };
    let text = format!(
        "kernel: copy\nname: {to}\narch: {arch}\noperands:\n  {from}: {{ dtype: {dtype}, layout: \
         '({modes}):({read})' }}\n  {into}: {{ dtype: {dtype}, layout: '({modes}):({written})' \
         }}\ncompute: '{into}[{modes}] = {from}[{modes}]'\nmodes: {{ {constants} }}\ncta_tile: {{ \
         {tile} }}\nthreads: {THREADS}\ncopy: {{ {from}: {{ g2r: sm50_ld_global_{bytes} }}, \
         {into}: {{ r2g: sm50_st_global_{bytes} }} }}\n",
        arch = of.arch,
        constants = constants.join(", "),
        tile = tile.join(", "),
    );
    let bug = |message: String| Error::bug("plan", &of.id, message, &text);
    let file = spec::parse("-", &text).map_err(|error| bug(error.to_string()))?;
    let mut point = file
        .points
        .into_iter()
        .next()
        .ok_or_else(|| bug("no point".to_owned()))?;
    let lying = lying_in_rows(&of.computes, copied);
    for axes in point
        .spec
        .problem
        .operands
        .iter_mut()
        .filter(|one| one.name == to)
    {
        let apart = axes.apart.iter_mut().map(|(_, axis)| axis);
        for axis in axes.axes.iter_mut().chain(apart) {
            let mut known = lying.all_axes();
            if let Some(known) = known.find(|known| known.mode == axis.mode) {
                axis.stride = known.stride.clone();
            }
        }
    }
    Ok(point)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::plan::plan;
    use crate::spec;

    /// The plan of a product of these operands, each with its layout, with those copies.
    fn planned(a: &str, b: &str, copy: &str) -> crate::plan::data::model::Plan {
        let text = format!(
            "kernel: gemm\nname: gemm_t\narch: sm_90a\noperands:\n  a: {{ dtype: bf16, layout: \
             '{a}' }}\n  b: {{ dtype: bf16, layout: '{b}' }}\n  d: {{ dtype: bf16, layout: \
             '(m,n):(ldd,1)' }}\naccumulator: f32\ncta_tile: '(128,128,64)'\ncopy: {copy}\n"
        );
        plan(&spec::parse("-", &text).unwrap().points[0]).unwrap()
    }

    #[test]
    fn what_is_copied_asks_nothing_of_strides_and_addresses() {
        let asked = |copy: &str| {
            let plan = planned("(m,k):(lda,1)", "(n,k):(ldb,1)", copy);
            let asked: Vec<String> = plan.asked().collect();
            let is_of = |name: &str| {
                let (stride, place) = (format!("ld{name} %"), format!("align({name})"));
                asked
                    .iter()
                    .any(|one| one.starts_with(&stride) || one.starts_with(&place))
            };
            ["a", "b", "d"].map(is_of)
        };
        assert_eq!(asked("{}"), [true, true, true]);
        assert_eq!(asked("{ a: { realign: workspace } }"), [false, true, true]);
        assert_eq!(asked("{ a: { realign: direct } }"), [true, true, true]);
        let all = "{ a: { realign: workspace }, b: { realign: workspace }, d: { realign: \
                   workspace } }";
        assert_eq!(asked(all), [false; 3]);
    }

    #[test]
    fn copies_lie_behind_one_another_in_rows_of_whole_lines() {
        let copy = "{ a: { realign: workspace }, b: { realign: workspace } }";
        let plan = planned("(m,k):(1,lda)", "(n,k):(ldb,1)", copy);
        let lie = |name: &str| plan.named_operand(name).unwrap().layout();
        assert_eq!(lie("a"), "(m,k):(1,ceil_div(m, 64) * 64)");
        assert_eq!(lie("b"), "(n,k):(ceil_div(k, 64) * 64,1)");
        let [a, b] = plan.copies.as_slice() else {
            unreachable!("{plan}")
        };
        assert_eq!((a.at.text(), b.at.text()), ("0", a.bytes.text()));
        assert_eq!(a.bytes.text(), "ceil_div(m, 64) * 128 * k");
        assert_eq!(a.operand.layout(), "(m,k):(1,lda)");
        let all = plan.all_workspace();
        assert_eq!(all.text(), format!("{} + {}", a.bytes, b.bytes));
        // Neither copy asks anything: elements are copied one by one.
        assert_eq!(a.copy.asks().count() + b.copy.asks().count(), 0);
    }

    #[test]
    fn what_is_transposed_lies_along_the_other_axis() {
        let copy = "{ a: { realign: transposed }, b: { realign: workspace } }";
        let plan = planned("(m,k):(1,lda)", "(n,k):(ldb,1)", copy);
        let lie = |name: &str| plan.named_operand(name).unwrap().layout();
        assert_eq!(lie("a"), "(m,k):(ceil_div(k, 64) * 64,1)");
        assert_eq!(lie("b"), "(n,k):(ceil_div(k, 64) * 64,1)");
        let [a, _] = plan.copies.as_slice() else {
            unreachable!("{plan}")
        };
        assert_eq!(a.bytes.text(), "ceil_div(k, 64) * 128 * m");
        assert_eq!(a.copy.asks().count(), 0);
        let (read, written) = (a.copy.named_operand("a"), a.copy.named_operand("a_copy"));
        assert_eq!(read.unwrap().layout(), "(m,k):(1,lda)");
        assert_eq!(written.unwrap().layout(), "(m,k):(ceil_div(k, 64) * 64,1)");
    }

    #[test]
    fn of_batches_each_is_copied() {
        let text = "kernel: bmm\nname: bmm_t\narch: sm_90a\noperands:\n  a: { dtype: bf16, \
                    layout: '(g,m,k):(sga,lda,1)' }\n  b: { dtype: bf16, layout: \
                    '(g,n,k):(sgb,ldb,1)' }\n  d: { dtype: bf16, layout: '(g,m,n):(sgd,ldd,1)' \
                    }\ncompute: d[g,m,n] = sum[k] a[g,m,k] * b[g,n,k]\ncta_tile: { m: 128, n: \
                    128, k: 64 }\ncopy: { a: { realign: workspace } }\n";
        let plan = plan(&spec::parse("-", text).unwrap().points[0]).unwrap();
        let a = plan.named_operand("a").unwrap();
        let rows = "ceil_div(k, 64) * 64";
        assert_eq!(a.layout(), format!("(g,m,k):({rows} * m,{rows},1)"));
        assert_eq!(plan.all_workspace().text(), "ceil_div(k, 64) * 128 * m * g");
    }
}
