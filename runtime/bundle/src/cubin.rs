//! What machine code says of itself: the architecture it is for, and its kernels.
//!
//! Comes in: a file that is to be a cubin. Goes out: whether it is what its entry says. A cubin is
//! an ELF file of 64 bits; a kernel's code is the section `.text.<entry>`. Of a file that is no ELF
//! nothing is known here: its hash is checked, and the driver refuses it.

use object::LittleEndian;
use object::elf::{ELFMAG, EM_CUDA, FileFlags, FileHeader64, Machine};
use object::read::elf::FileHeader as _;

use crate::code::CubinFile;
use crate::manifest::Kernel;

/// What stands before an entry in the name of its section.
const TEXT: &[u8] = b".text.";

/// What is read of a cubin.
struct Read<'a> {
    machine: Machine,
    /// Compute capability, times ten, where the rules of its flags are known.
    sm: Option<u32>,
    sections: Vec<&'a [u8]>,
}

/// Checks a kernel's machine code.
pub(crate) fn check(bytes: &[u8], cubin: &CubinFile, kernel: &Kernel) -> Result<(), String> {
    if !bytes.starts_with(&ELFMAG) {
        return Ok(());
    }
    let file = &cubin.file;
    let read = read(bytes).map_err(|error| format!("{file:?} is a damaged ELF file: {error}"))?;
    if read.machine != EM_CUDA {
        return Err(format!(
            "{file:?} is an ELF file for machine {}; code of GPUs is for {}",
            read.machine.0, EM_CUDA.0
        ));
    }
    if let Some(sm) = read.sm
        && target(&cubin.target).is_some_and(|target| target != sm)
    {
        return Err(format!(
            "{file:?} is machine code for sm_{sm}; its target is {}",
            cubin.target
        ));
    }
    let has = |entry: &str| {
        let mut named = read
            .sections
            .iter()
            .filter_map(|name| name.strip_prefix(TEXT));
        named.any(|name| name == entry.as_bytes())
    };
    let mut entries = kernel.launches.iter().map(|launch| launch.entry.as_str());
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

fn read(bytes: &[u8]) -> object::Result<Read<'_>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    let FileFlags(flags) = header.e_flags(endian);
    // The lowest byte, or the one above from version 8 on (LLVM, `ELF.h`: `EF_CUDA_SM`; read from
    // what ptxas 13.0 writes).
    let sm = match header.e_ident().abi_version {
        0..=7 => Some(flags & 0xff),
        8 => Some(flags >> 8 & 0xff),
        _ => None,
    };
    let sections = header.sections(endian, bytes)?;
    let names = sections
        .iter()
        .map(|one| sections.section_name(endian, one));
    Ok(Read {
        machine: header.e_machine(endian),
        sm,
        sections: names.collect::<object::Result<_>>()?,
    })
}
