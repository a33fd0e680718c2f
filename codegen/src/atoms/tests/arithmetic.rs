//! What records say of arithmetic agrees with what formulas allow and with their registers.

use tilewright_formula::functions::{PRIMITIVES, Slack};

use crate::atoms::arithmetic::{Does, Error, NumberType};
use crate::atoms::catalogue;
use crate::atoms::model::{OperandKind, RegType};

fn register(ty: NumberType) -> RegType {
    match ty {
        NumberType::S32 => RegType::B32,
        NumberType::F32 => RegType::F32,
        NumberType::F64 => RegType::F64,
        NumberType::Bool => RegType::Pred,
    }
}

/// Every record of a formula's operation may stand for it, and its registers hold its numbers.
#[test]
fn arithmetic_is_as_exact_as_formulas_want_it() {
    let mut records = 0;
    for atom in catalogue().unwrap().iter() {
        let Some(facts) = &atom.arithmetic else {
            continue;
        };
        let row = PRIMITIVES.iter().find(|row| Does::of(row.op) == facts.does);
        if let Some(row) = row {
            let slack = if facts.ty == NumberType::F64 {
                &row.f64
            } else {
                &row.f32
            };
            assert!(facts.error.within(slack), "{}", atom.id);
            assert!(!facts.flushes, "{}: subnormals are numbers", atom.id);
        }
        for operand in &atom.operands {
            match operand.kind {
                OperandKind::RegsOut { ty, count } => {
                    assert_eq!((ty, count), (register(facts.does.gives(facts.ty)), 1));
                }
                OperandKind::RegsIn { ty, .. } => {
                    let by = facts.does == Does::Where && operand.name == "by";
                    let wanted = if by { NumberType::Bool } else { facts.ty };
                    assert_eq!(ty, register(wanted), "{}", atom.id);
                }
                _ => panic!("{}: {}", atom.id, operand.name),
            }
        }
        records += 1;
    }
    assert!(records > 70, "only {records} records were found");
}

#[test]
fn operations_are_named_once() {
    for row in PRIMITIVES {
        let does = Does::of(row.op);
        assert_eq!(Does::named(does.name()), Some(does));
    }
    for does in Does::ALL {
        assert_eq!(Does::named(does.name()), Some(*does));
        let read: Does = serde_json::from_str(&format!("{:?}", does.name())).unwrap();
        assert_eq!(read, *does);
    }
}

#[test]
fn errors_are_compared_step_by_step() {
    let error = |roundoffs, absolute: &[[f64; 2]]| Error {
        roundoffs,
        absolute: absolute.to_vec(),
    };
    let slack = Slack {
        roundoffs: 2.0,
        by_argument: 0.0,
        absolute: &[[1.0, 1e-7], [10.0, 1e-6]],
        flushes: false,
    };
    assert!(error(2.0, &[]).within(&slack));
    assert!(error(1.0, &[[10.0, 1e-7]]).within(&slack));
    assert!(error(1.0, &[[1.0, 1e-7], [10.0, 1e-6]]).within(&slack));
    assert!(!error(2.5, &[]).within(&slack));
    assert!(!error(1.0, &[[10.0, 1e-6]]).within(&slack));
    assert!(!error(1.0, &[[1.0, 1e-7]]).within(&slack));
    let exact = Slack {
        roundoffs: 2.0,
        by_argument: 0.0,
        absolute: &[],
        flushes: false,
    };
    assert!(!error(1.0, &[[1.0, 1e-7]]).within(&exact));
}
