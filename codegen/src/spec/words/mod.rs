//! The words of specs, without a file.
//!
//! - `auto`: values that the plan may be left to choose
//! - `vocabulary`: closed lists of words
//! - `notation`: `(128,128,64)`, `(m,k):(lda,1)`
//! - `printed`: a tree of values to print
//! - `record`: maps as tables, a row a key

pub(super) mod auto;
pub(super) mod vocabulary;
pub(super) mod notation;
pub(super) mod printed;
pub(super) mod record;
