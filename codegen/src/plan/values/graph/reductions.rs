//! The nodes of folds: what is folded, then along one of the tile's modes after the other.

use tilewright_formula::affine::ModeId;
use tilewright_formula::functions::{Fold, Op};
use tilewright_formula::{Expr, ExprKind, ValueType};

use super::{Growing, parameter};
use crate::dtype::DType;
use crate::plan::data::folds::{Combination, FoldPlan, Spread};
use crate::plan::data::values::{Does, Every, Node};

impl Growing<'_> {
    /// A fold: of a mean, the sum over the number of values.
    pub(super) fn fold(
        &mut self,
        expr: &Expr,
        (fold, modes, dtype): (Fold, &[ModeId], DType),
        body: &Expr,
        from: &mut Vec<usize>,
    ) -> Expr {
        let mut of = Vec::new();
        let value = self.over_nodes(body, &mut of);
        let mut keeps = self.keeps((0..64).filter(|mode| body.free >> mode & 1 == 1));
        for mode in modes {
            if let Some(at) = self.modes.iter().position(|one| *one == Some(*mode)) {
                keeps[at] = true;
            }
        }
        let ty = body.ty.joined(ValueType::of(dtype));
        let dtype = ty.dtype().unwrap_or(dtype);
        let number = self.flow.folds.len();
        let name = |what: &str| format!("{what}_{number}");
        let mut at = match (&value.kind, of.as_slice()) {
            // What is there already is folded as it is.
            (ExprKind::Parameter(_), [node])
                if self.flow.nodes[*node].dtype == dtype
                    && self.flow.nodes[*node].keeps == keeps =>
            {
                *node
            }
            _ => {
                let does = Does::Map(value, of);
                self.push(name("body"), keeps, dtype, (does, Every::WorkTile))
            }
        };
        let mut along: Vec<&ModeId> = modes.iter().collect();
        if self.second_first {
            along.sort_by_key(|mode| self.modes[1] != Some(**mode));
        }
        for mode in along {
            let Some(over) = self.modes.iter().position(|one| *one == Some(*mode)) else {
                continue;
            };
            at = match fold {
                Fold::Argmax => self.index_of_largest(expr, at, (over, *mode)),
                _ => self.along(at, (fold, over)),
            };
        }
        let result = |kind: ExprKind, ty: ValueType| Expr {
            kind,
            ty,
            ..expr.clone()
        };
        if fold == Fold::Argmax {
            return result(parameter(from, at), expr.ty);
        }
        let total = result(parameter(from, at), ty);
        if fold != Fold::Mean {
            return total;
        }
        let size = |mode: &ModeId| result(ExprKind::Size(*mode), ValueType::S32);
        modes.iter().fold(total, |value, mode| {
            let arguments = vec![value, size(mode)];
            let op = Op::Div;
            result(ExprKind::Apply { op, arguments }, expr.ty)
        })
    }

    /// The fold of a node along one of the tile's modes.
    fn along(&mut self, at: usize, (fold, over): (Fold, usize)) -> usize {
        let Node {
            mut keeps, dtype, ..
        } = self.flow.nodes[at];
        let number = self.flow.folds.len();
        let how = Combination {
            fold,
            dtype,
            code: None,
        };
        self.flow.folds.push(FoldPlan {
            how,
            over,
            spread: Spread { apart: 1, count: 1 },
            scratch: None,
        });
        keeps[over] = false;
        let name = format!("{}_{number}", fold.name());
        self.push(
            name,
            keeps,
            dtype,
            (Does::Fold(at, number), Every::WorkTile),
        )
    }

    /// The smallest index of the largest of a node's values: the least coordinate of those that are
    /// as large. The largest is NaN where one is, and then the index is of the first NaN.
    fn index_of_largest(&mut self, expr: &Expr, at: usize, (over, mode): (usize, ModeId)) -> usize {
        let Node { keeps, dtype, .. } = self.flow.nodes[at];
        let largest = self.along(at, (Fold::Max, over));
        let new = |kind: ExprKind, ty: ValueType| Expr {
            kind,
            ty,
            ..expr.clone()
        };
        let value = |parameter: usize| new(ExprKind::Parameter(parameter), ValueType::of(dtype));
        let apply = |op: Op, arguments: Vec<Expr>, ty: ValueType| {
            new(ExprKind::Apply { op, arguments }, ty)
        };
        let mut is_largest = apply(Op::Eq, vec![value(0), value(1)], ValueType::Bool);
        if ValueType::of(dtype) != ValueType::S32 {
            let is_nan = apply(Op::Ne, vec![value(0), value(0)], ValueType::Bool);
            is_largest = apply(Op::Or, vec![is_largest, is_nan], ValueType::Bool);
        }
        let place = new(ExprKind::Coordinate(mode), ValueType::S32);
        let none = new(ExprKind::Integer(i64::from(i32::MAX)), ValueType::S32);
        let index = apply(Op::Where, vec![is_largest, place, none], ValueType::S32);
        let name = format!("places_{}", self.flow.folds.len());
        let does = Does::Map(index, vec![at, largest]);
        let places = self.push(name, keeps, DType::S32, (does, Every::WorkTile));
        self.along(places, (Fold::Min, over))
    }
}
