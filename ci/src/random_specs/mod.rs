//! Random specs over the whole schema, and what becomes of each.
//!
//! ```text
//! cargo run -p tilewright-ci --bin tilewright-random-specs -- --count 2000 --seed 1
//! cargo run -p tilewright-ci --bin tilewright-random-specs -- --budget-s 30 --out failing
//! cargo run -p tilewright-ci --bin tilewright-random-specs -- --written --assemble --count 3000
//! cargo run -p tilewright-ci --bin tilewright-random-specs -- --formulas --count 3000
//! ```
//!
//! In: a seed. Out: a spec ([`draw`]), made of keys that the schema lists ([`keys`]), or one with a
//! formula and a tile as users write them ([`written`]), or one of functions of elements on the
//! ways that folds and maps go ([`formulas`]); its verdict ([`judge`]): refused by the checks or by
//! the plan, right on the emulator, or a fault ([`ends`]); of what the assembler refuses, whether
//! it says what to write ([`refusal`]); over many seeds the counts of each with what is allowed
//! ([`tally`]), and every fault as a spec from which no key can be taken without it becoming
//! another ([`campaign`]). The same seed gives the same spec. LLVM may end its process, so specs
//! are judged in processes of their own.

pub mod keys;
pub mod draft;
pub mod draw;
pub mod written;
pub mod formulas;
pub mod ends;
pub mod refusal;
pub mod judge;
pub mod campaign;
pub mod tally;
