//! A pool whose workers are shell scripts: answers, order, and deaths of every kind.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::process::ExitStatusExt;

use super::*;

fn pool(script: &str, size: usize) -> WorkerPool {
    WorkerPool {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        size: NonZeroUsize::new(size).unwrap(),
        limit: Duration::from_secs(600),
    }
}

/// Answers each line with itself; dies as LLVM does on the line `13`.
const ECHO_UNTIL_13: &str = "while read line; do \
     if [ \"$line\" = 13 ]; then echo 'LLVM ERROR: Cannot select' >&2; kill -ABRT $$; fi; \
     echo $line; done";

#[test]
fn answers_come_in_the_order_of_the_jobs() {
    let jobs: Vec<u32> = (100..140).collect();
    let finished = AtomicUsize::new(0);
    let answers = pool(ECHO_UNTIL_13, 3).run::<u32, u32>(&jobs, || {
        finished.fetch_add(1, Ordering::Relaxed);
    });
    let answers: Vec<u32> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(answers, jobs);
    assert_eq!(finished.into_inner(), jobs.len());
}

#[test]
fn an_abort_costs_one_job_and_says_why() {
    let answers = pool(ECHO_UNTIL_13, 1).run::<u32, u32>(&[12, 13, 14], || {});
    assert_eq!(*answers[0].as_ref().unwrap(), 12);
    let Err(WorkerError::Died { status, stderr }) = &answers[1] else {
        panic!("{answers:?}")
    };
    assert_eq!(status.signal(), Some(6));
    assert_eq!(stderr, "LLVM ERROR: Cannot select\n");
    let message = answers[1].as_ref().unwrap_err().to_string();
    assert!(
        message.ends_with("saying: LLVM ERROR: Cannot select"),
        "{message}"
    );
    assert_eq!(*answers[2].as_ref().unwrap(), 14);
}

#[test]
fn a_worker_that_is_ended_from_outside_is_no_fault_of_its_own() {
    let killed = "read line; kill -KILL $$";
    let answers = pool(killed, 1).run::<u32, u32>(&[1], || {});
    let Err(error @ WorkerError::Ended { signal: 9 }) = &answers[0] else {
        panic!("{answers:?}")
    };
    assert!(error.to_string().contains("memory"), "{error}");
}

#[test]
fn a_job_that_takes_too_long_costs_itself_alone() {
    let hangs_at_13 = "while read line; do [ \"$line\" = 13 ] && exec sleep 600; echo $line; done";
    let pool = WorkerPool {
        limit: Duration::from_millis(500),
        ..pool(hangs_at_13, 1)
    };
    let answers = pool.run::<u32, u32>(&[12, 13, 14], || {});
    assert_eq!(*answers[0].as_ref().unwrap(), 12);
    assert!(
        matches!(answers[1], Err(WorkerError::TooLong { .. })),
        "{answers:?}"
    );
    assert_eq!(*answers[2].as_ref().unwrap(), 14);
}

#[test]
fn a_worker_that_talks_nonsense_is_let_go() {
    let answers = pool("while read line; do echo nonsense; done", 1).run::<u32, u32>(&[1], || {});
    assert!(
        matches!(answers[0], Err(WorkerError::Garbled(_))),
        "{answers:?}"
    );
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let nowhere = WorkerPool {
        program: "/nonexistent/tilewright".into(),
        args: Vec::new(),
        size: NonZeroUsize::MIN,
        limit: Duration::from_secs(600),
    };
    let answers = nowhere.run::<u32, u32>(&[1], || {});
    let message = answers[0].as_ref().unwrap_err().to_string();
    assert!(message.contains("/nonexistent/tilewright"), "{message}");
}

#[test]
fn much_noise_on_stderr_neither_blocks_nor_grows() {
    let noisy = "head -c 300000 /dev/zero | tr '\\0' 'x' >&2; echo end >&2; exit 7";
    let answers = pool(noisy, 1).run::<u32, u32>(&[1], || {});
    let Err(WorkerError::Died { status, stderr }) = &answers[0] else {
        panic!("{answers:?}")
    };
    assert_eq!(status.code(), Some(7));
    assert_eq!(stderr.len(), KEPT_STDERR_BYTES);
    assert!(stderr.ends_with("xend\n"));
}
