//! A problem of the caller's: operands, scalars, extents and promises, by name.
//!
//! In: the header's structs. Out: the runtime's request, or everything that makes no sense.

use std::ffi::{c_char, c_void};

use tilewright_runtime::bundle::MAX_AXES;
use tilewright_runtime::{
    Described, Extents, Placed, Request, Unreachable, dense_strides, first_element,
};

use crate::dtype;
use crate::failure::{Failure, Why};
use crate::foreign::{Growable, Plain, read_array, read_struct, read_text};

mod given;

/// Most operands, scalars, extents or promises of a problem.
pub const TW_MAX_NAMED: usize = 64;
/// Most bytes of a name; promises may be 16 times as long.
pub const TW_MAX_NAME_BYTES: usize = 255;

/// Memory of the host. Codes of devices are DLPack's.
pub const TW_DEVICE_CPU: i32 = 1;
/// Memory of a GPU.
pub const TW_DEVICE_CUDA: i32 = 2;
/// Memory of the host that CUDA has pinned.
pub const TW_DEVICE_CUDA_HOST: i32 = 3;
/// Memory that CUDA moves between host and GPU.
pub const TW_DEVICE_CUDA_MANAGED: i32 = 13;

/// An operand: a tensor as DLPack describes one, under its name in the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_operand {
    /// Name in the formula: `a`.
    pub name: *const c_char,
    /// Its memory. That of an operand that is only read is never written.
    pub data: *mut c_void,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
    /// Bytes of the memory from `data` on, to be checked; 0 where they are not known, and then as
    /// many are taken to be there as the extents and strides reach.
    pub bytes: u64,
    /// `rank` extents, first axis first, each 0 or more.
    pub extents: *const i64,
    /// `rank` strides in elements; null for packed elements, last axis innermost.
    pub strides: *const i64,
    /// `TW_DTYPE_*`.
    pub dtype_code: u8,
    /// Bits of an element.
    pub dtype_bits: u8,
    /// Always 1.
    pub dtype_lanes: u16,
    /// Number of axes.
    pub rank: i32,
    /// `TW_DEVICE_*`: whose memory it is.
    pub device_type: i32,
    /// The GPU's ordinal; 0 for the host.
    pub device_id: i32,
    /// Always 0.
    pub reserved: [u64; 2],
}

/// A number that a kernel takes by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_scalar {
    /// Name in the formula: `alpha`.
    pub name: *const c_char,
    /// Its value, rounded to the scalar's type.
    pub value: f64,
}

/// An extent that no operand says.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_extent {
    /// Name in the formula: `k`.
    pub name: *const c_char,
    /// Its value, 0 or more.
    pub value: i64,
}

/// A problem. Arrays and names are read during the call alone; operands' memory is used until the
/// launches made with them are done.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_problem {
    /// `sizeof(tw_problem)`.
    pub struct_size: usize,
    /// The operands.
    pub operands: *const tw_operand,
    /// How many there are.
    pub operand_count: usize,
    /// The scalars.
    pub scalars: *const tw_scalar,
    /// How many there are.
    pub scalar_count: usize,
    /// Extents that no operand says.
    pub extents: *const tw_extent,
    /// How many there are.
    pub extent_count: usize,
    /// What the caller confirms, in the words of `tw_assumption_info`.
    pub promises: *const *const c_char,
    /// How many there are.
    pub promise_count: usize,
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_operand {}
// SAFETY: as above.
unsafe impl Plain for tw_scalar {}
// SAFETY: as above.
unsafe impl Plain for tw_extent {}
// SAFETY: as above.
unsafe impl Plain for tw_problem {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_problem {
    const NAME: &'static str = "tw_problem";
    const LEAST_BYTES: usize = 72;
}

/// Whose memory an operand may lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// The host's.
    Host,
    /// That of the GPU with this ordinal.
    Cuda(i32),
}

impl Home {
    fn takes(self, kind: i32, ordinal: i32) -> bool {
        match self {
            Home::Host => matches!(kind, TW_DEVICE_CPU | TW_DEVICE_CUDA_HOST),
            Home::Cuda(own) => {
                (kind == TW_DEVICE_CUDA && ordinal == own) || kind == TW_DEVICE_CUDA_MANAGED
            }
        }
    }

    fn needs(self) -> String {
        match self {
            Home::Host => "memory of the host (TW_DEVICE_CPU)".to_owned(),
            Home::Cuda(own) => format!("memory of GPU {own} (TW_DEVICE_CUDA, {own})"),
        }
    }
}

/// Reads a problem.
///
/// # Safety
/// The pointer is null or points to a problem whose pointers are so too; it stays for `'a`.
pub unsafe fn read<'a>(from: *const tw_problem, home: Home) -> Result<Request<'a>, Failure> {
    // SAFETY: the caller's promise is the callee's.
    let problem = unsafe { read_struct(from, "the problem") }?;
    let mut wrong: Vec<Why> = Vec::new();
    // SAFETY: the arrays are there, and what their elements point to.
    let (operands, given) = unsafe {
        let operands = read_operands(&problem, home, &mut wrong);
        (operands, given::read(&problem, &mut wrong))
    };
    match wrong.is_empty() {
        true => Ok(Request { operands, given }),
        false => Err(Failure::arguments(wrong)),
    }
}

/// Keeps what is right, and notes what is not.
fn noted<T>(read: Result<T, Why>, wrong: &mut Vec<Why>) -> Option<T> {
    read.map_err(|why| wrong.push(why)).ok()
}

/// # Safety
/// As of [`read`].
unsafe fn read_operands<'a>(
    problem: &tw_problem,
    home: Home,
    wrong: &mut Vec<Why>,
) -> Vec<Placed<'a>> {
    let (from, count) = (problem.operands, problem.operand_count);
    // SAFETY: the caller's promise is the callee's.
    let all = unsafe { read_array(from, count, TW_MAX_NAMED, "operands") };
    let all = noted(all, wrong).unwrap_or_default();
    let mut read = Vec::new();
    for (at, operand) in all.iter().enumerate() {
        // SAFETY: as above.
        read.extend(unsafe { read_operand(operand, at, home, wrong) });
    }
    read
}

/// # Safety
/// As of [`read`].
unsafe fn read_operand<'a>(
    operand: &tw_operand,
    at: usize,
    home: Home,
    wrong: &mut Vec<Why>,
) -> Option<Placed<'a>> {
    let place = format!("operands[{at}].name");
    // SAFETY: the caller's promise is the callee's.
    let name = noted(
        unsafe { read_text(operand.name, TW_MAX_NAME_BYTES, &place) },
        wrong,
    )?;
    let before = wrong.len();
    check_operand(operand, name, home, wrong);
    let dtype = dtype::read(operand.dtype_code, operand.dtype_bits);
    // SAFETY: as above.
    let axes = noted(unsafe { read_axes(operand, name) }, wrong);
    let is_empty = |axes: &Vec<(i64, i64)>| axes.iter().any(|(extent, _)| *extent == 0);
    if operand.data.is_null() && !axes.as_ref().is_some_and(is_empty) {
        let text = format!("`{name}` {}", Unreachable::Null);
        wrong.push(Why::of("null", name, text).with("an address", "null"));
    }
    let (true, Some(dtype), Some(axes)) = (wrong.len() == before, dtype, axes) else {
        return None;
    };
    let tensor = Described {
        operand: name,
        dtype,
        place: Extents::new(axes),
    };
    let (offset, whole) = (operand.byte_offset, operand.bytes);
    if whole > 0 && offset > whole {
        let text = format!("`{name}` begins {offset} bytes into memory of {whole}");
        let most = format!("at most {whole}");
        wrong.push(Why::of("byte_offset", name, text).with(most, offset));
        return None;
    }
    // A span beyond 64 bits is refused with the strides, by every launch.
    let reaches = tensor.span_bytes().unwrap_or(0);
    match first_element(operand.data.addr() as u64, offset, reaches) {
        Ok(address) => Some(Placed {
            tensor,
            address,
            bytes: (whole > 0).then(|| whole - offset),
        }),
        Err(unreachable) => {
            let text = format!("`{name}` {unreachable}");
            wrong.push(Why::of("byte_offset", name, text));
            None
        }
    }
}

/// Notes what is wrong with the numbers of an operand.
fn check_operand(operand: &tw_operand, name: &str, home: Home, wrong: &mut Vec<Why>) {
    let mut note = |kind, text: String, needs: String, has: String| {
        wrong.push(Why::of(kind, name, text).with(needs, has));
    };
    let (code, bits, lanes) = (operand.dtype_code, operand.dtype_bits, operand.dtype_lanes);
    if dtype::read(code, bits).is_none() {
        let known = dtype::bits_of(code);
        let needs = match known.is_empty() {
            true => "a TW_DTYPE_ code".to_owned(),
            false => format!("bits of {known:?}"),
        };
        let text =
            format!("`{name}` has the dtype code {code} with {bits} bits; {needs} is needed");
        note("dtype", text, needs, format!("code {code}, {bits} bits"));
    }
    if lanes != 1 {
        let text = format!("`{name}` has {lanes} lanes; 1 is allowed");
        note("dtype", text, "1".to_owned(), lanes.to_string());
    }
    let (kind, ordinal) = (operand.device_type, operand.device_id);
    if !home.takes(kind, ordinal) {
        let needs = home.needs();
        let text = format!("`{name}` is on device type {kind}, id {ordinal}; {needs} is needed");
        note("device", text, needs, format!("type {kind}, id {ordinal}"));
    }
    if operand.reserved != [0; 2] {
        let has = format!("{:?}", operand.reserved);
        let text = format!("`{name}` has {has} in its reserved fields; 0 is allowed");
        note("reserved", text, "0".to_owned(), has);
    }
}

/// Extents and strides of an operand.
///
/// # Safety
/// As of [`read`].
unsafe fn read_axes(operand: &tw_operand, name: &str) -> Result<Vec<(i64, i64)>, Why> {
    let rank = usize::try_from(operand.rank)
        .ok()
        .filter(|rank| *rank <= MAX_AXES);
    let Some(rank) = rank else {
        let (has, most) = (operand.rank, format!("0 to {MAX_AXES}"));
        let text = format!("`{name}` has a rank of {has}; {most} is allowed");
        return Err(Why::of("rank", name, text).with(most, has));
    };
    let what = |part: &str| format!("the {part} of `{name}`");
    // SAFETY: the caller's promise is the callee's.
    let extents = unsafe { read_array(operand.extents, rank, MAX_AXES, &what("extents")) }?;
    if let Some((axis, has)) = extents.iter().enumerate().find(|(_, extent)| **extent < 0) {
        let text = format!("axis {axis} of `{name}` has {has} elements; 0 or more are needed");
        return Err(Why::of("extent", name, text).with("0 or more", has));
    }
    let strides = match operand.strides.is_null() {
        true => dense_strides(&extents),
        // SAFETY: as above.
        false => unsafe { read_array(operand.strides, rank, MAX_AXES, &what("strides")) }?,
    };
    Ok(extents.into_iter().zip(strides).collect())
}
