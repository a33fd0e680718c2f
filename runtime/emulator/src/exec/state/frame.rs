//! The registers of a function at a call depth.

use crate::inst::Lanes;

/// The registers of one function at one call depth; lanes of the warp share them as columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) depth: u32,
    pub(crate) function: u32,
    pub(crate) regs: Vec<Lanes>,
    /// Lanes that ever wrote the register.
    pub(crate) defined: Vec<u32>,
    pub(crate) preds: Vec<u32>,
    pub(crate) preds_defined: Vec<u32>,
    /// The `wgmma.fence` count at the last touch of each register, all ones while it is in flight;
    /// empty when the module has no wgmma.
    pub(crate) touched: Vec<u32>,
    /// Where the frame's variables start in each lane's local memory.
    pub(crate) local_base: [u32; 32],
}

impl Frame {
    pub(crate) fn new(depth: u32, function: u32, regs: u32, preds: u32) -> Frame {
        let (regs, preds) = (regs as usize, preds as usize);
        Frame {
            depth,
            function,
            regs: vec![[0; 32]; regs],
            defined: vec![0; regs],
            preds: vec![0; preds],
            preds_defined: vec![0; preds],
            touched: Vec::new(),
            local_base: [0; 32],
        }
    }
}
