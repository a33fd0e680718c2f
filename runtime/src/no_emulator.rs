//! What stands for the emulator where the feature `emulator` is off: types that nothing is of, so
//! that whoever matches on a device has no more and no fewer cases.

use tilewright_bundle::Kernel;

use crate::error::Error;
use crate::launch::fit::{Fit, LaunchReport};
use crate::launch::info::DeviceInfo;
use crate::observe::counters::KernelCounts;
use crate::observe::watch::Watch;

/// The emulator, of which there is none without the feature `emulator`.
#[derive(Debug, Clone)]
pub enum EmulatorDevice {}

/// Memory of the emulator.
#[derive(Debug)]
pub enum EmulatedBuffer {}

/// PTX parsed for the emulator.
#[derive(Debug)]
pub enum EmulatedKernel {}

/// Memory for one operand of a launch: what nothing is launched on is read by nobody.
#[allow(dead_code)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmulatedArg<'a> {
    pub operand: &'a str,
    pub buffer: &'a EmulatedBuffer,
    pub offset_bytes: u64,
}

impl EmulatorDevice {
    pub(crate) fn info(&self) -> &DeviceInfo {
        match *self {}
    }

    pub(crate) fn watch(&self) -> &Watch {
        match *self {}
    }

    pub(crate) fn alloc(&self, _: u64) -> Result<EmulatedBuffer, Error> {
        match *self {}
    }

    pub(crate) fn may_use(&self, _: &EmulatedBuffer) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn load(
        &self,
        _: &Kernel,
        _: &str,
        _: &KernelCounts,
    ) -> Result<EmulatedKernel, Error> {
        match *self {}
    }

    pub(crate) fn launch(
        &self,
        _: &Kernel,
        _: &EmulatedKernel,
        _: &Fit,
        _: &[EmulatedArg<'_>],
        _: &KernelCounts,
    ) -> Result<LaunchReport, Error> {
        match *self {}
    }
}

impl EmulatedBuffer {
    pub(crate) fn bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn shared(&self) -> EmulatedBuffer {
        match *self {}
    }

    pub(crate) fn is_same(&self, _: &EmulatedBuffer) -> bool {
        match *self {}
    }

    pub(crate) fn upload(&self, _: u64, _: &[u8]) {
        match *self {}
    }

    pub(crate) fn download(&self) -> Vec<u8> {
        match *self {}
    }

    pub(crate) fn poison(&self) {
        match *self {}
    }
}
