//! Atoms as data: the records of `specs/atoms/*.yaml`, expanded, checked for form and indexed by
//! id.
//!
//! Comes in: the record files, embedded at build time. Goes out: [`catalogue`], one [`model::Atom`]
//! per instruction. Invariants: ids are unique; every id and every layout parses; facts and
//! operands that the kind asks for are there. That the facts are true is the matter of this
//! module's tests.

pub mod arithmetic;
mod register;
mod space;
pub mod sync;
pub mod model;
mod family;
mod record;
mod catalogue;
#[cfg(test)]
pub(crate) mod tests;

pub use catalogue::{Catalogue, catalogue};
