//! Colours of cells.
//!
//! In: what a cell stands for. Out: its fill and whether text on it is light. Invariant: one
//! palette for every format, so that a table, an SVG and a LaTeX picture of a thing look alike.

/// What the colour of a cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shade {
    /// Nothing: the cell is empty.
    Blank,
    /// A thread: eight hues, in four tints.
    Thread(i64),
    /// A value between 0 and the largest: pale to deep.
    Value {
        /// The value.
        value: i64,
        /// The largest.
        largest: i64,
    },
    /// A group of banks: eight hues.
    Bank(i64),
    /// So many accesses of one bank at once: pale for one, red for more.
    Conflict(usize),
}

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

const HUES: [Rgb; 8] = [
    (158, 193, 240),
    (255, 190, 125),
    (157, 217, 143),
    (255, 157, 154),
    (205, 178, 226),
    (240, 217, 120),
    (250, 184, 214),
    (140, 217, 215),
];

const RAMP: [Rgb; 4] = [
    (255, 252, 219),
    (161, 218, 180),
    (65, 182, 196),
    (34, 94, 168),
];

impl Shade {
    /// The fill.
    pub fn fill(self) -> Rgb {
        match self {
            Shade::Blank => (255, 255, 255),
            Shade::Thread(thread) => tint(hue(thread), thread.div_euclid(8).rem_euclid(4)),
            Shade::Value { value, largest } => ramp(value, largest),
            Shade::Bank(bank) => hue(bank),
            Shade::Conflict(0) => (255, 255, 255),
            Shade::Conflict(1) => (205, 235, 197),
            Shade::Conflict(2) => (254, 204, 160),
            Shade::Conflict(_) => (240, 128, 118),
        }
    }

    /// Whether text on the fill has to be light.
    pub fn text_is_light(self) -> bool {
        let (r, g, b) = self.fill();
        2 * u32::from(r) + 5 * u32::from(g) + u32::from(b) < 8 * 118
    }
}

fn hue(index: i64) -> Rgb {
    // A remainder of 8 is an index of eight hues.
    HUES[index.rem_euclid(8) as usize]
}

/// The colour moved towards white by so many quarters of the way.
fn tint((r, g, b): Rgb, steps: i64) -> Rgb {
    let paler = |x: u8| (i64::from(x) + (255 - i64::from(x)) * steps / 5) as u8;
    (paler(r), paler(g), paler(b))
}

fn ramp(value: i64, largest: i64) -> Rgb {
    let largest = i128::from(largest.max(1));
    let pieces = RAMP.len() as i128 - 1;
    let along = i128::from(value).clamp(0, largest) * pieces * 256 / largest;
    let piece = (along / 256).min(pieces - 1) as usize;
    let part = along - piece as i128 * 256;
    let mix = |x: u8, y: u8| (i128::from(x) + (i128::from(y) - i128::from(x)) * part / 256) as u8;
    let ((r, g, b), (s, h, c)) = (RAMP[piece], RAMP[piece + 1]);
    (mix(r, s), mix(g, h), mix(b, c))
}

/// A colour as six hexadecimal digits.
pub fn hex((r, g, b): Rgb) -> String {
    format!("{r:02X}{g:02X}{b:02X}")
}
