//! Random programs.

use super::*;

/// SplitMix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
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

/// A random program and the registers it stores.
pub(super) fn grow(seed: u64) -> (Program, Vec<Reg>) {
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
    (build.0, data)
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
