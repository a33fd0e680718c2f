//! Structs of other sizes than ours, arrays and text.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::status::{TW_ERROR_NULL, TW_ERROR_STRUCT};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mine {
    size: usize,
    one: u64,
    two: u64,
}

// SAFETY: numbers take every pattern of bits.
unsafe impl Plain for Mine {}
// SAFETY: the size is the first field.
unsafe impl Growable for Mine {
    const NAME: &'static str = "tw_mine";
    const LEAST_BYTES: usize = 16;
}

fn read(words: &[u64]) -> Result<Mine, Failure> {
    // SAFETY: the tests say the size of the words.
    unsafe { read_struct(words.as_ptr().cast::<Mine>(), "mine") }
}

#[test]
fn an_older_struct_is_filled_with_zeros_and_a_newer_one_is_taken_if_it_asks_for_nothing() {
    let mine = |one, two| Mine { size: 24, one, two };
    assert_eq!(read(&[24, 1, 2]).unwrap(), mine(1, 2));
    assert_eq!(
        read(&[16, 1, 99]).unwrap(),
        Mine {
            size: 16,
            ..mine(1, 0)
        }
    );
    assert_eq!(
        read(&[32, 1, 2, 0]).unwrap(),
        Mine {
            size: 32,
            ..mine(1, 2)
        }
    );
    let newer = read(&[32, 1, 2, 3]).unwrap_err();
    assert_eq!(newer.status, TW_ERROR_STRUCT);
    assert!(newer.message.contains("made for a newer library"));
    for size in [0, 15, 4097, u64::MAX] {
        let message = read(&[size, 1, 2]).unwrap_err().message;
        assert!(
            message.ends_with("16 to 4096 is allowed: set it to sizeof(tw_mine)"),
            "{message}"
        );
    }
    // SAFETY: null is allowed.
    let null = unsafe { read_struct::<Mine>(std::ptr::null(), "mine") };
    assert_eq!(null.unwrap_err().status, TW_ERROR_NULL);
}

#[test]
fn results_keep_to_the_size_that_the_caller_says() {
    let value = Mine {
        size: 0,
        one: 5,
        two: 6,
    };
    let written = |size: u64| {
        let mut words = [size, 11, 12, 13, 14];
        // SAFETY: the words are as many as the size says.
        unsafe { write_struct(words.as_mut_ptr().cast::<Mine>(), "mine", &value) }.unwrap();
        words
    };
    assert_eq!(written(24), [24, 5, 6, 13, 14]);
    assert_eq!(written(16), [16, 5, 12, 13, 14]);
    assert_eq!(written(32), [32, 5, 6, 0, 14]);
}

#[test]
fn arrays_may_lie_anywhere_and_have_a_limit() {
    let mut bytes = [0u8; 17];
    bytes[1..9].copy_from_slice(&7u64.to_ne_bytes());
    bytes[9..17].copy_from_slice(&8u64.to_ne_bytes());
    let odd = bytes[1..].as_ptr().cast::<i64>();
    // SAFETY: two elements are there.
    let of = |count, most| unsafe { read_array(odd, count, most, "words") };
    assert_eq!(of(2, 2).unwrap(), [7, 8]);
    assert_eq!(
        of(3, 2).unwrap_err().text,
        "words has 3 elements; at most 2 are allowed"
    );
    // SAFETY: null is allowed.
    let null = |count| unsafe { read_array(std::ptr::null::<i64>(), count, 2, "words") };
    assert!(null(0).unwrap().is_empty());
    assert_eq!(
        null(1).unwrap_err().text,
        "words is null, and its count is 1"
    );
}

#[test]
fn text_is_bounded_and_utf8() {
    let of = |bytes: &'static [u8], most| {
        // SAFETY: each ends with 0, or goes on beyond the limit.
        unsafe { read_text(bytes.as_ptr().cast(), most, "name") }
    };
    assert_eq!(of(b"abc\0", 3).unwrap(), "abc");
    assert_eq!(
        of(b"abc\0", 2).unwrap_err().text,
        "name has no end within 2 bytes"
    );
    assert_eq!(
        of(b"ab\xff\0", 9).unwrap_err().text,
        "byte 2 of name is not UTF-8"
    );
    assert_eq!(c_text("a\0b").as_bytes(), b"a");
    let told = "`é`: \x1b[2J\0\u{85}\u{202e}\r\nnext";
    let shown = shown_text(told).into_string();
    let escaped = r"`é`: \u{1b}[2J\u{0}\u{85}\u{202e}\r";
    assert_eq!(shown, Ok(format!("{escaped}\nnext")));
}
