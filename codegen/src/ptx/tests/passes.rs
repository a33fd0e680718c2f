//! Kernels that go along a mode in chunks, run as PTX on the emulator: right ones store what a loop
//! here does, at every length, and such with one thing wrong in their program do not.

use tilewright_emulator::{Arg as Value, Content, Launch, Memory, Module, Options, Params};

use crate::ir::thread::expr::{int, sub};
use crate::ir::thread::program::{Program, Scalar, Stmt};
use crate::ir::tile::build;
use crate::plan::data::model::Plan;
use crate::ptx::emit;
use crate::{lower, plan, spec};

const CHUNK: i64 = 64;
/// Rows or columns, more than one tile of them.
const LINES: i64 = 37;

/// Sums and maxima of one axis.
struct Folds {
    plan: Plan,
    program: Program,
    /// Whether it folds columns.
    of_columns: bool,
}

impl Folds {
    fn of(of_columns: bool) -> Folds {
        let [kept, folded, tile] = match of_columns {
            false => ["m", "n", "{ m: 2, n: 64 }"],
            true => ["n", "m", "{ m: 64, n: 8 }"],
        };
        let text = format!(
            "
kernel: reduce
name: reduce_chunks
arch: sm_80
operands:
  x: {{ dtype: f32, layout: '(m,n):(ldx,1)' }}
  s: {{ dtype: f32, layout: '({kept}):(1)' }}
  t: {{ dtype: f32, layout: '({kept}):(1)' }}
compute: |
  s[{kept}] = sum[{folded}] x[m,n]
  t[{kept}] = max[{folded}] x[m,n]
cta_tile: {tile}
threads: 32
scheduler: {{ passes: many }}
"
        );
        let file = spec::parse("-", &text).unwrap();
        let plan = plan::plan(&file.points[0]).unwrap();
        let program = lower::lower(&plan, &build::build(&plan).unwrap()).unwrap();
        Folds {
            plan,
            program,
            of_columns,
        }
    }

    /// What it stores of lines of that length, and what it should.
    fn run(&self, length: i64) -> [Vec<f32>; 2] {
        let [rows, columns] = match self.of_columns {
            false => [LINES, length],
            true => [length, LINES],
        };
        let stride = (columns + 3) / 4 * 4;
        // Below zero, which is what loads past an edge give.
        let element = |row: i64, column: i64| -1.0 - ((7 * row + 3 * column) % 11) as f32;
        let x: Vec<f32> = (0..rows * stride)
            .map(|at| element(at / stride, at % stride))
            .collect();
        let bytes: Vec<u8> = x.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut memory = Memory::new();
        let size = 4 * LINES as u64;
        let x = memory.alloc("x", bytes.len() as u64, Content::Bytes(&bytes));
        let outputs = ["s", "t"].map(|name| memory.alloc(name, size, Content::Undefined).unwrap());
        let args = vec![
            Value::Buffer(x.unwrap()),
            Value::Buffer(outputs[0]),
            Value::Buffer(outputs[1]),
            Value::S32(rows as i32),
            Value::S32(columns as i32),
            Value::S64(stride),
        ];
        let launch = Launch {
            entry: self.program.entry.clone(),
            grid: [(LINES as u32).div_ceil(self.plan.extent(0) as u32), 1, 1],
            block: [self.program.threads, 1, 1],
            cluster: [1; 3],
            programmatic: false,
            dynamic_shared_bytes: self.program.smem_bytes,
            params: Params::Args(args),
        };
        let text = emit(&self.program, &self.plan.arch, &self.plan.id)
            .unwrap()
            .text;
        let module = Module::parse(&text).unwrap();
        let options = Options::default();
        let report = tilewright_emulator::run(&module, &launch, &mut memory, &options).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let stored = outputs.map(|output| {
            let bytes = memory.read(output);
            let values = bytes.chunks_exact(4);
            let values = values.map(|word| f32::from_le_bytes(word.try_into().unwrap()));
            values.collect::<Vec<f32>>()
        });
        let line = |at: i64| {
            (0..length).map(move |along| match self.of_columns {
                false => element(at, along),
                true => element(along, at),
            })
        };
        let sums = (0..LINES).map(|at| line(at).sum());
        let largest = (0..LINES).map(|at| line(at).fold(f32::NEG_INFINITY, f32::max));
        [stored.concat(), sums.chain(largest).collect()]
    }
}

const LENGTHS: [i64; 8] = [
    1,
    4,
    CHUNK - 1,
    CHUNK,
    CHUNK + 4,
    2 * CHUNK,
    3 * CHUNK - 3,
    3 * CHUNK + 2,
];

#[test]
fn lines_of_every_length_are_folded() {
    for of_columns in [false, true] {
        let folds = Folds::of(of_columns);
        for length in LENGTHS {
            let [stored, wanted] = folds.run(length);
            assert_eq!(stored, wanted, "columns {of_columns}, {length}");
        }
    }
}

/// Changes every statement, at any depth.
fn each(body: &mut [Stmt], change: &mut impl FnMut(&mut Stmt)) {
    for statement in body {
        change(statement);
        match statement {
            Stmt::For { body, .. } => each(body, change),
            Stmt::If {
                then, otherwise, ..
            } => {
                each(then, change);
                each(otherwise, change);
            }
            _ => {}
        }
    }
}

/// What follows each loop over chunks: the rest.
fn rests(body: &mut [Stmt], change: &mut impl FnMut(&mut Vec<Stmt>)) {
    let mut follows = false;
    for statement in body {
        match statement {
            Stmt::If { then, .. } if follows => change(then),
            Stmt::If {
                then, otherwise, ..
            } => {
                rests(then, change);
                rests(otherwise, change);
            }
            _ => {}
        }
        follows = matches!(statement, Stmt::For { .. });
    }
}

#[test]
fn what_goes_along_other_chunks_stores_something_else() {
    type Fault = fn(&mut Program);
    let faults: [(&str, Fault); 5] = [
        ("a chunk too few", |program| {
            each(&mut program.body, &mut |statement| {
                if let Stmt::For { to, .. } = statement {
                    *to = sub(to.clone(), int(1));
                }
            });
        }),
        ("every other chunk", |program| {
            each(&mut program.body, &mut |statement| {
                if let Stmt::For { step, .. } = statement {
                    *step = int(2);
                }
            });
        }),
        ("the first chunk left out", |program| {
            each(&mut program.body, &mut |statement| {
                if let Stmt::For { from, .. } = statement {
                    *from = int(1);
                }
            });
        }),
        ("the rest left out", |program| {
            rests(&mut program.body, &mut Vec::clear);
        }),
        ("a maximum that begins at zero", |program| {
            each(&mut program.body, &mut |statement| {
                if let Stmt::Set(_, Scalar::Bits(bits)) = statement
                    && *bits == u64::from(f32::NEG_INFINITY.to_bits())
                {
                    *bits = 0;
                }
            });
        }),
    ];
    for of_columns in [false, true] {
        for (what, plant) in &faults {
            let mut folds = Folds::of(of_columns);
            let right = folds.program.clone();
            plant(&mut folds.program);
            assert_ne!(folds.program, right, "{what}");
            let [stored, wanted] = folds.run(3 * CHUNK + 2);
            assert_ne!(stored, wanted, "{what}, columns {of_columns}");
        }
    }
}
