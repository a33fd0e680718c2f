//! Where a kernel is measured: extents, the memory order of a product's factors, and strides.
//!
//! How they are written is in `extent/parse`.

mod parse;

use tilewright_bundle::Kernel;
use tilewright_formula::Source;
use tilewright_formula::affine::ModeId;
use tilewright_formula::form::{Form, Rows};

use super::contraction::Matrices;
use crate::verify::{Factor, GemmForm};
use tilewright_runtime::DeviceInfo;
use tilewright_runtime::Error;
use tilewright_runtime::Problem;
use tilewright_runtime::fit;
use tilewright_runtime::parts::is_extent;
use tilewright_runtime::parts::refused;
use tilewright_runtime::parts::spaced;
use tilewright_runtime::tightest;
use tilewright_runtime::{Extents, Matrix};

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
        Letters::of_matrices(&Matrices::of_product(form, extents))
    }

    /// The letters of two factors.
    ///
    /// # Errors
    /// When one has no contiguous index.
    fn of_matrices(matrices: &Matrices) -> Result<Letters, Error> {
        let k_major = |extents: Matrix, name: &str| match (extents.row_stride, extents.col_stride) {
            (_, 1) => Ok(true),
            (1, _) => Ok(false),
            (row, col) => Err(Error::Request(format!(
                "`{name}` has strides ({row},{col}); one of them has to be 1"
            ))),
        };
        let [a, b, _] = matrices.matrices;
        Ok(Letters::of(k_major(a, "a")?, k_major(b, "b")?))
    }
}

/// How far apart the rows of a problem's operands lie, or the columns where those are contiguous:
/// leading dimensions, in elements. What is not said is without gaps. Every kernel that is compared
/// gets these, and the peer as well: one that does not take them is no candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leading {
    /// Of the first factor of a product.
    pub a: Option<i64>,
    /// Of the second factor.
    pub b: Option<i64>,
    /// Of the output.
    pub d: Option<i64>,
    /// Those that are not said are the least multiples of so many elements.
    pub pad: Option<i64>,
}

/// Extents to measure a kernel at, and how its operands lie; read from text as `4096x512x64:TN`,
/// `8192x4096` or `l=16,m=1024,n=1024,k=64:pad=8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Extents by name, in order. Of a product of two matrices and of a copy, `m`, `n` and `k` are
    /// the rows of the output, its columns and the contracted extent, whatever the kernel calls
    /// them, and one that a kernel has not is ignored; any other name is the kernel's own.
    pub sizes: Vec<(String, i64)>,
    /// Which index of each factor of a product is contiguous; `None` leaves it to the kernel.
    pub letters: Option<Letters>,
    /// Leading dimensions.
    pub leading: Leading,
}

/// The names that stand for those of a product or a copy.
pub(crate) const MATRIX: [&str; 3] = ["m", "n", "k"];

impl Extent {
    /// Extents by name; operands lie as the kernel has them, without gaps.
    pub fn named<N: Into<String>>(sizes: impl IntoIterator<Item = (N, i64)>) -> Extent {
        let sizes = sizes.into_iter().map(|(name, size)| (name.into(), size));
        Extent {
            sizes: sizes.collect(),
            letters: None,
            leading: Leading::default(),
        }
    }

    /// A product of m by k by k by n.
    pub fn product(m: i64, n: i64, k: i64) -> Extent {
        Extent::named(MATRIX.into_iter().zip([m, n, k]))
    }

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
        Extent::named([("m", count(elems / n)), ("n", count(n))])
    }

    /// An extent by its name here.
    pub fn size(&self, name: &str) -> Option<i64> {
        let mut sizes = self.sizes.iter();
        sizes.find(|(own, _)| own == name).map(|(_, size)| *size)
    }

    /// The extents that a kernel has, by its own names, without strides; scalars are 1.
    pub fn of(&self, kernel: &Kernel) -> Problem {
        let matrix: Vec<Option<&str>> = names(kernel).collect();
        let own = self.sizes.iter().filter_map(|(name, size)| {
            let at = MATRIX.iter().position(|known| known == name);
            let Some(at) = at else {
                return Some((name.clone(), *size));
            };
            let own = matrix.get(at).copied().flatten()?;
            is_extent(kernel, own).then(|| (own.to_owned(), *size))
        });
        let scalars = kernel.semantics.scalars.iter();
        scalars.fold(Problem::of(own), |problem, scalar| {
            problem.with_scalar(&scalar.name, 1.0)
        })
    }

    /// The extents as they are written: `4096x512x64`, or by name where they are others.
    pub fn sizes_text(&self) -> String {
        let names = self.sizes.iter().map(|(name, _)| name.as_str());
        let is_matrix = self.sizes.len() > 1 && names.eq(MATRIX.into_iter().take(self.sizes.len()));
        let sizes = self.sizes.iter().map(|(name, size)| match is_matrix {
            true => size.to_string(),
            false => format!("{name}={size}"),
        });
        let sizes: Vec<String> = sizes.collect();
        sizes.join(if is_matrix { "x" } else { "," })
    }

    /// The problem of these extents, this order and these strides, if the kernel takes it.
    ///
    /// # Errors
    /// When it does not: of rows that lie closer than it takes, the refusal says how far apart they
    /// have to be.
    pub fn problem(&self, kernel: &Kernel, device: &DeviceInfo) -> Result<Problem, Error> {
        let pad = self.leading.pad.unwrap_or(1).max(1);
        let mut problem = spaced(kernel, &self.of(kernel), pad);
        let Leading { a, b, d, .. } = self.leading;
        if self.letters.is_some() || [a, b, d].iter().any(Option::is_some) {
            problem = self.laid_out(kernel, problem, device)?;
        }
        fit(kernel, &problem, device).map_err(|refusals| refused(kernel, refusals))?;
        Ok(problem)
    }

    /// The least `pad` with which a kernel takes the problem that it does not take as it is; `None`
    /// where that is not what it is refused for.
    pub fn padding(&self, kernel: &Kernel, device: &DeviceInfo) -> Option<i64> {
        let mut pads = (1..=8).map(|power| 1i64 << power);
        pads.find(|pad| {
            let leading = Leading {
                pad: Some(*pad),
                ..self.leading
            };
            let padded = Extent {
                leading,
                ..self.clone()
            };
            padded.problem(kernel, device).is_ok()
        })
    }

    /// Whether a kernel of more than a product has the order that is asked for: it keeps its own,
    /// and its rows are apart by `pad`.
    fn lies_so(&self, kernel: &Kernel, matrices: Option<&Matrices>) -> Result<(), Error> {
        let id = &kernel.id;
        let Leading { a, b, d, .. } = self.leading;
        if [a, b, d].iter().any(Option::is_some) {
            return Err(Error::Request(format!(
                "{id} computes more than the product of two matrices, and lda, ldb and ldd are \
                 those of its matrices alone: say how far apart rows are by pad=8"
            )));
        }
        let Some(wanted) = self.letters else {
            return Ok(());
        };
        let found = matrices.map(Letters::of_matrices).transpose()?;
        let (wanted, why) = match found {
            Some(found) if found == wanted => return Ok(()),
            Some(found) => (wanted.text(), format!("its factors lie {}", found.text())),
            None => (wanted.text(), "it has no two factors".to_owned()),
        };
        Err(Error::Request(format!(
            "{id} is asked for in the order {wanted}, and {why}"
        )))
    }

    /// A product's problem with the order and the leading dimensions that are asked for.
    fn laid_out(
        &self,
        kernel: &Kernel,
        problem: Problem,
        device: &DeviceInfo,
    ) -> Result<Problem, Error> {
        // Some problem that the kernel takes tells which operand is which, and how it lies.
        let taken = tightest(kernel, &self.of(kernel), device)?;
        let fits = fit(kernel, &taken, device).map_err(|refusals| refused(kernel, refusals))?;
        if kernel.product().is_none() {
            let matrices = Matrices::of_contraction(kernel, &fits.operands);
            self.lies_so(kernel, matrices.as_ref())?;
            return Ok(problem);
        }
        let form = GemmForm::of(kernel, &fits.operands)?;
        let lies = |factor: &Factor| factor.orient(&fits.operands).col_stride == 1;
        let rows = match self.letters {
            None => [lies(&form.a), lies(&form.b)],
            Some(wanted) => {
                Letters::of_form(&form, &fits.operands)?;
                <[bool; 2]>::from(wanted.k_major())
            }
        };
        let Leading { a, b, d, pad } = self.leading;
        let pad = pad.unwrap_or(1).max(1);
        let asked = [
            (&form.a, rows[0], a),
            (&form.b, rows[1], b),
            (&form.d, lies(&form.d), d),
        ];
        let mut problem = problem;
        for (factor, by_rows, leading) in asked {
            let operand = kernel.semantics.operands.get(factor.at);
            let Some(operand) = operand.filter(|one| one.packed.is_none()) else {
                continue;
            };
            if leading.is_none() && by_rows == lies(factor) {
                continue;
            }
            let Matrix { rows, cols, .. } = factor.orient(&fits.operands);
            let least = if by_rows { cols } else { rows };
            let leading = leading.unwrap_or(least.saturating_add(pad - 1) / pad * pad);
            // A transposed factor's rows are the columns of its operand.
            problem = match by_rows != factor.swapped {
                true => problem.row_major(&operand.name, leading),
                false => problem.col_major(&operand.name, leading),
            };
        }
        Ok(problem)
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
        write!(f, "{}", self.sizes_text())?;
        let Leading { a, b, d, pad } = self.leading;
        let letters = self.letters.map(|letters| letters.text().to_owned());
        let named = [("lda", a), ("ldb", b), ("ldd", d), ("pad", pad)];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        let said: Vec<String> = letters.into_iter().chain(named).collect();
        match said.is_empty() {
            true => Ok(()),
            false => write!(f, ":{}", said.join(",")),
        }
    }
}
