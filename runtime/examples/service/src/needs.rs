//! Memory that weights and the products with them take, as it is counted before it is taken.

use crate::matrix::{Shape, Types};

/// What a device takes for what is computed on it.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Whether it is the emulator, whose memory is the process's own.
    pub is_emulated: bool,
}

impl Needs {
    /// Bytes of the product of so many rows with a weight, beside the weight itself: rows and
    /// results on the device, and the same once more on the host, where those of several requests
    /// are put together and taken apart.
    pub fn product(self, types: Types, weight: Shape, rows: usize) -> usize {
        let bytes = |shape: Shape, dtype| shape.bytes(dtype).unwrap_or(usize::MAX);
        let columns = weight.columns;
        let a = bytes(Shape { rows, columns }, types.a);
        let columns = weight.rows;
        let d = bytes(Shape { rows, columns }, types.d);
        let on_device = a.saturating_add(d);
        let b = bytes(weight, types.b);
        on_device
            .saturating_mul(2)
            .saturating_add(self.launch(on_device.saturating_add(b)))
    }

    /// Bytes of a launch's scratch memory.
    pub fn scratch(self, bytes: usize) -> usize {
        match self.is_emulated {
            true => self.launch(bytes),
            false => bytes,
        }
    }

    /// Bytes that a launch takes for memory of so many bytes. The emulator copies all of it, with a
    /// byte for every four that says which of them are written, and copies it back; a GPU works on
    /// the memory itself.
    fn launch(self, bytes: usize) -> usize {
        match self.is_emulated {
            true => bytes.saturating_mul(2).saturating_add(bytes / 4),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_runtime::bundle::DType;

    #[test]
    fn a_product_takes_what_it_is_of_and_no_more() {
        let (a, b, d) = (DType::BF16, DType::BF16, DType::F32);
        let weight = Shape {
            rows: 1000,
            columns: 10,
        };
        let needs = |is_emulated, rows| {
            let needs = Needs { is_emulated };
            (
                needs.product(Types { a, b, d }, weight, rows),
                needs.scratch(100),
            )
        };
        // Rows of 20 bytes give rows of 4000, with a weight of 20000.
        assert_eq!(needs(false, 1), (8040, 100));
        assert_eq!(needs(false, 3), (24120, 100));
        assert_eq!(needs(true, 1), (8040 + 48040 + 6005, 225));
        assert_eq!(needs(true, usize::MAX).0, usize::MAX);
    }
}
