//! Scratch memory: what a kernel finds in it, and leaves there.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use fixture::*;
use tilewright_runtime::bundle::{Param, ParamValue};
use tilewright_runtime::typed::{Array, Call, In, Out};
use tilewright_runtime::{Arg, Device, Error, Problem, Runtime};

/// A copy of nothing that adds one to a word of its scratch memory and takes it away again.
fn counting(lowers: bool) -> Runtime {
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
    Runtime::new(bundle_of([(kernel, text)]), Device::emulator())
}

fn counts_in_scratch(lowers: bool) -> Result<u64, Error> {
    let runtime = counting(lowers);
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

#[test]
fn scratch_memory_that_is_lent_has_to_be_zero_where_the_kernel_counts() {
    let runtime = counting(true);
    let device = runtime.device();
    let function = runtime.kernels()[0].semantics.function.to_string();
    let source = Array::from_slice(device, &[1.0f32; 6]).unwrap();
    let mut result = Array::<f32>::zeros(device, 6).unwrap();
    let call = Call::new(&function).extent("m", 2).extent("n", 3);
    let call = call.input::<f32, 2>("s", In::from(&source));
    let call = call.output::<f32, 2>("d", Out::from(&mut result));
    let prepared = call.prepare(&runtime).unwrap();
    let enqueue = |lent: &Array<u8>| {
        // SAFETY: the emulator asks for nothing.
        unsafe { device.enqueue(&prepared, Some(lent.buffer())) }
    };
    // Zeros are wanted in the first 128 bytes alone, and at every launch.
    let mut content = vec![7u8; 256];
    content[..128].fill(0);
    let lent = Array::from_slice(device, &content).unwrap();
    enqueue(&lent).unwrap();
    enqueue(&lent).unwrap();
    content[127] = 1;
    let dirty = Array::from_slice(device, &content).unwrap();
    let refused = enqueue(&dirty).unwrap_err().to_string();
    assert!(
        refused.contains("byte 127 of the workspace is not 0; the first 128 have to be"),
        "{refused}"
    );
}
