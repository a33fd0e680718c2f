//! Warnings of terms that a sum repeats: over drawn sums, each of the two spellings that a warning
//! proposes is read, is warned of no more, and is worth what it says.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::{DType, Formula, Operand, Problem, Signature, check, doubtful, report};

/// A term: its text, and which of k and q it depends on.
type Term = (&'static str, bool, bool);

const TERMS: [Term; 9] = [
    ("x[m,k,q]", true, true),
    ("x[m,k,q] * y[k]", true, true),
    ("y[k] / 4", true, false),
    ("z[m,q]", false, true),
    ("b[m]", false, false),
    ("b[m] / 2", false, false),
    ("1", false, false),
    ("(b[m] - 2)", false, false),
    ("max(y[k], b[m])", true, false),
];

/// Where a sum stands.
const AROUND: [&str; 7] = [
    "{}",
    "({})",
    "({}) * 2",
    "2 * {}",
    "b[m] - {}",
    "-{}",
    "max({}, b[m])",
];

fn signature() -> Signature {
    let operand = |name, modes: &[&str]| Operand::new(name, DType::F64, modes);
    Signature {
        operands: vec![
            operand("x", &["m", "k", "q"]),
            operand("y", &["k"]),
            operand("z", &["m", "q"]),
            operand("b", &["m"]),
            operand("u", &["m"]),
            operand("d", &["m"]),
        ],
        ..Signature::default()
    }
}

/// A formula with that statement, of which another one reads each operand.
fn formula(sign: &str, value: &str) -> Formula {
    let text = format!("u[m] = sum[k,q] (x[m,k,q] * y[k] * z[m,q] * b[m])\nd[m] {sign} {value}");
    let checked = check(&text, &signature());
    checked.unwrap_or_else(|found| panic!("{text}\n{}", report(&text, &found)))
}

/// What is written, of small integers and quarters, which f64 adds exactly.
fn values(formula: &Formula) -> Vec<f64> {
    let (m, k, q) = (2usize, 3usize, 5usize);
    let drawn = |count: usize, by: usize| -> Vec<f64> {
        (0..count).map(|at| (at * by % 7) as f64 - 3.0).collect()
    };
    let [x, y, z] = [drawn(m * k * q, 3), drawn(k, 5), drawn(m * q, 2)];
    let (b, held) = (drawn(m, 4), vec![10.0; m]);
    let (k_, q_) = (k as i64, q as i64);
    let inputs = Inputs::default()
        .size("m", m as i64)
        .size("k", k_)
        .size("q", q_)
        .tensor("x", Tensor::floats(&x, &[k_ * q_, q_, 1]))
        .tensor("y", Tensor::floats(&y, &[1]))
        .tensor("z", Tensor::floats(&z, &[q_, 1]))
        .tensor("b", Tensor::floats(&b, &[1]))
        .tensor("d", Tensor::floats(&held, &[1]));
    let outputs = Evaluator::new(formula, &inputs, &Fma).unwrap().outputs();
    let mut outputs = outputs.unwrap().into_iter();
    outputs.find(|one| one.name == "d").unwrap().values
}

/// The parts of a help between backticks: the two spellings.
fn spellings(problem: &Problem) -> [String; 2] {
    let help = problem.help.clone().unwrap();
    let mut parts = help.split('`').skip(1).step_by(2).map(str::to_owned);
    [parts.next().unwrap(), parts.next().unwrap()]
}

/// Each warning's part of the text replaced by the spelling of that number.
fn mended(formula: &Formula, problem: &Problem, spelling: usize) -> Formula {
    let edit = problem.edit.clone().unwrap();
    let proposed = spellings(problem)[spelling].clone();
    assert!(spelling == 1 || proposed == edit.text, "{problem:?}");
    let mut text = formula.text.clone();
    text.replace_range(edit.span, &proposed);
    check(&text, &signature()).unwrap_or_else(|found| panic!("{text}\n{}", report(&text, &found)))
}

/// What stands before a sum whose first term is one that is added once: an operator before it then
/// reaches to all of them.
const LED: &str = "led ";

/// Terms with their signs, as a sum of `modes` is written, and each of them by itself.
fn sum_of(terms: &[(Term, bool)], modes: &str) -> (String, String, String) {
    let (mut body, mut moving, mut still) = (String::new(), Vec::new(), String::new());
    let mut led = false;
    let lacks = |term: &Term| {
        let below = |other: &Term| {
            term.1 <= other.1 && term.2 <= other.2 && (term.1, term.2) != (other.1, other.2)
        };
        terms.iter().any(|(other, _)| below(other))
    };
    for (at, (term, minus)) in terms.iter().enumerate() {
        let sign = if *minus { "-" } else { "+" };
        body += &match at {
            0 => term.0.to_owned(),
            _ => format!(" {sign} {}", term.0),
        };
        let sign = if at == 0 { "+" } else { sign };
        if lacks(term) {
            let own = match (term.1, term.2) {
                (true, _) => format!("(sum[k] ({}))", term.0),
                (_, true) => format!("(sum[q] ({}))", term.0),
                _ => format!("({})", term.0),
            };
            still += &format!(" {sign} {own}");
        } else {
            led |= !still.is_empty();
            moving.push(format!("{sign} (sum[{modes}] ({}))", term.0));
        }
    }
    let moving = format!("(0 {})", moving.join(" "));
    let once = match led {
        true => format!("{LED}({moving}{still})"),
        false => format!("{moving}{still}"),
    };
    (
        format!("sum[{modes}] {body}"),
        once,
        format!("(sum[{modes}] ({body}))"),
    )
}

proptest! {
    #[test]
    fn both_spellings_of_a_warning_say_what_they_mean(
        picked in prop::collection::vec((0..TERMS.len(), any::<bool>()), 1..5),
        around in 0..AROUND.len(),
    ) {
        let terms = picked.iter().map(|(at, sign)| (TERMS[*at], *sign));
        let terms: Vec<(Term, bool)> = terms.collect();
        let around = AROUND[around];
        let (written, once, each) = sum_of(&terms, "k,q");
        let once = around.replace("{}", once.strip_prefix(LED).unwrap_or(&once));
        let found = formula("=", &around.replace("{}", &written));
        let is_repeated = each_lacks(&terms);
        let warnings = doubtful(&found);
        prop_assert_eq!(warnings.len(), usize::from(is_repeated), "{}", found.text);
        for problem in &warnings {
            let [mended_once, mended_each] = [0, 1].map(|at| mended(&found, problem, at));
            prop_assert!(doubtful(&mended_once).is_empty(), "{}", mended_once.text);
            prop_assert!(doubtful(&mended_each).is_empty(), "{}", mended_each.text);
            let meant = formula("=", &once);
            prop_assert_eq!(values(&mended_once), values(&meant), "{}", mended_once.text);
            let meant = formula("=", &around.replace("{}", &each));
            prop_assert_eq!(values(&mended_each), values(&meant), "{}", mended_each.text);
            prop_assert_eq!(values(&mended_each), values(&found), "{}", mended_each.text);
        }
    }

    #[test]
    fn so_do_those_of_a_sign_that_folds(
        picked in prop::collection::vec((0..TERMS.len(), any::<bool>()), 1..5),
    ) {
        let mut terms: Vec<(Term, bool)> =
            picked.iter().map(|(at, sign)| (TERMS[*at], *sign)).collect();
        terms.push((TERMS[0], false));
        let (_, once, each) = sum_of(&terms, "k,q");
        let body = sum_of(&terms, "k,q").0.replace("sum[k,q] ", "");
        let found = formula("+=", &body);
        let warnings = doubtful(&found);
        prop_assert_eq!(warnings.len(), usize::from(each_lacks(&terms)), "{}", found.text);
        for problem in &warnings {
            let [mended_once, mended_each] = [0, 1].map(|at| mended(&found, problem, at));
            prop_assert!(doubtful(&mended_once).is_empty(), "{}", mended_once.text);
            prop_assert!(doubtful(&mended_each).is_empty(), "{}", mended_each.text);
            let meant = formula("+=", once.strip_prefix(LED).unwrap_or(&once));
            prop_assert_eq!(values(&mended_once), values(&meant), "{}", mended_once.text);
            prop_assert_eq!(values(&mended_each), values(&formula("+=", &each)));
            prop_assert_eq!(values(&mended_each), values(&found));
        }
    }
}

/// Whether a term lacks modes that another one has.
fn each_lacks(terms: &[(Term, bool)]) -> bool {
    terms.iter().any(|(one, _)| {
        terms.iter().any(|(other, _)| {
            one.1 <= other.1 && one.2 <= other.2 && (one.1, one.2) != (other.1, other.2)
        })
    })
}

#[test]
fn warnings_name_every_term_and_keep_its_sign() {
    let told = |sign: &str, value: &str| {
        let mut found = doubtful(&formula(sign, value));
        assert_eq!(found.len(), 1, "{value}");
        let problem = found.remove(0);
        (problem.message.clone(), spellings(&problem))
    };
    let (_, [once, each]) = told("=", "sum[k,q] x[m,k,q] * y[k] - b[m]/2");
    assert_eq!(once, "(sum[k,q] x[m,k,q] * y[k]) - b[m]/2");
    assert_eq!(each, "sum[k,q] (x[m,k,q] * y[k] - b[m]/2)");
    let (message, [once, _]) = told("=", "(sum[k,q] x[m,k,q] + b[m] + 1)*2");
    assert!(message.contains("so is `1`"), "{message}");
    assert_eq!(once, "(sum[k,q] x[m,k,q]) + b[m] + 1");
    let (_, [once, _]) = told("=", "sum[k,q] b[m] + x[m,k,q]  # a comment");
    assert_eq!(once, "(sum[k,q] x[m,k,q]) + b[m]");
    let (message, [once, _]) = told("=", "sum[k,q] x[m,k,q] + y[k]");
    assert!(message.contains("added once for each q"), "{message}");
    assert_eq!(once, "(sum[k,q] x[m,k,q]) + (sum[k] y[k])");
    let (_, [once, each]) = told("+=", "x[m,k,q] + b[m]");
    assert_eq!(once, "(sum[k,q] x[m,k,q]) + b[m]");
    assert_eq!(each, "(x[m,k,q] + b[m])");
    let (_, [once, _]) = told(
        "=",
        "b[m] * (  # a comment\n (sum[k,q] x[m,k,q] # no + \n + b[m]))",
    );
    assert_eq!(once, "(sum[k,q] x[m,k,q]) + b[m]");
}

#[test]
fn a_divisor_that_is_zero_is_doubtful() {
    for zero in ["0", "0.0"] {
        let found = formula("=", &format!("b[m] / {zero}"));
        let warnings = doubtful(&found);
        assert_eq!(warnings.len(), 1, "{zero}");
        assert_eq!(warnings[0].code, "zero-divisor");
        let edit = warnings[0].edit.clone().unwrap();
        assert_eq!(edit.text, format!("({zero})"));
        let meant = formula("=", &format!("b[m] / {}", edit.text));
        assert!(doubtful(&meant).is_empty());
    }
    assert!(doubtful(&formula("=", "b[m] / 0.5")).is_empty());
}

#[test]
fn an_argument_that_divides_within_a_function_is_doubtful() {
    let warnings = |value: &str| doubtful(&formula("=", value));
    assert_eq!(warnings("softcap(b[m], 0)")[0].code, "zero-divisor");
    assert_eq!(warnings("softcap(b[m], 0.0) + 1")[0].code, "zero-divisor");
    for meant in ["softcap(b[m], (0))", "softcap(b[m], 1)", "softcap(0, b[m])"] {
        assert!(warnings(meant).is_empty(), "{meant}");
    }
}

#[test]
fn a_range_without_numbers_is_doubtful() {
    let found = doubtful(&formula("=", "clamp(b[m], 1, -2.5) * 2"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "empty-range");
    let edit = found[0].edit.clone().unwrap();
    assert_eq!(edit.text, "clamp(b[m], -2.5, 1)");
    for meant in [
        "clamp(b[m], -2, 2)",
        "clamp(b[m], 2, 2)",
        "clamp(b[m], b[m], 1)",
    ] {
        assert!(doubtful(&formula("=", meant)).is_empty(), "{meant}");
    }
}

#[test]
fn integers_that_are_rounded_before_they_are_stored_are_doubtful() {
    let told = |value: &str, [from, to]: [DType; 2]| {
        let operands = vec![
            Operand::new("x", from, &["m"]),
            Operand::new("d", to, &["m"]),
        ];
        let signature = Signature {
            operands,
            ..Signature::default()
        };
        let found = doubtful(&check(&format!("d[m] = {value}"), &signature).unwrap());
        let edits = found.into_iter().map(|one| one.edit.unwrap().text);
        edits.collect::<Vec<_>>()
    };
    let exact = |value: &str| told(value, [DType::S32, DType::S32]);
    assert_eq!(exact("floor(x[m] / 3)"), ["f64(x[m])"]);
    assert_eq!(exact("1 + round((x[m] + 1) * 0.5)"), ["f64((x[m] + 1))"]);
    for meant in [
        "x[m] % 3 + x[m] * 7",
        "floor(f64(x[m]) / 3)",
        "floor(f32(x[m]) / 3)",
        "where(x[m] < 2.5, x[m], 0)",
    ] {
        assert_eq!(exact(meant), [""; 0], "{meant}");
    }
    assert_eq!(told("x[m] / 3", [DType::S32, DType::F32]), [""; 0]);
    assert_eq!(told("x[m] / 3", [DType::S8, DType::S32]), [""; 0]);
}
