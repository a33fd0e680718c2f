//! A warp-specialized GEMM with clusters, and one defect at a time in it.

mod defects;
mod fixture;

use fixture::{every, text};

#[test]
fn the_kernel_is_right_and_clean_in_strict_mode() {
    for outcome in every(&text(&[])) {
        let findings = &outcome.report.findings;
        assert!(findings.is_empty(), "{}: {findings:#?}", outcome.schedule);
        assert!(outcome.right, "{}", outcome.schedule);
    }
}
