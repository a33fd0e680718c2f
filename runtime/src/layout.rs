//! Operand layouts as the manifest writes them, matched with the strides of a problem.
//!
//! `(m,k):(lda,1)` has one shape and one stride expression per mode. Matching binds a stride that
//! is a single unbound name (`lda`) to the problem's stride, and compares every other one. The
//! stride of a mode of extent 1 is never used, so it matches anything.

use tilewright_bundle::{Env, Expr, Name, Operand};

use crate::error::Refusal;
use crate::problem::Strides;

/// A layout text of one or two modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperandLayout {
    /// Extents, first mode first; a layout of one mode counts as one row.
    pub shape: [Expr; 2],
    /// Strides in elements.
    pub stride: [Expr; 2],
}

/// An operand of one problem: extents and strides in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    /// Extent of the first mode.
    pub rows: i64,
    /// Extent of the second mode.
    pub cols: i64,
    /// Stride of the first mode.
    pub row_stride: i64,
    /// Stride of the second mode.
    pub col_stride: i64,
}

impl Extents {
    /// Elements from the first to behind the last one, or `None` beyond 64 bits.
    pub fn span_elems(&self) -> Option<i64> {
        let last = |extent: i64, stride: i64| extent.checked_sub(1)?.checked_mul(stride);
        let rows = last(self.rows, self.row_stride)?;
        rows.checked_add(last(self.cols, self.col_stride)?)?
            .checked_add(1)
    }

    /// Number of elements.
    pub fn elems(&self) -> i64 {
        self.rows.saturating_mul(self.cols)
    }

    /// Offset of an element inside the operand.
    pub const fn offset(&self, row: i64, col: i64) -> i64 {
        row * self.row_stride + col * self.col_stride
    }

    /// Whether no two elements share an address.
    pub fn is_injective(&self) -> bool {
        let apart = |extent: i64, stride: i64| extent <= 1 || stride != 0;
        if !apart(self.rows, self.row_stride) || !apart(self.cols, self.col_stride) {
            return false;
        }
        if self.rows <= 1 || self.cols <= 1 {
            return true;
        }
        // (i, j) and (i + col/g, j - row/g) share one, and nothing nearer does.
        let [row, col] = [self.row_stride, self.col_stride].map(i64::unsigned_abs);
        let common = gcd(row, col);
        let fits = |step: u64, extent: i64| step < extent.unsigned_abs();
        !(fits(col / common, self.rows) && fits(row / common, self.cols))
    }
}

/// The greatest common divisor of two numbers above 0.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl std::str::FromStr for OperandLayout {
    type Err = String;

    /// Parses `(m,k):(lda,1)`, `((m)):(1)` being no layout here, `(n):(1)` a row.
    fn from_str(text: &str) -> Result<Self, String> {
        let (shape, stride) = text.split_once(':').ok_or("expected shape:stride")?;
        let (shape, stride) = (modes(shape)?, modes(stride)?);
        if shape.len() != stride.len() {
            return Err(format!(
                "{} extents and {} strides",
                shape.len(),
                stride.len()
            ));
        }
        let pair = |mut list: Vec<Expr>, first: i64| match (list.pop(), list.pop(), list.pop()) {
            (Some(col), Some(row), None) => Ok([row, col]),
            (Some(col), None, None) => Ok([Expr::constant(first), col]),
            _ => Err("one or two modes are supported".to_owned()),
        };
        Ok(OperandLayout {
            shape: pair(shape, 1)?,
            stride: pair(stride, 0)?,
        })
    }
}

/// The expressions of `(x,y)` or of a bare `x`.
fn modes(text: &str) -> Result<Vec<Expr>, String> {
    let text = text.trim();
    let inner = match text.strip_prefix('(') {
        Some(rest) => rest.strip_suffix(')').ok_or("expected `)` at the end")?,
        None => text,
    };
    let mut parts = vec![String::new()];
    let mut depth = 0usize;
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts
        .iter()
        .map(|part| part.parse::<Expr>().map_err(|e| e.to_string()))
        .collect()
}

impl OperandLayout {
    /// The layout of a kernel's operand.
    ///
    /// # Errors
    /// [`Refusal::LayoutText`] when its text is no layout.
    pub fn of(operand: &Operand) -> Result<OperandLayout, Refusal> {
        operand
            .layout
            .parse()
            .map_err(|problem| Refusal::LayoutText {
                operand: operand.name.clone(),
                layout: operand.layout.clone(),
                problem,
            })
    }

    /// Matches the layout with a problem's strides, binding stride names in `env`.
    ///
    /// # Errors
    /// The refusal that says why they do not match.
    pub fn bind(
        &self,
        operand: &str,
        text: &str,
        given: Strides,
        env: &mut Env,
    ) -> Result<Extents, Refusal> {
        let eval = |expr: &Expr, env: &Env| {
            expr.eval(env).map_err(|error| Refusal::Expression {
                what: format!("layout of `{operand}`"),
                error,
            })
        };
        let (rows, cols) = (eval(&self.shape[0], env)?, eval(&self.shape[1], env)?);
        let pairs = [
            (&self.stride[0], given.row, rows),
            (&self.stride[1], given.col, cols),
        ];
        for (expr, value, extent) in pairs {
            if let Some(name) = single_name(expr)
                && env.get(name).is_none()
            {
                env.set(name, value);
            } else if extent > 1 && eval(expr, env)? != value {
                return Err(Refusal::Layout {
                    operand: operand.to_owned(),
                    layout: text.to_owned(),
                    given: format!("({},{})", given.row, given.col),
                });
            }
        }
        let extents = Extents {
            rows,
            cols,
            row_stride: given.row,
            col_stride: given.col,
        };
        let refuse = |problem| Refusal::Strides {
            operand: operand.to_owned(),
            rows,
            cols,
            row: given.row,
            col: given.col,
            problem,
        };
        // A layout may repeat one row or column; a caller's stride of 0 is a mistake.
        let mut pairs = pairs.into_iter();
        if pairs.any(|(expr, stride, extent)| extent > 1 && stride < least_stride(expr)) {
            return Err(refuse("strides must be positive"));
        }
        if extents.span_elems().is_none() {
            return Err(refuse("the last element lies beyond 64 bits"));
        }
        Ok(extents)
    }
}

/// The least stride of a mode of more than one element whose stride is that expression: 0 where it
/// says so, 1 otherwise.
pub(crate) fn least_stride(expr: &Expr) -> i64 {
    let repeats =
        expr.names().next().is_none() && expr.eval(&Env::new()).is_ok_and(|value| value == 0);
    i64::from(!repeats)
}

/// The name, when the expression is nothing else.
pub(crate) fn single_name(expr: &Expr) -> Option<Name> {
    Name::from_text(expr.text().trim())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn env(m: i64, n: i64, k: i64) -> Env {
        Env::new()
            .with(Name::M, m)
            .with(Name::N, n)
            .with(Name::K, k)
    }

    fn bind(text: &str, env: &mut Env, row: i64, col: i64) -> Result<Extents, Refusal> {
        let layout: OperandLayout = text.parse().unwrap();
        layout.bind("a", text, Strides { row, col }, env)
    }

    #[test]
    fn names_are_bound_and_compared() {
        let mut e = env(5, 6, 7);
        let extents = bind("(m,k):(lda,1)", &mut e, 8, 1).unwrap();
        assert_eq!((extents.rows, extents.cols, extents.row_stride), (5, 7, 8));
        assert_eq!(extents.span_elems(), Some(4 * 8 + 6 + 1));
        assert_eq!(e.get(Name::Lda), Some(8));
        assert!(bind("(n,k):(lda,1)", &mut e, 8, 1).is_ok());
        assert!(matches!(
            bind("(n,k):(lda,1)", &mut e, 9, 1),
            Err(Refusal::Layout { .. })
        ));
        assert!(matches!(
            bind("(n,k):(ldb,1)", &mut e, 1, 9),
            Err(Refusal::Layout { .. })
        ));
        assert!(bind("(n,k):(rsb, csb)", &mut e, 1, 9).is_ok());
        assert_eq!(e.get(Name::Csb), Some(9));
    }

    #[test]
    fn extents_as_strides() {
        let mut e = env(5, 6, 7);
        assert!(bind("(m,n):(n,1)", &mut e, 6, 1).is_ok());
        assert!(bind("(m,n):(n,1)", &mut e, 7, 1).is_err());
        assert!(bind("(m,n):(max(n,8),1)", &mut e, 8, 1).is_ok());
        assert_eq!(bind("(n):(1)", &mut e, 99, 1).unwrap().elems(), 6);
    }

    #[test]
    fn constant_strides_of_zero_repeat_what_is_there() {
        let mut e = env(5, 6, 7);
        let rows = bind("(m,k):(0,1)", &mut e, 0, 1).unwrap();
        assert_eq!(rows.span_elems(), Some(7));
        assert!(!rows.is_injective());
        let columns = bind("(m,k):(1,0)", &mut e, 1, 0).unwrap();
        assert!(!columns.is_injective());
        assert!(bind("(m,k):(0,1)", &mut e, 7, 1).is_err());
        assert!(bind("(m,k):(0,lda)", &mut e, 0, 0).is_err());
    }

    #[test]
    fn strides_of_single_elements_match_anything() {
        let mut e = env(1, 6, 1);
        assert!(bind("(m,k):(3,5)", &mut e, 77, -4).is_ok());
        assert!(bind("(m,n):(3,1)", &mut e, 77, 1).is_ok());
    }

    #[test]
    fn bad_strides_are_refused() {
        let mut e = env(5, 6, 7);
        assert!(matches!(
            bind("(m,k):(lda,1)", &mut e, 0, 1),
            Err(Refusal::Strides { .. })
        ));
        let mut e = env(5, 6, 7);
        assert!(bind("(m,k):(lda,1)", &mut e, i64::MAX, 1).is_err());
        for text in [
            "m,k",
            "(m,k):(1)",
            "(m,k,n):(1,2,3)",
            "(m,q):(1,1)",
            "(m:(1",
            ":",
            "():()",
        ] {
            assert!(text.parse::<OperandLayout>().is_err(), "{text}");
        }
    }

    #[test]
    fn outputs_are_injective() {
        let e = |rows, cols, row_stride, col_stride| Extents {
            rows,
            cols,
            row_stride,
            col_stride,
        };
        assert!(e(4, 3, 3, 1).is_injective());
        assert!(!e(4, 3, 2, 1).is_injective());
        assert!(e(4, 3, 1, 4).is_injective());
        assert!(e(1, 3, 0, 1).is_injective());
        assert!(!e(4, 3, 0, 1).is_injective());
        assert!(!e(1, 3, 1, 0).is_injective());
        assert!(e(125, 512, 1024, 1000).is_injective());
        assert!(e(512, 128, 1024, 1000).is_injective());
        assert!(!e(126, 129, 1024, 1000).is_injective());
    }

    /// Every address by itself, against the rule.
    #[test]
    fn elements_share_an_address_when_the_rule_says_so() {
        for [rows, cols, row_stride, col_stride] in cases() {
            let extents = Extents {
                rows,
                cols,
                row_stride,
                col_stride,
            };
            let all = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
            let mut offsets: Vec<i64> = all.map(|(row, col)| extents.offset(row, col)).collect();
            let count = offsets.len();
            offsets.sort_unstable();
            offsets.dedup();
            assert_eq!(
                extents.is_injective(),
                offsets.len() == count,
                "{extents:?}"
            );
        }
    }

    fn cases() -> impl Iterator<Item = [i64; 4]> {
        let each = |count: i64| (0..6i64.pow(4)).map(move |at| at / count % 6);
        let [rows, cols] = [1, 6].map(each);
        let [row_strides, col_strides] = [36, 216].map(each);
        let extents = rows.zip(cols).map(|(rows, cols)| (rows + 1, cols + 1));
        let cases = extents.zip(row_strides.zip(col_strides));
        cases.map(|((rows, cols), (row, col))| [rows, cols, row, col])
    }
}
