//! The elements of a tile that lanes add up terms of, and where the output has them.

use std::sync::Arc;

use super::{Summing, only_if};
use crate::atoms::model::{Atom, OperandKind, RegType, Space};
use crate::error::Result;
use crate::ir::thread::expr::{add, and, ceil_div, eq, int, long, lt, mul, widen};
use crate::ir::thread::program::{Address, Arg, Base, Expr, IntType, Reg, Stmt};
use crate::ir::tile::View;
use crate::lower::reduce::fold::Folding;
use crate::lower::threads::address::{first_coords, stride_expr};
use crate::lower::{Lowering, bug, call};

/// Lanes that share out elements, and the terms of an element.
pub(super) struct Lanes {
    /// Elements side by side.
    pub elements: i64,
    /// Lanes with terms of one element.
    pub shares: i64,
    /// Which of the elements a lane has.
    pub own: Expr,
    /// Which of the lanes with terms of that element it is.
    pub share: Expr,
}

impl<'p> Lowering<'p> {
    /// Adds the sum of all terms to what the output holds.
    pub(super) fn add_to_output(
        &mut self,
        to: View,
        summing: &Summing<'p>,
        lanes: &Lanes,
    ) -> Result<Vec<Stmt>> {
        let file = self.builder.file("whole", RegType::F32, 2);
        let [sum, there] = [0, 1].map(|index| Reg { file, index });
        let first = mul(
            mul(summing.block.clone(), summing.tiles.clone()),
            long(summing.sums.ctas.terms()),
        );
        let first = self.builder.hoist("first", first);
        let cond = lt(first.clone(), summing.places.clone());
        let body = self.for_elements(summing, lanes, |this, element, inside| {
            let mut folding = Folding {
                how: &summing.combining.how,
                spare: Vec::new(),
                out: Vec::new(),
            };
            let address = this.term(summing, first.clone(), element.clone(), 0)?;
            let (output, is_inside) = this.output_at(to, summing, element)?;
            let mut out = this.term_from(address, sum)?;
            out.push(moved(&summing.sums.held, &output, there));
            this.combine(&mut folding, [there, sum], sum)?;
            out.append(&mut folding.out);
            out.push(moved(&summing.step.atom, &output, sum));
            let mut cond = eq(lanes.share.clone(), int(0));
            for more in [inside, is_inside].into_iter().flatten() {
                cond = and(cond, more);
            }
            Ok(vec![only_if(cond, out)])
        })?;
        Ok(vec![only_if(cond, body)])
    }

    /// The body for each element that a lane has, and the test that it is one of the tile's.
    pub(super) fn for_elements(
        &mut self,
        summing: &Summing<'_>,
        lanes: &Lanes,
        mut body: impl FnMut(&mut Self, Expr, Option<Expr>) -> Result<Vec<Stmt>>,
    ) -> Result<Vec<Stmt>> {
        let all = summing.elements;
        let var = self.builder.var("element", IntType::I32, false);
        let element = match all > lanes.elements {
            true => add(mul(Expr::Var(var), int(lanes.elements)), lanes.own.clone()),
            false => lanes.own.clone(),
        };
        let scope = self.builder.begin_scope();
        let is_cut = all % lanes.elements != 0;
        let inside = is_cut.then(|| lt(element.clone(), int(all)));
        let statements = body(self, element, inside)?;
        let mut out = self.builder.end_scope(scope);
        out.extend(statements);
        Ok(match all > lanes.elements {
            true => vec![Stmt::For {
                var,
                from: int(0),
                to: ceil_div(int(all), lanes.elements),
                step: int(1),
                body: out,
            }],
            false => out,
        })
    }

    /// Where the output has an element of the tile, and the test that it has.
    fn output_at(
        &mut self,
        to: View,
        summing: &Summing<'_>,
        element: Expr,
    ) -> Result<(Address, Option<Expr>)> {
        let plan = self.plan;
        let (operand, _) = self.operand_of(to.tile())?;
        let missing = || bug(plan, format!("{} has no parameters", operand.name));
        let bytes = long(i64::from(operand.dtype.bytes()));
        let mut offset = long(0);
        let mut coords = first_coords(plan, (operand, None), &self.state);
        for (number, axis) in plan.outer_of(operand) {
            let stride = stride_expr(&self.builder, &axis.stride).ok_or_else(missing)?;
            let at = self.state.outer.get(number).cloned().ok_or_else(missing)?;
            offset = add(offset, mul(widen(at), stride));
        }
        let mut inside = None;
        for (axis, coordinate) in summing.step.axes.iter().enumerate() {
            let Some(mode) = *coordinate else { continue };
            let stride = stride_expr(&self.builder, operand.stride(axis)).ok_or_else(missing)?;
            let at = add(self.start_of(mode)?, element.clone());
            inside = Some(lt(at.clone(), self.extent(mode)?));
            *coords.get_mut(axis).ok_or_else(missing)? = widen(at.clone());
            offset = add(offset, mul(widen(at), stride));
        }
        let base = self.builder.pointer_to(operand.id).ok_or_else(missing)?;
        let address = Address {
            space: Space::Gmem,
            base: Base::Param(base),
            offset: mul(offset, bytes),
            imm: 0,
            coords,
        };
        Ok((address, inside))
    }
}

/// A register to a place in memory, or from there.
pub(super) fn moved(atom: &Arc<Atom>, address: &Address, register: Reg) -> Stmt {
    let args = atom.operands.iter().map(|operand| match operand.kind {
        OperandKind::Address(_) => Arg::Address(address.clone()),
        _ => Arg::Regs(vec![register]),
    });
    call(atom, args.collect())
}
