//! Which of several programs run differently, learnt from one run.

use super::kernel::module;
use tilewright_emulator::{
    Alternatives, Arg, Content, Launch, Memory, Module, Options, Params, Sanitize, run_beside,
};

/// Four warps; the second half of the threads jumps over a store, and nobody waits in vain.
const BODY: &str = "ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 255;
    setp.gt.s32 %p1, %r2, 63;
    setp.lt.s32 %p2, %r2, 0;
    @%p2 bra NEVER;
    @%p1 bra OVER;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
OVER:
    bar.sync 0;
    bra END;
NEVER:
    st.global.u32 [%rd1], 7;
END:";

fn launch() -> Launch {
    Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [128, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(Vec::new()),
    }
}

/// The findings and bytes of a body, and whether each of the others may run differently.
fn beside(body: &str, others: &[String]) -> (Vec<&'static str>, Vec<u8>, Vec<bool>) {
    let parse = |body: &str| Module::parse(&module(1, "", body)).unwrap();
    let base = parse(body);
    let mut alternatives = Alternatives::default();
    for (number, other) in others.iter().enumerate() {
        assert_eq!(alternatives.add(&base, &parse(other)), number);
    }
    let mut memory = Memory::new();
    let buffer = memory.alloc("b", 1024, Content::Undefined).unwrap();
    let mut launch = launch();
    launch.params = Params::Args(vec![Arg::Buffer(buffer)]);
    let options = Options {
        sanitize: Sanitize::Strict,
        ..Options::default()
    };
    let ran = run_beside(&base, &alternatives, &launch, &mut memory, &options).unwrap();
    let ids = ran.0.findings.iter().map(|found| found.id.as_str());
    (ids.collect(), memory.read(buffer), ran.1)
}

#[test]
fn what_is_not_said_to_differ_does_the_same() {
    let changes = [
        // Results that are the same for every thread, and such as are not.
        ("255;", "127;", false),
        ("255;", "63;", true),
        (
            "setp.gt.s32 %p1, %r2, 63;",
            "setp.ge.s32 %p1, %r2, 64;",
            false,
        ),
        (
            "setp.gt.s32 %p1, %r2, 63;",
            "setp.ge.s32 %p1, %r2, 63;",
            true,
        ),
        ("setp.lt.s32 %p2, %r2, 0;", "setp.le.s32 %p2, %r2, 0;", true),
        // Branches that nobody takes, and such as some take.
        ("@%p2 bra NEVER;", "", false),
        ("@%p2 bra NEVER;", "@!%p2 bra NEVER;", true),
        ("@%p1 bra OVER;", "", true),
        ("@%p1 bra OVER;", "bra OVER;", true),
        // Places where nobody comes, and such as all come to.
        ("st.global.u32 [%rd1], 7;", "", false),
        (
            "st.global.u32 [%rd1], 7;",
            "bar.sync 1; st.global.u32 [%rd1], 8;",
            false,
        ),
        ("st.global.u32 [%rd3], %r2;", "", true),
        ("bar.sync 0;", "bar.sync 0; bar.sync 0;", true),
        ("bar.sync 0;", "", true),
        // Registers of its own make another frame, of which nothing is known.
        ("bar.sync 0;", "{ .reg .b32 x; bar.sync 0; }", true),
        ("bar.sync 0;", "bar.sync 0;", false),
    ];
    let others = changes.map(|(from, to, _)| {
        assert!(BODY.contains(from), "{from}");
        BODY.replacen(from, to, 1)
    });
    let (ids, bytes, differs) = beside(BODY, &others);
    assert_eq!(ids, [""; 0]);
    for (index, (change, other)) in changes.iter().zip(&others).enumerate() {
        assert_eq!(differs[index], change.2, "{change:?}");
        if !differs[index] {
            let (other_ids, other_bytes, _) = beside(other, &[]);
            assert_eq!((&other_ids, &other_bytes), (&ids, &bytes), "{change:?}");
        }
    }
}

#[test]
fn jumps_over_a_changed_place_keep_their_aim() {
    // The instruction that is gone moves all aims behind it.
    let shorter = BODY.replacen("mul.wide.u32 %rd2, %r2, 4;", "", 1);
    let aimed = BODY.replacen("bra END;", "bra NEVER;", 1);
    let longer = BODY.replacen("NEVER:", "NEVER: bar.sync 2;", 1);
    let (_, _, differs) = beside(BODY, &[shorter, aimed, longer]);
    assert_eq!(differs, [true, true, false]);
}
