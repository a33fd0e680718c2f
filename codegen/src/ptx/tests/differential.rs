//! Random programs, interpreted here and run as PTX on the emulator: both must store the same
//! words.
//!
//! Operands of arithmetic are masked to 15 bits, so that nothing wraps and no dividend is negative,
//! as a program promises. Integers are observed by what they index in a table.

mod grow;
mod interpret;

use tilewright_emulator::{Arg as Value, Content, Launch, Memory, Module, Options, Params};

use super::*;
use crate::ptx::emit;
use grow::{Random, grow};
use interpret::interpreted;

const THREADS: usize = 64;
const WORDS: usize = 256;
const REGISTERS: u32 = 4;

fn emulated(text: &str, params: [i64; 2], table: &[u32]) -> Vec<u32> {
    let module = Module::parse(text).unwrap();
    let mut memory = Memory::new();
    let bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
    let table = memory
        .alloc("table", bytes.len() as u64, Content::Bytes(&bytes))
        .unwrap();
    let size = 4 * THREADS as u64 * u64::from(REGISTERS);
    let out = memory.alloc("out", size, Content::Undefined).unwrap();
    let args = vec![
        Value::Buffer(table),
        Value::Buffer(out),
        Value::S32(params[0] as i32),
        Value::S64(params[1]),
    ];
    let launch = Launch {
        entry: "random".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 4 * THREADS as u32,
        params: Params::Args(args),
    };
    let report =
        tilewright_emulator::run(&module, &launch, &mut memory, &Options::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let words = memory.read(out);
    words
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn random_programs_do_what_they_say() {
    let mut random = Random(7);
    let table: Vec<u32> = (0..WORDS).map(|_| random.below(1 << 32) as u32).collect();
    for seed in 0..60 {
        let (program, data) = grow(seed);
        let params = [
            random.below(5000) as i64 - 1000,
            random.below(1 << 40) as i64 - (1 << 30),
        ];
        let arch = arch(["sm_80", "sm_90a", "sm_70"][seed as usize % 3]);
        let text = emit(&program, &arch, "random").unwrap().text;
        let wanted = interpreted(&program, &data, params, &table);
        assert_eq!(
            emulated(&text, params, &table),
            wanted,
            "seed {seed}\n{text}"
        );
    }
}
