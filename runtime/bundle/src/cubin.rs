//! What machine code says of itself: the architecture it is for, and its kernels.
//!
//! Comes in: a file that is to be a cubin. Goes out: whether it is what its entry says. A cubin is
//! an ELF file of 64 bits; a kernel's code is the section `.text.<entry>`. Of a file that is no ELF
//! nothing is known here: its hash is checked, and the driver refuses it.

use crate::code::CubinFile;
use crate::manifest::Kernel;

/// How an ELF file begins; behind it, 64 bits and little-endian.
const MAGIC: &[u8] = b"\x7fELF";
const WIDE_AND_LITTLE: &[u8] = &[2, 1];
/// Where the version of its machine's rules stands.
const ABI_VERSION: usize = 8;
/// `EM_CUDA`, where the machine stands.
const CUDA: u16 = 190;
const MACHINE: usize = 18;
/// Where the table of sections, the flags, and count and names of sections stand.
const SECTIONS: usize = 40;
const FLAGS: usize = 48;
const COUNT: usize = 60;
const NAMES: usize = 62;
/// Bytes of a section's entry, with the places of its contents and size in it.
const ENTRY: usize = 64;
const CONTENTS: usize = 24;
const SIZE: usize = 32;
/// What stands before an entry in the name of its section.
const TEXT: &str = ".text.";

/// Checks a kernel's machine code.
pub(crate) fn check(bytes: &[u8], cubin: &CubinFile, kernel: &Kernel) -> Result<(), String> {
    if !bytes.starts_with(MAGIC) {
        return Ok(());
    }
    let file = &cubin.file;
    let damaged = || format!("{file:?} is a damaged ELF file");
    if bytes.get(4..6) != Some(WIDE_AND_LITTLE) {
        return Err(damaged());
    }
    let machine = u16_at(bytes, MACHINE).ok_or_else(damaged)?;
    if machine != CUDA {
        return Err(format!(
            "{file:?} is an ELF file for machine {machine}; code of GPUs is for {CUDA}"
        ));
    }
    if let Some(sm) = sm(bytes)
        && target(&cubin.target).is_some_and(|target| target != sm)
    {
        return Err(format!(
            "{file:?} is machine code for sm_{sm}; its target is {}",
            cubin.target
        ));
    }
    let sections = sections(bytes).ok_or_else(damaged)?;
    let mut entries = kernel.launches.iter().map(|launch| launch.entry.as_str());
    let has = |entry: &str| {
        let mut named = sections.iter().filter_map(|name| name.strip_prefix(TEXT));
        named.any(|name| name == entry)
    };
    match entries.find(|entry| !has(entry)) {
        Some(entry) => Err(format!("{file:?} has no code of the kernel {entry}")),
        None => Ok(()),
    }
}

/// The compute capability, times ten, of a target: 90 of `sm_90a`.
fn target(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("sm_")?;
    digits.trim_end_matches(char::is_alphabetic).parse().ok()
}

/// The compute capability, times ten, that the flags say, where their rules are known: the lowest
/// byte, or the one above from version 8 on (LLVM, `ELF.h`: `EF_CUDA_SM`; read from what ptxas 13.0
/// writes).
fn sm(bytes: &[u8]) -> Option<u32> {
    let flags = u32_at(bytes, FLAGS)?;
    match bytes.get(ABI_VERSION)? {
        0..=7 => Some(flags & 0xff),
        8 => Some(flags >> 8 & 0xff),
        _ => None,
    }
}

/// The names of the sections.
fn sections(bytes: &[u8]) -> Option<Vec<&str>> {
    let table = usize::try_from(u64_at(bytes, SECTIONS)?).ok()?;
    let table = bytes.get(table..)?;
    let count = usize::from(u16_at(bytes, COUNT)?);
    let entry = |at: usize| table.get(at * ENTRY..(at + 1) * ENTRY);
    let names = entry(usize::from(u16_at(bytes, NAMES)?))?;
    let [from, size] = [CONTENTS, SIZE].map(|at| u64_at(names, at));
    let from = usize::try_from(from?).ok()?;
    let end = from.checked_add(usize::try_from(size?).ok()?)?;
    let names = bytes.get(from..end)?;
    let name = |at: usize| {
        let from = usize::try_from(u32_at(entry(at)?, 0)?).ok()?;
        let text = names.get(from..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&text[..end]).ok()
    };
    (0..count).map(name).collect()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
