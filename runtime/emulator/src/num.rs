//! Arithmetic as PTX defines it, on raw bits, without any machine state.

pub(crate) mod round;
pub(crate) mod float;
pub(crate) mod int;
pub(crate) mod convert;
