//! What is taken, what is refused, and in which words.
#![allow(clippy::unwrap_used)]

use super::*;

fn floats(shape: &[i64]) -> Flat {
    Flat {
        data: 0x1000,
        byte_offset: 0,
        device: (1, 0),
        code: Code {
            code: 2,
            bits: 32,
            lanes: 1,
        },
        shape: shape.to_vec(),
        strides: None,
        flags: 0,
    }
}

fn refused(flat: &Flat) -> Vec<Problem> {
    flat.judged().expect_err("a refusal").0
}

#[test]
fn dense_tensors_and_strided_ones_are_taken() {
    let mut flat = floats(&[2, 3, 4]);
    assert_eq!(flat.judged().unwrap().stride, [12, 4, 1]);
    flat.strides = Some(vec![-16, 4, 1]);
    flat.byte_offset = 64;
    let tensor = flat.judged().unwrap();
    assert_eq!(
        (tensor.address, &tensor.stride[..]),
        (0x1040, &[-16, 4, 1][..])
    );
    let scalar = floats(&[]).judged().unwrap();
    assert_eq!((scalar.address, scalar.shape.len()), (0x1000, 0));
    let mut empty = floats(&[0, 8]);
    empty.data = 0;
    assert_eq!(empty.judged().unwrap().address, 0);
}

#[test]
fn types_have_the_codes_of_the_header() {
    for (code, bits, dtype) in TYPES {
        let mut flat = floats(&[4]);
        (flat.code.code, flat.code.bits) = (*code, *bits);
        assert_eq!(flat.judged().unwrap().dtype, *dtype);
        assert_eq!(u32::from(*bits), dtype.bits());
    }
    let mut flat = floats(&[4]);
    (flat.code.code, flat.code.bits, flat.code.lanes) = (8, 8, 2);
    let text = flat.judged().unwrap_err().to_string();
    assert!(
        text.contains("2 lanes") && text.contains("code 8 (float8_e4m3)"),
        "{text}"
    );
    (flat.code.code, flat.code.bits, flat.code.lanes) = (17, 4, 1);
    flat.flags = SUBBYTE_PADDED;
    assert_eq!(refused(&flat), [Problem::Padded(DType::E2M1)]);
}

#[test]
fn flags_say_what_may_be_written() {
    let hold = |flags| {
        let mut flat = floats(&[4]);
        flat.flags = flags;
        flat.judged().unwrap().hold
    };
    assert_eq!(hold(0), Hold::Shared);
    assert_eq!(hold(READ_ONLY | IS_COPIED), Hold::ReadOnly);
    assert_eq!(hold(IS_COPIED), Hold::Copied);
}

#[test]
fn homes_are_the_host_and_gpus() {
    let home = |device| {
        let mut flat = floats(&[4]);
        flat.device = device;
        flat.judged().map(|tensor| tensor.home).map_err(|p| p.0)
    };
    assert_eq!(home((1, 0)), Ok(Home::Host));
    assert_eq!(home((2, 3)), Ok(Home::Cuda(3)));
    assert_eq!(home((3, 0)), Ok(Home::Pinned));
    assert_eq!(home((13, 0)), Ok(Home::Managed));
    assert_eq!(home((2, -1)), Err(vec![Problem::Ordinal(-1)]));
    assert_eq!(home((10, 0)), Err(vec![Problem::Device(10)]));
}

#[test]
fn everything_wrong_is_told_at_once() {
    let mut flat = floats(&[-1, 4]);
    flat.device = (4, 0);
    flat.code.lanes = 4;
    flat.data = 0;
    let text = flat.judged().unwrap_err().to_string();
    for part in ["type 4", "4 lanes", "axis 0 has -1", "data is null"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn elements_without_an_address_are_refused() {
    let mut flat = floats(&[4]);
    flat.byte_offset = 2;
    assert!(matches!(
        refused(&flat)[..],
        [Problem::Misaligned {
            address: 0x1002,
            ..
        }]
    ));
    flat.byte_offset = u64::MAX;
    assert!(matches!(refused(&flat)[..], [Problem::Overflow { .. }]));
    let big = floats(&[i64::MAX, i64::MAX]);
    assert!(matches!(refused(&big)[..], [Problem::Overflow { .. }]));
    let mut before = floats(&[4]);
    before.strides = Some(vec![-0x1000]);
    assert!(matches!(refused(&before)[..], [Problem::Overflow { .. }]));
    before.strides = Some(vec![1, 2]);
    let [Problem::Strides { axes, strides }] = refused(&before)[..] else {
        unreachable!("one stride too many")
    };
    assert_eq!((axes, strides), (1, 2));
    assert_eq!(refused(&floats(&[1; 9])), [Problem::Rank(9)]);
}
