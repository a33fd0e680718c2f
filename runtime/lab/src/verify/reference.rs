//! Products in f64: on the CPU for small problems, on the GPU for large ones.
//!
//! Factors are dense and K-major: `a` is (m,k), `b` is (n,k), both row by row.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use tilewright_bundle::DType;

use super::numbers::{decode, encode, peak, weights};
use tilewright_runtime::Error;
use tilewright_runtime::cuda::{Batch, BlasLt, CudaDevice, DeviceMemory, MatrixOrder, Side};

/// Largest m·n·k that is computed on the CPU.
pub const CPU_MOST: u64 = 1 << 28;

/// Extents of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of `a` and of the result.
    pub m: usize,
    /// Rows of `b`, columns of the result.
    pub n: usize,
    /// The contracted extent.
    pub k: usize,
}

impl Shape {
    /// Multiplications of one product.
    pub fn volume(&self) -> u64 {
        (self.m as u64)
            .saturating_mul(self.n as u64)
            .saturating_mul(self.k as u64)
    }
}

/// A product and what its error is measured by, both (m,n) row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// `sum over k of a(i,k) * b(j,k)`.
    pub product: Vec<f64>,
    /// `sum over k of |a(i,k)| * |b(j,k)|`, of what is finite.
    pub magnitude: Vec<f64>,
    /// The largest weight in each row of either factor: 2 to the exponent of its largest number.
    pub peaks: [Vec<f64>; 2],
}

/// The product on the CPU.
pub fn on_cpu(a: &[f64], b: &[f64], shape: Shape, inputs: [DType; 2]) -> Reference {
    let Shape { m, n, k } = shape;
    let mut product = vec![0f64; m * n];
    let mut magnitude = vec![0f64; m * n];
    let rows = product
        .par_chunks_mut(n.max(1))
        .zip(magnitude.par_chunks_mut(n.max(1)));
    rows.enumerate().for_each(|(i, (product, magnitude))| {
        let a = &a[i * k..(i + 1) * k];
        for (j, (p, q)) in product.iter_mut().zip(magnitude).enumerate() {
            (*p, *q) = dot(a, &b[j * k..(j + 1) * k]);
        }
    });
    Reference {
        product,
        magnitude,
        peaks: [peaks(a, k, m, inputs[0]), peaks(b, k, n, inputs[1])],
    }
}

/// One element of a product: the sum, the sum of magnitudes and the product of the largest weights,
/// as [`on_cpu`] has them of factors of one row.
pub(super) fn element(a: &[f64], b: &[f64], inputs: [DType; 2]) -> (f64, f64, f64) {
    let (product, magnitude) = dot(a, b);
    (product, magnitude, peak(a, inputs[0]) * peak(b, inputs[1]))
}

/// The largest weight in each row of a factor.
fn peaks(values: &[f64], k: usize, rows: usize, dtype: DType) -> Vec<f64> {
    let weights = weights(values, dtype);
    let mut peaks: Vec<f64> = weights
        .par_chunks(k.max(1))
        .map(|row| row.iter().copied().fold(0.0, f64::max))
        .collect();
    peaks.resize(rows, 0.0);
    peaks
}

/// Sum of products and sum of their magnitudes, in eight lanes each.
fn dot(a: &[f64], b: &[f64]) -> (f64, f64) {
    const LANES: usize = 8;
    let (mut sums, mut sizes) = ([0f64; LANES], [0f64; LANES]);
    let (a8, b8) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a8.remainder().iter().zip(b8.remainder());
    let tail = rest.fold((0.0, 0.0), |(s, t), (x, y)| (s + x * y, t + finite(x * y)));
    for (x, y) in a8.zip(b8) {
        for lane in 0..LANES {
            let term = x[lane] * y[lane];
            sums[lane] += term;
            sizes[lane] += finite(term);
        }
    }
    (
        sums.iter().sum::<f64>() + tail.0,
        sizes.iter().sum::<f64>() + tail.1,
    )
}

/// The magnitude of a number; 0 for what is none.
fn finite(term: f64) -> f64 {
    let magnitude = term.abs();
    if magnitude < f64::INFINITY {
        magnitude
    } else {
        0.0
    }
}

/// The product on the GPU by cuBLASLt's f64 arithmetic, checked against the CPU at random elements.
///
/// # Errors
/// When the library or the driver fails, or the check finds a wrong element.
pub fn on_gpu(
    device: &CudaDevice,
    blas: &BlasLt,
    a: &[f64],
    b: &[f64],
    shape: Shape,
    inputs: [DType; 2],
) -> Result<Reference, Error> {
    let absolute = |x: &[f64]| x.par_iter().map(|v| v.abs()).collect::<Vec<f64>>();
    let product = dgemm(device, blas, a, b, shape)?;
    let magnitude = dgemm(device, blas, &absolute(a), &absolute(b), shape)?;
    let reference = Reference {
        product,
        magnitude,
        peaks: [
            peaks(a, shape.k, shape.m, inputs[0]),
            peaks(b, shape.k, shape.n, inputs[1]),
        ],
    };
    spot_check(&reference, a, b, shape)?;
    Ok(reference)
}

fn dgemm(
    device: &CudaDevice,
    blas: &BlasLt,
    a: &[f64],
    b: &[f64],
    shape: Shape,
) -> Result<Vec<f64>, Error> {
    let (m, n, k) = (shape.m as i64, shape.n as i64, shape.k as i64);
    let side = |extent| Side {
        dtype: DType::F64,
        extent,
        order: MatrixOrder::KMajor,
        leading: k,
    };
    // Row-major (m,n) is column-major (n,m): `b` is the left factor.
    let product = blas.product(
        [side(n), side(m)],
        k,
        (DType::F64, n),
        DType::F64,
        Batch::ONE,
        None,
    )?;
    let algorithms = blas.algorithms(&product, 1)?;
    let Some(algorithm) = algorithms.first() else {
        return Err(Error::Request(format!(
            "cuBLASLt has no f64 product of {shape:?}"
        )));
    };
    let upload = |values: &[f64]| -> Result<DeviceMemory, Error> {
        let bytes = encode(DType::F64, values)?;
        let memory = device.alloc(bytes.len() as u64)?;
        device.upload(&memory, 0, &bytes)?;
        Ok(memory)
    };
    let (a, b) = (upload(a)?, upload(b)?);
    let out = device.alloc((shape.m as u64) * (shape.n as u64) * 8)?;
    blas.run(&product, algorithm, [&b, &a, &out], None)?;
    decode(DType::F64, &device.download(&out)?)
}

/// Compares random elements with the CPU's; both are f64, so they differ by rounding alone.
fn spot_check(found: &Reference, a: &[f64], b: &[f64], shape: Shape) -> Result<(), Error> {
    let Shape { m, n, k } = shape;
    let mut rng = StdRng::seed_from_u64(m as u64 ^ (n as u64) << 20 ^ (k as u64) << 40);
    for _ in 0..256 {
        let (i, j) = (rng.random_range(0..m), rng.random_range(0..n));
        let (want, size) = dot(&a[i * k..(i + 1) * k], &b[j * k..(j + 1) * k]);
        let allowed = 4.0 * k as f64 * f64::EPSILON * size;
        let got = found.product[i * n + j];
        if (got - want).abs() > allowed || (found.magnitude[i * n + j] - size).abs() > allowed {
            return Err(Error::Request(format!(
                "the f64 reference of the GPU is {got} at ({i},{j}); the CPU says {want}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        let shape = Shape { m: 3, n: 4, k: 19 };
        let a: Vec<f64> = (0..shape.m * shape.k)
            .map(|x| (x % 7) as f64 - 3.0)
            .collect();
        let b: Vec<f64> = (0..shape.n * shape.k)
            .map(|x| (x % 5) as f64 - 2.0)
            .collect();
        let found = on_cpu(&a, &b, shape, [DType::BF16; 2]);
        for i in 0..shape.m {
            for j in 0..shape.n {
                let terms = (0..shape.k).map(|l| a[i * shape.k + l] * b[j * shape.k + l]);
                let (sum, size) = terms.fold((0.0, 0.0), |(s, t), x| (s + x, t + x.abs()));
                assert_eq!(found.product[i * shape.n + j], sum);
                assert_eq!(found.magnitude[i * shape.n + j], size);
            }
        }
        assert_eq!(found.peaks, [vec![2.0; 3], vec![2.0; 4]]);
        let one = element(&a[..shape.k], &b[..shape.k], [DType::BF16; 2]);
        assert_eq!(one, (found.product[0], found.magnitude[0], 4.0));
        assert!(spot_check(&found, &a, &b, shape).is_ok());
        let mut wrong = found;
        wrong.product.iter_mut().for_each(|x| *x += 1e-6);
        assert!(spot_check(&wrong, &a, &b, shape).is_err());
    }
}
