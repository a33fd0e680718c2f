//! Sums of floats into outputs: the same bits in whatever order CTAs and warps come, launch after
//! launch, with as many tiles as make every group.

use tilewright_emulator::{
    Arg as Value, Content, Launch, Memory, Module, Options, Params, Sanitize, WarpOrder,
};

use super::arch;
use crate::plan::data::combining::{COUNTERS, TERM_BYTES};
use crate::{ir, lower, plan, ptx, spec};

const SPEC: &str = "kernel: sums
name: sums_of_rows
arch: sm_70
operands:
  x: { dtype: f32, layout: '(m,n):(ldx,1)' }
  columns: { dtype: f32, layout: '(n):(1)' }
  rows: { dtype: f32, layout: '(m):(1)' }
  total: { dtype: f32, layout: '():()' }
compute: |
  columns[n] += x[m,n]
  rows[m] += x[m,n]
  total += x[m,n]
cta_tile: { m: 2, n: 64 }
threads: 32
";
/// Rows: more tiles than two groups of 32 times 32 have.
const M: i32 = 2 * 1100;
/// Columns: two tiles, the second cut.
const N: i32 = 64 + 5;
/// Elements from one row to the next, whole vectors.
const LDX: i32 = 72;
const TILES: u32 = 1100 * 2;

/// What a launch leaves in the outputs, twice on the same scratch memory. CTAs have other numbers,
/// by that multiplier and addend.
fn outputs(made: (&str, u32), turn: (u32, u32), order: WarpOrder) -> [Vec<u32>; 2] {
    let ((text, shared), (times, plus)) = (made, turn);
    let at = text.find(", %ctaid.x;").unwrap();
    let register = text[..at].rsplit_once('%').unwrap().1;
    let end = at + ", %ctaid.x;".len();
    let transposed = format!(
        "{}\nmul.lo.u32 %{register}, %{register}, {times};\n\
         add.u32 %{register}, %{register}, {plus};\n\
         rem.u32 %{register}, %{register}, {TILES};\n{}",
        &text[..end],
        &text[end..]
    );
    let module = Module::parse(&transposed).unwrap();
    let mut memory = Memory::new();
    let count = (M * LDX) as u32;
    // Exponents far apart, so that another order gives other bits.
    let number = |at: u32| {
        let mixed = at.wrapping_mul(2_654_435_761);
        let sign = if mixed & 1 == 0 { 1.0 } else { -1.0 };
        sign * (1.0 + (mixed >> 9) as f32 / 8_388_608.0) * 2f32.powi((mixed >> 3 & 31) as i32)
    };
    let x: Vec<u8> = (0..count).flat_map(|at| number(at).to_le_bytes()).collect();
    let mut alloc = |name: &str, bytes: &[u8]| {
        let content = Content::Bytes(bytes);
        memory.alloc(name, bytes.len() as u64, content).unwrap()
    };
    let input = alloc("x", &x);
    let zeros = |count: i32| vec![0; 4 * count as usize];
    let written = [
        alloc("columns", &zeros(N)),
        alloc("rows", &zeros(M)),
        alloc("total", &zeros(1)),
    ];
    let scratch = 3 * COUNTERS * TERM_BYTES + i64::from(TILES) * (64 + 2 + 1) * 4;
    let scratch = alloc("workspace", &vec![0; scratch as usize]);
    let buffers = [input, written[0], written[1], written[2]];
    let mut values: Vec<Value> = buffers.map(Value::Buffer).to_vec();
    values.extend([Value::S32(M), Value::S32(N), Value::Buffer(scratch)]);
    values.push(Value::S64(i64::from(LDX)));
    let entry = text.split_once(".entry ").unwrap().1;
    let launch = Launch {
        entry: entry.split_once('(').unwrap().0.trim().to_owned(),
        grid: [TILES, 1, 1],
        block: [32, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: shared,
        params: Params::Args(values),
    };
    let options = Options {
        warp_order: order,
        sanitize: Sanitize::Strict,
        ..Options::default()
    };
    [(); 2].map(|()| {
        let report = tilewright_emulator::run(&module, &launch, &mut memory, &options).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let counters = &memory.read(scratch)[..(3 * COUNTERS * TERM_BYTES) as usize];
        assert!(counters.iter().all(|byte| *byte == 0));
        let words = written.iter().flat_map(|one| {
            let bytes = memory.read(*one);
            let words = bytes.chunks_exact(4);
            words
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect::<Vec<u32>>()
        });
        words.collect()
    })
}

#[test]
fn bits_of_sums_do_not_depend_on_the_order_of_ctas() {
    let file = spec::parse("-", SPEC).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let program = lower::lower(&plan, &ir::tile::build::build(&plan).unwrap()).unwrap();
    let text = ptx::emit(&program, &arch("sm_70"), "sums").unwrap().text;
    let made = (text.as_str(), program.smem_bytes);
    let [first, second] = outputs(made, (1, 0), WarpOrder::RoundRobin);
    assert_eq!(first.len(), (N + M + 1) as usize);
    let twice = |bits: &u32| (2.0 * f32::from_bits(*bits)).to_bits();
    assert_eq!(first.iter().map(twice).collect::<Vec<_>>(), second);
    // The last one first, and a stride that has no factor of the number of tiles.
    for order in [(TILES - 1, TILES - 1), (1009, 500)] {
        assert!(outputs(made, order, WarpOrder::Random(5)) == [first.clone(), second.clone()]);
    }
}
