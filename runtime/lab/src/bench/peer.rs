//! Peers: whoever else computes what kernels compute, from the same operands in the same memory.
//!
//! A peer is one implementation of [`Peer`]: it has candidates, of which the first is its default,
//! and enqueues one on a set of operands. What is common to all stands beside the trait: finding
//! the fastest candidates, and taking part in a rotation. cuBLASLt is the peer of products,
//! `cuMemcpyDtoDAsync` that of copies.

use tilewright_bundle::DType;

use super::rotation::Rules;
use super::rows::Mode;
use super::sensors::Sensors;
use super::slices::{Contender, Cut, contest, estimate_us};
use crate::verify::GemmForm;
use tilewright_runtime::Buffer;
use tilewright_runtime::Error;
use tilewright_runtime::cuda::{
    Algorithm, BlasLt, CudaDevice, DeviceMemory, MatrixOrder, Product, Side,
};
use tilewright_runtime::{Extents, Matrix};

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
/// factor with the output's rows comes first.
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
    seed: u64,
) -> Result<Vec<usize>, Error> {
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
        graph: true,
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

/// The driver's copy, the peer of kernels that leave bytes as they are.
pub(crate) struct Memcpy<'d> {
    pub device: &'d CudaDevice,
    pub bytes: u64,
}

impl Peer for Memcpy<'_> {
    fn candidates(&self) -> usize {
        1
    }

    fn name(&self, _: usize) -> String {
        "cuMemcpyDtoDAsync".to_owned()
    }

    fn run(&self, _: usize, set: &Set) -> Result<(), Error> {
        let [from, to] = set.as_slice() else {
            return Err(Error::ForeignBuffer);
        };
        self.device.copy(memory(from)?, memory(to)?, self.bytes)
    }
}

/// A product of cuBLASLt over a gemm's operands, with its candidates.
pub(crate) struct CublasLt {
    blas: BlasLt,
    product: Product,
    /// Whether `b` is the left factor, as it is for a row-major output.
    b_is_left: bool,
    algorithms: Vec<Algorithm>,
    /// Types of a and b where they are not the operands'.
    stand_in: Option<[DType; 2]>,
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
        form: &GemmForm,
        extents: &[Extents],
        candidates: usize,
        all: bool,
    ) -> Result<CublasLt, Error> {
        let (a, b, d) = (
            form.a.orient(extents),
            form.b.orient(extents),
            form.d.orient(extents),
        );
        let side = |extents: Matrix, dtype, name| {
            let (order, leading) = order(extents, name)?;
            Ok::<Side, Error>(Side {
                dtype,
                extent: extents.rows,
                order,
                leading,
            })
        };
        let factors = [form.a.dtype, form.b.dtype];
        let types = types_for(factors);
        let (a, b) = (side(a, types[0], "a")?, side(b, types[1], "b")?);
        let (out, leading) = order(d, "d")?;
        let b_is_left = out == MatrixOrder::KMajor;
        let (left, right) = if b_is_left { (b, a) } else { (a, b) };
        let k = form.shape.k as i64;
        let out = (form.d.dtype, leading);
        let product = blas.product(left, right, k, out, form.accumulator)?;
        let algorithms = if all {
            blas.all_algorithms(&product, candidates)?
        } else {
            blas.algorithms(&product, candidates)?
        };
        if algorithms.is_empty() {
            return Err(Error::Request(format!(
                "cuBLASLt proposes nothing for {:?}",
                form.shape
            )));
        }
        Ok(CublasLt {
            blas: blas.clone(),
            product,
            b_is_left,
            algorithms,
            stand_in: (types != factors).then_some(types),
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
        match self.stand_in {
            Some([a, b]) => format!("{name}, {a} x {b} in place of the kernel's types"),
            None => name,
        }
    }

    fn run(&self, candidate: usize, set: &Set) -> Result<(), Error> {
        let [a, b, d] = set.as_slice() else {
            return Err(Error::ForeignBuffer);
        };
        let (a, b, d) = (memory(a)?, memory(b)?, memory(d)?);
        let (left, right) = if self.b_is_left { (b, a) } else { (a, b) };
        let Some(algorithm) = self.algorithms.get(candidate) else {
            return Err(Error::Request(format!(
                "cuBLASLt has no candidate {candidate}"
            )));
        };
        self.blas.run(&self.product, algorithm, left, right, d)
    }

    fn is_stand_in(&self) -> bool {
        self.stand_in.is_some()
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
