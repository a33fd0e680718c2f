//! How small an error may be and still be caught: errors planted into right results.
//!
//! Elements are computed by the model of an instruction, once as they are and once with an error,
//! and judged as `verify` judges a kernel's: by the bound alone, and by the bits where the bound
//! says little.

use rayon::prelude::*;
use tilewright_bundle::DType;
use tilewright_emulator::tensor_core::{Rules, Step, Sum, Way};

use super::bound::{Expected, Rule};
use super::data::{Data, Recipe, Side};
use super::elements::Elements;
use super::format::Format;
use super::model::{Model, codes, element};
use super::numbers::{decode, round};
use super::reference::Shape;
use super::steps::Steps;
use tilewright_runtime::Error;

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// The products of one instruction are left out.
    StepDropped,
    /// One product has the other sign.
    ProductNegated,
    /// One element is that of the next k.
    Neighbour,
    /// One element is the next number of its type.
    OneUlp,
    /// The accumulator is rounded to bf16 once, half way.
    AccumulatorRounded,
}

impl Plant {
    /// Every one.
    pub const ALL: [Plant; 5] = [
        Plant::StepDropped,
        Plant::ProductNegated,
        Plant::Neighbour,
        Plant::OneUlp,
        Plant::AccumulatorRounded,
    ];

    /// The spelling in tables.
    pub const fn text(self) -> &'static str {
        match self {
            Plant::StepDropped => "a k-step dropped",
            Plant::ProductNegated => "a product negated",
            Plant::Neighbour => "a neighbour's element",
            Plant::OneUlp => "an element one ulp off",
            Plant::AccumulatorRounded => "accumulator to bf16",
        }
    }
}

/// An instruction, and the types of a kernel made of it.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    /// The spelling in tables.
    pub text: &'static str,
    way: Way,
    input: DType,
    sum: (Sum, DType),
    k: usize,
    output: DType,
}

const F16_SUM: (Sum, DType) = (Sum::F16, DType::F16);
const F32_SUM: (Sum, DType) = (Sum::F32, DType::F32);
const F64_SUM: (Sum, DType) = (Sum::F64, DType::F64);
const S32_SUM: (Sum, DType) = (Sum::S32 { saturate: false }, DType::S32);

macro_rules! made {
    ($($text:literal $way:ident $input:ident $sum:ident $k:literal $output:ident),* $(,)?) => {
        /// What kernels are made of.
        pub const MADE: &[Made] = &[$(Made {
            text: $text,
            way: Way::$way,
            input: DType::$input,
            sum: $sum,
            k: $k,
            output: DType::$output,
        }),*];
    };
}

made! {
    "wgmma f16 -> f32 -> f32" Wgmma F16 F32_SUM 16 F32,
    "wgmma f16 -> f32 -> f16" Wgmma F16 F32_SUM 16 F16,
    "wgmma bf16 -> f32 -> f32" Wgmma BF16 F32_SUM 16 F32,
    "wgmma bf16 -> f32 -> bf16" Wgmma BF16 F32_SUM 16 BF16,
    "wgmma tf32 -> f32 -> f32" Wgmma TF32 F32_SUM 8 F32,
    "wgmma e4m3 -> f32 -> f32" Wgmma E4M3 F32_SUM 32 F32,
    "wgmma e4m3 -> f32 -> bf16" Wgmma E4M3 F32_SUM 32 BF16,
    "wgmma e5m2 -> f32 -> f32" Wgmma E5M2 F32_SUM 32 F32,
    "mma f16 -> f16 -> f16" Mma F16 F16_SUM 16 F16,
    "fma f32 -> f32 -> f32" Fma F32 F32_SUM 1 F32,
    "fma f64 -> f64 -> f64" Fma F64 F64_SUM 1 F64,
    "wgmma s8 -> s32 -> s32" Wgmma S8 S32_SUM 32 S32,
}

/// How many elements with a planted error were found wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caught {
    /// Elements whose output is another one with the error.
    pub elements: usize,
    /// Those that the bound finds.
    pub by_bound: usize,
    /// Those that are found by the bound or, where it says little, by their bits.
    pub in_all: usize,
}

impl Made {
    /// Plants an error into `rows` squared elements of this many products.
    ///
    /// # Errors
    /// When there is no such instruction.
    pub fn plant(
        &self,
        plant: Plant,
        data: Data,
        shape: (usize, usize),
        seed: u64,
    ) -> Result<Caught, Error> {
        let (rows, k) = shape;
        let shape = Shape {
            m: rows,
            n: rows,
            k,
        };
        let types = [self.input; 2];
        let request = |text: &str| Error::Request(format!("{}: {text}", self.text));
        let one = element(self.input).ok_or_else(|| request("no element of a tensor core"))?;
        let rules = Rules::of("sm_90");
        let step = Step::new(rules, self.way, (one, one), self.sum.0, self.k)
            .map_err(|error| request(&error.to_string()))?;
        let steps = Steps::of_step(&step, types, self.sum.1);
        let model = Model {
            step,
            block: self.k,
            inputs: types,
            output: self.output,
        };
        let rule = Rule {
            steps,
            inputs: types,
            output: self.output,
            k,
            data,
        };
        let [a, b] = self.factors(data, shape, seed)?;
        let expected = rule.follow(&a.values, &b.values, shape);
        let size = self.input.bytes() as usize;
        let row =
            |side: &Elements, at: usize| side.bytes[at * k * size..(at + 1) * k * size].to_vec();
        let judged = expected.par_iter().enumerate().map(|(at, known)| {
            let rows = [row(&a, at / rows), row(&b, at % rows)];
            self.judged(&model, plant, rows, *known, at)
        });
        judged.try_reduce(Caught::default, |a, b| {
            Ok(Caught {
                elements: a.elements + b.elements,
                by_bound: a.by_bound + b.by_bound,
                in_all: a.in_all + b.in_all,
            })
        })
    }

    fn factors(&self, data: Data, shape: Shape, seed: u64) -> Result<[Elements; 2], Error> {
        let recipe = |side, rows| Recipe {
            dtype: self.input,
            data,
            side,
            rows,
            k: shape.k,
            top: 0,
            seed,
        };
        let a = recipe(Side::A, shape.m).elements()?;
        let b = recipe(Side::B, shape.n).elements()?;
        Ok([a, b])
    }

    /// One element with its error.
    fn judged(
        &self,
        model: &Model,
        plant: Plant,
        [a, b]: [Vec<u8>; 2],
        known: Expected,
        at: usize,
    ) -> Result<Caught, Error> {
        let values = [decode(self.input, &a)?, decode(self.input, &b)?];
        let [a, b] = [codes(&a, self.input), codes(&b, self.input)];
        let right = model.written(model.sum(&a, &b, |_, sum| sum))?;
        let mut spoilt = a.clone();
        // Somewhere else in each element.
        let place = at.wrapping_mul(0x9E37_79B9) % a.len().max(1);
        self.spoil(plant, &mut spoilt, place);
        let half = a.len().div_ceil(self.k) / 2;
        let wrong = model.written(model.sum(&spoilt, &b, |step, sum| {
            let rounds = plant == Plant::AccumulatorRounded && step == half;
            if rounds { self.rounded(sum) } else { sum }
        }))?;
        if right == wrong {
            return Ok(Caught::default());
        }
        let got = decode(self.output, &wrong)?;
        let outside = got.iter().any(|got| known.ratio(*got, self.output) > 1.0);
        Ok(Caught {
            elements: 1,
            by_bound: usize::from(outside),
            in_all: usize::from(outside || model.replays(known, &values)),
        })
    }

    /// The first factor's row with the error in it.
    fn spoil(&self, plant: Plant, row: &mut [u64], place: usize) {
        let next = row
            .get((place + 1) % row.len().max(1))
            .copied()
            .unwrap_or(0);
        let format = Format::of(self.input);
        let start = place / self.k * self.k;
        let step = start..(start + self.k).min(row.len());
        match plant {
            Plant::StepDropped => row.get_mut(step).unwrap_or_default().fill(0),
            Plant::AccumulatorRounded => {}
            Plant::ProductNegated | Plant::Neighbour | Plant::OneUlp => {
                let Some(code) = row.get_mut(place) else {
                    return;
                };
                *code = match (plant, format) {
                    (Plant::Neighbour, _) => next,
                    (Plant::ProductNegated, Some(format)) => *code ^ format.sign(),
                    (Plant::ProductNegated, None) => (*code).wrapping_neg() & 0xff,
                    (_, Some(format)) => *code ^ 1 << format.unused_bits,
                    (_, None) => *code ^ 1,
                };
            }
        }
    }

    /// An accumulator rounded to bf16, where it is a float.
    fn rounded(&self, sum: u64) -> u64 {
        let Some(format) = Format::of(self.sum.1) else {
            return sum;
        };
        format.encode(round(DType::BF16, format.decode(sum)))
    }
}
