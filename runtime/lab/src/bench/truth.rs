//! What the outputs of a problem should be, and whether a launch's are.
//!
//! In: what was in the operands. Out: [`Verdict`]s of what a launch left in one set of them. A
//! product of two matrices has a fast reference of all elements, a copy its source, anything else
//! its formula, which is asked for some elements where all take long.

use std::cell::RefCell;

use super::entry::Entry;
use super::peer::Set;
use super::strided::gather;
use crate::verify::{
    Comparison, Data, Dense, FormulaReference, Judge, Reference, Samples, Steps, Verdict,
};
use tilewright_runtime::Buffer;
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
    Product(ProductTruth),
    /// Of a copy: these bytes.
    Copied(Vec<u8>),
    /// Of anything else.
    Formula(FormulaTruth),
}

/// The elements of a product.
pub(crate) struct ProductTruth {
    reference: Reference,
    /// Elements that are judged by the model of a kernel's instructions.
    samples: Samples,
    /// An output and its judgement by such sums: kernels that add in the same order give the same
    /// bytes.
    judged: RefCell<Option<(Vec<u8>, Steps, Verdict)>>,
}

/// What a formula is asked for.
pub(crate) struct FormulaTruth {
    given: Dense,
    /// What each operand that is written holds before a launch; `None` of those that hold nothing.
    before: Vec<Option<Vec<u8>>>,
    /// Draws the elements that are looked at.
    seed: u64,
}

impl Truth {
    pub fn of_product(reference: Reference, samples: Samples) -> Truth {
        Truth::Product(ProductTruth {
            reference,
            samples,
            judged: RefCell::default(),
        })
    }

    pub fn of_formula(given: Dense, before: Vec<Option<Vec<u8>>>, seed: u64) -> Truth {
        Truth::Formula(FormulaTruth {
            given,
            before,
            seed,
        })
    }

    /// Makes a set ready for a launch that is judged: outputs are poisoned, or hold what they held
    /// before.
    pub fn reset(&self, device: &Device, entry: &Entry<'_>, set: &Set) -> Result<(), Error> {
        let truth = match self {
            Truth::Product(_) | Truth::Copied(_) => return device.poison(result_of(set)?),
            Truth::Formula(truth) => truth,
        };
        let operands = entry.kernel.semantics.operands.iter();
        let operands = operands.zip(&truth.before).zip(set);
        for ((_, before), buffer) in operands.filter(|((one, _), _)| one.role.is_written()) {
            match before {
                Some(image) => device.upload(buffer, 0, image)?,
                None => device.poison(buffer)?,
            }
        }
        Ok(())
    }

    /// Judges what a launch left in a set.
    pub fn judge(
        &self,
        device: &Device,
        entry: &Entry<'_>,
        set: &Set,
        whose: Whose,
    ) -> Result<Verdict, Error> {
        match self {
            Truth::Product(truth) => truth.judge(device, entry, set, whose),
            Truth::Copied(source) => judge_copy(&device.download(result_of(set)?)?, source),
            Truth::Formula(truth) => truth.judge(device, entry, set, whose),
        }
    }
}

impl FormulaTruth {
    fn judge(
        &self,
        device: &Device,
        entry: &Entry<'_>,
        set: &Set,
        whose: Whose,
    ) -> Result<Verdict, Error> {
        let found = outputs(device, entry, set)?;
        let judged = |reference: FormulaReference<'_>| {
            reference.judge_some(&self.given, &found, Data::Normals, self.seed)
        };
        let reference = FormulaReference::of(entry.kernel, &entry.problem, &entry.fit)?;
        let verdict = judged(reference.on(device))?;
        match (whose, &verdict.failure) {
            (Whose::Theirs, Some(_)) => judged(reference),
            _ => Ok(verdict),
        }
    }
}

impl ProductTruth {
    fn judge(
        &self,
        device: &Device,
        entry: &Entry<'_>,
        set: &Set,
        whose: Whose,
    ) -> Result<Verdict, Error> {
        let id = &entry.kernel.id;
        let none = || Error::Request(format!("{id} is no product of two matrices"));
        let form = entry.form.as_ref().ok_or_else(none)?;
        let judge = Judge::of(entry.kernel, form, &entry.fit, device, Data::Normals);
        let judge = match whose {
            Whose::Ours => judge,
            Whose::Theirs => judge.of_others(form),
        };
        let found = device.download(result_of(set)?)?;
        let rule = &judge.rule;
        if let Some((seen, steps, verdict)) = self.judged.borrow().as_ref()
            && (seen, steps) == (&found, &rule.steps)
        {
            return Ok(verdict.clone());
        }
        let d = form.d.orient(&entry.fit.operands);
        let dense = gather(d, &found, form.d.dtype.bytes() as usize)?;
        let reference = &self.reference;
        let expected = |at| rule.at(reference, at);
        let verdict = verdict_of(&judge.judge(&dense, expected, &self.samples)?);
        *self.judged.borrow_mut() = Some((found, rule.steps, verdict.clone()));
        Ok(verdict)
    }
}

/// The output of the set of a product, or of a copy.
fn result_of(set: &Set) -> Result<&Buffer, Error> {
    set.last().ok_or(Error::ForeignBuffer)
}

/// Whether a copy has the bytes of its source.
fn judge_copy(found: &[u8], source: &[u8]) -> Result<Verdict, Error> {
    let mut pairs = found.iter().zip(source);
    let wrong = pairs.position(|(found, source)| found != source);
    let wrong = wrong.or((found.len() != source.len()).then_some(found.len().min(source.len())));
    let failure = wrong.map(|at| format!("byte {at} is not that of the source"));
    Ok(Verdict::all_or_nothing(failure))
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
