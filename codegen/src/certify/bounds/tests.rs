//! What is known of terms is true of numbers, and one test less is found.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::rc::Rc;

use proptest::prelude::*;

use super::poly::{Poly, TermId};
use super::prove::PATIENT;
use super::terms::{Cond, Known, Term, Value};
use crate::certify::guards_of;
use crate::ir::thread::expr::{add, ceil_div, div, int, lt, max, min, mul, rem, select, sub};
use crate::ir::thread::program::{
    BinOp, CmpOp, Expr, IntType, Param, ParamId, ParamType, Program, Special, Stmt,
};
use crate::ir::tile::build;
use crate::{lower, plan, spec};

const THREADS: i64 = 64;

fn program() -> Program {
    let param = |name: &str| Param {
        name: name.to_string(),
        ty: ParamType::I32,
        operand: None,
    };
    Program {
        entry: String::new(),
        params: ["m", "n"].map(param).to_vec(),
        threads: THREADS as u32,
        min_ctas_per_sm: None,
        smem_bytes: 0,
        smem_align_bytes: 1,
        vars: Vec::new(),
        files: Vec::new(),
        body: Vec::new(),
    }
}

/// The thread index and the two parameters.
type Inputs = [i64; 3];

/// The value of an expression, where it is what the thread program demands.
fn number(expr: &Expr, inputs: &Inputs) -> Option<i64> {
    Some(match expr {
        Expr::Int(value, _) => *value,
        Expr::Special(_) => inputs[0],
        Expr::Param(param) => inputs[1 + param.0 as usize],
        Expr::Compare(CmpOp::Lt, a, b) => i64::from(number(a, inputs)? < number(b, inputs)?),
        Expr::Select(cond, a, b) => match number(cond, inputs)? {
            0 => number(b, inputs)?,
            _ => number(a, inputs)?,
        },
        Expr::Binary(op, a, b) => {
            let (a, b) = (number(a, inputs)?, number(b, inputs)?);
            let legal = a >= 0 && b > 0;
            match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a * b,
                BinOp::Min => a.min(b),
                BinOp::Max => a.max(b),
                BinOp::Div if legal => a / b,
                BinOp::Rem if legal => a % b,
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn of_poly(known: &Known<'_>, poly: &Poly, inputs: &Inputs) -> Option<i128> {
    let mut sum = 0;
    for (mono, coefficient) in &poly.0 {
        let mut product = *coefficient;
        for term in mono.terms() {
            product *= of_term(known, *term, inputs)?;
        }
        sum += product;
    }
    Some(sum)
}

fn of_cond(known: &Known<'_>, cond: &Cond, inputs: &Inputs) -> Option<bool> {
    Some(match cond {
        Cond::Constant(truth) => *truth,
        Cond::Natural(poly) => of_poly(known, poly, inputs)? >= 0,
        Cond::Zero(poly) => of_poly(known, poly, inputs)? == 0,
        Cond::NotZero(poly) => of_poly(known, poly, inputs)? != 0,
        _ => return None,
    })
}

/// The number that a term stands for; `None` for one that may be anything.
fn of_term(known: &Known<'_>, term: TermId, inputs: &Inputs) -> Option<i128> {
    let of = |poly: &Poly| of_poly(known, poly, inputs);
    Some(match &known.terms[term as usize].term {
        Term::Param(param) => i128::from(inputs[1 + *param as usize]),
        Term::Special(_) => i128::from(inputs[0]),
        Term::Unknown(_) | Term::Bits(..) => return None,
        Term::Quotient(x, y) => of(x)?.div_euclid(of(y)?),
        Term::Remainder(x, y) => of(x)?.rem_euclid(of(y)?),
        Term::Ceiling(x, y) => -(-of(x)?).div_euclid(of(y)?),
        Term::Min(a, b) => of(a)?.min(of(b)?),
        Term::Max(a, b) => of(a)?.max(of(b)?),
        Term::Select(cond, a, b) => match of_cond(known, cond, inputs)? {
            true => of(a)?,
            false => of(b)?,
        },
    })
}

fn expressions() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (0i64..40).prop_map(int),
        Just(Expr::Special(Special::TidX)),
        (0u32..2).prop_map(|param| Expr::Param(ParamId(param))),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        let divisor = (inner.clone(), 1i64..20);
        prop_oneof![
            pair.clone().prop_map(|(a, b)| add(a, b)),
            pair.clone().prop_map(|(a, b)| sub(a, b)),
            (inner.clone(), 0i64..9).prop_map(|(a, by)| mul(a, int(by))),
            pair.clone().prop_map(|(a, b)| min(a, b)),
            pair.clone().prop_map(|(a, b)| max(a, b)),
            pair.clone().prop_map(|(a, b)| div(a, b)),
            pair.clone().prop_map(|(a, b)| rem(a, b)),
            divisor.clone().prop_map(|(a, by)| div(a, int(by))),
            divisor.clone().prop_map(|(a, by)| rem(a, int(by))),
            divisor.prop_map(|(a, by)| ceil_div(a, by)),
            (pair.clone(), pair).prop_map(|((a, b), (c, d))| select(lt(a, b), c, d)),
        ]
    })
}

fn start(known: &mut Known<'_>) {
    for param in 0..2 {
        let range = super::poly::Range::new(1, 1000);
        known.term(Term::Param(param), range, Vec::new());
    }
}

proptest! {
    #[test]
    fn what_is_known_is_true(
        expr in expressions(),
        left in expressions(),
        right in expressions(),
        inputs in (0..THREADS, 1i64..1000, 1i64..1000),
    ) {
        let inputs = [inputs.0, inputs.1, inputs.2];
        let program = program();
        let mut known = Known::new(&program);
        start(&mut known);
        let test = known.cond(&lt(left.clone(), right.clone()));
        let sides = number(&left, &inputs).zip(number(&right, &inputs));
        if sides.is_some_and(|(left, right)| left < right) {
            known.pass(&test);
            prop_assert!(!known.impossible);
        }
        let poly = known.int(&expr);
        if let (Some(is), Some(value)) = (of_poly(&known, &poly, &inputs), number(&expr, &inputs)) {
            prop_assert_eq!(is, i128::from(value));
            let range = known.range(&poly);
            prop_assert!((range.lo..=range.hi).contains(&is));
            // What is shown holds.
            if known.proves(&poly, PATIENT) {
                prop_assert!(is >= 0);
            }
            let under = poly.scaled(-1).plus_constant(900);
            if known.proves(&under, PATIENT) {
                prop_assert!(is <= 900);
            }
        }
        for term in 0..known.terms.len() {
            let Some(is) = of_term(&known, term as TermId, &inputs) else { continue };
            let entry = &known.terms[term];
            prop_assert!((entry.range.lo..=entry.range.hi).contains(&is));
            for law in &entry.laws {
                let law = of_poly(&known, law, &inputs);
                prop_assert!(law.is_none_or(|law| law >= 0));
            }
        }
        for fact in &known.facts {
            let fact = of_poly(&known, fact, &inputs);
            prop_assert!(fact.is_none_or(|fact| fact >= 0));
        }
    }
}

#[test]
fn two_open_conditions_are_not_one() {
    let program = program();
    let mut known = Known::new(&program);
    let [a, b] = [known.open(), known.open()];
    assert_ne!(a, b);
    assert_ne!(a.negated(), *b);
    let Value::Pred(not) = Value::Pred(Rc::new(a.negated())) else {
        panic!("a condition is one");
    };
    assert_ne!(*not, *a);
}

/// The program of a gemm with these lines in its spec, and its plan.
fn lowered(more: &str) -> (plan::data::model::Plan, Program) {
    let text = format!(
        "
kernel: gemm
name: gemm_guarded
arch: sm_90a
operands:
  a: {{ dtype: bf16, layout: '(m,k):(lda,1)' }}
  b: {{ dtype: bf16, layout: '(n,k):(ldb,1)' }}
  d: {{ dtype: bf16, layout: '(m,n):(ldd,1)' }}
accumulator: f32
cta_tile: '(128,64,64)'
{more}
"
    );
    let file = spec::parse("-", &text).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let program = lower::lower(&plan, &build::build(&plan).unwrap()).unwrap();
    (plan, program)
}

/// Every branch's condition, one after the other, with the number of those before it.
fn each_condition(body: &mut [Stmt], at: &mut usize, change: &mut dyn FnMut(usize, &mut Expr)) {
    for statement in body {
        match statement {
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                change(*at, cond);
                *at += 1;
                each_condition(then, at, change);
                each_condition(otherwise, at, change);
            }
            Stmt::For { body, .. } => each_condition(body, at, change),
            _ => {}
        }
    }
}

#[test]
fn scratch_memory_of_cut_tiles_is_shown_to_be_enough() {
    for schedule in ["cooperative", "pingpong"] {
        let more = format!(
            "pipeline: {{ stages: 3, schedule: {schedule} }}\nscheduler: {{ kind: stream_k }}"
        );
        let (plan, program) = lowered(&more);
        let guards = guards_of(&plan, &program).unwrap();
        assert!(guards.by_scratch > 0 && guards.by_map > 0, "{guards:?}");
    }
}

#[test]
fn boxes_that_end_past_the_edge_are_found() {
    let (plan, program) = lowered("pipeline: { stages: 3 }");
    assert!(guards_of(&plan, &program).is_ok());
    let mut changed = program.clone();
    let mut last = 0;
    each_condition(&mut changed.body, &mut 0, &mut |at, cond| {
        if matches!(cond, Expr::Binary(BinOp::Or, ..)) {
            *cond = Expr::Int(1, IntType::I1);
            last = at;
        }
    });
    assert!(last > 0);
    let message = guards_of(&plan, &changed).unwrap_err().to_string();
    assert!(message.contains("multiple of 16 bytes"), "{message}");
}
