//! One defect at a time: each has its name under every schedule, and the kernel without it is
//! clean (`the_kernel_is_right_and_clean_in_strict_mode`).

use super::fixture::{every, text};

type Edit = (&'static str, &'static str);

/// Every schedule finds all of the ids, among others that follow from the defect.
fn finds(ids: &[&str], edits: &[Edit]) {
    for outcome in every(&text(edits)) {
        let errors = outcome.errors();
        assert!(
            ids.iter().all(|id| errors.contains(id)),
            "{edits:?} under {}: {errors:?}, right: {}",
            outcome.schedule,
            outcome.right
        );
    }
}

const IN_FLIGHT: &str = "wgmma_register_in_flight";
const OVERWRITE: &str = "race_tma_overwrite";
const SOURCE: &str = "bulk_source_overwritten";
const TX: &str = "mbarrier_tx_mismatch";

#[test]
fn arrivals_that_do_not_come() {
    finds(&["deadlock"], &[("release_1", "")]);
    finds(
        &["deadlock"],
        &[("init_empty", "mbarrier.init.shared::cta.b64 [%r11], 3;")],
    );
    finds(&["async_not_waited", OVERWRITE], &[("consumer_flip", "")]);
    finds(
        &["deadlock", "mbarrier_overarrive"],
        &[("producer_flip", "")],
    );
}

#[test]
fn bytes_that_were_not_announced() {
    let less = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r26], 12288;";
    let more = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r26], 16400;";
    finds(&[TX], &[("expect", less)]);
    finds(&[TX, "deadlock"], &[("expect", more)]);
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [%r26];";
    finds(&[TX, "async_not_waited"], &[("expect", arrive)]);
    let alone = "mov.b16 %rs1, 1; cp.async.bulk.tensor.2d.shared::cluster.global.tile\
        .mbarrier::complete_tx::bytes.multicast::cluster [%r32], [%rd2, {%r30, %r33}], [%r26], \
        %rs1;";
    finds(&[TX, "deadlock"], &[("load_b", alone)]);
}

#[test]
fn slots_that_are_used_too_early() {
    let empty: &[Edit] = &[("wait_empty", ""), ("wait_empty_again", "")];
    finds(&["mbarrier_overarrive"], empty);
    let full: &[Edit] = &[("wait_full", ""), ("wait_full_again", "")];
    finds(&["async_not_waited", OVERWRITE], full);
    let two = "wgmma.wait_group.sync.aligned 2;";
    finds(&[OVERWRITE], &[("wait_group", two)]);
    let this = "setp.ge.u32 %p10, %r22, 0; mov.u32 %r41, %r20;";
    finds(&[OVERWRITE], &[("released", this)]);
    let one = "mbarrier.init.shared::cta.b64 [%r11+8], 1;";
    finds(&[OVERWRITE], &[("init_empty_1", one)]);
    finds(&[OVERWRITE], &[("all_waited", "")]);
}

#[test]
fn registers_of_products_in_flight() {
    finds(&[IN_FLIGHT, OVERWRITE], &[("commit", "")]);
    finds(&[IN_FLIGHT], &[("wait_last", "")]);
    finds(&[IN_FLIGHT], &[("fence", "")]);
}

#[test]
fn staging_that_is_stored() {
    finds(&["missing_proxy_fence"], &[("store_fence", "")]);
    finds(&["race_shared"], &[("store_barrier", "")]);
    finds(&[SOURCE], &[("store_read", "")]);
    finds(&[SOURCE], &[("store_commit", "")]);
    finds(&[SOURCE, "race_shared"], &[("store_free", "")]);
}

#[test]
fn exits_before_the_end() {
    finds(&["async_not_waited"], &[("last_read", "")]);
    finds(&["async_not_waited"], &[("last_commit", "")]);
    let cluster: &[Edit] = &[("last_arrive", ""), ("last_wait", "")];
    finds(&["dsmem_cta_exited"], cluster);
    let full: &[Edit] = &[("wait_full", ""), ("wait_full_again", "")];
    finds(&["dsmem_cta_exited"], full);
}

#[test]
fn barriers_that_others_cannot_see_yet() {
    finds(&["mbarrier_init_race"], &[("init_fence", "")]);
    let released = "barrier.cluster.arrive.release.aligned;";
    let edits: &[Edit] = &[("init_fence", ""), ("first_arrive", released)];
    finds(&["mbarrier_init_race"], edits);
    let alone: &[Edit] = &[("first_arrive", "bar.sync 0;"), ("first_wait", "")];
    finds(&["mbarrier_init_race", "dsmem_before_cluster_sync"], alone);
}

#[test]
fn registers_that_are_not_there() {
    let set = |count| match count {
        152 => "setmaxnreg.dec.sync.aligned.u32 152;",
        _ => "setp.ne.u32 %p3, %r7, 0; @%p3 bra DONE; setmaxnreg.dec.sync.aligned.u32 40;",
    };
    finds(&["setmaxnreg"], &[("dec", set(152))]);
    finds(&["setmaxnreg", "deadlock"], &[("dec", set(40))]);
    let less = "setmaxnreg.inc.sync.aligned.u32 136;";
    finds(&["setmaxnreg"], &[("dec", set(40)), ("inc", less)]);
    let most = "setmaxnreg.inc.sync.aligned.u32 240;";
    finds(&["setmaxnreg", "deadlock"], &[("inc", most)]);
    let down = "setmaxnreg.inc.sync.aligned.u32 104;";
    finds(&["setmaxnreg"], &[("inc", down)]);
}

#[test]
fn named_barriers_that_do_not_agree() {
    let fewer = "bar.sync 1, 96;";
    finds(&["barrier_count_mismatch"], &[("store_barrier", fewer)]);
    let other = "add.u32 %r60, %r7, -3; min.u32 %r60, %r60, 2; bar.sync %r60, 128;";
    finds(&["deadlock"], &[("store_barrier", other)]);
}
