//! What the generator says: of each spec, formula and limit, and on the pages made of it.
//! It is one program, as each one that links LLVM takes seconds to link.
#![allow(clippy::unwrap_used, clippy::panic)]

mod made;
mod any_strides;
mod architecture;
mod diagnostics;
mod formulas;
mod gaps;
mod helps;
mod levels;
mod limits;
mod mended;
mod passes;
mod reference;
mod refused_formulas;
mod scope;
mod spec_diagnostics;
mod spec_schema;
