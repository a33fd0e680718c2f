//! Products whose rows threads load out of slots into registers, with one thing wrong at a time.

use super::pipeline::{certified, change, found_if_dropped, judge, pipe, planned};
use super::refusal;
use crate::error::Error;
use crate::ir::tile::{Op, Sync, View};
use crate::plan::data::matrix_descriptor::Major;
use crate::plan::data::teams::Team;
use crate::{plan, spec};

const KINDS: [&str; 6] = [
    "cta_tile: '(128,64,32)'\npipeline: { schedule: cooperative, stages: 3 }",
    "cta_tile: '(128,64,64)'\npipeline: { schedule: cooperative }\nmma: { atoms: '(1,1,1)' }",
    "cta_tile: '(64,128,32)'\npipeline: { schedule: cooperative }\nmma: { atoms: '(1,2,1)' }",
    "cta_tile: '(64,64,32)'\npipeline: { schedule: pingpong }\ncluster: '(2,1,1)'",
    "cta_tile: '(64,64,32)'\nscheduler: { kind: stream_k }\ncluster: '(4,1,1)'",
    "cta_tile: '(64,64,32)'\ncluster: '(1,1,2)'",
];

fn text(more: &str) -> String {
    format!(
        "kernel: gemm\nname: gemm_rows\narch: sm_90a\noperands:\n  a: {{ dtype: tf32, layout: \
         '(m,k):(1,lda)' }}\n  b: {{ dtype: tf32, layout: '(n,k):(ldb,1)' }}\n  d: {{ dtype: f32, \
         layout: '(m,n):(ldd,1)' }}\naccumulator: f32\n{more}\n"
    )
}

#[test]
fn rows_of_any_order_are_certified_and_every_synchronization_is_needed() {
    for more in KINDS {
        let (plan, _) = certified(more, &text(more));
        let roles = plan.roles.as_ref().unwrap();
        let [a, b] = &roles.descriptors;
        assert!(a.is_none(), "{plan}");
        assert_eq!(b.as_ref().unwrap().major, Major::K, "{plan}");
        assert_eq!(roles.in_flight, 0, "{plan}");
        let (plan, kernel) = planned(&text(more));
        assert!(found_if_dropped(&plan, &kernel, |_| true) > 0, "{kernel}");
    }
}

#[test]
fn registers_that_products_read_are_not_loaded_anew() {
    let (plan, mut kernel) = planned(&text(KINDS[0]));
    let products = pipe(&kernel, "products");
    let ring = pipe(&kernel, "ring");
    let mut later = |from: Sync, to: &[Sync]| {
        let changed = change(&mut kernel, Team::Consumers, &mut |ops| {
            let at = ops.iter().position(|op| *op == Op::Sync(from));
            let to = to.iter().map(|sync| Op::Sync(*sync));
            at.map(|at| drop(ops.splice(at..=at, to))).is_some()
        });
        assert!(changed, "{from:?}");
    };
    // One group runs on, and its slot is given back a trip late, as where slots hold both factors.
    later(Sync::Await(products, 0), &[Sync::Await(products, 1)]);
    later(Sync::Release(ring, 0), &[Sync::Release(ring, 1)]);
    let drain = Sync::Drain(products);
    later(drain, &[drain, Sync::Release(ring, 1)]);
    let told = refusal(judge(&plan, &kernel));
    assert!(
        told.contains("touches registers that products may still read"),
        "{told}"
    );
}

#[test]
fn rows_are_loaded_before_they_are_multiplied() {
    for more in KINDS {
        let (plan, mut kernel) = planned(&text(more));
        let load = |op: &Op| {
            let to = |op: &Op| match op {
                Op::Copy {
                    from: View::Smem(..),
                    to,
                    ..
                } => Some(*to),
                _ => None,
            };
            matches!(to(op), Some(View::Rmem(..)))
        };
        let changed = change(&mut kernel, Team::Consumers, &mut |ops| {
            let at = ops.iter().position(load);
            at.map(|at| ops.remove(at)).is_some()
        });
        assert!(changed, "{kernel}");
        let told = refusal(judge(&plan, &kernel));
        assert!(told.contains("data: "), "{told}");
    }
}

#[test]
fn what_has_no_such_way_is_refused_with_the_one_that_there_is() {
    let refused = |text: &str| match plan::plan(&spec::parse("-", text).unwrap().points[0]) {
        Err(error @ Error::Plan { .. }) => error.report(false),
        other => panic!("{other:?}"),
    };
    let rows = text("cta_tile: '(128,64,32)'\npipeline: { schedule: cooperative, in_flight: 1 }");
    let told = refused(&rows);
    assert!(told.contains("while registers that they read"), "{told}");
    let shared =
        text("cta_tile: '(128,64,32)'\ncluster: '(2,2,1)'\npipeline: { schedule: cooperative }");
    let told = refused(&shared);
    assert!(told.contains("use (2,1,1)"), "{told}");
    // b is read in shared memory: it would be a in the other roles.
    let columns = text(KINDS[0]).replace("(1,lda)", "(lda,1)");
    let columns = columns.replace("(ldb,1)", "(1,ldb)");
    let told = refused(&columns);
    assert!(told.contains("mma.operands ba"), "{told}");
    let exchanged = format!("{columns}mma: {{ operands: ba }}\n");
    planned(&exchanged);
    let both = text(KINDS[0]).replace("(ldb,1)", "(1,ldb)");
    let told = refused(&both);
    assert!(
        !told.contains("mma.operands") && told.contains("copy.b.realign transposed"),
        "{told}"
    );
    planned(&format!("{both}copy: {{ b: {{ realign: transposed }} }}\n"));
}
