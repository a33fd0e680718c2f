//! Kernels in tiles that compute something else: faults that the pipes do not see, each planted in
//! every kind of kernel that it can be planted in.

use super::pipeline::{ALIKE, KINDS, change, judge, planned, right};
use crate::certify::computed_of;
use crate::ir::tile::{Bounds, CopyId, Kernel, Op, Place, Start, TileId, View};
use crate::plan::model::Plan;

/// Changes operations until one is changed, in any team.
fn once(kernel: &mut Kernel, mut at: impl FnMut(&mut Vec<Op>) -> bool) -> bool {
    let teams: Vec<_> = kernel.teams.iter().map(|members| members.team).collect();
    teams.into_iter().any(|team| change(kernel, team, &mut at))
}

/// Removes the first such operation.
fn drop_op(kernel: &mut Kernel, is: impl Fn(&Op) -> bool) -> bool {
    once(kernel, |ops| {
        let at = ops.iter().position(&is);
        at.map(|at| ops.remove(at)).is_some()
    })
}

/// Changes one operation.
fn one(kernel: &mut Kernel, mut change: impl FnMut(&mut Op) -> bool) -> bool {
    once(kernel, |ops| ops.iter_mut().any(&mut change))
}

/// The tile of that place.
fn tile(kernel: &Kernel, is: impl Fn(&Place) -> bool) -> TileId {
    TileId(
        kernel
            .tiles
            .iter()
            .position(|tile| is(&tile.place))
            .unwrap(),
    )
}

/// Products of slots are counted by the machine of the pipes: none of a slot's can be missing.
fn of_registers(op: &Op) -> bool {
    matches!(
        op,
        Op::Mma {
            a: View::Rmem(..),
            ..
        }
    )
}

/// A fault: whether it could be planted.
type Fault = fn(&Plan, &mut Kernel) -> bool;

/// Faults, and in how many of the kinds each can be planted.
const FAULTS: [(&str, usize, Fault); 18] = [
    ("fragments of another k-block", 2, |plan, kernel| {
        one(kernel, |op| match op {
            Op::Copy {
                from: View::Smem(_, _, Some(block)),
                to: View::Rmem(..),
                ..
            } => {
                *block = (*block + 1) % plan.k_blocks();
                plan.k_blocks() > 1
            }
            _ => false,
        })
    }),
    ("one operand loaded for the other", 11, |_, kernel| {
        let [a, b] = [0, 1].map(|number| tile(kernel, |place| *place == Place::Gmem(number)));
        one(kernel, |op| match op {
            Op::Copy { from, .. } if *from == View::Gmem(a) => {
                *from = View::Gmem(b);
                true
            }
            _ => false,
        })
    }),
    ("factors changed about", 9, |_, kernel| {
        one(kernel, |op| match op {
            Op::Mma { a, b, .. } => {
                std::mem::swap(a, b);
                true
            }
            _ => false,
        })
    }),
    ("products left out", 2, |_, kernel| {
        drop_op(kernel, of_registers)
    }),
    ("fragments of the other buffer", 2, |_, kernel| {
        one(kernel, |op| match op {
            Op::Mma {
                a: View::Rmem(_, buffer),
                ..
            } => {
                *buffer = 1 - *buffer;
                true
            }
            _ => false,
        })
    }),
    ("sums that begin at nothing", 2, |_, kernel| {
        drop_op(kernel, |op| matches!(op, Op::Map { from: None, .. }))
            && one(kernel, |op| of_registers(op))
    }),
    ("sums that go on over work tiles", 7, |_, kernel| {
        drop_op(kernel, |op| matches!(op, Op::Map { from: None, .. }));
        one(kernel, |op| match op {
            Op::Mma {
                start: start @ Start::FirstTrip,
                ..
            } => {
                *start = Start::Held;
                true
            }
            _ => false,
        })
    }),
    ("sums that begin anew in each trip", 2, |_, kernel| {
        let zero = |op: &Op| matches!(op, Op::Map { from: None, .. });
        let mut found = None;
        once(kernel, |ops| {
            found = ops.iter().find(|op| zero(op)).cloned();
            found.is_some()
        });
        once(kernel, |ops| {
            match (found.clone(), ops.iter().position(of_registers)) {
                (Some(zero), Some(at)) => {
                    ops.insert(at, zero);
                    true
                }
                _ => false,
            }
        })
    }),
    ("a cast left out", 8, |_, kernel| {
        drop_op(kernel, |op| matches!(op, Op::Map { from: Some(_), .. }))
    }),
    ("sums stored uncast", 8, |_, kernel| {
        let mut sums = None;
        one(kernel, |op| match op {
            Op::Map { from, .. } => {
                sums = *from;
                from.is_some()
            }
            _ => false,
        });
        one(kernel, |op| match (op, sums) {
            (
                Op::Copy {
                    from: from @ View::Rmem(..),
                    ..
                },
                Some(sums),
            ) => {
                *from = sums;
                true
            }
            _ => false,
        })
    }),
    ("the next tile along k left out", 2, |_, kernel| {
        drop_op(kernel, |op| *op == Op::NextTile)
    }),
    ("loads without a test", 4, |_, kernel| {
        one(kernel, |op| match op {
            Op::Copy {
                from: View::Gmem(_),
                by: CopyId::Tiled(_),
                bounds: bounds @ Bounds::Checked,
                ..
            } => {
                *bounds = Bounds::Inside;
                true
            }
            _ => false,
        })
    }),
    ("stores left out", 11, |_, kernel| {
        drop_op(kernel, |op| {
            matches!(
                op,
                Op::Copy {
                    from: View::Rmem(..),
                    to: View::Gmem(_),
                    ..
                }
            )
        })
    }),
    ("stores twice", 11, |_, kernel| {
        once(kernel, |ops| {
            let store = |op: &Op| {
                matches!(
                    op,
                    Op::Copy {
                        from: View::Rmem(..),
                        to: View::Gmem(_),
                        ..
                    }
                )
            };
            let at = ops.iter().position(store);
            at.map(|at| ops.insert(at, ops[at].clone())).is_some()
        })
    }),
    (
        "the output's tile the other way round",
        11,
        |plan, kernel| {
            let output = plan.operands.len() - 1;
            let tile = tile(kernel, |place| *place == Place::Gmem(output));
            kernel.tiles[tile.0].modes.reverse();
            true
        },
    ),
    ("edges taken for the inside", 5, |_, kernel| {
        one(kernel, |op| match op {
            Op::IfInside(inside, edge) => {
                *edge = inside.clone();
                true
            }
            _ => false,
        })
    }),
    ("boxes that end past the edge", 6, |_, kernel| {
        one(kernel, |op| match op {
            Op::IfBoxesEnd(boxes, elements) => {
                *elements = boxes.clone();
                true
            }
            _ => false,
        })
    }),
    ("partial sums not added", 2, |_, kernel| {
        one(kernel, |op| match op {
            Op::ForEachPartial(body) => {
                body.clear();
                true
            }
            _ => false,
        })
    }),
];

#[test]
fn right_kernels_store_what_their_formula_gives() {
    for (plan, kernel) in KINDS.map(right).into_iter().chain(ALIKE.map(planned)) {
        let computed = computed_of(&plan, &kernel).unwrap();
        let [large, small] = computed.as_slice() else {
            panic!("{computed:?}");
        };
        // Cut tiles along every mode, and a whole one along each.
        for (mode, tile) in &kernel.work.tile {
            let extent = large.extents[mode];
            assert!(
                extent > *tile && extent % tile != 0,
                "{computed:?}\n{kernel}"
            );
        }
        assert!(large.elements > small.elements, "{computed:?}");
    }
}

#[test]
fn what_computes_something_else_is_refused() {
    let (mut counts, mut open) = (Vec::new(), Vec::new());
    for (name, _, plant) in FAULTS {
        let mut planted = 0;
        for (plan, kernel) in KINDS.map(right).into_iter().chain(ALIKE.map(planned)) {
            let mut wrong = kernel.clone();
            if !plant(&plan, &mut wrong) {
                continue;
            }
            assert_ne!(wrong, kernel, "{name}");
            planted += 1;
            let message = judge(&plan, &wrong).err().map(|error| error.to_string());
            let message = message.unwrap_or_else(|| format!("{}: nothing", plan.id));
            if !message.contains("data: ") {
                open.push(format!("{name}: {message}"));
            }
        }
        counts.push((name, planted));
    }
    assert!(open.is_empty(), "{open:#?}");
    assert_eq!(counts, FAULTS.map(|(name, wanted, _)| (name, wanted)));
}
