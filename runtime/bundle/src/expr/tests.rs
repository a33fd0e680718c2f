//! Expressions evaluate as written, and whatever is no expression is refused.
#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn names() -> Names {
    let mut names = Names::default();
    for (text, kind) in [
        ("m", NameKind::Extent),
        ("n", NameKind::Extent),
        ("k", NameKind::Extent),
        ("lda", NameKind::Stride),
    ] {
        names.declare(text, kind).unwrap();
    }
    names
}

fn env<const N: usize>(values: [(&str, i64); N]) -> Env {
    let names = names();
    let bind = |env: Env, (text, value): (&str, i64)| env.with(names.find(text).unwrap(), value);
    values.into_iter().fold(Env::new(), bind)
}

fn expr(text: &str) -> Expr {
    let mut expr: Expr = text.parse().unwrap();
    assert_eq!(expr.resolve(&names()), [""; 0], "{text}");
    expr
}

fn value(text: &str, env: &Env) -> i64 {
    expr(text).eval(env).unwrap()
}

#[test]
fn precedence_and_rounding() {
    let env = env([("m", 129), ("n", 7), ("lda", -9)]);
    assert_eq!(value("1 + 2*3 - 4", &env), 3);
    assert_eq!(value("(1 + 2)*3 - -4", &env), 13);
    assert_eq!(value("ceil_div(m, 128) * max(n, 8) % 5", &env), 1);
    assert_eq!(value("lda / 4", &env), -3);
    assert_eq!(value("lda % 4", &env), 3);
    assert_eq!(value("ceil_div(lda, 4)", &env), -2);
    assert_eq!(value("20 - 8 - 2", &env), 10);
}

#[test]
fn conditions() {
    let env = env([("lda", 64), ("k", 63)]);
    for (text, want) in [
        ("lda % 8 == 0", true),
        ("k % 2 == 0", false),
        ("k <= lda", true),
        ("k >= lda", false),
        ("k < 63", false),
        ("k > 62", true),
        ("k != 63", false),
    ] {
        let mut condition: Condition = text.parse().unwrap();
        assert!(condition.resolve(&names()).is_empty());
        assert_eq!(condition.holds(&env).unwrap(), want, "{text}");
    }
}

#[test]
fn refusals_name_the_problem() {
    for (text, part) in [
        ("", "expected an integer"),
        ("1 +", "expected an integer"),
        ("min(1)", "expected `,`"),
        ("1 2", "expected an operator"),
        ("99999999999999999999", "does not fit 64 bits"),
        ("m == 1", "expected an operator"),
        ("é", "expected an integer"),
    ] {
        let error = text.parse::<Expr>().unwrap_err().to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
    assert!("m".parse::<Condition>().is_err());
    assert!("1 == 1 == 1".parse::<Condition>().is_err());
}

#[test]
fn bounds_hold() {
    assert!("(".repeat(600).parse::<Expr>().is_err());
    assert!(
        format!("{}1{}", "(".repeat(40), ")".repeat(40))
            .parse::<Expr>()
            .is_err()
    );
    assert!("-".repeat(500).parse::<Expr>().is_err());
    assert!(format!("1{}", "+1".repeat(200)).parse::<Expr>().is_err());
    assert_eq!(value(&format!("1{}", "+1".repeat(100)), &Env::new()), 101);
    assert_eq!(
        value(
            &format!("{}1{}", "1+(".repeat(30), ")".repeat(30)),
            &Env::new()
        ),
        31
    );
}

#[test]
fn evaluation_errors() {
    let env = env([("m", i64::MAX), ("n", 0)]);
    let error = |text: &str| expr(text).eval(&env).unwrap_err();
    assert!(matches!(error("m + 1"), EvalError::Overflow { .. }));
    assert!(matches!(error("m * 2"), EvalError::Overflow { .. }));
    assert!(matches!(
        error("m % n"),
        EvalError::Divisor { divisor: 0, .. }
    ));
    assert!(matches!(
        error("ceil_div(m, 0 - 4)"),
        EvalError::Divisor { divisor: -4, .. }
    ));
    assert!(matches!(error("k"), EvalError::Unbound { name, .. } if name == "k"));
    let never: Expr = "m + k".parse().unwrap();
    assert!(matches!(never.eval(&env), Err(EvalError::Unresolved { name, .. }) if name == "m"));
}

#[test]
fn names_are_those_of_the_kernel() {
    let mut expr: Expr = "min(m, q) * q + lds".parse().unwrap();
    assert_eq!(expr.words(), ["m", "q", "lds"]);
    assert_eq!(expr.resolve(&names()), ["q", "lds"]);
    let mut names = names();
    let q = names.declare("q", NameKind::Extent).unwrap();
    assert_eq!(names.declare("q", NameKind::Extent), Some(q));
    assert_eq!(names.declare("q", NameKind::Stride), None);
    assert_eq!(names.declare("sms", NameKind::Extent), None);
    assert_eq!((names.text(q), names.text(Name::SMS)), ("q", "sms"));
    assert_eq!(names.text(Name::MAX_CLUSTERS), "max_clusters");
    for at in 0.. {
        if names.declare(&format!("x{at}"), NameKind::Extent).is_none() {
            break;
        }
    }
    assert_eq!(names.of_kind(NameKind::Runtime).count(), 2);
    assert_eq!(names.extents().count() + 1 + 2, MAX_NAMES);
}

/// An expression with its value by direct evaluation, `None` where any step fails.
fn tree() -> impl Strategy<Value = (String, Option<i64>)> {
    let leaf = (0i64..50).prop_map(|v| (v.to_string(), Some(v)));
    leaf.prop_recursive(4, 32, 2, |inner| {
        (inner.clone(), inner, 0usize..7).prop_map(|((ta, a), (tb, b), op)| {
            let both = a.zip(b);
            let up = |a: i64, b: i64| (b > 0).then(|| (a as f64 / b as f64).ceil() as i64);
            match op {
                0 => (format!("({ta}+{tb})"), both.map(|(a, b)| a + b)),
                1 => (format!("({ta} - {tb})"), both.map(|(a, b)| a - b)),
                2 => (
                    format!("(({ta} % 97)*({tb}%89))"),
                    both.map(|(a, b)| a.rem_euclid(97) * b.rem_euclid(89)),
                ),
                3 => (
                    format!("({ta} / {tb})"),
                    both.and_then(|(a, b)| (b > 0).then(|| a.div_euclid(b))),
                ),
                4 => (
                    format!("ceil_div({ta},{tb})"),
                    both.and_then(|(a, b)| up(a, b)),
                ),
                5 => (format!("min({ta},{tb})"), both.map(|(a, b)| a.min(b))),
                _ => (format!("max({ta}, {tb})"), both.map(|(a, b)| a.max(b))),
            }
        })
    })
}

proptest! {
    #[test]
    fn evaluates_as_written((text, want) in tree()) {
        if let Ok(expr) = text.parse::<Expr>() {
            prop_assert_eq!(expr.eval(&Env::new()).ok(), want);
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "[mnk0-9+*/%(), a-z_=<>!-]{0,80}") {
        let env = env([("m", 3), ("n", 5)]);
        if let Ok(mut expr) = text.parse::<Expr>() {
            expr.resolve(&names());
            let _ = expr.eval(&env);
            prop_assert_eq!(expr.to_string(), text.clone());
        }
        if let Ok(mut condition) = text.parse::<Condition>() {
            condition.resolve(&names());
            let _ = condition.holds(&env);
        }
    }
}

/// A drawn expression, with the one that is read from its text in parentheses everywhere.
fn made() -> impl Strategy<Value = (Expr, String)> {
    let word = prop_oneof![Just("m"), Just("n"), Just("k"), Just("lda")];
    let leaf = prop_oneof![
        word.prop_map(|word| (Expr::named(word), word.to_owned())),
        (1i64..200).prop_map(|value| (Expr::constant(value), value.to_string())),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        (inner.clone(), inner, 0usize..6).prop_map(|((a, ta), (b, tb), op)| match op {
            0 => (a + b, format!("(({ta}) + ({tb}))")),
            1 => (a * b, format!("(({ta}) * ({tb}))")),
            2 => (a % b, format!("(({ta}) % ({tb}))")),
            3 => (a.ceil_div(b), format!("ceil_div({ta}, {tb})")),
            4 => (a.min(b), format!("min({ta}, {tb})")),
            _ => (Expr::product([a, b]), format!("(({ta}) * ({tb}))")),
        })
    })
}

proptest! {
    /// What is made of others is what its text says, and what full parentheses say.
    #[test]
    fn what_is_made_is_written(
        (made, full) in made(),
        at in prop::array::uniform4(1i64..99),
    ) {
        prop_assume!(made.is_readable());
        let [m, n, k, lda] = at;
        let env = env([("m", m), ("n", n), ("k", k), ("lda", lda)]);
        let mut bound = made.clone();
        prop_assert_eq!(bound.resolve(&names()), [""; 0]);
        let again = expr(made.text());
        prop_assert_eq!(again.steps().len(), made.steps().len());
        let value = |expr: &Expr| expr.eval(&env).ok();
        prop_assert_eq!(value(&bound), value(&again));
        prop_assert_eq!(value(&bound), value(&expr(&full)));
        let limit = made.clone().at_most(Expr::named("lda") + 1);
        prop_assert_eq!(limit.text().parse::<Condition>().unwrap(), limit);
    }
}

#[test]
fn parentheses_stand_where_they_must() {
    let [m, n] = ["m", "n"].map(Expr::named);
    let sum = m.clone() + n.clone();
    let texts = [
        (sum.clone() * 2, "(m + n) * 2"),
        (m.clone() + (n.clone() + 1), "m + (n + 1)"),
        (m.clone() * n.clone() + sum.clone(), "m * n + (m + n)"),
        (m.clone() * (n.clone() % 8), "m * (n % 8)"),
        (
            sum.ceil_div(128) * n.clone().min(4),
            "ceil_div(m + n, 128) * min(n, 4)",
        ),
        (Expr::product([]), "1"),
    ];
    for (made, text) in texts {
        assert_eq!(made.text(), text);
    }
    assert_eq!((n % 8).equals(0).text(), "n % 8 == 0");
    assert_eq!(m.at_most(64).text(), "m <= 64");
}
