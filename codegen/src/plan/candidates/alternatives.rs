//! What stands for a point whose first plan, or its kernel, does not do.
//!
//! Comes in: a point. Goes out: its plans, in the order in which they are tried: the one that it
//! has by itself, then those of other schedules, with values in the places of keys that the spec
//! leaves to the plan (`auto`): fewer CTAs that must fit an SM, addresses of rows that hold no
//! registers, more atoms side by side, more threads or half as many, fewer stages, warps that are
//! all alike, elements one by one where they are turned by vectors. What is written stays as it is.
//! All have the point's own id, which names what is written; a plan says what it takes.

use std::collections::VecDeque;

use crate::arch::{MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM};
use crate::atoms::Catalogue;
use crate::error::{Error, Result, Violation};
use crate::plan::attempt::attempt;
use crate::plan::candidates::ways_out;
use crate::plan::data::choices::{Choice, LeftOut};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Rows;
use crate::plan::gemm;
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Auto, Axis, FormKind, KernelSchedule, Operand, Point, Schedule};

/// Limits that other atoms side by side, other threads, or warps that are all alike may keep.
const BY_THREADS: &[&str] = &[
    "registers",
    "threads",
    "threads-tile",
    "tile-divides",
    "vector-divides",
    "no-fragment-copy",
    "layouts",
    "consumers",
    "major",
];
/// The limit that fewer stages may keep.
const BY_STAGES: &str = "smem-capacity";
/// Fewest stages of which one is loaded while another is multiplied.
const FEWEST_STAGES: u32 = 2;
/// The key of factors that come one element at a time.
pub(in crate::plan) const BY_ELEMENTS: &str = "copy";
/// Threads of a CTA of rows, by which more or fewer are tried.
const THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// What is written in the place of an `auto`.
type Taken = (&'static str, String);

/// A schedule that stands for that of a point, with what it takes for `auto`.
pub(in crate::plan) type Candidate = (Schedule, Vec<Taken>);

/// The plans of a point, in the order in which they are tried.
#[derive(Debug)]
pub struct Plans<'c> {
    point: Point,
    catalogue: &'c Catalogue,
    /// Schedules that were not planned yet; none before the first plan was asked for.
    rest: Option<VecDeque<Candidate>>,
    /// The last plan with other uses of registers; whether with those of one CTA on an SM.
    same: VecDeque<(Plan, bool)>,
    /// What is wrong with the point's own plan.
    refused: Option<Vec<Violation>>,
    /// Threads of the last plan, and of those before.
    threads: u32,
    tried: Vec<u32>,
    /// What is wrong with the best of those that have as many threads as the spec asks for, where
    /// the point has others by itself.
    of_asked: Option<Vec<Violation>>,
}

/// Plans a point: the first of its plans, and those behind it.
///
/// # Errors
/// What is wrong with the point's own plan, where it has none.
pub(in crate::plan) fn plans<'c>(
    point: &Point,
    catalogue: &'c Catalogue,
) -> Result<(Plan, Plans<'c>)> {
    match found(point, catalogue)? {
        Ok(found) => Ok(found),
        Err(refused) => {
            let ask = |other: &Point| Ok(found(other, catalogue)?.map(|(plan, _)| plan));
            let refused = ways_out::with_ways_out(point, refused, ask)?;
            Err(Error::plan(&point.id, refused))
        }
    }
}

/// The first of a point's plans and those behind it, or what is wrong with the point.
fn found<'c>(
    point: &Point,
    catalogue: &'c Catalogue,
) -> Result<std::result::Result<(Plan, Plans<'c>), Vec<Violation>>> {
    let mut plans = Plans {
        point: point.clone(),
        catalogue,
        rest: None,
        same: VecDeque::new(),
        refused: None,
        threads: 0,
        tried: Vec::new(),
        of_asked: None,
    };
    let refused = match attempt(point, catalogue) {
        Ok(plan) => {
            plans.note(&plan);
            return Ok(Ok((plan, plans)));
        }
        Err(Error::Plan { violations, .. }) => violations,
        Err(other) => return Err(other),
    };
    plans.refused = Some(refused.clone());
    Ok(match plans.planned()? {
        Some(plan) => Ok((plan, plans)),
        None => {
            let refused = plans.of_asked.unwrap_or(refused);
            Err(but_what_others_keep(point, catalogue, refused)?)
        }
    })
}

/// What is wrong with a point, but for the limits that another of its plans keeps: what stands
/// against all of them alone is to be mended.
fn but_what_others_keep(
    point: &Point,
    catalogue: &Catalogue,
    refused: Vec<Violation>,
) -> Result<Vec<Violation>> {
    let is_kept = |one: &Violation| BY_THREADS.contains(&one.code) || one.code == BY_STAGES;
    let (kept, rest): (Vec<Violation>, Vec<Violation>) = refused.iter().cloned().partition(is_kept);
    if kept.is_empty() || rest.is_empty() {
        return Ok(refused);
    }
    for (other, _) in candidates(point, catalogue, Some(&kept), 0)? {
        match attempt(&point.with(other), catalogue) {
            Err(Error::Plan { violations, .. }) if violations.iter().any(is_kept) => {}
            Err(Error::Plan { .. }) | Ok(_) => return Ok(rest),
            Err(other) => return Err(other),
        }
    }
    Ok(refused)
}

impl Plans<'_> {
    /// The plan behind those before; none where all were tried.
    ///
    /// # Errors
    /// [`Error::Bug`] of a plan that is none.
    pub fn behind(&mut self) -> Result<Option<Plan>> {
        match self.same.pop_front() {
            Some((plan, _)) => Ok(Some(plan)),
            None => self.planned(),
        }
    }

    /// Notes that the kernel of the last plan is refused, at so many registers of a thread, for
    /// these reasons.
    pub fn refuse(&mut self, registers: u32, reasons: &[Violation]) {
        if self.refused.is_none() {
            self.refused = Some(reasons.to_vec());
        }
        for left_out in self.same.iter_mut().flat_map(|(plan, _)| &mut plan.taken) {
            for one in left_out
                .left_out
                .iter_mut()
                .filter(|one| one.reasons.is_empty())
            {
                one.reasons = reasons.to_vec();
            }
        }
        // What has all registers that there are gets no others alone on an SM.
        let most = (REGISTERS_PER_SM / self.threads.max(1)).min(MAX_REGISTERS_PER_THREAD);
        if registers >= most {
            self.same.retain(|(_, alone)| !alone);
        }
    }

    /// The plan of the next schedule that has one.
    fn planned(&mut self) -> Result<Option<Plan>> {
        loop {
            if self.rest.is_none() {
                // What the assembler refuses is no limit that a plan speaks of.
                let refused = self.refused.as_deref().filter(|_| self.threads == 0);
                let all = candidates(&self.point, self.catalogue, refused, self.threads)?;
                self.rest = Some(all.into());
            }
            let next = self.rest.as_mut().and_then(VecDeque::pop_front);
            let Some((schedule, taken)) = next else {
                return Ok(None);
            };
            match attempt(&self.point.with(schedule), self.catalogue) {
                // What was refused is refused with as many threads again.
                Ok(plan) if self.has_other_threads(&plan) => {
                    let plan = self.taking(plan, taken);
                    self.note(&plan);
                    return Ok(Some(plan));
                }
                Ok(_) => {}
                Err(Error::Plan { violations, .. }) => self.note_asked(violations),
                Err(other) => return Err(other),
            }
        }
    }

    /// Notes what is wrong with the first of a product's plans that has the threads it asks for.
    fn note_asked(&mut self, violations: Vec<Violation>) {
        let is_asked = matches!(self.point.spec.schedule.threads, Auto::Given(_))
            && self.point.spec.problem.form() == FormKind::Contraction;
        if is_asked && !violations.iter().any(|one| one.code == "threads") {
            self.of_asked.get_or_insert(violations);
        }
    }

    /// Whether a plan has other threads than those before, where the spec does not say how many:
    /// more of a product's.
    fn has_other_threads(&self, plan: &Plan) -> bool {
        let (spec, threads) = (&self.point.spec, plan.cta_threads());
        match spec.problem.form() {
            _ if spec.schedule.threads != Auto::Auto => true,
            FormKind::Rows => !self.tried.contains(&threads),
            FormKind::Contraction | FormKind::Chain => threads > self.threads,
        }
    }

    /// The plan with what it takes, which is for what is wrong with the first.
    fn taking(&self, plan: Plan, taken: Vec<Taken>) -> Plan {
        let left_out = LeftOut {
            candidate: "auto".to_owned(),
            reasons: self.refused.clone().unwrap_or_default(),
        };
        let choices = taken.into_iter().map(|(key, taken)| Choice {
            key: key.to_owned(),
            taken,
            left_out: vec![left_out.clone()],
        });
        let taken = plan.taken.iter().cloned().chain(choices).collect();
        Plan { taken, ..plan }
    }

    /// Notes what comes behind this plan: the same with the registers of one CTA on an SM, and with
    /// addresses of rows that are computed where they are needed. Without a word about residency
    /// ptxas bounds registers for more CTAs than fit otherwise, and spills a few bytes for that.
    fn note(&mut self, plan: &Plan) {
        self.threads = plan.cta_threads();
        self.tried.push(self.threads);
        self.same.clear();
        if plan.roles.is_some() {
            return;
        }
        let free = plan.min_ctas_per_sm.is_none();
        let alone = |plan: &Plan| {
            let alone = Plan {
                min_ctas_per_sm: Some(1),
                ..plan.clone()
            };
            self.taking(alone, vec![("min_ctas_per_sm", "1".to_owned())])
        };
        let mut same = VecDeque::new();
        if free {
            same.push_back((alone(plan), true));
        }
        let is_named = |axis: &Axis| axis.stride.name().is_some();
        let has_rows = |operand: &Operand| operand.all_axes().any(is_named);
        if plan.rows == Rows::Held && plan.operands.iter().any(has_rows) {
            let computed = Plan {
                rows: Rows::Computed,
                ..plan.clone()
            };
            let computed = self.taking(computed, vec![("addresses", "computed".to_owned())]);
            if free {
                same.push_back((alone(&computed), true));
            }
            same.insert(usize::from(free), (computed, false));
        }
        self.same = same;
    }
}

/// Schedules that stand for that of the point, whose own plan has so many threads, in the order in
/// which they are tried; where its own plan is refused, those that may keep what it violates.
pub(in crate::plan) fn candidates(
    point: &Point,
    catalogue: &Catalogue,
    refused: Option<&[Violation]>,
    threads: u32,
) -> Result<Vec<Candidate>> {
    let spec = &point.spec;
    let is = |code: &str, codes: &[&str]| codes.contains(&code);
    let refused = refused.unwrap_or_default();
    let by_threads = |one: &Violation| is(one.code, BY_THREADS);
    let by_stages = |one: &Violation| one.code == BY_STAGES;
    let may_keep = refused.iter().all(|one| by_threads(one) || by_stages(one));
    match spec.problem.form() {
        FormKind::Rows if may_keep => Ok(rows(&spec.schedule, threads)),
        FormKind::Contraction => {
            let fewer_stages = refused.iter().any(by_stages);
            let mut all = match may_keep {
                true => products(point, catalogue, fewer_stages)?,
                false => Vec::new(),
            };
            all.extend(by_elements(point, catalogue));
            Ok(all)
        }
        FormKind::Rows | FormKind::Chain => Ok(Vec::new()),
    }
}

/// Factors that the plan by itself brings by vectors across k, brought one element at a time.
fn by_elements(point: &Point, catalogue: &Catalogue) -> Option<Candidate> {
    let across = gemm::across_by_itself(&point.spec, &Chooser::of(point, catalogue));
    if across.is_empty() {
        return None;
    }
    let mut schedule = point.spec.schedule.clone();
    for name in across {
        schedule.copy.entry(name).or_default().g2r = Some(Auto::Auto);
    }
    Some((
        schedule,
        vec![(BY_ELEMENTS, "element by element".to_owned())],
    ))
}

/// Rows of more threads than those, then of half as many, which share more of what each thread
/// holds for itself; rows of fewer take long to compile.
fn rows(schedule: &Schedule, threads: u32) -> Vec<Candidate> {
    if schedule.threads != Auto::Auto {
        return Vec::new();
    }
    let of = |threads: u32| {
        let other = Schedule {
            threads: Auto::Given(threads),
            ..schedule.clone()
        };
        (other, vec![("threads", threads.to_string())])
    };
    let more = THREADS.into_iter().filter(|other| *other > threads);
    let half = THREADS.into_iter().filter(|other| *other == threads / 2);
    more.chain(half).map(of).collect()
}

/// Products of other atoms side by side; then with warps that are all alike, where they have
/// roles; then of fewer stages, where those do not fit.
fn products(point: &Point, catalogue: &Catalogue, fewer_stages: bool) -> Result<Vec<Candidate>> {
    let own = &point.spec.schedule;
    let mut bases: Vec<Candidate> = Vec::new();
    if gemm::roles_by_itself(&point.spec, &Chooser::of(point, catalogue)) {
        let mut alike = own.clone();
        alike.pipeline.schedule = Auto::Given(KernelSchedule::Multistage);
        let word = KernelSchedule::Multistage.name().to_owned();
        bases.push((alike, vec![("pipeline.schedule", word)]));
    } else {
        bases.push((own.clone(), Vec::new()));
    }
    if fewer_stages && own.pipeline.stages == Auto::Auto {
        let fewer = |(schedule, taken): &Candidate| {
            let mut schedule = schedule.clone();
            schedule.pipeline.stages = Auto::Given(FEWEST_STAGES);
            let stages = ("pipeline.stages", FEWEST_STAGES.to_string());
            (schedule, taken.iter().cloned().chain([stages]).collect())
        };
        bases.extend(bases.iter().map(fewer).collect::<Vec<_>>());
    }
    let mut all = Vec::new();
    for (base, taken) in bases {
        let of = point.with(base);
        let atoms = gemm::other_atoms(&of.spec, &mut Chooser::of(&of, catalogue))?;
        if !taken.is_empty() {
            all.push((of.spec.schedule.clone(), taken.clone()));
        }
        all.extend(atoms.into_iter().map(|atoms| {
            let mut schedule = of.spec.schedule.clone();
            schedule.mma.atoms = Auto::Given(atoms);
            let [m, n, k] = atoms;
            let mut taken = taken.clone();
            taken.push(("mma.atoms", format!("({m},{n},{k})")));
            (schedule, taken)
        }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::candidates;
    use crate::atoms;
    use crate::spec;

    /// What each of a point's other schedules says that its own does not.
    fn others(text: &str, threads: u32) -> Vec<String> {
        let file = spec::parse("-", text).unwrap();
        let point = &file.points[0];
        let own = point.spec.said();
        let found = candidates(point, atoms::catalogue().unwrap(), None, threads).unwrap();
        let told = found.into_iter().map(|(schedule, taken)| {
            let said = point.with(schedule).spec.said();
            let new = said.into_iter().filter(|one| !own.contains(one));
            let new: Vec<String> = new.map(|(key, value)| format!("{key} {value}")).collect();
            assert_eq!(new.len(), taken.len());
            new.join(", ")
        });
        told.collect()
    }

    #[test]
    fn schedules_are_values_in_the_order_in_which_they_are_tried() {
        let rows = "kernel: rows\nname: rows_t\narch: sm_80\noperands:\n  x: { dtype: f32, layout: \
                    '(m,n):(ldx,1)' }\n  d: { dtype: f32, layout: '(m,n):(ldd,1)' }\ncompute: \
                    d[m,n] = x[m,n] / sum[n] x[m,n]\ncta_tile: '(1,4096)'\n";
        let wanted = ["threads 512", "threads 1024", "threads 128"];
        assert_eq!(others(rows, 256), wanted);
        assert!(others(&format!("{rows}threads: 256\n"), 256).is_empty());
        let product = "kernel: gemm\nname: gemm_t\narch: sm_90a\noperands:\n  a: { dtype: bf16, \
                       layout: '(m,k):(lda,1)' }\n  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }\n  \
                       d: { dtype: bf16, layout: '(m,n):(ldd,1)' }\naccumulator: f32\ncta_tile: \
                       '(128,128,64)'\n";
        let found = others(product, 384);
        assert_eq!(found.first().unwrap(), "pipeline.schedule multistage");
        let with_atoms =
            |one: &String| one.starts_with("mma.atoms (") && one.contains(", pipeline");
        assert!(
            found.len() > 2 && found[1..].iter().all(with_atoms),
            "{found:?}"
        );
    }
}
