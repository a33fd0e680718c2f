//! Where a kernel is measured: extents, and the memory order of a product's factors.

use tilewright_bundle::Kernel;
use tilewright_formula::Source;
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Form, Rows};

use crate::error::Error;
use crate::info::DeviceInfo;
use crate::launch::fit;
use crate::layout::{Extents, Matrix};
use crate::problem::{Problem, is_extent};
use crate::tightest::tightest;
use crate::verify::GemmForm;

macro_rules! letters {
    ($($variant:ident $text:literal $doc:literal),*) => {
        /// The BLAS view of a product's factors: first T for a row-major `a`, N for a column-major
        /// one; then N for a `b` with contiguous k, T for one with contiguous n.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Letters { $(#[doc = $doc] $variant),* }

        impl Letters {
            /// The spelling.
            pub const fn text(self) -> &'static str {
                match self { $(Letters::$variant => $text),* }
            }
        }

        impl std::str::FromStr for Letters {
            type Err = String;
            fn from_str(text: &str) -> Result<Letters, String> {
                match text {
                    $($text => Ok(Letters::$variant),)*
                    _ => Err(format!("layout `{text}` is none of {}", [$($text),*].join(", "))),
                }
            }
        }
    };
}

letters! {
    Tn "TN" "Contiguous k in both.",
    Nn "NN" "Contiguous m in `a`, contiguous k in `b`.",
    Nt "NT" "Contiguous m in `a`, contiguous n in `b`.",
    Tt "TT" "Contiguous k in `a`, contiguous n in `b`."
}

impl Letters {
    /// The letters of two factors with k contiguous or not.
    const fn of(a_k_major: bool, b_k_major: bool) -> Letters {
        match (a_k_major, b_k_major) {
            (true, true) => Letters::Tn,
            (false, true) => Letters::Nn,
            (false, false) => Letters::Nt,
            (true, false) => Letters::Tt,
        }
    }

    const fn k_major(self) -> (bool, bool) {
        match self {
            Letters::Tn => (true, true),
            Letters::Nn => (false, true),
            Letters::Nt => (false, false),
            Letters::Tt => (true, false),
        }
    }

    /// The letters of a gemm's operands.
    ///
    /// # Errors
    /// When a factor has no contiguous index.
    pub(crate) fn of_form(form: &GemmForm, extents: &[Extents]) -> Result<Letters, Error> {
        let k_major = |extents: Matrix, name: &str| match (extents.row_stride, extents.col_stride) {
            (_, 1) => Ok(true),
            (1, _) => Ok(false),
            (row, col) => Err(Error::Request(format!(
                "`{name}` has strides ({row},{col}); one of them has to be 1"
            ))),
        };
        let a = k_major(form.a.orient(extents), "a")?;
        Ok(Letters::of(a, k_major(form.b.orient(extents), "b")?))
    }
}

/// Extents to measure a kernel at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Rows of the output.
    pub m: i64,
    /// Columns of the output.
    pub n: i64,
    /// The contracted extent; ignored for copies.
    pub k: i64,
    /// Which index of each factor of a product is contiguous; `None` leaves it to the kernel.
    pub letters: Option<Letters>,
}

impl Extent {
    /// A copy of `bytes` bytes of elements of `elem_bits`: rows of 8192 elements, or one row where
    /// that does not divide.
    pub fn of_copy(bytes: u64, elem_bits: u32) -> Extent {
        let bits = bytes.saturating_mul(8);
        let elems = (bits / u64::from(elem_bits.max(1))).max(1);
        let n = if elems.is_multiple_of(8192) {
            8192
        } else {
            elems
        };
        let count = |x: u64| i64::try_from(x).unwrap_or(i64::MAX);
        Extent {
            m: count(elems / n),
            n: count(n),
            k: 1,
            letters: None,
        }
    }

    /// The extents that a kernel has, by its own names, without strides; scalars are 1.
    pub fn of(&self, kernel: &Kernel) -> Problem {
        let own = names(kernel).zip([self.m, self.n, self.k]);
        let own = own.filter_map(|(name, extent)| Some((name?, extent)));
        let own = own.filter(|(name, _)| is_extent(kernel, name));
        let own = own.map(|(name, extent)| (name.to_owned(), extent));
        let scalars = kernel.semantics.scalars.iter();
        scalars.fold(Problem::of(own), |problem, scalar| {
            problem.with_scalar(&scalar.name, 1.0)
        })
    }

    /// The tightest problem of these extents and this order that a gemm kernel takes.
    ///
    /// # Errors
    /// When the kernel takes no such problem.
    pub fn problem(&self, kernel: &Kernel, device: &DeviceInfo) -> Result<Problem, Error> {
        let problem = tightest(kernel, &self.of(kernel), device)?;
        let Some(wanted) = self.letters else {
            return Ok(problem);
        };
        let refused = |refusals| crate::error::refused(kernel, refusals);
        let fits = fit(kernel, &problem, device).map_err(refused)?;
        let form = GemmForm::of(kernel, &fits.operands)?;
        if Letters::of_form(&form, &fits.operands)? == wanted {
            return Ok(problem);
        }
        let (a, b) = wanted.k_major();
        let mut turned = problem;
        let operands = &kernel.semantics.operands;
        for (factor, k_major) in [(&form.a, a), (&form.b, b)] {
            let name = operands.get(factor.at).map_or("", |operand| &operand.name);
            let Matrix { rows, cols, .. } = factor.orient(&fits.operands);
            turned = match (k_major, factor.swapped) {
                (true, false) => turned.row_major(name, cols),
                (true, true) => turned.col_major(name, cols),
                (false, false) => turned.col_major(name, rows),
                (false, true) => turned.row_major(name, rows),
            };
        }
        fit(kernel, &turned, device).map_err(refused)?;
        Ok(turned)
    }
}

/// A kernel's names of rows, columns and summed extent: of a product those of its formula, of a
/// copy the output's axes, of others `m`, `n` and `k`.
pub(crate) fn names(kernel: &Kernel) -> impl Iterator<Item = Option<&str>> {
    let text = |mode: ModeId| {
        let modes = kernel.formula().map(|formula| &formula.modes);
        modes?.get(mode).map(|mode| mode.name.as_str())
    };
    let alone = |modes: &[ModeId]| match modes {
        [mode] => text(*mode),
        _ => None,
    };
    let own = match kernel.form() {
        Some(Form::Contraction(form)) if form.plain.is_some() => {
            [&form.rows, &form.columns, &form.summed].map(|modes| alone(modes))
        }
        Some(Form::Rows(Rows {
            copy: Some([_, output]),
            ..
        })) => {
            let axes = kernel
                .formula()
                .map(|formula| formula.axis_modes(Source::Operand(*output)))
                .unwrap_or_default();
            let axis = |at: usize| axes.get(at).copied().flatten().and_then(text);
            [axis(0), axis(1), None]
        }
        _ => [Some("m"), Some("n"), Some("k")],
    };
    own.into_iter()
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)?;
        match self.letters {
            Some(letters) => write!(f, ":{}", letters.text()),
            None => Ok(()),
        }
    }
}
