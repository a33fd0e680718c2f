//! Executes PTX on the CPU and faults on what a GPU lets pass.
//!
//! Comes in: the text of a PTX module ([`Module::parse`]), device buffers ([`Memory`]), a launch
//! ([`Launch`]). Goes out: the effects on the buffers and a [`Report`] of findings and counters.
//! The crate sees nothing but PTX and launch data, so that its verdict is independent of how the
//! PTX was made; it knows no driver, no JSON and no compiler.
//!
//! The way of a launch: text is lexed and parsed in one pass, every opcode is checked against one
//! table and decoded into a compact form; warps execute that form for 32 lanes at a time; CTAs
//! run in parallel when the kernel cannot tell. Modules, in layers:
//!
//! - `num`: arithmetic as PTX defines it, without machine state
//! - `tensor_core`: the sums of tensor cores, to the bit
//! - `finding`, `counters`, `trace`, `history`, `options`, `architecture`, `memory`, `tensor_map`:
//!   the vocabulary
//! - `types`, `inst`, `module`, `alternatives`: the decoded program, and others beside it
//! - `lexer`, `operand`, `isa`, `syntax`: text to decoded program
//! - `launch`, `exec`: decoded program to memory effects

#![forbid(unsafe_code)]

#[doc = include_str!("../docs/model.md")]
#[doc = "\n"]
#[doc = include_str!("../docs/model.links.md")]
pub mod model {}

#[doc = include_str!("../docs/findings.md")]
pub mod findings {}

mod num;
pub mod tensor_core;
mod finding;
mod counters;
mod trace;
mod history;
mod source;
mod reached;
mod options;
mod architecture;
mod memory;
mod types;
mod inst;
mod tensor_map;
mod module;
mod alternatives;
mod launch;
mod lexer;
mod operand;
mod isa;
mod syntax;
mod exec;

pub use alternatives::Alternatives;
pub use architecture::Architecture;
pub use counters::{ClassCount, Counters, GlobalTraffic, InstClass, SharedTraffic};
pub use exec::{Report, run, run_beside};
pub use finding::page as findings_page;
pub use finding::{Finding, FindingId, Level, Location, OtherSide, Space, Threads};
pub use history::{Event, EventKind, History, Operation};
pub use launch::{Arg, Launch, Params, RunError};
pub use memory::{BufferId, Content, Memory, MemoryError};
pub use module::{Entry, Module, Param};
pub use num::approx::Approx;
pub use options::{AsyncOrder, Options, Sanitize, Stop, WarpOrder};
pub use reached::Reached;
pub use source::{SourceLine, SourceLines};
pub use syntax::{ParseError, ParseErrors};
pub use tensor_map::{Im2col, TensorFill, TensorMap, TensorMapError, TensorSwizzle, TensorType};
pub use trace::{LineProfile, TraceOperand, TraceStep, TraceTarget};
