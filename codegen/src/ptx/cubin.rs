//! What a cubin says of its kernel's parameters and registers.
//!
//! Comes in: the machine code that ptxas wrote. Goes out: where it looks for each parameter, and
//! how many registers a thread has. That is in sections of attributes, `.nv.info.<entry>` of each
//! kernel and `.nv.info` of all: format, attribute, and a value of two bytes or of as many as it
//! says (as `cuobjdump -elf` prints them).

use std::collections::BTreeMap;

use object::{Object as _, ObjectSection as _};

/// Beginning of the name of the section of a kernel's attributes.
const ATTRIBUTES: &str = ".nv.info.";
/// Format of a value behind its size.
const SIZED: u8 = 4;
/// The attribute of a parameter: its number, its place in the constant bank and its size.
const PARAMETER: u8 = 0x17;
/// The section of all kernels, and the attribute of one's registers: its symbol, their number.
const OF_ALL: &str = ".nv.info";
const REGISTERS: u8 = 0x2f;
/// Where the size of a parameter stands in its flags.
const SIZE_SHIFT: u32 = 18;

/// Offsets from the first parameter and sizes, in bytes, of the parameters of each entry of a
/// cubin; `None` of what is no such file.
///
/// The first one begins the block that a launch hands over: where it is a tensor map, ptxas puts it
/// at an address that is a multiple of 64 (seen with 13.0, and with the driver's compiler).
pub fn params(cubin: &[u8]) -> Option<BTreeMap<String, Vec<(u32, u32)>>> {
    let file = object::File::parse(cubin).ok()?;
    let mut all = BTreeMap::new();
    for section in file.sections() {
        let name = section
            .name()
            .ok()
            .and_then(|name| name.strip_prefix(ATTRIBUTES));
        if let Some(entry) = name {
            all.insert(entry.to_owned(), of_entry(section.data().ok()?)?);
        }
    }
    Some(all)
}

/// The same of one entry, whose attributes those are.
fn of_entry(data: &[u8]) -> Option<Vec<(u32, u32)>> {
    let found = attributes(data)?.into_iter();
    let found = found.filter(|(attribute, _)| *attribute == PARAMETER);
    let found: Option<Vec<(u16, u32, u32)>> = found.map(|(_, value)| parameter(value)).collect();
    let mut found = found?;
    found.sort_unstable();
    let first = found.first().map_or(0, |(_, offset, _)| *offset);
    let relative = found
        .into_iter()
        .map(|(_, offset, size)| (offset - first, size));
    Some(relative.collect())
}

/// Registers of a thread of a cubin, the most of its kernels; `None` where it does not say.
pub fn registers(cubin: &[u8]) -> Option<u32> {
    let file = object::File::parse(cubin).ok()?;
    let section = file.section_by_name(OF_ALL)?;
    let found = attributes(section.data().ok()?)?;
    let found = found
        .into_iter()
        .filter(|(attribute, _)| *attribute == REGISTERS);
    let number = |value: &[u8]| Some(u32::from_le_bytes(value.get(4..8)?.try_into().ok()?));
    found.filter_map(|(_, value)| number(value)).max()
}

/// Number, offset and size of a parameter.
fn parameter(value: &[u8]) -> Option<(u16, u32, u32)> {
    let half = |at: usize| {
        let bytes = value.get(at..at + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    };
    let flags = u32::from(half(8)?) | u32::from(half(10)?) << 16;
    Some((half(4)?, u32::from(half(6)?), flags >> SIZE_SHIFT))
}

/// The attributes of a section, each with the bytes of its value.
fn attributes(mut data: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut found = Vec::new();
    while let [format, attribute, low, high, rest @ ..] = data {
        let value = usize::from(u16::from_le_bytes([*low, *high]));
        let (payload, rest) = match *format {
            SIZED => rest.split_at_checked(value)?,
            _ => (&[][..], rest),
        };
        found.push((*attribute, payload));
        data = rest;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::arch;
    use crate::ptx::ptxas;

    /// A kernel of these parameters.
    fn placed(declared: &[&str]) -> Vec<(u32, u32)> {
        let list: Vec<String> = (declared.iter().enumerate())
            .map(|(at, one)| one.replace('#', &format!("p{at}")))
            .collect();
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k({}) {{ ret; }}\n",
            list.join(", ")
        );
        let arch = arch::ARCHES.iter().find(|arch| arch.name == "sm_90a");
        let report = ptxas::assemble(&text, arch.unwrap()).unwrap();
        assert_eq!(registers(&report.cubin), Some(report.registers));
        report.params.unwrap().remove("k").unwrap()
    }

    /// Tensor maps lie as C would have them where the first parameter is one, and else do not.
    #[test]
    fn maps_are_aligned_from_the_first_one() {
        let (map, word, half) = (
            ".param .align 64 .b8 #[128]",
            ".param .u64 #",
            ".param .u32 #",
        );
        assert_eq!(
            placed(&[word, half, half, word]),
            [(0, 8), (8, 4), (12, 4), (16, 8)]
        );
        let all = placed(&[map, word, map, half]);
        assert_eq!(all, [(0, 128), (128, 8), (192, 128), (320, 4)]);
        assert_eq!(placed(&[word, map])[1], (48, 128));
    }

    #[test]
    fn what_is_no_cubin_says_nothing() {
        assert_eq!(params(b""), None);
        assert_eq!(params(b"\x7fELF and no more"), None);
        assert_eq!(registers(b"\x7fELF and no more"), None);
        assert_eq!(attributes(&[SIZED, PARAMETER, 12, 0, 1, 2]), None);
        assert_eq!(parameter(&[1, 2]), None);
        let short: &[u8] = &[];
        assert_eq!(attributes(&[3, 0x19, 8, 0, 1]), Some(vec![(0x19, short)]));
    }
}
