//! What lies among measured problems, and what does not.

use super::*;

fn logs(extents: [i64; 4]) -> Vec<f32> {
    extents.map(log).to_vec()
}

fn bounds(problems: &[[i64; 4]]) -> Bounds {
    let point = |extents: &[i64; 4]| Point {
        extents: extents.to_vec(),
        logs: logs(*extents),
        choices: Vec::new(),
        strides: Default::default(),
    };
    Bounds::of(&problems.iter().map(point).collect::<Vec<_>>())
}

#[test]
fn squares_say_nothing_of_other_shapes() {
    let squares = bounds(&[[1024, 1024, 1024, 1], [8192, 8192, 8192, 1]]);
    assert!(squares.hold(&logs([2048, 2048, 2048, 1])));
    assert!(squares.hold(&logs([8192, 8192, 8192, 1])));
    for outside in [
        [512, 512, 512, 1],
        [16384, 16384, 16384, 1],
        [2048, 4096, 2048, 1],
        [1024, 1024, 8192, 1],
        [2048, 2048, 2048, 2],
    ] {
        assert!(!squares.hold(&logs(outside)), "{outside:?}");
    }
}

#[test]
fn corners_hold_what_lies_between_them() {
    let corner = |bits: usize| {
        let side = |at: usize| if bits >> at & 1 == 1 { 8192 } else { 256 };
        [side(0), side(1), side(2), 1]
    };
    let cube = bounds(&(0..8).map(corner).collect::<Vec<_>>());
    assert!(cube.hold(&logs([300, 8000, 1111, 1])));
    assert!(cube.hold(&logs([220, 8000, 1111, 1])));
    assert!(!cube.hold(&logs([200, 8000, 1111, 1])));
    assert!(!bounds(&[]).hold(&logs([1, 1, 1, 1])));
}
