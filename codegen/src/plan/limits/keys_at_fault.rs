//! Which keys take part in a violated limit besides those that its message names.
//!
//! A limit is seldom one key's doing: a tile that is divided by no MMA is so by the atoms side by
//! side, their permutation, and the schedule that asked for them. Reports point at each of them
//! that is written.

use crate::error::Violation;
use crate::spec::Names;
use crate::spec::keys::model::Spec;

/// Codes of limits, and keys that take part; `*` stands for any one part of a path, `{a}` for the
/// name of the operand of that role. Codes without a row are about the keys that their messages
/// name.
const ROWS: &[(&str, &[&str])] = &[
    (
        "accumulation",
        &["accumulator", "operands.{a}.dtype", "operands.{b}.dtype"],
    ),
    ("atoms-along-k", &["mma.atoms"]),
    ("box", &["cluster", "cta_tile", "mma.atoms", "swizzle.*"]),
    ("consumers", &["mma.atoms", "pipeline.schedule"]),
    ("copy-widths", &["copy.{s}.*", "copy.{d}.r2g"]),
    ("descriptor", &["swizzle.*", "cta_tile", "mma.*"]),
    (
        "k-blocks",
        &[
            "cta_tile",
            "mma.*",
            "copy.{a}.g2s",
            "copy.{b}.g2s",
            "pipeline.*",
        ],
    ),
    ("layouts", &["mma.*", "copy.*.*", "cta_tile"]),
    ("major", &["pipeline.schedule", "mma.atom"]),
    (
        "mma-types",
        &["mma.atom", "copy.{a}.*", "copy.{b}.*", "pipeline.schedule"],
    ),
    ("no-copy-atom", &["copy.*.*", "pipeline.schedule"]),
    ("no-fragment-copy", &["copy.*.s2r", "mma.*", "swizzle.*"]),
    (
        "no-mma-atom",
        &[
            "pipeline.schedule",
            "mma.*",
            "cta_tile",
            "arch",
            "operands.{a}.dtype",
            "operands.{b}.dtype",
        ],
    ),
    (
        "not-contiguous",
        &["copy.{a}.*", "copy.{b}.*", "pipeline.schedule"],
    ),
    ("no-sync-atom", &["arch"]),
    ("overlapping-output", &["operands.{d}.layout", "cta_tile"]),
    ("permutation", &["mma.*"]),
    (
        "registers",
        &[
            "cta_tile",
            "mma.*",
            "threads",
            "min_ctas_per_sm",
            "pipeline.*",
            "copy.*.*",
        ],
    ),
    (
        "smem-capacity",
        &["pipeline.stages", "cta_tile", "pipeline.schedule"],
    ),
    ("stages", &["pipeline.*", "copy.{a}.*", "copy.{b}.*"]),
    (
        "stride",
        &["operands.*.layout", "copy.*.*", "pipeline.schedule"],
    ),
    ("store", &["copy.{d}.*", "pipeline.schedule"]),
    ("store-width", &["copy.{d}.*", "mma.*"]),
    ("stream-k", &["scheduler.kind", "cluster"]),
    ("swizzle", &["swizzle.*", "copy.*.*", "mma.*"]),
    (
        "transpose",
        &["copy.{s}.*", "copy.{d}.r2g", "operands.*.layout"],
    ),
    ("threads", &["threads", "mma.*", "pipeline.schedule"]),
    (
        "threads-along",
        &["threads_along", "cta_tile", "operands.*.dtype"],
    ),
    (
        "threads-tile",
        &[
            "threads",
            "threads_along",
            "cta_tile",
            "copy.*.*",
            "mma.atoms",
        ],
    ),
    ("tile-divides", &["cta_tile", "mma.*", "pipeline.schedule"]),
    ("vector-divides", &["cta_tile", "copy.*.*"]),
];

/// Adds to each violation the keys of the spec that take part in it.
pub(in crate::plan) fn complete(violations: &mut [Violation], spec: &Spec, names: &Names) {
    let said = spec.said();
    for violation in violations {
        let rows = ROWS.iter().filter(|(code, _)| *code == violation.code);
        for pattern in rows.flat_map(|(_, patterns)| patterns.iter()) {
            let pattern = names.filled(pattern);
            for (key, _) in said.iter().filter(|(key, _)| matches(&pattern, key)) {
                if !violation.keys.contains(key) {
                    violation.keys.push(key.clone());
                }
            }
        }
    }
}

fn matches(pattern: &str, key: &str) -> bool {
    let (pattern, key) = (pattern.split('.'), key.split('.'));
    pattern.clone().count() == key.clone().count()
        && pattern
            .zip(key)
            .all(|(wanted, is)| wanted == "*" || wanted == is)
}
