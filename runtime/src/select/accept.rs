//! Whether a kernel takes a problem, as one bit: no words, no allocation.
//!
//! [`Acceptance`] holds what [`fit`](crate::launch::fit::fit) works out again on every call: the
//! parsed layouts, what always holds, and whether the device runs the kernel at all. A test holds
//! the two against each other.

use tilewright_bundle::{
    Assumption, Env, Expr, Kernel, LaunchAbi, MAX_AXES, Name, NameKind, Names, OperandLayout,
    ParamValue, Scalar,
};

use crate::launch::fit::{
    alignment_bytes, beyond_limit, estimated_clusters, is_promise, range_of, runs_on,
};
use crate::launch::info::DeviceInfo;
use crate::launch::layout::{Extents, least_stride};
use crate::launch::problem::{MAX_EXTENT, Problem, constants, has_no_output, is_extent};
use crate::launch::reorder;
use crate::launch::tensor_map::{MAX_EXTENT as MAX_MAP_EXTENT, fits_stride};
use crate::launch::work_tiles::excess;

/// First number of bytes that no workspace has.
const MOST_WORKSPACE: i64 = 1 << 40;

/// An expression of a layout, with the short ways to its value.
#[derive(Debug, Clone)]
struct Term {
    expr: Expr,
    /// Its name, when it is nothing else.
    name: Option<Name>,
    /// Its value, when it names nothing.
    constant: Option<i64>,
    /// As [`least_stride`].
    least: i64,
}

/// A layout whose expressions are looked into once.
#[derive(Debug, Clone)]
struct Place {
    shape: Vec<Term>,
    stride: Vec<Term>,
}

/// A kernel prepared to be asked about many problems.
#[derive(Debug, Clone)]
pub(crate) struct Acceptance {
    /// Whether the device runs the kernel.
    runs: bool,
    /// The extents, as the problem names them.
    extents: Vec<(Name, String)>,
    /// The layouts of the operands, in the kernel's order.
    places: Vec<Place>,
    /// Alignment that each operand needs, in the same order.
    aligned: Vec<u32>,
    /// What each launch needs, and the workspace's size beside the first of them.
    launches: Vec<Needs>,
    /// Extents that are the same in every launch.
    constants: Env,
    sms: i64,
    max_clusters: i64,
}

/// What one launch needs of a problem.
#[derive(Debug, Clone)]
struct Needs {
    /// Expressions with the range their values must have.
    ranges: Vec<(Expr, i64, i64)>,
    /// Strides of tensor maps, with the size of an element.
    strides: Vec<(Expr, i64)>,
}

impl Needs {
    fn of(kernel: &Kernel, abi: &LaunchAbi, device: &DeviceInfo) -> Needs {
        let statics = i64::from(kernel.resources.static_smem_bytes);
        let smem = (i64::from(device.max_smem_bytes) - statics).max(0);
        let [x, y, z] = abi.grid.clone();
        let mut ranges = vec![
            (x, 1, i64::from(i32::MAX)),
            (y, 1, 65_535),
            (z, 1, 65_535),
            (abi.dynamic_smem_bytes.clone(), 0, smem),
        ];
        let mut strides = Vec::new();
        for param in &abi.params {
            match &param.value {
                ParamValue::Scalar { ty, expr } => {
                    let (least, most) = range_of(*ty);
                    ranges.push((expr.clone(), least, most));
                }
                ParamValue::TensorMap(map) => {
                    let bytes = i64::from(map.dtype.bytes());
                    let dims = map.dims.iter().map(|dim| (dim.clone(), 1, MAX_MAP_EXTENT));
                    ranges.extend(dims);
                    strides.extend(map.strides.iter().map(|expr| (expr.clone(), bytes)));
                    let at = map.in_workspace.iter();
                    ranges.extend(at.map(|at| (at.clone(), 0, MOST_WORKSPACE)));
                }
                ParamValue::InWorkspace { at } => ranges.push((at.clone(), 0, MOST_WORKSPACE)),
                ParamValue::Pointer { .. } | ParamValue::Given(_) | ParamValue::Workspace => {}
            }
        }
        ranges.retain(|range| !always_holds(range, &kernel.names));
        Needs { ranges, strides }
    }

    fn hold(&self, kernel: &Kernel, abi: &LaunchAbi, env: &Env) -> Option<()> {
        for (expr, least, most) in &self.ranges {
            let value = expr.eval(env).ok()?;
            (*least..=*most).contains(&value).then_some(())?;
        }
        for (expr, bytes) in &self.strides {
            let stride = expr.eval(env).ok()?.checked_mul(*bytes)?;
            fits_stride(stride).then_some(())?;
        }
        if let Some(clusters) = abi.cluster {
            for (expr, cluster) in abi.grid.iter().zip(clusters) {
                let count = expr.eval(env).ok()?;
                (cluster > 0 && count % i64::from(cluster) == 0).then_some(())?;
            }
        }
        excess(kernel, abi, env).is_none().then_some(())
    }
}

impl Acceptance {
    /// Prepares a kernel for a device.
    pub fn new(kernel: &Kernel, device: &DeviceInfo) -> Acceptance {
        let operands = &kernel.semantics.operands;
        let launches = kernel.launches.iter();
        let mut launches: Vec<Needs> = launches.map(|abi| Needs::of(kernel, abi, device)).collect();
        let workspace = (kernel.workspace.bytes.clone(), 0, MOST_WORKSPACE);
        if let Some(first) = launches.first_mut()
            && !always_holds(&workspace, &kernel.names)
        {
            first.ranges.push(workspace);
        }
        let extents = kernel.free_extents();
        Acceptance {
            runs: runs_on(kernel, device).is_empty(),
            extents: extents
                .map(|(name, text)| (name, text.to_owned()))
                .collect(),
            places: operands.iter().map(|o| Place::of(&o.layout)).collect(),
            aligned: operands
                .iter()
                .map(|o| alignment_bytes(kernel, o))
                .collect(),
            launches,
            constants: constants(kernel),
            sms: i64::from(device.sms),
            max_clusters: estimated_clusters(kernel, device),
        }
    }

    /// Whether the kernel it was made of takes a problem, with operands at these addresses.
    pub fn takes<'p>(
        &self,
        kernel: &Kernel,
        problem: &Problem,
        at: impl Iterator<Item = (&'p str, u64)>,
    ) -> bool {
        // Where nothing is done nothing need be aligned.
        self.runs
            && self.fits(kernel, problem).is_some()
            && (self.is_aligned(kernel, at) || problem.is_empty(kernel))
    }

    fn is_aligned<'p>(
        &self,
        kernel: &Kernel,
        mut at: impl Iterator<Item = (&'p str, u64)>,
    ) -> bool {
        at.all(|(name, address)| {
            let operands = kernel.semantics.operands.iter().zip(&self.aligned);
            let mut named = operands.filter(|(operand, _)| operand.name == name);
            named.all(|(_, needs)| address.is_multiple_of(u64::from(*needs)))
        })
    }

    fn fits(&self, kernel: &Kernel, problem: &Problem) -> Option<()> {
        let mut env = self.constants;
        let mut has_zero = false;
        for (name, text) in &self.extents {
            let value = problem.extent(text)?;
            (0..=MAX_EXTENT).contains(&value).then_some(())?;
            has_zero |= value == 0;
            env.set(*name, value);
        }
        let mut given = problem.extents();
        let known = given.all(|(text, value)| value == 1 || is_extent(kernel, text));
        known.then_some(())?;
        env.set(Name::SMS, self.sms);
        env.set(Name::MAX_CLUSTERS, self.max_clusters);
        takes_scalars(kernel, problem).then_some(())?;
        let mut confirmed = problem.confirmed();
        confirmed.all(|one| is_promise(kernel, one)).then_some(())?;
        if has_zero {
            return has_no_output(kernel, &env).then_some(());
        }
        for (operand, place) in kernel.semantics.operands.iter().zip(&self.places) {
            let given = reorder::strides(operand, problem, &env)?;
            let extents = place.bind(&given, &mut env)?;
            (!operand.role.is_written() || extents.is_injective()).then_some(())?;
        }
        let holds = kernel
            .assumptions
            .iter()
            .all(|assumption| match assumption {
                Assumption::Expr { expr, .. } => expr.holds(&env).unwrap_or(false),
                Assumption::Align { .. } => true,
                Assumption::Promise { promise, .. } => problem.promises(promise),
            });
        holds.then_some(())?;
        (!problem.is_batch_invariant() || kernel.is_batch_invariant()).then_some(())?;
        if problem.workspace_limit().is_some() {
            let bytes = u64::try_from(kernel.workspace.bytes.eval(&env).ok()?).ok()?;
            let beyond = beyond_limit(kernel, bytes, problem.workspace_limit());
            beyond.is_none().then_some(())?;
        }
        for (needs, abi) in self.launches.iter().zip(&kernel.launches) {
            needs.hold(kernel, abi, &env)?;
        }
        Some(())
    }
}

/// Whether a problem gives a kernel's scalars, and no others.
fn takes_scalars(kernel: &Kernel, problem: &Problem) -> bool {
    let scalars = &kernel.semantics.scalars;
    let mut given = problem.scalars();
    let known = given.all(|(name, _)| scalars.iter().any(|s| s.name == name));
    let held = |s: &Scalar| problem.scalar(&s.name).is_some_and(|value| s.holds(value));
    known && scalars.iter().all(held)
}

/// Whether an expression is within its range for every problem whose extents are: it is a constant,
/// an extent, or a stride of any size.
fn always_holds((expr, least, most): &(Expr, i64, i64), names: &Names) -> bool {
    if let Some(value) = expr.constant_value() {
        return (*least..=*most).contains(&value);
    }
    match expr.single_name().and_then(|name| names.kind(name)) {
        Some(NameKind::Extent) => *least <= 1 && *most >= MAX_EXTENT,
        Some(NameKind::Stride) => *least == i64::MIN && *most == i64::MAX,
        Some(NameKind::Runtime) | None => false,
    }
}

impl Term {
    fn of(expr: &Expr) -> Term {
        Term {
            expr: expr.clone(),
            name: expr.single_name(),
            least: least_stride(expr),
            constant: expr.constant_value(),
        }
    }

    fn value(&self, env: &Env) -> Option<i64> {
        match (self.name, self.constant) {
            (Some(name), _) => env.get(name),
            (None, Some(value)) => Some(value),
            (None, None) => self.expr.eval(env).ok(),
        }
    }
}

impl Place {
    fn of(layout: &OperandLayout) -> Place {
        Place {
            shape: layout.shape.iter().map(Term::of).collect(),
            stride: layout.stride.iter().map(Term::of).collect(),
        }
    }

    /// As [`bind`](crate::launch::layout::bind).
    fn bind(&self, given: &[i64], env: &mut Env) -> Option<Extents> {
        (given.len() == self.stride.len()).then_some(())?;
        let mut shape = [1; MAX_AXES];
        for (extent, term) in shape.iter_mut().zip(&self.shape) {
            *extent = term.value(env)?;
        }
        for ((term, stride), extent) in self.stride.iter().zip(given).zip(shape) {
            match term.name {
                Some(name) if env.get(name).is_none() => env.set(name, *stride),
                _ => (extent <= 1 || term.value(env)? == *stride).then_some(())?,
            }
        }
        let extents = Extents::new(shape.into_iter().zip(given.iter().copied()));
        let mut axes = self.stride.iter().zip(extents.axes());
        let legal = axes.all(|(term, (extent, stride))| extent <= 1 || stride >= term.least);
        (legal && extents.span_elems().is_some()).then_some(extents)
    }
}
