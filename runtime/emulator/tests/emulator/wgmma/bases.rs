//! Patterns that do not start at a multiple of their size: the base offset of a descriptor.

use super::kernel::{Case, Major, products};

#[test]
fn a_base_offset_moves_the_swizzle_pattern() {
    for (swizzle, lines) in [(128, 1), (128, 5), (128, 7), (64, 1), (64, 3), (32, 1)] {
        for majors in [(Major::K, Major::K), (Major::MN, Major::MN)] {
            products(&Case {
                n: 72,
                majors,
                swizzles: (swizzle, swizzle),
                patterns: (lines, 0),
                steps: 2,
                ..Case::default()
            });
            products(&Case {
                n: 40,
                majors,
                swizzles: (128, swizzle),
                patterns: (0, lines),
                ..Case::default()
            });
        }
    }
}
