//! Swizzles as specs write them: by the hardware's byte names or in the algebra's own form.

use tilewright_layout::Swizzle;

use super::read::{Field, Reader};
use crate::dtype::DType;
use crate::error::shown;
use crate::spec::yaml::nearest::suggestion;
use crate::spec::yaml::node::Value;

/// Byte names with their number of XOR-ed bits: `Sw<bits,4,3>` on bytes, as the shared-memory
/// swizzles of TMA and wgmma.
pub(in crate::spec) const BYTE_NAMES: &[(&str, i64)] = &[("32B", 1), ("64B", 2), ("128B", 3)];

impl Reader<'_> {
    /// Bytes of an element of the operand that the field is of, where its type is known.
    pub(in crate::spec) fn bytes_of(&self, field: &Field<'_>) -> Option<u32> {
        let path = format!("operands.{}.dtype", field.name);
        match &self.tree.find(&path)?.value {
            Value::Scalar { text, .. } => crate::dtype::named(text).map(DType::bytes),
            _ => None,
        }
    }

    /// A swizzle in elements of that size. The byte names need the size; without it they are left
    /// unread.
    pub(in crate::spec) fn swizzle(
        &mut self,
        field: &Field<'_>,
        element_bytes: Option<u32>,
    ) -> Option<Swizzle> {
        let text = self.scalar(
            field,
            "`auto`, `none`, `32B`, `64B`, `128B` or \"Sw<3,3,3>\"",
        )?;
        if text == "none" {
            return Some(Swizzle::NONE);
        }
        if let Some((_, bits)) = BYTE_NAMES.iter().find(|(name, _)| *name == text) {
            let log2 = element_bytes
                .filter(|bytes| bytes.is_power_of_two())?
                .ilog2();
            return Swizzle::new(*bits, 4 - i64::from(log2), 3).ok();
        }
        if !text.starts_with("Sw") {
            let bytes = text
                .strip_suffix('B')
                .and_then(|digits| digits.parse::<u32>().ok());
            let help = match bytes {
                Some(0..48) => "use `32B`".to_string(),
                Some(48..96) => "use `64B`".to_string(),
                Some(_) => "use `128B`".to_string(),
                None => suggestion(text, &["auto", "none", "32B", "64B", "128B"]),
            };
            let message = format!(
                "`{}` is `{}`; known are `auto`, `none`, `32B`, `64B`, `128B` and the form \
                 \"Sw<3,3,3>\"",
                field.path,
                shown(text)
            );
            self.problems
                .add("unknown-swizzle", &field.node.span, message, help);
            return None;
        }
        self.algebraic(field, text)
    }

    fn algebraic(&mut self, field: &Field<'_>, text: &str) -> Option<Swizzle> {
        match text.parse::<Swizzle>() {
            Ok(swizzle)
                if swizzle.base() + swizzle.bits() + swizzle.shift().unsigned_abs() <= 24 =>
            {
                Some(swizzle)
            }
            Ok(swizzle) => {
                let message = format!(
                    "`{}` is {swizzle}, whose fields end beyond bit 24",
                    field.path
                );
                self.problems.add(
                    "unknown-swizzle",
                    &field.node.span,
                    message,
                    "use \"Sw<3,3,3>\" or smaller fields",
                );
                None
            }
            Err(error) => {
                let (at, message) = match error {
                    tilewright_layout::Error::Parse { at, message } => (at, message),
                    other => (0, other.to_string()),
                };
                let at = text.floor_char_boundary(at);
                let span = self.part(field.node, at..text.len());
                let message = format!("`{}` is no swizzle: {message}", field.path);
                self.problems.add(
                    "swizzle-syntax",
                    &span,
                    message,
                    "write it in the form \"Sw<3,3,3>\"",
                );
                None
            }
        }
    }
}
