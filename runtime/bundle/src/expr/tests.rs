//! Expressions evaluate as written, and whatever is no expression is refused.
#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn value(text: &str, env: &Env) -> i64 {
    text.parse::<Expr>().unwrap().eval(env).unwrap()
}

#[test]
fn precedence_and_rounding() {
    let env = Env::new()
        .with(Name::M, 129)
        .with(Name::N, 7)
        .with(Name::Lda, -9);
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
    let env = Env::new().with(Name::Lda, 64).with(Name::K, 63);
    for (text, want) in [
        ("lda % 8 == 0", true),
        ("k % 2 == 0", false),
        ("k <= lda", true),
        ("k >= lda", false),
        ("k < 63", false),
        ("k > 62", true),
        ("k != 63", false),
    ] {
        assert_eq!(
            text.parse::<Condition>().unwrap().holds(&env).unwrap(),
            want,
            "{text}"
        );
    }
}

#[test]
fn refusals_name_the_problem() {
    for (text, part) in [
        ("", "expected an integer"),
        ("1 +", "expected an integer"),
        ("foo", "unknown name `foo`"),
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
    let env = Env::new().with(Name::M, i64::MAX).with(Name::N, 0);
    let error = |text: &str| text.parse::<Expr>().unwrap().eval(&env).unwrap_err();
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
    assert!(matches!(error("k"), EvalError::Unbound { name: "k", .. }));
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
        let env = Env::new().with(Name::M, 3).with(Name::N, 5);
        if let Ok(expr) = text.parse::<Expr>() {
            let _ = expr.eval(&env);
            prop_assert_eq!(expr.to_string(), text.clone());
        }
        if let Ok(condition) = text.parse::<Condition>() {
            let _ = condition.holds(&env);
        }
    }
}
