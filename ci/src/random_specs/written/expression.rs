//! Values as users write them: arithmetic and functions of what there is to read.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Functions of one value.
const UNARY: [&str; 18] = [
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
    "-({})",
];

/// Ways of joining two values.
const BINARY: [&str; 9] = [
    "{} + {}",
    "{} - {}",
    "({}) * ({})",
    "({}) * ({})",
    "max({}, {})",
    "min({}, {})",
    "({}) / (abs({}) + 1)",
    "where({} > 0, {}, 0)",
    "where({} < {1}, {1}, 0.5)",
];

/// Constants that stand in formulas.
const CONSTANTS: [&str; 6] = ["1", "0.5", "2", "1.94", "-3", "0.044715"];

/// What an expression may read.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    readable: Vec<String>,
}

impl Values {
    pub(super) fn add(&mut self, value: String) {
        self.readable.push(value);
    }

    /// A value that is read, or a constant.
    fn leaf(&self, rng: &mut StdRng) -> String {
        if rng.random_bool(0.15) {
            return CONSTANTS.choose(rng).copied().unwrap_or("1").to_owned();
        }
        self.read(rng)
    }

    fn read(&self, rng: &mut StdRng) -> String {
        self.readable.choose(rng).cloned().unwrap_or_default()
    }

    /// A function of an element, or the element, or a product of two.
    pub(super) fn function(&self, rng: &mut StdRng) -> String {
        let value = self.readable.first().cloned().unwrap_or_default();
        match rng.random_range(0..10) {
            0 => value,
            1 => format!("({value} * {value})"),
            2 => format!("({value} * {})", self.read(rng)),
            3 => format!("abs({value} - {})", self.expression(rng, 1)),
            _ => {
                let unary = UNARY.choose(rng).copied().unwrap_or("abs({})");
                unary.replace("{}", &value)
            }
        }
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
        joined.replace("{1}", &second)
    }
}
