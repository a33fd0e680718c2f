//! Rules, encoding and walks of tensor maps.
#![allow(clippy::unwrap_used)]

use super::walk::Run;
use super::*;

fn matrix() -> TensorMap {
    TensorMap {
        swizzle: TensorSwizzle::Bytes128,
        ..TensorMap::tiled(TensorType::Bfloat16, 0x1000, &[96, 40], &[192], &[64, 8])
    }
}

fn runs(map: &TensorMap, coords: [i64; 5]) -> Vec<Run> {
    let mut runs = Vec::new();
    map.walk(&coords, &[0; 3], |run| runs.push(run));
    runs
}

#[test]
fn decoding_gives_what_was_encoded() {
    let mut map = matrix();
    assert_eq!(TensorMap::decode(&map.encode().unwrap()), Some(map.clone()));
    map.rank = 4;
    map.dims = [64, 10, 12, 3, 1];
    map.im2col = Some(Im2col {
        lower: [-1, -2, 0],
        upper: [1, 2, 0],
        channels: 64,
        pixels: 20,
    });
    let bytes = map.encode().unwrap();
    assert_eq!(TensorMap::decode(&bytes), Some(map));
    for flipped in [0, 20, 100, 127] {
        let mut bytes = bytes;
        bytes[flipped] ^= 1;
        assert_eq!(TensorMap::decode(&bytes), None, "byte {flipped}");
    }
}

#[test]
fn broken_rules_are_all_named() {
    let mut map = matrix();
    map.base += 8;
    map.strides[0] = 190;
    map.box_dims = [65, 257, 1, 1, 1];
    map.element_strides[1] = 9;
    let problems = map.check().unwrap_err().problems;
    assert_eq!(problems.len(), 6, "{problems:?}");
    let mut map = matrix();
    map.rank = 0;
    assert_eq!(map.check().unwrap_err().problems, ["rank 0; 1 to 5"]);
    let mut map = matrix();
    (map.ty, map.fill) = (TensorType::Uint16, TensorFill::Nan);
    assert!(map.check().is_err());
    // Interleaved maps have three dimensions and, at 32 bytes, one swizzle.
    let mut map = matrix();
    map.interleave = 1;
    assert_eq!(map.check().unwrap_err().problems, ["rank 2; 3 to 5"]);
    (map.rank, map.interleave, map.dims[2]) = (3, 2, 4);
    map.strides[1] = 192 * 40;
    assert_eq!(map.check().unwrap_err().problems.len(), 1);
    map.swizzle = TensorSwizzle::Bytes32;
    assert!(map.check().is_ok());
    map.interleave = 3;
    assert_eq!(map.check().unwrap_err().problems, ["interleave 3; 0 to 2"]);
}

#[test]
fn a_tile_over_the_edge_has_runs_inside_and_outside() {
    let map = matrix();
    let inside = runs(&map, [8, 0, 0, 0, 0]);
    assert_eq!(inside.len(), 8);
    assert_eq!(inside[1].address, Some(0x1000 + 192 + 16));
    let before = runs(&map, [-8, 0, 0, 0, 0]);
    assert_eq!((before[0].bytes, before[0].address), (16, None));
    assert_eq!((before[1].at, before[1].address), (16, Some(0x1000)));
    let behind = runs(&map, [64, 39, 0, 0, 0]);
    assert_eq!((behind[0].bytes, behind[1].bytes), (64, 64));
    assert_eq!(behind[2].address, None);
    let covered: u64 = behind.iter().map(|run| run.bytes).sum();
    assert_eq!(covered, map.tile_bytes());
    assert!(
        runs(&map, [-200, 0, 0, 0, 0])
            .iter()
            .all(|run| run.address.is_none())
    );
}

#[test]
fn a_store_ends_at_16_bytes_and_with_its_box() {
    let ends = |extent: u64, x: i64| -> Vec<u64> {
        let mut map = matrix();
        (map.dims[0], map.strides[0]) = (extent, 256);
        let row = &runs(&map, [x, 0, 0, 0, 0])[..1];
        row.iter().map(|run| map.spill_bytes(run)).collect()
    };
    // 33 and 37 elements of a row of 64 end 2 and 10 bytes behind 16 of them; 40 and 64 at them.
    assert_eq!((ends(97, 64), ends(101, 64)), (vec![14], vec![6]));
    assert_eq!((ends(104, 64), ends(256, 64)), (vec![0], vec![0]));
    // Nothing inside, nothing behind.
    assert_eq!(ends(97, 128), [0]);
}

#[test]
fn columns_wrap_from_row_to_row() {
    let map = TensorMap {
        rank: 4,
        dims: [64, 4, 3, 2, 1],
        strides: [128, 512, 1536, 0],
        im2col: Some(Im2col {
            lower: [0, 0, 0],
            upper: [-1, -1, 0],
            channels: 64,
            pixels: 8,
        }),
        ..matrix()
    };
    let mut addresses = Vec::new();
    map.walk(&[0; 5], &[1, 0, 0], |run| {
        addresses.push(run.address.map(|address| (address - 0x1000) / 128));
    });
    // Positions W 0..=2, H 0..=1, then the next image; taken one step along W.
    let expected = [1, 2, 3, 5, 6, 7, 13, 14].map(Some);
    assert_eq!(addresses, expected);
}

#[test]
fn a_swizzle_permutes_16_byte_pieces() {
    for swizzle in TensorSwizzle::ALL {
        let mut seen: Vec<u64> = (0..64).map(|piece| swizzle.apply(16 * piece)).collect();
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(i, at)| *at == 16 * i as u64));
        assert!((0..1024).all(|at| swizzle.apply(swizzle.apply(at)) == at));
    }
    assert_eq!(TensorSwizzle::Bytes128.apply(128), 128 + 16);
}
