//! Casts between all types that operands may have: of each type one kernel that stores it as every
//! type, on codes of every kind, gives what the formula's interpreter gives, bit for bit.
//!
//! Which types operands may have is [`DTYPES`]; what an architecture does not cast is below.

use tilewright_bundle::Kernel;
use tilewright_codegen::dtype::{DTYPES, DType};
use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, Point};
use tilewright_lab::verify::{Data, Expect, FormulaReference, decode, encode, random_codes};
use tilewright_runtime::{Arg, Extents, Problem, Runtime, tightest};

use crate::shipped;

/// Columns: two whole tiles and a part of one.
const COLUMNS: i64 = 150;
/// Outputs of a kernel: few enough that a thread has registers for what they hold.
const OUTPUTS: usize = 8;
/// Codes of types of more than eight bits.
const CODES: usize = 6000;

/// A kernel that stores one type as others, of that number.
fn point(from: DType, (number, to): (usize, &[DType]), arch: &str) -> Point {
    let outputs = to
        .iter()
        .map(|to| format!("  d_{to}: {{ dtype: {to}, layout: \"(m,n):(ldd_{to},1)\" }}\n"));
    let statements = to.iter().map(|to| format!("  d_{to}[m,n] = s[m,n]\n"));
    let text = format!(
        "kernel: casts\nname: casts_{from}_{number}\narch: {arch}\noperands:\n  s: {{ dtype: \
         {from}, layout: \"(m,n):(lds,1)\" }}\n{}compute: |\n{}cta_tile: {{ m: 16, n: 64 }}\n",
        outputs.collect::<String>(),
        statements.collect::<String>()
    );
    match spec::parse(&format!("casts/{from}_{number}.yaml"), &text) {
        Ok(file) => file.points.into_iter().next().unwrap(),
        Err(error) => panic!("{}\n{text}", error.report(false)),
    }
}

/// Elements of a type, dense: all of them where they are few, else numbers around the ends and
/// halves of other types and anything.
fn codes(dtype: DType) -> Vec<u8> {
    let width = dtype.bytes() as usize;
    let count = match dtype.bits() {
        bits @ ..=8 => 1 << bits,
        _ => CODES,
    };
    // More than a tile has.
    let rows = count.div_ceil(COLUMNS as usize).max(19);
    let count = rows * COLUMNS as usize;
    if width == 1 {
        let mask = u8::MAX >> (8 - dtype.bits());
        return (0..count).map(|at| at as u8 & mask).collect();
    }
    let mut values: Vec<f64> = (-600..=600)
        .map(|eighths| f64::from(eighths) / 8.0)
        .collect();
    for exponent in -152..=130 {
        let power = f64::from(exponent).exp2();
        let near = [1.0, 1.0 + 1e-7, 1.0 - 1e-7, 1.25, 1.5, 1.75];
        values.extend(near.map(|part| part * power));
    }
    let ends = [
        127.5,
        255.5,
        32_767.5,
        65_535.5,
        2_147_483_647.5,
        57_344.0,
        464.0,
        65_520.0,
    ];
    for end in ends.into_iter().chain([f64::INFINITY, f64::NAN, 0.0]) {
        values.extend([end, -end, end - 0.5, 0.5 - end]);
    }
    let mut bytes = encode(dtype, &values).unwrap();
    bytes.truncate(count * width);
    let rest = count - bytes.len() / width;
    bytes.extend(random_codes(dtype, rest, 2026));
    // Words of tf32 end with zeros.
    if dtype == DType::TF32 {
        let values = decode(DType::F32, &bytes).unwrap();
        bytes = encode(DType::TF32, &values).unwrap();
    }
    bytes
}

fn extents(kernel: &Kernel, problem: &Problem, runtime: &Runtime) -> Vec<Extents> {
    runtime.device().fit(kernel, problem).unwrap().operands
}

/// Runs a kernel and compares every output.
fn check(runtime: &Runtime, kernel: &Kernel) {
    let device = runtime.device();
    let operands = &kernel.semantics.operands;
    let from = operands[0].dtype;
    let codes = codes(from);
    let rows = (codes.len() / from.bytes() as usize) as i64 / COLUMNS;
    let sizes = Problem::of([("m", rows), ("n", COLUMNS)]);
    let problem = tightest(kernel, &sizes, device.info()).unwrap();
    let places = extents(kernel, &problem, runtime);
    let buffers: Vec<_> = (operands.iter().zip(&places).enumerate())
        .map(|(at, (operand, place))| {
            let bytes = place.span_bytes(operand.dtype).unwrap();
            let mut image = vec![0; bytes as usize];
            if at > 0 {
                return device.alloc(bytes).unwrap();
            }
            place.scatter(from, &codes, (&mut image, 0));
            device.alloc_with(&image).unwrap()
        })
        .collect();
    let args = operands.iter().zip(&buffers);
    let args: Vec<Arg<'_>> = args
        .map(|(one, buffer)| Arg::new(&one.name, buffer))
        .collect();
    runtime.launch(kernel, &problem, &args).unwrap();
    let fit = device.fit(kernel, &problem).unwrap();
    let reference = FormulaReference::of(kernel, &problem, &fit).unwrap();
    let mut given = vec![None; operands.len()];
    given[0] = Some(codes.clone());
    let expected = reference.expected(&given, Data::Integers).unwrap();
    let values = decode(from, &codes).unwrap();
    for (at, operand) in operands.iter().enumerate().skip(1) {
        let image = device.download(&buffers[at]).unwrap();
        let got = places[at].gather(operand.dtype, &image, 0);
        // An element of the same type is stored as it is, infinities of saturating types too.
        let wanted = match &expected[at] {
            _ if operand.dtype == from => &codes,
            Some(Expect::Bytes(bytes)) => bytes,
            other => panic!("{}: {other:?}", operand.name),
        };
        let [got, wanted] = [&got, wanted].map(|bytes| decode(operand.dtype, bytes).unwrap());
        assert_eq!(got.len(), wanted.len());
        for ((value, got), wanted) in values.iter().zip(&got).zip(&wanted) {
            assert!(
                got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan(),
                "{from} {value:?} as {} is {got:?}, not {wanted:?}",
                operand.dtype
            );
        }
    }
}

#[test]
fn every_type_is_stored_as_every_type() {
    let of = |from: &DType| {
        let outputs = DTYPES.chunks(OUTPUTS).enumerate();
        let points = outputs.map(|outputs| point(*from, outputs, "sm_90"));
        points.collect::<Vec<Point>>()
    };
    let points: Vec<Point> = DTYPES.iter().flat_map(of).collect();
    let runtime = shipped::runtime_of(&points);
    assert_eq!(runtime.kernels().len(), points.len());
    let kernels: Vec<&Kernel> = runtime.kernels().iter().collect();
    shipped::on_each(&kernels, |kernel| check(&runtime, kernel));
}

/// Before sm_89 no instruction casts from and to floats of eight bits; all else is cast on sm_80.
#[test]
fn what_is_not_cast_is_floats_of_eight_bits() {
    let short = [DType::E4M3, DType::E5M2];
    for from in DTYPES {
        for to in DTYPES {
            let planned = plan::plan(&point(*from, (0, &[*to]), "sm_80"));
            let casts = from == to || !short.contains(from) && !short.contains(to);
            match (planned, casts) {
                (Ok(_), true) => {}
                (Err(error), false) => {
                    let report = error.report(false);
                    assert!(report.contains("is not generated for sm_80"), "{report}");
                }
                (Ok(_), false) => panic!("{from} is cast to {to}"),
                (Err(error), true) => panic!("{from} as {to}: {}", error.report(false)),
            }
        }
    }
}
