//! Runs functions of one f32, as elements are compiled to, on the emulator for every input between
//! two bounds, and reports how far they are from what formulas mean by them.
//!
//! `sweep_functions EXPRESSION FROM TO …`: an expression over `x[i]`, and the ends of the range of
//! magnitudes; `all` in place of FROM and TO takes every word.

use std::error::Error;

use tilewright_codegen::arch::Arch;
use tilewright_codegen::atoms::catalogue;
use tilewright_codegen::atoms::model::{CopyFacts, RegType, Space};
use tilewright_codegen::dtype::DType;
use tilewright_codegen::element::{self, Element, Packing};
use tilewright_codegen::ir::thread::program::{
    Address, Arg, Base, BinOp, Expr, IntType, Param, ParamId, ParamType, Program, Reg, RegFile,
    Special, Stmt,
};
use tilewright_codegen::lower::threads::element::{Temps, run};
use tilewright_codegen::ptx;
use tilewright_emulator::{Arg as Value, Content, Launch, Memory, Module, Options, Params};
use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::{ExprKind, Formula, Operand, Signature, check};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const THREADS: u32 = 256;
/// Inputs of one launch.
const CHUNK: usize = 1 << 20;

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let mut given = given.iter().map(String::as_str).peekable();
    while let Some(text) = given.next() {
        let from = given
            .next()
            .ok_or("usage: sweep_functions EXPRESSION FROM TO")?;
        let ends = match from {
            "all" => [0, u32::MAX],
            from => {
                let to = given.next().ok_or("a range has two ends")?;
                [from.parse::<f32>()?.to_bits(), to.parse::<f32>()?.to_bits()]
            }
        };
        sweep(text, ends)?;
    }
    Ok(())
}

/// Every word from the first to the last, and its negative.
fn sweep(text: &str, [first, last]: [u32; 2]) -> Result<()> {
    let formula = formula(text)?;
    let element = compiled(&formula)?;
    let arch = Arch::parse("sm_90a").ok_or("no such architecture")?;
    let module = Module::parse(&ptx::emit(&program(&element)?, &arch, "sweep")?.text)?;
    let signs: &[u32] = if last == u32::MAX {
        &[0]
    } else {
        &[0, 1 << 31]
    };
    // The largest error, the largest part of its bound that one is, and their inputs.
    let (mut largest, mut nearest) = ((0.0, 0), (0.0, 0));
    let mut wrong = 0u64;
    let mut start = u64::from(first);
    while start <= u64::from(last) {
        for sign in signs {
            let words: Vec<u32> = (0..CHUNK as u64)
                .map(|at| (start + at).min(u64::from(last)) as u32 | sign)
                .collect();
            let values: Vec<f64> = words
                .iter()
                .map(|w| f64::from(f32::from_bits(*w)))
                .collect();
            let got = launched(&module, &words)?;
            let inputs = Inputs::default()
                .size("i", CHUNK as i64)
                .tensor("x", Tensor::floats(&values, &[1]));
            let evaluator = Evaluator::new(&formula, &inputs, &Fma)?;
            let outputs = evaluator.outputs()?;
            for (at, word) in got.into_iter().enumerate() {
                let value = f64::from(f32::from_bits(word));
                let wanted = outputs[0].at(at);
                wrong += u64::from(!wanted.allows(DType::F32, value));
                let error = (value - wanted.value).abs();
                if error > largest.0 {
                    largest = (error, words[at]);
                }
                if error / wanted.error > nearest.0 {
                    nearest = (error / wanted.error, words[at]);
                }
            }
        }
        start += CHUNK as u64;
    }
    let at = |word: u32| f32::from_bits(word);
    println!(
        "{text}: {wrong} out of bounds; largest error {:e} at {:e}; \
         largest part of a bound {} at {:e}",
        largest.0,
        at(largest.1),
        nearest.0,
        at(nearest.1),
    );
    Ok(())
}

fn formula(text: &str) -> Result<Formula> {
    let signature = Signature {
        operands: vec![
            Operand::new("x", DType::F32, &["i"]),
            Operand::new("d", DType::F32, &["i"]),
        ],
        ..Signature::default()
    };
    let text = format!("d[i] = {text}");
    check(&text, &signature).map_err(|problems| format!("{text}: {problems:?}").into())
}

fn parameters(value: &mut tilewright_formula::Expr) {
    match &mut value.kind {
        ExprKind::Read { .. } => value.kind = ExprKind::Parameter(0),
        ExprKind::Apply { arguments, .. } | ExprKind::Call { arguments, .. } => {
            arguments.iter_mut().for_each(parameters);
        }
        ExprKind::Cast { value, .. } => parameters(value),
        _ => {}
    }
}

fn compiled(formula: &Formula) -> Result<Element> {
    let mut value = formula.statements[0].value.clone();
    parameters(&mut value);
    let single = Packing {
        dtype: DType::F32,
        ty: RegType::F32,
    };
    let arch = Arch::parse("sm_90a").ok_or("no such architecture")?;
    let element = element::compile(catalogue()?, arch, &value, &[single], single);
    element.map_err(|problems| problems.join("; ").into())
}

/// Each thread computes one element.
fn program(element: &Element) -> Result<Program> {
    let pointer = |name: &str, readonly| Param {
        name: name.to_owned(),
        ty: ParamType::Pointer {
            align_bytes: 16,
            readonly,
            shared: false,
        },
        operand: None,
    };
    let binary = |op, a, b| Expr::Binary(op, std::rc::Rc::new(a), std::rc::Rc::new(b));
    let int = |value| Expr::Int(value, IntType::I32);
    let first = binary(
        BinOp::Mul,
        Expr::Special(Special::CtaidX),
        int(i64::from(THREADS)),
    );
    let at = binary(BinOp::Add, first, Expr::Special(Special::TidX));
    let bytes = binary(BinOp::Mul, at, int(4));
    let offset = Expr::Convert(IntType::I64, std::rc::Rc::new(bytes));
    let address = |param| {
        Arg::Address(Address {
            space: Space::Gmem,
            base: Base::Param(ParamId(param)),
            offset: offset.clone(),
            imm: 0,
            coords: Vec::new(),
        })
    };
    let file = |name: &str, ty, len| RegFile {
        name: name.to_owned(),
        ty,
        len,
    };
    let mut files = vec![file("x", RegType::F32, 1), file("d", RegType::F32, 1)];
    let [x, d] = [0, 1].map(|number| Reg {
        file: number,
        index: 0,
    });
    let mut temps = Temps::default();
    temps.reserve(&element.code, &mut |name, ty, len| {
        files.push(file(name, ty, len as u32));
        files.len() as u32 - 1
    });
    let mut body = vec![moved(
        Space::Gmem,
        Space::Rmem,
        vec![Arg::Regs(vec![x]), address(0)],
    )?];
    body.extend(run(&element.code, &[vec![x]], &[d], &mut temps, &|_| None)?);
    body.push(moved(
        Space::Rmem,
        Space::Gmem,
        vec![address(1), Arg::Regs(vec![d])],
    )?);
    Ok(Program {
        entry: "sweep".to_owned(),
        params: vec![pointer("x", true), pointer("d", false)],
        threads: THREADS,
        min_ctas_per_sm: None,
        smem_bytes: 0,
        smem_align_bytes: 128,
        vars: Vec::new(),
        files,
        body,
    })
}

/// A copy of four bytes.
fn moved(from: Space, to: Space, args: Vec<Arg>) -> Result<Stmt> {
    let fits = |facts: &CopyFacts| (facts.from, facts.to, facts.access_bytes) == (from, to, 4);
    let mut atoms = catalogue()?.iter();
    let atom = atoms.find(|atom| atom.copy.as_ref().is_some_and(fits));
    let atom = atom.ok_or("no copy of four bytes")?.clone();
    Ok(Stmt::Atom { atom, args })
}

fn launched(module: &Module, words: &[u32]) -> Result<Vec<u32>> {
    let mut memory = Memory::new();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let size = bytes.len() as u64;
    let x = memory.alloc("x", size, Content::Bytes(&bytes))?;
    let d = memory.alloc("d", size, Content::Undefined)?;
    let launch = Launch {
        entry: "sweep".to_owned(),
        grid: [words.len() as u32 / THREADS, 1, 1],
        block: [THREADS, 1, 1],
        cluster: [1; 3],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(vec![Value::Buffer(x), Value::Buffer(d)]),
    };
    let report = tilewright_emulator::run(module, &launch, &mut memory, &Options::default())?;
    if !report.is_clean() {
        return Err(format!("{:?}", report.findings).into());
    }
    let words = memory.read(d);
    let words = words.chunks_exact(4).map(|word| {
        let mut code = [0; 4];
        code.copy_from_slice(word);
        u32::from_le_bytes(code)
    });
    Ok(words.collect())
}
