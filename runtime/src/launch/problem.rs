//! What a caller wants computed: named extents, the strides of each operand, scalars; and what it
//! allows for that: promises, a limit of the workspace.

use std::borrow::Cow;

use tilewright_bundle::{Env, Expr, Kernel};

use crate::error::Refusal;

/// Largest extent; kernels count rows and columns in 32 bits.
pub const MAX_EXTENT: i64 = i32::MAX as i64;

/// The extents of matrix products and copies, in the order in which they are written: `4x8x16`.
const MATRIX_EXTENTS: [&str; 3] = ["m", "n", "k"];

/// One problem of any kernel.
///
/// ```
/// use tilewright_runtime::Problem;
/// // d(128x64) = a(128x32) * b(64x32), K-major both, rows of `a` padded to 40 elements.
/// let p = Problem::new(128, 64, 32).row_major("a", 40).row_major("b", 32).row_major("d", 64);
/// assert_eq!(p.strides("a"), Some([40, 1].as_slice()));
/// let p = Problem::of([("z", 4), ("i", 512), ("e", 64)]).with_strides("q", [512 * 64, 64, 1]);
/// assert_eq!((p.extent("i"), p.extent("m")), (Some(512), None));
/// assert_eq!(p.to_string(), "z=4 i=512 e=64 q:(32768,64,1)");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Problem {
    extents: Vec<(Cow<'static, str>, i64)>,
    strides: Vec<(String, Vec<i64>)>,
    /// Bits of an f64 each.
    scalars: Vec<(String, u64)>,
    promises: Vec<String>,
    /// In bytes; `None` where a launch may take whatever it wants.
    workspace_limit: Option<u64>,
    /// Whether sums may have no order that depends on the launch.
    batch_invariant: bool,
}

impl Problem {
    /// A problem of the extents `m`, `n` and `k`, whose operands have no strides yet. An extent
    /// that the kernel lacks is 1, as `k` is for a copy.
    pub fn new(m: i64, n: i64, k: i64) -> Problem {
        Problem::of(MATRIX_EXTENTS.into_iter().zip([m, n, k]))
    }

    /// A problem of these extents, whose operands have no strides yet.
    pub fn of<N: Into<Cow<'static, str>>>(extents: impl IntoIterator<Item = (N, i64)>) -> Problem {
        let extents = extents.into_iter();
        extents.fold(Problem::default(), |problem, (name, value)| {
            problem.with_extent(name, value)
        })
    }

    /// The same problem with this extent, in place of an earlier one of that name.
    #[must_use]
    pub fn with_extent(mut self, name: impl Into<Cow<'static, str>>, value: i64) -> Problem {
        let name = name.into();
        match self.extents.iter_mut().find(|(known, _)| *known == name) {
            Some((_, extent)) => *extent = value,
            None => self.extents.push((name, value)),
        }
        self
    }

    /// The same problem with `operand` at these strides, first axis first. It keeps its place among
    /// the operands where it has strides already.
    #[must_use]
    pub fn with_strides(mut self, operand: &str, strides: impl Into<Vec<i64>>) -> Problem {
        match self.strides.iter_mut().find(|(name, _)| name == operand) {
            Some((_, known)) => *known = strides.into(),
            None => self.strides.push((operand.to_owned(), strides.into())),
        }
        self
    }

    /// The same problem with this value of a scalar of the formula, in place of an earlier one. It
    /// is rounded to the scalar's type.
    #[must_use]
    pub fn with_scalar(mut self, name: &str, value: f64) -> Problem {
        let bits = value.to_bits();
        match self.scalars.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = bits,
            None => self.scalars.push((name.to_owned(), bits)),
        }
        self
    }

    /// The same problem, of which the caller confirms what a kernel cannot check: a promise in the
    /// kernel's own words.
    #[must_use]
    pub fn with_promise(mut self, promise: &str) -> Problem {
        if !self.promises(promise) {
            self.promises.push(promise.to_owned());
        }
        self
    }

    /// The same problem for which no kernel is selected or launched that wants more than so many
    /// bytes of workspace, in place of an earlier limit. With 0 those without workspace are left.
    ///
    /// ```
    /// use tilewright_runtime::Problem;
    /// let problem = Problem::new(16, 4096, 8192).with_workspace_limit(1 << 20);
    /// assert_eq!(problem.to_string(), "16x4096x8192 in 1048576 bytes of workspace");
    /// ```
    #[must_use]
    pub fn with_workspace_limit(mut self, bytes: u64) -> Problem {
        self.workspace_limit = Some(bytes);
        self
    }

    /// The same problem for which no kernel is selected or launched whose sums depend on how many
    /// rows and columns there are, or how many clusters the GPU has room for: those of stream-k.
    /// Of kernels with the same `unit`, `k`, `block` and `splits` in their `sums`, each makes the
    /// same bits of a row, whichever rows stand beside it.
    ///
    /// ```
    /// use tilewright_runtime::Problem;
    /// let problem = Problem::new(16, 4096, 8192).with_batch_invariance();
    /// assert_eq!(problem.to_string(), "16x4096x8192 batch-invariant");
    /// ```
    #[must_use]
    pub fn with_batch_invariance(mut self) -> Problem {
        self.batch_invariant = true;
        self
    }

    /// The same problem with the second axis of a matrix contiguous.
    #[must_use]
    pub fn row_major(self, operand: &str, leading: i64) -> Problem {
        self.with_strides(operand, [leading, 1])
    }

    /// The same problem with the first axis of a matrix contiguous.
    #[must_use]
    pub fn col_major(self, operand: &str, leading: i64) -> Problem {
        self.with_strides(operand, [1, leading])
    }

    /// The extent of that name, if given.
    pub fn extent(&self, name: &str) -> Option<i64> {
        let mut extents = self.extents.iter();
        extents.find(|(known, _)| known == name).map(|(_, v)| *v)
    }

    /// The extents, in the order given.
    pub fn extents(&self) -> impl Iterator<Item = (&str, i64)> {
        self.extents
            .iter()
            .map(|(name, value)| (name.as_ref(), *value))
    }

    /// `m`, `n`, `k` and `batch`, each 1 where it is not given.
    pub fn matrix_extents(&self) -> [i64; 4] {
        ["m", "n", "k", "batch"].map(|name| self.extent(name).unwrap_or(1))
    }

    /// The strides of `operand` in elements, first axis first, if given.
    pub fn strides(&self, operand: &str) -> Option<&[i64]> {
        let mut strides = self.strides.iter();
        strides
            .find(|(name, _)| name == operand)
            .map(|(_, s)| s.as_slice())
    }

    /// The value of the scalar of that name, if given.
    pub fn scalar(&self, name: &str) -> Option<f64> {
        let mut scalars = self.scalars();
        scalars.find(|(known, _)| *known == name).map(|(_, v)| v)
    }

    /// The scalars, in the order given.
    pub fn scalars(&self) -> impl Iterator<Item = (&str, f64)> {
        let scalars = self.scalars.iter();
        scalars.map(|(name, bits)| (name.as_str(), f64::from_bits(*bits)))
    }

    /// Whether the caller has confirmed this.
    pub fn promises(&self, promise: &str) -> bool {
        self.promises.iter().any(|known| known == promise)
    }

    /// What the caller has confirmed, in the order given.
    pub fn confirmed(&self) -> impl Iterator<Item = &str> {
        self.promises.iter().map(String::as_str)
    }

    /// Bytes of workspace that a launch may take; `None` where it may take what it wants.
    pub fn workspace_limit(&self) -> Option<u64> {
        self.workspace_limit
    }

    /// Whether sums may have no order that depends on the launch.
    pub fn is_batch_invariant(&self) -> bool {
        self.batch_invariant
    }

    /// Operands with strides, in the order given.
    pub fn operands(&self) -> impl Iterator<Item = (&str, &[i64])> {
        self.strides
            .iter()
            .map(|(name, strides)| (name.as_str(), strides.as_slice()))
    }

    /// Whether a kernel has nothing to do: each of its outputs has an extent of 0.
    pub fn is_empty(&self, kernel: &Kernel) -> bool {
        let mut env = constants(kernel);
        for (name, text) in kernel.free_extents() {
            if let Some(value) = self.extent(text) {
                env.set(name, value);
            }
        }
        has_no_output(kernel, &env)
    }

    /// The extents as a kernel's names, after checking that they are all there and in range: from 0
    /// where the kernel then has nothing to do, else from 1.
    pub(crate) fn env(&self, kernel: &Kernel, refusals: &mut Vec<Refusal>) -> Env {
        let mut env = constants(kernel);
        let least = i64::from(!self.is_empty(kernel));
        for (name, text) in kernel.free_extents() {
            let Some(value) = self.extent(text) else {
                refusals.push(Refusal::NoExtent {
                    name: text.to_owned(),
                });
                continue;
            };
            if !(least..=MAX_EXTENT).contains(&value) {
                let least = i64::from(!has_no_output(kernel, &env.with(name, 0)));
                refusals.push(Refusal::Extent {
                    name: text.to_owned(),
                    value,
                    least,
                    most: MAX_EXTENT,
                });
            }
            env.set(name, value);
        }
        for (text, value) in self.extents() {
            if value != 1 && !is_extent(kernel, text) {
                refusals.push(Refusal::ExtraExtent {
                    name: text.to_owned(),
                    value,
                });
            }
        }
        env
    }
}

/// Whether each output of a kernel has an extent of 0.
pub(crate) fn has_no_output(kernel: &Kernel, env: &Env) -> bool {
    let outputs = kernel.semantics.operands.iter();
    let mut outputs = outputs.filter(|one| one.role.is_written()).peekable();
    let is_zero = |extent: &Expr| extent.eval(env) == Ok(0);
    outputs.peek().is_some() && outputs.all(|one| one.layout.shape.iter().any(is_zero))
}

/// Whether a kernel leaves an extent of that name to the caller.
pub fn is_extent(kernel: &Kernel, text: &str) -> bool {
    kernel.free_extents().any(|(_, known)| known == text)
}

/// The extents that are the same in every launch of a kernel.
pub fn constants(kernel: &Kernel) -> Env {
    let mut env = Env::new();
    for (mode, extent) in &kernel.semantics.modes {
        if let Some(name) = kernel.names.find(mode) {
            env.set(name, *extent);
        }
    }
    env
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_matrix = |name: &str| MATRIX_EXTENTS.contains(&name) || name == "batch";
        let has_all = (MATRIX_EXTENTS.iter()).all(|name| self.extent(name).is_some());
        if has_all && self.extents().all(|(name, _)| is_matrix(name)) {
            let [m, n, k, batch] = self.matrix_extents();
            write!(f, "{m}x{n}x{k}")?;
            if batch != 1 {
                write!(f, " batch {batch}")?;
            }
        } else {
            for (at, (name, value)) in self.extents().enumerate() {
                let gap = if at == 0 { "" } else { " " };
                write!(f, "{gap}{name}={value}")?;
            }
        }
        for (name, strides) in &self.strides {
            let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
            write!(f, " {name}:({})", strides.join(","))?;
        }
        for (name, value) in self.scalars() {
            write!(f, " {name}={value}")?;
        }
        for promise in &self.promises {
            write!(f, " promise {promise:?}")?;
        }
        if let Some(bytes) = self.workspace_limit {
            write!(f, " in {bytes} bytes of workspace")?;
        }
        if self.batch_invariant {
            write!(f, " batch-invariant")?;
        }
        Ok(())
    }
}
