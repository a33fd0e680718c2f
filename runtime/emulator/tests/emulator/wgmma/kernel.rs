//! One kernel for one kind of product, its data, and what must come out.

pub use super::layouts::Major;
use super::layouts::Operand;
use crate::emulator::kernel::{Run, Shape, launch};
use half::{bf16, f16};
use tilewright_emulator::{AsyncOrder, Options, Sanitize, WarpOrder};

/// A kind of product.
#[derive(Clone, Debug)]
pub struct Case {
    pub n: usize,
    pub ab: &'static str,
    /// The type of B when it is not that of A.
    pub b: Option<&'static str>,
    pub d: &'static str,
    pub majors: (Major, Major),
    pub swizzles: (u32, u32),
    pub a_registers: bool,
    pub negate: (bool, bool),
    /// Whether D is added to by the first product; later ones always add.
    pub accumulates: bool,
    /// Products of 32 bytes along K.
    pub steps: u32,
    /// Where the swizzle patterns start, in lines of 128 bytes.
    pub patterns: (u32, u32),
}

impl Default for Case {
    fn default() -> Case {
        Case {
            n: 64,
            ab: "bf16",
            b: None,
            d: "f32",
            majors: (Major::K, Major::K),
            swizzles: (128, 128),
            a_registers: false,
            negate: (false, false),
            accumulates: true,
            steps: 1,
            patterns: (0, 0),
        }
    }
}

fn element_bytes(ty: &str) -> u32 {
    match ty {
        "f16" | "bf16" => 2,
        "tf32" => 4,
        _ => 1,
    }
}

/// A small integer as an element.
fn encode(ty: &str, value: i32) -> Vec<u8> {
    let minifloat = |mantissa: i32, bias: i32| {
        if value == 0 {
            return vec![0];
        }
        let power = value.abs().ilog2() as i32;
        let fraction = (value.abs() << mantissa >> power) & ((1 << mantissa) - 1);
        let sign = i32::from(value < 0) << 7;
        vec![(sign | (power + bias) << mantissa | fraction) as u8]
    };
    match ty {
        "f16" => f16::from_f32(value as f32).to_le_bytes().to_vec(),
        "bf16" => bf16::from_f32(value as f32).to_le_bytes().to_vec(),
        // The low 13 bits of a tf32 are ignored.
        "tf32" => ((value as f32).to_bits() | 0x1555).to_le_bytes().to_vec(),
        "e4m3" => minifloat(3, 7),
        "e5m2" => minifloat(2, 15),
        _ => vec![value as u8],
    }
}

/// An integer from -5 to 5, or to 5 from 0, that depends on where it is in no simple way.
fn value(ty: &str, seed: u32, row: u32, k: u32) -> i32 {
    let mix = |value: u32, factor: u32| (value + 1).wrapping_mul(factor);
    let mut hash = mix(seed, 0x9e37_79b9) ^ mix(row, 0x85eb_ca6b) ^ mix(k, 0xc2b2_ae35);
    hash = (hash ^ hash >> 15).wrapping_mul(0x2c1b_3c6d);
    let small = ((hash ^ hash >> 13) % 11) as i32 - 5;
    if ty == "u8" { small + 5 } else { small }
}

/// The bits of one accumulator register from its values.
fn register(d: &str, values: &[i64]) -> u32 {
    match d {
        "f32" => (values[0] as f32).to_bits(),
        "s32" => values[0] as u32,
        _ => {
            let half = |value: i64| u32::from(f16::from_f64(value as f64).to_bits());
            half(values[0]) | half(values[1]) << 16
        }
    }
}

/// Rows and columns that register `r` of thread `thread` holds.
fn places(d: &str, thread: usize, r: usize) -> Vec<(usize, usize)> {
    let (warp, g, t) = (thread / 32, thread % 32 / 4, thread % 4);
    if d == "f16" {
        let (j, h) = (r / 2, r % 2);
        let row = 16 * warp + g + 8 * h;
        return vec![(row, 8 * j + 2 * t), (row, 8 * j + 2 * t + 1)];
    }
    let (j, q) = (r / 4, r % 4);
    vec![(16 * warp + g + 8 * (q / 2), 8 * j + 2 * t + q % 2)]
}

struct Problem<'c> {
    case: &'c Case,
    b_type: &'static str,
    /// Elements along K of one product.
    k: u32,
    a: Operand,
    b: Operand,
    shared_bytes: u32,
}

impl Problem<'_> {
    fn new(case: &Case) -> Problem<'_> {
        let b_type = case.b.unwrap_or(case.ab);
        let (ea, eb) = (element_bytes(case.ab), element_bytes(b_type));
        let k = 32 / ea;
        let all = k * case.steps;
        let pattern = |lines: u32| 128 * lines;
        let start = pattern(case.patterns.0);
        let (mut a, a_bytes) = Operand::new((case.majors.0, case.swizzles.0, ea), start, (64, all));
        a.pattern = start;
        let second = (start + a_bytes).next_multiple_of(1024);
        let start = second + pattern(case.patterns.1);
        let n = case.n as u32;
        let (mut b, b_bytes) = Operand::new((case.majors.1, case.swizzles.1, eb), start, (n, all));
        b.pattern = pattern(case.patterns.1);
        let shared_bytes = (start + b_bytes).next_multiple_of(1024);
        Problem {
            case,
            b_type,
            k,
            a,
            b,
            shared_bytes,
        }
    }

    fn a(&self, row: u32, k: u32) -> i32 {
        value(self.case.ab, 1, row, k)
    }

    fn b(&self, column: u32, k: u32) -> i32 {
        value(self.b_type, 2, column, k)
    }

    fn before(row: usize, column: usize) -> i64 {
        i64::from(value("s8", 3, row as u32, column as u32))
    }

    /// The image of shared memory; what is between the parts of the operands would be seen.
    fn image(&self) -> Vec<u8> {
        let mut image = vec![0x3b; self.shared_bytes as usize];
        let mut put = |at: u32, bytes: Vec<u8>| {
            image[at as usize..][..bytes.len()].copy_from_slice(&bytes);
        };
        for k in 0..self.k * self.case.steps {
            for row in (0..64).filter(|_| !self.case.a_registers) {
                put(self.a.at(row, k), encode(self.case.ab, self.a(row, k)));
            }
            for column in 0..self.case.n as u32 {
                put(self.b.at(column, k), encode(self.b_type, self.b(column, k)));
            }
        }
        image
    }

    /// A's registers: step, register, thread.
    fn a_registers(&self) -> Vec<u8> {
        let each = 4 / element_bytes(self.case.ab);
        let mut bytes = Vec::new();
        for step in 0..self.case.steps {
            for (r, thread) in (0..4).flat_map(|r| (0..128).map(move |thread| (r, thread))) {
                let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (r % 2);
                for i in 0..each {
                    let k = step * self.k + r / 2 * 4 * each + thread % 4 * each + i;
                    bytes.extend(encode(self.case.ab, self.a(row, k)));
                }
            }
        }
        bytes
    }

    fn descriptors(&self) -> Vec<u8> {
        let step = |step: u32| {
            [&self.a, &self.b].map(|operand| operand.descriptor(operand.advance(step, self.k)))
        };
        (0..self.case.steps)
            .flat_map(step)
            .flat_map(u64::to_le_bytes)
            .collect()
    }

    fn registers(&self) -> usize {
        self.case.n / if self.case.d == "f16" { 4 } else { 2 }
    }

    /// D's registers, from a function of row and column.
    fn d(&self, f: impl Fn(usize, usize) -> i64) -> Vec<u32> {
        let all = (0..self.registers()).flat_map(|r| (0..128).map(move |thread| (r, thread)));
        let bits = |(r, thread)| {
            let places = places(self.case.d, thread, r);
            let values: Vec<i64> = places.iter().map(|place| f(place.0, place.1)).collect();
            register(self.case.d, &values)
        };
        all.map(bits).collect()
    }

    fn expected(&self, row: usize, column: usize) -> i64 {
        let (start, all) = (Problem::before(row, column), self.k * self.case.steps);
        let product = |k| f64::from(self.a(row as u32, k)) * f64::from(self.b(column as u32, k));
        let sum: f64 = (0..all).map(product).sum();
        let sign = if self.case.negate.0 != self.case.negate.1 {
            -1.0
        } else {
            1.0
        };
        let start = if self.case.accumulates { start } else { 0 };
        start + (sign * sum) as i64
    }

    fn text(&self) -> String {
        let case = self.case;
        let count = self.registers();
        let d: Vec<String> = (0..count).map(|r| format!("%d{r}")).collect();
        let d = d.join(",");
        let copy = (0..count)
            .map(|r| (r, 512 * r))
            .map(|(r, at)| format!("ld.global.b32 %d{r}, [%rd3+{at}];\n"));
        let back = (0..count)
            .map(|r| (r, 512 * r))
            .map(|(r, at)| format!("st.global.b32 [%rd3+{at}], %d{r};\n"));
        let (load, store): (String, String) = (copy.collect(), back.collect());
        let mut products = String::new();
        for step in 0..case.steps as usize {
            let (at, regs) = (16 * step, 2048 * step);
            let mut a = "%rd10".to_owned();
            if case.a_registers {
                for r in 0..4 {
                    let at = regs + 512 * r;
                    products += &format!("ld.global.b32 %a{}, [%rd4+{at}];\n", 4 * step + r);
                }
                a = (0..4)
                    .map(|r| format!("%a{}", 4 * step + r))
                    .collect::<Vec<_>>()
                    .join(",");
                a = format!("{{{a}}}");
            }
            let scale = i32::from(case.accumulates || step > 0);
            let flags = self.flags();
            products += &format!(
                "ld.global.u64 %rd10, [%rd2+{at}]; ld.global.u64 %rd11, [%rd2+{}];
                 setp.ne.b32 %p1, {scale}, 0; wgmma.fence.sync.aligned;
                 wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}
                   {{{d}}}, {a}, %rd11, %p1{flags};\n",
                at + 8,
                case.n,
                self.k,
                case.d,
                case.ab,
                self.b_type,
            );
        }
        format!("{HEAD}\n{load}\n{products}\n{TAIL}\n{store}\nret;\n}}\n")
    }

    fn flags(&self) -> String {
        let case = self.case;
        if case.d == "s32" {
            return String::new();
        }
        let sign = |negate: bool| if negate { -1 } else { 1 };
        let mut flags = format!(", {}, {}", sign(case.negate.0), sign(case.negate.1));
        if element_bytes(case.ab) == 2 {
            let transposed = |major| i32::from(major == Major::MN);
            if !case.a_registers {
                flags += &format!(", {}", transposed(case.majors.0));
            }
            flags += &format!(", {}", transposed(case.majors.1));
        }
        flags
    }
}

/// Every thread copies words of the image, and makes its pointers.
const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64
.extern .shared .align 1024 .b8 s[];
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)
{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b32 %d<128>; .reg .b32 %a<80>;
ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd4, [p2];
ld.param.u64 %rd3, [p3];
mov.u32 %r1, %tid.x; mov.u32 %r2, %dynamic_smem_size; mov.u32 %r3, s;
mul.wide.u32 %rd5, %r1, 4; add.u64 %rd3, %rd3, %rd5; add.u64 %rd4, %rd4, %rd5;
shl.b32 %r4, %r1, 2;
COPY: cvt.u64.u32 %rd6, %r4; add.u64 %rd6, %rd6, %rd1; ld.global.b32 %r5, [%rd6];
add.u32 %r6, %r3, %r4; st.shared.b32 [%r6], %r5; add.u32 %r4, %r4, 512;
setp.lt.u32 %p1, %r4, %r2; @%p1 bra COPY;
fence.proxy.async.shared::cta; bar.sync 0;";
const TAIL: &str = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

/// Runs a case under early and late reads and compares every accumulator.
pub fn products(case: &Case) {
    let problem = Problem::new(case);
    let expected = problem.d(|row, column| problem.expected(row, column));
    for run in runs(&problem) {
        assert!(
            run.report.findings.is_empty(),
            "{case:?}: {:?}",
            run.report.findings
        );
        let words = run.words(3);
        for (index, (word, expected)) in words.iter().zip(&expected).enumerate() {
            let (r, thread) = (index / 128, index % 128);
            let places = places(case.d, thread, r);
            assert_eq!(
                word, expected,
                "{case:?}: register {r} of thread {thread} at {places:?}"
            );
        }
        assert_eq!(words.len(), expected.len());
    }
}

fn runs(problem: &Problem<'_>) -> Vec<Run> {
    let start = problem.d(Problem::before);
    let d: Vec<u8> = start.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (image, descriptors) = (problem.image(), problem.descriptors());
    let a = problem.a_registers();
    let buffers = [Some(&image[..]), Some(&descriptors), Some(&a), Some(&d)];
    let shape = Shape {
        grid: 1,
        block: 128,
        shared: problem.shared_bytes,
    };
    let text = problem.text();
    let orders = [
        (AsyncOrder::Early, WarpOrder::Reverse),
        (AsyncOrder::Late, WarpOrder::Random(7)),
    ];
    let run = |(async_order, warp_order)| {
        let options = Options {
            sanitize: Sanitize::Strict,
            async_order,
            warp_order,
            ..Options::default()
        };
        launch(&text, &shape, &buffers, &options)
    };
    orders.into_iter().map(run).collect()
}
