//! How fast each class of kernels is beside its peer: the picture of README.
//!
//! In: rows, and the ids of the kernels that are shipped, as `ptx.lock` has them. Those rows count
//! that are sustained, of one of these kernels, and beside cuBLASLt, whose kernel PyTorch's
//! `scaled_mm` is as well, torch.compile or memcpy. Out: a plot with a bar for each class: the
//! geometric mean over its problems of the peer's time over ours, and a line from the least to the
//! most. Of several rows of a kernel on a problem that one counts whose ratio is in the middle, of
//! two the lower, whatever the day, run or card; of several kernels of one function on a problem
//! the fastest; of cuBLASLt's default and the fastest of its candidates the faster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use svg::node::element::{Description, Group, Style, Title};

use crate::drawing::{line, page, rectangle, words};
use crate::{Error, Row, parse};

/// Who a kernel is measured beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Peer {
    CublasLt,
    TorchCompile,
    Memcpy,
}

impl Peer {
    const ALL: [Peer; 3] = [Peer::CublasLt, Peer::TorchCompile, Peer::Memcpy];

    fn of(row: &Row) -> Option<Peer> {
        let peer = row.peer.to_lowercase();
        let default = peer.ends_with(", default");
        // What does less than the kernel, or something else with as many bytes, is no peer.
        if peer.ends_with("of as many bytes") || peer.ends_with("the product alone") {
            return None;
        }
        // `scaled_mm` of PyTorch is cuBLASLt's kernel.
        let is_lt = peer.starts_with("cublaslt") || peer.starts_with("torch scaled_mm");
        if is_lt && !default {
            Some(Peer::CublasLt)
        } else if peer.starts_with("torch.compile") {
            Some(Peer::TorchCompile)
        } else if peer.starts_with("cumemcpy") {
            Some(Peer::Memcpy)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Peer::CublasLt => "cuBLASLt, the fastest of its default and candidates",
            Peer::TorchCompile => "torch.compile, max-autotune",
            Peer::Memcpy => "cuMemcpy",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Peer::CublasLt => "lt",
            Peer::TorchCompile => "torch",
            Peer::Memcpy => "memcpy",
        }
    }
}

/// A class beside a peer, with a row for each of its problems.
#[derive(Debug)]
struct Bar {
    peer: Peer,
    class: String,
    rows: Vec<Measured>,
}

/// A kernel on a problem, in one row or several.
#[derive(Clone, Debug)]
struct Measured {
    problem: String,
    kernel: String,
    times: Vec<Times>,
}

/// A row's times.
#[derive(Clone, Debug, Default)]
struct Times {
    day: String,
    peer: String,
    ours_us: f64,
    /// Above 1 where ours is faster.
    ratio: f64,
}

impl Measured {
    /// The row whose ratio is in the middle, of two in the middle the lower: a mean of two would
    /// say neither, and could hide a loss.
    fn median(&self) -> Times {
        let mut sorted = self.times.clone();
        sorted.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
        let middle = sorted.len().saturating_sub(1) / 2;
        sorted.get(middle).cloned().unwrap_or_default()
    }

    /// The median time, of two in the middle their mean: what the fastest kernel is chosen by.
    /// Times of different cards are not those of one contest: neither of two is the better judge.
    fn usual_us(&self) -> f64 {
        let mut sorted: Vec<f64> = self.times.iter().map(|times| times.ours_us).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        f64::midpoint(at(sorted.len().saturating_sub(1) / 2), at(sorted.len() / 2))
    }

    /// How far the rows are apart: `2 rows, 0.955 to 2.317`.
    fn spread(&self) -> String {
        match self.times.len() {
            1 => "1 row".to_owned(),
            rows => {
                let ratios = || self.times.iter().map(|times| times.ratio);
                let least = ratios().fold(f64::INFINITY, f64::min);
                let most = ratios().fold(0.0, f64::max);
                format!("{rows} rows, {least:.3} to {most:.3}")
            }
        }
    }
}

impl Bar {
    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().map(|row| row.median().ratio)
    }

    fn mean(&self) -> f64 {
        let logs: f64 = self.ratios().map(f64::ln).sum();
        (logs / self.rows.len().max(1) as f64).exp()
    }

    fn problems(&self) -> String {
        match self.rows.len() {
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        }
    }

    fn least(&self) -> f64 {
        self.ratios().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.ratios().fold(0.0, f64::max)
    }
}

/// What a row's class is called.
fn class(row: &Row) -> String {
    if let Some(family) = row.named_family() {
        return family.class.to_owned();
    }
    if row.family != "gemm" {
        return row.family.replace('_', " ");
    }
    let dtype = row.dtype.a.as_deref().unwrap_or("?");
    let how = match &row.kernel {
        name if name.contains("simt") => ", without tensor cores",
        name if !name.contains("sm90") => ", mma.sync",
        _ => "",
    };
    format!("{dtype} products{how}")
}

/// Words of a spec's name that say how it computes, not what.
const SCHEDULES: [&str; 10] = [
    "sm80",
    "sm89",
    "sm90",
    "wide",
    "widest",
    "narrow",
    "multicast",
    "boxed",
    "long",
    "longer",
];

/// The spec of a kernel, by name.
fn spec(kernel: &str) -> &str {
    kernel.split('@').next().unwrap_or(kernel)
}

/// What the kernels of a spec compute, as its name says: two that differ in more than how they
/// compute do not stand for each other.
fn function(kernel: &str) -> String {
    let words = spec(kernel).split('_');
    let words: Vec<&str> = words.filter(|word| !SCHEDULES.contains(word)).collect();
    words.join("_")
}

/// The ids of the kernels that are shipped.
pub type Shipped = BTreeSet<String>;

/// The ids in the text of `ptx.lock`: the first word of each line that is no comment.
pub fn shipped(lock: &str) -> Shipped {
    let lines = lock.lines().filter(|line| !line.starts_with('#'));
    let ids = lines.filter_map(|line| line.split_whitespace().next());
    ids.map(str::to_owned).collect()
}

fn bars(rows: &str, shipped: &Shipped) -> Result<(Vec<Bar>, String), Error> {
    type Kernels = BTreeMap<String, Measured>;
    let mut problems: BTreeMap<(Peer, String), BTreeMap<String, Kernels>> = BTreeMap::new();
    let mut gpu = String::new();
    let mut rows = parse(rows)?;
    rows.sort_by(|one, other| one.date.cmp(&other.date));
    for mut row in rows {
        let (Some(peer), Some(ratio)) = (Peer::of(&row), row.ratio_best) else {
            continue;
        };
        let ratio = row.ratio_default.map_or(ratio, |other| ratio.min(other));
        let counts = row.mode == "sustained" && !row.problem.is_padded();
        if !counts || ratio <= 0.0 || !shipped.contains(&row.kernel) {
            continue;
        }
        // Rows of before strides were written are of the same problems.
        row.problem.strides.clear();
        gpu.clone_from(&row.gpu);
        let key = format!(
            "{} {:?} {}",
            row.problem(),
            row.dtype.a,
            function(&row.kernel)
        );
        let of = problems.entry((peer, class(&row))).or_default();
        let kernels = of.entry(key).or_default();
        let problem = row.problem();
        let measured = kernels
            .entry(row.kernel.clone())
            .or_insert_with(|| Measured {
                problem,
                kernel: row.kernel,
                times: Vec::new(),
            });
        measured.times.push(Times {
            day: row.date.chars().take(10).collect(),
            peer: row.peer,
            ours_us: row.ours_us,
            ratio,
        });
    }
    let fastest = |kernels: Kernels| {
        let all = kernels.into_values();
        all.min_by(|one, other| one.usual_us().total_cmp(&other.usual_us()))
    };
    let bars = problems.into_iter().map(|((peer, class), problems)| Bar {
        peer,
        class,
        rows: problems.into_values().filter_map(fastest).collect(),
    });
    let mut bars: Vec<Bar> = bars.collect();
    bars.sort_by(|one, other| {
        let by_mean = other.mean().total_cmp(&one.mean());
        one.peer.cmp(&other.peer).then(by_mean)
    });
    Ok((bars, gpu))
}

const MARGIN: f64 = 20.0;
const NAME: f64 = 210.0;
const PLOT: f64 = 520.0;
const SAID: f64 = 130.0;
const LINE: f64 = 20.0;
const BAR: f64 = 13.0;
/// Colours of both schemes: a reader's own setting decides.
const STYLE: &str = "\
.tw text { font: 12px 'DejaVu Sans', Helvetica, Arial, sans-serif; fill: #1f2430 }
.tw .title { font-size: 15px; font-weight: 600 }
.tw .peer { font-weight: 600 }
.tw .name { text-anchor: end }
.tw .mark { font-size: 10px; fill: #626a7d; text-anchor: middle }
.tw .ground { fill: #ffffff }
.tw .scale { stroke: #dfe2e9 }
.tw .even { stroke: #1f2430; stroke-dasharray: 4 3 }
.tw .range { stroke: #1f2430; stroke-width: 1.5 }
.tw .lt { fill: #7fabe8 }
.tw .torch { fill: #f5ae66 }
.tw .memcpy { fill: #8ccf7d }
@media (prefers-color-scheme: dark) {
.tw text { fill: #e6e9f0 }
.tw .mark { fill: #a0a8ba }
.tw .ground { fill: #161a22 }
.tw .scale { stroke: #333a48 }
.tw .even, .tw .range { stroke: #e6e9f0 }
.tw .lt { fill: #3f6fb3 }
.tw .torch { fill: #b06a24 }
.tw .memcpy { fill: #47863a }
}";

/// What the bars are of: a row for each class and problem.
///
/// # Errors
/// [`Error`] with the first line that is no row.
pub fn markdown(rows: &str, shipped: &Shipped) -> Result<String, Error> {
    let (bars, _) = bars(rows, shipped)?;
    let mut text = String::from(
        "| class | problem | peer's time over ours | of | ours, us | kernel | measured | beside |\n\
         |---|---|---:|---|---:|---|---|---|\n",
    );
    for bar in &bars {
        let class = &bar.class;
        for row in &bar.rows {
            let (usual, spread) = (row.median(), row.spread());
            let Times {
                ours_us,
                ratio,
                day,
                peer,
            } = usual;
            let Measured {
                problem, kernel, ..
            } = row;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {class} | {problem} | {ratio:.3} | {spread} | {ours_us:.2} | {kernel} | {day} | \
                 {peer} |"
            );
        }
    }
    Ok(text)
}

/// The plot.
///
/// # Errors
/// [`Error`] with the first line that is no row.
pub fn plot(rows: &str, shipped: &Shipped) -> Result<String, Error> {
    let (bars, gpu) = bars(rows, shipped)?;
    let top = bars.iter().map(Bar::most).fold(1.0, f64::max);
    let top = (top * 2.0).ceil() / 2.0;
    let left = MARGIN + NAME + 8.0;
    let at = |ratio: f64| left + ratio / top * PLOT;
    let title = format!(
        "Peer's time over ours on {gpu}, sustained: geometric mean of each class, least to most"
    );
    let mut group = Group::new().add(words(&title, "title", [MARGIN, MARGIN + 12.0]));
    let first = MARGIN + 2.4 * LINE;
    let mut drawn = Group::new();
    let mut said = Vec::new();
    let mut y = first;
    for peer in Peer::ALL {
        let of_peer: Vec<&Bar> = bars.iter().filter(|bar| bar.peer == peer).collect();
        if of_peer.is_empty() {
            continue;
        }
        let heading = format!("beside {}", peer.name());
        drawn = drawn.add(words(&heading, "peer", [MARGIN, y + 11.0]));
        y += LINE;
        let begins = y;
        for bar in of_peer {
            let line = one(bar);
            drawn = drawn.add(draw(bar, &line, &at, y));
            said.push(line);
            y += LINE;
        }
        // Between the groups there is nothing but their headings.
        group = group.add(scale(top, &at, [begins - 3.0, y - 3.0]));
        y += LINE / 2.0;
    }
    for ratio in marks(top) {
        group = group.add(words(&format!("{ratio}"), "mark", [at(ratio), first - 8.0]));
    }
    let (width, height) = (left + PLOT + SAID + MARGIN, y + MARGIN);
    let ground = rectangle([0.0, 0.0], [width, height]);
    let document = page(width, height)
        .set("role", "img")
        .add(Title::new(title))
        .add(Description::new().add(svg::node::Text::new(said.join(". "))))
        .add(Style::new(STYLE))
        .add(ground.set("class", "ground"))
        .add(group)
        .add(drawn);
    Ok(format!("{document}\n"))
}

/// Where the scale has marks.
fn marks(top: f64) -> impl Iterator<Item = f64> {
    (0..=(top * 2.0) as u32).map(|mark| f64::from(mark) / 2.0)
}

/// The scale's lines behind the bars of a group.
fn scale(top: f64, at: &dyn Fn(f64) -> f64, [from, to]: [f64; 2]) -> Group {
    marks(top).fold(Group::new(), |group, ratio| {
        let class = if ratio == 1.0 { "even" } else { "scale" };
        group.add(line([at(ratio), from], [at(ratio), to]).set("class", class))
    })
}

/// A bar in words.
fn one(bar: &Bar) -> String {
    format!(
        "{} beside {}: {:.2} of {}, {:.2} to {:.2}",
        bar.class,
        bar.peer.name(),
        bar.mean(),
        bar.problems(),
        bar.least(),
        bar.most()
    )
}

/// A bar with its range, its name before it and its numbers at the right edge.
fn draw(bar: &Bar, said: &str, at: &dyn Fn(f64) -> f64, y: f64) -> Group {
    let left = at(0.0);
    let middle = y + BAR / 2.0;
    let body = rectangle([left, y], [at(bar.mean()) - left, BAR]);
    let range = line([at(bar.least()), middle], [at(bar.most()), middle]);
    let numbers = format!("{:.2}, {}", bar.mean(), bar.problems());
    Group::new()
        .add(Title::new(said))
        .add(words(&bar.class, "name", [left - 8.0, y + 11.0]))
        .add(body.set("class", bar.peer.class()))
        .add(range.set("class", "range"))
        .add(words(&numbers, "said", [left + PLOT + 8.0, y + 11.0]))
}
