//! Values as users write them: arithmetic, casts and functions of what there is to read.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Functions of one value.
const UNARY: [&str; 27] = [
    "exp({})",
    "log(abs({}) + 1)",
    "sqrt(abs({}))",
    "rsqrt(abs({}) + 0.5)",
    "tanh({})",
    "erf({})",
    "sin({})",
    "cos({})",
    "abs({})",
    "relu({})",
    "sigmoid({})",
    "silu({})",
    "gelu({})",
    "gelu_tanh({})",
    "clamp({}, -3, 3)",
    "softcap({}, 30)",
    "floor({})",
    "round({})",
    "-({})",
    "bf16({})",
    "f16({})",
    "f32({})",
    "bf16({})",
    "f32({})",
    "s8({})",
    "s32({})",
    "f64({})",
];

/// Ways of joining two values.
const BINARY: [&str; 12] = [
    "{} + {}",
    "{} - {}",
    "({}) * ({})",
    "({}) * ({})",
    "max({}, {})",
    "min({}, {})",
    "({}) / (abs({}) + 1)",
    "({}) / ({})",
    "where({} > 0, {}, 0)",
    "where({} < {1}, {1}, 0.5)",
    "where({0} > -1 and {0} <= 1, {0}, {1})",
    "where(not ({0} == {1}) or {1} != 2, {0}, 1)",
];

/// Constants that stand in formulas.
const CONSTANTS: [&str; 13] = [
    "1",
    "0.5",
    "2",
    "1.94",
    "-3",
    "0.044715",
    "1e-6",
    "65504",
    "255",
    "65536",
    "16777619",
    "2147483647",
    "1e30",
];

/// Most terms of a long sum.
const MOST_TERMS: usize = 24;

/// Whether a text reads an element or an intermediate: `c[m]` is not read by `acc[m]`.
pub(super) fn is_read(text: &str, value: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(value).any(|(at, _)| {
        let after = text[at + value.len()..].chars().next();
        let before = text[..at].chars().next_back();
        !before.is_some_and(word) && !after.is_some_and(word)
    })
}

/// What an expression may read.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    readable: Vec<String>,
}

impl Values {
    pub(super) fn add(&mut self, value: String) {
        self.readable.push(value);
    }

    /// A value that is read, or a constant: the short ones more often.
    fn leaf(&self, rng: &mut StdRng) -> String {
        if rng.random_bool(0.15) {
            let most = if rng.random_bool(0.75) {
                6
            } else {
                CONSTANTS.len()
            };
            return CONSTANTS[rng.random_range(0..most)].to_owned();
        }
        self.read(rng)
    }

    fn read(&self, rng: &mut StdRng) -> String {
        self.readable.choose(rng).cloned().unwrap_or_default()
    }

    /// A function of an element, or the element, or a product of two.
    pub(super) fn function(&self, rng: &mut StdRng) -> String {
        let value = self.readable.first().cloned().unwrap_or_default();
        match rng.random_range(0..12) {
            0 => value,
            1 => format!("({value} * {value})"),
            2 => format!("({value} * {})", self.read(rng)),
            3 => format!("abs({value} - {})", self.expression(rng, 1)),
            4 => format!("f32({value}) * {}", self.read(rng)),
            5 => format!("({})", self.expression(rng, 2)),
            _ => {
                let unary = UNARY.choose(rng).copied().unwrap_or("abs({})");
                unary.replace("{}", &value)
            }
        }
    }

    /// A long sum of terms, as nobody's style guide wants it.
    pub(super) fn long_sum(&self, rng: &mut StdRng) -> String {
        let count = rng.random_range(6..=MOST_TERMS);
        let terms: Vec<String> = (0..count).map(|_| self.expression(rng, 1)).collect();
        terms.join(" + ")
    }

    /// An expression of that many levels, of which at least one element is read.
    pub(super) fn expression(&self, rng: &mut StdRng, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(rng);
        }
        if rng.random_bool(0.45) {
            let unary = UNARY.choose(rng).copied().unwrap_or("abs({})");
            let below = match depth {
                1 => self.read(rng),
                _ => self.expression(rng, depth - 1),
            };
            return unary.replace("{}", &below);
        }
        let binary = BINARY.choose(rng).copied().unwrap_or("{} + {}");
        let first = self.expression(rng, depth - 1);
        let second = match depth {
            1 => self.read(rng),
            _ => self.expression(rng, depth - 1),
        };
        let joined = binary.replacen("{}", &first, 1).replacen("{}", &second, 1);
        joined.replace("{0}", &first).replace("{1}", &second)
    }
}

#[cfg(test)]
mod tests {
    use super::is_read;

    #[test]
    fn a_name_within_another_is_not_read() {
        assert!(is_read("acc[m] + c[m]", "c[m]"));
        assert!(!is_read("acc[m] + 1", "c[m]"));
        assert!(!is_read("silu(x)", "s"));
        assert!(is_read("silu(x - s)", "s"));
    }
}
