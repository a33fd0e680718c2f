//! Maps: straight-line code on the registers of a thread, run once for every few elements.

use crate::element::{Code, Element, Slot};
use crate::error::Result;
use crate::ir::thread::expr::{add, int};
use crate::ir::thread::program::{Expr, ParamId, Reg, Scalar, Stmt};
use crate::ir::tile::{Slice, TileId, View};
use crate::lower::threads::element;
use crate::lower::{Lowering, bug};
use tilewright_formula::ExprKind;

impl Lowering<'_> {
    /// A share of the elements of a tile, computed of the same elements of others.
    pub(in crate::lower) fn map_tile(
        &mut self,
        to: View,
        from: &[View],
        element: &Element,
        share: Slice,
    ) -> Result<Vec<Stmt>> {
        if from.is_empty() && element.value.kind == ExprKind::Integer(0) {
            return Ok(vec![Stmt::Zero(self.registers(to)?)]);
        }
        let values = self.fragment(to.tile())?.values().to_vec();
        let groups: Vec<&[[i64; 2]]> = values.chunks(element.code.lanes as usize).collect();
        let ends = [share.0, share.0 + 1];
        let [first, end] = ends.map(|end| groups.len() * end as usize / share.1 as usize);
        let set = element.code.set().into_iter().map(|(slot, _)| slot);
        let set: Vec<Slot> = set.chain(element.code.results.iter().copied()).collect();
        let mut out = Vec::new();
        for group in groups.into_iter().take(end).skip(first) {
            let outputs = self.held(to, group)?;
            let inputs = from.iter().map(|view| self.held(*view, group));
            let inputs = inputs.collect::<Result<Vec<_>>>()?;
            let mut known = Vec::new();
            for slot in &set {
                if let Some(scalar) = self.scalar(*slot, to.tile(), group)? {
                    known.push((*slot, scalar));
                }
            }
            let env = |slot: Slot| {
                let known = known.iter().find(|(one, _)| *one == slot);
                known.map(|(_, scalar)| scalar.clone())
            };
            out.extend(self.run(&element.code, &inputs, &outputs, &env)?);
        }
        Ok(out)
    }

    /// Runs code once.
    pub(in crate::lower) fn run(
        &mut self,
        code: &Code,
        inputs: &[Vec<Reg>],
        outputs: &[Reg],
        env: &dyn Fn(Slot) -> Option<Scalar>,
    ) -> Result<Vec<Stmt>> {
        let builder = &mut self.builder;
        let declare = &mut |name: &str, ty, len| builder.file(name, ty, len);
        self.temps.reserve(code, declare);
        element::run(code, inputs, outputs, &mut self.temps, env)
    }

    /// The registers of some elements of a tile, which repeat along what it has fewer elements of.
    fn held(&self, view: View, elements: &[[i64; 2]]) -> Result<Vec<Reg>> {
        let View::Rmem(tile, buffer) = view else {
            return Err(bug(self.plan, format!("{view:?} is not in registers")));
        };
        let modes = self.kernel.tiles.get(tile.0).map(|tile| &tile.modes);
        let extent = |at: usize| modes.and_then(|modes| Some(modes.get(at)?.1));
        let extents = [0, 1].map(|at| extent(at).unwrap_or(1).max(1));
        let here = |element: &[i64; 2]| -> [i64; 2] {
            std::array::from_fn(|at| element[at] % extents[at])
        };
        let elements: Vec<[i64; 2]> = elements.iter().map(here).collect();
        let fragment = self.fragment(tile)?;
        let found = match fragment.is_single() {
            true => {
                let each = elements.iter();
                let each = each.map(|element| fragment.registers(&[*element], buffer));
                each.collect::<Option<Vec<_>>>().map(|all| all.concat())
            }
            false => fragment.registers(&elements, buffer),
        };
        found.ok_or_else(|| {
            let name = self.kernel.tiles.get(tile.0).map_or("", |tile| &tile.name);
            bug(
                self.plan,
                format!("{name}: registers do not hold {elements:?} in order"),
            )
        })
    }

    /// What a slot is that is neither a register nor a constant.
    fn scalar(
        &mut self,
        slot: Slot,
        tile: TileId,
        elements: &[[i64; 2]],
    ) -> Result<Option<Scalar>> {
        let formula = &self.plan.computes.formula;
        let missing = |what: &str| bug(self.plan, format!("there is no {what}"));
        let name = |mode: usize| formula.modes.get(mode).map(|mode| mode.name.as_str());
        let outer = |mode: usize| {
            let at_one = self.kernel.work.at_one();
            at_one
                .iter()
                .position(|one| Some(one.as_str()) == name(mode))
        };
        let dim = |mode: usize| self.plan.dim(name(mode)?);
        Ok(Some(match slot {
            Slot::Input(..) | Slot::Call(..) | Slot::Bits(..) => return Ok(None),
            Slot::Scalar(at) => {
                let name = formula.signature.scalars.get(at).map(|scalar| &scalar.name);
                let param = name.and_then(|name| self.builder.param(name));
                Scalar::Param(param.ok_or_else(|| missing("such scalar"))?)
            }
            Slot::Size(of) => Scalar::Int(match outer(of) {
                Some(number) => self.outer_extent(number)?,
                None => match dim(of) {
                    Some(mode) => self.extent(mode)?,
                    None => Expr::Param(self.extent_alone(of).ok_or_else(|| missing("such mode"))?),
                },
            }),
            Slot::Coordinate(of, lane) => {
                if let Some(number) = outer(of) {
                    let at = self.state.outer.get(number).cloned();
                    return Ok(Some(Scalar::Int(at.ok_or_else(|| missing("such mode"))?)));
                }
                let at = dim(of).ok_or_else(|| missing("such mode"))?;
                let element = elements.get(lane as usize);
                let element = element.ok_or_else(|| missing("such element"))?;
                let own = element[at];
                let first = self.first_of(tile, at)?;
                Scalar::Int(add(first, int(own)))
            }
        }))
    }

    /// The extent of a mode that tables alone look into.
    fn extent_alone(&self, mode: usize) -> Option<ParamId> {
        let name = &self.plan.computes.formula.modes.get(mode)?.name;
        self.builder.param(name)
    }

    /// The coordinate of a thread's first element of a tile along a mode.
    fn first_of(&mut self, tile: TileId, mode: usize) -> Result<Expr> {
        let digits = self.fragment(tile)?.digits().to_vec();
        let thread = self.builder.thread_sum("coord", &digits, mode);
        let start = self.start_of(mode)?;
        Ok(self.builder.hoist("first", add(start, thread)))
    }
}
