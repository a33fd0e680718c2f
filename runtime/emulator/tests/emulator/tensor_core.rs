//! The sums of tensor cores: PTX on the emulator against the scalar definition, and that against
//! big integers.

mod oracle;
pub mod tiles;

use num_bigint::BigInt;
use oracle::Sums;
use tiles::{Random, Tile};
use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};
use tilewright_emulator::{Arg, Content, Launch, Memory, Module, Options, Params, run};

/// One instruction of the launch files: its name says what it multiplies.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    name: &'static str,
    way: Way,
    m: usize,
    n: usize,
    k: usize,
    a: Element,
    b: Element,
    sum: Sum,
}

const NAMES: &[&str] = &[
    "mma_m16n8k16_f16_e4m3_e4m3",
    "mma_m16n8k16_f32_e5m2_e4m3",
    "mma_m16n8k32_f16_e4m3_e5m2",
    "mma_m16n8k32_f32_e4m3_e4m3",
    "mma_m16n8k16_f16_f16",
    "mma_m16n8k16_f32_bf16",
    "mma_m16n8k16_f32_f16",
    "mma_m16n8k8_f16_f16",
    "mma_m16n8k8_f32_bf16",
    "mma_m16n8k8_f32_f16",
    "mma_m16n8k4_f32_tf32",
    "mma_m16n8k8_f32_tf32",
    "mma_m8n8k4_f64",
    "mma_m16n8k4_f64",
    "mma_m16n8k8_f64",
    "mma_m16n8k16_f64",
    "wgmma_m64n8k16_f16_f16",
    "wgmma_m64n8k16_f32_f16",
    "wgmma_m64n8k16_f32_bf16",
    "wgmma_m64n8k8_f32_tf32",
    "wgmma_m64n8k32_f16_e4m3_e5m2",
    "wgmma_m64n8k32_f32_e4m3_e4m3",
    "wgmma_m64n8k32_f32_e5m2_e5m2",
    "wmma_m16n16k16_f16_f16",
    "wmma_m16n16k16_f32_f16",
    "wmma_m16n16k16_f32_bf16",
    "wmma_m16n16k8_f32_tf32",
];

impl Instruction {
    fn new(name: &'static str) -> Instruction {
        let mut parts = name.split('_');
        let way = match parts.next().unwrap() {
            "mma" => Way::Mma,
            "wgmma" => Way::Wgmma,
            _ => Way::Wmma,
        };
        let shape = parts.next().unwrap().trim_start_matches('m');
        let (m, rest) = shape.split_once('n').unwrap();
        let (n, k) = rest.split_once('k').unwrap();
        let sum = match parts.next().unwrap() {
            "f16" => Sum::F16,
            "f32" => Sum::F32,
            _ => Sum::F64,
        };
        let element = |name: &str| match name {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            _ => Element::F64,
        };
        let a = element(parts.next().unwrap_or("f64"));
        Instruction {
            name,
            way,
            m: m.parse().unwrap(),
            n: n.parse().unwrap(),
            k: k.parse().unwrap(),
            a,
            b: parts.next().map_or(a, element),
            sum,
        }
    }

    fn step(&self) -> Step {
        let rules = Rules::of("sm_90a");
        Step::new(rules, self.way, (self.a, self.b), self.sum, self.k).unwrap()
    }

    fn sum_bits(&self) -> usize {
        match self.sum {
            Sum::F16 => 16,
            Sum::F64 => 64,
            _ => 32,
        }
    }

    /// The byte of element (row, k) of A, or of (column, k) of B, in its buffer.
    fn operand_byte(&self, outer: usize, k: usize, is_b: bool) -> usize {
        let bytes = self.a.bits() / 8;
        match self.way {
            // Rows of A and columns of B in memory.
            Way::Wmma => (outer * self.k + k) * bytes,
            // Core matrices of 8 rows of 16 bytes, the two along K side by side.
            Way::Wgmma => {
                let at = k * bytes;
                outer / 8 * 256 + at / 16 * 128 + outer % 8 * 16 + at % 16
            }
            // Registers of a lane, 32 words each.
            _ => {
                let each = (4 / bytes).max(1);
                let word = bytes.max(4);
                let lane = outer % 8 * 4 + k % (4 * each) / each;
                let block = k / (4 * each);
                let register = match is_b || self.m == 8 {
                    true => block,
                    false => 2 * block + outer / 8,
                };
                (register * 32 + lane) * word + k % each * bytes
            }
        }
    }

    /// The byte of an element of C and D.
    fn sum_byte(&self, row: usize, column: usize) -> usize {
        let bytes = self.sum_bits() / 8;
        if self.way == Way::Wmma {
            return (row * self.n + column) * bytes;
        }
        let lane = row % 8 * 4 + column % 8 / 2;
        let (threads, thread) = match self.way {
            Way::Wgmma => (128, row / 16 * 32 + lane),
            _ => (32, lane),
        };
        let half = row % 16 / 8;
        match self.sum {
            Sum::F16 => (half * threads + thread) * 4 + column % 2 * 2,
            _ => ((2 * half + column % 2) * threads + thread) * bytes,
        }
    }

    fn buffer(&self, values: &[u64], bytes: usize, place: impl Fn(usize) -> usize) -> Vec<u8> {
        let mut out = vec![0; values.len() * bytes];
        for (index, value) in values.iter().enumerate() {
            let at = place(index);
            out[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        out
    }

    /// What the kernel of the launch file writes for a tile.
    fn emulate(&self, module: &Module, tile: &Tile) -> Vec<u64> {
        let (m, n, k) = (self.m, self.n, self.k);
        let bytes = self.a.bits() / 8;
        let a = self.buffer(&tile.a, bytes, |i| self.operand_byte(i / k, i % k, false));
        let b = self.buffer(&tile.b, bytes, |i| self.operand_byte(i / k, i % k, true));
        let size = self.sum_bits() / 8;
        let c = self.buffer(&tile.c, size, |i| self.sum_byte(i / n, i % n));
        let mut memory = Memory::new();
        let mut alloc = |name: &str, content: Content<'_>, len: usize| {
            memory.alloc(name, len as u64, content).unwrap()
        };
        let buffers = [
            alloc("a", Content::Bytes(&a), a.len()),
            alloc("b", Content::Bytes(&b), b.len()),
            alloc("c", Content::Bytes(&c), c.len()),
            alloc("d", Content::Undefined, c.len()),
        ];
        let mut args: Vec<Arg> = buffers.iter().map(|id| Arg::Buffer(*id)).collect();
        args.extend([Arg::U32(1), Arg::U64(0x10_0008_0000)]);
        let launch = Launch {
            entry: self.name.to_owned(),
            grid: [1; 3],
            block: [128, 1, 1],
            cluster: [1; 3],
            programmatic: false,
            dynamic_shared_bytes: 0,
            params: Params::Args(args),
        };
        let report = run(module, &launch, &mut memory, &Options::default()).unwrap();
        assert!(report.is_clean(), "{}: {:?}", self.name, report.findings);
        let written = memory.read(buffers[3]);
        let value = |i: usize| {
            let at = self.sum_byte(i / n, i % n);
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(&written[at..at + size]);
            u64::from_le_bytes(wide)
        };
        (0..m * n).map(value).collect()
    }
}

#[test]
fn every_instruction_gives_the_bits_of_its_definition() {
    for name in NAMES {
        let own = Instruction::new(name);
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = folder.join(format!("../../ci/data/tensor_cores/ptx/{name}.ptx"));
        let module = Module::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let step = own.step();
        let mut random = Random::new(name.len() as u64 * 77 + own.k as u64);
        for _ in 0..12 {
            let tile = Tile::draw(&mut random, &step, (own.m, own.n));
            let got = own.emulate(&module, &tile);
            for (index, got) in got.into_iter().enumerate() {
                let (a, b, c) = tile.element(index, own.n, own.k);
                let want = step.dot(a, b, c);
                assert_eq!(got, want, "{name} {index}: {a:x?} {b:x?} {c:x}");
            }
        }
    }
}

/// Steps, and how big integers are to sum them.
fn steps() -> Vec<(Step, Sums)> {
    use Element::*;
    let mut all = Vec::new();
    let mut add = |target: &str, way, types, sum, k, sums| {
        let step = Step::new(Rules::of(target), way, types, sum, k).unwrap();
        all.push((step, sums));
    };
    let (hopper, short) = (Sums::fused(16, 25, 23), Sums::fused(32, 13, 13));
    let (h200, widened) = ("sm_90a", Sums::Widened);
    for sum in [Sum::F32, Sum::F16] {
        add(h200, Way::Mma, (F16, F16), sum, 16, hopper);
        add(h200, Way::Mma, (F16, F16), sum, 8, hopper);
        for types in [(E4m3, E4m3), (E4m3, E5m2), (E5m2, E5m2)] {
            add(h200, Way::Wgmma, types, sum, 32, short);
            add(h200, Way::Mma, types, sum, 32, widened);
            add(h200, Way::Mma, types, sum, 16, widened);
        }
        let ampere = Sums::fused(8, 24, 23);
        add("sm_80", Way::Mma, (F16, F16), sum, 16, ampere);
    }
    let (single, halves) = (Sum::F32, Sums::fused(4, 25, 23));
    add(h200, Way::Wgmma, (Bf16, Bf16), single, 16, hopper);
    add(h200, Way::Mma, (Tf32, Tf32), single, 8, hopper);
    add(h200, Way::Wmma, (Tf32, Tf32), single, 8, halves);
    let ada = Sums::fused(16, 13, 13);
    add("sm_89", Way::Mma, (E4m3, E4m3), single, 32, ada);
    add(h200, Way::Fma, (F32, F32), single, 24, Sums::Chain);
    add(h200, Way::Fma, (Bf16, Bf16), single, 24, Sums::Chain);
    all
}

#[test]
fn the_definition_is_what_big_integers_give_and_its_bounds_hold() {
    let mut random = Random::new(11);
    for (step, sums) in steps() {
        let mut tightest = 0.0f64;
        for _ in 0..60 {
            let tile = Tile::draw(&mut random, &step, (4, 8));
            for index in 0..32 {
                let (a, b, c) = tile.element(index, 8, step.k());
                let got = step.dot(a, b, c);
                let want = sums.sum(&step, (a, b), c);
                assert_eq!(got, want, "{step:?} {a:x?} {b:x?} {c:x}");
                let bound = step.bound(a, b, c);
                if bound.is_infinite() {
                    continue;
                }
                let exact = oracle::exact_sum(step.elements(), step.sum(), (a, b), c);
                let error = oracle::distance(&exact, step.sum(), got);
                assert!(
                    error <= oracle::scaled(bound),
                    "{step:?} {a:x?} {b:x?} {c:x}"
                );
                if error > BigInt::ZERO {
                    tightest = tightest.max(oracle::ratio(&error, bound));
                }
                assert_limit(&step, (a, b), c, bound);
            }
        }
        assert!(
            tightest > 0.6,
            "{step:?}: errors reach {tightest} of the bound"
        );
    }
}

/// The bound for magnitudes is not below that of the operands.
fn assert_limit(step: &Step, (a, b): (&[u64], &[u64]), c: u64, bound: f64) {
    let (a_type, b_type) = step.elements();
    let products = a.iter().zip(b);
    let products = products.map(|(a, b)| a_type.magnitude(*a) * b_type.magnitude(*b));
    let c = step.sum().magnitude(c);
    let largest = products.clone().fold(c, f64::max);
    let total = (c + products.sum::<f64>()) * (1.0 + 1e-12);
    let limit = step.limit(largest, total);
    assert!(bound <= limit, "{step:?}: {bound} is above {limit}");
}
