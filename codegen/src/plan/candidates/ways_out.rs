//! What would be taken in the place of what is refused, found by asking for a plan of it.
//!
//! Comes in: a point with the limits that it violates, and who plans points. Goes out: the same
//! limits; where a newer architecture takes the point as it stands, the least of them is among the
//! ways out, and where other values of keys do, these are.

use crate::arch::{ARCHES, Arch};
use crate::error::{Result, Violation, message};
use crate::plan::candidates::changes::{Change, changes, freed, values, written};
use crate::plan::data::model::Plan;
use crate::spec::keys::model::{
    Accumulation, Auto, FormKind, KernelSchedule, Point, Problem, Schedule, Spec,
};
use crate::spec::keys::paths;

/// Limits that say what an architecture lacks, whether or not they name it.
const BY_ARCH: &[&str] = &["no-arithmetic"];
/// Limits that other values may keep.
const BY_VALUES: &[&str] = &[
    "fold-threads",
    "k-blocks",
    "registers",
    SCHEDULE,
    "smem-capacity",
    "threads",
    "threads-along",
    "threads-tile",
    "tile-divides",
];
/// The limit that another schedule keeps first.
const SCHEDULE: &str = "schedule-arch";

/// A plan, or what is wrong with the point.
pub(in crate::plan) type Answer = std::result::Result<Plan, Vec<Violation>>;

/// The violations of a point, with what `ask` takes instead.
///
/// # Errors
/// As those of whom is asked.
pub(in crate::plan) fn with_ways_out(
    point: &Point,
    mut violations: Vec<Violation>,
    ask: impl Fn(&Point) -> Result<Answer>,
) -> Result<Vec<Violation>> {
    name_arch(point, &mut violations, &ask)?;
    name_values(point, &mut violations, &ask)?;
    Ok(violations)
}

/// Names the least newer architecture that has what this one lacks, and that refuses nothing but
/// what is refused besides.
fn name_arch(
    point: &Point,
    violations: &mut [Violation],
    ask: impl Fn(&Point) -> Result<Answer>,
) -> Result<()> {
    let own = point.spec.problem.arch.name;
    let lacks = |one: &Violation| BY_ARCH.contains(&one.code) || one.speaks_of(&paths::ARCH, own);
    if !violations.iter().any(lacks) {
        return Ok(());
    }
    let others = violations.iter().filter(|one| !lacks(one));
    let others: Vec<&str> = others.map(|one| one.code).collect();
    let older = ARCHES
        .iter()
        .position(|arch| *arch == point.spec.problem.arch);
    for arch in ARCHES.iter().skip(older.map_or(0, |at| at + 1)) {
        let Some(with) = taken_by(point, *arch, &others, &ask)? else {
            continue;
        };
        for one in violations.iter_mut().filter(|one| lacks(one)) {
            if !one.speaks_of(&paths::ARCH, arch.name) {
                one.add(message!(", or {}{with}", paths::ARCH.with(arch)));
            }
            one.involve(paths::ARCH.path());
        }
        break;
    }
    Ok(())
}

/// What to write besides so that an architecture takes the point, but for what is refused by those
/// codes; `None` where it does not.
fn taken_by(
    point: &Point,
    arch: Arch,
    but_for: &[&str],
    ask: impl Fn(&Point) -> Result<Answer>,
) -> Result<Option<&'static str>> {
    let mut point = point.clone();
    point.spec.problem.arch = arch;
    let taken = |point: &Point| -> Result<bool> {
        let refused = ask(point)?.err().unwrap_or_default();
        Ok(refused.iter().all(|one| but_for.contains(&one.code)))
    };
    if taken(&point)? {
        return Ok(Some(""));
    }
    let fast = Some(Accumulation::Fast);
    if point.spec.problem.accumulation == fast {
        return Ok(None);
    }
    point.spec.problem.accumulation = fast;
    Ok(taken(&point)?.then_some(" with accumulation: fast"))
}

/// Names values of keys of which the point has a plan, with the last limit that values keep.
fn name_values(
    point: &Point,
    violations: &mut [Violation],
    ask: impl Fn(&Point) -> Result<Answer>,
) -> Result<()> {
    let by_schedule = violations.iter().any(|one| one.code == SCHEDULE);
    // Where one limit alone is violated and its number of stages is told, that will do.
    let is_told = |one: &Violation| one.values_of(&paths::STAGES).next().is_some();
    if matches!(&*violations, [one] if is_told(one)) {
        return Ok(());
    }
    let by_values = |one: &&mut Violation| BY_VALUES.contains(&one.code);
    let Some(last) = violations.iter_mut().rfind(by_values) else {
        return Ok(());
    };
    for Change { keys, schedule } in candidates(&point.spec, by_schedule) {
        let other = point.with(schedule);
        let Ok(plan) = ask(&other)? else {
            continue;
        };
        let values = values(&keys, &other.spec, &plan).said;
        last.unbuilt = Some(last.message.len());
        last.add(message!("; with {} it has a plan (not built yet)", values));
        break;
    }
    Ok(())
}

/// The refusal whose values of keys no assembler has judged, the bytes of its message in front of
/// them, and the schedules of other values that may be judged, best first.
pub(crate) fn unbuilt(
    point: &Point,
    violations: &[Violation],
) -> Option<(usize, usize, Vec<Change>)> {
    let mut all = violations.iter().enumerate();
    let (at, front) = all.find_map(|(at, one)| Some((at, one.unbuilt?)))?;
    let by_schedule = violations.iter().any(|one| one.code == SCHEDULE);
    Some((at, front, candidates(&point.spec, by_schedule)))
}

/// Schedules with other values, best first.
fn candidates(spec: &Spec, by_schedule: bool) -> Vec<Change> {
    let problem = &spec.problem;
    let mut base = spec.schedule.clone();
    let mut also = Vec::new();
    if by_schedule {
        base.pipeline.schedule = Auto::Given(KernelSchedule::Multistage);
        also.push("pipeline.schedule");
    }
    let mut all = Vec::new();
    let mut push = |keys: &[&'static str], schedule: Schedule| {
        let keys = also.iter().chain(keys).copied().collect();
        all.push(Change { keys, schedule });
    };
    if by_schedule {
        push(&[], base.clone());
    }
    let even = rounded(problem, &base);
    let is_even = even.cta_tile == base.cta_tile;
    if !is_even {
        push(&["cta_tile"], even);
    }
    if base.pipeline.stages != Auto::Auto {
        let mut free = base.clone();
        free.pipeline.stages = Auto::Auto;
        push(&["pipeline.stages"], free.clone());
        if !is_even {
            push(&["cta_tile", "pipeline.stages"], rounded(problem, &free));
        }
    }
    for Change { keys, schedule } in changes(problem, &base) {
        push(&keys, schedule);
    }
    let keys = written(&base);
    if !keys.is_empty() && !is_even {
        let free = rounded(problem, &freed(&base, &keys).schedule);
        let keys: Vec<&'static str> = keys.iter().copied().chain(["cta_tile"]).collect();
        push(&keys, free);
    }
    all
}

/// The schedule with extents of its tile that are powers of two, and of rows as many elements as a
/// warp has vectors for.
fn rounded(problem: &Problem, schedule: &Schedule) -> Schedule {
    /// Elements of a warp's vectors of 16 bytes, in the smallest element type.
    const LEAST: i64 = 32 * 16;
    let mut schedule = schedule.clone();
    for extent in &mut schedule.cta_tile {
        *extent = extent.unsigned_abs().next_power_of_two().cast_signed();
    }
    let elements: i64 = schedule.cta_tile.iter().product();
    if let (FormKind::Rows, Some(last)) = (problem.form(), schedule.cta_tile.last_mut())
        && elements < LEAST
    {
        *last *= LEAST / elements.max(1);
    }
    schedule
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::plan::plan;
    use crate::spec::parse;

    /// What is said of a product of that type, contiguous along k, with more keys.
    fn product(dtype: &str, arch: &str, more: &str) -> String {
        let (accumulator, out) = match dtype {
            "s8" | "u8" => ("s32", "s32"),
            _ => ("f32", "f32"),
        };
        refused(&format!(
            "kernel: gemm\nname: gemm_t\narch: {arch}\noperands:\n  a: {{ dtype: {dtype}, \
             layout: '(m,k):(lda,1)' }}\n  b: {{ dtype: {dtype}, layout: '(n,k):(ldb,1)' }}\n  \
             d: {{ dtype: \
             {out}, layout: '(m,n):(ldd,1)' }}\naccumulator: {accumulator}\ncta_tile: \
             '(128,128,64)'\n{more}\n"
        ))
    }

    fn refused(text: &str) -> String {
        let file = parse("-", text).unwrap_or_else(|error| panic!("{}", error.report(false)));
        plan(&file.points[0]).unwrap_err().report(false)
    }

    #[test]
    fn the_least_architecture_that_takes_a_product_is_named() {
        let (before, later) = (&["sm_70", "sm_75"][..], &["sm_70", "sm_80", "sm_90"][..]);
        for (dtype, least, arches) in [
            ("s8", "sm_80", before),
            ("u8", "sm_80", before),
            ("tf32", "sm_80", before),
            ("e4m3", "sm_90a with accumulation: fast", later),
            ("e5m2", "sm_90a with accumulation: fast", later),
        ] {
            for arch in arches {
                let report = product(dtype, arch, "");
                let way_out = format!(", or arch {least}\n");
                assert!(format!("{report}\n").contains(&way_out), "{report}");
                let others = [
                    "choose other types",
                    "choose types that there is one of: ",
                    "choose f32 and f32, which threads multiply",
                ];
                let names = others.iter().any(|words| report.contains(words));
                assert!(names, "{report}");
                assert!(!report.contains("contiguous"), "{report}");
            }
        }
        let report = product("f16", "sm_75", "pipeline: { stages: 3 }");
        let way_out = "arch sm_75 has none: use 1, or arch sm_80";
        assert!(report.contains(way_out), "{report}");
    }

    #[test]
    fn a_map_names_the_architecture_that_has_its_arithmetic() {
        let report = refused(
            "kernel: rows\nname: rows_t\narch: sm_80\noperands:\n  x: { dtype: e4m3, layout: \
             '(m,n):(ldx,1)' }\n  d: { dtype: f32, layout: '(m,n):(ldd,1)' }\ncompute: d[m,n] = \
             2*x[m,n]\ncta_tile: '(8,256)'\n",
        );
        assert!(report.contains("use f32 there, or arch sm_89"), "{report}");
    }

    /// What follows from another refusal, or what another plan of the point keeps, is no reason.
    #[test]
    fn reasons_that_go_with_others_are_not_told() {
        let over = refused(
            "kernel: k\nname: k_t\narch: sm_80\noperands:\n  a: { dtype: f16, layout: \
             '(m,k):(lda,1)' }\n  b: { dtype: f16, layout: '(n,k):(ldb,1)' }\n  r: { dtype: f16, \
             layout: '(m,n):(ldr,1)' }\n  d: { dtype: f16, layout: '(m,n):(ldd,1)', over: r \
             }\ncompute: |\n  d[m,n] = (sum[k] a[m,k] * b[n,k]) + r[m,n]\ncta_tile: \
             '(100,64,64)'\n",
        );
        assert!(
            over.contains("[tile-divides]") && !over.contains("[over]"),
            "{over}"
        );
        let alike = product(
            "f16",
            "sm_90",
            "pipeline: { schedule: multistage }\ncluster: '(2,1,1)'\nthreads: 256",
        );
        assert!(
            alike.contains("[schedule]") && !alike.contains("[threads]"),
            "{alike}"
        );
        let roles = product(
            "f16",
            "sm_90",
            "pipeline: { schedule: cooperative }\ncluster: '(2,1,1)'\nscheduler: { kind: \
             persistent }",
        );
        let without = "pipeline.schedule multistage without cluster and scheduler.kind";
        assert!(roles.contains(without), "{roles}");
    }

    #[test]
    fn threads_are_refused_for_what_they_exceed() {
        for threads in [32, 64, 1024] {
            let report = product("f16", "sm_80", &format!("threads: {threads}"));
            assert!(report.contains("[registers]"), "{report}");
            let way_out = "with threads 128 it has a plan (not built yet)";
            assert!(report.contains(way_out), "{report}");
        }
    }

    #[test]
    fn an_input_that_several_threads_read_is_no_place_for_an_output() {
        for (mode, folded) in [("n", "m"), ("m", "n")] {
            let report = refused(&format!(
                "kernel: rows\nname: rows_t\narch: sm_80\noperands:\n  x: {{ dtype: f32, \
                 layout: '(m,n):(ldx,1)' }}\n  r: {{ dtype: f32, layout: '({mode}):(1)' }}\n  \
                 q: {{ dtype: \
                 f32, layout: '({mode}):(1)', over: r }}\ncompute: q[{mode}] = 0.9*r[{mode}] + \
                 0.1*mean[{folded}] x[m,n]\ncta_tile: '(64,64)'\n"
            ));
            let why = "one element for several threads, which all read it";
            assert!(report.contains(why), "{report}");
        }
    }
}
