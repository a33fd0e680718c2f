//! The types PTX instructions name.

/// A PTX type, as a modifier of an instruction or in a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[repr(u8)]
pub(crate) enum Ty {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    U4,
    S4,
    B1,
    U16x2,
    S16x2,
    U2,
    S2,
}

const NAMES: &[(&str, Ty, u32)] = &[
    ("pred", Ty::Pred, 1),
    ("b8", Ty::B8, 8),
    ("b16", Ty::B16, 16),
    ("b32", Ty::B32, 32),
    ("b64", Ty::B64, 64),
    ("b128", Ty::B128, 128),
    ("u8", Ty::U8, 8),
    ("u16", Ty::U16, 16),
    ("u32", Ty::U32, 32),
    ("u64", Ty::U64, 64),
    ("s8", Ty::S8, 8),
    ("s16", Ty::S16, 16),
    ("s32", Ty::S32, 32),
    ("s64", Ty::S64, 64),
    ("f16", Ty::F16, 16),
    ("f16x2", Ty::F16x2, 32),
    ("bf16", Ty::Bf16, 16),
    ("bf16x2", Ty::Bf16x2, 32),
    ("f32", Ty::F32, 32),
    ("f64", Ty::F64, 64),
    ("tf32", Ty::Tf32, 32),
    ("e4m3", Ty::E4m3, 8),
    ("e5m2", Ty::E5m2, 8),
    ("e4m3x2", Ty::E4m3x2, 16),
    ("e5m2x2", Ty::E5m2x2, 16),
    ("u4", Ty::U4, 4),
    ("s4", Ty::S4, 4),
    ("b1", Ty::B1, 1),
    ("u16x2", Ty::U16x2, 32),
    ("s16x2", Ty::S16x2, 32),
    ("u2", Ty::U2, 2),
    ("s2", Ty::S2, 2),
];

impl Ty {
    /// The type of a modifier without its dot.
    pub(crate) fn parse(name: &str) -> Option<Ty> {
        NAMES
            .iter()
            .find(|entry| entry.0 == name)
            .map(|entry| entry.1)
    }

    /// The text without the dot.
    pub(crate) fn name(self) -> &'static str {
        NAMES.get(self as usize).map_or("?", |entry| entry.0)
    }

    /// Bits of one value.
    pub(crate) fn bits(self) -> u32 {
        NAMES.get(self as usize).map_or(0, |entry| entry.2)
    }

    /// Bytes in memory.
    pub(crate) fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(
            self,
            Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64 | Ty::S4 | Ty::S2 | Ty::S16x2
        )
    }

    /// Whether it is a number without a fraction: of bits alone nothing is known.
    pub(crate) fn is_integer(self) -> bool {
        self.is_signed() || matches!(self, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::U16x2)
    }

    pub(crate) fn is_float(self) -> bool {
        use Ty::*;
        matches!(
            self,
            F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64 | Tf32 | E4m3 | E5m2
        )
    }
}

/// A set of types, as a bit mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeSet(pub(crate) u64);

impl TypeSet {
    pub(crate) const fn of(types: &[Ty]) -> TypeSet {
        let mut mask = 0;
        let mut i = 0;
        while i < types.len() {
            mask |= 1 << types[i] as u64;
            i += 1;
        }
        TypeSet(mask)
    }

    pub(crate) const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    pub(crate) fn has(self, ty: Ty) -> bool {
        self.0 >> ty as u64 & 1 == 1
    }

    /// The names in the set, for messages.
    pub(crate) fn names(self) -> String {
        let all = NAMES.iter().filter(|entry| self.has(entry.1));
        all.map(|entry| format!(".{}", entry.0))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_order_of_the_enum() {
        for (index, entry) in NAMES.iter().enumerate() {
            assert_eq!(entry.1 as usize, index, "{}", entry.0);
        }
    }
}
