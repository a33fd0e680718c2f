//! What each technique brought: the rungs of `bench/ladder`, one beside another.
//!
//! In: rows of kernels of the specs `ladder_<number>_<technique>`. Out: a Markdown table and a
//! plot, with the rate of the peer's fastest candidate as a line. Of several rows of a rung, a
//! problem and a mode the last counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use svg::node::element::{Group, Style, Title};

use crate::drawing::{line, page, rectangle, words};
use crate::{Error, Extents, Row, parse};

/// Beginning of the names of the ladder's specs.
const PREFIX: &str = "ladder_";

/// A problem as rows name it, ordered by size.
type Problem = (Extents, String);

/// Rungs under one mode on one GPU.
struct Panel {
    gpu: String,
    mode: String,
    problems: Vec<(Problem, String)>,
    /// Name and, for each problem, the row.
    rungs: Vec<(String, Vec<Option<Row>>)>,
}

/// The number and the technique of a kernel of the ladder.
fn rung(kernel: &str) -> Option<(u32, String)> {
    let spec = kernel.split('@').next()?;
    let (number, technique) = spec.strip_prefix(PREFIX)?.split_once('_')?;
    Some((number.parse().ok()?, technique.replace('_', " ")))
}

fn panels(rows: &str) -> Result<Vec<Panel>, Error> {
    type Rungs = BTreeMap<(u32, String), BTreeMap<Problem, Row>>;
    let mut by_mode: BTreeMap<(String, String), Rungs> = BTreeMap::new();
    for row in parse(rows)? {
        let Some(rung) = rung(&row.kernel) else {
            continue;
        };
        let rungs = by_mode.entry((row.gpu.clone(), row.mode.clone()));
        let problem = (row.problem.clone(), row.layout.clone());
        let rows = rungs.or_default().entry(rung).or_default();
        rows.insert(problem, row);
    }
    let panels = by_mode.into_iter().map(|((gpu, mode), rungs)| {
        let all: BTreeSet<&Problem> = rungs.values().flat_map(BTreeMap::keys).collect();
        let name_of = |problem: &Problem| {
            let mut rows = rungs.values().filter_map(|rows| rows.get(problem));
            rows.next().map(Row::problem).unwrap_or_default()
        };
        let problems: Vec<(Problem, String)> = all
            .into_iter()
            .map(|problem| (problem.clone(), name_of(problem)))
            .collect();
        let rungs = rungs.iter().map(|((number, technique), rows)| {
            let rows = problems
                .iter()
                .map(|(problem, _)| rows.get(problem).cloned());
            (format!("{number} {technique}"), rows.collect())
        });
        Panel {
            gpu,
            mode,
            rungs: rungs.collect(),
            problems,
        }
    });
    Ok(panels.collect())
}

impl Panel {
    /// The rate of the peer's fastest candidate on a problem: the median over the rungs' rows.
    fn peer(&self, problem: usize) -> Option<f64> {
        let rows = self
            .rungs
            .iter()
            .filter_map(|(_, rows)| rows.get(problem)?.as_ref());
        let rate = |row: &Row| Some(row.tflops / row.ratio_best.filter(|ratio| *ratio > 0.0)?);
        let mut rates: Vec<f64> = rows.filter_map(rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }
}

/// One Markdown table for each GPU and mode: the rungs in order, with their rate, their ratio over
/// the peer's best, and the rate over that of the rung before.
///
/// # Errors
/// [`Error`] with the first line that is no row.
pub fn markdown(rows: &str) -> Result<String, Error> {
    let mut text = String::new();
    for panel in panels(rows)? {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "### The ladder on {}, {}\n", panel.gpu, panel.mode);
        text.push_str("| rung |");
        for (_, problem) in &panel.problems {
            let _ = write!(
                text,
                " {problem}: TFLOP/s | over best | over the rung before |"
            );
        }
        text.push_str("\n|---|");
        text.push_str(&"---:|---:|---:|".repeat(panel.problems.len()));
        text.push('\n');
        let mut before: Vec<Option<f64>> = vec![None; panel.problems.len()];
        for (name, rows) in &panel.rungs {
            let _ = write!(text, "| {name} |");
            for (row, before) in rows.iter().zip(&mut before) {
                let Some(row) = row else {
                    text.push_str(" - | - | - |");
                    continue;
                };
                let best = crate::ratio(row.ratio_best, row.ratio_spread);
                let gain = crate::ratio(before.map(|before| row.tflops / before), None);
                let _ = write!(text, " {:.1} | {best} | {gain} |", row.tflops);
                *before = Some(row.tflops);
            }
            text.push('\n');
        }
        text.push_str("| *the peer's best* |");
        for problem in 0..panel.problems.len() {
            let rate = panel.peer(problem);
            let rate = rate.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
            let _ = write!(text, " {rate} | | |");
        }
        text.push_str("\n\n");
    }
    Ok(text)
}

const MARGIN: f64 = 24.0;
const NAME: f64 = 170.0;
const PLOT: f64 = 620.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
const LINE: f64 = 22.0;
/// Rates between two marks of the scale, in TFLOP/s.
const MARK: f64 = 100.0;
const FILLS: [&str; 4] = ["#9EC1F0", "#FFBE7D", "#9DD98F", "#CDB2E2"];
const STROKES: [&str; 4] = ["#2b5fa8", "#b8681a", "#3c7f2e", "#6d4691"];

const STYLE: &str = "\
.tw text { font-family: 'DejaVu Sans', Helvetica, Arial, sans-serif; font-size: 12px; \
fill: #1f2430 }
.tw .title { font-size: 15px; font-weight: 600 }
.tw .name { text-anchor: end }
.tw .mark { font-size: 10px; fill: #7a8194; text-anchor: middle }
.tw .rate { font-size: 10px }
.tw .scale { stroke: #e4e6ec }
.tw .peer { stroke-width: 2; stroke-dasharray: 5 3 }
.tw .ground { fill: #ffffff }
@media (prefers-color-scheme: dark) {
.tw text { fill: #e6e9f0 }
.tw .mark { fill: #a0a8ba }
.tw .rate { fill: #1f2430 }
.tw .scale { stroke: #333a48 }
.tw .ground { fill: #161a22 }
}";

/// The plot: a panel for each GPU and mode, a group of bars for each rung, a bar for each problem,
/// and the peer's best as a dashed line in the colour of its problem.
///
/// # Errors
/// [`Error`] with the first line that is no row.
pub fn plot(rows: &str) -> Result<String, Error> {
    let panels = panels(rows)?;
    let (mut group, mut y) = (Group::new(), MARGIN);
    for panel in &panels {
        let (drawn, height) = draw(panel, y);
        group = group.add(drawn);
        y += height;
    }
    let (width, height) = (2.0 * MARGIN + NAME + PLOT + 60.0, y + MARGIN);
    let document = page(width, height)
        .add(Style::new(STYLE))
        .add(rectangle([0.0, 0.0], [width, height]).set("class", "ground"))
        .add(group);
    Ok(format!("{document}\n"))
}

/// A panel that starts at `y`, and its height.
fn draw(panel: &Panel, y: f64) -> (Group, f64) {
    let problems = panel.problems.len().max(1);
    let peers: Vec<Option<f64>> = (0..problems).map(|at| panel.peer(at)).collect();
    let rates = panel
        .rungs
        .iter()
        .flat_map(|(_, rows)| rows.iter().flatten());
    let rates = rates
        .map(|row| row.tflops)
        .chain(peers.iter().flatten().copied());
    let top = (rates.fold(MARK, f64::max) / MARK).ceil() * MARK;
    let left = MARGIN + NAME + 8.0;
    let at = |rate: f64| left + rate / top * PLOT;
    let title = format!("TFLOP/s on {}, {}", panel.gpu, panel.mode);
    let mut group = Group::new().add(words(&title, "title", [MARGIN, y + 12.0]));
    let mut y_now = y + LINE;
    for (number, ((_, problem), peer)) in panel.problems.iter().zip(&peers).enumerate() {
        let key = rectangle([left, y_now], [BAR, BAR]).set("fill", FILLS[number % FILLS.len()]);
        let peer = peer.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        let said = format!("{problem}; dashed: the peer's best, {peer}");
        let said = words(&said, "key", [left + BAR + 5.0, y_now + 11.0]);
        group = group.add(key).add(said);
        y_now += LINE;
    }
    y_now += LINE;
    let first = y_now;
    let height = panel.rungs.len() as f64 * (problems as f64 * BAR + GAP);
    for mark in 0..=(top / MARK) as u32 {
        let rate = f64::from(mark) * MARK;
        let scale = line([at(rate), first - 4.0], [at(rate), first + height]).set("class", "scale");
        group = group.add(scale);
        group = group.add(words(&format!("{rate}"), "mark", [at(rate), first - 8.0]));
    }
    for (name, rows) in &panel.rungs {
        let middle = y_now + problems as f64 * BAR / 2.0 + 4.0;
        group = group.add(words(name, "name", [left - 8.0, middle]));
        for (number, row) in rows.iter().enumerate() {
            if let Some(row) = row {
                let said = format!(
                    "{} on {}: {:.1} TFLOP/s",
                    row.kernel,
                    row.problem(),
                    row.tflops
                );
                let bar = rectangle([left, y_now], [at(row.tflops) - left, BAR - 1.0]);
                let bar = bar.set("fill", FILLS[number % FILLS.len()]);
                group = group.add(Group::new().add(Title::new(said)).add(bar));
                // Where a bar begins, no peer's line crosses its number.
                let rate = format!("{:.0}", row.tflops);
                group = group.add(words(&rate, "rate", [left + 4.0, y_now + 10.0]));
            }
            y_now += BAR;
        }
        y_now += GAP;
    }
    for (number, peer) in peers.iter().enumerate() {
        if let Some(peer) = peer {
            let peer = line([at(*peer), first - 4.0], [at(*peer), first + height]);
            let stroke = STROKES[number % STROKES.len()];
            group = group.add(peer.set("class", "peer").set("stroke", stroke));
        }
    }
    (group, y_now + LINE - y)
}
