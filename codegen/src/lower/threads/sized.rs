//! Copies that say how many source bytes are valid: vectors into shared memory, of which the rest
//! arrive as zeros.

use crate::error::Result;
use crate::ir::thread::expr::{int, lt, max, min, mul, select, sub};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::lower::threads::bounds::left;
use crate::lower::threads::copy::{Run, Side};
use crate::lower::{Lowering, bug};

impl Lowering<'_> {
    /// How many bytes of the vector at `value` are inside the tensor.
    pub(in crate::lower) fn valid_bytes(
        &mut self,
        run: &mut Run<'_>,
        value: [i64; 2],
        out: &mut Vec<Stmt>,
    ) -> Result<Option<Expr>> {
        let plan = self.plan;
        let sized = run
            .atom
            .copy
            .as_ref()
            .is_some_and(|copy| copy.src_bytes.is_some());
        let (Side::Gmem(tile), true) = (&run.src, sized) else {
            return Ok(None);
        };
        let operand = plan.operand(run.step.operand);
        let along = operand.contiguous_axis();
        let along = along.and_then(|axis| run.step.coordinate(axis));
        // Single elements are cut along no mode.
        let along = match along {
            None if run.parts.src_values == 1 => 1,
            _ => along.ok_or_else(|| bug(plan, format!("{} has no stride 1", operand.name)))?,
        };
        let bytes = i64::from(operand.dtype.bytes());
        let valid = match run.valid.get(&value[along]) {
            Some(valid) => valid.clone(),
            None => {
                let left = sub(left(tile, along), int(value[along]));
                let count = min(max(left, int(0)), int(run.parts.src_values as i64));
                let var = self.builder.var("valid_bytes", IntType::I32, false);
                out.push(Stmt::Let(var, mul(count, int(bytes))));
                run.valid.insert(value[along], Expr::Var(var));
                Expr::Var(var)
            }
        };
        let across = match &run.across {
            Some(across) => across.clone(),
            None => {
                let var = self.builder.var("left_across", IntType::I32, false);
                out.push(Stmt::Pin(var, left(tile, 1 - along)));
                run.across = Some(Expr::Var(var));
                Expr::Var(var)
            }
        };
        Ok(Some(select(
            lt(int(value[1 - along]), across),
            valid,
            int(0),
        )))
    }
}
