//! Bulk copies of packed operands: each lies inside the patterns that the operand has.
//!
//! The operand's patterns of some columns, all its padded rows, lie in a row. What is multiplied by
//! the bytes of those is the number of columns' patterns; the rest is the place among the rows.

use super::access::{Limits, Proof, natural};
use super::poly::{Mono, Poly, TermId};
use super::terms::Known;
use crate::atoms::model::Atom;
use crate::ir::thread::program::Arg;
use crate::plan::copies::packed_weights::{PADDED_ROWS, PATTERN_ROWS, Patterns};
use crate::plan::data::moves::BoxCopy;
use crate::spec::keys::model::Operand;

impl Limits<'_> {
    /// Shows that the bytes at that offset, as many as the copy moves, are patterns of the operand.
    pub(super) fn patterns(
        &self,
        known: &mut Known<'_>,
        (atom, args): (&Atom, &[Arg]),
        (operand, copy): (&Operand, &BoxCopy),
        offset: &Poly,
    ) -> Result<Proof, String> {
        let at = atom.operands.iter().position(|one| one.name == "bytes");
        let bytes = match at.and_then(|at| args.get(at)) {
            Some(Arg::Int(bytes)) => known.int(bytes),
            _ => return Err(format!("how many bytes {} moves is not known", atom.id)),
        };
        let patterns = Patterns::of(copy);
        let [rows, columns] = [0, 1].map(|axis| &operand.axis(axis).mode);
        let mut extent = |mode: &String| {
            let extent = known.param(mode);
            extent.ok_or_else(|| format!("there is no parameter {mode}"))
        };
        let [of_rows, of_columns] = [extent(rows)?, extent(columns)?];
        let padded = known.ceiling(&of_rows, i128::from(PADDED_ROWS));
        let whole = known.ceiling(&of_columns, i128::from(patterns.columns));
        let multiple = i128::from(patterns.multiple);
        let all = known.ceiling(
            &of_columns,
            i128::from(patterns.columns * patterns.multiple),
        );
        // Multiples of patterns that cover a mode are as many as cover it, or more.
        known.learn(all.scaled(multiple).plus(-1, &whole));
        let unit = i128::from(patterns.bytes * (PADDED_ROWS / PATTERN_ROWS));
        let torn = || format!("the address is in no pattern of {}", operand.name);
        let term = padded.as_term().ok_or_else(torn)?;
        let [number, place] = split(offset, term, unit).ok_or_else(torn)?;
        natural(known, &number, &format!("the pattern along {columns}"))?;
        let behind = all.scaled(multiple).plus(-1, &number).plus_constant(-1);
        let what = format!("what {columns} has behind that pattern");
        natural(known, &behind, &what)?;
        natural(known, &place, "the place in its row of patterns")?;
        let left = padded.scaled(unit).plus(-1, &place).plus(-1, &bytes);
        let what = format!("what {rows} has behind the bytes moved");
        natural(known, &left, &what)?;
        Ok(Proof::Tests)
    }
}

/// What is multiplied by the term and that unit, and the rest.
fn split(offset: &Poly, term: TermId, unit: i128) -> Option<[Poly; 2]> {
    let [mut number, mut place] = [Poly::default(), Poly::default()];
    for (mono, bytes) in &offset.0 {
        match mono.over(&Mono::of(term)) {
            Some(part) if bytes % unit == 0 => number.add_term(part, bytes / unit),
            Some(_) => return None,
            None => place.add_term(*mono, *bytes),
        }
    }
    Some([number, place])
}
