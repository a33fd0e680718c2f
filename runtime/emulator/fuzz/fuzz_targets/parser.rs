//! Hostile text to the parser.
//!
//! In: any bytes, read as text. Out: no panic and no wrap; a module whose entries can be named, or
//! errors with places inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_emulator::Module;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match Module::parse(&text) {
        Ok(module) => {
            for entry in module.entries() {
                assert!(module.entry(&entry.name).is_some());
                let end = entry.params.iter().map(|p| p.offset_bytes + p.bytes);
                assert!(end.max().unwrap_or(0) <= entry.param_bytes);
            }
        }
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            let lines = text.split('\n').count() as u32;
            assert!(errors.errors.iter().all(|error| error.line <= lines));
        }
    }
});
