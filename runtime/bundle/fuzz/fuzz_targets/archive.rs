//! Hostile zip files.
//!
//! In: any bytes. Out: no panic, and a bundle that opens is the same when it is packed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_bundle::{Bundle, Policy};

fuzz_target!(|data: &[u8]| {
    let Ok(bundle) = Bundle::from_zip(data) else {
        return;
    };
    let files = bundle.files().iter();
    let again = Policy::Unsigned.open_files(files.map(|(p, b)| (p.as_str(), b.as_slice())));
    let again = again.expect("the files of a bundle that opened");
    assert_eq!(again.files(), bundle.files());
});
