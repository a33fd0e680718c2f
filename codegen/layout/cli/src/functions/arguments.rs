//! The arguments of a call, read as the kinds a function asks for.
//!
//! In: values. Out: operands of the algebra. Invariants: a number stands for the layout `n:1`
//! and for a shape or coordinate of one entry; a shape stands for the tiler of its extents.

use tilewright_layout::{
    Basis, ComposedLayout, CopyAtom, Error, Int, IntTuple, Layout, MmaAtom, Result, Slot, Swizzle,
    Sym, TiledCopy, TiledMma, Tiler,
};

use crate::value::{Tensor, Value};

/// Why a function gives nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// An argument is of another kind.
    Wrong {
        /// Which, counted from 0.
        argument: usize,
        /// What is asked for there.
        wanted: &'static str,
    },
    /// The algebra refuses.
    Refused(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Refused(error)
    }
}

/// What a function gives.
pub type Answer = std::result::Result<Value, Stop>;
/// An argument of the kind that was asked for.
pub type Taken<T> = std::result::Result<T, Stop>;

/// What the algebra gives, as an answer.
pub fn give<T: Into<Value>>(result: Result<T>) -> Answer {
    Ok(result?.into())
}

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a>(pub &'a [Value]);

impl<'a> Arguments<'a> {
    /// The value at a place, if so many were given.
    pub fn get(self, argument: usize) -> Option<&'a Value> {
        self.0.get(argument)
    }

    /// How many were given.
    pub fn count(self) -> usize {
        self.0.len()
    }

    /// The refusal of an argument's kind.
    pub fn wrong<T>(self, argument: usize, wanted: &'static str) -> Taken<T> {
        Err(Stop::Wrong { argument, wanted })
    }

    /// Any layout without a swizzle.
    pub fn tensor(self, argument: usize) -> Taken<Tensor> {
        match self.get(argument) {
            Some(Value::Tensor(tensor)) => Ok(tensor.clone()),
            Some(Value::Int(n)) => Ok(Tensor::Plain(Layout::single(*n, 1)?)),
            _ => self.wrong(argument, "a layout"),
        }
    }

    /// A layout of numbers to numbers.
    pub fn layout(self, argument: usize) -> Taken<Layout> {
        match self.tensor(argument) {
            Ok(Tensor::Plain(layout)) => Ok(layout),
            _ => self.wrong(argument, "a layout of numbers, such as (4,8):(1,4)"),
        }
    }

    /// A swizzle after a layout.
    pub fn composed(self, argument: usize) -> Taken<ComposedLayout> {
        match self.get(argument) {
            Some(Value::Composed(all)) => Ok(all.clone()),
            _ => Ok(self.layout(argument)?.into()),
        }
    }

    /// The argument when it is a swizzle after a layout.
    pub fn swizzled(self, argument: usize) -> Option<&'a ComposedLayout> {
        match self.get(argument) {
            Some(Value::Composed(all)) => Some(all),
            _ => None,
        }
    }

    /// Any layout; behind a swizzle the one inside.
    pub fn inner(self, argument: usize) -> Taken<Tensor> {
        match self.swizzled(argument) {
            Some(all) => Ok(Tensor::Plain(all.inner.clone())),
            None => self.tensor(argument),
        }
    }

    /// Whether the argument stands for one operation a mode: a shape or a tiler in brackets.
    pub fn is_by_mode(self, argument: usize) -> bool {
        let value = self.get(argument);
        matches!(
            value,
            Some(Value::Tiler(_) | Value::Tuple(_) | Value::Slots(_))
        )
    }

    /// A tiler: `<8:1,_>`, a shape, a layout or a number.
    pub fn tiler(self, argument: usize) -> Taken<Tiler> {
        let wanted = "a tiler, such as <8:1,_>, a shape or a layout";
        match self.get(argument) {
            Some(Value::Tiler(tiler)) => Ok(tiler.clone()),
            Some(Value::Tuple(shape)) => Ok(Tiler::by_shape(shape)?),
            Some(Value::Slots(slots)) if slots.as_leaf() == Some(&Slot::Keep) => Ok(Tiler::Keep),
            Some(Value::Int(_) | Value::Tensor(_)) => match self.layout(argument) {
                Ok(layout) => Ok(Tiler::Layout(layout)),
                Err(_) => self.wrong(argument, wanted),
            },
            _ => self.wrong(argument, wanted),
        }
    }

    /// A number.
    pub fn int(self, argument: usize) -> Taken<i64> {
        match self.get(argument) {
            Some(Value::Int(n)) => Ok(*n),
            _ => self.wrong(argument, "a number"),
        }
    }

    /// The index of a mode.
    pub fn index(self, argument: usize) -> Taken<usize> {
        match self.int(argument).map(usize::try_from) {
            Ok(Ok(index)) => Ok(index),
            _ => self.wrong(argument, "the index of a mode, from 0"),
        }
    }

    /// A shape or a coordinate.
    pub fn tuple(self, argument: usize) -> Taken<IntTuple<i64>> {
        match self.get(argument) {
            Some(Value::Tuple(tuple)) => Ok(tuple.clone()),
            Some(Value::Int(n)) => Ok(IntTuple::leaf(*n)),
            _ => self.wrong(argument, "a tuple of numbers, such as (4,(2,3))"),
        }
    }

    /// A shape, or the shape of a layout.
    pub fn shape(self, argument: usize) -> Taken<IntTuple<i64>> {
        match self.get(argument) {
            Some(Value::Tensor(Tensor::Plain(layout))) => Ok(layout.shape()),
            Some(Value::Tensor(Tensor::Coords(layout))) => Ok(layout.shape()),
            Some(Value::Composed(all)) => Ok(all.shape()),
            _ => self.tuple(argument),
        }
    }

    /// A coordinate that may keep modes.
    pub fn slots(self, argument: usize) -> Taken<IntTuple<Slot<i64>>> {
        match self.get(argument) {
            Some(Value::Slots(slots)) => Ok(slots.clone()),
            _ => match self.tuple(argument) {
                Ok(coord) => Ok(coord.map(|x| Slot::At(*x))),
                Err(_) => self.wrong(argument, "a coordinate, such as (_,3)"),
            },
        }
    }

    /// A list of numbers: the argument itself when it is a list, else it and all that follow.
    pub fn numbers(self, argument: usize) -> Taken<Vec<i64>> {
        if let Some(Value::List(items)) = self.get(argument) {
            let inner = Arguments(items);
            let numbers = (0..items.len()).map(|i| inner.int(i));
            return numbers
                .collect::<Taken<_>>()
                .or_else(|_| self.wrong(argument, "a list of numbers"));
        }
        (argument..self.count()).map(|i| self.int(i)).collect()
    }

    /// A swizzle.
    pub fn swizzle(self, argument: usize) -> Taken<Swizzle> {
        match self.get(argument) {
            Some(Value::Swizzle(swizzle)) => Ok(*swizzle),
            _ => self.wrong(argument, "a swizzle, such as Sw<3,3,3>"),
        }
    }

    /// A matrix-multiply instruction.
    pub fn mma_atom(self, argument: usize) -> Taken<MmaAtom> {
        match self.get(argument) {
            Some(Value::MmaAtom(atom)) => Ok(atom.clone()),
            _ => self.wrong(argument, "an mma atom: its id, or mma_atom(…)"),
        }
    }

    /// A tiled MMA; an atom alone is one of a single atom.
    pub fn tiled_mma(self, argument: usize) -> Taken<TiledMma> {
        match self.get(argument) {
            Some(Value::TiledMma(mma)) => Ok(mma.as_ref().clone()),
            Some(Value::MmaAtom(atom)) => Ok(one_atom(atom.clone())?),
            _ => self.wrong(argument, "a tiled mma: tiled_mma(atom, layout)"),
        }
    }

    /// A copy instruction; a number is the vector copy of so many elements.
    pub fn copy_atom(self, argument: usize) -> Taken<CopyAtom> {
        match self.get(argument) {
            Some(Value::CopyAtom(atom)) => Ok(atom.clone()),
            Some(Value::Int(elems)) => Ok(CopyAtom::vector(*elems)?),
            Some(Value::CopyBits(_)) => self.wrong(
                argument,
                "a copy atom in elements: copy_atom_for(atom, bits)",
            ),
            _ => self.wrong(argument, "a copy atom: vector(8) or copy_atom(…)"),
        }
    }

    /// A copy instruction that counts bits.
    pub fn copy_bits(self, argument: usize) -> Taken<CopyAtom> {
        match self.get(argument) {
            Some(Value::CopyBits(atom)) => Ok(atom.clone()),
            _ => self.wrong(argument, "a copy atom in bits: its id, or copy_bits(…)"),
        }
    }

    /// A tiled copy.
    pub fn tiled_copy(self, argument: usize) -> Taken<TiledCopy> {
        match self.get(argument) {
            Some(Value::TiledCopy(copy)) => Ok(copy.as_ref().clone()),
            _ => self.wrong(
                argument,
                "a tiled copy: make_tiled_copy(atom, threads, values)",
            ),
        }
    }
}

/// An operation that gives a layout, on whichever layout an argument is; behind a swizzle on the
/// one inside.
macro_rules! on_layout {
    ($args:ident, $at:expr, $l:ident, $I:ident => $result:expr) => {
        match $args.swizzled($at) {
            Some(all) => {
                #[allow(dead_code)]
                type $I = i64;
                let $l = &all.inner;
                let inner: tilewright_layout::Layout = $result;
                Ok($crate::value::Value::from(all.with_inner(inner)))
            }
            None => Ok(with_tensor!(&$args.tensor($at)?, $l, $I => $result.into())),
        }
    };
}

/// An operation that gives a layout and its offset, likewise; the offset goes inside the swizzle.
macro_rules! on_part {
    ($args:ident, $at:expr, $l:ident, $I:ident => $result:expr) => {
        match $args.swizzled($at) {
            Some(all) => {
                #[allow(dead_code)]
                type $I = i64;
                let $l = &all.inner;
                let (inner, offset): (tilewright_layout::Layout, i64) = $result;
                let mut part = all.with_inner(inner);
                part.offset = tilewright_layout::Int::try_add(&all.offset, &offset)?;
                Ok($crate::value::Value::from(part))
            }
            None => Ok(with_tensor!(&$args.tensor($at)?, $l, $I => $result.into())),
        }
    };
}

pub(super) use {on_layout, on_part};

/// Layouts brought to one kind.
#[derive(Debug, Clone)]
pub enum Unified {
    /// See [`Tensor::Plain`].
    Plain(Vec<Layout>),
    /// See [`Tensor::Coords`].
    Coords(Vec<Layout<i64, Basis<i64>>>),
    /// See [`Tensor::Symbolic`].
    Symbolic(Vec<Layout<Sym>>),
    /// See [`Tensor::SymbolicCoords`].
    SymbolicCoords(Vec<Layout<Sym, Basis<Sym>>>),
}

impl Arguments<'_> {
    /// Layouts as layouts of one kind: numbers become symbols where others have symbols.
    pub fn unify(self, tensors: Vec<Tensor>) -> Taken<Unified> {
        let symbolic = tensors.iter().any(|t| matches!(t, Tensor::Symbolic(_)));
        let (mut plain, mut coords) = (Vec::new(), Vec::new());
        let (mut symbols, mut symbol_coords) = (Vec::new(), Vec::new());
        let count = tensors.len();
        for tensor in tensors {
            match tensor {
                Tensor::Plain(l) if symbolic => symbols.push(lift(&l)?),
                Tensor::Plain(l) => plain.push(l),
                Tensor::Coords(l) => coords.push(l),
                Tensor::Symbolic(l) => symbols.push(l),
                Tensor::SymbolicCoords(l) => symbol_coords.push(l),
            }
        }
        match count {
            n if n == plain.len() => Ok(Unified::Plain(plain)),
            n if n == coords.len() => Ok(Unified::Coords(coords)),
            n if n == symbols.len() => Ok(Unified::Symbolic(symbols)),
            n if n == symbol_coords.len() => Ok(Unified::SymbolicCoords(symbol_coords)),
            n => self.wrong(
                n - 1,
                "layouts of one kind: all of offsets or all of coordinates",
            ),
        }
    }
}

/// The tiled MMA of one atom.
pub fn one_atom(atom: MmaAtom) -> Result<TiledMma> {
    let keep = [Tiler::Keep, Tiler::Keep, Tiler::Keep];
    TiledMma::new(atom, &Layout::flat(&[1, 1, 1], &[0, 0, 0])?, keep)
}

/// A layout of numbers over another integer.
pub fn lift<I: Int>(layout: &Layout) -> Result<Layout<I>> {
    layout.map(|x| Ok(I::constant(*x)))
}

/// A coordinate of numbers over another integer.
pub fn lift_slots<I: Int>(coord: &IntTuple<Slot<i64>>) -> IntTuple<Slot<I>> {
    coord.map(|slot| match slot {
        Slot::Keep => Slot::Keep,
        Slot::At(x) => Slot::At(I::constant(*x)),
    })
}

/// A tiler of numbers over another integer.
pub fn lift_tiler<I: Int>(tiler: &Tiler) -> Result<Tiler<I>> {
    Ok(match tiler {
        Tiler::Keep => Tiler::Keep,
        Tiler::Layout(layout) => Tiler::Layout(lift(layout)?),
        Tiler::Modes(modes) => Tiler::Modes(modes.iter().map(lift_tiler).collect::<Result<_>>()?),
    })
}
