//! Maps that users write: of several inputs, in place, of nothing, through tables, with axes
//! turned, and values that are combined with what an output held.

use rand::RngExt;

use super::Writer;
use super::expression::Values;
use super::shape::Axes;

/// Types that elements of inputs have, the usual ones more often.
const INPUTS: [&str; 34] = [
    "f32", "f32", "f32", "f32", "f32", "f32", "f32", "bf16", "bf16", "bf16", "bf16", "bf16",
    "bf16", "f16", "f16", "f16", "f16", "s8", "s8", "u8", "u8", "e4m3", "e5m2", "s32", "s32",
    "s16", "u16", "f64", "f64", "tf32", "s4", "u4", "e2m1", "ue8m0",
];

/// Types that results are stored as.
const OUTPUTS: [&str; 32] = [
    "f32", "f32", "f32", "f32", "f32", "f32", "f32", "bf16", "bf16", "bf16", "bf16", "bf16", "f16",
    "f16", "f16", "s8", "s8", "u8", "e4m3", "e5m2", "s32", "s32", "f64", "f64", "s16", "u16",
    "tf32", "s4", "u4", "e2m1", "ue8m0", "bf16",
];

/// Types of elements that are moved without being computed with.
const MOVED: [&str; 9] = [
    "f32", "bf16", "f16", "s8", "u8", "e4m3", "s32", "f64", "s16",
];

impl Writer {
    pub(super) fn input_type(&mut self) -> &'static str {
        self.dtype(&INPUTS)
    }

    pub(super) fn output_type(&mut self) -> &'static str {
        self.dtype(&OUTPUTS)
    }

    /// Inputs of a map over the modes of an output: some of all modes, some that broadcast.
    pub(super) fn inputs(&mut self, axes: &[&str]) -> Values {
        let mut values = Values::default();
        let names = [
            "x", "y", "r", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
        ];
        let count = match self.chance(8) {
            true => self.rng.random_range(4..=names.len()),
            false => self.rng.random_range(1..=3),
        };
        for name in names.iter().take(count) {
            let dtype = self.input_type();
            self.operand(name, dtype, axes);
            values.add(format!("{name}[{}]", axes.join(",")));
        }
        if let [first, .., last] = axes {
            if self.chance(40) {
                let dtype = self.pick(&["f32", "f32", "bf16", "f16"]);
                self.operand("bias", dtype, &[last]);
                values.add(format!("bias[{last}]"));
            }
            if self.chance(15) {
                self.operand("scale", "f32", &[first]);
                values.add(format!("scale[{first}]"));
            }
        }
        if self.chance(12) {
            let mode = axes[self.rng.random_range(0..axes.len())];
            let texts = ["{}", "f32({}) * 0.5", "size({})", "{} % 7", "({} - 3)"];
            let text = self.pick(&texts).replace("{}", mode);
            values.add(text);
        }
        self.with_scalar(&mut values);
        values
    }

    pub(super) fn with_scalar(&mut self, values: &mut Values) {
        if self.chance(35) {
            let name = ["alpha", "beta", "eps"][self.scalars % 3];
            self.scalars += 1;
            let dtype = self.pick(&["f32", "f32", "f32", "f32", "s32", "f64"]);
            self.draft.set(&format!("scalars.{name}"), dtype);
            values.add(name.to_owned());
        }
    }

    /// A value that is stored: an expression, at times a long one, at times cast.
    pub(super) fn stored(&mut self, values: &Values, deepest: u32) -> String {
        if self.chance(6) {
            return values.long_sum(&mut self.rng);
        }
        let depth = self.rng.random_range(1..=deepest);
        let value = values.expression(&mut self.rng, depth);
        match self.chance(10) {
            true => format!("bf16({value})"),
            false => value,
        }
    }

    pub(super) fn map(&mut self) {
        let axes = Axes::of(&mut self.rng, 1..=4);
        let axes = axes.names();
        let values = self.inputs(&axes);
        let dtype = self.output_type();
        self.operand("d", dtype, &axes);
        let at = axes.join(",");
        let mut text = format!("d[{at}] = {}", self.stored(&values, 4));
        if self.chance(15) {
            let dtype = self.output_type();
            self.operand("e", dtype, &axes);
            text += &format!("; e[{at}] = {}", self.stored(&values, 2));
        }
        self.draft.set("compute", text);
        self.tile_of_map(&axes);
    }

    /// A tile along the last two modes, or one.
    fn tile_of_map(&mut self, axes: &[&str]) {
        let (rows, columns) = (self.short(0..=4), self.long(5..=10));
        match axes {
            [one] => self.tile(&[(one, 4 * columns)], axes),
            [.., row, column] => self.tile(&[(row, rows), (column, columns)], axes),
            [] => {}
        }
    }

    /// Optimizer steps, clamps, scalings: outputs take the places of inputs.
    pub(super) fn map_in_place(&mut self) {
        let axes = Axes::of(&mut self.rng, 1..=3);
        let axes = axes.names();
        let dtype = self.pick(&["f32", "bf16", "f16", "f32", "f64", "s32"]);
        let at = axes.join(",");
        let mut values = Values::default();
        let mut text = Vec::new();
        let pairs = [("w", "wn"), ("v", "vn"), ("u", "un")];
        let count = self.rng.random_range(1..=3);
        if self.chance(60) {
            self.operand("g", "f32", &axes);
            values.add(format!("g[{at}]"));
        }
        for (old, _) in &pairs[..count] {
            self.operand(old, dtype, &axes);
            values.add(format!("{old}[{at}]"));
        }
        self.with_scalar(&mut values);
        for (old, new) in &pairs[..count] {
            let value = values.expression(&mut self.rng, 2);
            text.push(format!("{new}[{at}] = {old}[{at}] + {value}"));
            self.in_place(new, old, dtype);
        }
        self.draft.set("compute", text.join("; "));
        self.tile_of_map(&axes);
    }

    /// Fills: an output that reads nothing.
    pub(super) fn constant(&mut self) {
        let axes = Axes::of(&mut self.rng, 1..=2);
        let axes = axes.names();
        let dtype = self.output_type();
        self.operand("d", dtype, &axes);
        let mode = axes[axes.len() - 1];
        let mut values = vec!["0".to_owned(), "2.5".to_owned(), "-1".to_owned()];
        values.extend([
            mode.to_owned(),
            format!("{mode} * 2 + 1"),
            format!("exp(-{mode})"),
            format!("{mode} * 16777619"),
            format!("f32({mode}) / size({mode})"),
            format!("bf16({mode} % 7)"),
        ]);
        values.push(format!("where({mode} < 7, 1, 0)"));
        if let [first, second] = axes.as_slice() {
            values.push(format!("where({first} == {second}, 1, 0)"));
            values.push(format!("where({first} >= {second}, 0, -inf)"));
        }
        if self.chance(30) {
            self.draft.set("scalars.alpha", "f32");
            values = vec!["alpha".to_owned(), format!("alpha * {mode}")];
        }
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        let value = self.pick(&texts).to_owned();
        self.draft
            .set("compute", format!("d[{}] = {value}", axes.join(",")));
        self.tile_of_map(&axes);
    }

    /// Rows that a table says: embeddings, and results that are stored where one says.
    pub(super) fn table(&mut self) {
        self.operand("rows", "s32", &["m"]);
        let dtype = self.dtype(&MOVED);
        let is_scatter = self.chance(35);
        let (from, to) = match is_scatter {
            true => (["m", "n"], ["v", "n"]),
            false => (["v", "n"], ["m", "n"]),
        };
        self.operand("x", dtype, &from);
        let mut values = Values::default();
        let read = if is_scatter { "x[m,n]" } else { "x[rows[m],n]" };
        values.add(read.to_owned());
        if self.chance(40) {
            let dtype = self.input_type();
            self.operand("bias", dtype, &["n"]);
            values.add("bias[n]".to_owned());
        }
        self.with_scalar(&mut values);
        let is_moved = self.chance(30);
        let value = match is_moved {
            true => read.to_owned(),
            false => self.stored(&values, 2),
        };
        let dtype = if is_moved { dtype } else { self.output_type() };
        self.operand("d", dtype, &to);
        let at = if is_scatter { "rows[m],n" } else { "m,n" };
        let value = match value.contains("rows[m]") || is_scatter {
            true => value,
            false => format!("{value} + {read}"),
        };
        self.draft.set("compute", format!("d[{at}] = {value}"));
        self.tile_of_map(&["m", "n"]);
    }

    /// The axes in another order.
    pub(super) fn turned(&mut self) {
        let axes = Axes::of(&mut self.rng, 2..=4);
        let axes = axes.names();
        let mut order = axes.clone();
        let by = self.rng.random_range(1..order.len());
        order.rotate_left(by);
        let dtype = self.dtype(&MOVED);
        self.operand("x", dtype, &axes);
        let mut value = format!("x[{}]", axes.join(","));
        let mut stored = dtype;
        if self.chance(40) {
            let mut values = Values::default();
            values.add(value);
            self.with_scalar(&mut values);
            value = values.function(&mut self.rng);
            stored = self.output_type();
        }
        self.operand("d", stored, &order);
        self.draft
            .set("compute", format!("d[{}] = {value}", order.join(",")));
        let [last, other] = [axes, order].map(|names| names[names.len() - 1]);
        let (first, second) = (self.long(3..=7), self.long(3..=7));
        self.tile(&[(other, first), (last, second)], &[]);
    }

    /// Totals, extremes and sums of columns, combined with what the outputs held.
    pub(super) fn combined(&mut self) {
        let axes = ["m", "n"];
        let values = self.inputs(&axes);
        let mut text = Vec::new();
        if self.chance(50) {
            let dtype = self.output_type();
            self.operand("d", dtype, &axes);
            text.push(format!("d[m,n] = {}", self.stored(&values, 2)));
        }
        let places: [(&str, &[&str]); 3] = [("total", &[]), ("t", &["m"]), ("u", &["n"])];
        let count = self.rng.random_range(1..=2);
        let from = self.rng.random_range(0..=places.len() - count);
        for (name, modes) in &places[from..from + count] {
            let sign = self.pick(&["+=", "+=", "max=", "min="]);
            let dtype = self.pick(&["f32", "f32", "f32", "s32"]);
            self.operand(name, dtype, modes);
            let at = match modes.is_empty() {
                true => String::new(),
                false => format!("[{}]", modes.join(",")),
            };
            let value = values.function(&mut self.rng);
            let value = format!("{dtype}({value})");
            text.push(format!("{name}{at} {sign} {value}"));
        }
        self.draft.set("compute", text.join("; "));
        self.tile_of_map(&axes);
    }
}
