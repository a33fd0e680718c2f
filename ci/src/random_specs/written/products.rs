//! Products that users write, with epilogues of their own, and what goes along narrow types: groups
//! with a scale each, and products of a matrix of few bits with a vector.

use rand::seq::IndexedRandom;

use super::Writer;
use super::expression::{Values, is_read};

impl Writer {
    /// Groups of columns with a scale each.
    pub(super) fn quantize(&mut self) {
        let group = self.group();
        let input = self.pick(&["f32", "bf16", "f16"]);
        let axes = ["m", "g", "i"];
        self.operand("x", input, &axes);
        let dtype = self.dtype(&["e4m3", "e5m2", "s8", "s8", "e2m1", "s4", "u8"]);
        let most = match dtype {
            "e4m3" => "448",
            "e5m2" => "57344",
            "e2m1" => "6",
            "s4" => "7",
            "u8" => "255",
            _ => "127",
        };
        self.operand("d", dtype, &axes);
        let scale = self.dtype(&["f32", "f32", "f32", "bf16", "ue8m0"]);
        self.operand("s", scale, &["m", "g"]);
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
        let rows = self.short(0..=5);
        self.tile(&[("g", rows), ("i", group)], &[]);
    }

    /// A mode `i` of a constant extent.
    fn group(&mut self) -> i64 {
        let extents = [32, 64, 128, 128, 96];
        let group = extents.choose(&mut self.rng).copied().unwrap_or(128);
        self.draft.set("modes.i", group.to_string());
        group
    }

    /// Groups of few bits with a scale each, as numbers.
    pub(super) fn dequantize(&mut self) {
        let group = self.group();
        let axes = ["m", "g", "i"];
        let dtype = self.dtype(&["s4", "u4", "s8", "e2m1", "e4m3", "u8"]);
        self.operand("w", dtype, &axes);
        let scale = self.dtype(&["bf16", "f32", "f16", "ue8m0"]);
        self.operand("s", scale, &["m", "g"]);
        let value = self.pick(&[
            "w[m,g,i] * s[m,g]",
            "(w[m,g,i] - 8) * s[m,g]",
            "bf16(w[m,g,i]) * bf16(s[m,g])",
        ]);
        let stored = self.pick(&["bf16", "f32", "f16"]);
        self.operand("d", stored, &axes);
        self.draft.set("compute", format!("d[m,g,i] = {value}"));
        let rows = self.short(0..=5);
        self.tile(&[("g", rows), ("i", group)], &[]);
    }

    /// A matrix of narrow numbers times a vector, with a scale for each row or group.
    pub(super) fn narrow_vector(&mut self) {
        let dtype = self.dtype(&["s4", "s4", "u4", "s8", "e2m1", "e4m3", "bf16"]);
        let vector = self.pick(&["bf16", "f16", "f32"]);
        let scale = self.pick(&["bf16", "f32", "f16"]);
        let stored = self.pick(&["f32", "bf16"]);
        self.operand("d", stored, &["m"]);
        if self.chance(50) {
            let group = self.group();
            self.operand("w", dtype, &["m", "g", "i"]);
            self.operand("x", vector, &["g", "i"]);
            self.operand("s", scale, &["m", "g"]);
            self.draft.set(
                "compute",
                "d[m] = sum[g,i] w[m,g,i] * s[m,g] * x[g,i]".to_owned(),
            );
            let groups = self.short(0..=5);
            return self.tile(&[("g", groups), ("i", group)], &[]);
        }
        self.operand("w", dtype, &["m", "k"]);
        self.operand("x", vector, &["k"]);
        self.operand("s", scale, &["m"]);
        self.draft
            .set("compute", "d[m] = (sum[k] w[m,k] * x[k]) * s[m]".to_owned());
        let (rows, along) = (self.short(0..=4), self.long(7..=12));
        self.tile(&[("m", rows), ("k", along)], &["m", "k"]);
    }

    /// The type of both factors: what the architecture multiplies, in most.
    fn factor_type(&mut self) -> &'static str {
        let arch = self.draft.get("arch").unwrap_or_default();
        match arch {
            "sm_90a" => self.pick(&["bf16", "bf16", "f16", "e4m3", "e5m2", "s8", "u8", "tf32"]),
            "sm_80" | "sm_86" | "sm_89" | "sm_90" => {
                self.pick(&["bf16", "bf16", "f16", "f16", "f32", "s8", "f64", "tf32"])
            }
            _ => self.pick(&["f32", "f32", "f16", "f64"]),
        }
    }

    /// A product with an epilogue of one's own.
    pub(super) fn product(&mut self) {
        let input = self.factor_type();
        let narrow = matches!(input, "e4m3" | "e5m2" | "s8" | "u8" | "tf32");
        let factors = [("a", "m"), ("b", "n")].map(|(name, row)| {
            let turned = !narrow && self.chance(30);
            let axes = if turned { ["k", row] } else { [row, "k"] };
            self.operand(name, input, &axes);
            format!("{name}[{}]", axes.join(","))
        });
        if matches!(input, "e4m3" | "e5m2") {
            self.draft.set("accumulation", "fast");
        }
        let mut values = Values::default();
        values.add("acc[m,n]".to_owned());
        if self.chance(50) {
            let dtype = self.pick(&["f32", "bf16"]);
            self.operand("bias", dtype, &["n"]);
            values.add("bias[n]".to_owned());
        }
        if self.chance(20) {
            self.operand("rows", "f32", &["m"]);
            values.add("rows[m]".to_owned());
        }
        let stored = self.dtype(&["f32", "f32", "bf16", "bf16", "f16", "e4m3", "s8", "f64"]);
        self.operand("d", stored, &["m", "n"]);
        let beside = self.chance(30);
        if beside {
            let dtype = self.pick(&["bf16", "f32", "f16"]);
            let is_in_place = self.chance(40);
            let dtype = if is_in_place { stored } else { dtype };
            self.operand("c", dtype, &["m", "n"]);
            values.add("c[m,n]".to_owned());
            if is_in_place {
                self.in_place("d", "c", dtype);
            }
        }
        self.with_scalar(&mut values);
        let mut value = match self.chance(25) && !beside {
            true => "acc[m,n]".to_owned(),
            false => self.stored(&values, 3),
        };
        if !is_read(&value, "acc[m,n]") {
            value += " + acc[m,n]";
        }
        if beside && !is_read(&value, "c[m,n]") {
            value += " + c[m,n]";
        }
        let mut product = factors.join(" * ");
        // A third factor inside of the sum, which is refused, and no bug.
        if self.chance(4) {
            let (axis, dtype) = (self.pick(&["n", "m", "k"]), self.pick(&["f32", "bf16"]));
            self.operand("s", dtype, &[axis]);
            product += &format!(" * s[{axis}]");
        }
        let mut text = vec![
            format!("acc[m,n] = sum[k] {product}"),
            format!("d[m,n] = {value}"),
        ];
        if self.chance(10) {
            self.operand("amax", "f32", &[]);
            text.push("amax max= abs(f32(acc[m,n]))".to_owned());
        }
        self.draft.set("compute", text.join("; "));
        self.tile_of_product(input);
    }

    fn tile_of_product(&mut self, input: &str) {
        let hopper = self.draft.get("arch") == Some("sm_90a");
        let bytes = match input {
            "f64" => 8,
            "f32" | "tf32" => 4,
            "e4m3" | "e5m2" | "s8" | "u8" => 1,
            _ => 2,
        };
        let (m, n) = (self.power(5..=8), self.power(5..=8));
        let (m, n) = match m * n > 128 * 256 {
            true => (m / 2, n),
            false => (m, n),
        };
        let n = if self.chance(15) { 96 } else { n };
        let m = if hopper { m.max(64) } else { m };
        let k = if input == "f32" || input == "f64" {
            self.power(3..=5)
        } else {
            self.power(5..=7) / bytes
        };
        let k = k.max(16 / bytes);
        self.tile(&[("m", m), ("n", n), ("k", k)], &["m", "n", "k"]);
    }
}
