//! Symbols against their values under random assignments.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 4] = ["k", "lda", "m", "n"];

fn facts() -> Facts {
    let mut facts = Facts::default();
    facts
        .divides("lda", 8)
        .unwrap()
        .divides("m", 6)
        .unwrap()
        .at_least("k", 3)
        .unwrap();
    facts
}

/// A value for each name that keeps the facts.
fn assignment() -> impl Strategy<Value = [i64; 4]> {
    (3i64..50, 1i64..20, 1i64..20, 1i64..50).prop_map(|(k, lda, m, n)| [k, 8 * lda, 6 * m, n])
}

fn value(s: &Sym, at: &[i64; 4]) -> i64 {
    s.value(&|name| NAMES.iter().position(|n| *n == name).map(|i| at[i]))
        .unwrap()
}

fn expression() -> impl Strategy<Value = Sym> {
    let leaf = prop_oneof![
        (-20i64..20).prop_map(Sym::constant),
        (0usize..4).prop_map(|i| facts().symbol(NAMES[i]).unwrap()),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        (inner.clone(), inner, 0..4).prop_map(|(a, b, op)| {
            match op {
                0 => a.try_add(&b),
                1 => a.try_mul(&b),
                2 => a.try_sub(&b),
                _ => a.ceil_div(&Sym::constant(4)).or(Ok(a)),
            }
            .unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn arithmetic_agrees_with_values(a in expression(), b in expression(), at in assignment()) {
        let (x, y) = (value(&a, &at), value(&b, &at));
        prop_assert_eq!(value(&a.try_add(&b).unwrap(), &at), x + y);
        prop_assert_eq!(value(&a.try_sub(&b).unwrap(), &at), x - y);
        if let Ok(product) = a.try_mul(&b) {
            prop_assert_eq!(value(&product, &at), x * y);
        }
        if let Ok((q, r)) = a.div_rem(&b) {
            prop_assert_eq!((value(&q, &at), value(&r, &at)), (x.div_euclid(y), x.rem_euclid(y)));
        }
        if let Ok(q) = a.ceil_div(&b) {
            prop_assert_eq!(value(&q, &at), x.ceil_div(&y).unwrap());
        }
        if let Ok(order) = a.order(&b) {
            prop_assert_eq!(order, x.cmp(&y));
        }
        if let Ok(le) = a.le(&b) {
            prop_assert_eq!(le, x <= y);
        }
    }

    #[test]
    fn printing_and_reading_are_inverse(a in expression()) {
        let text = a.to_string();
        let read: Sym = text.parse().unwrap();
        prop_assert_eq!(facts().apply(&read).unwrap(), a, "{}", text);
        prop_assert_eq!(read.to_string().parse::<Sym>().unwrap(), read);
    }
}

#[test]
fn what_is_proven_and_what_is_not() {
    let f = facts();
    let s = |text: &str| f.apply(&text.parse().unwrap()).unwrap();
    let quotient = |a: &str, b: &str| {
        s(a).div_rem(&s(b))
            .map(|(q, r)| (q.to_string(), r.to_string()))
    };
    let pair = |q: &str, r: &str| Ok((q.to_owned(), r.to_owned()));
    assert_eq!(quotient("lda", "8"), pair("lda/8", "0"));
    assert_eq!(quotient("3*lda*n+5", "4"), pair("3*lda*n/4+1", "1"));
    assert_eq!(quotient("m*k", "m"), pair("k", "0"));
    assert_eq!(quotient("2", "k"), pair("0", "2"));
    assert_eq!(quotient("m*n+m-1", "m"), pair("n", "m-1"));
    assert_eq!(quotient("lda", "lda/2"), pair("2", "0"));
    let refused = |a: &str, b: &str| quotient(a, b).unwrap_err().to_string();
    assert_eq!(
        refused("n", "8"),
        "needs the fact n % 8 == 0, which is not known"
    );
    assert_eq!(
        refused("n", "k"),
        "needs the fact the quotient of n by k, which is not known"
    );
    assert_eq!(s("ceil_div(ceil_div(n,4),8)"), s("ceil_div(n,32)"));
    assert_eq!(s("ceil_div(lda,4)"), s("lda/4"));
    assert!(s("2").order(&s("k")).unwrap().is_lt() && s("n").order(&s("m")).is_err());
    assert!(s("m-6").le(&s("0")).is_err() && s("0").le(&s("m-6")).unwrap());
}

#[test]
fn growth_is_limited() {
    let mut sum = Sym::constant(1);
    let refused = (0..80).find_map(|i| {
        sum = sum.try_add(&Sym::named(&format!("x{i}")).unwrap()).ok()?;
        None::<()>
    });
    assert!(refused.is_none() && sum.terms().len() <= MAX_TERMS);
    let n = Sym::named("n").unwrap();
    let power = (0..40).try_fold(n.clone(), |p, _| p.try_mul(&n));
    assert!(matches!(power, Err(Error::Domain { .. })));
    let big = Sym::constant(i64::MAX).try_mul(&n).unwrap();
    assert!(matches!(big.try_add(&big), Err(Error::Overflow { .. })));
}
