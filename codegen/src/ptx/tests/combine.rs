//! Values that many threads combine with what is in memory.

use tilewright_emulator::{
    Arg as Value, Content, Launch, Memory, Module, Options, Params, WarpOrder,
};

use super::*;
use crate::atoms::model::{Atom, Reduction};
use crate::dtype::DType;
use crate::ptx::emit;

/// Threads of a CTA.
const THREADS: u32 = 32;

/// What is in memory in the end when each thread of some CTAs combines one of those words with what
/// was there.
fn combined(of: (Reduction, DType), there: u32, words: &[u32], order: WarpOrder) -> u32 {
    let sm_70 = arch("sm_70");
    let is = |atom: &&Arc<Atom>| {
        let facts = atom.copy.as_ref();
        let held = facts.and_then(|facts| Some((facts.reduce?, facts.dtype?)));
        held == Some(of) && atom.runs_on(sm_70)
    };
    let atom = catalogue().unwrap().iter().find(is).unwrap();
    let mut b = Build::new("k");
    b.0.threads = THREADS;
    let (x, d) = (b.output("x"), b.output("d"));
    let own = b.file("own", atom.moved().unwrap(), 1);
    let number = add(
        mul(Expr::Special(Special::CtaidX), int(i64::from(THREADS))),
        tid(),
    );
    let from = gmem(x, wide(mul(number, int(4))), 0);
    b.atom("sm50_ld_global_4", vec![regs(&own), from]);
    b.push(Stmt::Atom {
        atom: Arc::clone(atom),
        args: vec![gmem(d, wide(int(0)), 0), regs(&own)],
    });
    let module = Module::parse(&emit(&b.0, &sm_70, "k").unwrap().text).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut memory = Memory::new();
    let size = bytes.len() as u64;
    let input = memory.alloc("x", size, Content::Bytes(&bytes)).unwrap();
    let output = memory
        .alloc("d", 4, Content::Bytes(&there.to_le_bytes()))
        .unwrap();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [words.len() as u32 / THREADS, 1, 1],
        block: [THREADS, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(vec![Value::Buffer(input), Value::Buffer(output)]),
    };
    let options = Options {
        warp_order: order,
        ..Options::default()
    };
    let report = tilewright_emulator::run(&module, &launch, &mut memory, &options).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    u32::from_le_bytes(memory.read(output).try_into().unwrap())
}

/// Numbers of every kind: infinite, of both signs, zeros of both signs, NaNs of both signs.
const NUMBERS: [u32; 14] = [
    0xff80_0000,
    0xff7f_ffff,
    0xc000_0000,
    0xbf80_0000,
    0x8080_0000,
    0x8000_0001,
    0x8000_0000,
    0,
    1,
    0x3f80_0000,
    0x4000_0000,
    0x7f80_0000,
    0x7fc0_0000,
    0xffc0_0000,
];

/// Whether a number stands before another where -0 stands before +0.
fn key(bits: u32) -> i32 {
    let bits = bits.cast_signed();
    bits ^ (bits >> 31 & i32::MAX)
}

fn is_nan(bits: u32) -> bool {
    f32::from_bits(bits).is_nan()
}

#[test]
fn numbers_are_combined_in_any_order() {
    for (there, first) in NUMBERS.into_iter().flat_map(|a| NUMBERS.map(|b| (a, b))) {
        // All but the first are numbers like it, and there are two CTAs.
        let mut words = vec![0xff80_0000; 64];
        words[5] = first;
        words[40] = 0xc000_0000;
        let all = || words.iter().copied().chain([there]);
        let nan = all().any(is_nan);
        let most = all().max_by_key(|bits| key(*bits)).unwrap();
        for order in [WarpOrder::RoundRobin, WarpOrder::Reverse] {
            let found = combined((Reduction::Max, DType::F32), there, &words, order);
            let right = if nan { is_nan(found) } else { found == most };
            assert!(right, "{there:x} and {first:x} give {found:x}");
        }
        // The smaller of the opposite numbers.
        let transposed: Vec<u32> = words.iter().map(|bits| bits ^ 1 << 31).collect();
        let order = WarpOrder::RoundRobin;
        let found = combined(
            (Reduction::Min, DType::F32),
            there ^ 1 << 31,
            &transposed,
            order,
        );
        let right = if nan {
            is_nan(found)
        } else {
            found == most ^ 1 << 31
        };
        assert!(
            right,
            "the smaller of {there:x} and {first:x}, turned, is {found:x}"
        );
    }
}

#[test]
fn integers_are_combined_in_any_order() {
    let mut words: Vec<u32> = (0..64).map(|at: i32| (at - 40).cast_unsigned()).collect();
    for there in [-100, 0, 100] {
        let bits = |value: i32| value.cast_unsigned();
        let order = WarpOrder::Reverse;
        let most = combined((Reduction::Max, DType::S32), bits(there), &words, order);
        let least = combined((Reduction::Min, DType::S32), bits(there), &words, order);
        assert_eq!(
            [most, least].map(u32::cast_signed),
            [there.max(23), there.min(-40)]
        );
    }
    words[0] = i32::MIN.cast_unsigned();
    let of = (Reduction::Min, DType::S32);
    assert_eq!(combined(of, 0, &words, WarpOrder::RoundRobin), words[0]);
}
