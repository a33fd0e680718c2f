//! `wmma`: every shape and type through memory of every kind, against the scalar definition.

use super::kernel::{Run, WARP, launch, module};
use super::tensor_core::tiles::{Random, Tile};
use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};
use tilewright_emulator::{Options, Sanitize};

/// A product: shape, types, and how many registers the ISA gives A, B, C and D.
struct Product {
    shape: (usize, usize, usize),
    element: Element,
    c: Sum,
    d: Sum,
    registers: [usize; 4],
}

/// How the matrices lie: whether by columns, elements between rows or columns beyond the least,
/// and where A is.
#[derive(Clone, Copy)]
struct Way3 {
    columns: [bool; 3],
    gap: usize,
    a_space: &'static str,
}

const INTEGERS: Sum = Sum::S32 { saturate: false };

const PRODUCTS: &[Product] = &[
    product((16, 16, 16), Element::F16, Sum::F32, Sum::F32, [8, 8, 8, 8]),
    product((32, 8, 16), Element::F16, Sum::F16, Sum::F16, [8, 8, 4, 4]),
    product((8, 32, 16), Element::F16, Sum::F32, Sum::F32, [8, 8, 8, 8]),
    product((16, 16, 16), Element::F16, Sum::F16, Sum::F32, [8, 8, 4, 8]),
    product((16, 16, 16), Element::F16, Sum::F32, Sum::F16, [8, 8, 8, 4]),
    product(
        (16, 16, 16),
        Element::Bf16,
        Sum::F32,
        Sum::F32,
        [4, 4, 8, 8],
    ),
    product((32, 8, 16), Element::Bf16, Sum::F32, Sum::F32, [8, 2, 8, 8]),
    product((8, 32, 16), Element::Bf16, Sum::F32, Sum::F32, [2, 8, 8, 8]),
    product((16, 16, 8), Element::Tf32, Sum::F32, Sum::F32, [4, 4, 8, 8]),
    product((8, 8, 4), Element::F64, Sum::F64, Sum::F64, [1, 1, 2, 2]),
    product((16, 16, 16), Element::S8, INTEGERS, INTEGERS, [2, 2, 8, 8]),
    product((32, 8, 16), Element::U8, INTEGERS, INTEGERS, [4, 1, 8, 8]),
    product((8, 32, 16), Element::S8, INTEGERS, INTEGERS, [1, 4, 8, 8]),
];

const fn product(
    shape: (usize, usize, usize),
    element: Element,
    c: Sum,
    d: Sum,
    registers: [usize; 4],
) -> Product {
    Product {
        shape,
        element,
        c,
        d,
        registers,
    }
}

fn list(name: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("{name}{i}")).collect();
    format!("{{{}}}", names.join(","))
}

fn sum_bytes(sum: Sum) -> usize {
    match sum {
        Sum::F16 => 2,
        Sum::F64 => 8,
        _ => 4,
    }
}

impl Product {
    /// Elements from one row, or column, to the next.
    fn stride(way: Way3, matrix: usize, rows: usize, columns: usize) -> usize {
        way.gap + if way.columns[matrix] { rows } else { columns }
    }

    fn text(&self, way: Way3) -> String {
        let (m, n, k) = self.shape;
        let shape = format!("m{m}n{n}k{k}");
        let layout = |matrix: usize| if way.columns[matrix] { "col" } else { "row" };
        let (a, c, d) = (self.element, self.c, self.d);
        let width = if a == Element::F64 { 64 } else { 32 };
        let [ra, rb, rc, rd] = self.registers;
        let strides = [
            Product::stride(way, 0, m, k),
            Product::stride(way, 1, k, n),
            Product::stride(way, 2, m, n),
        ];
        let mut body = format!(
            ".reg .b{width} a<{ra}>, b<{rb}>, c<{rc}>, d<{rd}>;
             ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
             ld.param.u64 %rd3, [p2]; ld.param.u64 %rd4, [p3];\n"
        );
        if way.a_space.starts_with(".shared") {
            body.push_str(
                ".shared .align 32 .b8 room[4096];
                 mov.u32 %r1, %laneid; shl.b32 %r1, %r1, 2; mov.u32 %r2, room;
                 cvt.u64.u32 %rd5, %r1; add.u64 %rd5, %rd1, %rd5; add.u32 %r2, %r2, %r1;\n",
            );
            for step in 0..self.operand_bytes(way, 0).div_ceil(128) {
                body.push_str(&format!(
                    "ld.global.u32 %r3, [%rd5+{0}]; st.shared.u32 [%r2+{0}], %r3;\n",
                    128 * step
                ));
            }
            body.push_str("bar.warp.sync 0xffffffff; mov.u32 %r2, room; cvt.u64.u32 %rd1, %r2;\n");
        }
        let [sa, sb, sc] = strides;
        let types = match a {
            Element::F16 => format!("{d}.{c}"),
            _ => format!("{d}.{a}.{a}.{c}"),
        };
        body.push_str(&format!(
            "wmma.load.a.sync.aligned.{la}.{shape}{space}.{a} {a_list}, [%rd1], {sa};
             wmma.load.b.sync.aligned.{lb}.{shape}.global.{a} {b_list}, [%rd2], {sb};
             wmma.load.c.sync.aligned.{lc}.{shape}.{c} {c_list}, [%rd3], {sc};
             wmma.mma.sync.aligned.{la}.{lb}.{shape}.{types} {d_list}, {a_list}, {b_list}, {c_list};
             wmma.store.d.sync.aligned.{lc}.{shape}.global.{d} [%rd4], {d_list}, {sc};\n",
            la = layout(0),
            lb = layout(1),
            lc = layout(2),
            space = way.a_space,
            a_list = list("a", ra),
            b_list = list("b", rb),
            c_list = list("c", rc),
            d_list = list("d", rd),
        ));
        module(4, "", &body)
    }

    /// Bytes of A or B, with room for whole words of a warp.
    fn operand_bytes(&self, way: Way3, matrix: usize) -> usize {
        let (m, n, k) = self.shape;
        let (rows, columns) = [(m, k), (k, n)][matrix];
        let lines = if way.columns[matrix] { columns } else { rows };
        let stride = Product::stride(way, matrix, rows, columns);
        (lines * stride * self.element.bits() / 8).next_multiple_of(128)
    }

    fn step(&self, sum: Sum) -> Step {
        let types = (self.element, self.element);
        Step::new(Rules::of("sm_90"), Way::Wmma, types, sum, self.shape.2).unwrap()
    }

    fn check(&self, way: Way3, random: &mut Random) {
        let (m, n, k) = self.shape;
        // An accumulator of f32 on either side makes sums of f32.
        let mixed = self.c != self.d;
        let step = self.step(if mixed { Sum::F32 } else { self.c });
        let tile = Tile::draw(random, &self.step(self.c), (m, n));
        let at = |matrix: usize, rows: usize, columns: usize| {
            let stride = Product::stride(way, matrix, rows, columns);
            move |row: usize, column: usize| match way.columns[matrix] {
                true => column * stride + row,
                false => row * stride + column,
            }
        };
        let fill = |bytes: usize, size: usize, places: Vec<(usize, u64)>| {
            let mut out = vec![0u8; bytes];
            for (at, value) in places {
                out[at * size..(at + 1) * size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            out
        };
        let size = self.element.bits() / 8;
        let (place_a, place_b, place_c) = (at(0, m, k), at(1, k, n), at(2, m, n));
        let places = tile.a.iter().enumerate();
        let places = places.map(|(i, value)| (place_a(i / k, i % k), *value));
        let a = fill(self.operand_bytes(way, 0), size, places.collect());
        let places = tile.b.iter().enumerate();
        let places = places.map(|(i, value)| (place_b(i % k, i / k), *value));
        let b = fill(self.operand_bytes(way, 1), size, places.collect());
        let places = tile.c.iter().enumerate();
        let places = places.map(|(i, value)| (place_c(i / n, i % n), *value));
        let c = fill(4096, sum_bytes(self.c), places.collect());
        let run = self.launch(way, [&a, &b, &c]);
        let bytes: Vec<u8> = run.words(3).iter().flat_map(|w| w.to_le_bytes()).collect();
        for index in 0..m * n {
            let (a, b, c) = tile.element(index, n, k);
            let c = widened(self.c, step.sum(), c);
            let want = narrowed(step.sum(), self.d, step.dot(a, b, c));
            let size = sum_bytes(self.d);
            let at = place_c(index / n, index % n) * size;
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(&bytes[at..at + size]);
            let what = format!("{:?} {} {index}", self.shape, self.element);
            assert_eq!(
                u64::from_le_bytes(wide),
                want,
                "{what}: {a:x?} {b:x?} {c:x}"
            );
        }
    }

    fn launch(&self, way: Way3, [a, b, c]: [&[u8]; 3]) -> Run {
        let options = Options {
            sanitize: Sanitize::Strict,
            ..Options::default()
        };
        let buffers = [Some(a), Some(b), Some(c), None];
        let run = launch(&self.text(way), &WARP, &buffers, &options);
        assert!(run.report.is_clean(), "{:?}", run.report.findings);
        run
    }
}

fn widened(from: Sum, to: Sum, bits: u64) -> u64 {
    match (from, to) {
        (Sum::F16, Sum::F32) => u64::from(half::f16::from_bits(bits as u16).to_f32().to_bits()),
        _ => bits,
    }
}

fn narrowed(from: Sum, to: Sum, bits: u64) -> u64 {
    match (from, to) {
        (Sum::F32, Sum::F16) if f32::from_bits(bits as u32).is_nan() => 0x7fff,
        (Sum::F32, Sum::F16) => {
            u64::from(half::f16::from_f32(f32::from_bits(bits as u32)).to_bits())
        }
        _ => bits,
    }
}

#[test]
fn every_shape_and_layout_gives_the_definition() {
    let mut random = Random::new(5);
    for product in PRODUCTS {
        for (index, a_space) in ["", ".global", ".shared", ".shared::cta"]
            .iter()
            .enumerate()
        {
            let way = Way3 {
                columns: [index & 1 == 1, index & 2 == 2, index == 3],
                gap: [0, 8, 0, 4][index],
                a_space,
            };
            product.check(way, &mut random);
        }
    }
}

#[test]
fn fragments_are_watched_as_other_accesses_are() {
    let halves = vec![0x3c; 512];
    let ids = |body: &str, room: usize| {
        let body = format!(
            ".shared .align 32 .b8 room[512]; .reg .b32 a<8>; ld.param.u64 %rd1, [p0];
             mov.u32 %r1, room;\n{body}"
        );
        let text = module(1, "", &body);
        launch(&text, &WARP, &[Some(&halves[..room])], &Options::default()).ids()
    };
    let registers = list("a", 8);
    let load = |operands: &str| format!("wmma.load.a.sync.aligned.row.m16n16k16{operands};");
    let global = load(&format!(".global.f16 {registers}, [%rd1], 16"));
    assert!(ids(&global, 512).is_empty());
    assert_eq!(ids(&global, 500), ["oob_global"]);
    let wide = load(&format!(".global.f16 {registers}, [%rd1], 24"));
    assert_eq!(ids(&wide, 512), ["oob_global"]);
    let odd = load(&format!(".global.f16 {registers}, [%rd1+1], 8"));
    assert_eq!(ids(&odd, 512), ["misaligned"]);
    let undefined = load(&format!(".shared.f16 {registers}, [%r1], 16"));
    assert_eq!(ids(&undefined, 512), ["uninit_shared"]);
    let divergent = format!("mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 9; @%p1 {global}");
    assert_eq!(ids(&divergent, 512), ["warp_divergent"]);
}

#[test]
fn layouts_may_be_the_same_for_both_but_not_three() {
    use tilewright_emulator::Module;
    let text = |layouts: &str| {
        let registers = list("a", 8);
        module(
            1,
            "",
            &format!(
                ".reg .b32 a<8>; wmma.mma.sync.aligned.{layouts}.m16n16k16.f32.f32
                 {registers}, {registers}, {registers}, {registers};"
            ),
        )
    };
    assert!(Module::parse(&text("row.row")).is_ok());
    let refused = Module::parse(&text("row.row.row")).unwrap_err().to_string();
    assert!(refused.contains("second modifier .row"), "{refused}");
}
