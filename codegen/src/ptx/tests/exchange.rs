//! Lanes exchange registers.

use tilewright_emulator::{Arg as Value, Content, Launch, Memory, Module, Options, Params};

use super::*;
use crate::atoms::sync::{Act, Scope, SyncFacts};
use crate::ptx::emit;

/// Each lane stores what the lane across `mask` has.
fn exchanged(mask: i64) -> Vec<u32> {
    let sm_70 = arch("sm_70");
    let facts = SyncFacts::of(Act::Exchange, Scope::Warp);
    let atom = catalogue().unwrap().sync(facts, sm_70).unwrap();
    let mut b = Build::new("k");
    b.0.threads = 64;
    let d = b.output("d");
    let own = b.file("own", RegType::B32, 1);
    let other = b.file("other", RegType::F32, 1);
    b.push(Stmt::Set(own[0], Scalar::Int(tid())));
    b.push(Stmt::Atom {
        atom: Arc::clone(atom),
        args: vec![regs(&other), regs(&own), Arg::Imm(mask)],
    });
    let to = gmem(d, wide(mul(tid(), int(4))), 0);
    b.atom("sm50_st_global_4", vec![to, regs(&other)]);
    let module = Module::parse(&emit(&b.0, &sm_70, "k").unwrap().text).unwrap();
    let mut memory = Memory::new();
    let out = memory.alloc("d", 256, Content::Undefined).unwrap();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [1; 3],
        block: [64, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(vec![Value::Buffer(out)]),
    };
    let report =
        tilewright_emulator::run(&module, &launch, &mut memory, &Options::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let words = memory.read(out);
    let words = words.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn lanes_give_one_another_their_registers() {
    for mask in [1, 2, 16, 21, 31] {
        let wanted: Vec<u32> = (0..64).map(|thread| thread ^ mask).collect();
        assert_eq!(exchanged(i64::from(mask)), wanted, "{mask}");
    }
}
