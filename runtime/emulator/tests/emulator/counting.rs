//! Counters of accesses whose traffic is known.

use super::kernel::{WARP, launch, module};
use tilewright_emulator::{InstClass, Options};

#[test]
fn global_and_shared_traffic() {
    let body = ".shared .align 16 .b8 s[4096]; mov.u32 %r1, %laneid; mov.u32 %r9, s;
        ld.param.u64 %rd1, [p0]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r1;
        mul.wide.u32 %rd4, %r1, 128; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r1;
            ld.global.u32 %r5, [%rd5];
        shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r9; st.shared.u32 [%r2], %r1;
        bar.warp.sync -1;
        shl.b32 %r3, %r1, 7; add.u32 %r3, %r3, %r9; st.shared.u32 [%r3], %r1;
        bar.warp.sync -1;
        shl.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r9; st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};";
    let run = launch(&module(1, "", body), &WARP, &[None], &Options::default());
    assert!(run.report.is_clean(), "{:?}", run.report.findings);
    let c = &run.report.counters;
    let store = c.global_store;
    assert_eq!(
        (store.requests, store.bytes, store.sectors, store.lines),
        (2, 256, 4 + 32, 1 + 32)
    );
    assert_eq!((c.global_load.requests, c.global_load.sectors), (1, 32));
    let shared = c.shared_store;
    // One wavefront, then 32 for one bank, then one for each phase of eight lanes.
    assert_eq!(
        (shared.requests, shared.wavefronts, shared.excess),
        (3, 1 + 32 + 4, 31)
    );
    assert_eq!(c.class(InstClass::Store).executions, 5);
    assert_eq!(c.class(InstClass::Store).lanes, 160);
}
