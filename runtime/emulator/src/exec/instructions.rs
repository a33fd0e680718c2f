//! Instructions: what each one does to a warp's registers and to memory, for the lanes of a mask.
//!
//! An instruction returns how its group goes on (a `Flow`): to the next one, elsewhere, or waiting.
//! It never runs another warp, nor picks the next group. Stands on `state` and `memory`. The
//! modules are listed in layers; the last one, `execute`, leads from a decoded instruction to what
//! it does.

mod alu;
mod compare;
mod collective;
mod windows;
mod load_store;
mod atomic;
mod cta_barrier;
mod cluster_barrier;
mod mbarrier_wait;
mod mbarrier;
mod set_registers;
mod async_copy;
mod bulk;
mod tensor_check;
mod tensor;
mod tensor_edit;
mod fence;
mod warpgroup;
mod accumulator;
mod wgmma;
mod matrix;
mod mma;
mod wmma;
mod call;
mod execute;
