//! What each form of formula is made by, as data: element types, order of tiles.
//!
//! The form of a formula says which skeleton computes it, and so which keys its spec has. It is
//! told by the formula's data flow, never by the kernel's word.

use tilewright_formula::form::{self, Form};

use crate::dtype::DType;
use crate::spec::words::vocabulary::Raster;

/// A form of formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormKind {
    /// Maps with folds; a copy is one without.
    Rows,
    /// A sum of products.
    Contraction,
    /// Two of them, one on the rows of the other.
    Chain,
}

/// What an operand is to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The factor with the output's first mode: the rows of the MMA.
    A,
    /// The factor with the output's second mode: the columns of the MMA.
    B,
    /// What is read where there is no product.
    Source,
    /// What is read beside the factors of a product: a bias, a scale, a table.
    Extra,
    /// What is written.
    Output,
}

impl Role {
    /// The factors of a product, that of rows first.
    pub const FACTORS: [Role; 2] = [Role::A, Role::B];

    /// Which factor of a product it is; none of what is no factor.
    pub fn factor(self) -> Option<usize> {
        Role::FACTORS.iter().position(|role| *role == self)
    }
}

/// A set of element types that a product is made of.
#[derive(Debug)]
pub struct TypeRule {
    /// Types of the factors.
    pub factors: [DType; 2],
    /// Type sums are held in.
    pub accumulator: DType,
    /// Types the output may have.
    pub outputs: &'static [DType],
}

impl TypeRule {
    /// Whether an operand of that role may have that type.
    pub fn takes(&self, role: Role, dtype: DType) -> bool {
        match role {
            Role::Output => self.outputs.contains(&dtype),
            _ => dtype == self.factors[role.factor().unwrap_or_default()],
        }
    }

    /// The one type of both factors.
    pub fn both(&self) -> Option<DType> {
        let [a, b] = self.factors;
        (a == b).then_some(a)
    }

    /// Whether a factor is a float of 8 bits.
    pub fn is_of_float8(&self) -> bool {
        let mut factors = self.factors.iter();
        factors.any(|dtype| matches!(dtype, DType::E4M3 | DType::E5M2))
    }
}

/// Facts of one form.
#[derive(Debug)]
pub struct FormFacts {
    /// The form.
    pub form: FormKind,
    /// Its name.
    pub name: &'static str,
    /// Order of the output tiles where a spec leaves it open.
    pub raster: Raster,
    /// Legal element types. Empty: any type, the same for all operands.
    pub types: &'static [TypeRule],
}

/// Every form, in the order of [`form::FORMS`].
pub static FORMS: [FormFacts; 3] = [
    FormFacts {
        form: FormKind::Rows,
        name: form::FORMS[0],
        raster: Raster::Row,
        types: &[],
    },
    FormFacts {
        form: FormKind::Contraction,
        name: form::FORMS[1],
        raster: Raster::Grouped(8),
        types: PRODUCTS,
    },
    FormFacts {
        form: FormKind::Chain,
        name: form::FORMS[2],
        raster: Raster::Row,
        types: PRODUCTS,
    },
];

const fn product(factors: [DType; 2], accumulator: DType, outputs: &'static [DType]) -> TypeRule {
    TypeRule {
        factors,
        accumulator,
        outputs,
    }
}

/// Element types that are multiplied.
const PRODUCTS: &[TypeRule] = {
    use DType::{BF16, E4M3, E5M2, F16, F32, F64, S8, S32, TF32, U8};
    &[
        product([F16; 2], F32, &[F16, F32]),
        product([BF16; 2], F32, &[BF16, F32]),
        product([F32; 2], F32, &[F32]),
        product([F64; 2], F64, &[F64]),
        product([TF32; 2], F32, &[F32]),
        product([E4M3; 2], F32, &[F16, BF16, F32]),
        product([E5M2; 2], F32, &[F16, BF16, F32]),
        product([E4M3, E5M2], F32, &[F16, BF16, F32]),
        product([E5M2, E4M3], F32, &[F16, BF16, F32]),
        product([S8; 2], S32, &[S32]),
        product([U8; 2], S32, &[S32]),
    ]
};

impl FormKind {
    /// The form of what was found.
    pub fn of(form: &Form) -> FormKind {
        match form {
            Form::Rows(_) => FormKind::Rows,
            Form::Contraction(_) => FormKind::Contraction,
            Form::Chain(_) => FormKind::Chain,
        }
    }

    /// The facts of this form.
    pub fn facts(self) -> &'static FormFacts {
        &FORMS[self as usize]
    }
}
