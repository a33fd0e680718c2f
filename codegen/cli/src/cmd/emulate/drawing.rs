//! A scene as a drawing.
//!
//! In: a scene, and the lines of the PTX. Out: one SVG document, light or dark as its reader has
//! it.
//! Moments have numbers, and a list below says what each is, so that it can be read on a narrow
//! screen.

use svg::node::element::{Circle, Group, Line, Path, Rectangle, Text, Title};
use tilewright_emulator::EventKind;

use super::scene::{Moment, Scene, Side, Span, word};
use tilewright_layout_cli::page::{cut, document, lines, rectangle, wide};

const WIDTH: u64 = 520;
const MARGIN: u64 = 12;
const LINE: u64 = 16;
/// Height of a lane with its name.
const LANE: u64 = 46;
/// From the top of a lane to its line.
const TRACK: u64 = 32;
/// Half of a mark, and the widest moment.
const HALF: u64 = 10;
const WIDEST: u64 = 60;

/// What marks mean.
const SIGNS: &str = "\
Below each mark is its step of the schedule. Squares access memory, diamonds are barriers and \
fences, circles asynchronous work, mbarriers and waits. Red is what the finding is about.";

const STYLE: &str = "\
.tw text { font-family: 'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace; \
font-size: 11px; fill: #1f2430 }
.tw .title { font-size: 13px; font-weight: 600 }
.tw .name { font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
.tw .note { fill: #4a5164 }
.tw .head { font-size: 10px; fill: #626a7d; text-anchor: middle }
.tw .sign { font-size: 10px; text-anchor: middle }
.tw line { stroke: #c9ced9 }
.tw .side { stroke: #b3261e; stroke-width: 3 }
.tw .pair { stroke: #b3261e; stroke-width: 2; stroke-dasharray: 4 3; fill: none }
@media (prefers-color-scheme: dark) {
.tw > rect { fill: #161a22 }
.tw text { fill: #e6e9f0 }
.tw .name { stroke: #161a22 }
.tw .sign { fill: #1f2430 }
.tw .head { fill: #a0a8ba }
.tw .note { fill: #c3c9d6 }
.tw line { stroke: #4a5164 }
.tw .side, .tw .pair { stroke: #ff6f61 }
}";

/// The document.
pub fn render(scene: &Scene, ptx: impl Fn(u32) -> String) -> String {
    let mut sheet = Sheet {
        group: Group::new(),
        y: MARGIN,
    };
    sheet.words("title", 13, &scene.title);
    for sentence in &scene.sentences {
        sheet.words("note", 11, sentence);
    }
    sheet.lanes(scene);
    sheet.list(scene, ptx);
    let (size, said) = ([WIDTH, sheet.y + MARGIN], scene.sentences.join(" "));
    document(size, STYLE, (&scene.title, &said), sheet.group)
}

/// What is drawn so far, and where the next thing goes.
struct Sheet {
    group: Group,
    y: u64,
}

impl Sheet {
    fn add(&mut self, node: impl Into<Box<dyn svg::Node>>) {
        let group = std::mem::take(&mut self.group);
        self.group = group.add(node);
    }

    /// Words in as many lines as they need.
    fn words(&mut self, class: &str, pixels: u64, words: &str) {
        for line in lines(words, WIDTH - 2 * MARGIN, pixels) {
            self.y += LINE;
            self.add(text(&line, class, MARGIN, self.y));
        }
    }

    fn lanes(&mut self, scene: &Scene) {
        self.y += LINE;
        let count = scene.moments.len().max(1) as u64;
        let each = WIDEST.min((WIDTH - 2 * MARGIN) / count);
        let x = |moment: usize| MARGIN + moment as u64 * each + each / 2;
        let top = self.y;
        for lane in 0..scene.lanes.len() as u64 {
            let y = top + lane * LANE + TRACK;
            self.add(line([MARGIN, y], [WIDTH - MARGIN, y]));
        }
        for span in &scene.spans {
            self.span(span, top, &x);
        }
        if let Some((before, _)) = scene.gap {
            let gap = x(before) - each / 2;
            let bottom = top + scene.lanes.len() as u64 * LANE;
            let gap = line([gap, top + 16], [gap, bottom]);
            self.add(gap.set("stroke-dasharray", "2 3"));
        }
        let y = |moment: &Moment| top + moment.lane as u64 * LANE + TRACK;
        let side = |side: Side| {
            let mut moments = scene.moments.iter().enumerate();
            moments.find(|(_, moment)| moment.side == Some(side))
        };
        if let (Some((from, earlier)), Some((to, later))) = (side(Side::Earlier), side(Side::Later))
        {
            let [x1, y1, x2, y2] = [x(from), y(earlier), x(to), y(later)];
            let path = format!("M{x1},{y1}L{x2},{y2}");
            self.add(Path::new().set("d", path).set("class", "pair"));
        }
        for (lane, name) in (0..).zip(&scene.lanes) {
            let name = cut(name, WIDTH - 2 * MARGIN, 11);
            self.add(text(&name, "name", MARGIN, top + lane * LANE + 14));
        }
        for (number, moment) in scene.moments.iter().enumerate() {
            self.mark(number + 1, moment, [x(number), y(moment)]);
        }
        self.y = top + scene.lanes.len() as u64 * LANE + LINE / 2;
        let widest = scene.moments.iter().map(|one| wide(&step(one), 10)).max();
        let apart = (widest.unwrap_or(0) + 6).div_ceil(each).max(1) as usize;
        for (number, moment) in scene.moments.iter().enumerate().step_by(apart) {
            let x = x(number).max(MARGIN + wide(&step(moment), 10) / 2);
            self.add(text(&step(moment), "head", x, self.y));
        }
        self.words("note", 11, SIGNS);
        if let Some((before, more)) = scene.gap {
            let gap = format!("{more} moments before moment {} are left out.", before + 1);
            self.words("note", 11, &gap);
        }
    }

    fn span(&mut self, span: &Span, top: u64, x: &impl Fn(usize) -> u64) {
        let y = top + span.lane as u64 * LANE + TRACK - HALF;
        let (from, end) = (x(span.from), WIDTH - MARGIN);
        let to = span.to.map_or(end, x).max(from + 4);
        let shape = rectangle(from, y, to - from, 2 * HALF).set("fill", fill(EventKind::Issue));
        self.add(match span.is_side {
            true => shape.set("class", "side"),
            false => shape,
        });
    }

    /// A mark with its number: a square of an access, a diamond of what orders threads, else a
    /// circle.
    fn mark(&mut self, number: usize, moment: &Moment, [x, y]: [u64; 2]) {
        let fill = fill(moment.event.kind);
        let class = if moment.side.is_some() || moment.is_stuck {
            "side"
        } else {
            "mark"
        };
        let group = Group::new().add(Title::new(said(moment)));
        let group = match moment.event.kind {
            EventKind::Access | EventKind::Other => group.add(square(x, y, fill, class)),
            EventKind::Barrier | EventKind::Fence => {
                let reach = HALF + 3;
                let (left, top) = (x.saturating_sub(reach), y - reach);
                let path = format!("M{x},{top}L{},{y}L{x},{}L{left},{y}Z", x + reach, y + reach);
                let path = Path::new().set("d", path).set("fill", fill);
                group.add(path.set("class", class))
            }
            _ => {
                let circle = Circle::new().set("cx", x).set("cy", y).set("r", HALF);
                group.add(circle.set("fill", fill).set("class", class))
            }
        };
        self.add(group.add(text(&number.to_string(), "sign", x, y + 4)));
    }

    /// What each moment is.
    fn list(&mut self, scene: &Scene, ptx: impl Fn(u32) -> String) {
        self.y += LINE / 2;
        for (number, moment) in scene.moments.iter().enumerate() {
            let side = match moment.side {
                Some(Side::Earlier) => ", the earlier side",
                Some(Side::Later) => ", where it was found",
                None => "",
            };
            let head = format!("{}. {}{side}", number + 1, said(moment));
            let class = if moment.side.is_some() { "name" } else { "" };
            self.words(class, 11, &head);
            let line = moment.event.line;
            let code = format!("   {line}: {}", ptx(line));
            self.y += LINE;
            let code = cut(&code, WIDTH - 2 * MARGIN, 11);
            self.add(text(&code, "note", MARGIN, self.y).set("xml:space", "preserve"));
        }
    }
}

/// A moment in words.
fn said(moment: &Moment) -> String {
    let event = &moment.event;
    let by = event.by;
    let lanes = match (event.hits, by.lanes) {
        (0, u32::MAX) => String::new(),
        (0, lanes) => format!(", lanes {lanes:#010x}"),
        (hits, _) if hits.count_ones() == 1 => format!(", lane {} there", hits.trailing_zeros()),
        (hits, _) => format!(", lanes {hits:#010x} there"),
    };
    let waits = if moment.is_stuck {
        ", waits for ever"
    } else {
        ""
    };
    let warp = super::scene::warp_of((by.cta, by.warp));
    format!(
        "{}, {warp}{lanes}{waits}, step {}",
        word(event.kind),
        step(moment)
    )
}

/// The steps of a moment.
fn step(moment: &Moment) -> String {
    match moment.event.until == moment.event.step {
        true => moment.event.step.to_string(),
        false => format!("{}-{}", moment.event.step, moment.event.until),
    }
}

fn square(x: u64, y: u64, fill: &str, class: &str) -> Rectangle {
    let square = rectangle(x.saturating_sub(HALF), y - HALF, 2 * HALF, 2 * HALF);
    square.set("fill", fill).set("class", class)
}

fn fill(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Access => "#9ec1f0",
        EventKind::Issue => "#8cd9d7",
        EventKind::Commit | EventKind::Arrive => "#cdb2e2",
        EventKind::Wait => "#f0d978",
        EventKind::Barrier => "#9dd98f",
        EventKind::Fence => "#fab8d6",
        EventKind::Exit | EventKind::Other => "#c9ced9",
    }
}

fn text(words: &str, class: &str, x: u64, y: u64) -> Text {
    let text = Text::new(words).set("x", x).set("y", y);
    if class.is_empty() {
        text
    } else {
        text.set("class", class)
    }
}

fn line([x1, y1]: [u64; 2], [x2, y2]: [u64; 2]) -> Line {
    let line = Line::new().set("x1", x1).set("y1", y1);
    line.set("x2", x2).set("y2", y2)
}
