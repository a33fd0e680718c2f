//! The portable way and the wide one give the same sums.
#![allow(clippy::unwrap_used)]

use super::super::{Columns, TileSum};
use super::*;
use crate::tensor_core::{Element, Rules, Step, Sum, Way};
use proptest::prelude::*;

fn sums(step: &Step, a: &[f32], b: &[f32], c: &[f32], wide: bool) -> Vec<u32> {
    let mut columns = Columns::default();
    columns.resize(16, 8);
    columns.values().copy_from_slice(b);
    columns.close(step);
    let mut sums = c.to_vec();
    let work = TileSum {
        step,
        a,
        columns: &columns,
        sums: &mut sums,
    };
    if wide {
        widest(work);
    } else {
        work.run(Portable);
    }
    sums.iter().map(|sum| sum.to_bits()).collect()
}

proptest! {
    #[test]
    fn every_width_gives_the_same_bits(
        a in prop::collection::vec(any::<u16>(), 32),
        b in prop::collection::vec(any::<u16>(), 128),
        c in prop::collection::vec(any::<f32>(), 16),
        tame in any::<bool>(),
    ) {
        let element = Element::Bf16;
        let rules = Rules::of("sm_90");
        let step = Step::new(rules, Way::Mma, (element, element), Sum::F32, 16).unwrap();
        // Exponents near that of 1 take the fast way.
        let value = |bits: &u16| {
            let bits = if tame { bits & 0x87ff | 0x3800 } else { *bits };
            element.single(u64::from(bits))
        };
        let a: Vec<f32> = a.iter().map(value).collect();
        let b: Vec<f32> = b.iter().map(value).collect();
        let portable = sums(&step, &a, &b, &c, false);
        prop_assert_eq!(sums(&step, &a, &b, &c, true), portable);
    }
}
