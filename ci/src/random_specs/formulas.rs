//! A spec of a seed whose formula is drawn: functions of elements that are folded, several folds
//! beside each other or pass after pass, and maps.
//!
//! Weighted as [`super::draw`] is: types, tiles and architectures fit one another most of the time.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::draft::Draft;

/// Functions of an element, with `{}` in its place.
pub const FUNCTIONS: &[&str] = &[
    "{}",
    "exp({})",
    "exp(-{})",
    "log({})",
    "log(abs({}) + 1)",
    "sqrt(abs({}))",
    "rsqrt({} * {} + 0.5)",
    "tanh({})",
    "erf({})",
    "sin({})",
    "cos({})",
    "floor({})",
    "round({} * 0.25)",
    "sigmoid({})",
    "silu({})",
    "gelu({})",
    "gelu_tanh({})",
    "relu({})",
    "softcap({}, 30)",
    "clamp({}, -2, 3)",
    "abs({})",
    "1 / {}",
    "{} * {}",
    "{} * exp(bf16({}))",
    "where({} > 0, exp({}), {})",
    "1.94 + {}",
];

/// What combines the values along a mode.
pub const FOLDS: &[&str] = &["sum", "max", "min", "mean", "argmax"];

/// Types of inputs, the likelier ones more often.
const INPUTS: &[&str] = &[
    "f32", "f32", "f32", "bf16", "bf16", "f16", "s8", "s32", "e4m3",
];
/// Types of outputs.
const OUTPUTS: &[&str] = &["f32", "f32", "f32", "bf16", "f16", "s8", "e4m3"];
const ARCHES: &[&str] = &[
    "sm_70", "sm_75", "sm_80", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a",
];

/// The spec of a seed.
///
/// ```
/// use tilewright_ci::random_specs::formulas::draw;
/// assert_eq!(draw(7), draw(7));
/// assert!(draw(7).get("compute").is_some());
/// ```
pub fn draw(seed: u64) -> Draft {
    let mut pen = Pen {
        rng: StdRng::seed_from_u64(seed),
        draft: Draft::default(),
        used: Vec::new(),
    };
    pen.draft.set("kernel", "formula");
    pen.draft.set("name", format!("drawn_{seed}"));
    match seed % 8 {
        0..3 => pen.fold_of_function(),
        3 => pen.several_folds(),
        4 => pen.normalized(),
        _ => pen.mapped(),
    }
    pen.draft
}

/// A spec in the making.
struct Pen {
    rng: StdRng,
    draft: Draft,
    /// What statements name beside modes, so that all that is declared is read.
    used: Vec<&'static str>,
}

impl Pen {
    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of.choose(&mut self.rng).copied().unwrap_or_default()
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// An architecture, and an operand's type that it casts.
    fn arch(&mut self) {
        let arch = self.pick(ARCHES);
        self.draft.set("arch", arch);
    }

    fn dtype(&mut self, of: &[&'static str]) -> &'static str {
        let dtype = self.pick(of);
        let newer = ["sm_89", "sm_90", "sm_90a"];
        let casts = newer.contains(&self.draft.get("arch").unwrap_or_default());
        if dtype == "e4m3" && !casts {
            return "f32";
        }
        dtype
    }

    /// A matrix, a row or a column of the problem.
    fn operand(&mut self, name: &str, modes: &str, dtype: &str) {
        let layout = match modes {
            "m,n" => format!("(m,n):(ld{name},1)"),
            one => format!("({one}):(1)"),
        };
        self.draft.set(&format!("operands.{name}.dtype"), dtype);
        self.draft.set(&format!("operands.{name}.layout"), layout);
    }

    fn input(&mut self, name: &str) {
        let dtype = self.dtype(INPUTS);
        self.operand(name, "m,n", dtype);
    }

    /// A tile: few or many rows, of one to thousands of elements.
    fn tile(&mut self) {
        let rows: u32 = self.rng.random_range(1..=5);
        let columns = self.rng.random_range(5..=11u32.min(14 - rows));
        self.draft.set("cta_tile.m", (1 << rows).to_string());
        self.draft.set("cta_tile.n", (1 << columns).to_string());
        if self.chance(15) {
            self.draft.set("scheduler.passes", "many");
        }
    }

    /// A function of an element.
    fn function(&mut self, of: &str) -> String {
        self.pick(FUNCTIONS).replace("{}", of)
    }

    /// `s[m] = sum[n] exp(x[m,n])`, along rows or columns.
    fn fold_of_function(&mut self) {
        self.arch();
        self.input("x");
        let (kept, folded) = if self.chance(75) {
            ("m", "n")
        } else {
            ("n", "m")
        };
        let fold = self.pick(FOLDS);
        let dtype = match fold {
            "argmax" => "s32",
            _ => self.dtype(OUTPUTS),
        };
        self.operand("s", kept, dtype);
        let body = self.function("x[m,n]");
        self.draft
            .set("compute", format!("s[{kept}] = {fold}[{folded}] {body}"));
        self.tile();
    }

    /// Up to three folds of functions, and now and then what they are of.
    fn several_folds(&mut self) {
        self.arch();
        self.input("x");
        let mut text = Vec::new();
        let inner = self.function("x[m,n]");
        let body = match self.chance(50) {
            true => {
                self.input("y");
                format!("{inner} * y[m,n]")
            }
            false => inner,
        };
        text.push(format!("t[m,n] = {body}"));
        if self.chance(50) {
            let dtype = self.dtype(OUTPUTS);
            self.operand("d", "m,n", dtype);
            text.push("d[m,n] = t[m,n]".to_owned());
        }
        for name in ["u", "v", "w"]
            .into_iter()
            .take(self.rng.random_range(1..=3))
        {
            let fold = self.pick(&FOLDS[..4]);
            let dtype = self.dtype(OUTPUTS);
            self.operand(name, "m", dtype);
            let of = self.function("t[m,n]");
            text.push(format!("{name}[m] = {fold}[n] {of}"));
        }
        self.draft.set("compute", text.join("; "));
        self.tile();
    }

    /// A fold of what another fold shifts, and what both scale: three passes over long rows.
    fn normalized(&mut self) {
        self.arch();
        self.input("x");
        let first = self.pick(&["max", "min", "mean"]);
        let (inner, outer) = (self.function("x[m,n]"), self.function("(f[m,n] - t[m])"));
        let last = self.pick(&[
            "f[m,n] / z[m]",
            "f[m,n] * z[m]",
            "where(z[m] > 1, f[m,n], n)",
        ]);
        let dtype = self.dtype(OUTPUTS);
        self.operand("d", "m,n", dtype);
        self.draft.set(
            "compute",
            format!(
                "f[m,n] = {inner}; t[m] = {first}[n] f[m,n]; z[m] = sum[n] {outer}; \
                 d[m,n] = {last}"
            ),
        );
        self.tile();
    }

    /// Maps of one or two inputs, of a row, scalars, coordinates and constants.
    fn mapped(&mut self) {
        self.arch();
        let outputs = ["d", "e"];
        let mut text = Vec::new();
        for name in outputs.into_iter().take(self.rng.random_range(1..=2)) {
            let dtype = self.dtype(&[
                "f32", "f32", "bf16", "f16", "e4m3", "s8", "u8", "s32", "f64",
            ]);
            self.operand(name, "m,n", dtype);
            let depth = self.rng.random_range(0..=4);
            let value = self.value(depth);
            text.push(format!("{name}[m,n] = {value}"));
        }
        for name in std::mem::take(&mut self.used) {
            match name {
                "alpha" => self.draft.set("scalars.alpha", "f32"),
                "count" => self.draft.set("scalars.count", "s32"),
                "r" => {
                    let dtype = self.dtype(INPUTS);
                    self.operand("r", "n", dtype);
                }
                other => self.input(other),
            }
        }
        self.draft.set("compute", text.join("; "));
        self.tile();
    }

    /// What statements read, declared later.
    fn leaf(&mut self) -> String {
        let mut named = |name: &'static str, text: &str| {
            if !self.used.contains(&name) {
                self.used.push(name);
            }
            text.to_owned()
        };
        match self.rng.random_range(0..14) {
            0..5 => named("x", "x[m,n]"),
            5..7 => named("y", "y[m,n]"),
            7 => named("r", "r[n]"),
            8 => named("alpha", "alpha"),
            9 => named("count", "count"),
            10 => self.pick(&["m", "n", "size(n)", "n % 7"]).to_owned(),
            11 => self.pick(&["0", "1", "-3", "100", "70000"]).to_owned(),
            _ => self
                .pick(&["2.5", "-0.125", "1.94", "1e-3", "65504.0", "3e38"])
                .to_owned(),
        }
    }

    /// An expression of that depth.
    fn value(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let first = self.value(depth - 1);
        match self.rng.random_range(0..12) {
            0..5 => self.function(&format!("({first})")),
            5 => format!("{}({first})", self.pick(&["bf16", "f16", "f32", "s8"])),
            6 => {
                let [second, third] = [depth - 1, 0].map(|depth| self.value(depth));
                let sign = self.pick(&["<", "<=", "==", "!=", ">", ">="]);
                format!("where({first} {sign} {third}, {first}, {second})")
            }
            7 => {
                let second = self.value(depth - 1);
                format!("{}({first}, {second})", self.pick(&["min", "max"]))
            }
            _ => {
                let second = self.value(depth - 1);
                format!(
                    "({first} {} {second})",
                    self.pick(&["+", "-", "*", "*", "/"])
                )
            }
        }
    }
}
