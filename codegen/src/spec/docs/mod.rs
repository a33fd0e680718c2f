//! What the table of keys says to people and editors.
//!
//! - `schema`: JSON Schema
//! - `reference`: the reference page

pub(super) mod schema;
pub(super) mod reference;
