//! Runs a launch: checks it, lays out memory, runs the CTAs, collects what they found.
//!
//! Four floors, each of which uses only those listed before it:
//!
//! - `state`: what a launch, a cluster, a CTA and a warp hold
//! - `memory`: memory and barriers, and what orders accesses
//! - `instructions`: what each instruction does
//! - `warps`: who goes next, until all have exited

mod state;
mod memory;
mod instructions;
mod warps;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::alternatives::{Alternatives, Watched};
use crate::counters::Counters;
use crate::finding::{Finding, FindingId, FindingLog, Level};
use crate::history::History;
use crate::launch::{Launch, RunError, broken_limits, pack, volume};
use crate::memory::Memory;
use crate::module::Module;
use crate::options::{Options, WarpOrder};
use crate::tensor_core::Rules;
use crate::trace::{LineProfile, TraceStep};
use memory::crossing;
use state::{Env, GlobalSpace, GlobalWords, Observed, Random, ctas_of, variables};
use warps::{Came, Outcome, Running};

/// What a run gave besides the contents of the buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What was found, in the order of the CTAs.
    pub findings: Vec<Finding>,
    /// What was counted.
    pub counters: Counters,
    /// What each instruction did, for those executed, in the order of the code; empty unless the
    /// options ask for it.
    pub profile: Vec<LineProfile>,
    /// The steps of the traced warp.
    pub trace: Vec<TraceStep>,
    /// What led to the finding that the options name, in each cluster that takes part in it.
    pub histories: Vec<History>,
    /// Whose tensor cores summed; none when no instruction has sums that are neither exact nor
    /// IEEE's.
    pub tensor_cores: Option<&'static Rules>,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Lanes of all warp instructions, after predication.
    pub thread_instructions: u64,
    /// Whether the run was wished to [`Stop`](crate::Stop) before its end: nothing else of it
    /// counts then.
    pub is_cut_short: bool,
}

impl Report {
    /// The findings of level error.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.level == Level::Error)
    }

    /// Whether no finding is of level error.
    pub fn is_clean(&self) -> bool {
        self.errors().next().is_none()
    }
}

/// Executes one launch on the buffers of `memory`.
///
/// A launch that breaks a limit of the kernel or the architecture is not executed; its findings
/// say why.
///
/// # Errors
/// [`RunError`] when the run could not be made: the entry is unknown, or the arguments do not fit
/// its parameters.
///
/// ```
/// use tilewright_emulator::{Arg, Content, Launch, Memory, Module, Options, Params, run};
/// let module = Module::parse(
///     ".version 8.0\n.target sm_80\n.address_size 64\n\
///      .visible .entry lanes(.param .u64 out) {\n\
///        .reg .b32 %r<2>; .reg .b64 %rd<3>;\n\
///        ld.param.u64 %rd0, [out];\n\
///        mov.u32 %r0, %tid.x;\n\
///        mul.wide.u32 %rd1, %r0, 4;\n\
///        add.u64 %rd2, %rd0, %rd1;\n\
///        st.global.u32 [%rd2], %r0;\n\
///        ret;\n}",
/// )?;
/// let mut memory = Memory::new();
/// let out = memory.alloc("out", 128, Content::Undefined)?;
/// let launch = Launch {
///     entry: "lanes".to_owned(),
///     grid: [1, 1, 1],
///     block: [32, 1, 1],
///     cluster: [1, 1, 1],
///     programmatic: false,
///     dynamic_shared_bytes: 0,
///     params: Params::Args(vec![Arg::Buffer(out)]),
/// };
/// let report = run(&module, &launch, &mut memory, &Options::default())?;
/// assert!(report.is_clean());
/// assert_eq!(memory.read(out)[4..8], [1, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    module: &Module,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Report, RunError> {
    run_watched(module, launch, memory, options, None)
}

/// Executes one launch as [`run`] does, and says by number which of the other programs may run
/// differently: one that may not leaves the same bytes and makes the same findings.
///
/// # Errors
/// As [`run`].
pub fn run_beside(
    module: &Module,
    alternatives: &Alternatives,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<(Report, Vec<bool>), RunError> {
    let watched = Watched::new(alternatives);
    let watch = Some(&watched).filter(|_| !alternatives.is_empty());
    let report = run_watched(module, launch, memory, options, watch)?;
    Ok((report, watched.into_differs()))
}

fn run_watched(
    module: &Module,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
    watched: Option<&Watched<'_>>,
) -> Result<Report, RunError> {
    let entry = module.entry(&launch.entry).ok_or_else(|| {
        let known: Vec<&str> = module
            .entries()
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        RunError::UnknownEntry {
            name: launch.entry.clone(),
            known: known.join(", "),
        }
    })?;
    let params = pack(entry, &launch.params, memory)?;
    let broken = broken_limits(entry, launch, module.target());
    if !broken.is_empty() {
        let findings = broken
            .into_iter()
            .map(|message| limit_finding(launch, message))
            .collect();
        return Ok(Report {
            findings,
            ..Report::default()
        });
    }
    let variables = variables(module);
    let shared_bytes = match launch.dynamic_shared_bytes {
        0 => entry.static_shared_bytes,
        dynamic => entry.dynamic_offset.saturating_add(dynamic),
    };
    let env = Env {
        module,
        code: &module.code,
        entry,
        launch,
        options,
        params,
        global: GlobalSpace::new(memory, &variables),
        rules: options.rules(module.target()),
        shared_bytes,
        threads: volume(launch.block) as u32,
        watched,
        meetings: Mutex::default(),
    };
    Ok(run_grid(&env))
}

fn limit_finding(launch: &Launch, message: String) -> Finding {
    launch_finding(FindingId::LaunchLimit, &launch.entry, [0; 3], message)
}

fn budget_finding(env: &Env<'_>, cta: [u32; 3], message: String) -> Finding {
    launch_finding(FindingId::NoProgress, &env.entry.name, cta, message)
}

/// A finding that no instruction is to blame for.
fn launch_finding(id: FindingId, entry: &str, cta: [u32; 3], message: String) -> Finding {
    Finding {
        id,
        level: id.level(),
        kernel: entry.to_owned(),
        function: entry.to_owned(),
        pc: 0,
        line: 0,
        cta,
        warp: 0,
        lanes: 0,
        location: None,
        other: None,
        message,
        count: 1,
    }
}

/// Clusters that may wait for others at a time.
const MOST_WAITING: usize = 256;

/// Times that all that wait are asked in a row.
const MOST_ROUNDS: u32 = 4096;

/// Times that all that wait are asked in vain when no other is left.
const IN_VAIN: u32 = 4;

/// Clusters of which there is a random order.
const MOST_SHUFFLED: u64 = 1 << 20;

/// Runs all clusters, in parallel when nothing they do can tell their order.
fn run_grid(env: &Env<'_>) -> Report {
    let clusters = volume(env.launch.grid) / volume(env.launch.cluster).max(1);
    let most = env.options.instructions_total;
    if clusters > most {
        let message = format!("{clusters} clusters cannot end within {most} warp instructions");
        return Report {
            findings: vec![budget_finding(env, [0; 3], message)],
            ..Report::default()
        };
    }
    // The reduction keeps the order of clusters, so the report does not depend on the number of
    // threads.
    let total = if env.side_by_side() {
        let used = AtomicU64::new(0);
        let one = |linear: u64| {
            let mut cluster = match begun(env, linear, used.load(Relaxed)) {
                Ok(cluster) => cluster,
                Err(outcome) => return *outcome,
            };
            cluster.go(most.saturating_sub(used.load(Relaxed)), false);
            let outcome = cluster.end();
            used.fetch_add(outcome.executed, Relaxed);
            outcome
        };
        let clusters = (0..clusters).into_par_iter();
        clusters
            .fold(
                || Total::of(env),
                |total, linear| total.add(env, one(linear)),
            )
            .reduce(|| Total::of(env), |total, later| total.join(env, later))
    } else {
        one_by_one(env, clusters)
    };
    let thread_instructions = total.counters.classes.iter().map(|class| class.lanes).sum();
    Report {
        findings: total.findings.into_findings(),
        counters: total.counters,
        profile: line_profiles(env, total.observed.profile),
        trace: total.observed.steps,
        histories: total.observed.histories,
        tensor_cores: total.ruled.then_some(env.rules),
        warp_instructions: total.executed,
        thread_instructions,
        is_cut_short: env.options.is_to_stop(),
    }
}

/// The cluster of that number, where the launch may go on, of which so many instructions are used.
fn begun<'a>(env: &'a Env<'a>, linear: u64, used: u64) -> Result<Running<'a>, Box<Outcome>> {
    if env.options.is_to_stop() {
        return Err(Box::new(Outcome::nothing(FindingLog::new(1))));
    }
    let most = env.options.instructions_total;
    let ctas = ctas_of(env.launch, linear);
    if used > most {
        let mut findings = FindingLog::new(1);
        let first = ctas.first().copied().unwrap_or_default();
        let message = format!("the launch executed {most} warp instructions before this CTA");
        findings.add(FindingId::NoProgress, 0, || {
            budget_finding(env, first, message)
        });
        return Err(Box::new(Outcome::nothing(findings)));
    }
    Ok(Running::new(env, ctas, linear))
}

/// Runs clusters one after the other. In ascending order none may wait for a later one, as a GPU
/// has room for one at least. In another order those that wait go on when others have run.
fn one_by_one(env: &Env<'_>, clusters: u64) -> Total {
    let most = env.options.instructions_total;
    let mut total = Total::of(env);
    let mut waiting: Vec<Running<'_>> = Vec::new();
    // Loops that wait are known as such where not every step is looked at.
    let schedule = match env.looks_at_steps() && !env.entry.independent {
        true => WarpOrder::RoundRobin,
        false => env.options.warp_order,
    };
    let may_wait = schedule != WarpOrder::RoundRobin;
    for linear in order(schedule, clusters) {
        let started: u64 = waiting.iter().map(Running::executed).sum();
        let mut cluster = match begun(env, linear, total.executed.saturating_add(started)) {
            Ok(cluster) => cluster,
            Err(outcome) => {
                total = total.add(env, *outcome);
                continue;
            }
        };
        let room = may_wait && waiting.len() < MOST_WAITING;
        match cluster.go(most.saturating_sub(total.executed), room) {
            Came::Wait => waiting.push(cluster),
            Came::End => total = total.add(env, cluster.end()),
        }
        (total, waiting) = gone_on(env, total, waiting);
        if env.options.stops_at_error && total.findings.has_error() {
            return total;
        }
    }
    (total, waiting) = asked_again(env, total, waiting);
    // Nobody is left whom the others could wait for: the first says so.
    for mut cluster in waiting {
        if !total.findings.has_error() {
            cluster.go(most.saturating_sub(total.executed), false);
        }
        total = total.add(env, cluster.end());
    }
    total
}

/// Lets all that wait go on, whatever they wait for, until several times none comes to its end.
fn asked_again<'a>(
    env: &Env<'_>,
    mut total: Total,
    mut waiting: Vec<Running<'a>>,
) -> (Total, Vec<Running<'a>>) {
    let mut in_vain = 0;
    while in_vain < IN_VAIN && !waiting.is_empty() {
        let before = waiting.len();
        (total, waiting) = gone_round(env, total, waiting, |_| true).0;
        in_vain = if waiting.len() < before {
            0
        } else {
            in_vain + 1
        };
    }
    (total, waiting)
}

/// Lets those go on whose wait may be over, until there are none.
fn gone_on<'a>(
    env: &Env<'_>,
    mut total: Total,
    mut waiting: Vec<Running<'a>>,
) -> (Total, Vec<Running<'a>>) {
    for _ in 0..MOST_ROUNDS {
        let any;
        ((total, waiting), any) = gone_round(env, total, waiting, Running::may_go_on);
        if !any {
            break;
        }
    }
    (total, waiting)
}

/// Lets each of those go on that may, once; who still waits then, and whether any went on.
fn gone_round<'a>(
    env: &Env<'_>,
    mut total: Total,
    waiting: Vec<Running<'a>>,
    may: impl Fn(&Running<'a>) -> bool,
) -> ((Total, Vec<Running<'a>>), bool) {
    let most = env.options.instructions_total;
    let (mut left, mut any) = (Vec::new(), false);
    for mut cluster in waiting {
        if !may(&cluster) {
            left.push(cluster);
            continue;
        }
        any = true;
        match cluster.go(most.saturating_sub(total.executed), true) {
            Came::Wait => left.push(cluster),
            Came::End => total = total.add(env, cluster.end()),
        }
    }
    ((total, left), any)
}

/// The numbers of so many clusters in the order of a schedule.
fn order(schedule: WarpOrder, clusters: u64) -> Box<dyn Iterator<Item = u64>> {
    match schedule {
        WarpOrder::Random(_) if clusters > MOST_SHUFFLED => Box::new(0..clusters),
        WarpOrder::RoundRobin => Box::new(0..clusters),
        WarpOrder::Reverse => Box::new((0..clusters).rev()),
        WarpOrder::Random(seed) => {
            let mut numbers: Vec<u64> = (0..clusters).collect();
            let mut random = Random::of_cluster(seed, clusters);
            for at in (1..numbers.len()).rev() {
                numbers.swap(at, random.next() as usize % (at + 1));
            }
            Box::new(numbers.into_iter())
        }
    }
}

/// The instructions that were executed, with their lines.
fn line_profiles(env: &Env<'_>, profile: Vec<Counters>) -> Vec<LineProfile> {
    let executed = |counters: &Counters| counters.classes.iter().any(|class| class.executions > 0);
    let lines = env.code.iter().zip(profile).enumerate();
    lines
        .filter(|(_, (_, counters))| executed(counters))
        .map(|(pc, (inst, counters))| LineProfile {
            line: inst.line,
            pc: pc as u32,
            counters,
        })
        .collect()
}

/// Sums over consecutive clusters.
struct Total {
    findings: FindingLog,
    counters: Counters,
    observed: Observed,
    words: GlobalWords,
    /// Whether a sum was the architecture's own.
    ruled: bool,
    executed: u64,
}

impl Total {
    /// Nothing as yet.
    fn of(env: &Env<'_>) -> Total {
        Total {
            findings: FindingLog::new(env.options.max_findings),
            counters: Counters::default(),
            observed: Observed::default(),
            words: GlobalWords::default(),
            ruled: false,
            executed: 0,
        }
    }

    fn add(self, env: &Env<'_>, outcome: Outcome) -> Total {
        let Outcome {
            findings,
            counters,
            observed,
            words,
            ruled,
            executed,
        } = outcome;
        let later = Total {
            findings,
            counters,
            observed,
            words,
            ruled,
            executed,
        };
        self.join(env, later)
    }

    fn join(mut self, env: &Env<'_>, later: Total) -> Total {
        self.findings.merge(later.findings);
        for found in self.words.join(later.words) {
            let pc = found.later.0.site.pc;
            self.findings.add(found.id, pc, || crossing(env, &found));
        }
        self.counters.add(&later.counters);
        self.observed.join(later.observed);
        self.ruled |= later.ruled;
        self.executed += later.executed;
        self
    }
}
