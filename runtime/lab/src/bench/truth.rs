//! What the outputs of a problem should be, and whether a launch's are.
//!
//! In: what was in the operands. Out: [`Verdict`]s of what a launch left in one set of them. A
//! product of two matrices has a fast reference of all elements, anything else its formula, which
//! is asked for some elements where all take long.

use std::cell::RefCell;

use super::entry::Entry;
use super::peer::Set;
use super::strided::gather;
use crate::verify::{
    Comparison, Data, Dense, FormulaReference, GemmForm, Judge, Reference, Samples, Steps, Verdict,
};
use tilewright_runtime::Device;
use tilewright_runtime::Error;

/// Whose outputs are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A kernel's, by the sums of its instructions.
    Ours,
    /// Of whoever adds in an order of their own.
    Theirs,
}

/// What outputs should be.
pub(crate) enum Truth {
    /// Of a product of two matrices.
    Product {
        reference: Reference,
        /// Elements that are judged by the model of a kernel's instructions.
        samples: Samples,
        /// An output and its judgement by such sums: kernels that add in the same order give the
        /// same bytes.
        judged: RefCell<Option<(Vec<u8>, Steps, Verdict)>>,
    },
    /// Of anything else.
    Formula {
        given: Dense,
        /// What each operand holds before a launch; of those that hold nothing their bytes.
        before: Vec<Result<Vec<u8>, u64>>,
        /// Draws the elements that are looked at.
        seed: u64,
    },
}

impl Truth {
    pub fn of_product(reference: Reference, samples: Samples) -> Truth {
        Truth::Product {
            reference,
            samples,
            judged: RefCell::default(),
        }
    }

    pub fn of_formula(given: Dense, before: Vec<Result<Vec<u8>, u64>>, seed: u64) -> Truth {
        Truth::Formula {
            given,
            before,
            seed,
        }
    }

    /// Makes a set ready for a launch that is judged: outputs are poisoned, or hold what they held
    /// before.
    pub fn reset(&self, device: &Device, entry: &Entry<'_>, set: &Set) -> Result<(), Error> {
        match self {
            Truth::Product { .. } => {
                let output = set.last().ok_or(Error::ForeignBuffer)?;
                device.poison(output)
            }
            Truth::Formula { before, .. } => {
                let operands = &entry.kernel.semantics.operands;
                for ((operand, before), buffer) in operands.iter().zip(before).zip(set) {
                    match before {
                        _ if !operand.role.is_written() => {}
                        Ok(image) => device.upload(buffer, 0, image)?,
                        Err(_) => device.poison(buffer)?,
                    }
                }
                Ok(())
            }
        }
    }

    /// Judges what a launch left in a set.
    pub fn judge(
        &self,
        device: &Device,
        entry: &Entry<'_>,
        set: &Set,
        whose: Whose,
    ) -> Result<Verdict, Error> {
        match (self, &entry.form) {
            (Truth::Formula { given, seed, .. }, _) => {
                let found = outputs(device, entry, set)?;
                let reference = FormulaReference::of(entry.kernel, &entry.problem, &entry.fit)?;
                let own = reference.on(device);
                let verdict = own.judge_some(given, &found, Data::Normals, *seed)?;
                match (whose, &verdict.failure) {
                    (Whose::Theirs, Some(_)) => {
                        reference.judge_some(given, &found, Data::Normals, *seed)
                    }
                    _ => Ok(verdict),
                }
            }
            (Truth::Product { .. }, Some(form)) => self.product(device, entry, form, set, whose),
            (Truth::Product { .. }, None) => {
                let id = &entry.kernel.id;
                Err(Error::Request(format!(
                    "{id} is no product of two matrices"
                )))
            }
        }
    }

    fn product(
        &self,
        device: &Device,
        entry: &Entry<'_>,
        form: &GemmForm,
        set: &Set,
        whose: Whose,
    ) -> Result<Verdict, Error> {
        let Truth::Product {
            reference,
            samples,
            judged,
        } = self
        else {
            return Ok(Verdict::default());
        };
        let judge = Judge::of(entry.kernel, form, &entry.fit, device, Data::Normals);
        let judge = match whose {
            Whose::Ours => judge,
            Whose::Theirs => judge.of_others(form),
        };
        let output = set.last().ok_or(Error::ForeignBuffer)?;
        let found = device.download(output)?;
        let rule = &judge.rule;
        if let Some((seen, steps, verdict)) = judged.borrow().as_ref()
            && (seen, steps) == (&found, &rule.steps)
        {
            return Ok(verdict.clone());
        }
        let d = form.d.orient(&entry.fit.operands);
        let dense = gather(d, &found, form.d.dtype.bytes() as usize)?;
        let compared = judge.judge(&dense, |at| rule.at(reference, at), samples)?;
        let verdict = verdict_of(&compared);
        *judged.borrow_mut() = Some((found, rule.steps, verdict.clone()));
        Ok(verdict)
    }
}

/// A comparison of all elements in words.
fn verdict_of(compared: &Comparison) -> Verdict {
    let failure = compared.worst.map(|worst| {
        let (wrong, got, want) = (compared.wrong, worst.got, worst.want);
        format!("{wrong} elements are wrong; one is {got}, not {want}")
    });
    Verdict {
        rel_err: compared.rel_err,
        max_err: compared.max_err,
        failure,
    }
}

/// The elements of every operand that is written, of a set; none of the others.
fn outputs(device: &Device, entry: &Entry<'_>, set: &Set) -> Result<Dense, Error> {
    let operands = entry.kernel.semantics.operands.iter();
    let operands = operands.zip(&entry.fit.operands).zip(set);
    let found = operands.map(|((operand, extents), buffer)| {
        if !operand.role.is_written() {
            return Ok(None);
        }
        let image = device.download(buffer)?;
        Ok(Some(extents.gather(operand.dtype, &image, 0)))
    });
    found.collect()
}
