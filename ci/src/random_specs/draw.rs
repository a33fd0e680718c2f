//! A spec of a seed: a good one of its family and way, then some keys more.
//!
//! Weighted so that a good part is accepted: types, layouts and tiles fit one another most of the
//! time, and most specs have few keys beyond those that must be there. Nothing else is avoided.

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use tilewright_codegen::arch::{ARCHES, Arch};
use tilewright_codegen::dtype::{DTYPES, DType};
use tilewright_codegen::spec::{FormKind, TypeRule};

use super::draft::Draft;
use super::keys::{Key, keys};

/// Constant strides: those that align, those that do not, and those at the limits.
const STRIDES: [i64; 18] = [
    0,
    1,
    2,
    3,
    4,
    5,
    8,
    16,
    24,
    64,
    96,
    100,
    128,
    256,
    1000,
    1024,
    4096,
    1 << 31,
];

/// Orders of tiles.
const RASTERS: [&str; 9] = [
    "row",
    "column",
    "grouped_1",
    "grouped_4",
    "grouped_16",
    "hilbert_2",
    "hilbert_4",
    "hilbert_8",
    "hilbert_16",
];

/// The spec of a seed.
///
/// ```
/// use tilewright_ci::random_specs::draw::draw;
/// assert_eq!(draw(7), draw(7));
/// assert!(draw(7).yaml().contains("name: drawn_7"));
/// ```
pub fn draw(seed: u64) -> Draft {
    let mut pen = Pen {
        rng: StdRng::seed_from_u64(seed),
        draft: Draft::default(),
    };
    let family = if pen.rng.random_bool(0.4) {
        "copy"
    } else {
        "gemm"
    };
    pen.draft.set("kernel", family);
    pen.draft.set("name", format!("drawn_{seed}"));
    match family {
        "copy" if seed % 4 == 1 => pen.permutation(),
        "copy" if seed % 4 == 3 => pen.looked_up(),
        "copy" => pen.copy(),
        _ if seed % 8 == 6 => {
            pen.gemm();
            pen.batched();
        }
        _ if seed % 8 == 2 => pen.scaled_parts(),
        _ if seed % 8 == 4 => {
            pen.product(2);
            pen.draft.set("arch", "sm_90a");
            pen.persistent();
        }
        _ => pen.gemm(),
    }
    pen.extras(family);
    pen.draft
}

/// A spec in the making.
struct Pen {
    rng: StdRng,
    draft: Draft,
}

impl Pen {
    fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        of.choose(&mut self.rng).cloned()
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// A power of two between two powers.
    fn power(&mut self, powers: std::ops::RangeInclusive<u32>) -> i64 {
        1 << self.rng.random_range(powers)
    }

    fn arch(&mut self, least: u32, percent_newest: u32) {
        let newest = self.chance(percent_newest);
        let fits = |arch: &&Arch| arch.sm >= least && (arch.exact || !newest);
        let names: Vec<&str> = ARCHES.iter().filter(fits).map(|arch| arch.name).collect();
        let name = self.pick(&names).unwrap_or("sm_80");
        self.draft.set("arch", name);
    }

    /// An operand's key `layout`: rows or columns contiguous, or neither, with names or numbers; or
    /// as the plan likes.
    fn layout(&mut self, operand: &str, extents: [&str; 2], rows: bool) {
        if self.chance(8) {
            let text = format!("({}):packed", extents.join(","));
            return self.draft.set(&format!("operands.{operand}.layout"), text);
        }
        let named = |prefix: &str| format!("{prefix}{operand}");
        let strides = match self.rng.random_range(0..100) {
            0..70 if rows => [named("ld"), "1".into()],
            0..70 => ["1".into(), named("ld")],
            70..80 => [named("rs"), named("cs")],
            _ => {
                let number = self.pick(&STRIDES).unwrap_or(1).to_string();
                let other = if self.chance(80) {
                    "1".to_owned()
                } else {
                    self.pick(&STRIDES).unwrap_or(1).to_string()
                };
                if rows {
                    [number, other]
                } else {
                    [other, number]
                }
            }
        };
        let [row, column] = strides;
        let text = format!("({}):({row},{column})", extents.join(","));
        self.draft.set(&format!("operands.{operand}.layout"), text);
    }

    fn copy(&mut self) {
        self.arch(70, 15);
        let narrow = self.chance(10);
        let fits = |dtype: &&DType| narrow || dtype.bytes() > 1;
        let dtypes: Vec<DType> = DTYPES.iter().filter(fits).copied().collect();
        let dtype = self.pick(&dtypes).unwrap_or(DType::F32);
        let rows = self.chance(75);
        let turned = self.chance(20);
        for (operand, rows) in [("s", rows), ("d", rows != turned)] {
            self.draft
                .set(&format!("operands.{operand}.dtype"), dtype.text());
            self.layout(operand, ["m", "n"], rows);
        }
        let odd = if self.chance(12) { 3 } else { 1 };
        let mut tile = [self.power(0..=6) * odd, self.power(4..=9)];
        if !rows {
            tile.reverse();
        }
        self.draft
            .set("cta_tile", format!("({},{})", tile[0], tile[1]));
        // No more threads than there are vectors of 16 bytes, but for a few specs.
        let vectors = tile[0] * tile[1] * i64::from(dtype.bytes()) / 16;
        let most = vectors.clamp(32, 1024).ilog2();
        if self.chance(25) || (vectors < 256 && self.chance(92)) {
            let threads = self.power(5..=most).to_string();
            self.draft.set("threads", threads);
        }
        if self.chance(25) {
            self.draft.set("copy.s.g2s", "auto");
        }
    }

    /// A copy of three to five modes in any order. Tiles cut what either side is contiguous along.
    fn permutation(&mut self) {
        self.arch(70, 15);
        let dtype = self.pick(DTYPES).unwrap_or(DType::F32);
        let mut modes = vec!["a", "b", "c", "e", "f"];
        modes.truncate(self.rng.random_range(3..=5));
        let source = modes.clone();
        let stays = if self.chance(60) { 1 } else { 0 };
        let free = modes.len() - stays;
        modes[..free].shuffle(&mut self.rng);
        for (operand, axes) in [("s", &source), ("d", &modes)] {
            self.draft
                .set(&format!("operands.{operand}.dtype"), dtype.text());
            let named = (1..axes.len()).map(|axis| format!("s{axis}{operand}"));
            let mut strides: Vec<String> = named.chain(["1".to_owned()]).collect();
            if self.chance(20)
                && let (Some(stride), Some(slot)) = (self.pick(&STRIDES), strides.last_mut())
            {
                *slot = stride.to_string();
            }
            let text = format!("({}):({})", axes.join(","), strides.join(","));
            self.draft.set(&format!("operands.{operand}.layout"), text);
        }
        let (to, from) = (modes.join(","), source.join(","));
        self.draft.set("kernel", "permute");
        self.draft.set("compute", format!("d[{to}] = s[{from}]"));
        let first = source.last();
        let second = modes.iter().rev().find(|mode| Some(*mode) != first);
        for mode in first.into_iter().chain(second) {
            let extent = self.power(3..=6).to_string();
            self.draft.set(&format!("cta_tile.{mode}"), extent);
        }
    }

    /// Rows or columns of a matrix where a table says, read there or written.
    fn looked_up(&mut self) {
        self.arch(70, 15);
        let dtype = self.pick(DTYPES).unwrap_or(DType::F32);
        let (is_read, axis) = (self.chance(50), usize::from(self.chance(30)));
        let own = ["m", "n"];
        let (mut modes, mut places) = (own.map(str::to_owned), own.map(str::to_owned));
        modes[axis] = "r".to_owned();
        places[axis] = format!("table[{}]", own[axis]);
        let name = |looked_into: bool| if looked_into == is_read { "s" } else { "d" };
        let all = [(name(true), modes), (name(false), own.map(str::to_owned))];
        for (operand, modes) in all {
            let path = format!("operands.{operand}");
            self.draft.set(&format!("{path}.dtype"), dtype.text());
            let leading = match self.chance(20) {
                true => self.pick(&STRIDES).map(|stride| stride.to_string()),
                false => None,
            };
            let leading = leading.unwrap_or_else(|| format!("ld{operand}"));
            let strides = match self.chance(80) {
                true => format!("{leading},1"),
                false => format!("1,{leading}"),
            };
            let text = format!("({}):({strides})", modes.join(","));
            self.draft.set(&format!("{path}.layout"), text);
        }
        self.draft.set("operands.table.dtype", "s32");
        let stride = if self.chance(80) { 1 } else { 3 };
        let layout = format!("({}):({stride})", own[axis]);
        self.draft.set("operands.table.layout", layout);
        let (there, here) = (places.join(","), own.join(","));
        let [to, from] = match is_read {
            true => [here, there],
            false => [there, here],
        };
        self.draft.set("kernel", "move");
        self.draft.set("compute", format!("d[{to}] = s[{from}]"));
        for mode in own {
            let extent = self.power(2..=7).to_string();
            self.draft.set(&format!("cta_tile.{mode}"), extent);
        }
    }

    /// Element types that products are made of, mostly some that the way is good at.
    fn rule(&mut self, way: usize) -> Option<&'static TypeRule> {
        let facts = FormKind::Contraction.facts();
        let any = self.chance(12);
        let good = |rule: &&TypeRule| match way {
            0 => matches!(rule.both(), Some(DType::F32 | DType::F16 | DType::BF16)),
            1 => !rule
                .both()
                .is_none_or(|one| [DType::F32, DType::TF32].contains(&one)),
            _ => rule.both() != Some(DType::F32),
        };
        let fits = |rule: &&TypeRule| any || good(rule);
        let rules: Vec<&'static TypeRule> = facts.types.iter().filter(fits).collect();
        self.pick(&rules)
    }

    /// The key without which sums of 8-bit floats on tensor cores are refused.
    fn fast_sums(&mut self, rule: &TypeRule) {
        let known = keys("gemm").iter().find(|key| key.path == "accumulation");
        if let (Some(key), true) = (known, rule.is_of_float8())
            && self.chance(80)
        {
            let value = self.value(key);
            self.draft.set(&key.path, value);
        }
    }

    fn gemm(&mut self) {
        let way = self.rng.random_range(0..3);
        self.product(way);
    }

    /// Element by element, with asynchronous copies, or with tensor maps.
    fn product(&mut self, way: usize) {
        let Some(rule) = self.rule(way) else { return };
        let [a, b] = rule.factors;
        let output = self.pick(rule.outputs).unwrap_or(a);
        let bytes = i64::from(a.bytes());
        self.arch([70, 80, 90][way], [10, 15, 90][way]);
        let k_major = match way {
            0 => 50,
            1 => 90,
            _ if bytes == 2 => 70,
            _ => 95,
        };
        for (operand, dtype, extents) in [("a", a, ["m", "k"]), ("b", b, ["n", "k"])] {
            let rows = self.chance(k_major);
            self.draft
                .set(&format!("operands.{operand}.dtype"), dtype.text());
            self.layout(operand, extents, rows);
        }
        self.draft.set("operands.d.dtype", output.text());
        let rows = self.chance(90);
        self.layout("d", ["m", "n"], rows);
        self.draft.set("accumulator", rule.accumulator.text());
        self.fast_sums(rule);
        let [m, n, k] = match way {
            0 => [self.power(5..=7), self.power(5..=7), self.power(3..=5)],
            1 => [
                self.power(5..=7),
                self.power(5..=7),
                self.power(6..=7) / bytes,
            ],
            _ => {
                let n = if self.chance(60) {
                    self.power(5..=8)
                } else {
                    8 * self.power(0..=5)
                };
                [64 * self.power(0..=1), n, self.power(6..=7) / bytes]
            }
        };
        let odd = if self.chance(8) { 3 } else { 1 };
        self.draft.set("cta_tile", format!("({m},{},{k})", n * odd));
        if self.chance(20) {
            let schedule = ["multistage", "cooperative", "pingpong"][way];
            self.draft.set("pipeline.schedule", schedule);
        }
        if way == 1 {
            self.alike();
        }
    }

    /// A kernel whose warps are all alike has its tiles cut along k, or not.
    fn alike(&mut self) {
        let keys: [(u32, &str, &[&str]); 3] = [
            (35, "scheduler.kind", &["stream_k", "stream_k", "single"]),
            (20, "scheduler.raster", &RASTERS),
            (10, "scheduler.ctas", &["1", "3", "7"]),
        ];
        self.some_of(&keys);
    }

    /// Further modes of the operands of a product, of each of them some, wherever.
    fn batched(&mut self) {
        let mut batch = vec!["x", "y", "z"];
        batch.truncate(self.rng.random_range(1..=3));
        let mut element = Vec::new();
        let mut shared = Vec::new();
        for operand in ["a", "b", "d"] {
            let mut own = batch.clone();
            own.retain(|mode| match operand {
                "d" => shared.contains(mode),
                _ => self.chance(70),
            });
            shared.extend(own.iter().copied());
            let path = format!("operands.{operand}.layout");
            let layout = self.draft.get(&path).unwrap_or_default().to_owned();
            let Some((modes, strides)) = layout.split_once(':') else {
                continue;
            };
            let matrix = |text: &str| -> Vec<String> {
                let bare = text.trim_matches(['(', ')']);
                bare.split(',').map(str::to_owned).collect()
            };
            let (mut modes, mut strides) = (matrix(modes), matrix(strides));
            for mode in own {
                // Before the matrix, or between its modes.
                let at = usize::from(self.chance(20));
                modes.insert(at, mode.to_owned());
                if strides.len() > 1 {
                    strides.insert(at, format!("{mode}{operand}"));
                }
            }
            let modes = modes.join(",");
            let strides = match strides.as_slice() {
                [packed] => packed.clone(),
                strides => format!("({})", strides.join(",")),
            };
            self.draft.set(&path, format!("({modes}):{strides}"));
            element.push(format!("{operand}[{modes}]"));
        }
        if let [a, b, d] = &element[..] {
            let compute = format!("{d} = sum[k] {a} * {b}");
            self.draft.set("kernel", "bmm");
            self.draft.set("compute", compute);
        }
        let tile = self.draft.get("cta_tile").unwrap_or_default().to_owned();
        let tile = tile.trim_matches(['(', ')']).split(',');
        for (mode, extent) in ["m", "n", "k"]
            .iter()
            .zip(tile.map(str::to_owned).collect::<Vec<_>>())
        {
            self.draft.set(&format!("cta_tile.{mode}"), extent);
        }
        // The type of a sum is written in a formula.
        let of_default = ["cta_tile", "accumulator"];
        let keeps = |(path, _): &(String, String)| !of_default.contains(&path.as_str());
        self.draft.keys.retain(keeps);
    }

    /// Sums of parts of products, scaled by rows, columns, blocks of columns or elements; with a
    /// batch or without.
    fn scaled_parts(&mut self) {
        self.draft.set("arch", "sm_90a");
        let inputs = self.pick(&["e4m3", "e5m2", "bf16", "s8"]);
        let inputs = inputs.unwrap_or("e4m3");
        let part = self.power(5..=7) / if inputs == "bf16" { 2 } else { 1 };
        let (batch, blocks) = (self.chance(50), self.chance(60));
        let shares_b = self.chance(50);
        let [own, other] = [batch, batch && !shares_b].map(|own| if own { "z," } else { "" });
        let columns = if blocks { "h,j" } else { "n" };
        let to = format!("{own}m,{columns}");
        let a = format!("a[{own}m,g,i]");
        let b = format!("b[{other}{columns},g,i]");
        let d = format!("d[{to}]");
        let mut scales = vec![
            format!("r[{own}m,g]"),
            format!("c[{other}{columns},g]"),
            format!("e[{own}m,{columns},g]"),
        ];
        scales.extend(blocks.then(|| format!("s[{other}h,g]")));
        scales.shuffle(&mut self.rng);
        scales.truncate(self.rng.random_range(1..=2));
        let output = if inputs == "s8" { "f32" } else { "bf16" };
        let typed = [(&a, inputs), (&b, inputs), (&d, output)];
        let typed = typed
            .into_iter()
            .chain(scales.iter().map(|one| (one, "f32")));
        for (read, dtype) in typed {
            let Some((name, modes)) = read.trim_end_matches(']').split_once('[') else {
                continue;
            };
            let path = format!("operands.{name}");
            self.draft.set(&format!("{path}.dtype"), dtype);
            self.draft
                .set(&format!("{path}.layout"), format!("({modes})"));
        }
        let scale = match self.chance(50) {
            true => format!("({})", scales.join(" * ")),
            false => scales.join(" * "),
        };
        let result = match self.chance(30) {
            true => format!("max(acc[{to}], 0)"),
            false => format!("acc[{to}]"),
        };
        let sums = if inputs == "s8" { "s32" } else { "f32" };
        let compute = format!(
            "p[{to},g]: {sums} = sum[i] {a} * {b}; acc[{to}]: f32 = sum[g] p[{to},g] * {scale}; \
             {d} = {result}"
        );
        self.draft.set("kernel", "scaled");
        self.draft.set("compute", compute);
        if inputs.starts_with('e') {
            self.draft.set("accumulation", "fast");
        }
        self.schedule_of_parts(part, blocks);
    }

    /// The tile of sums of parts of so many elements, and now and then who computes it in which
    /// order.
    fn schedule_of_parts(&mut self, part: i64, blocks: bool) {
        let width = (8 * self.power(0..=4)).to_string();
        let part = part.to_string();
        self.draft.set("modes.i", part.clone());
        let across = match blocks {
            true => {
                self.draft.set("modes.j", width.clone());
                "j"
            }
            false => "n",
        };
        let rows = 64 * self.rng.random_range(1..=4);
        self.draft.set("cta_tile.m", rows.to_string());
        self.draft.set(&format!("cta_tile.{across}"), width);
        self.draft.set("cta_tile.i", part);
        let keys: [(u32, &str, &[&str]); 3] = [
            (50, "pipeline.schedule", &["cooperative", "pingpong"]),
            (40, "scheduler.raster", &RASTERS),
            (30, "cluster", &["(2,1,1)", "(1,2,1)"]),
        ];
        self.some_of(&keys);
    }

    /// Who computes which tile when, in a kernel with a producer.
    fn persistent(&mut self) {
        let clusters = [
            "(2,1,1)", "(1,2,1)", "(2,2,1)", "(4,1,1)", "(1,1,1)", "(1,1,2)", "(1,1,5)",
        ];
        let realign: &[&str] = &["workspace", "transposed", "direct"];
        let keys: [(u32, &str, &[&str]); 10] = [
            (15, "copy.a.realign", realign),
            (15, "copy.b.realign", realign),
            (15, "copy.d.realign", realign),
            (60, "pipeline.schedule", &["cooperative", "pingpong"]),
            (70, "scheduler.raster", &RASTERS),
            (60, "scheduler.kind", &["persistent", "stream_k"]),
            (35, "cluster", &clusters),
            (30, "pipeline.stages", &["1", "2", "3", "4", "6"]),
            (25, "scheduler.ctas", &["1", "2", "5", "7", "64"]),
            (40, "mma.operands", &["ba", "ba", "ab"]),
        ];
        self.some_of(&keys);
    }

    /// Of a hundred specs so many with one of the values of each key.
    fn some_of(&mut self, keys: &[(u32, &str, &[&str])]) {
        for &(percent, key, values) in keys {
            if self.chance(percent)
                && let Some(value) = self.pick(values)
            {
                self.draft.set(key, value);
            }
        }
    }

    /// Optional keys beyond those, few in most specs, and now and then a tuning space.
    fn extras(&mut self, family: &str) {
        let optional = keys(family).iter().filter(|key| !key.required);
        let optional: Vec<&Key> = optional.collect();
        let count = match self.rng.random_range(0..100) {
            0..40 => 0,
            40..68 => 1,
            68..85 => 2,
            85..94 => 3,
            _ => self.rng.random_range(4..9),
        };
        for _ in 0..count {
            let Some(key) = self.pick(&optional) else {
                return;
            };
            let value = self.value(key);
            self.draft.set(&key.path, value);
        }
        if self.chance(10) {
            self.tune(family);
        }
    }

    fn tune(&mut self, family: &str) {
        let tunable = keys(family).iter().filter(|key| key.tunable);
        let tunable: Vec<&Key> = tunable.filter(|key| key.path != "cta_tile").collect();
        for _ in 0..self.rng.random_range(1..3) {
            let Some(key) = self.pick(&tunable) else {
                return;
            };
            let mut values = vec![self.value(key), self.value(key)];
            values.dedup();
            if !self.draft.tune.iter().any(|(path, _)| *path == key.path) {
                self.draft.tune.push((key.path.clone(), values));
            }
        }
    }

    /// A value of the key; of atoms mostly one that the architecture has.
    fn value(&mut self, key: &Key) -> String {
        let arch = self.draft.get("arch").and_then(Arch::parse);
        let fitting = key.fitting(arch);
        let fitting: Vec<String> = fitting.into_iter().map(str::to_owned).collect();
        let of = if self.chance(85) {
            &fitting
        } else {
            &key.values
        };
        self.pick(of).unwrap_or_else(|| "auto".to_owned())
    }
}
