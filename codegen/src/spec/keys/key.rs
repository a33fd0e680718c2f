//! What a key of a spec is: the type of its value, its limits, its meaning, its piece of an id.
//!
//! The keys themselves are the rows of the model. Comes in: a kind of map and a shape. Goes out:
//! the keys of that map, with the operands' names where it is a map by operand.

use crate::atoms::model::Space;
use crate::spec::kernel::forms::FormKind;
use crate::spec::kernel::shape::{OperandShape, Shape};
use crate::spec::words::vocabulary::List;

/// One key of a map.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct Key {
    /// The key as written.
    pub name: &'static str,
    /// What it means, one sentence.
    pub doc: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Forms of formulas whose specs hold it.
    pub forms: &'static [FormKind],
    /// Whether it must be written.
    pub required: bool,
    /// Whether `auto` is a value, and the default.
    pub auto: bool,
    /// Whether `tune` may vary it.
    pub tunable: bool,
    /// Whether only a default formula has it.
    pub of_default: bool,
    /// Its piece of a point's id.
    pub piece: Option<Piece>,
}

/// The piece of a point's id that says a key's value.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct Piece {
    /// Its place among the pieces, which is not that of the key in the file.
    pub place: u8,
    /// What stands before the short form of the value.
    pub letter: &'static str,
    /// Whether it is there only where the key is tuned.
    pub tuned: bool,
}

/// Type of a value.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) enum Kind {
    /// Word of the kernel.
    Kernel,
    /// Name of the spec.
    Name,
    /// PTX target.
    Arch,
    /// Element type.
    DType,
    /// Layout of an operand, two extents with their strides.
    Layout,
    /// Name of an operand.
    Other,
    /// Extents of the CTA's tile, as many as its formula has modes to cut.
    Tile,
    /// Three positive integers whose product is bounded.
    Triple { most: i64 },
    /// An integer, a multiple of `step`.
    Int { least: i64, most: i64, step: i64 },
    /// Id of an MMA atom.
    MmaAtom,
    /// Id of a copy atom between two memory spaces.
    CopyAtom { from: Space, to: Space },
    /// Swizzle of a shared-memory tile.
    Swizzle,
    /// A word of a closed list.
    Word(&'static List),
    /// A formula.
    Compute,
    /// A map from name to type.
    Scalars,
    /// A map from mode to extent.
    Modes,
    /// A map with these keys.
    Record(&'static [Key]),
    /// A map from operand to type and layout.
    Operands,
    /// A map from operand to data path, whose hops are these.
    Paths(&'static [Key]),
    /// The data path of one operand: those of the hops that lead its way.
    Way { hops: &'static [Key], output: bool },
    /// A map from operand to swizzle.
    Swizzles,
    /// A map from dotted path to values.
    Tune,
}

impl Kind {
    /// Whether it is a map from keys to values.
    pub fn is_map(self) -> bool {
        use Kind::{Operands, Paths, Record, Swizzles, Way};
        matches!(
            self,
            Record(_) | Operands | Paths(_) | Way { .. } | Swizzles
        )
    }

    /// Whether it is of the way of an output, or of an input: hops of an output's lead to global
    /// memory, or off registers; what is no hop is of both.
    fn is_of(self, output: bool) -> bool {
        match self {
            Kind::CopyAtom { from, to } => output == (to == Space::Gmem || from == Space::Rmem),
            _ => true,
        }
    }
}

const ALL: &[FormKind] = &[FormKind::Rows, FormKind::Contraction, FormKind::Chain];
const PRODUCTS: &[FormKind] = &[FormKind::Contraction, FormKind::Chain];

/// A key whose name and meaning are those of the model's field.
pub(in crate::spec) const fn key(kind: Kind) -> Key {
    Key {
        name: "",
        doc: "",
        kind,
        forms: ALL,
        required: false,
        auto: false,
        tunable: false,
        of_default: false,
        piece: None,
    }
}

/// An integer from `least` to `most`, a multiple of `step`.
pub(in crate::spec) const fn int(least: i64, most: i64, step: i64) -> Key {
    key(Kind::Int { least, most, step })
}

/// The id of an atom that moves an operand's data from one memory space to another.
pub(in crate::spec) const fn hop(from: Space, to: Space) -> Key {
    key(Kind::CopyAtom { from, to })
}

impl Key {
    /// The same, with the name of a field and the field's meaning; `auto` is a
    /// value and may be tuned where the field's type has it.
    pub const fn of(self, field: &'static str, doc: &'static str, auto: bool) -> Key {
        Key {
            name: field,
            doc: doc.trim_ascii(),
            auto: auto || self.auto,
            tunable: auto || self.tunable,
            ..self
        }
    }

    /// It must be written.
    pub const fn required(self) -> Key {
        Key {
            required: true,
            ..self
        }
    }

    /// Only formulas with sums of products have it.
    pub const fn of_products(self) -> Key {
        Key {
            forms: PRODUCTS,
            ..self
        }
    }

    /// Only formulas without them have it.
    pub const fn of_rows(self) -> Key {
        Key {
            forms: &[FormKind::Rows],
            ..self
        }
    }

    /// `auto` is a value, and the default.
    const fn auto(self) -> Key {
        Key { auto: true, ..self }
    }

    /// Where `compute` is written it is not.
    pub const fn of_default(self) -> Key {
        Key {
            of_default: true,
            ..self
        }
    }

    /// `tune` may vary it.
    pub const fn tunable(self) -> Key {
        Key {
            tunable: true,
            ..self
        }
    }

    /// Its value stands in every id.
    pub const fn piece(self, place: u8, letter: &'static str) -> Key {
        let piece = Piece {
            place,
            letter,
            tuned: false,
        };
        Key {
            piece: Some(piece),
            ..self
        }
    }

    /// Its value stands in the ids of spaces that vary it.
    pub const fn tuned_piece(self, place: u8, letter: &'static str) -> Key {
        let piece = Piece {
            place,
            letter,
            tuned: true,
        };
        Key {
            piece: Some(piece),
            ..self
        }
    }
}

/// Keys of one operand.
pub(in crate::spec) static OPERAND: &[Key] = &[
    key(Kind::DType)
        .required()
        .of("dtype", "Element type in memory.", false),
    key(Kind::Layout).required().of(
        "layout",
        "Extents and their strides in elements, such as `(m,k):(lda,1)`: numbers, names of the \
         caller's, or products of extents. `(m,k)` alone is without gaps, as `(m,k):(k,1)` is. \
         `()` is one element without modes, such as a scale in memory, which formulas read by its \
         name alone: `* sc`.",
        false,
    ),
    key(Kind::Other).of(
        "over",
        "Of an output: the input that it may take the place of. A launch may give both one memory, \
         with the same start and strides, or the output memory of its own: let its layout have \
         names of strides of its own.",
        false,
    ),
];

/// A key of the map of one file.
#[derive(Clone, Debug)]
pub(in crate::spec) struct Named {
    /// Its name: the row's, or an operand's.
    pub name: String,
    /// Its row.
    pub key: Key,
}

/// The keys of a map of that kind in a file of that shape; `None` for kinds that are no such map.
pub(in crate::spec) fn fields(kind: Kind, shape: &Shape) -> Option<Vec<Named>> {
    let per_operand = |doc: &'static str, make: &dyn Fn(bool) -> Key| {
        let row = |operand: &OperandShape| {
            let row = make(operand.is_written());
            Named {
                name: operand.name.clone(),
                key: row.of("", doc, row.auto),
            }
        };
        shape.operands.iter().map(row).collect()
    };
    let static_name = |key: &Key| Named {
        name: key.name.to_owned(),
        key: *key,
    };
    Some(match kind {
        Kind::Record(keys) => keys
            .iter()
            .filter(|key| key.forms.contains(&shape.form))
            .filter(|key| !key.of_default || !shape.is_written)
            .map(static_name)
            .collect(),
        Kind::Way { hops, output } => hops
            .iter()
            .filter(|hop| hop.kind.is_of(output))
            .filter(|hop| hop.forms.contains(&shape.form))
            .map(static_name)
            .collect(),
        Kind::Operands => per_operand("Type and layout of the operand.", &|_| {
            key(Kind::Record(OPERAND)).required()
        }),
        Kind::Paths(hops) => per_operand("Atoms of the operand's way.", &|output| {
            key(Kind::Way { hops, output })
        }),
        Kind::Swizzles => per_operand("Swizzle of the operand's tile in shared memory.", &|_| {
            key(Kind::Swizzle).auto()
        }),
        _ => return None,
    })
}

/// Every dotted path to a single value of a map of that kind, with its key, in the order of the
/// table.
pub(in crate::spec) fn paths_of(kind: Kind, shape: &Shape) -> Vec<(String, Key)> {
    let mut out = vec![];
    walk(kind, shape, "", &mut out);
    out
}

fn walk(kind: Kind, shape: &Shape, prefix: &str, out: &mut Vec<(String, Key)>) {
    for Named { name, key } in fields(kind, shape).unwrap_or_default() {
        let path = format!("{prefix}{name}");
        match key.kind {
            Kind::Tune | Kind::Scalars | Kind::Modes => {}
            kind if kind.is_map() => walk(kind, shape, &format!("{path}."), out),
            _ => out.push((path, key)),
        }
    }
}
