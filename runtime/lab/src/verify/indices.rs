//! Inputs that name themselves: one factor holds the numbers of its elements, the other selects one
//! of them for each element of the output, so that every output says which element arrived there.
//!
//! Row `r` of the selecting factor is 1 at `k = (r + shift) % K` and 0 elsewhere; shifts in steps
//! of its rows bring every element of the other factor into the output. Numbers start at 1, as 0 is
//! no element. A type too narrow for them holds them a digit at a time, a launch for each.

use super::Outcome;
use super::form::GemmForm;
use super::numbers::{decode, encode, exact_integers};
use super::reference::Shape;
use super::trial::Trial;
use tilewright_runtime::Error;

/// Which factor holds numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbered {
    A,
    B,
}

/// What one element of the output selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Element {
    row: usize,
    k: usize,
}

/// One look at a factor through the other.
#[derive(Debug, Clone, Copy)]
struct Look {
    numbered: Numbered,
    shape: Shape,
    shift: usize,
}

impl Look {
    /// Rows of the factor with numbers, and of the one that selects.
    fn rows(&self) -> [usize; 2] {
        match self.numbered {
            Numbered::A => [self.shape.m, self.shape.n],
            Numbered::B => [self.shape.n, self.shape.m],
        }
    }

    /// The number of an element.
    fn number(&self, element: Element) -> usize {
        element.row * self.shape.k + element.k + 1
    }

    /// The element of that number, if there is one.
    fn element(&self, number: f64) -> Option<Element> {
        let most = self.rows()[0] * self.shape.k;
        let whole = number.fract() == 0.0 && (1.0..=most as f64).contains(&number);
        let at = whole.then(|| number as usize - 1)?;
        let (row, k) = (at / self.shape.k, at % self.shape.k);
        Some(Element { row, k })
    }

    /// The element that output (i, j) selects.
    fn selected(&self, [i, j]: [usize; 2]) -> Element {
        let (row, selecting) = match self.numbered {
            Numbered::A => (i, j),
            Numbered::B => (j, i),
        };
        let k = (selecting + self.shift) % self.shape.k;
        Element { row, k }
    }

    /// The digit of that weight of every number, row by row.
    fn digits(&self, weight: f64, base: f64) -> Vec<f64> {
        let count = self.rows()[0] * self.shape.k;
        let digit = |number: usize| (number as f64 / weight).floor() % base;
        (1..=count).map(digit).collect()
    }

    fn selection(&self) -> Vec<f64> {
        let k = self.shape.k;
        let mut values = vec![0.0; self.rows()[1] * k];
        for (row, values) in values.chunks_mut(k.max(1)).enumerate() {
            values[(row + self.shift) % k] = 1.0;
        }
        values
    }

    /// What is wrong with the numbers that arrived.
    fn judge(&self, arrived: &[f64]) -> Option<String> {
        let Shape { m, n, .. } = self.shape;
        let name = match self.numbered {
            Numbered::A => "a",
            Numbered::B => "b",
        };
        let wrong = |at: &usize| {
            let want = self.selected([at / n, at % n]);
            arrived[*at] != self.number(want) as f64
        };
        let mut places = (0..m * n).filter(wrong);
        let first = places.next()?;
        let (i, j) = (first / n, first % n);
        let want = self.selected([i, j]);
        let holds = match self.element(arrived[first]) {
            Some(Element { row, k }) => format!("{name}({row},{k})"),
            None => format!("no element of {name}"),
        };
        Some(format!(
            "{} of {} elements are wrong; d({i},{j}) holds {holds} and should hold {name}({},{})",
            1 + places.count(),
            m * n,
            want.row,
            want.k
        ))
    }
}

impl Trial<'_> {
    /// Every element of both factors must arrive where the product wants it.
    pub fn indices(&self, outcome: &mut Outcome) -> Result<Option<String>, Error> {
        let form = GemmForm::of(self.kernel(), &self.case.fit.operands)?;
        let shape = form.shape;
        for numbered in [Numbered::A, Numbered::B] {
            let mut shift = 0;
            while shift < shape.k {
                let look = Look {
                    numbered,
                    shape,
                    shift,
                };
                let failure = match self.look(&form, look, outcome)? {
                    Ok(arrived) => look.judge(&arrived),
                    Err(failure) => Some(failure),
                };
                if failure.is_some() {
                    outcome.max_err = f64::INFINITY;
                    outcome.rel_err = 1.0;
                    return Ok(failure);
                }
                shift += look.rows()[1].max(1);
            }
        }
        Ok(None)
    }

    /// The numbers that arrive, element by element of the output, or why there are none.
    fn look(
        &self,
        form: &GemmForm,
        look: Look,
        outcome: &mut Outcome,
    ) -> Result<Result<Vec<f64>, String>, Error> {
        let [with_numbers, selecting] = match look.numbered {
            Numbered::A => [&form.a, &form.b],
            Numbered::B => [&form.b, &form.a],
        };
        let selection = encode(selecting.dtype, &look.selection())?;
        let base = exact_integers(with_numbers.dtype).min(exact_integers(form.d.dtype));
        let most = (look.rows()[0] * look.shape.k) as f64;
        let mut arrived = vec![0.0; look.shape.m * look.shape.n];
        let mut weight = 1.0;
        while weight <= most {
            let digits = encode(with_numbers.dtype, &look.digits(weight, base))?;
            let factors = match look.numbered {
                Numbered::A => [digits, selection.clone()],
                Numbered::B => [selection.clone(), digits],
            };
            let found = match self.multiply(form, factors, outcome)? {
                Ok(found) => decode(form.d.dtype, &found)?,
                Err(failure) => return Ok(Err(failure)),
            };
            for (arrived, digit) in arrived.iter_mut().zip(found) {
                *arrived += digit * weight;
            }
            weight *= base;
        }
        Ok(Ok(arrived))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LOOK: Look = Look {
        numbered: Numbered::A,
        shape: Shape { m: 3, n: 4, k: 5 },
        shift: 4,
    };

    /// What arrives when every element comes to its place.
    fn right() -> Vec<f64> {
        let places = (0..3).flat_map(|i| (0..4).map(move |j| [i, j]));
        let numbers = places.map(|place| LOOK.number(LOOK.selected(place)) as f64);
        numbers.collect()
    }

    #[test]
    fn a_misplaced_element_is_named() {
        let mut arrived = right();
        assert_eq!(LOOK.judge(&arrived), None);
        arrived.swap(1, 6);
        let text = LOOK.judge(&arrived).unwrap();
        let wanted = "2 of 12 elements are wrong; d(0,1) holds a(1,1) and should hold a(0,0)";
        assert_eq!(text, wanted);
        arrived[0] = f64::NAN;
        assert!(
            LOOK.judge(&arrived)
                .unwrap()
                .contains("d(0,0) holds no element of a")
        );
    }

    #[test]
    fn products_of_digits_are_numbers() {
        let (a, b) = (
            LOOK.selection(),
            [LOOK.digits(1.0, 8.0), LOOK.digits(8.0, 8.0)],
        );
        let found: Vec<f64> = (0..3)
            .flat_map(|i| (0..4).map(move |j| (i, j)))
            .map(|(i, j)| {
                let at = |digits: &[f64]| -> f64 {
                    (0..5).map(|k| digits[i * 5 + k] * a[j * 5 + k]).sum()
                };
                at(&b[0]) + 8.0 * at(&b[1])
            })
            .collect();
        assert_eq!(found, right());
    }
}
