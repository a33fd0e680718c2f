//! The problems that tell broken kernels from right ones.
//!
//! In: a kernel. Out: extents that meet each of its roles, stages and edge paths, the cheapest
//! ones that do: most mutants show in the first launch, and those that never show cost all of
//! them.

use tilewright_bundle::Kernel;

/// Problems that meet every path of a kernel.
#[derive(Clone, Debug, Default)]
pub struct DistinguishingProblems {
    /// Ragged edges with two k-tiles, then with more k-tiles than stages, then several tiles for
    /// each CTA that takes more than one.
    pub main: Vec<[i64; 3]>,
    /// Every eighth of a tile as an edge, whole tiles, few k-tiles, so many rows of tiles that
    /// their order over the grid matters: boundaries of comparisons. The first one is of four
    /// whole tiles.
    pub edges: Vec<[i64; 3]>,
    /// Several tiles for one CTA, in which parities come round again.
    pub rounds: Vec<[i64; 3]>,
    /// More tiles along both axes than any order over the grid takes together.
    pub rasters: Vec<[i64; 3]>,
}

impl DistinguishingProblems {
    /// The problems that tell mutants of a kernel from it.
    pub fn of(kernel: &Kernel) -> DistinguishingProblems {
        let tile = tile_of(&kernel.id);
        let extent = |at: usize| tile.get(at).copied().unwrap_or(1);
        let (m, n, k) = (extent(0), extent(1), extent(2));
        let gemm = kernel.product().is_some();
        let depth = |depth: i64| if gemm { depth } else { 1 };
        let persistent = kernel.has_tensor_maps();
        let stages = stages_of(&kernel.id).unwrap_or_else(|| {
            let ring = if persistent { ring_of(kernel) } else { 1 };
            ring / ((m + n) * k).max(1)
        });
        let deep = depth((stages.clamp(1, 8) + 1) * k + 8);
        let shallow = depth(k + 8);
        // A CTA of the emulated device, which has four, takes several of these tiles.
        let several = if persistent { 9 } else { 1 };
        let main = vec![
            [m - 1, n - 1, shallow],
            [m - 1, n - 1, deep],
            [several * m + 1, n + 1, depth(8)],
        ];
        // Rows of tiles are taken in groups, of clusters where there are some.
        let clusters = kernel.launches.iter().filter_map(|launch| launch.cluster);
        let rows = clusters.map(|cluster| i64::from(cluster[0])).max();
        let rows = rows.unwrap_or(1);
        let mut edges = vec![[2 * m, 2 * n, depth(k)], [m, n, depth(stages * k)]];
        if gemm {
            let halves = [0, 1, k / 2, k - 8, k, k + 1, k + 8, k + k / 2];
            let depths = halves.into_iter().chain([2 * k, 3 * k, 4 * k - 8]);
            edges.extend(depths.map(|k| [9, 10, k]));
            edges.extend([[m + 1, 9 * n + 1, 8], [8 * rows * m + 1, n + 1, 8]]);
            edges.push(match persistent {
                // The ring goes on from tile to tile.
                true => [6 * m - 1, 2 * n - 2, deep],
                // The second group of rows begins behind whole columns.
                false => [8 * m + 1, 2 * n, 8],
            });
        }
        // Loads by boxes know no edge; others look for it in each k-tile.
        let whole = if persistent { depth(8) } else { deep };
        for step in (0..m.max(n)).step_by(8) {
            let two = [(3, 2, shallow), (6, 3, depth(8)), (8, 8, whole)];
            for (rows, cols, k) in two {
                let rows = (step + rows - 1) % m + 1;
                edges.push([rows, (step + cols - 1) % n + 1, k]);
            }
        }
        edges.extend((1..=8).map(|rest| [m + rest, n + rest % 5, depth(8)]));
        let mut problems = DistinguishingProblems {
            main,
            edges,
            ..DistinguishingProblems::default()
        };
        if persistent {
            // Three tiles, each of which takes the ring round twice: a consumer that does not wait
            // for its turn takes the first round for its own.
            let twice = (2 * stages.clamp(1, 8) + 1) * k + 8;
            problems.rounds = vec![[3 * rows * m - 1, n - 2, twice]];
            // A Hilbert curve fills squares of up to 16 tiles: two of them side by side and a rest
            // along both axes, then a row of tiles less than one.
            let squares = [16 * rows * m + 1, 32 * n + 8, 8];
            problems.rasters = vec![squares, [14 * rows * m + 1, 16 * n + 8, 8]];
        }
        problems
    }
}

/// The tile in an id such as `gemm_bf16_tn@128x256x64_s2-ebdd6c`.
fn tile_of(id: &str) -> Vec<i64> {
    let suffix = id.split_once('@').map_or("", |(_, suffix)| suffix);
    let tile = suffix.split(['_', '-']).next().unwrap_or_default();
    tile.split('x').filter_map(|one| one.parse().ok()).collect()
}

fn stages_of(id: &str) -> Option<i64> {
    let (_, suffix) = id.split_once('@')?;
    let parts = suffix.split(['_', '-']);
    let mut stages = parts.filter_map(|part| part.strip_prefix('s')?.parse().ok());
    stages.next_back()
}

/// The elements that a ring in all of the shared memory holds: no ring is longer.
fn ring_of(kernel: &Kernel) -> i64 {
    let operands = kernel.semantics.operands.iter();
    let bytes = operands
        .map(|operand| i64::from(operand.dtype.bytes()))
        .min();
    i64::from(kernel.resources.dynamic_smem_bytes) / bytes.unwrap_or(1).max(1)
}
