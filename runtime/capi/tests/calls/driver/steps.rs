//! The calls.

use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};

use tilewright::{
    TW_BACKEND_EMULATOR, TW_OK, tw_device, tw_enqueue, tw_error_reason, tw_error_reason_count,
    tw_explain, tw_find, tw_function, tw_function_count, tw_kernel, tw_kernel_assumption,
    tw_kernel_count, tw_kernel_extent, tw_kernel_operand, tw_kernel_scalar, tw_launch,
    tw_launch_describe, tw_open, tw_open_files, tw_open_options, tw_pack, tw_prepare, tw_select,
    tw_selection, tw_status_name,
};

use super::laid::{Laid, Room, zeroed};
use super::{ARENA_BYTES, Choices, Driver, Sort, is_shown};

/// Bytes of text that `tw_explain` has room for.
const MOST_TEXT_BYTES: usize = 2000;

impl<C: Choices> Driver<C> {
    /// One call.
    pub fn step(&mut self) {
        match self.below(20) {
            0 => self.open(),
            1 | 2 => self.free(),
            3..=6 => self.describe(),
            7..=10 => self.prepare(),
            11..=13 => self.ask(),
            14 | 15 => self.pack(),
            _ => self.enqueue(),
        }
    }

    /// Options, right or wrong, that never name a GPU.
    fn options(&mut self) -> Laid {
        let mut options: tw_open_options = zeroed();
        let known = size_of::<tw_open_options>() as u64;
        options.backend = match self.one_in(5) {
            true => 3 + self.below(9) as i32,
            false => TW_BACKEND_EMULATOR,
        };
        options.device_ordinal = self.small(1) as i32;
        options.emulator_sms = self.small(3) as u32;
        options.emulator_sm = if self.one_in(9) {
            self.number() as u32
        } else {
            0
        };
        let size = if self.one_in(9) { self.number() } else { known };
        let size = if self.one_in(9) {
            known + self.below(64) as u64
        } else {
            size
        };
        Laid::sized(&options, size, self.below(2) as u8)
    }

    fn open(&mut self) {
        let options = self.options();
        let mut runtime = null_mut();
        let place = if self.one_in(20) {
            null_mut()
        } else {
            &raw mut runtime
        };
        let status = if self.one_in(4) {
            let path = self.text();
            // SAFETY: the path and the options are there.
            unsafe { tw_open(path.as_ptr(), options.at(), place) }
        } else {
            let mut kept = None;
            if self.one_in(4) {
                let file = self.below(self.contents.len());
                let at = self.below(self.contents[file].len());
                kept = Some((file, at, self.contents[file][at]));
                self.contents[file][at] ^= 1 << self.below(8);
            }
            let mut files = self.files();
            if self.one_in(9) {
                let at = self.below(files.len());
                files[at].data = null();
            }
            let odd = self.text();
            if self.one_in(9) {
                let at = self.below(files.len());
                files[at].path = if self.one_in(2) { null() } else { odd.as_ptr() };
            }
            let count = match self.below(18) {
                0 => 0,
                1 => (1 << 16) + 1 + (self.number() >> 1) as usize,
                _ => files.len(),
            };
            let laid = Laid::of(&files, self.one_in(6));
            // SAFETY: the files and the options are there.
            let status = unsafe { tw_open_files(laid.at(), count, options.at(), place) };
            if let Some((file, at, byte)) = kept {
                self.contents[file][at] = byte;
                assert_ne!(status, TW_OK, "byte {at} of file {file} was another");
            }
            status
        };
        let opened = self.told(status, true);
        assert_eq!(opened, !runtime.is_null());
        if opened {
            self.handles.push((runtime.addr(), Sort::Runtime, true));
        }
    }

    fn free(&mut self) {
        let sort = [Sort::Runtime, Sort::Launch, Sort::Error][self.below(3)];
        let (word, alive) = self.handle(sort);
        let status = self.freed(word, sort);
        if word == 0 {
            assert_eq!(status, TW_OK);
        } else if self.told(status, alive) {
            let freed = self.handles.iter_mut().filter(|one| one.0 == word);
            freed.for_each(|one| one.2 = false);
        }
    }

    /// Every call that fills a struct, with a struct of any size, or a place.
    fn describe(&mut self) {
        let which = self.below(12);
        let is_place = which >= 8;
        let size = match self.one_in(3) {
            true => self.number(),
            false => self.below(120) as u64,
        };
        let mut room = if is_place {
            Room::of(8)
        } else {
            Room::sized(size)
        };
        let info: *mut c_void = if self.one_in(30) {
            null_mut()
        } else {
            room.at()
        };
        let (at, part) = (self.small(6) as usize, self.small(4) as usize);
        let sort = match which {
            0 => Sort::Launch,
            1 | 11 => Sort::Error,
            _ => Sort::Runtime,
        };
        let (word, alive) = self.handle(sort);
        let handle: *const c_void = without_provenance(word);
        let on = handle.cast();
        // SAFETY: the room is as large as its struct says, or as the place.
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
                8 => tw_kernel_extent(on, at, part, info.cast()),
                9 => tw_kernel_count(on, info.cast()),
                10 => tw_function_count(on, info.cast()),
                _ => {
                    let reasons = tw_error_reason_count(handle.cast());
                    assert!(alive || reasons == 0);
                    assert!(!tw_status_name(at as i32).is_null());
                    return;
                }
            }
        };
        let filled = self.told(status, alive);
        room.result(filled, if is_place { 0 } else { 8 });
    }

    fn prepare(&mut self) {
        let kernel = self.small(4) as usize;
        let named = self.named(kernel);
        let (runtime, alive) = self.runtime();
        let problem = if self.one_in(40) { null() } else { named.at() };
        let mut launch = null_mut();
        // SAFETY: the problem and what it points to are there.
        let status = unsafe { tw_prepare(runtime, kernel, problem, &mut launch) };
        let prepared = self.told(status, alive);
        assert_eq!(prepared, !launch.is_null());
        if prepared {
            self.handles.push((launch.addr(), Sort::Launch, true));
            self.launches
                .insert(launch.addr(), (kernel, named.written()));
        }
    }

    fn ask(&mut self) {
        let kernel = self.below(5);
        let (named, word) = (self.named(kernel), self.text());
        let (runtime, alive) = self.runtime();
        let text = if self.one_in(20) {
            null()
        } else {
            word.as_ptr()
        };
        match self.below(3) {
            0 => {
                let mut found = Room::of(8);
                // SAFETY: the text is there, and room for the result.
                let status = unsafe { tw_find(runtime, text, found.at()) };
                let done = self.told(status, alive);
                found.result(done, 0);
            }
            1 => {
                let size = self.small(size_of::<tw_selection>() + 8);
                let mut selection = Room::sized(size);
                // SAFETY: the problem and what it points to are there, and room for the result.
                let status = unsafe { tw_select(runtime, text, named.at(), selection.at()) };
                let done = self.told(status, alive);
                selection.result(done, 8);
            }
            _ => {
                let room = self.below(MOST_TEXT_BYTES);
                let mut shown = Room::of(room);
                let mut length = usize::MAX;
                // SAFETY: as above.
                let status = unsafe {
                    tw_explain(runtime, text, named.at(), shown.at(), room, &raw mut length)
                };
                let done = self.told(status, alive);
                let shown = shown.result(done, 0);
                let end = shown.iter().position(|byte| *byte == 0);
                assert!(!done || room == 0 || end == Some(length.min(room - 1)));
                let told = String::from_utf8_lossy(&shown[..end.unwrap_or(0)]);
                assert!(!done || is_shown(&told), "{told:?}");
            }
        }
    }

    /// Elements in the order that a kernel takes them in.
    fn pack(&mut self) {
        let kernel = if self.one_in(6) {
            self.small(6) as usize
        } else {
            1
        };
        let named = self.named(1);
        let operand = if self.one_in(4) {
            self.text()
        } else {
            c"s".to_owned()
        };
        let operand = if self.one_in(20) {
            null()
        } else {
            operand.as_ptr()
        };
        let (runtime, alive) = self.runtime();
        let elements = vec![1.5f32; self.below(64)];
        let laid = Laid::of(&elements, self.one_in(6));
        let bytes = match self.one_in(6) {
            true => self.below(size_of_val(elements.as_slice()) + 1),
            false => size_of_val(elements.as_slice()),
        };
        let capacity = self.below(300);
        let mut packed = Room::of(capacity);
        let mut needed = Room::of(8);
        let place = if self.one_in(9) {
            null_mut()
        } else {
            needed.at()
        };
        // SAFETY: the problem, the elements and room for the results are there.
        let status = unsafe {
            let (from, to) = (laid.at(), packed.at());
            tw_pack(
                runtime,
                kernel,
                operand,
                named.at(),
                from,
                bytes,
                to,
                capacity,
                place,
            )
        };
        let done = self.told(status, alive);
        packed.result(done, 0);
        needed.result(done, 0);
    }

    /// Makes what stands in the output of a launch something else, so that it is seen to write.
    fn turn_over(&mut self, launch: usize) {
        for at in self
            .launches
            .get(&launch)
            .into_iter()
            .flat_map(|(_, written)| written)
        {
            let mut bytes = self.arena[at / 16].to_ne_bytes();
            bytes[at % 16] ^= 0x55;
            self.arena[at / 16] = u128::from_ne_bytes(bytes);
        }
    }

    fn enqueue(&mut self) {
        let (word, alive) = self.handle(Sort::Launch);
        let launch: *const tw_launch = without_provenance(word);
        let stream: *mut c_void = without_provenance_mut(usize::from(self.one_in(9)));
        let (workspace, bytes) = match self.one_in(4) {
            true => (self.number() as usize, self.number()),
            false => (0, 0),
        };
        if self.one_in(2) {
            self.turn_over(word);
        }
        let before = self.arena.clone();
        // SAFETY: every launch was prepared on the arena, whose end its operands know; the emulator
        // does not touch scratch memory.
        let status =
            unsafe { tw_enqueue(launch, stream, without_provenance_mut(workspace), bytes) };
        let done = self.told(status, alive);
        if self.arena == before {
            return;
        }
        assert!(done, "a launch that failed wrote something");
        let (kernel, written) = &self.launches[&word];
        let byte = |arena: &[u128], at: usize| arena[at / 16].to_ne_bytes()[at % 16];
        let is_other = |at: &usize| byte(&before, *at) != byte(&self.arena, *at);
        let mut changed = (0..ARENA_BYTES).filter(is_other);
        let outside = changed.find(|at| !written.contains(at));
        assert_eq!(outside, None, "a byte outside of the output was written");
        *self.wrote.entry(*kernel).or_default() += 1;
    }
}
