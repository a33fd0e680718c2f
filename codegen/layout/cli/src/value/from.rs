//! Results of the algebra as values.

use tilewright_layout::{
    Basis, ComposedLayout, CopyAtom, Holder, Int as _, IntTuple, InverseLayout, Layout, MmaAtom,
    Stride as _, Swizzle, Sym, TiledCopy, TiledMma,
};

use super::{Tensor, Value};

/// The values that are a result and nothing more.
macro_rules! values {
    ($($from:ty => $value:expr;)+) => {
        $(impl From<$from> for Value {
            fn from(result: $from) -> Value {
                $value(result)
            }
        })+
    };
}

values! {
    Layout => |l| Value::Tensor(Tensor::Plain(l));
    Layout<i64, Basis<i64>> => |l| Value::Tensor(Tensor::Coords(l));
    Layout<Sym> => |l| Value::Tensor(Tensor::Symbolic(l));
    Layout<Sym, Basis<Sym>> => |l| Value::Tensor(Tensor::SymbolicCoords(l));
    Tensor => Value::Tensor;
    i64 => Value::Int;
    bool => Value::Bool;
    Basis<Sym> => Value::Basis;
    Swizzle => Value::Swizzle;
    ComposedLayout => Value::Composed;
    InverseLayout => Value::Inverse;
    MmaAtom => Value::MmaAtom;
    TiledMma => |mma| Value::TiledMma(Box::new(mma));
    CopyAtom => Value::CopyAtom;
    TiledCopy => |copy| Value::TiledCopy(Box::new(copy));
}

impl From<Sym> for Value {
    fn from(number: Sym) -> Value {
        match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Symbol(number),
        }
    }
}

impl From<IntTuple<i64>> for Value {
    fn from(tuple: IntTuple<i64>) -> Value {
        match tuple.as_leaf() {
            Some(&number) => Value::Int(number),
            None => Value::Tuple(tuple),
        }
    }
}

impl From<Basis<i64>> for Value {
    fn from(value: Basis<i64>) -> Value {
        let terms = value.terms().iter();
        // The paths differ, so no sum can overflow.
        let lifted = terms.fold(Basis::default(), |sum: Basis<Sym>, (path, c)| {
            let term = Basis::scaled_unit(Sym::constant(*c), *path);
            sum.plus(&term).unwrap_or(sum)
        });
        Value::Basis(lifted)
    }
}

impl From<Holder> for Value {
    fn from(holder: Holder) -> Value {
        (holder.thread, holder.value).into()
    }
}

impl<A: Into<Value>, B: Into<Value>> From<(A, B)> for Value {
    fn from((a, b): (A, B)) -> Value {
        Value::List(vec![a.into(), b.into()])
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}
