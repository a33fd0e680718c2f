//! Scratch memory of kernels: the runtime makes it at a launch, and on a GPU keeps it for the next
//! launches of the kernel.

use std::collections::HashMap;

use tilewright_runtime::bundle::{DType, Kernel};
use tilewright_runtime::{
    Arg, Buffer, Described, Device, Error, Extents, Placed, Problem, Runtime,
};

use crate::matrix::Shape;
use crate::room::{Part, Room};

/// A matrix of a launch, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// The operand's name in the kernel.
    pub name: &'a str,
    /// Where it lies.
    pub buffer: &'a Buffer,
    /// The type of its elements.
    pub dtype: DType,
    /// Its rows and columns.
    pub shape: Shape,
}

impl<'a> Operand<'a> {
    /// A matrix at the start of a buffer.
    pub fn new(name: &'a str, buffer: &'a Buffer, dtype: DType, shape: Shape) -> Operand<'a> {
        Operand {
            name,
            buffer,
            dtype,
            shape,
        }
    }

    /// The matrix as a launch takes it.
    pub fn arg(&self) -> Arg<'a> {
        Arg::new(self.name, self.buffer)
    }

    /// The matrix as it lies on a GPU.
    fn placed(&self) -> Option<Placed<'a>> {
        let Buffer::Cuda(memory) = self.buffer else {
            return None;
        };
        let (rows, columns) = (self.shape.rows as i64, self.shape.columns as i64);
        Some(Placed {
            tensor: Described {
                operand: self.name,
                dtype: self.dtype,
                place: Extents::new([(rows, columns), (columns, 1)]),
            },
            address: memory.address(),
            bytes: Some(memory.bytes()),
        })
    }
}

/// Bytes of scratch memory that a launch of a kernel takes.
///
/// # Errors
/// When it cannot be launched on these operands.
pub fn bytes(
    runtime: &Runtime,
    kernel: &Kernel,
    problem: &Problem,
    operands: &[Operand<'_>],
) -> Result<usize, Error> {
    if kernel.workspace.bytes.constant_value() == Some(0) && kernel.workspace.zero_bytes == 0 {
        return Ok(0);
    }
    let bytes = match runtime.device() {
        // It may depend on how much of the kernel's code has room on the GPU at once.
        Device::Cuda(device) => {
            let placed: Vec<Placed<'_>> = operands.iter().filter_map(Operand::placed).collect();
            let prepared = device.prepare(runtime.load(kernel)?, problem, &placed)?;
            prepared.workspace_bytes()
        }
        device => {
            let fit = device.fit(kernel, problem)?;
            let bytes = kernel.workspace.bytes.eval(&fit.env);
            let bytes = bytes.map_err(|error| Error::Request(error.to_string()))?;
            u64::try_from(bytes).unwrap_or(0)
        }
    };
    let bytes = bytes.max(u64::from(kernel.workspace.zero_bytes));
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// What kernels have been given on a GPU, which they keep: the most that each has needed.
#[derive(Debug, Default)]
pub struct Scratch(HashMap<String, Part>);

impl Scratch {
    /// Takes what a kernel needs beyond what it has; `false` when there is no room for it.
    pub fn grow(&mut self, kernel: &str, bytes: usize, memory: &Room) -> bool {
        if bytes == 0 {
            return true;
        }
        let part = self.0.entry(kernel.to_owned());
        part.or_insert_with(|| memory.part()).grow(bytes)
    }
}
