//! Drawn problems are no more work than a device does in time.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use tilewright_bundle::{DType, Operand, OperandLayout, Role, Traits};
use tilewright_fixture::{gemm_kernel, resolved};
use tilewright_runtime::Device;

use super::*;

/// A product of batches of batches, in tiles as large as kernels have.
fn batched() -> Kernel {
    let layout = |text: &str| text.parse::<OperandLayout>().unwrap();
    let mut kernel = gemm_kernel("bmm@x-1");
    kernel.launches.clear();
    let operand = |name, role, text| Operand::new(name, role, DType::F32, layout(text));
    kernel.semantics.operands = vec![
        operand("a", Role::In, "(y,z,m,k):(ya,za,lda,1)"),
        operand("b", Role::In, "(y,z,n,k):(yb,zb,ldb,1)"),
        operand("d", Role::Out, "(y,z,m,n):(yd,zd,ldd,1)"),
    ];
    kernel.semantics.compute = "d[y,z,m,n] = sum[k] a[y,z,m,k] * b[y,z,n,k]".to_owned();
    let map = |pairs: &[(&str, i64)]| -> BTreeMap<String, i64> {
        let pairs = pairs.iter();
        pairs.map(|(mode, n)| ((*mode).to_owned(), *n)).collect()
    };
    kernel.traits = Some(Traits {
        tile: map(&[("m", 128), ("n", 256)]),
        step: map(&[("k", 32)]),
        stages: 3,
        outer: ["y", "z"].map(str::to_owned).to_vec(),
        ..Traits::default()
    });
    resolved(kernel)
}

#[test]
fn batches_count_in_the_volume_of_a_problem() {
    let (kernel, device) = (batched(), Device::emulator());
    let mut most = [0, 0];
    for seed in 0..40 {
        let drawn = Draw::new(&kernel, device.info(), seed);
        let aimed = Draw::new(&kernel, device.info(), seed).with_aim(Aim::Steps);
        for (most, mut draw) in most.iter_mut().zip([drawn, aimed]) {
            let case = draw.next_case().unwrap();
            let extents: Vec<i64> = case.problem.extents().map(|(_, n)| n).collect();
            *most = volume(&extents).max(*most);
        }
    }
    assert!(most[0] <= VOLUMES[1], "{most:?}");
    // A bound above what is drawn anyway changes nothing, one in between holds.
    let aimed = || Draw::new(&kernel, device.info(), 7).with_aim(Aim::Steps);
    let extents = |mut draw: Draw<'_>| -> Vec<i64> {
        let case = draw.next_case().unwrap();
        case.problem.extents().map(|(_, n)| n).collect()
    };
    assert_eq!(extents(aimed().with_volume(u64::MAX)), extents(aimed()));
    let between = VOLUMES[1] as u64 + 1;
    let bounded = extents(aimed().with_volume(between));
    assert!(volume(&bounded) as u64 <= between, "{bounded:?}");
    // What is made to be hard is larger, and still there.
    let bound = VOLUMES[1] * AIMED_MORE_OF_MANY_MODES;
    assert!((VOLUMES[1]..=bound).contains(&most[1]), "{most:?}");
}
