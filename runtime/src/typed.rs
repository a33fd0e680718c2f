//! What typed launchers are made of: elements, arrays, operands, calls.
//!
//! A build step (`tilewright-build`) writes a struct for each function of a bundle. Its fields are
//! the function's operands, of their element types and numbers of axes, its scalars and extents, so
//! that what is of another type or missing does not compile. [`include_kernels!`] brings those
//! structs into a program, with the bundle they are of:
//!
//! ```text
//! mod kernels {
//!     tilewright_runtime::include_kernels!();
//! }
//!
//! let runtime = kernels::open(Device::emulator())?;
//! let (source, mut copy) = (vec![1.0f32; 4 * 12], vec![0.0f32; 4 * 8]);
//! kernels::CopyRows {
//!     s: In::from(&source).strides([12, 1]),
//!     d: Out::from(&mut copy),
//!     m: 4,
//!     n: 8,
//! }
//! .launch(&runtime)?;
//! ```
//!
//! Slices of the host's memory are copied to the device and back by the launch, on a GPU as on the
//! emulator. What stays on the device is an [`Array`]; memory of a GPU that is somebody else's
//! comes in by [`In::from_raw`], streams by [`Call::enqueue_on`].
//!
//! [`include_kernels!`]: crate::include_kernels

mod element;

mod array;

mod operand;

mod call;

pub use array::Array;
pub use call::{Call, check};
pub use element::{E2M1x2, E4M3, E5M2, Element, S4x2, U4x2, UE8M0, bf16, f16};
pub use operand::{In, Out, Packed};

/// The launchers and the bundle that a build step wrote into `OUT_DIR`, as items of the module in
/// which it stands: those of `kernels`, or of the name that the build step was given. Of a name
/// that no build step ever wrote rustc says that `OUT_DIR/name.rs` could not be read.
#[cfg(feature = "zip")]
#[macro_export]
macro_rules! include_kernels {
    () => {
        $crate::include_kernels!("kernels");
    };
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}

/// Bundles are embedded as zip files, which this build of the crate does not read.
#[cfg(not(feature = "zip"))]
#[macro_export]
macro_rules! include_kernels {
    ($($name:literal)?) => {
        compile_error!("embedded kernels want the feature `zip` of tilewright-runtime");
    };
}

#[cfg(test)]
mod tests;
