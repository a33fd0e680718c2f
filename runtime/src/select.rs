//! Selecting a kernel by the bundle's tuning tables.
//!
//! A [`Selector`] is made once for a bundle on a device. A problem that was measured gets its
//! fastest kernel; another one gets that of the nearest measured problem of its class, by the
//! distance of the logarithms of the extents. Whatever is chosen takes the problem: it passed every
//! check but those of memory. A selection does not allocate.
//!
//! Tables of another device than the current one are not used.

use tilewright_bundle::{
    Bundle, Contiguous, Family, Kernel, TunedDevice, TunedOperand, TuningTable,
};

use crate::accept::Acceptance;
use crate::device::Arg;
use crate::info::DeviceInfo;
use crate::pick::Query;
use crate::problem::Problem;

/// Normals of the planes that bound the measured problems, of each ± pair one.
const NORMALS: [[f32; 3]; 13] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 1.0, 0.0],
    [1.0, -1.0, 0.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0, -1.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, -1.0],
    [1.0, 1.0, 1.0],
    [1.0, 1.0, -1.0],
    [1.0, -1.0, 1.0],
    [1.0, -1.0, -1.0],
];
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
    /// The measured problem it was fastest on, as `m`, `n`, `k` and `batch`.
    pub nearest: Option<[i64; 4]>,
    /// How far that one is: the length of the difference of the extents' binary logarithms.
    pub distance: f32,
}

/// The tables of one bundle, made ready for one device.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    classes: Vec<Class>,
    /// The kernels that tables name: place in the bundle, and what they take.
    ready: Vec<(usize, Acceptance)>,
}

/// A table's class of problems.
#[derive(Debug, Clone)]
struct Class {
    family: Family,
    operands: Vec<TunedOperand>,
    points: Vec<Point>,
    bounds: Bounds,
}

#[derive(Debug, Clone)]
struct Point {
    extents: [i64; 4],
    logs: [f32; 4],
    /// Places in `ready`, fastest first.
    choices: Vec<usize>,
}

/// The least and largest distance of the measured problems along each normal, and of the batch.
#[derive(Debug, Clone)]
struct Bounds {
    along: [(f32, f32); NORMALS.len()],
    batch: (f32, f32),
}

impl Selector {
    /// Makes a bundle's tables ready.
    pub fn new(bundle: &Bundle, device: &DeviceInfo) -> Selector {
        let mut selector = Selector::default();
        let tables = bundle.tuning().map(|t| t.tables.as_slice());
        for table in tables.unwrap_or_default() {
            if is_device(&table.device, device) {
                let class = selector.class(table, bundle, device);
                selector.classes.push(class);
            }
        }
        selector
    }

    fn class(&mut self, table: &TuningTable, bundle: &Bundle, device: &DeviceInfo) -> Class {
        let mut points = Vec::with_capacity(table.points.len());
        for point in &table.points {
            let named = point.choices.iter();
            points.push(Point {
                extents: point.extents,
                logs: logs(point.extents),
                choices: named
                    .filter_map(|choice| self.kernel(&choice.kernel, bundle, device))
                    .collect(),
            });
        }
        Class {
            family: table.family,
            operands: table.operands.clone(),
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
    /// no table speaks of the problem or nothing it names takes it.
    ///
    /// `args` are the operands already placed, so that their alignment counts.
    pub fn select<'b>(
        &self,
        bundle: &'b Bundle,
        query: &Query,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Option<Selection<'b>> {
        let extents = problem.matrix_extents();
        if extents.iter().any(|extent| *extent < 1) {
            return None;
        }
        let logs = logs(extents);
        let mut nearest: Option<(f32, &Class, &Point)> = None;
        for class in self.classes.iter().filter(|c| c.speaks_of(query, problem)) {
            let Some((distance, point)) = class.nearest(&extents, &logs) else {
                continue;
            };
            if nearest.is_none_or(|(least, ..)| distance < least) {
                nearest = Some((distance, class, point));
            }
        }
        let (distance, class, point) = nearest?;
        let source = if point.extents == extents {
            Source::Measured
        } else if class.bounds.hold(&logs) {
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
                    nearest: Some(point.extents),
                    distance,
                })
        })
    }
}

/// Whether a table was measured on this device.
fn is_device(tuned: &TunedDevice, device: &DeviceInfo) -> bool {
    tuned.name == device.name && tuned.sm == device.sm && tuned.sms == device.sms
}

fn logs(extents: [i64; 4]) -> [f32; 4] {
    extents.map(|extent| (extent as f32).log2())
}

impl Class {
    fn speaks_of(&self, query: &Query, problem: &Problem) -> bool {
        let typed = query.dtypes.iter().all(|(name, dtype)| {
            let mut operands = self.operands.iter();
            operands.any(|o| o.name == *name && o.dtype == *dtype)
        });
        let lies = |operand: &TunedOperand| {
            problem
                .strides(&operand.name)
                .is_some_and(|strides| Contiguous::of(strides) == operand.contiguous)
        };
        self.family == query.family && typed && self.operands.iter().all(lies)
    }

    /// The measured problem nearest to these extents: itself, when it was measured.
    fn nearest(&self, extents: &[i64; 4], logs: &[f32; 4]) -> Option<(f32, &Point)> {
        if let Ok(at) = self.points.binary_search_by(|p| p.extents.cmp(extents)) {
            return self.points.get(at).map(|point| (0.0, point));
        }
        let (mut least, mut nearest) = (f32::INFINITY, 0);
        for (at, point) in self.points.iter().enumerate() {
            let [m, n, k, batch] = point.logs;
            let (m, n, k, batch) = (m - logs[0], n - logs[1], k - logs[2], batch - logs[3]);
            let square = (m * m + n * n) + (k * k + batch * batch);
            if square < least {
                (least, nearest) = (square, at);
            }
        }
        self.points.get(nearest).map(|point| (least.sqrt(), point))
    }
}

impl Bounds {
    fn of(points: &[Point]) -> Bounds {
        let mut bounds = Bounds {
            along: [(f32::INFINITY, f32::NEG_INFINITY); NORMALS.len()],
            batch: (f32::INFINITY, f32::NEG_INFINITY),
        };
        let widen = |range: &mut (f32, f32), value: f32| {
            *range = (range.0.min(value), range.1.max(value));
        };
        for point in points {
            let [m, n, k, batch] = point.logs;
            for (range, normal) in bounds.along.iter_mut().zip(&NORMALS) {
                widen(range, normal[0] * m + normal[1] * n + normal[2] * k);
            }
            widen(&mut bounds.batch, batch);
        }
        bounds
    }

    /// Whether a problem lies among the measured ones: inside all planes that bound them, but for
    /// some slack. What lies outside of one of them lies outside of the convex hull.
    fn hold(&self, logs: &[f32; 4]) -> bool {
        let [m, n, k, batch] = *logs;
        let within =
            |range: &(f32, f32), value: f32| (range.0 - SLACK..=range.1 + SLACK).contains(&value);
        let inside =
            self.along.iter().zip(&NORMALS).all(|(range, normal)| {
                within(range, normal[0] * m + normal[1] * n + normal[2] * k)
            });
        inside && within(&self.batch, batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(problems: &[[i64; 4]]) -> Bounds {
        let point = |extents: &[i64; 4]| Point {
            extents: *extents,
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
