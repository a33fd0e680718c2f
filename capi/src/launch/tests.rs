//! Sequences of calls with hostile arguments, as far as C can be hostile without breaking its own
//! rules: handles of every age and kind, sizes, counts, codes and numbers of every value.
//!
//! A model beside the library knows which handles live. What must hold: a call on a handle that
//! does not live says so; nothing is internal or poisoned; what fails has an error of the same
//! status and writes no result; a launch writes the elements of its output and no other byte.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tilewright_fixture::{COPY, GEMM, SCALED, copy_kernel, picky_gemm, scaled_kernel, writer_of};

use super::*;
use crate::error::*;
use crate::kernels::*;
use crate::open::*;
use crate::select::*;
use crate::status::*;

mod problems;
mod sizes;

/// Calls of a run.
const CALLS: usize = 6000;
/// Bytes of the memory that operands lie in.
const ARENA_BYTES: usize = 1 << 14;
/// Numbers that catch mistakes.
#[rustfmt::skip]
const NUMBERS: [u64; 12] = [
    0, 1, 2, 3, 16, 255, 1 << 31, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX - 7, u64::MAX,
];

/// What a handle is or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Runtime,
    Launch,
    Error,
    Garbage,
}

struct Driver {
    random: StdRng,
    files: BTreeMap<String, Vec<u8>>,
    /// Every handle ever seen, and whether it lives.
    handles: Vec<(usize, Sort, bool)>,
    /// The memory of operands, 256-byte aligned enough for every kernel of the bundle.
    arena: Vec<u128>,
    /// The bytes of the arena that each launch may write.
    written: BTreeMap<usize, Vec<usize>>,
    /// Launches that wrote something.
    launches: usize,
    /// How often each status was answered.
    answered: BTreeMap<tw_status, usize>,
}

impl Driver {
    fn new(seed: u64) -> Driver {
        let writer = writer_of([
            (copy_kernel("copy_f32@plain-1"), COPY),
            (picky_gemm("gemm_f32@picky-1"), GEMM),
            (scaled_kernel("scaled_f32@plain-1"), SCALED),
        ]);
        let garbage = [
            0,
            1,
            0xFFFF,
            usize::MAX,
            0x7100_0000_0000_0000,
            0x72FF_FFFF_FFFF_FFFF,
        ];
        Driver {
            random: StdRng::seed_from_u64(seed),
            files: writer.to_files().unwrap(),
            handles: garbage.map(|word| (word, Sort::Garbage, false)).to_vec(),
            arena: vec![0x40A0_0000_3F80_0000_4040_0000_C000_0000; ARENA_BYTES / 16],
            written: BTreeMap::new(),
            launches: 0,
            answered: BTreeMap::new(),
        }
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.random.random_range(0..many) == 0
    }

    fn number(&mut self) -> u64 {
        let at = self.random.random_range(0..NUMBERS.len());
        NUMBERS[at]
    }

    /// A small number, now and then any.
    fn small(&mut self, most: u64) -> u64 {
        match self.one_in(12) {
            true => self.number(),
            false => self.random.random_range(0..=most),
        }
    }

    /// A handle: most often one that lives and is of that sort.
    fn handle(&mut self, sort: Sort) -> (usize, bool) {
        let fits = |(_, of, alive): &&(usize, Sort, bool)| *alive && *of == sort;
        let right: Vec<usize> = self.handles.iter().filter(fits).map(|one| one.0).collect();
        if !right.is_empty() && !self.one_in(6) {
            return (right[self.random.random_range(0..right.len())], true);
        }
        let (word, of, alive) = self.handles[self.random.random_range(0..self.handles.len())];
        (word, of == sort && alive)
    }

    /// Notes what a call on a handle answered, and takes its error.
    fn told(&mut self, status: tw_status, on_living: bool) -> bool {
        *self.answered.entry(status).or_default() += 1;
        if !on_living {
            assert!(
                [TW_ERROR_HANDLE, TW_ERROR_NULL].contains(&status),
                "{status} on no handle"
            );
        }
        assert!(
            (TW_OK..TW_ERROR_POISONED).contains(&status),
            "{status}: {}",
            self.last()
        );
        if status == TW_OK {
            return true;
        }
        let error = tw_last_error();
        assert_eq!(tw_error_status(error), status);
        if self.one_in(3) {
            self.handles.push((error.addr(), Sort::Error, true));
        } else {
            assert_eq!(tw_error_free(error), TW_OK);
        }
        false
    }

    fn last(&self) -> String {
        let message = tw_error_message(tw_last_error());
        // SAFETY: the message ends with 0 and lives as long as its error, which is not freed.
        unsafe { std::ffi::CStr::from_ptr(message) }
            .to_string_lossy()
            .into_owned()
    }

    fn text(&mut self) -> CString {
        let words: [&[u8]; 9] = [
            b"gemm",
            b"copy",
            b"scaled",
            b"copy_f32@plain-1",
            b"gemm_f32",
            b"",
            b"\xff\xfe",
            b"a",
            &[b'x'; 300],
        ];
        CString::new(words[self.random.random_range(0..words.len())]).unwrap()
    }

    fn open(&mut self) {
        let paths: Vec<CString> = self
            .files
            .keys()
            .map(|p| CString::new(p.as_str()).unwrap())
            .collect();
        let mut contents: Vec<Vec<u8>> = self.files.values().cloned().collect();
        if self.one_in(4) {
            let file = self.random.random_range(0..contents.len());
            let at = self.random.random_range(0..contents[file].len());
            contents[file][at] ^= 1 << self.random.random_range(0..8);
        }
        let file = |(path, data): (&CString, &Vec<u8>)| tw_file {
            path: path.as_ptr(),
            data: data.as_ptr(),
            bytes: data.len(),
        };
        let files: Vec<tw_file> = paths.iter().zip(&contents).map(file).collect();
        let mut options = [0u64; 512];
        options[0] = if self.one_in(5) { self.number() } else { 24 };
        options[1] = if self.one_in(5) { 7 } else { 2 };
        options[3] = if self.one_in(9) { 1 } else { 0 };
        let mut runtime = null_mut();
        let count = if self.one_in(9) { 0 } else { files.len() };
        // SAFETY: the files are there, and as many words as options may be large.
        let status =
            unsafe { tw_open_files(files.as_ptr(), count, options.as_ptr().cast(), &mut runtime) };
        let opened = self.told(status, true);
        assert_eq!(opened, !runtime.is_null());
        if opened {
            self.handles.push((runtime.addr(), Sort::Runtime, true));
        }
    }

    fn free(&mut self) {
        let sorts = [Sort::Runtime, Sort::Launch, Sort::Error];
        let sort = sorts[self.random.random_range(0..3)];
        let (word, alive) = self.handle(sort);
        let handle: *mut c_void = std::ptr::without_provenance_mut(word);
        let status = match sort {
            Sort::Runtime => tw_close(handle.cast()),
            Sort::Launch => tw_launch_free(handle.cast()),
            _ => tw_error_free(handle.cast()),
        };
        if word == 0 {
            assert_eq!(status, TW_OK);
        } else if self.told(status, alive) {
            let freed = self.handles.iter_mut().filter(|one| one.0 == word);
            freed.for_each(|one| one.2 = false);
        }
    }

    /// Every call that fills a struct, with a struct of any size.
    fn describe(&mut self) {
        let mut room = [0x5555_5555_5555_5555u64; 520];
        let size = if self.one_in(3) {
            self.number()
        } else {
            self.random.random_range(0..120)
        };
        room[0] = size;
        let info: *mut c_void = room.as_mut_ptr().cast();
        let (at, part) = (self.small(4) as usize, self.small(4) as usize);
        let which = self.random.random_range(0..9);
        let sort = match which {
            0 => Sort::Launch,
            1 => Sort::Error,
            _ => Sort::Runtime,
        };
        let (word, alive) = self.handle(sort);
        let handle: *const c_void = std::ptr::without_provenance(word);
        let on = handle.cast();
        // SAFETY: the room is as large as a struct may say that it is.
        let status = unsafe {
            match which {
                0 => tw_launch_describe(handle.cast(), info.cast()),
                1 => tw_error_reason(handle.cast(), at, info.cast()),
                2 => tw_kernel(on, at, info.cast()),
                3 => tw_kernel_operand(on, at, part, info.cast()),
                4 => tw_kernel_scalar(on, at, part, info.cast()),
                5 => tw_kernel_assumption(on, at, part, info.cast()),
                6 => tw_function(on, at, info.cast()),
                7 => tw_device(on, info.cast()),
                _ => tw_kernel_extent(on, at, part, info.cast()),
            }
        };
        let filled = self.told(status, alive);
        let size = if which == 8 { 8 } else { size as usize };
        let kept = if filled { size.div_ceil(8) } else { 1 };
        assert!(
            room[kept..]
                .iter()
                .all(|word| *word == 0x5555_5555_5555_5555)
        );
    }

    fn prepare(&mut self) {
        let kernel = self.small(2) as usize;
        let named = self.named(kernel);
        let (word, alive) = self.handle(Sort::Runtime);
        let runtime: *const tw_runtime = std::ptr::without_provenance(word);
        let problem = if self.one_in(40) {
            null()
        } else {
            &raw const named.raw
        };
        let mut launch = null_mut();
        // SAFETY: the problem and what it points to are there.
        let status = unsafe { tw_prepare(runtime, kernel, problem, &mut launch) };
        let prepared = self.told(status, alive);
        assert_eq!(prepared, !launch.is_null());
        if prepared {
            self.handles.push((launch.addr(), Sort::Launch, true));
            let written = named.written(self.arena.as_ptr().addr());
            self.written.insert(launch.addr(), written);
        }
    }

    fn ask(&mut self) {
        let kernel = self.small(2) as usize;
        let (named, word_text) = (self.named(kernel), self.text());
        let (word, alive) = self.handle(Sort::Runtime);
        let runtime: *const tw_runtime = std::ptr::without_provenance(word);
        let text = if self.one_in(20) {
            null()
        } else {
            word_text.as_ptr()
        };
        let mut shown = [0x55u8; 64];
        let room = self.random.random_range(0..60);
        let mut selection = [24u64, 0x55, 0x55, 0x55];
        let mut found = 0;
        let which = self.random.random_range(0..3);
        // SAFETY: the problem and what it points to are there, and room for the results.
        let status = unsafe {
            match which {
                0 => tw_find(runtime, text, &mut found),
                1 => tw_select(runtime, text, &named.raw, selection.as_mut_ptr().cast()),
                _ => tw_explain(
                    runtime,
                    text,
                    &named.raw,
                    shown.as_mut_ptr().cast(),
                    room,
                    null_mut(),
                ),
            }
        };
        let done = self.told(status, alive);
        assert!(shown[room..].iter().all(|byte| *byte == 0x55));
        assert!(!done || which != 2 || room == 0 || shown[..room].contains(&0));
        assert_eq!(selection[3], 0x55);
    }

    fn enqueue(&mut self) {
        let (word, alive) = self.handle(Sort::Launch);
        let launch: *const tw_launch = std::ptr::without_provenance(word);
        let stream: *mut c_void = std::ptr::without_provenance_mut(usize::from(self.one_in(9)));
        let has_workspace = self.one_in(4);
        let workspace = if has_workspace {
            self.number() as usize
        } else {
            0
        };
        let workspace: *mut c_void = std::ptr::without_provenance_mut(workspace);
        let bytes = if has_workspace { self.number() } else { 0 };
        let before = self.bytes();
        // SAFETY: every launch was prepared on the arena, whose end its operands know; the emulator
        // does not touch scratch memory.
        let status = unsafe { tw_enqueue(launch, stream, workspace, bytes) };
        let done = self.told(status, alive);
        let after = self.bytes();
        let changed = |at: &usize| before[*at] != after[*at];
        let changed: Vec<usize> = (0..after.len()).filter(changed).collect();
        assert!(done || changed.is_empty());
        if let Some(written) = self.written.get(&word) {
            let outside = changed.iter().find(|at| !written.contains(at));
            assert_eq!(outside, None, "a byte outside of the output was written");
        }
        self.launches += usize::from(!changed.is_empty());
    }

    fn bytes(&self) -> Vec<u8> {
        self.arena
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }

    fn step(&mut self) {
        match self.random.random_range(0..16) {
            0 => self.open(),
            1 | 2 => self.free(),
            3..=5 => self.describe(),
            6..=9 => self.prepare(),
            10..=12 => self.ask(),
            _ => self.enqueue(),
        }
    }
}

#[test]
fn no_sequence_of_calls_breaks_the_library() {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1);
    let mut driver = Driver::new(seed);
    driver.open();
    for _ in 0..CALLS {
        driver.step();
    }
    let answered = |status| driver.answered.get(&status).copied().unwrap_or(0);
    for status in [
        TW_OK,
        TW_ERROR_NULL,
        TW_ERROR_HANDLE,
        TW_ERROR_STRUCT,
        TW_ERROR_ARGUMENT,
        TW_ERROR_BUNDLE,
        TW_ERROR_UNKNOWN,
        TW_ERROR_REFUSED,
    ] {
        assert!(answered(status) > 20, "{:?}", driver.answered);
    }
    assert!(
        driver.launches > 20,
        "only {} launches wrote",
        driver.launches
    );
}
