//! Arithmetic as PTX defines it, on raw bits, without any machine state.

pub(crate) mod round;
pub(crate) mod float;
pub(crate) mod double;
pub(crate) mod short;
pub(crate) mod approx;
pub(crate) mod int;
pub(crate) mod convert;
pub(crate) mod video;
