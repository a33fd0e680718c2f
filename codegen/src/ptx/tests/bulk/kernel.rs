//! Kernels in which one thread does the work, and what they leave behind.

use tilewright_emulator::{
    Arg as Value, AsyncOrder, BufferId, Content, Launch, Memory, Module, Options, Params, Sanitize,
    TensorMap,
};

use super::super::*;
use crate::atoms::model::OperandKind;
use crate::ptx::emit;

/// Where shared memory has its first barrier, behind rows or a box.
pub(super) const BARRIERS: i64 = 2048;

/// The call of an atom whose arguments are given by name.
pub(super) fn call(id: &str, args: &[(&str, Arg)]) -> Stmt {
    let atom = Arc::clone(catalogue().unwrap().get(id).unwrap());
    let named = |name: &str| args.iter().find(|(known, _)| *known == name);
    let args = atom.operands.iter().map(|operand| {
        // Two coordinates have names of their own.
        let at = ["x", "y"].iter().position(|name| *name == operand.name);
        match (at, named("coord")) {
            (Some(at), Some((_, Arg::Ints(values)))) if operand.kind == OperandKind::Int => {
                Arg::Int(values[at].clone())
            }
            _ => named(&operand.name).unwrap().1.clone(),
        }
    });
    let args = args.collect();
    Stmt::Atom { atom, args }
}

pub(super) fn barrier(number: i64) -> Arg {
    smem(int(0), BARRIERS + 8 * number)
}

pub(super) fn there(imm: i64) -> Arg {
    Arg::Int(add(Expr::Smem, int(imm)))
}

/// One thread makes barriers; then all threads of the cluster meet.
pub(super) fn begin(b: &mut Build, barriers: i64) {
    let mut first: Vec<Stmt> = (0..barriers)
        .map(|number| run("sm90_mbarrier_init", vec![barrier(number), Arg::Imm(1)]))
        .collect();
    first.push(run("sm90_fence_mbarrier_init", vec![]));
    by_one(b, first);
    meet(b);
}

pub(super) fn by_one(b: &mut Build, then: Vec<Stmt>) {
    b.push(Stmt::If {
        cond: less(tid(), int(1)),
        then,
        otherwise: vec![],
    });
}

pub(super) fn meet(b: &mut Build) {
    b.atom("sm90_cluster_arrive", vec![]);
    b.atom("sm90_cluster_wait", vec![]);
}

pub(super) fn arm(number: i64, bytes: i64) -> Stmt {
    run(
        "sm90_mbarrier_arrive_expect_tx",
        vec![barrier(number), Arg::Imm(bytes)],
    )
}

pub(super) fn wait(number: i64) -> Stmt {
    run(
        "sm90_mbarrier_wait",
        vec![barrier(number), Arg::Int(int(0))],
    )
}

/// Ends a group of stores and waits until shared memory has been read.
pub(super) fn sent() -> [Stmt; 2] {
    [
        run("sm90_bulk_commit_group", vec![]),
        run("sm90_bulk_wait_group_read", vec![Arg::Imm(0)]),
    ]
}

/// Runs a program on buffers of words; `map` makes a parameter of a buffer's address.
pub(super) fn outcome(
    program: &Program,
    ctas: u32,
    buffers: &[&[u32]],
    map: impl Fn(u64) -> Option<TensorMap>,
) -> Vec<Vec<u32>> {
    let text = emit(program, &arch("sm_90a"), &program.entry).unwrap().text;
    let module = Module::parse(&text).unwrap();
    let mut results = Vec::new();
    for async_order in [AsyncOrder::Late, AsyncOrder::Early, AsyncOrder::Random(3)] {
        let mut memory = Memory::new();
        let mut alloc = |words: &&[u32]| -> BufferId {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let content = Content::Bytes(&bytes);
            memory.alloc("words", bytes.len() as u64, content).unwrap()
        };
        let ids: Vec<BufferId> = buffers.iter().map(&mut alloc).collect();
        let value = |id: &BufferId| match map(memory.address(*id)) {
            Some(map) => Value::Bytes(map.encode().unwrap().to_vec()),
            None => Value::Buffer(*id),
        };
        let launch = Launch {
            entry: program.entry.clone(),
            grid: [ctas, 1, 1],
            block: [program.threads, 1, 1],
            cluster: [ctas, 1, 1],
            programmatic: false,
            dynamic_shared_bytes: program.smem_bytes,
            params: Params::Args(ids.iter().map(value).collect()),
        };
        let options = Options {
            sanitize: Sanitize::Strict,
            async_order,
            ..Options::default()
        };
        let report = tilewright_emulator::run(&module, &launch, &mut memory, &options).unwrap();
        assert!(report.is_clean(), "{:?}\n{text}", report.findings);
        let words = |id: &BufferId| -> Vec<u32> {
            let bytes = memory.read(*id);
            let words = bytes.chunks_exact(4);
            words
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect()
        };
        results.push(ids.iter().map(words).collect::<Vec<_>>());
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    results.swap_remove(0)
}

/// A small program with room for boxes, rows and barriers.
pub(super) fn small(entry: &str) -> Build {
    let mut b = Build::new(entry);
    b.0.threads = 32;
    b.0.smem_bytes = 4096;
    b.0.smem_align_bytes = 1024;
    b
}
