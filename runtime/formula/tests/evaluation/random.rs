//! Random expressions: what f32 gives, operation by operation, is within the bound.

use proptest::prelude::*;

use super::super::*;

/// The larger, NaN where one is, and +0 of zeros of both signs.
fn largest(a: f32, b: f32) -> f32 {
    match a.partial_cmp(&b) {
        None => f32::NAN,
        Some(std::cmp::Ordering::Less) => b,
        Some(std::cmp::Ordering::Greater) => a,
        Some(std::cmp::Ordering::Equal) if a == 0.0 => a + b,
        Some(std::cmp::Ordering::Equal) => a,
    }
}

/// A random expression, with what f32 gives for it.
#[derive(Debug, Clone)]
enum Tree {
    X,
    Y,
    Number(f32),
    One(&'static str, Box<Tree>),
    Two(&'static str, Box<Tree>, Box<Tree>),
    Where(Box<Tree>, Box<Tree>, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::X => "x[m]".to_owned(),
            Tree::Y => "y[m]".to_owned(),
            Tree::Number(value) => format!("{value:?}"),
            Tree::One("-", a) => format!("(-{})", a.text()),
            Tree::One(name, a) => format!("{name}({})", a.text()),
            Tree::Two(name @ ("min" | "max"), a, b) => {
                format!("{name}({}, {})", a.text(), b.text())
            }
            Tree::Two(sign, a, b) => format!("({} {sign} {})", a.text(), b.text()),
            Tree::Where(a, b, c, d) => {
                let [a, b, c, d] = [a, b, c, d].map(|part| part.text());
                format!("where({a} < {b}, {c}, {d})")
            }
        }
    }

    fn value(&self, x: f32, y: f32) -> f32 {
        match self {
            Tree::X => x,
            Tree::Y => y,
            Tree::Number(value) => *value,
            Tree::One(name, a) => {
                let a = a.value(x, y);
                match *name {
                    "-" => -a,
                    "abs" => a.abs(),
                    "exp" => a.exp(),
                    "sqrt" => a.sqrt(),
                    "tanh" => a.tanh(),
                    "floor" => a.floor(),
                    "relu" => largest(a, 0.0),
                    "bf16" => {
                        let word = a.to_bits();
                        let up = 0x7fff + (word >> 16 & 1);
                        let near = f32::from_bits(word.wrapping_add(up) & 0xffff_0000);
                        if a.is_finite() { near } else { a }
                    }
                    _ => a / (1.0 + (-a).exp()),
                }
            }
            Tree::Two(sign, a, b) => {
                let (a, b) = (a.value(x, y), b.value(x, y));
                match *sign {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "min" => -largest(-a, -b),
                    _ => largest(a, b),
                }
            }
            Tree::Where(a, b, c, d) => {
                let chosen = if a.value(x, y) < b.value(x, y) { c } else { d };
                chosen.value(x, y)
            }
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        3 => Just(Tree::X),
        3 => Just(Tree::Y),
        1 => prop::sample::select(vec![0.0f32, 1.0, 0.5, 3.0, 0.1, 1e20, 1e-30])
            .prop_map(Tree::Number),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        let boxed = inner.prop_map(Box::new);
        let ones = vec![
            "-", "abs", "exp", "sqrt", "tanh", "floor", "relu", "bf16", "silu",
        ];
        let twos = vec!["+", "-", "*", "/", "min", "max"];
        prop_oneof![
            (prop::sample::select(ones), boxed.clone()).prop_map(|(op, a)| Tree::One(op, a)),
            (prop::sample::select(twos), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| Tree::Two(op, a, b)),
            (boxed.clone(), boxed.clone(), boxed.clone(), boxed)
                .prop_map(|(a, b, c, d)| Tree::Where(a, b, c, d)),
        ]
    })
}

/// Numbers of every size, and what is none.
fn numbers() -> impl Strategy<Value = Vec<f32>> {
    let number = prop_oneof![
        6 => (-4.0f32..4.0).prop_map(|x| x),
        2 => (-40i32..40, -1.0f32..1.0).prop_map(|(power, x)| x * 2f32.powi(power)),
        1 => any::<f32>(),
        1 => prop::sample::select(vec![0.0f32, -0.0, 1.0, f32::INFINITY, f32::NAN, f32::MAX]),
    ];
    prop::collection::vec(number, 12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_f32_gives_is_within_the_bound(tree in trees(), x in numbers(), y in numbers()) {
        let head = "x: f32 (m)\ny: f32 (m)\nd: f32 (m)\ncompute:\n";
        // Both are read, whatever the tree.
        let (signature, text) = read(&format!(
            "{head}t[m] = {}\nd[m] = where(x[m] == y[m] and size(m) < 0, 0, t[m])\n",
            tree.text()
        ));
        let formula = match check(&text, &signature) {
            Ok(formula) => formula,
            Err(problems) => return Err(TestCaseError::fail(report(&text, &problems))),
        };
        let array = |values: &[f32]| {
            let values: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
            Array::of(&[12], &values)
        };
        let data = Data::default().size("m", 12);
        let out = evaluate(&formula, &data.with("x", &array(&x)).with("y", &array(&y)));
        for at in 0..12 {
            let got = f64::from(tree.value(x[at], y[at]));
            prop_assert!(
                out[0].allows(at, got, None),
                "{} of {} and {}: {got}, not {:?}", tree.text(), x[at], y[at], out[0].at(at)
            );
        }
    }
}
