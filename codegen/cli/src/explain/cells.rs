//! A timeline cut into columns of equal time.
//!
//! In: a timeline and how many columns there are. Out: for each lane what stands in each column.
//! Invariant: a column shows what takes most of it; what is shorter than a column may not show.

use tilewright_codegen::certify::timeline::{Activity, Costs, Lane, Span, Timeline};

/// A timeline in columns.
pub struct Columns {
    /// Cycles of a column.
    pub cycles: u64,
    /// Columns that are drawn.
    pub count: usize,
    /// Whether the run goes on beyond them.
    pub is_cut: bool,
}

/// Columns of a k tile, most first: the first that lets the whole run fit is taken.
const PER_K_TILE: [u64; 3] = [4, 3, 2];

impl Columns {
    /// Columns for a timeline, at most so many.
    pub fn of(timeline: &Timeline, most: usize) -> Columns {
        let each = |parts: u64| (timeline.costs.k_tile_cycles / parts).max(1);
        let needed = |cycles: u64| timeline.cycles.div_ceil(cycles) as usize;
        let fits = PER_K_TILE
            .into_iter()
            .map(each)
            .find(|cycles| needed(*cycles) <= most);
        let last = PER_K_TILE.into_iter().last().map_or(1, each);
        let cycles = fits.unwrap_or(last);
        Columns {
            cycles,
            count: needed(cycles).min(most),
            is_cut: fits.is_none(),
        }
    }

    /// What a lane does in that column.
    pub fn at<'t>(&self, lane: &'t Lane, column: usize) -> Option<&'t Span> {
        let from = column as u64 * self.cycles;
        let to = from + self.cycles;
        let inside = |span: &Span| span.to.min(to).saturating_sub(span.from.max(from));
        let spans = lane.spans.iter().filter(|span| inside(span) > 0);
        spans.max_by_key(|span| (rank(span.activity), inside(span)))
    }
}

/// What matters more where a role does two things: its products run while it waits.
fn rank(activity: Activity) -> u8 {
    match activity {
        Activity::Multiply => 2,
        Activity::Request | Activity::Release => 0,
        _ => 1,
    }
}

/// The sign of a slot: a digit, then letters.
pub fn slot_sign(slot: Option<u32>) -> char {
    slot.and_then(|slot| char::from_digit(slot, 36))
        .unwrap_or('?')
}

/// The sign of a span on a lane.
pub fn sign(span: &Span) -> char {
    match span.activity {
        Activity::Request | Activity::Load | Activity::Multiply => slot_sign(span.slot),
        Activity::Acquire | Activity::Await => '.',
        Activity::Queue => ':',
        Activity::Release => ' ',
        Activity::Turn => 't',
        Activity::Convert | Activity::Stage => 'e',
        Activity::StagingWait => 'w',
        Activity::Store => 'd',
        Activity::Drain => '_',
        Activity::Filling => '>',
        Activity::Full => '#',
        Activity::Reading => '=',
    }
}

/// What a sign stands for.
pub struct Meaning {
    /// A span that has it.
    pub span: Span,
    /// The sign, or the first and the last of several.
    pub sign: String,
    /// In words.
    pub means: &'static str,
}

/// What the signs mean, as far as they occur.
pub fn legend(timeline: &Timeline) -> Vec<Meaning> {
    let all: &[(Activity, &'static str)] = &[
        (Activity::Multiply, "a slot: requested, loaded, multiplied"),
        (Activity::Acquire, "waits for a slot"),
        (Activity::Queue, "products wait for the tensor cores"),
        (Activity::Turn, "waits for its turn"),
        (Activity::Stage, "epilogue: rounds and stages results"),
        (Activity::StagingWait, "waits for a staging buffer"),
        (Activity::Store, "results leave"),
        (Activity::Drain, "waits for the last slots or stores"),
        (Activity::Filling, "slot on its way"),
        (Activity::Full, "slot full"),
        (Activity::Reading, "slot being read"),
    ];
    let spans = || timeline.lanes.iter().flat_map(|lane| &lane.spans);
    // Producers and consumers wait under the same sign.
    let stands_for = |activity: Activity, span: &Span| match activity {
        Activity::Acquire => matches!(span.activity, Activity::Acquire | Activity::Await),
        _ => span.activity == activity,
    };
    let known = all.iter().filter_map(|(activity, means)| {
        let span = *spans().find(|span| stands_for(*activity, span))?;
        let shown = if *activity == Activity::Multiply {
            let last = u32::try_from(timeline.slots().saturating_sub(1)).ok();
            format!("0-{}", slot_sign(last))
        } else {
            sign(&span).to_string()
        };
        Some(Meaning {
            span,
            sign: shown,
            means,
        })
    });
    known.collect()
}

/// What the clock counts, a sentence each.
pub fn model(costs: &Costs) -> [String; 7] {
    [
        "The verifier's run of the roles, by a model of one SM.".to_owned(),
        format!(
            "The tensor cores do {} flop a cycle: products of a consumer take {} cycles a k tile.",
            costs.flop_per_cycle, costs.products_cycles
        ),
        format!(
            "The L2 cache gives {} bytes a cycle, {} cycles after the request: what this CTA asks \
             for of a slot takes {}.",
            costs.l2_bytes_per_cycle,
            costs.load_latency_cycles,
            costs.slot_bytes / costs.l2_bytes_per_cycle
        ),
        format!(
            "It takes {} bytes a cycle, shared memory {}; {} conversions a cycle.",
            costs.l2_bytes_per_cycle, costs.smem_bytes_per_cycle, costs.conversions_per_cycle
        ),
        format!(
            "From an arrival to the end of its wait {} cycles, any other step {} (assumed).",
            costs.barrier_cycles, costs.step_cycles
        ),
        "Tiles are whole, every load hits, nothing else runs; a multicast box counts at the CTA \
         that asks for it."
            .to_owned(),
        format!(
            "What threads compute takes {} instructions a cycle, {} of them roots, quotients, \
             powers and angles; what they load into registers is not counted.",
            costs.instructions_per_cycle, costs.special_per_cycle
        ),
    ]
}
