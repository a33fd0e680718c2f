//! Kinds of kernels that users write.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::Writer;
use super::expression::Values;
use super::shape::Axes;

/// Types that elements of inputs have, the usual ones more often.
const INPUTS: [&str; 14] = [
    "f32", "f32", "f32", "f32", "bf16", "bf16", "bf16", "f16", "f16", "s8", "u8", "e4m3", "s32",
    "s16",
];

/// Types that results are stored as.
const OUTPUTS: [&str; 14] = [
    "f32", "f32", "f32", "f32", "bf16", "bf16", "bf16", "f16", "f16", "s8", "u8", "e4m3", "e5m2",
    "s32",
];

impl Writer {
    /// Inputs of a map over the modes of an output: some of all modes, some that broadcast.
    fn inputs(&mut self, axes: &[&str]) -> Values {
        let mut values = Values::default();
        let names = ["x", "y", "r"];
        let count = self.rng.random_range(1..=3);
        for name in names.iter().take(count) {
            let dtype = self.dtype(&INPUTS);
            self.operand(name, dtype, axes);
            values.add(format!("{name}[{}]", axes.join(",")));
        }
        if let Some(last) = axes.last()
            && axes.len() > 1
            && self.chance(40)
        {
            self.operand("bias", "f32", &[last]);
            values.add(format!("bias[{last}]"));
        }
        self.with_scalar(&mut values);
        values
    }

    fn with_scalar(&mut self, values: &mut Values) {
        if self.chance(35) {
            let name = ["alpha", "beta", "eps"][self.scalars % 3];
            self.scalars += 1;
            self.draft.set(&format!("scalars.{name}"), "f32");
            values.add(name.to_owned());
        }
    }

    pub(super) fn map(&mut self) {
        let axes = Axes::of(&mut self.rng, 1..=4);
        let axes = axes.names();
        let mut values = self.inputs(&axes);
        if self.chance(15) {
            values.add(axes[0].to_owned());
        }
        let depth = self.rng.random_range(1..=4);
        let dtype = self.dtype(&OUTPUTS);
        self.operand("d", dtype, &axes);
        let at = axes.join(",");
        let mut text = format!("d[{at}] = {}", values.expression(&mut self.rng, depth));
        if self.chance(15) {
            let dtype = self.dtype(&OUTPUTS);
            self.operand("e", dtype, &axes);
            text += &format!("; e[{at}] = {}", values.expression(&mut self.rng, 2));
        }
        self.draft.set("compute", text);
        self.tile_of_map(&axes);
    }

    /// A tile along the last two modes, or one.
    fn tile_of_map(&mut self, axes: &[&str]) {
        let (rows, columns) = (self.power(0..=4), self.power(5..=10));
        match axes {
            [one] => self.tile(&[(one, 4 * columns)]),
            [.., row, column] => self.tile(&[(row, rows), (column, columns)]),
            [] => {}
        }
    }

    /// Optimizer steps, clamps, scalings: the output takes the place of an input.
    pub(super) fn map_in_place(&mut self) {
        let axes = Axes::of(&mut self.rng, 1..=2);
        let axes = axes.names();
        let dtype = self.pick(&["f32", "bf16", "f16"]);
        let layout = self.layout("w", &axes);
        for name in ["w", "v"] {
            self.draft.set(&format!("operands.{name}.dtype"), dtype);
        }
        self.draft.set("operands.w.layout", layout.clone());
        self.draft.set("operands.v.layout", layout);
        self.draft.set("operands.v.over", "w");
        let at = axes.join(",");
        let mut values = Values::default();
        values.add(format!("w[{at}]"));
        if self.chance(60) {
            self.operand("g", "f32", &axes);
            values.add(format!("g[{at}]"));
        }
        self.with_scalar(&mut values);
        let value = values.expression(&mut self.rng, 2);
        self.draft
            .set("compute", format!("v[{at}] = w[{at}] + {value}"));
        self.tile_of_map(&axes);
    }

    /// Fills: an output that reads nothing.
    pub(super) fn constant(&mut self) {
        let axes = Axes::of(&mut self.rng, 1..=2);
        let axes = axes.names();
        let dtype = self.dtype(&[
            "f32", "bf16", "f16", "s8", "u8", "e4m3", "e5m2", "s32", "f64", "s16",
        ]);
        self.operand("d", dtype, &axes);
        let mode = axes[axes.len() - 1];
        let mut values = vec!["0".to_owned(), "2.5".to_owned(), "-1".to_owned()];
        values.extend([
            mode.to_owned(),
            format!("{mode} * 2 + 1"),
            format!("exp(-{mode})"),
        ]);
        values.push(format!("where({mode} < 7, 1, 0)"));
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

    fn fold_word(&mut self) -> &'static str {
        ["sum", "sum", "max", "min", "mean", "argmax"]
            .choose(&mut self.rng)
            .copied()
            .unwrap_or("sum")
    }

    /// One to three folds along rows or columns, each of a function of the element.
    pub(super) fn fold_of_rows(&mut self) {
        let axes = Axes::of(&mut self.rng, 2..=3);
        let axes = axes.names();
        let values = self.inputs(&axes);
        let along = if self.chance(80) {
            axes.len() - 1
        } else {
            self.rng.random_range(0..axes.len())
        };
        let folded = axes[along];
        let kept: Vec<&str> = axes
            .iter()
            .copied()
            .filter(|mode| *mode != folded)
            .collect();
        let at = kept.join(",");
        let mut text = String::new();
        for name in ["s", "t", "u"].iter().take(self.rng.random_range(1..=3)) {
            let fold = self.fold_word();
            let dtype = if fold == "argmax" {
                "s32"
            } else {
                self.pick(&["f32", "f32", "bf16"])
            };
            self.operand(name, dtype, &kept);
            let body = values.function(&mut self.rng);
            text += &format!("{name}[{at}] = {fold}[{folded}] {body}; ");
        }
        self.draft.set("compute", text.trim_end_matches("; "));
        let (long, short) = (self.power(6..=12), self.power(0..=3));
        self.tile(&[(folded, long), (kept[kept.len() - 1], short)]);
    }

    /// A norm: folds of rows and a map of what they gave.
    pub(super) fn norm(&mut self) {
        let axes = Axes::of(&mut self.rng, 2..=3);
        let axes = axes.names();
        let dtype = self.pick(&["f32", "bf16", "f16"]);
        self.operand("x", dtype, &axes);
        let (folded, kept) = (axes[axes.len() - 1], &axes[..axes.len() - 1]);
        let (all, at) = (axes.join(","), kept.join(","));
        let mut values = Values::default();
        values.add(format!("x[{all}]"));
        let (fold, second) = (self.fold_word(), self.fold_word());
        let fold = if fold == "argmax" { "max" } else { fold };
        let second = if second == "argmax" { "sum" } else { second };
        let body = values.function(&mut self.rng);
        let mut text = format!("t[{at}] = {fold}[{folded}] {body}; ");
        values.add(format!("t[{at}]"));
        if self.chance(60) {
            let body = values.function(&mut self.rng);
            text += &format!("z[{at}] = {second}[{folded}] {body}; ");
            values.add(format!("z[{at}]"));
        }
        if self.chance(50) {
            self.operand("g", "f32", &[folded]);
            values.add(format!("g[{folded}]"));
        }
        self.with_scalar(&mut values);
        let dtype = self.dtype(&OUTPUTS);
        self.operand("d", dtype, &axes);
        let depth = self.rng.random_range(1..=3);
        let value = values.expression(&mut self.rng, depth);
        text += &format!("d[{all}] = {value}");
        for name in ["t", "z"] {
            let given = format!("{name}[{at}]");
            if text.contains(&format!("{given} =")) && text.matches(&given).count() == 1 {
                text += &format!(" + {given}");
            }
        }
        self.draft.set("compute", text);
        let (long, short) = (self.power(6..=12), self.power(0..=2));
        self.tile(&[(folded, long), (kept[kept.len() - 1], short)]);
        if self.chance(15) {
            self.draft.set("scheduler.passes", "alternating");
        }
    }

    /// Folds along several modes beside others, and what follows: statistics of batches and
    /// groups, pooling of windows that stand apart.
    pub(super) fn fold_of_modes(&mut self) {
        let axes = Axes::of(&mut self.rng, 3..=4);
        let axes = axes.names();
        let values = self.inputs(&axes);
        let count = self.rng.random_range(2..axes.len());
        let from = if self.chance(70) {
            axes.len() - count
        } else {
            self.rng.random_range(0..=axes.len() - count)
        };
        let folded: Vec<&str> = axes[from..from + count].to_vec();
        let kept: Vec<&str> = axes
            .iter()
            .copied()
            .filter(|mode| !folded.contains(mode))
            .collect();
        let (at, over) = (kept.join(","), folded.join(","));
        let word = self.fold_word();
        let fold = if word == "argmax" { "sum" } else { word };
        let body = values.function(&mut self.rng);
        let mut text = String::new();
        if self.chance(40) {
            text += &format!("t[{at}] = {fold}[{over}] {body}; ");
            let mut values = values;
            values.add(format!("t[{at}]"));
            let dtype = self.dtype(&OUTPUTS);
            self.operand("d", dtype, &axes);
            text += &format!(
                "d[{}] = {}",
                axes.join(","),
                values.expression(&mut self.rng, 2)
            );
        } else {
            self.operand("d", "f32", &kept);
            text += &format!("d[{at}] = {fold}[{over}] {body}");
        }
        self.draft.set("compute", text);
        let tile: Vec<(&str, i64)> = (folded.iter())
            .map(|mode| (*mode, self.power(2..=6)))
            .collect();
        self.tile(&tile);
        if self.chance(30) {
            let extent = self.power(0..=2);
            self.tile(&[(kept[kept.len() - 1], extent)]);
        }
    }

    /// Groups of columns with a scale each.
    pub(super) fn quantize(&mut self) {
        let group = ["32", "64", "128"]
            .choose(&mut self.rng)
            .copied()
            .unwrap_or("128");
        self.draft.set("modes.i", group);
        let input = self.pick(&["f32", "bf16", "f16"]);
        self.operand("x", input, &["m", "g", "i"]);
        let dtype = self.dtype(&["e4m3", "e5m2", "s8"]);
        let most = match dtype {
            "e4m3" => "448",
            "e5m2" => "57344",
            _ => "127",
        };
        self.operand("d", dtype, &["m", "g", "i"]);
        self.operand("s", "f32", &["m", "g"]);
        let mut values = Values::default();
        values.add("x[m,g,i]".to_owned());
        let value = if self.chance(50) {
            values.function(&mut self.rng)
        } else {
            "x[m,g,i]".to_owned()
        };
        self.draft.set(
            "compute",
            format!(
                "y[m,g,i] = {value}; q[m,g] = max[i] abs(y[m,g,i]); \
                 s[m,g] = max(q[m,g], 1e-8) / {most}; d[m,g,i] = y[m,g,i] / s[m,g]"
            ),
        );
        let rows = self.power(0..=5);
        let group: i64 = group.parse().unwrap_or(128);
        self.tile(&[("g", rows), ("i", group)]);
    }

    /// A product with an epilogue of one's own.
    pub(super) fn product(&mut self) {
        let arch = self.draft.get("arch").unwrap_or_default().to_owned();
        let hopper = arch == "sm_90a";
        let tensor = matches!(arch.as_str(), "sm_80" | "sm_86" | "sm_89" | "sm_90") || hopper;
        let input = match (tensor, hopper) {
            (_, true) => self.pick(&["bf16", "f16", "e4m3", "s8", "tf32"]),
            (true, _) => self.pick(&["bf16", "bf16", "f16", "f16", "f32"]),
            _ => self.pick(&["f32", "f32", "f16"]),
        };
        let narrow = matches!(input, "e4m3" | "s8" | "tf32");
        let factors = [("a", "m"), ("b", "n")].map(|(name, row)| {
            let turned = !narrow && self.chance(30);
            let axes = if turned { ["k", row] } else { [row, "k"] };
            self.operand(name, input, &axes);
            format!("{name}[{}]", axes.join(","))
        });
        if input == "e4m3" {
            self.draft.set("accumulation", "fast");
        }
        let mut values = Values::default();
        values.add("acc[m,n]".to_owned());
        if self.chance(50) {
            self.operand("bias", "f32", &["n"]);
            values.add("bias[n]".to_owned());
        }
        if self.chance(30) {
            self.operand("c", "bf16", &["m", "n"]);
            values.add("c[m,n]".to_owned());
        }
        self.with_scalar(&mut values);
        let dtype = self.dtype(&["f32", "bf16", "bf16", "f16", "e4m3"]);
        self.operand("d", dtype, &["m", "n"]);
        let depth = self.rng.random_range(0..=3);
        let value = if depth == 0 {
            "acc[m,n]".to_owned()
        } else {
            values.expression(&mut self.rng, depth)
        };
        self.draft.set(
            "compute",
            format!(
                "acc[m,n] = sum[k] {}; d[m,n] = {value}",
                factors.join(" * ")
            ),
        );
        let bytes = match input {
            "f32" | "tf32" => 4,
            "e4m3" | "s8" => 1,
            _ => 2,
        };
        let (m, n) = (self.power(5..=7), self.power(5..=7));
        let m = if hopper { m.max(64) } else { m };
        let k = if input == "f32" {
            self.power(3..=5)
        } else {
            self.power(5..=7) / bytes
        };
        self.tile(&[("m", m), ("n", n), ("k", k.max(16 / bytes))]);
    }
}
