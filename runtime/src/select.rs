//! Selecting a kernel by the bundle's tuning tables.
//!
//! A [`Selector`] is made once for a bundle on a device. A problem that was measured gets its
//! fastest kernel; another one gets that of the nearest measured problem of its class, by the
//! distance of the logarithms of the extents. Whatever is chosen takes the problem: it passed every
//! check but those of memory. A selection does not allocate.
//!
//! Tables of another device than the current one are not used.

use tilewright_bundle::{
    Bundle, Contiguous, Kernel, MAX_TUNED_EXTENTS, Sha256Hex, TunedDevice, TunedOperand,
    TuningTable,
};

use crate::accept::Acceptance;
use crate::device::Arg;
use crate::info::DeviceInfo;
use crate::pick::{Facts, Query};
use crate::problem::Problem;

/// Most extents of which planes mix three.
const MIXED_EXTENTS: usize = 6;
/// How far outside of the measured problems still counts as among them, in binary logarithms of
/// extents: a fifth more or less.
const SLACK: f32 = 0.25;

/// How a selection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// How far that one is: the length of the difference of the extents' binary logarithms.
    pub distance: f32,
}

/// The tables of one bundle, made ready for one device.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    /// What the bundle's kernels compute, one entry for each function.
    functions: Vec<Facts>,
    classes: Vec<Class>,
    /// The kernels that tables name: place in the bundle, and what they take.
    ready: Vec<(usize, Acceptance)>,
}

/// A table's class of problems.
#[derive(Debug, Clone)]
struct Class {
    /// Place among the functions.
    function: usize,
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
    /// Places in `ready`, fastest first.
    choices: Vec<usize>,
}

/// The least and largest distance of the measured problems along each normal.
#[derive(Debug, Clone)]
struct Bounds {
    along: Vec<(Normal, f32, f32)>,
}

/// A direction: some extents, each with a factor of 1 or -1.
type Normal = Vec<(usize, f32)>;

/// The normals of the planes that bound measured problems of so many extents, one of each ± pair:
/// all that mix up to three extents, of many extents up to two.
fn normals(count: usize) -> Vec<Normal> {
    let mut all: Vec<Normal> = (0..count).map(|at| vec![(at, 1.0)]).collect();
    let mut last = all.clone();
    let most = if count > MIXED_EXTENTS { 2 } else { 3 };
    for _ in 1..most {
        let longer = last.iter().flat_map(|normal| {
            let next = normal.last().map_or(0, |(at, _)| at + 1);
            (next..count).flat_map(move |at| {
                [1.0, -1.0].map(|sign| {
                    let mut longer = normal.clone();
                    longer.push((at, sign));
                    longer
                })
            })
        });
        last = longer.collect();
        all.extend_from_slice(&last);
    }
    all
}

fn along(normal: &Normal, logs: &[f32]) -> f32 {
    let parts = normal
        .iter()
        .map(|(at, sign)| sign * logs.get(*at).unwrap_or(&0.0));
    parts.sum()
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
        for table in tables.unwrap_or_default() {
            let function = selector.function(&table.function);
            if let (Some(function), true) = (function, is_device(&table.device, device)) {
                let class = selector.class(function, table, bundle, device);
                selector.classes.push(class);
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

    fn class(
        &mut self,
        function: usize,
        table: &TuningTable,
        bundle: &Bundle,
        device: &DeviceInfo,
    ) -> Class {
        let mut points = Vec::with_capacity(table.points.len());
        for point in &table.points {
            let named = point.choices.iter();
            points.push(Point {
                extents: point.extents.clone(),
                logs: point.extents.iter().map(|extent| log(*extent)).collect(),
                choices: named
                    .filter_map(|choice| self.kernel(&choice.kernel, bundle, device))
                    .collect(),
            });
        }
        Class {
            function,
            operands: table.operands.clone(),
            extents: table.extents.clone(),
            bounds: Bounds::of(&points),
            points,
        }
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
        let functions = self.functions.iter().enumerate();
        let mut asked = functions.filter(|(_, facts)| query.asks_for(facts));
        let (function, _) = asked.next()?;
        if asked.next().is_some() {
            return None;
        }
        let of_function = self.classes.iter().filter(|c| c.function == function);
        let mut nearest: Option<(f32, &Class, &Point, Place)> = None;
        for class in of_function.filter(|class| class.speaks_of(problem)) {
            let place = Place::of(&class.extents, problem)?;
            let Some((distance, point)) = class.nearest(&place) else {
                continue;
            };
            if nearest.as_ref().is_none_or(|(least, ..)| distance < *least) {
                nearest = Some((distance, class, point, place));
            }
        }
        let (distance, class, point, place) = nearest?;
        let source = if point.extents == place.extents() {
            Source::Measured
        } else if class.bounds.hold(place.logs()) {
            Source::Interpolated
        } else {
            Source::Extrapolated
        };
        point.choices.iter().find_map(|at| {
            let (place, acceptance) = self.ready.get(*at)?;
            let kernel = bundle.kernels().get(*place)?;
            acceptance
                .takes(kernel, problem, args)
                .then_some(Selection {
                    kernel,
                    source,
                    nearest: Some(&point.extents),
                    distance,
                })
        })
    }
}

/// Whether a table was measured on this device.
fn is_device(tuned: &TunedDevice, device: &DeviceInfo) -> bool {
    tuned.name == device.name && tuned.sm == device.sm && tuned.sms == device.sms
}

fn log(extent: i64) -> f32 {
    (extent as f32).log2()
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

    /// The measured problem nearest to these extents: itself, when it was measured.
    fn nearest(&self, place: &Place) -> Option<(f32, &Point)> {
        let order = |point: &Point| point.extents.as_slice().cmp(place.extents());
        if let Ok(at) = self.points.binary_search_by(order) {
            return self.points.get(at).map(|point| (0.0, point));
        }
        let (mut least, mut nearest) = (f32::INFINITY, 0);
        for (at, point) in self.points.iter().enumerate() {
            let apart = point.logs.iter().zip(place.logs());
            let square = apart
                .map(|(one, other)| (one - other) * (one - other))
                .sum();
            if square < least {
                (least, nearest) = (square, at);
            }
        }
        self.points.get(nearest).map(|point| (least.sqrt(), point))
    }
}

impl Bounds {
    fn of(points: &[Point]) -> Bounds {
        let count = points.first().map_or(0, |point| point.logs.len());
        let ranges = normals(count).into_iter().map(|normal| {
            let distances = points.iter().map(|point| along(&normal, &point.logs));
            let range = distances.fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), one| {
                (least.min(one), most.max(one))
            });
            (normal, range.0, range.1)
        });
        Bounds {
            along: ranges.collect(),
        }
    }

    /// Whether a problem lies among the measured ones: inside all planes that bound them, but for
    /// some slack. What lies outside of one of them lies outside of the convex hull.
    fn hold(&self, logs: &[f32]) -> bool {
        let within = |(normal, least, most): &(Normal, f32, f32)| {
            (least - SLACK..=most + SLACK).contains(&along(normal, logs))
        };
        !self.along.is_empty() && self.along.iter().all(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(extents: [i64; 4]) -> Vec<f32> {
        extents.map(log).to_vec()
    }

    fn bounds(problems: &[[i64; 4]]) -> Bounds {
        let point = |extents: &[i64; 4]| Point {
            extents: extents.to_vec(),
            logs: logs(*extents),
            choices: Vec::new(),
        };
        Bounds::of(&problems.iter().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn squares_say_nothing_of_other_shapes() {
        let squares = bounds(&[[1024, 1024, 1024, 1], [8192, 8192, 8192, 1]]);
        assert!(squares.hold(&logs([2048, 2048, 2048, 1])));
        assert!(squares.hold(&logs([8192, 8192, 8192, 1])));
        for outside in [
            [512, 512, 512, 1],
            [16384, 16384, 16384, 1],
            [2048, 4096, 2048, 1],
            [1024, 1024, 8192, 1],
            [2048, 2048, 2048, 2],
        ] {
            assert!(!squares.hold(&logs(outside)), "{outside:?}");
        }
    }

    #[test]
    fn corners_hold_what_lies_between_them() {
        let corner = |bits: usize| {
            let side = |at: usize| if bits >> at & 1 == 1 { 8192 } else { 256 };
            [side(0), side(1), side(2), 1]
        };
        let cube = bounds(&(0..8).map(corner).collect::<Vec<_>>());
        assert!(cube.hold(&logs([300, 8000, 1111, 1])));
        assert!(cube.hold(&logs([220, 8000, 1111, 1])));
        assert!(!cube.hold(&logs([200, 8000, 1111, 1])));
        assert!(!bounds(&[]).hold(&logs([1, 1, 1, 1])));
    }
}
