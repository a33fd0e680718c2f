//! Hostile programs to the executor.
//!
//! In: a PTX text whose last eight bytes choose the launch. Lines that the parser refuses are
//! left out, so that most inputs run. Out: no panic and no wrap within the budgets, and, for one in
//! four, the same report and bytes when the run is made again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilewright_emulator::{
    Arg, AsyncOrder, Content, Entry, Launch, Memory, Module, Options, Params, Sanitize, TensorFill,
    TensorMap, TensorSwizzle, TensorType, WarpOrder, run,
};

/// Times that lines are taken out before an input is given up.
const TRIES: usize = 6;
const BUFFER_BYTES: usize = 1 << 14;

/// The module of a text without the lines that have errors.
fn parse(text: &str) -> Option<Module> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    for _ in 0..TRIES {
        match Module::parse(&lines.join("\n")) {
            Ok(module) => return Some(module),
            Err(errors) => {
                for error in errors.errors {
                    *lines.get_mut((error.line as usize).checked_sub(1)?)? = "";
                }
            }
        }
    }
    None
}

fn options(choice: &[u8]) -> Options {
    let seed = u64::from(choice[3]);
    Options {
        sanitize: match choice[0] % 4 {
            0 => Sanitize::Off,
            1 => Sanitize::Default,
            _ => Sanitize::Strict,
        },
        async_order: match choice[1] % 3 {
            0 => AsyncOrder::Early,
            1 => AsyncOrder::Late,
            _ => AsyncOrder::Random(seed),
        },
        warp_order: match choice[2] % 3 {
            0 => WarpOrder::RoundRobin,
            1 => WarpOrder::Reverse,
            _ => WarpOrder::Random(seed),
        },
        instructions_per_warp: 300,
        instructions_total: 1500,
        call_depth: 20,
        local_bytes: 64 << 10,
        max_findings: 20,
        profile: choice[4] & 1 == 1,
        parallel: false,
        ..Options::default()
    }
}

/// A map of a matrix in the first buffer.
fn map(base: u64, choice: &[u8]) -> Vec<u8> {
    let map = TensorMap {
        ty: TensorType::ALL[usize::from(choice[5]) % 13],
        rank: 1 + choice[4] % 5,
        base,
        dims: [60, 20, 3, 2, 2],
        strides: [128, 2560, 5120, 5120],
        box_dims: [16, 8, 2, 1, 1],
        element_strides: [1, 1 + choice[6] % 2, 1, 1, 1],
        interleave: 0,
        swizzle: TensorSwizzle::ALL[usize::from(choice[6]) % 4],
        fill: TensorFill::Zero,
        im2col: None,
    };
    map.encode().map_or(vec![0; 128], |bytes| bytes.to_vec())
}

fn launch(entry: &Entry, memory: &mut Memory, narrow: bool, choice: &[u8]) -> Launch {
    let bytes: Vec<u8> = (0..BUFFER_BYTES).map(|at| (at * 7 % 253) as u8).collect();
    let mut args = Vec::new();
    for (index, param) in entry.params.iter().enumerate().take(64) {
        let content = if index % 3 == 2 {
            Content::Undefined
        } else {
            Content::Bytes(&bytes)
        };
        args.push(match param.bytes {
            4 if index < 2 && narrow => match memory.alloc(&param.name, 4096, content) {
                Ok(id) => Arg::Buffer(id),
                Err(_) => Arg::Null,
            },
            8 => match memory.alloc(&param.name, BUFFER_BYTES as u64, content) {
                Ok(id) => Arg::Buffer(id),
                Err(_) => Arg::Null,
            },
            128 => {
                let base = memory.alloc(&param.name, BUFFER_BYTES as u64, content);
                Arg::Bytes(map(base.map_or(0, |id| memory.address(id)), choice))
            }
            size => Arg::Bytes((0..size).map(|at| choice[at as usize % 8]).collect()),
        });
    }
    let cluster = [1 + u32::from(choice[7] % 2), 1, 1];
    Launch {
        entry: entry.name.clone(),
        grid: [cluster[0] * (1 + u32::from(choice[7] / 2 % 2)), 1, 1],
        block: entry
            .reqntid
            .unwrap_or([32 * (1 + u32::from(choice[7] % 5)), 1, 1]),
        cluster: entry.reqnctapercluster.unwrap_or(cluster),
        programmatic: choice[5] & 16 != 0,
        dynamic_shared_bytes: 32 * u32::from(choice[6]),
        params: Params::Args(args),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((text, choice)) = data.split_last_chunk::<8>() else {
        return;
    };
    let Some(module) = parse(&String::from_utf8_lossy(text)) else {
        return;
    };
    let options = options(choice);
    for entry in module.entries().iter().take(2) {
        let once = || {
            let mut memory = match module.address_bits() {
                32 => Memory::narrow(),
                _ => Memory::with_limit(4 << 20),
            };
            let narrow = module.address_bits() == 32;
            let launch = launch(entry, &mut memory, narrow, choice);
            let report = run(&module, &launch, &mut memory, &options);
            let report = report.map(|report| (report.findings, report.counters));
            let first = memory.buffer(entry.params.first().map_or("", |param| &param.name));
            (report, first.map(|id| memory.read(id)))
        };
        let found = once();
        if choice[0] >= 192 {
            assert_eq!(found, once(), "two equal runs differ");
        }
    }
});
