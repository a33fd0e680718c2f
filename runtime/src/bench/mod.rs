//! Kernels measured beside their peers in one process: cuBLASLt for products, memcpy for copies.
//!
//! Launches of all contenders are interleaved in rounds and rotate through sets of buffers that
//! together are larger than twice the second-level cache. The output of every timed kernel is
//! compared with an f64 reference in the same run. Times are medians over the rounds; the peer
//! against itself gives the noise that a ratio stands beside.

mod rows;

mod sensors;

mod contest;

mod strided;

mod peer;

mod gemm;

mod copy;

use tilewright_bundle::{Family, Kernel};

pub use rows::{Mode, Row, RowProblem, RowTypes, Stamp};

use crate::cuda::{BlasLt, CudaDevice};
use crate::device::Device;
use crate::error::Error;
use crate::runtime::Runtime;
use contest::{Rules, Timing};
use sensors::Sensors;

/// Bytes that the sets of buffers must exceed together; the L2 of an H200 has 60 MB.
const ROTATED_BYTES: u64 = 128 << 20;
/// Most sets of buffers.
const MOST_SETS: u64 = 1024;

/// How to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The modes, each a row of its own.
    pub modes: Vec<Mode>,
    /// Rounds; medians are over them.
    pub rounds: usize,
    /// Length of one sustained measurement.
    pub sustained_us: f64,
    /// Candidates asked of cuBLASLt.
    pub candidates: usize,
    /// Kernels that share rounds with one measurement of the peer.
    pub together: usize,
    /// Measure the peer's default choice and the peer against itself as well.
    pub noise: bool,
    /// Seed of the inputs.
    pub seed: u64,
    /// What to write into the rows.
    pub stamp: Stamp,
}

impl Options {
    /// For tables: both modes, seven rounds, the best of 64 candidates, the noise floor.
    pub fn full(stamp: Stamp) -> Options {
        Options {
            modes: vec![Mode::Rested, Mode::Sustained],
            rounds: 7,
            sustained_us: 45e3,
            candidates: 64,
            together: 4,
            noise: true,
            seed: 1,
            stamp,
        }
    }

    /// For sweeps over many kernels: sustained, three short rounds, the peer's fastest candidate
    /// once for every eight kernels.
    pub fn quick(stamp: Stamp) -> Options {
        Options {
            modes: vec![Mode::Sustained],
            rounds: 3,
            sustained_us: 10e3,
            candidates: 16,
            together: 8,
            noise: false,
            seed: 1,
            stamp,
        }
    }
}

/// Extents to measure a kernel at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Rows of the output.
    pub m: i64,
    /// Columns of the output.
    pub n: i64,
    /// The contracted extent; ignored for copies.
    pub k: i64,
}

impl Extent {
    /// A copy of `bytes` bytes of elements of `elem_bytes`: rows of 8192 elements, or one row where
    /// that does not divide.
    pub fn of_copy(bytes: u64, elem_bytes: u32) -> Extent {
        let elems = (bytes / u64::from(elem_bytes.max(1))).max(1);
        let n = if elems.is_multiple_of(8192) {
            8192
        } else {
            elems
        };
        let count = |x: u64| i64::try_from(x).unwrap_or(i64::MAX);
        Extent {
            m: count(elems / n),
            n: count(n),
            k: 1,
        }
    }
}

/// What one measurement has to say while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// A row is finished.
    Row(&'a Row),
    /// A kernel was left out at an extent, and why.
    Skipped {
        /// The kernel's id.
        kernel: &'a str,
        /// Where.
        extent: Extent,
        /// Why.
        error: &'a Error,
    },
}

/// What every measurement on a device shares.
pub(crate) struct Bench<'a> {
    pub runtime: &'a Runtime,
    pub device: &'a CudaDevice,
    pub sensors: Sensors,
    pub options: &'a Options,
    /// Opened when the first product is measured.
    pub blas: Option<BlasLt>,
}

/// Measures kernels of a runtime's bundle at extents, reporting rows and left-out kernels as they
/// come. Rows come back fastest ratio first within an extent and mode.
///
/// Kernels may be of several families and types; those that a peer can share are measured together.
///
/// # Errors
/// When the device is no GPU, or fails.
pub fn bench(
    runtime: &Runtime,
    kernels: &[&Kernel],
    extents: &[Extent],
    options: &Options,
    mut report: impl FnMut(Event<'_>),
) -> Result<Vec<Row>, Error> {
    let Device::Cuda(device) = runtime.device() else {
        return Err(Error::Request(
            "measuring needs a GPU: the emulator has no time".to_owned(),
        ));
    };
    let sensors = Sensors::open(device);
    let mut bench = Bench {
        runtime,
        device,
        sensors,
        options,
        blas: None,
    };
    let of = |family| kernels.iter().copied().filter(move |k| k.family == family);
    let gemms: Vec<&Kernel> = of(Family::Gemm).collect();
    let copies: Vec<&Kernel> = of(Family::Copy).collect();
    let mut rows = Vec::new();
    for extent in extents {
        let mut found = Vec::new();
        found.extend(bench.gemms(&gemms, *extent, &mut report)?);
        found.extend(bench.copies(&copies, *extent, &mut report)?);
        found.sort_by(|a, b| b.ratio_best.total_cmp(&a.ratio_best));
        rows.append(&mut found);
    }
    Ok(rows)
}

/// Rows of a bench of copies at sizes in bytes, whatever the kernels' element types.
///
/// # Errors
/// As [`bench`].
pub fn bench_copies(
    runtime: &Runtime,
    kernels: &[&Kernel],
    sizes_bytes: &[u64],
    options: &Options,
    mut report: impl FnMut(Event<'_>),
) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for bytes in sizes_bytes {
        let elem = |k: &&Kernel| k.semantics.operand("d").map_or(1, |d| d.dtype.bytes());
        let mut sizes: Vec<u32> = kernels.iter().map(elem).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let same: Vec<&Kernel> = kernels
                .iter()
                .copied()
                .filter(|k| elem(k) == size)
                .collect();
            let extent = Extent::of_copy(*bytes, size);
            rows.extend(bench(runtime, &same, &[extent], options, &mut report)?);
        }
    }
    Ok(rows)
}

impl Bench<'_> {
    pub(crate) fn rules(&self, mode: Mode, sets: usize, graph: bool) -> Rules {
        let Options {
            rounds,
            sustained_us,
            ..
        } = *self.options;
        Rules {
            mode,
            rounds: rounds.max(1),
            sets,
            sustained_us,
            graph,
        }
    }

    /// Sets of buffers for operands of `bytes` bytes together.
    pub(crate) fn sets(&self, bytes: u64) -> usize {
        let rotated = ROTATED_BYTES.max(2 * self.device.info().l2_bytes);
        let room = self.device.info().memory_bytes / 2 / bytes.max(1);
        rotated
            .div_ceil(bytes.max(1))
            .clamp(2, MOST_SETS)
            .min(room.max(1)) as usize
    }

    /// A row with everything but the measurements of a family.
    pub(crate) fn row(&self, kernel: &Kernel, mode: Mode, ours: &Timing) -> Row {
        let info = self.device.info();
        let stamp = &self.options.stamp;
        let version = info.driver.unwrap_or(0);
        let counted = || format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
        Row {
            date: stamp.date.clone(),
            commit: stamp.commit.clone(),
            gpu: info.name.clone(),
            driver: self.sensors.driver().unwrap_or_else(counted),
            cublaslt: None,
            ptxas: stamp.ptxas.clone(),
            sm_clock_mhz: ours.reading.sm_clock_mhz,
            power_w: ours.reading.power_w,
            family: kernel.family.text(),
            kernel: kernel.id.clone(),
            problem: RowProblem {
                m: 0,
                n: 0,
                k: 1,
                batch: 1,
            },
            dtype: RowTypes::of(kernel),
            layout: "row".to_owned(),
            mode,
            ours_us: ours.median_us(),
            default_us: None,
            best_us: 0.0,
            peer: String::new(),
            ratio_default: None,
            ratio_best: 0.0,
            aa_ratio: None,
            tflops: 0.0,
            tbps: 0.0,
            rel_err: 0.0,
            max_err: 0.0,
            rounds: ours.samples_us.len(),
            spread: ours.spread(),
        }
    }
}
