//! What stands for a point whose first plan, or its kernel, does not do.
//!
//! Comes in: a point. Goes out: its plans, in the order in which they are tried: the one that it
//! has by itself, then others with values in the places of keys that the spec leaves to the plan
//! (`auto`): fewer CTAs that must fit an SM, more atoms side by side, more threads, fewer stages,
//! warps that are all alike. What is written stays as it is. All have the point's own id, which
//! names what is written; a plan says what it takes.

use std::collections::VecDeque;

use crate::arch::{MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM};
use crate::atoms::Catalogue;
use crate::error::{Error, Result, Violation};
use crate::plan::model::{Choice, LeftOut, Plan};
use crate::plan::{attempt, chooser};
use crate::plan::{gemm, instead};
use crate::spec::model::{Auto, FormKind, Point, Schedule, Spec};

/// Limits that other atoms side by side, or other threads, may keep.
const BY_THREADS: &[&str] = &[
    "registers",
    "threads",
    "threads-tile",
    "tile-divides",
    "vector-divides",
    "no-fragment-copy",
    "layouts",
    "consumers",
];
/// The limit that fewer stages may keep.
const BY_STAGES: &str = "smem-capacity";
/// Fewest stages of which one is loaded while another is multiplied.
const FEWEST_STAGES: u32 = 2;
/// Threads of a CTA of rows, by which more or fewer are tried.
const THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// What is written in the place of an `auto`.
type Taken = (&'static str, String);

/// The plans of a point, in the order in which they are tried.
#[derive(Debug)]
pub struct Plans<'c> {
    point: Point,
    catalogue: &'c Catalogue,
    /// Points that were not planned yet; none before the first plan was asked for.
    rest: Option<VecDeque<(Point, Vec<Taken>)>>,
    /// The last plan with registers of one CTA.
    alone: Option<Plan>,
    /// What is wrong with the point's own plan.
    refused: Option<Vec<Violation>>,
    /// Threads of the last plan.
    threads: u32,
    /// What is wrong with the best of those that have as many threads as the spec asks for, where
    /// the point has others by itself.
    of_asked: Option<Vec<Violation>>,
}

/// Plans a point: the first of its plans, and those behind it.
///
/// # Errors
/// What is wrong with the point's own plan, where it has none.
pub(super) fn plans<'c>(point: &Point, catalogue: &'c Catalogue) -> Result<(Plan, Plans<'c>)> {
    match found(point, catalogue)? {
        Ok(found) => Ok(found),
        Err(refused) => {
            let ask = |other: &Point| Ok(found(other, catalogue)?.map(|(plan, _)| plan));
            let refused = instead::with_ways_out(point, refused, ask)?;
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
        alone: None,
        refused: None,
        threads: 0,
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
        None => Err(plans.of_asked.unwrap_or(refused)),
    })
}

impl Plans<'_> {
    /// The plan behind those before; none where all were tried.
    ///
    /// # Errors
    /// [`Error::Bug`] of a plan that is none.
    pub fn behind(&mut self) -> Result<Option<Plan>> {
        match self.alone.take() {
            Some(plan) => Ok(Some(plan)),
            None => self.planned(),
        }
    }

    /// Notes that the kernel of the last plan is refused, at so many registers of a thread, for
    /// these reasons.
    pub fn refuse(&mut self, registers: u32, reasons: &[Violation]) {
        if self.refused.is_none() {
            self.refused = Some(reasons.to_vec());
        }
        for left_out in self.alone.iter_mut().flat_map(|alone| &mut alone.taken) {
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
            self.alone = None;
        }
    }

    /// The plan of the next point that has one.
    fn planned(&mut self) -> Result<Option<Plan>> {
        loop {
            if self.rest.is_none() {
                // What the assembler refuses is no limit that a plan speaks of.
                let refused = self.refused.as_deref().filter(|_| self.threads == 0);
                let all = others(&self.point, self.catalogue, refused)?;
                self.rest = Some(all.into());
            }
            let next = self.rest.as_mut().and_then(VecDeque::pop_front);
            let Some((point, taken)) = next else {
                return Ok(None);
            };
            match attempt(&point, self.catalogue) {
                // What was refused is refused with as many threads again.
                Ok(plan) if self.more_threads(&plan) => {
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
        let is_asked = matches!(self.point.spec.threads, Auto::Given(_))
            && self.point.spec.form() == FormKind::Contraction;
        if is_asked && !violations.iter().any(|one| one.code == "threads") {
            self.of_asked.get_or_insert(violations);
        }
    }

    /// Whether a plan has more threads than the last, where the spec does not say how many.
    fn more_threads(&self, plan: &Plan) -> bool {
        self.point.spec.threads != Auto::Auto || plan.cta_threads() > self.threads
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

    /// Notes what comes behind this plan: the same with the registers of one CTA on an SM. Without
    /// a word about residency ptxas bounds registers for more CTAs than fit otherwise, and spills
    /// a few bytes for that.
    fn note(&mut self, plan: &Plan) {
        self.threads = plan.cta_threads();
        let free = plan.min_ctas_per_sm.is_none() && plan.roles.is_none();
        self.alone = free.then(|| {
            let alone = Plan {
                min_ctas_per_sm: Some(1),
                ..plan.clone()
            };
            self.taking(alone, vec![("min_ctas_per_sm", "1".to_owned())])
        });
    }
}

/// Points that stand for the point, in the order in which they are tried; where its own plan is
/// refused, those that may keep what it violates.
fn others(
    point: &Point,
    catalogue: &Catalogue,
    refused: Option<&[Violation]>,
) -> Result<Vec<(Point, Vec<Taken>)>> {
    let spec = &point.spec;
    let is = |code: &str, codes: &[&str]| codes.contains(&code);
    let refused = refused.unwrap_or_default();
    let by_threads = |one: &Violation| is(one.code, BY_THREADS);
    let by_stages = |one: &Violation| one.code == BY_STAGES;
    if !refused.iter().all(|one| by_threads(one) || by_stages(one)) {
        return Ok(Vec::new());
    }
    let specs = match spec.form() {
        FormKind::Rows => rows(spec),
        FormKind::Contraction => products(point, catalogue, refused.iter().any(by_stages))?,
        FormKind::Chain => Vec::new(),
    };
    let id = &point.id;
    let point = |spec| Point {
        id: id.clone(),
        spec,
    };
    let points = specs.into_iter();
    Ok(points.map(|(spec, taken)| (point(spec), taken)).collect())
}

/// Rows of more threads, then of fewer.
fn rows(spec: &Spec) -> Vec<(Spec, Vec<Taken>)> {
    if spec.threads != Auto::Auto {
        return Vec::new();
    }
    let of = |threads: u32| {
        let spec = Spec {
            threads: Auto::Given(threads),
            ..spec.clone()
        };
        (spec, vec![("threads", threads.to_string())])
    };
    THREADS.into_iter().map(of).collect()
}

/// Products of other atoms side by side; then with warps that are all alike, where they have
/// roles; then of fewer stages, where those do not fit.
fn products(
    point: &Point,
    catalogue: &Catalogue,
    fewer_stages: bool,
) -> Result<Vec<(Spec, Vec<Taken>)>> {
    let spec = &point.spec;
    let mut bases: Vec<(Spec, Vec<Taken>)> = Vec::new();
    if gemm::roles_by_itself(spec, &chooser(point, catalogue)) {
        let mut alike = spec.clone();
        alike.pipeline.schedule = Auto::Given(Schedule::Multistage);
        let word = Schedule::Multistage.name().to_owned();
        bases.push((alike, vec![("pipeline.schedule", word)]));
    } else {
        bases.push((spec.clone(), Vec::new()));
    }
    if fewer_stages && spec.pipeline.stages == Auto::Auto {
        let fewer = |(spec, taken): &(Spec, Vec<Taken>)| {
            let mut spec = spec.clone();
            spec.pipeline.stages = Auto::Given(FEWEST_STAGES);
            let stages = ("pipeline.stages", FEWEST_STAGES.to_string());
            (spec, taken.iter().cloned().chain([stages]).collect())
        };
        bases.extend(bases.iter().map(fewer).collect::<Vec<_>>());
    }
    let mut all = Vec::new();
    for (base, taken) in bases {
        let of = Point {
            id: point.id.clone(),
            spec: base,
        };
        let atoms = gemm::other_atoms(&of.spec, &mut chooser(&of, catalogue))?;
        if !taken.is_empty() {
            all.push((of.spec.clone(), taken.clone()));
        }
        all.extend(atoms.into_iter().map(|atoms| {
            let mut spec = of.spec.clone();
            spec.mma.atoms = Auto::Given(atoms);
            let [m, n, k] = atoms;
            let mut taken = taken.clone();
            taken.push(("mma.atoms", format!("({m},{n},{k})")));
            (spec, taken)
        }));
    }
    Ok(all)
}
