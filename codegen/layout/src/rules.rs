//! The composition rules of others, for comparison with the exact one.
//!
//! In: a pair of constant layouts. Out: what each rule answers, and where the answers differ.
//! Invariant: nothing else in this crate uses these rules; some of them accept pairs that do not
//! compose, or refuse pairs that do.

use std::fmt;

use crate::composition::composition;
use crate::error::{Error, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::simplify::merged;
use crate::tuple::Profile;

/// The rule of CuTe's C++ headers, which treats each mode of `b` alone: the layout it returns,
/// right or wrong.
///
/// `cute_rule(&"(6,4):(1,100)", &"4:4")` is `(2,2):(4,100)`, whose value at 3 is 104 and not 200.
///
/// # Errors
/// [`Error::Indivisible`] where CuTe's stride or shape divisibility condition fails;
/// [`Error::Overflow`].
pub fn cute_rule(a: &Layout, b: &Layout) -> Result<Layout> {
    let outer = merged(a, true)?;
    let mut profiles = Vec::new();
    let (mut shape, mut stride) = (Vec::new(), Vec::new());
    for (size, step) in b.leaves() {
        let modes = cute_mode(&outer, *size, *step)?;
        profiles.push(match modes.len() {
            1 => Profile::leaf(),
            n => Profile::flat(n),
        });
        shape.extend(modes.iter().map(|m| m.0));
        stride.extend(modes.iter().map(|m| m.1));
    }
    let profile = b.profile().graft(profiles.into_iter());
    Layout::from_parts(
        profile,
        shape.into_iter().collect(),
        stride.into_iter().collect(),
    )
}

fn cute_mode(outer: &[(i64, i64)], size: i64, step: i64) -> Result<Vec<(i64, i64)>> {
    let Some(((_, last), head)) = outer.split_last() else {
        return Ok(vec![(size, 0)]);
    };
    if step == 0 {
        return Ok(vec![(size, 0)]);
    }
    let (mut rest, mut far) = (size, step);
    let mut out = Vec::new();
    for (n, d) in head {
        if far % n != 0 && far >= *n {
            return Err(cute_refusal("stride divisibility condition", far, *n));
        }
        let reach = n.ceil_div(&magnitude(far)?.max(1))?;
        let next = magnitude(far)?.ceil_div(n)?.try_mul(&far.signum())?;
        if reach != 1 && rest != 1 {
            let kept = reach.min(rest);
            if rest % kept != 0 {
                return Err(cute_refusal("shape divisibility condition", rest, kept));
            }
            out.push((kept, far.try_mul(d)?));
            rest /= kept;
        }
        far = next;
    }
    if out.is_empty() || rest != 1 {
        out.push((rest, far.try_mul(last)?));
    }
    Ok(out)
}

fn magnitude(x: i64) -> Result<i64> {
    x.checked_abs()
        .ok_or_else(|| Error::overflow(format!("the magnitude of {x}")))
}

fn cute_refusal(what: &str, size: i64, by: i64) -> Error {
    Error::Indivisible {
        what: what.to_owned(),
        size: size.to_string(),
        by: by.to_string(),
    }
}

/// Shah's left divisibility: each mode `N:r` of `b` follows the extents of the coalesced `a` from
/// its stride on. It decides one mode; two modes may still carry into one another.
///
/// # Errors
/// [`Error::Indivisible`] names the extents that do not divide; [`Error::Domain`] for negative
/// strides; [`Error::Overflow`].
pub fn left_divisible(a: &Layout, b: &Layout) -> Result<()> {
    let extents: Vec<i64> = merged(a, true)?.iter().map(|m| m.0).collect();
    for (size, step) in b.leaves().filter(|(s, d)| **s != 1 && **d != 0) {
        if *step < 0 {
            return Err(Error::domain(format!(
                "{a} o {b}: left divisibility is stated for positive strides, not {step}"
            )));
        }
        let rest = divide_out(&extents, *step, true)?;
        divide_out(&rest, *size, false)?;
    }
    Ok(())
}

/// The extents that are left when `by` is divided out of them from the left. `strict` also asks
/// that the last extent reached is a multiple of what is left of `by`.
fn divide_out(extents: &[i64], by: i64, strict: bool) -> Result<Vec<i64>> {
    let mut left = by;
    for (i, n) in extents.iter().enumerate() {
        let last = i + 1 == extents.len();
        if left < *n || last {
            if strict && !last && n % left != 0 {
                return Err(cute_refusal("left divisibility", *n, left));
            }
            let mut rest = extents[i..].to_vec();
            rest[0] = if last { i64::MAX } else { n / left };
            return Ok(rest);
        }
        if left % n != 0 {
            return Err(cute_refusal("left divisibility", left, *n));
        }
        left /= n;
    }
    Ok(Vec::new())
}

/// Shah's second condition: the intervals from the first to the last step of each mode of `b`, cut
/// to the extents of `a` but the last, do not meet.
///
/// # Errors
/// [`Error::Domain`] names two intervals that meet, or a negative stride; [`Error::Overflow`].
pub fn disjoint_intervals(a: &Layout, b: &Layout) -> Result<()> {
    let outer = merged(a, true)?;
    let bounded = outer.len().saturating_sub(1);
    let end = outer[..bounded]
        .iter()
        .try_fold(1i64, |p, m| p.try_mul(&m.0))?;
    let mut intervals: Vec<(i64, i64)> = Vec::new();
    for (size, step) in b.leaves().filter(|(s, d)| **s != 1 && **d != 0) {
        if *step < 0 {
            return Err(Error::domain(format!(
                "{a} o {b}: disjoint intervals are stated for positive strides, not {step}"
            )));
        }
        let far = (size - 1).try_mul(step)?;
        if *step < end {
            intervals.push((*step, far.min(end - 1)));
        }
    }
    intervals.sort_unstable();
    for pair in intervals.windows(2) {
        let ((first, last), (from, to)) = (pair[0], pair[1]);
        if from <= last {
            return Err(Error::domain(format!(
                "{a} o {b}: the intervals [{first},{last}] and [{from},{to}] meet inside [1,{end})"
            )));
        }
    }
    Ok(())
}

/// What each rule answers on one pair.
///
/// ```
/// use tilewright_layout::Comparison;
/// let c = Comparison::of(&"(36,18):(1,72)".parse()?, &"(9,4):(4,9)".parse()?);
/// assert_eq!(c.to_string(), "\
/// (36,18):(1,72) o (9,4):(4,9)
/// exact               refuses: at 16 it must be 73, its modes give 37 \
/// (the sum carries into the next digit)
/// CuTe                accepts (9,4):(4,9): wrong
/// left divisibility   accepts: wrong
/// disjoint intervals  refuses: right");
/// # Ok::<(), tilewright_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The pair, in layout notation.
    pub pair: String,
    /// The exact answer of [`composition`].
    pub exact: Result<Layout>,
    /// [`cute_rule`].
    pub cute: Result<Layout>,
    /// [`left_divisible`].
    pub left_divisible: Result<()>,
    /// [`left_divisible`] and [`disjoint_intervals`], which together accept only right pairs.
    pub disjoint: Result<()>,
}

/// How an answer stands to the exact one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The same function, or a refusal where there is no layout.
    Right,
    /// Accepted where there is no layout, or with another function.
    Wrong,
    /// Refused where there is a layout.
    RefusedValid,
    /// The exact answer is undecided or an overflow.
    Open,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::RefusedValid => "refuses a valid pair",
            Self::Open => "not comparable",
        })
    }
}

impl Comparison {
    /// All rules on `a o b`.
    pub fn of(a: &Layout, b: &Layout) -> Self {
        let left_divisible = left_divisible(a, b);
        Self {
            pair: format!("{a} o {b}"),
            exact: composition(a, b),
            cute: cute_rule(a, b),
            disjoint: left_divisible
                .clone()
                .and_then(|()| disjoint_intervals(a, b)),
            left_divisible,
        }
    }

    /// How CuTe's answer stands to the exact one.
    pub fn cute_verdict(&self) -> Verdict {
        let same = |r: &Layout, c: &Layout| {
            let short = |l: &Layout| merged(l, false).ok();
            short(r).is_some_and(|s| Some(s) == short(c))
        };
        match (&self.exact, &self.cute) {
            (Ok(r), Ok(c)) if same(r, c) => Verdict::Right,
            (Ok(_), Ok(_)) => Verdict::Wrong,
            (exact, cute) => verdict(exact, cute.is_ok()),
        }
    }

    /// How left divisibility stands to the exact answer.
    pub fn left_divisible_verdict(&self) -> Verdict {
        verdict(&self.exact, self.left_divisible.is_ok())
    }

    /// How left divisibility with disjoint intervals stands to the exact answer.
    pub fn disjoint_verdict(&self) -> Verdict {
        verdict(&self.exact, self.disjoint.is_ok())
    }
}

fn verdict(exact: &Result<Layout>, accepts: bool) -> Verdict {
    match (exact, accepts) {
        (Ok(_), true) | (Err(Error::NotALayout(_) | Error::Domain { .. }), false) => Verdict::Right,
        (Ok(_), false) => Verdict::RefusedValid,
        (Err(Error::NotALayout(_) | Error::Domain { .. }), true) => Verdict::Wrong,
        (Err(_), _) => Verdict::Open,
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accepts = |ok: bool| if ok { "accepts" } else { "refuses" };
        writeln!(f, "{}", self.pair)?;
        match &self.exact {
            Ok(r) => writeln!(f, "exact               accepts {r}")?,
            Err(e) => {
                let text = e.to_string();
                let head = format!("{} is no layout: ", self.pair);
                let text = text.strip_prefix(&head).unwrap_or(&text);
                writeln!(f, "exact               refuses: {text}")?;
            }
        }
        match &self.cute {
            Ok(c) => write!(f, "CuTe                accepts {c}")?,
            Err(e) => write!(f, "CuTe                refuses: {e}")?,
        }
        writeln!(f, ": {}", self.cute_verdict())?;
        let (left, both) = (self.left_divisible.is_ok(), self.disjoint.is_ok());
        writeln!(
            f,
            "left divisibility   {}: {}",
            accepts(left),
            self.left_divisible_verdict()
        )?;
        write!(
            f,
            "disjoint intervals  {}: {}",
            accepts(both),
            self.disjoint_verdict()
        )
    }
}
