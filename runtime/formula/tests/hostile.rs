//! Text that nobody meant: no panic, bounded work; and text of random trees, which is read back.
#![allow(clippy::unwrap_used)]

mod kernel_files;

use std::fs;

use kernel_files::{files, read};
use proptest::prelude::*;
use tilewright_formula::form::recognize;
use tilewright_formula::functions::{Fold, Op};
use tilewright_formula::syntax::{Node, NodeKind, Word, parse, parse_expression};
use tilewright_formula::{Signature, check, identity, print, report};

/// The formulas of `ci/data/formulas`.
fn formulas() -> Vec<(Signature, String)> {
    let files = files("ci/data/formulas", "formula");
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts.map(|text| read(&text)).collect()
}

/// Everything that reads a formula, as far as it comes.
fn taken(text: &str, signature: &Signature) {
    match check(text, signature) {
        Ok(formula) => {
            let spelled = print::print(&formula.tree);
            let again = check(&spelled, signature).unwrap();
            assert_eq!(print::print(&again.tree), spelled);
            assert!(!identity::function(&formula).is_empty());
            if let Err(problems) = recognize(&formula) {
                assert!(!problems.is_empty());
            }
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(!report(text, &problems).is_empty());
            for problem in &problems {
                let span = problem.span().unwrap_or_default();
                assert!(text.get(span).is_some(), "{problem:?}");
            }
        }
    }
}

/// A tree without its places.
fn bare(node: &Node) -> String {
    let parts: Vec<String> = node.kind.children().iter().map(bare).collect();
    let parts = parts.join(" ");
    match &node.kind {
        NodeKind::Integer(value) => format!("{value}"),
        NodeKind::Real(value) => format!("r{value}"),
        NodeKind::Name(name) => name.clone(),
        NodeKind::Element { name, .. } => format!("[{} {parts}]", name.text),
        NodeKind::Call { name, .. } => format!("({} {parts})", name.text),
        NodeKind::Operation { op, .. } => format!("({op:?} {parts})"),
        NodeKind::Fold { fold, modes, .. } => {
            let modes: Vec<&str> = modes.iter().map(|mode| mode.text.as_str()).collect();
            format!("({fold:?} {modes:?} {parts})")
        }
    }
}

fn node(kind: NodeKind) -> Node {
    Node { kind, span: 0..0 }
}

fn word(text: &str) -> Word {
    Word {
        text: text.to_owned(),
        span: 0..0,
    }
}

/// Random trees.
fn trees() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        (0..1000i64).prop_map(|value| node(NodeKind::Integer(value))),
        (0.0..1e30f64).prop_map(|value| node(NodeKind::Real(value))),
        "[a-z]{1,3}"
            .prop_filter("no operator", |name| {
                !["and", "or", "not"].contains(&name.as_str())
            })
            .prop_map(|name| node(NodeKind::Name(name))),
    ];
    let infix = [
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Div,
        Op::Rem,
        Op::Lt,
        Op::Ge,
        Op::Eq,
        Op::And,
        Op::Or,
    ];
    leaf.prop_recursive(5, 40, 3, move |inner| {
        let some = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (
                prop::sample::select(infix.to_vec()),
                inner.clone(),
                inner.clone()
            )
                .prop_map(|(op, a, b)| {
                    let operands = vec![a, b];
                    node(NodeKind::Operation { op, operands })
                }),
            (prop::sample::select(vec![Op::Neg, Op::Not]), inner.clone()).prop_map(|(op, a)| {
                let operands = vec![a];
                node(NodeKind::Operation { op, operands })
            }),
            some.clone().prop_map(|indices| {
                let name = word("x");
                node(NodeKind::Element { name, indices })
            }),
            some.prop_map(|arguments| {
                let name = word("f");
                node(NodeKind::Call { name, arguments })
            }),
            inner.prop_map(|body| {
                let (fold, body) = (Fold::Sum, Box::new(body));
                let modes = vec![word("k"), word("l")];
                node(NodeKind::Fold { fold, modes, body })
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_printed_tree_is_read_back(tree in trees()) {
        let spelled = print::expression(&tree);
        let again = parse_expression(&spelled).unwrap();
        prop_assert_eq!(bare(&again), bare(&tree), "{}", spelled);
        prop_assert_eq!(print::expression(&again), spelled);
    }

    #[test]
    fn random_text_is_refused_or_read(text in "\\PC{0,80}") {
        taken(&text, &formulas()[0].0);
    }

    #[test]
    fn random_words_are_refused_or_read(
        words in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "d", "acc", "m", "n", "k", "[", "]", "(", ")", ",", "=", "+=", "max=", "sum",
            "max", "where", "size", "silu", "bf16", "+", "-", "*", "/", "%", "<", "==", "and",
            "not", "1", "2.5", "inf", ";", "\n", "[m,n]", "[n,k]", "#", "é",
        ]), 0..40)
    ) {
        let text = words.join(" ");
        taken(&text, &formulas()[9].0);
    }

    #[test]
    fn damaged_formulas_are_refused_or_read(
        which in 0..1000usize, at in 0..4000usize, cut in 0..6usize,
        put in prop::sample::select(vec![
            "", "[", "]", "(", ")", ",", " ", "m", "n", "k", "0", "-", "+ 1", "/ 2", "%", "*", "=",
            "\n", ";", "sum[k] ", "1e9", "é", "where(", "\u{0}",
        ])
    ) {
        let all = formulas();
        let (signature, text) = &all[which % all.len()];
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let from = places[at % places.len()];
        let to = *places.get(at % places.len() + cut).unwrap_or(&text.len());
        taken(&format!("{}{put}{}", &text[..from], &text[to..]), signature);
    }

    #[test]
    fn names_of_any_kind_are_refused_or_taken(
        which in 0..1000usize, at in 0..8usize, name in "\\PC{0,5}"
    ) {
        let all = formulas();
        let (mut signature, text) = all[which % all.len()].clone();
        let count = signature.operands.len();
        signature.operands[at % count].name = name;
        taken(&text, &signature);
    }
}

#[test]
fn nothing_is_deeper_or_longer_than_allowed() {
    let (signature, _) = &formulas()[0];
    let deep = ["(", "-", "f(", "x[", "sum[k] ", "1 + (", "not ", "1 + "];
    for part in deep {
        let text = format!("d[m,n] = {}1", part.repeat(20_000));
        assert!(text.len() > 1 << 16 || check(&text, signature).is_err());
        taken(&text, signature);
        taken(&format!("d[m,n] = {}1", part.repeat(5_000)), signature);
    }
    taken(&"x = 1;".repeat(5_000), signature);
    taken(&"d[m,n] = a[m,k]*b[n,k]\n".repeat(2_000), signature);
    assert!(parse(&"é".repeat(40_000)).is_err());
    assert_eq!(check(&"$".repeat(3_000), signature).unwrap_err().len(), 1);
}
