//! What the repository's own tests stand on: its files, golden texts, and the rules of house style
//! as functions.
//!
//! In: the working tree. Out: complaints, each with a file, a line and what to do. The tests under
//! `ci/tests` call these and fail when there is a complaint. No crate that ships depends on this
//! one.

pub mod source_tree;
pub mod outside;
pub mod pages;
pub mod golden;
pub mod tokens;
pub mod tidy;
pub mod subject;
pub mod mutation;
pub mod random_specs;
