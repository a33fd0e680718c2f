//! Texts of a bundle's kernels as C has them; they live as long as the runtime's handle.

use std::ffi::CString;

use tilewright_runtime::bundle::{Assumption, Kernel, Operand};
use tilewright_runtime::{DeviceInfo, Runtime};

use crate::foreign::c_text;

/// Texts of a device.
pub struct DeviceText {
    pub name: CString,
}

impl DeviceText {
    pub fn of(info: &DeviceInfo) -> DeviceText {
        let name = c_text(&info.name);
        DeviceText { name }
    }
}

/// Texts of a function, and its kernels.
pub struct FunctionText {
    pub hash: CString,
    pub formula: CString,
    /// Place of the first of its kernels, and how many there are.
    pub first: usize,
    pub count: usize,
}

impl FunctionText {
    /// The function of `kernel`, which is the first of it.
    pub fn of(runtime: &Runtime, kernel: &Kernel) -> FunctionText {
        let hash = &kernel.semantics.function;
        let kernels = runtime.kernels();
        let same = |k: &&Kernel| k.semantics.function == *hash;
        FunctionText {
            hash: c_text(&hash.to_string()),
            formula: c_text(&kernel.semantics.compute),
            first: kernels.iter().position(|k| k.id == kernel.id).unwrap_or(0),
            count: kernels.iter().filter(same).count(),
        }
    }
}

/// Texts of an operand.
pub struct OperandText {
    pub name: CString,
    pub role: CString,
    pub dtype: CString,
    pub layout: CString,
    pub over: Option<CString>,
    pub packed: Option<CString>,
}

impl OperandText {
    fn of(operand: &Operand) -> OperandText {
        OperandText {
            name: c_text(&operand.name),
            role: c_text(operand.role.text()),
            dtype: c_text(operand.dtype.text()),
            layout: c_text(operand.layout.text()),
            over: operand.over.as_deref().map(c_text),
            packed: operand
                .packed
                .as_ref()
                .map(|order| c_text(&order.to_string())),
        }
    }
}

/// Texts of a kernel.
pub struct KernelText {
    pub id: CString,
    pub spec: CString,
    pub word: CString,
    pub formula: CString,
    pub function: CString,
    pub operands: Vec<OperandText>,
    /// Name and type of each scalar.
    pub scalars: Vec<(CString, CString)>,
    pub extents: Vec<CString>,
    /// Each assumption, and what is to be promised where it is a promise.
    pub assumptions: Vec<(CString, Option<CString>)>,
}

impl KernelText {
    pub fn of(kernel: &Kernel) -> KernelText {
        let semantics = &kernel.semantics;
        let scalars = semantics.scalars.iter();
        let assumption = |one: &Assumption| {
            let promise = match one {
                Assumption::Promise { promise, .. } => Some(c_text(promise)),
                Assumption::Expr { .. } | Assumption::Align { .. } => None,
            };
            (c_text(&one.text()), promise)
        };
        KernelText {
            id: c_text(&kernel.id),
            spec: c_text(&kernel.spec),
            word: c_text(&kernel.kernel),
            formula: c_text(&semantics.compute),
            function: c_text(&semantics.function.to_string()),
            operands: semantics.operands.iter().map(OperandText::of).collect(),
            scalars: scalars
                .map(|s| (c_text(&s.name), c_text(s.dtype.text())))
                .collect(),
            extents: kernel
                .free_extents()
                .map(|(_, text)| c_text(text))
                .collect(),
            assumptions: kernel.assumptions.iter().map(assumption).collect(),
        }
    }
}
