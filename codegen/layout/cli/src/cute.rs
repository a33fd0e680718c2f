//! What types and expressions of CuTe are in the notation of the algebra.
//!
//! Comes in: untrusted text such as `Layout<Shape<_4,_8>,Stride<_8,_1>>`, as headers and errors of
//! compilers have it. Goes out: `(4,8):(8,1)`; nothing of what is no layout, tuple or swizzle. Of a
//! literal that is none here, what CuTe means by it.

use tilewright_layout::{Layout, Tiler};

/// Deepest nesting of types.
const MOST_NESTED: usize = 64;

/// The type in the notation of the algebra.
pub fn written(text: &str) -> Option<String> {
    let mut reader = Reader { rest: text };
    let own = reader.one(0)?;
    reader.rest.trim().is_empty().then_some(own)
}

/// What CuTe means by a literal that is none here, and how that is written.
pub fn meant(text: &str) -> Option<String> {
    called(text).or_else(|| tupled(text))
}

/// `(2:1,4:1)`.
fn tupled(text: &str) -> Option<String> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let tiler = format!("<{inner}>");
    let is_one = inner.contains(':') && tiler.parse::<Tiler>().is_ok();
    is_one.then(|| format!("a tuple of layouts is a tiler: write `{tiler}`"))
}

/// `(8,8):(8,1)(2,3)`.
fn called(text: &str) -> Option<String> {
    let inner = text.strip_suffix(')')?;
    let mut open = 1;
    let start = inner.rfind(|c: char| {
        open += i32::from(c == ')') - i32::from(c == '(');
        open == 0
    })?;
    let (layout, coordinate) = (text.get(..start)?.trim_end(), inner.get(start + 1..)?);
    layout.parse::<Layout>().ok()?;
    let coordinate = match coordinate.contains(',') {
        true => format!("({coordinate})"),
        false => coordinate.to_owned(),
    };
    let at = format!("at({layout}, {coordinate})");
    Some(format!("a layout's value at a coordinate is `{at}`"))
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// A type, a constant or a number.
    fn one(&mut self, depth: usize) -> Option<String> {
        let name = self.name();
        if !self.eat('<') {
            let digits = name.strip_prefix('_').unwrap_or(name);
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            return is_number.then(|| digits.to_owned());
        }
        if depth == MOST_NESTED {
            return None;
        }
        let mut all = Vec::new();
        loop {
            all.push(self.one(depth + 1)?);
            if !self.eat(',') {
                break;
            }
        }
        if !self.eat('>') {
            return None;
        }
        match (name, &*all) {
            ("Int" | "C" | "constant", [one]) => Some(one.clone()),
            ("Layout", [shape, stride]) => Some(format!("{shape}:{stride}")),
            ("Swizzle", [_, _, _]) => Some(format!("Sw<{}>", all.join(","))),
            ("Shape" | "Stride" | "Step" | "Coord" | "Tile" | "tuple", _) => {
                Some(format!("({})", all.join(",")))
            }
            _ => None,
        }
    }

    /// A name, without the namespace.
    fn name(&mut self) -> &'t str {
        let text = self.rest.trim_start();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        self.rest = rest;
        name.rsplit("::").next().unwrap_or(name)
    }

    fn eat(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_cute_have_a_form_of_the_algebra() {
        for (text, own) in [
            ("Swizzle<3,3,3>", "Sw<3,3,3>"),
            ("cute::Swizzle< 2, 4, 3 >", "Sw<2,4,3>"),
            ("Layout<Shape<_4,_8>,Stride<_8,_1>>", "(4,8):(8,1)"),
            (
                "Layout<Shape<Shape<_2,Int<16>>,cute::C<8>>, Stride<Stride<_1, _2>, _32>>",
                "((2,16),8):((1,2),32)",
            ),
        ] {
            assert_eq!(written(text).as_deref(), Some(own));
        }
        for text in [
            "Layout<_4>",
            "Swizzle<3,3>",
            "Swizzle<3,3,3",
            "Swizzle<3,3,3>(65)",
            "Layout<Shape<X>,Stride<_1>>",
            "Other<1>",
            "<",
        ] {
            assert_eq!(written(text), None, "{text}");
        }
        assert_eq!(written(&"Shape<".repeat(10_000)), None);
    }

    #[test]
    fn literals_of_cute_have_a_form_of_the_algebra() {
        for (text, own) in [
            ("(2:1,4:1)", "write `<2:1,4:1>`"),
            ("(8,8):(8,1)(2,3)", "`at((8,8):(8,1), (2,3))`"),
            ("(8,8):(8,1)(2,(1,0))", "`at((8,8):(8,1), (2,(1,0)))`"),
            ("4:2(3)", "`at(4:2, 3)`"),
        ] {
            let hint = meant(text).unwrap_or_default();
            assert!(hint.ends_with(own), "{text}: {hint}");
        }
        for text in [
            "(4,8:(1,4), 2:1)",
            "(4,8):(1)",
            "4:(2)",
            "(4,8",
            "()",
            ")",
            "(3)(4)",
        ] {
            assert_eq!(meant(text), None, "{text}");
        }
    }
}
