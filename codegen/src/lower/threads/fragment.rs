//! Fragments: which register of a thread holds which element of a tile.
//!
//! A fragment is defined by the partition that names its values. Another partition may read or
//! write it when each thread owns the same elements in both, which is checked here for every
//! thread.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::ir::thread::program::Reg;
use crate::plan::copies::thread_digits::{Digit, Part};

/// Registers that hold a thread's share of a tile.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Fragment {
    /// Register file.
    pub file: u32,
    /// Registers of one buffer.
    pub buffer_registers: usize,
    /// Elements one register holds.
    per_register: usize,
    /// Registers that hold one element.
    per_element: usize,
    part: Part<2>,
    index: HashMap<[i64; 2], usize>,
}

impl Fragment {
    /// A fragment whose values are numbered by `part`, in registers and of elements of so many
    /// bits.
    pub(in crate::lower) fn new(
        file: u32,
        [register_bits, element_bits]: [u32; 2],
        part: Part<2>,
    ) -> Fragment {
        let per_register = (register_bits / element_bits).max(1) as usize;
        let per_element = (element_bits / register_bits).max(1) as usize;
        let index = part
            .values
            .iter()
            .enumerate()
            .map(|(index, value)| (*value, index))
            .collect();
        Fragment {
            file,
            buffer_registers: part.values.len().div_ceil(per_register) * per_element,
            per_register,
            per_element,
            part,
            index,
        }
    }

    /// Coordinates of a thread's elements from its first, in the order of their registers.
    pub(in crate::lower) fn values(&self) -> &[[i64; 2]] {
        &self.part.values
    }

    /// What a thread's index adds to them.
    pub(in crate::lower) fn digits(&self) -> &[Digit<2>] {
        &self.part.digits
    }

    /// Whether each element has registers of its own.
    pub(in crate::lower) fn is_single(&self) -> bool {
        self.per_register == 1
    }

    /// The registers of one buffer that hold the elements, which must fill each register they are
    /// in, in order.
    pub(in crate::lower) fn registers(
        &self,
        elements: &[[i64; 2]],
        buffer: u32,
    ) -> Option<Vec<Reg>> {
        let start = self.buffer_registers * buffer as usize;
        let mut registers = Vec::new();
        for group in elements.chunks(self.per_register) {
            let first = *self.index.get(group.first()?)?;
            if first % self.per_register != 0 || group.len() != self.per_register {
                return None;
            }
            for (step, element) in group.iter().enumerate() {
                if *self.index.get(element)? != first + step {
                    return None;
                }
            }
            let first = start + first / self.per_register * self.per_element;
            let held = (first..first + self.per_element).map(|index| Reg {
                file: self.file,
                index: index as u32,
            });
            registers.extend(held);
        }
        Some(registers)
    }

    /// Checks that every thread's elements start at the same place in `other`.
    pub(in crate::lower) fn check_owner(
        &self,
        other: &Part<2>,
        threads: i64,
        what: &str,
    ) -> Result<()> {
        for thread in 0..threads {
            if self.part.base(thread) != other.base(thread) {
                let message = format!(
                    "thread {thread} owns {:?} in the fragment and {:?} in the copy",
                    self.part.base(thread),
                    other.base(thread)
                );
                let dump = format!("{:?}\n{:?}", self.part.digits, other.digits);
                return Err(Error::bug("lower", what, message, dump));
            }
        }
        Ok(())
    }
}
