//! What is in a kernel's operands before a launch that its formula judges.

use tilewright_bundle::{Kernel, Role};

use super::Inputs;
use super::data::Data;
use super::elements::{elements_bytes, is_short, random_codes, random_elements};
use super::extremes;
use super::far::Far;
use super::formula::{Dense, FormulaReference};
use super::numbers::encode;
use super::tables::{Table, is_written_in_part};
use tilewright_runtime::Error;
use tilewright_runtime::parts::check_host_memory;

/// What a kernel's inputs hold in the problem of a number; `None` are indices. Of what is no
/// product every other turn of integers is one of far numbers, or, of all kinds, that of numbers of
/// one sign.
pub(crate) fn held_at(asked: Inputs, index: u64, kernel: &Kernel) -> Option<Data> {
    let own = asked.data(index);
    let is_far = match (asked, own) {
        (Inputs::Mixed, _) => index % 4 == 2,
        (Inputs::All, Some(own)) => own == Data::OneSigned,
        _ => false,
    };
    match is_far && kernel.product().is_none() {
        true => Some(Data::Far),
        false => held(own, kernel),
    }
}

/// What a kernel's inputs hold where that is asked for; `None` are indices, which select among the
/// factors of a product. Wide, special and cancelling numbers are made for those, of bits that are
/// copied, and of types of which any bits are a number: what else a formula computes has far
/// numbers, and NaN and infinities for special ones.
fn held(asked: Option<Data>, kernel: &Kernel) -> Option<Data> {
    let is_product = kernel.product().is_some();
    match asked {
        None => (!is_product).then_some(Data::Integers),
        Some(own @ (Data::Ends | Data::Nonfinite))
            if is_product || !extremes::are_in(own, kernel) =>
        {
            Some(Data::Normals)
        }
        Some(Data::Far) if is_product => Some(Data::Wide),
        Some(data) if is_product => Some(data),
        Some(data) => Some(of_formula(data, kernel)),
    }
}

/// The same of what is no product.
fn of_formula(asked: Data, kernel: &Kernel) -> Data {
    let mut operands = kernel.semantics.operands.iter();
    let is_any = operands.any(|operand| is_short(operand.dtype));
    match asked {
        _ if kernel.copied().is_some() => asked,
        Data::Ends | Data::Nonfinite | Data::Far => asked,
        Data::Special if !is_any && extremes::are_in(Data::Nonfinite, kernel) => Data::Nonfinite,
        // So that all kinds in turn are all kinds that there are.
        Data::Cancelling if extremes::are_in(Data::Ends, kernel) => Data::Ends,
        Data::Integers => Data::Integers,
        Data::Wide | Data::Special if is_any => asked,
        Data::Normals | Data::OneSigned | Data::Cancelling | Data::Wide | Data::Special => {
            Data::Normals
        }
    }
}

impl FormulaReference<'_> {
    /// Entries of a table that looks into another operand, as bytes; none of what is no table.
    ///
    /// # Errors
    /// When the host has no memory for them.
    pub fn table(&self, at: usize, seed: u64) -> Result<Option<Vec<u8>>, Error> {
        let Some(table) = Table::of(self.formula, &self.fit.operands, at) else {
            return Ok(None);
        };
        let dtype = self.kernel.semantics.operands[at].dtype;
        let count = usize::try_from(self.fit.operands[at].elems()).unwrap_or(0);
        check_host_memory(elements_bytes(dtype, count))?;
        encode(dtype, &table.entries(dtype, count, seed)).map(Some)
    }

    /// Whether an operand is to hold what is no number in the problem of that seed, so that most of
    /// the others' effect is still to be seen: of every other problem what is read and has as many
    /// modes as any, for NaN in a vector that all rows share would be all that there is of them; of
    /// the others what is there before values are combined with it.
    fn is_to_hold(&self, at: usize, seed: u64) -> bool {
        /// Problems that ask for these inputs are so far apart.
        const EVERY: u64 = Data::MIXED.len() as u64;
        let operands = &self.kernel.semantics.operands;
        let rank = |at: usize| self.fit.operands[at].shape().len();
        let floats = |at: &usize| extremes::has_nonfinite(operands[*at].dtype);
        let read = (0..operands.len()).filter(|at| operands[*at].role.is_read());
        let most = read.filter(floats).map(rank).max();
        let is_kept = |at: usize| operands[at].role.is_written() && self.keeps(at);
        let is_whole = most.is_none_or(|most| rank(at) >= most);
        match (0..operands.len()).any(is_kept) && (seed / EVERY).is_multiple_of(2) {
            true => is_kept(at),
            false => !is_kept(at) && is_whole,
        }
    }

    /// Whether what is in an operand before a launch is in some of it behind the launch: of what is
    /// read, and of what is stored where a table says.
    pub fn keeps(&self, at: usize) -> bool {
        let operand = &self.kernel.semantics.operands[at];
        operand.role != Role::Out || is_written_in_part(self.formula, at)
    }

    /// What makes an operand's far numbers, where it has any.
    fn far(&self, at: usize, data: Data, seed: u64) -> Option<Far> {
        if data != Data::Far {
            return None;
        }
        let of = (self.formula, self.kernel.form());
        let dtype = self.kernel.semantics.operands[at].dtype;
        Far::of(of, (at, dtype, self.fit.operands[at].shape()), seed)
    }

    /// Random elements of every operand that is read, or written in part, as bytes; of the others
    /// none.
    ///
    /// # Errors
    /// When a type has no numbers here, or the host has no memory for them.
    pub fn draw(&self, data: Data, seed: u64) -> Result<Dense, Error> {
        let moved = self.moved().is_some();
        let operands = self
            .kernel
            .semantics
            .operands
            .iter()
            .zip(&self.fit.operands);
        let drawn = operands.enumerate().map(|(at, (operand, extents))| {
            if !self.keeps(at) {
                return Ok(None);
            }
            if let Some(entries) = self.table(at, seed.wrapping_add(at as u64))? {
                return Ok(Some(entries));
            }
            let count = usize::try_from(extents.elems()).unwrap_or(0);
            let base = seed;
            let seed = seed.wrapping_add(at as u64);
            if moved {
                return Ok(Some(random_codes(operand.dtype, count, seed)));
            }
            if let Some(far) = self.far(at, data, seed) {
                check_host_memory(elements_bytes(operand.dtype, count))?;
                return Ok(Some(far.bytes(count)));
            }
            let wanted = data;
            let data = match data {
                Data::Integers => Data::Integers,
                Data::Wide | Data::Special if is_short(operand.dtype) => {
                    return Ok(Some(random_codes(operand.dtype, count, seed)));
                }
                _ => Data::Normals,
            };
            let (bytes, mut values) = random_elements(operand.dtype, data, count, seed)?;
            let form = self.kernel.form();
            let form = form.filter(|_| matches!(wanted, Data::Ends | Data::Nonfinite));
            let form = form.filter(|_| !is_short(operand.dtype));
            let is_changed = form.is_some_and(|form| {
                let of = (self.formula, form);
                if wanted == Data::Nonfinite && !self.is_to_hold(at, base) {
                    return false;
                }
                let tensor = (at, operand.dtype, extents.shape());
                extremes::place(wanted, of, tensor, &mut values, seed)
            });
            if !is_changed {
                return Ok(Some(bytes));
            }
            let mut bytes = encode(operand.dtype, &values)?;
            extremes::sign_some(&values, &mut bytes);
            Ok(Some(bytes))
        });
        drawn.collect()
    }
}
