//! Campaigns on a device whose kernels do what their names say.
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};

use super::*;
use crate::bench::{Row, Stamp};
use crate::tune::record::{Outcome, RECORD_FORMAT};
use tilewright_bundle::{Kernel, Sha256Hex};
use tilewright_runtime::Problem;

/// A kernel named `gemm@<us>-<deed>-<number>`; it takes `us` and does its deed when it is verified
/// or, for `load` and `lost`, first looked at.
fn kernel(us: u32, deed: &str, number: usize) -> Kernel {
    let id = format!("gemm@{us}-{deed}-{number}");
    let mut kernel = Kernel::new(&id, "gemm");
    kernel.content_hash = Sha256Hex::of(id.as_bytes());
    kernel
}

fn deed(kernel: &Kernel) -> (f64, String) {
    let parts: Vec<&str> = kernel.id.split(['@', '-']).collect();
    (parts[1].parse().unwrap(), parts[2].to_owned())
}

#[derive(Default)]
struct Mock {
    calls: RefCell<Vec<String>>,
    refuses: bool,
}

struct MockMeasurer<'f, 'k> {
    mock: &'f Mock,
    group: Vec<Candidate<'k>>,
}

impl<'k> TuningDevice<'k> for Mock {
    fn blank(&self, kernel: &Kernel) -> Row {
        Row::blank(kernel, "mock", "1.0".to_owned(), &Stamp::default())
    }

    fn open<'f>(&'f mut self, group: &[Candidate<'k>]) -> Result<Box<dyn Measurer + 'f>, Error>
    where
        'k: 'f,
    {
        if self.refuses {
            return Err(Error::Request("no memory".to_owned()));
        }
        Ok(Box::new(MockMeasurer {
            mock: self,
            group: group.to_vec(),
        }))
    }
}

impl MockMeasurer<'_, '_> {
    fn called(&self, what: &str, candidates: &[usize]) {
        let ids: Vec<&str> = candidates
            .iter()
            .map(|at| self.group[*at].kernel.id.as_str())
            .collect();
        self.mock
            .calls
            .borrow_mut()
            .push(format!("{what} {}", ids.join(" ")));
    }

    fn us(&self, candidate: usize) -> f64 {
        deed(self.group[candidate].kernel).0
    }
}

impl Measurer for MockMeasurer<'_, '_> {
    fn screen(&mut self, candidate: usize) -> Result<f64, Failure> {
        self.called("screen", &[candidate]);
        match deed(self.group[candidate].kernel).1.as_str() {
            "load" => Err(Failure::Dropped(Reason::Load, "refused".to_owned())),
            // At first it looks ten times as slow as it is.
            "shy" => Ok(10.0 * self.us(candidate)),
            "large" => Err(Failure::NoMemory(Error::HostMemory { needs: 2, free: 1 })),
            "lost" => Err(Failure::Lost(Error::Request("illegal address".to_owned()))),
            _ => Ok(self.us(candidate)),
        }
    }

    fn verify(&mut self, candidate: usize) -> Result<(), Failure> {
        self.called("verify", &[candidate]);
        match deed(self.group[candidate].kernel).1.as_str() {
            "wrong" => Err(Failure::Dropped(Reason::Wrong, "3 for 4".to_owned())),
            _ => Ok(()),
        }
    }

    fn race(&mut self, candidates: &[usize], rounds: usize) -> Result<Vec<f64>, Failure> {
        self.called(&format!("race {rounds}"), candidates);
        Ok(candidates.iter().map(|at| self.us(*at)).collect())
    }

    fn measure(&mut self, candidates: &[usize], mode: Mode) -> Result<Vec<Row>, Failure> {
        self.called("measure", candidates);
        let row = |at: &usize| Row {
            ours_us: self.us(*at),
            mode,
            ..self.mock.blank(self.group[*at].kernel)
        };
        Ok(candidates.iter().map(row).collect())
    }
}

struct Ran {
    records: Vec<Record>,
    steps: Vec<Step>,
    skipped: usize,
    tally: Tally,
    result: Result<(), Error>,
    calls: Vec<String>,
}

/// Runs a campaign over kernels at two problems; each step takes a second.
fn run(mock: Mock, kernels: &[Kernel], settings: &Settings, known: &[Record]) -> Ran {
    let mut mock = mock;
    let group = |m| {
        let candidates = kernels.iter().map(|kernel| Candidate {
            kernel,
            problem: Problem::new(m, 8, 8),
        });
        (format!("{m}x8x8"), candidates.collect::<Vec<_>>())
    };
    let groups = [group(8), group(16)];
    let seconds = Cell::new(0.0);
    let (mut records, mut steps, mut skipped) = (Vec::new(), Vec::new(), 0);
    let mut report = |progress: Progress<'_>| {
        match progress {
            Progress::Next(step) => {
                seconds.set(seconds.get() + 1.0);
                steps.push(step.clone());
            }
            Progress::Record(record) => records.push(record.clone()),
            Progress::Skipped { .. } => skipped += 1,
        }
        Ok(())
    };
    let clock = || seconds.get();
    let mut campaign = Campaign {
        settings,
        known: known.iter().map(Record::key).collect(),
        clock: &clock,
        report: &mut report,
        tally: Tally::default(),
    };
    let result = campaign.run(&mut mock, &groups, |device, candidate| {
        let mut row = device.blank(candidate.kernel);
        row.problem.m = candidate.problem.extent("m").unwrap();
        row.mode = settings.mode;
        Record {
            format: RECORD_FORMAT,
            outcome: Outcome::Screened,
            reason: None,
            detail: None,
            content_hash: candidate.kernel.content_hash.to_string(),
            backend: "mock".to_owned(),
            sm: None,
            sms: 1,
            unit: None,
            row,
        }
    });
    let tally = campaign.tally;
    let calls = mock.calls.into_inner();
    Ran {
        records,
        steps,
        skipped,
        tally,
        result,
        calls,
    }
}

fn settings() -> Settings {
    Settings {
        contestants: 4,
        finalists: 2,
        ..Settings::default()
    }
}

fn measured(ran: &Ran, m: i64) -> Vec<&str> {
    let here = ran
        .records
        .iter()
        .filter(|r| r.outcome == Outcome::Measured && r.row.problem.m == m);
    here.map(|r| r.row.kernel.as_str()).collect()
}

#[test]
fn the_fastest_right_kernels_are_measured_and_all_others_recorded() {
    let kernels = [
        kernel(1, "wrong", 0),
        kernel(2, "load", 1),
        kernel(30, "right", 2),
        kernel(20, "right", 3),
        kernel(60, "right", 4),
        kernel(10, "right", 5),
        kernel(40, "right", 6),
        kernel(50, "wrong", 7),
    ];
    let ran = run(Mock::default(), &kernels, &settings(), &[]);
    ran.result.as_ref().unwrap();
    for m in [8, 16] {
        assert_eq!(measured(&ran, m), ["gemm@10-right-5", "gemm@20-right-3"]);
    }
    // Of each problem: two measured, two raced and out, one wrong, one refused, two never checked.
    assert_eq!(ran.tally.measured, 4);
    assert_eq!(ran.tally.screened, 8);
    assert_eq!(ran.tally.dropped["wrong"], 2);
    assert_eq!(ran.tally.dropped["load"], 2);
    assert_eq!(ran.records.len(), 16);
    // A wrong kernel's time decides nothing but when it is checked, and that is before any race.
    let first = |what: &str| ran.steps.iter().position(|step| step.what == what).unwrap();
    assert!(first("heat") < first("verify") && first("verify") < first("race"));
    assert_eq!(
        ran.steps[first("verify")].kernels[0].row.kernel,
        "gemm@1-wrong-0"
    );
    let raced = ran.steps.iter().filter(|step| step.what == "race");
    let mut raced = raced.flat_map(|step| &step.kernels);
    assert!(raced.all(|record| !record.row.kernel.contains("wrong")));
    assert!(!ran.calls.contains(&"verify gemm@50-wrong-7".to_owned()));
}

#[test]
fn what_records_hold_is_not_done_again() {
    let mut kernels = vec![kernel(5, "right", 0), kernel(6, "wrong", 1)];
    let first = run(Mock::default(), &kernels, &settings(), &[]);
    let again = run(Mock::default(), &kernels, &settings(), &first.records);
    assert!(again.calls.is_empty(), "{:?}", again.calls);
    assert_eq!((again.tally.known, again.records.len()), (4, 0));
    kernels.push(kernel(4, "right", 2));
    let more = run(Mock::default(), &kernels, &settings(), &first.records);
    assert_eq!(more.tally.known, 4);
    assert_eq!(measured(&more, 8), ["gemm@4-right-2"]);
    assert!(more.calls.iter().all(|c| c.contains("gemm@4-right-2")));
    // The same kernels on another driver are tuned anew.
    let mut elsewhere = first.records.clone();
    for record in &mut elsewhere {
        record.row.driver = "2.0".to_owned();
    }
    assert_eq!(
        run(Mock::default(), &kernels, &settings(), &elsewhere)
            .tally
            .known,
        0
    );
    for change in [
        |r: &mut Record| r.content_hash.push('0'),
        |r: &mut Record| r.sms += 1,
        |r: &mut Record| r.sm = Some(90),
        |r: &mut Record| r.backend = "cuda".to_owned(),
        |r: &mut Record| r.row.gpu = "other".to_owned(),
        |r: &mut Record| r.row.mode = Mode::Rested,
        |r: &mut Record| r.row.layout = "NT".to_owned(),
        |r: &mut Record| r.row.problem.k += 1,
    ] {
        let mut changed = first.records.clone();
        changed.iter_mut().for_each(change);
        let ran = run(Mock::default(), &kernels, &settings(), &changed);
        assert_eq!(ran.tally.known, 0);
    }
}

#[test]
fn a_lost_device_ends_the_run_and_a_resumed_one_goes_around_the_kernel() {
    let kernels = [kernel(5, "right", 0), kernel(1, "lost", 1)];
    let mut known = Vec::new();
    let mut runs = 0;
    let last = loop {
        runs += 1;
        let ran = run(Mock::default(), &kernels, &settings(), &known);
        known.extend(ran.records.clone());
        if ran.result.is_ok() {
            break ran;
        }
        assert!(matches!(ran.result, Err(Error::DeviceLost { .. })));
        let culprit = ran.records.last().unwrap();
        assert_eq!(culprit.reason, Some(Reason::Fault));
        assert!(culprit.detail.as_ref().unwrap().contains("illegal address"));
        assert!(runs < 5);
    };
    // Once for each problem, and a run that goes through.
    assert_eq!(runs, 3);
    assert_eq!(measured(&last, 16), ["gemm@5-right-0"]);
    let all = known.iter().filter(|r| r.outcome == Outcome::Measured);
    assert_eq!(all.count(), 2);
}

#[test]
fn steps_name_the_kernels_at_work_before_they_run() {
    let kernels = [
        kernel(5, "right", 0),
        kernel(6, "right", 1),
        kernel(7, "right", 2),
    ];
    let ran = run(Mock::default(), &kernels, &settings(), &[]);
    let here: Vec<(&str, usize)> = ran
        .steps
        .iter()
        .filter(|s| s.problem == "8x8x8")
        .map(|s| (s.what.as_str(), s.kernels.len()))
        .collect();
    let expected = [
        ("prepare", 0),
        ("screen", 1),
        ("screen", 1),
        ("screen", 1),
        ("verify", 1),
        ("verify", 1),
        ("verify", 1),
        ("race", 3),
        ("measure", 2),
    ];
    assert_eq!(here, expected);
    assert!(ran.steps.iter().all(|s| s.limit_s >= 30.0));
    let text = serde_json::to_string(&ran.steps[1]).unwrap();
    assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), ran.steps[1]);
}

#[test]
fn a_heat_undoes_what_first_looks_mistook() {
    let mut kernels: Vec<Kernel> = (0..12).map(|at| kernel(20 + at, "right", 0)).collect();
    kernels.push(kernel(3, "shy", 0));
    let ran = run(Mock::default(), &kernels, &settings(), &[]);
    assert_eq!(measured(&ran, 8), ["gemm@3-shy-0", "gemm@20-right-0"]);
    let heats = ran.steps.iter().filter(|step| step.what == "heat");
    assert_eq!(
        heats.map(|step| step.kernels.len()).collect::<Vec<_>>(),
        [13, 13]
    );
}

#[test]
fn a_budget_is_shared_by_the_problems_and_what_it_misses_is_counted() {
    let kernels: Vec<Kernel> = (0..40)
        .map(|at| kernel(10 + at, "right", at as usize))
        .collect();
    let settings = Settings {
        budget_s: Some(40.0),
        ..settings()
    };
    let ran = run(Mock::default(), &kernels, &settings, &[]);
    ran.result.as_ref().unwrap();
    assert!(ran.tally.unseen > 20, "{:?}", ran.tally);
    assert_eq!(measured(&ran, 8).len(), 2);
    assert_eq!(measured(&ran, 16).len(), 2);
    let seen = ran.tally.measured + ran.tally.screened;
    assert_eq!(seen + ran.tally.unseen, 80);
    let none = Settings {
        budget_s: Some(0.0),
        ..settings
    };
    let ran = run(Mock::default(), &kernels, &none, &[]);
    assert_eq!((ran.tally.unseen, ran.calls.len()), (80, 0));
}

#[test]
fn a_problem_that_cannot_be_prepared_is_left_out() {
    let mock = Mock {
        refuses: true,
        ..Mock::default()
    };
    let ran = run(mock, &[kernel(5, "right", 0)], &settings(), &[]);
    ran.result.as_ref().unwrap();
    assert_eq!(
        (ran.skipped, ran.tally.skipped, ran.records.len()),
        (2, 2, 0)
    );
}

#[test]
fn a_want_of_memory_is_no_record() {
    let kernels = [
        kernel(5, "right", 0),
        kernel(1, "large", 1),
        kernel(2, "large", 2),
    ];
    let ran = run(Mock::default(), &kernels, &settings(), &[]);
    ran.result.as_ref().unwrap();
    // Told once for each of two problems.
    assert_eq!((ran.skipped, ran.tally.no_memory), (2, 4));
    assert!(ran.records.iter().all(|r| r.outcome == Outcome::Measured));
    assert_eq!(ran.records.len(), 2);
}
