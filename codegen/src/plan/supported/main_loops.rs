//! Which keys speak of which way of making a kernel.
//!
//! A key that a way does not read is refused, so that a spec never says what its kernel is not and
//! a tuning space never has one kernel twice. Keys without a row are read by every way.

use std::collections::BTreeSet;

use crate::arch::{ARCHES, Arch};
use crate::dtype::DType;
use crate::error::{Message, message};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;
use crate::plan::instructions::choose::Chooser;
use crate::spec::Phrase;
use crate::spec::keys::model::{Auto, Operand, Passes, Role, Spec};
use crate::spec::keys::paths;

/// A way of making a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum MainLoop {
    /// Maps.
    Mapped,
    /// Folds, with maps of their results.
    Folded,
    /// A gemm that loads element by element.
    Synchronous,
    /// A gemm with asynchronous copies, whose warps are all alike.
    Multistage,
    /// A gemm whose warps load or compute.
    Specialized,
}

impl MainLoop {
    /// The way of a kernel without products.
    pub fn of_rows(plan: &Plan) -> MainLoop {
        match plan.folds().next() {
            Some(_) => MainLoop::Folded,
            None => MainLoop::Mapped,
        }
    }
}

/// Ways that do not read a key.
struct Row {
    /// The key; `{a}` stands for the name of the operand of that role.
    key: &'static str,
    /// Ways that do not read it.
    unread: &'static [MainLoop],
    /// Only where that key has that value.
    when: Option<(&'static str, &'static str)>,
    /// Not where that key has that value.
    unless: Option<(&'static str, &'static str)>,
    /// Values that say what those ways do anyway.
    but: &'static [&'static str],
    /// What the key is for.
    purpose: &'static str,
    /// How to have it read.
    way_out: Phrase,
}

const ROWWISE: &[MainLoop] = &[MainLoop::Mapped, MainLoop::Folded];
const UNFOLDED: &[MainLoop] = &[MainLoop::Mapped];
const SYNCHRONOUS: &[MainLoop] = &[MainLoop::Synchronous];
const MULTISTAGE: &[MainLoop] = &[MainLoop::Multistage];
const ALIKE: &[MainLoop] = &[MainLoop::Synchronous, MainLoop::Multistage];
const SPECIALIZED: &[MainLoop] = &[MainLoop::Specialized];
const PAST_SMEM: &[MainLoop] = &[
    MainLoop::Mapped,
    MainLoop::Folded,
    MainLoop::Synchronous,
    MainLoop::Multistage,
];

const ROLES: &str = "warp-specialized kernels";
const TAKE_ROLES: Phrase = Phrase::new(
    "use {} and {} cooperative",
    &["arch sm_90a", "pipeline.schedule"],
);
const WARPS_ALIKE: &str = "kernels whose warps are all alike";
const TAKE_ALIKE: Phrase = Phrase::new("use {} multistage", &["pipeline.schedule"]);
const ELEMENTS: &str = "kernels that load element by element";
const STORED_BOXES: &str = "results that leave through shared memory, as those of warp-specialized \
                            kernels do";

const fn row(key: &'static str, unread: &'static [MainLoop], why: (&'static str, Phrase)) -> Row {
    let (purpose, way_out) = why;
    Row {
        key,
        unread,
        when: None,
        unless: None,
        but: &[],
        purpose,
        way_out,
    }
}

impl Row {
    const fn but(self, but: &'static [&'static str]) -> Row {
        Row { but, ..self }
    }

    const fn when(self, key: &'static str, value: &'static str) -> Row {
        Row {
            when: Some((key, value)),
            ..self
        }
    }

    const fn unless(self, key: &'static str, value: &'static str) -> Row {
        Row {
            unless: Some((key, value)),
            ..self
        }
    }

    fn refuses(&self, way: MainLoop, said: &[(String, String)], value: &str) -> bool {
        let has = |(key, value): (&str, &str)| said.iter().any(|(k, v)| k == key && v == value);
        let read = self.but.contains(&value) || self.unless.is_some_and(has);
        self.unread.contains(&way) && !read && self.when.is_none_or(has)
    }
}

static ROWS: &[Row] = &[
    row("cluster", ALIKE, (ROLES, TAKE_ROLES)),
    row("scheduler.kind", SYNCHRONOUS, (ROLES, TAKE_ROLES)).but(&["single"]),
    row("scheduler.kind", MULTISTAGE, (ROLES, TAKE_ROLES)).but(&["single", "stream_k"]),
    row("scheduler.ctas", SYNCHRONOUS, (ROLES, TAKE_ROLES)),
    row(
        "scheduler.ctas",
        MULTISTAGE,
        (
            "grids whose CTAs make several tiles",
            Phrase::new("use {} stream_k", &["scheduler.kind"]),
        ),
    )
    .unless("scheduler.kind", "stream_k"),
    row("scheduler.launch", ALIKE, (ROLES, TAKE_ROLES)).but(&["plain"]),
    row("pipeline.in_flight", ALIKE, (ROLES, TAKE_ROLES)),
    row("pipeline.producer_registers", ALIKE, (ROLES, TAKE_ROLES)),
    row(
        "scheduler.ctas",
        SPECIALIZED,
        (
            "persistent grids",
            Phrase::new("use {} persistent", &["scheduler.kind"]),
        ),
    )
    .when("scheduler.kind", "single"),
    row(
        "min_ctas_per_sm",
        SPECIALIZED,
        (
            "kernels whose warps are all alike, a warp-specialized one has the registers of an SM \
             to itself",
            Phrase::new("use 1", &[]),
        ),
    )
    .but(&["1"]),
    row("mma.permutation", SPECIALIZED, (WARPS_ALIKE, TAKE_ALIKE)),
    row("copy.{a}.s2r", SPECIALIZED, (WARPS_ALIKE, TAKE_ALIKE)),
    row("copy.{b}.s2r", SPECIALIZED, (WARPS_ALIKE, TAKE_ALIKE)),
    row("copy.{a}.g2r", SPECIALIZED, (ELEMENTS, TAKE_ALIKE)),
    row("copy.{b}.g2r", SPECIALIZED, (ELEMENTS, TAKE_ALIKE)),
    row(
        "copy.{a}.g2r",
        MULTISTAGE,
        (ELEMENTS, Phrase::new("take {} away", &["copy.{b}.g2s"])),
    ),
    row(
        "copy.{b}.g2r",
        MULTISTAGE,
        (ELEMENTS, Phrase::new("take {} away", &["copy.{a}.g2s"])),
    ),
    row(
        "copy.{d}.r2s",
        PAST_SMEM,
        (STORED_BOXES, Phrase::new("use {}", &["copy.{d}.r2g"])),
    ),
    row(
        "copy.{d}.s2g",
        PAST_SMEM,
        (STORED_BOXES, Phrase::new("use {}", &["copy.{d}.r2g"])),
    ),
    row(
        "swizzle.{d}",
        PAST_SMEM,
        (STORED_BOXES, Phrase::new("use none", &[])),
    )
    .but(&["none"]),
    row(
        "scheduler.passes",
        UNFOLDED,
        (
            "kernels that fold along a mode",
            Phrase::new("use one", &[]),
        ),
    )
    .but(&["one"]),
    row(
        "pipeline.stages",
        ROWWISE,
        (
            "products of matrices, other kernels have one tile in flight",
            Phrase::new("use auto", &[]),
        ),
    ),
];

/// The keys that a spec says and warp-specialized kernels alone read.
pub(in crate::plan) fn of_roles(said: &[(String, String)]) -> impl Iterator<Item = &str> {
    let is_read = |(key, value): &&(String, String)| {
        let mut rows = ROWS
            .iter()
            .filter(|row| row.key == key && row.way_out == TAKE_ROLES);
        rows.any(|row| row.refuses(MainLoop::Multistage, said, value))
    };
    said.iter().filter(is_read).map(|(key, _)| key.as_str())
}

/// Notes what the spec says that its way does not read.
pub(in crate::plan) fn check(spec: &Spec, chooser: &mut Chooser<'_>, way: MainLoop) {
    let said = spec.said();
    let several = matches!(
        spec.schedule.scheduler.passes,
        Auto::Given(Passes::Many | Passes::Alternating)
    );
    for (key, value) in &said {
        if hop_of(key).is_some_and(|(_, hop)| hop == Hop::G2rLast.name()) && !several {
            let message = message!(
                "{} is for the last of several passes over rows: use {} many, or leave it out",
                paths::named(key),
                paths::PASSES
            );
            chooser.violate("schedule", message);
        }
        let rows = ROWS
            .iter()
            .filter(|row| chooser.names.filled(row.key) == *key);
        let refusing = rows.filter(|row| row.refuses(way, &said, value));
        for row in refusing.collect::<Vec<_>>() {
            let message = message!(
                "{} is for {}{}",
                paths::named(key),
                row.purpose,
                way_out(spec, chooser, row.way_out)
            );
            chooser.violate("schedule", message);
        }
    }
    beside(spec, chooser, way, &said);
}

/// The types of factors that no architecture multiplies out of shared memory.
fn types_of_threads(spec: &Spec, chooser: &Chooser<'_>) -> Option<[DType; 2]> {
    let [a, b] = spec.problem.factors()?.map(|factor| factor.dtype);
    let types = [spec.problem.accumulator, a, b];
    let is_there = |arch: &Arch| chooser.multiplies_smem_of(*arch, types);
    (!ARCHES.iter().any(is_there)).then_some([a, b])
}

/// How the sentence of such a refusal ends: with a way out that architecture and types have.
fn way_out(spec: &Spec, chooser: &Chooser<'_>, otherwise: Phrase) -> Message {
    if otherwise != TAKE_ROLES {
        return message!(": {}, or leave it out", chooser.names.said(otherwise));
    }
    match types_of_threads(spec, chooser) {
        Some([a, b]) => message!(", which multiply no {a} by {b}: leave it out"),
        None if chooser.multiplies_smem(chooser.arch) => {
            message!(": use {} cooperative, or leave it out", paths::SCHEDULE)
        }
        None => message!(": {}, or leave it out", chooser.names.said(otherwise)),
    }
}

/// The operand and the hop that a key of `copy` is of; none of one that says where it lies.
fn hop_of(key: &str) -> Option<(&str, &str)> {
    let way = key.strip_prefix("copy.")?.split_once('.');
    way.filter(|(_, hop)| Hop::ALL.iter().any(|one| one.name() == *hop))
}

/// Notes hops that the spec speaks of and that no operand makes.
pub(in crate::plan) fn check_hops(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) {
    for (key, _) in spec.said() {
        let Some((name, hop)) = hop_of(&key) else {
            continue;
        };
        let named = plan.named_operand(name).map(|operand| operand.id);
        let own = |operand, made: Hop| (Some(operand) == named).then(|| made.name());
        let steps = plan.steps.iter();
        let steps = steps.filter_map(|step| own(step.operand, step.hop));
        let boxes = plan.box_copies();
        let boxes = boxes.filter_map(|copy| own(copy.operand, copy.hop));
        let made: BTreeSet<&str> = steps.chain(boxes).collect();
        if !made.contains(hop) {
            let made = Vec::from_iter(made).join(", ");
            let message = message!(
                "{} is no hop of this kernel, which moves {name} by {made}: leave it out",
                paths::named(&key)
            );
            chooser.violate("schedule", message);
        }
    }
}

/// Notes swizzles of what stays out of shared memory, in a kernel without products.
pub(in crate::plan) fn check_swizzles(spec: &Spec, chooser: &mut Chooser<'_>, plan: &Plan) {
    for (key, value) in spec.said() {
        let Some(name) = key.strip_prefix("swizzle.") else {
            continue;
        };
        // Another row speaks of the output.
        let is_fine = |one: &Operand| plan.is_output(one.id) || plan.smem_tile(one.id).is_some();
        if value != "none" && !plan.named_operand(name).is_some_and(is_fine) {
            let message = message!(
                "{} is for copies through shared memory: name {}, or leave it out",
                paths::named(&key),
                paths::copy(name, "g2s")
            );
            chooser.violate("schedule", message);
        }
    }
}

/// Notes what the spec says of shared memory about operands of an epilogue that stay out of it.
fn beside(spec: &Spec, chooser: &mut Chooser<'_>, way: MainLoop, said: &[(String, String)]) {
    for operand in spec
        .problem
        .operands
        .iter()
        .filter(|one| one.role == Role::Extra)
    {
        let name = &operand.name;
        let through = [Hop::G2s, Hop::S2r].map(|hop| (name.as_str(), hop.name()));
        let of_slots = |key: &str| hop_of(key).is_some_and(|hop| through.contains(&hop));
        let asked = said.iter().any(|(key, _)| of_slots(key));
        for (key, value) in said {
            let swizzled = *key == format!("swizzle.{name}") && value != "none";
            let message = if of_slots(key) && way != MainLoop::Specialized {
                message!(
                    "{} is for what boxes bring to the epilogue of {ROLES}{}",
                    paths::named(key),
                    way_out(spec, chooser, TAKE_ROLES)
                )
            } else if swizzled && !(asked && way == MainLoop::Specialized) {
                message!(
                    "{} is for what boxes bring to the epilogue of {ROLES}: name {}, or leave it \
                     out",
                    paths::named(key),
                    paths::copy(name, "g2s")
                )
            } else {
                continue;
            };
            chooser.violate("schedule", message);
        }
    }
}
