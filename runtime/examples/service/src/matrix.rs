//! Matrices on the wire: their headers, and integers as elements.

use tilewright_runtime::bundle::DType;

/// Header with the number of rows.
pub const ROWS: &str = "x-rows";
/// Header with the number of columns.
pub const COLUMNS: &str = "x-columns";
/// Header with the type of the elements: `bf16`.
pub const DTYPE: &str = "x-dtype";

/// Header with the name of the function, needed where the service has several.
pub const FUNCTION: &str = "x-function";

/// A matrix as headers tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

impl Shape {
    /// Bytes of so many elements of a type, or `None` when they are too many to count.
    pub fn bytes(self, dtype: DType) -> Option<usize> {
        let elements = self.rows.checked_mul(self.columns)?;
        elements.checked_mul(dtype.bytes() as usize)
    }
}

/// The types of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types {
    /// Of the rows that are posted.
    pub a: DType,
    /// Of the weights.
    pub b: DType,
    /// Of the results.
    pub d: DType,
}

/// A small integer as an element: each of the types holds it exactly. `None` for types that the
/// client does not draw.
pub fn element(dtype: DType, value: i32) -> Option<Vec<u8>> {
    let bits = (value as f32).to_bits();
    match dtype {
        DType::F32 => Some(bits.to_le_bytes().to_vec()),
        // The upper half of an f32, whose lower half is zero here.
        DType::BF16 => Some(((bits >> 16) as u16).to_le_bytes().to_vec()),
        DType::F16 => Some(f16_bits(value).to_le_bytes().to_vec()),
        DType::S8 => Some(vec![value as i8 as u8]),
        DType::S32 => Some(value.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// The largest integer up to which a type holds all.
pub fn largest_integer(dtype: DType) -> i32 {
    match dtype {
        DType::F32 | DType::S32 => 1 << 24,
        DType::F16 => 1 << 11,
        DType::BF16 => 1 << 8,
        _ => 127,
    }
}

/// An integer of at most 2048 as an f16.
fn f16_bits(value: i32) -> u16 {
    let bits = (value as f32).to_bits();
    if value == 0 {
        return 0;
    }
    let sign = (bits >> 16) as u16 & 0x8000;
    // From a bias of 127 to one of 15, from 23 bits of the fraction to 10.
    let exponent = (bits >> 23 & 0xFF) as u16 - 112;
    sign | exponent << 10 | (bits >> 13 & 0x3FF) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_what_the_types_say() {
        let hex = |dtype, value| {
            let bytes = element(dtype, value).unwrap_or_default();
            bytes
                .iter()
                .rev()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        assert_eq!(hex(DType::F16, 1), "3c00");
        assert_eq!(hex(DType::F16, -2048), "e800");
        assert_eq!(hex(DType::F16, 0), "0000");
        assert_eq!(hex(DType::BF16, -3), "c040");
        assert_eq!(hex(DType::F32, 256), "43800000");
        assert_eq!(hex(DType::S8, -1), "ff");
        assert_eq!(hex(DType::S32, -2), "fffffffe");
    }
}
