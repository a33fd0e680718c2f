//! What a scraper reads: the service's own counts, and the runtime's counters as they are.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use tilewright_runtime::Runtime;

use crate::room::Room;

/// Bounds of the histogram of seconds: three a decade, from what the smallest product takes to
/// twice the time limit that a request has by default.
const SECONDS: [f64; 21] = [
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0,
    2.0, 5.0, 10.0, 20.0, 60.0,
];

/// The service's own counts.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// Answers by path and what came of it: `ok`, or a problem's word.
    pub answers: Family<[(&'static str, &'static str); 2], Counter>,
    /// Requests that wait or are worked on.
    pub waiting: Gauge,
    /// Requests that nobody waited for any more before they were computed.
    pub left: Counter,
    /// Seconds from a request's arrival at the queue to its product.
    pub seconds: Histogram,
    /// Rows that went through the device together.
    pub batch_rows: Histogram,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            answers: Family::default(),
            waiting: Gauge::default(),
            left: Counter::default(),
            seconds: Histogram::new(SECONDS),
            batch_rows: Histogram::new(exponential_buckets(1.0, 2.0, 11)),
        }
    }
}

impl Metrics {
    /// Counts an answer.
    pub fn answer(&self, path: &'static str, result: &'static str) {
        let labels = [("path", path), ("result", result)];
        self.answers.get_or_create(&labels).inc();
    }

    /// Counts requests that are not waited for any more.
    pub fn left(&self, count: usize) {
        self.waiting
            .dec_by(i64::try_from(count).unwrap_or(i64::MAX));
        self.left.inc_by(count as u64);
    }

    /// Everything that there is to read, with the runtime's counters and both rooms.
    pub fn registry(&self, runtime: Arc<Runtime>, rooms: Rooms) -> Registry {
        let mut registry = Registry::with_prefix("tilewright_service");
        registry.register(
            "answers",
            "answers by path and result",
            self.answers.clone(),
        );
        registry.register(
            "waiting",
            "requests that wait or are worked on",
            self.waiting.clone(),
        );
        registry.register(
            "left",
            "requests whose client was gone before they were computed",
            self.left.clone(),
        );
        registry.register("seconds", "from queue to product", self.seconds.clone());
        registry.register(
            "batch_rows",
            "rows that went together",
            self.batch_rows.clone(),
        );
        registry.register_collector(Box::new(OfRuntime(runtime)));
        registry.register_collector(Box::new(OfProcess(rooms)));
        registry
    }
}

/// The text of a registry.
///
/// # Errors
/// Never in practice: text is written into memory.
pub fn text_of(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    text::encode(&mut text, registry)?;
    Ok(text)
}

/// The runtime's counters, read when they are asked for.
#[derive(Debug)]
struct OfRuntime(Arc<Runtime>);

impl Collector for OfRuntime {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let counters = self.0.counters();
        let mut by_kernel = |name: &str, help: &str, value: fn(&Counts) -> u64| {
            let counter = ConstCounter::new(0u64);
            let kind = EncodeMetric::metric_type(&counter);
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (kernel, counts) in &counters.kernels {
                let labels = [("kernel", kernel.as_str())];
                let encoder = family.encode_family(&labels)?;
                ConstCounter::new(value(counts)).encode(encoder)?;
            }
            Ok::<(), fmt::Error>(())
        };
        by_kernel("launches", "launches by kernel", |counts| counts.launches)?;
        by_kernel("refused", "launches refused", |counts| counts.refused)?;
        by_kernel("loads", "times code was loaded", |counts| counts.loads)?;
        by_kernel("loads_from_cache", "of these, from the PTX cache", |c| {
            c.loads_from_cache
        })?;
        by_kernel("loads_from_bundle", "of these, machine code", |c| {
            c.loads_from_bundle
        })?;
        by_kernel("load_nanoseconds", "time that loading took", |counts| {
            counts.load_ns
        })?;
        by_kernel("first_launch_nanoseconds", "host's time", |counts| {
            counts.first_launch_ns
        })?;
        by_kernel("scratch_bytes", "scratch memory that was made", |counts| {
            counts.scratch_bytes
        })?;
        let mut skipped = {
            let kind = EncodeMetric::metric_type(&ConstCounter::new(0u64));
            encoder.encode_descriptor("skipped", "kernels passed over, by reason", None, kind)?
        };
        for (kind, count) in &counters.skipped {
            let labels = [("reason", *kind)];
            let encoder = skipped.encode_family(&labels)?;
            ConstCounter::new(*count).encode(encoder)?;
        }
        let fallbacks = ConstCounter::new(counters.fallbacks);
        let kind = EncodeMetric::metric_type(&fallbacks);
        let help = "another kernel took over";
        fallbacks.encode(encoder.encode_descriptor("fallbacks", help, None, kind)?)?;
        let unfit = ConstCounter::new(counters.unfit);
        let kind = EncodeMetric::metric_type(&unfit);
        let help = "no kernel took a request";
        unfit.encode(encoder.encode_descriptor("unfit", help, None, kind)?)?;
        let lost = ConstGauge::new(i64::from(counters.is_lost));
        let kind = EncodeMetric::metric_type(&lost);
        lost.encode(encoder.encode_descriptor("context_lost", "1 after a fault", None, kind)?)?;
        Ok(())
    }
}

/// What is counted before it is taken.
#[derive(Debug, Clone)]
pub struct Rooms {
    /// Of bodies and answers.
    pub held: Room,
    /// Of weights and products.
    pub memory: Room,
}

/// Memory of the process, read when it is asked for.
#[derive(Debug)]
struct OfProcess(Rooms);

impl Collector for OfProcess {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let held = |room: &Room| i64::try_from(room.held_bytes()).unwrap_or(i64::MAX);
        for (name, help, value) in [
            (
                "held_bytes",
                "bodies and answers that are held",
                held(&self.0.held),
            ),
            (
                "memory_bytes",
                "what weights and products have taken",
                held(&self.0.memory),
            ),
            (
                "resident_bytes",
                "memory of the process on the host",
                memory("VmRSS:"),
            ),
            (
                "most_resident_bytes",
                "the most that it was",
                memory("VmHWM:"),
            ),
        ] {
            let gauge = ConstGauge::new(value);
            let kind = EncodeMetric::metric_type(&gauge);
            gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
        }
        Ok(())
    }
}

type Counts = tilewright_runtime::KernelCounters;

/// Memory of this process in bytes, as a line of Linux's tells it; 0 elsewhere.
fn memory(line: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|told| told.strip_prefix(line));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<i64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
