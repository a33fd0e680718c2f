//! What is proved about a kernel, in words.

use std::fmt::Write as _;

use tilewright_codegen::certify::Certificate;

use crate::terminal::wrapped;

/// What is proved, and what a launch must guarantee for it.
pub(super) fn proved(certificate: &Certificate) -> String {
    let mut text = String::new();
    if certificate.pipeline_runs > 0 {
        let _ = writeln!(
            text,
            "The pipeline ran {} times over lengths of its loops without a finding.",
            certificate.pipeline_runs
        );
    }
    let computed = certificate.computed.iter().map(|computed| {
        let extents = computed.extents.iter();
        let extents: Vec<String> = extents
            .map(|(mode, size)| format!("{mode}={size}"))
            .collect();
        format!("{} elements at {}", computed.elements, extents.join(" "))
    });
    let computed: Vec<String> = computed.collect();
    let computed = format!(
        "Run with data, the kernel in tiles stored what its formula gives: {}.",
        computed.join(", ")
    );
    let _ = writeln!(text, "{}", wrapped(&computed));
    let ways = [
        (certificate.guarded_by_predicate, "by tests on their way"),
        (certificate.guarded_by_size, "by their count of valid bytes"),
        (certificate.guarded_by_map, "by tensor maps"),
        (
            certificate.guarded_by_scratch,
            "by the size of scratch memory",
        ),
    ];
    let ways = ways.iter().filter(|(count, _)| *count > 0);
    let ways: Vec<String> = ways.map(|(count, way)| format!("{count} {way}")).collect();
    let accesses = format!(
        "Every element is moved once. Of {} global accesses each is shown to stay inside for every \
         problem: {}; {} addresses are aligned. The launch makes sure of:",
        certificate.global_accesses,
        ways.join(", "),
        certificate.aligned_addresses
    );
    let _ = writeln!(text, "{}", wrapped(&accesses));
    for assumption in &certificate.assumptions {
        let _ = writeln!(text, "  {assumption}");
    }
    text
}
