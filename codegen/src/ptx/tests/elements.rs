//! Code of elements, run as PTX on the emulator and judged by the interpreter of formulas.

mod casts;
mod counts;
mod primitives;
mod random;

use tilewright_emulator::{Arg as Value, Content, Launch, Memory, Module, Options, Params};
use tilewright_formula::format::Format;
use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::number::{Kind, scale_of};
use tilewright_formula::{
    Expr as Term, ExprKind, Formula, Operand, Scalar as Given, Signature, Source, check,
};

use super::*;
use crate::dtype::DType;
use crate::element::{self, Element, Packing, Slot};
use crate::lower::threads::element::{Temps, run as run_element};
use crate::ptx::emit;

const THREADS: u32 = 128;
/// Of most kernels.
const ELEMENTS: usize = 2048;

const fn packing(dtype: DType, ty: RegType) -> Packing {
    Packing { dtype, ty }
}

const F32: Packing = packing(DType::F32, RegType::F32);
const F64: Packing = packing(DType::F64, RegType::F64);
const S32: Packing = packing(DType::S32, RegType::B32);

/// An elementwise kernel: `d[i]` of inputs `x`, `y`, `z` and scalars.
struct Kernel {
    formula: Formula,
    element: Element,
}

/// The packings that the tests use of inputs by name, and of scalars their types.
struct Case<'t> {
    text: &'t str,
    inputs: &'t [Packing],
    output: Packing,
    scalars: &'t [(&'t str, DType)],
}

impl<'t> Case<'t> {
    const fn new(text: &'t str, inputs: &'t [Packing], output: Packing) -> Case<'t> {
        Case {
            text,
            inputs,
            output,
            scalars: &[],
        }
    }

    fn formula(&self) -> Formula {
        let names = ["x", "y", "z"].into_iter().zip(self.inputs);
        let mut operands: Vec<Operand> = names
            .map(|(name, packing)| Operand::new(name, packing.dtype, &["i"]))
            .collect();
        operands.push(Operand::new("d", self.output.dtype, &["i"]));
        let scalars = self.scalars.iter().map(|(name, dtype)| Given {
            name: (*name).to_owned(),
            dtype: *dtype,
        });
        let signature = Signature {
            operands,
            scalars: scalars.collect(),
            ..Signature::default()
        };
        let text = format!("d[i] = {}", self.text);
        check(&text, &signature).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
    }

    fn compiled(&self, arch: &str) -> Result<Kernel, Vec<String>> {
        let formula = self.formula();
        let mut value = formula.statements[0].value.clone();
        parameterize(&mut value);
        let arch = Arch::parse(arch).unwrap();
        let catalogue = catalogue().unwrap();
        let element = element::compile(catalogue, arch, &value, self.inputs, self.output)?;
        Ok(Kernel { formula, element })
    }
}

/// Reads of the inputs as parameters.
fn parameterize(value: &mut Term) {
    match &mut value.kind {
        ExprKind::Read {
            source: Source::Operand(at),
            ..
        } => value.kind = ExprKind::Parameter(*at),
        ExprKind::Apply { arguments, .. } | ExprKind::Call { arguments, .. } => {
            arguments.iter_mut().for_each(parameterize);
        }
        ExprKind::Cast { value, .. } => parameterize(value),
        _ => {}
    }
}

impl Kernel {
    /// Each thread loads a run's elements, computes and stores.
    fn program(&self) -> Program {
        let element = &self.element;
        let mut b = Build::new("k");
        b.0.threads = THREADS;
        let lanes = element.code.lanes;
        let pointers: Vec<ParamId> = element.inputs.iter().map(|_| b.source("s")).collect();
        let d = b.output("d");
        let scalars: Vec<ParamId> = (self.formula.signature.scalars.iter())
            .map(|scalar| b.param(&scalar.name, ParamType::Scalar(scalar.dtype)))
            .collect();
        let size = b.param("i", ParamType::I32);
        for (at, param) in b.0.params.iter_mut().enumerate() {
            param.name = format!("{}{at}", param.name);
        }
        let at = b.var("at", IntType::I32, false);
        let cta = Expr::Special(Special::CtaidX);
        let group = add(mul(cta, int(i64::from(THREADS))), tid());
        b.push(Stmt::Let(at, group));
        let moved = |packing: Packing, param| {
            let bytes = i64::from(lanes * packing.dtype.bits() / 8);
            let width = packing.ty.bits() / 8;
            let count = lanes / packing.elements() * packing.registers();
            let at = move |register: i64| {
                let offset = mul(wide(Expr::Var(at)), Expr::Int(bytes, IntType::I64));
                gmem(param, offset, register * i64::from(width))
            };
            (width, count, at)
        };
        let mut inputs = Vec::new();
        for (packing, param) in element.inputs.iter().zip(&pointers) {
            let (width, count, at) = moved(*packing, *param);
            let file = b.file("in", packing.ty, count);
            for (register, one) in (0..).zip(&file) {
                let id = format!("sm50_ld_global_{width}");
                b.atom(&id, vec![regs(&[*one]), at(register)]);
            }
            inputs.push(file);
        }
        let (width, count, to) = moved(element.output, d);
        let outputs = b.file("out", element.output.ty, count);
        let mut temps = Temps::default();
        temps.reserve(&element.code, &mut |name, ty, len| {
            b.file(name, ty, len as u32)[0].file
        });
        let env = |slot| match slot {
            Slot::Scalar(at) => Some(Scalar::Param(scalars[at])),
            Slot::Size(_) => Some(Scalar::Int(Expr::Param(size))),
            Slot::Coordinate(_, lane) => {
                let first = mul(Expr::Var(at), int(i64::from(lanes)));
                Some(Scalar::Int(add(first, int(i64::from(lane)))))
            }
            _ => None,
        };
        let statements = run_element(&element.code, &inputs, &outputs, &mut temps, &env).unwrap();
        b.0.body.extend(statements);
        for (register, one) in (0..).zip(&outputs) {
            let id = format!("sm50_st_global_{width}");
            b.atom(&id, vec![to(register), regs(&[*one])]);
        }
        b.0
    }

    fn text(&self, arch: &str) -> String {
        let arch = Arch::parse(arch).unwrap();
        emit(&self.program(), &arch, "k").unwrap().text
    }

    /// Codes of the results for codes of the inputs; as many as fill CTAs.
    fn emulated(&self, arch: &str, data: &[Vec<u64>], scalars: &[f64]) -> Vec<u64> {
        let text = self.text(arch);
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let elements = data.first().map_or(ELEMENTS, Vec::len);
        let output = self.element.output.dtype;
        let mut memory = Memory::new();
        let mut args = Vec::new();
        for (codes, packing) in data.iter().zip(&self.element.inputs) {
            let bytes = in_memory(packing.dtype, codes);
            let size = bytes.len() as u64;
            args.push(Value::Buffer(
                memory.alloc("s", size, Content::Bytes(&bytes)).unwrap(),
            ));
        }
        let size = output.row_bytes(elements as u64).unwrap();
        let out = memory.alloc("d", size, Content::Undefined).unwrap();
        args.push(Value::Buffer(out));
        for (given, value) in self.formula.signature.scalars.iter().zip(scalars) {
            args.push(match given.dtype {
                DType::F32 => Value::F32(*value as f32),
                DType::F64 => Value::F64(*value),
                _ => Value::S32(*value as i32),
            });
        }
        args.push(Value::S32(elements as i32));
        let per_cta = THREADS as usize * self.element.code.lanes as usize;
        assert_eq!(elements % per_cta, 0);
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [(elements / per_cta) as u32, 1, 1],
            block: [THREADS, 1, 1],
            cluster: [1; 3],
            programmatic: false,
            dynamic_shared_bytes: 0,
            params: Params::Args(args),
        };
        let report =
            tilewright_emulator::run(&module, &launch, &mut memory, &Options::default()).unwrap();
        assert!(report.is_clean(), "{:?}\n{text}", report.findings);
        of_memory(output, &memory.read(out))
    }

    /// Runs the kernel and has every result judged by the bounds of the formula.
    fn judge(&self, arch: &str, data: &[Vec<u64>], scalars: &[f64]) {
        let got = self.emulated(arch, data, scalars);
        let dtypes = self.element.inputs.iter().map(|packing| packing.dtype);
        let values: Vec<Vec<f64>> = dtypes
            .zip(data)
            .map(|(dtype, codes)| codes.iter().map(|&code| decoded(dtype, code)).collect())
            .collect();
        let mut inputs = Inputs::default().size("i", data[0].len() as i64);
        for (name, values) in ["x", "y", "z"].into_iter().zip(&values) {
            inputs = inputs.tensor(name, Tensor::floats(values, &[1]));
        }
        for (given, value) in self.formula.signature.scalars.iter().zip(scalars) {
            inputs = inputs.scalar(&given.name, *value);
        }
        let evaluator = Evaluator::new(&self.formula, &inputs, &Fma).unwrap();
        let wanted = evaluator.outputs().unwrap();
        let output = self.element.output.dtype;
        for (at, &code) in got.iter().enumerate() {
            let value = decoded(output, code);
            let here: Vec<f64> = values.iter().map(|all| all[at]).collect();
            assert!(
                wanted[0].allows(at, value, None),
                "{} on {arch}: of {here:?} ({:x?}) is {value:?} ({code:#x}), not {:?}",
                self.formula.text,
                data.iter().map(|codes| codes[at]).collect::<Vec<_>>(),
                wanted[0].at(at),
            );
        }
    }
}

/// Codes as memory has them, those of four bits two to a byte.
fn in_memory(dtype: DType, codes: &[u64]) -> Vec<u8> {
    let width = dtype.bytes() as usize;
    let together = dtype.per_byte() as usize;
    let joined = codes.chunks(together).map(|codes| {
        let codes = codes.iter().enumerate();
        codes.fold(0, |all, (at, code)| {
            all | code << (at as u32 * dtype.bits())
        })
    });
    joined
        .flat_map(|code| code.to_le_bytes()[..width].to_vec())
        .collect()
}

/// The codes that bytes hold.
fn of_memory(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let mask = u64::MAX >> (64 - dtype.bits());
    let words = bytes.chunks_exact(dtype.bytes() as usize).map(|word| {
        let mut code = [0; 8];
        code[..word.len()].copy_from_slice(word);
        u64::from_le_bytes(code)
    });
    let codes = words
        .flat_map(|word| (0..dtype.per_byte()).map(move |at| word >> (at * dtype.bits()) & mask));
    codes.collect()
}

/// The number that a code stands for.
fn decoded(dtype: DType, code: u64) -> f64 {
    match (Format::of(dtype), Kind::of(dtype)) {
        (Some(format), _) => format.decode(code),
        (None, Kind::Integer([least, _])) if least < 0 => {
            let unused = 64 - dtype.bits();
            ((code << unused).cast_signed() >> unused) as f64
        }
        (None, Kind::Scale) => scale_of(code),
        _ => code as f64,
    }
}

/// A generator of codes.
struct Codes(u64);

impl Codes {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Numbers of every size, of the size of 1 more often, and what is none, as codes of a type;
    /// integers small and large.
    fn of(&mut self, dtype: DType, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.one(dtype)).collect()
    }

    fn one(&mut self, dtype: DType) -> u64 {
        const SPECIAL: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            88.7,
            -87.4,
            3.5e38,
            448.0,
        ];
        let bits = self.next();
        let mask = u64::MAX >> (64 - dtype.bits());
        let Some(format) = Format::of(dtype) else {
            let small = (bits >> 8) % 300;
            let value = if bits & 1 == 0 {
                small.wrapping_sub(150)
            } else {
                bits >> 3
            };
            return value & mask;
        };
        let unused = !((1 << format.unused_bits) - 1);
        match bits % 16 {
            0..8 => {
                let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
                format.encode((unit - 0.5) * 12.0)
            }
            8 => format.encode(SPECIAL[(bits >> 8) as usize % SPECIAL.len()]),
            9 => (bits >> 8) & (mask >> (format.exponent_bits + 1)) & unused,
            10 => {
                let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
                format.encode((unit - 0.5) * 200.0)
            }
            _ => self.next() & mask & unused,
        }
    }
}
