//! Evaluation of expressions, a block of coordinates at a time.
//!
//! A part that does not depend on the lanes is evaluated once. Intermediates come from what is
//! stored of them, or are evaluated where they are read and remembered.

use std::collections::{HashMap, VecDeque};

use super::apply::apply;
use super::block::{Block, Integers, flushed};
use super::collected::Site;
use super::evaluator::Evaluator;
use super::place::{Along, Coordinates, Lanes};
use super::store::Store;
use crate::DType;
use crate::affine::ModeId;
use crate::formula::{Expr, ExprKind, Index, Source, ValueType};
use crate::number::stored;
use crate::syntax::Combine;

/// One thread's way through a formula.
pub(super) struct Walk<'w, 'a> {
    pub evaluator: &'w Evaluator<'a>,
    /// What is computed already, by statement.
    pub stores: &'w [Option<Store>],
    /// Coordinates of modes, by mode.
    pub at: Coordinates,
    /// Statement that is evaluated.
    pub statement: usize,
    /// Single elements that were evaluated, by statement and coordinates.
    remembered: HashMap<(usize, Vec<i64>), Block>,
    /// The last blocks of statements that are read in several places, by statement: without them
    /// a chain of such statements is evaluated twice as often at each of its links.
    blocks: HashMap<usize, VecDeque<(Place, Block)>>,
}

/// Blocks that are kept of each statement: those of a row, and of what is read beside it.
const KEPT: usize = 4;

/// Where a block lies: the mode and range of its lanes, and the coordinates of all other modes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    lanes: (Option<ModeId>, i64, usize),
    at: Coordinates,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub fn new(evaluator: &'w Evaluator<'a>, stores: &'w [Option<Store>]) -> Walk<'w, 'a> {
        Walk {
            at: vec![0; evaluator.formula.modes.len()],
            evaluator,
            stores,
            statement: 0,
            remembered: HashMap::new(),
            blocks: HashMap::new(),
        }
    }

    /// The values of an expression; inside of a derived function, with its arguments.
    pub fn eval(&mut self, expr: &Expr, lanes: Lanes, arguments: &[Block]) -> Block {
        let lanes = if lanes.within(expr.free) {
            lanes
        } else {
            Lanes::ONE
        };
        match &expr.kind {
            ExprKind::Integer(value) => Block::integer(*value),
            ExprKind::Real(value) => Block::float(match expr.ty {
                ValueType::F64 => *value,
                _ => stored(DType::F32, *value),
            }),
            ExprKind::Coordinate(mode) => self.coordinate(*mode, lanes),
            ExprKind::Size(mode) => Block::integer(self.evaluator.size(*mode, &self.at)),
            ExprKind::Scalar(scalar) => {
                let value = self.evaluator.scalars[*scalar];
                match expr.ty {
                    ValueType::S32 => Block::integer(value as i64),
                    _ => Block::float(value),
                }
            }
            ExprKind::Parameter(at) => arguments.get(*at).cloned().unwrap_or(Block::float(0.0)),
            ExprKind::Read { source, indices } => self.read(*source, indices, lanes),
            ExprKind::Apply {
                op,
                arguments: parts,
            } => {
                let types: Vec<ValueType> = parts.iter().map(|part| part.ty).collect();
                let parts = parts.iter().map(|part| self.eval(part, lanes, arguments));
                let parts: Vec<Block> = parts.collect();
                apply(*op, expr.ty, &types, parts)
            }
            ExprKind::Call {
                function,
                arguments: parts,
                inside,
            } => {
                let parts = parts.iter().map(|part| self.eval(part, lanes, arguments));
                let parts: Vec<Block> = parts.collect();
                match self.eval(inside, lanes, &parts) {
                    Block::Float(floats) if function.flushes => {
                        Block::Float(flushed(floats, inside.ty))
                    }
                    block => block,
                }
            }
            ExprKind::Cast { to, value } => {
                let block = self.eval(value, lanes, arguments);
                block.cast(value.ty, *to)
            }
            ExprKind::Fold {
                fold,
                modes,
                dtype,
                body,
            } => {
                let site = Site {
                    fold: *fold,
                    modes,
                    dtype: *dtype,
                    body,
                    span: &expr.span,
                    ty: expr.ty,
                };
                self.fold(&site, lanes, arguments)
            }
        }
    }

    fn coordinate(&self, mode: usize, lanes: Lanes) -> Block {
        if lanes.mode != Some(mode) {
            return Block::integer(self.at[mode]);
        }
        let values = lanes.start..lanes.start + lanes.len as i64;
        Block::Integer(Integers {
            values: values.collect(),
            ..Integers::default()
        })
    }

    /// Elements of an operand or an intermediate.
    fn read(&mut self, source: Source, indices: &[Index], lanes: Lanes) -> Block {
        let evaluator = self.evaluator;
        let Some(writer) = evaluator.formula.writer(source) else {
            let along = self.along(indices, lanes);
            return match source {
                Source::Operand(at) => evaluator.operands[at].read(&along, lanes.len),
                Source::Local(_) => Block::float(f64::NAN),
            };
        };
        if let Some(store) = self.stores.get(writer).and_then(Option::as_ref) {
            let along = self.along(indices, lanes);
            let block = store.read(&along, lanes.len);
            return self.as_stored(writer, block);
        }
        self.evaluated(writer, indices, lanes)
    }

    /// The value of a statement at the coordinates that are set; one that is combined as its output
    /// takes it.
    pub fn value(&mut self, statement: usize, lanes: Lanes) -> Block {
        let evaluator = self.evaluator;
        let value = &evaluator.values[statement];
        let block = self.eval(value, lanes, &[]);
        let written = &evaluator.formula.statements[statement];
        match (written.combine, written.target, block) {
            // What is written is rounded, what is only named may be part of a sum.
            (Combine::Set, Source::Operand(_), block @ Block::Float(_)) => {
                Block::Float(block.into_registers(value.ty))
            }
            (Combine::Set, _, block) => block,
            (_, _, block) => block.cast(value.ty, written.dtype),
        }
    }

    fn along(&mut self, indices: &[Index], lanes: Lanes) -> Vec<Along> {
        let evaluator = self.evaluator;
        let along = indices
            .iter()
            .map(|one| evaluator.along(one, &mut self.at, lanes));
        along.collect()
    }

    /// What is read back of a statement's values.
    fn as_stored(&self, statement: usize, block: Block) -> Block {
        let dtype = self.evaluator.formula.statements[statement].dtype;
        block.cast(self.evaluator.held(statement), dtype)
    }

    /// What a statement gives at those indices, evaluated here.
    fn evaluated(&mut self, writer: usize, indices: &[Index], lanes: Lanes) -> Block {
        let evaluator = self.evaluator;
        let statement = &evaluator.formula.statements[writer];
        let bare = |one: &Index| {
            matches!(one, Index::Affine(_))
                .then(|| one.bare())
                .flatten()
        };
        let same = indices
            .iter()
            .zip(&statement.left)
            .all(|(index, left)| bare(index).is_some() && bare(index) == bare(left));
        let plain = same && statement.combine == Combine::Set;
        let value = &evaluator.values[writer];
        if plain && lanes.within(value.free) {
            let place = evaluator.shared[writer].then(|| self.place(lanes));
            let kept = place.as_ref().and_then(|place| self.kept(writer, place));
            if let Some(block) = kept {
                return block;
            }
            let outer = std::mem::replace(&mut self.statement, writer);
            let block = self.value(writer, lanes);
            self.statement = outer;
            let block = self.as_stored(writer, block);
            if let Some(place) = place {
                let kept = self.blocks.entry(writer).or_default();
                kept.truncate(KEPT - 1);
                kept.push_front((place, block.clone()));
            }
            return block;
        }
        let along = self.along(indices, lanes);
        let steady = along.iter().all(|one| matches!(one, Along::Line(_, 0)));
        if steady || (plain && !lanes.within(value.free)) {
            let coordinates: Vec<i64> = along.iter().map(|one| one.at(0)).collect();
            return self.remembered(writer, coordinates);
        }
        let each: Vec<Block> = (0..lanes.len)
            .map(|lane| {
                let coordinates = along.iter().map(|one| one.at(lane)).collect();
                self.remembered(writer, coordinates)
            })
            .collect();
        joined(each, ValueType::of(statement.dtype))
    }

    /// Where lanes are.
    fn place(&self, lanes: Lanes) -> Place {
        let mut at = self.at.clone();
        if let Some(mode) = lanes.mode {
            at[mode] = 0;
        }
        Place {
            lanes: (lanes.mode, lanes.start, lanes.len),
            at,
        }
    }

    /// The block of a statement at a place, if it is one of the last.
    fn kept(&self, writer: usize, place: &Place) -> Option<Block> {
        let mut kept = self.blocks.get(&writer)?.iter();
        let (_, block) = kept.find(|(known, _)| known == place)?;
        Some(block.clone())
    }

    /// One element of what a statement writes, as it is read back.
    fn remembered(&mut self, writer: usize, coordinates: Vec<i64>) -> Block {
        let key = (writer, coordinates);
        if let Some(block) = self.remembered.get(&key) {
            return block.clone();
        }
        if !self.evaluator.has(writer, &key.1) {
            // A table may lead beyond the extents, where 0 is read.
            let statement = &self.evaluator.formula.statements[writer];
            return joined(vec![Block::integer(0)], ValueType::of(statement.dtype));
        }
        let block = self.element_block(writer, &key.1).0;
        let block = self.as_stored(writer, block);
        self.remembered.insert(key, block.clone());
        block
    }
}

/// One block of single values.
fn joined(each: Vec<Block>, ty: ValueType) -> Block {
    if matches!(ty, ValueType::S32 | ValueType::Raw(_)) {
        let pairs = each
            .iter()
            .map(|block| (block.integer_at(0), block.at(0).1));
        return Block::Integer(Integers::of(pairs.collect()));
    }
    Block::Float(each.iter().map(|block| block.at(0)).collect())
}
