//! The problems that tell broken kernels from right ones.
//!
//! In: a kernel. Out: problems that meet each of its roles, stages and edge paths, the cheapest
//! ones that do: most mutants show in the first launch, and those that never show cost all of
//! them. Products and copies of matrices are asked at the edges of their tiles, their rows as tight
//! as they allow; other kernels near their tiles as well, and on problems as `verify` draws them.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tilewright_bundle::Kernel;
use tilewright_formula::form::Form;
use tilewright_lab::verify::Draw;
use tilewright_runtime::{DeviceInfo, Problem, tightest};

/// The seed of problems that are drawn.
const SEED: u64 = 2026;
/// Problems that are drawn as `verify` does, problems at the edges of tiles, and how many of all,
/// the largest ones, run under every schedule.
const DRAWN: usize = 6;
const AT_EDGES: usize = 8;
const LARGEST: usize = 2;
/// Largest product of the extents of such a problem; a little more than a tile where that is more.
const VOLUME: i64 = 1 << 13;
/// What scalars are: a power of two, so that little is lost by it.
const SCALAR: f64 = 2.0;

/// Problems that meet every path of a kernel, or what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Distinguishing<T> {
    /// Ragged edges with two k-tiles, then with more k-tiles than stages, then several tiles for
    /// each CTA that takes more than one; of problems that are drawn the largest.
    pub main: Vec<T>,
    /// Every eighth of a tile as an edge, whole tiles, few k-tiles, so many rows of tiles that
    /// their order over the grid matters: boundaries of comparisons. The first one is of four
    /// whole tiles. Of problems that are drawn all others.
    pub edges: Vec<T>,
    /// Several tiles for one CTA, in which parities come round again.
    pub rounds: Vec<T>,
    /// More tiles along both axes than any order over the grid takes together; none of kernels
    /// with an epilogue, whose reference takes long, and whose order is that of those without.
    pub rasters: Vec<T>,
}

/// Such problems.
pub type DistinguishingProblems = Distinguishing<Problem>;

/// The extents m, n and k of such problems.
type Sizes = Distinguishing<[i64; 3]>;

impl DistinguishingProblems {
    /// The problems that tell mutants of a kernel from it, on a device.
    pub fn of(kernel: &Kernel, device: &DeviceInfo) -> DistinguishingProblems {
        let contraction = matches!(kernel.form(), Some(Form::Contraction(_)));
        let mut extents = kernel.free_extents();
        let named = extents.all(|(_, text)| ["m", "n", "k"].contains(&text));
        if !(named && contraction || is_copy_of_matrices(kernel)) {
            return DistinguishingProblems::drawn(kernel, device);
        }
        // Some kernels take no empty problems.
        let of = |sizes: Vec<[i64; 3]>| {
            let problems = sizes.into_iter();
            let problems = problems.map(|[m, n, k]| scaled(kernel, Problem::new(m, n, k)));
            let tight = problems.filter_map(|problem| tightest(kernel, &problem, device).ok());
            tight.collect::<Vec<Problem>>()
        };
        let Sizes {
            main,
            edges,
            rounds,
            rasters,
        } = Sizes::of(kernel);
        let plain = kernel.product().is_some() || !contraction;
        DistinguishingProblems {
            main: of(main),
            edges: of(edges),
            rounds: of(rounds),
            rasters: of(if plain { rasters } else { Vec::new() }),
        }
    }

    /// Problems at the edges of tiles, and such as `verify` draws: the same for each kernel of a
    /// tile.
    fn drawn(kernel: &Kernel, device: &DeviceInfo) -> DistinguishingProblems {
        let tile = tile_of(&kernel.id);
        let whole = tile_volume(kernel);
        let most = VOLUME.max(whole + whole / 4);
        let mut problems = at_edges(kernel, device, &tile, most);
        let mut draw = Draw::new(kernel, device, SEED)
            .for_the_emulator()
            .with_volume(VOLUME.unsigned_abs());
        let cases = (0..DRAWN).map_while(|_| draw.next_case().ok());
        problems.extend(cases.map(|case| case.problem));
        problems.sort_by_key(|one| std::cmp::Reverse(volume(one)));
        let edges = problems.split_off(LARGEST.min(problems.len()));
        DistinguishingProblems {
            main: problems,
            edges,
            ..DistinguishingProblems::default()
        }
    }
}

/// The product of a problem's extents.
fn volume(problem: &Problem) -> i64 {
    let extents = problem.extents().map(|(_, extent)| extent);
    extents.fold(1, i64::saturating_mul)
}

/// Problems whose extents are whole tiles, one more or less, few, or any: each extent by itself,
/// since an id does not say which number of its tile is whose.
fn at_edges(kernel: &Kernel, device: &DeviceInfo, tile: &[i64], most: i64) -> Vec<Problem> {
    let around = |extent: &i64| [extent - 1, *extent, *extent, extent + 1, extent + 9];
    let near = tile.iter().filter(|extent| **extent > 1).flat_map(around);
    let choices: Vec<i64> = near.chain([1, 2, 8, 24]).collect();
    let mut rng = StdRng::seed_from_u64(SEED);
    let longest = tile.iter().copied().max().unwrap_or(1).max(1);
    let drawn = (0..64 * AT_EDGES).filter_map(|_| {
        let extents = kernel.free_extents().map(|(_, name)| {
            let extent = match rng.random_bool(0.5) {
                true => choices.choose(&mut rng).copied().unwrap_or(1),
                false => rng.random_range(1..=longest),
            };
            (name.to_owned(), extent)
        });
        let extents = Problem::of(extents.collect::<Vec<_>>());
        (volume(&extents) <= most).then_some(extents)
    });
    let tight = drawn.filter_map(|extents| tightest(kernel, &scaled(kernel, extents), device).ok());
    tight.take(AT_EDGES).collect()
}

/// A problem with values of the kernel's scalars.
fn scaled(kernel: &Kernel, problem: Problem) -> Problem {
    let scalars = kernel.semantics.scalars.iter();
    scalars.fold(problem, |problem, scalar| {
        problem.with_scalar(&scalar.name, SCALAR)
    })
}

/// Whether a kernel moves a matrix as it is, and nothing else.
pub fn is_copy_of_matrices(kernel: &Kernel) -> bool {
    kernel.copied().is_some_and(|[from, to]| {
        let alike = from.dtype == to.dtype && from.layout.shape == to.layout.shape;
        alike && from.layout.rank() == 2
    })
}

impl Sizes {
    fn of(kernel: &Kernel) -> Sizes {
        let [m, n, k] = tile_of_matrices(kernel);
        let gemm = kernel.copied().is_none();
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
        edges.extend(at_padding(kernel));
        let mut problems = Sizes {
            main,
            edges,
            rounds: Vec::new(),
            rasters: Vec::new(),
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

/// Extents m, n and k at which packed operands are padded no further, and just beyond.
fn at_padding(kernel: &Kernel) -> Vec<[i64; 3]> {
    let mut sizes = Vec::new();
    for operand in &kernel.semantics.operands {
        let Some(order) = &operand.packed else {
            continue;
        };
        for beyond in [0, 1] {
            let mut size = [9, 10, 8];
            let units = order.tile().into_iter().zip(&order.multiple);
            for (axis, (tile, multiple)) in operand.layout.shape.iter().zip(units) {
                let at = ["m", "n", "k"].iter().position(|name| *name == axis.text());
                if let Some(extent) = at.and_then(|at| size.get_mut(at)) {
                    *extent = tile * i64::from(*multiple) + beyond;
                }
            }
            sizes.push(size);
        }
    }
    sizes
}

/// The elements of a tile, over all of its modes.
pub fn tile_volume(kernel: &Kernel) -> i64 {
    tile_of(&kernel.id).iter().product()
}

/// The tile in an id such as `gemm_bf16_tn@128x256x64_s2-ebdd6c`.
/// The tile along m, n and k: that of the traits, as an id has n before m where the factors of a
/// product are exchanged.
fn tile_of_matrices(kernel: &Kernel) -> [i64; 3] {
    let tile = tile_of(&kernel.id);
    [(0, "m"), (1, "n"), (2, "k")].map(|(at, mode)| {
        let of_id = tile.get(at).copied();
        let traits = kernel.traits.as_ref();
        let own = traits.and_then(|traits| traits.tile.get(mode).or(traits.step.get(mode)));
        own.copied().or(of_id).unwrap_or(1)
    })
}

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
