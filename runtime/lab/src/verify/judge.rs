//! What judges a kernel's outputs: the bound that follows from its sums, and for elements of which
//! the bound says little, the model of its instructions.

use tilewright_bundle::Kernel;

use super::bound::{Expected, Rule};
use super::compare::{Comparison, compare};
use super::data::Data;
use super::elements::Elements;
use super::form::GemmForm;
use super::model::{Model, Samples};
use super::numbers::decode;
use super::reference::{CPU_MOST, Reference, on_cpu, on_gpu};
use super::steps::Steps;
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Fit;
use tilewright_runtime::cuda::BlasLt;

/// Judges the outputs of one kernel on one problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge {
    pub rule: Rule,
    model: Option<Model>,
}

/// What the outputs of a problem should be.
#[derive(Debug)]
pub(crate) enum Truth {
    /// By following the steps of every element.
    Followed(Vec<Expected>),
    /// By size, in any order of additions.
    Sized(Reference),
}

impl Judge {
    /// The judge of a kernel on a device.
    pub fn of(kernel: &Kernel, form: &GemmForm, fit: &Fit, device: &Device, data: Data) -> Judge {
        let inputs = [form.a.dtype, form.b.dtype];
        let sm = sums_of(device, kernel);
        let types = (inputs, form.accumulator);
        let steps = Steps::of(kernel, types, form.shape.k, (sm, &fit.env));
        Judge {
            rule: Rule {
                steps,
                inputs,
                output: form.d.dtype,
                k: form.shape.k,
                data,
            },
            model: Model::of(kernel, form, sm, device.info().backend).filter(|_| steps.ordered),
        }
    }

    /// The judge of whoever else computes the same product, in an order of their own.
    pub fn of_others(&self, form: &GemmForm) -> Judge {
        let types = Steps::of_types(self.rule.inputs, form.accumulator);
        let steps = self.rule.steps.or_less(types);
        Judge {
            rule: Rule { steps, ..self.rule },
            model: None,
        }
    }

    /// What the outputs should be, computed on the host where that takes little time.
    ///
    /// # Errors
    /// When the GPU fails to compute it.
    pub fn truth(
        &self,
        form: &GemmForm,
        device: &Device,
        blas: Option<&BlasLt>,
        [a, b]: [&Elements; 2],
    ) -> Result<Truth, Error> {
        let (shape, inputs) = (form.shape, self.rule.inputs);
        let (a, b) = (a.values.as_slice(), b.values.as_slice());
        // Sums that overflow are followed step by step, on the host.
        let large = shape.volume() > CPU_MOST && !self.rule.data.may_overflow();
        match (device, blas) {
            (Device::Cuda(device), Some(blas)) if large => {
                let reference = on_gpu(device, blas, a, b, shape, inputs)?;
                Ok(Truth::Sized(reference))
            }
            _ if self.rule.steps.ordered => Ok(Truth::Followed(self.rule.follow(a, b, shape))),
            _ => Ok(Truth::Sized(on_cpu(a, b, shape, inputs))),
        }
    }

    /// Judges an output, row by row.
    ///
    /// # Errors
    /// When its type has no numbers here.
    pub fn judge(
        &self,
        out: &[u8],
        expected: impl Fn(usize) -> Expected + Sync,
        samples: &Samples,
    ) -> Result<Comparison, Error> {
        let output = self.rule.output;
        let mut found = compare(&decode(output, out)?, &expected, output);
        if let Some(model) = &self.model {
            model.judge(samples, out, &expected, &mut found)?;
        }
        Ok(found)
    }
}

/// The compute capability whose tensor cores run a kernel: the device's, or on the emulator that of
/// the kernel where no other was asked for.
pub(super) fn sums_of(device: &Device, kernel: &Kernel) -> u32 {
    let asked = match device {
        Device::Cuda(_) => None,
        Device::Emulator(emulated) => emulated.tensor_cores(),
    };
    let asked = asked.and_then(|rules| rules.name().strip_prefix("sm_")?.parse().ok());
    let sm = asked.or(device.info().sm);
    sm.unwrap_or(kernel.capability.min_sm)
}

impl Truth {
    /// What an element should be.
    pub fn at(&self, rule: &Rule, at: usize) -> Expected {
        match self {
            Truth::Followed(all) => all.get(at).copied().unwrap_or(Expected::UNKNOWN),
            Truth::Sized(reference) => rule.at(reference, at),
        }
    }

    /// Elements that may overflow or not, which no bound tells.
    pub fn in_question(&self) -> impl Iterator<Item = usize> {
        let followed = match self {
            Truth::Followed(all) => all.as_slice(),
            Truth::Sized(_) => &[],
        };
        let doubtful = followed
            .iter()
            .enumerate()
            .filter(|(_, one)| one.error.is_infinite());
        doubtful.map(|(at, _)| at)
    }
}
