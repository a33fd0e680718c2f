//! Large outputs judged by some of their elements: corners, and others that are drawn.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use tilewright_bundle::Operand;
use tilewright_formula::interpret::{self, Element, Evaluator, Output};

use super::super::data::Data;
use super::super::numbers::decode;
use super::{FormulaReference, Verdict, compared, gathered};
use tilewright_runtime::Error;
use tilewright_runtime::Extents;

/// Terms that are evaluated to judge a launch: some seconds of one core.
const MOST_TERMS: f64 = (1u64 << 29) as f64;
/// Elements of an output that are looked at, at least and at most.
const LOOKED_AT: (f64, f64) = (256.0, 65536.0);
/// Elements that share what they take of intermediates.
const TOGETHER: usize = 64;

impl FormulaReference<'_> {
    /// Judges the elements of every output, as [`judge`](FormulaReference::judge) does; where the
    /// formula takes many terms, some of them, which `seed` draws.
    ///
    /// # Errors
    /// When the formula cannot be evaluated, or the host has no memory for it.
    pub fn judge_some(
        &self,
        given: &[Option<Vec<u8>>],
        found: &[Option<Vec<u8>>],
        data: Data,
        seed: u64,
    ) -> Result<Verdict, Error> {
        self.judge_within(given, found, data, seed, MOST_TERMS)
    }

    /// The same with so many terms at most.
    fn judge_within(
        &self,
        given: &[Option<Vec<u8>>],
        found: &[Option<Vec<u8>>],
        data: Data,
        seed: u64,
        most_terms: f64,
    ) -> Result<Verdict, Error> {
        let terms = self.terms();
        if terms <= most_terms || self.moved().is_some() {
            return self.judge(given, found, data);
        }
        let operands = self.kernel.semantics.operands.iter().enumerate();
        let written = operands.filter(|(_, operand)| operand.role.is_written());
        let looks: Vec<Look<'_>> = written
            .map(|(at, operand)| {
                let extents = &self.fit.operands[at];
                let of_one = terms / (extents.elems() as f64).max(1.0);
                let (least, most) = LOOKED_AT;
                let count = (most_terms / of_one.max(1.0)).clamp(least, most) as usize;
                Look {
                    at,
                    operand,
                    extents,
                    places: places(extents, count, seed.wrapping_add(at as u64)),
                }
            })
            .collect();
        let all = self.evaluated(given, data, |evaluator| {
            let elements = looks.iter().map(|look| look.elements(evaluator));
            elements.collect::<Result<Vec<_>, _>>()
        })?;
        let mut verdict = Verdict::default();
        for (look, elements) in looks.iter().zip(all) {
            let of = |all: &[Option<Vec<u8>>]| {
                let bytes = all.get(look.at).and_then(Option::as_deref);
                bytes.map(|bytes| look.picked(bytes)).transpose()
            };
            let (values, before) = (of(found)?.unwrap_or_default(), of(given)?);
            let output = look.output(elements);
            let compared = compared(&output, &values, before.as_deref());
            let place = |at: usize| {
                let place = look.places.get(at).copied().unwrap_or(0);
                look.extents.coordinate(place)
            };
            verdict.add(&output, compared, place);
        }
        Ok(verdict)
    }

    /// Terms of the formula at this problem, at most: the product of the extents of all modes.
    fn terms(&self) -> f64 {
        let modes = self.formula.modes.iter();
        let extents = modes.map(|mode| {
            let constant = mode.extent.constant();
            constant.or(self.problem.extent(&mode.name)).unwrap_or(1)
        });
        extents.map(|extent| extent.max(1) as f64).product()
    }
}

/// Elements of an output that are looked at.
struct Look<'a> {
    /// Which operand it is.
    at: usize,
    operand: &'a Operand,
    extents: &'a Extents,
    /// Positions in dense order.
    places: Vec<i64>,
}

impl Look<'_> {
    /// What they should be.
    fn elements(&self, evaluator: &Evaluator<'_>) -> Result<Vec<Element>, interpret::Error> {
        let coordinates = self.places.iter().map(|at| self.extents.coordinates(*at));
        let coordinates: Vec<Vec<i64>> = coordinates.collect();
        let some = coordinates.par_chunks(TOGETHER).map(|some| {
            let some: Vec<&[i64]> = some.iter().map(Vec::as_slice).collect();
            evaluator.elements(&self.operand.name, &some)
        });
        Ok(some.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Their values out of all elements.
    fn picked(&self, dense: &[u8]) -> Result<Vec<f64>, Error> {
        let dtype = self.operand.dtype;
        if dtype.bits() >= 8 {
            return decode(dtype, &gathered(dense, &self.places, dtype));
        }
        let all = decode(dtype, dense)?;
        let value = |at: &i64| all.get(*at as usize).copied().unwrap_or(f64::NAN);
        Ok(self.places.iter().map(value).collect())
    }

    /// What they should be, as an output of one axis.
    fn output(&self, elements: Vec<Element>) -> Output {
        let choices = elements.iter().enumerate();
        let choices = choices.filter(|(_, one)| !one.choices.is_empty());
        Output {
            name: self.operand.name.clone(),
            dtype: self.operand.dtype,
            extents: vec![elements.len() as i64],
            values: elements.iter().map(|one| one.value).collect(),
            errors: elements.iter().map(|one| one.error).collect(),
            written: elements.iter().map(|one| one.written).collect(),
            choices: choices.map(|(at, one)| (at, one.choices.clone())).collect(),
            integers: Vec::new(),
        }
    }
}

/// Positions of elements in dense order, each once: the corners, and as many others.
fn places(extents: &Extents, count: usize, seed: u64) -> Vec<i64> {
    let elems = extents.elems();
    if elems <= count as i64 {
        return (0..elems).collect();
    }
    let mut places = vec![0];
    for extent in extents.shape() {
        let last = (extent - 1).max(0);
        let moved: Vec<i64> = places.iter().map(|place| place * extent + last).collect();
        places = places.iter().map(|place| place * extent).collect();
        places.extend(moved);
    }
    let mut rng = StdRng::seed_from_u64(seed);
    places.extend((0..count).map(|_| rng.random_range(0..elems)));
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tilewright_fixture::{gemm_kernel, resolved};

    use super::super::super::numbers::encode;
    use super::*;
    use tilewright_runtime::{Device, Problem, fit, tightest};

    #[test]
    fn some_elements_tell_a_wrong_output_and_where() {
        let kernel = resolved(gemm_kernel("gemm_f32@any-1"));
        let info = Device::emulator().info().clone();
        let problem = tightest(&kernel, &Problem::new(40, 50, 16), &info).unwrap();
        let fit = fit(&kernel, &problem, &info).unwrap();
        let reference = FormulaReference::of(&kernel, &problem, &fit).unwrap();
        let given = reference.draw(Data::Normals, 3).unwrap();
        let outputs = reference.evaluated(&given, Data::Normals, |evaluator| evaluator.outputs());
        let right = encode(
            outputs.as_ref().unwrap()[0].dtype,
            &outputs.unwrap()[0].values,
        );
        let found = |d: Vec<u8>| vec![None, None, Some(d)];
        let judged = |d: &[u8]| {
            let found = found(d.to_vec());
            reference.judge_within(&given, &found, Data::Normals, 1, 64.0)
        };
        let right = right.unwrap();
        let verdict = judged(&right).unwrap();
        assert_eq!(verdict.failure, None);
        assert!(
            verdict.max_err <= 1.0 && verdict.rel_err < 1e-6,
            "{verdict:?}"
        );
        // The last element is a corner; of nothing but poison, every element tells.
        let mut corner = right.clone();
        corner.splice(right.len() - 4.., 1e6f32.to_le_bytes());
        let failure = judged(&corner).unwrap().failure.unwrap();
        assert!(failure.starts_with("1 of "), "{failure}");
        assert!(
            failure.contains("`d` are wrong; (39,49) is 1000000"),
            "{failure}"
        );
        let poison = judged(&vec![0xFF; right.len()]).unwrap();
        assert!(poison.failure.is_some() && poison.worst() > 1.0);
        // An output that is too short is wrong, not right as far as it goes.
        assert!(judged(&right[..80]).unwrap().failure.is_some());
    }

    #[test]
    fn corners_are_looked_at_and_no_element_twice() {
        let extents = Extents::new([(3, 5000), (50, 100), (70, 1)]);
        let places = places(&extents, 300, 7);
        assert!((290..=308).contains(&places.len()), "{}", places.len());
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        for corner in [[0, 0, 0], [2, 49, 69], [0, 49, 0], [2, 0, 69]] {
            let found = places.iter().any(|at| extents.coordinates(*at) == corner);
            assert!(found, "{corner:?}");
        }
        assert!(places.iter().all(|at| (0..3 * 50 * 70).contains(at)));
    }

    #[test]
    fn small_outputs_are_looked_at_whole() {
        let extents = Extents::new([(3, 7), (7, 1)]);
        assert_eq!(places(&extents, 21, 1), (0..21).collect::<Vec<_>>());
    }
}
