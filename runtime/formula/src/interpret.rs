//! The reference: what a formula gives on given inputs, and how far a right kernel may be from it.
//!
//! In: a checked formula, sizes, scalars, inputs as f64 or integers, and what the kernel makes of
//! its sums ([`Sums`]). Out: for each element of each output a value and a bound, by running error
//! analysis; integers are exact. [`Evaluator::outputs`] computes whole outputs, on every core;
//! [`Evaluator::element`] single elements, without the rest.
//!
//! ```
//! use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
//! use tilewright_formula::{DType, Operand, Signature, check};
//! let signature = Signature {
//!     operands: vec![
//!         Operand::new("a", DType::BF16, &["m", "k"]),
//!         Operand::new("d", DType::F32, &["m"]),
//!     ],
//!     ..Signature::default()
//! };
//! let formula = check("d[m] = sum[k] a[m,k]", &signature).map_err(|_| "refused")?;
//! let a = [1.0, 2.0, 3.0, 4.0];
//! let inputs = Inputs::default()
//!     .size("m", 2)
//!     .size("k", 2)
//!     .tensor("a", Tensor::floats(&a, &[2, 1]));
//! let evaluator = Evaluator::new(&formula, &inputs, &Fma)?;
//! let element = evaluator.element("d", &[1])?;
//! assert_eq!((element.value, element.error), (7.0, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod keeps;
mod block;
mod bounded;
mod sums;
mod usual;
mod arithmetic;
mod apply;
mod inputs;
mod output;
mod evaluator;
mod place;
mod collected;
mod store;
mod walk;
mod fold;
mod element;
mod whole;
mod plain;

pub use bounded::Bounded;
pub use evaluator::{Error, Evaluator, MAX_ELEMENTS};
pub use inputs::{Inputs, Tensor, Values};
pub use output::{Element, Output};
pub use plain::{Leaves, plain};
pub use sums::{Fma, SumSite, Sums, Terms, Totals};
