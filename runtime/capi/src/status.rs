//! What every call answers: a number, 0 when all is well.

/// What a call answers: `TW_OK`, or why it did nothing.
pub type tw_status = i32;

/// All is well.
pub const TW_OK: tw_status = 0;
/// A pointer that is needed is null.
pub const TW_ERROR_NULL: tw_status = 1;
/// A handle was freed, is of another kind, or never came from this library.
pub const TW_ERROR_HANDLE: tw_status = 2;
/// The `struct_size` of a struct is none that this library knows.
pub const TW_ERROR_STRUCT: tw_status = 3;
/// A value makes no sense: text that is no UTF-8, an unknown code, too many operands, a negative
/// extent. Each has a reason.
pub const TW_ERROR_ARGUMENT: tw_status = 4;
/// A bundle was refused: damaged, changed, or of another format.
pub const TW_ERROR_BUNDLE: tw_status = 5;
/// No driver, no such device, or a failure of either.
pub const TW_ERROR_DEVICE: tw_status = 6;
/// Nothing has that name or index.
pub const TW_ERROR_UNKNOWN: tw_status = 7;
/// The kernel cannot run the problem; nothing was launched. Each reason is told.
pub const TW_ERROR_REFUSED: tw_status = 8;
/// A word means several functions that take these operands.
pub const TW_ERROR_AMBIGUOUS: tw_status = 9;
/// Not enough memory, on the host or on the device.
pub const TW_ERROR_MEMORY: tw_status = 10;
/// The emulator found faults of a kernel; nothing was written.
pub const TW_ERROR_FAULT: tw_status = 11;
/// An earlier call on the handle failed inside of the library; it can only be freed.
pub const TW_ERROR_POISONED: tw_status = 12;
/// The library itself failed: a bug. The handle of the call is poisoned.
pub const TW_ERROR_INTERNAL: tw_status = 13;

/// Every status with its name.
const NAMES: [(tw_status, &std::ffi::CStr); 14] = [
    (TW_OK, c"ok"),
    (TW_ERROR_NULL, c"null"),
    (TW_ERROR_HANDLE, c"handle"),
    (TW_ERROR_STRUCT, c"struct"),
    (TW_ERROR_ARGUMENT, c"argument"),
    (TW_ERROR_BUNDLE, c"bundle"),
    (TW_ERROR_DEVICE, c"device"),
    (TW_ERROR_UNKNOWN, c"unknown"),
    (TW_ERROR_REFUSED, c"refused"),
    (TW_ERROR_AMBIGUOUS, c"ambiguous"),
    (TW_ERROR_MEMORY, c"memory"),
    (TW_ERROR_FAULT, c"fault"),
    (TW_ERROR_POISONED, c"poisoned"),
    (TW_ERROR_INTERNAL, c"internal"),
];

/// The name of a status: `refused`. Lives as long as the library; of a number that is no status
/// it is `unknown status`.
#[unsafe(no_mangle)]
pub extern "C" fn tw_status_name(status: tw_status) -> *const std::ffi::c_char {
    let found = NAMES.iter().find(|(known, _)| *known == status);
    found.map_or(c"unknown status", |(_, name)| name).as_ptr()
}

/// The version of the interface that this header describes. A library of this version or a later
/// one has every function of the header; structs only grow at their ends.
pub const TW_ABI_VERSION: u32 = 2;

/// The version of the interface that the library has: at least `TW_ABI_VERSION` is needed.
#[unsafe(no_mangle)]
pub extern "C" fn tw_abi_version() -> u32 {
    TW_ABI_VERSION
}

/// The version of the library: `0.1.0`. Lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn tw_version() -> *const std::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_own_name() {
        for (at, (status, _)) in NAMES.iter().enumerate() {
            assert_eq!(*status, at as tw_status);
        }
        let names: std::collections::BTreeSet<_> = NAMES.iter().map(|(_, name)| name).collect();
        assert_eq!(names.len(), NAMES.len());
    }
}
