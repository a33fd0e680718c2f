//! Folds that users write: of rows and columns, of several modes, of integers; norms and softmax,
//! in place among them; pooling and statistics of batches.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::Writer;
use super::expression::{Values, is_read};
use super::shape::Axes;

impl Writer {
    fn fold_word(&mut self) -> &'static str {
        ["sum", "sum", "max", "min", "mean", "argmax"]
            .choose(&mut self.rng)
            .copied()
            .unwrap_or("sum")
    }

    /// The same of folds whose values are computed with.
    fn fold_of_values(&mut self) -> &'static str {
        match self.fold_word() {
            "argmax" => "sum",
            word => word,
        }
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
        let kept = without(&axes, &[folded]);
        let at = kept.join(",");
        let mut text = Vec::new();
        for name in ["s", "t", "u"].iter().take(self.rng.random_range(1..=3)) {
            let fold = self.fold_word();
            let dtype = if fold == "argmax" {
                "s32"
            } else {
                self.pick(&["f32", "f32", "f32", "bf16", "f16", "f64"])
            };
            self.operand(name, dtype, &kept);
            let body = values.function(&mut self.rng);
            text.push(format!("{name}[{at}] = {fold}[{folded}] {body}"));
        }
        self.draft.set("compute", text.join("; "));
        self.tile_of_fold(folded, &kept, 12);
    }

    /// A tile of a long folded mode and few of the last one that is kept.
    fn tile_of_fold(&mut self, folded: &str, kept: &[&str], most: u32) {
        let (long, short) = (self.long(6..=most), self.short(0..=3));
        let row = kept[kept.len() - 1];
        let positions: Vec<&str> = kept.iter().copied().chain([folded]).collect();
        self.tile(&[(row, short), (folded, long)], &positions);
        if self.chance(10) {
            self.draft.set("scheduler.passes", "many");
        }
    }

    /// Checksums and counts: sums of integers, which wrap around.
    pub(super) fn fold_of_integers(&mut self) {
        let dtype = self.pick(&["s32", "s16", "u16", "s8", "u8"]);
        self.operand("x", dtype, &["m", "n"]);
        let fold = self.pick(&["sum", "sum", "max", "min"]);
        let body = self.pick(&[
            "x[m,n] * 16777619",
            "x[m,n] * (n + 1)",
            "x[m,n] * 2147483647 + n",
            "where(x[m,n] > 0, 1, 0)",
            "where(x[m,n] != 0 and n % 2 == 0, x[m,n], -1)",
            "x[m,n] * x[m,n]",
            "x[m,n] + 65536",
            "abs(x[m,n])",
        ]);
        let stored = self.pick(&["s32", "s32", "f32", "s16", "u8"]);
        self.operand("s", stored, &["m"]);
        self.draft
            .set("compute", format!("s[m] = {fold}[n] {body}"));
        self.tile_of_fold("n", &["m"], 11);
    }

    /// A norm: folds of rows and a map of what they gave, in place in some.
    pub(super) fn norm(&mut self) {
        let axes = Axes::of(&mut self.rng, 2..=3);
        let axes = axes.names();
        let dtype = self.pick(&["f32", "bf16", "f16", "f32", "bf16", "f64", "s8"]);
        self.operand("x", dtype, &axes);
        let (folded, kept) = (axes[axes.len() - 1], &axes[..axes.len() - 1]);
        let (all, at) = (axes.join(","), kept.join(","));
        let mut values = Values::default();
        values.add(format!("x[{all}]"));
        let mut text = Vec::new();
        let mut given = Vec::new();
        for name in ["t", "z"].iter().take(self.rng.random_range(1..=2)) {
            let fold = self.fold_of_values();
            let body = values.function(&mut self.rng);
            text.push(format!("{name}[{at}] = {fold}[{folded}] {body}"));
            given.push(format!("{name}[{at}]"));
            values.add(format!("{name}[{at}]"));
        }
        if self.chance(50) {
            let dtype = self.pick(&["f32", "bf16"]);
            self.operand("g", dtype, &[folded]);
            values.add(format!("g[{folded}]"));
        }
        self.with_scalar(&mut values);
        let is_in_place = self.chance(25);
        let stored = match is_in_place {
            true => dtype,
            false => self.output_type(),
        };
        self.operand("d", stored, &axes);
        let mut value = self.stored(&values, 3);
        for name in given {
            // The second may be made of the first.
            let is_used = text.iter().skip(1).any(|one| is_read(one, &name));
            let is_second = name.starts_with('z') || !is_used;
            if is_second && !is_read(&value, &name) {
                value += &format!(" + {name}");
            }
        }
        text.push(format!("d[{all}] = {value}"));
        if is_in_place {
            self.in_place("d", "x", dtype);
        }
        self.draft.set("compute", text.join("; "));
        self.tile_of_fold(folded, kept, 12);
        if self.chance(10) {
            self.draft.set("scheduler.passes", "alternating");
        }
    }

    /// Softmax and its kin, in place in some, with a mask in some.
    pub(super) fn softmax(&mut self) {
        let axes = Axes::of(&mut self.rng, 2..=4);
        let axes = axes.names();
        let dtype = self.pick(&["f32", "bf16", "f16"]);
        self.operand("x", dtype, &axes);
        let (folded, kept) = (axes[axes.len() - 1], &axes[..axes.len() - 1]);
        let (all, at) = (axes.join(","), kept.join(","));
        let row = kept[kept.len() - 1];
        let mut values = Values::default();
        values.add(format!("x[{all}]"));
        self.with_scalar(&mut values);
        let value = match self.rng.random_range(0..4) {
            0 => format!("where({folded} <= {row}, f32(x[{all}]), -inf)"),
            1 => values.function(&mut self.rng),
            _ => format!("x[{all}]"),
        };
        let last = self.pick(&["e / z", "v - t - log(z)", "e / (z + 1)"]);
        let [e, v] = ["e", "v"].map(|name| format!("{name}[{all}]"));
        let last = match last {
            "v - t - log(z)" => format!("{v} - t[{at}] - log(z[{at}])"),
            "e / z" => format!("{e} / z[{at}]"),
            _ => format!("{e} / (z[{at}] + 1)"),
        };
        self.draft.set(
            "compute",
            format!(
                "{v} = {value}; t[{at}] = max[{folded}] {v}; {e} = exp({v} - t[{at}]); \
                 z[{at}] = sum[{folded}] {e}; d[{all}] = {last}"
            ),
        );
        if self.chance(35) {
            self.operand("d", dtype, &axes);
            self.in_place("d", "x", dtype);
        } else {
            let stored = self.output_type();
            self.operand("d", stored, &axes);
        }
        self.tile_of_fold(folded, kept, 13);
    }

    /// One to three folds along several modes beside others, and now and then what follows them:
    /// statistics of batches and groups.
    pub(super) fn fold_of_modes(&mut self) {
        let axes = Axes::of(&mut self.rng, 3..=4);
        let axes = axes.names();
        let values = self.inputs(&axes);
        let folded = match self.rng.random_range(0..100) {
            0..60 => axes[axes.len() - 2..].to_vec(),
            60..75 => vec![axes[0], axes[axes.len() - 1]],
            75..90 => axes[..2].to_vec(),
            _ => axes[axes.len() - 3..].to_vec(),
        };
        let kept = without(&axes, &folded);
        let (at, over) = (kept.join(","), folded.join(","));
        let place = |name: &str| match at.is_empty() {
            true => name.to_owned(),
            false => format!("{name}[{at}]"),
        };
        let mut text = Vec::new();
        let mut last = values.clone();
        let is_followed = self.chance(40);
        let mut given = Vec::new();
        for name in ["s", "t", "u"].iter().take(self.rng.random_range(1..=3)) {
            let fold = self.fold_of_values();
            let body = values.function(&mut self.rng);
            let name_at = place(name);
            text.push(format!("{name_at} = {fold}[{over}] {body}"));
            if is_followed {
                given.push(name_at.clone());
                last.add(name_at);
            } else {
                let dtype = self.pick(&["f32", "f32", "bf16", "f64"]);
                self.operand(name, dtype, &kept);
            }
        }
        if is_followed {
            let dtype = self.output_type();
            self.operand("d", dtype, &axes);
            let mut value = last.expression(&mut self.rng, 2);
            for name in given {
                if !is_read(&value, &name) {
                    value += &format!(" + {name}");
                }
            }
            text.push(format!("d[{}] = {value}", axes.join(",")));
        }
        self.draft.set("compute", text.join("; "));
        let tile: Vec<(&str, i64)> = (folded.iter())
            .map(|mode| (*mode, self.long(2..=6)))
            .collect();
        self.tile(&tile, &[]);
        if self.chance(25) {
            let passes = self.pick(&["many", "many", "alternating"]);
            self.draft.set("scheduler.passes", passes);
        }
    }

    /// Pooling of windows that stand apart.
    pub(super) fn pooling(&mut self) {
        let dtype = self.pick(&["f32", "bf16", "f16", "s8", "u8"]);
        let window = match self.chance(25) {
            true => self.short(1..=2),
            false => self.power(3..=5),
        };
        let channels_last = self.chance(60);
        let axes: &[&str] = match channels_last {
            true => &["h", "r", "w", "s", "c"],
            false => &["c", "h", "r", "w", "s"],
        };
        let kept = without(axes, &["r", "s"]);
        self.operand("x", dtype, axes);
        for mode in ["r", "s"] {
            self.draft.set(&format!("modes.{mode}"), window.to_string());
        }
        let fold = self.pick(&["max", "mean", "sum", "min"]);
        let stored = match fold {
            "max" | "min" => dtype,
            _ => "f32",
        };
        self.operand("d", stored, &kept);
        let mut values = Values::default();
        values.add(format!("x[{}]", axes.join(",")));
        let body = match self.chance(70) {
            true => format!("x[{}]", axes.join(",")),
            false => values.function(&mut self.rng),
        };
        self.draft.set(
            "compute",
            format!("d[{}] = {fold}[r,s] {body}", kept.join(",")),
        );
        let extent = window.max(2);
        self.tile(&[("r", extent), ("s", extent)], &[]);
    }

    /// Statistics of a batch's channels: moments and extremes beside each other.
    pub(super) fn batch_statistics(&mut self) {
        let dtype = self.pick(&["f32", "bf16", "f16"]);
        let axes = ["b", "c", "q"];
        self.operand("x", dtype, &axes);
        let x = "x[b,c,q]";
        let all = [
            ("s", format!("sum[b,q] {x}")),
            ("q2", format!("sum[b,q] f32({x}) * {x}")),
            ("most", format!("max[b,q] abs({x})")),
            ("least", format!("min[b,q] {x}")),
            ("mu", format!("mean[b,q] {x}")),
        ];
        let count = self.rng.random_range(2..=all.len());
        let mut text = Vec::new();
        for (name, value) in &all[..count] {
            self.operand(name, "f32", &["c"]);
            text.push(format!("{name}[c] = {value}"));
        }
        self.draft.set("compute", text.join("; "));
        let (batch, inner) = (self.long(1..=5), self.long(3..=8));
        self.tile(&[("b", batch), ("q", inner)], &[]);
    }
}

/// The modes that are not among others.
fn without<'v>(axes: &[&'v str], others: &[&str]) -> Vec<&'v str> {
    let kept = axes.iter().filter(|mode| !others.contains(mode));
    kept.copied().collect()
}
