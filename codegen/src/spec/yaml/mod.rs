//! YAML text to a tree that knows its places.
//!
//! - `nearest`: what to suggest in place of a word or a number
//! - `problems`: the problems of a file
//! - `node`: the tree
//! - `tree`: text to tree
//! - `embedded`: places in a text that a scalar holds

pub(super) mod nearest;
pub(super) mod problems;
pub(super) mod node;
pub(super) mod tree;
pub(super) mod embedded;
