//! A tool in this process: what it is told of ranges, and when nothing is.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;

use super::*;

thread_local! {
    /// What the tool was told on this thread.
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The address that the tool gives its domain.
const HANDLE: usize = 0x51;

fn note(text: String) {
    TOLD.with(|told| told.borrow_mut().push(text));
}

fn told() -> Vec<String> {
    TOLD.with(RefCell::take)
}

unsafe extern "C" fn create(name: *const c_char) -> *mut c_void {
    // SAFETY: the client passes text that ends with 0.
    let name = unsafe { CStr::from_ptr(name) };
    note(format!("create {}", name.to_str().unwrap()));
    std::ptr::without_provenance_mut(HANDLE)
}

unsafe extern "C" fn push(domain: *mut c_void, attributes: *const EventAttributes) -> c_int {
    // SAFETY: the client passes attributes with text that ends with 0.
    let (attributes, name) = unsafe { (&*attributes, CStr::from_ptr((*attributes).message)) };
    assert_eq!((attributes.version, attributes.size), (3, 48));
    assert_eq!((domain.addr(), attributes.message_type), (HANDLE, 1));
    note(format!("push {}", name.to_str().unwrap()));
    0
}

unsafe extern "C" fn pop(domain: *mut c_void) -> c_int {
    assert_eq!(domain.addr(), HANDLE);
    note("pop".to_owned());
    0
}

/// Does what tools do, through the export tables alone.
unsafe extern "C" fn takes_ranges(export: GetExportTable) -> c_int {
    // SAFETY: the tables are of these types, and large enough for these calls.
    unsafe {
        let callbacks = &*export(1).cast::<Callbacks>();
        let version = &*export(3).cast::<VersionInfo>();
        assert_eq!((callbacks.struct_size, version.struct_size), (16, 24));
        assert_eq!(version.version, 3);
        (version.set_injection_nvtx_version)(3);
        assert!(export(0).is_null() && export(2).is_null());
        for (module, calls) in [0, 16, 9, 15, 7, 16, 7, 0].into_iter().enumerate() {
            let (mut table, mut size) = (null(), 0);
            let get = callbacks.get_module_function_table;
            let known = get(module as c_uint, &mut table, &mut size);
            assert_eq!((known, size), (c_int::from(calls > 0), calls));
            assert_eq!(get(module as c_uint, null_mut(), null_mut()), known);
            let calls = calls as usize;
            for call in 0..calls {
                assert_eq!((*table.add(call)).is_some(), call > 0, "{module} {call}");
            }
            assert!(calls == 0 || (*table.add(calls)).is_none());
            if module == 5 {
                let write = |call: usize, function: *mut c_void| {
                    (*table.add(call))
                        .unwrap()
                        .store(function, Ordering::Release);
                };
                write(12, create as *mut c_void);
                write(4, push as *mut c_void);
                write(5, pop as *mut c_void);
            }
        }
    }
    1
}

unsafe extern "C" fn declines(_: GetExportTable) -> c_int {
    0
}

/// A launch that fails behind the beginning of its range.
fn fails(tool: &'static Tool) -> Result<(), String> {
    let _range = Range::open(Some(tool), "gemm@128x128x32");
    Err("refused".to_owned())
}

#[test]
fn a_tool_is_told_of_the_begin_and_the_end_of_every_range() {
    assert!(Tool::attach(declines).is_none());
    drop(Range::open(None, "nobody hears of it"));
    assert_eq!(told(), [""; 0]);

    let tool: &'static Tool = Box::leak(Box::new(Tool::attach(takes_ranges).unwrap()));
    assert_eq!(told(), ["create tilewright"]);
    {
        let _outer = Range::open(Some(tool), "outer");
        assert_eq!(fails(tool), Err("refused".to_owned()));
    }
    let named = ["push outer", "push gemm@128x128x32", "pop", "pop"];
    assert_eq!(told(), named);
    // A name that C cannot hold is left out, begin and end.
    drop(Range::open(Some(tool), "a\0b"));
    assert_eq!(told(), [""; 0]);
    // A tool may go: what it began is not ended by nobody, and nothing begins.
    let open = Range::open(Some(tool), "open");
    SLOTS[DOMAINS]
        .iter()
        .for_each(|slot| slot.store(null_mut(), Ordering::Release));
    drop(open);
    drop(Range::open(Some(tool), "late"));
    assert_eq!(told(), ["push open"]);
}
