//! What the emulator finds, with what the line of PTX comes from.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::fixture::*;
use tilewright_lab::verify;
use tilewright_runtime::bundle::{Kernel, LineTable, Origin};
use tilewright_runtime::{Device, Runtime};

#[test]
fn findings_say_what_their_line_comes_from() {
    let wrong = COPY.replace(
        "setp.ge.s32 %right, %column, %n",
        "setp.gt.s32 %right, %column, %n",
    );
    let mut kernel = copy_kernel("copy_f32@lines-1");
    kernel.lines = Some(LineTable {
        file: Some("copy.yaml".to_owned()),
        origins: vec![Origin {
            op: "copy g.s -> r.data".to_owned(),
            spec: Some(6),
        }],
        starts: vec![(1, 1)],
    });
    let runtime = Runtime::new(bundle_of([(kernel, &wrong)]), Device::emulator());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    let summary = verify::verify(&runtime, &kernels, verify::Options::default(), |_| ()).unwrap();
    let failures = summary.outcomes.iter().filter_map(|o| o.failure.as_deref());
    let told = |failure: &str| failure.contains("from copy g.s -> r.data (copy.yaml:6)");
    assert!(
        failures.clone().any(told),
        "{:#?}",
        failures.collect::<Vec<_>>()
    );
}
