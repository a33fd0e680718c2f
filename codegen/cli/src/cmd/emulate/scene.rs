//! What led to a finding, as a scene: lanes of warps and of asynchronous operations, moments from
//! left to right, the two sides of a conflict marked, and what stands between them.
//!
//! In: a finding, and the emulator's own history of it. Out: data that a drawing is made of.
//! Invariant: moments are in the order of the schedule, and what is left out is said.

use tilewright_emulator::{Event, EventKind, Finding, History, Operation, Threads};
use tilewright_lab::launch_file::Summary;

/// Most moments, and how many of them stand before a gap.
const MOST: usize = 20;
const BEFORE_A_GAP: usize = 6;
/// Moments before the first access, and before a finding that has no other side.
const BEFORE: usize = 3;
const ALONE: usize = 12;
/// Moments of each lane where nothing can go on.
const OF_A_LANE: usize = 2;
/// Most lanes of warps, and of operations.
const WARPS: usize = 8;
const OPERATIONS: usize = 4;

/// A scene.
pub struct Scene {
    /// What was found, where, and under which schedule.
    pub title: String,
    /// What is wrong, where, and what stands between.
    pub sentences: Vec<String>,
    /// Lanes from top to bottom.
    pub lanes: Vec<String>,
    /// Moments from left to right.
    pub moments: Vec<Moment>,
    /// Asynchronous operations.
    pub spans: Vec<Span>,
    /// The moment before which others are left out, and how many.
    pub gap: Option<(usize, usize)>,
}

/// A moment of a lane.
pub struct Moment {
    /// The lane.
    pub lane: usize,
    /// What happened.
    pub event: Event,
    /// Which side of the finding it is.
    pub side: Option<Side>,
    /// Whether the threads never go on behind it.
    pub is_stuck: bool,
}

/// A side of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What the other one is in conflict with.
    Earlier,
    /// What made the finding.
    Later,
}

/// An asynchronous operation, from moment to moment.
pub struct Span {
    /// Its lane.
    pub lane: usize,
    /// The moment that issued it, or the first one.
    pub from: usize,
    /// The moment behind which it was over; none of one that was not.
    pub to: Option<usize>,
    /// Whether it is a side of the finding.
    pub is_side: bool,
}

/// Who runs a lane: a warp of a CTA.
type Key = ([u32; 3], u32);

fn key(by: Threads) -> Key {
    (by.cta, by.warp)
}

/// An event with the number of its history: clusters run one after another.
#[derive(Clone, Copy)]
struct At {
    history: usize,
    event: Event,
}

/// The scene of a finding of a case.
pub fn scene(id: &str, summary: &Summary<'_>, histories: &[History]) -> Scene {
    let finding = summary.found;
    let all: Vec<At> = histories
        .iter()
        .enumerate()
        .flat_map(|(history, of)| of.events.iter().map(move |&event| At { history, event }))
        .collect();
    let later = later(finding, &all, histories);
    let operation = operation(finding, histories);
    let earlier = earlier(finding, &all, later, operation);
    let keys = keys(finding, &all, [earlier, later]);
    let (kept, gap) = thinned(chosen(finding, &all, &keys, [earlier, later]));
    let side = |at: usize| match at {
        at if Some(at) == later => Some(Side::Later),
        at if Some(at) == earlier => Some(Side::Earlier),
        _ => None,
    };
    let moment = |&at: &usize| {
        let lane = keys.iter().position(|one| *one == key(all[at].event.by))?;
        let event = all[at].event;
        let last = all
            .iter()
            .rposition(|one| key(one.event.by) == key(event.by));
        Some(Moment {
            lane,
            event,
            side: side(at),
            is_stuck: ends_all(finding) && event.waits && last == Some(at),
        })
    };
    let moments: Vec<Moment> = kept.iter().filter_map(moment).collect();
    let shown: Vec<At> = kept.iter().map(|at| all[*at]).collect();
    let mut lanes: Vec<String> = keys.iter().map(|key| warp_of(*key)).collect();
    let spans = spans(finding, (histories, operation), &shown, &mut lanes);
    let ends = [earlier, later].map(|at| at.and_then(|at| all.get(at)));
    let between = between(&all, [earlier, later]);
    Scene {
        title: format!(
            "{}: {} under {}",
            id,
            summary.finding.id,
            summary.schedules.first().copied().unwrap_or_default()
        ),
        sentences: sentences(summary, ends, between),
        lanes,
        moments,
        spans,
        gap,
    }
}

/// Whether a finding is that nothing goes on, of no access of one warp.
fn ends_all(finding: &Finding) -> bool {
    use tilewright_emulator::FindingId;
    matches!(
        finding.id,
        FindingId::Deadlock | FindingId::NoProgress | FindingId::MbarrierTxMismatch
    )
}

/// The event that made the finding.
fn later(finding: &Finding, all: &[At], histories: &[History]) -> Option<usize> {
    let found = |at: &At| histories.get(at.history).and_then(|one| one.found);
    let by = Threads {
        cta: finding.cta,
        warp: finding.warp,
        lanes: finding.lanes,
    };
    let own = |at: &At| at.event.pc == finding.pc && key(at.event.by) == key(by);
    let made = |at: &At| found(at) == Some(at.event.step);
    let hit = |at: &At| own(at) && at.event.hits & finding.lanes != 0;
    all.iter()
        .rposition(|at| own(at) && made(at))
        .or_else(|| all.iter().rposition(made))
        .or_else(|| all.iter().rposition(hit))
        .or_else(|| all.iter().rposition(own))
}

/// The asynchronous operation that is the finding's other side.
fn operation(finding: &Finding, histories: &[History]) -> Option<(usize, Operation)> {
    let other = finding.other.as_ref().filter(|other| other.by.is_none())?;
    let mut found = None;
    for (history, of) in histories.iter().enumerate() {
        let mut same = of.operations.iter().filter(|one| one.pc == other.pc);
        let hits = same.clone().rfind(|one| one.hits);
        if let Some(operation) = hits.or_else(|| same.next_back()) {
            found = Some((history, *operation));
        }
    }
    found
}

/// The event that the finding's other side is, or that issued it.
fn earlier(
    finding: &Finding,
    all: &[At],
    later: Option<usize>,
    operation: Option<(usize, Operation)>,
) -> Option<usize> {
    if let Some((history, operation)) = operation {
        return all.iter().rposition(|at| {
            at.history == history
                && at.event.step == operation.issued
                && key(at.event.by) == key(operation.by)
        });
    }
    let other = finding.other.as_ref()?;
    let by = other.by?;
    let before = all.get(..later.unwrap_or(all.len())).unwrap_or_default();
    let own = |at: &At| at.event.pc == other.pc && key(at.event.by) == key(by);
    let hit = |at: &At| own(at) && at.event.hits & by.lanes != 0;
    let found = before.iter().rposition(hit);
    found.or_else(|| before.iter().rposition(own))
}

/// The warps that have lanes: the sides', then those that touch the address, or all that wait.
fn keys(finding: &Finding, all: &[At], sides: [Option<usize>; 2]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let sides = sides.into_iter().flatten();
    let sides = sides.filter_map(|at| all.get(at));
    let others = all
        .iter()
        .filter(|at| at.event.hits != 0 || ends_all(finding));
    for at in sides.chain(others) {
        let key = key(at.event.by);
        if !keys.contains(&key) && keys.len() < WARPS {
            keys.push(key);
        }
    }
    keys
}

/// The events of those lanes that lead to the finding.
fn chosen(
    finding: &Finding,
    all: &[At],
    keys: &[Key],
    [earlier, later]: [Option<usize>; 2],
) -> Vec<usize> {
    let tells = |at: &usize| {
        let event = &all[*at].event;
        let is_side = [earlier, later].contains(&Some(*at));
        // Operations elsewhere order nothing.
        let touches = event.kind != EventKind::Issue || event.hits != 0 || is_side;
        touches && keys.contains(&key(event.by))
    };
    let mine = (0..all.len()).filter(tells);
    match (later, earlier) {
        _ if ends_all(finding) => last_of_each(all, keys),
        (Some(later), Some(earlier)) => {
            let from = earlier.min(later);
            let before: Vec<usize> = mine.clone().filter(|at| *at < from).collect();
            let few = before.len().saturating_sub(BEFORE);
            let rest = mine.filter(|at| (from..=later.max(earlier)).contains(at));
            before.into_iter().skip(few).chain(rest).collect()
        }
        (Some(later), None) => {
            let until: Vec<usize> = mine.filter(|at| *at <= later).collect();
            until[until.len().saturating_sub(ALONE)..].to_vec()
        }
        _ => last_of_each(all, keys),
    }
}

/// The last events of each lane, in their order.
fn last_of_each(all: &[At], keys: &[Key]) -> Vec<usize> {
    let of = |wanted: &Key| {
        let mine = (0..all.len()).rev();
        let mine = mine.filter(|at| key(all[*at].event.by) == *wanted);
        mine.take(OF_A_LANE).collect::<Vec<usize>>()
    };
    let mut last: Vec<usize> = keys.iter().flat_map(of).collect();
    last.sort_unstable();
    last
}

/// As many as are drawn: the first and the last ones.
fn thinned(mut all: Vec<usize>) -> (Vec<usize>, Option<(usize, usize)>) {
    let more = all.len().saturating_sub(MOST);
    if more == 0 {
        return (all, None);
    }
    all.drain(BEFORE_A_GAP..BEFORE_A_GAP + more);
    (all, Some((BEFORE_A_GAP, more)))
}

/// The operations that are drawn, each in a lane of its own.
fn spans(
    finding: &Finding,
    (histories, side): (&[History], Option<(usize, Operation)>),
    shown: &[At],
    lanes: &mut Vec<String>,
) -> Vec<Span> {
    let of = |(history, of): (usize, &History)| {
        let found = of.found;
        let issues = move |one: &Operation| one.pc == finding.pc && Some(one.issued) == found;
        let all = of.operations.clone().into_iter();
        let touch = all.filter(move |one| one.hits || issues(one));
        touch.map(move |one| (history, one)).collect::<Vec<_>>()
    };
    let all = histories.iter().enumerate().flat_map(of);
    let unseen = side.filter(|(_, one)| !one.hits);
    let mut all: Vec<(usize, Operation)> = all.chain(unseen).collect();
    // The latest ones, and the side of the finding in any case.
    let is_side = |one: &(usize, Operation)| Some(*one) == side;
    all.sort_by_key(|one| (!is_side(one), std::cmp::Reverse(one.1.issued)));
    let mut spans = Vec::new();
    for (history, operation) in all {
        let behind = |step: u64| {
            let at = |at: &At| (at.history, at.event.until) >= (history, step);
            shown.iter().position(at)
        };
        let (from, to) = (behind(operation.issued), operation.ended.map(behind));
        let is_over = operation.ended.is_some() && to == Some(Some(0));
        let Some(from) = from.filter(|_| !is_over && spans.len() < OPERATIONS) else {
            continue;
        };
        let end = match operation.ended {
            Some(step) => format!("to {step}"),
            None => "on, not over".to_owned(),
        };
        let Operation {
            line, issued, by, ..
        } = operation;
        let warp = by.warp;
        lanes.push(format!(
            "asynchronous: line {line} of warp {warp}, from step {issued} {end}"
        ));
        spans.push(Span {
            lane: lanes.len() - 1,
            from,
            to: to.flatten(),
            is_side: is_side(&(history, operation)) || operation.pc == finding.pc,
        });
    }
    spans
}

/// A warp in words.
pub fn warp_of(([x, y, z], warp): Key) -> String {
    format!("warp {warp} of CTA ({x},{y},{z})")
}

/// An event's kind in a word.
pub fn word(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Access => "access",
        EventKind::Issue => "asynchronous operation",
        EventKind::Commit => "commit",
        EventKind::Wait => "wait",
        EventKind::Arrive => "mbarrier",
        EventKind::Barrier => "barrier",
        EventKind::Fence => "fence",
        EventKind::Exit => "exit",
        EventKind::Other => "instruction",
    }
}

/// What each side's warp has between the two that may order accesses.
fn between(all: &[At], sides: [Option<usize>; 2]) -> Option<String> {
    let [Some(earlier), Some(later)] = sides else {
        return None;
    };
    let mut keys = vec![key(all[earlier].event.by), key(all[later].event.by)];
    keys.dedup();
    let orders = |kind: EventKind| {
        use EventKind::{Arrive, Barrier, Commit, Fence, Wait};
        matches!(kind, Arrive | Barrier | Commit | Fence | Wait)
    };
    let inside = all.get(earlier + 1..later).unwrap_or_default();
    let of = |wanted: &Key| {
        let mine = inside.iter().filter(|at| key(at.event.by) == *wanted);
        let mut words: Vec<String> = Vec::new();
        for at in mine.filter(|at| orders(at.event.kind)) {
            let word = format!("{} (line {})", word(at.event.kind), at.event.line);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let has = match words.is_empty() {
            true => "nothing that orders accesses".to_owned(),
            false => words.join(", "),
        };
        format!("{} has {has}", warp_of(*wanted))
    };
    let said: Vec<String> = keys.iter().map(of).collect();
    Some(format!("Between the two, {}.", said.join("; ")))
}

fn sentences(
    summary: &Summary<'_>,
    ends: [Option<&At>; 2],
    between: Option<String>,
) -> Vec<String> {
    let (finding, record) = (summary.found, summary.finding);
    let mut sentences = vec![
        finding.id.summary().to_owned(),
        format!("{}: {}.", record.level, record.message),
    ];
    if let Some(location) = &finding.location {
        let address = location.address;
        sentences.push(format!("The address is {location}, {address:#x}."));
    }
    let who = |at: &At, how: &str| {
        let Event { line, step, by, .. } = at.event;
        format!("{how} line {line}, step {step}, {}.", warp_of(key(by)))
    };
    let [earlier, later] = ends;
    match (earlier, &finding.other) {
        (Some(at), Some(other)) if other.by.is_none() => {
            sentences.push(who(at, "What is in the way was issued in"));
        }
        (Some(at), _) => sentences.push(who(at, "The earlier access is")),
        (None, Some(other)) => sentences.push(format!(
            "The earlier access, line {}, is before all that is kept.",
            other.line
        )),
        (None, None) => {}
    }
    if let Some(later) = later {
        sentences.push(who(later, "Found in"));
    }
    sentences.extend(between);
    sentences
}
