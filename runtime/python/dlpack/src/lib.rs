//! Tensors that others lend by DLPack: C structs in, judged descriptions out.
//!
//! In: a pointer to what a producer's capsule holds. Out: a [`Tensor`] whose address, extents and
//! strides have been checked, or every problem with it. The crate knows no Python and launches
//! nothing. `header` has the structs of DLPack 1.x, `managed` owns what was lent and reads it (the
//! only unsafe code), `judged` says what may be used, in safe code.
//!
//! ```
//! use tilewright_dlpack::{Code, Flat, Home};
//! let lent = Flat {
//!     data: 4096,
//!     byte_offset: 8,
//!     device: (1, 0),
//!     code: Code { code: 2, bits: 32, lanes: 1 },
//!     shape: vec![2, 3],
//!     strides: None,
//!     flags: 0,
//! };
//! let tensor = lent.judged().unwrap();
//! assert_eq!((tensor.address, tensor.home), (4104, Home::Host));
//! assert_eq!(tensor.stride, [3, 1]);
//! ```

pub mod header;

mod judged;

mod managed;

pub use judged::{Code, Flat, Hold, Home, Problem, Problems, Tensor};
pub use managed::{Managed, VERSION};
