//! `emulate`: launch files executed on the CPU, their buffers and findings compared.
//!
//! In: a manifest, or a folder with `cases/*/manifest.json`. Out: a line per launch file, what
//! went wrong and where in the PTX, then `N passed, N failed`. With `--json` stdout holds only
//! JSON lines and that line goes to stderr. `--svg` draws what led to the first finding. A launch
//! file that could not be run at all (a missing file, PTX that is refused) counts as failed and
//! makes the exit code 2.

mod json;
mod scene;
mod drawing;
mod operands;
mod sarif;
mod text;
mod trace;

use std::path::{Path, PathBuf};

use tilewright_emulator::{Options, TraceTarget};
use tilewright_lab::launch_file::{self, LaunchFile, LaunchFileError};

use crate::args::emulate::Emulate;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{self, Kind};
use crate::profile::{Origin, Profile, line_of};
use crate::progress;
use crate::terminal;

/// One launch file and what came of it.
#[derive(Debug)]
pub(super) struct Case {
    /// Where its manifest is.
    manifest: PathBuf,
    /// Its name; that of its folder when the manifest could not be read.
    id: String,
    /// The PTX file as the manifest names it, and its lines.
    ptx: String,
    lines: Vec<String>,
    result: Result<launch_file::Outcome, String>,
}

impl Case {
    fn passed(&self) -> bool {
        self.result.as_ref().is_ok_and(|outcome| outcome.passed)
    }

    /// What the first schedule showed; `None` when nothing ran.
    fn first_schedule(&self) -> Option<&launch_file::ScheduleOutcome> {
        self.result.as_ref().ok()?.schedules.first()
    }

    /// What a schedule's profile gives.
    fn profiled<T>(
        &self,
        schedule: &launch_file::ScheduleOutcome,
        give: impl FnOnce(&Profile<'_>) -> T,
    ) -> T {
        give(&Profile {
            lines: &schedule.profile,
            text: &|line| self.line(line),
            origin: &|line| self.origin(line),
        })
    }

    /// What a line of the PTX comes from, by its directives.
    fn origin(&self, line: u32) -> Option<Origin> {
        Origin::in_text(&self.result.as_ref().ok()?.sources, line)
    }

    /// A line of the PTX, counted from 1, with single blanks only.
    fn line(&self, line: u32) -> String {
        line_of(&self.lines, line)
    }
}

/// Runs every launch file and prints what came of each.
pub fn run(args: &Emulate) -> Outcome {
    let manifests = launch_file::find_manifests(&args.path).map_err(Failure::could_not_run)?;
    if let Some(path) = &args.sarif {
        output::check(path, Kind::Sarif)?;
    }
    if let Some(path) = &args.svg {
        output::check(path, Kind::Drawing)?;
    }
    let schedules = options(args);
    let bar = progress::bar("emulating", manifests.len() as u64);
    let mut cases = Vec::with_capacity(manifests.len());
    for manifest in &manifests {
        let case = run_one(manifest, &schedules, |doing| bar.set_message(doing));
        bar.suspend(|| print_case(args, &case, manifests.len() == 1))?;
        cases.push(case);
        bar.inc(1);
    }
    progress::finish(&bar);
    if let Some(path) = &args.sarif {
        let text = sarif::log(&cases).map_err(|error| Failure::Bug(error.to_string()))?;
        output::write(path, Kind::Sarif, text.as_bytes())?;
    }
    if let Some(path) = &args.svg {
        draw(path, &cases, &schedules)?;
    }
    summarize(args.json, &cases)
}

/// Draws what led to the first finding: of the first case with an error, or else with any, the one
/// that is told first.
fn draw(path: &Path, cases: &[Case], schedules: &[Options]) -> Result<(), Failure> {
    let outcome = |case: &'_ Case| -> Option<bool> {
        let findings = case.result.as_ref().ok()?.findings();
        Some(findings.first()?.finding.level == "error")
    };
    let found = |error: bool| cases.iter().find(|case| outcome(case) == Some(error));
    let case = found(true).or_else(|| found(false));
    let findings = case.and_then(|case| Some((case, case.result.as_ref().ok()?.findings())));
    let first = findings.as_ref().and_then(|(case, findings)| {
        let first = findings.first()?;
        Some((*case, first, schedules.get(first.first)?))
    });
    let Some((case, first, options)) = first else {
        let path = path.display();
        terminal::diagnose(&format!("nothing was found: {path} is not written"));
        return Ok(());
    };
    let folder = case.manifest.parent().unwrap_or(Path::new("."));
    let histories = LaunchFile::read(&case.manifest)
        .and_then(|file| file.histories(folder, options, first.found))
        .map_err(Failure::could_not_run)?;
    let scene = scene::scene(&case.id, first, &histories);
    let drawing = drawing::render(&scene, |line| case.line(line));
    output::write(path, Kind::Drawing, drawing.as_bytes())?;
    terminal::diagnose(&format!("{}: {}", path.display(), scene.title));
    Ok(())
}

/// Instructions of warps that a launch may execute where nobody says how many.
const USUAL_BUDGET: u64 = 1_000_000_000;

/// The schedules as options; only the first one is traced and profiled.
fn options(args: &Emulate) -> Vec<Options> {
    let sanitize = args.sanitize.sanitize();
    let schedules = args.schedules.0.iter();
    let options = schedules.map(|one| {
        let usual = one.options(sanitize);
        // One warp may spend all that is given.
        let of_warp = args.budget.unwrap_or(0).max(usual.instructions_per_warp);
        Options {
            instructions_total: args.budget.unwrap_or(USUAL_BUDGET),
            instructions_per_warp: of_warp,
            tensor_cores: args.tensor_cores.map(|rules| rules.0),
            ..usual
        }
    });
    let mut options: Vec<Options> = options.collect();
    if let Some(first) = options.first_mut() {
        first.profile = args.profile;
        first.trace = args.trace.map(|trace| TraceTarget {
            cta: trace.cta,
            warp: trace.warp,
            most: args.trace_steps,
        });
    }
    options
}

/// Runs a launch file under each schedule and says which one it is at.
fn run_one(manifest: &Path, schedules: &[Options], say: impl Fn(String)) -> Case {
    let name = terminal::plain(&manifest.display().to_string());
    let watch = |index: usize| say(format!("{name} schedule {}/{}", index + 1, schedules.len()));
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut case = Case {
        manifest: manifest.to_path_buf(),
        id: folder.file_name().map_or_else(
            || manifest.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        ),
        ptx: String::new(),
        lines: Vec::new(),
        result: Err(String::new()),
    };
    let result: Result<launch_file::Outcome, LaunchFileError> = LaunchFile::read(manifest)
        .and_then(|file| {
            let text = file.read_ptx(folder).unwrap_or_default();
            case.lines = text.lines().map(str::to_owned).collect();
            case.id.clone_from(&file.id);
            case.ptx.clone_from(&file.ptx);
            file.run_watched(folder, schedules, watch)
        });
    case.result = result.map_err(|error| error.to_string());
    case
}

fn print_case(args: &Emulate, case: &Case, only: bool) -> std::io::Result<()> {
    if args.json {
        return json::print(case);
    }
    terminal::print(&text::lines(case, only))?;
    if args.trace.is_some() {
        terminal::print(&trace::lines(case))?;
    }
    if args.profile
        && let Some(schedule) = case.first_schedule()
    {
        let when = format!(" under {}", schedule.name);
        terminal::print(&case.profiled(schedule, |profile| profile.render(&when)))?;
    }
    Ok(())
}

fn summarize(json: bool, cases: &[Case]) -> Outcome {
    let passed = cases.iter().filter(|case| case.passed()).count();
    let failed = cases.len() - passed;
    let closing = format!("{passed} passed, {failed} failed");
    if json {
        json::print_summary(passed, failed)?;
        terminal::diagnose(&closing);
    } else {
        terminal::print_line(&closing)?;
    }
    let not_run = cases.iter().filter(|case| case.result.is_err()).count();
    if not_run > 0 {
        let all = cases.len();
        let reason = format!("{not_run} of {all} launch files could not be run");
        return Err(Failure::CouldNotRun(reason));
    }
    Ok(Verdict::from_good(failed == 0))
}
