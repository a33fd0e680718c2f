//! Hostile calls, as far as C can be hostile without breaking its own rules: handles of every age
//! and kind, sizes, counts, codes, text and numbers of every value.
//!
//! A model beside the library knows which handles live. What must hold: a call on a handle that
//! does not live says so; nothing is internal or poisoned; what fails has an error of the same
//! status and writes no result; a launch writes the elements of its output and no other byte.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::{null_mut, without_provenance, without_provenance_mut};
use std::sync::LazyLock;

use tilewright::{
    TW_BACKEND_EMULATOR, TW_ERROR_HANDLE, TW_ERROR_NULL, TW_ERROR_POISONED, TW_OK,
    tw_assumption_info, tw_close, tw_error_free, tw_error_message, tw_error_status, tw_file,
    tw_kernel_assumption, tw_last_error, tw_launch_free, tw_open_files, tw_open_options,
    tw_runtime, tw_status,
};
use tilewright_fixture::{
    COPY, GEMM, LOOKED_UP, SCALED, copy_kernel, looked_up_kernel, packed_copy_kernel, picky_gemm,
    scaled_kernel, writer_of,
};

mod laid;
mod problems;
mod steps;

use laid::zeroed;

/// Bytes of the memory that operands lie in.
const ARENA_BYTES: usize = 1 << 14;
/// Numbers that catch mistakes.
#[rustfmt::skip]
const NUMBERS: [u64; 12] = [
    0, 1, 2, 3, 16, 255, 1 << 31, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX - 7, u64::MAX,
];
/// What no library gave.
#[rustfmt::skip]
const GARBAGE: [usize; 6] = [
    0, 1, 0xFFFF, usize::MAX, 0x7100_0000_0000_0000, 0x72FF_FFFF_FFFF_FFFF,
];

/// What decides what is called.
pub trait Choices {
    /// A number below `many`, which is 1 or more. Where there is nothing left to decide by, the
    /// largest.
    fn below(&mut self, many: u64) -> u64;

    /// Any number.
    fn word(&mut self) -> u64;
}

/// The files of the bundle, made once.
static FILES: LazyLock<Vec<(CString, Vec<u8>)>> = LazyLock::new(|| {
    let writer = writer_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (packed_copy_kernel("copy_packed@rows-1", [1, 4]), COPY),
        (picky_gemm("gemm_f32@picky-1"), GEMM),
        (looked_up_kernel("looked_up_f32@plain-1"), LOOKED_UP),
        (scaled_kernel("scaled_f32@plain-1"), SCALED),
    ]);
    let files = writer.to_files().unwrap().into_iter();
    files
        .map(|(path, data)| (CString::new(path).unwrap(), data))
        .collect()
});

/// What a handle is or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Runtime,
    Launch,
    Error,
    Garbage,
}

/// Whether a terminal shows every character of a text.
fn is_shown(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && c != '\n')
}

/// Calls the library and compares it with its model.
pub struct Driver<C> {
    /// What decides.
    pub choices: C,
    paths: Vec<CString>,
    contents: Vec<Vec<u8>>,
    /// What the kernel with tables wants promised.
    promise: String,
    /// Every handle ever seen, and whether it lives.
    handles: Vec<(usize, Sort, bool)>,
    /// The memory of operands, aligned enough for every kernel of the bundle.
    arena: Vec<u128>,
    /// The kernel of each launch, and the bytes of the arena that it may write.
    launches: BTreeMap<usize, (usize, Vec<usize>)>,
    /// How many launches of each kernel wrote something.
    wrote: BTreeMap<usize, usize>,
    /// How often each status was answered.
    answered: BTreeMap<tw_status, usize>,
}

impl<C: Choices> Driver<C> {
    /// A driver with a runtime open. It frees what lives when it is dropped.
    pub fn new(choices: C) -> Driver<C> {
        let mut driver = Driver {
            choices,
            paths: FILES.iter().map(|(path, _)| path.clone()).collect(),
            contents: FILES.iter().map(|(_, data)| data.clone()).collect(),
            promise: String::new(),
            handles: GARBAGE.map(|word| (word, Sort::Garbage, false)).to_vec(),
            // Floats, and entries of tables that are inside of what they look into.
            arena: vec![0x0000_0001_0000_0000_4040_0000_C000_0000; ARENA_BYTES / 16],
            launches: BTreeMap::new(),
            wrote: BTreeMap::new(),
            answered: BTreeMap::new(),
        };
        driver.promise = driver.first();
        driver
    }

    /// Opens the bundle as it is: the promise of its kernel with tables.
    fn first(&mut self) -> String {
        let mut options: tw_open_options = zeroed();
        options.struct_size = size_of::<tw_open_options>();
        options.backend = TW_BACKEND_EMULATOR;
        let files = self.files();
        let mut runtime = null_mut();
        let mut info: tw_assumption_info = zeroed();
        info.struct_size = size_of::<tw_assumption_info>();
        // SAFETY: files and options are there, and room for the results; the text ends with 0 and
        // lives as long as the runtime.
        let promise = unsafe {
            let (from, count) = (files.as_ptr(), files.len());
            assert_eq!(tw_open_files(from, count, &options, &mut runtime), TW_OK);
            assert_eq!(tw_kernel_assumption(runtime, 3, 0, &mut info), TW_OK);
            CStr::from_ptr(info.promise).to_str().unwrap().to_owned()
        };
        self.handles.push((runtime.addr(), Sort::Runtime, true));
        promise
    }

    fn files(&self) -> Vec<tw_file> {
        let all = self.paths.iter().zip(&self.contents);
        let file = |(path, data): (&CString, &Vec<u8>)| tw_file {
            path: path.as_ptr(),
            data: data.as_ptr(),
            bytes: data.len(),
        };
        all.map(file).collect()
    }

    /// How often each status was answered.
    pub fn answered(&self) -> &BTreeMap<tw_status, usize> {
        &self.answered
    }

    /// How many launches wrote something, by the kernel's index.
    pub fn wrote(&self) -> &BTreeMap<usize, usize> {
        &self.wrote
    }

    fn below(&mut self, many: usize) -> usize {
        self.choices.below(many as u64) as usize
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn number(&mut self) -> u64 {
        match self.one_in(4) {
            true => self.choices.word(),
            false => NUMBERS[self.below(NUMBERS.len())],
        }
    }

    /// A small number, now and then any.
    fn small(&mut self, most: usize) -> u64 {
        match self.one_in(12) {
            true => self.number(),
            false => self.below(most + 1) as u64,
        }
    }

    fn text(&mut self) -> CString {
        let words: [&[u8]; 12] = [
            b"gemm",
            b"copy",
            b"scaled",
            b"s",
            b"d",
            b"copy_f32@plain-1",
            b"gemm_f32",
            b"",
            b"\xff\xfe",
            b"a\x1b[31m\n\xc2\x85",
            "é".as_bytes(),
            &[b'x'; 5000],
        ];
        CString::new(words[self.below(words.len())]).unwrap()
    }

    /// A handle: most often one that lives and is of that sort.
    fn handle(&mut self, sort: Sort) -> (usize, bool) {
        let fits = |(_, of, alive): &&(usize, Sort, bool)| *alive && *of == sort;
        let right: Vec<usize> = self.handles.iter().filter(fits).map(|one| one.0).collect();
        if !right.is_empty() && !self.one_in(6) {
            return (right[self.below(right.len())], true);
        }
        let at = self.below(self.handles.len());
        let (word, of, alive) = self.handles[at];
        (word, of == sort && alive)
    }

    fn runtime(&mut self) -> (*const tw_runtime, bool) {
        let (word, alive) = self.handle(Sort::Runtime);
        (without_provenance(word), alive)
    }

    /// Notes what a call on a handle answered, and takes its error.
    fn told(&mut self, status: tw_status, on_living: bool) -> bool {
        *self.answered.entry(status).or_default() += 1;
        if !on_living {
            let named = [TW_ERROR_HANDLE, TW_ERROR_NULL].contains(&status);
            assert!(named, "{status} on no handle");
        }
        if status == TW_OK {
            return true;
        }
        let error = tw_last_error();
        // SAFETY: the message ends with 0 and lives as long as its error, which is not freed.
        let message = unsafe { CStr::from_ptr(tw_error_message(error)) };
        let message = message.to_str().unwrap();
        assert!(
            (1..TW_ERROR_POISONED).contains(&status),
            "{status}: {message}"
        );
        assert!(!message.is_empty() && is_shown(message), "{message:?}");
        assert_eq!(tw_error_status(error), status);
        if self.one_in(3) {
            self.handles.push((error.addr(), Sort::Error, true));
        } else {
            assert_eq!(tw_error_free(error), TW_OK);
        }
        false
    }

    /// Frees a handle, which may be none.
    fn freed(&mut self, word: usize, sort: Sort) -> tw_status {
        let handle: *mut c_void = without_provenance_mut(word);
        match sort {
            Sort::Runtime => tw_close(handle.cast()),
            Sort::Launch => tw_launch_free(handle.cast()),
            Sort::Error | Sort::Garbage => tw_error_free(handle.cast()),
        }
    }
}

impl<C> Drop for Driver<C> {
    fn drop(&mut self) {
        for (word, sort, alive) in std::mem::take(&mut self.handles) {
            let handle: *mut c_void = without_provenance_mut(word);
            let status = match sort {
                _ if !alive => TW_OK,
                Sort::Runtime => tw_close(handle.cast()),
                Sort::Launch => tw_launch_free(handle.cast()),
                Sort::Error | Sort::Garbage => tw_error_free(handle.cast()),
            };
            assert!(status == TW_OK || std::thread::panicking());
        }
    }
}
