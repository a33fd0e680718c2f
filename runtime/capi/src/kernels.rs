//! What a bundle holds: kernels, functions, and what each takes.

use std::ffi::c_char;

use tilewright_runtime::alignment_bytes;
use tilewright_runtime::bundle::Kernel;

use crate::described::KernelText;
use crate::dtype;
use crate::failure::Failure;
use crate::foreign::{Growable, Plain, place, put, read_text, write_struct, zeroed};
use crate::guard::call_on;
use crate::open::{Opened, tw_runtime};
use crate::status::tw_status;

/// A kernel of a bundle. Texts live as long as the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_kernel_info {
    /// `sizeof(tw_kernel_info)`, set by the caller.
    pub struct_size: usize,
    /// Its name, unique in the bundle.
    pub id: *const c_char,
    /// The part of the id before `@`.
    pub spec: *const c_char,
    /// The spec's word for it: `gemm`.
    pub word: *const c_char,
    /// What it computes: `d[m,n] = sum[k] a[m,k] * b[n,k]`.
    pub formula: *const c_char,
    /// SHA-256 of the function: kernels of the same one may stand for one another.
    pub function: *const c_char,
    /// Operands: see `tw_kernel_operand`.
    pub operand_count: usize,
    /// Scalars: see `tw_kernel_scalar`.
    pub scalar_count: usize,
    /// Extents: see `tw_kernel_extent`.
    pub extent_count: usize,
    /// Assumptions: see `tw_kernel_assumption`.
    pub assumption_count: usize,
    /// The least compute capability, 90 for 9.0.
    pub min_sm: u32,
    /// Not 0 when no other will do.
    pub exact_sm: u32,
}

/// An operand of a kernel. Texts live as long as the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_operand_info {
    /// `sizeof(tw_operand_info)`, set by the caller.
    pub struct_size: usize,
    /// Name in the formula.
    pub name: *const c_char,
    /// `in`, `out` or `inout`.
    pub role: *const c_char,
    /// Element type in the specs' words: `bf16`.
    pub dtype: *const c_char,
    /// Shape and strides in elements: `(m,k):(lda,1)`.
    pub layout: *const c_char,
    /// The input whose place it may take; null where there is none.
    pub over: *const c_char,
    /// Its order in memory as CuTe prints it, where it is packed: it is then given as one axis of
    /// elements in that order. Null where it is not.
    pub packed: *const c_char,
    /// `TW_DTYPE_*`.
    pub dtype_code: u8,
    /// Bits of an element.
    pub dtype_bits: u8,
    /// Always 1.
    pub dtype_lanes: u16,
    /// Number of axes.
    pub rank: i32,
    /// What the first element's address is a multiple of, in bytes.
    pub alignment: u32,
    /// Not 0 when the kernel writes it.
    pub is_written: u32,
}

/// A scalar of a kernel. Texts live as long as the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_scalar_info {
    /// `sizeof(tw_scalar_info)`, set by the caller.
    pub struct_size: usize,
    /// Name in the formula.
    pub name: *const c_char,
    /// Its type in the specs' words: `f32`.
    pub dtype: *const c_char,
}

/// What must hold before a launch. Texts live as long as the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_assumption_info {
    /// `sizeof(tw_assumption_info)`, set by the caller.
    pub struct_size: usize,
    /// The assumption as a line.
    pub text: *const c_char,
    /// What the caller is to promise, in the words to do it in; null where it is checked instead.
    pub promise: *const c_char,
}

/// A function that kernels of a bundle compute. Texts live as long as the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_function_info {
    /// `sizeof(tw_function_info)`, set by the caller.
    pub struct_size: usize,
    /// Its SHA-256.
    pub hash: *const c_char,
    /// What is computed.
    pub formula: *const c_char,
    /// The first of its kernels.
    pub first_kernel: usize,
    /// How many kernels compute it.
    pub kernel_count: usize,
}

macro_rules! growable {
    ($($name:ident $least:literal),*) => {$(
        // SAFETY: numbers and pointers take every pattern of bits.
        unsafe impl Plain for $name {}
        // SAFETY: the size is the first field.
        unsafe impl Growable for $name {
            const NAME: &'static str = stringify!($name);
            const LEAST_BYTES: usize = $least;
        }
    )*};
}

growable!(
    tw_kernel_info 88,
    tw_operand_info 72,
    tw_scalar_info 24,
    tw_assumption_info 24,
    tw_function_info 40
);

impl Opened {
    /// A kernel by its index, and its texts.
    pub fn kernel(&self, index: usize) -> Result<(&Kernel, &KernelText), Failure> {
        let kernels = self.runtime.kernels();
        let found = kernels.get(index).zip(self.kernels.get(index));
        let (kernel, text) = found.ok_or_else(|| Failure::index("kernel", index, kernels.len()))?;
        Ok((kernel, text.get_or_init(|| KernelText::of(kernel))))
    }

    /// The index of a kernel of this bundle.
    pub fn index_of(&self, kernel: &Kernel) -> usize {
        let mut kernels = self.runtime.kernels().iter();
        kernels.position(|k| k.id == kernel.id).unwrap_or(0)
    }
}

/// How many kernels a bundle has. Their indices count from 0, ordered by id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_count(
    runtime: *const tw_runtime,
    count: *mut usize,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(count, "count")?;
        // SAFETY: the place is not null.
        unsafe { put(count, opened.runtime.kernels().len()) };
        Ok(())
    })
}

/// A kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel(
    runtime: *const tw_runtime,
    kernel: usize,
    info: *mut tw_kernel_info,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        let (kernel, text) = opened.kernel(kernel)?;
        let value = tw_kernel_info {
            id: text.id.as_ptr(),
            spec: text.spec.as_ptr(),
            word: text.word.as_ptr(),
            formula: text.formula.as_ptr(),
            function: text.function.as_ptr(),
            operand_count: text.operands.len(),
            scalar_count: text.scalars.len(),
            extent_count: text.extents.len(),
            assumption_count: text.assumptions.len(),
            min_sm: kernel.capability.min_sm,
            exact_sm: u32::from(kernel.capability.exact),
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// An operand of a kernel, counted from 0 in the kernel's order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_operand(
    runtime: *const tw_runtime,
    kernel: usize,
    operand: usize,
    info: *mut tw_operand_info,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        let (kernel, text) = opened.kernel(kernel)?;
        let operands = &kernel.semantics.operands;
        let found = operands.get(operand).zip(text.operands.get(operand));
        let count = operands.len();
        let (known, text) = found.ok_or_else(|| Failure::index("operand", operand, count))?;
        let (dtype_code, dtype_bits) = dtype::told(known.dtype);
        let pointer = |text: &Option<std::ffi::CString>| match text {
            Some(text) => text.as_ptr(),
            None => std::ptr::null(),
        };
        let value = tw_operand_info {
            name: text.name.as_ptr(),
            role: text.role.as_ptr(),
            dtype: text.dtype.as_ptr(),
            layout: text.layout.as_ptr(),
            over: pointer(&text.over),
            packed: pointer(&text.packed),
            dtype_code,
            dtype_bits,
            dtype_lanes: 1,
            rank: i32::try_from(known.layout.rank()).unwrap_or(i32::MAX),
            alignment: alignment_bytes(kernel, known),
            is_written: u32::from(known.role.is_written()),
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// A scalar of a kernel, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_scalar(
    runtime: *const tw_runtime,
    kernel: usize,
    scalar: usize,
    info: *mut tw_scalar_info,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        let (_, text) = opened.kernel(kernel)?;
        let count = text.scalars.len();
        let found = text.scalars.get(scalar);
        let (name, dtype) = found.ok_or_else(|| Failure::index("scalar", scalar, count))?;
        let value = tw_scalar_info {
            name: name.as_ptr(),
            dtype: dtype.as_ptr(),
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// The name of an extent of a kernel, counted from 0. Those that stand alone in the layout of an
/// operand follow from it and need not be given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_extent(
    runtime: *const tw_runtime,
    kernel: usize,
    extent: usize,
    name: *mut *const c_char,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(name, "name")?;
        let (_, text) = opened.kernel(kernel)?;
        let count = text.extents.len();
        let found = text.extents.get(extent);
        let found = found.ok_or_else(|| Failure::index("extent", extent, count))?;
        // SAFETY: the place is not null.
        unsafe { put(name, found.as_ptr()) };
        Ok(())
    })
}

/// An assumption of a kernel, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_assumption(
    runtime: *const tw_runtime,
    kernel: usize,
    assumption: usize,
    info: *mut tw_assumption_info,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        let (_, text) = opened.kernel(kernel)?;
        let count = text.assumptions.len();
        let found = text.assumptions.get(assumption);
        let (line, promise) =
            found.ok_or_else(|| Failure::index("assumption", assumption, count))?;
        let promise = promise.as_ref();
        let value = tw_assumption_info {
            text: line.as_ptr(),
            promise: promise.map_or(std::ptr::null(), |promise| promise.as_ptr()),
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// How many functions the kernels of a bundle compute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_function_count(
    runtime: *const tw_runtime,
    count: *mut usize,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(count, "count")?;
        // SAFETY: the place is not null.
        unsafe { put(count, opened.functions.len()) };
        Ok(())
    })
}

/// A function, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_function(
    runtime: *const tw_runtime,
    function: usize,
    info: *mut tw_function_info,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        let count = opened.functions.len();
        let found = opened.functions.get(function);
        let found = found.ok_or_else(|| Failure::index("function", function, count))?;
        let value = tw_function_info {
            hash: found.hash.as_ptr(),
            formula: found.formula.as_ptr(),
            first_kernel: found.first,
            kernel_count: found.count,
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// The kernel of that id, else the first of the spec of that name, else the first whose id begins
/// so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_find(
    runtime: *const tw_runtime,
    name: *const c_char,
    kernel: *mut usize,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(kernel, "kernel")?;
        // SAFETY: the caller says that the text is there.
        let name = unsafe { read_text(name, crate::problem::TW_MAX_NAME_BYTES, "name") }?;
        let found = opened.index_of(opened.runtime.named(name)?);
        // SAFETY: the place is not null.
        unsafe { put(kernel, found) };
        Ok(())
    })
}
