//! Other values for what a spec says, as ways out of a refusal.
//!
//! Comes in: a problem and a schedule. Goes out: schedules with other values for some of its keys,
//! those that cost a kernel least first: keys that are written and decide on threads and registers
//! are left to the plan, then tiles are halved. Whether one of them does is for others to try.

use std::collections::BTreeSet;

use crate::error::{KeyPath, Message, message};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::work_tiles::{COLUMNS, SUMMED};
use crate::spec::keys::model::{
    Auto, CopyPath, FormKind, KernelSchedule, Operand, Passes, Problem, Role, Schedule, Spec,
};
use crate::spec::positional;

/// Stands for `copy.X.g2s` of every operand that an epilogue reads by the output's own modes.
const BOXES: &str = "copy.*.g2s";

/// Most times that a tile is halved.
const MOST_HALVINGS: usize = 4;

/// A schedule with other values for some of its keys.
pub(crate) struct Change {
    /// The keys whose values are others.
    pub keys: Vec<&'static str>,
    /// The schedule.
    pub schedule: Schedule,
}

/// Keys with other values, as a report names them.
pub(crate) struct Values {
    /// The keys and their values: `threads 256 and mma.atoms (2,2,1)`.
    pub said: Message,
    /// Whether a kernel with them is for some extents alone.
    pub is_limited: bool,
}

/// What to write in the places of those keys, and for which extents alone a kernel of that tile is:
/// `cta_tile (128,128,64), for n <= 128`.
pub(crate) fn values(keys: &[&'static str], spec: &Spec, plan: &Plan) -> Values {
    let said = keys.iter().flat_map(|key| match *key {
        BOXES => by_boxes_of(&spec.schedule),
        key => vec![value(key, spec, plan)],
    });
    let said = Message::join(said, " and ");
    let by_tile = keys.contains(&"cta_tile");
    let limits = plan.assumptions.iter().filter_map(|one| match one {
        Assumption::ExtentMost { mode, most, .. } if by_tile => Some(format!("{mode} <= {most}")),
        _ => None,
    });
    let limits: Vec<String> = limits.collect();
    let is_limited = !limits.is_empty();
    let said = match is_limited {
        true => message!("{}, for {}", said, limits.join(" and ")),
        false => said,
    };
    Values { said, is_limited }
}

/// A key with its value in a plan.
fn value(key: &'static str, spec: &Spec, plan: &Plan) -> Message {
    let tuple = |all: &[i64]| {
        let all: Vec<String> = all.iter().map(i64::to_string).collect();
        format!("({})", all.join(","))
    };
    let atoms = plan.mma.as_ref().map(|mma| {
        let along = mma.tiled.atom_layout_mnk();
        let size = |mode: usize| {
            along
                .mode(mode)
                .and_then(|one| one.size().ok())
                .unwrap_or(1)
        };
        tuple(&[size(0), size(1), size(2)])
    });
    let value = match key {
        "cta_tile" => Some(match tile_by_name(spec) {
            Some(tile) => tile,
            None => tuple(&spec.schedule.cta_tile),
        }),
        "mma.atoms" => atoms,
        "threads" => Some(plan.cta_threads().to_string()),
        "min_ctas_per_sm" => plan.min_ctas_per_sm.map(|ctas| ctas.to_string()),
        "pipeline.stages" => Some(plan.stages.to_string()),
        "pipeline.schedule" => match &spec.schedule.pipeline.schedule {
            Auto::Given(schedule) => Some(schedule.name().to_owned()),
            Auto::Auto => None,
        },
        "scheduler.passes" => Some(Passes::Many.name().to_owned()),
        _ => None,
    };
    message!(
        "{} {}",
        KeyPath::of(key),
        value.as_deref().unwrap_or("auto")
    )
}

/// The keys by which operands come by boxes where the plan decides how.
fn by_boxes_of(schedule: &Schedule) -> Vec<Message> {
    let of_plan = schedule.copy.iter();
    let of_plan = of_plan.filter(|(_, path)| path.g2s == Some(Auto::Auto));
    let said = |(name, _): (&String, &CopyPath)| {
        message!("{} auto", KeyPath::made(format!("copy.{name}.g2s")))
    };
    of_plan.map(said).collect()
}

/// The tile by the names of its modes, where extents by position stand for others.
fn tile_by_name(spec: &Spec) -> Option<String> {
    let modes = spec.problem.modes();
    let by_position = positional(&spec.problem.compute.formula, &spec.problem.compute.form);
    if spec.problem.form() != FormKind::Rows || by_position == modes {
        return None;
    }
    let all = modes.iter().zip(&spec.schedule.cta_tile);
    let all: Vec<String> = all
        .map(|(name, extent)| format!("{name}: {extent}"))
        .collect();
    Some(format!("{{ {} }}", all.join(", ")))
}

/// Other values for what is written: fewer CTAs on an SM, other threads, all of these, boxes for
/// what a product's epilogue reads, warpgroups that share a tile, several passes, and then smaller
/// tiles, of which the plan decides on all else.
pub(crate) fn changes(problem: &Problem, schedule: &Schedule) -> Vec<Change> {
    let mut all = Vec::new();
    if let Auto::Given(ctas) = schedule.min_ctas_per_sm {
        let fewer = (1..32).map(|halvings| ctas >> halvings);
        for ctas in fewer.take_while(|ctas| *ctas >= 1) {
            let mut schedule = schedule.clone();
            schedule.min_ctas_per_sm = Auto::Given(ctas);
            let keys = vec!["min_ctas_per_sm"];
            all.push(Change { keys, schedule });
        }
    }
    let written = written(schedule);
    all.extend(written.iter().map(|key| freed(schedule, &[*key])));
    if written.len() > 1 {
        all.push(freed(schedule, &written));
    }
    all.extend(by_boxes(problem, schedule));
    if schedule.pipeline.schedule == Auto::Given(KernelSchedule::Pingpong) {
        let mut schedule = schedule.clone();
        schedule.pipeline.schedule = Auto::Given(KernelSchedule::Cooperative);
        let keys = vec!["pipeline.schedule"];
        all.push(Change { keys, schedule });
    }
    let one = [Auto::Auto, Auto::Given(Passes::One)].contains(&schedule.scheduler.passes);
    if problem.form() == FormKind::Rows && one {
        all.extend(in_passes(problem, schedule));
    }
    all.extend(smaller(problem, schedule, written));
    all
}

/// What a product's epilogue reads of the output's own modes comes into shared memory by boxes, in
/// the place of registers.
fn by_boxes(problem: &Problem, schedule: &Schedule) -> Option<Change> {
    let modes = |operand: &Operand| -> BTreeSet<String> {
        let axes = operand.formula_axes().into_iter();
        axes.map(|axis| axis.mode.clone()).collect()
    };
    let of_output = modes(problem.operand_as(Role::Output)?);
    let mut schedule = schedule.clone();
    let mut is_other = false;
    for operand in &problem.operands {
        if operand.role != Role::Extra || modes(operand) != of_output {
            continue;
        }
        let path = schedule.copy.entry(operand.name.clone()).or_default();
        if path.g2s.is_none() && path.g2r.is_none() {
            path.g2s = Some(Auto::Auto);
            is_other = true;
        }
    }
    let keys = vec![BOXES];
    is_other.then_some(Change { keys, schedule })
}

/// Several passes over rows, with the tile as it is and with chunks of it.
fn in_passes(problem: &Problem, schedule: &Schedule) -> Vec<Change> {
    /// Most elements of a chunk.
    const CHUNK: i64 = 8192;
    let mut schedule = schedule.clone();
    schedule.scheduler.passes = Auto::Given(Passes::Many);
    let keys = vec!["scheduler.passes"];
    let mut all = vec![Change {
        keys,
        schedule: schedule.clone(),
    }];
    let elements = |schedule: &Schedule| schedule.cta_tile.iter().product::<i64>();
    let (names, folded) = (problem.modes().to_vec(), problem.compute.folded());
    let is_folded = |at: &usize| {
        names
            .get(*at)
            .is_some_and(|name| folded.contains(&name.as_str()))
    };
    let Some(at) = (0..schedule.cta_tile.len()).rfind(is_folded) else {
        return all;
    };
    let others = elements(&schedule) / schedule.cta_tile[at].max(1);
    let chunk = (CHUNK / others.max(1)).max(1);
    if chunk < schedule.cta_tile[at] {
        let mut schedule = schedule.clone();
        schedule.cta_tile[at] = 1 << chunk.ilog2();
        let keys = vec!["scheduler.passes", "cta_tile"];
        all.push(Change { keys, schedule });
    }
    all
}

/// Smaller tiles, of which the plan decides on all else: the longest extent halved again and again,
/// and of products each of the two of results alone, which hold accumulators.
fn smaller(problem: &Problem, schedule: &Schedule, written: Vec<&'static str>) -> Vec<Change> {
    let mut all = Vec::new();
    let mut keys = written;
    let mut smaller = freed(schedule, &keys).schedule;
    keys.push("cta_tile");
    if schedule.min_ctas_per_sm != Auto::Auto {
        smaller.min_ctas_per_sm = Auto::Given(1);
        keys.push("min_ctas_per_sm");
    }
    let change = |schedule: &Schedule| Change {
        keys: keys.clone(),
        schedule: schedule.clone(),
    };
    let whole = smaller.clone();
    for halvings in 0..MOST_HALVINGS {
        let Some(at) = longest(problem, &smaller) else {
            break;
        };
        halve(&mut smaller, at);
        all.push(change(&smaller));
        if halvings > 0 || problem.form() != FormKind::Contraction {
            continue;
        }
        for alone in [1, 0] {
            if alone != at && is_cut(problem, &whole, alone) {
                let mut other = whole.clone();
                halve(&mut other, alone);
                all.push(change(&other));
            }
        }
    }
    all
}

/// Makes an extent half as long, or the power of two below.
fn halve(schedule: &mut Schedule, at: usize) {
    let extent = &mut schedule.cta_tile[at];
    *extent = match *extent % 2 {
        0 => *extent / 2,
        _ => 1 << (*extent - 1).ilog2(),
    };
}

/// The keys that are written and decide on threads and registers.
pub(crate) fn written(schedule: &Schedule) -> Vec<&'static str> {
    let is_given = [
        ("mma.atoms", schedule.mma.atoms != Auto::Auto),
        ("mma.permutation", schedule.mma.permutation != Auto::Auto),
        ("threads", schedule.threads != Auto::Auto),
        ("threads_along", schedule.threads_along != Auto::Auto),
    ];
    let given = is_given.into_iter().filter(|(_, given)| *given);
    given.map(|(key, _)| key).collect()
}

/// The schedule with these keys left to the plan.
pub(crate) fn freed(schedule: &Schedule, keys: &[&'static str]) -> Change {
    let mut schedule = schedule.clone();
    for key in keys {
        match *key {
            "mma.atoms" => schedule.mma.atoms = Auto::Auto,
            "mma.permutation" => schedule.mma.permutation = Auto::Auto,
            "threads" => schedule.threads = Auto::Auto,
            _ => schedule.threads_along = Auto::Auto,
        }
    }
    let keys = keys.to_vec();
    Change { keys, schedule }
}

/// The longest extent of a tile that may be smaller.
fn longest(problem: &Problem, schedule: &Schedule) -> Option<usize> {
    let tile = &schedule.cta_tile;
    let cut = (0..tile.len()).filter(|at| is_cut(problem, schedule, *at));
    cut.max_by_key(|at| tile[*at])
}

/// Whether an extent of a tile may be smaller: of what results have, as a tile has all of what is
/// folded, of a block of columns, and of what each part of a sum sums.
fn is_cut(problem: &Problem, schedule: &Schedule, at: usize) -> bool {
    let is_whole = match at {
        SUMMED => problem.compute.part().is_some(),
        COLUMNS => problem.compute.blocks().is_some(),
        _ => false,
    };
    let folded = problem.compute.folded();
    let mode = problem.modes().get(at);
    let is_free = mode.is_some_and(|mode| !folded.contains(&mode.as_str()));
    is_free && !is_whole && schedule.cta_tile.get(at).is_some_and(|extent| *extent > 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::spec;

    /// Of sums of parts a tile has all that a part sums; else each extent of results is halved.
    #[test]
    fn extents_that_may_be_others_are_halved() {
        let tiles = |text: &str| -> Vec<Vec<i64>> {
            let file = spec::parse("-", text).unwrap();
            let spec = &file.points[0].spec;
            let changes = changes(&spec.problem, &spec.schedule).into_iter();
            changes.map(|change| change.schedule.cta_tile).collect()
        };
        let parts = "kernel: parts\nname: parts_t\narch: sm_90a\noperands:\n  a: { dtype: e4m3, \
                     layout: '(m,g,i):(lda,128,1)' }\n  b: { dtype: e4m3, layout: \
                     '(n,g,i):(ldb,128,1)' }\n  s: { dtype: f32, layout: '(m,g):(1,lds)' }\n  d: { \
                     dtype: bf16, layout: '(m,n):(ldd,1)' }\nmodes: { i: 128 }\naccumulation: \
                     fast\ncompute: |\n  p[m,n,g] = sum[i] a[m,g,i] * b[n,g,i]\n  d[m,n] = sum[g] \
                     p[m,n,g] * s[m,g]\ncta_tile: '(128,128,128)'\n";
        let parts = tiles(parts);
        assert_eq!(parts[..2], [[128, 64, 128], [64, 128, 128]]);
        assert!(parts.iter().all(|tile| tile[2] == 128), "{parts:?}");
        let rows = "kernel: rows\nname: rows_t\narch: sm_80\noperands:\n  x: { dtype: f32, layout: \
                    '(m,n):(ldx,1)' }\n  d: { dtype: f32, layout: '(m,n):(ldd,1)' }\ncompute: \
                    d[m,n] = x[m,n] / sum[n] x[m,n]\ncta_tile: '(1,65536)'\n";
        assert_eq!(tiles(rows), [[1, 65536], [1, 8192]]);
    }

    /// A gate is as large as the output, a bias is not; pingpong stays where boxes are enough.
    #[test]
    fn what_an_epilogue_reads_comes_by_boxes_first() {
        let gated = "kernel: gated\nname: gated_t\narch: sm_90a\noperands:\n  a: { dtype: bf16, \
                     layout: '(m,k):(lda,1)' }\n  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }\n  \
                     bias: { dtype: bf16, layout: '(n):(1)' }\n  g: { dtype: bf16, layout: \
                     '(m,n):(ldg,1)' }\n  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }\ncompute: \
                     |\n  p[m,n] = sum[k] a[m,k] * b[n,k]\n  d[m,n] = silu(p[m,n] + bias[n]) * \
                     g[m,n]\ncta_tile: '(128,128,64)'\npipeline: { schedule: pingpong }\n";
        let boxed = |text: &str| {
            let file = spec::parse("-", text).unwrap();
            let spec = &file.points[0].spec;
            let change = changes(&spec.problem, &spec.schedule).into_iter().next();
            change
                .filter(|change| change.keys == [BOXES])
                .map(|change| {
                    assert_eq!(change.schedule.pipeline, spec.schedule.pipeline);
                    let said = by_boxes_of(&change.schedule).into_iter();
                    said.map(|said| said.text).collect::<Vec<_>>()
                })
        };
        assert_eq!(boxed(gated).unwrap(), ["copy.g.g2s auto"]);
        let written = format!("{gated}copy: {{ g: {{ g2s: auto }} }}\n");
        assert_eq!(boxed(&written), None);
    }

    /// A tile in a message means the same where it is written.
    #[test]
    fn tiles_are_told_as_they_are_written() {
        let rows = |layout: &str, indices: &str, over: &str, tile: &str| {
            format!(
                "kernel: rows\nname: rows\narch: sm_80\noperands:\n  x: {{ dtype: f32, layout: \
                 '{layout}' }}\n  d: {{ dtype: f32, layout: '{layout}' }}\ncompute: |\n  \
                 d[{indices}] = x[{indices}] - max[{over}] x[{indices}]\ncta_tile: {tile}\n"
            )
        };
        let cases = [
            (rows("(m,n)", "m,n", "n", "'(4,512)'"), None),
            (
                rows("(b,m,n)", "b,m,n", "n", "{ m: 4, n: 512 }"),
                Some("{ m: 4, n: 512 }"),
            ),
            (rows("(m,n)", "m,n", "m", "{ m: 512, n: 4 }"), None),
        ];
        for (text, want) in cases {
            let file = spec::parse("-", &text).unwrap();
            let spec = &file.points[0].spec;
            assert_eq!(tile_by_name(spec).as_deref(), want, "{text}");
            let tile = want.map_or_else(
                || {
                    format!(
                        "'({},{})'",
                        spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]
                    )
                },
                str::to_owned,
            );
            let start = text.find("cta_tile").unwrap();
            let again = format!("{}cta_tile: {tile}\n", &text[..start]);
            let again = spec::parse("-", &again).unwrap();
            assert_eq!(
                again.points[0].spec.schedule.cta_tile, spec.schedule.cta_tile,
                "{text}"
            );
            assert_eq!(again.points[0].spec.problem.modes(), spec.problem.modes());
        }
    }
}
