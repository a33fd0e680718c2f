//! Addresses of 32 bits, windows of generic addresses, variables defined after their use.

use super::kernel::{Shape, WARP, launch, module};
use tilewright_emulator::{Arg, Content, Launch, Memory, Module, Options, Params, run};

const NARROW: &str = "
    .version 6.5
    .target sm_60
    .address_size 32
    .const .align 4 .u32 primes[4] = {2, 3, 5, 7};
    .global .align 4 .u32 numbers[3] = {10, 20, 30};
    .global .u32 there[2] = {generic(primes), numbers+4};
    .func (.reg .u32 r) twice (.reg .u32 x) { add.u32 r, x, x; ret; }
    .visible .entry k(.param .u32 in, .param .u32 out) {
        .reg .pred %p; .reg .u32 %r<20>; .shared .align 4 .u32 s[32]; .local .u32 l;
        ld.param.u32 %r1, [in]; ld.param.u32 %r2, [out]; mov.u32 %r3, %laneid;
        shl.b32 %r4, %r3, 2; add.u32 %r1, %r1, %r4; add.u32 %r2, %r2, %r4;
        ld.u32 %r5, [%r1];
        mov.u32 %r6, s; add.u32 %r6, %r6, %r4; cvta.shared.u32 %r7, %r6;
        st.u32 [%r7], %r5; ld.shared.u32 %r5, [%r6];
        isspacep.shared %p, %r7; @!%p trap;
        isspacep.global %p, %r1; @!%p trap;
        mov.u32 %r8, l; cvta.local.u32 %r8, %r8; st.u32 [%r8], %r5; ld.local.u32 %r5, [l];
        ld.global.u32 %r9, [there]; ld.u32 %r10, [%r9+12]; add.u32 %r5, %r5, %r10;
        ld.global.u32 %r9, [there+4]; ld.global.u32 %r10, [%r9]; add.u32 %r5, %r5, %r10;
        cvta.to.shared.u32 %r11, %r7; atom.shared.add.u32 %r12, [%r11], 1;
        add.u32 %r5, %r5, %r12; call (%r5), twice, (%r5); st.global.u32 [%r2], %r5; ret; }";

fn narrow(memory: &mut Memory) -> Result<(Vec<u32>, bool), String> {
    let module = Module::parse(NARROW).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.address_bits(), 32);
    let words: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
    let input = memory.alloc("in", 128, Content::Bytes(&words)).unwrap();
    let out = memory.alloc("out", 128, Content::Undefined).unwrap();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(vec![Arg::Buffer(input), Arg::Buffer(out)]),
    };
    let report = run(&module, &launch, memory, &Options::default()).map_err(|e| e.to_string())?;
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let words = memory.read(out);
    let words = words.chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    Ok((words.collect(), report.is_clean()))
}

#[test]
fn addresses_of_32_bits() {
    let (words, clean) = narrow(&mut Memory::narrow()).unwrap();
    assert!(clean);
    for (lane, word) in words.iter().enumerate() {
        assert_eq!(*word as usize, 2 * (2 * lane + 7 + 20), "lane {lane}");
    }
    let error = narrow(&mut Memory::new()).unwrap_err();
    assert!(error.contains("lies above 4 GiB"), "{error}");
    let mut memory = Memory::narrow();
    assert!(memory.alloc("most", 1 << 31, Content::Undefined).is_ok());
    assert!(memory.alloc("more", 1, Content::Undefined).is_err());
}

#[test]
fn a_generic_address_is_in_its_window() {
    let holds = |space: &str, address: &str| {
        let body = format!(
            ".shared .b32 s; .local .b32 l; {address} isspacep.{space} %p1, %rd1;
             selp.u32 %r1, 1, 0, %p1; ld.param.u64 %rd2, [p0]; st.global.u32 [%rd2], %r1;"
        );
        let shape = Shape { block: 1, ..WARP };
        let text = module(1, ".const .b32 c = 3;", &body);
        launch(&text, &shape, &[None], &Options::default()).words(0)[0] == 1
    };
    let shared = "mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;";
    let local = "mov.u64 %rd1, l; cvta.local.u64 %rd1, %rd1;";
    let constant = "mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;";
    let param = "mov.u64 %rd1, p0; cvta.param.u64 %rd1, %rd1;";
    let global = "ld.param.u64 %rd1, [p0];";
    // The window of the parameters lies in that of global memory.
    let windows = [
        (shared, vec!["shared", "shared::cta", "shared::cluster"]),
        (local, vec!["local"]),
        (constant, vec!["const"]),
        (param, vec!["param", "param::entry", "global"]),
        (global, vec!["global"]),
    ];
    let spaces = [
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "const",
        "param",
        "param::entry",
        "global",
    ];
    for (address, inside) in windows {
        for space in spaces {
            assert_eq!(
                holds(space, address),
                inside.contains(&space),
                "{space}: {address}"
            );
        }
    }
    // The same offset in another CTA of a cluster is shared memory, though not one's own.
    let other = format!("{shared} add.u64 %rd1, %rd1, 0x1000000;");
    assert!(holds("shared::cluster", &other) && !holds("shared::cta", &other));
}

#[test]
fn a_variable_may_be_defined_behind_its_use() {
    let text = |used: &str, defined: &str| {
        let body = format!("ld.param.u64 %rd2, [p0]; {used} st.global.u32 [%rd2], %r1;");
        let before = ".extern .global .align 4 .b32 later[], unused;
             .global .align 8 .u64 pointer = later+4;";
        format!("{}\n{defined}", module(1, before, &body))
    };
    let used = "ld.global.u32 %r1, [later+8];";
    let through = "ld.global.u64 %rd1, [pointer]; ld.global.u32 %r1, [%rd1];";
    let defined = ".visible .global .align 4 .b32 later[3] = {40, 50, 60};";
    let shape = Shape { block: 1, ..WARP };
    for (used, value) in [(used, 60), (through, 50)] {
        let run = launch(&text(used, defined), &shape, &[None], &Options::default());
        assert!(run.report.is_clean(), "{:?}", run.report.findings);
        assert_eq!(run.words(0)[0], value);
    }
    let errors = Module::parse(&text(used, "")).unwrap_err().to_string();
    assert!(errors.contains("later is used and not defined"), "{errors}");
    assert!(!errors.contains("unused is used"), "{errors}");
    let behind = "ld.global.u32 %r1, [later+12];";
    let run = launch(&text(behind, defined), &shape, &[None], &Options::default());
    assert_eq!(run.ids(), ["oob_global"]);
}

#[test]
fn variables_have_a_limit_wherever_they_lie() {
    let half = "[134217729];";
    let twice = |first: &str| {
        let text = format!("{first} .global .b8 a{half} .global .b8 b{half}");
        Module::parse(&module(0, &text, ""))
            .unwrap_err()
            .to_string()
    };
    for first in ["", ".extern .global .b8 a[], b[];"] {
        let errors = twice(first);
        assert!(
            errors.contains(".global variables exceed 268435456 bytes"),
            "{errors}"
        );
    }
}

#[test]
fn initialisers_go_with_global_and_constant_variables() {
    for variable in [".shared .b32 x = 3;", ".local .b32 x[2] = {1, 2};"] {
        let errors = Module::parse(&module(0, "", variable))
            .unwrap_err()
            .to_string();
        assert!(
            errors.contains("only .global and .const variables have one"),
            "{errors}"
        );
    }
}
