//! Probes: one-tile gemms that show where the tensor cores find each element of an operand, for
//! every element type, major mode and swizzle. Their points are `ci/data/probes`, everything about
//! them the generator's own: layouts, matrix descriptors, tensor maps, instructions.
//!
//! Each runs on the emulator, strictly, on inputs that name their elements
//! ([`Inputs::Indices`](tilewright_lab::verify::Inputs)), under several schedules. On a GPU
//! `tilewright build ci/data/probes/gemm -o BUNDLE` and `tilewright verify BUNDLE --inputs indices`
//! do the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tilewright_bundle::Kernel;
use tilewright_ci::source_tree;
use tilewright_codegen::plan::data::moves::Hop;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{self, Point};
use tilewright_codegen::{pack, plan};
use tilewright_emulator::{Options as EmulatorOptions, Sanitize};
use tilewright_lab::verify::{Inputs, Options, Outcome, verify};
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

use crate::kept::kept;
use crate::{sample, shipped};

/// Largest product of a problem's extents, as far as a probe takes it: a few tiles tell where each
/// element of one arrives.
const VOLUME: u64 = 1 << 20;

/// Probes that run, of another sample with each `SEED`; `ci/verify.sh` runs all.
const PROBES: usize = 40;

/// The point of each probe.
pub fn points() -> Vec<Point> {
    let folder = source_tree::root().join("ci/data/probes/gemm");
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let points = paths.iter().flat_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        match spec::parse(&path.to_string_lossy(), &text) {
            Ok(file) => file.points,
            Err(error) => panic!("{}", error.report(false)),
        }
    });
    points.collect()
}

/// What each probe is about: type, whether k is contiguous, bits of the swizzles of a and b.
#[test]
fn probes_cover_types_majors_and_swizzles() {
    let mut seen = BTreeSet::new();
    for point in points() {
        let plan = plan::plan(&point).unwrap_or_else(|error| panic!("{}", error.report(false)));
        for name in ["a", "b"] {
            let operand = plan.named_operand(name).unwrap().id;
            let tile = plan.smem_tile(operand).unwrap();
            let boxes = plan.boxes(operand, Hop::G2s);
            let k_major = boxes.unwrap().contiguous == 1;
            seen.insert((name, tile.dtype.text(), k_major, tile.layout.swizzle.bits()));
        }
    }
    let majors = |dtype| match dtype {
        "f16" | "bf16" => vec![true, false],
        _ => vec![true],
    };
    let mut wanted = BTreeSet::new();
    for dtype in ["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"] {
        for k_major in majors(dtype) {
            for bits in 0..=3 {
                wanted.extend(["a", "b"].map(|operand| (operand, dtype, k_major, bits)));
            }
        }
    }
    assert_eq!(seen, wanted);
}

#[test]
fn every_element_arrives_where_the_product_wants_it() {
    let mut points = sample::shuffled(points(), |point| point.id.clone());
    points.truncate(PROBES);
    let artifacts = shipped::on_each(&points, |point| {
        let made = kept(point).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(made.assembled.unwrap().violations, [""; 0], "{}", point.id);
        made.artifact
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    pack::write(artifacts, pack::provenance(ptxas::find().as_deref()), &path).unwrap();
    let strict = Device::emulator_with(EmulatorSettings {
        sms: 4,
        sm: Some(90),
        options: EmulatorOptions {
            sanitize: Sanitize::Strict,
            ..EmulatorOptions::default()
        },
        ..EmulatorSettings::default()
    });
    let runtime = Runtime::open(&path, strict).unwrap();
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    // A problem of each kernel, and a schedule of its own: seeds tell them apart.
    let numbered: Vec<(usize, &Kernel)> = kernels.into_iter().enumerate().collect();
    let outcomes: Vec<Outcome> = shipped::on_each(&numbered, |(number, kernel)| {
        let options = Options {
            problems: 1,
            seed: *number as u64,
            inputs: Inputs::Indices,
            volume: Some(VOLUME),
            further: 0,
        };
        let summary = verify(&runtime, &[*kernel], options, |_| {});
        summary.unwrap().outcomes
    })
    .concat();
    let failures: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| {
            let reason = outcome.failure.as_ref()?;
            let (kernel, problem) = (&outcome.kernel, &outcome.problem);
            Some(format!("{kernel} on {problem}: {reason}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(outcomes.len(), numbered.len());
}
