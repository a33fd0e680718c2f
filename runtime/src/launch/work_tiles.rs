//! What a launch counts on the device, beside the CTAs of its grid: work tiles, and steps along k.
//!
//! CTAs of a persistent kernel make one work tile after another: its grid is
//! `min(tiles, max_clusters)`, of any number of tiles. Kernels count in 32 bits, and what wraps
//! there leaves work undone. Nothing of it stands in a manifest beside the grid, so that it is
//! reckoned from that: bundles that were made before are held to it as well.

use tilewright_bundle::{Env, ExprPart, Kernel, LaunchAbi, Name, ParamValue};

use crate::error::Refusal;

/// The largest number that a kernel counts to.
const MOST: i64 = i32::MAX as i64;
/// Clusters' worth of tiles that a loop over work tiles goes beyond the last one at most: two
/// consumers of a CTA take turns.
const TURNS: i64 = 2;

/// Something that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Work tiles, of whole clusters where there are some.
    Tiles,
    /// Steps along k of the tiles that clusters share (stream-k), or that one makes.
    Steps,
}

/// A count that a kernel does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    counted: Counted,
    value: i64,
    most: i64,
}

impl From<Excess> for Refusal {
    fn from(excess: Excess) -> Refusal {
        Refusal::Count {
            what: excess.counted.name(),
            value: excess.value,
            most: excess.most,
            way_out: excess.counted.way_out(),
        }
    }
}

impl Counted {
    /// What it is called.
    fn name(self) -> &'static str {
        match self {
            Counted::Tiles => "work tiles",
            Counted::Steps => "steps along k in one row at most",
        }
    }

    /// What has fewer.
    fn way_out(self) -> &'static str {
        match self {
            Counted::Tiles => {
                "build a kernel of a larger cta_tile, or split the problem, such as its batch, \
                 into several launches"
            }
            Counted::Steps => {
                "build a kernel of a larger cta_tile or of `scheduler: { kind: persistent }`, or \
                 split the problem along k"
            }
        }
    }
}

/// The first count of a launch that its kernel does not hold; `None` as well where the grid has no
/// value, which is told elsewhere.
pub(crate) fn excess(kernel: &Kernel, abi: &LaunchAbi, env: &Env) -> Option<Excess> {
    let [grid, ..] = &abi.grid;
    let limited = grid.limited_by(Name::MAX_CLUSTERS);
    let Some(all) = limited else {
        // Loops over work tiles of one each: warps have roles there, and clusters or tensor maps.
        let loops = abi.cluster.is_some() || abi.has_tensor_maps();
        let tiles = loops.then(|| grid.eval(env).ok())??;
        return above(
            Counted::Tiles,
            tiles / abi.cluster_ctas().max(1),
            MOST / (1 + TURNS),
        );
    };
    let clusters = (grid.eval(env).ok()? / abi.cluster_ctas().max(1)).max(1);
    let (mut tiles, mut steps) = (1i64, 1i64);
    for factor in all.factors() {
        let value = factor.eval(env).ok()?;
        match is_along_k(kernel, abi, &factor) {
            true => steps = steps.saturating_mul(value),
            false => tiles = tiles.saturating_mul(value),
        }
    }
    let most = MOST.saturating_sub(clusters.saturating_mul(TURNS));
    let tiles_above = above(Counted::Tiles, tiles, most);
    tiles_above.or_else(|| above(Counted::Steps, row(tiles, clusters, steps), MOST))
}

/// Steps of the longest row that spans are cut from, or that a cluster makes one after another,
/// with those that are added where its end is rounded: a bound.
fn row(tiles: i64, clusters: i64, steps: i64) -> i64 {
    if steps == 1 {
        return 1;
    }
    // Fewer than a wave and a half are shared.
    let shared = tiles.min(clusters.saturating_mul(2));
    let own = tiles / clusters;
    let around = shared.max(own).saturating_add(4).saturating_mul(steps);
    around.saturating_add(clusters.saturating_mul(4))
}

fn above(counted: Counted, value: i64, most: i64) -> Option<Excess> {
    (value > most).then_some(Excess {
        counted,
        value,
        most,
    })
}

/// Whether a factor counts steps along k, as where tiles are cut (stream-k): partial sums go
/// through the workspace there.
fn is_along_k(kernel: &Kernel, abi: &LaunchAbi, factor: &ExprPart<'_>) -> bool {
    let mut params = abi.params.iter();
    let cuts = params.any(|param| matches!(param.value, ParamValue::Workspace));
    let steps = kernel.traits.as_ref().map(|traits| &traits.step);
    let Some(steps) = steps.filter(|_| cuts) else {
        return false;
    };
    let mut names = factor.names().peekable();
    names.peek().is_some() && names.all(|name| steps.contains_key(kernel.names.text(name)))
}
