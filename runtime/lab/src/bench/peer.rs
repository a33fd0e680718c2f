//! Peers: whoever else computes what kernels compute, from the same operands in the same memory.
//!
//! A peer is one implementation of [`Peer`]: it has candidates, of which the first is its default,
//! and enqueues one on a set of operands. What is common to all stands beside the trait: finding
//! the fastest candidates, and taking part in a rotation. cuBLASLt is the peer of products, alone,
//! a batch or with scales of blocks, and of formulas around one; `cuMemcpyDtoDAsync` that of
//! copies, and of whatever else moves as many bytes.

use tilewright_bundle::DType;

use super::contraction::Matrices;
use super::rotation::Rules;
use super::rows::Mode;
use super::scales::Scales;
use super::sensors::Sensors;
use super::slices::{Contender, Cut, contest, estimate_us};
use tilewright_runtime::Buffer;
use tilewright_runtime::Error;
use tilewright_runtime::Matrix;
use tilewright_runtime::cuda::{
    Algorithm, Batch, BlasLt, CudaDevice, DeviceMemory, MatrixOrder, Product, Side,
};

/// Finalists that are measured a second time.
const FINALISTS: usize = 6;
/// Rounds of the finalists.
const ROUNDS: usize = 15;
/// Slices of the finalists.
const SLICE_US: f64 = 5e3;
/// Load before the finalists' first round.
const HEAT_US: f64 = 100e3;

/// Products that cuBLASLt does not have, and those that it is measured with in their place: of as
/// many bits, which the tensor cores multiply as fast, but with other results.
const STAND_INS: &[([DType; 2], [DType; 2])] = &[
    ([DType::E5M2, DType::E5M2], [DType::E4M3, DType::E5M2]),
    ([DType::U8, DType::U8], [DType::S8, DType::S8]),
];

/// The types of the peer's factors for factors of those types.
fn types_for(factors: [DType; 2]) -> [DType; 2] {
    let stand_in = STAND_INS.iter().find(|(missing, _)| *missing == factors);
    stand_in.map_or(factors, |(_, there)| *there)
}

/// The device memory of one set of operands: what is read, then what is written. Of a product the
/// factor with the output's rows comes first. What the peer alone needs stands last.
pub(crate) type Set = Vec<Buffer>;

/// Somebody else's way of computing something.
pub(crate) trait Peer {
    /// How many ways of computing it there are; the first is the default.
    fn candidates(&self) -> usize;

    /// What a candidate is called in a row.
    fn name(&self, candidate: usize) -> String;

    /// Enqueues a candidate on a set of operands.
    ///
    /// # Errors
    /// When it cannot run, or the driver fails.
    fn run(&self, candidate: usize, set: &Set) -> Result<(), Error>;

    /// Whether it computes something else from the same bytes, for want of what kernels compute.
    fn is_stand_in(&self) -> bool {
        false
    }

    /// Multiplications and additions of one launch, where those are what it is measured by.
    fn flops(&self) -> Option<f64> {
        None
    }

    /// The version of cuBLASLt, of peers that are of it.
    fn cublaslt(&self) -> Option<String> {
        None
    }
}

/// A contender that runs one candidate of a peer.
pub(crate) fn contender<'a>(
    peer: &'a dyn Peer,
    candidate: usize,
    sets: &'a [Set],
) -> Contender<'a> {
    Contender::new(move |set| peer.run(candidate, &sets[set]))
}

/// Measures every candidate of a peer briefly and the fastest few again; the latter, fastest first.
pub(crate) fn fastest(
    peer: &dyn Peer,
    device: &CudaDevice,
    sensors: &Sensors,
    sets: &[Set],
    graph: bool,
    seed: u64,
) -> Result<Vec<usize>, Error> {
    if peer.candidates() == 1 {
        return Ok(vec![0]);
    }
    let mut times: Vec<(usize, f64)> = Vec::new();
    for candidate in 0..peer.candidates() {
        let contender = contender(peer, candidate, sets);
        // A candidate that cannot run after all is none.
        if let Ok(us) = estimate_us(device, &contender, sets.len()) {
            times.push((candidate, us));
        }
    }
    device.synchronize()?;
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    times.truncate(FINALISTS);
    let finalists: Vec<Contender<'_>> = times
        .iter()
        .map(|(candidate, _)| contender(peer, *candidate, sets))
        .collect();
    let cut = Cut {
        sets: sets.len(),
        slice_us: SLICE_US,
        graph,
    };
    let rules = Rules {
        heat_us: HEAT_US,
        ..Rules::new(Mode::Sustained, ROUNDS, seed)
    };
    let samples = contest(device, sensors, &finalists, &cut, &rules)?;
    let mut ranked: Vec<(usize, f64)> = times
        .iter()
        .enumerate()
        .map(|(at, (candidate, _))| (*candidate, samples.median_us(at)))
        .collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(ranked.into_iter().map(|(candidate, _)| candidate).collect())
}

/// The driver's copy, the peer of kernels that leave bytes as they are, and a measure of all that
/// move as many.
pub(crate) struct Memcpy {
    device: CudaDevice,
    bytes: u64,
    /// Whether kernels do anything else with the bytes.
    is_stand_in: bool,
}

impl Memcpy {
    /// The peer of copies of so many bytes.
    pub fn of_copies(device: CudaDevice, bytes: u64) -> Memcpy {
        Memcpy {
            device,
            bytes,
            is_stand_in: false,
        }
    }

    /// A copy of so many bytes beside what reads and writes twice as many together.
    pub fn beside(device: CudaDevice, bytes: u64) -> Memcpy {
        Memcpy {
            device,
            bytes,
            is_stand_in: true,
        }
    }
}

impl Peer for Memcpy {
    fn candidates(&self) -> usize {
        1
    }

    fn name(&self, _: usize) -> String {
        let name = "cuMemcpyDtoDAsync";
        match self.is_stand_in {
            true => format!("{name} of as many bytes"),
            false => name.to_owned(),
        }
    }

    fn run(&self, _: usize, set: &Set) -> Result<(), Error> {
        let [.., from, to] = set.as_slice() else {
            return Err(Error::ForeignBuffer);
        };
        self.device.copy(memory(from)?, memory(to)?, self.bytes)
    }

    fn is_stand_in(&self) -> bool {
        self.is_stand_in
    }
}

/// A product of cuBLASLt over operands, with its candidates.
pub(crate) struct CublasLt {
    blas: BlasLt,
    product: Product,
    /// Where a set has the factors and the output.
    places: [usize; 3],
    /// Whether `b` is the left factor, as it is for a row-major output.
    b_is_left: bool,
    algorithms: Vec<Algorithm>,
    /// Types of a and b where they are not the operands'.
    stand_in: Option<[DType; 2]>,
    /// Whether it reads the scales of a and of b, which stand last in a set.
    is_scaled: bool,
    /// Whether kernels compute more than the product.
    is_part: bool,
    flops: f64,
}

/// Which index of a factor is contiguous, and the other one's stride.
pub(crate) fn order(extents: Matrix, name: &str) -> Result<(MatrixOrder, i64), Error> {
    match (extents.row_stride, extents.col_stride) {
        (leading, 1) => Ok((MatrixOrder::KMajor, leading)),
        (1, leading) => Ok((MatrixOrder::MnMajor, leading)),
        (row, col) => Err(Error::Request(format!(
            "`{name}` has strides ({row},{col}); cuBLASLt needs one of them to be 1"
        ))),
    }
}

impl CublasLt {
    /// Describes the product and asks for ways to compute it, at most `candidates` at a time: under
    /// the library's own preference, or under every other as well.
    pub fn new(
        blas: &BlasLt,
        matrices: &Matrices,
        candidates: usize,
        all: bool,
    ) -> Result<CublasLt, Error> {
        let [a, b, d] = matrices.matrices;
        let [a_type, b_type, d_type] = matrices.dtypes;
        let side = |extents: Matrix, dtype, name| {
            let (order, leading) = order(extents, name)?;
            Ok::<Side, Error>(Side {
                dtype,
                extent: extents.rows,
                order,
                leading,
            })
        };
        let factors = [a_type, b_type];
        let types = types_for(factors);
        let k = a.cols;
        let (a, b) = (side(a, types[0], "a")?, side(b, types[1], "b")?);
        let (out, leading) = order(d, "d")?;
        let b_is_left = out == MatrixOrder::KMajor;
        let [of_a, of_b, of_d] = matrices.strides;
        let scales = matrices.scales.as_ref().map(Scales::modes);
        let (sides, strides, scales) = match b_is_left {
            true => ([b, a], [of_b, of_a, of_d], scales.map(|[a, b]| [b, a])),
            false => ([a, b], [of_a, of_b, of_d], scales),
        };
        let count = i32::try_from(matrices.count).map_err(|_| {
            Error::Request(format!("cuBLASLt takes no {} products", matrices.count))
        })?;
        let batch = Batch { count, strides };
        let out = (d_type, leading);
        let product = blas.product(sides, k, out, matrices.accumulator, batch, scales)?;
        let algorithms = if all {
            blas.all_algorithms(&product, candidates)?
        } else {
            blas.algorithms(&product, candidates)?
        };
        if algorithms.is_empty() {
            let (m, n) = (d.rows, d.cols);
            return Err(Error::Request(format!(
                "cuBLASLt proposes nothing for {count} of {m}x{n}x{k}"
            )));
        }
        Ok(CublasLt {
            blas: blas.clone(),
            product,
            places: matrices.places,
            b_is_left,
            algorithms,
            stand_in: (types != factors).then_some(types),
            is_scaled: scales.is_some(),
            is_part: !matrices.is_all,
            flops: matrices.flops(),
        })
    }
}

impl Peer for CublasLt {
    fn candidates(&self) -> usize {
        self.algorithms.len()
    }

    fn name(&self, candidate: usize) -> String {
        let (number, all) = (candidate + 1, self.algorithms.len());
        let name = format!("cublasLt heuristic {number} of {all}");
        let name = match self.is_scaled {
            true => format!("{name}, with scales"),
            false => name,
        };
        let name = match self.stand_in {
            Some([a, b]) => format!("{name}, {a} x {b} in place of the kernel's types"),
            None => name,
        };
        match self.is_part {
            true => format!("{name}, the product alone"),
            false => name,
        }
    }

    fn run(&self, candidate: usize, set: &Set) -> Result<(), Error> {
        let of = |at: usize| set.get(at).ok_or(Error::ForeignBuffer).and_then(memory);
        let [a, b, d] = self.places.map(of);
        let (a, b, d) = (a?, b?, d?);
        let scales = match set.as_slice() {
            [.., of_a, of_b] if self.is_scaled => Some([memory(of_a)?, memory(of_b)?]),
            _ => None,
        };
        let (operands, scales) = match self.b_is_left {
            true => ([b, a, d], scales.map(|[a, b]| [b, a])),
            false => ([a, b, d], scales),
        };
        let Some(algorithm) = self.algorithms.get(candidate) else {
            return Err(Error::Request(format!(
                "cuBLASLt has no candidate {candidate}"
            )));
        };
        self.blas.run(&self.product, algorithm, operands, scales)
    }

    fn is_stand_in(&self) -> bool {
        self.stand_in.is_some() || self.is_part
    }

    fn flops(&self) -> Option<f64> {
        Some(self.flops)
    }

    /// `130200` as `13.2.0`.
    fn cublaslt(&self) -> Option<String> {
        let counted = self.blas.version();
        let (major, rest) = (counted / 10_000, counted % 10_000);
        Some(format!("{major}.{}.{}", rest / 100, rest % 100))
    }
}

/// The GPU memory of a buffer.
pub(crate) fn memory(buffer: &Buffer) -> Result<&DeviceMemory, Error> {
    match buffer {
        Buffer::Cuda(memory) => Ok(memory),
        Buffer::Emulated(_) => Err(Error::ForeignBuffer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_products_have_a_stand_in() {
        use DType::{BF16, E4M3, E5M2, S8, TF32, U8};
        for dtype in [BF16, E4M3, S8, TF32] {
            assert_eq!(types_for([dtype; 2]), [dtype; 2]);
        }
        assert_eq!(types_for([E5M2; 2]), [E4M3, E5M2]);
        assert_eq!(types_for([U8; 2]), [S8; 2]);
        for (missing, there) in STAND_INS {
            assert_eq!(types_for(*there), *there, "{missing:?}");
            assert_eq!(missing.map(DType::bits), there.map(DType::bits));
        }
    }
}
