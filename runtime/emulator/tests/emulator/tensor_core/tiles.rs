//! Tiles on which sums go wrong: exponents far apart and at both ends, cancellation, subnormals,
//! zeros of both signs, infinities and NaN, and accumulators that nearly are the sum.

use tilewright_emulator::tensor_core::{Element, Step, Sum};

/// A stream of numbers (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u64) as i32
    }
}

/// Exponent bits and fraction bits.
type Format = (u32, u32);

fn format(element: Element) -> Format {
    match element {
        Element::F16 => (5, 10),
        Element::Bf16 => (8, 7),
        Element::Tf32 => (8, 10),
        Element::E4m3 => (4, 3),
        Element::E5m2 => (5, 2),
        Element::F64 => (11, 52),
        _ => (8, 23),
    }
}

fn sum_format(sum: Sum) -> Format {
    match sum {
        Sum::F16 => (5, 10),
        Sum::F64 => (11, 52),
        _ => (8, 23),
    }
}

/// What the numbers of a tile have in common.
struct Recipe {
    centre: i32,
    spread: i32,
    mantissa: u64,
    one_signed: bool,
    zeros: bool,
    specials: bool,
    raw: bool,
}

impl Recipe {
    fn draw(random: &mut Random, (bits, _): Format) -> Recipe {
        let reach = 1 << (bits - 1);
        let centre = match random.below(4) {
            0 => random.between(-reach, -reach / 2),
            1 => random.between(reach / 2, reach),
            2 => random.between(-reach, reach),
            _ => random.between(-3, 3),
        };
        Recipe {
            centre,
            spread: [0, 2, 6, 14, 24, 35][random.below(6) as usize],
            mantissa: random.below(4),
            one_signed: random.one_in(4),
            zeros: random.one_in(4),
            specials: random.one_in(6),
            raw: random.one_in(8),
        }
    }

    fn number(&self, random: &mut Random, (bits, fraction): Format) -> u64 {
        let sign_at = bits + fraction;
        let raw = random.next() & u64::MAX >> (63 - sign_at);
        if self.raw {
            return raw;
        }
        let sign = if self.one_signed {
            0
        } else {
            raw >> sign_at & 1
        };
        let top = (1i32 << bits) - 1;
        let special = self.specials && random.one_in(12);
        if special {
            // An infinity or NaN, the largest, the least, or what is next to them.
            let edge = [(top as u64) << fraction, 1, (top as u64) << fraction | 1];
            let edge = edge[random.below(3) as usize].wrapping_sub(random.below(2));
            return sign << sign_at | edge & ((1 << sign_at) - 1);
        }
        if self.zeros && random.one_in(3) {
            return sign << sign_at;
        }
        let exponent = self.centre + random.between(-self.spread, self.spread);
        let most = if bits == 4 { top } else { top - 1 };
        let biased = (exponent + (1 << (bits - 1)) - 1).clamp(0, most) as u64;
        let full = (1 << fraction) - 1;
        let mantissa = match self.mantissa {
            0 => 0,
            1 => full,
            2 => 1 << random.below(u64::from(fraction)),
            _ => raw & full,
        };
        // All ones alone are NaN where there is no infinity.
        let nan = bits == 4 && biased == top as u64 && mantissa == full;
        sign << sign_at | biased << fraction | (mantissa - u64::from(nan))
    }
}

/// Operands of one product: rows of A, columns of B, and C by rows.
pub struct Tile {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: Vec<u64>,
}

impl Tile {
    pub fn draw(random: &mut Random, step: &Step, (m, n): (usize, usize)) -> Tile {
        let (k, (a_type, b_type)) = (step.k(), step.elements());
        let mut operand = |element: Element, rows: usize| {
            let recipe = Recipe::draw(random, format(element));
            let number = |_| {
                if element.sign() == 0 {
                    return random.next() & 0xff;
                }
                let bits = recipe.number(random, format(element));
                // The low bits of tf32 may be anything.
                if element == Element::Tf32 {
                    bits << 13 | random.below(1 << 13)
                } else {
                    bits
                }
            };
            (0..rows * k).map(number).collect::<Vec<u64>>()
        };
        let (mut a, mut b) = (operand(a_type, m), operand(b_type, n));
        if random.one_in(3) {
            // Pairs of k cancel but for the last place.
            for row in a.chunks_exact_mut(k) {
                for pair in row.chunks_exact_mut(2) {
                    pair[1] = pair[0] ^ a_type.sign();
                }
            }
            for column in b.chunks_exact_mut(k) {
                for pair in column.chunks_exact_mut(2) {
                    pair[1] = pair[0] ^ (random.below(4) / 3);
                }
            }
        }
        let mut tile = Tile {
            a,
            b,
            c: Vec::new(),
        };
        let recipe = Recipe::draw(random, sum_format(step.sum()));
        for index in 0..m * n {
            if a_type.sign() == 0 {
                tile.c.push(random.next() & 0xffff_ffff);
                continue;
            }
            let (bits, fraction) = sum_format(step.sum());
            let sign = 1 << (bits + fraction);
            let c = match random.below(4) {
                0 => sign * random.below(2),
                1 => {
                    // Nearly minus the sum.
                    let (a, b, _) = tile.element(index, n, k);
                    let mask = u64::MAX >> (63 - bits - fraction);
                    (step.dot(a, b, 0) ^ sign).wrapping_add(random.below(8)) & mask
                }
                2 => {
                    // The sum's exponent moved.
                    let (a, b, _) = tile.element(index, n, k);
                    let sum = step.dot(a, b, 0) & (sign - 1);
                    let moved = random.between(-30, 30);
                    let exponent = (sum >> fraction) as i32 + moved;
                    let exponent = exponent.clamp(0, (1 << bits) - 2) as u64;
                    exponent << fraction | random.next() & (sign | ((1 << fraction) - 1))
                }
                _ => recipe.number(random, (bits, fraction)),
            };
            tile.c.push(c);
        }
        tile
    }

    /// The row of A, the column of B and the C of an element of the result.
    pub fn element(&self, index: usize, n: usize, k: usize) -> (&[u64], &[u64], u64) {
        let (row, column) = (index / n, index % n);
        let c = self.c.get(index).copied().unwrap_or(0);
        (
            &self.a[row * k..(row + 1) * k],
            &self.b[column * k..(column + 1) * k],
            c,
        )
    }
}
