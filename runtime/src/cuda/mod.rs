//! The CUDA backend: the one place that touches the driver and its libraries.
//!
//! Out of it come safe types: a device with one stream, memory, loaded kernels, timed graphs and
//! cuBLASLt products. cudarc loads the libraries when they are first used, so a program with this
//! code in it starts on a machine without any of them.
//!
//! All work of a device is ordered on its stream, copies included: one of its own, or one that the
//! caller lends it.

mod driver;
mod context;
mod device;
mod foreign;
mod timing;
mod tensor_map;
mod scratch;
mod compiling;
mod module;
mod cached;
mod launching;
mod loading;
mod nodes;
mod blas;
mod blas_search;

pub use blas::{Algorithm, Batch, BlasLt, MatrixOrder, Product, ScaleMode, Side};
pub use device::{CudaDevice, DeviceMemory};
pub use driver::driver_present;
pub use foreign::Current;
pub use module::CudaKernel;
pub(crate) use nodes::Nodes;
pub(crate) use tensor_map::encode as encode_tensor_map;
pub use timing::{Event, Graph};
