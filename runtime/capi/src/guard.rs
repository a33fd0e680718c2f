//! The wall that every call stands behind: failures become a status, and so do panics.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;
use crate::handles::{self, Held, Object};
use crate::status::{TW_OK, tw_status};

/// Runs a call.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> tw_status {
    match caught(body) {
        Ok(()) => TW_OK,
        Err(failure) => failure.keep(),
    }
}

/// Runs a call on what a handle stands for; a panic poisons it.
pub fn call_on<T: Object>(
    handle: *const c_void,
    body: impl FnOnce(&std::sync::Arc<Held<T>>, &T) -> Result<(), Failure>,
) -> tw_status {
    call(|| {
        let held = handles::get::<T>(handle)?;
        let object = held.alive()?;
        match catch_unwind(AssertUnwindSafe(|| body(&held, object))) {
            Ok(done) => done,
            Err(panic) => {
                held.poison();
                Err(of_panic(panic.as_ref()))
            }
        }
    })
}

fn caught(body: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // What the call was changing is not looked at again: a handle is poisoned, and what is behind
    // the runtime's locks is whole at every step.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(of_panic(panic.as_ref())))
}

fn of_panic(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    Failure::internal(format!(
        "the library failed, which is a bug of its own: {text}"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::handles::{Kind, free, give};
    use crate::status::{TW_ERROR_INTERNAL, TW_ERROR_POISONED};

    #[derive(Debug)]
    struct Thing;

    impl Object for Thing {
        const KIND: Kind = Kind::Launch;
    }

    #[test]
    fn a_panic_becomes_a_status_and_poisons_the_handle() {
        let handle = give(Thing).unwrap();
        let status = call_on::<Thing>(handle, |_, _| panic!("seventeen"));
        assert_eq!(status, TW_ERROR_INTERNAL);
        assert!(Failure::take().unwrap().message.ends_with("seventeen"));
        assert_eq!(call_on::<Thing>(handle, |_, _| Ok(())), TW_ERROR_POISONED);
        assert_eq!(call(|| free::<Thing>(handle)), TW_OK);
    }

    #[test]
    fn a_panic_without_a_handle_is_caught_too() {
        assert_eq!(call(|| panic!("{}", 18)), TW_ERROR_INTERNAL);
        assert!(Failure::take().unwrap().message.ends_with("18"));
        assert_eq!(Failure::take(), None);
    }
}
