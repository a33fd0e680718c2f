//! Kernels measured beside their peers in one process: cuBLASLt for products and for what has one
//! in it, memcpy for everything else.
//!
//! All kernels of one problem and the peer (its fastest candidate twice, and its default) are arms
//! of one rotation: each round takes a slice of about 10 ms of every arm, in an order drawn anew,
//! and launches rotate through sets of buffers that together are larger than twice the second-level
//! cache. A ratio is the median over the rounds of the ratio inside a round; the peer against
//! itself gives the noise that it stands beside. The output of every timed kernel is compared with
//! an f64 reference in the same run.

mod scales;

mod contraction;

mod extent;

mod rows;

mod sensors;

mod rotation;

mod slices;

mod strided;

mod copy;

mod entry;

mod peer;

mod truth;

mod workload;

mod groups;

mod meter;

use tilewright_bundle::{DType, Kernel};

pub use extent::{Extent, Leading, Letters};
pub use meter::{Contest, Measured, Meter};
pub use rotation::{Ratio, Samples};
pub use rows::{Mode, Row, RowProblem, RowTypes, Stamp};
pub use sensors::Reading;
pub use slices::{Capture, Contender, Enqueue, Graphs, Replay};

pub(crate) use entry::Entry;
pub(crate) use rotation::Rules;
pub(crate) use sensors::Sensors;
pub(crate) use slices::{Cut, contest, quick_us};
use tilewright_runtime::Device;
use tilewright_runtime::DeviceInfo;
use tilewright_runtime::Error;
use tilewright_runtime::Runtime;
use tilewright_runtime::cuda::{BlasLt, CudaDevice};
pub(crate) use workload::{Runner, Workload};

/// Bytes that the sets of buffers must exceed together; the L2 of an H200 has 60 MB.
const ROTATED_BYTES: u64 = 128 << 20;
/// Most sets of buffers.
const MOST_SETS: u64 = 1024;

/// Length of a slice of mode sustained.
const SUSTAINED_US: f64 = 10e3;
/// Length of a slice of mode rested.
const RESTED_US: f64 = 7e3;

/// How to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The modes, each a row of its own.
    pub modes: Vec<Mode>,
    /// Rounds; medians are over them.
    pub rounds: usize,
    /// Rounds of mode rested, whose slices take 0.3 s each.
    pub rested_rounds: usize,
    /// Candidates asked of cuBLASLt at a time.
    pub candidates: usize,
    /// Ask cuBLASLt under other preferences than its default as well.
    pub all: bool,
    /// Kernels that share a rotation with one peer.
    pub together: usize,
    /// Measure the peer's default choice and the peer against itself as well.
    pub noise: bool,
    /// Seed of the inputs and of the order of the slices.
    pub seed: u64,
    /// What to write into the rows.
    pub stamp: Stamp,
}

impl Options {
    /// For tables: rested and sustained, the best of all candidates, the noise floor.
    pub fn full(stamp: Stamp) -> Options {
        Options {
            modes: vec![Mode::Rested, Mode::Sustained],
            rounds: 41,
            rested_rounds: 11,
            candidates: 64,
            all: true,
            together: 32,
            noise: true,
            seed: 1,
            stamp,
        }
    }

    /// For sweeps over many kernels: sustained, few rounds, the peer's fastest candidate under its
    /// default preference alone.
    pub fn quick(stamp: Stamp) -> Options {
        Options {
            modes: vec![Mode::Sustained],
            rounds: 9,
            rested_rounds: 3,
            candidates: 16,
            all: false,
            together: 32,
            noise: false,
            seed: 1,
            stamp,
        }
    }
}

/// What one measurement has to say while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// This is done next.
    Next {
        /// `prepare`, `load`, or the mode to measure in.
        what: &'a str,
        /// Where.
        extent: &'a Extent,
        /// The first of the kernels at work.
        kernel: &'a str,
        /// How many there are.
        kernels: usize,
    },
    /// A row is finished.
    Row(&'a Row),
    /// A kernel was left out at an extent, and why.
    Skipped {
        /// The kernel's id.
        kernel: &'a str,
        /// Where.
        extent: &'a Extent,
        /// Why.
        error: &'a Error,
    },
}

/// A rotation, and which of its arms is the kernel in question.
pub(crate) struct Arms<'s> {
    pub samples: &'s Samples,
    pub ours: usize,
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
    let mut rows = Vec::new();
    for extent in extents {
        let mut found = bench.groups(kernels, extent, &mut report)?;
        found.sort_by(|a, b| b.ratio_best.total_cmp(&a.ratio_best));
        rows.append(&mut found);
    }
    kernels.iter().for_each(|kernel| runtime.unload(kernel));
    Ok(rows)
}

/// Rows of a bench of copies at sizes in bytes, whatever the kernels' element types.
///
/// # Errors
/// As [`bench()`].
pub fn bench_copies(
    runtime: &Runtime,
    kernels: &[&Kernel],
    sizes_bytes: &[u64],
    options: &Options,
    mut report: impl FnMut(Event<'_>),
) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for bytes in sizes_bytes {
        let elem = |k: &&Kernel| k.copied().map_or(8, |[_, d]| d.dtype.bits());
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

/// Bytes of so many elements.
fn bytes_of(elems: i64, dtype: DType) -> f64 {
    elems as f64 * f64::from(dtype.bits()) / 8.0
}

/// What slices of a mode are made of.
fn cut_of(mode: Mode, sets: usize, graph: bool) -> Cut {
    let slice_us = match mode {
        Mode::Rested => RESTED_US,
        Mode::Sustained | Mode::Cold | Mode::Launch => SUSTAINED_US,
    };
    Cut {
        sets,
        slice_us,
        graph,
    }
}

/// Sets of buffers of `bytes` bytes each, which together do not stay in the second-level cache.
fn sets_of(info: &DeviceInfo, bytes: u64) -> usize {
    let rotated = ROTATED_BYTES.max(2 * info.l2_bytes);
    let room = info.memory_bytes / 2 / bytes.max(1);
    rotated
        .div_ceil(bytes.max(1))
        .clamp(2, MOST_SETS)
        .min(room.max(1)) as usize
}

impl Bench<'_> {
    pub(crate) fn rules(&self, mode: Mode) -> Rules {
        let rounds = match mode {
            Mode::Rested => self.options.rested_rounds,
            Mode::Sustained | Mode::Cold | Mode::Launch => self.options.rounds,
        };
        Rules::new(mode, rounds, self.options.seed)
    }

    pub(crate) fn cut(&self, mode: Mode, sets: usize, graph: bool) -> Cut {
        cut_of(mode, sets, graph)
    }

    /// The device as the runtime has it.
    pub(crate) fn any_device(&self) -> &Device {
        self.runtime.device()
    }

    /// Sets of buffers for operands of `bytes` bytes together.
    pub(crate) fn sets(&self, bytes: u64) -> usize {
        sets_of(self.device.info(), bytes)
    }

    /// A row with everything but what belongs to what is computed. The peer's fastest candidate is
    /// arm 0 and, with noise, arm 1 as well.
    pub(crate) fn row(&self, kernel: &Kernel, mode: Mode, arms: &Arms<'_>) -> Row {
        let Arms { samples, ours } = *arms;
        let (reading, ratio) = (samples.reading(), samples.ratio(0, ours));
        let aa = self.options.noise.then(|| samples.ratio(1, 0));
        let stamp = &self.options.stamp;
        Row {
            sm_clock_mhz: reading.sm_clock_mhz,
            power_w: reading.power_w,
            mode,
            ours_us: samples.median_us(ours),
            best_us: samples.median_us(0),
            ratio_best: ratio.median,
            aa_ratio: aa.map(|aa| aa.median),
            rounds: samples.rounds(),
            spread: samples.spread(ours),
            ratio_spread: ratio.spread,
            aa_spread: aa.map(|aa| aa.spread),
            ..Row::blank(kernel, &self.device.info().name, self.driver(), stamp)
        }
    }

    /// The driver's version.
    pub(crate) fn driver(&self) -> String {
        self.sensors.driver(self.device.info())
    }
}
