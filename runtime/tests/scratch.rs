//! Scratch memory: what a kernel finds in it, and leaves there.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use fixture::*;
use tilewright_runtime::bundle::{Param, ParamValue};
use tilewright_runtime::{Arg, Device, Error, Problem, Runtime};

/// A copy of nothing that adds one to a word of its scratch memory and takes it away again.
fn counts_in_scratch(lowers: bool) -> Result<u64, Error> {
    let mut kernel = copy_kernel("copy_f32@scratch-1");
    kernel.launches[0].params = Param::pack([("scratch", ParamValue::Workspace)]);
    kernel.workspace.bytes = expr("256");
    kernel.workspace.zero_bytes = 128;
    let lower = if lowers {
        "red.global.add.u32 [%rd1+64], -64;"
    } else {
        ""
    };
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {}(.param .u64 p)\n{{
         .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p<2>;
         ld.param.u64 %rd1, [p]; red.global.add.u32 [%rd1+64], 1; bar.sync 0;
         mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra X; {lower} X: ret; }}",
        kernel.launches[0].entry
    );
    let runtime = Runtime::new(bundle_of([(kernel, text)]), Device::emulator());
    let problem = Problem::new(2, 3, 1).row_major("s", 3).row_major("d", 3);
    let kernel = runtime.find("copy_f32", Some(&problem))?.kernel;
    let (s, d) = (runtime.device().alloc(24)?, runtime.device().alloc(24)?);
    let args = [Arg::new("s", &s), Arg::new("d", &d)];
    let report = runtime.launch(kernel, &problem, &args)?;
    Ok(report.thread_instructions)
}

#[test]
fn scratch_memory_starts_zero_and_is_left_so() {
    assert!(counts_in_scratch(true).unwrap() > 0);
    let error = counts_in_scratch(false).unwrap_err().to_string();
    assert!(
        error.contains("byte 64 of the workspace is not 0 after the launch"),
        "{error}"
    );
}
