//! Random programs, interpreted here and run as PTX on the emulator: both must store the same
//! words.
//!
//! Operands of arithmetic are masked to 15 bits, so that nothing wraps and no dividend is negative,
//! as a program promises. Integers are observed by what they index in a table.

use std::collections::HashMap;

use tilewright_emulator::{Arg as Value, Content, Launch, Memory, Module, Options, Params};

use super::*;
use crate::ptx::emit;

const THREADS: usize = 64;
const WORDS: usize = 256;
const REGISTERS: u32 = 4;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

/// Grows a program statement by statement.
struct Grower {
    random: Random,
    build: Build,
    data: Vec<Reg>,
    table: ParamId,
    scalars: [ParamId; 2],
    mutable: Vec<VarId>,
    visible: Vec<VarId>,
}

fn grow(seed: u64) -> (Program, ParamId, Vec<Reg>) {
    let mut build = Build::new("random");
    build.0.threads = THREADS as u32;
    build.0.smem_bytes = 4 * THREADS as u32;
    let (table, out) = (build.source("table"), build.output("out"));
    let scalars = [
        build.param("n", ParamType::I32),
        build.param("wide", ParamType::I64),
    ];
    let data = build.file("data", RegType::B32, REGISTERS);
    let mutable: Vec<VarId> = (0..4)
        .map(|at| build.var("x", if at < 2 { IntType::I32 } else { IntType::I64 }, true))
        .collect();
    build.push(Stmt::Zero(data.clone()));
    for (at, &var) in mutable.iter().enumerate() {
        let start = if at < 2 {
            tid()
        } else {
            Expr::Param(scalars[1])
        };
        build.push(Stmt::Assign(var, start));
    }
    let visible = mutable.clone();
    let random = Random(seed);
    let mut grower = Grower {
        random,
        build,
        data,
        table,
        scalars,
        mutable,
        visible,
    };
    for _ in 0..12 {
        let stmts = if grower.random.below(4) == 0 {
            grower.exchange()
        } else {
            vec![grower.stmt(2)]
        };
        grower.build.0.body.extend(stmts);
    }
    let Grower {
        mut build, data, ..
    } = grower;
    for (at, &reg) in data.iter().enumerate() {
        let offset = mul(
            wide(tid()),
            Expr::Int(4 * i64::from(REGISTERS), IntType::I64),
        );
        build.atom(
            "sm50_st_global_4",
            vec![gmem(out, offset, 4 * at as i64), Arg::Regs(vec![reg])],
        );
    }
    (build.0, out, data)
}

impl Grower {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn ty(&self, var: VarId) -> IntType {
        self.build.0.vars[var.0 as usize].ty
    }

    fn leaf(&mut self, ty: IntType) -> Expr {
        let known: Vec<_> = self
            .visible
            .iter()
            .copied()
            .filter(|&var| self.ty(var) == ty)
            .collect();
        match (self.random.below(4), ty) {
            (0, _) => Expr::Int(self.random.below(1 << 14) as i64 - 4000, ty),
            (1, IntType::I32) => tid(),
            (1, _) => Expr::Param(self.scalars[1]),
            (2, IntType::I32) => Expr::Param(self.scalars[0]),
            _ => Expr::Var(self.pick(&known)),
        }
    }

    fn masked(&mut self, ty: IntType, depth: u32) -> Expr {
        binary(BinOp::And, self.expr(ty, depth), Expr::Int(0x7FFF, ty))
    }

    fn expr(&mut self, ty: IntType, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.random.below(8) {
            0 => self.leaf(ty),
            1 => {
                let other = if ty == IntType::I32 {
                    IntType::I64
                } else {
                    IntType::I32
                };
                Expr::Convert(ty, Rc::new(self.expr(other, depth - 1)))
            }
            2 => Expr::Select(
                Rc::new(self.cond(depth - 1)),
                Rc::new(self.expr(ty, depth - 1)),
                Rc::new(self.expr(ty, depth - 1)),
            ),
            3 => {
                let op = self.pick(&[BinOp::Div, BinOp::Rem]);
                let by = binary(BinOp::Or, self.masked(ty, depth - 1), Expr::Int(1, ty));
                binary(op, self.masked(ty, depth - 1), by)
            }
            4 => {
                let op = self.pick(&[BinOp::Min, BinOp::Max, BinOp::And, BinOp::Or, BinOp::Xor]);
                binary(op, self.expr(ty, depth - 1), self.expr(ty, depth - 1))
            }
            _ => {
                let op = self.pick(&[BinOp::Add, BinOp::Sub, BinOp::Mul]);
                binary(op, self.masked(ty, depth - 1), self.masked(ty, depth - 1))
            }
        }
    }

    fn cond(&mut self, depth: u32) -> Expr {
        let ty = self.pick(&[IntType::I32, IntType::I64]);
        let op = self.pick(&[CmpOp::Lt, CmpOp::Le, CmpOp::Eq, CmpOp::Ne]);
        let (left, right) = (self.expr(ty, depth), self.expr(ty, depth));
        let first = Expr::Compare(op, Rc::new(left), Rc::new(right));
        if self.random.below(3) > 0 {
            return first;
        }
        let op = self.pick(&[BinOp::And, BinOp::Or, BinOp::Xor]);
        binary(op, first, less(tid(), int(self.random.below(64) as i64)))
    }

    fn body(&mut self, depth: u32) -> Vec<Stmt> {
        let outer = self.visible.len();
        let stmts = (0..=self.random.below(3))
            .map(|_| self.stmt(depth))
            .collect();
        self.visible.truncate(outer);
        stmts
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        match self.random.below(if depth == 0 { 4 } else { 6 }) {
            0 => {
                let ty = self.pick(&[IntType::I32, IntType::I64]);
                let value = self.expr(ty, 3);
                let var = self.build.var("v", ty, false);
                self.visible.push(var);
                Stmt::Let(var, value)
            }
            1 => {
                let known = self.mutable.clone();
                let var = self.pick(&known);
                Stmt::Assign(var, self.expr(self.ty(var), 3))
            }
            2 | 3 => self.gather(),
            4 => Stmt::If {
                cond: self.cond(2),
                then: self.body(depth - 1),
                otherwise: self.body(depth - 1),
            },
            _ => {
                let var = self.build.var("i", IntType::I32, false);
                let (from, step) = (
                    self.random.below(6) as i64 - 2,
                    1 + self.random.below(3) as i64,
                );
                let to = binary(BinOp::And, self.expr(IntType::I32, 2), int(7));
                self.visible.push(var);
                let body = self.body(depth - 1);
                self.visible.retain(|&known| known != var);
                Stmt::For {
                    var,
                    from: int(from),
                    to,
                    step: int(step),
                    body,
                }
            }
        }
    }

    /// A register becomes a word of the table.
    fn gather(&mut self) -> Stmt {
        let known = self.data.clone();
        let reg = self.pick(&known);
        let part = binary(
            BinOp::Div,
            self.masked(IntType::I64, 3),
            Expr::Int(3, IntType::I64),
        );
        let index = binary(
            BinOp::And,
            part,
            Expr::Int(WORDS as i64 / 2 - 1, IntType::I64),
        );
        let offset = mul(index, Expr::Int(4, IntType::I64));
        let imm = 4 * self.random.below(WORDS as u64 / 2) as i64;
        run(
            "sm50_ld_global_4",
            vec![Arg::Regs(vec![reg]), gmem(self.table, offset, imm)],
        )
    }

    /// All threads put a register into shared memory and take that of another thread.
    fn exchange(&mut self) -> Vec<Stmt> {
        let known = self.data.clone();
        let (given, taken) = (self.pick(&known), self.pick(&known));
        let other = binary(
            BinOp::And,
            self.expr(IntType::I32, 2),
            int(THREADS as i64 - 1),
        );
        vec![
            run(
                "sm50_st_shared_4",
                vec![smem(mul(tid(), int(4)), 0), Arg::Regs(vec![given])],
            ),
            run("sm50_barrier_cta_sync", vec![]),
            run(
                "sm50_ld_shared_4",
                vec![Arg::Regs(vec![taken]), smem(mul(other, int(4)), 0)],
            ),
            run("sm50_barrier_cta_sync", vec![]),
        ]
    }
}

/// One thread of the interpreter.
#[derive(Default)]
struct Thread {
    tid: i64,
    params: [i64; 2],
    vars: HashMap<VarId, i64>,
    data: HashMap<Reg, u32>,
}

impl Thread {
    fn eval(&self, expr: &Expr) -> i64 {
        match expr {
            Expr::Int(value, _) => *value,
            Expr::Var(var) => self.vars[var],
            Expr::Param(param) => self.params[param.0 as usize - 2],
            Expr::Special(_) => self.tid,
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.eval(left), self.eval(right));
                match op {
                    BinOp::Add => left + right,
                    BinOp::Sub => left - right,
                    BinOp::Mul => left * right,
                    BinOp::Div => left / right,
                    BinOp::Rem => left % right,
                    BinOp::And => left & right,
                    BinOp::Or => left | right,
                    BinOp::Xor => left ^ right,
                    BinOp::Min => left.min(right),
                    BinOp::Max => left.max(right),
                }
            }
            Expr::Compare(op, left, right) => {
                let (left, right) = (self.eval(left), self.eval(right));
                i64::from(match op {
                    CmpOp::Lt => left < right,
                    CmpOp::Le => left <= right,
                    CmpOp::Eq => left == right,
                    CmpOp::Ne => left != right,
                })
            }
            Expr::Select(cond, yes, no) => self.eval(if self.eval(cond) != 0 { yes } else { no }),
            Expr::Convert(IntType::I32, value) => i64::from(self.eval(value) as i32),
            Expr::Convert(_, value) => self.eval(value),
        }
    }

    fn run(&mut self, stmt: &Stmt, table: &[u32], shared: &mut [u32]) {
        match stmt {
            Stmt::Let(var, value) | Stmt::Pin(var, value) | Stmt::Assign(var, value) => {
                self.vars.insert(*var, self.eval(value));
            }
            Stmt::Zero(regs) => self.data.extend(regs.iter().map(|&reg| (reg, 0))),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let body = if self.eval(cond) != 0 {
                    then
                } else {
                    otherwise
                };
                body.iter().for_each(|stmt| self.run(stmt, table, shared));
            }
            Stmt::For {
                var,
                from,
                to,
                step,
                body,
            } => {
                let (to, step) = (self.eval(to), self.eval(step));
                let mut at = self.eval(from);
                while at < to {
                    self.vars.insert(*var, at);
                    body.iter().for_each(|stmt| self.run(stmt, table, shared));
                    at += step;
                }
            }
            Stmt::Atom { args, .. } => self.access(args, table, shared),
            Stmt::Comment(_) => {}
        }
    }

    fn access(&mut self, args: &[Arg], table: &[u32], shared: &mut [u32]) {
        match args {
            [Arg::Regs(regs), Arg::Address(from)] => {
                let at = (self.eval(&from.offset) + from.imm) as usize / 4;
                let value = if from.space == Space::Gmem {
                    table[at]
                } else {
                    shared[at]
                };
                self.data.insert(regs[0], value);
            }
            [Arg::Address(to), Arg::Regs(regs)] if to.space == Space::Smem => {
                shared[(self.eval(&to.offset) + to.imm) as usize / 4] = self.data[&regs[0]];
            }
            _ => {}
        }
    }
}

/// What every thread stores, by the interpreter. Statements run for all threads one after the
/// other, which is right as threads meet only in barriers of the outermost body.
fn interpreted(program: &Program, data: &[Reg], params: [i64; 2], table: &[u32]) -> Vec<u32> {
    let mut shared = vec![0; THREADS];
    let mut threads: Vec<Thread> = (0..THREADS)
        .map(|tid| Thread {
            tid: tid as i64,
            params,
            ..Thread::default()
        })
        .collect();
    for stmt in &program.body {
        threads
            .iter_mut()
            .for_each(|thread| thread.run(stmt, table, &mut shared));
    }
    threads
        .iter()
        .flat_map(|thread| data.iter().map(|reg| thread.data[reg]))
        .collect()
}

fn emulated(text: &str, params: [i64; 2], table: &[u32]) -> Vec<u32> {
    let module = Module::parse(text).unwrap();
    let mut memory = Memory::new();
    let bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
    let table = memory
        .alloc("table", bytes.len() as u64, Content::Bytes(&bytes))
        .unwrap();
    let size = 4 * THREADS as u64 * u64::from(REGISTERS);
    let out = memory.alloc("out", size, Content::Undefined).unwrap();
    let args = vec![
        Value::Buffer(table),
        Value::Buffer(out),
        Value::S32(params[0] as i32),
        Value::S64(params[1]),
    ];
    let launch = Launch {
        entry: "random".to_owned(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        cluster: [1; 3],
        dynamic_shared_bytes: 4 * THREADS as u32,
        params: Params::Args(args),
    };
    let report =
        tilewright_emulator::run(&module, &launch, &mut memory, &Options::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let words = memory.read(out);
    words
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn random_programs_do_what_they_say() {
    let mut random = Random(7);
    let table: Vec<u32> = (0..WORDS).map(|_| random.below(1 << 32) as u32).collect();
    for seed in 0..60 {
        let (program, _, data) = grow(seed);
        let params = [
            random.below(5000) as i64 - 1000,
            random.below(1 << 40) as i64 - (1 << 30),
        ];
        let arch = arch(["sm_80", "sm_90a", "sm_70"][seed as usize % 3]);
        let text = emit(&program, &arch, "random").unwrap().text;
        let wanted = interpreted(&program, &data, params, &table);
        assert_eq!(
            emulated(&text, params, &table),
            wanted,
            "seed {seed}\n{text}"
        );
    }
}
