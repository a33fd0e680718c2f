//! Proves the approximate functions on every input, against hashes of what an H200 computed.
//!
//! In: the file of hashes (`ci/data/mufu/sweep_hash.bin`) and, if not all are wanted, names of
//! functions. Out: a line for each function; exit code 1 when an output differs. The file has, for
//! each of [`FUNCTIONS`] in their order, 512 words: word j sums over the 2^23 inputs from j * 2^23
//! on, modulo 2^32, the mixed `output + input * 0x9e3779b9`. Three H200 gave the same words.

use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;
use tilewright_emulator::Approx;

/// A name, and what gives the output of an input.
type Function = (&'static str, fn(u32) -> u32);

/// A name, what gives the output of an input of 16 bits, and the hash of all outputs.
type ShortFunction = (&'static str, fn(u16) -> u16, u32);

/// The functions of the file; those that end in `64h` are of an f64's high word.
const FUNCTIONS: [Function; 17] = [
    ("cos", |x| Approx::Cos.single(x, false)),
    ("cos_ftz", |x| Approx::Cos.single(x, true)),
    ("ex2", |x| Approx::Ex2.single(x, false)),
    ("ex2_ftz", |x| Approx::Ex2.single(x, true)),
    ("lg2", |x| Approx::Lg2.single(x, false)),
    ("lg2_ftz", |x| Approx::Lg2.single(x, true)),
    ("rcp", |x| Approx::Rcp.single(x, false)),
    ("rcp64h", |x| Approx::Rcp.high_word(x).unwrap_or_default()),
    ("rcp_ftz", |x| Approx::Rcp.single(x, true)),
    ("rsqrt", |x| Approx::Rsqrt.single(x, false)),
    ("rsqrt64h", |x| {
        Approx::Rsqrt.high_word(x).unwrap_or_default()
    }),
    ("rsqrt_ftz", |x| Approx::Rsqrt.single(x, true)),
    ("sin", |x| Approx::Sin.single(x, false)),
    ("sin_ftz", |x| Approx::Sin.single(x, true)),
    ("sqrt", |x| Approx::Sqrt.single(x, false)),
    ("sqrt_ftz", |x| Approx::Sqrt.single(x, true)),
    ("tanh", |x| Approx::Tanh.single(x, false)),
];

/// The 16-bit forms, with the hash over all 65536 inputs that the functions above have over a
/// block. It is that of a second implementation, which an H200 equals on all of them.
const SHORT_FUNCTIONS: [ShortFunction; 4] = [
    ("ex2_f16", |x| Approx::Ex2.half(x), 0x55a2_1383),
    ("ex2_bf16", |x| Approx::Ex2.brain(x), 0xa3b4_f3ed),
    ("tanh_f16", |x| Approx::Tanh.half(x), 0xf890_f493),
    ("tanh_bf16", |x| Approx::Tanh.brain(x), 0x5cfe_2d7c),
];

/// Blocks of a function.
const BLOCKS: u32 = 512;
/// Inputs of a block: one sign and exponent of f32.
const BLOCK_INPUTS: u32 = 1 << 23;

/// Spreads every bit of a word over all others.
fn mixed(mut word: u32) -> u32 {
    word ^= word >> 16;
    word = word.wrapping_mul(0x85eb_ca6b);
    word ^= word >> 13;
    word = word.wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// The hash over the inputs from `first` on.
fn hash(first: u32, inputs: u32, function: impl Fn(u32) -> u32) -> u32 {
    let one = |x: u32| mixed(function(x).wrapping_add(x.wrapping_mul(0x9e37_79b9)));
    (0..inputs).fold(0, |sum, index| sum.wrapping_add(one(first + index)))
}

/// The blocks of `wanted` whose hash is not that of the file.
fn wrong_blocks(function: fn(u32) -> u32, words: &[u8], wanted: &[u32]) -> Vec<u32> {
    let differs = |block: &u32| {
        let at = 4 * *block as usize;
        let word = words.get(at..at + 4).and_then(|word| word.try_into().ok());
        let got = hash(block * BLOCK_INPUTS, BLOCK_INPUTS, function);
        word.map(u32::from_le_bytes) != Some(got)
    };
    wanted.par_iter().copied().filter(differs).collect()
}

/// The 16-bit forms whose hash is another.
fn wrong_short_functions() -> Vec<&'static str> {
    let differs = |(_, function, wanted): &&ShortFunction| {
        hash(0, 1 << 16, |x| u32::from(function(x as u16))) != *wanted
    };
    let wrong = SHORT_FUNCTIONS.iter().filter(differs);
    wrong.map(|(name, ..)| *name).collect()
}

/// The words of each function.
fn words_of(file: &[u8]) -> impl Iterator<Item = (Function, &[u8])> {
    let words = file.chunks(4 * BLOCKS as usize);
    FUNCTIONS.into_iter().zip(words)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(path) = args.next() else {
        eprintln!("usage: sweep_approx HASHES [FUNCTION…]");
        return ExitCode::from(2);
    };
    let file = match std::fs::read(&path) {
        Ok(file) if file.len() == FUNCTIONS.len() * 4 * BLOCKS as usize => file,
        Ok(file) => {
            eprintln!(
                "{path}: {} bytes are not 512 words of 17 functions",
                file.len()
            );
            return ExitCode::from(2);
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let names: Vec<String> = args.collect();
    let all: Vec<u32> = (0..BLOCKS).collect();
    let mut right = true;
    for ((name, function), words) in words_of(&file) {
        if !names.is_empty() && !names.iter().any(|one| one == name) {
            continue;
        }
        let start = Instant::now();
        let wrong = wrong_blocks(function, words, &all);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}: {} of {BLOCKS} blocks differ, {seconds:.1} s",
            wrong.len()
        );
        right &= wrong.is_empty();
    }
    for name in wrong_short_functions() {
        println!("{name}: differs");
        right = false;
    }
    if right {
        println!("every output is the hardware's");
    }
    ExitCode::from(u8::from(!right))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    /// Zero and subnormals, 1 to 2, -2 to -4, minus infinity and NaN.
    const SAMPLE: [u32; 4] = [0, 127, 256 + 128, 511];

    #[test]
    fn a_sample_of_all_inputs_gives_what_an_h200_gave() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/data/mufu/sweep_hash.bin");
        let file = std::fs::read(path).unwrap();
        assert_eq!(words_of(&file).count(), 17);
        for ((name, function), words) in words_of(&file) {
            assert_eq!(wrong_blocks(function, words, &SAMPLE), [], "{name}");
        }
    }

    #[test]
    fn one_wrong_output_is_noticed() {
        let right = hash(0, 1 << 16, |x| x);
        assert_ne!(right, hash(0, 1 << 16, |x| x ^ u32::from(x == 77)));
    }

    #[test]
    fn all_inputs_of_16_bits_give_what_the_second_implementation_gives() {
        assert_eq!(wrong_short_functions(), [""; 0]);
    }
}
