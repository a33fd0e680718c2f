//! Selecting a kernel by the bundle's tuning tables.
//!
//! A [`Selector`] is made once for a bundle on a device. A problem that was measured, with these
//! extents and these strides, gets its fastest kernel; another one gets that of the nearest
//! measured
//! problem of its class: by the distance of the logarithms of the extents, and half that of what
//! the
//! strides of each operand are multiples of, up to 16 elements, since that decides which kernels
//! can
//! be used. Rows of tables that do not say their strides speak of all. Whatever is chosen takes the
//! problem: it passed every check but those of memory. A selection does not allocate.
//!
//! Tables of another device than the current one are not used.

mod bounds;

use std::fmt;

use serde::Serialize;
use tilewright_bundle::{
    Bundle, Contiguous, Kernel, MAX_TUNED_EXTENTS, Sha256Hex, TunedDevice, TunedOperand,
    TunedPoint, TuningTable,
};

use bounds::Bounds;

use crate::device::Arg;
use crate::launch::info::DeviceInfo;
use crate::launch::problem::Problem;
use crate::select::accept::Acceptance;
use crate::select::pick::{Facts, Query};

/// How a selection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// This very problem was measured.
    Measured,
    /// A neighbour was, and the problem lies among the measured ones.
    Interpolated,
    /// A neighbour was, and the problem lies outside of the measured ones.
    Extrapolated,
    /// No table speaks of the problem, or no kernel it names takes it: the order of the bundle.
    Untuned,
}

impl Source {
    /// The spelling in reports.
    pub const fn text(self) -> &'static str {
        match self {
            Source::Measured => "measured",
            Source::Interpolated => "interpolated",
            Source::Extrapolated => "extrapolated",
            Source::Untuned => "untuned",
        }
    }
}

/// A kernel selected for a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// How it was found.
    pub source: Source,
    /// The measured problem it was fastest on: its extents, in the order of the kernel's.
    pub nearest: Option<&'a [i64]>,
    /// How far that one is: the length of the difference of the binary logarithms of the extents,
    /// and of what strides are multiples of.
    pub distance: f32,
    /// How many kernels a table names before it that do not take the problem; of an untuned one
    /// all that the table names.
    pub passed_over: usize,
}

impl<'a> Selection<'a> {
    /// A kernel that no table speaks of.
    pub(crate) fn untuned(kernel: &'a Kernel) -> Selection<'a> {
        Selection {
            kernel,
            source: Source::Untuned,
            nearest: None,
            distance: 0.0,
            passed_over: 0,
        }
    }
}

/// A row of a tuning table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The device that was measured.
    pub device: String,
    /// The measured problem's extents, by name.
    pub extents: Vec<(String, i64)>,
    /// Its strides in elements, by operand; empty where the table does not say.
    pub strides: Vec<(String, Vec<i64>)>,
    /// How far it is, as a [`Selection`] has it.
    pub distance: f32,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("row")?;
        for (name, extent) in &self.extents {
            write!(f, " {name}={extent}")?;
        }
        for (operand, strides) in &self.strides {
            let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
            write!(f, " {operand}:({})", strides.join(","))?;
        }
        write!(f, " of {}", self.device)
    }
}

/// The tables of one bundle, made ready for one device.
#[derive(Clone, Default)]
pub struct Selector {
    /// What the bundle's kernels compute, one entry for each function.
    functions: Vec<Facts>,
    classes: Vec<Class>,
    /// The kernels that tables name: place in the bundle, and what they take.
    ready: Vec<(usize, Acceptance)>,
}

impl fmt::Debug for Selector {
    /// How much there is of each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector")
            .field("functions", &self.functions.len())
            .field("classes", &self.classes.len())
            .field("kernels", &self.ready.len())
            .finish_non_exhaustive()
    }
}

/// A table's class of problems.
#[derive(Debug, Clone)]
struct Class {
    /// Place among the functions.
    function: usize,
    /// Place among the bundle's tables.
    table: usize,
    operands: Vec<TunedOperand>,
    /// Names of the extents.
    extents: Vec<String>,
    points: Vec<Point>,
    bounds: Bounds,
}

#[derive(Debug, Clone)]
struct Point {
    extents: Vec<i64>,
    logs: Vec<f32>,
    /// Of each operand of the class; empty where the table does not say.
    strides: Vec<Vec<i64>>,
    /// Places in `ready`, fastest first.
    choices: Vec<usize>,
}

impl Selector {
    /// Makes a bundle's tables ready.
    pub fn new(bundle: &Bundle, device: &DeviceInfo) -> Selector {
        let mut selector = Selector::default();
        for kernel in bundle.kernels() {
            if selector.function(&kernel.semantics.function).is_none() {
                selector.functions.push(Facts::of(kernel));
            }
        }
        let tables = bundle.tuning().map(|t| t.tables.as_slice());
        for (at, table) in tables.unwrap_or_default().iter().enumerate() {
            let function = selector.function(&table.function);
            if let (Some(function), true) = (function, is_device(&table.device, device)) {
                let points = selector.points(table, bundle, device);
                selector.classes.push(Class {
                    function,
                    table: at,
                    operands: table.operands.clone(),
                    extents: table.extents.clone(),
                    bounds: Bounds::of(&points),
                    points,
                });
            }
        }
        selector
    }

    /// The place of a function.
    fn function(&self, hash: &Sha256Hex) -> Option<usize> {
        self.functions
            .iter()
            .position(|known| known.function == *hash)
    }

    fn points(&mut self, table: &TuningTable, bundle: &Bundle, device: &DeviceInfo) -> Vec<Point> {
        let mut points = Vec::with_capacity(table.points.len());
        for point in &table.points {
            let named = point.choices.iter();
            points.push(Point {
                extents: point.extents.clone(),
                logs: point.extents.iter().map(|extent| log(*extent)).collect(),
                strides: point.strides.clone(),
                choices: named
                    .filter_map(|choice| self.kernel(&choice.kernel, bundle, device))
                    .collect(),
            });
        }
        points
    }

    /// The place in `ready` of a kernel, prepared when it is first named.
    fn kernel(&mut self, id: &str, bundle: &Bundle, device: &DeviceInfo) -> Option<usize> {
        let at = bundle.kernels().iter().position(|k| k.id == id)?;
        if let Some(known) = self.ready.iter().position(|(place, _)| *place == at) {
            return Some(known);
        }
        let kernel = bundle.kernels().get(at)?;
        self.ready.push((at, Acceptance::new(kernel, device)));
        Some(self.ready.len() - 1)
    }

    /// The kernel of `bundle`, which the selector was made of, that the tables choose; `None` when
    /// no table speaks of the problem or nothing it names takes it, or the query asks for more than
    /// one function.
    ///
    /// `args` are the operands already placed, so that their alignment counts.
    pub fn select<'b>(
        &'b self,
        bundle: &'b Bundle,
        query: &Query,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Option<Selection<'b>> {
        let places = args.iter().map(|arg| (arg.operand, arg.offset_bytes));
        self.choice(bundle, query, problem, places, |_| true)
    }

    /// The same for operands that lie at these addresses, among kernels that are usable.
    pub(crate) fn choice<'b, 'p>(
        &'b self,
        bundle: &'b Bundle,
        query: &Query,
        problem: &Problem,
        at: impl Iterator<Item = (&'p str, u64)> + Clone,
        is_usable: impl Fn(&Kernel) -> bool,
    ) -> Option<Selection<'b>> {
        let Nearest {
            distance,
            class,
            point,
            place,
        } = self.nearest(query, problem)?;
        let source = if point.extents == place.extents() && class.lies_so(point, problem) {
            Source::Measured
        } else if class.bounds.hold(place.logs()) {
            Source::Interpolated
        } else {
            Source::Extrapolated
        };
        let mut choices = point.choices.iter().enumerate();
        choices.find_map(|(passed_over, place)| {
            let (place, acceptance) = self.ready.get(*place)?;
            let kernel = bundle.kernels().get(*place)?;
            let takes = acceptance.takes(kernel, problem, at.clone()) && is_usable(kernel);
            takes.then_some(Selection {
                kernel,
                source,
                nearest: Some(&point.extents),
                distance,
                passed_over,
            })
        })
    }

    /// The kernels that a table names for a problem, in its order, whether they take it or not.
    pub(crate) fn named<'b>(
        &'b self,
        bundle: &'b Bundle,
        query: &Query,
        problem: &Problem,
    ) -> impl Iterator<Item = &'b Kernel> {
        let nearest = self.nearest(query, problem);
        let choices = nearest.map(|nearest| nearest.point.choices.as_slice());
        let places = choices.unwrap_or_default().iter();
        let places = places.filter_map(|at| self.ready.get(*at));
        places.filter_map(|(place, _)| bundle.kernels().get(*place))
    }

    /// The row of the bundle's tables that decides on a problem.
    pub(crate) fn row<'b>(
        &self,
        bundle: &'b Bundle,
        query: &Query,
        problem: &Problem,
    ) -> Option<(&'b TunedPoint, Row)> {
        let nearest = self.nearest(query, problem)?;
        let table = bundle.tuning()?.tables.get(nearest.class.table)?;
        let mut points = table.points.iter();
        let found = nearest.point;
        let point =
            points.find(|one| (&one.extents, &one.strides) == (&found.extents, &found.strides))?;
        let extents = table.extents.iter().cloned();
        let operands = table.operands.iter().map(|operand| operand.name.clone());
        let row = Row {
            device: table.device.to_string(),
            extents: extents.zip(point.extents.iter().copied()).collect(),
            strides: operands.zip(point.strides.iter().cloned()).collect(),
            distance: nearest.distance,
        };
        Some((point, row))
    }

    /// The measured problem that is nearest to this one.
    fn nearest(&self, query: &Query, problem: &Problem) -> Option<Nearest<'_>> {
        let functions = self.functions.iter().enumerate();
        let mut asked = functions.filter(|(_, facts)| query.asks_for(facts));
        let (function, _) = asked.next()?;
        if asked.next().is_some() {
            return None;
        }
        let of_function = self.classes.iter().filter(|c| c.function == function);
        let mut nearest: Option<Nearest<'_>> = None;
        for class in of_function.filter(|class| class.speaks_of(problem)) {
            let place = Place::of(&class.extents, problem)?;
            let Some((distance, point)) = class.nearest(&place, problem) else {
                continue;
            };
            if nearest
                .as_ref()
                .is_none_or(|least| distance < least.distance)
            {
                nearest = Some(Nearest {
                    distance,
                    class,
                    point,
                    place,
                });
            }
        }
        nearest
    }
}

/// The measured problem that is nearest to another one.
struct Nearest<'a> {
    distance: f32,
    class: &'a Class,
    point: &'a Point,
    /// Of the other one.
    place: Place,
}

/// Whether a table was measured on this device.
pub(crate) fn is_device(tuned: &TunedDevice, device: &DeviceInfo) -> bool {
    tuned.name == device.name && tuned.sm == device.sm && tuned.sms == device.sms
}

fn log(extent: i64) -> f32 {
    // Of what is empty there is no logarithm.
    (extent.max(1) as f32).log2()
}

/// A problem's extents in the order of a class, and their logarithms.
struct Place {
    count: usize,
    extents: [i64; MAX_TUNED_EXTENTS],
    logs: [f32; MAX_TUNED_EXTENTS],
}

impl Place {
    fn of(names: &[String], problem: &Problem) -> Option<Place> {
        let mut place = Place {
            count: names.len().min(MAX_TUNED_EXTENTS),
            extents: [1; MAX_TUNED_EXTENTS],
            logs: [0.0; MAX_TUNED_EXTENTS],
        };
        let places = place.extents.iter_mut().zip(&mut place.logs);
        for (name, (extent, logarithm)) in names.iter().zip(places) {
            *extent = problem.extent(name).filter(|extent| *extent >= 1)?;
            *logarithm = log(*extent);
        }
        Some(place)
    }

    fn extents(&self) -> &[i64] {
        self.extents.get(..self.count).unwrap_or_default()
    }

    fn logs(&self) -> &[f32] {
        self.logs.get(..self.count).unwrap_or_default()
    }
}

impl Class {
    fn speaks_of(&self, problem: &Problem) -> bool {
        // A problem need not say how packed operands lie.
        let lies = |operand: &TunedOperand| {
            problem
                .strides(&operand.name)
                .is_none_or(|strides| Contiguous::of(strides) == operand.contiguous)
        };
        self.operands.iter().all(lies)
    }

    /// The measured problem nearest to these extents and strides: itself, when it was measured.
    fn nearest(&self, place: &Place, problem: &Problem) -> Option<(f32, &Point)> {
        let of_extents = |point: &Point| point.extents.as_slice() < place.extents();
        let first = self.points.partition_point(of_extents);
        let same = self.points.iter().skip(first);
        let mut same = same.take_while(|point| point.extents == place.extents());
        if let Some(measured) = same.find(|point| self.lies_so(point, problem)) {
            return Some((0.0, measured));
        }
        let (mut least, mut nearest) = (f32::INFINITY, 0);
        for (at, point) in self.points.iter().enumerate() {
            let apart = point.logs.iter().zip(place.logs());
            let square: f32 = apart
                .map(|(one, other)| (one - other) * (one - other))
                .sum();
            let square = square + self.misalignment(point, problem);
            if square < least {
                (least, nearest) = (square, at);
            }
        }
        self.points.get(nearest).map(|point| (least.sqrt(), point))
    }

    /// The strides of a point beside those of a problem, operand after operand, where both say
    /// them.
    fn strides<'s>(
        &'s self,
        point: &'s Point,
        problem: &'s Problem,
    ) -> impl Iterator<Item = (&'s [i64], &'s [i64])> {
        let operands = self.operands.iter().zip(&point.strides);
        operands.filter_map(|(operand, measured)| {
            let own = problem.strides(&operand.name)?;
            Some((measured.as_slice(), own))
        })
    }

    /// Whether a problem's operands lie as those of a measured one, as far as both say it.
    fn lies_so(&self, point: &Point, problem: &Problem) -> bool {
        let mut strides = self.strides(point, problem);
        strides.all(|(measured, own)| measured == own)
    }

    /// The square of how far the strides are from each other: of each operand half the difference
    /// of the powers of two that they are multiples of.
    fn misalignment(&self, point: &Point, problem: &Problem) -> f32 {
        let apart = self.strides(point, problem).map(|(measured, own)| {
            let apart = 0.5 * power(measured).abs_diff(power(own)) as f32;
            apart * apart
        });
        apart.sum()
    }
}

/// The largest power of two, as its exponent up to 4, that every stride but those of 1 is a
/// multiple of.
fn power(strides: &[i64]) -> u32 {
    let others = strides.iter().filter(|stride| **stride != 1);
    others
        .map(|stride| stride.trailing_zeros())
        .fold(4, u32::min)
}

#[cfg(test)]
mod tests;
