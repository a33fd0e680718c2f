//! Which problems lie among those that were measured: planes around them, in the logarithms of the
//! extents.

use super::Point;

/// Most extents of which planes mix three.
const MIXED_EXTENTS: usize = 6;
/// How far outside of the measured problems still counts as among them, in binary logarithms of
/// extents: a fifth more or less.
const SLACK: f32 = 0.25;

/// The least and largest distance of the measured problems along each normal.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
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

impl Bounds {
    pub fn of(points: &[Point]) -> Bounds {
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
    pub fn hold(&self, logs: &[f32]) -> bool {
        let within = |(normal, least, most): &(Normal, f32, f32)| {
            (least - SLACK..=most + SLACK).contains(&along(normal, logs))
        };
        !self.along.is_empty() && self.along.iter().all(within)
    }
}
