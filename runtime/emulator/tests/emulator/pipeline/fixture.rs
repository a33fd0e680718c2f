//! The kernel of `gemm.ptx`, its problem, and the schedules it runs under.

use crate::emulator::kernel::sorted_ids;
use half::bf16;
use tilewright_emulator::{
    Arg, AsyncOrder, BufferId, Content, Launch, Memory, Module, Options, Params, Report, Sanitize,
    TensorMap, TensorSwizzle, TensorType, WarpOrder, run,
};

/// The extents of the problem: two clusters of two CTAs.
pub const M: usize = 128;
pub const N: usize = 128;
pub const BLOCKS: usize = 5;
pub const K: usize = 64 * BLOCKS;

/// The text with lines replaced: each edit names the tag of one line and gives its new text.
pub fn text(edits: &[(&str, &str)]) -> String {
    let mut found = 0;
    let mut lines = Vec::new();
    for line in include_str!("gemm.ptx").lines() {
        let tag = line.rsplit_once("; // ").map(|(_, tag)| tag);
        match edits.iter().find(|(name, _)| Some(*name) == tag) {
            Some((_, text)) => {
                found += 1;
                lines.push((*text).to_owned());
            }
            None => lines.push(line.to_owned()),
        }
    }
    assert_eq!(
        found,
        edits.len(),
        "a tag of {edits:?} is on no line or on two"
    );
    let d: Vec<String> = (0..32).map(|r| format!("%d{r}")).collect();
    let pack = |r: usize| format!("cvt.rn.bf16x2.f32 %c{r}, %d{}, %d{};\n", 2 * r + 1, 2 * r);
    let pack: String = (0..16).map(pack).collect();
    let text = lines.join("\n");
    text.replace("{DD}", &format!("{{{}}}", d.join(",")))
        .replace("\nPACK\n", &format!("\n{pack}"))
}

fn element(seed: usize, row: usize, k: usize) -> f32 {
    ((row * 7 + k * 13 + seed * 5 + row * k % 3) % 5) as f32 - 2.0
}

fn matrix(seed: usize, rows: usize) -> Vec<u8> {
    let at = |index| bf16::from_f32(element(seed, index / K, index % K));
    (0..rows * K)
        .flat_map(|index| at(index).to_le_bytes())
        .collect()
}

fn map(base: u64, (rows, columns): (usize, usize), box_dims: [u16; 2]) -> Arg {
    let inner = box_dims[0] * 2;
    let map = TensorMap {
        swizzle: if inner == 64 {
            TensorSwizzle::Bytes64
        } else {
            TensorSwizzle::Bytes128
        },
        ..TensorMap::tiled(
            TensorType::Bfloat16,
            base,
            &[columns as u64, rows as u64],
            &[2 * columns as u64],
            &box_dims,
        )
    };
    Arg::Bytes(map.encode().unwrap().to_vec())
}

/// One run: its report, and whether D is right.
pub struct Outcome {
    pub report: Report,
    pub right: bool,
    pub schedule: String,
}

impl Outcome {
    /// The ids of findings of level error, sorted, each once.
    pub fn errors(&self) -> Vec<&'static str> {
        sorted_ids(self.report.errors())
    }
}

/// Every order of warps and every order of asynchronous work, in pairs.
pub const SCHEDULES: [(WarpOrder, AsyncOrder); 6] = [
    (WarpOrder::RoundRobin, AsyncOrder::Late),
    (WarpOrder::Reverse, AsyncOrder::Late),
    (WarpOrder::Reverse, AsyncOrder::Early),
    (WarpOrder::Random(1), AsyncOrder::Late),
    (WarpOrder::RoundRobin, AsyncOrder::Random(5)),
    (WarpOrder::Random(2), AsyncOrder::Random(6)),
];

/// Runs a text under one schedule.
pub fn once(text: &str, (warp_order, async_order): (WarpOrder, AsyncOrder)) -> Outcome {
    let module = Module::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut memory = Memory::new();
    let mut buffer = |name: &str, bytes: usize, content: Content<'_>| -> (BufferId, u64) {
        let id = memory.alloc(name, bytes as u64, content).unwrap();
        (id, memory.address(id))
    };
    let (a, b) = (matrix(1, M), matrix(2, N));
    let (_, a) = buffer("a", a.len(), Content::Bytes(&a));
    let (_, b) = buffer("b", b.len(), Content::Bytes(&b));
    let (d, at) = buffer("d", 2 * M * N, Content::Undefined);
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [(M / 64) as u32, (N / 64) as u32, 1],
        block: [256, 1, 1],
        cluster: [2, 1, 1],
        programmatic: false,
        dynamic_shared_bytes: 36_896,
        params: Params::Args(vec![
            map(a, (M, K), [64, 64]),
            map(b, (N, K), [64, 32]),
            map(at, (M, N), [32, 64]),
            Arg::U32(BLOCKS as u32),
        ]),
    };
    let options = Options {
        sanitize: Sanitize::Strict,
        warp_order,
        async_order,
        instructions_per_warp: 100_000,
        ..Options::default()
    };
    let report = run(&module, &launch, &mut memory, &options).unwrap();
    let bytes = memory.read(d);
    let got = bytes
        .chunks_exact(2)
        .map(|c| bf16::from_le_bytes([c[0], c[1]]));
    let right = got.enumerate().all(|(index, got)| {
        let (row, column) = (index / N, index % N);
        let sum: f32 = (0..K)
            .map(|k| element(1, row, k) * element(2, column, k))
            .sum();
        got == bf16::from_f32(sum)
    });
    Outcome {
        report,
        right,
        schedule: format!("{warp_order:?} {async_order:?}"),
    }
}

/// Runs a text under every schedule.
pub fn every(text: &str) -> Vec<Outcome> {
    SCHEDULES
        .into_iter()
        .map(|schedule| once(text, schedule))
        .collect()
}
