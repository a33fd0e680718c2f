//! Element types, with their spelling and size.

use serde::{Deserialize, Serialize};

macro_rules! dtypes {
    ($($variant:ident $text:literal $bits:literal),* $(,)?) => {
        /// An element type, named as PTX names it.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "lowercase")]
        pub enum DType { $(#[doc = concat!("`", $text, "`, ", $bits, " bits.")] $variant),* }

        impl DType {
            /// Every element type.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The spelling in specs and manifests.
            pub const fn text(self) -> &'static str {
                match self { $(DType::$variant => $text),* }
            }

            /// Bits of one element in memory.
            pub const fn bits(self) -> u32 {
                match self { $(DType::$variant => $bits),* }
            }
        }
    };
}

dtypes! {
    F16 "f16" 16, BF16 "bf16" 16, TF32 "tf32" 32, F32 "f32" 32, F64 "f64" 64,
    E4M3 "e4m3" 8, E5M2 "e5m2" 8,
    S8 "s8" 8, U8 "u8" 8, S16 "s16" 16, U16 "u16" 16,
    S32 "s32" 32, U32 "u32" 32, S64 "s64" 64, U64 "u64" 64,
    S4 "s4" 4, U4 "u4" 4, E2M1 "e2m1" 4, UE8M0 "ue8m0" 8,
    B8 "b8" 8, B16 "b16" 16, B32 "b32" 32, B64 "b64" 64, B128 "b128" 128,
}

impl DType {
    /// Bytes that hold one element: of those of four bits, two stand in a byte, low nibble first.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Elements that stand in one byte: more than one of those narrower than a byte.
    pub const fn per_byte(self) -> u32 {
        let together = 8 / self.bits();
        if together > 1 { together } else { 1 }
    }

    /// Bytes that so many elements in a row take, the last byte whole; `None` beyond 64 bits.
    pub const fn row_bytes(self, elements: u64) -> Option<u64> {
        match self.per_byte() {
            1 => elements.checked_mul(self.bytes() as u64),
            together => Some(elements.div_ceil(together as u64)),
        }
    }

    /// The element type that a word of another language or library means: `fp16`, `bfloat16`,
    /// `int8`.
    pub fn meant(word: &str) -> Option<DType> {
        const WORDS: [(DType, &[&str]); 17] = [
            (DType::F16, &["fp16", "half", "float16"]),
            (DType::BF16, &["bfloat16", "bfloat", "bfp16"]),
            (DType::TF32, &["tensorfloat32"]),
            (DType::F32, &["fp32", "float32", "float", "single"]),
            (DType::F64, &["fp64", "float64", "double"]),
            (
                DType::E4M3,
                &["f8", "fp8", "fp8_e4m3", "e4m3fn", "float8_e4m3fn"],
            ),
            (DType::E5M2, &["fp8_e5m2", "float8_e5m2", "bf8"]),
            (DType::E2M1, &["fp4", "e2m1fn", "float4_e2m1fn"]),
            (DType::UE8M0, &["e8m0", "float8_e8m0fnu"]),
            (DType::S4, &["i4", "int4"]),
            (DType::U4, &["uint4"]),
            (DType::S8, &["i8", "int8"]),
            (DType::U8, &["uint8", "bool", "byte"]),
            (DType::S16, &["i16", "int16", "short"]),
            (DType::U16, &["uint16"]),
            (DType::S32, &["i32", "int32", "int"]),
            (DType::S64, &["i64", "int64", "long"]),
        ];
        let word = word.to_ascii_lowercase();
        let mut rows = WORDS.iter();
        let found = rows.find(|(_, words)| words.contains(&word.as_str()));
        found.map(|(dtype, _)| *dtype).or(DType::from_text(&word))
    }

    /// The element type spelled `text`.
    pub fn from_text(text: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.text() == text)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}
