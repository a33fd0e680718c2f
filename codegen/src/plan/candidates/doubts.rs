//! What a plan is slow or of no use by that its spec asks for, and may not be meant.
//!
//! Comes in: a file with the plans of its points. Goes out: warnings. Keys that are written are
//! left to the plan instead, one after another, and what it takes then is told: a swizzle by which
//! words of one bank meet, keys that keep a product off the tensor cores' own reads of shared
//! memory. So are tiles with one element along a mode that they have to hold whole. What is asked
//! for by name, an atom or a schedule, is meant; so is what some point of a tuning space has
//! otherwise.

use crate::arch::{ARCHES, Arch};
use crate::atoms;
use crate::atoms::model::MmaFacts;
use crate::dtype::DType;
use crate::error::{Error, Problem, Result, Violation};
use crate::plan::attempt::attempt;
use crate::plan::candidates::alternatives::{BY_ELEMENTS, plans};
use crate::plan::candidates::changes::{self, freed};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{Hop, WIDEST_ROWS};
use crate::plan::instructions::choose::Chooser;
use crate::plan::smem::accesses::SmemAccesses;
use crate::plan::smem::bank_conflicts::Wavefronts;
use crate::plan::supported::products;
use crate::spec::SpecFile;
use crate::spec::keys::model::{Auto, FormKind, KernelSchedule, OperandId, Point, Schedule, Spec};
use crate::spec::keys::paths;

/// A swizzle that is written and costs more than the plan's own.
const SWIZZLE: &str = "slow-swizzle";
/// Keys by which a product is not what its tensor cores do fastest.
const MMA: &str = "slow-mma";

/// A mode of which a CTA's tile has one and all.
const ONE: &str = "one-element";

/// A doubt, with the way out.
struct Doubt {
    violation: Violation,
    help: String,
}

/// Warnings of what every one of those points is slow by.
///
/// # Errors
/// [`Error::Bug`] of a plan that is none.
pub fn doubts(file: &SpecFile, plans: &[(&Point, Plan)]) -> Result<Vec<Problem>> {
    let mut plans = plans.iter();
    let Some((first, plan)) = plans.next() else {
        return Ok(Vec::new());
    };
    let mut kept = of_point(first, plan)?;
    for (point, plan) in plans {
        if kept.is_empty() {
            break;
        }
        let also = of_point(point, plan)?;
        // A product may be kept off its tensor cores by another key of each point.
        kept.retain(|one| {
            let own = &one.violation;
            let mut also = also.iter().map(|other| &other.violation);
            also.any(|other| other.code == own.code && (own.code == MMA || other.keys == own.keys))
        });
    }
    let told = kept.into_iter();
    let told = told.map(|one| file.warning(first, one.violation, one.help));
    Ok(told.collect())
}

fn of_point(point: &Point, plan: &Plan) -> Result<Vec<Doubt>> {
    let mut doubts = slow_swizzles(point, plan)?;
    doubts.extend(slow_mma(point, plan)?);
    doubts.extend(no_product(point));
    doubts.extend(single_elements(plan));
    Ok(doubts)
}

/// Modes that a CTA has to hold whole in a tile with one element along them: no problem has more.
fn single_elements(plan: &Plan) -> Vec<Doubt> {
    let doubt = |assumption: &Assumption| {
        let Assumption::ExtentMost {
            mode,
            most: 1,
            reason,
        } = assumption
        else {
            return None;
        };
        let is_one = plan.computes.formula.constant_of(mode) == Some(1);
        let message =
            format!("{reason}, and this tile has one: the kernel takes {mode} <= 1 alone");
        let mut violation = Violation::new(ONE, message);
        violation.involve(paths::CTA_TILE.path());
        let help = format!("use a tile as long along {mode} as it is in problems");
        (!is_one).then_some(Doubt { violation, help })
    };
    plan.assumptions.iter().filter_map(doubt).collect()
}

/// The plan of the point with another schedule, if it has one.
fn planned(point: &Point, schedule: Schedule) -> Option<Plan> {
    plan_of(&point.with(schedule))
}

fn plan_of(point: &Point) -> Option<Plan> {
    let plans = plans(point, atoms::catalogue().ok()?);
    plans.ok().map(|(plan, _)| plan)
}

/// Swizzles that are written, of which the plan has a cheaper one.
fn slow_swizzles(point: &Point, plan: &Plan) -> Result<Vec<Doubt>> {
    let mut doubts = Vec::new();
    for (operand, swizzle) in &point.spec.schedule.swizzle {
        let (Auto::Given(swizzle), Some(named)) = (swizzle, plan.named_operand(operand)) else {
            continue;
        };
        let id = named.id;
        let (taken, rows) = (wavefronts(plan, id)?, box_rows(plan, id));
        if !taken.in_conflict() && rows.is_none_or(|bytes| bytes >= WIDEST_ROWS) {
            continue;
        }
        let mut schedule = point.spec.schedule.clone();
        schedule.swizzle.remove(operand);
        let Some(other) = planned(point, schedule) else {
            continue;
        };
        let Some(own) = other.smem_tile(id) else {
            continue;
        };
        let named = match swizzle.bits() {
            0 => "none".to_owned(),
            _ => swizzle.to_string(),
        };
        let least = wavefronts(&other, id)?;
        let message = match (rows, box_rows(&other, id)) {
            (Some(rows), Some(own)) if rows < own => format!(
                "operand {operand}: by swizzle {named} tensor maps and wgmma take rows of {rows} \
                 bytes of its tile, {own} bytes by what the plan takes where none is written"
            ),
            _ if least.cost() < taken.cost() => format!(
                "operand {operand}: by swizzle {named} its accesses to shared memory take {} \
                 wavefronts a tile, {} by what the plan takes where none is written",
                taken.taken, least.taken
            ),
            _ => continue,
        };
        let mut violation = Violation::new(SWIZZLE, message);
        violation.involve(paths::swizzle(operand).path());
        let help = format!("leave it out: the tile then lies as {}", own.layout);
        doubts.push(Doubt { violation, help });
    }
    Ok(doubts)
}

/// Bytes of the rows in which boxes bring an operand that tensor cores read from shared memory. On
/// an H200 products of 4096 and 8192 by rows of 64, 32 and 16 bytes take 1.1 to 1.8, 2.1 to 3.2 and
/// 3.4 to 4.7 times as long as by rows of 128 (bench/results/h200/2026-11-26-swizzles.md).
fn box_rows(plan: &Plan, operand: OperandId) -> Option<u32> {
    let boxes = plan.boxes(operand, Hop::G2s)?;
    boxes.row_bytes().filter(|_| reads_smem(plan))
}

/// What all steps to and from an operand's tile in shared memory take.
fn wavefronts(plan: &Plan, operand: OperandId) -> Result<Wavefronts> {
    let of_tile = |hop| matches!(hop, Hop::G2s | Hop::S2r | Hop::R2s);
    let mut all = Wavefronts::default();
    let Some(tile) = plan.smem_tile(operand) else {
        return Ok(all);
    };
    let steps = plan.steps.iter();
    for step in steps.filter(|step| step.operand == operand && of_tile(step.hop)) {
        let accesses = SmemAccesses::new(plan, step, &tile.layout.inner, tile.dtype)?;
        all = all.with(accesses.wavefronts(&tile.layout.swizzle));
    }
    Ok(all)
}

/// Keys without which a product is of tensor cores that read shared memory themselves: the first
/// one that does alone, else all that are written.
fn slow_mma(point: &Point, plan: &Plan) -> Result<Option<Doubt>> {
    let spec = &point.spec;
    let Some(mma) = &plan.mma else {
        return Ok(None);
    };
    let is_asked_for = spec.schedule.mma.atom != Auto::Auto;
    if spec.problem.form() != FormKind::Contraction || is_asked_for || reads_smem(plan) {
        return Ok(None);
    }
    let Some([a, b]) = spec.problem.factors() else {
        return Ok(None);
    };
    let chooser = Chooser::of(point, atoms::catalogue()?);
    let types = [spec.problem.accumulator, a.dtype, b.dtype];
    let could = |arch: Arch| chooser.multiplies_smem_of(arch, types);
    // A schedule says which tensor cores are meant, not that none are.
    if spec.schedule.pipeline.schedule != Auto::Auto {
        return Ok(of_threads(point, plan, mma, types));
    }
    if could(spec.problem.arch) {
        return Ok(keys_in_the_way(point, mma));
    }
    let other = arch_with_roles(point, could);
    let doubt = of_threads(point, plan, mma, types);
    let doubt = doubt.or_else(|| Some(of_arch(spec, mma, other?)));
    let wide = [DType::F32, a.dtype, b.dtype];
    let of_wide = chooser.multiplies_smem_of(spec.problem.arch, wide);
    Ok(doubt.or_else(|| (types[0] == DType::F16 && of_wide).then(|| of_sums(mma))))
}

/// That sums of f16 are not made by the instructions that those of f32 are.
fn of_sums(mma: &MmaPlan) -> Doubt {
    let message = format!(
        "sums of f16 are of {}; those of f32 are of instructions that read shared memory \
         themselves (wgmma)",
        mma.atom.id
    );
    let mut violation = Violation::new(MMA, message);
    violation.involve(paths::COMPUTE.path());
    let help = format!("write the sum's type as f32; {}", meant(mma));
    Doubt { violation, help }
}

/// Keys that are written and keep a product off tensor cores that read shared memory, or what else
/// does.
fn keys_in_the_way(point: &Point, mma: &MmaPlan) -> Option<Doubt> {
    let spec = &point.spec;
    let keys = written(spec);
    let without = |keys: &[String]| {
        let own = spec.schedule.clone();
        let freed = keys.iter().fold(own, |schedule, key| left(schedule, key));
        planned(point, freed).filter(reads_smem)
    };
    let of_all = without(&keys);
    let alone = of_all.is_some().then(|| {
        let mut each = keys.iter().map(|key| vec![key.clone()]);
        each.find_map(|key| Some((without(&key)?, key)))
    });
    let Some((other, keys)) = alone.flatten().or_else(|| Some((of_all?, keys))) else {
        return cause(point, mma);
    };
    let fast = other.mma.as_ref()?;
    let named = keys.join(" and ");
    let mut violation = Violation::new(
        MMA,
        format!(
            "with {named} products are of {}; without, they are of {}, which reads shared memory \
             itself",
            mma.atom.id, fast.atom.id
        ),
    );
    violation.keys = keys;
    let help = format!("leave {named} out; {}", meant(mma));
    Some(Doubt { violation, help })
}

/// How a spec says that a product without tensor cores which read shared memory is meant. A
/// schedule says nothing of threads that multiply themselves.
fn meant(mma: &MmaPlan) -> String {
    match mma.atom.mma.as_ref().map(MmaFacts::is_of_one_thread) {
        Some(true) => format!(
            "where it is meant, `mma: {{ atom: {} }}` says so",
            mma.atom.id
        ),
        _ => "where it is meant, `pipeline: { schedule: multistage }` says so".to_owned(),
    }
}

/// A sum of rows that reads as a product.
fn no_product(point: &Point) -> Option<Doubt> {
    if point.spec.problem.form() != FormKind::Rows {
        return None;
    }
    let almost = products::almost(&point.spec.problem.compute.formula)?;
    let message = "threads fold this sum, no tensor cores: by what else it sums it is no product";
    let violation = Violation {
        part: Some(almost.part),
        keys: vec![paths::COMPUTE.path().to_owned()],
        ..Violation::new(MMA, message.to_owned())
    };
    let help = almost.way_out.to_owned();
    Some(Doubt { violation, help })
}

/// What keeps a product off tensor cores that read shared memory, by what a plan with them says.
fn cause(point: &Point, mma: &MmaPlan) -> Option<Doubt> {
    let mut schedule = point.spec.schedule.clone();
    schedule.pipeline.schedule = Auto::Given(KernelSchedule::Cooperative);
    let refused = attempt(&point.with(schedule), atoms::catalogue().ok()?);
    let Err(Error::Plan { violations, .. }) = refused else {
        return None;
    };
    let first = violations.into_iter().next()?;
    let message = format!(
        "products are of {}, and of none that reads shared memory itself (wgmma): {}",
        mma.atom.id, first.message
    );
    let violation = Violation {
        keys: first.keys,
        ..Violation::new(MMA, message)
    };
    let help = meant(mma);
    Some(Doubt { violation, help })
}

/// An architecture of the same GPUs that has what the spec's lacks, and takes the point with it.
fn arch_with_roles(point: &Point, could: impl Fn(Arch) -> bool) -> Option<&'static str> {
    let own = point.spec.problem.arch;
    let mut same = ARCHES
        .iter()
        .filter(|arch| arch.sm == own.sm && **arch != own);
    let takes = |arch: &&Arch| {
        let mut other = point.clone();
        other.spec.problem.arch = **arch;
        could(**arch) && plan_of(&other).as_ref().is_some_and(reads_smem)
    };
    same.find(takes).map(|arch| arch.name)
}

/// That another architecture of the same GPUs has what the spec's lacks.
fn of_arch(spec: &Spec, mma: &MmaPlan, other: &str) -> Doubt {
    let message = format!(
        "products for {} are of {}; {other}, which runs on the same GPUs, has some that read \
         shared memory themselves (wgmma)",
        spec.problem.arch, mma.atom.id
    );
    let mut violation = Violation::new(MMA, message);
    violation.involve(paths::ARCH.path());
    let help = format!(
        "use {other}; where newer GPUs are to run it as well, \
         `pipeline: {{ schedule: multistage }}` says so"
    );
    Doubt { violation, help }
}

/// An instruction of tensor cores that is taken where it is named, of a product that threads
/// multiply themselves.
fn of_threads(point: &Point, plan: &Plan, mma: &MmaPlan, types: [DType; 3]) -> Option<Doubt> {
    if !mma.atom.mma.as_ref()?.is_of_one_thread() {
        return None;
    }
    let mut atoms = atoms::catalogue().ok()?.iter();
    let named = atoms.find(|atom| {
        let fits = (atom.mma.as_ref())
            .is_some_and(|facts| !facts.is_of_one_thread() && facts.types[..3] == types);
        let with = || {
            let mut schedule = point.spec.schedule.clone();
            schedule.mma.atom = Auto::Given(atom.id.clone());
            planned(point, schedule)
        };
        fits && atom.runs_on(point.spec.problem.arch) && with().is_some()
    })?;
    let by_elements = plan.taken.iter().find(|one| one.key == BY_ELEMENTS);
    let mut in_the_way = by_elements.iter().flat_map(|one| &one.left_out);
    let first = in_the_way.find_map(|one| one.reasons.first());
    let copies_later = Chooser::of(point, atoms::catalogue().ok()?).copies_later();
    let (why, otherwise) = match (first, copies_later) {
        (Some(first), _) => (format!(": {}", first.message), ""),
        (None, true) => (
            ", which are chosen where operands are contiguous along a mode, in rows of whole 4 \
             bytes"
                .to_owned(),
            ", or layouts that are so",
        ),
        (None, false) => (
            ", which are chosen where copies to shared memory are asynchronous, from sm_80 on"
                .to_owned(),
            "",
        ),
    };
    let message = format!("threads multiply by {}, not tensor cores{why}", mma.atom.id);
    let mut violation = Violation::new(MMA, message);
    violation.involve(paths::CTA_TILE.path());
    let help = format!(
        "write `mma: {{ atom: {} }}`{otherwise}; {}",
        named.id,
        meant(mma)
    );
    Some(Doubt { violation, help })
}

/// Whether its tensor cores read operands from shared memory themselves.
fn reads_smem(plan: &Plan) -> bool {
    let facts = plan.mma.as_ref().and_then(|mma| mma.atom.mma.as_ref());
    facts.is_some_and(|mma| mma.smem != [false; 2])
}

/// The keys that are written and may decide on the MMA.
fn written(spec: &Spec) -> Vec<String> {
    let given = [
        (
            "min_ctas_per_sm",
            spec.schedule.min_ctas_per_sm != Auto::Auto,
        ),
        (
            "pipeline.stages",
            spec.schedule.pipeline.stages != Auto::Auto,
        ),
    ];
    let given = given.into_iter().filter(|(_, given)| *given);
    let of_threads = changes::written(&spec.schedule).into_iter();
    let given = of_threads
        .chain(given.map(|(key, _)| key))
        .map(str::to_owned);
    let said = spec.said();
    let is_said = |key: &String| said.iter().any(|(said, _)| said.starts_with(key.as_str()));
    let copies = spec
        .schedule
        .copy
        .keys()
        .map(|operand| format!("copy.{operand}"));
    let copies = copies.filter(|key| is_said(&format!("{key}.")));
    let swizzles = spec.schedule.swizzle.iter();
    let swizzles = swizzles.filter(|(_, swizzle)| **swizzle != Auto::Auto);
    let swizzles = swizzles.map(|(operand, _)| format!("swizzle.{operand}"));
    given.chain(copies).chain(swizzles).collect()
}

/// The schedule with that key left to the plan.
fn left(mut schedule: Schedule, key: &str) -> Schedule {
    let mut of_threads = changes::written(&schedule).into_iter();
    if let Some(key) = of_threads.find(|known| *known == key) {
        return freed(&schedule, &[key]).schedule;
    }
    match key.split_once('.') {
        Some(("copy", operand)) => drop(schedule.copy.remove(operand)),
        Some(("swizzle", operand)) => drop(schedule.swizzle.remove(operand)),
        Some(_) => schedule.pipeline.stages = Auto::Auto,
        None => schedule.min_ctas_per_sm = Auto::Auto,
    }
    schedule
}
