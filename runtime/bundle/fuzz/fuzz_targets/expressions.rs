//! Hostile expressions, conditions and layouts, as manifests have them.
//!
//! In: any bytes. Out: no panic, and what is read has the value that a reader of its own, with
//! numbers of 128 bits, finds in the same text; a refusal names a place in it and repeats no
//! control character.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_bundle::{Condition, Env, Expr, MAX_AXES, NameKind, Names, OperandLayout};

/// Names that have values.
const KNOWN: [&str; 5] = ["m", "n", "k", "lda", "sms"];
/// Their values: usual ones, small ones, and those at the limits.
const VALUES: [[i64; 5]; 6] = [
    [129, 7, 64, 72, 132],
    [1, 1, 1, 1, 1],
    [0, -1, 2, -9, 1],
    [i64::MAX, i64::MIN, -1, 3, 1],
    [1 << 62, 1 << 31, 1 << 32, i64::MIN + 1, 2],
    [3037000500, 3037000499, i64::MAX, 10, 4],
];

/// Reads and evaluates at once, in numbers that a step of 64-bit numbers does not leave.
struct Oracle<'a> {
    rest: &'a str,
    values: &'a [i64; 5],
}

type Value = Option<i128>;

/// A result of a step, if 64 bits hold it.
fn held(value: i128) -> Value {
    i64::try_from(value).ok().map(i128::from)
}

fn divided(a: i128, b: i128, step: impl Fn(i128, i128) -> i128) -> Value {
    (b > 0).then(|| step(a, b)).and_then(held)
}

impl Oracle<'_> {
    fn value(text: &str, values: &[i64; 5]) -> Value {
        let mut oracle = Oracle { rest: text, values };
        let value = oracle.sum();
        assert_eq!(oracle.next(), None, "{text:?} has an end");
        value
    }

    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        self.rest.bytes().next()
    }

    fn eat(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn sum(&mut self) -> Value {
        let mut left = self.product();
        while let Some(sign @ (b'+' | b'-')) = self.next() {
            self.eat();
            let both = left.zip(self.product());
            left = both.and_then(|(a, b)| held(if sign == b'+' { a + b } else { a - b }));
        }
        left
    }

    fn product(&mut self) -> Value {
        let mut left = self.unary();
        while let Some(sign @ (b'*' | b'/' | b'%')) = self.next() {
            self.eat();
            let both = left.zip(self.unary());
            left = both.and_then(|(a, b)| match sign {
                b'*' => held(a * b),
                b'/' => divided(a, b, i128::div_euclid),
                _ => divided(a, b, i128::rem_euclid),
            });
        }
        left
    }

    fn unary(&mut self) -> Value {
        match self.next() {
            Some(b'-') => {
                self.eat();
                self.unary().and_then(|value| held(-value))
            }
            Some(b'(') => {
                self.eat();
                let value = self.sum();
                self.end_of("a group", b')');
                value
            }
            _ => self.leaf(),
        }
    }

    fn end_of(&mut self, what: &str, by: u8) {
        assert_eq!(self.next(), Some(by), "{what} ends");
        self.eat();
    }

    fn leaf(&mut self) -> Value {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_digit = |c: char| c.is_ascii_digit();
        let is_number = self.rest.starts_with(is_digit);
        let behind = self
            .rest
            .find(|c| if is_number { !is_digit(c) } else { !is_part(c) });
        let (word, rest) = self.rest.split_at(behind.unwrap_or(self.rest.len()));
        self.rest = rest;
        let function: fn(i128, i128) -> Value = match word {
            "min" => |a, b| held(a.min(b)),
            "max" => |a, b| held(a.max(b)),
            "ceil_div" => |a, b| divided(a, b, |a, b| (a + b - 1).div_euclid(b)),
            _ if is_number => return word.parse().ok(),
            name => {
                let at = KNOWN.iter().position(|known| *known == name);
                return at.map(|at| i128::from(self.values[at]));
            }
        };
        self.end_of("a function's name", b'(');
        let first = self.sum();
        self.end_of("an argument", b',');
        let both = first.zip(self.sum());
        self.end_of("an argument", b')');
        both.and_then(|(a, b)| function(a, b))
    }
}

fn names() -> Names {
    let mut names = Names::default();
    for name in &KNOWN[..3] {
        names.declare(name, NameKind::Extent).expect("a name");
    }
    names.declare("lda", NameKind::Stride).expect("a name");
    names
}

fn env(names: &Names, values: &[i64; 5]) -> Env {
    let named = KNOWN.iter().zip(values);
    named.fold(Env::new(), |env, (name, value)| {
        env.with(names.find(name).expect("it was declared"), *value)
    })
}

/// What is said of a refused text.
fn check_message(message: &str) {
    assert!(!message.is_empty() && message.len() < 4096, "{message}");
    assert!(!message.contains(char::is_control), "{message:?}");
}

fn check_expression(expr: &Expr, names: &Names) {
    let text = expr.text();
    let mut expr = expr.clone();
    let unknown = expr.resolve(names);
    assert_eq!(text.parse::<Expr>().as_ref(), Ok(&expr));
    for values in &VALUES {
        let found = expr.eval(&env(names, values));
        let wanted = Oracle::value(text, values);
        assert_eq!(
            found.as_ref().ok().copied().map(i128::from),
            wanted,
            "{text:?}: {found:?}"
        );
        assert!(unknown.is_empty() || wanted.is_none());
        if let Some(constant) = expr.constant_value() {
            assert_eq!(found, Ok(constant));
        }
    }
}

fn check_condition(condition: &Condition, names: &Names) {
    let text = condition.text();
    let mut condition = condition.clone();
    condition.resolve(names);
    assert_eq!(text.parse::<Condition>().as_ref(), Ok(&condition));
    let is_sign = |c: char| "=!<>".contains(c);
    let (left, rest) = text.split_at(text.find(is_sign).expect("a sign"));
    let (sign, right) = rest.split_at(rest.find(|c| !is_sign(c)).expect("a right side"));
    for values in &VALUES {
        let wanted = Oracle::value(left, values).zip(Oracle::value(right, values));
        let holds = wanted.map(|(a, b)| match sign {
            "==" => a == b,
            "!=" => a != b,
            "<" => a < b,
            "<=" => a <= b,
            ">" => a > b,
            _ => a >= b,
        });
        assert_eq!(condition.holds(&env(names, values)).ok(), holds, "{text:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let names = names();
    match text.parse::<Expr>() {
        Ok(expr) => check_expression(&expr, &names),
        Err(error) => {
            assert!(text.is_char_boundary(error.at), "{error}");
            check_message(&error.to_string());
        }
    }
    match text.parse::<Condition>() {
        Ok(condition) => check_condition(&condition, &names),
        Err(error) => {
            assert!(text.is_char_boundary(error.at), "{error}");
            check_message(&error.to_string());
        }
    }
    match text.parse::<OperandLayout>() {
        Ok(layout) => {
            assert!(layout.rank() <= MAX_AXES && layout.stride.len() == layout.rank());
            assert_eq!(layout.to_string().parse(), Ok(layout.clone()));
            let all = layout.shape.iter().chain(&layout.stride);
            all.for_each(|expr| check_expression(expr, &names));
        }
        Err(error) => check_message(&error.to_string()),
    }
});
