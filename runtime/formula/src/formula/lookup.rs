//! Questions about a whole formula: roles, writers, names, axes.

use super::{ExprKind, Extent, Formula, Index, ModeFacts, ModeSet, Role, Source};
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::functions::Fold;
use crate::signature::Axis;
use crate::syntax::Combine;

impl Formula {
    /// What becomes of an operand.
    pub fn role(&self, operand: usize) -> Role {
        let mut writers = self.statements.iter();
        match writers.find(|statement| statement.target == Source::Operand(operand)) {
            None => Role::Input,
            Some(statement) if statement.combine == Combine::Set => Role::Output,
            Some(_) => Role::Combined,
        }
    }

    /// The statement that writes something; `None` of inputs.
    pub fn writer(&self, source: Source) -> Option<usize> {
        self.statements.iter().position(|one| one.target == source)
    }

    /// The mode of that name.
    pub fn mode(&self, name: &str) -> Option<ModeId> {
        self.modes.iter().position(|mode| mode.name == name)
    }

    /// Modes in the order of a positional tile: those of the first output in `operands`, then
    /// summed ones, and those along which values are combined with an output, in the order in
    /// which they appear. Of an axis that a table looks into, they are the table's.
    pub fn tile_modes(&self) -> Vec<ModeId> {
        let operands = 0..self.signature.operands.len();
        let mut outputs = operands.filter(|at| self.role(*at) != Role::Input);
        let first = outputs.next().map(Source::Operand);
        let axes = first.map_or(Vec::new(), |output| {
            let writer = self.writer(output).and_then(|at| self.statements.get(at));
            let left = writer.map_or(&[][..], |statement| &statement.left);
            let own = self.axis_modes(output).into_iter().enumerate();
            let along = own.flat_map(|(axis, own)| match left.get(axis) {
                Some(Index::Table { indices, .. }) => indices.iter().map(Index::bare).collect(),
                _ => vec![own],
            });
            along.collect()
        });
        let mut modes: Vec<ModeId> = Vec::new();
        let mut add = |mode: ModeId| {
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        };
        axes.into_iter().flatten().for_each(&mut add);
        for statement in &self.statements {
            statement.value.visit(&mut |expr| {
                if let ExprKind::Fold {
                    fold: Fold::Sum,
                    modes,
                    ..
                } = &expr.kind
                {
                    modes.iter().copied().for_each(&mut add);
                }
            });
            statement.folded.iter().copied().for_each(&mut add);
        }
        modes
    }

    /// Modes that some statement goes over or folds: the others are extents of axes that tables
    /// look into, and no more.
    pub fn visited(&self) -> ModeSet {
        let own = self
            .statements
            .iter()
            .flat_map(|one| one.loops.iter().chain(&one.folded));
        let mut all = own.fold(0, |set, mode| set | 1 << mode);
        for statement in &self.statements {
            statement.value.visit(&mut |expr| {
                if let ExprKind::Fold { modes, .. } = &expr.kind {
                    all = modes.iter().fold(all, |set, mode| set | 1 << mode);
                }
            });
        }
        self.with_groups(all)
    }

    /// Where an operand is read or written, each place once, in the order of statements.
    pub fn places(&self, operand: usize) -> Vec<&[Index]> {
        let source = Source::Operand(operand);
        let mut places: Vec<&[Index]> = Vec::new();
        let mut add = |indices| {
            if !places.contains(&indices) {
                places.push(indices);
            }
        };
        for statement in &self.statements {
            statement.value.visit(&mut |expr| {
                if let ExprKind::Read {
                    source: of,
                    indices,
                } = &expr.kind
                    && *of == source
                {
                    add(indices.as_slice());
                }
            });
            if statement.target == source {
                add(statement.left.as_slice());
            }
        }
        places
    }

    /// The table that looks into each axis of an operand at the first place where it is read or
    /// written; none of those that are gone along.
    pub fn tables(&self, operand: usize) -> Vec<Option<usize>> {
        let places = self.places(operand);
        let first = places.first().copied().unwrap_or_default();
        let table = |index: &Index| match index {
            Index::Table { operand, .. } => Some(*operand),
            _ => None,
        };
        first.iter().map(table).collect()
    }

    /// The extent of a mode that is the same in every problem.
    pub fn constant(&self, mode: ModeId) -> Option<i64> {
        self.modes.get(mode)?.extent.constant()
    }

    /// The same of a mode by its name.
    pub fn constant_of(&self, mode: &str) -> Option<i64> {
        self.constant(self.mode(mode)?)
    }

    /// Names of the extents that a launch gives, in order of their modes.
    pub fn extent_names(&self) -> Vec<&str> {
        let given = |mode: &&ModeFacts| mode.extent.constant().is_none();
        let modes = self.modes.iter().filter(given);
        modes.map(|mode| mode.name.as_str()).collect()
    }

    /// A set of modes with the groups of those that are ragged.
    pub fn with_groups(&self, set: ModeSet) -> ModeSet {
        let modes = self.modes.iter().enumerate();
        modes.fold(set, |all, (at, mode)| match mode.extent {
            Extent::Ragged { group, .. } if set >> at & 1 == 1 => all | 1 << group,
            _ => all,
        })
    }

    /// Names of a set of modes, in order of their ids.
    pub fn names(&self, set: ModeSet) -> Vec<&str> {
        let named = self.modes.iter().enumerate();
        let named = named.filter(|(at, _)| set >> at & 1 == 1);
        named.map(|(_, mode)| mode.name.as_str()).collect()
    }

    /// The modes of something's axes; `None` of constant axes.
    pub fn axis_modes(&self, source: Source) -> Vec<Option<ModeId>> {
        match source {
            Source::Local(at) => self.locals[at].modes.iter().copied().map(Some).collect(),
            Source::Operand(at) => {
                let axes = self.signature.operands[at].axes.iter();
                axes.map(|axis| self.mode(axis.mode()?)).collect()
            }
        }
    }

    /// The axes of something.
    pub fn axes(&self, source: Source) -> Vec<Axis> {
        match source {
            Source::Operand(at) => self.signature.operands[at].axes.clone(),
            Source::Local(at) => {
                let modes = self.locals[at].modes.iter();
                modes
                    .map(|mode| Axis::Mode(self.modes[*mode].name.clone()))
                    .collect()
            }
        }
    }

    /// The name of something.
    pub fn name(&self, source: Source) -> &str {
        match source {
            Source::Operand(at) => &self.signature.operands[at].name,
            Source::Local(at) => &self.locals[at].name,
        }
    }

    /// The element type of something.
    pub fn dtype(&self, source: Source) -> DType {
        match source {
            Source::Operand(at) => self.signature.operands[at].dtype,
            Source::Local(at) => self.locals[at].dtype,
        }
    }
}
