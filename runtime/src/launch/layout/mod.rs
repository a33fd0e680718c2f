//! Operand layouts as the manifest has them, matched with the strides of a problem.
//!
//! `(m,k):(lda,1)` has one shape and one stride expression per axis. Matching binds a stride that
//! is a single unbound name (`lda`) to the problem's stride, and compares every other one. The
//! stride of an axis of extent 1 is never used, so it matches anything.

mod elements;
mod overlap;

use tilewright_bundle::{Env, Expr, MAX_AXES, Operand, OperandLayout};

use crate::error::Refusal;
pub(crate) use overlap::{Placed, Sharing, sharing};

/// An operand of one problem: extents and strides in elements, first axis first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    rank: usize,
    shape: [i64; MAX_AXES],
    stride: [i64; MAX_AXES],
}

/// An operand of at most two axes as rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Matrix {
    /// Extent of the first axis; 1 where there is one axis.
    pub rows: i64,
    /// Extent of the last axis.
    pub cols: i64,
    /// Stride of the first axis.
    pub row_stride: i64,
    /// Stride of the last axis.
    pub col_stride: i64,
}

impl Matrix {
    /// The same with rows and columns swapped.
    #[must_use]
    pub const fn turned(self) -> Matrix {
        Matrix {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }
}

/// Strides of elements without gaps, last axis innermost.
pub fn dense_strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at].saturating_mul(shape[at].max(1));
    }
    strides
}

impl Extents {
    /// An operand with these extents and strides; axes beyond [`MAX_AXES`] are left out, which a
    /// layout cannot have.
    pub fn new(axes: impl IntoIterator<Item = (i64, i64)>) -> Extents {
        let mut extents = Extents {
            rank: 0,
            shape: [1; MAX_AXES],
            stride: [0; MAX_AXES],
        };
        for (at, (extent, stride)) in axes.into_iter().take(MAX_AXES).enumerate() {
            extents.shape[at] = extent;
            extents.stride[at] = stride;
            extents.rank = at + 1;
        }
        extents
    }

    /// The extents, first axis first.
    pub fn shape(&self) -> &[i64] {
        self.shape.get(..self.rank).unwrap_or_default()
    }

    /// The strides in elements, first axis first.
    pub fn stride(&self) -> &[i64] {
        self.stride.get(..self.rank).unwrap_or_default()
    }

    /// Extent and stride of each axis.
    pub fn axes(&self) -> impl Iterator<Item = (i64, i64)> {
        let strides = self.stride().iter();
        self.shape().iter().copied().zip(strides.copied())
    }

    /// Elements from the first to behind the last one, or `None` beyond 64 bits.
    pub fn span_elems(&self) -> Option<i64> {
        let last = |extent: i64, stride: i64| extent.checked_sub(1)?.checked_mul(stride);
        if self.is_empty() {
            return Some(0);
        }
        let mut axes = self.axes();
        let end = axes.try_fold(0i64, |end, (extent, stride)| {
            end.checked_add(last(extent, stride)?)
        });
        end?.checked_add(1)
    }

    /// Whether there is no element: an extent is 0.
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Number of elements.
    pub fn elems(&self) -> i64 {
        self.shape().iter().fold(1, |a, b| a.saturating_mul(*b))
    }

    /// Whether no two elements share an address. Of one or two axes of more than one element the
    /// answer is exact; of more it is yes where each stride covers every axis of smaller ones.
    pub fn is_injective(&self) -> bool {
        let axes = || self.axes().filter(|(extent, _)| *extent > 1).enumerate();
        if axes().any(|(_, (_, stride))| stride == 0) {
            return false;
        }
        let mut list = axes().map(|(_, axis)| axis);
        if let (Some(rows), Some(cols), None) = (list.next(), list.next(), list.next()) {
            return are_apart(rows, cols);
        }
        axes().all(|(at, (_, stride))| {
            let mut inner = axes().filter(|(other, (_, step))| (*step, *other) < (stride, at));
            inner.all(|(_, (extent, step))| extent.checked_mul(step).is_some_and(|s| stride >= s))
        })
    }

    /// The operand as rows and columns; `None` of more than two axes.
    pub fn matrix(&self) -> Option<Matrix> {
        let (rows, cols) = match (self.shape(), self.stride()) {
            ([], []) => ((1, 0), (1, 1)),
            ([cols], [step]) => ((1, 0), (*cols, *step)),
            ([rows, cols], [row, col]) => ((*rows, *row), (*cols, *col)),
            _ => return None,
        };
        Some(Matrix {
            rows: rows.0,
            cols: cols.0,
            row_stride: rows.1,
            col_stride: cols.1,
        })
    }

    /// Calls with (offset in elements, position in dense order, elements) for runs of elements that
    /// follow one another in memory and in dense order, which has the last axis innermost.
    pub fn for_each_run(&self, mut run: impl FnMut(i64, i64, i64)) {
        if self.elems() < 1 {
            return;
        }
        let outer = self.rank.saturating_sub(1);
        let (last, step) = match self.rank {
            0 => (1, 1),
            _ => (self.shape[outer], self.stride[outer]),
        };
        let whole = step == 1 || last == 1;
        let (count, runs) = if whole { (last, 1) } else { (1, last) };
        let (mut at, mut dense) = ([0i64; MAX_AXES], 0);
        loop {
            let offsets = at.iter().zip(&self.stride).take(outer);
            let offset: i64 = offsets.map(|(at, stride)| at * stride).sum();
            for one in 0..runs {
                run(offset + one * step, dense, count);
                dense += count;
            }
            let steps = at.iter_mut().zip(&self.shape).take(outer).rev();
            let mut carried = true;
            for (at, extent) in steps {
                *at += 1;
                if *at < *extent {
                    carried = false;
                    break;
                }
                *at = 0;
            }
            if carried {
                return;
            }
        }
    }

    /// The coordinate of an element that stands at `at` in dense order: `(2,7)`.
    pub fn coordinate(&self, at: i64) -> String {
        let digits = self.coordinates(at).into_iter();
        let digits: Vec<String> = digits.map(|digit| digit.to_string()).collect();
        format!("({})", digits.join(","))
    }

    /// The same as numbers, by axis.
    pub fn coordinates(&self, at: i64) -> Vec<i64> {
        let mut rest = at;
        let mut digits: Vec<i64> = Vec::new();
        for extent in self.shape().iter().rev() {
            let extent = (*extent).max(1);
            digits.push(rest % extent);
            rest /= extent;
        }
        digits.reverse();
        digits
    }
}

/// Whether no two elements of two axes share an address.
fn are_apart((rows, row): (i64, i64), (cols, col): (i64, i64)) -> bool {
    // (i, j) and (i + col/g, j - row/g) share one, and nothing nearer does.
    let [row, col] = [row, col].map(i64::unsigned_abs);
    let common = gcd(row, col);
    let fits = |step: u64, extent: i64| step < extent.unsigned_abs();
    !(fits(col / common, rows) && fits(row / common, cols))
}

/// The greatest common divisor of two numbers above 0.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl From<Matrix> for Extents {
    fn from(matrix: Matrix) -> Extents {
        let rows = (matrix.rows, matrix.row_stride);
        Extents::new([rows, (matrix.cols, matrix.col_stride)])
    }
}

impl std::fmt::Display for Extents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |values: &[i64]| {
            values
                .iter()
                .map(i64::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        write!(f, "({}):({})", list(self.shape()), list(self.stride()))
    }
}

/// Matches an operand's layout with a problem's strides, binding stride names in `env`.
///
/// # Errors
/// The refusal that says why they do not match.
pub(crate) fn bind(operand: &Operand, given: &[i64], env: &mut Env) -> Result<Extents, Refusal> {
    let layout = &operand.layout;
    let eval = |expr: &Expr, env: &Env| {
        expr.eval(env).map_err(|error| Refusal::Expression {
            what: format!("layout of `{}`", operand.name),
            error,
        })
    };
    let other_form = |env: &Env| Refusal::Layout {
        operand: operand.name.clone(),
        layout: layout.text().to_owned(),
        way_out: other_strides(operand, given, env),
        given: given
            .iter()
            .map(i64::to_string)
            .collect::<Vec<_>>()
            .join(","),
    };
    if given.len() != layout.rank() {
        return Err(other_form(env));
    }
    let mut shape = [1; MAX_AXES];
    for (extent, expr) in shape.iter_mut().zip(&layout.shape) {
        *extent = eval(expr, env)?;
    }
    for ((expr, value), extent) in layout.stride.iter().zip(given).zip(shape) {
        if let Some(name) = expr.single_name()
            && env.get(name).is_none()
        {
            env.set(name, *value);
        } else if extent > 1 && eval(expr, env)? != *value {
            return Err(other_form(env));
        }
    }
    let extents = Extents::new(shape.into_iter().zip(given.iter().copied()));
    // A layout may repeat one row or column; a caller's stride of 0 is a mistake.
    let mut axes = layout.stride.iter().zip(extents.axes());
    if axes.any(|(expr, (extent, stride))| extent > 1 && stride < least_stride(expr)) {
        return Err(strides_refused(
            operand,
            &extents,
            &not_positive(operand, &extents),
        ));
    }
    if extents.span_elems().is_none() {
        let problem = "the last element lies beyond 64 bits";
        return Err(strides_refused(operand, &extents, problem));
    }
    Ok(extents)
}

/// The layout of an operand with names for the strides that follow from extents; `None` where none
/// does.
pub(crate) fn named_strides(operand: &Operand) -> Option<String> {
    let follows = |at: usize| follows(operand, at);
    let any = (0..operand.layout.rank()).any(follows);
    any.then(|| {
        let kept = |at: usize| (!follows(at)).then(|| operand.layout.stride[at].text());
        strides_named(operand, kept, |_| false)
    })
}

/// Whether a stride of an operand follows from extents.
fn follows(operand: &Operand, at: usize) -> bool {
    let OperandLayout { shape, stride, .. } = &operand.layout;
    let Some(expr) = stride.get(at) else {
        return false;
    };
    let is_extent = || shape.iter().any(|extent| extent.text() == expr.text());
    expr.constant_value().is_none() && (expr.single_name().is_none() || is_extent())
}

/// The layout of an operand with the strides that `kept` has, and names for all others: `ldw` of
/// rows, `sw` in the place of 1; none that is another's.
fn strides_named<'o>(
    operand: &'o Operand,
    kept: impl Fn(usize) -> Option<&'o str>,
    is_others: impl Fn(&str) -> bool,
) -> String {
    let (name, rank) = (&operand.name, operand.layout.rank());
    let has_one = (0..rank).any(|at| kept(at) == Some("1"));
    let was_one = |at: usize| !has_one && operand.layout.stride[at].constant_value() == Some(1);
    let rows = |at: &usize| kept(*at).is_none() && !was_one(*at);
    let rows = (0..rank).filter(rows).count();
    let kept_ones: Vec<&str> = (0..rank).filter_map(&kept).collect();
    let taken = |name: &str| kept_ones.contains(&name) || is_others(name);
    let strides = (0..rank).map(|at| match kept(at) {
        Some(stride) => stride.to_owned(),
        None if was_one(at) && !taken(&format!("s{name}")) => format!("s{name}"),
        None if was_one(at) || rows > 1 || taken(&format!("ld{name}")) => {
            format!("ld{name}{at}")
        }
        None => format!("ld{name}"),
    });
    let strides: Vec<String> = strides.collect();
    let modes: Vec<&str> = operand.layout.shape.iter().map(Expr::text).collect();
    format!("({}):({})", modes.join(","), strides.join(","))
}

/// What to do with strides that a layout does not take: which spec takes them. Names that have a
/// value in `env` are those of other operands as well.
fn other_strides(operand: &Operand, given: &[i64], env: &Env) -> String {
    let layout = &operand.layout;
    let rank = layout.rank();
    if given.len() != rank {
        return format!(": give {rank}, one of each axis");
    }
    if let Some(told) = other_than_another(operand, given, env) {
        return told;
    }
    let is_long = |at: &usize| layout.shape[*at].eval(env) != Ok(1);
    let is_one = |at: &usize| layout.stride[*at].constant_value() == Some(1);
    // The axis that is to be contiguous: the layout's own, if it is, or another one.
    let own = (0..rank).find(is_one);
    let own = own.filter(|at| given[*at] == 1 || !is_long(at));
    let one = own.or_else(|| (0..rank).find(|at| given[*at] == 1 && is_long(at)));
    let kept = |at: usize| {
        let expr = &layout.stride[at];
        let agrees = || match expr.eval(env) {
            Ok(value) => value == given[at],
            Err(_) => expr.single_name().is_some(),
        };
        let is_repeated = !operand.role.is_written() && given[at] == 0;
        match () {
            () if one == Some(at) => Some("1"),
            () if is_repeated && is_long(&at) => Some("0"),
            () if is_one(&at) || follows(operand, at) => None,
            () if expr.constant_value().is_some() => None,
            () => agrees().then(|| expr.text()),
        }
    };
    let is_others = |name: &str| {
        let mut strides = layout.stride.iter().zip(given);
        let is_it = |stride: &Expr| stride.text() == name;
        strides
            .any(|(stride, own)| is_it(stride) && stride.eval(env).is_ok_and(|value| value != *own))
    };
    let named = strides_named(operand, kept, is_others);
    match (one, own) {
        // Rows that are vectors apart are loaded by vectors, others element by element.
        (Some(_), Some(at)) if are_vectors_apart(operand, given, at) => format!(
            ": build a kernel of a spec that names its strides, `{named}`, which takes rows of \
             whole {VECTOR_BYTES} bytes"
        ),
        (Some(_), Some(_)) => {
            let kept = |at: usize| kept(at).filter(|stride| *stride == "0");
            let any = strides_named(operand, kept, is_others);
            format!(
                ": build a kernel of a spec with any strides, `{any}`, or pad rows to whole \
                 {VECTOR_BYTES} bytes, which one with `{named}` takes"
            )
        }
        (Some(_), None) => format!(
            ": give a copy in that order, or build a kernel of a spec of the order given, `{named}`"
        ),
        (None, _) => format!(
            ": give a copy in that order, or build a kernel of a spec with any strides, `{named}`"
        ),
    }
}

/// What to do where all strides that are not the kernel's have names whose values other operands
/// have told.
fn other_than_another(operand: &Operand, given: &[i64], env: &Env) -> Option<String> {
    let layout = &operand.layout;
    let is_long = |at: &usize| layout.shape[*at].eval(env) != Ok(1);
    let is_other = |at: &usize| {
        let value = layout.stride[*at].eval(env);
        is_long(at) && value.is_ok_and(|value| value != given[*at])
    };
    let others: Vec<usize> = (0..layout.rank()).filter(is_other).collect();
    let mut told: Vec<String> = Vec::new();
    for at in &others {
        let stride = &layout.stride[*at];
        stride.single_name().filter(|_| !follows(operand, *at))?;
        let one = format!("{} is {}", stride.text(), stride.eval(env).ok()?);
        if !told.contains(&one) {
            told.push(one);
        }
    }
    let them = match told.len() {
        0 => return None,
        1 => "this one",
        _ => "these",
    };
    let kept = |at: usize| (!others.contains(&at)).then(|| layout.stride[at].text());
    let is_told = |name: &str| others.iter().any(|at| layout.stride[*at].text() == name);
    let named = strides_named(operand, kept, is_told);
    Some(format!(
        ", and {} by another operand: give both the same, or build a kernel of a spec that names \
         {them} apart, `{named}`",
        told.join(", ")
    ))
}

/// Bytes that the widest loads and tensor maps want strides to be a multiple of.
const VECTOR_BYTES: u64 = 16;

/// Whether all strides of an operand but that of an axis are whole vectors.
fn are_vectors_apart(operand: &Operand, given: &[i64], contiguous: usize) -> bool {
    let mut others = (given.iter().enumerate()).filter(|(at, _)| *at != contiguous);
    let bits = u64::from(operand.dtype.bits());
    others.all(|(_, stride)| stride.unsigned_abs().saturating_mul(bits) % (8 * VECTOR_BYTES) == 0)
}

/// That strides are not positive, and what to do with those that repeat elements.
fn not_positive(operand: &Operand, extents: &Extents) -> String {
    let text = "strides must be positive";
    if operand.role.is_written() {
        return match &operand.over {
            Some(over) => format!("{text}, also of `{over}`, which it is written over"),
            None => format!("{text}: give memory of its own for each element"),
        };
    }
    if extents.stride().iter().any(|stride| *stride < 0) {
        return format!("{text}: give a copy, which lies in the order of its axes");
    }
    let OperandLayout { shape, stride, .. } = &operand.layout;
    let shape: Vec<&str> = shape.iter().map(Expr::text).collect();
    let stride = stride.iter().zip(extents.axes());
    let stride = stride.map(|(expr, (extent, stride))| match extent > 1 && stride == 0 {
        true => "0",
        false => expr.text(),
    });
    let stride: Vec<&str> = stride.collect();
    format!(
        "{text}: give a copy that repeats nothing, or build a kernel of a spec that says so, \
         `({}):({})`",
        shape.join(","),
        stride.join(",")
    )
}

/// Why an operand's strides are refused.
pub fn strides_refused(operand: &Operand, extents: &Extents, problem: &str) -> Refusal {
    Refusal::Strides {
        operand: operand.name.clone(),
        shape: extents.shape().to_vec(),
        stride: extents.stride().to_vec(),
        problem: problem.to_owned(),
    }
}

/// The least stride of an axis of more than one element whose stride is that expression: 0 where it
/// says so, 1 otherwise.
pub(crate) fn least_stride(expr: &Expr) -> i64 {
    i64::from(expr.constant_value() != Some(0))
}

#[cfg(test)]
mod tests;
