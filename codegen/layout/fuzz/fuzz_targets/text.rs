//! Hostile text to every reader of the crate.
//!
//! In: any bytes. Out: no panic, and whatever is read prints as text that reads as the same value.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use tilewright_layout::*;

fn round<T: FromStr<Err = Error> + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let printed = value.to_string();
        match printed.parse::<T>() {
            Ok(again) => assert_eq!(again, value, "{text:?} printed as {printed:?}"),
            // What is printed may pass the limit that what is read has to keep.
            Err(_) => assert!(
                printed.len() > MAX_TEXT_BYTES / 8,
                "{text:?} as {printed:?}"
            ),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    round::<Layout>(text);
    round::<Layout<Sym>>(text);
    round::<Layout<i64, Basis<i64>>>(text);
    round::<Layout<Sym, Basis<Sym>>>(text);
    round::<IntTuple<i64>>(text);
    round::<IntTuple<Slot<i64>>>(text);
    round::<Sym>(text);
    round::<Tiler>(text);
    round::<Swizzle>(text);
    round::<ComposedLayout>(text);
});
