//! Damaged PTX must be refused or run within its budgets; nothing panics.

use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use tilewright_emulator::{Launch, Memory, Module, Options, Params, run};

/// The PTX files of the launch files.
fn corpus() -> &'static [String] {
    static CORPUS: OnceLock<Vec<String>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/data/ptx/ptx");
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect()
    })
}

/// One thing done to a text.
#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Cut(usize, usize),
    Repeat(usize, usize),
    End(usize),
    Number(usize, u64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (at(), 0..40usize).prop_map(|(at, len)| Damage::Cut(at, len)),
        (at(), 0..40usize).prop_map(|(at, len)| Damage::Repeat(at, len)),
        at().prop_map(Damage::End),
        (
            at(),
            prop_oneof![any::<u64>(), 0..70u64, Just(u64::MAX), Just(1 << 31)]
        )
            .prop_map(|(at, value)| Damage::Number(at, value)),
    ]
}

fn apply(text: &mut Vec<u8>, damage: &Damage) {
    let len = text.len().max(1);
    match *damage {
        Damage::Flip(at, bit) => {
            if let Some(byte) = text.get_mut(at % len) {
                *byte ^= 1 << (bit % 7);
            }
        }
        Damage::Cut(at, count) => {
            let start = (at % len).min(text.len());
            let end = (start + count).min(text.len());
            text.drain(start..end);
        }
        Damage::Repeat(at, count) => {
            let start = (at % len).min(text.len());
            let end = (start + count).min(text.len());
            let piece = text[start..end].to_vec();
            text.splice(start..start, piece);
        }
        Damage::End(at) => text.truncate(at % len),
        Damage::Number(at, value) => {
            // Replaces the digits at or behind the place.
            let start = (at % len).min(text.len());
            let Some(first) = text[start..].iter().position(u8::is_ascii_digit) else {
                return;
            };
            let first = start + first;
            let count = text[first..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            text.splice(first..first + count, value.to_string().into_bytes());
        }
    }
}

/// Parses and, if that succeeds, runs every entry with small budgets and null parameters.
fn survive(text: &str) {
    let Ok(module) = Module::parse(text) else {
        return;
    };
    let options = Options {
        instructions_per_warp: 2_000,
        instructions_total: 20_000,
        call_depth: 20,
        ..Options::default()
    };
    for entry in module.entries().iter().take(3) {
        let launch = Launch {
            entry: entry.name.clone(),
            grid: [1; 3],
            block: entry.reqntid.unwrap_or([64, 1, 1]),
            cluster: [1; 3],
            programmatic: false,
            dynamic_shared_bytes: 1024,
            params: Params::Packed(vec![0; entry.param_bytes as usize]),
        };
        let _ = run(&module, &launch, &mut Memory::new(), &options);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn damaged_text_does_not_panic(
        file in any::<prop::sample::Index>(),
        damages in proptest::collection::vec(damage(), 1..6),
    ) {
        let mut text = file.get(corpus()).clone().into_bytes();
        for damage in &damages {
            apply(&mut text, damage);
        }
        survive(&String::from_utf8_lossy(&text));
    }

    #[test]
    fn any_text_does_not_panic(text in "[ -~\n]{0,200}") {
        survive(&text);
        survive(&super::kernel::module(1, "", &text));
    }
}
