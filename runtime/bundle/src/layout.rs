//! An operand's layout as text: `(m,k):(lda,1)`, an extent and a stride for each axis.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::shorten;
use crate::expr::Expr;

/// Most axes of an operand.
pub const MAX_AXES: usize = 8;
/// Longest accepted text of a layout, in bytes.
const MAX_LAYOUT_TEXT: usize = 1024;

/// Why a text is no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("layout \"{text}\": {problem}")]
pub struct LayoutError {
    /// The text, shortened and escaped.
    pub text: String,
    /// What is wrong and what is allowed.
    pub problem: String,
}

/// Extents and strides of an operand, in elements, the same number of both.
///
/// ```
/// use tilewright_bundle::OperandLayout;
/// let rows: OperandLayout = "(m,k):(lda,1)".parse()?;
/// assert_eq!(rows.rank(), 2);
/// assert_eq!(rows.shape[1].single_word(), Some("k"));
/// assert_eq!("():()".parse::<OperandLayout>()?.rank(), 0);
/// # Ok::<(), tilewright_bundle::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperandLayout {
    text: String,
    /// Extents, first axis first.
    pub shape: Vec<Expr>,
    /// Strides in elements, in the same order.
    pub stride: Vec<Expr>,
}

impl OperandLayout {
    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}

impl std::str::FromStr for OperandLayout {
    type Err = LayoutError;

    /// Parses `(m,k):(lda,1)`; `n:1` is `(n):(1)`, and `():()` a single element.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let refused = |problem| LayoutError {
            text: shorten(text),
            problem,
        };
        let (shape, stride) = parts(text).map_err(refused)?;
        Ok(OperandLayout {
            text: text.to_owned(),
            shape,
            stride,
        })
    }
}

fn parts(text: &str) -> Result<(Vec<Expr>, Vec<Expr>), String> {
    if text.len() > MAX_LAYOUT_TEXT {
        let bytes = text.len();
        return Err(format!(
            "{bytes} bytes long; at most {MAX_LAYOUT_TEXT} are allowed"
        ));
    }
    let (shape, stride) = text.split_once(':').ok_or("expected shape:stride")?;
    let (shape, stride) = (axes(shape)?, axes(stride)?);
    let (extents, strides) = (shape.len(), stride.len());
    if extents != strides {
        return Err(format!("{extents} extents and {strides} strides"));
    }
    if extents > MAX_AXES {
        return Err(format!("{extents} axes; at most {MAX_AXES} are allowed"));
    }
    Ok((shape, stride))
}

/// The expressions of `(x,y)` or of a bare `x`.
fn axes(text: &str) -> Result<Vec<Expr>, String> {
    let text = text.trim();
    let inner = match text.strip_prefix('(') {
        Some(rest) => rest.strip_suffix(')').ok_or("expected `)` at the end")?,
        None => text,
    };
    if inner.is_empty() && !text.is_empty() {
        return Ok(Vec::new());
    }
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

impl TryFrom<String> for OperandLayout {
    type Error = LayoutError;
    fn try_from(text: String) -> Result<Self, LayoutError> {
        text.parse()
    }
}

impl From<OperandLayout> for String {
    fn from(layout: OperandLayout) -> String {
        layout.text
    }
}

impl fmt::Display for OperandLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn layouts_have_any_number_of_axes() {
        for (text, rank) in [
            ("(m,k):(lda,1)", 2),
            ("n:1", 1),
            ("(n):(1)", 1),
            ("():()", 0),
            ("(z,u,i,e):(sz, su,si,1)", 4),
            ("(m,n):(max(n,8),1)", 2),
            ("(n,ceil_div(k,128)):(lds,1)", 2),
        ] {
            let layout: OperandLayout = text.parse().unwrap();
            assert_eq!((layout.rank(), layout.to_string().as_str()), (rank, text));
        }
    }

    #[test]
    fn what_is_no_layout_is_refused() {
        let many = format!("({0}):({0})", ["m"; MAX_AXES + 1].join(","));
        for (text, part) in [
            ("m,k", "expected shape:stride"),
            ("(m,k):(1)", "2 extents and 1 strides"),
            ("(m:(1", "expected `)` at the end"),
            (":", "expected an integer"),
            ("(m):()", "1 extents and 0 strides"),
            (&many, "9 axes; at most 8"),
            ("(m,n):(lds,1)\x1b]0;owned\x07", "expected `)`"),
        ] {
            let error = text.parse::<OperandLayout>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains('\x1b'), "{error}");
        }
    }
}
