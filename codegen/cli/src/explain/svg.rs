//! A kernel explained as a drawing: the pipeline's run, the map of shared memory, the occupancy.
//!
//! In: what is known. Out: one SVG document, light or dark as its reader has it. Each box says what
//! it is when pointed at; title and description are what a screen reader says.

use svg::node::element::{Group, Line, Text, Title};
use tilewright_codegen::certify::timeline::{Activity, Span, Timeline};
use tilewright_codegen::explain::smem_map::{Region, Use};

use super::bound::bound;
use super::cells::{Meaning, legend, model, sign};
use super::{Explained, formula};
use tilewright_layout_cli::page::{document, rectangle};
use tilewright_layout_cli::show::colour::{Shade, hex};

const MARGIN: u64 = 24;
const NAME: u64 = 92;
const LANE: u64 = 24;
const LINE: u64 = 20;
/// Width of a k tile on the tensor cores.
const K_TILE: u64 = 44;
/// Width of shared memory.
const MAP: u64 = 900;
/// Width of a character of a note.
const CHARACTER: u64 = 8;
/// Signs that a line of the legend explains, and the width of one with its box and words.
const SIGNS_PER_LINE: usize = 3;
const MEANING: u64 = 330;
/// Width of a box of the legend.
const BOX: u64 = 22;
/// Width of a character in a box.
const SMALL: u64 = 7;
/// Narrowest box that holds a sign.
const SIGN: u64 = 12;

const STYLE: &str = "\
.tw text { font-family: 'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace; \
font-size: 12px; fill: #1f2430 }
.tw .title { font-size: 15px; font-weight: 600 }
.tw .name { font-size: 13px; font-weight: 600 }
.tw .mark { font-size: 10px; fill: #626a7d }
.tw .sign { font-size: 10px; text-anchor: middle }
.tw .note { fill: #4a5164 }
.tw line { stroke: #e4e6ec }
.tw g rect { stroke: #ffffff; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
.tw > rect { fill: #161a22 }
.tw text { fill: #e6e9f0 }
.tw .sign { fill: #1f2430 }
.tw .mark { fill: #a0a8ba }
.tw .note { fill: #c3c9d6 }
.tw line { stroke: #333a48 }
.tw g rect { stroke: #161a22 }
}";

/// The document.
pub fn render(explained: &Explained) -> String {
    let mut page = Page {
        group: Group::new(),
        width: MAP + NAME,
        y: MARGIN,
    };
    let title = title(explained);
    page.words("title", &title);
    for statement in &explained.computes.formula {
        page.words("name", statement);
    }
    page.words("note", &explained.operands.join("; "));
    let mut said = explained.computes.formula.join("; ");
    if let Some(timeline) = &explained.timeline {
        let bound = bound(timeline);
        page.words("note", &bound);
        page.timeline(timeline);
        said = format!("{said}. {} {bound}", run(timeline));
    }
    page.map(explained);
    page.occupancy(explained);
    page.details(explained);
    let size = [page.width + 2 * MARGIN, page.y + MARGIN];
    document(size, STYLE, (&title, &said), page.group)
}

/// The kernel in a line.
fn title(explained: &Explained) -> String {
    let name = explained.point.split('@').next().unwrap_or_default();
    let tile: Vec<String> = explained.cta_tile.iter().map(i64::to_string).collect();
    let (arch, threads, tile) = (explained.arch, explained.threads, tile.join("x"));
    format!("{name} on {arch}: {threads} threads make a tile of {tile}")
}

/// The run in a line.
fn run(timeline: &Timeline) -> String {
    format!(
        "Run of CTA 0: {} tiles of {} k tiles, {} cycles, {}% of them with products.",
        timeline.tiles,
        timeline.k_tiles,
        timeline.cycles,
        100 * timeline.multiply_cycles / timeline.cycles.max(1)
    )
}

/// What is drawn so far, and where the next thing goes.
struct Page {
    group: Group,
    width: u64,
    y: u64,
}

impl Page {
    fn add(&mut self, node: impl Into<Box<dyn svg::Node>>) {
        let group = std::mem::take(&mut self.group);
        self.group = group.add(node);
    }

    /// A line of words.
    fn words(&mut self, class: &str, words: &str) {
        self.y += LINE;
        self.width = self.width.max(words.chars().count() as u64 * CHARACTER);
        self.add(text(words, class, MARGIN, self.y));
    }

    fn timeline(&mut self, timeline: &Timeline) {
        self.y += LINE / 2;
        self.words("name", &run(timeline));
        let unit = timeline.costs.k_tile_cycles.max(1);
        let at = |cycle: u64| MARGIN + NAME + cycle * K_TILE / unit;
        let end = at(timeline.cycles);
        self.width = self.width.max(end - MARGIN);
        let top = self.y + LINE;
        let bottom = top + LANE * timeline.lanes.len() as u64;
        for number in (0..=timeline.cycles / unit).step_by(2) {
            let x = at(number * unit);
            self.add(line([x, top], [x, bottom]));
            self.add(text(&(number * unit).to_string(), "mark", x, top - 4));
        }
        self.y = top;
        for lane in &timeline.lanes {
            self.add(text(&lane.name, "lane", MARGIN, self.y + 16));
            // Waits first: what runs meanwhile is drawn over them.
            let over = |span: &Span| span.activity == Activity::Multiply;
            let (upper, lower): (Vec<&Span>, Vec<&Span>) =
                lane.spans.iter().partition(|span| over(span));
            for span in lower.into_iter().chain(upper) {
                let (from, to) = (at(span.from), at(span.to));
                self.span(span, from, to.max(from + 1) - from);
            }
            self.y += LANE;
        }
        self.y += LINE / 2;
        for meanings in legend(timeline).chunks(SIGNS_PER_LINE) {
            self.y += LINE;
            for (meaning, column) in meanings.iter().zip(0..) {
                self.meaning(meaning, MARGIN + column * MEANING);
            }
        }
        self.width = self.width.max(SIGNS_PER_LINE as u64 * MEANING);
        self.y += LINE / 2;
    }

    /// A box of the legend, with its sign, and what it stands for.
    fn meaning(&mut self, meaning: &Meaning, x: u64) {
        let (fill, _) = look(&meaning.span);
        let shape = rectangle(x, self.y - 13, BOX, LINE - 3).set("fill", fill);
        let sign = text(&meaning.sign, "sign", x + BOX / 2, self.y);
        let words = text(meaning.means, "note", x + BOX + 6, self.y);
        self.add(Group::new().add(shape).add(sign).add(words));
    }

    /// How it is made, and what the clock counts.
    fn details(&mut self, explained: &Explained) {
        self.y += LINE / 2;
        self.words("name", &format!("Details of {}", explained.point));
        self.words("note", &formula::skeleton(&explained.computes));
        self.words("note", explained.computes.does);
        for socket in &explained.computes.sockets {
            let (place, expression, by) = (socket.place, &socket.expression, socket.by.join(", "));
            self.words("note", &format!("{place}: {expression} by {by}"));
        }
        self.words("note", &format!("grid {}", explained.grid));
        for part in &explained.roles {
            let (role, groups, registers) = (part.role, part.warpgroups, part.registers);
            let does = &part.does;
            let line = format!("{role}: {groups} x 128 threads, {registers} registers: {does}");
            self.words("note", &line);
        }
        let sentences = explained.timeline.iter();
        for sentence in sentences.flat_map(|timeline| model(&timeline.costs)) {
            self.words("note", &sentence);
        }
    }

    fn span(&mut self, span: &Span, x: u64, width: u64) {
        let (fill, sign) = look(span);
        let slot = span
            .slot
            .map_or(String::new(), |slot| format!(" slot {slot}"));
        let phase = span
            .phase
            .map_or(String::new(), |phase| format!(", parity {}", phase % 2));
        let k_tile = span
            .k_tile
            .map_or(String::new(), |k| format!(", k tile {k}"));
        let (tile, from, to) = (span.tile, span.from, span.to);
        let said = format!(
            "{:?}{slot}{phase}: tile {tile}{k_tile}, cycles {from} to {to}",
            span.activity
        );
        let shape = rectangle(x, self.y + 2, width, LANE - 4).set("fill", fill);
        let mut group = Group::new().add(Title::new(said)).add(shape);
        if width >= SIGN {
            group = group.add(text(&sign, "sign", x + width / 2, self.y + 16));
        }
        self.add(group);
    }

    fn map(&mut self, explained: &Explained) {
        self.y += LINE / 2;
        let all: u64 = explained
            .smem
            .iter()
            .map(|region| u64::from(region.bytes))
            .sum();
        let heading = format!("Shared memory: {} of {all} bytes", explained.smem_bytes);
        self.words("name", &heading);
        self.y += LINE / 2;
        let at = |byte: u32| MARGIN + u64::from(byte) * MAP / all.max(1);
        for region in &explained.smem {
            let x = at(region.offset_bytes);
            let width = at(region.offset_bytes + region.bytes).max(x + 1) - x;
            let (name, bytes, offset) = (&region.name, region.bytes, region.offset_bytes);
            let said = format!("{name}: {bytes} bytes at {offset}");
            let shape = rectangle(x, self.y, width, LANE).set("fill", ink(region));
            let mut group = Group::new().add(Title::new(said)).add(shape);
            if width >= name.chars().count() as u64 * SMALL {
                group = group.add(text(name, "sign", x + width / 2, self.y + 16));
            }
            self.add(group);
        }
        self.y += LANE;
        for region in &explained.smem {
            let (offset, bytes) = (region.offset_bytes, region.bytes);
            self.words("note", &format!("{offset:>7} {bytes:>7}  {}", region.name));
        }
    }

    fn occupancy(&mut self, explained: &Explained) {
        self.y += LINE / 2;
        let occupancy = &explained.occupancy;
        let [warps, most] = occupancy.warps;
        let ctas = match occupancy.ctas_per_sm {
            1 => "1 CTA".to_owned(),
            ctas => format!("{ctas} CTAs"),
        };
        let by = occupancy.limited_by();
        self.words(
            "name",
            &format!("Occupancy: {ctas} an SM, {warps} of {most} warps, limited by {by}"),
        );
        for limit in &occupancy.limits {
            let (what, of_cta, of_sm) = (limit.what, limit.of_cta, limit.of_sm);
            let line = format!("{what}: {of_cta} a CTA, {of_sm} an SM: {}", limit.ctas);
            self.words("note", &line);
        }
    }
}

fn text(words: &str, class: &str, x: u64, y: u64) -> Text {
    let text = Text::new(words).set("class", class).set("x", x);
    // Columns of numbers keep their blanks.
    text.set("y", y).set("xml:space", "preserve")
}

fn line([x1, y1]: [u64; 2], [x2, y2]: [u64; 2]) -> Line {
    Line::new()
        .set("x1", x1)
        .set("y1", y1)
        .set("x2", x2)
        .set("y2", y2)
}

fn of_slot(slot: Option<u32>) -> String {
    format!("#{}", hex(Shade::Bank(i64::from(slot.unwrap_or(0))).fill()))
}

/// Fill and sign of a span.
fn look(span: &Span) -> (String, String) {
    let sign = sign(span).to_string();
    let fill = match span.activity {
        Activity::Request | Activity::Load | Activity::Multiply | Activity::Reading => {
            of_slot(span.slot)
        }
        Activity::Acquire
        | Activity::Await
        | Activity::Turn
        | Activity::Queue
        | Activity::Drain => "#eef0f4".into(),
        Activity::StagingWait | Activity::Release => "#dfe3ea".into(),
        Activity::Convert | Activity::Stage => "#c9ced9".into(),
        Activity::Store => "#b3bac8".into(),
        Activity::Filling => "#f6f1dc".into(),
        Activity::Full => "#e3efd9".into(),
    };
    (fill, sign)
}

fn ink(region: &Region) -> String {
    match region.purpose {
        Use::Ring => of_slot(region.slot),
        Use::EpilogueLoads => "#b9d3c2".into(),
        Use::Staging => "#c9ced9".into(),
        Use::Scratch => "#d8c9a3".into(),
        Use::Barriers => "#1f2430".into(),
        Use::Gap | Use::Unused => "#f4f5f8".into(),
    }
}
