//! Mutation testing of kernels: PTX with one thing broken, which the emulator has to notice.
//!
//! In: a [`Subject`]. Out: for each mutant what became of it. The way: [`statement`] finds the
//! instructions of the text, [`meaning`] says what each computes, [`operators`] break one of them
//! in every way they know, [`judge`] runs a mutant until something shows, [`record`] keeps its
//! fate, [`survivors`] are those that never differ, each of which needs a reason in
//! `ci/data/mutants/survivors.txt`; [`campaign`] does all of it on every core and can be resumed,
//! [`score`] counts and makes the table `ci/data/mutants/scores.txt`. [`guards`] breaks thread
//! programs instead, which certificates have to refuse: [`refused`] judges them.

pub mod statement;
pub mod meaning;
pub mod operators;
pub mod judge;
pub mod record;
pub mod survivors;
pub mod campaign;
pub mod score;
pub mod guards;
pub mod refused;

pub use crate::subject::Subject;
