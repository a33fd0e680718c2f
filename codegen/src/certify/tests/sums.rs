//! Kernels that add values to outputs in a fixed order: right ones, and such with one thing wrong.

use super::combined::{FAULTS, Fault, KINDS};
use super::interpret::{drop_op, once, one};
use super::pipeline::{judge, planned};
use crate::atoms::sync::Act;
use crate::certify::{self, computed_of};
use crate::ir::thread::program::{Arg, Stmt};
use crate::ir::tile::{CombineId, Op};
use crate::plan::data::combining::InOrder;
use crate::plan::data::model::Plan;
use crate::{ir, lower};

/// The kinds of kernels that combine values, which add them up.
fn kinds() -> [String; 5] {
    KINDS.map(|text| text.replace("max=", "+=").replace("min=", "+="))
}

/// The first of a plan's sums that is such.
fn sum_of(plan: &mut Plan, is: fn(&InOrder) -> bool) -> Option<&mut InOrder> {
    let combinings = plan.flow.as_mut()?.combinings.iter_mut();
    let mut sums = combinings.filter_map(|combining| combining.in_order.as_mut());
    sums.find(|sums| is(sums))
}

fn change(plan: &mut Plan, is: fn(&InOrder) -> bool, how: fn(&mut InOrder)) -> bool {
    sum_of(plan, is).map(how).is_some()
}

fn adds_up(op: &Op) -> bool {
    matches!(op, Op::AddUp(_))
}

/// Faults of how terms come together, and in how many of the kinds each can be planted.
const OF_SUMS: [(&str, usize, Fault); 9] = [
    ("CTAs that never come", 5, |plan, _| {
        change(plan, |_| true, |sums| sums.ctas.count += 1)
    }),
    ("sums that nobody adds up", 5, |_, kernel| {
        drop_op(kernel, adds_up)
    }),
    ("added up twice", 5, |_, kernel| {
        once(kernel, |ops| {
            let at = ops.iter().position(adds_up);
            at.map(|at| ops.insert(at, ops[at].clone())).is_some()
        })
    }),
    ("added up as another output", 5, |_, kernel| {
        one(kernel, |op| match op {
            Op::AddUp(sums) => {
                sums[0].how = CombineId(1 - sums[0].how.0);
                true
            }
            _ => false,
        })
    }),
    ("two warps at one place", 5, |plan, _| {
        change(plan, |sums| sums.parts() > 1, |sums| sums.digits.clear())
    }),
    ("places that no warp has", 5, |plan, _| {
        let one = |sums: &mut InOrder| sums.digits[0].extent *= 2;
        change(plan, |sums| sums.parts() > 1, one)
    }),
    ("tiles of other elements added up", 5, |plan, _| {
        change(plan, |sums| sums.folds[0], |sums| sums.folds[0] = false)
    }),
    ("another mode kept", 5, |plan, _| {
        let is = |sums: &InOrder| sums.keeps != [false; 2];
        change(plan, is, |sums| sums.keeps.reverse())
    }),
    ("added up in any order", 5, |plan, _| {
        let combinings = plan.flow.as_mut().map(|flow| &mut flow.combinings);
        let first = combinings.into_iter().flatten().next();
        first.map(|one| one.in_order = None).is_some()
    }),
];

#[test]
fn right_kernels_add_each_value_once() {
    for text in kinds() {
        let (plan, kernel) = planned(&text);
        judge(&plan, &kernel).unwrap();
        assert_eq!(plan.in_order().count(), 2, "{text}");
    }
}

#[test]
fn what_adds_up_something_else_is_refused() {
    // What is stored takes the place of nothing here: terms are stored, and sums.
    let of_others = ["stored in place of combined", "the smaller for the larger"];
    let alike = FAULTS.iter().filter(|(name, ..)| !of_others.contains(name));
    let (mut counts, mut open) = (Vec::new(), Vec::new());
    for (name, wanted, plant) in alike.chain(&OF_SUMS) {
        let mut planted = 0;
        for text in kinds() {
            let (mut plan, kernel) = planned(&text);
            let mut wrong = kernel.clone();
            if !plant(&mut plan, &mut wrong) {
                continue;
            }
            planted += 1;
            if let Ok(computed) = computed_of(&plan, &wrong) {
                open.push(format!("{name}: {}: {computed:?}", plan.id));
            }
        }
        if planted != *wanted {
            counts.push(format!("{name}: {planted}, not {wanted}"));
        }
    }
    assert!(open.is_empty(), "{open:#?}");
    assert!(counts.is_empty(), "{counts:#?}");
}

/// Sums along the mode that passes go along: threads hold them over all chunks.
fn passed() -> String {
    let text = KINDS[4].replace("max= t[m]", "+= x[m,n]");
    text.replace("min=", "+=")
        .replace("cta_tile: '(2,512)'", "cta_tile: '(4,512)'")
}

#[test]
fn sums_along_chunks_are_handed_on_once() {
    let (plan, kernel) = planned(&passed());
    judge(&plan, &kernel).unwrap();
    let held = |sums: &InOrder| sums.passed.is_some();
    assert_eq!(plan.in_order().filter(|(_, sums)| held(sums)).count(), 1);
    let faults: [(&str, Fault); 4] = [
        ("what threads hold left out", |_, kernel| {
            one(kernel, |op| match op {
                Op::AddUp(sums) => sums.iter_mut().any(|sum| sum.held.take().is_some()),
                _ => false,
            })
        }),
        ("sums that begin with nothing", |_, kernel| {
            drop_op(
                kernel,
                |op| matches!(op, Op::Map { from, .. } if from.is_empty()),
            )
        }),
        ("handed on with every chunk", |plan, _| {
            change(
                plan,
                |sums| sums.passed.is_some(),
                |sums| sums.passed = None,
            )
        }),
        ("chunks of another mode", |plan, _| {
            change(
                plan,
                |sums| sums.passed.is_some(),
                |sums| sums.passed = Some(0),
            )
        }),
    ];
    for (name, plant) in faults {
        let (mut plan, mut wrong) = (plan.clone(), kernel.clone());
        assert!(plant(&mut plan, &mut wrong), "{name}");
        let computed = computed_of(&plan, &wrong);
        assert!(computed.is_err(), "{name}: {computed:?}");
    }
}

/// A term far behind its place may lie behind the last one.
#[test]
fn terms_outside_of_scratch_memory_are_refused() {
    let (plan, kernel) = planned(&kinds()[0]);
    let program = lower::lower(&plan, &ir::tile::build::build(&plan).unwrap()).unwrap();
    certify::certify(&plan, &kernel, &program).unwrap();
    for act in [Act::StoreTerm, Act::LoadTerm] {
        let mut program = program.clone();
        let moved = super::change_first(&mut program.body, &mut |statement| match statement {
            Stmt::Atom { atom, args } if atom.sync.is_some_and(|sync| sync.does == act) => {
                let mut addresses = args.iter_mut().filter_map(|arg| match arg {
                    Arg::Address(address) => Some(address),
                    _ => None,
                });
                addresses
                    .next()
                    .map(|address| address.imm += 1 << 40)
                    .is_some()
            }
            _ => false,
        });
        assert!(moved, "{act}");
        let message = super::refusal(certify::certify(&plan, &kernel, &program));
        assert!(message.contains("scratch memory"), "{message}");
    }
}
