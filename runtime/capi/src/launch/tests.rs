//! Structs have the sizes that programs were compiled with.

use crate::error::tw_reason;
use crate::foreign::Growable;
use crate::kernels::{
    tw_assumption_info, tw_function_info, tw_kernel_info, tw_operand_info, tw_scalar_info,
};
use crate::launch::tw_launch_info;
use crate::open::{tw_device_info, tw_file};
use crate::options::tw_open_options;
use crate::problem::{tw_extent, tw_operand, tw_problem, tw_scalar};
use crate::select::tw_selection;
use crate::watch::tw_counter_info;

/// A struct that nothing was added to since the first version of the interface.
fn is_as_it_was<T: Growable>() {
    assert_eq!(T::LEAST_BYTES, size_of::<T>(), "{}", T::NAME);
}

#[test]
fn structs_have_not_shrunk_and_elements_of_arrays_never_grow() {
    is_as_it_was::<tw_reason>();
    is_as_it_was::<tw_problem>();
    is_as_it_was::<tw_device_info>();
    is_as_it_was::<tw_kernel_info>();
    is_as_it_was::<tw_operand_info>();
    is_as_it_was::<tw_scalar_info>();
    is_as_it_was::<tw_assumption_info>();
    is_as_it_was::<tw_function_info>();
    is_as_it_was::<tw_selection>();
    is_as_it_was::<tw_launch_info>();
    is_as_it_was::<tw_counter_info>();
    let grown = (tw_open_options::LEAST_BYTES, size_of::<tw_open_options>());
    assert_eq!(grown, (24, 64));
    assert_eq!(size_of::<tw_operand>(), 80);
    assert_eq!(size_of::<tw_scalar>(), 16);
    assert_eq!(size_of::<tw_extent>(), 16);
    assert_eq!(size_of::<tw_file>(), 24);
}
