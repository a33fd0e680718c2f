//! Kernels in tiles that compute something else: faults that the pipes do not see, each planted in
//! every kind of kernel that it can be planted in.

use std::sync::Arc;

use tilewright_formula::ExprKind;

use super::pipeline::{ALIKE, KINDS, change, judge, planned, right};
use crate::certify::computed_of;
use crate::dtype::DType;
use crate::element::{Element, Packing};
use crate::ir::tile::{Bounds, CopyId, Kernel, Op, Place, Stage, Start, TileId, View};
use crate::plan::data::model::Plan;
use crate::spec::keys::model::OperandId;

/// Changes operations until one is changed, in any team.
pub(super) fn once(kernel: &mut Kernel, mut at: impl FnMut(&mut Vec<Op>) -> bool) -> bool {
    let teams: Vec<_> = kernel.teams.iter().map(|members| members.team).collect();
    teams.into_iter().any(|team| change(kernel, team, &mut at))
}

/// Removes the first such operation.
pub(super) fn drop_op(kernel: &mut Kernel, is: impl Fn(&Op) -> bool) -> bool {
    once(kernel, |ops| {
        let at = ops.iter().position(&is);
        at.map(|at| ops.remove(at)).is_some()
    })
}

/// Changes one operation.
pub(super) fn one(kernel: &mut Kernel, mut change: impl FnMut(&mut Op) -> bool) -> bool {
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

/// What makes something of nothing.
fn is_fill(op: &Op) -> bool {
    matches!(op, Op::Map { from, .. } if from.is_empty())
}

/// Whether it keeps elements as they are.
fn keeps(element: &Element) -> bool {
    let alike = |input: &Packing| input.dtype == element.output.dtype;
    matches!(element.value.kind, ExprKind::Parameter(_)) && element.inputs.iter().all(alike)
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

/// A kernel with more boxes than buffers that they leave through.
const BOXES: &str = "
kernel: gemm
name: gemm_boxes
arch: sm_90a
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }
  d: { dtype: f32, layout: '(m,n):(ldd,1)' }
accumulator: f32
cta_tile: '(128,128,64)'
pipeline: { stages: 3 }
";

/// A fault: whether it could be planted.
type Fault = fn(&Plan, &mut Kernel) -> bool;

/// Faults, and in how many of the kinds each can be planted.
const FAULTS: [(&str, usize, Fault); 21] = [
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
    ("one operand loaded for the other", 12, |_, kernel| {
        let [a, b] = [0, 1].map(|number| {
            tile(kernel, |place| {
                *place == Place::Gmem(OperandId(number), None)
            })
        });
        one(kernel, |op| match op {
            Op::Copy { from, .. } if *from == View::Gmem(a) => {
                *from = View::Gmem(b);
                true
            }
            _ => false,
        })
    }),
    ("factors changed about", 10, |_, kernel| {
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
        drop_op(kernel, is_fill) && one(kernel, |op| of_registers(op))
    }),
    ("sums that go on over work tiles", 8, |_, kernel| {
        drop_op(kernel, is_fill);
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
        let mut found = None;
        once(kernel, |ops| {
            found = ops.iter().find(|op| is_fill(op)).cloned();
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
    ("a map left out", 10, |_, kernel| {
        drop_op(kernel, |op| matches!(op, Op::Map { .. }) && !is_fill(op))
    }),
    ("sums stored uncast", 8, |_, kernel| {
        let mut sums = None;
        one(kernel, |op| match op {
            Op::Map { from, element, .. } if !keeps(element) => {
                sums = from.first().copied();
                sums.is_some()
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
    ("stores left out", 12, |_, kernel| {
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
    ("stores twice", 12, |_, kernel| {
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
        12,
        |plan, kernel| {
            let output = plan.operands.last().unwrap().id;
            let tile = tile(kernel, |place| *place == Place::Gmem(output, None));
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
    ("boxes that end past the edge", 7, |_, kernel| {
        one(kernel, |op| match op {
            Op::IfBoxesEnd(boxes, elements) => {
                *elements = boxes.clone();
                true
            }
            _ => false,
        })
    }),
    ("partial sums not handed on", 2, |_, kernel| {
        one(kernel, |op| match op {
            Op::IfContinues(gives, _) => {
                gives.clear();
                true
            }
            _ => false,
        })
    }),
    (
        "elements of a type cast by an atom of another",
        8,
        |plan, kernel| {
            let other = crate::atoms::catalogue().unwrap().iter().find(|atom| {
                let types = atom.convert.map(|types| (types.from, types.to));
                types == Some((DType::F32, DType::F16)) && plan.accumulator == DType::F32
            });
            one(kernel, |op| match op {
                Op::Map { from, element, .. } if !from.is_empty() => {
                    let mut changed = Element::clone(element);
                    let call = changed.code.calls.first_mut();
                    let planted = call
                        .zip(other)
                        .map(|(call, other)| call.atom = other.clone());
                    *element = Arc::new(changed);
                    planted.is_some()
                }
                _ => false,
            })
        },
    ),
    (
        "boxes that leave for the place of others",
        3,
        |plan, kernel| {
            let store = plan.roles.as_ref().and_then(|roles| roles.store.as_ref());
            let boxes = store.map_or(1, |store| store.places.len() as u32);
            // Another one of the same buffer.
            let slots = 2;
            one(kernel, |op| match op {
                Op::Copy {
                    from: View::Smem(_, Stage::Turn, Some(number)),
                    to: View::Gmem(_),
                    ..
                } => {
                    *number = (*number + slots) % boxes;
                    boxes > slots
                }
                _ => false,
            })
        },
    ),
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

/// Kernels of every kind.
fn kinds() -> Vec<(Plan, Kernel)> {
    let roles = KINDS.map(right).into_iter();
    let more = [BOXES].map(planned);
    roles.chain(ALIKE.map(planned)).chain(more).collect()
}

#[test]
fn right_kernels_store_what_their_formula_gives() {
    for (plan, kernel) in kinds() {
        let computed = computed_of(&plan, &kernel).unwrap();
        // Flows of vectors have one more, that ends with a vector.
        let [large, small, ..] = computed.as_slice() else {
            panic!("{computed:?}");
        };
        // Cut tiles along every mode, and a whole one along each.
        for (mode, tile) in kernel
            .work
            .dims
            .iter()
            .map(|dim| (dim.mode(), dim.extent()))
        {
            let extent = large.extents[mode];
            assert!(
                extent > tile && extent % tile != 0,
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
        for (plan, kernel) in kinds() {
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
