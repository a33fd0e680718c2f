//! Tensor-core products against a dense model, with the fragment layouts of the ISA's figures.

use super::kernel::{Lanes, WARP, launch, module};
use half::{bf16, f16};
use tilewright_emulator::Options;

/// Element types: bits, and how a small integer becomes an element.
struct Element {
    bits: u32,
    encode: fn(i32) -> u64,
}

/// One shape: text after `mma.sync.aligned.`, extents, registers of a, b and c.
struct Shape {
    text: &'static str,
    m: usize,
    k: usize,
    a: Element,
    integer: bool,
    half_c: bool,
}

const F16: Element = Element {
    bits: 16,
    encode: |x| u64::from(f16::from_f32(x as f32).to_bits()),
};
const BF16: Element = Element {
    bits: 16,
    encode: |x| u64::from(bf16::from_f32(x as f32).to_bits()),
};
const TF32: Element = Element {
    bits: 32,
    encode: |x| u64::from((x as f32).to_bits()),
};
const S8: Element = Element {
    bits: 8,
    encode: |x| u64::from(x as i8 as u8),
};
const S4: Element = Element {
    bits: 4,
    encode: |x| (x & 15) as u64,
};
// Small integers in e4m3: 1.0 is 0x38, 2.0 is 0x40, 3.0 is 0x44.
const E4M3: Element = Element {
    bits: 8,
    encode: |x| [0u64, 0x38, 0x40, 0x44][x.unsigned_abs() as usize] | if x < 0 { 0x80 } else { 0 },
};

fn shape(text: &'static str, m: usize, k: usize, a: Element) -> Shape {
    let integer = text.contains("s32");
    let half_c = text.contains(".f16.f16.f16.f16");
    Shape {
        text,
        m,
        k,
        a,
        integer,
        half_c,
    }
}

fn a_value(row: usize, column: usize) -> i32 {
    (row * 3 + column * 5) as i32 % 7 - 3
}

fn b_value(row: usize, column: usize) -> i32 {
    (row * 2 + column * 3) as i32 % 5 - 2
}

fn c_value(row: usize, column: usize) -> i32 {
    (row + 2 * column) as i32 % 9 - 4
}

/// The ISA's figures: row and column of the element at bit `bit` of A's register `r`.
fn pack(
    registers: usize,
    bits: u32,
    lane: usize,
    value: impl Fn(usize, usize, usize) -> u64,
) -> Vec<u32> {
    let each = (32 / bits) as usize;
    let keep = u64::MAX >> (64 - bits);
    let word = |r: usize| {
        (0..each).fold(0, |w, i| {
            w | (value(r, i, lane) & keep) << (i as u32 * bits)
        })
    };
    (0..registers).map(|r| word(r) as u32).collect()
}

fn fragments(s: &Shape) -> (Vec<u32>, usize, usize, usize) {
    let each = 32 / s.a.bits as usize;
    let (na, nb) = (s.m * s.k / 32 / each, 8 * s.k / 32 / each);
    let nc = if s.half_c { s.m / 8 } else { s.m / 4 };
    let mut words = Vec::new();
    for lane in 0..32 {
        let (group, thread) = (lane >> 2, lane & 3);
        words.extend(pack(na, s.a.bits, lane, |r, i, _| {
            let row = if s.m == 16 && r % 2 == 1 {
                group + 8
            } else {
                group
            };
            let block = if s.m == 16 { r / 2 } else { r };
            (s.a.encode)(a_value(row, block * 4 * each + thread * each + i))
        }));
        words.extend(pack(nb, s.a.bits, lane, |r, i, _| {
            (s.a.encode)(b_value(r * 4 * each + thread * each + i, group))
        }));
        words.extend((0..nc).map(|r| {
            if s.half_c {
                let at = |i: usize| {
                    f16::from_f32(c_value(group + 8 * r, 2 * thread + i) as f32).to_bits()
                };
                return u32::from(at(0)) | u32::from(at(1)) << 16;
            }
            let value = c_value(group + 8 * (r / 2), 2 * thread + r % 2);
            if s.integer {
                value as u32
            } else {
                (value as f32).to_bits()
            }
        }));
    }
    (words, na, nb, nc)
}

fn list(from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|r| format!("%r{r}")).collect();
    format!("{{{}}}", names.join(", "))
}

fn check(s: &Shape) {
    let (words, na, nb, nc) = fragments(s);
    let total = na + nb + nc;
    let mut body = format!(
        "mov.u32 %r60, %laneid; mul.wide.u32 %rd1, %r60, {}; ld.param.u64 %rd2, [p0];
            add.u64 %rd2, %rd2, %rd1;
         mul.wide.u32 %rd3, %r60, {}; ld.param.u64 %rd4, [p1]; add.u64 %rd4, %rd4, %rd3;\n",
        4 * total,
        4 * nc
    );
    for r in 0..total {
        body.push_str(&format!("ld.global.u32 %r{r}, [%rd2+{}];\n", 4 * r));
    }
    let (a, b, c, d) = (
        list(0, na),
        list(na, nb),
        list(na + nb, nc),
        list(total, nc),
    );
    body.push_str(&format!(
        "mma.sync.aligned.{} {d}, {a}, {b}, {c};\n",
        s.text
    ));
    for r in 0..nc {
        body.push_str(&format!(
            "st.global.u32 [%rd4+{}], %r{};\n",
            4 * r,
            total + r
        ));
    }
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let run = launch(
        &module(2, "", &body),
        &WARP,
        &[Some(&bytes), None],
        &Options::default(),
    );
    assert!(
        run.report.is_clean(),
        "{}: {:?}",
        s.text,
        run.report.findings
    );
    compare(s, &run.words(1), nc);
    assert_eq!(run.report.counters.mma_flop, 2 * (s.m * 8 * s.k) as u64);
}

/// The results of all lanes against the dense product.
fn compare(s: &Shape, out: &[u32], nc: usize) {
    let want = |row: usize, column: usize| {
        c_value(row, column)
            + (0..s.k)
                .map(|k| a_value(row, k) * b_value(k, column))
                .sum::<i32>()
    };
    for lane in 0..32 {
        let (group, thread) = (lane >> 2, lane & 3);
        for r in 0..nc {
            let got = out[lane * nc + r];
            if s.half_c {
                for i in 0..2 {
                    let value = f16::from_bits((got >> (16 * i)) as u16).to_f32();
                    assert_eq!(
                        value,
                        want(group + 8 * r, 2 * thread + i) as f32,
                        "{}",
                        s.text
                    );
                }
                continue;
            }
            let wanted = want(group + 8 * (r / 2), 2 * thread + r % 2);
            let wanted = if s.integer {
                wanted as u32
            } else {
                (wanted as f32).to_bits()
            };
            assert_eq!(got, wanted, "{} lane {lane} register {r}", s.text);
        }
    }
}

#[test]
fn products_of_small_integers_are_exact() {
    for s in [
        shape("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, BF16),
        shape("m16n8k16.row.col.f32.f16.f16.f32", 16, 16, F16),
        shape("m16n8k16.row.col.f16.f16.f16.f16", 16, 16, F16),
        shape("m16n8k8.row.col.f32.f16.f16.f32", 16, 8, F16),
        shape("m16n8k8.row.col.f16.f16.f16.f16", 16, 8, F16),
        shape("m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, BF16),
        shape("m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, TF32),
        shape("m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, TF32),
        shape("m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, E4M3),
        shape("m16n8k32.row.col.s32.s8.s8.s32", 16, 32, S8),
        shape("m16n8k16.row.col.s32.s8.s8.s32", 16, 16, S8),
        shape("m8n8k16.row.col.s32.s8.s8.s32", 8, 16, S8),
        shape("m16n8k64.row.col.s32.s4.s4.s32", 16, 64, S4),
        shape("m16n8k32.row.col.satfinite.s32.s4.s4.s32", 16, 32, S4),
    ] {
        check(&s);
    }
}

#[test]
fn double_products() {
    let body = "cvt.rn.f64.u32 %rd10, %r1; cvt.rn.f64.u32 %rd11, %r2;
        mov.b64 %rd12, 0d0000000000000000;
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd13, %rd14}, {%rd10}, {%rd11},
            {%rd12, %rd12};
        add.f64 %rd13, %rd13, %rd14; mov.u64 %rd0, %rd13;";
    let lane: Lanes = std::array::from_fn(|lane| lane as u64);
    let got = super::kernel::lanes(body, &lane, &lane, &lane);
    for (lane, got) in got.into_iter().enumerate() {
        let (group, thread) = (lane >> 2, lane & 3);
        // A (g, t) is lane 4g + t; B (t, g) is lane 4g + t; C holds (g, 2t) and (g, 2t + 1).
        let dot = |column: usize| {
            (0..4)
                .map(|k| (4 * group + k) * (4 * column + k))
                .sum::<usize>()
        };
        assert_eq!(
            f64::from_bits(got),
            (dot(2 * thread) + dot(2 * thread + 1)) as f64
        );
    }
}
